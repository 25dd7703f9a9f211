"""Containers, heights, powers, weights and lengths in the inspector."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.context import AppContext
from gui.panels.inspector import InspectorPanel
from gui.widgets.fields import AmountField
from model.document.document import Document
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind


def hall() -> Document:
    """A pod with two racks; a host of 8 B200 at U 1, an unknown tray at U 20, a switch at U 40."""
    boxes = [
        Container("hall", ContainerKind.POD),
        Container("A2", ContainerKind.RACK, parent="hall", height_u=42.0),
        Container("A3", ContainerKind.RACK, parent="hall", height_u=52.0),
        Container("node0", ContainerKind.TRAY, parent="A2", u=1, height_u=10.0),
        Container("box", ContainerKind.TRAY, parent="A2", u=20),
    ]
    devices = [Device(f"node0.gpu{n}", DeviceKind.GPU, "b200-sxm", parent="node0") for n in range(8)]
    devices.append(Device("node0.nic0", DeviceKind.NIC, "cx7-ndr", parent="node0"))
    devices.append(Device("leaf0", DeviceKind.LEAF, "qm9700", parent="A2", u=40))
    links = [Link("up", "node0.nic0", "leaf0", LinkKind.INFINIBAND, 50e9)]
    return Document(Topology(devices, links, boxes), name="hall")


@pytest.fixture
def panel(context: AppContext, qtbot: Any) -> InspectorPanel:
    context.document.set_document(hall())
    made = InspectorPanel(context)
    qtbot.addWidget(made)
    made.resize(226, 620)
    made.show()
    return made


def enter(field: AmountField, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Backspace)
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_a_tray_shows_its_place_and_what_the_catalogue_says(
    panel: InspectorPanel, context: AppContext
) -> None:
    """DGX B200: 14.3 kW, 142.4 kg."""
    context.set_selection({"node0"})
    form = panel.racks
    assert (form.kind.currentData(), form.parent_.currentData()) == ("tray", "A2")
    assert (form.u.text(), form.height_.text()) == ("1", "10 U")
    assert (form.power.text(), form.power.placeholderText()) == ("", "14.3 kW")
    assert (form.weight.text(), form.weight.placeholderText()) == ("", "142 kg")
    assert "DGX B200 User Guide" in form.power.toolTip()
    assert not form.row.isVisible()
    context.set_selection({"box"})
    assert form.power.placeholderText() == form.weight.placeholderText() == "—"


@pytest.mark.parametrize(
    ("name", "typed", "field", "value"),
    [
        ("u", "30", "u", 30),
        ("height_", "8", "height_u", 8.0),
        ("power", "9.5 kW", "power_w", 9500.0),
        ("weight", "100", "weight_kg", 100.0),
    ],
)
def test_each_field_is_one_step_that_undoes(
    panel: InspectorPanel, context: AppContext, name: str, typed: str, field: str, value: float
) -> None:
    context.set_selection({"node0"})
    before = context.document.document.topology.container("node0")
    enter(getattr(panel.racks, name), typed)
    assert getattr(context.document.document.topology.container("node0"), field) == value
    assert context.document.undo_stack.count() == 1
    context.document.undo_stack.undo()
    assert context.document.document.topology.container("node0") == before
    context.document.undo_stack.redo()
    assert getattr(context.document.document.topology.container("node0"), field) == value
    if name in ("power", "weight"):
        enter(getattr(panel.racks, name), "")
        assert getattr(context.document.document.topology.container("node0"), field) is None


def test_a_refusal_stands_in_place_and_changes_nothing(panel: InspectorPanel, context: AppContext) -> None:
    context.set_selection({"node0"})
    enter(panel.racks.u, "15")
    assert panel._error.text() == "box and node0 would both be in U 20 of rack A2."
    assert panel.racks.u.text() == "1"
    enter(panel.racks.height_, "tall")
    assert panel._error.text() == "Height is a number from 0 on, or empty where it is not known; not tall."
    enter(panel.racks.u, "2.5")
    assert "Lowest U is a whole number" in panel._error.text()
    assert context.document.undo_stack.count() == 0


def test_several_show_what_they_share(panel: InspectorPanel, context: AppContext) -> None:
    context.set_selection({"node0", "box", "leaf0"})
    form = panel.racks
    assert form.isVisible() and not form.kind.isVisible()
    assert form.parent_.currentData() == "A2"
    assert form.u.placeholderText() == "mixed" and form.u.text() == ""
    enter(form.weight, "50")
    topology = context.document.document.topology
    assert [topology.container("node0").weight_kg, topology.device("leaf0").weight_kg] == [50.0, 50.0]
    assert context.document.undo_stack.count() == 1
    context.document.undo_stack.undo()
    context.set_selection({"A2", "A3"})
    assert form.height_.placeholderText() == "mixed"
    enter(form.height_, "48")
    assert {topology.container(ident).height_u for ident in ("A2", "A3")} == {48.0}


def test_a_rack_has_a_limit_a_row_and_its_sums(panel: InspectorPanel, context: AppContext) -> None:
    context.set_selection({"A2"})
    form = panel.racks
    assert form.row.placeholderText() == "in order" and not form.u.isVisible()
    assert "30 of 42 U free\npower ≥ 14.3\u00a0kW, weight ≥ 142\u00a0kg".replace("\u00a0", " ") in (
        panel._lines.text().replace("\u00a0", " ")
    )
    enter(form.row, "3")
    enter(form.column, "2")
    rack = context.document.document.topology.container("A2")
    assert (rack.row, rack.column) == (2, 1)
    assert form.row.text() == "3"


def test_moving_into_another_rack_takes_the_lowest_free_u(panel: InspectorPanel, context: AppContext) -> None:
    context.set_selection({"node0", "box"})
    form = panel.racks
    index = form.parent_.findData("A3")
    form.parent_.setCurrentIndex(index)
    form.parent_.activated.emit(index)
    topology = context.document.document.topology
    found = {
        ident: (topology.container(ident).parent, topology.container(ident).u) for ident in ("node0", "box")
    }
    assert found == {"box": ("A3", 1), "node0": ("A3", 2)}
    index = form.parent_.findData("hall")
    form.parent_.setCurrentIndex(index)
    form.parent_.activated.emit(index)
    assert (topology.container("node0").parent, topology.container("node0").u) == ("hall", None)
    assert context.document.undo_stack.count() == 2


def test_only_containers_that_can_hold_it_are_offered(panel: InspectorPanel, context: AppContext) -> None:
    form = panel.racks

    def offered() -> set[str]:
        return {form.parent_.itemData(place) for place in range(form.parent_.count())}

    context.set_selection({"A2"})
    assert offered() == {"", "hall"}
    context.set_selection({"hall"})
    assert offered() == {""}
    context.set_selection({"leaf0"})
    assert offered() == {"", "hall", "A2", "A3"}


def test_a_kind_that_cannot_be_is_refused(panel: InspectorPanel, context: AppContext) -> None:
    context.set_selection({"hall"})
    index = panel.racks.kind.findData("rack")
    panel.racks.kind.activated.emit(index)
    assert 'cannot lie in rack "hall"' in panel._error.text()
    assert panel.racks.kind.currentData() == "pod"


def test_a_link_shows_and_takes_a_length(panel: InspectorPanel, context: AppContext) -> None:
    """U 40 and the middle of U 1–10: 34.5 U apart, 1.53 m, and half a metre of slack: 2.03 m, 10.2 ns."""
    context.set_selection({"up"})
    assert "2.03 m, passive copper, 10.2 ns" in panel._lines.text().replace("\u00a0", " ")
    assert (panel.length.text(), panel.length.placeholderText()) == ("", "2.03 m")
    enter(panel.length, "40")
    assert context.document.document.topology.link("up").length_m == 40.0
    assert "40.0 m, fibre and transceivers, 200 ns" in panel._lines.text().replace("\u00a0", " ")


def test_parts_of_a_host_have_no_place_of_their_own(panel: InspectorPanel, context: AppContext) -> None:
    context.set_selection({"node0.gpu0"})
    assert not panel.racks.isVisible()
    context.set_selection({"leaf0", "node0.gpu0"})
    assert not panel.racks.isVisible()
