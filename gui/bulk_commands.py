"""Commands that look over the whole drawing and work on many parts: find, select, replace, repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from gui.context import AppContext


class BulkCommands(QObject):
    """Opens the dialogs for work on many parts, on a context. Each edit is one undo step."""

    def __init__(self, context: AppContext, window: QWidget) -> None:
        super().__init__(window)
        self._context = context
        self._window = window

    def handlers(self) -> Mapping[str, Callable[[], object]]:
        """The slots by action id."""
        return {
            "edit.find": self.find,
            "edit.select_by": self.select_by,
        }

    def find(self) -> None:
        """Find something by what the user types, and go there."""
        from gui.dialogs.search import SearchDialog, search_index

        dialog = SearchDialog(self._context, search_index(self._context), self._window)
        dialog.exec()
        dialog.deleteLater()

    def select_by(self) -> None:
        """Select by what things have in common."""
        from gui.dialogs.search_select import SelectDialog

        dialog = SelectDialog(self._context, self._window)
        dialog.exec()
        dialog.deleteLater()
