"""1F1B against worked examples: traffic_model §10 T22 (tf = 1, tb = 2)."""

from __future__ import annotations

import pytest

from model.errors import JobError
from model.step.report import BlockKind
from model.step.schedule import pipeline_schedule
from tests.model.step.cases import Case, most_in_flight, sends


@pytest.mark.parametrize(
    ("stages", "microbatches", "send_s", "expected"),
    [(4, 8, 0.0, 33.0), (8, 64, 0.0, 213.0), (4, 8, 0.1, 34.6), (8, 64, 0.1, 225.4), (1, 8, 0.0, 24.0)],
)
def test_t22_step_times(stages: int, microbatches: int, send_s: float, expected: float) -> None:
    case = Case(stages=stages, microbatches=microbatches)
    if send_s:
        sends(case, send_s)
    assert case.run().totals.time_s == pytest.approx(expected, rel=1e-12)


def test_t22_microbatches_in_flight() -> None:
    assert [most_in_flight(order) for order in pipeline_schedule("1f1b", 4, 8).orders] == [4, 3, 2, 1]


def test_fewer_microbatches_than_stages_still_run() -> None:
    # One microbatch through four stages: nothing overlaps, 4·(1 + 2).
    assert Case(stages=4, microbatches=1).run().totals.time_s == pytest.approx(12.0)


def test_bubble_of_the_pipeline_is_the_closed_form() -> None:
    # (p − 1) ÷ (m + p − 1) of the pipeline part when nothing is sent (T6: 3/35 for p 4, m 32).
    totals = Case(stages=4, microbatches=32).run().totals
    assert totals.bubble_fraction == pytest.approx(3 / 35, rel=1e-12)
    assert totals.bubble_s == pytest.approx(9.0)
    assert totals.compute_s == pytest.approx(96.0)


def test_waiting_for_sends_is_exposed_pp_and_counts_in_the_bubble_fraction() -> None:
    case = Case(stages=4, microbatches=8)
    sends(case, 0.1)
    totals = case.run().totals
    assert totals.exposed_s["pp"] > 0
    parts = totals.compute_s + totals.bubble_s + sum(totals.exposed_s.values())
    assert parts == pytest.approx(34.6, rel=1e-9)
    assert totals.bubble_fraction == pytest.approx(1 - 24 / 34.6, rel=1e-9)


def test_the_optimizer_comes_after_everybody() -> None:
    step = Case(stages=2, microbatches=2, optimizer_s=0.5).run()
    assert step.totals.time_s == pytest.approx(9.5)
    for lane in step.lanes:
        last = lane.blocks[-1]
        assert (last.what, last.start_s, last.end_s) == (BlockKind.OPTIMIZER, 9.0, 9.5)
    assert [block.microbatch for block in step.lanes[0].blocks[:4]] == [0, 1, 0, 1]


def test_a_schedule_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(JobError, match="zb-h9"):
        pipeline_schedule("zb-h9", 2, 2)
    assert pipeline_schedule("zb-h1", 1, 2).orders == pipeline_schedule("1f1b", 1, 2).orders
