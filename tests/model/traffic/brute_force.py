"""Bytes per link the slow way: every flow by itself, on NetworkX graphs, in exact fractions.

Written from the rules alone (conventions 1–7, 15–18 and traffic_model §3.4, §5.1, §5.1c), sharing nothing
with `model.traffic`. Loads are dicts from (link id, device where the direction starts) to bytes.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

import networkx as nx

from model.catalog.load import catalog
from model.job.exchange import Dedup
from model.topology.graph import Topology
from model.topology.types import Device, DeviceKind, Link, LinkKind, State
from tests.model.traffic.brute_force_edges import (
    Edge,
    Flow,
    all_reduce,
    broadcast,
    chain_flow,
    deduplicated,
    direct,
    ring,
)
from tests.model.traffic.brute_force_paths import FlowByFlow, Reductions, Wires

SCALE_UP = (LinkKind.NVLINK, LinkKind.XGMI)
HOST = (LinkKind.PCIE, LinkKind.C2C)
NETWORK = (LinkKind.ETHERNET, LinkKind.INFINIBAND, LinkKind.WAN)
SWITCHES = (DeviceKind.LEAF, DeviceKind.SPINE, DeviceKind.CORE, DeviceKind.SITE_GATEWAY)

Loads = dict[tuple[str, str], Fraction]


class NoPath(Exception):
    """Two GPUs that nothing joins."""


class BruteForce:
    """One drawing. `paths`: how each flow chooses among equal next links, None = even splitting."""

    def __init__(self, topology: Topology, paths: FlowByFlow | None = None) -> None:
        self.paths = paths
        self.known: dict[tuple[str, str], Loads | None] = {}
        self.device: dict[str, Device] = {d.id: d for d in topology.devices()}
        self.order = {d.id: place for place, d in enumerate(topology.devices())}
        self.link: dict[str, Link] = {}
        self.graph: nx.MultiGraph[str] = nx.MultiGraph()
        self.graph.add_nodes_from(self.device)
        for link in topology.links():
            ends_up = all(self.device[end].state is not State.DOWN for end in (link.a, link.b))
            if ends_up and link.capacity_bytes_per_s > 0:
                self.link[link.id] = link
                self.graph.add_edge(link.a, link.b, link.id)
        self.domain_of: dict[str, frozenset[str]] = {}
        inside = [d for d in self.device if self.kind(d) in (DeviceKind.GPU, DeviceKind.NVLINK_SWITCH)]
        for piece in nx.connected_components(self.part(SCALE_UP, inside)):
            gpus = frozenset(d for d in piece if self.kind(d) is DeviceKind.GPU)
            if len(gpus) > 1:
                self.domain_of.update(dict.fromkeys(gpus, gpus))
        switches = {d for d in self.device if self.kind(d) in SWITCHES}
        self.wires = Wires(self.part(NETWORK, list(self.device)), self.link, self.order, switches)

    def kind(self, device: str) -> DeviceKind:
        return self.device[device].kind

    def part(self, kinds: tuple[LinkKind, ...], nodes: list[str]) -> nx.MultiGraph[str]:
        """The graph of some kinds of link among some devices."""
        chosen = set(nodes)
        graph: nx.MultiGraph[str] = nx.MultiGraph()
        graph.add_nodes_from(nodes)
        for a, b, key in self.graph.edges(keys=True):
            if self.link[key].kind in kinds and a in chosen and b in chosen:
                graph.add_edge(a, b, key)
        return graph

    # Paths

    def host_graph(self, a: str, b: str) -> nx.MultiGraph[str]:
        passing = [d for d in self.device if self.kind(d) in (DeviceKind.CPU, DeviceKind.PCIE_SWITCH)]
        return self.part(HOST, [*passing, a, b])

    def host_cost(self, a: str, b: str) -> int | None:
        graph = self.host_graph(a, b)
        return nx.shortest_path_length(graph, a, b) if nx.has_path(graph, a, b) else None

    def over_host(self, a: str, b: str, amount: Fraction) -> Loads:
        """Every least-cost path carries the same; parallel links make paths of their own."""
        graph = self.host_graph(a, b)
        paths: list[list[tuple[str, str]]] = []
        for nodes in nx.all_shortest_paths(graph, a, b):
            hops = list(itertools.pairwise(nodes))
            choices = itertools.product(*(list(graph[u][v]) for u, v in hops))
            paths += [[(key, u) for key, (u, _) in zip(keys, hops, strict=True)] for keys in choices]
        loads: Loads = defaultdict(Fraction)
        for path in paths:
            for hop in path:
                loads[hop] += amount / len(paths)
        return loads

    def split_onward(
        self, graph: nx.MultiGraph[str], a: str, b: str, amount: Fraction, by_count: bool
    ) -> Loads:
        """Hop by hop over all shortest paths, in proportion to capacity or link count."""
        if not nx.has_path(graph, a, b):
            raise NoPath
        distance = nx.single_source_shortest_path_length(graph, b)
        loads: Loads = defaultdict(Fraction)
        standing = {a: amount}
        while standing.keys() != {b}:
            moved: dict[str, Fraction] = defaultdict(Fraction)
            for node, bytes_here in standing.items():
                following = [
                    (other, key)
                    for _, other, key in graph.edges(node, keys=True)
                    if distance.get(other) == distance[node] - 1
                ]
                weight = {
                    key: Fraction(self.link[key].count if by_count else self.link[key].capacity_bytes_per_s)
                    for _, key in following
                }
                for other, key in following:
                    share = bytes_here * weight[key] / sum(weight.values())
                    loads[key, node] += share
                    moved[other] += share
            standing = dict(moved)
        return loads

    def over_nvlink(self, a: str, b: str, amount: Fraction) -> Loads | None:
        """Convention 4, or None where NVLink does not join them."""
        if self.domain_of.get(a) is None or self.domain_of.get(a) != self.domain_of.get(b):
            return None
        graph = self.part(SCALE_UP, [a, b])
        if graph.has_edge(a, b):
            lanes = sum(self.link[key].count for key in graph[a][b])
            return {(key, a): amount * self.link[key].count / lanes for key in graph[a][b]}
        planes = self.planes(a).keys() & self.planes(b).keys()
        switches = [d for d in self.device if self.kind(d) is DeviceKind.NVLINK_SWITCH]
        if not planes:
            graph = self.part(SCALE_UP, [a, b, *switches])
            return self.split_onward(graph, a, b, amount, by_count=True) if nx.has_path(graph, a, b) else None
        lanes_of = {p: min(self.planes(a)[p], self.planes(b)[p]) for p in planes}
        loads: Loads = defaultdict(Fraction)
        for plane, lanes in lanes_of.items():
            part = amount * lanes / sum(lanes_of.values())
            self.on_bundle(loads, a, plane, part)
            self.on_bundle(loads, plane, b, part)
        return loads

    def planes(self, gpu: str) -> dict[str, int]:
        """NVLink switches of a GPU with the number of links to each."""
        found: dict[str, int] = defaultdict(int)
        for _, other, key in self.graph.edges(gpu, keys=True):
            if self.link[key].kind in SCALE_UP and self.kind(other) is DeviceKind.NVLINK_SWITCH:
                found[other] += self.link[key].count
        return dict(found)

    def on_bundle(self, loads: Loads, a: str, b: str, amount: Fraction) -> None:
        keys = [key for key in self.graph[a][b] if self.link[key].kind in SCALE_UP]
        lanes = sum(self.link[key].count for key in keys)
        for key in keys:
            loads[key, a] += amount * self.link[key].count / lanes

    def near_nics(self, gpu: str) -> list[str]:
        """Usable NICs at the least cost (conventions 1 and 2 before the rail preference)."""
        costs = {
            d: self.host_cost(gpu, d)
            for d in self.device
            if self.kind(d) is DeviceKind.NIC and self.device[d].state is not State.DOWN
        }
        reached = {d: cost for d, cost in costs.items() if cost is not None}
        some_rail = any(self.device[d].rail is not None for d in reached)
        usable = {
            d: cost
            for d, cost in reached.items()
            if any(self.link[key].kind in NETWORK for _, _, key in self.graph.edges(d, keys=True))
            and (self.device[d].rail is not None or not some_rail)
        }
        return [d for d, cost in usable.items() if cost == min(usable.values())]

    def nics(self, gpu: str) -> list[str]:
        if self.kind(gpu) is DeviceKind.STORAGE:
            on_network = [key for _, _, key in self.graph.edges(gpu, keys=True)]
            return [gpu] if any(self.link[key].kind in NETWORK for key in on_network) else []
        near, rail = self.near_nics(gpu), self.device[gpu].rail
        return [d for d in near if rail is not None and self.device[d].rail == rail] or near

    def over_network(self, a: str, b: str, amount: Fraction) -> Loads:
        try:
            return self.from_nics(a, b, amount, self.nics(a), self.nics(b))
        except NoPath:
            ends = {self.kind(end): end for end in (a, b)}
            if set(ends) != {DeviceKind.GPU, DeviceKind.STORAGE}:
                raise
            found = self.storage_nics(ends[DeviceKind.GPU], ends[DeviceKind.STORAGE])
            mine, theirs = (found if end == ends[DeviceKind.GPU] else self.nics(end) for end in (a, b))
            return self.from_nics(a, b, amount, mine, theirs)

    def storage_nics(self, gpu: str, disk: str) -> list[str]:
        """Of the NICs without a rail that a GPU does not use, the nearest of those that reach the device."""
        costs = {d: self.host_cost(gpu, d) for d in self.device if self.kind(d) is DeviceKind.NIC}
        reached = {d: cost for d, cost in costs.items() if cost is not None and d in self.graph}
        if all(self.device[d].rail is None for d in reached):
            return []
        passing = [d for d in self.device if self.kind(d) in SWITCHES]
        joined = {
            d: cost
            for d, cost in reached.items()
            if self.device[d].rail is None and nx.has_path(self.part(NETWORK, [*passing, d, disk]), d, disk)
        }
        return [d for d, cost in joined.items() if cost == min(joined.values())]

    def from_nics(self, a: str, b: str, amount: Fraction, mine: list[str], theirs: list[str]) -> Loads:
        if not mine or not theirs:
            raise NoPath
        passing = [d for d in self.device if self.kind(d) in SWITCHES]
        loads: Loads = defaultdict(Fraction)
        for out in mine:
            rail = self.device[out].rail
            landing = [d for d in theirs if rail is not None and self.device[d].rail == rail] or theirs
            for into in landing:
                part = amount / len(mine) / len(landing)
                if a != out:
                    add(loads, self.over_host(a, out, part))
                if b != into:
                    add(loads, self.over_host(into, b, part))
                if out != into:
                    graph = self.part(NETWORK, [*passing, out, into])
                    if self.paths is None or not nx.has_path(graph, out, into):
                        add(loads, self.split_onward(graph, out, into, part, by_count=False))
                    else:
                        add(loads, self.paths.walk(self.wires, graph, (a, b, out, into), part))
        return loads

    def route(self, a: str, b: str, amount: Fraction) -> Loads:
        """One point-to-point edge on the links; raises NoPath."""
        if (a, b) not in self.known:
            try:
                self.known[a, b] = self.find_route(a, b, Fraction(1))
            except NoPath:
                self.known[a, b] = None
        of_one = self.known[a, b]
        if of_one is None:
            raise NoPath
        return {hop: amount * share for hop, share in of_one.items()}

    def find_route(self, a: str, b: str, amount: Fraction) -> Loads:
        over_nvlink = self.over_nvlink(a, b, amount)
        if over_nvlink is not None:
            return over_nvlink
        if self.host_cost(a, b) is not None:
            return self.over_host(a, b, amount)
        return self.over_network(a, b, amount)

    # Collectives

    def parts(self, group: list[str]) -> list[list[str]]:
        parts: dict[object, list[str]] = {}
        for member in group:
            parts.setdefault(self.domain_of.get(member, member), []).append(member)
        return list(parts.values())

    def multicast_planes(self, group: list[str]) -> set[str]:
        """The planes that all members reach, if all of these can reduce."""
        if len(group) < 2 or len(self.parts(group)) > 1:
            return set()
        shared = set.intersection(*(set(self.planes(member)) for member in group))
        switches = catalog().nvlink_switches
        return shared if all(switches[self.device[p].model].sharp for p in shared) else set()

    def pxn_fits(self, group: list[str]) -> bool:
        for member in group:
            domain = self.domain_of.get(member, frozenset([member]))
            if len({nic for gpu in domain for nic in self.near_nics(gpu)}) < len(domain):
                return False
        return True

    def exchange(
        self,
        operation: str,
        algorithm: str,
        groups: list[list[str]],
        message: int,
        dedup: Dedup | None = None,
    ) -> tuple[Loads, set[tuple[str, str]]]:
        """Loads of one operation of all groups, and the pairs that nothing joins."""
        loads: Loads = defaultdict(Fraction)
        lost: set[tuple[str, str]] = set()
        reductions = Reductions(self.wires, *self.reducing_network())
        routed: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for group in groups:
            if operation == "all-reduce" and self.runs_nvls(group, algorithm):
                self.multicast(loads, group, Fraction(message))
                continue
            name = algorithm
            if operation == "all-reduce" and algorithm == "sharp":
                name = "inside" if self.reduce(loads, reductions, group, message) else "ring"
            for flow in self.flows(operation, name, group, Fraction(message), dedup):
                try:
                    for a, b, _ in flow.edges:
                        self.route(a, b, Fraction(0))
                except NoPath:
                    lost.add((flow.source, flow.target))
                    continue
                for a, b, amount in flow.edges:
                    routed[a, b] += amount
        # Flows of one pair are one flow to the switches, whatever they carry.
        for (a, b), amount in routed.items():
            add(loads, self.route(a, b, amount))
        return loads, lost

    def reducing_network(self) -> tuple[nx.MultiGraph[str], set[str]]:
        """Switches that can reduce with all NICs, and these switches."""
        switches = catalog().switches
        able = [
            d
            for d in self.device
            if self.kind(d) in (DeviceKind.LEAF, DeviceKind.SPINE, DeviceKind.CORE)
            and self.device[d].model in switches
            and switches[self.device[d].model].sharp is not None
        ]
        nics = [d for d in self.device if self.kind(d) is DeviceKind.NIC]
        return self.part(NETWORK, [*able, *nics]), set(able)

    def reduce(self, loads: Loads, reductions: Reductions, group: list[str], message: int) -> bool:
        """SHARP between the parts of a group, if it fits: conditions and shares of `aggregate`."""
        parts = self.parts(group)
        q = len(parts[0])
        if len(parts) == 1 or any(len(part) != q for part in parts):
            return False
        nics = {member: self.nics(member) for member in group}
        r = len(nics[group[0]])
        if r == 0 or any(len(found) != r for found in nics.values()):
            return False
        each = Fraction(message, q * r)
        trees = [
            reductions.tree([nics[part[place]][slot] for part in parts], each)
            for place in range(q)
            for slot in range(r)
        ]
        if any(tree is None for tree in trees):
            return False
        for tree in trees:
            add(loads, tree or {})
        for member in group:
            for nic in nics[member]:
                host = self.over_host(member, nic, each)
                add(loads, host)
                add(loads, {(key, self.link[key].other(tail)): part for (key, tail), part in host.items()})
        return True

    def runs_nvls(self, group: list[str], algorithm: str) -> bool:
        if algorithm not in ("auto", "nvls") or (algorithm == "auto" and len(group) < 4):
            return False
        return bool(self.multicast_planes(group))

    def multicast(self, loads: Loads, group: list[str], message: Fraction) -> None:
        planes = self.multicast_planes(group)
        each = message * (1 + Fraction(1, len(group)))
        for member in group:
            lanes = {plane: self.planes(member)[plane] for plane in planes}
            for plane, count in lanes.items():
                self.on_bundle(loads, member, plane, each * count / sum(lanes.values()))
                self.on_bundle(loads, plane, member, each * count / sum(lanes.values()))

    def flows(
        self, operation: str, algorithm: str, group: list[str], message: Fraction, dedup: Dedup | None
    ) -> list[Flow]:
        """Edges that are lost together; a chain of two is a relay."""
        n = len(group)
        if operation in ("send", "write"):
            return [chain_flow([(group[0], group[1], message)])]
        if operation == "read":
            return [chain_flow([(group[1], group[0], message)])]
        if operation == "all-to-all" and algorithm == "deduplicated" and dedup is not None:
            return deduplicated(self.parts(group), message, dedup)
        if operation == "all-to-all":
            several = len(self.parts(group)) > 1
            pxn = several and (algorithm == "pxn" or (algorithm != "direct" and self.pxn_fits(group)))
            return [
                chain_flow(self.all_to_all_chain(group, a, b, message / n, pxn))
                for a, b in itertools.permutations(group, 2)
            ]
        edges = broadcast(self.parts(group), message) if operation == "broadcast" else []
        if operation in ("all-gather", "reduce-scatter"):
            at_once = algorithm == "direct" and len(self.parts(group)) == 1
            edges = direct(group, message / n) if at_once else ring(self.parts(group), message * (n - 1) / n)
        if operation == "all-reduce":
            edges = all_reduce(self.parts(group), group, algorithm, message)
        return [chain_flow([edge]) for edge in edges if edge[2]]

    def all_to_all_chain(self, group: list[str], a: str, b: str, amount: Fraction, pxn: bool) -> list[Edge]:
        part_of = {member: part for part in self.parts(group) for member in part}
        mine, theirs = part_of[a], part_of[b]
        place = theirs.index(b)
        if not pxn or mine is theirs or place >= len(mine) or mine[place] == a:
            return [(a, b, amount)]
        return [(a, mine[place], amount), (mine[place], b, amount)]


def add(loads: Loads, more: Loads) -> None:
    """Add `more` to `loads`."""
    for key, amount in more.items():
        loads[key] += amount
