"""A focus on the picture: a veil over everything but its devices, its links on top of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from gui.canvas.lettering import Lettering, Occupancy
from gui.canvas.levels import Level
from gui.canvas.link_painters import flat_pen, half_paths
from gui.canvas.scene_index import FloatArray, IntArray
from model.text import format_percent

if TYPE_CHECKING:
    from gui.canvas.scene_painter import Clear, ScenePainter

VEIL = 0.80
SHARE_LIMIT = 48
_STROKED = 3000
"""More links than this are left as they lie under the veil: the frames around their devices tell enough."""


def paint_focus(out: QPainter, painter: ScenePainter, clear: Clear) -> None:
    """Fade everything but what is `clear`, in pixels of the viewport."""
    boxes = _boxes(painter, clear)
    veil = QColor(painter.theme.color("canvas"))
    veil.setAlphaF(VEIL)
    cover = QPainterPath()
    cover.addRect(QRectF(0, 0, painter.camera.width, painter.camera.height))
    for box in boxes:
        cover.addRect(box.adjusted(-2, -2, 2, 2))
    out.fillPath(cover, veil)
    out.setBrush(Qt.BrushStyle.NoBrush)
    out.setPen(QPen(painter.theme.color("accent"), 1.4))
    for box in boxes:
        out.drawRoundedRect(box.adjusted(-1, -1, 1, 1), 5, 5)
    rows = painter.rows_of(clear)
    if 0 < len(rows) <= _STROKED:
        _links(out, painter, rows)
        _shares(out, painter, clear, rows)


def _boxes(painter: ScenePainter, clear: Clear) -> list[QRectF]:
    """Boxes in view, each once: the veil is an odd-even fill, and far out one box stands for many."""
    view = QRectF(0, 0, painter.camera.width, painter.camera.height)
    found: dict[tuple[float, float], QRectF] = {}
    for ident in clear.devices:
        box = painter.box_of(ident)
        if box is not None and box.intersects(view):
            found.setdefault((round(box.left(), 1), round(box.top(), 1)), box)
    return list(found.values())


def _links(out: QPainter, painter: ScenePainter, rows: IntArray) -> None:
    """The links in the colours of their loads, on a soft line of accent."""
    some = painter.curves.like(painter.camera.points(painter.curves.control[rows]))
    width = np.maximum(painter.width[rows], 1.6)
    halo = QColor(painter.theme.color("accent"))
    halo.setAlphaF(0.20)
    out.setBrush(Qt.BrushStyle.NoBrush)
    for path, wide in zip(half_paths(some), width.tolist(), strict=True):
        out.setPen(QPen(halo, wide + 5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        out.drawPath(path)
    halves = half_paths(some.like(some.halves().reshape(-1, 4, 2)))
    steps = painter.loads()[0].step[rows].ravel()
    for number in np.argsort(steps, kind="stable").tolist():
        out.setPen(flat_pen(painter.theme, int(steps[number]), float(width[number // 2])))
        out.drawPath(halves[number])


def _shares(out: QPainter, painter: ScenePainter, clear: Clear, rows: IntArray) -> None:
    """Which part of the bytes goes over each link, where they part ways and there is room to say so."""
    if painter.level < Level.NODES or len(rows) > SHARE_LIMIT:
        return
    index, strands, theme = painter.scene.index, painter.strands, painter.theme
    shares = dict(clear.shares)
    lettering, occupied = Lettering(theme), Occupancy()
    middles: FloatArray = painter.camera.points(painter.curves.point(0.5))
    for row in rows.tolist():
        members = strands.members(row).tolist()
        share = sum(shares.get(index.link_ids[member], 0.0) for member in dict.fromkeys(members))
        if not 0 < share < 1 - 1e-9:
            continue
        text, at = format_percent(share), QPointF(*middles[row].tolist())
        if occupied.take(lettering.pill_box(text, at, 10, 700, 17)):
            lettering.pill(
                out,
                text,
                at,
                fill=theme.color("panel"),
                ink=theme.color("text"),
                border=theme.color("accent"),
            )
