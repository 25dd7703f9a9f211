"""Replicas that are not equal: a slow GPU, a degraded link, GPUs of two kinds."""

from __future__ import annotations

import numpy as np
import pytest

from model.analysis import AnalysisCache, analyse
from model.document.document import Document
from model.errors import InputError
from model.step.report import StepReport
from model.step.what_if import Simulated, what_if
from model.topology.types import State
from tests.model.analysis.drawings import changed, cluster, job


def run(document: Document) -> tuple[StepReport, Simulated]:
    cache = AnalysisCache()
    report = analyse(document, cache).report
    assert report is not None and cache.last is not None
    return report, cache.last


def nodes() -> Document:
    """Four nodes of two GPUs: TP 2 in the node, four replicas."""
    return cluster(nodes=4, gpus=2, spec=job("parallel.tp=2"))


def lanes(report: StepReport) -> list[tuple[int, int]]:
    return [(lane.replica, lane.replicas) for lane in report.lanes]


def test_equal_replicas_are_one_lane() -> None:
    assert lanes(run(nodes())[0]) == [(0, 4)]
    # A node of its own leaf is no less equal.
    assert lanes(run(cluster(nodes=4, gpus=2, leaves=2, spec=job("parallel.tp=2")))[0]) == [(0, 4)]


def test_a_slow_gpu_holds_everyone_at_the_gradients() -> None:
    before, _ = run(nodes())
    after, _ = run(changed(nodes(), "device", "n2.g0", speed=0.5))
    assert lanes(after) == [(0, 3), (2, 1)]
    slow, quick = (
        sum(block.end_s - block.start_s for block in lane.blocks if block.microbatch is not None)
        for lane in (after.lanes[1], after.lanes[0])
    )
    assert slow > quick + 0.9 * before.totals.compute_s
    # One GPU in eight computes twice as long; all the others wait for it, which is bubble (conventions 46).
    assert after.totals.compute_s == pytest.approx(before.totals.compute_s * 9 / 8)
    longer = after.totals.time_s - before.totals.time_s
    assert longer == pytest.approx(before.totals.compute_s, rel=0.1)
    assert after.totals.bubble_s - before.totals.bubble_s == pytest.approx(longer * 7 / 8, rel=0.1)


def test_a_degraded_nvlink_slows_one_replica_and_the_step() -> None:
    before, _ = run(nodes())
    document = changed(nodes(), "link", "n1.g0-v", state=State.DEGRADED, share=0.1)
    after, last = run(document)
    assert lanes(after) == [(0, 3), (1, 1)]
    assert after.totals.time_s > before.totals.time_s
    assert after.totals.exposed_s["tp"] < 0.5 * after.totals.time_s
    link = after.fabric.link_ids.index("n1.g0-v")
    other = after.fabric.link_ids.index("n0.g0-v")
    assert after.cost_s[2 * link] > 0
    assert after.cost_s[2 * link] == pytest.approx(10 * after.cost_s[2 * other])
    # Ten times as fast it is as before.
    mended = what_if(last, "link", "n1.g0-v", 10.0)
    assert mended.time_s == pytest.approx(before.totals.time_s, rel=1e-6)
    assert mended.saved_s == pytest.approx(after.totals.time_s - before.totals.time_s, rel=1e-6)


def test_two_stragglers_of_two_replicas_do_not_add_up() -> None:
    one, _ = run(changed(nodes(), "device", "n1.g0", speed=0.5))
    both, _ = run(changed(changed(nodes(), "device", "n1.g0", speed=0.5), "device", "n3.g1", speed=0.5))
    assert both.totals.time_s == pytest.approx(one.totals.time_s, rel=1e-9)
    assert lanes(both) == [(0, 2), (1, 2)]


def test_gpus_of_two_kinds() -> None:
    document = nodes()
    for gpu in ("n3.g0", "n3.g1"):
        document = changed(document, "device", gpu, model="h200-sxm")
    report, _ = run(document)
    assert np.isfinite(report.totals.time_s)
    assert sum(count for _, count in lanes(report)) == 4


def test_replicas_that_meet_in_every_microbatch_move_as_one() -> None:
    # ZeRO-3 gathers the layers over all replicas: the slow one holds the others at every layer.
    document = cluster(nodes=4, gpus=2, spec=job("parallel.tp=2", "parallel.zero=3"))
    assert lanes(run(changed(document, "device", "n2.g0", speed=0.5))[0]) == [(0, 4)]


def test_bytes_and_seconds_still_add_up() -> None:
    document = cluster(nodes=4, gpus=4, spec=job("parallel.tp=2", "parallel.pp=2"))
    document = changed(document, "device", "n3.g3", speed=0.7)
    document = changed(document, "link", "n0.k1-l", state=State.DEGRADED, share=0.2)
    report, _ = run(document)
    totals, segments = report.totals, report.segments
    assert len(report.lanes) > 2
    assert set(report.traffic.instance_stage.tolist()) == {0, 1}
    parts = totals.compute_s + totals.optimizer_s + totals.bubble_s + sum(totals.exposed_s.values())
    assert parts == pytest.approx(totals.time_s, rel=1e-9)
    moved = sum(
        segments.rates[state] * seconds
        for state, seconds in zip(segments.state.tolist(), segments.end_s - segments.start_s, strict=True)
    )
    assert moved == pytest.approx(sum(report.bytes_by_dimension.values()), rel=1e-9)


def test_what_if_answers_for_gpus_and_exchanges() -> None:
    document = changed(nodes(), "device", "n2.g0", speed=0.5)
    report, last = run(document)
    assert what_if(last, "gpu", "n2.g0").time_s == pytest.approx(run(nodes())[0].totals.time_s)
    assert what_if(last, "gpu", "n0.g0").saved_s == pytest.approx(0.0, abs=1e-12)
    number = next(n for n, one in enumerate(report.exchanges) if one.kind == "tp.forward")
    exchange = report.exchanges[number]
    saved = what_if(last, "exchange", exchange.id).saved_s
    assert saved == pytest.approx(report.exchange_times[number].exposed_s / 2, rel=0.05)


@pytest.mark.parametrize(
    ("subject", "ident", "factor", "words"),
    [
        ("link", "nobody", 2.0, "nobody"),
        ("gpu", "nobody", 2.0, "nobody"),
        ("exchange", "nobody", 2.0, "nobody"),
        ("gpu", "n0.g0", 0.0, "0.0 times"),
        ("gpu", "n0.g0", float("nan"), "nan times"),
    ],
)
def test_what_if_names_what_it_cannot_answer(subject: str, ident: str, factor: float, words: str) -> None:
    _, last = run(nodes())
    with pytest.raises(InputError, match=words):
        what_if(last, subject, ident, factor)  # type: ignore[arg-type]
