"""What must hold of every step, whatever is sent: property tests over random small jobs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.job.exchange import EXCHANGE_DIMENSIONS, When, Window
from model.step.work import Choices
from tests.model.step.cases import Case, moved

LINKS = 4
_amounts = st.dictionaries(
    st.integers(0, 2 * LINKS - 1), st.floats(1e-3, 50.0, allow_nan=False), min_size=0, max_size=4
)
_windows = {
    When.FORWARD: [Window.NONE, Window.LAYER, Window.ATTENTION, Window.MATRIX],
    When.BACKWARD: [
        Window.NONE,
        Window.DGRAD,
        Window.WGRAD,
        Window.LAYER,
        Window.ATTENTION,
        Window.MATRIX,
    ],
    When.PARAMETERS: [Window.NONE, Window.FIRST_FORWARD],
    When.GRADIENTS: [Window.NONE, Window.LAST_BACKWARD],
    When.BEFORE_OPTIMIZER: [Window.NONE],
    When.AFTER_FORWARD: [Window.NONE],
    When.AFTER_BACKWARD: [Window.NONE],
}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    stages = draw(st.integers(1, 4))
    schedule = draw(st.sampled_from(["1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "dualpipe"]))
    if schedule == "dualpipe" and stages % 2:
        stages += 1
    rounds = draw(st.integers(1, 3))
    case = Case(
        stages=stages,
        schedule=schedule,
        chunks=2 if schedule == "interleaved" and stages > 1 else 1,
        microbatches=rounds * stages if schedule == "interleaved" else draw(st.integers(1, 6)),
        choices=Choices(*draw(st.tuples(*[st.booleans()] * 2, st.sampled_from([0.0, 0.2])))),
        rates=draw(st.lists(st.floats(0.5, 20.0), min_size=LINKS, max_size=LINKS)),
        dgrad_s=draw(st.sampled_from([0.0, 0.7])),
        wgrad_s=draw(st.sampled_from([0.0, 0.9])),
        optimizer_s=draw(st.sampled_from([0.0, 0.3])),
        payload_share=0.9,
    )
    for _ in range(draw(st.integers(0, 5))):
        when = draw(st.sampled_from(list(_windows)))
        at = {
            When.AFTER_FORWARD: range(stages - 1),
            When.AFTER_BACKWARD: range(1, stages),
        }.get(when, range(stages))
        if not at:
            continue
        step = {When.AFTER_FORWARD: 1, When.AFTER_BACKWARD: -1}.get(when)
        case.exchange(
            when,
            window=draw(st.sampled_from(_windows[when])),
            dimension=draw(st.sampled_from(EXCHANGE_DIMENSIONS)),
            alpha_s=draw(st.sampled_from([0.0, 1e-3])),
            count=draw(st.integers(1, 5)),
            time_factor=draw(st.sampled_from([1.0, 1.5])),
            loads={stage: draw(_amounts) for stage in at},
            groups=[[stage, stage + step] for stage in at] if step else None,
            buckets=draw(st.sampled_from([1, 1, 3])),
        )
    return case


@settings(max_examples=120, deadline=None)
@given(cases())
def test_the_seconds_add_up_and_the_bytes_arrive(case: Case) -> None:
    step = case.run()
    totals = step.totals
    parts = totals.compute_s + totals.optimizer_s + totals.bubble_s + sum(totals.exposed_s.values())
    assert parts == pytest.approx(totals.time_s, rel=1e-9)
    for name in EXCHANGE_DIMENSIONS:
        times = [
            time.exposed_s
            for time, exchange in zip(step.exchange_times, case.exchanges, strict=True)
            if exchange.dimension == name
        ]
        assert sum(times) == pytest.approx(totals.exposed_s[name], rel=1e-9, abs=1e-12)

    total = sum(step.bytes_by_dimension.values())
    assert moved(step) == pytest.approx(total, rel=1e-9)
    segments, usable = step.segments, np.repeat(case.fabric().usable, 2)
    assert segments.start_s[0] == 0 and segments.end_s[-1] == totals.time_s
    assert (segments.start_s[1:] == segments.end_s[:-1]).all()
    for state in range(segments.rates.shape[0]):
        assert (segments.rates[state] <= usable * (1 + 1e-9)).all()
    assert (step.peak_utilisation <= 1).all()
    assert (step.mean_utilisation <= step.peak_utilisation + 1e-9).all()
    assert (step.cost_s <= totals.time_s * (1 + 1e-9)).all()


@settings(max_examples=60, deadline=None)
@given(cases())
def test_every_gpu_is_in_one_state_at_a_time(case: Case) -> None:
    """Blocks of a lane do not overlap, and what waiting shows fits in them."""
    for lane in case.run().lanes:
        for before, after in zip(lane.blocks, lane.blocks[1:], strict=False):
            assert before.end_s <= after.start_s + 1e-12
        for block in lane.blocks:
            assert 0 <= block.exposed_s <= block.end_s - block.start_s + 1e-9


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_peak_is_the_highest_of_the_segments(case: Case) -> None:
    step = case.run()
    usable, capacity = np.repeat(case.fabric().usable, 2), np.repeat(case.fabric().capacity, 2)
    rows = np.stack([step.segments.rates[state] for state in range(step.segments.rates.shape[0])])
    offered = np.stack([step.segments.offered[state] for state in range(step.segments.offered.shape[0])])
    for link in range(2 * LINKS):
        assert step.segments.rates[step.segments.state, link] == pytest.approx(
            rows[step.segments.state, link]
        )
        assert step.segments.rates[0, link] == pytest.approx(rows[0, link])
    assert rows.max(axis=0) / usable == pytest.approx(step.peak_utilisation, rel=1e-7, abs=1e-12)
    assert offered.max(axis=0) / capacity == pytest.approx(step.oversubscription, rel=1e-7, abs=1e-12)
