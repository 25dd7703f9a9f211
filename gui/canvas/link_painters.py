"""Links behind one interface: `FineLinks` strokes each with QPainter, `BulkLinks` recolours an id buffer.

Both are prepared once per view; `paint` takes only the loads and is what runs in every frame of an animation.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from gui.canvas.bulk_links import BulkLinks, Lines, bulk_steps
from gui.canvas.camera import Camera
from gui.canvas.curves import Curves
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.strands import StrandLoads
from gui.theme import Theme

FINE_LIMIT = 640
SMOOTH_LIMIT = 6000


class LinkPainter(Protocol):
    """Paints strands, half by half, in the colours of their loads."""

    def paint(self, painter: QPainter, loads: StrandLoads) -> None:
        """Draw in pixels of the viewport; idle below, hottest on top."""


def link_painter_steps(
    theme: Theme,
    curves: Curves,
    width: FloatArray,
    shown: IntArray,
    *,
    names: Sequence[str],
    heat: NDArray[np.uint8],
    down: NDArray[np.bool_],
    camera: Camera,
    before: LinkPainter | None = None,
    patient: bool = False,
) -> Generator[None, None, LinkPainter]:
    """Make the painter that fits the number of strands `shown`, a few milliseconds at a time; returns it.

    `heat` (s,) orders those of the bulk painter; `down` (s,) are dashed by the fine one. `names` of those
    `shown` and the painter `before` tell what need not be rastered again. With `patient` lines are smooth
    however many there are.
    """
    if len(shown) <= FINE_LIMIT:
        return FineLinks(theme, curves, width, shown, down, camera)
    lines = Lines.of(curves, width, shown, names, camera)
    yield
    if isinstance(before, BulkLinks):
        patched = before.patched(lines)
        if patched is not None:
            return patched
    order = np.argsort(heat[shown], kind="stable")
    smooth = patient or len(shown) <= SMOOTH_LIMIT
    return (yield from bulk_steps(theme, lines.taken(order), smooth=smooth))


def half_paths(curves: Curves) -> list[QPainterPath]:
    """Paths of curves given in pixels."""
    paths = []
    for (ax, ay), (bx, by), (cx, cy), (dx, dy) in curves.control.tolist():
        path = QPainterPath()
        path.moveTo(ax, ay)
        if curves.cornered:
            for x, y in ((bx, by), (cx, cy), (dx, dy)):
                path.lineTo(x, y)
        else:
            path.cubicTo(bx, by, cx, cy, dx, dy)
        paths.append(path)
    return paths


class FineLinks:
    """Antialiased cubics, for the finest look."""

    def __init__(
        self,
        theme: Theme,
        curves: Curves,
        width: FloatArray,
        shown: IntArray,
        down: NDArray[np.bool_],
        camera: Camera,
    ) -> None:
        self._theme = theme
        self._down = down[shown]
        self._shown = shown
        self._width = np.round(width[shown], 2)
        some = curves.like(camera.points(curves.control[shown]))
        self._whole = half_paths(some)
        self._halves = half_paths(some.like(some.halves().reshape(-1, 4, 2)))

    def paint(self, painter: QPainter, loads: StrandLoads) -> None:
        step = loads.step[self._shown]
        self._paint_down(painter)
        even = (step[:, 0] == step[:, 1]) & ~self._down
        whole = np.flatnonzero(even)
        parts = np.flatnonzero(np.repeat(~even & ~self._down, 2))
        kind = np.concatenate((np.zeros(len(whole), np.int64), np.ones(len(parts), np.int64)))
        item = np.concatenate((whole, parts))
        heat = np.concatenate((step[whole, 0], step.ravel()[parts]))
        width = np.concatenate((self._width[whole], self._width[parts // 2]))
        order = np.lexsort((width, heat))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen_of: tuple[int, float] | None = None
        for is_half, number, hot, wide in zip(
            kind[order].tolist(),
            item[order].tolist(),
            heat[order].tolist(),
            width[order].tolist(),
            strict=True,
        ):
            if pen_of != (hot, wide):
                pen_of = (hot, wide)
                painter.setPen(flat_pen(self._theme, hot, wide))
            painter.drawPath(self._halves[number] if is_half else self._whole[number])

    def _paint_down(self, painter: QPainter) -> None:
        """What carries nothing is dashed and lies at the bottom."""
        pen = QPen(self._theme.ramp(0), 1.2, Qt.PenStyle.CustomDashLine, Qt.PenCapStyle.FlatCap)
        pen.setDashPattern([4.0, 4.0])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(pen)
        for number in np.flatnonzero(self._down).tolist():
            painter.drawPath(self._whole[number])


def flat_pen(theme: Theme, step: int, width: float) -> QPen:
    """The pen of a step of the ramp."""
    return QPen(theme.ramp(step), width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)


def middle_arrow(half: FloatArray, size: float) -> list[QPointF]:
    """The arrowhead at the end of a half (4, 2): three points, its tip beyond the middle of the link."""
    end = half[3]
    way = end - half[1] if (half[3] != half[1]).any() else end - half[0]
    length = float(np.hypot(*way)) or 1.0
    along = way / length
    across = np.array((-along[1], along[0]))
    tip = end + along * size
    left, right = (
        end - along * size * 0.35 + across * size * 0.75,
        end - along * size * 0.35 - across * size * 0.75,
    )
    return [QPointF(*tip), QPointF(*left), QPointF(*right)]
