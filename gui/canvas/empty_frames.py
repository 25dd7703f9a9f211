"""Containers with nothing in them: they stand where a hand put them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gui.canvas.scene_index import SceneIndex
from model.document.document import Position


def movable_frames(index: SceneIndex, ids: Iterable[str]) -> dict[str, Position]:
    """The centres of the empty containers that go along when `ids` are moved.

    One in a container with devices has no place of its own, as long as no hand gave it one.
    """
    rows = np.array([index.container_row[ident] for ident in ids if ident in index.container_row], np.int32)
    if not len(rows):
        return {}
    count = len(index.containers)
    held = index.count_inside(np.ones(len(index.devices), dtype=bool)) > 0
    nested = np.bincount(index.container_parent[index.container_parent >= 0], minlength=count) > 0
    chosen, inside = np.zeros(count + 1, dtype=bool), np.zeros(count + 1, dtype=bool)
    chosen[rows] = inside[rows] = True
    for depth in range(1, int(index.depth.max(initial=0)) + 1):
        level = np.flatnonzero(index.depth == depth)
        inside[level] |= inside[index.container_parent[level]]
    lone = ~np.append(held, False)[index.container_parent]
    found: dict[str, Position] = {}
    for row in np.flatnonzero(inside[:-1] & ~held & ~nested).tolist():
        ident = index.container_ids[row]
        if chosen[row] or lone[row] or ident in index.spots:
            x0, y0, x1, y1 = index.hull[row].tolist()
            found[ident] = ((x0 + x1) / 2, (y0 + y1) / 2)
    return found
