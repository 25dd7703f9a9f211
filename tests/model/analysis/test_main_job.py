"""Llama-3-70B on 1,024 H100 (TP 8, PP 4, DP 32): examples T3, T5, T6 and T28 of the traffic model."""

from __future__ import annotations

import pytest

from model.analysis import analyse
from model.document.document import Document
from model.document.edits import AddParts
from model.job.spec import JobSpec
from model.step.report import StepReport
from topology_templates.registry import build


@pytest.fixture(scope="module")
def report() -> StepReport:
    content = build("hgx-h100", {"nodes": 128})
    spec = JobSpec.model_validate(
        {"model": "llama3-70b", "vocabulary_multiple": 1, "parallel": {"tp": 8, "pp": 4}}
    )
    document = Document(job=spec)
    AddParts(content.devices, content.links, content.containers).apply(document)
    found = analyse(document).report
    assert found is not None
    return found


def seconds(report: StepReport, kind: str, operation: str) -> float:
    """Wire time of one operation of a kind: the time of a step over the count."""
    number = next(
        n for n, one in enumerate(report.exchanges) if one.kind == kind and one.operation == operation
    )
    return report.exchange_times[number].time_s / report.exchanges[number].count_per_step


def test_t28_step_time_and_mfu_within_ten_per_cent(report: StepReport) -> None:
    assert report.totals.time_s == pytest.approx(9.60, rel=0.10)
    assert report.totals.mfu == pytest.approx(0.388, rel=0.10)
    assert report.totals.tokens_per_s_per_gpu == pytest.approx(853, rel=0.10)


def test_t3_all_gather_of_the_tensor(report: StepReport) -> None:
    # T3's NCCL model: 32.2 µs + 326.2 µs; the bytes at 360e9 B/s and α by steps, so within ten per cent.
    assert seconds(report, "tp.forward", "all-gather") == pytest.approx(358.4e-6, rel=0.10)


def test_t5_gradient_sync(report: StepReport) -> None:
    # 8.290e9 B of a middle stage at 48.5e9 B/s are 0.1709 s, with latency 0.1714 s.
    number = next(
        n
        for n, one in enumerate(report.exchanges)
        if one.kind == "dp.gradient" and set(one.stages.tolist()) == {1, 2}
    )
    assert report.exchange_times[number].time_s == pytest.approx(0.1714, rel=0.01)


def test_t6_send_between_stages(report: StepReport) -> None:
    # 16,777,216 B at 0.97 × 50e9 B/s are 0.3459 ms, latency on top.
    assert seconds(report, "pp.activation", "send") == pytest.approx(16_777_216 / 48.5e9, rel=0.06)


def test_the_bubble_is_that_of_the_schedule(report: StepReport) -> None:
    # T6: 3/35 = 8.571 % of the pipeline part, a little more with sends and uneven ends.
    assert 3 / 35 < report.totals.bubble_fraction < 0.13
