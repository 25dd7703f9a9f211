"""What is under a point of the viewport."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gui.canvas.curves import nearest, touching
from gui.canvas.levels import Level
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.scene_painter import Far, ScenePainter
from model.topology.footprint import CONTAINER_TITLE

LINK_REACH_PX = 5.0
EDGE_OUT_PX = 6.0
EDGE_IN_PX = 2.5
NEAR_PX = 3.0
"""Where devices are drawn as small cells, what is this close to one takes it and not its container."""


@dataclass(frozen=True, slots=True)
class Hit:
    """`row` of a device or container; of a strand or tier its number, and `half` which end's sending half."""

    kind: Literal["device", "strand", "container", "tier"]
    row: int
    ids: tuple[str, ...]
    half: int = 0
    on_edge: bool = False


def hit(painter: ScenePainter, x: float, y: float) -> Hit | None:
    """The device, strand or container under a point in scene units: what lies on top, by that order."""
    zoom = painter.camera.zoom
    if painter.far is not None:
        found = _far(painter, painter.far, x, y)
        if found is not None:
            return found
    device = _device(painter, x, y, EDGE_OUT_PX / zoom if painter.level >= Level.RANKS else 0.0)
    if device is not None and not device.on_edge:
        return device
    reach = LINK_REACH_PX / zoom
    strand = nearest(painter.seen, x, y, reach, painter.seen_box)
    if device is not None:
        return device
    if strand is not None:
        row = int(painter.shown[strand[0]])
        index = painter.scene.index
        ids = tuple(index.link_ids[member] for member in painter.strands.members(row))
        return Hit("strand", row, ids, strand[1])
    if painter.far is not None:
        return _far_group(painter, x, y)
    beside = _device(painter, x, y, NEAR_PX / zoom) if painter.level < Level.RANKS else None
    return replace(beside, on_edge=False) if beside is not None else _container(painter, x, y)


def _within(boxes: FloatArray, x: float, y: float) -> IntArray:
    """Numbers of the boxes (n, 4) that hold a point."""
    inside = (boxes[:, 0] <= x) & (x <= boxes[:, 2]) & (boxes[:, 1] <= y) & (y <= boxes[:, 3])
    return np.flatnonzero(inside).astype(np.int32)


def _far(painter: ScenePainter, far: Far, x: float, y: float) -> Hit | None:
    """The tier or tile under a point; tiles that are drawn as one are their group's."""
    index, plan, layout = painter.scene.index, far.plan, far.layout
    tiers = _within(layout.tier, x, y)
    if len(tiers):
        devices = np.flatnonzero(plan.tier_of == tiers[-1])
        return Hit("tier", int(tiers[-1]), tuple(index.device_ids[row] for row in devices.tolist()))
    tiles = _within(layout.tile, x, y)
    tiles = tiles[~layout.closed[plan.tile_group[tiles]]]
    if not len(tiles):
        return None
    row = int(plan.tiles[tiles[0]])
    return Hit("container", row, (index.container_ids[row],))


def _far_group(painter: ScenePainter, x: float, y: float) -> Hit | None:
    """The innermost pod or site around a point."""
    if painter.far is None:
        return None
    groups = _within(painter.far.layout.group[1:], x, y)
    if not len(groups):
        return None
    row = int(painter.far.plan.groups[1 + groups[-1]])
    return Hit("container", row, (painter.scene.index.container_ids[row],))


def _device(painter: ScenePainter, x: float, y: float, reach: float) -> Hit | None:
    index = painter.scene.index
    rows = painter.drawn
    if not len(rows):
        return None
    away = np.abs(index.centre[rows] - (x, y)) - index.half[rows]
    outside = away.max(axis=1)
    nearest_row = int(outside.argmin())
    if outside[nearest_row] > reach:
        return None
    best, distance = int(rows[nearest_row]), float(outside[nearest_row])
    inner = min(EDGE_IN_PX / painter.camera.zoom, float(index.half[best].min()) * 0.3) if reach else 0.0
    return Hit("device", best, (index.device_ids[best],), on_edge=reach > 0 and distance > -inner)


def _container(painter: ScenePainter, x: float, y: float) -> Hit | None:
    """The innermost tray around the point, or another container by its title."""
    index = painter.scene.index
    around = np.flatnonzero(
        (index.hull[:, 0] <= x) & (x <= index.hull[:, 2]) & (index.hull[:, 1] <= y) & (y <= index.hull[:, 3])
    )
    folding = painter.scene.folding
    around = around[~folding.hidden[around]]
    for row in around[np.argsort(-index.depth[around], kind="stable")].tolist():
        strip = max(CONTAINER_TITLE, 14 / painter.camera.zoom)
        in_title = y <= index.hull[row, 1] + strip
        if index.is_tray[row] or in_title or folding.is_folded(row):
            return Hit("container", row, (index.container_ids[row],))
    return None


