"""Units and heights in racks of hosts and switches, as far as they fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from model.files.importing import Drawing, Reading
from model.files.imports.cabling import MOST_NAMED, Box
from model.topology.racks import height_in_rack, rack_height, units_of, written
from model.topology.types import Container, ContainerKind, Device

SomeThing = TypeVar("SomeThing", Device, Container)
_TALLEST = 100.0  # U that a rack is taken to have where something stands higher than usual


def with_places(reading: Reading, drawing: Drawing, boxes: Mapping[str, Box]) -> Drawing:
    """The drawing with what `boxes` (by id of device or tray) say of units and heights.

    Two things in one unit, and units that no rack has, are said, and the second thing gets no unit. A rack
    gets the height that what stands in it needs.
    """
    if all(box.u is None and box.height_u is None for box in boxes.values()):
        return drawing
    racks = {each.id: each for each in drawing.containers if each.kind is ContainerKind.RACK}
    filled = _Racks(reading, racks)
    containers = [filled.placed(each, boxes.get(each.id)) for each in drawing.containers]
    devices = [filled.placed(each, boxes.get(each.id)) for each in drawing.devices]
    return replace(
        drawing,
        devices=tuple(devices),
        containers=tuple(filled.racks.get(each.id, each) for each in containers),
    )


class _Racks:
    def __init__(self, reading: Reading, racks: dict[str, Container]) -> None:
        self.racks = racks
        self._reading = reading
        self._taken: dict[tuple[str, int], str] = {}
        self._odd = 0

    def placed(self, thing: SomeThing, box: Box | None) -> SomeThing:
        """The thing with its unit, or without one where that cannot be."""
        if box is None:
            return thing
        standing = replace(thing, u=box.u, height_u=box.height_u)
        rack = self.racks.get(standing.parent or "")
        mine = units_of(standing)
        if rack is None or not mine:
            return replace(standing, u=None)
        top = mine[0] - 1 + height_in_rack(standing)
        other = next((self._taken[rack.id, u] for u in mine if (rack.id, u) in self._taken), "")
        if other or mine[0] < 1 or top > _TALLEST:
            why = f"where {other} is" if other else "which no rack has"
            self._say(f"{thing.id} would be in {written(mine)} of rack {rack.id}, {why}", box)
            return replace(standing, u=None)
        self._taken.update(((rack.id, u), thing.id) for u in mine)
        if top > rack_height(rack):
            self._reading.inferred("Racks are as high as what stands in them.")
            self.racks[rack.id] = replace(rack, height_u=float(top))
        return standing

    def _say(self, text: str, box: Box) -> None:
        self._odd += 1
        what = text if self._odd <= MOST_NAMED else "Others would be in units that are taken or not there"
        self._reading.contradictory(f"{what}; it got no unit.", *((box.line,) if box.line else ()))
