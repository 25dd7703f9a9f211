"""Ranks, their coordinates and their communicator groups (traffic_model §4.1, conventions 32).

The order string names the axes from the smallest stride to the largest. The *dense* grid has the axes tp,
cp, dp, pp; the *expert* grid has etp, ep, edp, pp, where etp and edp stand where tp and dp stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from model.errors import JobError
from model.placement.types import Dimension, IntArray

GroupKey = Literal["tp", "cp", "ep", "pp", "dp", "dp-cp", "edp", "etp"]
GROUP_KEYS: tuple[GroupKey, ...] = ("tp", "cp", "ep", "pp", "dp", "dp-cp", "edp", "etp")
AXES = ("tp", "cp", "ep", "dp", "pp")

_DENSE_MASKS: dict[str, tuple[str, ...]] = {
    "tp": ("tp",), "cp": ("cp",), "pp": ("pp",), "dp": ("dp",), "dp-cp": ("dp", "cp"),
}  # fmt: skip
_EXPERT_MASKS: dict[str, tuple[str, ...]] = {"ep": ("ep",), "edp": ("edp",), "etp": ("etp",)}


def parse_order(order: str, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The five axes in the order of `order`; an axis of size 1 may be left out and is appended.

    `sizes` has the sizes of tp, cp, ep, dp, pp. Raises JobError on unknown, repeated or missing names.
    """
    names = order.split("-")
    unknown = [name for name in names if name not in AXES]
    if unknown:
        raise JobError(
            f"order '{order}' names '{unknown[0]}'; it is made of {', '.join(AXES)} joined by '-', "
            "for example tp-cp-ep-dp-pp"
        )
    repeated = [name for name in AXES if names.count(name) > 1]
    if repeated:
        raise JobError(f"order '{order}' names {repeated[0]} more than once; each axis stands once")
    missing = [name for name in AXES if name not in names]
    large = [name for name in missing if sizes[name] != 1]
    if large:
        raise JobError(
            f"order '{order}' leaves out {large[0]}, whose size is {sizes[large[0]]}; "
            f"write {'-'.join((*names, *missing))}, for example"
        )
    return (*names, *missing)


@dataclass(frozen=True)
class Grid:
    """The grid of a job. Raises JobError when the order or the expert grid does not fit the sizes.

    Every array is over ranks 0 … world − 1. Groups are sorted by their first rank and their members
    ascend, as Megatron numbers them.
    """

    tp: int
    cp: int
    ep: int
    etp: int
    pp: int
    dp: int
    order: str = "tp-cp-ep-dp-pp"

    def __post_init__(self) -> None:
        self.axes  # noqa: B018 (raises here rather than at first use)
        replicas = self.tp * self.cp * self.dp
        if replicas % (self.etp * self.ep):
            raise JobError(
                f"etp × ep = {self.etp} × {self.ep} does not divide tp × cp × dp = {replicas}, "
                "out of which the experts' groups are cut"
            )

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.tp * self.cp * self.pp * self.dp

    @property
    def edp(self) -> int:
        """Replicas of each expert (traffic_model §4.1)."""
        return self.tp * self.cp * self.dp // (self.etp * self.ep)

    def size(self, key: str) -> int:
        """Members of a group, for each of GROUP_KEYS."""
        if key == "dp-cp":
            return self.dp * self.cp
        return int(getattr(self, key))

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The five axes, smallest stride first."""
        sizes = {"tp": self.tp, "cp": self.cp, "ep": self.ep, "dp": self.dp, "pp": self.pp}
        return parse_order(self.order, sizes)

    @cached_property
    def dense_axes(self) -> tuple[str, ...]:
        """Axes of the dense grid, smallest stride first."""
        return tuple(axis for axis in self.axes if axis != "ep")

    @cached_property
    def expert_axes(self) -> tuple[str, ...]:
        """Axes of the expert grid, smallest stride first."""
        names = {"tp": "etp", "dp": "edp"}
        return tuple(names.get(axis, axis) for axis in self.axes if axis != "cp")

    @cached_property
    def coordinates(self) -> Mapping[str, IntArray]:
        """Coordinates of every rank: tp, cp, dp, pp (dense grid), etp, ep, edp (expert grid)."""
        found = self._coordinates(self.expert_axes)
        found.update(self._coordinates(self.dense_axes))
        return found

    @cached_property
    def same_stages(self) -> bool:
        """Whether both grids put every rank into the same pipeline stage and PP group."""
        dense = self._group_index(self.dense_axes, ("pp",))
        expert = self._group_index(self.expert_axes, ("pp",))
        stages = self._coordinates(self.expert_axes)["pp"]
        return bool(np.array_equal(dense, expert) and np.array_equal(stages, self.coordinates["pp"]))

    def group_index(self, key: str) -> IntArray:
        """The index of each rank's group, shape (world,)."""
        found = self._indices.get(key)
        if found is None:
            if key in _DENSE_MASKS:
                found = self._group_index(self.dense_axes, _DENSE_MASKS[key])
            else:
                found = self._group_index(self.expert_axes, _EXPERT_MASKS[key])
            self._indices[key] = found
        return found

    def groups(self, key: str) -> IntArray:
        """All groups of a kind, shape (groups, members): ranks in communicator order."""
        order = np.argsort(self.group_index(key), kind="stable").astype(np.int32)
        return order.reshape(-1, self.size(key))

    def colours(self, dimension: Dimension) -> IntArray:
        """What a user paints with, per rank: the group of tp, cp, ep; the stage of pp; the replica of dp."""
        if dimension in ("pp", "dp"):
            return self.coordinates[dimension]
        return self.group_index(dimension)

    def colour_count(self, dimension: Dimension) -> int:
        """Number of colours of a dimension."""
        if dimension in ("pp", "dp"):
            return self.size(dimension)
        return self.world // self.size(dimension)

    @cached_property
    def _indices(self) -> dict[str, IntArray]:
        return {}

    def _coordinates(self, axes: tuple[str, ...]) -> dict[str, IntArray]:
        ranks = np.arange(self.world, dtype=np.int32)
        found: dict[str, IntArray] = {}
        stride = 1
        for axis in axes:
            size = self.size(axis)
            found[axis] = (ranks // stride) % size
            stride *= size
        return found

    def _group_index(self, axes: tuple[str, ...], members: tuple[str, ...]) -> IntArray:
        coordinates = self._coordinates(axes)
        index = np.zeros(self.world, dtype=np.int32)
        stride = 1
        for axis in axes:
            if axis not in members:
                index += coordinates[axis] * np.int32(stride)
                stride *= self.size(axis)
        return index
