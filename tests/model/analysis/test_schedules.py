"""Whole analyses under every schedule and way of overlap: what the plan says is what moves."""

from __future__ import annotations

import numpy as np
import pytest

from model.analysis import AnalysisCache, analyse
from model.step.report import BlockKind, StepReport
from tests.model.analysis.drawings import TINY_MODEL, cluster, job

MOE = {**TINY_MODEL, "layers": 8, "moe": {"experts": 8, "top_k": 2, "expert_ffn": 512}}
DENSE = {**TINY_MODEL, "layers": 8}


def report_of(*sets: str, model: dict[str, object] = DENSE, nodes: int = 4, gpus: int = 4) -> StepReport:
    spec = job("parallel.pp=4", *sets, model=model, global_batch=32)
    analysis = analyse(cluster(nodes=nodes, gpus=gpus, spec=spec))
    assert analysis.report is not None, [finding.detail for finding in analysis.findings]
    return analysis.report


def check(report: StepReport) -> None:
    totals, segments = report.totals, report.segments
    parts = totals.compute_s + totals.optimizer_s + totals.bubble_s + sum(totals.exposed_s.values())
    assert parts == pytest.approx(totals.time_s, rel=1e-9)
    moved = sum(
        segments.rates[state] * seconds
        for state, seconds in zip(segments.state.tolist(), segments.end_s - segments.start_s, strict=True)
    )
    assert moved == pytest.approx(sum(report.bytes_by_dimension.values()), rel=1e-9)
    for values in (report.cost_s, report.peak_utilisation, report.oversubscription):
        assert np.isfinite(values).all() and (values >= 0).all()


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1", "zb-v", "dualpipe"])
@pytest.mark.parametrize("more", [(), ("parallel.tp=2",), ("parallel.zero=3",), ("recompute=full",)])
def test_schedules(schedule: str, more: tuple[str, ...]) -> None:
    report = report_of(f"schedule={schedule}", *more)
    check(report)
    # Every rank runs every microbatch forward once on each of its chunks, of DualPipe on one of both.
    m = 32 // (16 // 4 // (2 if more[:1] == ("parallel.tp=2",) else 1))
    chunks = 2 if schedule == "zb-v" else 1
    for lane in report.lanes:
        assert sum(block.what is BlockKind.FORWARD for block in lane.blocks) == m * chunks


@pytest.mark.parametrize(
    "sets",
    [
        ("parallel.vpp=2",),
        ("parallel.vpp=2", "overlap.pipeline=true", "parallel.microbatch_group=8"),
        ("parallel.vpp=2", "parallel.layers_per_stage=[1,1,1,1,0,1,2,1]", "parallel.tp=2"),
        ("overlap.tensor=true", "parallel.tp=4"),
        ("overlap.bucket_bytes=1000000",),
        ("overlap.sm_share=0.15", "parallel.tp=2", "parallel.zero=3"),
        ("parallel.cp=2", "overlap.sm_share=0.15"),
    ],
)
def test_overlaps(sets: tuple[str, ...]) -> None:
    check(report_of(*sets))


@pytest.mark.parametrize("schedule", ["1f1b", "zb-v", "dualpipe"])
def test_experts(schedule: str) -> None:
    plain = report_of(f"schedule={schedule}", "parallel.ep=2", model=MOE)
    hidden = report_of(f"schedule={schedule}", "parallel.ep=2", "overlap.experts=true", model=MOE)
    check(plain)
    check(hidden)
    assert hidden.totals.exposed_s["ep"] <= plain.totals.exposed_s["ep"]
    if schedule == "1f1b":
        assert hidden.totals.time_s < plain.totals.time_s


def test_every_send_of_the_plan_is_made_in_the_pipeline() -> None:
    # A send that no operation makes would run before the optimizer, inside the block of gradient sync.
    for sets in (
        ("schedule=gpipe",),
        ("schedule=zb-h1",),
        ("schedule=zb-v",),
        ("schedule=dualpipe",),
        ("parallel.vpp=2",),
    ):
        document = cluster(nodes=1, gpus=4, spec=job("parallel.pp=4", *sets, model=DENSE, global_batch=8))
        cache = AnalysisCache()
        report = analyse(document, cache).report
        assert report is not None
        sends = [n for n, one in enumerate(report.exchanges) if one.operation == "send"]
        assert sends
        end = max(
            block.end_s for lane in report.lanes for block in lane.blocks if block.microbatch is not None
        )
        for start, state in zip(report.segments.start_s, report.segments.state.tolist(), strict=True):
            active = {
                int(report.traffic.instance_exchange[instance]) for instance in report.segments.active[state]
            }
            assert start < end or not active & set(sends), sets


def test_zero_bubble_and_dualpipe_wait_less_than_1f1b() -> None:
    bubbles = {
        name: report_of(f"schedule={name}").totals.bubble_s for name in ("1f1b", "zb-h1", "zb-v", "dualpipe")
    }
    assert bubbles["zb-v"] < bubbles["zb-h1"] < bubbles["1f1b"]
    assert bubbles["dualpipe"] < bubbles["1f1b"]


def test_unequal_chunks_take_their_own_time() -> None:
    # σ 4 of 8 (rank 0, chunk 1) has no layer, σ 6 (rank 2, chunk 1) two.
    report = report_of("parallel.vpp=2", "parallel.layers_per_stage=[1,1,1,1,0,1,2,1]")
    lane = report.lanes[2]
    seconds = {
        chunk: next(
            block.end_s - block.start_s - block.exposed_s
            for block in lane.blocks
            if block.chunk == chunk and block.what is BlockKind.FORWARD
        )
        for chunk in (0, 1)
    }
    assert seconds[1] == pytest.approx(2 * seconds[0], rel=1e-9)
    assert {block.chunk for block in report.lanes[0].blocks if block.microbatch is not None} == {0}
