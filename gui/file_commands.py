"""What the file menu does. A file that cannot be used leaves the open drawing as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from gui.recent import forget, remember
from gui.settings import settings
from model.errors import RailsketchError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gui.context import AppContext

PROJECT_FILTER = "Railsketch projects (*.json *.json.gz);;All files (*)"
OPEN_FILTER = "All files (*);;Railsketch projects (*.json *.json.gz)"


class FileCommands(QObject):
    """New, open, save and templates for the document of a context.

    `opened` comes after another drawing was opened or begun, `recent_changed` when the list of files changed,
    `foreign_file(path)` for a file of another tool, which has to be imported.
    """

    opened = Signal()
    foreign_file = Signal(object)
    recent_changed = Signal()

    def __init__(self, context: AppContext, window: QWidget) -> None:
        super().__init__(window)
        self._context = context
        self._window = window
        context.document.saved.connect(self._saved)

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        return {
            "file.new": self.new,
            "file.open": self.open,
            "file.save": self.save,
            "file.save_as": self.save_as,
            "insert.template": self.choose_template,
        }

    # --- opening -------------------------------------------------------------------------------------------

    def new(self) -> None:
        """Begin an empty drawing."""
        if self.close():
            self.opened.emit()

    def close(self) -> bool:
        """Put an empty drawing in place of the open one, if that can go."""
        from model.document.document import Document

        if not self.may_leave():
            return False
        self._context.document.set_document(Document())
        return True

    def open(self) -> None:
        """Ask for a file and open it."""
        name, _ = QFileDialog.getOpenFileName(self._window, "Open", self.folder(), OPEN_FILTER)
        if name:
            self.open_path(Path(name))

    def open_path(self, path: Path) -> bool:
        """Open a file of ours, after asking what to do with unsaved changes; whether it is open now.

        A file of another tool is imported: `foreign_file` says so.
        """
        from model.files.opening import is_own

        try:
            own = is_own(path)
        except RailsketchError as error:
            return self._refuse(path, str(error))
        if own:
            return self.may_leave() and self.load(path)
        self.foreign_file.emit(path)
        return False

    def load(self, path: Path) -> bool:
        """Open a file. When that fails it is said, and the open drawing stays."""
        from model.document.document import Document
        from model.document.edits import Load
        from model.files.opening import open_file

        try:
            opened = open_file(path)
        except (RailsketchError, OSError) as error:
            return self._refuse(path, str(error))
        document, model = opened.document, self._context.document
        if opened.project:
            model.set_document(document, path)
        else:  # saving must never write a project over it
            model.set_document(Document())
            model.push(Load(document), f"Open {path.name}")
        self.remember(path)
        self.opened.emit()
        if document.notes:
            self._context.say(" ".join(document.notes))
        return True

    def _refuse(self, path: Path, reason: str) -> bool:
        self.complain("This file cannot be opened", reason)
        if not path.exists():
            forget(path)
            self.recent_changed.emit()
        return False

    def may_leave(self) -> bool:
        """Whether the open drawing can go: it is saved, or the user saves or discards it."""
        document = self._context.document
        if not document.unsaved:
            return True
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Unsaved changes")
        box.setText(f"{document.name} has changes that are not saved.")
        box.setInformativeText("Save them before going on?")
        button = QMessageBox.StandardButton
        box.setStandardButtons(button.Save | button.Discard | button.Cancel)
        box.setDefaultButton(button.Save)
        answer = box.exec()
        if answer == button.Save:
            return self.save()
        return answer == button.Discard

    # --- saving --------------------------------------------------------------------------------------------

    def save(self) -> bool:
        """Save to the drawing's file; ask for one when it has none."""
        path = self._context.document.path
        if path is None:
            return self.save_as()
        if path.exists() and self._context.document.changed_on_disk:
            return self._save_over_another(path)
        return self._save(path)

    def _save_over_another(self, path: Path) -> bool:
        """The file was written by somebody else since: nobody's work is lost without being asked for."""
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("The file has changed")
        box.setText(f"{path.name} was changed by another window or program since it was opened here.")
        box.setInformativeText("Save over it (the other version stays as .bak), or under another name?")
        button = QMessageBox.StandardButton
        box.setStandardButtons(button.Save | button.SaveAll | button.Cancel)
        box.button(button.Save).setText("Save over it")
        box.button(button.SaveAll).setText("Save as…")
        box.setDefaultButton(button.SaveAll)
        answer = box.exec()
        if answer == button.SaveAll:
            return self.save_as()
        return answer == button.Save and self._save(path)

    def save_as(self) -> bool:
        """Ask for a file and save to it."""
        document = self._context.document
        suggested = document.path or Path(self.folder()) / _file_name(document.document.name, ".json")
        name, _ = QFileDialog.getSaveFileName(self._window, "Save as", str(suggested), PROJECT_FILTER)
        return bool(name) and self._save(_with_suffix(Path(name), ".json"))

    def _save(self, path: Path) -> bool:
        try:
            self._context.document.save(path)
        except (RailsketchError, OSError) as error:
            self.complain("The drawing cannot be saved", str(error))
            return False
        self._context.say(f"Saved {path.name}.")
        return True

    # --- templates -----------------------------------------------------------------------------------------

    def choose_template(self, ident: str | None = None, at: tuple[float, float] | None = None) -> bool:
        """Let the user set up a template, and place it: at a point in scene units, or beside all else."""
        wanted = self._ask_for_template(ident)
        return wanted is not None and self.place_template(*wanted, at)

    def begin_with_template(self, ident: str) -> bool:
        """Let the user set up a template, and place it on a new drawing."""
        wanted = self._ask_for_template(ident)
        return wanted is not None and self.close() and self.place_template(*wanted)

    def _ask_for_template(self, ident: str | None) -> tuple[str, BaseModel] | None:
        from gui.dialogs.templates import TemplatesDialog

        dialog = TemplatesDialog(self._context.theme, ident, self._window)
        accepted = dialog.exec() == TemplatesDialog.DialogCode.Accepted
        dialog.deleteLater()
        return (dialog.chosen, dialog.parameters) if accepted and dialog.parameters is not None else None

    def place_template(
        self, ident: str, parameters: BaseModel | None = None, at: tuple[float, float] | None = None
    ) -> bool:
        """Put a template on the drawing as one undo step."""
        from gui.place_template import template_edit

        document = self._context.document
        try:
            edit, text = template_edit(document.document, ident, parameters, at)
            document.push(edit, text)
        except RailsketchError as error:
            self.complain("The template cannot be placed", str(error))
            return False
        self.opened.emit()
        change = document.document.last_change
        if not change.whole:  # it may stand out of sight, beside what was there
            self._context.go_to((*sorted(change.containers), *sorted(change.devices)))
        return True

    # --- helpers -------------------------------------------------------------------------------------------

    def complain(self, title: str, text: str) -> None:
        """One clear message."""
        box = QMessageBox(QMessageBox.Icon.Warning, title, title, QMessageBox.StandardButton.Ok, self._window)
        box.setInformativeText(text)
        box.exec()

    def folder(self) -> str:
        """Where file dialogs begin."""
        path = self._context.document.path
        if path is not None:
            return str(path.parent)
        return str(settings().value("folder", str(Path.home())))

    def remember(self, path: Path) -> None:
        """Put a file first in the list of recent ones."""
        remember(path)
        settings().setValue("folder", str(path.parent))
        self.recent_changed.emit()

    def _saved(self) -> None:
        path = self._context.document.path
        if path is not None:
            self.remember(path)


def _with_suffix(path: Path, suffix: str) -> Path:
    return path if path.suffix else path.with_name(path.name + suffix)


def _file_name(name: str, suffix: str) -> str:
    kept = "".join(sign if sign.isalnum() or sign in " -_." else "-" for sign in name).strip()
    return (kept or "cluster") + suffix
