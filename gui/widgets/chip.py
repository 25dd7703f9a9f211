"""Chips: a number on its group's colour, and a group with its name as a button."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from gui.theme import Theme, ThemeManager


def paint_group(painter: QPainter, theme: Theme, area: QRectF, index: int, text: str, px: float = 10) -> None:
    """A group's tile: fill, pattern from the 19th group on, border, and its number."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(theme.group_border(index))
    painter.setBrush(theme.group_color(index))
    painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    pattern = theme.group_pattern(index)
    if pattern is not Qt.BrushStyle.SolidPattern:
        over = theme.group_text(index)
        over.setAlphaF(0.35)
        painter.setPen(Qt.PenStyle.NoPen)
        brush = painter.brush()
        brush.setColor(over)
        brush.setStyle(pattern)
        painter.setBrush(brush)
        painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), 3, 3)
    painter.setPen(theme.group_text(index))
    painter.setFont(theme.font(px, 700))
    painter.drawText(area, Qt.AlignmentFlag.AlignCenter, text)


class LayerChip(QAbstractButton):
    """A switch with an eye: on and off are told by the icon, not by the colour alone."""

    def __init__(self, theme: ThemeManager, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setText(text)
        self.setCheckable(True)
        self.setChecked(True)
        self.setAccessibleName(f"Show {text}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        width = QFontMetrics(self._theme.current.font(11, 600)).horizontalAdvance(self.text())
        return QSize(width + 34, 24)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme.current
        on = self.isChecked()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(theme.color("accent" if self.hasFocus() else "line"))
            painter.setBrush(theme.color("panel" if on else "raised"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
            icon = theme.pixmap(
                "eye" if on else "eye-off",
                14,
                self.devicePixelRatioF(),
                theme.color("accent" if on else "text-3"),
            )
            painter.drawPixmap(8, (self.height() - 14) // 2, icon)
            painter.setPen(theme.color("text" if on else "text-3"))
            painter.setFont(theme.font(11, 600 if on else 400))
            painter.drawText(self.rect().adjusted(27, 0, -6, 0), Qt.AlignmentFlag.AlignVCenter, self.text())
