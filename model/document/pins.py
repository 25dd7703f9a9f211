"""Layouts that leave pinned things where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.document.document import Document, Position
from model.document.edits import Move
from model.topology.footprint import CONTAINER_PADDING, CONTAINER_TITLE, FOOTPRINT, GRID
from model.topology.layout import layout_by_role
from model.topology.types import ContainerKind

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Arranged:
    """A layout as an edit, and how many of the devices that it is of are pinned and stay."""

    edit: Move
    kept: int = 0


def pinned_devices(document: Document) -> frozenset[str]:
    """Every device that is pinned, by itself or with a container around it."""
    topology, pins = document.topology, document.view.pins
    found = {ident for ident in pins if topology.has_device(ident)}
    for ident in pins - found:
        found.update(each for each in topology.descendants(ident) if topology.has_device(each))
    return frozenset(found & document.layout.keys())


def tidy_all(document: Document) -> Arranged:
    """Every device laid out by role; what is pinned stays."""
    return keep_pinned(document, layout_by_role(document.topology))


def keep_pinned(document: Document, positions: Mapping[str, Position]) -> Arranged:
    """A layout of some devices with the pinned ones at their old places.

    The outermost containers, and devices in none, are blocks. A block with a pinned device is moved so that
    it stands around it; all others move as those do on the whole, and make way for them to the right.
    """
    pinned = pinned_devices(document) & positions.keys()
    if not pinned:
        return Arranged(Move(dict(positions)))
    names = list(positions)
    new = np.array([positions[name] for name in names], dtype=np.float64).reshape(-1, 2)
    fixed = np.array([name in pinned for name in names])
    old = np.array([document.layout.get(name, positions[name]) for name in names]).reshape(-1, 2)
    block = _blocks(document, names)
    new += _on_grid(np.median(old[fixed] - new[fixed], axis=0))
    held = np.unique(block[fixed])
    for number in held.tolist():
        mine = block == number
        new[mine] += _on_grid(np.median((old - new)[mine & fixed], axis=0))
    new[fixed] = old[fixed]
    boxes = _boxes(document, names, new, block)
    new += _make_way(boxes, held)[block]
    return Arranged(
        Move({name: (x, y) for name, (x, y) in zip(names, new.tolist(), strict=True)}), len(pinned)
    )


def _blocks(document: Document, names: Sequence[str]) -> NDArray[np.int64]:
    """A number per device, equal for those in one outermost container."""
    topology = document.topology
    outermost: dict[str, str] = {}
    for box in topology.containers():
        around = box
        while around.parent is not None:
            around = topology.container(around.parent)
        outermost[box.id] = around.id
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for name in names:
        parent = topology.device(name).parent
        key = ("device", name) if parent is None else ("container", outermost[parent])
        found.append(numbers.setdefault(key, len(numbers)))
    return np.array(found, dtype=np.int64)


def _boxes(
    document: Document, names: Sequence[str], centres: FloatArray, block: NDArray[np.int64]
) -> FloatArray:
    """(blocks, 4): the room that each block takes, with that of the frames around it."""
    topology = document.topology
    half = np.array([FOOTPRINT[topology.device(name).kind] for name in names]).reshape(-1, 2) / 2
    boxes = np.tile((np.inf, np.inf, -np.inf, -np.inf), (int(block.max()) + 1, 1))
    np.minimum.at(boxes[:, :2], block, centres - half)
    np.maximum.at(boxes[:, 2:], block, centres + half)
    above, below = np.zeros(len(boxes)), np.zeros(len(boxes))
    frames = [_frames(document, name) for name in names]
    np.maximum.at(above, block, [depth * CONTAINER_TITLE for depth, _ in frames])
    np.maximum.at(below, block, [CONTAINER_TITLE if tray else 0.0 for _, tray in frames])
    padding = above * (CONTAINER_PADDING / CONTAINER_TITLE)
    boxes[:, :2] -= padding[:, None]
    boxes[:, 2:] += padding[:, None]
    boxes[:, 1] -= above
    boxes[:, 3] += below
    return boxes


def _frames(document: Document, name: str) -> tuple[int, bool]:
    """Of a device how many frames are around it, and whether one is a tray, whose title may stand below."""
    topology = document.topology
    depth, parent, tray = 0, topology.device(name).parent, False
    while parent is not None:
        box = topology.container(parent)
        depth, parent, tray = depth + 1, box.parent, tray or box.kind is ContainerKind.TRAY
    return depth, tray


def _make_way(boxes: FloatArray, held: NDArray[np.int64]) -> FloatArray:
    """(blocks, 2): how far blocks have to move so that none stands on one of those held, or on one that had
    to move before it.
    """
    shift = np.zeros((len(boxes), 2))
    taken, still = boxes[held], np.zeros((0, 4))
    others = np.setdiff1d(np.arange(len(boxes)), held)
    for number in others[np.lexsort((boxes[others, 0], boxes[others, 1]))].tolist():
        box = boxes[number].copy()
        while True:
            obstacles = np.vstack((taken, still)) if shift[number, 0] else taken
            over = (obstacles[:, 0] < box[2]) & (obstacles[:, 2] > box[0])
            over &= (obstacles[:, 1] < box[3]) & (obstacles[:, 3] > box[1])
            if not over.any():
                break
            aside = float(np.ceil((obstacles[over, 2].max() + 1.0 - box[0]) / GRID) * GRID)
            box[[0, 2]] += aside
            shift[number, 0] += aside
        if shift[number, 0]:
            taken = np.vstack((taken, box))
        else:
            still = np.vstack((still, box))
    return shift


def _on_grid(way: FloatArray) -> FloatArray:
    rounded: FloatArray = np.round(way / GRID) * GRID
    return rounded
