"""Groups cut into parts, one per scale-up domain (traffic_model §5.1c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.traffic.arrays import BoolArray, IndexArray, any_by_row
from model.traffic.types import Fabric


@dataclass(frozen=True, slots=True)
class Parts:
    """Groups cut into parts, one per scale-up domain, in the order in which members first meet the domains.

    `member` lists the devices of all groups, by part and inside a part in group order. Part p belongs to
    group `group[p]` and holds member[first[p]] … member[first[p] + size[p] − 1]; the parts of group g are
    group_first[g] … group_first[g] + group_size[g] − 1. `part_of`, `place_in` (groups, size): of each member.
    """

    member: IndexArray
    group: IndexArray
    first: IndexArray
    size: IndexArray
    group_first: IndexArray
    group_size: IndexArray
    part_of: IndexArray
    place_in: IndexArray

    @property
    def channels(self) -> IndexArray:
        """(groups,): members of the smallest part."""
        if not len(self.size):
            return np.zeros(len(self.group_size), np.int64)
        return np.minimum.reduceat(self.size, self.group_first)

    @property
    def largest(self) -> IndexArray:
        """(groups,): members of the largest part."""
        if not len(self.size):
            return np.zeros(len(self.group_size), np.int64)
        return np.maximum.reduceat(self.size, self.group_first)

    @property
    def equal(self) -> BoolArray:
        """(groups,): whether all parts have as many members."""
        same: BoolArray = self.channels == self.largest
        return same

    @property
    def index(self) -> IndexArray:
        """(parts,): the number of each part in its group."""
        return np.arange(len(self.group), dtype=np.int64) - self.group_first[self.group]

    def inside(self, source: IndexArray, target: IndexArray, group: IndexArray) -> BoolArray:
        """(groups,): whether all pairs of places source[i], target[i] of group[i] lie in one part each."""
        apart = self.part_of[group, source] != self.part_of[group, target]
        return ~any_by_row(group, apart, len(self.group_size))


def cut_into_parts(fabric: Fabric, groups: IndexArray) -> Parts:
    """The parts of `groups` (n, size), device indices."""
    rows, size = groups.shape
    devices = len(fabric.device_ids)
    domain = fabric.domain[groups].astype(np.int64)
    domain = np.where(domain >= 0, domain, devices + groups)
    row = np.repeat(np.arange(rows, dtype=np.int64), size)
    place = np.tile(np.arange(size, dtype=np.int64), rows)
    _, first, inverse = np.unique(
        row * (2 * devices) + domain.ravel(), return_index=True, return_inverse=True
    )
    # `first` is the flat place of the member that meets the domain first, so sorting by it orders the parts.
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    part = number[inverse]
    by_part = np.lexsort((place, part))
    part_size = np.bincount(part, minlength=len(first))
    part_first = np.cumsum(part_size) - part_size
    place_in = np.empty(rows * size, np.int64)
    place_in[by_part] = np.arange(rows * size) - part_first[part[by_part]]
    group = row[first[order]]
    group_size = np.bincount(group, minlength=rows)
    return Parts(
        member=groups.ravel()[by_part],
        group=group,
        first=part_first,
        size=part_size,
        group_first=np.cumsum(group_size) - group_size,
        group_size=group_size,
        part_of=part.reshape(rows, size),
        place_in=place_in.reshape(rows, size),
    )
