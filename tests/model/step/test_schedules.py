"""Schedules by traffic_model: examples T22 of §10 (tf = 1, tb = 2), closed forms of §6, peaks of §2.4."""

from __future__ import annotations

import pytest

from model.errors import JobError
from model.job.exchange import Operation, When, Window
from model.step.orders import Direction
from model.step.report import BlockKind
from model.step.schedule import pipeline_schedule
from model.step.work import Choices
from tests.model.step.cases import Case, most_in_flight, sends


@pytest.mark.parametrize(
    ("stages", "microbatches", "chunks", "expected"),
    [(4, 8, 2, 28.5), (4, 32, 5, 97.8), (16, 16, 8, 53.625), (16, 32, 8, 101.625)],
)
def test_t22_interleaved(stages: int, microbatches: int, chunks: int, expected: float) -> None:
    case = Case(stages=stages, microbatches=microbatches, schedule="interleaved", chunks=chunks)
    totals = case.run().totals
    assert totals.time_s == pytest.approx(expected, rel=1e-12)
    # §6: (p − 1)(tf + tb) / v of bubble.
    assert totals.bubble_s == pytest.approx((stages - 1) * 3 / chunks)
    assert totals.bubble_fraction == pytest.approx(1 - 3 * microbatches / expected, rel=1e-9)


def test_t22_chunks_in_flight() -> None:
    def peaks(name: str, stages: int, microbatches: int, chunks: int = 1) -> list[int]:
        schedule = pipeline_schedule(name, stages, microbatches, chunks)
        return [most_in_flight(order) for order in schedule.orders]

    assert peaks("interleaved", 4, 8, 2) == [11, 9, 7, 5]
    assert peaks("interleaved", 16, 32, 8)[0] == 143
    assert peaks("interleaved", 4, 32, 5) == [23, 21, 19, 17]  # T7
    assert peaks("gpipe", 4, 8) == [8] * 4
    assert peaks("zb-h1", 8, 64) == [8] * 8
    assert peaks("zb-v", 4, 16) == [8] * 4  # chunks of half a stage: as 1F1B on stage 0
    assert peaks("dualpipe", 8, 20) == [9] * 8  # p + 1


def test_t22_gpipe() -> None:
    assert Case(stages=4, microbatches=8, schedule="gpipe").run().totals.time_s == pytest.approx(33.0)


@pytest.mark.parametrize(("stages", "microbatches"), [(4, 8), (8, 64)])
def test_zero_bubble_h1_is_the_closed_form(stages: int, microbatches: int) -> None:
    # §6: (p − 1)(tf + tb − 2tw) on a rank; tf 1, tb 2, tw 1.
    case = Case(stages=stages, microbatches=microbatches, schedule="zb-h1", dgrad_s=1.0, wgrad_s=1.0)
    step = case.run()
    assert step.totals.bubble_s == pytest.approx((stages - 1) * (1 + 2 - 2))
    kinds = {block.what for block in step.lanes[0].blocks}
    assert kinds == {BlockKind.FORWARD, BlockKind.BACKWARD, BlockKind.WEIGHT_GRADIENT}


@pytest.mark.parametrize(("stages", "microbatches"), [(4, 8), (8, 32)])
def test_zero_bubble_v_leaves_no_gap_where_all_parts_are_equal(stages: int, microbatches: int) -> None:
    case = Case(stages=stages, microbatches=microbatches, schedule="zb-v", dgrad_s=1.0, wgrad_s=1.0)
    step = case.run()
    for lane in step.lanes:
        idle = lane.blocks[-1].end_s - lane.blocks[0].start_s - 3.0 * microbatches
        assert idle == pytest.approx(0.0, abs=1e-9)
    # Rank r starts r half forwards late.
    assert [lane.blocks[0].start_s for lane in step.lanes] == pytest.approx([r / 2 for r in range(stages)])


@pytest.mark.parametrize(("stages", "microbatches"), [(2, 8), (4, 8), (8, 16), (8, 20)])
def test_dualpipe_is_the_closed_form(stages: int, microbatches: int) -> None:
    # §6: (p/2 − 1)(F&B + tb − 3tw) on a rank, with F&B = tf + tb where nothing is sent. The first and the
    # last rank start at once and end last.
    case = Case(stages=stages, microbatches=microbatches, schedule="dualpipe", dgrad_s=1.0, wgrad_s=1.0)
    totals = case.run().totals
    assert totals.time_s - 3 * microbatches == pytest.approx((stages / 2 - 1) * (3 + 2 - 3))


