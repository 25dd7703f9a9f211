"""Text on the canvas: measured once per font, fitted to the room there is."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from gui.theme import Theme

ELLIPSIS = "…"


_FontKey = tuple[float, int]
_FONTS: dict[_FontKey, QFont] = {}


@lru_cache(maxsize=64)
def _metrics(key: _FontKey) -> QFontMetricsF:
    return QFontMetricsF(_FONTS[key])


@lru_cache(maxsize=20_000)
def _advance(text: str, key: _FontKey) -> float:
    return float(_metrics(key).horizontalAdvance(text))


class Lettering:
    """Draws text in the fonts of one theme."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme

    def font(self, px: float, weight: int) -> QFont:
        """The font, asked of the theme once."""
        key = (px, weight)
        if key not in _FONTS:
            _FONTS[key] = self.theme.font(px, weight)
        return _FONTS[key]

    def metrics(self, px: float, weight: int) -> QFontMetricsF:
        """Metrics of a font."""
        self.font(px, weight)
        return _metrics((px, weight))

    def width(self, text: str, px: float, weight: int) -> float:
        """How wide a text is."""
        self.font(px, weight)
        return _advance(text, (px, weight))

    def fitting(self, text: str, px: float, weight: int, room: float, least: float) -> float | None:
        """The largest size, `px` … `least`, at which a text fits into `room`; None when it never does."""
        wide = self.width(text, px, weight)
        if wide <= room:
            return px
        smaller = float(int(px * room / wide * 2)) / 2
        return smaller if smaller >= least else None

    def cut(self, text: str, px: float, weight: int, room: float) -> str:
        """The text, or its beginning with an ellipsis, or nothing."""
        if self.width(text, px, weight) <= room:
            return text
        short = self.metrics(px, weight).elidedText(text, Qt.TextElideMode.ElideRight, room)
        return "" if short in ("", ELLIPSIS) else str(short)

    def left(
        self, painter: QPainter, text: str, px: float, weight: int, color: QColor, x: float, middle: float
    ) -> float:
        """Draw from `x` on, the capitals centred on the height `middle`; gives the width."""
        metrics = self.metrics(px, weight)
        painter.setFont(self.font(px, weight))
        painter.setPen(color)
        painter.drawText(QPointF(x, middle + metrics.capHeight() / 2), text)
        return self.width(text, px, weight)

    def centred(
        self, painter: QPainter, text: str, px: float, weight: int, color: QColor, x: float, middle: float
    ) -> None:
        """Draw around `x`, the capitals centred on the height `middle`."""
        self.left(painter, text, px, weight, color, x - self.width(text, px, weight) / 2, middle)

    def right(
        self, painter: QPainter, text: str, px: float, weight: int, color: QColor, x: float, middle: float
    ) -> None:
        """Draw up to `x`, the capitals centred on the height `middle`."""
        self.left(painter, text, px, weight, color, x - self.width(text, px, weight), middle)

    def pill(
        self,
        painter: QPainter,
        text: str,
        centre: QPointF,
        *,
        fill: QColor,
        ink: QColor,
        border: QColor,
        px: float = 10,
        weight: int = 700,
        height: float = 17,
        border_width: float = 1.0,
    ) -> None:
        """A rounded label around a point."""
        box = self.pill_box(text, centre, px, weight, height)
        painter.setPen(QPen(border, border_width))
        painter.setBrush(fill)
        painter.drawRoundedRect(box, height / 2, height / 2)
        self.centred(painter, text, px, weight, ink, centre.x(), centre.y())

    def pill_box(self, text: str, centre: QPointF, px: float, weight: int, height: float) -> QRectF:
        """The box of a pill."""
        width = max(height, self.width(text, px, weight) + height * 0.75)
        return QRectF(centre.x() - width / 2, centre.y() - height / 2, width, height)


class Occupancy:
    """Places that labels have taken, so that no label covers another."""

    def __init__(self) -> None:
        self._boxes: list[QRectF] = []

    def take(self, box: QRectF) -> bool:
        """Take a place if it is free."""
        if not self.free(box):
            return False
        self._boxes.append(box)
        return True

    def free(self, box: QRectF) -> bool:
        """Whether nothing is there yet."""
        return not any(box.intersects(taken) for taken in self._boxes)
