"""Choices between equal paths, flow by flow, and reduction trees, on NetworkX graphs; see `brute_force`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import networkx as nx

from model.topology.types import Link

Loads = dict[tuple[str, str], Fraction]

WORD = 2**64


def mix(value: int) -> int:
    """The finaliser of splitmix64 on Python's integers."""
    value = (value + 0x9E3779B97F4A7C15) % WORD
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


@dataclass(frozen=True)
class FlowByFlow:
    """Hashed or static routing, as `model.traffic.flows.PathChoice` states it."""

    policy: Literal["hashed", "static"]
    queue_pairs: int = 1
    seed: int = 0

    def walk(
        self, wires: Wires, graph: nx.MultiGraph[str], ends: tuple[str, str, str, str], amount: Fraction
    ) -> Loads:
        """One flow over `graph`. `ends`: both GPUs and both NICs."""
        loads: Loads = defaultdict(Fraction)
        start, goal = ends[2:]
        distance = nx.single_source_shortest_path_length(graph, goal)
        pairs = self.queue_pairs if self.policy == "hashed" else 1
        key = self.seed
        for end in ends:
            key = mix(key ^ mix(wires.order[end]))
        for pair in range(pairs):
            own, at = mix(key ^ mix(pair)), start
            while at != goal:
                options = [
                    (name, other)
                    for _, other, name in graph.edges(at, keys=True)
                    if distance.get(other) == distance[at] - 1
                ]
                options.sort(key=lambda option: wires.link_order[option[0]])
                if self.policy == "static":
                    cables = [option for option in options for _ in range(wires.link[option[0]].count)]
                    name, other = cables[wires.place.get(goal, 0) % len(cables)]
                else:
                    point = Fraction(mix(own ^ mix(wires.order[at])) >> 11, 2**53)
                    name, other = wires.at_point(options, point)
                loads[name, at] += amount / pairs
                at = other
        return loads


class Wires:
    """The live network of a drawing: `order` and `link_order` are places in the drawing, `place` of an end
    point is its place among those that hang on the same switches.
    """

    def __init__(
        self,
        graph: nx.MultiGraph[str],
        link: Mapping[str, Link],
        order: Mapping[str, int],
        switches: set[str],
    ) -> None:
        """`graph`: all devices with the live network links."""
        self.link, self.order = link, order
        self.link_order = {name: place for place, name in enumerate(link)}
        alike: dict[frozenset[str], int] = defaultdict(int)
        self.place: dict[str, int] = {}
        for device in sorted(graph, key=order.__getitem__):
            hangs_on = frozenset(graph[device]) & switches
            if device not in switches and hangs_on:
                self.place[device] = alike[hangs_on]
                alike[hangs_on] += 1

    def at_point(self, options: list[tuple[str, str]], point: Fraction) -> tuple[str, str]:
        """The option that holds a point of the stretch from 0 to 1, cut by capacity."""
        total = sum(Fraction(self.link[name].capacity_bytes_per_s) for name, _ in options)
        reached = Fraction(0)
        for option in options:
            reached += Fraction(self.link[option[0]].capacity_bytes_per_s) / total
            if point < reached:
                return option
        raise AssertionError("the shares do not add up to 1")


class Reductions:
    """The reduction trees of one exchange, as `model.traffic.aggregation.aggregate` states them."""

    def __init__(self, wires: Wires, graph: nx.MultiGraph[str], switches: set[str]) -> None:
        """`graph`: the switches that can reduce (`switches`) and all NICs."""
        self.wires, self.graph, self.switches = wires, graph, switches
        self.turn = 0

    def tree(self, nics: list[str], each: Fraction) -> Loads | None:
        """Loads of one tree between switches and NICs, both directions; None if there is no root."""
        turn, self.turn = self.turn, self.turn + 1
        hops = {nic: self.hops(nic) for nic in set(nics)}
        roots = [s for s in self.switches if all(s in hops[nic] for nic in nics)]
        if not roots:
            return None
        grade = {s: (max(hops[n][s] for n in nics), sum(hops[n][s] for n in nics)) for s in roots}
        best = sorted((s for s in roots if grade[s] == min(grade.values())), key=self.wires.order.__getitem__)
        root = best[turn % len(best)]
        above = nx.single_source_shortest_path_length(self.graph.subgraph(self.switches), root)
        loads: Loads = defaultdict(Fraction)
        climbed: set[str] = set()
        for nic in nics:
            at = nic
            while at != root and at not in climbed:
                if at in self.switches:
                    climbed.add(at)
                near = [other for other in self.graph[at] if other in above]
                nearest = min(above[other] for other in near)
                choice = sorted(
                    (other for other in near if above[other] == nearest), key=self.wires.order.__getitem__
                )
                following = choice[turn % len(choice)]
                names = list(self.graph[at][following])
                total = sum(Fraction(self.wires.link[name].capacity_bytes_per_s) for name in names)
                for name in names:
                    part = each * Fraction(self.wires.link[name].capacity_bytes_per_s) / total
                    loads[name, at] += part
                    loads[name, following] += part
                at = following
        return loads

    def hops(self, nic: str) -> dict[str, int]:
        """From a NIC to every switch."""
        found = nx.single_source_shortest_path_length(self.graph.subgraph(self.switches | {nic}), nic)
        return {switch: int(hops) for switch, hops in found.items() if switch != nic}
