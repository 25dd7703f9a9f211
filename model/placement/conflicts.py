"""What is inconsistent in the user's colours, in words and with the GPUs that it concerns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from model.placement.grid import Grid
from model.placement.types import DIMENSIONS, Conflict, Dimension, IntArray
from model.text import capital, name_list, plural


@dataclass(frozen=True, slots=True)
class Colouring:
    """What one resolution was asked: per dimension the colour of each GPU (-1 = none), and who is painted."""

    names: tuple[str, ...]
    grid: Grid
    wanted: Mapping[Dimension, IntArray]
    painted: IntArray

    def signatures(self, gpus: IntArray) -> IntArray:
        """Wanted colours of `gpus`, shape (gpus, dimensions)."""
        return np.stack([self.wanted[dimension][gpus] for dimension in DIMENSIONS], axis=1)

    def mask(self, signature: IntArray) -> NDArray[np.bool_]:
        """The ranks that have all colours of a signature."""
        fits = np.ones(self.grid.world, dtype=np.bool_)
        for dimension, colour in zip(DIMENSIONS, signature, strict=True):
            if colour >= 0:
                fits &= self.grid.colours(dimension) == colour
        return fits

    def suits(self, gpus: IntArray, ranks: IntArray) -> NDArray[np.bool_]:
        """Whether each rank (-1 = none) has all colours of the GPU beside it."""
        fits = ranks >= 0
        for dimension in DIMENSIONS:
            wanted = self.wanted[dimension][gpus]
            fits &= (wanted < 0) | (self.grid.colours(dimension)[np.maximum(ranks, 0)] == wanted)
        return fits


def colour_name(dimension: Dimension, colour: int) -> str:
    """How a colour is called: "TP group 3", "stage 1", "replica 0"."""
    if dimension == "pp":
        return f"stage {colour}"
    if dimension == "dp":
        return f"replica {colour}"
    return f"{dimension.upper()} group {colour}"


def conflicts_of(rank: IntArray, base: IntArray, colouring: Colouring) -> tuple[Conflict, ...]:
    """Everything inconsistent: colours beyond the grid, contradictions, overfull groups, empty ranks."""
    found: list[Conflict] = []
    beyond: dict[tuple[Dimension, int], list[int]] = defaultdict(list)
    contradictory: dict[tuple[int, ...], list[int]] = defaultdict(list)
    crowded: dict[tuple[int, ...], list[int]] = defaultdict(list)
    possible: dict[tuple[int, ...], bool] = {}
    grid = colouring.grid
    unplaced = colouring.painted[rank[colouring.painted] < 0]
    for gpu, row in zip(unplaced.tolist(), colouring.signatures(unplaced), strict=True):
        outside = [
            (dimension, int(colour))
            for dimension, colour in zip(DIMENSIONS, row, strict=True)
            if colour >= grid.colour_count(dimension)
        ]
        for colour in outside:
            beyond[colour].append(gpu)
        if outside:
            continue
        signature = tuple(row.tolist())
        if signature not in possible:
            possible[signature] = bool(colouring.mask(row).any())
        (crowded if possible[signature] else contradictory)[signature].append(gpu)
    found += [_beyond(colour, gpus, colouring) for colour, gpus in beyond.items()]
    found += [_contradiction(signature, gpus, colouring) for signature, gpus in contradictory.items()]
    found += _overfull(crowded, base, colouring)
    return (*found, *_unplayed(rank, unplaced, colouring))


def _names(gpus: list[int], colouring: Colouring) -> tuple[str, ...]:
    return tuple(colouring.names[gpu] for gpu in gpus)


def _colours(signature: tuple[int, ...]) -> list[tuple[Dimension, int]]:
    return [(dimension, c) for dimension, c in zip(DIMENSIONS, signature, strict=True) if c >= 0]


def _beyond(colour: tuple[Dimension, int], gpus: list[int], colouring: Colouring) -> Conflict:
    dimension, number = colour
    count = colouring.grid.colour_count(dimension)
    what = colour_name(dimension, number)
    names = _names(gpus, colouring)
    return Conflict(
        "no such colour",
        f"There is no {what}",
        f"The job has {plural(count, _noun(dimension))}, numbered from 0, but "
        f"{name_list(names)} {'is' if len(names) == 1 else 'are'} coloured {what}.",
        names,
    )


def _noun(dimension: Dimension) -> str:
    return {"pp": "stage", "dp": "replica"}.get(dimension, f"{dimension.upper()} group")


def _contradiction(signature: tuple[int, ...], gpus: list[int], colouring: Colouring) -> Conflict:
    names = _names(gpus, colouring)
    who = f"{name_list(names)} {'is' if len(names) == 1 else 'are'}"
    colours = _colours(signature)
    for first, second in combinations(colours, 2):
        for owner, other in ((first, second), (second, first)):
            lies = np.unique(colouring.grid.colours(other[0])[colouring.grid.colours(owner[0]) == owner[1]])
            if other[1] in lies or len(lies) != 1:
                continue
            where = colour_name(other[0], int(lies[0]))
            return Conflict(
                "contradiction",
                f"{capital(colour_name(*owner))} is not in {colour_name(*other)}",
                f"{capital(colour_name(*owner))} is in {where}, but {who} coloured {colour_name(*other)}.",
                names,
            )
    listed = " and ".join(colour_name(*colour) for colour in colours)
    title = f"No rank is in {listed} at once"
    return Conflict("contradiction", title, f"{title}, but {who} coloured so.", names)


def _overfull(
    crowded: dict[tuple[int, ...], list[int]], base: IntArray, colouring: Colouring
) -> list[Conflict]:
    """GPUs whose colours exist but are taken: by the overfull group where there is one."""
    grid = colouring.grid
    held = base.copy()
    held[colouring.painted] = -1
    groups: dict[tuple[Dimension, int], None] = {}
    others: list[Conflict] = []
    for signature, gpus in crowded.items():
        full = [c for c in _colours(signature) if len(_claimants(*c, held, colouring)) > _places(grid, *c)]
        groups.update(dict.fromkeys(full))
        if not full:
            names = _names(gpus, colouring)
            listed = " and ".join(colour_name(*colour) for colour in _colours(signature))
            others.append(
                Conflict(
                    "place taken",
                    f"No free rank in {listed}",
                    f"Every rank in {listed} is held by another GPU, so {name_list(names)} "
                    f"{'finds' if len(names) == 1 else 'find'} no place.",
                    names,
                )
            )
    overfull: list[Conflict] = []
    for dimension, colour in groups:
        claimants = _claimants(dimension, colour, held, colouring)
        names = _names(claimants, colouring)
        what, places = colour_name(dimension, colour), _places(grid, dimension, colour)
        title = f"{capital(what)} has {plural(len(names), 'GPU')} for {plural(places, 'place')}"
        overfull.append(Conflict("group too full", title, f"{title}: {name_list(names, most=12)}.", names))
    return overfull + others


def _places(grid: Grid, dimension: Dimension, colour: int) -> int:
    return int((grid.colours(dimension) == colour).sum())


def _claimants(dimension: Dimension, colour: int, held: IntArray, colouring: Colouring) -> list[int]:
    """The GPUs that want a colour, or hold a rank with it because they are not painted, in world order."""
    holds = (held >= 0) & (colouring.grid.colours(dimension)[np.maximum(held, 0)] == colour)
    return [int(i) for i in np.flatnonzero(holds | (colouring.wanted[dimension] == colour))]


def _unplayed(rank: IntArray, unplaced: IntArray, colouring: Colouring) -> list[Conflict]:
    grid = colouring.grid
    played = np.zeros(grid.world, dtype=np.bool_)
    played[rank[rank >= 0]] = True
    empty = np.flatnonzero(~played)
    if not empty.size:
        return []
    where = [_place_name(grid, int(r)) for r in empty[:3]]
    more = f" and {empty.size - 3:,} more" if empty.size > 3 else ""
    title = f"{plural(int(empty.size), 'rank')} {'has' if empty.size == 1 else 'have'} no GPU"
    names = _names(unplaced.tolist(), colouring)
    return [Conflict("rank empty", title, f"{title}: {', '.join(where)}{more}.", names)]


def _place_name(grid: Grid, rank: int) -> str:
    dimensions = [d for d in DIMENSIONS if grid.size(d) > 1]
    colours = ", ".join(colour_name(d, int(grid.colours(d)[rank])) for d in dimensions)
    return f"rank {rank} ({colours})" if colours else f"rank {rank}"
