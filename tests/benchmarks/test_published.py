"""The published runs: the rules that decide before anything is run, and a few rows against the reference.

The rows need the reference data (see benchmarks/README.md) and skip without them.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.published import selected
from benchmarks.published_fit import Fitted, nearest
from benchmarks.published_reference import VARIABLE, is_fit_row, reference_cases, reference_file
from benchmarks.published_report import Group, summary
from benchmarks.published_rows import Row, row_of
from benchmarks.published_run import Outcome, run_row
from model.catalog import catalog
from model.job.memory import stage_memory
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import parse_job

CASE: dict[str, Any] = {
    "id": "example-1",
    "source": "nowhere",
    "hardware": {"gpu": "A100-SXM4-80GB", "gpus_per_node": 8, "gpus": 64},
    "model": {"family": "GPT", "layers": 24, "hidden": 2048, "heads": 16, "seq": 2048},
    "parallel": {"tp": 2, "pp": 4, "dp": 8},
    "batch": {"gbs": 64},
    "measured": {"step_time_s": 1.5},
    "provenance": {},
}
KORTHIKANTI = [
    f"korthikanti22-{size}-{how}" for size in ("22b", "175b", "530b", "1t") for how in ("full", "seqsel")
]
needs_reference = pytest.mark.skipif(
    reference_cases() is None,
    reason=f"no {reference_file()}: {VARIABLE} names the folder of the reference data",
)


def case(**changes: Any) -> dict[str, Any]:
    """The example with parts replaced."""
    return {**CASE, **changes}


def test_rows_to_fit_on_are_those_with_an_even_digest() -> None:
    # printf korthikanti22-22b-full | sha256sum ends in an odd digit, …-175b-seqsel in an even one
    assert not is_fit_row("korthikanti22-22b-full")
    assert is_fit_row("korthikanti22-175b-seqsel")


def test_what_is_missing_is_completed_and_said() -> None:
    row = row_of(CASE)
    assert row.unusable == ""
    assert row.job["microbatch"] == 1
    assert row.job["recompute"] == "none"
    assert row.job["parallel"]["zero"] == 1
    assert row.job["model"]["vocab"] == 51200
    assert {"microbatch 1", "recompute none", "ZeRO-1", "vocabulary of the family"} <= set(row.completed)
    assert row.group == "A100 without vTrain"


@pytest.mark.parametrize(("ident", "unit"), [("narayanan21-x", "matrix-list"), ("mosaic-x", "layer")])
def test_zero_3_of_2021_gathers_lists_of_matrices(ident: str, unit: str) -> None:
    row = row_of(case(id=ident, parallel={"zero": 3, "tp": 1, "dp": 64}))
    assert row.job["parallel"]["zero3_unit"] == unit
    assert any(text.startswith("gathers by") for text in row.completed)
    assert row_of(case(id=ident)).job["parallel"]["zero3_unit"] == "layer"


def test_rows_without_shape_sizes_or_gpu_say_why() -> None:
    nameless = row_of(case(model={"family": "Nemotron_3_Nano", "seq": 8192}))
    assert nameless.job == {}
    assert "no layers" in nameless.unusable
    other = {**CASE["hardware"], "gpu": "Gaudi3"}
    assert "Gaudi3 is not in the catalogue" in row_of(case(hardware=other)).unusable
    assert "replicas" in row_of(case(parallel={"tp": 2, "pp": 4, "dp": 9})).unusable
    assert "no single step time" in row_of(case(measured={"mfu_pct": "41-42"})).unusable


def test_layers_that_do_not_divide_leave_room_for_embedding_and_head() -> None:
    llama = {
        "family": "LLAMA3.1_405B",
        "layers": 126,
        "hidden": 16384,
        "heads": 128,
        "seq": 8192,
        "vocab": 128256,
    }
    hardware = {**CASE["hardware"], "gpu": "GB300", "gpus": 64}
    row = row_of(case(model=llama, hardware=hardware, parallel={"tp": 1, "pp": 8, "vp": 4, "dp": 8}))
    layers = row.job["parallel"]["layers_per_stage"]
    assert (layers[0], layers[31], set(layers[1:31]), sum(layers)) == (3, 3, {4}, 126)


def test_every_row_that_is_not_usable_is_an_outcome_with_its_reason() -> None:
    outcome = run_row(row_of(case(model={"family": "Nemotron_3_Nano", "seq": 8192})))
    assert outcome.time_s is None
    assert "shape not known" in outcome.reason


def test_a_group_counts_test_rows_only_and_keeps_the_sign_of_the_bias() -> None:
    group = Group("all", lambda row: True, "median |error|", 0.10, 0.05)
    outcomes = [
        Outcome(row, time_s=time) for row, time in ((a_row("a", False), 1.2), (a_row("b", False), 0.7))
    ]
    outcomes.append(Outcome(a_row("c", True), time_s=9.0))
    found = summary(group, outcomes)
    assert (found.count, found.worst[0][0]) == (2, "b")
    assert found.median == pytest.approx(0.25)
    assert found.bias == pytest.approx(-0.05)
    assert not found.met


def test_a_pair_without_dense_rows_takes_the_nearest_type_that_has_its_own() -> None:
    own = Fitted(("B200", "bf16"), 10, 10, 0.4, 3.0, 0.1, 0.0, None)
    taken = Fitted(("GB300", "bf16"), 3, 0, 0.4, 3.0, 0.1, 0.0, ("B200", "bf16"))
    known = {own.pair: own, taken.pair: taken}
    assert nearest(("GB200", "bf16"), known) is own
    assert nearest(("B300", "bf16"), known) is own
    assert nearest(("B300", "fp8"), known) is None


def a_row(ident: str, fit: bool) -> Row:
    """A row that was measured to take one second."""
    return Row(ident, "A100", "a100-sxm-80", 8, "bf16", False, False, fit, {}, 1.0, None, None, None, ())


@needs_reference
@pytest.mark.parametrize("ident", KORTHIKANTI)
def test_activations_of_korthikanti_are_exact(ident: str) -> None:
    # Table 2 of arXiv 2205.05198 on the first stage: nothing recomputed without sequence parallelism, and
    # selective with it
    row = selected(ident)
    assert row is not None
    assert row.activations_gib is not None
    for expected, sequence, recompute in zip(
        row.activations_gib, (False, True), ("none", "selective"), strict=True
    ):
        parallel = {**row.job["parallel"], "sequence_parallel": sequence}
        job = parse_job({**row.job, "attention": "core", "recompute": recompute, "parallel": parallel})
        shape, grid = model_shape(job), grid_of(job, row.gpus)
        hbm = [catalog().gpus[row.gpu].hbm_bytes] * grid.pp
        assert stage_memory(job, shape, grid, hbm)[0].layer_activations_bytes / 2**30 == expected


@needs_reference
@pytest.mark.parametrize(
    "ident",
    [
        "korthikanti22-22b-full",
        "korthikanti22-22b-seqsel",
        "narayanan21-t1-18.4b",
        "vtrain-multi-64g-l30h3072-tp1dp64pp1-gbs512mbs8",
        "mosaic-fsdp-h100-mpt7b-8gpu-s2048",
    ],
)
def test_published_step_times_are_met_within_a_tenth(ident: str) -> None:
    row = selected(ident)
    assert row is not None
    outcome = run_row(row)
    assert outcome.reason == ""
    assert outcome.error is not None
    assert abs(outcome.error) <= 0.10
