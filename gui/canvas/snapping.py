"""Snap lines: where a dragged box catches on edges, centres and gaps of those around it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPen

from gui.canvas.camera import Camera
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.scene_painter import ScenePainter
from gui.theme import Theme

REACH_PX = 6.0
MOST_NEIGHBOURS = 400
"""Of more boxes in view only the nearest count, so that a drag does the same work on every drawing."""
_TICK_PX = 4.0
_AT = np.array((0.0, 0.5, 1.0))


@dataclass(frozen=True, slots=True)
class Guide:
    """A line to draw, scene units: along `axis` 0 it stands upright at `at`, else it lies. Of a `gap` both
    ends are marked."""

    axis: int
    at: float
    begin: float
    end: float
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Snap:
    """How far to move along x and y beside where the hand is (None = nothing caught), and what it caught."""

    shift: tuple[float | None, float | None]
    guides: tuple[Guide, ...] = ()


class Snapper:
    """The boxes (n, 4) that a drag can catch on, in scene units; made once, when the drag begins."""

    def __init__(self, boxes: FloatArray, moving: FloatArray) -> None:
        if len(boxes) > MOST_NEIGHBOURS:
            middle = (moving[:2] + moving[2:]) / 2
            away = np.abs((boxes[:, :2] + boxes[:, 2:]) / 2 - middle).max(axis=1)
            boxes = boxes[np.argpartition(away, MOST_NEIGHBOURS)[:MOST_NEIGHBOURS]]
        self._boxes = boxes

    def snap(self, box: FloatArray, reach: float) -> Snap:
        """What a moving box (4,) catches on within `reach` scene units, along each axis for itself."""
        if not len(self._boxes):
            return Snap((None, None))
        shifts: list[float | None] = []
        guides: list[Guide] = []
        for axis in (0, 1):
            shift = self._nearest(box, axis, reach)
            shifts.append(shift)
        placed = box + np.tile([shift or 0.0 for shift in shifts], 2)
        for axis, shift in enumerate(shifts):
            if shift is not None:
                guides += self._guides(placed, axis)
        return Snap((shifts[0], shifts[1]), tuple(guides))

    def _nearest(self, box: FloatArray, axis: int, reach: float) -> float | None:
        """The smallest shift that brings an edge, the centre or a gap in line."""
        own = box[axis] + _AT * (box[axis + 2] - box[axis])
        low, size = self._boxes[:, axis], self._boxes[:, axis + 2] - self._boxes[:, axis]
        lines = (low[:, None] + _AT * size[:, None]).ravel()
        shifts = (lines[:, None] - own[None, :]).ravel()
        shifts = np.concatenate((shifts, self._equal_gaps(box, axis)))
        best = int(np.abs(shifts).argmin())
        return float(shifts[best]) if abs(shifts[best]) <= reach else None

    def _in_row(self, box: FloatArray, axis: int) -> FloatArray:
        """Boxes beside the moving one along an axis, in order; of those that overlap only the first."""
        other = 1 - axis
        boxes = self._boxes
        beside = boxes[(boxes[:, other] < box[other + 2]) & (boxes[:, other + 2] > box[other])]
        beside = beside[np.argsort(beside[:, axis], kind="stable")]
        if len(beside) < 2:
            return beside
        reached = np.maximum.accumulate(beside[:, axis + 2])
        return beside[np.append(True, beside[1:, axis] >= reached[:-1])]

    def _equal_gaps(self, box: FloatArray, axis: int) -> FloatArray:
        """Shifts that make both gaps equal, or repeat the gap of the two boxes before or behind."""
        row = self._in_row(box, axis)
        low, high = axis, axis + 2
        before = row[row[:, high] <= (box[low] + box[high]) / 2]
        behind = row[row[:, low] >= (box[low] + box[high]) / 2]
        shifts = []
        if len(before) and len(behind):
            room = behind[0, low] - before[-1, high] - (box[high] - box[low])
            if room > 0:
                shifts.append(before[-1, high] + room / 2 - box[low])
        if len(before) > 1:
            shifts.append(before[-1, high] + (before[-1, low] - before[-2, high]) - box[low])
        if len(behind) > 1:
            shifts.append(behind[0, low] - (behind[1, low] - behind[0, high]) - box[high])
        return np.array(shifts)

    def _guides(self, box: FloatArray, axis: int) -> list[Guide]:
        """The lines on which a placed box stands with others, and the gaps that are equal."""
        found: dict[float, Guide] = {}
        boxes, other = self._boxes, 1 - axis
        own = box[axis] + _AT * (box[axis + 2] - box[axis])
        lines = boxes[:, axis, None] + _AT * (boxes[:, axis + 2] - boxes[:, axis])[:, None]
        for at in own.tolist():
            same = boxes[(np.abs(lines - at) < 1e-6).any(axis=1)]
            if len(same):
                begin = min(float(same[:, other].min()), float(box[other]))
                end = max(float(same[:, other + 2].max()), float(box[other + 2]))
                found[round(at, 6)] = Guide(axis, at, begin, end)
        return [*found.values(), *self._gap_guides(box, axis)]

    def _gap_guides(self, box: FloatArray, axis: int) -> list[Guide]:
        row = self._in_row(box, axis)
        low, high, other = axis, axis + 2, 1 - axis
        before = row[row[:, high] <= box[low] + 1e-6]
        behind = row[row[:, low] >= box[high] - 1e-6]
        chain = [*before[-2:], box, *behind[:2]]
        gaps = [(float(a[high]), float(b[low])) for a, b in pairwise(chain)]
        at = float((box[other] + box[other + 2]) / 2)
        mine = len(before[-2:])
        equal: set[tuple[float, float]] = set()
        for place in (mine - 1, mine):
            for near in (place - 1, place + 1):
                if 0 <= place < len(gaps) and 0 <= near < len(gaps):
                    (a, b), (c, d) = gaps[place], gaps[near]
                    if b - a > 1e-6 and abs((b - a) - (d - c)) < 1e-6:
                        equal |= {gaps[place], gaps[near]}
        return [Guide(other, at, begin, end, gap=True) for begin, end in sorted(equal)]


def paint_guides(painter: QPainter, theme: Theme, camera: Camera, guides: tuple[Guide, ...]) -> None:
    """The lines in accent; gaps with a tick at both ends."""
    painter.setPen(QPen(theme.color("accent"), 1, Qt.PenStyle.SolidLine))
    for guide in guides:
        upright = guide.axis == 0
        ends = [(guide.at, edge) if upright else (edge, guide.at) for edge in (guide.begin, guide.end)]
        first, last = (camera.to_view(QPointF(x, y)) for x, y in ends)
        painter.drawLine(first, last)
        tick = QPointF(_TICK_PX, 0) if upright else QPointF(0, _TICK_PX)
        if guide.gap:
            for point in (first, last):
                painter.drawLine(point - tick, point + tick)


def snapping_boxes(painter: ScenePainter, rows: IntArray, chosen: Set[str]) -> tuple[FloatArray, FloatArray]:
    """What the devices `rows` can catch on in this view, (n, 4), and the box (4,) around them.

    Devices catch on those beside them in their container and on those outside of containers; what stands
    outside itself, and containers that are chosen, also on the frames of containers.
    """
    index, camera = painter.scene.index, painter.camera
    moving = np.zeros(len(index.devices), dtype=bool)
    moving[rows] = True
    own = [index.container_row[ident] for ident in chosen if ident in index.container_row]
    seen = painter.drawn[~moving[painter.drawn]]
    boxes = index.rects()
    outside = index.parent[seen] < 0
    if not own and (index.parent[rows] >= 0).any():
        beside = np.isin(index.parent[seen], index.parent[rows])
        return boxes[seen[beside | outside]], _around(boxes[rows])
    held = np.bincount(index.parent[rows][index.parent[rows] >= 0], minlength=len(index.containers)) > 0
    for depth in range(int(index.depth.max(initial=0)), 0, -1):
        level = np.flatnonzero(index.depth == depth)
        np.logical_or.at(held, index.container_parent[level], held[level])
    x0, y0, x1, y1 = camera.visible()
    hull = index.hull
    near = (hull[:, 0] < x1) & (hull[:, 2] > x0) & (hull[:, 1] < y1) & (hull[:, 3] > y0)
    near &= ~held & ~painter.scene.folding.hidden
    box = _around(np.vstack((index.hull[own], boxes[rows])))
    return np.vstack((hull[near], boxes[seen[outside]])), box


def _around(boxes: FloatArray) -> FloatArray:
    return np.concatenate((boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)))
