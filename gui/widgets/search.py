"""A text field that filters as one types."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from gui.theme import ThemeManager
from gui.widgets.style import set_font


class SearchField(QLineEdit):
    """Says `searched` on every change; Esc clears it first."""

    searched = Signal(str)

    def __init__(self, theme: ThemeManager, placeholder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self.setClearButtonEnabled(True)
        set_font(self, 12)
        self.setProperty("role", "search")
        self._glass = QAction(self)
        self.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self._set_icon()
        theme.changed.connect(self._set_icon)
        self.textChanged.connect(lambda text: self.searched.emit(text.strip()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)

    def _set_icon(self) -> None:
        self._glass.setIcon(self._theme.current.icon("search", "text-3"))
