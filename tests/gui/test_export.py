"""Export through the dialog: formats, options, files, what is left out, and what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from gui.background import Background
from gui.context import AppContext
from gui.dialogs.export_dialog import ExportDialog
from gui.export_commands import QUICK
from gui.window import MainWindow
from model.document.document import Document
from model.document.start import document_from
from model.files.opening import open_any
from model.files.registry import export_formats
from topology_templates.registry import build

PATIENCE_MS = 60_000


@pytest.fixture
def dialog(context: AppContext, background: Background, qtbot: QtBot, tmp_path: Path) -> ExportDialog:
    context.document.set_document(document_from(build("hgx-h100", {"nodes": 2})))
    made = ExportDialog(context, background, lambda: str(tmp_path))
    qtbot.addWidget(made)
    made.show()
    return made


def target(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> list[str]:
    """What file dialogs answer; gives the names that they suggested."""
    suggested: list[str] = []

    def answer(_parent: object, _title: str, name: str, *_: object) -> tuple[str, str]:
        suggested.append(name)
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: str(path))
    return suggested


def export(dialog: ExportDialog, qtbot: QtBot, format_id: str) -> None:
    dialog.choose(format_id)
    QTest.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.busy.isVisible(), timeout=PATIENCE_MS)


def test_every_format_is_offered_with_what_it_leaves_out(dialog: ExportDialog) -> None:
    ids = [dialog.list.item(row).data(Qt.ItemDataRole.UserRole) for row in range(dialog.list.count())]
    assert sorted(ident for ident in ids if ident) == sorted(export_formats())
    groups = [dialog.list.item(row).text() for row in range(dialog.list.count()) if not ids[row]]
    assert groups[0] == "Railsketch" and "Others" not in groups
    for one in export_formats().values():
        dialog.choose(one.id)
        assert dialog.title.text() == one.name and one.lacks in dialog.lacks.text()
        assert set(dialog.options.fields) == {option.key for option in one.options}


def test_formats_are_filtered_by_name_and_use(dialog: ExportDialog) -> None:
    QTest.keyClicks(dialog.field, "slurm host")
    shown = [dialog.list.item(row).text().strip() for row in range(dialog.list.count())]
    assert shown == ["Jobs and schedulers", "Slurm host file"] and dialog.format.id == "slurm-hostfile"
    QTest.keyClick(dialog.field, Qt.Key.Key_Escape)
    assert dialog.isVisible() and dialog.list.count() > 30
    QTest.keyClicks(dialog.field, "moon")
    assert dialog.empty.isVisible() and not dialog.list.isVisible() and not dialog.export_button.isEnabled()


def test_a_file_and_what_it_leaves_out(
    dialog: ExportDialog, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, context: AppContext
) -> None:
    suggested = target(monkeypatch, tmp_path / "topology")
    export(dialog, qtbot, "slurm-topology-conf")
    written = tmp_path / "topology.conf"
    assert written.read_text().startswith("#") or "SwitchName=" in written.read_text()
    assert suggested == [str(tmp_path / "Untitled-slurm-topology-conf.conf")]
    assert dialog.outcome.text() == f"Wrote {written}" and dialog.show_button.isVisible()
    assert dialog.left_out.isVisible() and "merged" in dialog.left_out.item(0).text()
    assert context.document.path is None and context.document.undo_stack.count() == 0


def test_options_count(
    dialog: ExportDialog, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, context: AppContext
) -> None:
    """Pictures at two scales; that of the selection is smaller than that of all."""
    target(monkeypatch, tmp_path / "all.png")
    export(dialog, qtbot, "picture-png")
    dialog.options.fields["scale"].setText("1")  # type: ignore[union-attr]
    target(monkeypatch, tmp_path / "small.png")
    QTest.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.busy.isVisible(), timeout=PATIENCE_MS)
    whole, small = QImage(str(tmp_path / "all.png")), QImage(str(tmp_path / "small.png"))
    assert abs(whole.width() - 2 * small.width()) <= 1 and small.width() > 100
    field = dialog.options.fields["selection"]
    assert field.count() == 1  # type: ignore[union-attr]
    context.set_selection({"node00", "node00.nic0--leaf0"})
    assert field.itemText(1) == "Only around 1 selected part"  # type: ignore[union-attr]
    field.setCurrentIndex(1)  # type: ignore[union-attr]
    target(monkeypatch, tmp_path / "part.png")
    QTest.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.busy.isVisible(), timeout=PATIENCE_MS)
    assert QImage(str(tmp_path / "part.png")).width() < small.width()


def test_several_files_go_into_a_folder(
    dialog: ExportDialog, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target(monkeypatch, tmp_path)
    export(dialog, qtbot, "nccl-topo-xml")
    assert len(list(tmp_path.glob("*.xml"))) >= 1
    assert dialog.outcome.text().endswith(f"into {tmp_path}") or dialog.outcome.text().startswith("Wrote ")
    assert not dialog.copy_button.isVisible()


def test_text_goes_into_the_clipboard(dialog: ExportDialog, qtbot: QtBot) -> None:
    dialog.choose("slurm-hostfile")
    assert dialog.copy_button.isVisible()
    dialog.copy_button.click()
    qtbot.waitUntil(lambda: not dialog.busy.isVisible(), timeout=PATIENCE_MS)
    assert QGuiApplication.clipboard().text().split() == ["node00"] * 8 + ["node01"] * 8
    assert dialog.outcome.text() == "Copied 16 lines of Slurm host file."
    dialog.choose("picture-png")
    assert not dialog.copy_button.isVisible() and dialog.outcome.text() == ""


def test_what_cannot_be_written_is_said(
    dialog: ExportDialog, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, context: AppContext
) -> None:
    target(monkeypatch, tmp_path / "no such folder" / "x.csv")
    export(dialog, qtbot, "cable-schedule")
    assert "cannot be written" in dialog.outcome.text() and dialog.outcome.property("tone") == "error"
    dialog.options.fields.clear()
    target(monkeypatch, tmp_path / "x.png")
    dialog.choose("picture-png")
    dialog.options.fields["scale"].setText("huge")  # type: ignore[union-attr]
    QTest.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.busy.isVisible(), timeout=PATIENCE_MS)
    assert "scale cannot be 'huge'" in dialog.outcome.text() and not (tmp_path / "x.png").exists()


def test_a_format_that_cannot_hold_the_drawing_says_why(
    dialog: ExportDialog, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, context: AppContext
) -> None:
    context.document.set_document(Document())
    target(monkeypatch, tmp_path / "r.pdf")
    export(dialog, qtbot, "report-pdf")
    assert dialog.outcome.text().startswith("The drawing is empty") and not (tmp_path / "r.pdf").exists()


def test_a_cancelled_file_dialog_writes_nothing(
    dialog: ExportDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    target(monkeypatch, "")
    dialog.choose("dot")
    QTest.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    assert not dialog.busy.isVisible() and dialog.outcome.text() == ""


def test_an_export_can_be_stopped(
    dialog: ExportDialog, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "x.pdf"
    target(monkeypatch, path)
    dialog.choose("report-pdf")
    QTest.mouseClick(dialog.export_button, Qt.MouseButton.LeftButton)
    assert dialog.busy.isVisible() and dialog.stop_button.hasFocus() and not dialog.list.isEnabled()
    QTest.mouseClick(dialog.stop_button, Qt.MouseButton.LeftButton)
    assert not dialog.busy.isVisible() and dialog.outcome.text().startswith("The export was stopped")
    export_after = tmp_path / "y.dot"
    target(monkeypatch, export_after)
    export(dialog, qtbot, "dot")
    assert export_after.exists() and not path.exists()


def test_quick_entries_open_the_dialog_at_their_format(
    context: AppContext, background: Background, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gui.export_commands.Background", lambda *_: background)
    window = MainWindow(context)
    qtbot.addWidget(window)
    window.show()
    document = document_from(build("hgx-h100", {"nodes": 2}))
    context.document.set_document(document)
    window.show_workspace()
    for action, ident in QUICK.items():
        if action == "export.traffic":
            assert not window.actions_[action].isEnabled()  # no step yet
            continue
        window.actions_[action].trigger()
        assert window.exports.dialog is not None and window.exports.dialog.format.id == ident
    target(monkeypatch, tmp_path / "t.json")
    window.exports.show("railsketch-topology")
    shown = window.exports.dialog
    assert shown is not None and not shown.isModal()
    QTest.keyClick(shown, Qt.Key.Key_Return)
    qtbot.waitUntil(
        lambda: (tmp_path / "t.json").exists() and not shown.busy.isVisible(), timeout=PATIENCE_MS
    )
    assert json.loads((tmp_path / "t.json").read_text())["format"] == "railsketch.topology"
    assert open_any(tmp_path / "t.json").topology.same_as(document.topology)
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    QApplication.processEvents()
    assert window.exports.dialog is None
