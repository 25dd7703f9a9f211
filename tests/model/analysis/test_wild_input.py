"""Sizes beyond reason: a finding that names it or a finite report, never NaN, infinity or a hang."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.analysis import analyse
from model.document.document import Document
from model.document.edits import AddParts
from model.errors import RailsketchError
from model.job.spec import JobSpec
from model.topology.types import Device, DeviceKind, Link, LinkKind, State
from tests.model.analysis.drawings import TINY_MODEL, changed, cluster, job, without


def sound(document: Document) -> bool:
    """Whether there is a report; it has no number that is not finite, and without one there are findings."""
    analysis = analyse(document)
    report = analysis.report
    if report is None:
        assert any(finding.severity == "error" for finding in analysis.findings)
        return False
    totals = report.totals
    numbers = [
        totals.time_s, totals.tokens_per_s_per_gpu, totals.mfu, totals.hfu, totals.bubble_fraction,
        totals.compute_s, totals.optimizer_s, totals.bubble_s, *totals.exposed_s.values(),
        *(figure.value for figure in report.figures.values()),
        *(time.time_s for time in report.exchange_times),
    ]  # fmt: skip
    assert np.isfinite(numbers).all()
    for values in (report.cost_s, report.peak_utilisation, report.mean_utilisation, report.oversubscription):
        assert np.isfinite(values).all()
    return True


def test_a_batch_of_a_million_million_is_named() -> None:
    document = cluster(spec=job(global_batch=10**12))
    assert not sound(document)
    assert any("250,000,000,000 microbatches" in one.detail for one in analyse(document).findings)


def test_links_to_nowhere_and_groups_in_two_pieces() -> None:
    for spec in (job("parallel.tp=4"), job("parallel.pp=4"), job()):
        apart = cluster(leaves=2, spec=spec)
        assert sound(without(apart, links=["t1"]))
        assert any(finding.id.startswith("reach.") for finding in analyse(apart).findings)


def test_links_that_carry_nothing() -> None:
    document = cluster(spec=job("parallel.tp=2", "parallel.pp=2"))
    for link in ("n0.g0-v", "n0.k0-l", "n1.g1-p"):
        document = changed(document, "link", link, state=State.DEGRADED, share=1e-6)
        assert sound(document)
    assert sound(changed(document, "link", "n1.k0-l", state=State.DOWN))


jobs = st.fixed_dictionaries(
    {
        "sequence_length": st.sampled_from([1, 2, 1024, 2**20]),
        "global_batch": st.sampled_from([1, 4, 16, 4096, 10**9, 10**12]),
        "microbatch": st.sampled_from([1, 3, 64]),
        "schedule": st.sampled_from(["gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"]),
        "recompute": st.sampled_from(["none", "full"]),
    }
)
parallel = st.fixed_dictionaries(
    {
        "tp": st.sampled_from([1, 2, 4, 1024]),
        "pp": st.sampled_from([1, 2, 4]),
        "cp": st.sampled_from([1, 2]),
        "vpp": st.sampled_from([1, 2]),
        "zero": st.sampled_from([0, 1, 2, 3]),
        "microbatch_group": st.sampled_from([None, 1, 4, 10**6]),
    }
)


@settings(max_examples=120)
@given(jobs, parallel, st.sampled_from([0.0, 0.999]), st.sampled_from([None, 1, 2**50]))
def test_any_job(fields: dict[str, object], own: dict[str, object], sms: float, bucket: int | None) -> None:
    overlap = {"sm_share": sms, "bucket_bytes": bucket, "pipeline": True, "tensor": True}
    try:
        spec = JobSpec.model_validate({"model": TINY_MODEL, "parallel": own, "overlap": overlap, **fields})
    except (ValueError, RailsketchError):
        return
    sound(cluster(nodes=2, gpus=4, spec=spec))


@settings(max_examples=60)
@given(st.sampled_from([1.0, 1e9, 1e18]), st.sampled_from([1e-6, 1.0, 1e6]))
def test_any_rate(rate: float, share: float) -> None:
    devices = (
        Device("a", DeviceKind.GPU, "h100-sxm"),
        Device("b", DeviceKind.GPU, "h100-sxm", speed=min(share, 1.0)),
        Device("s", DeviceKind.NVLINK_SWITCH, "nvswitch3"),
    )
    links = tuple(Link(f"l{end}", end, "s", LinkKind.NVLINK, rate, 18) for end in ("a", "b"))
    for spec in (job("parallel.tp=2"), job("parallel.pp=2"), job()):
        document = Document(job=spec)
        AddParts(devices, links).apply(document)
        sound(document)


@pytest.mark.parametrize("buckets", ["1", "1125899906842624"])
def test_tiny_and_huge_buckets(buckets: str) -> None:
    assert sound(cluster(spec=job(f"overlap.bucket_bytes={buckets}")))
