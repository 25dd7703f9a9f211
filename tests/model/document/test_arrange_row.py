"""Copies in a row: names counted on, equal steps, and wires as far as ports reach."""

from __future__ import annotations

import pytest

from model.document.arrange import Axis
from model.document.arrange_row import duplicate_row
from model.document.document import Document
from model.document.start import document_from
from model.errors import EditRefused
from model.topology.graph import Topology
from model.topology.ports import port_findings, port_use
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from topology_templates.content import TemplateContent


def drawing() -> Document:
    """node07 with a GPU and a NIC, wired to a leaf; node08 is taken."""
    devices = (
        Device("node07.gpu0", DeviceKind.GPU, "h100-sxm", parent="node07", rail=0),
        Device("node07.nic0", DeviceKind.NIC, "cx7-ndr", parent="node07", rail=0),
        Device("leaf0", DeviceKind.LEAF, "qm9700", rail=0),
    )
    links = (
        Link("p", "node07.gpu0", "node07.nic0", LinkKind.PCIE, 63e9),
        Link("node07.nic0--leaf0", "node07.nic0", "leaf0", LinkKind.INFINIBAND, 50e9),
    )
    boxes = (Container("node07", ContainerKind.TRAY), Container("node08", ContainerKind.TRAY))
    layout = {"node07.gpu0": (0.0, 100.0), "node07.nic0": (0.0, 0.0), "leaf0": (0.0, -200.0)}
    return Document(Topology(devices, links, boxes), layout=layout)


def test_names_steps_and_wires() -> None:
    document = drawing()
    before = document.content()
    row = duplicate_row(document, ("node07",), 3, gap=20.0)
    assert row.names == (("node09",), ("node10",), ("node11",)) and row.left_out == ""
    undo = row.edit.apply(document)
    # The tray is as wide as a GPU (36) and its padding (2 × 12): 60, and 20 between.
    assert [document.layout[f"node{n:02}.gpu0"] for n in (9, 10, 11)] == [
        (80.0, 100.0), (160.0, 100.0), (240.0, 100.0)
    ]  # fmt: skip
    assert document.topology.device("node10.nic0").parent == "node10"
    assert port_use(document.topology, "leaf0") == {"network": 4.0}
    assert document.topology.has_link("node11.nic0--leaf0")
    redo = undo.apply(document)
    assert document.content() == before
    redo.apply(document)
    assert len(document.topology.devices()) == 9


def test_downwards_and_alone() -> None:
    document = drawing()
    row = duplicate_row(document, ("node07.gpu0",), 2, axis=Axis.DOWN, gap=0.0, wired=False)
    assert row.names == (("node07.gpu1",), ("node07.gpu2",))
    row.edit.apply(document)
    # A GPU is 70 high: steps of the grid of 20.
    assert document.layout["node07.gpu2"] == (0.0, 260.0)
    assert document.topology.links_of("node07.gpu2") == ()


def test_wires_that_find_no_port_are_said_and_left_out() -> None:
    # A QM9700 has 64 ports of 400G; one is taken, so 63 copies are wired and 2 are not.
    document = drawing()
    row = duplicate_row(document, ("node07",), 65)
    assert row.left_out == "2 links of 65 to the rest cannot be made: leaf0 has no free port."
    row.edit.apply(document)
    assert port_use(document.topology, "leaf0")["network"] == 64.0
    assert not port_findings(document.topology)


def test_several_links_of_one_pair_get_different_names() -> None:
    document = drawing()
    document.topology.add(
        type(document.topology.parts())(
            links=(Link("second", "node07.nic0", "leaf0", LinkKind.INFINIBAND, 50e9),)
        )
    )
    edit = duplicate_row(document, ("node07",), 2).edit
    ids = [link.id for link in edit.links]
    assert len(set(ids)) == len(ids)
    edit.apply(document)


def test_refused_in_words() -> None:
    document = drawing()
    with pytest.raises(EditRefused, match=r"1 to 1,000 copies, not 0\."):
        duplicate_row(document, ("node07",), 0)
    with pytest.raises(EditRefused, match="Select devices"):
        duplicate_row(document, ("p",), 1)


def test_a_thousand_copies_have_names_of_their_own() -> None:
    gpu = Device("gpu0", DeviceKind.GPU, "h100-sxm")
    document = document_from(TemplateContent("", (gpu,), (), (), {"gpu0": (0.0, 0.0)}))
    row = duplicate_row(document, ("gpu0",), 1000)
    row.edit.apply(document)
    assert row.names[-1] == ("gpu1000",) and len(document.topology.devices()) == 1001
