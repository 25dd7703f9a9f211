"""`FarPlan`: what is drawn below 12 %: racks as tiles, switches as tiers, links as ribbons.

A *tile* is a rack, or a tray that stands in none. A *tier* is all devices of one kind that stand in no tile
of one *group*: a pod, a site or the drawing itself (group 0). The tiles of a group are its *field*.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gui.canvas.link_layers import layers_shown
from gui.canvas.loads import BUNDLE_LIMIT, FABRIC_FACTOR, IDLE_STEP, line_width, steps_of
from gui.canvas.scene_index import KIND_CODE, FloatArray, IntArray, RowArray, SceneIndex
from gui.canvas.strands import DOWN, StrandLoads, Strands, dead_strands
from model.topology.types import ContainerKind, DeviceKind

_TIER_CODES = [
    KIND_CODE[kind]
    for kind in (
        DeviceKind.LEAF,
        DeviceKind.SPINE,
        DeviceKind.CORE,
        DeviceKind.STORAGE,
        DeviceKind.SITE_GATEWAY,
    )
]


@dataclass(frozen=True, slots=True)
class FarPlan:
    """Tiles (t), tiers (k) and groups (g) as arrays; group 0 is the drawing.

    `tiles` and `groups` are container rows (-1 for the drawing), `tile_group` and `tier_group` group numbers,
    `group_parent` the group around each (-1 for the drawing). `tier_kind` codes, `tier_size` devices.
    `tile_of` and `tier_of` (n,) number each device's, or are -1. `tile_links` are link rows ordered by tile,
    with `tile_start` (t + 1,). `gpu_place` are places in `gpu_rows` ordered by tile, with `gpu_start`.
    `down` (t,) tells tiles of which nothing works. `ribbons` have no boxes yet; their `end` numbers tiers,
    then fields of groups, then devices.
    """

    tiles: IntArray
    tile_group: IntArray
    groups: IntArray
    group_parent: IntArray
    tier_kind: IntArray
    tier_group: IntArray
    tier_size: IntArray
    tile_of: IntArray
    tier_of: IntArray
    tile_links: IntArray
    tile_start: IntArray
    gpu_place: IntArray
    gpu_start: IntArray
    down: NDArray[np.bool_]
    ribbons: Strands

    def end_of_field(self, group: int) -> int:
        """The number of a field among the ends of ribbons."""
        return len(self.tier_kind) + group

    def tile_gpus(self, tile: int) -> IntArray:
        """Places in `gpu_rows` of the GPUs of a tile."""
        return self.gpu_place[self.gpu_start[tile] : self.gpu_start[tile + 1]]


@dataclass(frozen=True, slots=True)
class TileLoads:
    """What the links at each tile carry: `mean` utilisation (of `weight` bytes/s), `worst` ratio, `step`."""

    mean: FloatArray
    weight: FloatArray
    worst: FloatArray
    peak: FloatArray
    step: NDArray[np.uint8]


def plan_far(index: SceneIndex, layers: Set[str]) -> FarPlan:
    """The plan of a drawing with the links of `layers`."""
    groups, group_of, tiles, tile_of_container = _containers(index)
    tile_group = group_of[tiles] if len(tiles) else np.zeros(0, np.int32)
    tile_of = np.append(tile_of_container, -1)[index.parent].astype(np.int32)
    own_group = np.append(group_of, 0)[index.parent]
    tier_codes = np.isin(index.kind, _TIER_CODES) & (tile_of < 0)
    key = own_group.astype(np.int64) * 100 + index.kind
    known, tier = np.unique(key[tier_codes], return_inverse=True)
    tier_of = np.full(len(index.devices), -1, dtype=np.int32)
    tier_of[tier_codes] = tier
    parents = np.append(group_of, 0)[np.where(groups >= 0, index.container_parent[groups], -1)]
    gpu_tile = tile_of[index.gpu_rows]
    gpu_place = np.argsort(gpu_tile, kind="stable").astype(np.int32)
    gpu_place = gpu_place[np.searchsorted(gpu_tile[gpu_place], 0) :]
    rows = np.flatnonzero(layers_shown(index, layers))
    tile_links, tile_start = _links_of_tiles(index, rows, tile_of, len(tiles))
    return FarPlan(
        tiles=tiles,
        tile_group=tile_group.astype(np.int32),
        groups=groups,
        group_parent=np.where(groups >= 0, parents, -1).astype(np.int32),
        tier_kind=(known % 100).astype(np.int32),
        tier_group=(known // 100).astype(np.int32),
        tier_size=np.bincount(tier, minlength=len(known)).astype(np.int32),
        tile_of=tile_of,
        tier_of=tier_of,
        tile_links=tile_links,
        tile_start=tile_start,
        gpu_place=gpu_place,
        gpu_start=np.searchsorted(gpu_tile[gpu_place], np.arange(len(tiles) + 1)).astype(np.int32),
        down=_dead_tiles(index, tile_of, len(tiles)),
        ribbons=_ribbons(index, rows, _ends(index, tile_of, tier_of, tile_group, len(known), len(groups))),
    )


def with_states(index: SceneIndex, plan: FarPlan) -> FarPlan:
    """The plan with what is down now."""
    ribbons = replace(plan.ribbons, down=dead_strands(index, plan.ribbons.links, plan.ribbons.start))
    return replace(plan, ribbons=ribbons, down=_dead_tiles(index, plan.tile_of, len(plan.tiles)))


def _dead_tiles(index: SceneIndex, tile_of: IntArray, count: int) -> NDArray[np.bool_]:
    alive = np.bincount(tile_of[(tile_of >= 0) & (index.state != DOWN)], minlength=count)
    held = np.bincount(tile_of[tile_of >= 0], minlength=count)
    return (held > 0) & (alive == 0)


def _containers(index: SceneIndex) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Groups (the drawing first), the group of each container, tiles, and the tile of each container."""
    count = len(index.containers)
    is_group = np.array(
        [one.kind in (ContainerKind.POD, ContainerKind.SITE) for one in index.containers], dtype=bool
    )
    order = np.argsort(index.depth, kind="stable")
    groups = np.append(-1, order[is_group[order]]).astype(np.int32)
    number = np.zeros(count + 1, dtype=np.int32)
    number[groups[1:]] = np.arange(1, len(groups))
    tile_row = np.full(count + 1, -1, dtype=np.int32)
    for depth in range(int(index.depth.max(initial=0)) + 1):
        level = np.flatnonzero(index.depth == depth)
        parent = index.container_parent[level]
        number[level] = np.where(is_group[level], number[level], number[parent])
        above = np.where(parent >= 0, tile_row[parent], -1)
        tile_row[level] = np.where(is_group[level], -1, np.where(above >= 0, above, level))
    tiles = np.unique(tile_row[tile_row >= 0]).astype(np.int32)
    tile = np.where(tile_row[:count] >= 0, np.searchsorted(tiles, tile_row[:count]), -1)
    return groups, number[:count], tiles, tile.astype(np.int32)


