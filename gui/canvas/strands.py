"""`Strands`: the lines to draw at a level of detail. A strand is a link, or a bundle between two ends."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.canvas.levels import Level
from gui.canvas.link_layers import layers_shown
from gui.canvas.loads import (
    BUNDLE_FACTOR,
    BUNDLE_LIMIT,
    CABLES_FACTOR,
    FABRIC_FACTOR,
    IDLE_STEP,
    TRAY_FACTOR,
    line_width,
    oversubscribed,
    steps_of,
)
from gui.canvas.scene_index import (
    LINK_CODE,
    STATE_CODE,
    FloatArray,
    IntArray,
    RowArray,
    SceneIndex,
)
from model.topology.types import HOST_LINKS, State

DOWN = STATE_CODE[State.DOWN]
LANE_LIMIT = 64
"""A link of more lanes shows so many of them."""
OPEN_TRAY_ZOOM = 1.4
"""Bundles between two trays open into single links from this zoom on: a tray of four GPUs is 260 px wide."""


@dataclass(frozen=True, slots=True)
class Strands:
    """Arrays over s strands.

    `box` (s, 2, 4): the boxes at both ends; `end` (s, 2) numbers those boxes (device row, or n + container
    row). `links` are link rows ordered by strand, `start` (s + 1,) where each strand's begin, `flipped` (per
    entry of `links`) whether the link's a is at the strand's second end. `cables` counts them. `width` px of
    one direction. `inside` tells strands within one tray; `down` those that carry nothing. `lane`: which lane
    of its link a strand is, -1 = all of them; None where no link is open.
    """

    box: FloatArray
    end: IntArray
    links: IntArray
    start: IntArray
    flipped: NDArray[np.bool_]
    cables: IntArray
    width: FloatArray
    inside: NDArray[np.bool_]
    down: NDArray[np.bool_]
    lane: IntArray | None = None

    def __len__(self) -> int:
        return len(self.end)

    def lane_of(self, strand: int) -> int:
        """Which lane of its link a strand is; -1 = all of them."""
        return -1 if self.lane is None else int(self.lane[strand])

    @property
    def bundled(self) -> NDArray[np.bool_]:
        """Which strands stand for several links."""
        return np.diff(self.start) > 1

    def members(self, strand: int) -> IntArray:
        """Link rows of one strand."""
        return self.links[self.start[strand] : self.start[strand + 1]]


@dataclass(frozen=True, slots=True)
class Opened:
    """What a double-click opened near: links drawn `apart` from their bundle, and those drawn by `lanes`."""

    apart: frozenset[str] = frozenset()
    lanes: frozenset[str] = frozenset()

    def rows(self, index: SceneIndex) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(m,) and (m,): which links of a drawing they are."""
        masks = []
        for ids in (self.apart, self.lanes):
            mask = np.zeros(len(index.links), dtype=bool)
            mask[[index.link_row[ident] for ident in ids if ident in index.link_row]] = True
            masks.append(mask)
        return masks[0], masks[1]


@dataclass(frozen=True, slots=True)
class StrandLoads:
    """What strands carry. `step` (s, 2) and `ratio` (s, 2): of what the first and the second end send; `over`
    (s, 2): directions whose offered rate is above the capacity.
    """

    step: NDArray[np.uint8]
    ratio: FloatArray
    utilisation: FloatArray
    over: NDArray[np.bool_]


def build_strands(
    index: SceneIndex,
    level: Level,
    zoom: float,
    layers: Set[str],
    folded: IntArray | None = None,
    opened: Opened | None = None,
) -> Strands:
    """The strands from 12 % up: bundles between trays, from 40 % down also between trays and switches.

    `folded` (n,) gives the container row that stands for each device, or -1 where it stands for itself.
    """
    rows = np.flatnonzero(layers_shown(index, layers))
    if folded is not None:
        into = folded[index.ends[rows]]
        rows = rows[(into[:, 0] != into[:, 1]) | (into[:, 0] < 0)]
    tray = index.tray_of()[index.ends[rows]]
    same = (tray[:, 0] == tray[:, 1]) & (tray[:, 0] >= 0)
    count = len(index.devices)
    end = index.ends[rows].astype(np.int64)
    fold = ~same & _folding(level, zoom, tray)
    as_tray = fold[:, None] & (tray >= 0)
    end = np.where(as_tray, count + tray, end)
    if folded is not None:
        into = folded[index.ends[rows]]
        end = np.where(into >= 0, count + into, end)
        fold = fold | (into >= 0).any(axis=1)
        same = same & (into < 0).all(axis=1)
    flipped = fold & (end[:, 0] > end[:, 1])
    end[flipped] = end[flipped][:, ::-1]
    lane = np.full(len(rows), -1, dtype=np.int32)
    if opened is not None:
        apart, lanes = (mask[rows] for mask in opened.rows(index))
        fold = fold & ~apart
        count_of = np.where(lanes & ~fold, np.minimum(index.cables[rows], LANE_LIMIT), 1)
        lane = np.where(np.repeat(count_of > 1, count_of), _numbers(count_of), -1).astype(np.int32)
        rows, end, flipped, same, fold = (
            np.repeat(part, count_of, axis=0) for part in (rows, end, flipped, same, fold)
        )
    key = end[:, 0] * (count + len(index.containers)) + end[:, 1]
    single = ~fold
    key[single] = np.arange(int(single.sum())) - len(rows)  # each a strand of its own, before all bundles
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=np.iinfo(np.int64).min) != 0)
    return _gather(index, rows[order], end[order], flipped[order], same[order], lane[order], first)


