"""ASTRA-sim's analytical network: a few symmetric dimensions, or the reason why there are none.

`topology` is Ring, Switch or FullyConnected for each dimension, with its number of NPUs, the bandwidth of a
link in GB/s (10^9, one direction) and its latency in ns. ASTRA-sim counts the latency of a Switch twice, once
to the switch and once from it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.drawing import TIERS, Sets
from model.files.exports.packet_graph import PacketGraph, gpu_graph
from model.text import format_rate, plural
from model.topology.graph import Topology
from model.topology.types import SCALE_UP_LINKS

_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Dimension:
    """One entry of each list: members, bytes/s of an NPU in one direction, seconds of a link."""

    topology: str
    npus: int
    bytes_per_s: float
    latency_s: float


def _write(source: ExportSource) -> Exported:
    graph = gpu_graph(source)
    topology = source.document.topology
    dimensions = [*_scale_up(topology, graph), *_scale_out(source, topology, graph)]
    if not dimensions:
        raise InputError("A single GPU has no network, and ASTRA-sim's file describes one.")
    count = 1
    for dimension in dimensions:
        count *= dimension.npus
    if count != len(graph.ends):
        raise InputError(f"The dimensions hold {count:,} NPUs, and the drawing has {len(graph.ends):,} GPUs.")
    lines = [
        f"# {plural(len(graph.ends), 'GPU')}; for each collective the system file needs "
        f"{plural(len(dimensions), 'entry', 'entries')}",
        f"topology: [ {', '.join(one.topology for one in dimensions)} ]",
        f"npus_count: [ {', '.join(str(one.npus) for one in dimensions)} ]",
        f"bandwidth: [ {', '.join(f'{one.bytes_per_s / 1e9:.10g}' for one in dimensions)} ]  # GB/s",
        f"latency: [ {', '.join(f'{one.latency_s * 1e9:.10g}' for one in dimensions)} ]  # ns",
    ]
    notes = [note for note in graph.notes if "Left out" in note or "given its part" in note]
    notes.append(
        "Each dimension is one number: rails, cables, the PCIe way to the NIC and names are not in the file."
    )
    if sum(1 for one in dimensions if one.topology == "Switch") > 2:
        notes.append(
            "ASTRA-sim gives each dimension links of its own; in the drawing the NIC carries the outer ones "
            "together."
        )
    return Exported({"": "\n".join(lines) + "\n"}, tuple(notes))


def _scale_up(topology: Topology, graph: PacketGraph) -> list[Dimension]:
    """The scale-up domains as the inner dimension. Raises `InputError` where they are not alike."""
    sizes = Counter(len(server) for server in graph.servers)
    if len(sizes) > 1:
        counts = ", ".join(f"{count:,} of {plural(size, 'GPU')}" for size, count in sorted(sizes.items()))
        raise _refused(f"its scale-up domains differ ({counts}), and a dimension has one size")
    size = next(iter(sizes))
    if size == 1:
        return []
    rates = {link.a: link.bytes_per_s for link in graph.server_links}
    lowest, highest = min(rates.values(), default=0.0), max(rates.values(), default=0.0)
    if len(rates) < len(graph.ends) or highest > lowest * (1 + _SAME):
        raise _refused(
            f"its GPUs have from {format_rate(lowest)} to {format_rate(highest)} of scale-up bandwidth, and "
            "a dimension has one"
        )
    latency = max(link.latency_s for link in graph.server_links)
    kind, links = _shape(topology, graph, size)
    return [Dimension(kind, size, highest / links, latency)]


def _shape(topology: Topology, graph: PacketGraph, size: int) -> tuple[str, int]:
    """How the GPUs of a domain are joined, and by how many links each: ASTRA-sim's bandwidth is of one."""
    members = set(graph.ends)
    peers: dict[str, Counter[str]] = {gpu: Counter() for gpu in graph.ends}
    for link in topology.links():
        if link.kind in SCALE_UP_LINKS and link.a in members and link.b in members:
            peers[link.a][link.b] += link.count
            peers[link.b][link.a] += link.count
    if not any(peers.values()):
        return "Switch", 1
    if size > 2 and all(len(own) == size - 1 and len(set(own.values())) == 1 for own in peers.values()):
        return "FullyConnected", size - 1
    if all(len(own) == min(2, size - 1) and len(set(own.values())) == 1 for own in peers.values()):
        return "Ring", min(2, size - 1)
    raise _refused(
        "its GPUs are joined neither by switches nor as a ring nor each with all others, which ASTRA-sim "
        "takes"
    )


