"""Find by keys: what is typed is listed, Enter goes there, Esc closes."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest

from gui.context import AppContext
from gui.dialogs.search import SearchDialog, search_index
from model.analysis import analyse


@pytest.fixture
def dialog(drawing: AppContext, qtbot: Any) -> SearchDialog:
    drawing.set_analysis(analyse(drawing.document.document))
    made = SearchDialog(drawing, search_index(drawing))
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def test_type_choose_and_go(dialog: SearchDialog, drawing: AppContext, qtbot: Any) -> None:
    assert dialog.field.hasFocus()
    QTest.keyClicks(dialog.field, "node.gpu")
    assert [hit.title for hit in dialog.rows.hits][:3] == ["All 2 matching devices", "node.gpu0", "node.gpu1"]
    QTest.keyClick(dialog.field, Qt.Key.Key_Down)
    QTest.keyClick(dialog.field, Qt.Key.Key_Down)
    with qtbot.waitSignal(drawing.went_to) as went:
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert went.args == [("node.gpu1",)]
    assert drawing.selection == {"node.gpu1"}
    assert not dialog.isVisible()


def test_all_matches_are_selected_at_once(dialog: SearchDialog, drawing: AppContext) -> None:
    QTest.keyClicks(dialog.field, "node.gpu")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert drawing.selection == {"node.gpu0", "node.gpu1"}


def test_nothing_found_is_said_and_enter_does_nothing(dialog: SearchDialog, drawing: AppContext) -> None:
    QTest.keyClicks(dialog.field, "unknown")
    assert dialog.rows.rowCount(QModelIndex()) == 0
    assert dialog.count.text() == "Nothing here is called “unknown”."
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)
    assert dialog.isVisible() and not drawing.selection


def test_escape_clears_then_closes(dialog: SearchDialog) -> None:
    QTest.keyClicks(dialog.field, "leaf")
    QTest.keyClick(dialog.field, Qt.Key.Key_Escape)
    assert dialog.field.text() == "" and dialog.isVisible()
    QTest.keyClick(dialog.field, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_rows_say_what_they_are(dialog: SearchDialog) -> None:
    QTest.keyClicks(dialog.field, "leaf0")
    texts = [
        dialog.rows.data(dialog.rows.index(row), Qt.ItemDataRole.AccessibleTextRole)
        for row in range(dialog.rows.rowCount())
    ]
    assert texts[0].startswith("Device: leaf0, ") and texts[0].endswith(" · rail 0")
    assert any(text.startswith("Link: node.nic0 – leaf0, InfiniBand") for text in texts)
    assert dialog.list.accessibleName() and dialog.field.accessibleName()
