"""The groups of a placement that run a need: rows of one size, with the stage of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from model.job.exchange import IntArray
from model.job.need import Members
from model.placement.types import Placement


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of one size: `members` (n, size), `stages` (n,)."""

    members: IntArray
    stages: IntArray

    def at(self, stages: list[int]) -> Groups:
        """Those of some stages."""
        chosen = np.isin(self.stages, stages)
        return Groups(self.members[chosen], self.stages[chosen])


def groups_of(
    placement: Placement, key: str, members: Members = "group", each: int = 1
) -> tuple[Groups, ...]:
    """The groups of a kind that have someone to talk to, one entry for each size.

    Sizes differ only where ranks are not played. `each`: replicas in one part of them (HSDP).
    """
    if members == "ring":
        return tuple(_ring(groups) for groups in groups_of(placement, key))
    if members == "group":
        return tuple(_by_size(placement, placement.groups[key]))
    axis = "edp" if key == "edp" else "dp"
    coordinate = placement.coordinates[axis]
    if members == "shards":
        return tuple(_by_size(placement, _split(placement.groups[key], coordinate // each)))
    return tuple(_by_size(placement, _split(placement.groups[axis], coordinate % each)))


def _by_size(placement: Placement, groups: Iterable[IntArray]) -> Iterator[Groups]:
    by_size: dict[int, list[IntArray]] = defaultdict(list)
    for group in groups:
        if len(group) > 1:
            by_size[len(group)].append(group)
    stage = placement.coordinates["pp"]
    for size in sorted(by_size, reverse=True):
        members = np.stack(by_size[size])
        yield Groups(members, stage[members[:, 0]])


def _ring(groups: Groups) -> Groups:
    """[from, to] of each member and the next one, cyclic."""
    members = groups.members
    following = np.roll(members, -1, axis=1)
    pairs = np.stack([members, following], axis=2).reshape(-1, 2)
    return Groups(pairs, np.repeat(groups.stages, members.shape[1]))


def _split(groups: Iterable[IntArray], label: IntArray) -> Iterator[IntArray]:
    """The members of each group that share a label, in group order."""
    for group in groups:
        labels = label[group]
        for value in np.unique(labels):
            yield group[labels == value]


def pipelines(placement: Placement, stages: int) -> IntArray:
    """Who plays each stage of each pipeline, shape (pipelines, stages); -1 = nobody."""
    groups, stage = placement.groups["pp"], placement.coordinates["pp"]
    players = np.full((len(groups), stages), -1, dtype=np.int32)
    for row, group in enumerate(groups):
        players[row, stage[group]] = group
    return players


def pairs(players: IntArray, source: int, target: int) -> IntArray:
    """[from, to] of every pipeline that has both stages."""
    found = players[:, [source, target]]
    return found[(found >= 0).all(axis=1)]
