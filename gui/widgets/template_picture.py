"""Small pictures of templates, drawn from what they build."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

if TYPE_CHECKING:
    from gui.theme import Theme, ThemeManager
    from topology_templates.content import TemplateContent

MOST_LINKS = 2000
_SQUARE = 6.0


def paint_content(painter: QPainter, theme: Theme, content: TemplateContent, area: QRectF) -> None:
    """Devices as squares in the hue of their kind, links as thin lines, fitted into `area`."""
    positions = content.positions
    if not positions:
        return
    xs = [x for x, _ in positions.values()]
    ys = [y for _, y in positions.values()]
    width, height = max(xs) - min(xs), max(ys) - min(ys)
    inner = area.adjusted(_SQUARE, _SQUARE, -_SQUARE, -_SQUARE)
    # Both axes are stretched: a picture this small shows tiers, not distances.
    scale_x = inner.width() / width if width > 0 else 0.0
    scale_y = inner.height() / height if height > 0 else 0.0
    left = inner.left() if width > 0 else inner.center().x()
    top = inner.top() if height > 0 else inner.center().y()
    places = {
        ident: QPointF(left + (x - min(xs)) * scale_x, top + (y - min(ys)) * scale_y)
        for ident, (x, y) in positions.items()
    }
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    line = theme.ramp(2)
    line.setAlphaF(min(0.7, max(0.12, 60 / max(1, len(content.links)))))
    painter.setPen(QPen(line, 0.8))
    every = max(1, len(content.links) // MOST_LINKS)
    painter.drawLines(
        [
            QLineF(places[link.a], places[link.b])
            for link in content.links[::every]
            if link.a in places and link.b in places
        ]
    )
    painter.setPen(Qt.PenStyle.NoPen)
    side = max(1.6, min(_SQUARE, inner.width() / max(1, len(places)) * 3))
    for device in content.devices:
        if device.id in places:
            painter.setBrush(theme.kind_color(device.kind))
            at = places[device.id]
            painter.drawRoundedRect(QRectF(at.x() - side / 2, at.y() - side / 2, side, side), 1, 1)


class TemplatePicture(QWidget):
    """The picture of a template on the colour of the canvas; what it shows is built when it is first seen."""

    def __init__(self, theme: ThemeManager, height: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._height = height
        self._source: Callable[[], TemplateContent] | None = None
        self._drawn: QPixmap | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme.changed.connect(self._redraw)

    def set_source(self, source: Callable[[], TemplateContent]) -> None:
        """Draw another content."""
        self._source = source
        self._redraw()

    def sizeHint(self) -> QSize:
        return QSize(90, self._height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._redraw()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._drawn is None:
            self._drawn = self._draw()
        with QPainter(self) as painter:
            painter.drawPixmap(0, 0, self._drawn)

    def _redraw(self) -> None:
        self._drawn = None
        self.update()

    def _draw(self) -> QPixmap:
        theme, ratio = self._theme.current, self.devicePixelRatioF()
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        area = QRectF(0, 0, self.width(), self.height())
        with QPainter(pixmap) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(theme.color("line"))
            painter.setBrush(theme.color("canvas"))
            painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
            if self._source is not None:
                paint_content(painter, theme, self._source(), area.adjusted(5, 5, -5, -5))
        return pixmap
