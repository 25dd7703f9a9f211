"""Where tiles, tiers and ribbons stand at a zoom below 12 %.

Everything keeps the place it has on the drawing, but tiers and the ribbons between them keep a height in
pixels that can be read. What that costs is taken from the field of their group: its tiles become flatter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.canvas.curves import Curves
from gui.canvas.far_plan import FarPlan
from gui.canvas.levels import Level
from gui.canvas.scene_index import FloatArray, IntArray, SceneIndex
from model.document.view_state import LinkStyle

BAR_PX = 22.0
GAP_PX = 34.0
HEADER_PX = 22.0
FOOTER_PX = 20.0
PADDING_PX = 5.0
LEAST_TILE_PX = 7.0
_MOST_TIERS = 0.62  # of the height of a group
_SPREAD_PX = 26.0


@dataclass(frozen=True, slots=True)
class FarLayout:
    """Boxes x0 y0 x1 y1 in scene units: `tile`, `tier`, `group` (0 = everything) and the `field` of each.

    `closed` (g,) tells groups whose tiles are drawn as one. `scale` (g,): 1 where header and tiers have all
    the pixels they want. `curves` are those of the ribbons.
    """

    tile: FloatArray
    tier: FloatArray
    group: FloatArray
    field: FloatArray
    closed: NDArray[np.bool_]
    scale: FloatArray
    curves: Curves

    def bounds(self) -> tuple[float, float, float, float]:
        """The box around all of it."""
        x0, y0, x1, y1 = self.group[0].tolist()
        return x0, y0, x1, y1


def lay_out_far(
    index: SceneIndex,
    plan: FarPlan,
    zoom: float,
    level: Level,
    folded: IntArray | None = None,
    style: LinkStyle = LinkStyle.CURVED,
) -> FarLayout:
    """Lay the plan out for a zoom; `folded` (c,) are container rows or -1, as in `Folding`."""
    px = 1.0 / zoom
    groups = len(plan.groups)
    tile = index.hull[plan.tiles].copy()
    tier = _tier_boxes(index, plan)
    group = np.zeros((groups, 4))
    field = np.full((groups, 4), np.nan)
    closed = np.zeros(groups, dtype=bool)
    scale = np.ones(groups)
    fold = np.tile((1.0, 1.0, 0.0, 0.0), (groups, 1))  # on the picture (x, y) · first two + last two
    group[1:] = index.hull[plan.groups[1:]]
    for number in range(groups):
        tiles = np.flatnonzero(plan.tile_group == number)
        inner = np.flatnonzero(plan.group_parent == number)
        tiers = np.flatnonzero(plan.tier_group == number)
        by, at = fold[number, :2], fold[number, 2:]
        for boxes, rows in ((tile, tiles), (tier, tiers), (group, inner)):
            boxes[rows] = boxes[rows] * np.tile(by, 2) + np.tile(at, 2)
        natural = _around(np.vstack((tile[tiles], group[inner])))
        limit = group[number] if number else None
        content, scale[number] = _stack(tier, tiers, natural, limit, px)
        field[number] = content
        squeeze, shift = _map(natural, content)
        for boxes, rows in ((tile, tiles), (group, inner)):
            boxes[rows] = boxes[rows] * np.tile(squeeze, 2) + np.tile(shift, 2)
        fold[inner] = np.concatenate((by * squeeze, at * squeeze + shift))
        if not number:
            group[0] = _around(np.vstack((tile[tiles], tier[tiers], group[inner])))
        if len(tiles):
            flat = np.median(np.minimum(*(tile[tiles, 2:] - tile[tiles, :2]).T)) * zoom
            one = level is Level.SITES and number > 0 and not len(inner)
            shut = folded is not None and number > 0 and folded[plan.groups[number]] >= 0
            closed[number] = one or shut or flat < LEAST_TILE_PX
    group[0] = _with_loose(index, plan, group[0])
    boxes = np.vstack((tier, field, index.rects()))
    curves = ribbon_curves(boxes[plan.ribbons.end].reshape(-1, 2, 4), px, style)
    return FarLayout(tile, tier, group, field, closed, scale, curves)


def _tier_boxes(index: SceneIndex, plan: FarPlan) -> FloatArray:
    boxes = np.tile((np.inf, np.inf, -np.inf, -np.inf), (len(plan.tier_kind), 1))
    rows = np.flatnonzero(plan.tier_of >= 0)
    np.minimum.at(boxes[:, :2], plan.tier_of[rows], index.centre[rows] - index.half[rows])
    np.maximum.at(boxes[:, 2:], plan.tier_of[rows], index.centre[rows] + index.half[rows])
    return boxes


def _around(boxes: FloatArray) -> FloatArray:
    if not len(boxes):
        return np.full(4, np.nan)
    return np.concatenate((boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)))


def _with_loose(index: SceneIndex, plan: FarPlan, box: FloatArray) -> FloatArray:
    loose = (plan.tile_of < 0) & (plan.tier_of < 0)
    boxes = index.rects()[loose]
    if not np.isnan(box).any():
        boxes = np.vstack((boxes, box))
    found = _around(boxes)
    return found if not np.isnan(found).any() else np.zeros(4)


def _map(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How x and y go from one box to another: by a factor, then a shift."""
    size = before[2:] - before[:2]
    if np.isnan(before).any() or not (size > 0).all():
        return np.ones(2), np.zeros(2)
    by = (after[2:] - after[:2]) / size
    return by, after[:2] - before[:2] * by


