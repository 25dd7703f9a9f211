"""Every network cable of a drawing, with the ports that it joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.catalog.specs import BYTES_PER_S_PER_GBIT
from model.files.exporting import ExportSource
from model.files.exports.drawing import TIERS, Host, host_of_device, hosts_of, watched
from model.topology.graph import Topology
from model.topology.ports import PortGroup, ports_of
from model.topology.types import NETWORK_LINKS, Device, DeviceKind, Link

# What other tools call the devices that have cables and are no hosts.
ROLES = {
    DeviceKind.LEAF: "leaf",
    DeviceKind.SPINE: "spine",
    DeviceKind.CORE: "core",
    DeviceKind.STORAGE: "storage",
    DeviceKind.SITE_GATEWAY: "gateway",
}


@dataclass(frozen=True, slots=True)
class Port:
    """An end of a cable.

    `node` is the host of a NIC, else the device itself. `number` counts the ports of the device in use from
    1 on, `part` the parts of a split port from 0 (None: the whole port), `on_node` the ends at the node from
    1 on.
    """

    node: str
    device: Device
    number: int
    part: int | None
    on_node: int
    host: Host | None = None

    @property
    def place(self) -> str:
        """A label for it: "nic0" or "nic0 port 2" of a host, "port 7" or "port 7/1" of a switch."""
        if self.host is not None and self.host.id != self.device.id:
            name = self.host.local_name(self.device)
            single = self.number == 1 and _port_count(self.device) <= 1
            return name if single else f"{name} port {self.number}"
        return f"port {self.number}" + ("" if self.part is None else f"/{self.part + 1}")

    @property
    def is_switch(self) -> bool:
        """Whether it is a port of a switch or gateway."""
        return self.device.kind in TIERS

    def swp(self) -> str:
        """The name of a switch port in Cumulus Linux: swp7, swp7s1 where it is split."""
        return f"swp{self.number}" + ("" if self.part is None else f"s{self.part}")

    def eth(self) -> str:
        """The name of an interface of a host, over all its NICs, from eth1 on (eth0 is management)."""
        return f"eth{self.on_node}"


@dataclass(frozen=True, slots=True)
class Cable:
    """One cable of a link; `number` counts the cables of the link from 1."""

    link: Link
    number: int
    a: Port
    b: Port

    @property
    def name(self) -> str:
        """The link's id, with the number where the link has several cables."""
        return self.link.id if self.link.count == 1 else f"{self.link.id}#{self.number}"

    @property
    def gbit_per_s(self) -> float:
        """What it was built for, in one direction."""
        return self.link.lane_bytes_per_s / BYTES_PER_S_PER_GBIT


@dataclass(frozen=True, slots=True)
class Cabling:
    """The nodes that have cables, in document order, and the cables. `hosts` by id."""

    nodes: tuple[str, ...]
    cables: tuple[Cable, ...]
    hosts: dict[str, Host]


class _Counter:
    """Hands out the ports of one device, and splits those that carry slower lanes (in 2 or 4 parts)."""

    def __init__(self, device: Device) -> None:
        self._group = next((one for one in ports_of(device) if one.family == "network"), None)
        self._next = 1
        self._open: dict[int, tuple[int, int]] = {}

    def take(self, lane_bytes_per_s: float) -> tuple[int, int | None]:
        """Number of the port, and the part of it."""
        parts = _parts(self._group, lane_bytes_per_s)
        if parts == 1:
            self._next += 1
            return self._next - 1, None
        number, used = self._open.get(parts, (0, parts))
        if used == parts:
            number, used = self._next, 0
            self._next += 1
        self._open[parts] = (number, used + 1)
        return number, used


def _parts(group: PortGroup | None, lane_bytes_per_s: float) -> int:
    return 1 if group is None else round(1 / group.ports_per_lane(lane_bytes_per_s))


def _port_count(device: Device) -> int:
    return next((group.count for group in ports_of(device) if group.family == "network"), 1)


def cabling_of(source: ExportSource, end: float = 0.5) -> Cabling:
    """All network cables, in document order, down ones too. Says the progress up to the share `end`."""
    topology = source.document.topology
    hosts = hosts_of(topology)
    host_of = host_of_device(hosts)
    links = network_links(topology)
    counters: dict[str, _Counter] = {}
    on_node: dict[str, int] = {}
    cables: list[Cable] = []

    def port(device_id: str, link: Link) -> Port:
        device = topology.device(device_id)
        host = host_of.get(device_id)
        node = host.id if host is not None else device_id
        counter = counters.get(device_id)
        if counter is None:
            counter = counters[device_id] = _Counter(device)
        number, part = counter.take(link.lane_bytes_per_s)
        on_node[node] = on_node.get(node, 0) + 1
        return Port(node, device, number, part, on_node[node], host)

    for link in watched(source, links, "following cables", 0.0, end):
        numbers = range(1, link.count + 1)
        cables += [Cable(link, number, port(link.a, link), port(link.b, link)) for number in numbers]
    order = node_order(topology, hosts)
    nodes = tuple(sorted(on_node, key=order.__getitem__))
    return Cabling(nodes, tuple(cables), {host.id: host for host in hosts})


def network_links(topology: Topology) -> Sequence[Link]:
    """The links that are network cables, in document order."""
    return [link for link in topology.links() if link.kind in NETWORK_LINKS]


def node_order(topology: Topology, hosts: Sequence[Host]) -> dict[str, int]:
    """Where hosts and the devices outside of them stand in document order."""
    host_of = host_of_device(hosts)
    order: dict[str, int] = {}
    for place, device in enumerate(topology.devices()):
        host = host_of.get(device.id)
        order.setdefault(host.id if host is not None else device.id, place)
    return order
