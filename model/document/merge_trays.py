"""A node from a file as the content of trays: "use this as the node of every tray"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from model.document.document import Document
from model.document.merge import (
    Merge,
    Names,
    become,
    full_speed,
    ids_of,
    in_tray,
    pair_devices,
    rebuilt,
    refitted,
)
from model.document.replace import Misfit
from model.document.start import Content
from model.document.uplinks import Host, join
from model.errors import EditRefused
from model.text import name_list, plural
from model.topology.graph import Topology
from model.topology.names import DEVICE_NAMES
from model.topology.types import (
    NETWORK_SWITCHES,
    SCALE_UP_LINKS,
    ContainerKind,
    Device,
    DeviceKind,
    Link,
    LinkKind,
)

_NUMBERED = re.compile(r"nic\d+", re.ASCII | re.IGNORECASE)
_HOST = frozenset({DeviceKind.GPU, DeviceKind.NIC, DeviceKind.CPU})
_OUTSIDE = NETWORK_SWITCHES | {DeviceKind.STORAGE, DeviceKind.SITE_GATEWAY}


@dataclass(frozen=True, slots=True)
class Node:
    """One host of a file: its devices in order, the links among them, its tray there, what was left out."""

    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    tray: str | None
    left_out: tuple[str, ...] = ()

    def of_kind(self, kind: DeviceKind) -> tuple[Device, ...]:
        """Its devices of a kind."""
        return tuple(device for device in self.devices if device.kind is kind)


def hosts_in(content: Content) -> tuple[str, ...]:
    """The trays of a drawing that can be used as a node: those that hold a GPU, a NIC or a CPU."""
    around = _trays_of(content)
    held = {around[device.id] for device in content.devices if device.kind in _HOST and device.id in around}
    return tuple(box.id for box in content.containers if box.id in held)


def node_of(content: Content, host: str | None = None) -> Node:
    """The host of a drawing. Raises `EditRefused` where there is none, or several and none was chosen."""
    hosts = hosts_in(content)
    if host is None and len(hosts) > 1:
        name = content.name or "The file"
        raise EditRefused(f"{name} holds {len(hosts):,} hosts ({name_list(hosts)}); say which is the node.")
    if host is not None and host not in hosts:
        raise EditRefused(f'There is no host "{host}" in it; there are {name_list(hosts) or "none"}.')
    tray = host or (hosts[0] if hosts else None)
    around = _trays_of(content)
    wanted = {tray} if len(hosts) > 1 else {tray, None}
    devices = tuple(
        device
        for device in content.devices
        if around.get(device.id) in wanted and device.kind not in _OUTSIDE
    )
    if not devices:
        raise EditRefused(f"{content.name or 'The file'} holds no host: no GPU, NIC or CPU.")
    inside = {device.id for device in devices}
    links = tuple(link for link in content.links if link.a in inside and link.b in inside)
    left = len(content.devices) - len(devices)
    return Node(
        devices,
        links,
        tray,
        (f"{plural(left, 'device')} of other hosts and of the network.",) if left else (),
    )


def _trays_of(content: Content) -> dict[str, str]:
    """The tray around each device that is in one."""
    boxes = {box.id: box for box in content.containers}
    found: dict[str, str] = {}
    for device in content.devices:
        box = boxes.get(device.parent or "")
        while box is not None and box.kind is not ContainerKind.TRAY:
            box = boxes.get(box.parent or "")
        if box is not None:
            found[device.id] = box.id
    return found


def plan_trays(
    document: Document, content: Content, trays: Iterable[str] | None = None, host: str | None = None
) -> Merge:
    """Put a copy of the node in place of the content of trays (of all of them without `trays`).

    Devices that a tray has already (paired by kind and rail, then in order) stay, with their names, colours,
    ranks and links to the outside, and become what the node says; others are added or removed. NICs that had
    no link are joined rail by rail where the switches have ports. `host` chooses among several in the file.
    Raises `EditRefused` where there is no tray or no node.
    """
    node = node_of(content, host)
    chosen = _chosen(document.topology, trays)
    if not chosen:
        raise EditRefused("The drawing has no trays to put the node in; put it beside instead.")
    filling = _Filling(document.topology, node, chosen)
    filling.fill()
    devices = filling.devices()
    links, lost = filling.links()
    uplinks = join(devices, links, filling.hosts(), filling.names)
    edit, done, misfits = rebuilt(
        document, devices, uplinks.links, document.topology.containers(), filling.grown
    )
    verb = "gets" if len(chosen) == 1 else "get"
    said = [
        f"{plural(len(chosen), 'tray')} {verb} {_counts(filling.given)} each.",
        *filling.said(),
        *uplinks.done,
    ]
    said += [f"Left out of the node: {what}" for what in node.left_out]
    every = trays is None and len(chosen) > 1
    text = "Use as node of every tray" if every else f"Use as node of {plural(len(chosen), 'tray')}"
    return Merge(edit, text, (*said, *done), (*_lost(lost), *uplinks.misfits, *misfits), chosen)


def _chosen(topology: Topology, trays: Iterable[str] | None) -> tuple[str, ...]:
    if trays is None:
        boxes = [box for box in topology.containers() if box.kind is ContainerKind.TRAY]
        return tuple(box.id for box in boxes if _takes_node(topology, box.id))
    wanted = tuple(dict.fromkeys(trays))
    for ident in wanted:
        if not topology.has_container(ident):
            there = name_list([b.id for b in topology.containers() if b.kind is ContainerKind.TRAY])
            raise EditRefused(f'There is no tray "{ident}" in the drawing; there are {there or "none"}.')
        if topology.container(ident).kind is not ContainerKind.TRAY:
            raise EditRefused(f'"{ident}" is a {topology.container(ident).kind.value}, not a tray.')
    return wanted


def _takes_node(topology: Topology, tray: str) -> bool:
    """Whether a tray is a host: it holds a GPU, a NIC or a CPU, or nothing yet. One of switches is none."""
    inside = [topology.device(ident) for ident in topology.descendants(tray) if topology.has_device(ident)]
    return not inside or any(device.kind in _HOST for device in inside)


def _counts(node: Node) -> str:
    kinds = dict.fromkeys(device.kind for device in node.devices)
    names = {kind: DEVICE_NAMES[kind] for kind in kinds}
    return name_list(
        [
            plural(len(node.of_kind(kind)), name, f"{name}es" if name.endswith("ch") else None)
            for kind, name in names.items()
        ],
        6,
    )


class _Filling:
    """The trays while they are filled: their content as it will be, and the links to the outside."""

    def __init__(self, topology: Topology, node: Node, trays: Sequence[str]) -> None:
        self._topology, self._node, self._trays = topology, node, trays
        self._olds = {
            tray: [
                topology.device(ident) for ident in topology.descendants(tray) if topology.has_device(ident)
            ]
            for tray in trays
        }
        self._tray_of = {old.id: tray for tray, olds in self._olds.items() for old in olds}
        links = topology.links()
        self._gone = {link.id for link in links if self._is_inside(link)}
        self._names = Names(ids_of(topology) - self._gone)
        self._content: dict[str, list[Device]] = {}
        self._inner: list[Link] = []
        self._said: dict[str, None] = {}
        self._of_rack = self._without_switches(node)
        self.given = node  # what trays get of the node
        self.grown = False

    def _is_inside(self, link: Link) -> bool:
        tray = self._tray_of.get(link.a)
        return tray is not None and tray == self._tray_of.get(link.b)

    @staticmethod
    def _without_switches(node: Node) -> Node:
        switches = {device.id for device in node.of_kind(DeviceKind.NVLINK_SWITCH)}
        return replace(
            node,
            devices=tuple(device for device in node.devices if device.id not in switches),
            links=tuple(link for link in node.links if link.a not in switches and link.b not in switches),
        )

    def fill(self) -> None:
        """Give every tray its content and the links inside it."""
        for tray in self._trays:
            olds, node = self._olds[tray], self._node
            if node.of_kind(DeviceKind.NVLINK_SWITCH) and self._has_outer_scale_up(olds):
                node = self.given = self._of_rack
                self._said["The node's NVLink switches are left out: those of the rack join its GPUs."] = None
            node = self._on_rails(tray, olds, node)
            given = self._given(tray, olds, node)
            stay = [] if node.of_kind(DeviceKind.NIC) else [old for old in olds if old.kind is DeviceKind.NIC]
            self._content[tray] = [*given.values(), *stay]
            self.grown |= len(self._content[tray]) > len(olds)
            for link in node.links:
                a, b = given[link.a].id, given[link.b].id
                self._inner.append(replace(link, id=self._names.take(f"{a}--{b}"), a=a, b=b))
            if stay:
                self._said["The node has no NICs: those of the trays stay, on its CPUs or GPUs."] = None
                self._hang(stay, list(given.values()))

    def _on_rails(self, tray: str, olds: Sequence[Device], node: Node) -> Node:
        """The node with the rails that NICs of the same names have in the tray: its cabling tells those."""
        ours = {_nic_name(old, tray): old.rail for old in olds if _is_on_rail(old)}
        theirs = {_nic_name(new, node.tray): new.rail for new in node.devices if _is_on_rail(new)}
        rails = {rail: ours[name] for name, rail in theirs.items() if name in ours}
        changed = any(rail != now for rail, now in rails.items())
        if not changed or not len(theirs) == len(rails) == len(set(rails.values())):
            return node
        self._said["NICs are told by their names; they and their GPUs are on the rails of the cabling."] = (
            None
        )
        return replace(
            node,
            devices=tuple(
                device if device.rail is None else replace(device, rail=rails.get(device.rail, device.rail))
                for device in node.devices
            ),
        )

    def _has_outer_scale_up(self, olds: Sequence[Device]) -> bool:
        return any(
            link.kind in SCALE_UP_LINKS and not self._is_inside(link)
            for old in olds
            if old.kind is DeviceKind.GPU
            for link in self._topology.links_of(old.id)
        )

    def _given(self, tray: str, olds: Sequence[Device], node: Node) -> dict[str, Device]:
        """The devices of a tray by their id in the node; those that were there keep their names."""
        by_id = {old.id: old for old in olds}
        # GPUs by number: a node that is on other rails than ours has the same GPUs
        paired = pair_devices(*(_with_gpus_off_rails(each) for each in (olds, node.devices)))
        given: dict[str, Device] = {}
        for device in node.devices:
            old = by_id.get(paired.get(device.id, ""))
            if old is not None:
                given[device.id] = become(old, device)
                continue
            ident = self._names.take(in_tray(tray, device.id, node.tray))
            label = ident if device.label == device.id else device.label
            given[device.id] = replace(device, id=ident, label=label, parent=tray)
        return given

    def _hang(self, nics: Sequence[Device], content: Sequence[Device]) -> None:
        """Join NICs that stay to the CPUs of the node, else to its GPUs, shared out in order."""
        hosts = [device for device in content if device.kind is DeviceKind.CPU] or [
            device for device in content if device.kind is DeviceKind.GPU
        ]
        for index, nic in enumerate(nics):
            if hosts:
                host = hosts[index * len(hosts) // len(nics)]
                lane = full_speed(LinkKind.PCIE, nic, host)
                if lane > 0:
                    ident = self._names.take(f"{host.id}--{nic.id}")
                    self._inner.append(Link(ident, host.id, nic.id, LinkKind.PCIE, lane))

    def devices(self) -> list[Device]:
        """All devices of the drawing as they will be, the content of a tray where its first device stood."""
        found: list[Device] = []
        placed: set[str] = set()
        for device in self._topology.devices():
            tray = self._tray_of.get(device.id)
            if tray is None:
                found.append(device)
            elif tray not in placed:
                placed.add(tray)
                found += self._content[tray]
        for tray in self._trays:
            if tray not in placed:
                found += self._content[tray]
        return found

    def links(self) -> tuple[list[Link], list[Link]]:
        """All links as they will be, joined anew where NICs had none, and those that are lost."""
        devices = {device.id: device for device in self.devices()}
        kept: list[Link] = []
        lost: list[Link] = []
        for link in self._topology.links():
            if link.id in self._gone:
                continue
            if link.a not in devices or link.b not in devices:
                lost.append(link)
                continue
            before = self._topology.device(link.a), self._topology.device(link.b)
            after = devices[link.a], devices[link.b]
            kept.append(link if before == after else refitted(link, before, after))
        return [*kept, *self._inner], lost

    def hosts(self) -> tuple[Host, ...]:
        """The trays with their NICs, for `uplinks.join`."""
        return tuple(
            Host(
                tray,
                tuple(device for device in self._content[tray] if device.kind is DeviceKind.NIC),
                plain=_is_plain(self._olds[tray]),
            )
            for tray in self._trays
        )

    @property
    def names(self) -> Names:
        """For the ids of links to come."""
        return self._names

    def said(self) -> tuple[str, ...]:
        """What was decided on the way."""
        return tuple(self._said)


def _is_on_rail(device: Device) -> bool:
    return device.kind is DeviceKind.NIC and device.rail is not None


def _with_gpus_off_rails(devices: Sequence[Device]) -> list[Device]:
    return [replace(device, rail=None) if device.kind is DeviceKind.GPU else device for device in devices]


def _nic_name(nic: Device, tray: str | None) -> str:
    """What the system calls a NIC ("mlx5_3"); its id where the drawing numbers them itself ("nic3")."""
    own = nic.label or nic.id.removeprefix(tray or "").lstrip(".-_:/ ")
    return nic.id if _NUMBERED.fullmatch(own) else own


def _is_plain(olds: Sequence[Device]) -> bool:
    """A host of which only its network was known (conventions 44)."""
    return [old.kind for old in olds] == [DeviceKind.NIC]


def _lost(links: Sequence[Link]) -> tuple[Misfit, ...]:
    if not links:
        return ()
    shown = name_list([f"{link.a} – {link.b}" for link in links])
    return (
        Misfit(
            f"{plural(len(links), 'link')} of devices that the node lacks are gone",
            f"{shown}.",
            (),
            (),
        ),
    )
