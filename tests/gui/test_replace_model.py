"""Replace a model through the dialog: what it offers, what it warns of, and one undo step."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.bulk_commands import BulkCommands
from gui.context import AppContext
from gui.dialogs.replace_model import SELECTION, ReplaceModelDialog


@pytest.fixture
def dialog(drawing: AppContext, qtbot: Any) -> ReplaceModelDialog:
    drawing.set_selection({"node.gpu1"})
    made = ReplaceModelDialog(drawing)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def choose(dialog: ReplaceModelDialog, model: str) -> None:
    dialog.new.set_value(model)
    dialog.new.committed.emit(model)


def test_the_selected_model_everywhere_by_keys(dialog: ReplaceModelDialog) -> None:
    assert dialog.old.currentText() == "GPU: H100 SXM5 80GB × 2" and dialog.new.hasFocus()
    QTest.keyClicks(dialog.new, "B200")
    assert dialog.new.currentData() == "b200-sxm"
    choose(dialog, "b200-sxm")
    assert dialog.summary.text() == "2 devices · 1 NVLink switch · 2 links with another speed"
    assert dialog.heading.text() == "All of it fits." and not dialog.list.isVisible()
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.result() == ReplaceModelDialog.DialogCode.Accepted
    assert dialog.text == "Replace 2 devices by B200 SXM (HGX/DGX)"


def test_what_no_longer_fits_is_listed(dialog: ReplaceModelDialog) -> None:
    choose(dialog, "b200-sxm")
    dialog.switches.setChecked(False)
    assert dialog.list.isVisible() and dialog.list.count() == 1
    assert dialog.list.item(0).text().startswith("2 NVLink links cannot be built\nnode.gpu0 – node.nvs0: ")


def test_only_in_the_selection(dialog: ReplaceModelDialog) -> None:
    dialog.scope.set_value(SELECTION)
    dialog.scope.committed.emit(SELECTION)
    assert dialog.old.currentText() == "GPU: H100 SXM5 80GB × 1"
    choose(dialog, "h200-sxm")
    assert dialog.plan is not None and dialog.plan.devices == ("node.gpu1",)


def test_escape_changes_nothing(dialog: ReplaceModelDialog) -> None:
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.result() == ReplaceModelDialog.DialogCode.Rejected


def test_one_undo_step_and_misfits_are_lit(
    drawing: AppContext, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    def answer(dialog: ReplaceModelDialog) -> int:
        dialog.switches.setChecked(False)
        choose(dialog, "b200-sxm")
        dialog.accept()
        return int(dialog.result())

    monkeypatch.setattr(ReplaceModelDialog, "exec", answer)
    before = drawing.document.document.content()
    commands = BulkCommands(drawing, None)  # type: ignore[arg-type]
    commands.replace_model()
    topology = drawing.document.document.topology
    assert {topology.device(f"node.gpu{n}").model for n in range(2)} == {"b200-sxm"}
    assert drawing.lit_links == {"a", "b"}
    assert drawing.document.undo_stack.count() == 1
    drawing.document.undo_stack.undo()
    assert drawing.document.document.content() == before