def _bands(tier: FloatArray, tiers: NDArray[np.int64]) -> list[list[int]]:
    """Tiers that stand beside each other, from the bottom up."""
    bands: list[list[int]] = []
    for number in sorted(tiers.tolist(), key=lambda one: -float(tier[one, 1] + tier[one, 3])):
        beside = bands and any(
            tier[number, 1] < tier[other, 3] and tier[other, 1] < tier[number, 3] for other in bands[-1]
        )
        if beside:
            bands[-1].append(number)
        else:
            bands.append([number])
    return bands


def _stack(
    tier: FloatArray, tiers: NDArray[np.int64], natural: FloatArray, limit: FloatArray | None, px: float
) -> tuple[FloatArray, float]:
    """Give the tiers of one group their height; the box left for its field, and how tight it is."""
    empty = bool(np.isnan(natural).any())
    middle = np.inf if empty else (natural[1] + natural[3]) / 2
    above = _bands(tier, tiers[(tier[tiers, 1] + tier[tiers, 3]) / 2 < middle])
    below = _bands(tier, tiers[(tier[tiers, 1] + tier[tiers, 3]) / 2 >= middle])[::-1]
    scale = 1.0
    if limit is not None:
        room = (limit[3] - limit[1]) / px
        wanted = HEADER_PX + FOOTER_PX + (len(above) + len(below)) * (BAR_PX + GAP_PX)
        scale = min(1.0, _MOST_TIERS * room / wanted)
    field = natural.copy()
    bar, gap = BAR_PX * scale * px, GAP_PX * scale * px
    gaps = (gap, gap)
    if limit is not None and not empty:
        padding = PADDING_PX * px
        top, bottom = limit[1] + HEADER_PX * scale * px, limit[3] - FOOTER_PX * scale * px
        field[1] = max(field[1], top + len(above) * (bar + gap))
        field[3] = max(min(field[3], bottom - len(below) * (bar + gap)), field[1] + 8 * px)
        field[0], field[2] = max(field[0], limit[0] + padding), min(field[2], limit[2] - padding)
        gaps = (
            max(gap, (field[1] - top) / max(len(above), 1) - bar),
            max(gap, (bottom - field[3]) / max(len(below), 1) - bar),
        )
    span = limit if empty else field
    for bands, sign, edge, gap in ((above, -1.0, field[1], gaps[0]), (below, 1.0, field[3], gaps[1])):
        for band in bands:
            facing = float(tier[band, 3].max() if sign < 0 else tier[band, 1].min())
            tall = bar if limit is not None else max(bar, float((tier[band, 3] - tier[band, 1]).max()))
            if np.isnan(edge):
                start = facing
            elif limit is not None:
                start = edge + sign * gap
            else:
                start = min(facing, edge - gap) if sign < 0 else max(facing, edge + gap)
            tier[band, 1], tier[band, 3] = sorted((start, start + sign * tall))
            edge = start + sign * tall
            if len(band) == 1 and span is not None:
                only = band[0]
                tier[only, 0] = span[0] if limit is not None else min(float(tier[only, 0]), float(span[0]))
                tier[only, 2] = span[2] if limit is not None else max(float(tier[only, 2]), float(span[2]))
    return field, scale


