"""One model for another: links that follow, and what no longer fits. Figures are those of data sheets."""

from __future__ import annotations

import pytest

from model.document.document import Document
from model.document.edits import SetFields
from model.document.replace import fitting_switch, plan_replacement
from model.document.start import document_from
from model.errors import EditRefused
from model.topology.types import DeviceKind
from topology_templates.registry import build


def hgx(template: str = "hgx-h100") -> Document:
    content = build(template, {"nodes": 2})
    return document_from(content)


def of_kind(document: Document, kind: DeviceKind) -> tuple[str, ...]:
    return tuple(device.id for device in document.topology.devices() if device.kind is kind)


def test_h100_to_b200_leaves_the_switches_a_generation_behind() -> None:
    document = hgx()
    plan = plan_replacement(document, of_kind(document, DeviceKind.GPU), "b200-sxm")
    assert len(plan.devices) == 16
    # NVLink 5 against NVLink 4: the 8 × 4 links of each node; the switch still has 25 GB/s a lane.
    assert [misfit.title for misfit in plan.misfits] == ["64 NVLink links cannot be built"]
    assert "node00.gpu0 has NVLink 5 and node00.nvs0 NVLink 4" in plan.misfits[0].detail
    assert len(plan.misfits[0].links) == 64 and not plan.links


def test_with_their_switches_the_links_double() -> None:
    document = hgx()
    before = document.content()
    plan = plan_replacement(document, of_kind(document, DeviceKind.GPU), "b200-sxm", with_switches=True)
    assert len(plan.switches) == 8 and len(plan.links) == 64 and not plan.misfits
    undo = plan.edit.apply(document)
    link = document.topology.links_between("node00.gpu0", "node00.nvs0")[0]
    assert link.lane_bytes_per_s == 50e9  # NVLink 5: 50 GB/s a lane
    assert document.topology.device("node00.nvs0").model == fitting_switch("b200-sxm") == "nvlink5-switch"
    redo = undo.apply(document)
    assert document.content() == before
    redo.apply(document)
    assert document.topology.device("node01.gpu7").model == "b200-sxm"


def test_h800_has_too_few_nvlinks_for_the_wires_of_an_h100() -> None:
    document = hgx()
    plan = plan_replacement(document, of_kind(document, DeviceKind.GPU), "h800-sxm")
    # 18 NVLinks are wired, an H800 has 8.
    assert [(misfit.title, len(misfit.devices)) for misfit in plan.misfits] == [
        ("16 H800 SXM5 80GB devices: too few NVLinks", 16)
    ]
    assert plan.misfits[0].detail.startswith("18 are taken at")


def test_another_vendor_has_no_nvlink() -> None:
    document = hgx()
    plan = plan_replacement(document, of_kind(document, DeviceKind.GPU), "mi300x", with_switches=True)
    assert any("64 NVLink links" in misfit.title for misfit in plan.misfits) and not plan.switches


def test_faster_nics_take_the_speed_of_their_leaf() -> None:
    document = hgx()
    nics = of_kind(document, DeviceKind.NIC)
    slower = plan_replacement(document, nics, "cx6-hdr")
    wires = [link.id for link in document.topology.links_of("node00.nic0") if link.kind == "infiniband"]
    # ConnectX-6: one port of 200 Gb/s.
    assert {link.lane_bytes_per_s for link in slower.edit.links if link.id in wires} == {25e9}
    faster = plan_replacement(document, nics, "cx8-xdr")
    assert not set(wires) & set(faster.links) and not faster.misfits
    kept = plan_replacement(document, nics, "cx6-hdr", adapt_links=False)
    assert not kept.edit.links and any("InfiniBand" in misfit.title for misfit in kept.misfits)


def test_a_link_that_ran_slower_on_purpose_stays_slow() -> None:
    document = hgx()
    link = document.topology.links_between("node00.gpu0", "node00.nvs0")[0]
    SetFields("link", (link.id,), {"lane_bytes_per_s": 10e9}).apply(document)
    plan = plan_replacement(document, of_kind(document, DeviceKind.GPU), "b200-sxm", with_switches=True)
    assert link.id not in plan.links and len(plan.links) == 63


def test_a_fault_that_was_there_before_is_not_listed() -> None:
    document = hgx()
    gpus = of_kind(document, DeviceKind.GPU)
    plan_replacement(document, gpus, "h800-sxm").edit.apply(document)
    assert not plan_replacement(document, gpus, "h800-sxm").devices
    titles = [misfit.title for misfit in plan_replacement(document, gpus, "b200-sxm").misfits]
    assert titles == ["64 NVLink links cannot be built"]


def test_what_cannot_be_asked() -> None:
    document = hgx()
    with pytest.raises(EditRefused, match="one kind"):
        plan_replacement(document, ("node00.gpu0", "leaf0"), "b200-sxm")
    with pytest.raises(EditRefused, match='no GPU called "qm9700"'):
        plan_replacement(document, ("node00.gpu0",), "qm9700")
