"""Work on 1,024 GPUs by keys: find one, copy hosts, select a rail, keep a part as a template, place it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox

from gui.context import AppContext
from gui.dialogs.duplicate import DuplicateDialog
from gui.dialogs.save_template import SaveTemplateDialog
from gui.dialogs.search import SearchDialog
from gui.dialogs.search_select import SelectDialog
from gui.window import MainWindow
from model.topology.types import DeviceKind
from topology_templates.registry import use_own

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(context: AppContext, qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MainWindow]:
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Discard)
    made = MainWindow(context)
    qtbot.addWidget(made)
    made.resize(1600, 1000)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    yield made
    made.close()
    use_own(())


def activate(window: MainWindow, qtbot: Any) -> None:
    """Give the window the keyboard again; without a window manager nobody does that after a dialog."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)


def in_dialog(kind: type[QDialog], work: Callable[[Any], None], open_it: Callable[[], None]) -> None:
    """Open a dialog and do something in it; it must have been closed by that."""
    seen: list[QDialog] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, kind) or not dialog.isActiveWindow():
            QTimer.singleShot(10, look)
            return
        seen.append(dialog)
        work(dialog)
        if dialog.isVisible():
            dialog.reject()
            seen.clear()

    QTimer.singleShot(0, look)
    open_it()
    assert seen, f"{kind.__name__} was not closed by what was done in it"


def test_find_duplicate_select_and_keep(window: MainWindow, qtbot: Any) -> None:
    context = window.context
    window.files.place_template("hgx-h100", {"nodes": 128, "host": "plain"})  # type: ignore[arg-type]
    topology = context.document.document.topology
    assert sum(device.kind is DeviceKind.GPU for device in topology.devices()) == 1024
    window.actions_.update_states()

    def find(dialog: SearchDialog) -> None:
        QTest.keyClicks(dialog.field, "node100.gpu5")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    in_dialog(SearchDialog, find, lambda: QTest.keyClick(window, Qt.Key.Key_F, CONTROL))
    assert context.selection == {"node100.gpu5"}

    context.set_selection(["node127"])
    window.actions_.update_states()
    activate(window, qtbot)

    def twice(dialog: DuplicateDialog) -> None:
        dialog.wired.setChecked(False)
        QTest.keyClicks(dialog.copies, "2")
        QTest.keyClick(dialog.copies, Qt.Key.Key_Return)

    in_dialog(DuplicateDialog, twice, lambda: QTest.keyClick(window, Qt.Key.Key_D, CONTROL | SHIFT))
    assert context.selection == {"node128", "node129"}

    def rail_five(dialog: SelectDialog) -> None:
        for _ in range(2):
            QTest.keyClick(dialog.by, Qt.Key.Key_Down)
        QTest.keyClicks(dialog.field, "5")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    activate(window, qtbot)
    in_dialog(SelectDialog, rail_five, lambda: QTest.keyClick(window, Qt.Key.Key_F, CONTROL | SHIFT))
    rails = {topology.device(ident).rail for ident in context.selection}
    assert rails == {5} and len(context.selection) >= 2 * 130

    context.set_selection(["node000", "node001"])
    window.actions_.update_states()

    def keep(dialog: SaveTemplateDialog) -> None:
        assert dialog.boxes[0].text() == "Nodes: 2 like node000"
        QTest.keyClicks(dialog.name, "Pair")
        QTest.keyClick(dialog.name, Qt.Key.Key_Return)

    in_dialog(SaveTemplateDialog, keep, window.actions_["file.save_template"].trigger)
    assert window.workspace is not None and "own:pair" in window.workspace.templates.tiles
    before = len(topology.devices())
    window.files.place_template("own:pair", {"nodes": 3})  # type: ignore[arg-type]
    # A plain HGX host: 8 GPUs, 4 NVSwitches, 8 NICs.
    assert len(topology.devices()) == before + 3 * 20
    for _ in range(3):
        window.actions_["edit.undo"].trigger()
    assert not context.document.document.topology.devices()
