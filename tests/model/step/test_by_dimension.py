"""A report narrowed to a dimension against the whole one, link by link and state by state."""

from __future__ import annotations

import numpy as np
import pytest

from model.analysis import analyse
from model.document.edits import SetJob
from model.document.start import document_from
from model.job.spec import apply_set
from model.step.by_dimension import report_of
from model.step.report import StepReport
from topology_templates.registry import build


@pytest.fixture(scope="module")
def report() -> StepReport:
    document = document_from(build("hgx-h100", {"nodes": 4}))
    job = document.job
    for one in ("parallel.tp=4", "parallel.pp=2", "global_batch=32"):
        job = apply_set(job, one)
    SetJob(job).apply(document)
    found = analyse(document).report
    assert found is not None
    return found


def test_the_dimensions_add_up_to_the_whole_in_every_state(report: StepReport) -> None:
    parts = [report_of(report, dimension) for dimension in ("tp", "pp", "dp")]
    for state in range(report.segments.rates.shape[0]):
        for table in ("rates", "offered"):
            total = sum(getattr(part.segments, table)[state] for part in parts)
            assert np.allclose(total, getattr(report.segments, table)[state], rtol=1e-9, atol=1e-3)
    assert np.allclose(sum(part.mean_utilisation for part in parts), report.mean_utilisation)
    loads = sum(part.traffic.loads for part in parts)
    assert np.allclose((loads - report.traffic.loads).toarray(), 0.0)


@pytest.mark.parametrize("dimension", ["tp", "pp", "dp"])
def test_peaks_are_those_of_all_states(report: StepReport, dimension: str) -> None:
    part = report_of(report, dimension)  # type: ignore[arg-type]
    usable, capacity = (np.repeat(values, 2) for values in (report.fabric.usable, report.fabric.capacity))
    states = range(part.segments.rates.shape[0])
    rates = np.max([part.segments.rates[state] for state in states], axis=0)
    offered = np.max([part.segments.offered[state] for state in states], axis=0)
    assert np.allclose(part.peak_utilisation, np.minimum(rates / usable, 1.0), rtol=1e-9, atol=1e-12)
    assert np.allclose(part.oversubscription, offered / capacity, rtol=1e-9, atol=1e-12)
    assert (part.peak_utilisation <= report.peak_utilisation + 1e-9).all()
    assert ((part.peak_utilisation > 0) == (part.bytes_by_dimension[dimension] > 0)).all()
    assert (part.cost_s[part.bytes_by_dimension[dimension] == 0] == 0).all()
    assert part.totals is report.totals


def test_a_dimension_without_traffic_shows_none(report: StepReport) -> None:
    part = report_of(report, "storage")
    assert not part.peak_utilisation.any() and not part.mean_utilisation.any() and not part.cost_s.any()
