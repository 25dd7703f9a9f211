"""Files of the window: open, save, recent, new, exports; what cannot be read or written changes nothing."""

from __future__ import annotations

import copy
import os
import signal
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog, QLabel, QMessageBox, QWidget

from gui.app import close_on_interrupt
from gui.context import AppContext
from gui.file_commands import FileCommands
from gui.panels.start import StartPage, when_text
from gui.recent import forget, recent_files, remember
from gui.window import MainWindow
from model.document.edits import Move
from model.files.project import load_project
from model.files.topology_json import write_topology

Button = QMessageBox.StandardButton


@pytest.fixture
def files(drawing: AppContext, qtbot: Any) -> FileCommands:
    owner = QWidget()
    qtbot.addWidget(owner)
    made = FileCommands(drawing, owner)
    made._owner_of_the_test = owner  # type: ignore[attr-defined]
    return made


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What message boxes say; they answer "cancel"."""
    said: list[str] = []

    def run(box: QMessageBox) -> Button:
        said.append(f"{box.text()} {box.informativeText()}")
        return Button.Cancel

    monkeypatch.setattr(QMessageBox, "exec", run)
    return said


def answer(monkeypatch: pytest.MonkeyPatch, button: Button) -> None:
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: button)


def choose(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> None:
    for name in ("getOpenFileName", "getSaveFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args, **_named: (str(path), ""))


def edit(context: AppContext) -> None:
    context.document.push(Move({"leaf0": (99.0, 0.0)}), "move")


def test_save_as_then_open_gives_an_equal_document(
    files: FileCommands, drawing: AppContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    edit(drawing)
    saved = copy.deepcopy(drawing.document.document)
    choose(monkeypatch, tmp_path / "pod")
    assert files.save()
    assert drawing.document.path == tmp_path / "pod.json" and not drawing.document.unsaved
    files.new()
    assert not drawing.document.document.topology.devices()
    choose(monkeypatch, tmp_path / "pod.json")
    files.open()
    assert drawing.document.document.same_as(saved)
    assert recent_files() == (tmp_path / "pod.json",)


def test_save_goes_to_the_known_file(files: FileCommands, drawing: AppContext, tmp_path: Path) -> None:
    drawing.document.save(tmp_path / "pod.json")
    edit(drawing)
    assert files.save()
    assert load_project(tmp_path / "pod.json").layout["leaf0"] == (99.0, 0.0)


def test_cancelled_dialogs_do_nothing(
    files: FileCommands, drawing: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "")
    before = drawing.document.document
    files.open()
    assert not files.save_as() and drawing.document.document is before


BROKEN: dict[str, bytes] = {
    "half written": b'{"format": "railsketch.project", "version": 1, "topology": {"dev',
    "empty": b"",
    "newer": b'{"format": "railsketch.project", "version": 999}',
    "wrong types": b'{"format": "railsketch.project", "version": 1, "topology": []}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_said_and_the_drawing_stays(
    files: FileCommands, drawing: AppContext, messages: list[str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(BROKEN[name])
    before = copy.deepcopy(drawing.document.document)
    assert not files.open_path(path)
    assert len(messages) == 1 and "cannot be opened" in messages[0] and "broken.json" in messages[0]
    assert "Traceback" not in messages[0]
    assert drawing.document.document.same_as(before) and drawing.document.path is None
    assert path.read_bytes() == BROKEN[name]
    assert recent_files() == ()


def test_missing_file_leaves_the_recent_list(
    files: FileCommands, messages: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "gone.json"
    path.write_text("{}")
    remember(path)
    path.unlink()
    assert not files.open_path(path)
    assert "gone.json" in messages[0] and recent_files() == ()


@pytest.mark.parametrize(
    ("button", "goes", "saved"),
    [(Button.Cancel, False, False), (Button.Discard, True, False), (Button.Save, True, True)],
)
def test_unsaved_changes_are_asked_about(
    files: FileCommands,
    drawing: AppContext,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    button: Button,
    goes: bool,
    saved: bool,
) -> None:
    path = tmp_path / "pod.json"
    drawing.document.save(path)
    edit(drawing)
    answer(monkeypatch, button)
    files.new()
    assert (not drawing.document.document.topology.devices()) is goes
    assert (load_project(path).layout["leaf0"] == (99.0, 0.0)) is saved


def test_saved_drawing_is_left_without_a_question(
    files: FileCommands, drawing: AppContext, messages: list[str]
) -> None:
    files.new()
    assert messages == [] and not drawing.document.document.topology.devices()


def test_save_that_fails_is_said_and_keeps_the_changes(
    files: FileCommands,
    drawing: AppContext,
    monkeypatch: pytest.MonkeyPatch,
    messages: list[str],
    tmp_path: Path,
) -> None:
    edit(drawing)
    choose(monkeypatch, tmp_path / "no such folder" / "pod.json")
    assert not files.save_as()
    assert "cannot be saved" in messages[0]
    assert drawing.document.unsaved and drawing.document.path is None


def test_a_topology_export_is_never_saved_over(
    files: FileCommands, drawing: AppContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "topology.json"
    write_topology(drawing.document.document, path)
    before = path.read_bytes()
    assert files.open_path(path)
    assert drawing.document.document.topology.has_device("leaf0")
    assert drawing.document.path is None and drawing.document.unsaved
    assert recent_files() == (path,)
    asked: list[str] = []

    def cancel(_parent: object, _title: str, name: str, *_: object) -> tuple[str, str]:
        asked.append(name)
        return "", ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", cancel)
    assert not files.save()
    assert len(asked) == 1 and path.read_bytes() == before
    drawing.document.undo_stack.undo()
    assert not drawing.document.document.topology.devices()


def test_a_file_of_another_tool_is_handed_on(
    files: FileCommands, drawing: AppContext, tmp_path: Path
) -> None:
    path = tmp_path / "topo.txt"
    path.write_text("\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n")
    before = drawing.document.document
    seen: list[Path] = []
    files.foreign_file.connect(seen.append)
    assert not files.open_path(path)
    assert seen == [path] and drawing.document.document is before


def test_recent_keeps_order_and_forgets(tmp_path: Path, context: AppContext) -> None:
    paths = [tmp_path / f"{number}.json" for number in range(12)]
    for path in paths:
        path.write_text("{}")
        remember(path)
    remember(paths[5])
    assert recent_files()[:2] == (paths[5], paths[11]) and len(recent_files()) == 10
    forget(paths[5])
    assert paths[5] not in recent_files()
    forget()
    assert recent_files() == ()


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (datetime(2026, 11, 30, 9, 12), "today 09:12"),
        (datetime(2026, 11, 29, 23, 0), "yesterday"),
        (datetime(2026, 11, 3), "3 Nov"),
        (datetime(2025, 3, 3), "3 Mar 2025"),
    ],
)
def test_when_a_file_changed(changed: datetime, text: str) -> None:
    assert when_text(changed, date(2026, 11, 30)) == text


def test_start_page_lists_recent_files(context: AppContext, qtbot: Any, tmp_path: Path) -> None:
    path = tmp_path / "pod.json"
    path.write_text("{}")
    remember(path)
    page = StartPage(context)
    qtbot.addWidget(page)
    page.show()
    seen: list[Path] = []
    page.recent_requested.connect(seen.append)
    row = page._recent.itemAt(0).widget()
    assert row.accessibleName() == "Open pod.json"
    name, folder, changed = (child for child in row.findChildren(QLabel))
    assert name.text() == "pod" and folder.text() == str(tmp_path) and changed.text().startswith("today")
    assert name.width() >= name.sizeHint().width() and changed.geometry().right() <= row.width()
    row.click()
    assert seen == [path]
    page.clear_button.click()
    assert page._recent.count() == 0 and page._no_recent.isVisible()


def test_a_file_that_changed_since_is_not_written_over_unasked(
    files: FileCommands,
    drawing: AppContext,
    messages: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path = tmp_path / "pod.json"
    drawing.document.save(path)
    path.write_text("of another window")
    edit(drawing)
    assert not files.save() and path.read_text() == "of another window"
    assert messages and messages[0].startswith("pod.json was changed by another window or program")
    assert drawing.document.unsaved
    answer(monkeypatch, Button.Save)
    assert files.save() and load_project(path).same_as(drawing.document.document)
    assert (tmp_path / "pod.json.bak").read_text() == "of another window"
    edit(drawing)
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: pytest.fail("asked although nobody else wrote"))
    assert files.save()
    edit(drawing)
    path.unlink()
    assert files.save() and path.exists()


def test_the_interrupt_of_a_terminal_closes_an_idle_window(context: AppContext, qtbot: Any) -> None:
    window = MainWindow(context, deferred=True)
    qtbot.addWidget(window)
    window.show()
    before = signal.getsignal(signal.SIGINT)
    waker = close_on_interrupt(window)
    try:
        QTimer.singleShot(0, lambda: os.kill(os.getpid(), signal.SIGINT))
        qtbot.waitUntil(lambda: not window.isVisible())
    finally:
        waker.setEnabled(False)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, before)
