"""From the drawing's GPUs, a grid and the user's colours to who plays which rank.

An unpainted GPU keeps the rank of its place in world order. A painted one takes a rank that has all its
colours and that no unpainted GPU holds: its own where that fits, else one that shares as many of its own
coordinates as possible, else the lowest. What does not fit becomes a `Conflict` and is never mended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from model.errors import InputError
from model.placement.conflicts import Colouring, conflicts_of
from model.placement.grid import GROUP_KEYS, Grid
from model.placement.paint import Paint
from model.placement.types import DIMENSIONS, Dimension, IntArray, Placement
from model.text import name_list

EXACT_MATCHING_LIMIT = 4096
_DENSE = ("tp", "cp", "dp", "pp")


def world_of(world: Sequence[str] | None, available: Sequence[str]) -> tuple[str, ...]:
    """The GPUs that take part, in rank order (conventions 33).

    `world` is the job's list or None, `available` the ids of the GPUs that are not down, in document order.
    Raises InputError when the list names something else or names a GPU twice.
    """
    if world is None:
        return tuple(available)
    known = set(available)
    strange = [name for name in dict.fromkeys(world) if name not in known]
    if strange:
        raise InputError(f"the job's world names {name_list(strange)}, no GPU of the drawing that is up")
    if len(set(world)) != len(world):
        twice = next(name for name in world if list(world).count(name) > 1)
        raise InputError(f"the job's world names {twice} more than once; each GPU plays one rank")
    return tuple(world)


def resolve(gpus: Sequence[str], grid: Grid, paint: Paint) -> Placement:
    """Place the ranks of `grid` on `gpus` (in world order). Never raises; see `Placement.conflicts`."""
    names = tuple(gpus)
    colouring = _colouring(names, grid, paint)
    base = np.arange(len(names), dtype=np.int32)
    base[base >= grid.world] = -1
    painted = colouring.painted
    rank = base
    if painted.size:
        rank = base.copy()
        rank[painted] = -1
        _assign(rank, base, colouring)
    return Placement(
        gpus=names,
        world_size=grid.world,
        rank=rank,
        coordinates={axis: _by_gpu(values, rank) for axis, values in grid.coordinates.items()},
        groups=_groups(grid, rank),
        group_of={key: _by_gpu(grid.group_index(key), rank) for key in GROUP_KEYS},
        conflicts=conflicts_of(rank, base, colouring),
        shown=_shown(colouring, rank),
    )


def displayed_groups(placement: Placement, dimension: Dimension) -> IntArray:
    """The colour that each GPU shows, -1 = none: the painted one, also in conflict, else that of its rank."""
    return placement.shown[dimension]


def partners(placement: Placement, gpu: str) -> dict[Dimension, tuple[str, ...]]:
    """The other members of the GPU's group in each dimension, in group order."""
    place = placement.gpus.index(gpu) if gpu in placement.gpus else -1
    if place < 0 or placement.rank[place] < 0:
        return dict.fromkeys(DIMENSIONS, ())
    found: dict[Dimension, tuple[str, ...]] = {}
    for dimension in DIMENSIONS:
        members = placement.groups[dimension][placement.group_of[dimension][place]]
        found[dimension] = tuple(placement.gpus[i] for i in members if i != place)
    return found


def _colouring(names: tuple[str, ...], grid: Grid, paint: Paint) -> Colouring:
    wanted = {dimension: np.full(len(names), -1, dtype=np.int32) for dimension in DIMENSIONS}
    index = {name: i for i, name in enumerate(names)} if paint else {}
    painted: list[int] = []
    for name, colours in paint.items():
        place = index.get(name)
        if place is None:
            continue
        painted.append(place)
        for dimension, colour in colours.items():
            # Colours past the largest rank are beyond every grid; capped so that they fit the array.
            wanted[dimension][place] = min(colour, np.iinfo(np.int32).max)
    return Colouring(names, grid, wanted, np.array(sorted(painted), dtype=np.int32))


def _assign(rank: IntArray, base: IntArray, colouring: Colouring) -> None:
    """Fill `rank` of the painted GPUs in place."""
    painted = colouring.painted
    free = np.ones(colouring.grid.world, dtype=np.bool_)
    held = rank[rank >= 0]
    free[held] = False
    pool = free.copy()
    keeps = painted[colouring.suits(painted, base[painted])]
    rank[keeps] = base[keeps]
    free[base[keeps]] = False
    left = painted[rank[painted] < 0]
    _greedy(rank, base, left, free, colouring)
    if (rank[painted] < 0).any() and painted.size <= EXACT_MATCHING_LIMIT:
        _exact(rank, painted, pool, colouring)


def _greedy(
    rank: IntArray, base: IntArray, left: IntArray, free: NDArray[np.bool_], colouring: Colouring
) -> None:
    signatures, which = np.unique(colouring.signatures(left), axis=0, return_inverse=True)
    cells = [np.flatnonzero(free & colouring.mask(signature)) for signature in signatures]
    counts = np.array([len(own) for own in cells], dtype=np.int64)
    coordinates = np.stack([colouring.grid.coordinates[axis] for axis in _DENSE])
    which = which.reshape(-1)
    for position in np.argsort(counts[which], kind="stable"):
        gpu = left[position]
        own = cells[which[position]]
        own = own[free[own]]
        if not own.size:
            continue
        cell = own[0]
        if base[gpu] >= 0:
            same = (coordinates[:, own] == coordinates[:, base[gpu], None]).sum(axis=0)
            cell = own[np.argmax(same)]
        rank[gpu] = cell
        free[cell] = False


def _exact(rank: IntArray, painted: IntArray, pool: NDArray[np.bool_], colouring: Colouring) -> None:
    """Replace the greedy choice by a maximum matching where that places more GPUs."""
    signatures, which = np.unique(colouring.signatures(painted), axis=0, return_inverse=True)
    cells = [np.flatnonzero(pool & colouring.mask(signature)) for signature in signatures]
    rows = [cells[kind] for kind in which.reshape(-1)]
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    columns = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    possible = csr_array(
        (np.ones(columns.size, dtype=np.int8), columns.astype(np.int32), starts.astype(np.int32)),
        shape=(painted.size, colouring.grid.world),
    )
    matched = maximum_bipartite_matching(possible, perm_type="column")
    if (matched >= 0).sum() > (rank[painted] >= 0).sum():
        rank[painted] = matched


def _by_gpu(values: IntArray, rank: IntArray) -> IntArray:
    if rank.size == values.size and (rank >= 0).all():
        return values[rank]
    return np.where(rank >= 0, values[np.maximum(rank, 0)], np.int32(-1))


def _groups(grid: Grid, rank: IntArray) -> Mapping[str, tuple[IntArray, ...]]:
    player = np.full(grid.world, -1, dtype=np.int32)
    playing = np.flatnonzero(rank >= 0)
    player[rank[playing]] = playing
    whole = bool((player >= 0).all())
    found: dict[str, tuple[IntArray, ...]] = {}
    for key in GROUP_KEYS:
        members = player[grid.groups(key)]
        found[key] = tuple(members) if whole else tuple(row[row >= 0] for row in members)
    return found


def _shown(colouring: Colouring, rank: IntArray) -> Mapping[Dimension, IntArray]:
    shown: dict[Dimension, IntArray] = {}
    for dimension in DIMENSIONS:
        wanted = colouring.wanted[dimension]
        shown[dimension] = np.where(wanted >= 0, wanted, _by_gpu(colouring.grid.colours(dimension), rank))
    return shown
