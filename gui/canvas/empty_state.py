"""The empty drawing says what to do next."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from gui.canvas.lettering import Lettering
from gui.theme import Theme

TITLE = "Drop a device or a template anywhere"
STEPS = (
    ("Place", "Drag from the left, or double-click", "the canvas and type: “leaf”, “8 h100”"),
    ("Connect", "Drag from a port; ends that fit glow,", "others say why they do not"),
    ("Say what it trains", "Pick a model on the right; traffic", "shows at once, even half-finished"),
)
_GHOST_WIDTH = 360.0
_GHOST_HEIGHT = 130.0


def paint_empty(painter: QPainter, theme: Theme, view: QRectF) -> None:
    """Title, a ghost of a cluster, and the three steps, centred."""
    lettering = Lettering(theme)
    middle = view.center().x()
    card = min(214.0, (view.width() - 64) / 3)
    stacked = card < 180
    height = 40 + _GHOST_HEIGHT + 28 + (3 * 74 if stacked else 66)
    top = max(56.0, view.center().y() - height / 2)
    lettering.centred(painter, TITLE, 18, 600, theme.color("text"), middle, top + 12)
    _ghost(painter, theme, QRectF(middle - _GHOST_WIDTH / 2, top + 42, _GHOST_WIDTH, _GHOST_HEIGHT))
    y = top + 42 + _GHOST_HEIGHT + 28
    for number, step in enumerate(STEPS):
        if stacked:
            box = QRectF(middle - 120, y + number * 74, 240, 66)
        else:
            left = middle - (3 * card + 2 * 14) / 2
            box = QRectF(left + number * (card + 14), y, card, 66)
        _step(painter, theme, box, number + 1, step)


def _ghost(painter: QPainter, theme: Theme, area: QRectF) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    pen = QPen(theme.color("strong"), 1.2, Qt.PenStyle.DashLine)
    painter.setPen(pen)
    leaves = [QRectF(area.left() + 22 + 131 * number, area.top(), 72, 24) for number in range(3)]
    nodes = [QRectF(area.left() + 126 * number, area.bottom() - 50, 108, 50) for number in range(3)]
    for leaf in leaves:
        painter.drawRoundedRect(leaf, 5, 5)
        for node in nodes:
            start = QPointF(leaf.center().x() + (node.center().x() - leaf.center().x()) * 0.08, leaf.bottom())
            end = QPointF(node.center().x() + (leaf.center().x() - node.center().x()) * 0.08, node.top())
            bend = QPointF(0, (end.y() - start.y()) / 2)
            path = QPainterPath(start)
            path.cubicTo(start + bend, end - bend, end)
            painter.drawPath(path)
        icon = theme.device_icon("leaf", 14, painter.device().devicePixelRatioF(), theme.color("strong"))
        painter.drawPixmap(QPointF(leaf.left() + 6, leaf.center().y() - 7), icon)
    for node in nodes:
        painter.drawRoundedRect(node, 7, 7)
        for slot in range(8):
            painter.drawRoundedRect(QRectF(node.left() + 7 + slot * 12, node.top() + 14, 9, 18), 2, 2)


def _step(painter: QPainter, theme: Theme, box: QRectF, number: int, step: tuple[str, str, str]) -> None:
    lettering = Lettering(theme)
    title, *lines = step
    painter.setPen(QPen(theme.color("line"), 1))
    painter.setBrush(theme.color("panel"))
    painter.drawRoundedRect(box, 7, 7)
    badge = QPointF(box.left() + 21, box.top() + 19)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color("accent"))
    painter.drawEllipse(badge, 9, 9)
    lettering.centred(painter, str(number), 11, 700, theme.color("accent-on"), badge.x(), badge.y())
    lettering.left(painter, title, 12, 600, theme.color("text"), box.left() + 38, badge.y())
    for row, line in enumerate(lines):
        size = lettering.fitting(line, 10, 400, box.width() - 24, 7) or 7
        lettering.left(
            painter, line, size, 400, theme.color("text-2"), box.left() + 12, box.top() + 39 + 14 * row
        )
