"""A cluster as packet simulators see it: end points, switches, and one link for each pair that has cables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.errors import InputError
from model.files.exporting import ExportSource
from model.files.exports.drawing import (
    TIERS,
    Host,
    host_of_device,
    hosts_of,
    not_working,
    omitted,
    scale_up_domains,
    works,
)
from model.text import plural
from model.topology.graph import Topology
from model.topology.types import (
    NETWORK_LINKS,
    SCALE_UP_LINKS,
    Device,
    DeviceKind,
    Link,
    State,
)
from model.traffic.fabric import compile_fabric
from model.traffic.routing import Routes
from model.traffic.types import Fabric

SCALE_UP_LATENCY_S = 25e-9  # the defaults of SimAI's own generator
NETWORK_LATENCY_S = 500e-9


@dataclass(frozen=True, slots=True)
class PacketLink:
    """All cables between two nodes: their sum in one direction, and the latency of one."""

    a: str
    b: str
    bytes_per_s: float
    latency_s: float


@dataclass(frozen=True, slots=True)
class PacketGraph:
    """`ends` (GPUs or hosts), `servers` (the scale-up domain of each end, as a switch's id), `switches`."""

    ends: tuple[str, ...]
    servers: tuple[tuple[str, ...], ...]
    server_links: tuple[PacketLink, ...]
    switches: tuple[str, ...]
    links: tuple[PacketLink, ...]
    notes: tuple[str, ...]

    @property
    def server_switches(self) -> tuple[str, ...]:
        """Ids for the switch of each server; no device is called so."""
        return tuple(f"\0server{place}" for place in range(len(self.servers)))


class _Sums:
    """Adds up what joins each pair of nodes."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._rate: dict[tuple[str, str], float] = {}
        self._latency: dict[tuple[str, str], float] = {}
        self._cables: Counter[tuple[str, str]] = Counter()

    def add(self, a: str, b: str, rate: float, latency_s: float | None, cables: int = 1) -> None:
        key = (a, b) if (b, a) not in self._rate else (b, a)
        self._rate[key] = self._rate.get(key, 0.0) + rate
        own = self._latency_s if latency_s is None else latency_s
        self._latency[key] = max(self._latency.get(key, 0.0), own)
        self._cables[key] += cables

    def links(self) -> tuple[PacketLink, ...]:
        return tuple(PacketLink(a, b, rate, self._latency[a, b]) for (a, b), rate in self._rate.items())

    def merged(self) -> tuple[str, ...]:
        """A sentence on pairs with several cables, if there are any."""
        several = [count for count in self._cables.values() if count > 1]
        if not several:
            return ()
        return (
            f"{plural(sum(several), 'cable')} written as {plural(len(several), 'link')} of the summed speed: "
            "the simulator knows one link for each pair.",
        )


def gpu_graph(source: ExportSource) -> PacketGraph:
    """GPUs as end points: each with a link to the switch of its server, and to the switches of its NICs.

    A server is a scale-up domain; where GPUs have none, a host with its PCIe speed. Raises `InputError`
    without GPUs.
    """
    topology = source.document.topology
    gpus = topology.working(DeviceKind.GPU)
    if not gpus:
        raise InputError("The drawing has no GPU that works.")
    servers, pcie = _servers(topology, gpus)
    order = [gpu for server in servers for gpu in server]
    source.progress(0.1, "compiling the network")
    fabric = compile_fabric(topology)
    source.progress(0.5, "following cables")
    scale_up = _scale_up(topology, servers, pcie)
    sums = _Sums(NETWORK_LATENCY_S)
    switches = _add_switch_links(topology, sums)
    notes = [*not_working(topology), *_add_nic_links(topology, fabric, order, sums, frozenset(switches))]
    source.progress(0.8, "writing links")
    notes += [*sums.merged(), *_left_out(topology)]
    if pcie:
        notes.append(
            "The GPUs have no NVLink: their PCIe links are written as links to a switch of the host."
        )
    return PacketGraph(tuple(order), tuple(servers), scale_up, switches, sums.links(), tuple(notes))


def host_graph(source: ExportSource) -> PacketGraph:
    """Hosts and storage as end points, and the cables between them and the switches."""
    topology = source.document.topology
    hosts = host_of_device(hosts_of(topology))
    sums = _Sums(NETWORK_LATENCY_S)
    ends: dict[str, None] = {}
    source.progress(0.2, "following cables")
    for link in topology.links():
        if link.kind not in NETWORK_LINKS or not _live(topology, link):
            continue
        pair = []
        for ident in (link.a, link.b):
            device = topology.device(ident)
            node = hosts[ident].id if ident in hosts else ident
            if device.kind not in TIERS:
                ends[node] = None
            pair.append(node)
        if pair[0] != pair[1]:
            sums.add(pair[0], pair[1], link.capacity_bytes_per_s, link.latency_s, link.count)
    if not ends:
        raise InputError("No host or storage device of the drawing has a network cable.")
    notes = [*not_working(topology), *sums.merged()]
    inside = [
        device for device in topology.devices() if device.id in hosts and device.kind is not DeviceKind.NIC
    ]
    notes += omitted(inside, why="a host is one node")
    return PacketGraph(tuple(ends), (), (), _switches(topology), sums.links(), tuple(notes))


def _live(topology: Topology, link: Link) -> bool:
    return works(link) and works(topology.device(link.a)) and works(topology.device(link.b))


def _switches(topology: Topology) -> tuple[str, ...]:
    return tuple(device.id for kind in TIERS for device in topology.working(kind))


def _servers(topology: Topology, gpus: Sequence[Device]) -> tuple[list[tuple[str, ...]], bool]:
    """The GPUs of each server, and whether servers are hosts joined by PCIe."""
    domains = scale_up_domains(topology)
    members: dict[str, list[str]] = {}
    for gpu in gpus:
        members.setdefault(domains[gpu.id], []).append(gpu.id)
    if len(members) < len(gpus) or len(gpus) == 1:
        return [tuple(own) for own in members.values()], False
    host_of: Mapping[str, Host] = host_of_device(hosts_of(topology))
    boxes: dict[str, list[str]] = {}
    for gpu in gpus:
        boxes.setdefault(host_of[gpu.id].id, []).append(gpu.id)
    return [tuple(own) for own in boxes.values()], len(boxes) < len(gpus)


def _scale_up(topology: Topology, servers: Sequence[tuple[str, ...]], pcie: bool) -> tuple[PacketLink, ...]:
    """What each GPU of a server has to the others: all its scale-up lanes, or its PCIe link."""
    sums = _Sums(SCALE_UP_LATENCY_S)
    place = {gpu: number for number, server in enumerate(servers) for gpu in server}
    for gpu in place:
        for link in topology.links_of(gpu):
            wanted = link.kind.value == "pcie" if pcie else link.kind in SCALE_UP_LINKS
            if wanted and _live(topology, link):
                sums.add(gpu, f"\0server{place[gpu]}", link.capacity_bytes_per_s, link.latency_s)
    return sums.links()


def _add_nic_links(
    topology: Topology, fabric: Fabric, gpus: Sequence[str], sums: _Sums, switches: frozenset[str]
) -> list[str]:
    """Links from GPUs over the NICs that they use (conventions 1, 2); says what cannot be written so."""
    routes = fabric.routes
    if not isinstance(routes, Routes):
        raise TypeError("the fabric has no routes")
    nics = routes.nics
    first, nic_of_row = nics.first.tolist(), nics.nic.tolist()
    own_nics = {
        gpu: nic_of_row[first[at] : first[at + 1]] for gpu in gpus for at in (fabric.device_index[gpu],)
    }
    users: Counter[int] = Counter(nic for own in own_nics.values() for nic in own)
    alone: list[str] = []
    direct: dict[str, None] = {}
    for gpu, own in own_nics.items():
        if not own:
            alone.append(gpu)
        for nic in own:
            ident = fabric.device_ids[nic]
            for link in topology.links_of(ident):
                if link.kind not in NETWORK_LINKS or not _live(topology, link):
                    continue
                if link.other(ident) not in switches:
                    direct[link.id] = None
                    continue
                rate = link.capacity_bytes_per_s / users[nic]
                sums.add(gpu, link.other(ident), rate, link.latency_s, link.count)
    shared = sum(1 for count in users.values() if count > 1)
    notes = []
    if alone:
        notes.append(f"{plural(len(alone), 'GPU')} without a way to the network ({alone[0]} is the first).")
    if shared:
        notes.append(f"{plural(shared, 'NIC')} used by several GPUs: each GPU is given its part as a link.")
    if direct:
        notes.append(f"Left out: {plural(len(direct), 'cable')} of NICs that lead to no switch.")
    return notes


def _add_switch_links(topology: Topology, sums: _Sums) -> tuple[str, ...]:
    switches = _switches(topology)
    known = set(switches)
    for link in topology.links():
        if link.kind in NETWORK_LINKS and link.a in known and link.b in known and works(link):
            sums.add(link.a, link.b, link.capacity_bytes_per_s, link.latency_s, link.count)
    return switches


def _left_out(topology: Topology) -> tuple[str, ...]:
    kinds = (DeviceKind.CPU, DeviceKind.PCIE_SWITCH, DeviceKind.STORAGE)
    devices = [
        device for device in topology.devices() if device.kind in kinds and device.state is not State.DOWN
    ]
    return omitted(devices, why="GPUs are the end points")
