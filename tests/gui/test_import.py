"""Import through the window: what the dialog shows and asks, each way into the drawing, paste and drop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from gui.background import Background
from gui.context import AppContext
from gui.dialogs.import_dialog import ImportDialog
from gui.dialogs.import_overlay import OverlayDialog
from gui.dialogs.import_report import ReportDialog
from gui.import_work import Wanted, Way
from gui.window import MainWindow
from model.document.clipboard import copy
from model.document.start import document_from
from model.files.importing import NoteKind
from model.files.registry import import_formats
from model.topology.types import DeviceKind
from tests.gui.conftest import small_document
from topology_templates.registry import build

DATA = Path(__file__).resolve().parents[1] / "data"
PATIENCE_MS = 30_000
TOPO = (  # as `nvidia-smi topo -m` prints it, with two cells glued in the second row
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV18\tPIX\t0-27\t0\n"
    "GPU1\tNV18\t X \tNODE\t0-27\t0\n"
    "NIC0\tPIX\tNODE\t X \t\t\n"
)
TREE = "SwitchName=leaf0 Nodes=n[0-3]\nSwitchName=leaf1 Nodes=n[4-7]\nSwitches leaf0\n"


@pytest.fixture
def window(
    context: AppContext, background: Background, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> MainWindow:
    monkeypatch.setattr("gui.import_commands.Background", lambda *_: background)
    made = MainWindow(context)
    made.resize(1280, 800)
    # A window that is closed with changes would ask about them.
    qtbot.addWidget(made, before_close_func=lambda _window: context.document.undo_stack.setClean())
    made.show()
    return made


def cluster(window: MainWindow, nodes: int = 2) -> None:
    window.context.document.set_document(document_from(build("hgx-h100", {"nodes": nodes})))
    window.show_workspace()


def settled(window: MainWindow, qtbot: QtBot) -> ImportDialog:
    """The dialog once it has read and planned."""
    qtbot.waitUntil(
        lambda: window.imports.dialog is not None and not window.imports.dialog.busy.isVisible(),
        timeout=PATIENCE_MS,
    )
    dialog = window.imports.dialog
    assert dialog is not None
    return dialog


def begin(window: MainWindow, qtbot: QtBot, *paths: Path) -> ImportDialog:
    window.imports.begin_files(paths)
    assert window.imports.dialog is not None and window.imports.dialog.busy.isVisible()
    return settled(window, qtbot)


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def choose_way(window: MainWindow, qtbot: QtBot, way: Way) -> ImportDialog:
    dialog = window.imports.dialog
    assert dialog is not None
    dialog.ways.way.set_value(way.value)
    dialog.ways.way.committed.emit(way.value)
    return settled(window, qtbot)


def undone_and_redone(context: AppContext) -> None:
    """The last step can be taken back and done again, exactly."""
    stack = context.document.undo_stack
    after = context.document.document.content()
    stack.undo()
    before = context.document.document.content()
    stack.redo()
    assert context.document.document.content() == after != before
    stack.undo()
    assert context.document.document.content() == before
    stack.redo()


# What the dialog shows


def test_format_questions_and_report(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = begin(window, qtbot, written(tmp_path, "topo.txt", TOPO))
    assert dialog.format.currentText().startswith("nvidia-smi topo -m") and dialog.format.count() == len(
        import_formats()
    )
    assert dialog.summary.text().startswith("topo: ")
    assert dialog.ways.way.currentText() == "New drawing" and dialog.ways.way.count() == 1
    gpu = dialog.questions.fields["gpu_model"]
    assert gpu.accessibleName() == "Which GPU is it?" and gpu.currentData() == "h100-sxm"  # type: ignore[union-attr]
    assert dialog.import_button.isEnabled() and dialog.import_button.hasFocus()
    heads = [
        dialog.report.list.item(row).text()
        for row in range(dialog.report.list.count())
        if dialog.report.list.item(row).data(Qt.ItemDataRole.UserRole + 1) is not None
    ]
    assert [head.split(" · ")[0] for head in heads] == ["Guessed", "Inferred", "Found"]
    assert "2 GPUs, 1 NIC" in dialog.report.text()


def test_an_answer_is_read_again_and_counts(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = begin(window, qtbot, written(tmp_path, "topo.txt", TOPO))
    dialog.questions.fields["gpu_model"].committed.emit("h200-sxm")
    settled(window, qtbot)
    assert dialog.seen is not None and dialog.seen.answers["gpu_model"] == "h200-sxm"
    dialog.accept()
    topology = window.context.document.document.topology
    assert {device.model for device in topology.working(DeviceKind.GPU)} == {"h200-sxm"}


def test_a_note_leads_to_its_lines(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    glued = TOPO.replace("GPU0\t X \tNV18\tPIX", "GPU0\t X \tNV18PIX")
    dialog = begin(window, qtbot, written(tmp_path, "topo.txt", glued))
    report = dialog.report
    row = next(row for row in range(report.list.count()) if "taken apart" in report.list.item(row).text())
    assert report.list.item(row).text().endswith("line 2")
    rect = report.list.visualItemRect(report.list.item(row))
    QTest.mouseClick(report.list.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    lines = report.lines
    assert lines.currentIndex().row() == 1 and lines.lines.marks[2] is NoteKind.INFERRED
    assert lines.lines.data(lines.currentIndex(), Qt.ItemDataRole.AccessibleTextRole).startswith(
        "Line 2, inferred: GPU0"
    )


def test_lines_of_a_note_follow_each_other(window: MainWindow, qtbot: QtBot) -> None:
    dialog = begin(window, qtbot, DATA / "ibnetdiscover" / "same_names.out")
    report = dialog.report
    several = [
        row
        for row in range(report.list.count())
        if (note := report.list.item(row).data(Qt.ItemDataRole.UserRole)) is not None and len(note.lines) > 1
    ]
    note = report.list.item(several[0]).data(Qt.ItemDataRole.UserRole)
    shown = []
    report.list.setCurrentRow(several[0])
    for _ in note.lines:
        shown.append(report.lines.lines.excerpt.numbers[report.lines.currentIndex().row()])
        report._fresh = False
        QTest.keyClick(report.list, Qt.Key.Key_Return)
    assert shown == list(note.lines) and dialog.isVisible()


def test_a_broken_file_can_be_read_in_part(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = begin(window, qtbot, written(tmp_path, "topology.conf", TREE))
    assert "topology.conf, line 3" in dialog.problem.text() and dialog.problem.isVisible()
    assert dialog.report.lines.currentIndex().row() == 2
    assert not dialog.import_button.isEnabled() and not dialog.ways.isVisible()
    assert dialog.partial.isVisible() and "without 1 thing" in dialog.partial.text()
    QTest.mouseClick(dialog.partial, Qt.MouseButton.LeftButton, pos=QPoint(8, dialog.partial.height() // 2))
    settled(window, qtbot)
    assert not dialog.problem.isVisible() and dialog.import_button.isEnabled()
    assert "Left out" in dialog.report.text()


def test_another_format_can_be_chosen(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = begin(window, qtbot, written(tmp_path, "topo.txt", TOPO))
    dialog.format.set_value("slurm-topology-conf")
    dialog.format.committed.emit("slurm-topology-conf")
    settled(window, qtbot)
    assert "It looks like nvidia-smi topo -m" in dialog.problem.text()
    assert dialog.format.currentData() == "slurm-topology-conf" and not dialog.import_button.isEnabled()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"Dear all, see you on Monday.\n", "looks like none of the formats"),
        (b"\x00\x01\x02\x03 \xff\xfe\x00\x80" * 40, "is no text"),
    ],
)
def test_what_is_in_no_format_is_said(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(content)
    assert not window.open_path(path)
    dialog = settled(window, qtbot)
    assert words in dialog.problem.text() and not dialog.import_button.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible() and window.imports.dialog is None


def test_long_texts_are_shown_around_their_notes(
    background: Background, qtbot: QtBot, tmp_path: Path
) -> None:
    from gui.import_work import look

    path = written(
        tmp_path, "topology.conf", "SwitchName=leaf0 Nodes=n[0-3]\n" + 9_000 * "# x\n" + "Nodes n4\n"
    )
    errand = background.run(look, Wanted((path,)))
    with qtbot.waitSignal(errand.done, timeout=PATIENCE_MS) as got:
        pass
    excerpt = got.args[0].excerpts[0]
    assert excerpt.count == 9_002 and len(excerpt.numbers) < 2_100
    assert got.args[0].problem_at == ("topology.conf", 9_002)
    assert 9_002 in excerpt.numbers and 5_000 not in excerpt.numbers
    assert excerpt.lines[excerpt.numbers.index(9_002)] == "Nodes n4"


# Each way into the drawing


def test_a_new_drawing_is_one_undo_step_and_has_no_file(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    path = written(tmp_path, "topo.txt", TOPO)
    assert not window.open_path(path)
    dialog = settled(window, qtbot)
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    model = window.context.document
    assert len(model.document.topology.working(DeviceKind.GPU)) == 2
    assert model.path is None and model.unsaved and model.undo_stack.count() == 1
    assert model.undo_stack.undoText() == "Import topo"
    assert window.workspace is not None and window.stack.currentWidget() is window.workspace.canvas
    undone_and_redone(window.context)
    model.undo_stack.undo()
    assert not model.document.topology.devices()


def test_a_new_drawing_asks_about_unsaved_work(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(window)
    project = tmp_path / "pod.json"
    window.context.document.save(project)
    before = window.context.document.document.content()
    begin(window, qtbot, written(tmp_path, "topo.txt", TOPO))
    dialog = choose_way(window, qtbot, Way.NEW)
    window.context.document.undo_stack.resetClean()
    asked: list[str] = []

    def cancel(box: QMessageBox) -> QMessageBox.StandardButton:
        asked.append(box.text())
        return QMessageBox.StandardButton.Cancel

    monkeypatch.setattr(QMessageBox, "exec", cancel)
    dialog.accept()
    assert len(asked) == 1 and window.context.document.document.content() == before
    assert window.context.document.path == project and window.imports.last is None


def test_a_node_into_every_tray(window: MainWindow, qtbot: QtBot) -> None:
    cluster(window)
    dialog = begin(window, qtbot, DATA / "nvidia-smi-topo" / "affinity_glued.txt")
    assert dialog.ways.way.currentData() == Way.TRAYS
    assert "2 trays get 2 GPUs" in dialog.ways.summary.text()
    assert not dialog.ways.trays.isVisible() and not dialog.ways.host.isVisible()
    dialog.accept()
    context = window.context
    assert len(context.document.document.topology.working(DeviceKind.GPU)) == 4
    assert context.document.undo_stack.undoText() == "Use as node of every tray"
    assert context.document.undo_stack.count() == 1
    undone_and_redone(context)


def test_a_node_into_the_selected_tray_only(window: MainWindow, qtbot: QtBot) -> None:
    cluster(window)
    window.context.set_selection({"node01"})
    dialog = begin(window, qtbot, DATA / "nvidia-smi-topo" / "affinity_glued.txt")
    assert dialog.ways.trays.isVisible() and dialog.ways.trays.currentText() == "1 selected tray"
    dialog.accept()
    topology = window.context.document.document.topology
    inside = {tray: set(topology.descendants(tray)) for tray in ("node00", "node01")}
    gpus = {device.id for device in topology.working(DeviceKind.GPU)}
    assert {tray: len(gpus & ids) for tray, ids in inside.items()} == {"node00": 8, "node01": 2}


def test_beside_what_is_open(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    cluster(window)
    begin(window, qtbot, written(tmp_path, "topo.txt", TOPO))
    dialog = choose_way(window, qtbot, Way.BESIDE)
    dialog.accept()
    context = window.context
    assert len(context.document.document.topology.working(DeviceKind.GPU)) == 18
    new = set(context.document.document.last_change.devices)
    assert new and new <= context.selection
    undone_and_redone(context)


def test_what_cannot_be_done_is_said_in_place(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    cluster(window)
    begin(window, qtbot, written(tmp_path, "topology.conf", "SwitchName=moon Nodes=sun[0-3]\n"))
    dialog = choose_way(window, qtbot, Way.HOSTS)
    assert "put it beside instead" in dialog.ways.summary.text()
    assert dialog.ways.summary.property("tone") == "error" and not dialog.import_button.isEnabled()


def test_ranks_are_placed_or_left_out(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    cluster(window)
    rows = [f"{rank},node0{1 - rank // 8},{rank % 8}" for rank in range(15)]
    path = written(tmp_path, "ranks.csv", "\n".join(["rank,host,gpu", *rows, "15,moon,0"]) + "\n")
    dialog = begin(window, qtbot, path)
    assert dialog.ways.verb == "Place ranks" and not dialog.import_button.isEnabled()
    assert "moon" in dialog.ways.list.item(0).text() and "line 17" in dialog.ways.list.item(0).text()
    assert dialog.partial.isVisible()
    dialog.partial.click()
    settled(window, qtbot)
    dialog.accept()
    world = window.context.document.document.job.world
    assert world is not None and len(world) == 15 and world[0] == "node01.gpu0"
    undone_and_redone(window.context)


def test_what_nccl_chose_is_lit(window: MainWindow, qtbot: QtBot) -> None:
    cluster(window)
    dialog = begin(window, qtbot, DATA / "nccl-graph-xml" / "ring_tree_nvls.xml")
    assert dialog.ways.way.currentData() == Way.OVERLAY and dialog.ways.host.isVisible()
    dialog.accept()
    shown = window.findChild(OverlayDialog)
    assert shown is not None and not shown.isModal()
    assert [shown.host.itemData(row) for row in range(shown.host.count())] == ["node00", "node01"]
    assert "NCCL has 2 channels" in shown.words.text() and "node00.gpu0 → node00.gpu1" in shown.ours.text()
    everything = set(window.context.lit_links)
    shown.list.setFocus()
    QTest.keyClick(shown.list, Qt.Key.Key_Down)
    assert shown.list.currentItem().text().startswith("node00.gpu0 → node00.gpu3")
    one = set(window.context.lit_links)
    assert one and one < everything
    assert {"node00.gpu0", "node00.nic0"} <= window.context.lit_devices
    shown.host.committed.emit("node01")
    qtbot.waitUntil(lambda: "node01.gpu0" in window.context.lit_devices, timeout=PATIENCE_MS)
    assert window.context.document.undo_stack.count() == 0
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    assert not window.context.lit_links


# Where it comes from


def test_text_of_a_terminal_is_pasted(window: MainWindow, qtbot: QtBot) -> None:
    cluster(window)
    QGuiApplication.clipboard().setText(TOPO)
    qtbot.waitUntil(lambda: window.actions_["edit.paste"].isEnabled())
    window.actions_["edit.paste"].trigger()
    dialog = settled(window, qtbot)
    assert dialog.title.text() == "Pasted text" and dialog.ways.way.currentData() == Way.TRAYS


def test_parts_that_were_copied_last_are_pasted(window: MainWindow, qtbot: QtBot) -> None:
    """A text that is older than the copied parts, or in no format, does not stand in their way."""
    window.context.document.set_document(small_document())
    window.show_workspace()
    QGuiApplication.clipboard().setText(TOPO)
    window.context.set_clipboard(copy(window.context.document.document, {"leaf0"}))
    qtbot.waitUntil(window.actions_["edit.paste"].isEnabled)
    window.actions_["edit.paste"].trigger()
    assert len(window.context.document.document.topology.devices()) == 6
    QGuiApplication.clipboard().setText("good morning")
    window.actions_["edit.paste"].trigger()
    qtbot.waitUntil(
        lambda: len(window.context.document.document.topology.devices()) == 7, timeout=PATIENCE_MS
    )
    assert window.imports.dialog is None


def test_other_text_is_refused_in_words(window: MainWindow, qtbot: QtBot) -> None:
    cluster(window)
    said: list[str] = []
    window.context.said.connect(said.append)
    QGuiApplication.clipboard().setText("good morning")
    qtbot.waitUntil(window.actions_["edit.paste"].isEnabled)
    window.actions_["edit.paste"].trigger()
    qtbot.waitUntil(lambda: bool(said), timeout=PATIENCE_MS)
    assert said == ["The text in the clipboard is in none of the formats that can be imported."]


@pytest.mark.parametrize("where", ["start page", "canvas"])
def test_several_files_are_dropped(window: MainWindow, qtbot: QtBot, where: str) -> None:
    paths = sorted((DATA / "lldp-json").glob("*.json"))[:2]
    if where == "canvas":
        cluster(window)
    assert window.workspace is not None
    target = window.workspace.canvas.viewport() if where == "canvas" else window.start
    drop(window, target, paths)
    dialog = settled(window, qtbot)
    assert dialog.wanted.paths == tuple(paths) and dialog.title.text().endswith("and 1 other file")


def drop(window: MainWindow, target: Any, paths: list[Path]) -> None:
    """Drop files over a widget; what it does not take goes on to the window, as Qt does it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(60, 60), Qt.DropAction.CopyAction, data, button, keys)
    QApplication.sendEvent(target, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window, QDropEvent(QPointF(60, 60), Qt.DropAction.CopyAction, data, button, keys))


