"""What NCCL chose (its graph file) against the rings that are computed here, on the GPUs of one host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

from model.document.document import Document
from model.document.place_ranks import gpus_by_host
from model.errors import InputError
from model.files.importing import Channel, ChosenGraph, Overlay
from model.placement.resolve import world_of
from model.text import format_rate, name_list, plural
from model.topology.graph import Topology
from model.topology.types import HOST_LINKS, SCALE_UP_LINKS, DeviceKind


@dataclass(frozen=True, slots=True)
class ShownChannel:
    """A channel on our devices: GPUs in order, the NICs it enters and leaves by, the links it takes."""

    gpus: tuple[str, ...]
    nic_in: str | None
    nic_out: str | None
    links: tuple[str, ...]
    as_here: bool


@dataclass(frozen=True, slots=True)
class ShownGraph:
    """What NCCL chose for one algorithm: in words, and its channels. Equal channels are one."""

    algorithm: str
    words: tuple[str, ...]
    channels: tuple[ShownChannel, ...]

    @property
    def links(self) -> tuple[str, ...]:
        """All links that it takes, to light them."""
        return tuple(dict.fromkeys(link for channel in self.channels for link in channel.links))


@dataclass(frozen=True, slots=True)
class ShownOverlay:
    """NCCL's graphs on a host. `ours` is the order of its GPUs in the rings that are computed here."""

    host: str
    ours: tuple[str, ...]
    graphs: tuple[ShownGraph, ...]


def overlay_hosts(document: Document, overlay: Overlay) -> tuple[str, ...]:
    """The hosts that have every GPU which the overlay names."""
    named = {gpu for graph in overlay.graphs for each in graph.channels for gpu in each.gpus}
    if not named or min(named) < 0:
        return ()
    return tuple(host for host, gpus in gpus_by_host(document.topology).items() if len(gpus) > max(named))


def show_overlay(document: Document, overlay: Overlay, host: str | None = None) -> ShownOverlay:
    """Put NCCL's channels on the GPUs of a host (the first that fits), and compare them with ours.

    GPU i of a channel is the i-th of the host, network device j its j-th NIC. Our rings go through the GPUs
    of a host in rank order, every channel the same (conventions 15). Raises `InputError` where no host fits.
    """
    fitting = overlay_hosts(document, overlay)
    if host is not None and host not in fitting:
        raise InputError(
            f"{host} has fewer GPUs than {overlay.name} names; {name_list(fitting) or 'none'} has."
        )
    if not fitting:
        raise InputError(f"No host of the drawing has all the GPUs that {overlay.name} names.")
    chosen = host or fitting[0]
    work = _Host(document, chosen)
    return ShownOverlay(chosen, work.ours, tuple(work.shown(graph) for graph in overlay.graphs))


