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
JSON_FILTER = "JSON (*.json)"
PICTURE_FILTER = "PNG picture (*.png)"


class FileCommands(QObject):
    """New, open, save, export and templates for the document of a context.

    `opened` comes after another drawing was opened or begun, `recent_changed` when the list of files changed.
    """

    opened = Signal()
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
            "export.topology": self.export_topology,
            "export.traffic": self.export_traffic,
            "export.picture": self.export_picture,
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
        name, _ = QFileDialog.getOpenFileName(self._window, "Open", self._folder(), PROJECT_FILTER)
        if name:
            self.open_path(Path(name))

    def open_path(self, path: Path) -> bool:
        """Open a file, after asking what to do with unsaved changes."""
        return self.may_leave() and self.load(path)

    def load(self, path: Path) -> bool:
        """Open a file. When that fails it is said, and the open drawing stays."""
        from model.files.opening import open_any

        try:
            document = open_any(path)
        except (RailsketchError, OSError) as error:
            self.complain("This file cannot be opened", str(error))
            if not path.exists():
                forget(path)
                self.recent_changed.emit()
            return False
        self._context.document.set_document(document, path)
        self._remember(path)
        self.opened.emit()
        if document.notes:
            self._context.say(" ".join(document.notes))
        return True

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
        suggested = document.path or Path(self._folder()) / _file_name(document.document.name, ".json")
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

    # --- exports -------------------------------------------------------------------------------------------

    def export_topology(self) -> None:
        """Write what is drawn as node-link JSON."""
        from model.files.topology_json import write_topology

        document = self._context.document.document
        self._export(
            "Export topology", "topology.json", JSON_FILTER, lambda path: write_topology(document, path)
        )

    def export_traffic(self) -> None:
        """Write what the step puts on every link."""
        from model.files.traffic_json import write_traffic

        analysis = self._context.analysis
        if analysis is None or analysis.report is None:
            self._context.say("There is no step to export yet.")
            return
        if self._context.stale:
            self._context.say("The step is being worked out; export it when the figures are up to date.")
            return
        self._export(
            "Export traffic", "traffic.json", JSON_FILTER, lambda path: write_traffic(analysis, path)
        )

    def export_picture(self) -> None:
        """Write the drawing as a picture."""
        from gui.canvas.picture import write_picture

        context = self._context
        self._export(
            "Export picture",
            "picture.png",
            PICTURE_FILTER,
            lambda path: write_picture(
                context.document.document, context.analysis, path, theme=context.theme.current
            ),
        )

    def _export(self, title: str, name: str, kinds: str, write: Callable[[Path], object]) -> None:
        suggested = Path(self._folder()) / f"{Path(self._context.document.name).stem}-{name}"
        chosen, _ = QFileDialog.getSaveFileName(self._window, title, str(suggested), kinds)
        if not chosen:
            return
        path = _with_suffix(Path(chosen), Path(name).suffix)
        try:
            write(path)
        except (RailsketchError, OSError) as error:
            self.complain("The export cannot be written", str(error))
            return
        self._context.say(f"Wrote {path.name}.")

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

    def _folder(self) -> str:
        path = self._context.document.path
        if path is not None:
            return str(path.parent)
        return str(settings().value("folder", str(Path.home())))

    def _remember(self, path: Path) -> None:
        remember(path)
        settings().setValue("folder", str(path.parent))
        self.recent_changed.emit()

    def _saved(self) -> None:
        path = self._context.document.path
        if path is not None:
            self._remember(path)


def _with_suffix(path: Path, suffix: str) -> Path:
    return path if path.suffix else path.with_name(path.name + suffix)


def _file_name(name: str, suffix: str) -> str:
    kept = "".join(sign if sign.isalnum() or sign in " -_." else "-" for sign in name).strip()
    return (kept or "cluster") + suffix
