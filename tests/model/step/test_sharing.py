"""Exchanges that share links: numbers worked out by hand beside each test."""

from __future__ import annotations

import numpy as np
import pytest

from model.job.exchange import When, Window
from model.step.small import Small
from tests.model.step.cases import Case, moved


def test_two_exchanges_on_two_links() -> None:
    # Link 0 carries 10 B/s, link 1 carries 4 B/s. After the backward both start: stage 0 sends 60 B over
    # link 0,
    # stage 1 sends 20 B over links 0 and 1. The 20 B are held to 4 B/s by link 1, the 60 B get the 6 B/s
    # left.
    # After 5 s the 20 B are done and 30 B are left, which go at 10 B/s: 3 s more.
    case = Case(stages=2, microbatches=1, rates=[10.0, 4.0])
    case.exchange(
        When.BEFORE_OPTIMIZER,
        dimension="dp",
        loads={0: {0: 60.0}, 1: {0: 20.0, 2: 20.0}},
        groups=[[0], [1]],
    )
    # Stage 1 ends its backward at 4 s and stage 0 at 6 s, so a first forward of 1 s and backward of 2 s each
    # would not let them meet; with no backward compute both start at 2 s.
    case.backward_s = 0.0
    step = case.run()
    assert step.totals.time_s == pytest.approx(2 + 8)
    segments = step.segments
    rows = {
        (round(start, 9), round(end, 9)): segments.rates[state]
        for start, end, state in zip(segments.start_s, segments.end_s, segments.state, strict=True)
    }
    assert rows[2.0, 7.0][[0, 2]] == pytest.approx([10.0, 4.0])
    assert rows[7.0, 10.0][[0, 2]] == pytest.approx([10.0, 0.0])
    assert step.peak_utilisation[[0, 2]] == pytest.approx([1.0, 1.0])
    assert step.mean_utilisation[[0, 2]] == pytest.approx([0.8, 0.5])
    # Link 0 holds back the 60 B all the time, link 1 the 20 B while they run.
    assert step.cost_s[[0, 2]] == pytest.approx([8.0, 5.0])
    # Mean over both GPUs: (8 + 5) ÷ 2 exposed, stage 1 waits 3 s at the barrier.
    assert step.totals.exposed_s["dp"] == pytest.approx(6.5)
    assert step.exchange_times[0].time_s == pytest.approx(6.5)
    assert step.totals.bubble_s == pytest.approx(1.5 + 1.0)


def test_oversubscription_of_two_nics_on_one_cable() -> None:
    # Conventions 48: two NICs of 50 GB/s on one cable of 50 GB/s are 2.00×, without the payload share 0.97.
    gb = 1e9
    case = Case(microbatches=1, rates=[50 * gb, 50 * gb, 50 * gb], payload_share=0.97)
    case.exchange(
        When.GRADIENTS,
        dimension="dp",
        loads={0: {0: 97 * gb, 2: 97 * gb, 4: 194 * gb}},
        endpoints={0: {0: 97 * gb, 2: 97 * gb}},
        groups=[[0]],
    )
    step = case.run()
    assert step.oversubscription[4] == pytest.approx(2.0, rel=1e-12)
    assert step.oversubscription[0] == pytest.approx(1.0, rel=1e-12)
    assert step.totals.exposed_s["dp"] == pytest.approx(194 / 48.5)
    assert step.peak_utilisation[4] == pytest.approx(1.0)
    assert step.segments.offered[int(step.segments.state[-1]), 4] == pytest.approx(100 * gb)


def test_latency_then_bytes() -> None:
    # 3 operations of 0.5 s latency, then 40 B at 10 B/s.
    case = Case(microbatches=1, rates=[10.0])
    case.exchange(When.FORWARD, loads={0: {0: 40.0}}, alpha_s=0.5, count=3)
    step = case.run()
    assert step.totals.time_s == pytest.approx(1 + 1.5 + 4 + 2)
    block = step.lanes[0].blocks[0]
    assert (block.end_s, block.exposed_s) == (pytest.approx(6.5), pytest.approx(5.5))
    states = [step.segments.active[int(state)] for state in step.segments.state]
    assert states == [(), (0,), (0,), ()]
    assert [float(step.segments.rates[int(state), 0]) for state in step.segments.state] == [0, 0, 10.0, 0]
    assert step.cost_s[0] == pytest.approx(4.0)


def test_hidden_exchange_shows_only_what_its_window_does_not_cover() -> None:
    # Beside 1.5 s of weight gradients 20 B at 10 B/s take 2 s: 0.5 s a microbatch shows.
    case = Case(microbatches=2, rates=[10.0], dgrad_s=0.5, wgrad_s=1.5)
    case.exchange(When.BACKWARD, window=Window.WGRAD, loads={0: {0: 40.0}})
    totals = case.run().totals
    assert totals.exposed_s["tp"] == pytest.approx(1.0)
    assert totals.time_s == pytest.approx(7.0)


