"""Edits of racks and groups: put things into racks, group, ungroup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from model.catalog import catalog
from model.document.document import Change, Document
from model.document.edits import AddParts, Batch, Edit, RemoveParts, Replace, SetFields
from model.errors import EditRefused
from model.text import plural
from model.topology.equipment import MOUNTABLE, equipment, mountable, things_in
from model.topology.graph import Topology
from model.topology.nesting import nesting_refusal
from model.topology.racks import Thing, lowest_free, rack_height, refusal, units
from model.topology.types import Container, ContainerKind, Device

_NEXT = {
    ContainerKind.TRAY: ContainerKind.RACK,
    ContainerKind.RACK: ContainerKind.POD,
    ContainerKind.POD: ContainerKind.SITE,
    ContainerKind.SITE: ContainerKind.SITE,
}
MOST_PER_RACK = 48
AnyThing = TypeVar("AnyThing", Device, Container)


@dataclass(frozen=True, slots=True)
class RackPlace:
    """Where a tray or device goes: into `rack` with its lowest U at `u` (None: not known), or with `rack`
    None out of its rack."""

    id: str
    rack: str | None
    u: int | None = None


@dataclass(frozen=True, slots=True)
class PlaceInRack(Edit):
    """Put trays and devices into racks, move them there, or take them out; all of them at once.

    A thing without a height gets that of the catalogue, else 1 U, so that what it takes is written down. One
    that is taken out goes into the container around its rack. Refused where two would be in one U, where one
    would be outside of the rack, and for parts of a host.
    """

    places: tuple[RackPlace, ...]

    def _do(self, document: Document) -> tuple[Edit, Change]:
        topology = document.topology
        moved = [_placed(topology, place) for place in self.places]
        return Replace(
            tuple(thing for thing in moved if isinstance(thing, Device)),
            (),
            tuple(thing for thing in moved if isinstance(thing, Container)),
        )._do(document)


def thing_of(topology: Topology, ident: str) -> Thing:
    """The container or device with this id; raises `EditRefused` when there is none."""
    return topology.container(ident) if topology.has_container(ident) else topology.device(ident)


def rack_of(topology: Topology, thing: Thing) -> Container | None:
    """The rack that a thing lies directly in."""
    if thing.parent is None:
        return None
    around = topology.container(thing.parent)
    return around if around.kind is ContainerKind.RACK else None


def _placed(topology: Topology, place: RackPlace) -> Thing:
    thing = thing_of(topology, place.id)
    if place.rack is None:
        rack = rack_of(topology, thing)
        return thing if rack is None else replace(thing, parent=rack.parent, u=None)
    target = topology.container(place.rack)
    if target.kind is not ContainerKind.RACK:
        raise EditRefused(f"{target.id} is a {target.kind}; trays and switches stand in racks.")
    if not mountable(topology, place.id):
        if isinstance(thing, Container):
            raise EditRefused(f"{thing.kind} {thing.id} cannot stand in a rack; trays and switches can.")
        raise EditRefused(f"{thing.id} is a part of a host; its tray can stand in a rack.")
    return replace(thing, parent=target.id, u=place.u, height_u=height_of(topology, thing))


def height_of(topology: Topology, thing: Thing) -> float:
    """The U that a thing would take in a rack: its own height, the catalogue's, or 1."""
    return thing.height_u or equipment(topology, thing).height_u or 1.0


def shifted(document: Document, ids: Iterable[str], by: int) -> PlaceInRack:
    """Things that have a U of a rack, `by` U higher in the same rack; the others of `ids` are left out."""
    topology = document.topology
    things = (thing_of(topology, ident) for ident in ids)
    return PlaceInRack(
        tuple(
            RackPlace(thing.id, thing.parent, thing.u + by)
            for thing in things
            if thing.u is not None and rack_of(topology, thing) is not None
        )
    )


def outermost(topology: Topology, ids: Iterable[str]) -> tuple[str, ...]:
    """The devices and containers among `ids` that lie in no other of them, containers first."""
    chosen = {ident for ident in ids if topology.has_container(ident) or topology.has_device(ident)}

    def covered(ident: str) -> bool:
        around = thing_of(topology, ident).parent
        while around is not None:
            if around in chosen:
                return True
            around = topology.container(around).parent
        return False

    boxes = (box.id for box in topology.containers() if box.id in chosen)
    devices = (device.id for device in topology.devices() if device.id in chosen)
    return tuple(ident for ident in (*boxes, *devices) if not covered(ident))


def group_kind(topology: Topology, ids: Iterable[str]) -> ContainerKind:
    """The kind of container that one would put around things: a tray around devices, a rack around trays."""
    kinds = [topology.container(ident).kind for ident in ids if topology.has_container(ident)]
    if not kinds:
        loose = list(ids)
        switches = bool(loose) and all(mountable(topology, ident) for ident in loose)
        return ContainerKind.RACK if switches else ContainerKind.TRAY
    return _NEXT[max(kinds, key=list(ContainerKind).index)]


