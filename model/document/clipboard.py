"""Copy and paste: a piece of a drawing with its internal links, and fresh readable ids where it lands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from model.document.document import Document, Position
from model.document.edits import AddParts
from model.topology.graph import Topology
from model.topology.rack_room import RackRoom
from model.topology.types import Container, Device, Link

Each = TypeVar("Each", Device, Container)

_NUMBERED = re.compile(r"^(.*?)(\d+)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fragment:
    """Devices, the links among them, the containers that are copied with them, and positions."""

    devices: tuple[Device, ...] = ()
    links: tuple[Link, ...] = ()
    containers: tuple[Container, ...] = ()
    positions: Mapping[str, Position] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to paste."""
        return not self.devices and not self.containers


def copy(document: Document, ids: Iterable[str]) -> Fragment:
    """The named devices and containers (with all in them) and every link with both ends among them.

    A container whose devices are all named comes along, so that a node caught by the rubber band stays one.
    Ids of links and unknown ids are passed over.
    """
    topology = document.topology
    devices, containers = _expand(topology, set(ids))
    links: dict[str, Link] = {}
    for ident in devices:
        for link in topology.links_of(ident):
            if link.a in devices and link.b in devices:
                links[link.id] = link
    order = topology.places_of("link", tuple(links))
    return Fragment(
        tuple(device for device in topology.devices() if device.id in devices),
        tuple(link for _, link in sorted(zip(order, links.values(), strict=True), key=lambda pair: pair[0])),
        tuple(container for container in topology.containers() if container.id in containers),
        {ident: document.layout[ident] for ident in devices if ident in document.layout},
    )


def paste(document: Document, fragment: Fragment, offset: Position) -> AddParts:
    """The edit that adds the fragment, moved by `offset` scene units, with ids that are free."""
    return paste_all(document, fragment, (offset,))[0]


def paste_all(
    document: Document, fragment: Fragment, offsets: Sequence[Position]
) -> tuple[AddParts, tuple[Mapping[str, str], ...]]:
    """The edit that adds the fragment once for each offset, and for each copy the new ids by the old ones."""
    names, room = _Names(document.topology), RackRoom(document.topology)
    given = tuple(_new_names(names, fragment) for _ in offsets)
    copies = [
        _copied(document.topology, room, fragment, new, offset)
        for new, offset in zip(given, offsets, strict=True)
    ]
    positions = {ident: at for one in copies for ident, at in one.positions.items()}
    edit = AddParts(
        tuple(device for one in copies for device in one.devices),
        tuple(link for one in copies for link in one.links),
        tuple(box for one in copies for box in one.containers),
        positions,
    )
    return edit, given


def _copied(
    topology: Topology, room: RackRoom, fragment: Fragment, names: Mapping[str, str], offset: Position
) -> Fragment:
    """One copy. What goes into a rack that has the original too gets the next free U; a copied rack gets the
    next free place of its row."""

    def parent(thing: Device | Container) -> str | None:
        if thing.parent is None or thing.parent in names:
            return names.get(thing.parent or "")
        return thing.parent if topology.has_container(thing.parent) else None

    def copied(each: Each) -> Each:
        new = replace(each, id=names[each.id], parent=parent(each), label=_new_label(each, names[each.id]))
        if isinstance(new, Container) and new.column is not None:
            new = replace(new, column=None)
        return new if each.parent in names or new.u is None else replace(new, u=room.take(new))

    return Fragment(
        tuple(copied(each) for each in fragment.devices),
        tuple(replace(each, id=names[each.id], a=names[each.a], b=names[each.b]) for each in fragment.links),
        tuple(copied(each) for each in fragment.containers),
        {names[ident]: (x + offset[0], y + offset[1]) for ident, (x, y) in fragment.positions.items()},
    )


def _expand(topology: Topology, ids: set[str]) -> tuple[set[str], set[str]]:
    devices = {ident for ident in ids if topology.has_device(ident)}
    containers = {ident for ident in ids if topology.has_container(ident)}
    for around in {topology.device(ident).parent for ident in devices} - {None}:
        if around is not None and devices.issuperset(topology.children(around)):
            containers.add(around)
    for ident in tuple(containers):
        for inside in topology.descendants(ident):
            (containers if topology.has_container(inside) else devices).add(inside)
    return devices, containers


def _new_label(thing: Device | Container, ident: str) -> str:
    """A label that repeated the old id repeats the new one."""
    return ident if thing.label == thing.id else thing.label


class _Names:
    """Gives free ids near the wanted ones, and remembers how far each family of names has been counted."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._given: set[str] = set()
        self._next: dict[tuple[str, int], int] = {}

    def take(self, wanted: str) -> str:
        """`wanted` if it is free, else counted up: gpu3 → gpu4, node07 → node08, core → core2."""
        match = _NUMBERED.match(wanted)
        stem, digits = (match[1], match[2]) if match else (wanted, "")
        width = len(digits) if digits.startswith("0") else 0
        ident = wanted
        number = max(self._next.get((stem, width), 0), int(digits or 1) + 1)
        while ident in self._given or self._topology.has(ident):
            ident = f"{stem}{number:0{width}d}"
            number += 1
            self._next[stem, width] = number
        self._given.add(ident)
        return ident


def _new_names(names: _Names, fragment: Fragment) -> dict[str, str]:
    """New ids by old id. Names follow their container: node0.gpu3 in node0 → node1.gpu3 in node1."""
    new: dict[str, str] = {}
    for container in sorted(fragment.containers, key=lambda each: each.id.count(".")):
        new[container.id] = names.take(_prefixed(container.id, new))
    inside = dict(new)
    for device in fragment.devices:
        new[device.id] = names.take(_prefixed(device.id, inside))
    for link in fragment.links:
        new[link.id] = names.take(_link_name(link, new))
    return new


def _prefixed(ident: str, containers: Mapping[str, str]) -> str:
    """`ident` with the longest dotted prefix that names a copied container replaced by its new id."""
    cut = ident.rfind(".")
    while cut > 0:
        if ident[:cut] in containers:
            return containers[ident[:cut]] + ident[cut:]
        cut = ident.rfind(".", 0, cut)
    return ident


def _link_name(link: Link, new: Mapping[str, str]) -> str:
    """`link.id` with the ids of its ends replaced, where it holds them."""
    ends = sorted((link.a, link.b), key=len, reverse=True)
    pattern = "|".join(re.escape(end) + r"(?!\d)" for end in ends)
    return re.sub(pattern, lambda match: new[match[0]], link.id)