def test_expert_imbalance_stretches_time_but_not_bytes() -> None:
    case = Case(microbatches=1, rates=[10.0])
    case.exchange(When.FORWARD, dimension="ep", loads={0: {0: 40.0}}, time_factor=1.5)
    step = case.run()
    assert step.totals.exposed_s["ep"] == pytest.approx(6.0)
    assert moved(step)[0] == pytest.approx(40.0, rel=1e-12)


def test_gradient_sync_of_a_later_stage_hides_in_the_cool_down() -> None:
    # traffic_model §7: exposed_r = max(0, T_r − r·tb). Stage 1 has tb = 2 s; its sync takes 3 s, so 1 s
    # shows.
    case = Case(stages=2, microbatches=4, rates=[1.0, 1.0])
    case.exchange(
        When.GRADIENTS,
        window=Window.LAST_BACKWARD,
        dimension="dp",
        loads={1: {2: 3.0}},
        groups=[[1]],
    )
    step = case.run()
    assert step.totals.time_s == pytest.approx(15 + 1)
    assert step.totals.exposed_s["dp"] == pytest.approx(0.5)  # of one GPU in two
    assert step.cost_s[2] == pytest.approx(1.0)


@pytest.mark.parametrize(("buckets", "shown"), [(1, 3.0), (3, 5 / 3), (300, 1 + 2 / 300)])
def test_buckets_follow_the_last_backward(buckets: int, shown: float) -> None:
    # 3 s of sync, last backward 2 s. One bucket starts when it ends. Bucket k of n is ready after 2k/n s and
    # takes 3/n s: the last of three ends at 2/3 + 3 s; of 300 at 2/300 + 3 s.
    case = Case(microbatches=2, rates=[1.0])
    case.exchange(
        When.GRADIENTS, window=Window.LAST_BACKWARD, dimension="dp", loads={0: {0: 3.0}}, buckets=buckets
    )
    assert case.run().totals.time_s == pytest.approx(6 + shown, rel=1e-9)


@pytest.mark.parametrize(("buckets", "units"), [(1, 1), (3, 1), (3, 3)])
def test_every_unit_has_its_own_latency(buckets: int, units: int) -> None:
    # After the last backward: 0.5 s of latency for each of the units, and 4 s of bytes together. Buckets of a
    # gradient are one operation (conventions 21).
    case = Case(microbatches=2, rates=[10.0])
    case.exchange(
        When.GRADIENTS, dimension="dp", loads={0: {0: 40.0}}, alpha_s=0.5, buckets=buckets, units=units
    )
    assert case.run().totals.time_s == pytest.approx(6 + 4 + 0.5 * units)


@pytest.mark.parametrize(
    ("when", "window", "shown"),
    [
        # 0.3 s in buckets of 1 ms: the last leaves when the last backward ends, and waits for the latency.
        (When.GRADIENTS, Window.LAST_BACKWARD, 0.5 + 0.001),
        # The first bucket waits for it before the first forward starts; the others go beside it.
        (When.PARAMETERS, Window.FIRST_FORWARD, 0.5 + 0.001),
    ],
)
def test_a_latency_that_buckets_share_shows_however_many_they_are(
    when: When, window: Window, shown: float
) -> None:
    case = Case(microbatches=2, rates=[1.0])
    case.exchange(when, window=window, dimension="dp", loads={0: {0: 0.3}}, alpha_s=0.5, buckets=300)
    step = case.run()
    assert step.totals.time_s == pytest.approx(6 + shown, rel=1e-9)
    assert step.exchange_times[0].time_s == pytest.approx(0.8)


def test_the_host_issues_a_kernel_for_every_part_of_a_list() -> None:
    # 12 kernels of 0.25 s before each of 2 microbatches moves its 20 B at 10 B/s.
    case = Case(microbatches=2, rates=[10.0], issue_s=0.25)
    case.exchange(When.FORWARD, dimension="dp", loads={0: {0: 40.0}}, count=2, host_kernels=12)
    totals = case.run().totals
    assert totals.exposed_s["dp"] == pytest.approx(2 * (12 * 0.25 + 2))
    assert totals.time_s == pytest.approx(6 + 10)


def test_small_exchanges_are_waited_for_and_are_bubble() -> None:
    # 2 microbatches on 3 layers with experts: 3 · (0.1 + 0.05) s each, and 0.5 s before the optimizer (1 s).
    case = Case(microbatches=2, routed=3, optimizer_s=1.0, small=Small(0.1, 0.05, 0.5))
    totals = case.run().totals
    assert totals.time_s == pytest.approx(6 + 2 * 0.45 + 0.5 + 1.0)
    assert totals.bubble_s == pytest.approx(2 * 0.45 + 0.5)
    assert (totals.compute_s, totals.optimizer_s) == (pytest.approx(6.0), pytest.approx(1.0))
    assert not any(totals.exposed_s.values())


