"""Painted parts that several panels share: load bars, hatches, cut text."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetrics, QPainter, QPen

from gui.panels.traffic_links_rows import LinkLoad
from gui.theme import Theme

_RAMP_BOUNDS = (0.10, 0.25, 0.50, 0.75, 0.90)


def ramp_step(utilisation: float) -> int:
    """The step of the utilisation ramp; a value on a boundary goes up."""
    if utilisation <= 0:
        return 0
    return 1 + sum(utilisation >= bound for bound in _RAMP_BOUNDS)


def hatch(color: QColor) -> QBrush:
    """Diagonal stripes of a colour on nothing."""
    return QBrush(color, Qt.BrushStyle.BDiagPattern)


def draw_text(
    painter: QPainter,
    rect: QRectF | QRect,
    text: str,
    font: QFont,
    color: QColor,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> float:
    """One line of text, cut with an ellipsis where it does not fit; gives the width that it took."""
    metrics = QFontMetrics(font)
    cut = metrics.elidedText(text, elide, int(rect.width()))
    painter.setFont(font)
    painter.setPen(color)
    painter.drawText(rect, int(align | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), cut)
    return float(metrics.horizontalAdvance(cut))


def draw_load_bar(painter: QPainter, rect: QRectF, load: LinkLoad, theme: Theme, scale: float) -> None:
    """A bar whose right end is `scale`, with a tick at 1 (the capacity) and a hatch for what exceeds it."""
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color("line"))
    painter.drawRoundedRect(rect, 2, 2)
    tick = rect.left() + rect.width() / scale
    over = load.oversubscribed
    if load.utilisation > 0:
        painter.setBrush(theme.color("over") if over else theme.ramp(ramp_step(load.utilisation)))
        width = max(2.0, (tick - rect.left()) * min(load.utilisation, 1.0))
        painter.drawRoundedRect(QRectF(rect.left(), rect.top(), width, rect.height()), 2, 2)
    if over:
        width = (min(load.offered, scale) - 1.0) * (tick - rect.left())
        beyond = QRectF(tick, rect.top(), width, rect.height())
        painter.fillRect(beyond, theme.color("panel"))
        painter.setBrush(hatch(theme.color("over")))
        painter.setPen(QPen(theme.color("over"), 1))
        painter.drawRect(beyond.adjusted(0.5, 0.5, -0.5, -0.5))
    painter.setPen(QPen(theme.color("text-2"), 1.5))
    painter.drawLine(QPointF(tick, rect.top() - 2), QPointF(tick, rect.bottom() + 2))
    painter.restore()
