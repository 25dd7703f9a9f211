"""The quick time of a step against the simulated one."""

from __future__ import annotations

import pytest

from model.analysis import AnalysisCache, analyse, estimate
from model.errors import JobError
from tests.model.analysis.drawings import TINY_MODEL, changed, cluster, job

DENSE = {**TINY_MODEL, "layers": 8}


@pytest.mark.parametrize(
    "sets",
    [
        (),
        ("parallel.tp=2", "parallel.zero=3"),
        ("parallel.pp=4",),
        ("parallel.pp=4", "parallel.tp=2", "schedule=gpipe"),
        ("parallel.pp=4", "schedule=zb-h1"),
        ("parallel.pp=4", "schedule=zb-v"),
        ("parallel.pp=4", "schedule=dualpipe"),
        ("parallel.pp=4", "parallel.vpp=2"),
        ("parallel.pp=4", "parallel.vpp=2", "overlap.pipeline=true", "parallel.tp=2"),
        ("parallel.pp=2", "overlap.sm_share=0.2", "overlap.gradients=false", "overlap.parameters=false"),
    ],
)
@pytest.mark.parametrize("batch", [32, 1024])
def test_it_is_near_the_simulation(sets: tuple[str, ...], batch: int) -> None:
    spec = job(*sets, model=DENSE, global_batch=batch)
    document, cache = cluster(nodes=4, gpus=4, spec=spec), AnalysisCache()
    report = analyse(document, cache).report
    assert report is not None
    assert estimate(document, cache) == pytest.approx(report.totals.time_s, rel=0.03)


def test_a_straggler_counts() -> None:
    spec = job("parallel.tp=2", "parallel.pp=2")
    document = changed(cluster(nodes=4, gpus=4, spec=spec), "device", "n2.g0", speed=0.5)
    cache = AnalysisCache()
    report = analyse(document, cache).report
    assert report is not None and len(report.lanes) == 4
    assert estimate(document, cache) == pytest.approx(report.totals.time_s, rel=0.03)


def test_an_illegal_job_is_refused() -> None:
    with pytest.raises(JobError):
        estimate(cluster(spec=job("parallel.tp=3")), AnalysisCache())