def _numbers(count: NDArray[np.integer]) -> NDArray[np.int64]:
    """0 … count − 1 of each, behind each other."""
    total = int(count.sum())
    return np.arange(total) - np.repeat(np.cumsum(count) - count, count)


def _folding(level: Level, zoom: float, tray: RowArray) -> NDArray[np.bool_]:
    if level <= Level.NODES:
        return np.ones(len(tray), dtype=bool)
    if zoom < OPEN_TRAY_ZOOM:
        return np.all(tray >= 0, axis=1)
    return np.zeros(len(tray), dtype=bool)


def _gather(
    index: SceneIndex,
    rows: RowArray,
    end: NDArray[np.int64],
    flipped: NDArray[np.bool_],
    same: NDArray[np.bool_],
    lane: IntArray,
    first: NDArray[np.int64],
) -> Strands:
    ends = end[first].astype(np.int32)
    start = np.append(first, len(rows)).astype(np.int32)
    inside = same[first]
    one = lane >= 0
    if len(first):
        cables = np.add.reduceat(np.where(one, 1, index.cables[rows]), first)
        share = np.where(one, index.cables[rows], 1)
        nominal = np.add.reduceat(index.nominal[rows] / share, first)
    else:
        cables, nominal = np.zeros(0, np.int64), np.zeros(0)
    bundle = np.diff(start) > 1
    host = np.isin(index.link_kind[rows[first]], [LINK_CODE[kind] for kind in HOST_LINKS])
    single = np.where(cables > 1, CABLES_FACTOR, FABRIC_FACTOR)
    factor = np.where(inside & ~host, TRAY_FACTOR, np.where(bundle, BUNDLE_FACTOR, single))
    width = np.minimum(line_width(nominal) * factor, BUNDLE_LIMIT)
    return Strands(
        box=end_boxes(index)[ends].reshape(-1, 2, 4),
        end=ends,
        links=rows.astype(np.int32),
        start=start,
        flipped=flipped,
        cables=cables.astype(np.int32),
        width=np.maximum(width, 0.75),
        inside=inside,
        down=dead_strands(index, rows, start),
        lane=lane[first] if one.any() else None,
    )


def end_boxes(index: SceneIndex) -> FloatArray:
    """The boxes that `Strands.end` numbers: devices, then containers."""
    return np.vstack((index.rects(), index.hull))


def dead_strands(index: SceneIndex, links: RowArray, start: RowArray) -> NDArray[np.bool_]:
    """Which strands carry nothing: all their links, or what they end at, are down."""
    if len(start) < 2:
        return np.zeros(0, dtype=bool)
    dead = index.link_state == DOWN
    dead |= (index.state == DOWN)[index.ends].any(axis=1)
    return np.minimum.reduceat(dead[links], start[:-1])


def load_strands(
    strands: Strands,
    capacity: FloatArray,
    utilisation: FloatArray,
    ratio: FloatArray,
    rows: IntArray | None = None,
) -> StrandLoads:
    """Loads of strands from those of links, (m, 2) each: a bundle takes its mean and its worst ratio.

    The mean is weighted by capacity, so that it is the utilisation of the whole bundle. With `rows` only
    those strands are worked out; the others seem idle.
    """
    chosen = np.arange(len(strands)) if rows is None else rows
    some = StrandLoads(
        step=np.zeros((len(strands), 2), dtype=np.uint8),
        ratio=np.zeros((len(strands), 2)),
        utilisation=np.zeros((len(strands), 2)),
        over=np.zeros((len(strands), 2), dtype=bool),
    )
    if not len(chosen):
        return some
    count = np.diff(strands.start)[chosen]
    first = np.cumsum(count) - count
    entries = np.repeat(strands.start[chosen] - first, count) + np.arange(int(count.sum()))
    links, turned = strands.links[entries], strands.flipped[entries, None]
    used, offered = utilisation[links], ratio[links]
    used = np.where(turned, used[:, ::-1], used)
    offered = np.where(turned, offered[:, ::-1], offered)
    weight = np.maximum(capacity[links], 1e-9)
    total = np.add.reduceat(weight, first)
    mean = np.add.reduceat(used * weight[:, None], first, axis=0) / total[:, None]
    worst = np.maximum.reduceat(offered, first, axis=0)
    step = steps_of(mean)
    step[strands.down[chosen]] = IDLE_STEP
    some.step[chosen], some.ratio[chosen], some.utilisation[chosen] = step, worst, mean
    some.over[chosen] = oversubscribed(worst)
    return some
