"""Links behind one interface: `FineLinks` strokes each with QPainter, `BulkLinks` recolours an id buffer.

Both are prepared once per view; `paint` takes only the loads and is what runs in every frame of an animation.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPen, qRgba

from gui.canvas.bulk_raster import COVERAGES, raster_steps
from gui.canvas.camera import Camera
from gui.canvas.curves import Curves
from gui.canvas.loads import STEP_COUNT
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.strands import StrandLoads
from gui.theme import Theme

FINE_LIMIT = 640
SMOOTH_LIMIT = 1500


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
    heat: NDArray[np.uint8],
    down: NDArray[np.bool_],
    camera: Camera,
    patient: bool = False,
) -> Generator[None, None, LinkPainter]:
    """Make the painter that fits the number of strands `shown`, a few milliseconds at a time; returns it.

    `heat` (s,) orders those of the bulk painter; `down` (s,) are dashed by the fine one. With
    `patient` lines are smooth however many there are.
    """
    if len(shown) <= FINE_LIMIT:
        return FineLinks(theme, curves, width, shown, down, camera)
    order = shown[np.argsort(heat[shown], kind="stable")]
    yield
    ratio = camera.ratio
    size = (max(1, round(camera.width * ratio)), max(1, round(camera.height * ratio)))
    flat = camera.points(Curves(curves.control[order]).flat()) * ratio
    yield
    smooth = patient or len(shown) <= SMOOTH_LIMIT
    buffer = yield from raster_steps(flat, width[order] * ratio, size, smooth=smooth)
    return BulkLinks(theme, order, camera, size, buffer)


def half_paths(halves: FloatArray) -> list[QPainterPath]:
    """Paths of cubics given as (n, 4, 2) pixels."""
    paths = []
    for (ax, ay), (bx, by), (cx, cy), (dx, dy) in halves.tolist():
        path = QPainterPath()
        path.moveTo(ax, ay)
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
        some = Curves(camera.points(curves.control[shown]))
        self._whole = half_paths(some.control)
        self._halves = half_paths(some.halves().reshape(-1, 4, 2))

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


class BulkLinks:
    """Halves of links rastered once into a buffer of keys; each frame looks its colours up.

    A key is half · 16 + stripe · 8 + coverage (1 … 7), so that antialiasing and the cross stripes of
    oversubscribed links cost nothing per frame.
    """

    def __init__(
        self,
        theme: Theme,
        shown: IntArray,
        camera: Camera,
        size: tuple[int, int],
        buffer: NDArray[np.int32],
    ) -> None:
        """`shown` are the strands in the order of the buffer's keys, `size` its columns and rows."""
        self._shown = shown
        self._camera = camera
        self._size = size
        self._where = np.flatnonzero(buffer)
        self._keys = buffer[self._where]
        self._table = colour_table(theme)
        self._pixels = np.zeros(self._size[::-1], dtype=np.uint32)

    def paint(self, painter: QPainter, loads: StrandLoads) -> None:
        step = loads.step[self._shown].astype(np.int64)
        step[loads.over[self._shown]] = STEP_COUNT
        lookup = self._table[step.ravel()].ravel()
        self._pixels.ravel()[self._where] = lookup[self._keys]
        width, height = self._size
        image = QImage(self._pixels.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(self._camera.ratio)
        painter.drawImage(QPoint(0, 0), image)


def colour_table(theme: Theme) -> NDArray[np.uint32]:
    """(steps + 1, 16) premultiplied ARGB: eight coverages plain, eight striped; last row: oversubscribed."""
    colors = [*theme.ramp_colors(), theme.color("over")]
    white = theme.color("over-badge-text")
    table = np.zeros((len(colors), 2 * COVERAGES), dtype=np.uint32)
    for row, color in enumerate(colors):
        for striped in (0, 1):
            ink = white if striped and row == STEP_COUNT else color
            for coverage in range(1, COVERAGES):
                alpha = coverage / (COVERAGES - 1)
                table[row, striped * COVERAGES + coverage] = qRgba(
                    round(ink.red() * alpha),
                    round(ink.green() * alpha),
                    round(ink.blue() * alpha),
                    round(255 * alpha),
                )
    return table


def middle_arrow(half: FloatArray, size: float) -> list[QPointF]:
    """The arrowhead at the end of a half (4, 2): three points, its tip beyond the middle of the link."""
    end = half[3]
    way = end - half[1]
    length = float(np.hypot(*way)) or 1.0
    along = way / length
    across = np.array((-along[1], along[0]))
    tip = end + along * size
    left, right = (
        end - along * size * 0.35 + across * size * 0.75,
        end - along * size * 0.35 - across * size * 0.75,
    )
    return [QPointF(*tip), QPointF(*left), QPointF(*right)]
