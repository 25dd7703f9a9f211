"""The top row of the window: icon, name, menus, and the drawing's name with its saved state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenuBar, QVBoxLayout, QWidget

from gui.widgets.elided import ElidedLabel
from gui.widgets.style import label, separator, set_font

if TYPE_CHECKING:
    from gui.context import AppContext

HEIGHT = 30


class TitleBar(QWidget):
    """Holds the menu bar; the drawing's name stands in the middle of the window where there is room."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.setProperty("role", "bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(HEIGHT + 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = QHBoxLayout()
        row.setContentsMargins(10, 0, 10, 0)
        row.setSpacing(8)
        self._icon = QLabel()
        row.addWidget(self._icon)
        row.addWidget(label("Railsketch", 12, 700))
        self.menu_bar = QMenuBar()
        self.menu_bar.setNativeMenuBar(False)
        set_font(self.menu_bar, 12, 500)
        row.addWidget(self.menu_bar, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addStretch(1)
        column.addLayout(row, 1)
        column.addWidget(separator())
        self._title = QWidget(self)
        self._title.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        inner = QHBoxLayout(self._title)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(8)
        self.name = ElidedLabel("", 12, 600)
        self.name.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.state = label("", 11, 400, "3")
        inner.addWidget(self.name, 1)
        inner.addWidget(self.state, 1)
        context.theme.changed.connect(self._show_icon)
        self._show_icon()

    def show_title(self, name: str, state: str) -> None:
        """The drawing's name and whether it is saved."""
        self.name.setText(name)
        self.state.setText(state)
        self._place()

    def sizeHint(self) -> QSize:
        return QSize(600, HEIGHT + 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        taken = self.menu_bar.geometry().left() + self.menu_bar.sizeHint().width() + 16
        half = max(0, min(240, self.width() // 2 - taken))
        centre = self.width() // 2
        if half < 110:
            half = max(40, min(240, (self.width() - taken - 12) // 2))
            centre = taken + half
        self._title.setGeometry(centre - half, 0, 2 * half, HEIGHT)

    def _show_icon(self) -> None:
        theme = self._context.theme.current
        self._icon.setPixmap(theme.pixmap("app", 18, self.devicePixelRatioF(), theme.color("accent")))
