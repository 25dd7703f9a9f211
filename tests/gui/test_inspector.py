"""The inspector: shows the selection, says "mixed", and makes each change one undo step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.context import AppContext
from gui.panels.inspector import InspectorPanel
from gui.panels.inspector_values import common, selected, speed_options, title
from gui.part_states import state_edits
from model.analysis import analyse
from model.document.edits import SetFields
from model.topology.types import State


@pytest.fixture
def panel(drawing: AppContext, qtbot: Any) -> InspectorPanel:
    made = InspectorPanel(drawing)
    qtbot.addWidget(made)
    made.resize(226, 400)
    made.show()
    return made


def test_common_value() -> None:
    assert common([3, 3]) == 3 and common([3, 4]) is None and common([]) is None


def test_titles(drawing: AppContext) -> None:
    document = drawing.document.document
    assert title(selected(document, frozenset({"leaf0"}))) == ("leaf0", "Leaf")
    assert title(selected(document, frozenset({"d"}))) == ("node.nic0 – leaf0", "InfiniBand link")
    assert title(selected(document, frozenset({"a", "leaf0", "node.gpu0"}))) == (
        "3 selected",
        "2 devices, 1 link",
    )


def test_empty_says_the_next_act(panel: InspectorPanel) -> None:
    assert panel.header.title.text() == "Properties"
    assert not panel.state.isVisible() and not panel.name.isVisible()
    assert "Select a device" in panel._lines.text().replace("\u00a0", " ")


def test_facts_of_a_device_count_its_ports(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.set_selection({"node.gpu0"})
    # 9 of the 18 NVLinks of an H100 go to the switch, its one PCIe port to the NIC.
    assert "18 × NVLink 4 · 450 GB/s/dir · 700 W" in panel._lines.text().replace("\u00a0", " ")
    assert "9 of 18 NVLinks used" in panel._lines.text().replace("\u00a0", " ")
    assert panel.speed.isVisible() and panel.rail.value() == 0


CHANGES: dict[str, tuple[set[str], Callable[[InspectorPanel], object], Callable[[Any], object], object]] = {
    "state": (
        {"leaf0"},
        lambda panel: panel.state.committed.emit("down"),
        lambda topology: topology.device("leaf0").state,
        State.DOWN,
    ),
    "model": (
        {"leaf0"},
        lambda panel: panel.model.committed.emit("q3400"),
        lambda topology: topology.device("leaf0").model,
        "q3400",
    ),
    "rail of two": (
        {"node.gpu0", "node.gpu1"},
        lambda panel: panel.rail.setValue(5),
        lambda topology: {topology.device(f"node.gpu{number}").rail for number in (0, 1)},
        {5},
    ),
    "compute share degrades": (
        {"node.gpu0"},
        lambda panel: panel.speed.setValue(50.0),
        lambda topology: (topology.device("node.gpu0").speed, topology.device("node.gpu0").state),
        (0.5, State.DEGRADED),
    ),
    "capacity share degrades": (
        {"d"},
        lambda panel: panel.share.setValue(75.0),
        lambda topology: topology.link("d").capacity_bytes_per_s,
        37.5e9,
    ),
    "count": (
        {"d"},
        lambda panel: panel.count.setValue(3),
        lambda topology: topology.link("d").count,
        3,
    ),
    "speed": (
        {"d"},
        lambda panel: panel.lane.committed.emit(repr(25e9)),
        lambda topology: topology.link("d").lane_bytes_per_s,
        25e9,
    ),
    "link state": (
        {"a", "d"},
        lambda panel: panel.link_state.committed.emit("down"),
        lambda topology: {topology.link("a").state, topology.link("d").state},
        {State.DOWN},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_one_undo_step(panel: InspectorPanel, drawing: AppContext, name: str) -> None:
    ids, change, read, wanted = CHANGES[name]
    model = drawing.document
    drawing.set_selection(ids)
    before = copy.deepcopy(model.document)
    change(panel)
    assert read(model.document.topology) == wanted
    assert model.undo_stack.count() == 1
    after = copy.deepcopy(model.document)
    model.undo_stack.undo()
    assert model.document.same_as(before)
    model.undo_stack.redo()
    assert model.document.same_as(after)


def test_up_gives_all_of_the_capacity_back(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.set_selection({"d"})
    panel.share.setValue(40.0)
    panel.link_state.committed.emit("up")
    link = drawing.document.document.topology.link("d")
    assert (link.state, link.share, link.capacity_bytes_per_s) == (State.UP, 1.0, 50e9)


def test_mixed_values(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.document.push(SetFields("device", ("node.gpu0",), {"state": "down"}), "down")
    drawing.set_selection({"node.gpu0", "node.gpu1"})
    assert panel.state.currentIndex() == -1 and panel.state.placeholderText() == "mixed"
    assert panel.rail.text() == "mixed"
    assert panel.model.currentData() == "h100-sxm"
    drawing.set_selection({"a", "d"})
    assert panel.count.text() == "mixed" and panel.lane.currentIndex() == -1


def test_degraded_delivers_less_and_up_all_of_it_again(panel: InspectorPanel, drawing: AppContext) -> None:
    topology = drawing.document.document.topology
    drawing.set_selection({"node.gpu0"})
    panel.state.committed.emit("degraded")
    gpu = topology.device("node.gpu0")
    assert (gpu.state, gpu.speed) == (State.DEGRADED, 0.75)
    panel.state.committed.emit("up")
    assert (topology.device("node.gpu0").state, topology.device("node.gpu0").speed) == (State.UP, 1.0)
    drawing.document.undo_stack.undo()
    drawing.document.undo_stack.undo()
    assert topology.device("node.gpu0").state is State.UP, "each choice is one step"
    drawing.set_selection({"d"})
    panel.share.committed.emit(0.5)
    panel.link_state.committed.emit("degraded")
    assert topology.link("d").share == 0.5, "a share that was chosen stays"


@pytest.mark.parametrize("ident", ["leaf0", "node.nic0", "node.nvs0"])
def test_degraded_is_not_offered_where_it_changes_nothing(
    panel: InspectorPanel, drawing: AppContext, ident: str
) -> None:
    drawing.set_selection({ident})
    assert [panel.state.itemText(row) for row in range(panel.state.count())] == ["Up", "Down"]
    assert state_edits(drawing.document.document.topology, {ident}, State.DEGRADED) == ()
    drawing.set_selection({ident, "node.gpu0"})
    panel.state.committed.emit("degraded")
    topology = drawing.document.document.topology
    assert topology.device("node.gpu0").speed == 0.75 and topology.device(ident).state is State.UP


def test_different_kinds_share_only_their_state(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.set_selection({"node.gpu0", "leaf0"})
    assert not panel.model.isVisible() and not panel.speed.isVisible()
    assert panel.state.isVisible()


def test_rename_by_keys_and_undo(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.set_selection({"leaf0"})
    panel.name.setFocus()
    panel.name.selectAll()
    QTest.keyClicks(panel.name, "rail0")
    QTest.keyClick(panel.name, Qt.Key.Key_Return)
    topology = drawing.document.document.topology
    assert topology.has_device("rail0") and topology.link("d").b == "rail0"
    assert drawing.selection == {"rail0"}
    drawing.document.undo_stack.undo()
    assert topology.has_device("leaf0")


def test_taken_name_is_refused_in_place(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.set_selection({"leaf0"})
    panel.name.setText("node.gpu0")
    QTest.keyClick(panel.name, Qt.Key.Key_Return)
    assert panel._error.isVisible() and "node.gpu0" in panel._error.text()
    assert panel.name.text() == "leaf0"
    assert drawing.document.undo_stack.count() == 0


def test_network_speeds_are_offered_by_name(drawing: AppContext) -> None:
    topology = drawing.document.document.topology
    names = [text for _, text in speed_options((topology.link("d"),))]
    assert names == ["25G", "50G", "100G", "200G", "400G", "800G", "1,600G"]
    assert [text for _, text in speed_options((topology.link("a"),))] == ["25.0 GB/s"]


def test_facts_of_a_link_say_its_load(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.set_analysis(analyse(drawing.document.document))
    drawing.set_selection({"d"})
    text = panel._lines.text().replace("\u00a0", " ")
    assert "50.0 GB/s each direction" in text
    if drawing.analysis is not None and drawing.analysis.report is not None:
        assert "node.nic0 → leaf0: peak 0 %, mean 0 %" in text


def test_undo_elsewhere_is_shown(panel: InspectorPanel, drawing: AppContext) -> None:
    drawing.set_selection({"d"})
    panel.count.setValue(3)
    drawing.document.undo_stack.undo()
    assert panel.count.value() == 1
