"""A graph as other tools have it: nodes with a role, edges with a speed where one is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from model.topology.types import DeviceKind, LinkKind, State


class Role(StrEnum):
    """What a node is. A `SWITCH` gets its tier from the graph; a `HOST` is a tray with an unknown inside."""

    GPU = "gpu"
    NVLINK_SWITCH = "nvlink-switch"
    NIC = "nic"
    CPU = "cpu"
    PCIE_SWITCH = "pcie-switch"
    SWITCH = "switch"
    LEAF = "leaf"
    SPINE = "spine"
    CORE = "core"
    STORAGE = "storage"
    SITE_GATEWAY = "site-gateway"
    HOST = "host"


TIERS = (Role.LEAF, Role.SPINE, Role.CORE)
NETWORK_ROLES = frozenset({Role.SWITCH, *TIERS})
SCALE_UP_ROLES = frozenset({Role.GPU, Role.NVLINK_SWITCH})
HOST_ROLES = frozenset({Role.GPU, Role.NIC, Role.CPU, Role.PCIE_SWITCH})
KINDS: Mapping[Role, DeviceKind] = {
    role: DeviceKind(role.value) for role in Role if role not in (Role.SWITCH, Role.HOST)
}


@dataclass(slots=True)
class Node:
    """A node. `model` is a catalogue id, empty where the file names none; `nic` the id of the NIC that it
    gets when it stands on the network without one."""

    name: str
    role: Role
    model: str = ""
    parent: str | None = None
    rail: int | None = None
    label: str = ""
    nic: str = ""
    state: State = State.UP
    speed: float = 1.0


@dataclass(slots=True)
class Edge:
    """An edge, which runs both ways. `bytes_per_s` is that of all `count` cables, None where unknown.

    `kind` is None where the two ends say it.
    """

    a: str
    b: str
    bytes_per_s: float | None = None
    count: int | None = None
    latency_s: float | None = None
    line: int = 0
    kind: LinkKind | None = None
    state: State = State.UP
    share: float = 1.0
    length_m: float | None = None


def with_tiers(nodes: Mapping[str, Node], edges: Sequence[Edge]) -> tuple[dict[str, Role], list[str]]:
    """The tier of each network switch by its distance from what is no switch, and those that nothing reaches.

    One that something hangs on is a leaf, the next a spine, all others cores. Tiers that a node has already
    stay. What nothing reaches is a leaf.
    """
    near: dict[str, list[str]] = {name: [] for name, node in nodes.items() if node.role in NETWORK_ROLES}
    front: dict[str, None] = {}
    for edge in edges:
        for end, other in ((edge.a, edge.b), (edge.b, edge.a)):
            if end in near and other in near:
                near[end].append(other)
            elif end in near:
                front[end] = None
    found: dict[str, Role] = {}
    distance = 0
    while front:
        found.update(dict.fromkeys(front, TIERS[min(distance, len(TIERS) - 1)]))
        distance += 1
        front = dict.fromkeys(other for name in front for other in near[name] if other not in found)
    lost = [name for name in near if name not in found]
    found.update(dict.fromkeys(lost, Role.LEAF))
    for name in near:
        if nodes[name].role is not Role.SWITCH:
            found[name] = nodes[name].role
    return found, [name for name in lost if nodes[name].role is Role.SWITCH]


def rails_of(switches: Iterable[str], nodes: Mapping[str, Node], edges: Sequence[Edge]) -> dict[str, int]:
    """The rail of each switch on which only nodes of one rail hang."""
    wanted = set(switches)
    rails: dict[str, set[int]] = {}
    for edge in edges:
        for end, other in ((edge.a, edge.b), (edge.b, edge.a)):
            rail = nodes[other].rail
            if end in wanted and rail is not None and nodes[other].role in (Role.GPU, Role.NIC):
                rails.setdefault(end, set()).add(rail)
    only = {name: found.pop() for name, found in rails.items() if len(found) == 1}
    # With one rail for all there are no rails: hosts of one GPU hang on every leaf.
    return only if len(set(only.values())) > 1 else {}
