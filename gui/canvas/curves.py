"""Where strands run: curved, straight or with corners, upright at their ends, cut in the middle."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.strands import Strands
from model.document.view_state import LinkStyle

BENT = 0.5
SPREAD = 0.80
LANE_FROM, LANE_TO = 0.25, 0.75
"""Between which parts of a gap links with corners run along it."""
_BLOCKS_A_STEP = 500
_CORRIDOR = 6.0  # how near to a straight line between two boxes another one may stand

_TOP, _BOTTOM, _LEFT, _RIGHT = range(4)
_OUT = np.array([(0.0, -1.0), (0.0, 1.0), (-1.0, 0.0), (1.0, 0.0)])
PIECES_A_HALF = 8


@dataclass(frozen=True, slots=True)
class Curves:
    """Where s strands run: `control` (s, 4, 2) in scene units, from the first end to the second.

    A cubic each, or where `cornered` the straight pieces through its four points.
    """

    control: FloatArray
    cornered: bool = False

    def like(self, control: FloatArray) -> Curves:
        """Others of the same kind."""
        return Curves(control, self.cornered)

    def taken(self, rows: NDArray[np.integer]) -> Curves:
        """Those of some strands."""
        return self.like(self.control[rows])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """(s, 2) and (s, 2): the lower and upper corners of what each may span."""
        p0, p1, p2, p3 = (self.control[:, k] for k in range(4))  # many times faster than along the axis
        low = np.minimum(np.minimum(p0, p1), np.minimum(p2, p3))
        return low, np.maximum(np.maximum(p0, p1), np.maximum(p2, p3))

    def halves(self) -> FloatArray:
        """(s, 2, 4, 2): each cut in the middle; both halves begin at their own end."""
        p0, p1, p2, p3 = (self.control[:, k] for k in range(4))
        if self.cornered:
            middle = (p1 + p2) / 2
            first, second = (p0, p1, (p1 + middle) / 2, middle), (p3, p2, (p2 + middle) / 2, middle)
        else:
            q0, q1, q2 = (p0 + p1) / 2, (p1 + p2) / 2, (p2 + p3) / 2
            r0, r1 = (q0 + q1) / 2, (q1 + q2) / 2
            middle = (r0 + r1) / 2
            first, second = (p0, q0, r0, middle), (p3, q2, r1, middle)
        return np.stack((np.stack(first, axis=1), np.stack(second, axis=1)), axis=1)

    def flat(self) -> FloatArray:
        """(s, 2·pieces + 1, 2): points along each, corners among them; the middle one is where it is cut."""
        if self.cornered:
            quarter = PIECES_A_HALF // 2
            t = np.concatenate(
                [np.arange(quarter) * step / quarter + start
                 for start, step in ((0.0, 1 / 3), (1 / 3, 1 / 6), (0.5, 1 / 6), (2 / 3, 1 / 3))] + [[1.0]]
            )  # fmt: skip
        else:
            t = np.linspace(0.0, 1.0, 2 * PIECES_A_HALF + 1)
        return np.einsum("kp,skd->spd", self._basis(t), self.control)

    def point(self, t: float) -> FloatArray:
        """(s, 2): the point of each at parameter `t`; 0.5 is the middle."""
        return np.einsum("kp,skd->spd", self._basis(np.array([t])), self.control)[:, 0]

    def _basis(self, t: FloatArray) -> FloatArray:
        """(4, points): how much of each control point."""
        if not self.cornered:
            return np.stack(((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3))
        return np.maximum(0.0, 1.0 - np.abs(3.0 * t[None, :] - np.arange(4.0)[:, None]))


def route(strands: Strands, devices: FloatArray, style: LinkStyle = LinkStyle.CURVED) -> Curves:
    """Where strands run, their ends spread along the sides of the boxes in the order of where they lead.

    `devices` (n, 4) are all boxes; a link in a row of them goes straight, or in an arch over those between,
    also where links are straight.
    """
    steps = route_steps(strands, devices, style)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            curves: Curves = end.value
            return curves


def route_steps(strands: Strands, devices: FloatArray, style: LinkStyle) -> Generator[None, None, Curves]:
    """`route` in steps of some ten milliseconds where strands are many; returns where they run."""
    cornered = style is LinkStyle.ORTHOGONAL
    if not len(strands):
        return Curves(np.zeros((0, 4, 2)), cornered)
    side = yield from _sides(strands.box, devices)
    along, key = _along(strands, side)
    yield
    order = np.lexsort((along, key))
    yield
    anchor = _anchors(strands, side, key, order)
    yield
    reach = np.abs(anchor[:, 1] - anchor[:, 0])
    vertical = side < _LEFT
    arch = vertical[:, 0] & (side[:, 0] == side[:, 1])
    bend = np.where(vertical[:, 0], reach[:, 1], reach[:, 0])[:, None] * np.full(2, BENT)
    if cornered:
        bend = np.where(vertical[:, :1], _lanes(strands, anchor, reach[:, 1]), bend)
    bend = np.where(arch[:, None], (30.0 + 0.18 * reach[:, 0])[:, None], bend)
    first = anchor[:, 0] + _OUT[side[:, 0]] * bend[:, :1]
    second = anchor[:, 1] + _OUT[side[:, 1]] * bend[:, 1:]
    if style is LinkStyle.STRAIGHT:
        way = (anchor[:, 1] - anchor[:, 0]) / 3
        first = np.where(arch[:, None], first, anchor[:, 0] + way)
        second = np.where(arch[:, None], second, anchor[:, 1] - way)
    if cornered and arch.any():  # its two posts end at one height
        top = np.minimum(first[arch, 1], second[arch, 1])
        first[arch, 1] = second[arch, 1] = top
    return Curves(np.stack((anchor[:, 0], first, second, anchor[:, 1]), axis=1), cornered)


def _lanes(strands: Strands, anchor: FloatArray, reach: FloatArray) -> FloatArray:
    """(s, 2): how far from each end a strand with corners turns: those of one lower end at one height, those
    of neighbours at another, so that what runs along is told apart.
    """
    a_low = anchor[:, 0, 1] >= anchor[:, 1, 1]
    rows = np.arange(len(anchor))
    lower = anchor[rows, np.where(a_low, 0, 1)]
    upper = anchor[rows, np.where(a_low, 1, 0)]
    end = strands.end[rows, np.where(a_low, 0, 1)]
    box = strands.box[rows, np.where(a_low, 0, 1)]
    gap = np.round(np.stack((lower[:, 1], upper[:, 1]), axis=1)).astype(np.int64)
    _known, of_gap = np.unique(gap, axis=0, return_inverse=True)
    order = np.lexsort((end, box[:, 0] + box[:, 2], of_gap))
    fresh = np.diff(of_gap[order], prepend=-1) != 0
    another = fresh | (np.diff(end[order], prepend=-1) != 0)
    number = np.cumsum(another) - 1
    begin = np.maximum.accumulate(np.where(fresh, number, 0))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = number - begin
    count = np.zeros(int(of_gap.max(initial=0)) + 1, dtype=np.int64)
    np.maximum.at(count, of_gap, place + 1)
    share = LANE_FROM + (LANE_TO - LANE_FROM) * (place + 0.5) / count[of_gap]
    below = reach * share
    return np.where(
        a_low[:, None], np.stack((below, reach - below), axis=1), np.stack((reach - below, below), axis=1)
    )


def _sides(box: FloatArray, devices: FloatArray) -> Generator[None, None, IntArray]:
    """The side each end leaves from: facing sides, or both tops where something stands between in a row."""
    a, b = box[:, 0], box[:, 1]
    a_above = a[:, 3] <= b[:, 1]
    b_above = b[:, 3] <= a[:, 1]
    gap = np.maximum(b[:, 0] - a[:, 2], a[:, 0] - b[:, 2])
    a_left = a[:, 0] + a[:, 2] <= b[:, 0] + b[:, 2]
    beside = ~a_above & ~b_above & (gap > 0)
    if beside.any():
        rows = _Rows(devices)
        yield
        for number, strand in enumerate(np.flatnonzero(beside).tolist()):
            beside[strand] = not rows.block(a[strand], b[strand])
            if number % _BLOCKS_A_STEP == _BLOCKS_A_STEP - 1:
                yield
    first = np.where(a_above, _BOTTOM, _TOP)
    second = np.where(b_above, _BOTTOM, _TOP)
    first = np.where(beside, np.where(a_left, _RIGHT, _LEFT), first)
    second = np.where(beside, np.where(a_left, _LEFT, _RIGHT), second)
    return np.stack((first, second), axis=1).astype(np.int32)


class _Rows:
    """Boxes of devices by height, so that few are looked at to see what stands between two others."""

    def __init__(self, devices: FloatArray) -> None:
        self._devices = devices
        self._widest = float((devices[:, 2] - devices[:, 0]).max(initial=0.0))
        self._tallest = float((devices[:, 3] - devices[:, 1]).max(initial=1.0))
        row = np.floor((devices[:, 1] + devices[:, 3]) / 2 / self._tallest).astype(np.int64)
        order = np.lexsort((devices[:, 0], row))
        begins = np.flatnonzero(np.diff(row[order]) != 0) + 1
        parts = np.split(order, begins)
        self._rows = {int(row[part[0]]): (part, devices[part, 0]) for part in parts if len(part)}

    def block(self, a: FloatArray, b: FloatArray) -> bool:
        """Whether a device stands in the way from one box to another beside it."""
        left, right = min(a[2], b[2]), max(a[0], b[0])
        middles = ((a[1] + a[3]) / 2, (b[1] + b[3]) / 2)
        low, high = min(middles) - _CORRIDOR, max(middles) + _CORRIDOR
        first = int((low - self._tallest / 2) // self._tallest)
        for number in range(first, int((high + self._tallest / 2) // self._tallest) + 1):
            if number not in self._rows:
                continue
            part, x0 = self._rows[number]
            begin, end = np.searchsorted(x0, (left - self._widest, right))
            near = self._devices[part[begin:end]]
            between = (near[:, 0] < right) & (near[:, 2] > left) & (near[:, 1] < high) & (near[:, 3] > low)
            if between.any():
                return True
        return False


def _along(strands: Strands, side: IntArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """(2s,) and (2s,): where each end leads, along its side, and a number for that side of its box."""
    sides = side.ravel()
    other = strands.box[:, ::-1].reshape(-1, 4)
    axis = np.where(sides >= _LEFT, 1, 0)
    ends = np.arange(len(sides))
    along = (other[ends, axis] + other[ends, axis + 2]) / 2
    return along, strands.end.ravel().astype(np.int64) * 4 + sides


def _anchors(
    strands: Strands, side: IntArray, key: NDArray[np.int64], order: NDArray[np.int64]
) -> FloatArray:
    """(s, 2, 2): where each end leaves its box; `order` (2s,) puts ends at one side, `key`, in a row."""
    box = strands.box.reshape(-1, 4)
    sides = side.ravel()
    centre = (box[:, :2] + box[:, 2:]) / 2
    size = box[:, 2:] - box[:, :2]
    begins = np.diff(key[order], prepend=-1) != 0
    group = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    total = np.diff(np.append(first, len(order)))
    place = np.empty(len(order))
    place[order] = (np.arange(len(order)) - first[group] + 0.5) / total[group] - 0.5
    anchor = centre + _OUT[sides] * size / 2
    offset = place * SPREAD
    upright = sides < _LEFT
    anchor[upright, 0] += (offset * size[:, 0])[upright]
    anchor[~upright, 1] += (offset * size[:, 1])[~upright]
    return anchor.reshape(-1, 2, 2)


def nearest(
    flat: FloatArray, x: float, y: float, reach: float, box: tuple[FloatArray, FloatArray] | None = None
) -> tuple[int, int] | None:
    """The strand that passes nearest to a point within `reach`, and which half of it (0 or 1).

    `box` are the lower and upper corners of all strands, where the caller has them.
    """
    if not len(flat):
        return None
    low, high = box if box is not None else (flat.min(axis=1), flat.max(axis=1))
    near = np.flatnonzero(
        (low[:, 0] - reach <= x)
        & (x <= high[:, 0] + reach)
        & (low[:, 1] - reach <= y)
        & (y <= high[:, 1] + reach)
    )
    if not len(near):
        return None
    begin, end = flat[near, :-1], flat[near, 1:]
    way = end - begin
    length = np.maximum((way**2).sum(axis=2), 1e-12)
    t = np.clip(((np.array((x, y)) - begin) * way).sum(axis=2) / length, 0.0, 1.0)
    distance = np.hypot(*np.moveaxis(begin + t[..., None] * way - (x, y), 2, 0))
    best = int(distance.argmin())
    strand, piece = divmod(best, distance.shape[1])
    if distance[strand, piece] > reach:
        return None
    return int(near[strand]), int(piece >= PIECES_A_HALF)


def touching(
    reach: tuple[FloatArray, FloatArray], box: tuple[float, float, float, float]
) -> NDArray[np.bool_]:
    """Which strands may be seen in a box, by the lower and upper corners (s, 2) of what they span."""
    low, high = reach
    return (low[:, 0] <= box[2]) & (high[:, 0] >= box[0]) & (low[:, 1] <= box[3]) & (high[:, 1] >= box[1])