def _links_of_tiles(
    index: SceneIndex, rows: RowArray, tile_of: IntArray, count: int
) -> tuple[IntArray, IntArray]:
    ends = tile_of[index.ends[rows]]
    first, second = ends[:, 0], np.where(ends[:, 1] == ends[:, 0], -1, ends[:, 1])
    tile = np.concatenate((first, second))
    order = np.argsort(tile, kind="stable")
    order = order[np.searchsorted(tile[order], 0) :]
    links = np.concatenate((rows, rows))[order].astype(np.int32)
    return links, np.searchsorted(tile[order], np.arange(count + 1)).astype(np.int32)


def _ends(
    index: SceneIndex, tile_of: IntArray, tier_of: IntArray, tile_group: RowArray, tiers: int, groups: int
) -> NDArray[np.int64]:
    loose = tiers + groups + np.arange(len(index.devices))
    field = tiers + np.append(tile_group, 0)[tile_of]
    return np.where(tier_of >= 0, tier_of, np.where(tile_of >= 0, field, loose)).astype(np.int64)


def _ribbons(index: SceneIndex, rows: RowArray, end_of: NDArray[np.int64]) -> Strands:
    """Links between the same two ends as one strand; those within one end have none."""
    end = end_of[index.ends[rows]]
    between = end[:, 0] != end[:, 1]
    rows, end = rows[between], end[between]
    flipped = end[:, 0] > end[:, 1]
    end = np.sort(end, axis=1)
    key = end[:, 0] * (int(end_of.max(initial=0)) + 1) + end[:, 1]
    order = np.argsort(key, kind="stable")
    rows, end, flipped = rows[order], end[order], flipped[order]
    first = np.flatnonzero(np.diff(key[order], prepend=-1) != 0)
    if not len(first):
        nothing = np.zeros(0, np.int32)
        no = np.zeros(0, bool)
        return Strands(
            np.zeros((0, 2, 4)), np.zeros((0, 2), np.int32), nothing, np.zeros(1, np.int32), no, nothing,
            np.zeros(0), no, no,
        )  # fmt: skip
    start = np.append(first, len(rows)).astype(np.int32)
    width = line_width(np.add.reduceat(index.nominal[rows], first)) * FABRIC_FACTOR
    return Strands(
        box=np.zeros((len(first), 2, 4)),
        end=end[first].astype(np.int32),
        links=rows.astype(np.int32),
        start=start,
        flipped=flipped,
        cables=np.add.reduceat(index.cables[rows], first).astype(np.int32),
        width=np.minimum(width, BUNDLE_LIMIT),
        inside=np.zeros(len(first), bool),
        down=dead_strands(index, rows, start),
    )


