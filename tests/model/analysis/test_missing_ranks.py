"""A placement with ranks that nobody plays: no figure may look better for it."""

from __future__ import annotations

import pytest

from model.analysis import analyse
from model.placement.paint import Paint
from model.step.report import StepReport
from tests.model.analysis.drawings import cluster, job


def report_of(paint: Paint | None = None, *sets: str) -> StepReport:
    document = cluster(nodes=1, gpus=3, spec=job(*sets, global_batch=12))
    if paint is not None:
        document.paint = paint
    report = analyse(document).report
    assert report is not None
    return report


def test_a_replica_without_a_gpu_counts_no_work_and_its_gpu_counts_as_there() -> None:
    # 3 GPUs, DP 3, two of them painted replica 1: two of three replicas train, on three GPUs' peak.
    whole, broken = report_of(), report_of(Paint({"n0.g0": {"dp": 1}, "n0.g1": {"dp": 1}}))
    assert sorted(broken.placement.rank.tolist())[0] == -1
    slower = whole.totals.time_s / broken.totals.time_s
    for name in ("mfu", "hfu", "tokens_per_s_per_gpu"):
        expected = getattr(whole.totals, name) * 2 / 3 * slower
        assert getattr(broken.totals, name) == pytest.approx(expected, rel=1e-12), name
    assert broken.totals.model_flops == pytest.approx(whole.totals.model_flops * 2 / 3, rel=1e-12)
    mfu = broken.figures["step.mfu"]
    assert mfu.inputs["peak_of_all_gpus_flops_per_s"] == pytest.approx(3 * 989e12, rel=1e-3)
    assert mfu.note.startswith("1 rank has no GPU, so 1 of 3 replicas is not whole")
    assert not whole.figures["step.tokens_per_s_per_gpu"].note
    assert broken.figures["step.tokens_per_s_per_gpu"].inputs["gpus"] == 3


def test_a_replica_that_lacks_a_stage_trains_nothing() -> None:
    # One replica of three stages, stage 2 without a GPU: no token is trained.
    broken = report_of(
        Paint({"n0.g1": {"pp": 1}, "n0.g2": {"pp": 1}}), "parallel.pp=3", "parallel.layers_per_stage=[2,1,1]"
    )
    assert broken.totals.mfu == 0 and broken.totals.tokens_per_s_per_gpu == 0
    assert broken.totals.time_s > 0
