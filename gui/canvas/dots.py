"""Dots that run along loaded links while the step plays, stamped into a picture of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage, QPainter, qRgba

from gui.canvas.camera import Camera
from gui.canvas.levels import Level
from gui.canvas.scene_index import FloatArray
from gui.canvas.scene_painter import Clear, ScenePainter
from gui.theme import Theme

DOT_LIMIT = 3000
_SPACING_PX = 46.0
_SPEED_PX = 120.0
_DIAMETER_PX = 3.2
_PHASES = 4  # places within a pixel, each way, that a dot is drawn at, so that it moves smoothly
_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class _Ways:
    """Strands in pixels: `flat` (s, points, 2), the `length` (s,) of each and `until` (s, points): how far
    along each point is, as a share of the length.
    """

    flat: FloatArray
    length: FloatArray
    until: FloatArray

    @classmethod
    def of(cls, flat: FloatArray) -> _Ways:
        step = np.hypot(*np.moveaxis(np.diff(flat, axis=1), 2, 0))
        along = np.cumsum(step, axis=1)
        length = along[:, -1]
        until = np.hstack((np.zeros((len(flat), 1)), along / np.maximum(length, 1e-9)[:, None]))
        return cls(flat, length, until)

    def places(self, count: NDArray[np.int64], wall_s: float) -> FloatArray:
        """(n, 2): `count` (s, 2) dots per direction, evenly spread along each and moved on by the clock."""
        of = count.ravel()
        strand = np.repeat(np.repeat(np.arange(len(count)), 2), of)
        number = np.arange(len(strand)) - np.repeat(np.cumsum(of) - of, of)
        moved = wall_s * _SPEED_PX / np.maximum(self.length[strand], 1.0)
        along = (number / np.repeat(of, of) + moved) % 1.0
        backward = np.repeat(np.tile((False, True), len(count)), of)
        along = np.where(backward, 1.0 - along, along)
        until = self.until[strand]  # the pieces of a line with corners are not equally long
        piece = np.clip((until[:, 1:] < along[:, None]).sum(axis=1), 0, until.shape[1] - 2)
        rows = np.arange(len(strand))
        begun = until[rows, piece]
        share = (along - begun) / np.maximum(until[rows, piece + 1] - begun, 1e-12)
        begin, end = self.flat[strand, piece], self.flat[strand, piece + 1]
        return np.asarray(begin + (end - begin) * np.clip(share, 0.0, 1.0)[:, None])


class Dots:
    """Paints dots over the frame, as many as the loads ask for."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._ways = _Ways.of(np.zeros((0, 2, 2)))
        self._ways_of: FloatArray | None = None
        self._stamp: _Stamp | None = None

    def paint(self, out: QPainter, painter: ScenePainter, wall_s: float, clear: Clear | None = None) -> int:
        """Paint them where they are at `wall_s`; gives how many. With a focus only along what is clear."""
        if painter.level < Level.RANKS or not len(painter.shown):
            return 0
        if self._ways_of is not painter.seen:
            self._ways, self._ways_of = _Ways.of(painter.camera.points(painter.seen)), painter.seen
        shown = painter.shown
        utilisation = painter.loads()[0].utilisation[shown]
        wanted = utilisation * (self._ways.length / _SPACING_PX)[:, None]
        if clear is not None:
            wanted *= np.isin(shown, painter.rows_of(clear))[:, None]
        total = float(wanted.sum())
        if total <= 0:
            return 0
        wanted = wanted * min(1.0, DOT_LIMIT / (total + wanted.size))
        count = np.where(wanted > 0, np.maximum(np.rint(wanted), 1), 0).astype(np.int64)
        places = self._ways.places(count, wall_s)[:DOT_LIMIT]
        for badge in painter.badges:
            low, high = (badge.left(), badge.top()), (badge.right(), badge.bottom())
            places = places[((places < low) | (places > high)).any(axis=1)]
        if self._stamp is None or not self._stamp.fits(painter.camera):
            self._stamp = _Stamp(self._theme, painter.camera)
        self._stamp.paint(out, places)
        return len(places)


class _Stamp:
    """A clear picture of the viewport with a margin, that dots are pressed into; QPainter takes 7 µs each."""

    def __init__(self, theme: Theme, camera: Camera) -> None:
        self._ratio = camera.ratio
        self._shape = (camera.width, camera.height)
        self._side = int(np.ceil(_DIAMETER_PX * camera.ratio)) + 2
        self._columns, self._rows = (round(size * camera.ratio) + 2 * self._side for size in self._shape)
        self._pixels = np.zeros(self._columns * self._rows, dtype=np.uint32)
        self._used: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        cover = _discs(_DIAMETER_PX * camera.ratio, self._side)
        ink = theme.color("text")
        table = np.array([_premultiplied(ink, alpha) for alpha in range(256)], dtype=np.uint32)
        self._looks = table[np.rint(cover * 255).astype(np.int64)]
        square = np.arange(self._side)
        self._around = (square[:, None] * self._columns + square).ravel()

    def fits(self, camera: Camera) -> bool:
        """Whether a view has the size of this picture."""
        return (camera.width, camera.height) == self._shape and camera.ratio == self._ratio

    def paint(self, out: QPainter, places: FloatArray) -> None:
        """Dots with their middle at places (n, 2) in pixels of the viewport."""
        self._pixels[self._used] = 0
        at = places * self._ratio + self._side / 2  # from the middle to the corner, and the margin
        seen = (at >= 0).all(axis=1) & (at < (self._columns - self._side, self._rows - self._side)).all(
            axis=1
        )
        whole, phase = np.divmod(np.floor(at[seen] * _PHASES).astype(np.int64), _PHASES)
        where = (whole[:, 1] * self._columns + whole[:, 0])[:, None] + self._around
        look = self._looks[phase[:, 1] * _PHASES + phase[:, 0]]
        inked = look > 0
        self._used = where[inked]
        self._pixels[self._used] = np.maximum(self._pixels[self._used], look[inked])
        image = QImage(
            self._pixels.data,
            self._columns,
            self._rows,
            4 * self._columns,
            QImage.Format.Format_ARGB32_Premultiplied,
        )
        image.setDevicePixelRatio(self._ratio)
        out.drawImage(QPointF(-self._side, -self._side) / self._ratio, image)


def _discs(diameter: float, side: int) -> FloatArray:
    """(phases², side²): how much of each pixel of a square a disc covers, by where in a pixel it begins."""
    fine = (np.arange(side * _SAMPLES) + 0.5) / _SAMPLES - side / 2
    discs = []
    for down in range(_PHASES):
        for right in range(_PHASES):
            x, y = fine - (right + 0.5) / _PHASES, fine[:, None] - (down + 0.5) / _PHASES
            inside = x**2 + y**2 <= (diameter / 2) ** 2
            discs.append(inside.reshape(side, _SAMPLES, side, _SAMPLES).mean(axis=(1, 3)).ravel())
    return np.array(discs)


def _premultiplied(ink: QColor, alpha: int) -> int:
    red, green, blue = (round(part * alpha / 255) for part in (ink.red(), ink.green(), ink.blue()))
    return qRgba(red, green, blue, alpha)
