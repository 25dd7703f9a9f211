"""Export: one dialog for all formats, opened at the one that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from gui.background import Background

if TYPE_CHECKING:
    from gui.context import AppContext
    from gui.dialogs.export_dialog import ExportDialog
    from gui.file_commands import FileCommands

QUICK = {
    "export.topology": "railsketch-topology",
    "export.traffic": "railsketch-traffic",
    "export.picture": "picture-png",
}


class ExportCommands(QObject):
    """The export menu on the document of a context."""

    def __init__(self, context: AppContext, files: FileCommands, window: QWidget) -> None:
        super().__init__(window)
        self._context, self._files, self._window = context, files, window
        self.background = Background("gui.export_work", self)
        self.dialog: ExportDialog | None = None

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        return {
            "export.any": self.show,
            **{action: partial(self.show, ident) for action, ident in QUICK.items()},
        }

    def show(self, format_id: str | None = None) -> None:
        """Show the dialog, at a format or at the one that was used last."""
        from gui.dialogs.export_dialog import ExportDialog

        self.background.warm_up()
        if self.dialog is None:
            dialog = ExportDialog(self._context, self.background, self._files.folder, self._window)
            dialog.finished.connect(self._closed)
            self.dialog = dialog
        if format_id is not None:
            self.dialog.choose(format_id)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    def _closed(self) -> None:
        dialog, self.dialog = self.dialog, None
        if dialog is not None:
            dialog.deleteLater()