def _scale_out(source: ExportSource, topology: Topology, graph: PacketGraph) -> list[Dimension]:
    """The network: one dimension as far up as it does not narrow, another one for each tier where it does."""
    if len(graph.servers) == 1:
        return []
    rates = dict.fromkeys(graph.ends, 0.0)
    for link in graph.links:
        if link.a in rates:
            rates[link.a] += link.bytes_per_s
    lowest, highest = min(rates.values()), max(rates.values())
    if highest <= 0:
        raise _refused("no network joins its GPUs")
    if highest > lowest * (1 + _SAME):
        raise _refused(
            f"its GPUs have from {format_rate(lowest)} to {format_rate(highest)} of network bandwidth, and a "
            "dimension has one"
        )
    source.progress(0.9, "finding dimensions")
    latency_to = _latencies(graph, graph.ends[0])
    found: list[Dimension] = []
    inside, rate = len(graph.servers[0]), highest
    for tier in sorted({TIERS[topology.device(name).kind] for name in graph.switches}):
        groups = _groups(topology, graph, tier)
        size = _one_size(groups)
        if size == inside:
            continue
        latency = _half_way_s(graph, groups, latency_to)
        narrowed = _narrowed(topology, graph, tier - 1, rate) if found else rate
        if found and narrowed >= rate * (1 - _SAME):
            last = found.pop()
            found.append(Dimension("Switch", last.npus * size // inside, last.bytes_per_s, latency))
        else:
            found.append(Dimension("Switch", size // inside, narrowed, latency))
        inside, rate = size, narrowed
    if inside != len(graph.ends):
        raise _refused("its network does not join all GPUs")
    return found


def _latencies(graph: PacketGraph, start: str) -> Mapping[str, float]:
    """Seconds from an end point to all that it reaches over switches, on the ways with the fewest links."""
    near: dict[str, list[tuple[str, float]]] = {}
    for link in graph.links:
        near.setdefault(link.a, []).append((link.b, link.latency_s))
        near.setdefault(link.b, []).append((link.a, link.latency_s))
    switches = frozenset(graph.switches)
    found: dict[str, float] = {}
    front = {start: 0.0}
    while front:
        found |= front
        following: dict[str, float] = {}
        for node, seconds in front.items():
            for other, latency in near.get(node, ()) if node in switches or node == start else ():
                if other not in found:
                    following[other] = min(following.get(other, math.inf), seconds + latency)
        front = following
    return found


def _half_way_s(
    graph: PacketGraph, groups: Mapping[str, list[str]], latency_to: Mapping[str, float]
) -> float:
    """Half the latency from the first GPU to the farthest of its group that has its place in a server."""
    group = frozenset(next(own for own in groups.values() if graph.ends[0] in own))
    peers = [server[0] for server in graph.servers if server[0] in group]
    if any(peer not in latency_to for peer in peers):
        raise _refused("its network does not join the GPUs that have the same place in their servers")
    return max(latency_to[peer] for peer in peers) / 2


def _groups(topology: Topology, graph: PacketGraph, tier: int) -> Mapping[str, list[str]]:
    """The GPUs that are joined by their servers and the switches up to a tier."""
    sets = Sets()
    for server in graph.servers:
        for gpu in server[1:]:
            sets.join(server[0], gpu)
    ends = set(graph.ends)
    for link in graph.links:
        if all(node in ends or TIERS[topology.device(node).kind] <= tier for node in (link.a, link.b)):
            sets.join(link.a, link.b)
    groups: dict[str, list[str]] = {}
    for gpu in graph.ends:
        groups.setdefault(sets.root(gpu), []).append(gpu)
    return groups


def _one_size(groups: Mapping[str, Sequence[str]]) -> int:
    sizes = Counter(len(own) for own in groups.values())
    if len(sizes) > 1:
        counts = ", ".join(f"{count:,} of {plural(size, 'GPU')}" for size, count in sorted(sizes.items()))
        raise _refused(f"its switches join unlike numbers of GPUs ({counts})")
    return next(iter(sizes))


def _narrowed(topology: Topology, graph: PacketGraph, tier: int, rate: float) -> float:
    """Bytes/s up from a tier for each GPU below, at most `rate`. Raises `InputError` where groups differ."""
    groups = _groups(topology, graph, tier)
    of_gpu = {gpu: root for root, own in groups.items() for gpu in own}
    sets: dict[str, str] = {}
    for link in graph.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            if end in of_gpu and other not in of_gpu:
                sets[other] = of_gpu[end]
    changed = True
    while changed:
        changed = False
        for link in graph.links:
            for end, other in ((link.a, link.b), (link.b, link.a)):
                small = other not in of_gpu and TIERS[topology.device(other).kind] <= tier
                if end in sets and small and other not in sets:
                    sets[other] = sets[end]
                    changed = True
    up = dict.fromkeys(groups, 0.0)
    for link in graph.links:
        for end, other in ((link.a, link.b), (link.b, link.a)):
            if end in sets and other not in of_gpu and other not in sets:
                up[sets[end]] += link.bytes_per_s
    shares = [total / len(groups[root]) for root, total in up.items()]
    if max(shares) > min(shares) * (1 + _SAME):
        raise _refused("its switches have unlike bandwidth upwards")
    return min(rate, shares[0])


def _refused(reason: str) -> InputError:
    return InputError(f"ASTRA-sim's analytical network is symmetric and cannot hold this drawing: {reason}.")


FORMATS = (
    ExportFormat(
        id="astra-sim-yml",
        name="ASTRA-sim network",
        suffix=".yml",
        write=_write,
        use="The network configuration of ASTRA-sim's analytical backend (--network-configuration).",
        lacks="Rails, unequal hosts, single cables, states, oversubscription inside a dimension, names.",
    ),
)
