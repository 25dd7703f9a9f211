"""A drawing of hosts and cables attached to the open one by name: "attach by host name"."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from model.document.document import Document
from model.document.merge import Merge, Names, become, ids_of, in_tray, pair_devices, rebuilt
from model.document.same_names import match_names
from model.document.start import Content
from model.errors import EditRefused
from model.text import name_list, plural
from model.topology.graph import Topology
from model.topology.ports import family_of
from model.topology.types import (
    NETWORK_LINKS,
    NETWORK_SWITCHES,
    Container,
    ContainerKind,
    Device,
    DeviceKind,
    Link,
)


@dataclass(slots=True)
class Matching:
    """Which thing of a drawing is which of the open one, by id: their containers and devices with ours."""

    containers: dict[str, str] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> set[str]:
        """Ids of our devices that have a match."""
        return set(self.devices.values())


def match_things(topology: Topology, content: Content) -> Matching:
    """Containers by name, the devices in matched trays by name, then by kind and rail, others by name."""
    found = Matching()
    for kind in ContainerKind:
        found.containers |= match_names(
            {box.id: (box.id, box.label) for box in topology.containers() if box.kind is kind},
            {box.id: (box.id, box.label) for box in content.containers if box.kind is kind},
        )
    theirs: dict[str | None, list[Device]] = {}
    for device in content.devices:
        theirs.setdefault(device.parent, []).append(device)
    trays = {box.id for box in topology.containers() if box.kind is ContainerKind.TRAY}
    for their, our in found.containers.items():
        if our in trays:
            inside = (
                topology.device(each) for each in topology.descendants(our) if topology.has_device(each)
            )
            found.devices |= _in_tray(list(inside), theirs.get(their, []), our, their)
    found.devices |= _outside(topology, content, trays)
    return found


def _in_tray(ours: Sequence[Device], theirs: Sequence[Device], our: str, their: str) -> dict[str, str]:
    """Devices of one host: of equal kind and name (without the host's), then by rail and order."""
    found: dict[str, str] = {}
    for kind in dict.fromkeys(device.kind for device in theirs):
        found |= match_names(
            {device.id: (_own_name(device, our),) for device in ours if device.kind is kind},
            {device.id: (_own_name(device, their),) for device in theirs if device.kind is kind},
        )
    taken = set(found.values())
    rest = [device for device in theirs if device.id not in found]
    return found | pair_devices([device for device in ours if device.id not in taken], rest)


def _own_name(device: Device, tray: str) -> str:
    return device.id[len(tray) :].lstrip(".-_:/ ") if device.id.startswith(tray) else device.id


def _outside(topology: Topology, content: Content, trays: set[str]) -> dict[str, str]:
    their_trays = {box.id for box in content.containers if box.kind is ContainerKind.TRAY}
    families = (NETWORK_SWITCHES, *({kind} for kind in DeviceKind if kind not in NETWORK_SWITCHES))
    found: dict[str, str] = {}
    for family in families:
        found |= match_names(
            {each.id: (each.id, each.label) for each in topology.devices() if _is(each, family, trays)},
            {each.id: (each.id, each.label) for each in content.devices if _is(each, family, their_trays)},
        )
    return found


def _is(device: Device, family: Set[DeviceKind], trays: set[str]) -> bool:
    return device.kind in family and device.parent not in trays


def plan_hosts(document: Document, content: Content, *, models: bool = True) -> Merge:
    """Bring what a drawing says of hosts and switches to those of the same name; the rest stays.

    Devices of matched hosts get its models, rails and states. Links inside a matched host of a family that
    it describes (NVLink, PCIe) are replaced, and so are the cables of matched NICs where it has cables. Hosts
    and switches without a match are added. With `models` False ours stay, for a file that guesses. Raises
    `EditRefused` where nothing matches.
    """
    topology = document.topology
    matching = match_things(topology, content)
    if not matching.devices and not matching.containers:
        name = content.name or "the file"
        raise EditRefused(f"No host or switch of {name} has a name of the drawing; put it beside instead.")
    work = _Attaching(topology, content, matching, models)
    edit, done, misfits = rebuilt(document, work.devices(), work.links(), work.containers(), work.grown)
    hosts = [
        box.id
        for box in content.containers
        if box.id in matching.containers and box.kind is ContainerKind.TRAY
    ]
    trays = tuple(matching.containers[ident] for ident in hosts)
    switches = plural(work.matched_switches, "switch", "switches")
    said = [f"{plural(len(trays), 'host')} and {switches} are matched by name."]
    return Merge(
        edit, f"Attach {content.name or 'hosts'} by name", (*said, *work.done(), *done), misfits, trays
    )


class _Attaching:
    """The parts of the open drawing with those of the other one brought in."""

    def __init__(self, topology: Topology, content: Content, matching: Matching, models: bool) -> None:
        self._topology, self._content, self._models = topology, content, models
        self._names = Names(ids_of(topology))
        self._our_tray = {
            inside: our
            for our in matching.containers.values()
            if topology.container(our).kind is ContainerKind.TRAY
            for inside in topology.descendants(our)
        }
        self._boxes = dict(matching.containers)
        for box in content.containers:
            if box.id not in self._boxes:
                self._boxes[box.id] = self._names.take(box.id)
        self._new_boxes = [box for box in content.containers if box.id not in matching.containers]
        self._ids = dict(matching.devices)
        self._changed: dict[str, Device] = {}
        self._added: dict[str | None, list[Device]] = {}
        for device in content.devices:
            self._bring(device, matching)
        self.matched_switches = sum(
            topology.device(ident).kind in NETWORK_SWITCHES for ident in matching.devices.values()
        )
        self.grown = any(tray in matching.containers.values() for tray in self._added)
        self._matched = matching.ours
        self._links, self._new_links, self._dropped = self._joined()

    def _bring(self, device: Device, matching: Matching) -> None:
        our = matching.devices.get(device.id)
        if our is not None:
            if our in self._our_tray:
                old = self._topology.device(our)
                self._changed[our] = become(old, device if self._models else replace(device, model=old.model))
            return
        box = self._boxes.get(device.parent or "")
        inside = box is not None and device.parent in matching.containers
        wanted = in_tray(box, device.id, device.parent) if inside and box is not None else device.id
        ident = self._names.take(wanted)
        self._ids[device.id] = ident
        label = ident if device.label == device.id else device.label
        self._added.setdefault(box if inside else None, []).append(
            replace(device, id=ident, label=label, parent=box)
        )

    def containers(self) -> list[Container]:
        """Ours, then those that are new."""
        new = [
            replace(box, id=self._boxes[box.id], parent=self._boxes.get(box.parent or ""))
            for box in self._new_boxes
        ]
        return [*self._topology.containers(), *new]

    def devices(self) -> list[Device]:
        """Ours with the values of their match; new ones of a matched host stand behind its own."""
        last = {}
        for device in self._topology.devices():
            last[self._our_tray.get(device.id, device.parent)] = device.id
        found: list[Device] = []
        for device in self._topology.devices():
            found.append(self._changed.get(device.id, device))
            tray = self._our_tray.get(device.id, device.parent)
            if tray is not None and last[tray] == device.id:
                found += self._added.get(tray, ())
        for tray, added in self._added.items():
            if tray is None or tray not in last:
                found += added
        return found

    def links(self) -> list[Link]:
        """All links as they will be."""
        return self._links

    def _joined(self) -> tuple[list[Link], int, int]:
        """Links as they will be, how many are new, and how many of ours are gone."""
        by_pair: dict[tuple[str, str, str], list[Link]] = {}
        for link in self._topology.links():
            by_pair.setdefault(_pair(link.a, link.b, link), []).append(link)
        taken: dict[str, Link] = {}
        new: list[Link] = []
        for link in self._content.links:
            a, b = self._ids[link.a], self._ids[link.b]
            same = by_pair.get(_pair(a, b, link))
            if same:
                old = same.pop(0)
                taken[old.id] = _with_values(old, link)
            else:
                new.append(replace(link, id=self._names.take(f"{a}--{b}"), a=a, b=b))
        gone = self._replaced()
        kept = [
            taken.get(link.id, link)
            for link in self._topology.links()
            if link.id in taken or link.id not in gone
        ]
        return [*kept, *new], len(new), len(self._topology.links()) - len(kept)

    def _replaced(self) -> set[str]:
        """Our links of which the other drawing says better: inside of hosts by family, cables by NIC."""
        families: set[tuple[str, str]] = set()
        cabled: set[str] = set()
        for link in self._content.links:
            ends = self._ids[link.a], self._ids[link.b]
            trays = {self._our_tray.get(end) for end in ends}
            if link.kind in NETWORK_LINKS:
                cabled.update(end for end in ends if end in self._our_tray)
            elif len(trays) == 1 and None not in trays:
                families.add((str(trays.pop()), family_of(link.kind)))
        return {
            link.id
            for link in self._topology.links()
            if {link.a, link.b} <= self._matched
            and (
                (link.kind in NETWORK_LINKS and bool({link.a, link.b} & cabled))
                or (
                    self._our_tray.get(link.a) == self._our_tray.get(link.b)
                    and (self._our_tray.get(link.a, ""), family_of(link.kind)) in families
                )
            )
        }

    def done(self) -> list[str]:
        """What was added, changed and taken away, in sentences."""
        said = []
        added = [device for devices in self._added.values() for device in devices]
        if added:
            names = name_list([device.id for device in added])
            said.append(f"{plural(len(added), 'device')} {_are(len(added))} new: {names}.")
        if self._new_links:
            said.append(f"{plural(self._new_links, 'link')} {_are(self._new_links)} new.")
        if self._dropped:
            verb = _are(self._dropped)
            said.append(f"{plural(self._dropped, 'link')} {verb} gone: there are others in their place.")
        return said


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _pair(a: str, b: str, link: Link) -> tuple[str, str, str]:
    return (min(a, b), max(a, b), family_of(link.kind))


def _with_values(old: Link, new: Link) -> Link:
    """Our link as the other drawing knows it; its length and latency stay where that does not say."""
    return replace(
        old,
        kind=new.kind,
        lane_bytes_per_s=new.lane_bytes_per_s,
        count=new.count,
        share=new.share,
        state=new.state,
        latency_s=old.latency_s if new.latency_s is None else new.latency_s,
        length_m=old.length_m if new.length_m is None else new.length_m,
    )