def ribbon_curves(box: FloatArray, px: float, style: LinkStyle) -> Curves:
    """Upright where one box stands over the other, straight across beside it."""
    cornered = style is LinkStyle.ORTHOGONAL
    if not len(box):
        return Curves(np.zeros((0, 4, 2)), cornered)
    a, b = box[:, 0], box[:, 1]
    low, high = np.maximum(a[:, 0], b[:, 0]), np.minimum(a[:, 2], b[:, 2])
    a_above = a[:, 1] + a[:, 3] <= b[:, 1] + b[:, 3]
    apart = (a[:, 3] <= b[:, 1]) | (b[:, 3] <= a[:, 1])
    over = high > low
    x = (low + high) / 2
    first_y = np.where(a_above, a[:, 3], a[:, 1])
    second_y = np.where(a_above, b[:, 1], b[:, 3])
    first_x = np.where(over, x, (a[:, 0] + a[:, 2]) / 2)
    second_x = np.where(over, x, (b[:, 0] + b[:, 2]) / 2)
    moved = _spread(first_x, np.minimum(first_y, second_y), np.maximum(first_y, second_y), over & apart, px)
    first_x, second_x = first_x + moved, second_x + moved
    first = np.stack((first_x, first_y), axis=1)
    second = np.stack((second_x, second_y), axis=1)
    bent = 0.5 if cornered else 0.4
    bend = np.abs(second_y - first_y)[:, None] * bent * np.where(a_above, 1.0, -1.0)[:, None]
    up = np.stack((np.zeros(len(box)), np.ones(len(box))), axis=1)
    control = np.stack((first, first + up * bend, second - up * bend, second), axis=1)
    a_left = a[:, 0] + a[:, 2] <= b[:, 0] + b[:, 2]
    beside_a = np.stack((np.where(a_left, a[:, 2], a[:, 0]), (a[:, 1] + a[:, 3]) / 2), axis=1)
    beside_b = np.stack((np.where(a_left, b[:, 0], b[:, 2]), (b[:, 1] + b[:, 3]) / 2), axis=1)
    level = _in_thirds(beside_a, beside_b)
    if cornered:
        level[:, 1:3, 0] = ((beside_a + beside_b) / 2)[:, None, 0]
        level[:, 1, 1], level[:, 2, 1] = beside_a[:, 1], beside_b[:, 1]
    if style is LinkStyle.STRAIGHT:
        control = _in_thirds(first, second)
    return Curves(np.where(apart[:, None, None], control, level), cornered)


def _in_thirds(start: FloatArray, end: FloatArray) -> FloatArray:
    """Control points of straight lines."""
    way = (end - start) / 3
    return np.stack((start, start + way, end - way, end), axis=1)


def _spread(
    x: FloatArray, top: FloatArray, bottom: FloatArray, upright: NDArray[np.bool_], px: float
) -> FloatArray:
    """Sideways shifts, so that no upright ribbon lies on another; the longest ones give way."""
    moved = np.zeros(len(x))
    if len(x) > 400:
        return moved
    taken: list[tuple[float, float, float]] = []
    for number in np.argsort(bottom - top, kind="stable").tolist():
        if not upright[number]:
            continue
        place = float(x[number])
        while any(
            abs(place - other) < _SPREAD_PX * px and top[number] < low and high < bottom[number]
            for other, high, low in taken
        ):
            place += _SPREAD_PX * px
        taken.append((place, float(top[number]), float(bottom[number])))
        moved[number] = place - x[number]
    return moved
