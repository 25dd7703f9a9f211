"""What can stand where in a rack: U from 1 at the bottom, one thing in each.

A thing in a rack is a tray or a device whose parent is the rack; with `u` None it is in the rack, at a place
that is not known. Without a height of its own it takes 1 U.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from model.catalog.load import catalog
from model.topology.types import Container, ContainerKind, Device

Thing = Device | Container


def rack_height(rack: Container) -> float:
    """U of a rack: its own, else the catalogue's default."""
    return catalog().racks.height_u if rack.height_u is None else rack.height_u


def height_in_rack(thing: Thing) -> float:
    """U that a thing takes in a rack; 1 where its height is not known."""
    return thing.height_u or 1.0


def units(u: int, height_u: float) -> range:
    """The U that something of this height touches when its lowest is `u`."""
    return range(u, u + max(1, math.ceil(height_u - 1e-9)))


def units_of(thing: Thing) -> range:
    """The U that a thing in a rack touches; none where its place is not known."""
    return range(0) if thing.u is None else units(thing.u, height_in_rack(thing))


def written(taken: range) -> str:
    """ "U 12" or "U 12–15"."""
    return f"U {taken[0]}" if len(taken) == 1 else f"U {taken[0]}–{taken[-1]}"


def refusal(rack: Container, things: Iterable[Thing]) -> str | None:
    """Why these things cannot all stand in a rack as they say, None when they can."""
    height = rack_height(rack)
    where = rack.id if rack.id.startswith("rack") else f"rack {rack.id}"
    taken: dict[int, str] = {}
    placed = [(units_of(thing), thing) for thing in things if thing.u is not None]
    for mine, thing in sorted(placed, key=lambda pair: (pair[0][0], pair[1].id)):
        if mine[0] < 1:
            return f"{thing.id} would be in U {mine[0]} of {where}; the lowest is U 1"
        if mine[0] - 1 + height_in_rack(thing) > height + 1e-9:
            return f"{thing.id} would be in {written(mine)} of {where}, which has {height:g} U"
        for u in mine:
            if u in taken:
                first, second = sorted((taken[u], thing.id))
                return f"{first} and {second} would both be in U {u} of {where}"
            taken[u] = thing.id
    return None


def taken_units(things: Iterable[Thing]) -> dict[int, str]:
    """Which U are taken, and by what."""
    return {u: thing.id for thing in things for u in units_of(thing)}


def free_units(rack: Container, things: Iterable[Thing]) -> tuple[int, ...]:
    """The U of a rack with nothing in them, from the bottom."""
    taken = taken_units(things)
    return tuple(u for u in range(1, math.floor(rack_height(rack)) + 1) if u not in taken)


def lowest_free(rack: Container, things: Iterable[Thing], height_u: float, start: int = 1) -> int | None:
    """The lowest U from `start` on where something of this height fits; None when there is none."""
    free = set(free_units(rack, things))
    return next((u for u in sorted(free) if u >= start and free.issuperset(units(u, height_u))), None)


def rack_conflict(
    containers: Collection[Container],
    devices: Collection[Device],
    known: Mapping[str, Container],
    inside: Mapping[str, Collection[str]],
    known_devices: Mapping[str, Device],
) -> str | None:
    """Why new values of containers and devices do not fit into their racks; None when they do.

    `known` and `known_devices` are the things as they were, `inside` what lies in each container.
    """
    new_boxes = {box.id: box for box in containers}
    new_devices = {device.id for device in devices}

    def box_of(ident: str) -> Container:
        return new_boxes[ident] if ident in new_boxes else known[ident]

    arriving: dict[str, list[Thing]] = {}
    things: list[Thing] = [*containers, *devices]
    for thing in things:
        if thing.u is not None and thing.parent is not None:
            arriving.setdefault(thing.parent, []).append(thing)
    touched = [box.id for box in containers if box.kind is ContainerKind.RACK and box.id in inside]
    racks = (ident for ident in arriving if box_of(ident).kind is ContainerKind.RACK)
    for ident in dict.fromkeys((*touched, *racks)):
        staying: list[Thing] = [
            known[child] if child in known else known_devices[child]
            for child in inside.get(ident, ())
            if child not in new_boxes and child not in new_devices
        ]
        why = refusal(box_of(ident), [*staying, *arriving.get(ident, ())])
        if why:
            return why
    return None
