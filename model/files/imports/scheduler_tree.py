"""Clusters as schedulers know them: hosts, the switches above each, NVLink domains; no cables, no speeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.catalog import GpuSpec, catalog
from model.files.importing import Drawing, Question, Reading
from model.files.imports.building import ask_number
from model.files.imports.graph_drawing import GraphDrawing
from model.files.imports.graph_models import Models
from model.files.imports.graph_parts import Edge, Node, Role
from model.text import name_list, plural
from model.topology.types import ContainerKind

MOST_GPUS_OF_A_HOST = 64
_WIDTHS = {"full": 1.0, "half": 0.5, "one": 0.0}


@dataclass(frozen=True, slots=True)
class SchedulerHost:
    """A host: the switch that it hangs on, its NVLink domain, and how many GPUs it has (None: not said)."""

    name: str
    switch: str = ""
    domain: str = ""
    gpus: int | None = None
    gpu: str = ""  # a catalogue id
    line: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Hosts and the switch above each switch; switches that stand above nothing may be in it too."""

    hosts: Sequence[SchedulerHost]
    above: Mapping[str, str]
    switches: Sequence[str]


def draw(
    reading: Reading, cluster: Cluster, *, gpus: int = 0, gpu: str = "", network: str = "infiniband"
) -> Drawing:
    """The cluster with a bundle for each step of the tree; `gpus` a host and `gpu` are what is proposed."""
    models = Models(reading, gpu, network)
    graph = GraphDrawing(reading, models, ask_hosts=False)
    switches = _switch_names(cluster)
    for switch in cluster.switches:
        switches[switch] = graph.node(Node(switches[switch], Role.SWITCH))
    each = _gpus_of_hosts(reading, cluster, gpus)
    domains: dict[str, list[str]] = {}
    hanging: Counter[str] = Counter()
    for host in cluster.hosts:
        rack = graph.container(host.domain, ContainerKind.RACK) if host.domain else None
        own = each if host.gpus is None else host.gpus
        ends = _draw_host(graph, host, own, rack)
        if host.switch:
            hanging[host.switch] += len(ends)
            for end in ends:
                graph.edge(Edge(end, switches[host.switch], line=host.line))
        if own:
            domains.setdefault(host.domain or f"\0{host.name}", []).extend(ends)
    for (switch, parent), count in _uplinks(reading, cluster, hanging).items():
        graph.edge(Edge(switches[switch], switches[parent], count=count))
    for domain, members in domains.items():
        _join_domain(graph, models, domain, members)
    _say(reading, cluster, domains, each)
    return graph.drawing(reading.source.name)


def _uplinks(reading: Reading, cluster: Cluster, hanging: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """How many cables go from each switch to the one above, by what hangs below it at any depth."""
    if not cluster.above:
        return {}
    question = Question(
        "uplinks",
        "How wide is the way from a switch to the one above it?",
        "full",
        (
            ("full", "As fast as all hosts below"),
            ("half", "Half as fast as all hosts below"),
            ("one", "One cable"),
        ),
        why="The file has neither cables nor speeds; it decides what is a bottleneck.",
    )
    width = _WIDTHS[reading.ask(question)]
    below = dict.fromkeys(cluster.above.items(), 0)
    for switch, count in hanging.items():
        seen: set[str] = set()
        while switch in cluster.above and switch not in seen:
            seen.add(switch)
            below[switch, cluster.above[switch]] += count
            switch = cluster.above[switch]
    return {step: max(1, math.ceil(width * count)) for step, count in below.items()}


def _switch_names(cluster: Cluster) -> dict[str, str]:
    """Names of switches that are names of hosts, too, are told apart."""
    hosts = {host.name for host in cluster.hosts}
    return {name: f"switch {name}" if name in hosts else name for name in cluster.switches}


def _gpus_of_hosts(reading: Reading, cluster: Cluster, default: int) -> int:
    """The GPUs of hosts of which the file does not say it."""
    if all(host.gpus is not None for host in cluster.hosts):
        return 0
    return int(
        ask_number(
            reading,
            "gpus_per_host",
            "How many GPUs has a host of which the file does not say it?",
            float(default),
            "GPUs",
            "With 0, hosts are trays with a network card, which can be filled later.",
            least=0,
            most=MOST_GPUS_OF_A_HOST,
        )
    )


def _draw_host(graph: GraphDrawing, host: SchedulerHost, gpus: int, rack: str | None) -> list[str]:
    """One host; gives the names of what is on the network."""
    if not gpus:
        return [graph.node(Node(host.name, Role.HOST, parent=rack))]
    tray = graph.container(host.name, ContainerKind.TRAY, rack)
    names = []
    for rail in range(gpus):
        nic = f"{host.name}.nic{rail}"
        gpu = Node(f"{host.name}.gpu{rail}", Role.GPU, host.gpu, parent=tray, rail=rail, nic=nic)
        names.append(graph.node(gpu))
    return names


def _join_domain(graph: GraphDrawing, models: Models, domain: str, members: Sequence[str]) -> None:
    """NVLink switches between all GPUs of a domain: as few as have the ports, with equal shares of lanes."""
    specs = {graph.nodes[name].model or models.gpu().id for name in members}
    spec = catalog().gpus[next(iter(specs))]
    if len(members) < 2 or spec.nvlink_generation is None:
        return
    chip = catalog().nvlink_switches[models.nvlink_switch(specs)]
    chips = _chips(spec, chip.ports, len(members))
    parent = graph.nodes[members[0]].parent if domain.startswith("\0") else domain
    base = f"{domain[1:]}.nvs" if domain.startswith("\0") else f"{domain}.nvs"
    for number in range(chips):
        switch = graph.node(Node(f"{base}{number}", Role.NVLINK_SWITCH, chip.id, parent=parent))
        lanes = max(1, spec.scale_up_links // chips)
        for name in members:
            graph.edge(Edge(name, switch, spec.scale_up_lane_bytes_per_s * lanes, lanes))


def _chips(spec: GpuSpec, ports: int, members: int) -> int:
    lanes = spec.scale_up_links
    shares = [count for count in range(1, lanes + 1) if lanes % count == 0]
    return next((count for count in shares if members * (lanes // count) <= ports), lanes)


def _say(reading: Reading, cluster: Cluster, domains: Mapping[str, Sequence[str]], each: int) -> None:
    wide = Counter(host.domain for host in cluster.hosts if host.domain)
    parts = [plural(len(cluster.switches), "switch", "switches"), plural(len(cluster.hosts), "host")]
    if wide:
        sizes = sorted(set(wide.values()))
        of = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        parts.append(f"{plural(len(wide), 'NVLink domain')} of {of} hosts")
    reading.found(", ".join(parts))
    loose = [host for host in cluster.hosts if not host.switch]
    if loose and cluster.switches:
        reading.contradictory(
            f"No switch is said to be above {name_list([host.name for host in loose])}.",
            *(host.line for host in loose if host.line),
        )
    if cluster.above or any(host.switch for host in cluster.hosts):
        reading.guessed("How many cables there are is not in the file; the width upwards is asked for.")
    if any(members for members in domains.values()):
        reading.guessed("Each GPU got a network card of its own, on the switch of its host.")
    if any(len(members) > 1 for members in domains.values()):
        reading.guessed(
            "How GPUs of an NVLink domain are wired is not in the file: they are joined by as few NVLink "
            "switches as have the ports."
        )
