"""Sections of a dock: a head with a title and a note, and a body below it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.widgets.elided import ElidedLabel
from gui.widgets.style import label

PADDING = 12
HEAD_HEIGHT = 26


class SectionHeader(QWidget):
    """Title left, a note in text 3 beside or right of it, and room for widgets at the right end."""

    def __init__(self, title: str, note: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(HEAD_HEIGHT)
        self.setAccessibleName(title)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        self.title = label(title, 12, 600)
        self.note = ElidedLabel(note, 11, 400, "3")
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._row.addWidget(self.title)
        self._row.addWidget(self.note, 1)

    def set_title(self, text: str) -> None:
        """Change the title."""
        self.title.setText(text)
        self.setAccessibleName(text)

    def set_note(self, text: str) -> None:
        """Change the note; it is cut with an ellipsis where it does not fit."""
        self.note.setText(text)

    def add(self, widget: QWidget) -> None:
        """Put a widget at the right end."""
        self._row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
