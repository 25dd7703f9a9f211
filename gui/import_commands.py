"""Import: files and pasted text through one dialog, into one undo step or a window that compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from gui.background import Background
from model.errors import EditRefused

if TYPE_CHECKING:
    from gui.context import AppContext
    from gui.dialogs.import_dialog import ImportDialog
    from gui.edit_commands import EditCommands
    from gui.file_commands import FileCommands
    from gui.import_work import Planned, Seen, Wanted, Way

ALL_FILES = "All files (*)"


@dataclass(frozen=True, slots=True)
class LastImport:
    """What the last import said, and what was done with it."""

    seen: Seen
    did: str


class ImportCommands(QObject):
    """Import, paste of text, and the report of the last import.

    `changed` comes when there is another last report, or the clipboard of the system may be pasted or not.
    """

    changed = Signal()

    def __init__(
        self, context: AppContext, files: FileCommands, edits: EditCommands, window: QWidget
    ) -> None:
        super().__init__(window)
        self._context, self._files, self._edits, self._window = context, files, edits, window
        self.background = Background("gui.import_work", self)
        self.dialog: ImportDialog | None = None
        self.last: LastImport | None = None
        self._foreign = False  # the clipboard of the system is newer than what was copied here
        files.foreign_file.connect(lambda path: self.begin_files((path,)))
        context.clipboard_changed.connect(self._copied_here)
        clipboard = QGuiApplication.clipboard()
        clipboard.dataChanged.connect(self._clipboard_changed)
        self._clipboard_changed()

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        return {
            "file.import": self.choose,
            "file.import_report": self.show_report,
            "edit.paste": self.paste,
        }

    # --- beginning -----------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Ask for files, and import them."""
        self.background.warm_up()
        names, _ = QFileDialog.getOpenFileNames(self._window, "Import", self._files.folder(), ALL_FILES)
        if names:
            self.begin_files([Path(name) for name in names])

    def begin_files(self, paths: Sequence[Path]) -> None:
        """Read files of one format, and let the user say what to do with them."""
        from gui.import_work import Wanted

        self._begin(Wanted(tuple(paths)))

    def paste(self) -> None:
        """Paste the parts that were copied here, or import what another program copied since."""
        data = QGuiApplication.clipboard().mimeData()
        if not self._foreign:
            self._edits.paste()
        elif paths := dropped_files(data):
            self.begin_files(paths)
        else:
            self.begin_text(data.text())

    def begin_text(self, text: str) -> None:
        """Import a text that is in a format for it; else paste parts, where some were copied here before."""
        from gui.import_work import Wanted, recognise

        def recognised(known: bool) -> None:
            if known:
                self._begin(Wanted(text=text))
            elif self._context.clipboard is not None:
                self._edits.paste()
            else:
                self._context.say("The text in the clipboard is in none of the formats that can be imported.")

        errand = self.background.run(recognise, text)
        errand.done.connect(recognised)
        errand.failed.connect(self._context.say)

    def _begin(self, wanted: Wanted, way: Way | None = None) -> None:
        from gui.dialogs.import_dialog import ImportDialog

        if self.dialog is not None:
            self.dialog.reject()
        dialog = ImportDialog(self._context, self.background, wanted, way, self._window)
        dialog.finished.connect(lambda code: self._finished(dialog, code))
        self.dialog = dialog
        dialog.open()

    # --- doing ---------------------------------------------------------------------------------------------

    def _finished(self, dialog: ImportDialog, code: int) -> None:
        self.dialog = None
        dialog.deleteLater()
        if code == QDialog.DialogCode.Accepted and dialog.seen is not None and dialog.choice is not None:
            self._do(dialog)

    def _do(self, dialog: ImportDialog) -> None:
        from gui.import_work import Way

        planned, seen, choice = dialog.planned, dialog.seen, dialog.choice
        if seen is None or choice is None:
            return
        if planned.comparison is not None:
            from gui.dialogs.compare import CompareDialog

            shown = CompareDialog(
                self._context, self.background, dialog.wanted, planned.comparison, seen.name, self._window
            )
            shown.show()
            did = "It was compared with the drawing."
        elif planned.overlay is not None:
            from gui.dialogs.import_overlay import OverlayDialog

            OverlayDialog(self._context, self.background, dialog.wanted, planned, self._window).show()
            did = "What NCCL chose was shown beside the drawing."
        elif self._push(planned, choice.way):
            did = " ".join(planned.done)
        else:
            return
        self.last = LastImport(seen, did)
        self.changed.emit()
        if choice.way is Way.NEW and len(dialog.wanted.paths) == 1:
            self._files.remember(dialog.wanted.paths[0])

    def _push(self, planned: Planned, way: Way) -> bool:
        """Do it as one undo step: a drawing of its own onto an empty one."""
        from gui.import_work import Way

        context = self._context
        if planned.edit is None or (way is Way.NEW and not self._files.close()):
            return False
        try:
            context.document.push(planned.edit, planned.text)
        except EditRefused as refusal:
            self._files.complain("This cannot be imported", str(refusal))
            return False
        self._files.opened.emit()
        change = context.document.document.last_change
        if way is Way.BESIDE:  # it may stand out of sight
            context.go_to((*sorted(change.containers), *sorted(change.devices)))
        context.set_lit_links(
            [ident for misfit in planned.misfits for ident in misfit.links],
            [ident for misfit in planned.misfits for ident in misfit.devices],
        )
        context.say(f"{planned.text}. The report is in the File menu.")
        return True

    def show_report(self) -> None:
        """Show the report of the last import again."""
        from gui.dialogs.import_report import ReportDialog

        if self.last is not None:
            ReportDialog(self._context.theme, self.last.seen, self.last.did, self._window).show()

    # --- the clipboard -------------------------------------------------------------------------------------

    @property
    def can_paste(self) -> bool:
        """Whether the clipboard of the system holds text or files of another program."""
        return self._foreign

    def _clipboard_changed(self) -> None:
        data: QMimeData | None = QGuiApplication.clipboard().mimeData()  # None where nothing was ever copied
        foreign = data is not None and (data.hasText() or data.hasUrls())
        if foreign != self._foreign:
            self._foreign = foreign
            self.changed.emit()

    def _copied_here(self) -> None:
        if self._foreign:
            self._foreign = False
            self.changed.emit()


def dropped_files(data: QMimeData) -> list[Path]:
    """The local files that are dragged or copied."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
