"""Many links: rastered once into a buffer of keys, whose colours each frame looks up."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage, QPainter, qRgba

from gui.canvas.bulk_raster import COVERAGES, KEYS_A_HALF, raster_halves, raster_steps
from gui.canvas.camera import Camera
from gui.canvas.curves import Curves
from gui.canvas.loads import IDLE_STEP, STEP_COUNT
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.strands import StrandLoads
from gui.theme import Theme, mix

_KEYS = 2 * KEYS_A_HALF
_MOST_PATCHED = 0.4  # of the picture; above, all is rastered anew
_MARGIN = 3
CROWD = 300
"""Among more lines than this, idle ones are drawn thinner in colour, so that they do not run together."""
QUIET = 0.45


@dataclass(frozen=True, slots=True)
class Lines:
    """Strands as polylines in device pixels: `rows`, `names`, `flat` (s, points, 2) and `width` (s,).

    A name stays with a strand when others come or go.
    """

    camera: Camera
    rows: IntArray
    names: tuple[str, ...]
    flat: FloatArray
    width: FloatArray

    @classmethod
    def of(
        cls, curves: Curves, width: FloatArray, rows: IntArray, names: Sequence[str], camera: Camera
    ) -> Lines:
        """The lines of some strands in a view."""
        flat = camera.points(curves.taken(rows).flat()) * camera.ratio
        return cls(camera, rows, tuple(names), flat, width[rows] * camera.ratio)

    def taken(self, order: NDArray[np.integer]) -> Lines:
        """The lines in another order."""
        names = tuple(self.names[place] for place in order.tolist())
        return Lines(self.camera, self.rows[order], names, self.flat[order], self.width[order])

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the picture."""
        camera = self.camera
        return max(1, round(camera.width * camera.ratio)), max(1, round(camera.height * camera.ratio))


def bulk_steps(theme: Theme, lines: Lines, *, smooth: bool) -> Generator[None, None, BulkLinks]:
    """Raster lines, later ones on top, a few milliseconds at a time; returns their painter."""
    buffer = yield from raster_steps(lines.flat, lines.width, lines.size, smooth=smooth)
    return BulkLinks(theme, lines, buffer, smooth)


