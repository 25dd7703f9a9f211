"""The choices that a panel offers."""

from __future__ import annotations

from model.job.choices import legal_values
from tests.model.job.cases import llama_t3


def test_tp_choices_carry_their_reasons() -> None:
    found = {choice.value: choice.reason for choice in legal_values(llama_t3(), 1024, "parallel.tp")}
    assert [value for value, reason in found.items() if not reason] == [1, 2, 4, 8, 16, 32, 64]
    assert found[128].startswith("64 attention heads are not a multiple of TP 128")
    assert found[512].startswith("1024 GPUs are not a multiple of TP × CP × PP = 512 × 1 × 4")


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


def test_a_rule_broken_elsewhere_is_not_held_against_a_value() -> None:
    own = llama_t3(recompute="full", overlap={"gradients": False})
    assert all(choice.legal for choice in legal_values(own, 1024, "recompute"))
    assert not all(choice.legal for choice in legal_values(own, 1024, "parallel.pp"))
