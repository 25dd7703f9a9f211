"""What exporters ask of a drawing: its hosts, its scale-up domains, and what an export leaves out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from model.files.exporting import ExportSource
from model.text import plural
from model.topology.graph import Topology
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.types import (
    HOST_LINKS,
    SCALE_UP_LINKS,
    ContainerKind,
    Device,
    DeviceKind,
    Link,
    State,
)

T = TypeVar("T")

HOST_KINDS = frozenset(
    {DeviceKind.GPU, DeviceKind.NIC, DeviceKind.CPU, DeviceKind.PCIE_SWITCH, DeviceKind.NVLINK_SWITCH}
)
# How far up the network switches of each kind stand.
TIERS = {DeviceKind.LEAF: 1, DeviceKind.SPINE: 2, DeviceKind.CORE: 3, DeviceKind.SITE_GATEWAY: 4}


class Sets:
    """Disjoint sets of ids. `root` is the first member that was seen of a set."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def root(self, ident: str) -> str:
        """The id that stands for the set of `ident`."""
        parent = self._parent
        parent.setdefault(ident, ident)
        while parent[ident] != ident:
            parent[ident] = parent[parent[ident]]
            ident = parent[ident]
        return ident

    def join(self, a: str, b: str) -> None:
        """Make one set of two."""
        first, second = self.root(a), self.root(b)
        if first != second:
            self._parent[second] = first


@dataclass(frozen=True, slots=True)
class Host:
    """A machine: a tray with GPUs, NICs or CPUs in it, or loose devices that host links join.

    `devices` are in document order, those that are down too.
    """

    id: str
    devices: tuple[Device, ...]

    def of_kind(self, kind: DeviceKind) -> tuple[Device, ...]:
        """Its devices of one kind."""
        return tuple(device for device in self.devices if device.kind is kind)

    def local_name(self, device: Device) -> str:
        """What a device is called inside its host: "nic3" of "node07.nic3"."""
        return device.id.removeprefix(f"{self.id}.")


def hosts_of(topology: Topology) -> tuple[Host, ...]:
    """All hosts, in the order of their first devices. NVLink switches alone are no host."""
    boxes = {box.id: box for box in topology.containers()}
    trays: dict[str, str | None] = {}

    def tray_around(parent: str | None) -> str | None:
        """The tray around, or what the device lies in where there is none, as the engine counts hosts."""
        if parent is None:
            return None
        if parent not in trays:
            at: str | None = parent
            while at is not None and boxes[at].kind is not ContainerKind.TRAY:
                at = boxes[at].parent
            trays[parent] = at or parent
        return trays[parent]

    devices = [device for device in topology.devices() if device.kind in HOST_KINDS]
    box_of = {device.id: tray_around(device.parent) for device in devices}
    loose = Sets()
    for link in topology.links():
        if link.kind in HOST_LINKS and box_of.get(link.a, "") is None and box_of.get(link.b, "") is None:
            loose.join(link.a, link.b)
    members: dict[str, list[Device]] = {}
    for device in devices:
        box = box_of[device.id]
        members.setdefault(loose.root(device.id) if box is None else box, []).append(device)
    return tuple(
        Host(ident, tuple(own))
        for ident, own in members.items()
        if any(device.kind is not DeviceKind.NVLINK_SWITCH for device in own)
    )


def host_of_device(hosts: Sequence[Host]) -> dict[str, Host]:
    """The host of each device that is in one."""
    return {device.id: host for host in hosts for device in host.devices}


def scale_up_domains(topology: Topology) -> dict[str, str]:
    """For each working GPU the id that stands for its scale-up domain (its first GPU)."""
    working = {
        device.id
        for device in topology.devices()
        if device.state is not State.DOWN and device.kind in (DeviceKind.GPU, DeviceKind.NVLINK_SWITCH)
    }
    sets = Sets()
    gpus = [device.id for device in topology.working(DeviceKind.GPU)]
    for link in topology.links():
        if link.kind in SCALE_UP_LINKS and works(link) and link.a in working and link.b in working:
            sets.join(link.a, link.b)
    first: dict[str, str] = {}
    return {gpu: first.setdefault(sets.root(gpu), gpu) for gpu in gpus}


def wide_domains(topology: Topology) -> tuple[tuple[Host, ...], ...]:
    """The hosts of each scale-up domain that spans several. A host is in one if all its working GPUs are."""
    domains = scale_up_domains(topology)
    members: dict[str, list[Host]] = {}
    for host in hosts_of(topology):
        own = {domains[gpu.id] for gpu in host.of_kind(DeviceKind.GPU) if gpu.id in domains}
        if len(own) == 1:
            members.setdefault(own.pop(), []).append(host)
    return tuple(tuple(hosts) for hosts in members.values() if len(hosts) > 1)


def works(thing: Device | Link) -> bool:
    """Whether a device or link is there for a running job: not down, and a link carries something."""
    if isinstance(thing, Link):
        return thing.capacity_bytes_per_s > 0
    return thing.state is not State.DOWN


def watched(
    source: ExportSource, items: Sequence[T], what: str, start: float = 0.0, end: float = 1.0
) -> Iterator[T]:
    """The items, with the progress of the export said as they go by."""
    every = max(1, min(256, len(items) // 50))
    for place, item in enumerate(items):
        if place % every == 0:
            source.progress(start + (end - start) * place / len(items), what)
        yield item


def omitted(devices: Iterable[Device] = (), links: Iterable[Link] = (), why: str = "") -> tuple[str, ...]:
    """A sentence that counts what an export leaves out, if anything: "Left out: 8 CPUs, 16 PCIe links."."""
    kinds = Counter(DEVICE_NAMES[device.kind] for device in devices)
    parts = [plural(count, name, _many(name)) for name, count in kinds.items()]
    parts += [
        plural(count, f"{name} link")
        for name, count in Counter(LINK_NAMES[link.kind] for link in links).items()
    ]
    return (f"Left out: {', '.join(parts)}{f' ({why})' if why else ''}.",) if parts else ()


def _many(name: str) -> str:
    return f"{name[:-1]}ves" if name == "leaf" else f"{name}es" if name.endswith("switch") else f"{name}s"


def not_working(topology: Topology) -> tuple[str, ...]:
    """A sentence on what is down and therefore left out, if anything."""
    down = [device for device in topology.devices() if not works(device)]
    return omitted(down, [link for link in topology.links() if not works(link)], "they are down")


def written_as_built(topology: Topology) -> tuple[str, ...]:
    """A sentence on states that a plan of what is built does not carry, if anything is not up."""
    devices = sum(1 for device in topology.devices() if device.state is not State.UP)
    links = sum(1 for link in topology.links() if link.state is not State.UP)
    words = [plural(count, kind) for count, kind in ((devices, "device"), (links, "link")) if count]
    if not words:
        return ()
    total = devices + links
    return (
        f"{' and '.join(words)} that {'is' if total == 1 else 'are'} down or degraded "
        f"{'is' if total == 1 else 'are'} written as built; the format has no states.",
    )
