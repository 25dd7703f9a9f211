"""Putting selected things in line: align, distribute, tidy up. What is in a container moves with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

from model.document.clipboard import copy
from model.document.document import Document, Position
from model.document.edits import Move
from model.document.pins import Arranged, keep_pinned, pinned_devices
from model.errors import EditRefused
from model.topology.footprint import CONTAINER_PADDING, CONTAINER_TITLE, FOOTPRINT, GRID
from model.topology.layout import layout_parts
from model.topology.types import Container, Device

Thing = TypeVar("Thing", Device, Container)


class Edge(StrEnum):
    """What blocks are aligned by."""

    LEFT = "left"
    CENTRE = "centre"
    RIGHT = "right"
    TOP = "top"
    MIDDLE = "middle"
    BOTTOM = "bottom"


class Axis(StrEnum):
    """The direction in which blocks are spread."""

    ACROSS = "across"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Block:
    """A device, or a container with all in it, as it stands on the drawing (scene units)."""

    ids: tuple[str, ...]
    left: float
    top: float
    right: float
    bottom: float

    def span(self, axis: Axis) -> tuple[float, float]:
        """From where to where along an axis."""
        return (self.left, self.right) if axis is Axis.ACROSS else (self.top, self.bottom)


def align(document: Document, ids: Iterable[str], edge: Edge) -> Arranged:
    """Bring the selected blocks to one line: the outermost edge, or the middle of them all; where some are
    pinned, that of those, and they stay.

    Raises `EditRefused` with fewer than two blocks, or when all are pinned.
    """
    found = blocks(document, ids)
    if len(found) < 2:
        raise EditRefused("Select two or more devices or containers to align them.")
    pinned = _pinned(document, found)
    axis = Axis.ACROSS if edge in (Edge.LEFT, Edge.CENTRE, Edge.RIGHT) else Axis.DOWN
    spans = [block.span(axis) for block in found]
    leading = [span for span, fixed in zip(spans, pinned, strict=True) if fixed] or spans
    least, most = min(low for low, _ in leading), max(high for _, high in leading)
    shifts = []
    for (low, high), fixed in zip(spans, pinned, strict=True):
        if fixed:
            shifts.append(0.0)
        elif edge in (Edge.LEFT, Edge.TOP):
            shifts.append(least - low)
        elif edge in (Edge.RIGHT, Edge.BOTTOM):
            shifts.append(most - high)
        else:
            shifts.append((least + most - low - high) / 2)
    return Arranged(_shifted(document, found, shifts, axis), sum(pinned))


def distribute(document: Document, ids: Iterable[str], axis: Axis) -> Arranged:
    """Equal gaps between the selected blocks; the first and the last stay where they are, and so do pinned
    ones: between them the gaps are equal.

    Raises `EditRefused` with fewer than three blocks, or when all are pinned.
    """
    found = sorted(blocks(document, ids), key=lambda block: sum(block.span(axis)))
    if len(found) < 3:
        raise EditRefused("Select three or more devices or containers to distribute them.")
    pinned = _pinned(document, found)
    spans = [block.span(axis) for block in found]
    last = len(spans) - 1
    fixed = [number for number, stays in enumerate(pinned) if stays or number in (0, last)]
    shifts = [0.0] * len(spans)
    for first, end in pairwise(fixed):
        inner = spans[first + 1 : end]
        room = spans[end][0] - spans[first][1] - sum(high - low for low, high in inner)
        gap, at = room / (len(inner) + 1), spans[first][1]
        for number, (low, high) in enumerate(inner, start=first + 1):
            shifts[number] = at + gap - low
            at += gap + high - low
    return Arranged(_shifted(document, found, shifts, axis), sum(pinned))


def _pinned(document: Document, found: Sequence[Block]) -> list[bool]:
    """Which blocks have a pinned device; refused when all do."""
    fixed = pinned_devices(document)
    pinned = [not fixed.isdisjoint(block.ids) for block in found]
    if all(pinned):
        raise EditRefused("All that is selected is pinned; unpin some of it first.")
    return pinned


def tidy(document: Document, ids: Iterable[str]) -> Arranged:
    """Lay the selected devices out by role, from where their upper left corner is; the rest stays, and so
    does what is pinned.

    Raises `EditRefused` with fewer than two devices.
    """
    part = copy(document, ids)
    if len(part.devices) < 2:
        raise EditRefused("Select two or more devices, or a container, to tidy them up.")
    inside = {box.id for box in part.containers}
    devices = [_loose(device, inside) for device in part.devices]
    boxes = [_loose(box, inside) for box in part.containers]
    new = layout_parts(devices, part.links, boxes)
    old = part.positions or new
    kinds = {device.id: device.kind for device in devices}

    def corner(positions: Iterable[tuple[str, Position]]) -> Position:
        known = list(positions)
        return (
            min(x - FOOTPRINT[kinds[ident]][0] / 2 for ident, (x, _) in known),
            min(y - FOOTPRINT[kinds[ident]][1] / 2 for ident, (_, y) in known),
        )

    (old_x, old_y), (new_x, new_y) = corner(old.items()), corner(new.items())
    dx, dy = _on_grid(old_x - new_x), _on_grid(old_y - new_y)
    return keep_pinned(document, {ident: (x + dx, y + dy) for ident, (x, y) in new.items()})


def blocks(document: Document, ids: Iterable[str]) -> list[Block]:
    """The selected containers and the selected devices outside of them, in document order."""
    topology, chosen = document.topology, set(ids)
    around = {box.id: box.parent for box in topology.containers()}

    def held(parent: str | None) -> bool:
        while parent is not None:
            if parent in chosen:
                return True
            parent = around[parent]
        return False

    found: list[Block] = []
    for box in topology.containers():
        if box.id in chosen and not held(box.parent):
            block = _container_block(document, box.id)
            if block is not None:
                found.append(block)
    found.extend(
        _device_block(document, device.id)
        for device in topology.devices()
        if device.id in chosen and not held(device.parent) and device.id in document.layout
    )
    return found


def _device_block(document: Document, ident: str) -> Block:
    x, y = document.layout[ident]
    width, height = FOOTPRINT[document.topology.device(ident).kind]
    return Block((ident,), x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _container_block(document: Document, ident: str) -> Block | None:
    """With the room that its frame and title take; None where nothing in it has a place."""
    topology = document.topology
    parts: list[Block] = []
    for child in topology.children(ident):
        if topology.has_container(child):
            inner = _container_block(document, child)
            if inner is not None:
                parts.append(inner)
        elif child in document.layout:
            parts.append(_device_block(document, child))
    if not parts:
        return None
    return Block(
        tuple(each for part in parts for each in part.ids),
        min(part.left for part in parts) - CONTAINER_PADDING,
        min(part.top for part in parts) - CONTAINER_PADDING - CONTAINER_TITLE,
        max(part.right for part in parts) + CONTAINER_PADDING,
        max(part.bottom for part in parts) + CONTAINER_PADDING,
    )


def _shifted(document: Document, found: Sequence[Block], shifts: Sequence[float], axis: Axis) -> Move:
    positions: dict[str, Position | None] = {}
    for block, shift in zip(found, shifts, strict=True):
        for ident in block.ids:
            x, y = document.layout[ident]
            positions[ident] = (x + shift, y) if axis is Axis.ACROSS else (x, y + shift)
    return Move(positions)


def _loose(thing: Thing, inside: set[str]) -> Thing:
    """Without a parent that is not laid out with it."""
    return thing if thing.parent is None or thing.parent in inside else replace(thing, parent=None)


def _on_grid(value: float) -> float:
    return round(value / GRID) * GRID
