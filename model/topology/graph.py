"""`Topology`: what is drawn. The one owner of the graph, and its only writer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Generic, Literal, NoReturn, TypeVar

import networkx as nx

from model.errors import EditRefused
from model.topology.racks import rack_conflict
from model.topology.types import Container, Device, DeviceKind, Link, State
from model.topology.validity import check_container, check_device, check_id, check_link

ThingKind = Literal["device", "link", "container"]
T = TypeVar("T", Device, Link, Container)

_DEVICE_FIELDS = attrgetter(*Device.__dataclass_fields__)
_LINK_FIELDS = attrgetter(*Link.__dataclass_fields__)
_CONTAINER_FIELDS = attrgetter(*Container.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Places:
    """Where things stand in document order: an ascending sequence number each, in the order of the things."""

    devices: tuple[int, ...] = ()
    links: tuple[int, ...] = ()
    containers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """Devices, links and containers, with their places in document order."""

    devices: tuple[Device, ...] = ()
    links: tuple[Link, ...] = ()
    containers: tuple[Container, ...] = ()
    places: Places | None = None

    @property
    def boxed(self) -> tuple[Device | Container, ...]:
        """What can lie in a container: containers, then devices."""
        return (*self.containers, *self.devices)


class _Table(Generic[T]):
    """Things by id, in document order. An order broken by a restored thing is mended at the next read."""

    def __init__(self) -> None:
        self.things: dict[str, T] = {}
        self.places: dict[str, int] = {}
        self.next_place = 0
        self._sorted = True
        self._ordered: tuple[T, ...] | None = ()
        self._index: dict[str, int] | None = None

    def add(self, things: Sequence[T], places: Sequence[int] | None) -> None:
        if places is None:
            places = range(self.next_place, self.next_place + len(things))
        elif places and min(places) < self.next_place:
            self._sorted = False
        ids = [thing.id for thing in things]
        self.things.update(zip(ids, things, strict=True))
        self.places.update(zip(ids, places, strict=True))
        if places:
            self.next_place = max(self.next_place, max(places) + 1)
        self._ordered = self._index = None

    def put(self, thing: T) -> None:
        self.things[thing.id] = thing
        self._ordered = None

    def pop(self, ident: str) -> T:
        del self.places[ident]
        self._ordered = self._index = None
        return self.things.pop(ident)

    def rename(self, old: str, thing: T) -> None:
        place = self.places[old]
        self.pop(old)
        self.add((thing,), (place,))

    def ordered(self) -> tuple[T, ...]:
        if self._ordered is None:
            if not self._sorted:
                place = self.places.__getitem__
                self.things = {ident: self.things[ident] for ident in sorted(self.things, key=place)}
                self._sorted = True
            self._ordered = tuple(self.things.values())
        return self._ordered

    def index(self) -> dict[str, int]:
        """The place of each in that order."""
        if self._index is None:
            self._index = {thing.id: place for place, thing in enumerate(self.ordered())}
        return self._index


class Topology:
    """Devices and links as an `nx.MultiGraph` (attributes `device`, `link`), and containers.

    Ids are unique over devices, links and containers together. Methods that change something raise
    `EditRefused` before they change anything, and bump `revision`. Reading is free of copies: the ordered
    tuples are kept until a thing of their kind changes.
    """

    def __init__(
        self,
        devices: Iterable[Device] = (),
        links: Iterable[Link] = (),
        containers: Iterable[Container] = (),
        places: Places | None = None,
    ) -> None:
        self.revision = 0
        self.graph: nx.MultiGraph[str] = nx.MultiGraph()
        self._devices: _Table[Device] = _Table()
        self._links: _Table[Link] = _Table()
        self._containers: _Table[Container] = _Table()
        self._children: dict[str, set[str]] = {}
        parts = Parts(tuple(devices), tuple(links), tuple(containers), places)
        if parts.devices or parts.links or parts.containers:
            self.add(parts)

    # Reading

    def devices(self) -> tuple[Device, ...]:
        """All devices, in document order."""
        return self._devices.ordered()

    def links(self) -> tuple[Link, ...]:
        """All links, in document order."""
        return self._links.ordered()

    def containers(self) -> tuple[Container, ...]:
        """All containers, in document order."""
        return self._containers.ordered()

    def has_device(self, ident: str) -> bool:
        """Whether a device has this id."""
        return ident in self._devices.things

    def has_link(self, ident: str) -> bool:
        """Whether a link has this id."""
        return ident in self._links.things

    def has_container(self, ident: str) -> bool:
        """Whether a container has this id."""
        return ident in self._containers.things

    def has(self, ident: str) -> bool:
        """Whether anything has this id."""
        return self.has_device(ident) or self.has_link(ident) or self.has_container(ident)

    def device(self, ident: str) -> Device:
        """The device with this id; raises `EditRefused` when there is none."""
        return self._devices.things.get(ident) or _unknown("device", ident)

    def link(self, ident: str) -> Link:
        """The link with this id; raises `EditRefused` when there is none."""
        return self._links.things.get(ident) or _unknown("link", ident)

    def container(self, ident: str) -> Container:
        """The container with this id; raises `EditRefused` when there is none."""
        return self._containers.things.get(ident) or _unknown("container", ident)

    def working(self, kind: DeviceKind) -> tuple[Device, ...]:
        """The devices of a kind that are not down, in document order."""
        return tuple(
            device for device in self.devices() if device.kind is kind and device.state is not State.DOWN
        )

    def links_of(self, device_id: str) -> tuple[Link, ...]:
        """The links of a device, in document order; raises `EditRefused` when there is no such device."""
        self.device(device_id)
        place = self._links.places.__getitem__
        keys = (key for edges in self.graph.adj[device_id].values() for key in edges)
        return tuple(self._links.things[key] for key in sorted(keys, key=place))

    def links_between(self, a: str, b: str) -> tuple[Link, ...]:
        """The links that join two devices, in document order."""
        keys = [str(key) for key in self.graph.get_edge_data(a, b) or ()]
        return tuple(self._links.things[key] for key in sorted(keys, key=self._links.places.__getitem__))

    def children(self, container_id: str) -> tuple[str, ...]:
        """Ids of what lies directly in a container: containers, then devices, each in document order."""
        self.container(container_id)
        inside = self._children.get(container_id, set())
        containers = [ident for ident in inside if ident in self._containers.things]
        devices = [ident for ident in inside if ident not in self._containers.things]
        containers.sort(key=self._containers.places.__getitem__)
        devices.sort(key=self._devices.places.__getitem__)
        return (*containers, *devices)

    def descendants(self, container_id: str) -> tuple[str, ...]:
        """Ids of all that lies in a container at any depth, outer containers first."""
        found: list[str] = []
        left = list(reversed(self.children(container_id)))
        while left:
            ident = left.pop()
            found.append(ident)
            if self.has_container(ident):
                left.extend(reversed(self.children(ident)))
        return tuple(found)

    def index_of(self, device_id: str) -> int:
        """The place of a device among `devices()`; raises `EditRefused` when there is no such device."""
        self.device(device_id)
        return self._devices.index()[device_id]

    def places(self) -> Places:
        """The sequence numbers of all devices, links and containers, in document order."""
        return Places(
            tuple(self._devices.places[device.id] for device in self.devices()),
            tuple(self._links.places[link.id] for link in self.links()),
            tuple(self._containers.places[container.id] for container in self.containers()),
        )

    def parts(self) -> Parts:
        """Everything, with places: enough to build the same topology again."""
        return Parts(self.devices(), self.links(), self.containers(), self.places())

    def places_of(self, kind: ThingKind, idents: Sequence[str]) -> tuple[int, ...]:
        """The sequence numbers of some things of one kind."""
        places = {
            "device": self._devices.places,
            "link": self._links.places,
            "container": self._containers.places,
        }[kind]
        return tuple(places[ident] for ident in idents)

    def same_as(self, other: Topology) -> bool:
        """Whether both hold equal things in the same order."""
        return (
            self.devices() == other.devices()
            and self.links() == other.links()
            and self.containers() == other.containers()
        )

    def checksum(self) -> str:
        """A digest of content and order, equal in every process that holds an equal topology."""
        digest = hashlib.blake2b(digest_size=16)
        for fields, things in (
            (_DEVICE_FIELDS, self.devices()),
            (_LINK_FIELDS, self.links()),
            (_CONTAINER_FIELDS, self.containers()),
        ):
            digest.update(repr([fields(thing) for thing in things]).encode())
        return digest.hexdigest()

    # Writing

    def add(self, parts: Parts) -> None:
        """Add devices, links and containers. Without `parts.places` they go to the end."""
        self._check_new(parts)
        places = parts.places
        self._containers.add(parts.containers, places.containers if places else None)
        self._devices.add(parts.devices, places.devices if places else None)
        self._links.add(parts.links, places.links if places else None)
        self.graph.add_nodes_from((device.id, {"device": device}) for device in parts.devices)
        for link in parts.links:
            self.graph.add_edge(link.a, link.b, link.id, link=link)
        for thing in parts.boxed:
            if thing.parent is not None:
                self._children.setdefault(thing.parent, set()).add(thing.id)
        self.revision += 1

    def remove(self, devices: Iterable[str], links: Iterable[str], containers: Iterable[str]) -> Parts:
        """Remove things; the links of a removed device go too. Gives what was removed, with its places.

        Raises `EditRefused` when an id is unknown or something that stays has a removed container as parent.
        """
        device_ids, container_ids = set(devices), set(containers)
        link_ids = {self.link(ident).id for ident in links}
        for ident in device_ids:
            link_ids.update(link.id for link in self.links_of(ident))
        for ident in container_ids:
            for child in self.children(ident):
                if child not in device_ids and child not in container_ids:
                    raise EditRefused(f'container "{ident}" holds {child}; move it out or remove it too.')
        removed = self._taken(device_ids, link_ids, container_ids)
        for link in removed.links:
            self.graph.remove_edge(link.a, link.b, link.id)
            self._links.pop(link.id)
        for thing in removed.boxed:
            self._unparent(thing)
        for device in removed.devices:
            self.graph.remove_node(device.id)
            self._devices.pop(device.id)
        for container in removed.containers:
            self._children.pop(container.id, None)
            self._containers.pop(container.id)
        self.revision += 1
        return removed

    def put(
        self,
        devices: Iterable[Device] = (),
        links: Iterable[Link] = (),
        containers: Iterable[Container] = (),
    ) -> Parts:
        """Put new values in place of those with the same ids; gives the old ones. A link keeps its ends."""
        new = Parts(tuple(devices), tuple(links), tuple(containers))
        old = Parts(
            tuple(self.device(device.id) for device in new.devices),
            tuple(self.link(link.id) for link in new.links),
            tuple(self.container(container.id) for container in new.containers),
        )
        for before, after in zip(old.links, new.links, strict=True):
            if (before.a, before.b) != (after.a, after.b):
                raise EditRefused(f'link "{before.id}": its ends are fixed; remove it and connect anew.')
        self._check_values(new)
        for thing in old.boxed:
            self._unparent(thing)
        for container in new.containers:
            self._containers.put(container)
        for device in new.devices:
            self._devices.put(device)
            self.graph.nodes[device.id]["device"] = device
        for link in new.links:
            self._links.put(link)
            self.graph.edges[link.a, link.b, link.id]["link"] = link
        for thing in new.boxed:
            if thing.parent is not None:
                self._children.setdefault(thing.parent, set()).add(thing.id)
        self.revision += 1
        return old

    def rename(self, kind: ThingKind, old: str, new: str) -> None:
        """Give a thing another id; links, parents and document order follow."""
        check_id(kind, new)
        if kind == "device":
            device, links = self.device(old), self.links_of(old)
            self._check_free(kind, new)
            self._rename_device(device, links, new)
        elif kind == "link":
            link = self.link(old)
            self._check_free(kind, new)
            self.graph.remove_edge(link.a, link.b, old)
            renamed = replace(link, id=new)
            self.graph.add_edge(link.a, link.b, new, link=renamed)
            self._links.rename(old, renamed)
        else:
            container = self.container(old)
            self._check_free(kind, new)
            self._rename_container(container, new)
        self.revision += 1

    def advance(self, revision: int) -> None:
        """Make the revision at least this one, for a topology that takes another's place."""
        self.revision = max(self.revision, revision)

    # Helpers

    def _rename_device(self, device: Device, links: tuple[Link, ...], new: str) -> None:
        renamed = replace(device, id=new)
        self._unparent(device)
        self._devices.rename(device.id, renamed)
        self.graph.add_node(new, device=renamed)
        self.graph.remove_node(device.id)
        if device.parent is not None:
            self._children.setdefault(device.parent, set()).add(new)
        for link in links:
            moved = replace(link, a=new) if link.a == device.id else replace(link, b=new)
            self._links.put(moved)
            self.graph.add_edge(moved.a, moved.b, moved.id, link=moved)

    def _rename_container(self, container: Container, new: str) -> None:
        children = self.children(container.id)
        renamed = replace(container, id=new)
        self._unparent(container)
        self._containers.rename(container.id, renamed)
        if container.parent is not None:
            self._children.setdefault(container.parent, set()).add(new)
        self._children.pop(container.id, None)
        for ident in children:
            if self.has_container(ident):
                self._containers.put(replace(self.container(ident), parent=new))
            else:
                device = replace(self.device(ident), parent=new)
                self._devices.put(device)
                self.graph.nodes[ident]["device"] = device
        if children:
            self._children[new] = set(children)

    def _taken(self, devices: set[str], links: set[str], containers: set[str]) -> Parts:
        ordered: list[list[str]] = []
        for table, idents in ((self._devices, devices), (self._links, links), (self._containers, containers)):
            ordered.append(sorted(idents, key=table.places.__getitem__))
        device_ids, link_ids, container_ids = ordered
        return Parts(
            tuple(map(self.device, device_ids)),
            tuple(map(self.link, link_ids)),
            tuple(map(self.container, container_ids)),
            Places(
                self.places_of("device", device_ids),
                self.places_of("link", link_ids),
                self.places_of("container", container_ids),
            ),
        )

    def _unparent(self, thing: Device | Container) -> None:
        if thing.parent is not None:
            inside = self._children.get(thing.parent)
            if inside is not None:
                inside.discard(thing.id)
                if not inside:
                    del self._children[thing.parent]

    def _check_free(self, kind: str, ident: str) -> None:
        if self.has(ident):
            raise EditRefused(f'{kind} "{ident}": this id is in use already.')

    def _check_new(self, parts: Parts) -> None:
        seen: set[str] = set()
        things: tuple[tuple[str, Sequence[Device] | Sequence[Link] | Sequence[Container]], ...] = (
            ("device", parts.devices),
            ("link", parts.links),
            ("container", parts.containers),
        )
        for kind, group in things:
            for thing in group:
                ident = thing.id
                if type(ident) is not str or ident in seen or self.has(ident):
                    check_id(kind, ident)
                    self._check_free(kind, ident)
                    raise EditRefused(f'{kind} "{ident}": this id occurs twice.')
                seen.add(ident)
        self._check_values(parts)
        new_devices = {device.id for device in parts.devices}
        for link in parts.links:
            for end in (link.a, link.b):
                if end not in new_devices and end not in self._devices.things:
                    named = " ".join(end[:80].split())
                    raise EditRefused(f'link "{link.id}" ends at "{named}", and there is no such device.')

    def _check_values(self, parts: Parts) -> None:
        """Fields in range, parents that exist, no container inside itself, no two things in one U."""
        _check_all(check_device, parts.devices)
        _check_all(check_link, parts.links)
        _check_all(check_container, parts.containers)
        parents = {container.id: container.parent for container in parts.containers}

        def parent_of(ident: str) -> str | None:
            return parents[ident] if ident in parents else self._containers.things[ident].parent

        known = self._containers.things.keys() | parents.keys()
        for thing in parts.boxed:
            if thing.parent is not None and thing.parent not in known:
                raise EditRefused(f'"{thing.id}" lies in "{thing.parent}", and there is no such container.')
        clear: set[str] = set()
        for container in parts.containers:
            path: set[str] = set()
            ident: str | None = container.id
            while ident is not None and ident not in clear:
                if ident in path:
                    raise EditRefused(f'container "{container.id}" would lie inside itself.')
                path.add(ident)
                ident = parent_of(ident)
            clear |= path
        why = rack_conflict(
            parts.containers, parts.devices, self._containers.things, self._children, self._devices.things
        )
        if why:
            raise EditRefused(f"{why}.")

    def __getstate__(self) -> tuple[Parts, int, tuple[int, int, int]]:
        following = (self._devices.next_place, self._links.next_place, self._containers.next_place)
        return (self.parts(), self.revision, following)

    def __setstate__(self, state: tuple[Parts, int, tuple[int, int, int]]) -> None:
        parts, revision, following = state
        Topology.__init__(self, parts.devices, parts.links, parts.containers, parts.places)
        self.revision = revision
        self._devices.next_place, self._links.next_place, self._containers.next_place = following


def _check_all(check: Callable[[Any], None], things: Sequence[object]) -> None:
    for thing in things:
        check(thing)


def _unknown(kind: ThingKind, ident: str) -> NoReturn:
    raise EditRefused(f'There is no {kind} "{ident}".')
