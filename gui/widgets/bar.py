"""A horizontal bar with a capacity tick; what lies above the capacity is hatched."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.theme import ThemeManager


class Bar(QWidget):
    """Parts of a whole from left to right, as (share, token or ramp step).

    `full` is the share at which the widget ends (1.5 leaves room for an overload up to 150 %), `tick` a share
    that is marked with a line. Shares above 1 are hatched.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None, *, height: int = 8) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts: tuple[tuple[float, str | int], ...] = ()
        self._tick: float | None = None
        self._full = 1.0
        self._height = height
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def set_parts(
        self,
        parts: tuple[tuple[float, str | int], ...],
        *,
        tick: float | None = None,
        full: float = 1.0,
        text: str = "",
    ) -> None:
        """Show `parts`; `text` says the same for a screen reader."""
        self._parts, self._tick, self._full = parts, tick, max(full, 1e-9)
        self.setAccessibleName(text)
        self.setToolTip(text)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(80, self._height + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(24, self._height + 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme.current
        width = float(self.width())
        top = (self.height() - self._height) / 2
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            shape = QPainterPath()
            shape.addRoundedRect(QRectF(0, top, width, self._height), 2, 2)
            painter.save()
            painter.setClipPath(shape)
            painter.fillRect(QRectF(0, top, width, self._height), theme.color("line"))
            start = 0.0
            for share, what in self._parts:
                color = theme.ramp(what) if isinstance(what, int) else theme.color(what)
                area = QRectF(start / self._full * width, top, share / self._full * width, self._height)
                painter.fillRect(area, color)
                over = start + share - 1.0
                if over > 0:
                    above = QRectF(
                        area.right() - over / self._full * width, top, over / self._full * width, self._height
                    )
                    painter.fillRect(above, theme.color("panel"))
                    painter.fillRect(above, QBrush(color, Qt.BrushStyle.BDiagPattern))
                start += share
            painter.restore()
            if self._tick is not None:
                x = self._tick / self._full * width
                painter.fillRect(
                    QRectF(min(x, width - 1) - 0.75, top - 2.5, 1.5, self._height + 5), theme.color("text")
                )
