"""The outline is in step with the canvas, both ways, and makes only the rows that are looked at."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication

from gui.context import AppContext
from gui.panels.outline import OutlinePanel
from model.document.edits import RemoveParts, Rename, SetFields
from model.document.start import document_from
from model.topology.types import Container, ContainerKind, Device, DeviceKind
from topology_templates.content import TemplateContent


@pytest.fixture
def panel(drawing: AppContext, qtbot: Any) -> OutlinePanel:
    made = OutlinePanel(drawing)
    qtbot.addWidget(made)
    made.resize(230, 500)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    made.tree.setFocus()
    return made


def texts(panel: OutlinePanel, parent: QModelIndex | None = None) -> list[str]:
    above = parent if parent is not None else QModelIndex()
    rows = panel.rows
    return [rows.data(rows.index(row, 0, above)) for row in range(rows.rowCount(above))]


def test_containers_come_first_and_hold_their_devices(panel: OutlinePanel) -> None:
    QAbstractItemModelTester(panel.rows, QAbstractItemModelTester.FailureReportingMode.Fatal)
    assert texts(panel) == ["node", "leaf0"]
    node = panel.rows.index(0, 0)
    assert texts(panel, node) == ["node.gpu0", "node.gpu1", "node.nvs0", "node.nic0"]
    assert panel.header.note.text() == "5 devices"


def test_keys_choose_on_the_canvas_and_enter_goes_there(panel: OutlinePanel, qtbot: Any) -> None:
    context = panel._context
    QTest.keyClick(panel.tree, Qt.Key.Key_End)
    assert context.selection == {"leaf0"}
    QTest.keyClick(panel.tree, Qt.Key.Key_Home)
    assert context.selection == {"node"}
    QTest.keyClick(panel.tree, Qt.Key.Key_Right)
    QTest.keyClick(panel.tree, Qt.Key.Key_Down)
    QTest.keyClick(panel.tree, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert context.selection == {"node.gpu0", "node.gpu1"}
    QTest.keyClick(panel.tree, Qt.Key.Key_End)
    with qtbot.waitSignal(context.went_to) as went:
        QTest.keyClick(panel.tree, Qt.Key.Key_Return)
    assert went.args == [("leaf0",)]


def test_what_is_chosen_elsewhere_is_opened_and_marked(panel: OutlinePanel) -> None:
    panel._context.set_selection(["node.nic0"])
    current = panel.tree.currentIndex()
    assert panel.rows.ids_at(current) == ("node.nic0",)
    assert panel.tree.isExpanded(panel.rows.index(0, 0)) and panel.tree.visualRect(current).isValid()
    panel._context.set_selection(["node.gpu0", "leaf0"])
    assert panel._marked() == {"node.gpu0", "leaf0"}
    panel._context.set_selection([])
    assert not panel.tree.selectionModel().hasSelection()


def test_edits_show_and_open_branches_stay_open(panel: OutlinePanel) -> None:
    context = panel._context
    panel.tree.expand(panel.rows.index(0, 0))
    context.document.push(RemoveParts(("node.gpu1",)), "Delete")
    assert texts(panel, panel.rows.index(0, 0)) == ["node.gpu0", "node.nvs0", "node.nic0"]
    assert panel.tree.isExpanded(panel.rows.index(0, 0))
    context.document.undo_stack.undo()
    assert texts(panel, panel.rows.index(0, 0))[1] == "node.gpu1"
    context.document.push(SetFields("device", ("leaf0",), {"state": "down"}), "Down")
    assert texts(panel) == ["node", "leaf0 · down"]
    context.document.push(Rename("device", "leaf0", "leaf9"), "Rename")
    assert texts(panel) == ["node", "leaf9 · down"]


def test_rename_by_f2(panel: OutlinePanel, qtbot: Any) -> None:
    context, topology = panel._context, panel._context.document.document.topology
    QTest.keyClick(panel.tree, Qt.Key.Key_End)
    QTest.keyClick(panel.tree, Qt.Key.Key_F2)
    editor = QApplication.focusWidget()
    QTest.keyClicks(editor, "top")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: topology.has_device("top"))
    assert context.selection == {"top"}
    said: list[str] = []
    context.said.connect(said.append)
    assert not panel.rows.setData(panel.tree.currentIndex(), "node")
    assert said == ['device "node": this id is in use already.']


def test_hidden_it_does_nothing_and_catches_up(panel: OutlinePanel) -> None:
    panel.hide()
    panel._context.document.push(RemoveParts(("leaf0",)), "Delete")
    panel._context.set_selection(["node.gpu0"])
    assert texts(panel) == ["node", "leaf0"]
    panel.show()
    assert texts(panel) == ["node"] and panel._marked() == {"node.gpu0"}


def test_only_what_is_looked_at_is_made(panel: OutlinePanel) -> None:
    racks = [Container(f"rack{n:03}", ContainerKind.RACK) for n in range(500)]
    devices = [
        Device(f"rack{n // 90:03}.gpu{n % 90}", DeviceKind.GPU, "h100-sxm", parent=f"rack{n // 90:03}")
        for n in range(45_000)
    ]
    leaves = [Device(f"leaf{n}", DeviceKind.LEAF, "qm9700") for n in range(64)]
    content = TemplateContent("", (*devices, *leaves), (), tuple(racks), {"leaf0": (0.0, 0.0)})
    document = document_from(content)
    panel._context.document.set_document(document)
    assert panel.rows.rowCount() == 501  # the racks, and one row for all leaves
    assert panel.rows.made == 501
    assert panel.rows.data(panel.rows.index(500, 0)) == "Leaf × 64"
    for rack in range(5):
        panel._context.set_selection([f"rack{100 + rack}.gpu7"])
    # Each rack that was opened has one row for its 90 GPUs, and those.
    assert panel.rows.made == 501 + 5 * 91
    panel._context.set_selection([device.id for device in devices])
    assert panel.rows.made == 501 + 5 * 91