@pytest.mark.parametrize("name", ["gpipe", "1f1b", "zb-h1", "zb-v", "dualpipe"])
@pytest.mark.parametrize("microbatches", [1, 2, 3, 5, 17])
def test_every_microbatch_runs_once_each_way(name: str, microbatches: int) -> None:
    schedule = pipeline_schedule(name, 4, microbatches)
    for order in schedule.orders:
        forwards = [(one.microbatch, one.chunk) for one in order if one.direction is Direction.FORWARD]
        backwards = [
            (one.microbatch, one.chunk)
            for one in order
            if one.direction in (Direction.BACKWARD, Direction.INPUT_GRADIENT)
        ]
        assert len(set(forwards)) == len(forwards)
        assert sorted(forwards) == sorted(backwards)
        weights = [one for one in order if one.direction is Direction.WEIGHT_GRADIENT]
        inputs = [one for one in order if one.direction is Direction.INPUT_GRADIENT]
        assert len(weights) == len(inputs)
        assert {microbatch for microbatch, _ in forwards} == set(range(microbatches))


def test_what_all_chunks_exchange_goes_by_their_passes() -> None:
    # Three microbatches under DualPipe: two go down, one comes up. Each moves a third of the bytes: 1 s.
    case = Case(stages=2, microbatches=3, schedule="dualpipe", rates=[1.0])
    case.exchange(When.FORWARD, loads={0: {0: 3.0}}, groups=[[0]])
    step = case.run()
    assert sum(block.exposed_s for block in step.lanes[0].blocks) == pytest.approx(3.0)
    assert step.exchange_times[0].time_s == pytest.approx(3.0)
    alone = Case(stages=2, microbatches=1, schedule="dualpipe", rates=[1.0])
    alone.exchange(When.FORWARD, loads={0: {0: 3.0}}, groups=[[0]])
    assert alone.run().exchange_times[0].time_s == pytest.approx(3.0)


def test_dualpipe_needs_an_even_number_of_stages() -> None:
    with pytest.raises(JobError, match="even number of stages, not 3"):
        pipeline_schedule("dualpipe", 3, 4)


def test_more_microbatches_than_can_be_simulated_are_refused_at_once() -> None:
    with pytest.raises(JobError, match="1,000,000,000,000 microbatches"):
        pipeline_schedule("1f1b", 4, 10**12)


def _round(case: Case, seconds: float) -> None:
    """Sends of `seconds` an operation between neighbours, and around from the last stage to the first."""
    p, v, m = case.stages, case.chunks, case.microbatches
    sends(case, seconds * v)
    case.rates = [*case.rates, 1.0]
    around = 2 * (p - 1)
    for when, hop, link in (
        (When.AFTER_FORWARD, (p - 1, 0), around),
        (When.AFTER_BACKWARD, (0, p - 1), around + 1),
    ):
        case.exchange(when, dimension="pp", loads={hop[0]: {link: seconds * m * (v - 1)}}, groups=[list(hop)])


def test_interleaved_sends_hide_in_the_steady_state_or_hold_their_sender() -> None:
    # §3.2 and §9: with overlap.pipeline hidden but for warm-up and flush; without it about 2·m·v·x.
    def time_s(overlapped: bool) -> float:
        case = Case(
            stages=4, microbatches=32, chunks=2, schedule="interleaved", choices=Choices(pipeline=overlapped)
        )
        _round(case, 0.05)
        return case.run().totals.time_s

    plain = 32 * 3 + 3 * 3 / 2
    assert plain < time_s(True) < plain + 2 * (4 + 4) * 0.05
    assert time_s(False) == pytest.approx(plain + 2 * 32 * 2 * 0.05, rel=0.02)


def test_zero_bubble_v_turns_round_on_the_last_rank_without_a_send() -> None:
    # One microbatch down and up four ranks: 8 half forwards, 8 half input gradients, and 3 sends each way of
    # each; on the last rank the order has a weight gradient before the turn, and rank 0 ends with one.
    case = Case(stages=4, microbatches=1, schedule="zb-v", dgrad_s=1.0, wgrad_s=1.0)
    sends(case, 0.1)
    case.loads = [{link: 2 * amount for link, amount in row.items()} for row in case.loads]
    assert case.run().totals.time_s == pytest.approx(8 * 0.5 + 8 * 0.5 + 12 * 0.1 + 2 * 0.5)