class _Host:
    def __init__(self, document: Document, host: str) -> None:
        topology = document.topology
        self._topology = topology
        self._gpus = gpus_by_host(topology)[host]
        inside = [ident for ident in topology.descendants(host) if topology.has_device(ident)]
        self._nics = [ident for ident in inside if topology.device(ident).kind is DeviceKind.NIC]
        up = [device.id for device in topology.working(DeviceKind.GPU)]
        mine = set(self._gpus)
        self.ours = tuple(gpu for gpu in world_of(document.job.world, up) if gpu in mine)
        self._host_graph = _host_graph(topology, inside)

    def shown(self, graph: ChosenGraph) -> ShownGraph:
        channels = tuple(self._channel(each, graph) for each in dict.fromkeys(graph.channels) if each.gpus)
        return ShownGraph(graph.algorithm, tuple(self._words(graph, channels)), channels)

    def _channel(self, channel: Channel, graph: ChosenGraph) -> ShownChannel:
        gpus = tuple(self._gpus[index] for index in channel.gpus)
        nic_in, nic_out = self._nic(channel.net_in), self._nic(channel.net_out)
        hops = list(pairwise(gpus))
        if nic_in is None and nic_out is None and graph.algorithm == "ring" and len(gpus) > 2:
            hops.append((gpus[-1], gpus[0]))
        links = [link for a, b in hops for link in self._between(a, b)]
        for nic, gpu in ((nic_in, gpus[:1]), (nic_out, gpus[-1:])):
            if nic is not None and gpu:
                links += self._host_path(nic, gpu[0])
        return ShownChannel(
            gpus, nic_in, nic_out, tuple(dict.fromkeys(links)), as_here=_same_cycle(gpus, self.ours)
        )

    def _nic(self, index: int | None) -> str | None:
        return self._nics[index] if index is not None and 0 <= index < len(self._nics) else None

    def _between(self, a: str, b: str) -> list[str]:
        """Direct scale-up links, else those to the switches of both, else the way through the host."""
        topology = self._topology
        scale_up = {
            end: [link for link in topology.links_of(end) if link.kind in SCALE_UP_LINKS] for end in (a, b)
        }
        direct = [link.id for link in scale_up[a] if link.other(a) == b]
        if direct:
            return direct
        common = {link.other(a) for link in scale_up[a]} & {link.other(b) for link in scale_up[b]}
        over = [link.id for end in (a, b) for link in scale_up[end] if link.other(end) in common]
        return over or self._host_path(a, b)

    def _host_path(self, a: str, b: str) -> list[str]:
        try:
            way = nx.shortest_path(self._host_graph, a, b)
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return []
        return [self._host_graph.edges[hop]["link"] for hop in pairwise(way)]

    def _words(self, graph: ChosenGraph, channels: Sequence[ShownChannel]) -> list[str]:
        count, inside = len(graph.channels), graph.intra_bytes_per_s
        if not count:
            return ["NCCL found no way for it."]
        between = f" and {format_rate(graph.inter_bytes_per_s)} between hosts" if _has_net(graph) else ""
        said = [
            f"NCCL has {plural(count, 'channel')}, {format_rate(inside)} each inside the host{between}, "
            f"{format_rate(count * inside)} in all."
        ]
        order = " → ".join(str(self._gpus.index(gpu)) for gpu in self.ours)
        other = [channel for channel in channels if not channel.as_here]
        if graph.algorithm == "ring":
            if not other:
                said.append(f"All of them go through the GPUs as here: {order}.")
            else:
                theirs = [" → ".join(str(self._gpus.index(gpu)) for gpu in each.gpus) for each in other]
                said.append(
                    f"Here every channel goes {order}; {len(other)} of {len(channels)} different ones do "
                    f"not: {name_list(theirs)}."
                )
            if _has_net(graph):
                said.append(
                    f"Here {plural(len(self.ours), 'channel')}, one for each GPU, lead to other hosts."
                )
        said += self._far_nics(channels)
        if not self._nics and _has_net(graph):
            said.append("The host has no NICs here, so the ways in and out are not shown.")
        return said

    def _far_nics(self, channels: Sequence[ShownChannel]) -> list[str]:
        """Channels that enter or leave by a NIC of another rail than their GPU's."""
        device = self._topology.device
        odd = [
            f"{nic} at {gpu}"
            for channel in channels
            for nic, gpu in ((channel.nic_in, channel.gpus[0]), (channel.nic_out, channel.gpus[-1]))
            if nic is not None
            and None not in (device(nic).rail, device(gpu).rail)
            and device(nic).rail != device(gpu).rail
        ]
        if not odd:
            return []
        return [f"Some enter or leave by the NIC of another rail: {name_list(list(dict.fromkeys(odd)))}."]


def _has_net(graph: ChosenGraph) -> bool:
    return any(channel.net_in is not None or channel.net_out is not None for channel in graph.channels)


def _same_cycle(gpus: Sequence[str], ours: Sequence[str]) -> bool:
    """Whether both go around in the same direction, wherever they start."""
    if len(gpus) != len(ours) or not gpus or gpus[0] not in ours:
        return False
    start = list(ours).index(gpus[0])
    return tuple(gpus) == (*ours[start:], *ours[:start])


def _host_graph(topology: Topology, inside: Sequence[str]) -> nx.Graph[str]:
    """PCIe and C2C links among the devices of a host."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(inside)
    members = set(inside)
    for ident in inside:
        for link in topology.links_of(ident):
            if link.kind in HOST_LINKS and link.other(ident) in members:
                graph.add_edge(link.a, link.b, link=link.id)
    return graph
