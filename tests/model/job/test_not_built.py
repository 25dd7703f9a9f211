"""The table of values that are not built yet, and the choices that a panel offers."""

from __future__ import annotations

import pytest

from model.errors import NotBuiltError
from model.job.choices import legal_values
from model.job.not_built import TABLE, is_built, not_built, refuse_not_built
from model.job.spec import JobSpec, apply_set
from tests.model.job.cases import job, llama_t3


def test_the_default_job_and_the_main_job_are_built() -> None:
    assert not_built(JobSpec()) == []
    assert not_built(llama_t3()) == []
    refuse_not_built(llama_t3({"zero": 3, "reshard": False}, recompute="full", attention="core"))


def test_every_row_names_a_field_of_the_job_and_passes_its_default() -> None:
    written = JobSpec().to_json()
    for row in TABLE:
        group, _, name = row.path.rpartition(".")
        value = (written[group] if group else written)[name]
        assert row.built(value), row.path


@pytest.mark.parametrize(
    "assignment",
    ["parallel.vpp=2", "schedule=zb-h1", "overlap.tensor=true"],
)
@pytest.mark.usefixtures("unfinished")
def test_what_is_not_built_is_refused_by_name(assignment: str) -> None:
    own = apply_set(llama_t3(), assignment)
    path = assignment.partition("=")[0]
    with pytest.raises(NotBuiltError, match=f"^not built yet: {path} = "):
        refuse_not_built(own)


@pytest.mark.usefixtures("unfinished")
def test_several_values_are_named_in_one_sentence() -> None:
    own = apply_set(apply_set(llama_t3(), "parallel.vpp=2"), "schedule=zb-v")
    with pytest.raises(NotBuiltError) as caught:
        refuse_not_built(own)
    assert str(caught.value) == (
        "not built yet: parallel.vpp = 2 (several model chunks a stage); "
        'schedule = "zb-v" (another pipeline schedule)'
    )


@pytest.mark.usefixtures("unfinished")
def test_one_stage_makes_every_schedule_plain() -> None:
    # conventions 31
    assert not_built(job("llama3-8b", schedule="dualpipe")) == []
    assert not_built(job("llama3-8b", {"pp": 4}, schedule="dualpipe")) == [
        'schedule = "dualpipe" (another pipeline schedule)'
    ]
    assert not is_built("schedule", "gpipe")
    assert is_built("schedule", "interleaved")
    assert is_built("global_batch", 12345)


def test_tp_choices_carry_their_reasons() -> None:
    found = {choice.value: choice.reason for choice in legal_values(llama_t3(), 1024, "parallel.tp")}
    assert [value for value, reason in found.items() if not reason] == [1, 2, 4, 8, 16, 32, 64]
    assert found[128].startswith("64 attention heads are not a multiple of tp 128")
    assert found[512].startswith("1024 GPUs are not a multiple of tp × cp × pp = 512 × 1 × 4")


def test_choices_of_other_fields() -> None:
    assert [c.value for c in legal_values(llama_t3(), 1024, "parallel.zero") if c.legal] == [0, 1, 2, 3]
    cp = legal_values(llama_t3(), 1024, "parallel.cp")
    assert [c.value for c in cp if c.legal] == [1, 2, 4, 8, 16, 32]
    assert [c.value for c in legal_values(llama_t3(), 1024, "parallel.dp_shard") if c.legal] == [
        None, 1, 2, 4, 8, 16, 32,
    ]  # fmt: skip
    assert [c.value for c in legal_values(llama_t3(), 1024, "recompute") if c.legal] == [
        "none",
        "selective",
        "full",
    ]
    assert [c.value for c in legal_values(llama_t3(), 1024, "schedule") if c.legal] == [
        "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe",
    ]  # fmt: skip
    assert all(c.legal for c in legal_values(llama_t3(), 1024, "collectives.tp"))
    assert [c.value for c in legal_values(llama_t3(), 1024, "microbatch") if c.legal] == [1, 2, 4, 8, 16, 32]
    assert [c.value for c in legal_values(llama_t3(global_batch=1000), 1024, "global_batch")] == [992, 1024]
    assert legal_values(llama_t3(), 1024, "data.from") == ()


@pytest.mark.usefixtures("unfinished")
def test_a_choice_that_is_not_built_says_so() -> None:
    vpp = legal_values(llama_t3(), 1024, "parallel.vpp")
    assert vpp[1].reason == "not built yet: parallel.vpp = 2 (several model chunks a stage)"


def test_a_rule_broken_elsewhere_is_not_held_against_a_value() -> None:
    own = llama_t3(recompute="full", overlap={"gradients": False})
    assert all(choice.legal for choice in legal_values(own, 1024, "recompute"))
    assert not all(choice.legal for choice in legal_values(own, 1024, "parallel.pp"))
