"""Duplicate in a row by keys: the names are shown first, and all of it is one undo step."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.bulk_commands import BulkCommands
from gui.context import AppContext
from gui.dialogs.duplicate import DuplicateDialog, names_text


@pytest.fixture
def dialog(drawing: AppContext, qtbot: Any) -> DuplicateDialog:
    drawing.set_selection({"node"})
    made = DuplicateDialog(drawing)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def test_count_by_keys_and_enter(dialog: DuplicateDialog) -> None:
    assert dialog.copies.hasFocus() and dialog.names.text() == "node2, node3, node4"
    QTest.keyClicks(dialog.copies, "5")
    assert dialog.names.text() == "node2, node3 … node6"
    # Per copy the four devices of the tray, its three links inside, and that of its NIC to the leaf.
    assert dialog.note.text() == "20 devices, 20 links."
    QTest.keyClick(dialog.copies, Qt.Key.Key_Return)
    assert dialog.result() == DuplicateDialog.DialogCode.Accepted and dialog.text == "Duplicate 5 times"


def test_without_wires_and_too_many_for_the_leaf(dialog: DuplicateDialog) -> None:
    dialog.wired.setChecked(False)
    assert dialog.note.text() == "12 devices, 9 links."
    dialog.wired.setChecked(True)
    dialog.copies.setValue(70)
    assert dialog.note.text() == "7 links of 70 to the rest cannot be made: leaf0 has no free port."
    assert dialog.make_button.isEnabled()


def test_escape(dialog: DuplicateDialog) -> None:
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.result() == DuplicateDialog.DialogCode.Rejected


def test_one_step_and_the_copies_are_selected(drawing: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(dialog: DuplicateDialog) -> int:
        dialog.copies.setValue(2)
        dialog.accept()
        return int(dialog.result())

    monkeypatch.setattr(DuplicateDialog, "exec", answer)
    drawing.set_selection({"node"})
    before = drawing.document.document.content()
    BulkCommands(drawing, None).duplicate_row()  # type: ignore[arg-type]
    assert drawing.selection == {"node2", "node3"}
    assert len(drawing.document.document.topology.devices()) == 13
    drawing.document.undo_stack.undo()
    assert drawing.document.document.content() == before


def test_names_of_loose_parts() -> None:
    assert names_text((("a1", "b1"), ("a2", "b2"))) == "a1, a2, each with 1 more part"