def free_names(topology: Topology, stem: str) -> Iterator[str]:
    """Those of rack0, rack1 … that nothing has."""
    return (name for name in map(f"{stem}{{}}".format, count()) if not topology.has(name))


def free_name(topology: Topology, stem: str) -> str:
    """The first of rack0, rack1 … that nothing has."""
    return next(free_names(topology, stem))


def group(document: Document, ids: Iterable[str], kind: ContainerKind, name: str) -> Batch:
    """The edit that puts things into a new container, inside the container that is around all of them.

    Things grouped as a rack are stacked from U 1 up. Raises `EditRefused` where the kinds do not nest.
    """
    topology = document.topology
    chosen = outermost(topology, ids)
    if not chosen:
        raise EditRefused("Select devices or containers to group.")
    around = _common_parent(topology, chosen, kind)
    box = Container(name, kind, parent=around)
    for ident in filter(topology.has_container, chosen):
        why = nesting_refusal(topology.container(ident), box)
        if why:
            raise EditRefused(f"{why}.")
    stand = [ident for ident in chosen if kind is ContainerKind.RACK and mountable(topology, ident)]
    inside: list[Edit] = [AddParts(containers=(box,))]
    inside.append(PlaceInRack(tuple(_stacked(topology, stand, name, 1, 0))))
    inside.extend(with_parent(topology, (ident for ident in chosen if ident not in stand), name))
    return Batch(tuple(inside))


def with_parent(topology: Topology, ids: Iterable[str], parent: str | None) -> list[Edit]:
    """Edits that give things another container (None: none around them), at no U."""
    chosen, fields = tuple(ids), {"parent": parent, "u": None}
    boxes = tuple(ident for ident in chosen if topology.has_container(ident))
    devices = tuple(ident for ident in chosen if topology.has_device(ident))
    edits: list[Edit] = []
    if boxes:
        edits.append(SetFields("container", boxes, fields))
    if devices:
        edits.append(SetFields("device", devices, fields))
    return edits


def ungroup(document: Document, ids: Iterable[str]) -> RemoveParts:
    """The edit that takes containers away and keeps what they hold. Raises `EditRefused` without any."""
    topology = document.topology
    boxes = tuple(sorted(ident for ident in ids if topology.has_container(ident)))
    if not boxes:
        raise EditRefused("Select a tray, rack, pod or site to ungroup.")
    return RemoveParts(container_ids=boxes)


def put_into_racks(
    document: Document,
    ids: Iterable[str],
    *,
    per_rack: int,
    first_u: int = 1,
    gap_u: int = 0,
    height_u: float | None = None,
) -> Batch:
    """The edit that stands trays and switches that are in no rack yet into new racks, in document order.

    Each rack takes `per_rack` of them from `first_u` up with `gap_u` free U between them, fewer where they do
    not fit; things of different kinds or containers do not share a rack. Empty `ids`: everything.
    Raises `EditRefused` where there is nothing to place, or a thing does not fit at all.
    """
    if not 1 <= per_rack <= MOST_PER_RACK:
        raise EditRefused(f"A rack takes 1 to {MOST_PER_RACK} of them, not {per_rack}.")
    topology = document.topology
    chosen = _loose(topology, frozenset(ids))
    if not chosen:
        raise EditRefused("All trays and switches that can stand in racks are in racks already.")
    racks: list[Container] = []
    places: list[RackPlace] = []
    names = free_names(topology, "rack")
    for (parent, _), things in _alike(topology, chosen).items():
        left = things
        while left:
            name = next(names)
            rack = Container(name, ContainerKind.RACK, parent=parent, height_u=height_u)
            row = _stacked(topology, left[:per_rack], name, first_u, gap_u, rack_height(rack))
            if not row:
                raise EditRefused(f"{left[0]} does not fit above U {first_u - 1} of {rack_height(rack):g} U.")
            racks.append(rack)
            places.extend(row)
            left = left[len(row) :]
    return Batch((AddParts(containers=tuple(racks)), PlaceInRack(tuple(places))))


def described(edit: Batch) -> str:
    """ "64 things into 16 racks", for the undo list."""
    racks = sum(len(one.containers) for one in edit.edits if isinstance(one, AddParts))
    placed = sum(len(one.places) for one in edit.edits if isinstance(one, PlaceInRack))
    return f"{plural(placed, 'thing')} into {plural(racks, 'rack')}"


def add_power_shelf(document: Document, rack: str, u: int | None = None) -> AddParts:
    """The edit that adds a shelf of power supplies to a rack, at `u` or the lowest free U.

    It is an empty tray with the catalogue's figures. Raises `EditRefused` where the rack is full.
    """
    topology = document.topology
    target, shelf = topology.container(rack), catalog().racks.power_shelf
    height = shelf.height_u or 1.0
    lowest = lowest_free(target, things_in(topology, rack), height) if u is None else u
    if lowest is None:
        raise EditRefused(f"{rack} has no free U for a power shelf.")
    box = Container(
        free_name(topology, f"{rack}.power-shelf"),
        ContainerKind.TRAY,
        parent=rack,
        u=lowest,
        height_u=height,
        power_w=shelf.power_w,
        weight_kg=shelf.weight_kg,
    )
    return AddParts(containers=(box,))