def test_the_last_report_can_be_read_again(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    action = window.actions_["file.import_report"]
    assert not action.isEnabled()
    begin(window, qtbot, written(tmp_path, "topo.txt", TOPO)).accept()
    qtbot.waitUntil(action.isEnabled)
    action.trigger()
    shown = window.findChild(ReportDialog)
    assert shown is not None and not shown.isModal()
    assert "2 GPUs, 1 NIC" in shown.report.text()


def test_reading_can_be_stopped(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    window.imports.begin_files([written(tmp_path, "topo.txt", TOPO)])
    dialog = window.imports.dialog
    assert dialog is not None
    dialog.stop_button.click()
    assert not dialog.busy.isVisible() and "stopped" in dialog.problem.text()
    assert not dialog.import_button.isEnabled()
    dialog.reject()


def test_every_field_has_a_name_and_a_place_in_the_order(window: MainWindow, qtbot: QtBot) -> None:
    cluster(window)
    dialog = begin(window, qtbot, DATA / "nvidia-smi-topo" / "affinity_glued.txt")
    for field in (
        dialog.format, dialog.ways.way, dialog.ways.list, dialog.report.list, dialog.report.lines,
        dialog.busy, *dialog.questions.fields.values(),
    ):  # fmt: skip
        assert field.accessibleName()
    dialog.format.setFocus()
    seen = []
    for _ in range(12):
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Tab)
        seen.append(QApplication.focusWidget())
    first = next(iter(dialog.questions.fields.values()))
    wanted = [dialog.ways.way, first, dialog.report.list, dialog.report.lines, dialog.import_button]
    places = [seen.index(each) for each in wanted]
    assert places == sorted(places)