def test_the_first_share_of_a_tensor_collective_shows() -> None:
    # §3.1: exposed ≈ T/t + max(0, T·(t − 1)/t − T_gemm); T = 2, t = 4, GEMM 1: 0.5 + 0.5.
    case = Case(microbatches=1, rates=[1.0], dgrad_s=1.0, wgrad_s=1.0, forward_s=1.5)
    case.exchange(When.FORWARD, window=Window.MATRIX, loads={0: {0: 2.0}}, groups=[[0, 0, 0, 0]])
    assert case.run().totals.exposed_s["tp"] == pytest.approx(1.0)


def test_the_ring_of_context_parallelism_hides_beside_attention() -> None:
    # §7: max(0, kv − attention) with 0.7 of sends beside 0.5 of attention in a forward of 1.
    case = Case(microbatches=2, rates=[1.0], attention_s=0.5)
    case.exchange(When.FORWARD, window=Window.ATTENTION, dimension="cp", loads={0: {0: 1.4}})
    assert case.run().totals.exposed_s["cp"] == pytest.approx(0.4)


@pytest.mark.parametrize(("overlapped", "shown"), [(False, 8.0), (True, 0.0)])
def test_experts_hide_where_forward_and_backward_alternate(overlapped: bool, shown: float) -> None:
    # One stage alternates all the time: 4 × 1 s of dispatch forward and 4 × 1 s backward.
    case = Case(microbatches=4, rates=[1.0], choices=Choices(experts=overlapped))
    case.exchange(When.FORWARD, dimension="ep", loads={0: {0: 4.0}})
    case.exchange(When.BACKWARD, dimension="ep", loads={0: {0: 4.0}})
    assert case.run().totals.exposed_s["ep"] == pytest.approx(shown)


def test_joined_operations_of_dualpipe_hide_the_experts_of_both() -> None:
    # §7: max(0, A2A − paired compute). One pair on each of two ranks in the steady state hides 2 s of 3 s.
    def exposed(seconds: float) -> float:
        case = Case(stages=2, microbatches=8, schedule="dualpipe", dgrad_s=1.0, wgrad_s=1.0)
        case.rates = [1.0, 1.0]
        for when in (When.FORWARD, When.BACKWARD):
            case.exchange(
                when, dimension="ep", loads={0: {0: 8 * seconds}, 1: {2: 8 * seconds}}, groups=[[0], [1]]
            )
        return case.run().totals.exposed_s["ep"]

    everything = 2 * 8 * 0.2
    assert 0 < exposed(0.2) < 0.4 * everything


def test_communication_beside_compute_slows_it_by_its_sms() -> None:
    # 1 s of forward beside 0.5 s of gather at 20 % of the SMs: 0.1 s longer; beside 5 s all of it is slower:
    # 1.25 s, then 3.75 s show.
    for seconds, compute, shown in ((0.5, 1.1, 0.0), (5.0, 1.25, 3.75)):
        case = Case(microbatches=1, rates=[1.0], choices=Choices(sm_share=0.2))
        case.exchange(When.FORWARD, window=Window.LAYER, dimension="dp", loads={0: {0: seconds}})
        totals = case.run().totals
        assert totals.compute_s == pytest.approx(compute + 2)
        assert totals.exposed_s["dp"] == pytest.approx(shown)


def test_units_of_zero_3_show_the_first_gather_and_the_last_scatter() -> None:
    # §7, FSDP: of 4 units one gather of 0.2 s shows before the forward, one scatter of 0.4 s at the end.
    case = Case(microbatches=1, rates=[1.0])
    for when, operation, seconds in (
        (When.FORWARD, Operation.ALL_GATHER, 0.8),
        (When.BACKWARD, Operation.REDUCE_SCATTER, 1.6),
    ):
        case.exchange(
            when, window=Window.LAYER, dimension="dp", loads={0: {0: seconds}}, buckets=4, operation=operation
        )
    assert case.run().totals.exposed_s["dp"] == pytest.approx(0.2 + 0.4)


def test_gradients_of_a_chunk_leave_when_its_last_backward_ends() -> None:
    # Interleaved, chunk 1 is done before chunk 0: its half of the sync hides under the last backwards of
    # chunk 0 (group 4 × 1 s), the other half of 2 s shows.
    case = Case(stages=2, microbatches=4, schedule="interleaved", chunks=2, group=4)
    case.rates = [1.0]
    case.exchange(
        When.GRADIENTS, window=Window.LAST_BACKWARD, dimension="dp", loads={0: {0: 4.0}}, groups=[[0]]
    )
    late = case.run().totals.time_s
    case.exchanges, case.instances, case.loads, case.endpoints, case.alpha_s = [], [], [], [], []
    assert late - case.run().totals.time_s == pytest.approx(2.0)