def tray_at(painter: ScenePainter, x: float, y: float) -> str | None:
    """The innermost container around a point."""
    index = painter.scene.index
    around = np.flatnonzero(
        (index.hull[:, 0] <= x) & (x <= index.hull[:, 2]) & (index.hull[:, 1] <= y) & (y <= index.hull[:, 3])
    )
    if not len(around):
        return None
    return index.container_ids[int(around[index.depth[around].argmax()])]


def caught(painter: ScenePainter, box: tuple[float, float, float, float]) -> set[str]:
    """Ids of what a rubber band holds: devices whose centre is inside, trays and links wholly inside."""
    index = painter.scene.index
    x0, y0, x1, y1 = box
    if painter.far is not None:
        return _caught_far(painter, painter.far, box)
    inside = (
        (index.centre[:, 0] >= x0)
        & (index.centre[:, 0] <= x1)
        & (index.centre[:, 1] >= y0)
        & (index.centre[:, 1] <= y1)
    )
    folding = painter.scene.folding
    found = {index.device_ids[row] for row in np.flatnonzero(inside & (folding.device < 0))}
    hull = index.hull
    whole = (hull[:, 0] >= x0) & (hull[:, 1] >= y0) & (hull[:, 2] <= x1) & (hull[:, 3] <= y1)
    found.update(index.container_ids[row] for row in np.flatnonzero(whole & ~folding.hidden))
    if found:
        return found
    seen = np.flatnonzero(touching(painter.seen_box, box))
    points = painter.seen[seen]
    crossed = (
        (points[..., 0] >= x0) & (points[..., 0] <= x1) & (points[..., 1] >= y0) & (points[..., 1] <= y1)
    ).any(axis=1)
    for strand in painter.shown[seen[crossed]].tolist():
        found.update(index.link_ids[row] for row in painter.strands.members(strand))
    return found


def _caught_far(painter: ScenePainter, far: Far, box: tuple[float, float, float, float]) -> set[str]:
    """Tiles, tiers and lone devices whose middle is inside, and groups that are wholly inside."""
    index, plan, layout = painter.scene.index, far.plan, far.layout
    x0, y0, x1, y1 = box

    def middles(boxes: FloatArray) -> NDArray[np.bool_]:
        x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
        return (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)

    found = {index.container_ids[row] for row in plan.tiles[middles(layout.tile)].tolist()}
    lone = (plan.tile_of < 0) & (plan.tier_of < 0) & middles(index.rects())
    lone |= np.append(middles(layout.tier), False)[plan.tier_of]
    found.update(index.device_ids[row] for row in np.flatnonzero(lone).tolist())
    hull = layout.group[1:]
    whole = (hull[:, 0] >= x0) & (hull[:, 1] >= y0) & (hull[:, 2] <= x1) & (hull[:, 3] <= y1)
    found.update(index.container_ids[row] for row in plan.groups[1:][whole].tolist())
    return found


def swept_gpus(painter: ScenePainter, x0: float, y0: float, x1: float, y1: float) -> IntArray:
    """Rows of the GPUs that a straight stroke in scene units passes over, in the order of the stroke."""
    index = painter.scene.index
    rows = index.gpu_rows
    boxes = index.rects()[rows]
    if painter.far is not None:  # a stroke over a rack is one over all its GPUs
        tile = painter.far.plan.tile_of[rows]
        boxes[tile >= 0] = painter.far.layout.tile[tile[tile >= 0]]
    elif painter.scene.folded:
        into = painter.scene.folding.device[rows]
        boxes[into >= 0] = index.hull[into[into >= 0]]
    begin = np.array((x0, y0))
    way = np.array((x1, y1)) - begin
    with np.errstate(divide="ignore", invalid="ignore"):
        low = (boxes[:, :2] - begin) / way
        high = (boxes[:, 2:] - begin) / way
    still = way == 0
    outside = (boxes[:, :2] > begin) | (boxes[:, 2:] < begin)
    enter = np.where(still, np.where(outside, np.inf, -np.inf), np.minimum(low, high)).max(axis=1)
    leave = np.where(still, np.where(outside, -np.inf, np.inf), np.maximum(low, high)).min(axis=1)
    met = (enter <= leave) & (leave >= 0) & (enter <= 1)
    hit_rows = np.flatnonzero(met)
    order = np.argsort(enter[hit_rows], kind="stable")
    return rows[hit_rows[order]].astype(np.int32)
