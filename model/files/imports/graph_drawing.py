"""A drawing of a graph: tiers of switches, trays for plain hosts, NICs for GPUs that are on the network."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

from model.catalog import GpuSpec, NvlinkSwitchSpec, catalog
from model.errors import InputError
from model.files.importing import Drawing, Question, Reading
from model.files.imports.building import DrawingBuilder
from model.files.imports.graph_models import Models
from model.files.imports.graph_parts import (
    HOST_ROLES,
    KINDS,
    NETWORK_ROLES,
    SCALE_UP_ROLES,
    Edge,
    Node,
    Role,
    rails_of,
    with_tiers,
)
from model.text import name_list, plural
from model.topology.ports import family_of, link_kinds, ports_of, spec_of
from model.topology.types import (
    NETWORK_LINKS,
    NETWORK_SWITCHES,
    SCALE_UP_LINKS,
    ContainerKind,
    Device,
    DeviceKind,
    LinkKind,
)

MOST_NODES = 200_000
MOST_EDGES = 1_000_000
_ANY_LANE = 25e9  # bytes/s of a scale-up lane between devices that the catalogue does not have
_CABLES = frozenset({None, *NETWORK_LINKS})
_NETWORK_ENDS = NETWORK_SWITCHES | {DeviceKind.NIC, DeviceKind.STORAGE, DeviceKind.SITE_GATEWAY}


class GraphDrawing:
    """Collects the nodes and edges of a file and draws them.

    Conventions: a `HOST` becomes a tray with one NIC at the end of its links (with a GPU behind it when the
    user says so); a GPU on the network gets a NIC; a switch gets its tier from what hangs on it.
    """

    def __init__(self, reading: Reading, models: Models, *, ask_hosts: bool = True) -> None:
        """`ask_hosts`: whether the user may say that there is a GPU in each plain host."""
        self.reading = reading
        self.models = models
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.containers: dict[str, tuple[ContainerKind, str | None]] = {}
        self._ask_hosts = ask_hosts

    def node(self, node: Node) -> str:
        """Add a node; gives its name, with a number behind it where it was taken.

        Raises `InputError` beyond what can be drawn.
        """
        if len(self.nodes) >= MOST_NODES:
            raise InputError(
                f"{self.reading.source.name} has more than {MOST_NODES:,} nodes; no more can be drawn."
            )
        wanted, number = node.name, 2
        while node.name in self.nodes:
            node.name, number = f"{wanted}-{number}", number + 1
        self.nodes[node.name] = node
        return node.name

    def edge(self, edge: Edge) -> None:
        """Add an edge between two nodes that were added before."""
        if len(self.edges) >= MOST_EDGES:
            raise InputError(
                f"{self.reading.source.name} has more than {MOST_EDGES:,} links; no more can be drawn."
            )
        self.edges.append(edge)

    def container(self, name: str, kind: ContainerKind, parent: str | None = None) -> str:
        """Add a container that nodes can have as their parent, once; gives the name to use for it."""
        if self.containers.get(name, (kind, None))[0] is not kind:
            name = f"{kind.value} {name}"
        self.containers.setdefault(name, (kind, parent))
        return name

    def drawing(self, name: str, *, whole: bool = True) -> Drawing:
        """All of it. `InputError` where there is nothing."""
        if not self.nodes:
            raise InputError(f"{self.reading.source.name} has no devices.")
        return _Work(self, name).drawing(whole=whole)


class _Work:
    """One drawing in the making."""

    def __init__(self, graph: GraphDrawing, name: str) -> None:
        self.reading, self.models = graph.reading, graph.models
        self.nodes, self.edges = dict(graph.nodes), list(graph.edges)
        self.builder = DrawingBuilder(graph.reading, name)
        self.graph = graph
        self.ids: dict[str, str] = {}
        self.boxes: dict[str, str] = {}
        self.speeds: list[float] = []
        self.latencies: dict[str, float] = {}
        self._unsized: Counter[str] = Counter()
        self._kinds: dict[tuple[DeviceKind, str, DeviceKind, str], LinkKind | None] = {}

    def drawing(self, *, whole: bool) -> Drawing:
        """Network cards first, so that tiers and models see what is on the network."""
        self._put_nics_between()
        tiers, lost = with_tiers(self.nodes, self.edges)
        if lost:
            self.reading.guessed(
                f"Nothing hangs on {name_list(lost)}, directly or over others: drawn as leaves."
            )
        leaves = [switch for switch, tier in tiers.items() if tier is Role.LEAF]
        for leaf, rail in rails_of(leaves, self.nodes, self.edges).items():
            self.nodes[leaf] = replace(self.nodes[leaf], rail=rail)
        for switch, tier in tiers.items():
            self.nodes[switch] = replace(self.nodes[switch], role=tier)
        self.speeds = [self._speed(edge) for edge in self.edges]
        models = self._models()
        for box, (kind, parent) in self.graph.containers.items():
            self.boxes[box] = self.builder.container(box, kind, parent=self.boxes.get(parent or ""))
        for node in self.nodes.values():
            self._draw(node, models)
        for edge, speed in zip(self.edges, self.speeds, strict=True):
            self._link(edge, speed)
        drawn = self.builder.drawing(whole=whole)
        if not self.latencies:
            return drawn
        links = (
            replace(link, latency_s=self.latencies[link.id]) if link.id in self.latencies else link
            for link in drawn.links
        )
        return replace(drawn, links=tuple(links))

    # Network cards

    def _put_nics_between(self) -> None:
        """A NIC on the network side of each GPU, CPU and PCIe switch that has a network link itself."""
        near = NETWORK_ROLES | {Role.HOST, Role.STORAGE, Role.SITE_GATEWAY}
        behind = HOST_ROLES - {Role.NIC}
        given: dict[str, str] = {}
        for index, edge in enumerate(self.edges):
            for end, other in ((edge.a, edge.b), (edge.b, edge.a)):
                if edge.kind in _CABLES and self.nodes[end].role in behind and self.nodes[other].role in near:
                    nic = self._nic_of(self.nodes[end], given)
                    self.edges[index] = replace(edge, a=nic) if end == edge.a else replace(edge, b=nic)
        if given:
            self.edges.extend(Edge(end, nic) for end, nic in given.items())
            self.reading.inferred(
                f"{plural(len(given), 'device')} stand on the network without a network card: "
                "each got one, with the PCIe link that both have by the catalogue."
            )

    def _nic_of(self, node: Node, given: dict[str, str]) -> str:
        if node.name not in given:
            nic = wanted = node.nic or f"{node.name}.nic"
            number = 2
            while nic in self.nodes:
                nic, number = f"{wanted}-{number}", number + 1
            given[node.name] = nic
            self.nodes[nic] = Node(nic, Role.NIC, parent=node.parent, rail=node.rail)
        return given[node.name]

    # Speeds and models

    def _speed(self, edge: Edge) -> float:
        """Bytes/s of the whole edge; 0 where the catalogue decides, once models are known."""
        if edge.bytes_per_s is not None:
            return edge.bytes_per_s
        if not self._is_network(edge):
            return 0.0
        return self.models.network_bytes_per_s() * (edge.count or 1)

    def _is_network(self, edge: Edge) -> bool:
        roles = {self.nodes[edge.a].role, self.nodes[edge.b].role}
        return roles == {Role.NIC} or not (roles <= HOST_ROLES or roles <= SCALE_UP_ROLES)

    def _models(self) -> dict[Role, str]:
        """One model for each role, by the fastest link and the most links of a node on the network."""
        rate: dict[Role, float] = defaultdict(float)
        ports: Counter[str] = Counter()
        for edge, speed in zip(self.edges, self.speeds, strict=True):
            if not self._is_network(edge):
                continue
            count = edge.count or 1
            for end in (edge.a, edge.b):
                role = self.nodes[end].role
                rate[role] = max(rate[role], speed / count)
                ports[end] += count
        most: dict[Role, int] = defaultdict(int)
        for name, count in ports.items():
            role = self.nodes[name].role
            most[role] = max(most[role], count)
        roles = Counter(node.role for node in self.nodes.values() if not node.model)
        found: dict[Role, str] = {}
        if roles[Role.GPU] or (roles[Role.HOST] and self._hosts_have_gpus()):
            found[Role.GPU] = self.models.gpu().id
        for tier in (Role.LEAF, Role.SPINE, Role.CORE):
            if roles[tier]:
                found[tier] = self.models.switch(tier.value, rate[tier], most[tier])
        if roles[Role.NIC] or roles[Role.HOST]:
            fastest, links = (max(of[Role.NIC], of[Role.HOST]) for of in (rate, most))
            found[Role.NIC] = self.models.nic(fastest, int(links)).id
        if roles[Role.NVLINK_SWITCH]:
            gpus = {node.model or found[Role.GPU] for node in self.nodes.values() if node.role is Role.GPU}
            found[Role.NVLINK_SWITCH] = self.models.nvlink_switch(gpus)
        for role in (Role.CPU, Role.PCIE_SWITCH, Role.STORAGE, Role.SITE_GATEWAY):
            found[role] = catalog().default_model(KINDS[role])
        return found

    def _hosts_have_gpus(self) -> bool:
        if not self.graph._ask_hosts:
            return False
        question = Question(
            "hosts",
            "What is a host of this file?",
            "plain",
            (
                ("plain", "A tray with a network card, nothing else"),
                ("gpu", "One GPU with its card"),
            ),
            why="The file has hosts and no GPUs; without GPUs no job runs on them.",
        )
        return self.reading.ask(question) == "gpu"

    # Drawing

    def _draw(self, node: Node, models: Mapping[Role, str]) -> None:
        parent = self.boxes.get(node.parent or "")
        if node.role is not Role.HOST:
            self.ids[node.name] = self.builder.device(
                node.name,
                KINDS[node.role],
                node.model or models[node.role],
                label=node.label,
                parent=parent,
                rail=node.rail,
                state=node.state,
            )
            if node.speed != 1.0:
                self.builder.replace_device(replace(self.builder.of(self.ids[node.name]), speed=node.speed))
            return
        tray = self.builder.container(node.name, ContainerKind.TRAY, label=node.label, parent=parent)
        nic = self.builder.device(f"{tray}.nic0", DeviceKind.NIC, models[Role.NIC], parent=tray)
        self.ids[node.name] = nic
        if Role.GPU in models and self._hosts_have_gpus():
            gpu = self.builder.device(f"{tray}.gpu0", DeviceKind.GPU, models[Role.GPU], parent=tray)
            lane = _host_lane(LinkKind.PCIE, self.builder.of(gpu), self.builder.of(nic))
            self.builder.link(gpu, nic, LinkKind.PCIE, lane)

    def _link(self, edge: Edge, speed: float) -> None:
        a, b = self.builder.of(self.ids[edge.a]), self.builder.of(self.ids[edge.b])
        ends = (a.kind, a.model, b.kind, b.model)
        if ends not in self._kinds:
            self._kinds[ends] = self._kind(a, b)
        kind = edge.kind or self._kinds[ends]
        count = edge.count
        if kind in SCALE_UP_LINKS:
            lane = _scale_up_lane(a, b)
            if not speed:
                count = count or self._lanes(edge)
                speed = lane * count
            # As many lanes as carry it, so that ports are counted; the speed stays that of the file.
            count = count or max(1, math.ceil(speed / lane - 1e-6))
        elif not speed:
            speed = _host_lane(kind, a, b) * (count or 1)
        count = count or 1
        ident = self.builder.link(
            a.id,
            b.id,
            kind,
            speed / count,
            count,
            state=edge.state,
            share=edge.share,
            length_m=edge.length_m,
            line=edge.line or None,
        )
        if ident is not None and edge.latency_s is not None:
            self.latencies[ident] = edge.latency_s

    def _kind(self, a: Device, b: Device) -> LinkKind | None:
        """The usual kind; on a network that the user chose, its kind."""
        usual = link_kinds(a, b)
        if {a.kind, b.kind} <= _NETWORK_ENDS:
            network = self.models.network()
            return network if network in usual or not usual else usual[0]
        if {a.kind, b.kind} <= {DeviceKind.GPU, DeviceKind.NVLINK_SWITCH} and not usual:
            return LinkKind.NVLINK
        return usual[0] if usual else None

    def _lanes(self, edge: Edge) -> int:
        """A GPU's lanes shared out evenly among its links, where the file says neither speed nor lanes."""
        if not self._unsized:
            for each, speed in zip(self.edges, self.speeds, strict=True):
                if not speed and {self.nodes[each.a].role, self.nodes[each.b].role} <= SCALE_UP_ROLES:
                    self._unsized.update((each.a, each.b))
        shares = []
        for end in (edge.a, edge.b):
            spec = catalog().gpus.get(self.builder.of(self.ids[end]).model)
            if spec is not None and self.nodes[end].role is Role.GPU:
                shares.append(spec.scale_up_links // self._unsized[end])
        return max(1, min(shares, default=1))


def _scale_up_lane(a: Device, b: Device) -> float:
    """What one lane carries between two GPUs or NVLink switches, by the slower end."""
    specs = (spec_of(a), spec_of(b))
    lanes = [spec.scale_up_lane_bytes_per_s for spec in specs if isinstance(spec, GpuSpec)]
    lanes += [spec.lane_bytes_per_s for spec in specs if isinstance(spec, NvlinkSwitchSpec)]
    return min(lanes, default=_ANY_LANE)


def _host_lane(kind: LinkKind | None, a: Device, b: Device) -> float:
    """What one PCIe or C2C link carries, by the slower end."""
    family = family_of(kind) if kind else "pcie"
    rates = [group.lane_bytes_per_s for end in (a, b) for group in ports_of(end) if group.family == family]
    return min(rates, default=1.0)
