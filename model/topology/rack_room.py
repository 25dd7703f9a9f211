"""Free places in racks, given away one after the other."""

from __future__ import annotations

from model.topology.equipment import things_in
from model.topology.graph import Topology
from model.topology.racks import Thing, height_in_rack, rack_height, taken_units, units
from model.topology.types import ContainerKind


class RackRoom:
    """The racks of a topology, and what was promised in them."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._taken: dict[str, set[int]] = {}

    def take(self, thing: Thing) -> int | None:
        """The lowest U from its own on where a thing fits into the rack that is its parent, else the lowest.

        None where there is no place, or its parent is no rack of the topology.
        """
        if thing.u is None or thing.parent is None or not self._topology.has_container(thing.parent):
            return None
        rack = self._topology.container(thing.parent)
        if rack.kind is not ContainerKind.RACK:
            return None
        taken = self._taken.setdefault(rack.id, set(taken_units(things_in(self._topology, rack.id))))
        height = height_in_rack(thing)
        last = int(rack_height(rack) - height + 1 + 1e-9)
        order: list[int] = [*range(thing.u, last + 1), *range(1, min(thing.u, last + 1))]
        for u in order:
            mine = units(u, height)
            if taken.isdisjoint(mine):
                taken.update(mine)
                return u
        return None
