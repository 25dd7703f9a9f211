"""Any drawing gets an analysis: half-finished, in pieces, with dead parts, badly coloured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.analysis import analyse
from model.document.document import Document
from model.document.edits import AddParts
from model.placement.paint import Paint
from model.topology.types import Device, DeviceKind, Link, LinkKind, State
from tests.model.analysis.drawings import TINY_MODEL, job

_MODELS = {
    DeviceKind.GPU: "h100-sxm",
    DeviceKind.NIC: "cx7-ndr",
    DeviceKind.NVLINK_SWITCH: "nvswitch3",
    DeviceKind.LEAF: "qm9700",
    DeviceKind.CPU: "",
    DeviceKind.PCIE_SWITCH: "",
}


@st.composite
def documents(draw: st.DrawFn) -> Document:
    kinds = draw(st.lists(st.sampled_from(list(_MODELS)), min_size=0, max_size=12))
    kinds = [DeviceKind.GPU] * draw(st.integers(0, 4)) + kinds
    devices = tuple(
        Device(
            f"d{number}",
            kind,
            _MODELS[kind],
            rail=draw(st.sampled_from([None, 0, 1])),
            state=draw(st.sampled_from([State.UP, State.UP, State.UP, State.DEGRADED, State.DOWN])),
            speed=draw(st.sampled_from([1.0, 1.0, 0.25])),
        )
        for number, kind in enumerate(kinds)
    )
    links = []
    if len(devices) > 1:
        ends = st.tuples(st.integers(0, len(devices) - 1), st.integers(0, len(devices) - 1))
        for number, (a, b) in enumerate(draw(st.lists(ends, max_size=24))):
            if a != b:
                links.append(
                    Link(
                        f"l{number}",
                        devices[a].id,
                        devices[b].id,
                        draw(st.sampled_from(list(LinkKind))),
                        draw(st.sampled_from([25e9, 50e9])),
                        draw(st.integers(1, 4)),
                        share=0.5,
                        state=draw(st.sampled_from([State.UP, State.UP, State.DEGRADED, State.DOWN])),
                    )
                )
    sizes = {name: draw(st.sampled_from([1, 1, 2])) for name in ("tp", "pp", "ep")}
    moe = {"experts": 4, "top_k": 2, "expert_ffn": 512}
    shape = {**TINY_MODEL, "moe": moe} if sizes["ep"] > 1 else TINY_MODEL
    spec = job(model=shape, parallel={**sizes, "zero": draw(st.sampled_from([0, 1, 3]))}, global_batch=24)
    document = Document(job=spec)
    AddParts(devices, tuple(links)).apply(document)
    gpus = [device.id for device in devices if device.kind is DeviceKind.GPU]
    if gpus:
        document.paint = Paint(
            draw(
                st.dictionaries(
                    st.sampled_from(gpus),
                    st.dictionaries(st.sampled_from(["tp", "pp", "dp"]), st.integers(0, 3), min_size=1),
                    max_size=3,
                )
            )
        )
    return document


@settings(max_examples=3000, deadline=None)
@given(documents())
def test_every_drawing_gets_findings_or_a_step_that_adds_up(document: Document) -> None:
    analysis = analyse(document)
    assert len({finding.id for finding in analysis.findings}) == len(analysis.findings)
    report = analysis.report
    if report is None:
        assert analysis.findings
        return
    totals = report.totals
    parts = totals.compute_s + totals.optimizer_s + totals.bubble_s + sum(totals.exposed_s.values())
    assert parts == pytest.approx(totals.time_s, rel=1e-9)
    for values in (report.cost_s, report.peak_utilisation, report.oversubscription, report.mean_utilisation):
        assert np.isfinite(values).all() and (values >= 0).all()
    assert (report.peak_utilisation <= 1).all()
    segments = report.segments
    moved = sum(
        segments.rates[state] * time
        for state, time in zip(segments.state.tolist(), segments.end_s - segments.start_s, strict=True)
    )
    assert moved == pytest.approx(sum(report.bytes_by_dimension.values()), rel=1e-9)
