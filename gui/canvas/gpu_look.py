"""What the tile of each GPU says: its group, its rank, and its coordinates in the other dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gui.canvas.scene_index import IntArray, SceneIndex
from model.placement.paint import Paint
from model.placement.resolve import displayed_groups
from model.placement.types import DIMENSIONS, Dimension, Placement

LETTERS: dict[Dimension, str] = {"tp": "t", "cp": "c", "ep": "e", "pp": "p", "dp": "d"}
NAMES: dict[Dimension, str] = {
    "tp": "TP group",
    "cp": "CP group",
    "ep": "EP group",
    "pp": "PP stage",
    "dp": "DP replica",
}
TICK_SLOTS = 8
_ORDER: tuple[Dimension, ...] = ("ep", "tp", "cp", "dp", "pp")


@dataclass(frozen=True, slots=True)
class TickRow:
    """One row of ticks: which of `size` places each GPU has in a dimension (-1 = none)."""

    dimension: Dimension
    place: IntArray
    size: int


@dataclass(frozen=True, slots=True)
class GpuLook:
    """Arrays over the GPUs of a drawing, in the order of `SceneIndex.gpu_rows`.

    `group` is what fills the tile in the active dimension (-1 = unplaced), `rank` the number on it,
    `second` the place in `second_dimension`.
    """

    dimension: Dimension
    group: IntArray
    rank: IntArray
    second_dimension: Dimension | None
    second: IntArray
    ticks: tuple[TickRow, ...]


def gpu_look(index: SceneIndex, placement: Placement | None, paint: Paint, dimension: Dimension) -> GpuLook:
    """The look of all GPUs. Fresh paint shows at once, before an analysis has placed it."""
    count = len(index.gpu_rows)
    nowhere = np.full(count, -1, dtype=np.int32)
    ids = [index.device_ids[row] for row in index.gpu_rows]
    if placement is None:
        look = GpuLook(dimension, nowhere.copy(), nowhere, None, nowhere, ())
    else:
        look = _placed(ids, placement, dimension)
    if len(paint):
        for place, ident in enumerate(ids):
            colour = paint.group(ident, dimension)
            if colour is not None:
                look.group[place] = colour
    return look


def _placed(ids: list[str], placement: Placement, dimension: Dimension) -> GpuLook:
    world = {ident: place for place, ident in enumerate(placement.gpus)}
    where = np.array([world.get(ident, len(world)) for ident in ids], dtype=np.int64)

    def pick(values: IntArray) -> IntArray:
        return np.append(values, -1).astype(np.int32)[where]

    placed = placement.rank >= 0
    sizes: dict[Dimension, int] = {}
    for one in DIMENSIONS:
        coordinate = placement.coordinates.get(one)
        if coordinate is not None and placed.any():
            sizes[one] = int(coordinate[placed].max()) + 1
    others = [one for one in _ORDER if sizes.get(one, 1) > 1 and one != dimension]
    second = others[0] if others else None
    rows = (others[1:3] if len(others) > 2 else others[:2])[:2]
    nowhere = np.full(len(ids), -1, dtype=np.int32)
    return GpuLook(
        dimension=dimension,
        group=pick(displayed_groups(placement, dimension)),
        rank=pick(placement.rank),
        second_dimension=second,
        second=nowhere if second is None else pick(placement.coordinates[second]),
        ticks=tuple(TickRow(one, pick(placement.coordinates[one]), sizes[one]) for one in rows),
    )


def first_cut(placement: Placement, wanted: Dimension) -> Dimension:
    """The dimension `wanted` where the job is cut by it, else the first that it is cut by: one colour for
    every GPU, or a colour each, says nothing."""
    cut = [one for one in DIMENSIONS if placement.coordinates[one].max(initial=0) > 0]
    return wanted if wanted in cut or not cut else cut[0]


def runs(groups: IntArray) -> list[tuple[int, int, int]]:
    """(group, first, end) of equal neighbours among at least one."""
    begins = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1) != 0)
    ends = np.append(begins[1:], len(groups))
    return list(zip(groups[begins].tolist(), begins.tolist(), ends.tolist(), strict=True))