@dataclass(frozen=True, slots=True)
class TileWeights:
    """What of the loads of tiles stays the same over a step.

    `capacity` (links of tiles, both directions) is 0 for links that carry nothing in the step; `weight` (t,)
    is its sum and `worst` (t,) the largest ratio of the step.
    """

    capacity: FloatArray
    weight: FloatArray
    worst: FloatArray


def tile_weights(plan: FarPlan, capacity: FloatArray, worst: FloatArray, peak: FloatArray) -> TileWeights:
    """From arrays over links: `capacity` (m,), the `worst` ratio and the `peak` utilisation (m, 2)."""
    links = plan.tile_links
    used = (peak[:, 0] > 0) | (peak[:, 1] > 0)
    own = np.where(used, 2 * capacity, 0.0)[links]
    highest = np.maximum(worst[:, 0], worst[:, 1])[links]
    return TileWeights(own, _sums(own, plan.tile_start), _most(highest, plan.tile_start))


def tile_loads(plan: FarPlan, weights: TileWeights, utilisation: FloatArray) -> TileLoads:
    """Loads of tiles from those of links, (m, 2).

    The mean is over the capacity of the links that carry anything in the step.
    """
    first, second = utilisation[:, 0], utilisation[:, 1]
    rate = _sums(weights.capacity * ((first + second) / 2)[plan.tile_links], plan.tile_start)
    mean = np.divide(rate, weights.weight, out=np.zeros(len(rate)), where=weights.weight > 0)
    step = steps_of(mean)
    step[plan.down] = IDLE_STEP
    highest = _most(np.maximum(first, second)[plan.tile_links], plan.tile_start)
    return TileLoads(mean, weights.weight, weights.worst, highest, step)


def _sums(values: FloatArray, start: IntArray) -> FloatArray:
    found = np.zeros(len(start) - 1)
    held = np.flatnonzero(np.diff(start) > 0)
    if len(held):
        found[held] = np.add.reduceat(values, start[held])
    return found


def _most(values: FloatArray, start: IntArray) -> FloatArray:
    found = np.zeros(len(start) - 1)
    held = np.flatnonzero(np.diff(start) > 0)
    if len(held):
        found[held] = np.maximum.reduceat(values, start[held])
    return found


def group_loads(plan: FarPlan, loads: TileLoads, tiles: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Mean utilisation, worst ratio and highest utilisation of some tiles together."""
    if not tiles.any():
        return 0.0, 0.0, 0.0
    total = float(loads.weight[tiles].sum())
    mean = float((loads.mean[tiles] * loads.weight[tiles]).sum() / total) if total > 0 else 0.0
    return mean, float(loads.worst[tiles].max()), float(loads.peak[tiles].max())


def tier_loads(plan: FarPlan, tier: int, ribbons: StrandLoads) -> tuple[float, float]:
    """Mean utilisation and worst ratio of the ribbons that end at a tier."""
    ends = (plan.ribbons.end == tier).any(axis=1)
    if not ends.any():
        return 0.0, 0.0
    weight = plan.ribbons.cables[ends]
    mean = float((ribbons.utilisation[ends].mean(axis=1) * weight).sum() / max(weight.sum(), 1))
    return mean, float(ribbons.ratio[ends].max())


def gpus_in_groups(plan: FarPlan) -> NDArray[np.int64]:
    """For each group the GPUs in its tiles and in those of the groups in it."""
    own = np.diff(plan.gpu_start)
    return np.array(
        [own[np.isin(plan.tile_group, groups_in(plan, group))].sum() for group in range(len(plan.groups))],
        dtype=np.int64,
    )


def groups_in(plan: FarPlan, group: int) -> list[int]:
    """A group and all groups in it."""
    found = [group]
    for number in range(1, len(plan.groups)):  # groups come from the outside in
        if int(plan.group_parent[number]) in found and number not in found:
            found.append(number)
    return found
