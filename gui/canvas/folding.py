"""Folded containers: shown as one box with what they hold, their links bundled at its edge."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.canvas.scene_index import IntArray, SceneIndex


@dataclass(frozen=True, slots=True)
class Folding:
    """Where things went: `device` (n,) and `container` (c,) give the row of the outermost folded container
    around each, or -1; a folded container that is drawn stands for itself."""

    device: IntArray
    container: IntArray

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """(c,) containers that a folded one around them hides."""
        return (self.container >= 0) & (self.container != np.arange(len(self.container)))

    def is_folded(self, row: int) -> bool:
        """Whether a container is drawn as one box."""
        return int(self.container[row]) == row


def fold(index: SceneIndex, folded: Set[str]) -> Folding:
    """How a drawing looks with some containers folded, by id."""
    count = len(index.containers)
    into = np.full(count + 1, -1, dtype=np.int32)
    chosen = np.zeros(count, dtype=bool)
    chosen[[index.container_row[ident] for ident in folded if ident in index.container_row]] = True
    if chosen.any():
        for depth in range(int(index.depth.max(initial=0)) + 1):
            level = np.flatnonzero(index.depth == depth)
            parent = index.container_parent[level]
            above = np.where(parent >= 0, into[parent], -1)
            into[level] = np.where(above >= 0, above, np.where(chosen[level], level, -1))
    return Folding(into[index.parent].astype(np.int32), into[:count])


def around(index: SceneIndex, ids: Iterable[str]) -> set[str]:
    """Ids of the containers around some devices, links and containers, at any depth."""
    found: set[str] = set()
    for ident in ids:
        rows = []
        if ident in index.device_row:
            rows = [int(index.parent[index.device_row[ident]])]
        elif ident in index.link_row:
            rows = index.parent[index.ends[index.link_row[ident]]].tolist()
        elif ident in index.container_row:
            rows = [int(index.container_parent[index.container_row[ident]])]
        for row in rows:
            while row >= 0:
                found.add(index.container_ids[row])
                row = int(index.container_parent[row])
    return found
