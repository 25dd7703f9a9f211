"""Select by, with keys."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.context import AppContext
from gui.dialogs.search_select import SelectDialog
from model.analysis import analyse


@pytest.fixture
def dialog(drawing: AppContext, qtbot: Any) -> SelectDialog:
    drawing.set_analysis(analyse(drawing.document.document))
    drawing.set_selection({"leaf0", "node.gpu0"})
    made = SelectDialog(drawing, None)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def names(dialog: SelectDialog) -> list[str]:
    return [family.name for family in dialog.rows.shown]


def test_kind_by_keys(dialog: SelectDialog, drawing: AppContext) -> None:
    assert names(dialog) == ["GPU", "NVLink switch", "NIC", "Leaf"]
    dialog.list.setFocus()
    QTest.keyClick(dialog.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert dialog.count.text() == "3 parts selected"
    QTest.keyClick(dialog.list, Qt.Key.Key_Return)
    assert drawing.selection == {"node.gpu0", "node.gpu1", "node.nvs0"} and not dialog.isVisible()


def test_rail_filtered_and_added_to_the_selection(dialog: SelectDialog, drawing: AppContext) -> None:
    QTest.keyClick(dialog.by, Qt.Key.Key_Down)
    QTest.keyClick(dialog.by, Qt.Key.Key_Down)
    assert names(dialog) == ["Rail 0", "Rail 1"]
    QTest.keyClicks(dialog.field, "1")
    assert names(dialog) == ["Rail 1"]
    dialog.how.set_value("add")
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert drawing.selection == {"leaf0", "node.gpu0", "node.gpu1"}


def test_within_and_out_of_the_selection(dialog: SelectDialog) -> None:
    dialog.how.set_value("within")
    assert dialog.chosen() == {"node.gpu0"}
    dialog.how.set_value("remove")
    assert dialog.chosen() == {"leaf0"}


def test_what_is_not_there_is_said(dialog: SelectDialog) -> None:
    QTest.keyClicks(dialog.field, "fridge")
    assert dialog.empty.isVisible() and "fridge" in dialog.empty.text()
    assert not dialog.select_button.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.isVisible()
    QTest.keyClick(dialog.list, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