class BulkLinks:
    """Halves of links in a buffer of keys.

    A key is half · 16 + stripe · 8 + coverage (1 … 7), so that antialiasing and the cross stripes of
    oversubscribed links cost nothing per frame.
    """

    def __init__(self, theme: Theme, lines: Lines, buffer: NDArray[np.int32], smooth: bool) -> None:
        self._theme, self._lines, self._buffer, self._smooth = theme, lines, buffer, smooth
        self._where = np.flatnonzero(buffer)
        self._keys = buffer[self._where]
        self._table = colour_table(theme, quiet=len(lines.rows) > CROWD)
        self._pixels = np.zeros(lines.size[::-1], dtype=np.uint32)

    def paint(self, painter: QPainter, loads: StrandLoads) -> None:
        step = loads.step[self._lines.rows].astype(np.int64)
        step[loads.over[self._lines.rows]] = STEP_COUNT
        lookup = self._table[step.ravel()].ravel()
        self._pixels.ravel()[self._where] = lookup[self._keys]
        width, height = self._lines.size
        image = QImage(self._pixels.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(self._lines.camera.ratio)
        painter.drawImage(QPoint(0, 0), image)

    def patched(self, lines: Lines) -> BulkLinks | None:
        """A painter of other lines in the same view, rastered anew only where they differ.

        None where so much differs that this would not pay.
        """
        old = self._lines
        if lines.camera != old.camera:
            return None
        place = {name: number for number, name in enumerate(lines.names)}
        now = np.array([place.get(name, -1) for name in old.names], dtype=np.int64)
        kept = now >= 0
        came = np.setdiff1d(np.arange(len(lines.names)), now[kept])
        ordered = lines.taken(np.concatenate((now[kept], came)))
        count = int(kept.sum())
        moved = (old.flat[kept] != ordered.flat[:count]).any(axis=(1, 2))
        moved |= old.width[kept] != ordered.width[:count]
        gone = ~kept
        gone[np.flatnonzero(kept)[moved]] = True
        fresh = np.append(moved, np.ones(len(came), dtype=bool))
        buffer = self._renumbered(kept)
        box = self._box((old.flat[gone], ordered.flat[fresh]), (old.width[gone], ordered.width[fresh]))
        if box is None:
            return None
        if box[2] > box[0] and box[3] > box[1]:
            self._raster_box(buffer, ordered, box)
        return BulkLinks(self._theme, ordered, buffer, self._smooth)

    def _renumbered(self, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The buffer with the numbers that strands have when those not kept are gone."""
        buffer = self._buffer.copy()
        if not kept.all():
            shift = (np.cumsum(kept) - 1 - np.arange(len(kept))) * _KEYS
            buffer[self._where] = self._keys + shift[self._keys // _KEYS]
        return buffer

    def _box(
        self, flats: tuple[FloatArray, FloatArray], widths: tuple[FloatArray, FloatArray]
    ) -> tuple[int, int, int, int] | None:
        """The pixels that what differs may touch; None when they are too many."""
        flat = np.concatenate(flats)
        columns, rows = self._lines.size
        if not len(flat):
            return 0, 0, 0, 0
        margin = _MARGIN + float(np.concatenate(widths).max())
        low = np.floor(np.clip(flat.min(axis=(0, 1)) - margin, 0, (columns, rows))).astype(int)
        high = np.ceil(np.clip(flat.max(axis=(0, 1)) + margin, 0, (columns, rows))).astype(int)
        if np.prod(high - low) > _MOST_PATCHED * columns * rows:
            return None
        return int(low[0]), int(low[1]), int(high[0]), int(high[1])

    def _raster_box(self, buffer: NDArray[np.int32], lines: Lines, box: tuple[int, int, int, int]) -> None:
        x0, y0, x1, y1 = box
        low, high = lines.flat.min(axis=1), lines.flat.max(axis=1)
        reach = lines.width[:, None] + _MARGIN
        near = np.flatnonzero(((low - reach < (x1, y1)) & (high + reach > (x0, y0))).all(axis=1))
        size = (x1 - x0, y1 - y0)
        part = raster_halves(lines.flat[near] - (x0, y0), lines.width[near], size, smooth=self._smooth)
        number = np.append(near, 0).astype(np.int32)[part // _KEYS] * _KEYS + part % _KEYS
        columns = lines.size[0]
        picture = buffer.reshape(-1, columns)
        picture[y0:y1, x0:x1] = np.where(part > 0, number, 0).reshape(size[::-1])


def colour_table(theme: Theme, *, quiet: bool = False) -> NDArray[np.uint32]:
    """(steps + 1, 16) premultiplied ARGB: eight coverages plain, eight striped; last row: oversubscribed.

    Where the table is `quiet`, idle lines let through what lies below, and stripes are fainter.
    """
    colors = [*theme.ramp_colors(), theme.color("over")]
    white = theme.color("over-badge-text")
    if quiet:
        white = mix(white, theme.color("over"), QUIET)
    table = np.zeros((len(colors), 2 * COVERAGES), dtype=np.uint32)
    for row, color in enumerate(colors):
        for striped in (0, 1):
            ink = white if striped and row == STEP_COUNT else color
            for coverage in range(1, COVERAGES):
                alpha = coverage / (COVERAGES - 1)
                if quiet and row == IDLE_STEP:
                    alpha *= QUIET
                table[row, striped * COVERAGES + coverage] = qRgba(
                    round(ink.red() * alpha),
                    round(ink.green() * alpha),
                    round(ink.blue() * alpha),
                    round(255 * alpha),
                )
    return table