def test_small_exchanges_of_experts_hide_with_them() -> None:
    # DualPipe joins a forward and a backward in its steady part, where nothing waits for experts.
    def bubble(small: Small) -> float:
        return (
            Case(stages=2, microbatches=8, routed=1, schedule="dualpipe", small=small).run().totals.bubble_s
        )

    shown = bubble(Small(0.1, 0.1)) - bubble(Small())
    assert 0 < shown < 2 * 8 * 0.1 / 2


def test_without_overlap_all_of_the_gradient_sync_shows() -> None:
    case = Case(stages=2, microbatches=4, rates=[1.0, 1.0])
    case.exchange(When.GRADIENTS, dimension="dp", loads={0: {0: 3.0}, 1: {2: 3.0}}, groups=[[0], [1]])
    step = case.run()
    assert step.totals.time_s == pytest.approx(15 + 3)
    assert step.totals.exposed_s["dp"] == pytest.approx(3.0)


@pytest.mark.parametrize(("window", "expected"), [(Window.FIRST_FORWARD, 12.5), (Window.NONE, 13.5)])
def test_parameter_gather_hides_under_the_first_forward(window: Window, expected: float) -> None:
    # p = 1, m = 4: 12 s of compute. Of 3 buckets of 0.5 s the first shows, two take the 1 s of forward.
    case = Case(microbatches=4, rates=[1.0])
    case.exchange(When.PARAMETERS, window=window, dimension="dp", loads={0: {0: 1.5}}, buckets=3)
    assert case.run().totals.time_s == pytest.approx(expected)


def test_tied_embeddings_make_both_ends_wait_for_the_later_one() -> None:
    # One exchange of stages 0 and 2; stage 2 ends its backward 4 s before stage 0, then both wait 1 s for it.
    case = Case(stages=3, microbatches=3, rates=[1.0])
    case.exchange(When.BEFORE_OPTIMIZER, dimension="pp", loads={0: {0: 1.0}}, groups=[[0, 2]])
    totals = case.run().totals
    assert totals.time_s == pytest.approx((3 + 2) * 3 + 1)
    assert totals.exposed_s["pp"] == pytest.approx(2 / 3)


def test_links_that_carry_nothing_are_left_out() -> None:
    case = Case(microbatches=1, rates=[10.0, 0.0])
    case.exchange(When.FORWARD, loads={0: {0: 10.0, 2: 5.0}})
    step = case.run()
    assert step.totals.time_s == pytest.approx(4.0)
    assert step.bytes_by_dimension["tp"].tolist() == [10.0, 0.0, 0.0, 0.0]
    assert np.isfinite(step.oversubscription).all()


def test_messages_of_one_pair_queue_behind_each_other() -> None:
    # A send of 2 s after forwards of 1 s: the second one waits for the first, so arrivals are 3 s and 5 s.
    case = Case(stages=2, microbatches=2, rates=[1.0], backward_s=0.0)
    case.exchange(When.AFTER_FORWARD, dimension="pp", loads={0: {0: 4.0}}, groups=[[0, 1]])
    step = case.run()
    assert [block.start_s for block in step.lanes[1].blocks] == pytest.approx([3.0, 5.0])


def test_collectives_of_one_dimension_take_turns() -> None:
    # Two of 1 s each hide beside one backward of 2 s: one after the other, so neither is offered too much.
    case = Case(microbatches=1, rates=[10.0])
    for _ in range(2):
        case.exchange(When.BACKWARD, window=Window.LAYER, dimension="dp", loads={0: {0: 10.0}})
    step = case.run()
    assert step.totals.time_s == pytest.approx(3.0)
    assert step.oversubscription[0] == pytest.approx(1.0)
    assert [time.time_s for time in step.exchange_times] == pytest.approx([1.0, 1.0])


def test_dimensions_share_a_link_that_both_use() -> None:
    # DP and TP beside one backward of 2 s offer 10 B/s each to 10 B/s: 2.00×, and 4 s for both, 2 s of it
    # shown.
    case = Case(microbatches=1, rates=[10.0])
    case.exchange(When.BACKWARD, window=Window.LAYER, dimension="dp", loads={0: {0: 20.0}})
    case.exchange(When.BACKWARD, window=Window.LAYER, dimension="tp", loads={0: {0: 20.0}})
    step = case.run()
    assert step.totals.time_s == pytest.approx(5.0)
    assert step.oversubscription[0] == pytest.approx(2.0)
    assert step.totals.exposed_s["dp"] == pytest.approx(1.0)
    assert step.totals.exposed_s["tp"] == pytest.approx(1.0)
    assert step.cost_s[0] == pytest.approx(2.0)