def into_rack(document: Document, ids: Iterable[str], rack: str) -> PlaceInRack:
    """The edit that puts things into a rack, each at the lowest U that is free then; where there is none, at
    no U. Raises `EditRefused` for what is no rack."""
    topology = document.topology
    target = topology.container(rack)
    chosen = tuple(dict.fromkeys(ids))
    standing = [thing for thing in things_in(topology, rack) if thing.id not in chosen]
    places = []
    for ident in chosen:
        moved = _placed(topology, RackPlace(ident, rack))
        u = lowest_free(target, standing, moved.height_u or 1.0)
        standing.append(replace(moved, u=u))
        places.append(RackPlace(ident, rack, u))
    return PlaceInRack(tuple(places))


def standing(topology: Topology, things: Sequence[AnyThing], rack: str) -> tuple[AnyThing, ...]:
    """New trays or devices as they come to stand in a rack: each at the lowest U that is free then. What
    cannot stand in a rack by itself, or finds no room, is in it at no U."""
    there = list(things_in(topology, rack))
    found: list[AnyThing] = []
    for thing in things:
        stands = thing.kind is ContainerKind.TRAY if isinstance(thing, Container) else thing.kind in MOUNTABLE
        new = replace(thing, parent=rack)
        if stands:
            empty = isinstance(thing, Container)  # the catalogue knows a tray by what it holds
            height = (thing.height_u or 1.0) if empty else height_of(topology, thing)
            new = replace(new, u=lowest_free(topology.container(rack), there, height), height_u=height)
        there.append(new)
        found.append(new)
    return tuple(found)


def _stacked(
    topology: Topology,
    ids: Sequence[str],
    rack: str,
    first_u: int,
    gap_u: int,
    height: float | None = None,
) -> list[RackPlace]:
    """Places one above the other; with a `height` only as many as fit below it, else without a U above."""
    most = rack_height(Container(rack, ContainerKind.RACK)) if height is None else height
    found: list[RackPlace] = []
    u = first_u
    for ident in ids:
        tall = height_of(topology, thing_of(topology, ident))
        if u - 1 + tall > most + 1e-9:
            if height is not None:
                break
            found.append(RackPlace(ident, rack, None))
            continue
        found.append(RackPlace(ident, rack, u))
        u = units(u, tall)[-1] + 1 + gap_u
    return found


def _loose(topology: Topology, ids: frozenset[str]) -> list[str]:
    """The trays and devices among `ids` (all without any) that could stand in a rack and are in none.

    A device in a tray is a part of it and stays.
    """
    wanted = set(ids)
    for ident in ids:
        if topology.has_container(ident):
            wanted.update(topology.descendants(ident))
    things: list[Thing] = [*topology.containers(), *topology.devices()]
    found = []
    for thing in things:
        if (ids and thing.id not in wanted) or not mountable(topology, thing.id):
            continue
        around = None if thing.parent is None else topology.container(thing.parent).kind
        if around not in (ContainerKind.RACK, ContainerKind.TRAY):
            found.append(thing.id)
    return found


def _alike(topology: Topology, ids: Iterable[str]) -> dict[tuple[str | None, str], list[str]]:
    """Things by what is around them and their kind."""
    found: dict[tuple[str | None, str], list[str]] = {}
    for ident in ids:
        thing = thing_of(topology, ident)
        found.setdefault((thing.parent, thing.kind.value), []).append(ident)
    return found


def _common_parent(topology: Topology, ids: Sequence[str], kind: ContainerKind) -> str | None:
    """The innermost container around all of them that can hold a container of this kind."""

    def outwards(ident: str) -> list[str]:
        path, around = [], thing_of(topology, ident).parent
        while around is not None:
            path.append(around)
            around = topology.container(around).parent
        return path

    first, *others = [outwards(ident) for ident in ids]
    order = list(ContainerKind).index
    for ident in first:
        fits = order(topology.container(ident).kind) > order(kind)
        if fits and all(ident in path for path in others):
            return ident
    return None


def why_not(topology: Topology, places: Sequence[RackPlace]) -> str | None:
    """Why `PlaceInRack(places)` would be refused, None when it would not; without doing it."""
    try:
        moved = {place.id: _placed(topology, place) for place in places}
    except EditRefused as refused:
        return str(refused)
    for rack in dict.fromkeys(place.rack for place in places if place.rack is not None):
        staying = [thing for thing in things_in(topology, rack) if thing.id not in moved]
        arriving = [thing for thing in moved.values() if thing.parent == rack]
        why = refusal(topology.container(rack), [*staying, *arriving])
        if why:
            return f"{why}."
    return None
