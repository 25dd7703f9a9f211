"""Graphs of any program, with attributes: what is obvious is read, the rest is asked or told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.files.importing import Drawing, Question, Reading
from model.files.imports.foreign_words import (
    SPEED_WORDS,
    UNITS,
    container_kind_of,
    key_unit,
    link_kind_of,
    model_of,
    number_of,
    plain_key,
    role_by_name,
    role_of,
    speed_of,
    state_of,
)
from model.files.imports.graph_drawing import GraphDrawing
from model.files.imports.graph_models import Models
from model.files.imports.graph_parts import HOST_ROLES, NETWORK_ROLES, Edge, Node, Role
from model.files.imports.json_text import text_of
from model.files.reading import shown
from model.text import name_list, plural
from model.topology.types import ContainerKind, LinkKind, State

_ROLE_KEYS = (
    "kind",
    "type",
    "role",
    "devicetype",
    "nodetype",
    "devicerole",
    "category",
    "class",
    "tier",
    "layer",
)
_MODEL_KEYS = ("model", "product", "hardware", "devicemodel", "gpumodel", "gputype")
_LABEL_KEYS = ("label", "displayname", "title")
_COUNT_KEYS = ("count", "lanes", "cables", "multiplicity", "links", "width")
_LATENCIES = {
    "latencys": 1.0,
    "latencyms": 1e3,
    "delayms": 1e3,
    "latencyus": 1e6,
    "latencyns": 1e9,
    "delayns": 1e9,
}
_LENGTH_KEYS = ("lengthm", "length", "cablelengthm")
# Computed from others, or of the picture: nothing is lost.
_SPENT = frozenset({"capacitybytespers", "nominalbytespers", "x", "y", "pos", "id", "key", "name"})
_OF_ALL_CABLES = ("nominalbytespers", "capacitybytespers")
_LARGEST_COUNT = 1_000_000
_MOST_KEYS = 20  # attributes that are named as not read


@dataclass(slots=True)
class ForeignNode:
    """A node; `inside` is the group that the file puts it in."""

    name: str
    attributes: Mapping[str, Any]
    line: int = 0
    inside: str | None = None


@dataclass(slots=True)
class ForeignEdge:
    """An edge between two nodes by their names."""

    a: str
    b: str
    attributes: Mapping[str, Any]
    line: int = 0


@dataclass(slots=True)
class ForeignGraph:
    """What a file holds. `groups`: the kind and the group around each group."""

    nodes: list[ForeignNode] = field(default_factory=list)
    edges: list[ForeignEdge] = field(default_factory=list)
    directed: bool = False
    groups: dict[str, tuple[ContainerKind, str | None]] = field(default_factory=dict)


def draw_foreign(reading: Reading, foreign: ForeignGraph, name: str) -> Drawing:
    """The drawing of a graph; what nodes are comes from attributes, names, the user or the structure."""
    nodes = _unique(reading, foreign.nodes)
    edges = _usable(reading, foreign, nodes)
    roles = _roles(reading, nodes, edges)
    words = _Words(reading)
    graph = GraphDrawing(reading, Models(reading, network=_network(edges)))
    for group, (kind, around) in foreign.groups.items():
        graph.container(group, kind, around)
    names: dict[str, str] = {}
    for node in nodes.values():
        if node.name in roles:
            names[node.name] = graph.node(words.node(graph, node, roles[node.name]))
    for edge in edges:
        if edge.a in names and edge.b in names:
            graph.edge(words.edge(edge, names[edge.a], names[edge.b]))
    words.say_what_was_not_read()
    reading.found(f"{plural(len(nodes), 'node')} and {plural(len(edges), 'edge')}")
    return graph.drawing(name)


# Nodes and edges


def _unique(reading: Reading, nodes: Sequence[ForeignNode]) -> dict[str, ForeignNode]:
    found: dict[str, ForeignNode] = {}
    for node in nodes:
        if node.name in found:
            reading.broken(f"the node {shown(node.name)} stands twice", node.line or None)
        else:
            found[node.name] = node
    return found


def _usable(reading: Reading, foreign: ForeignGraph, nodes: Mapping[str, ForeignNode]) -> list[ForeignEdge]:
    """Edges between two nodes that are there; there and back of a directed graph is one link."""
    edges: list[ForeignEdge] = []
    loops: list[int] = []
    for edge in foreign.edges:
        missing = next((end for end in (edge.a, edge.b) if end not in nodes), None)
        if missing is not None:
            reading.broken(f"an edge ends at {shown(missing)}, which is no node", edge.line or None)
        elif edge.a == edge.b:
            loops.append(edge.line)
        else:
            edges.append(edge)
    if loops:
        reading.ignored("Edges from a node to itself are not drawn.", *(line for line in loops if line))
    return _folded(reading, edges) if foreign.directed else edges


def _folded(reading: Reading, edges: Sequence[ForeignEdge]) -> list[ForeignEdge]:
    """Edge n from a to b and edge n from b to a are the two directions of one link."""
    waiting: dict[tuple[str, str], list[int]] = defaultdict(list)
    kept: list[ForeignEdge] = []
    pairs = 0
    differ: list[int] = []
    for edge in edges:
        back = waiting[edge.b, edge.a]
        if back:
            other = kept[back.pop(0)]
            pairs += 1
            if _facts(other.attributes) != _facts(edge.attributes):
                differ.append(edge.line)
            continue
        waiting[edge.a, edge.b].append(len(kept))
        kept.append(edge)
    if pairs:
        reading.inferred(f"{plural(pairs, 'edge')} with one in the other direction: each pair is one link.")
    if differ:
        reading.contradictory(
            "The two directions of a link differ; the first was taken.", *(line for line in differ if line)
        )
    if len(kept) > pairs and edges:
        reading.inferred("The graph is directed; a link here runs both ways.")
    return kept


def _facts(attributes: Mapping[str, Any]) -> dict[str, str]:
    return {
        plain_key(key): text_of(value) for key, value in attributes.items() if plain_key(key) not in _SPENT
    }


# What nodes are


def _roles(
    reading: Reading, nodes: Mapping[str, ForeignNode], edges: Sequence[ForeignEdge]
) -> dict[str, Role]:
    """The role of each node; those that the user leaves out have none."""
    found: dict[str, Role] = {}
    by_name: list[str] = []
    unknown: list[ForeignNode] = []
    for node in nodes.values():
        role = _said_role(node)
        if role is None:
            role = role_by_name(node.name)
            if role is not None:
                by_name.append(node.name)
        if role is None:
            unknown.append(node)
        else:
            found[node.name] = role
    if by_name:
        reading.inferred(f"Kinds taken from names: {name_list(by_name)}.")
    near: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        near[edge.a].add(edge.b)
        near[edge.b].add(edge.a)
    if unknown:
        found.update(_asked(reading, unknown, near))
    _hosts_with_insides(reading, found, near)
    return found


def _said_role(node: ForeignNode) -> Role | None:
    attributes = {plain_key(key): text_of(value) for key, value in node.attributes.items()}
    for key in _ROLE_KEYS:
        role = role_of(attributes.get(key, ""))
        if role is not None:
            # "switch" with a tier or a role beside it: the finer word counts.
            finer = (role_of(attributes.get(other, "")) for other in _ROLE_KEYS)
            return (
                next((one for one in finer if one in NETWORK_ROLES - {Role.SWITCH}), role)
                if role is Role.SWITCH
                else role
            )
    return next((Role.GPU for key in _MODEL_KEYS if model_of(Role.GPU, attributes.get(key, ""))), None)


def _asked(reading: Reading, unknown: Sequence[ForeignNode], near: Mapping[str, set[str]]) -> dict[str, Role]:
    names = [node.name for node in unknown]
    question = Question(
        "unknown_nodes",
        f"What are the nodes whose kind is not said ({name_list(names)})?",
        "structure",
        (
            ("structure", "By structure: hosts where one neighbour is, switches elsewhere"),
            ("host", "Hosts"),
            ("switch", "Network switches"),
            ("gpu", "GPUs"),
            ("none", "Leave them out"),
        ),
        why="Only GPUs train; hosts are trays that can be filled later.",
    )
    answer = reading.ask(question)
    lines = [node.line for node in unknown if node.line]
    if answer == "none":
        reading.ignored(f"Left out: {name_list(names)}, whose kind is not said.", *lines)
        return {}
    if answer != "structure":
        return dict.fromkeys(names, Role(answer))
    reading.guessed(
        f"What {name_list(names)} are is not said: a host where there is one neighbour, else a switch.",
        *lines,
    )
    return {name: Role.HOST if len(near[name]) <= 1 else Role.SWITCH for name in names}


def _hosts_with_insides(reading: Reading, roles: dict[str, Role], near: Mapping[str, set[str]]) -> None:
    """A host that GPUs, cards or PCIe switches hang on is drawn as their CPU."""
    hosts = [
        name
        for name, role in roles.items()
        if role is Role.HOST and any(roles.get(other) in HOST_ROLES for other in near[name])
    ]
    for name in hosts:
        roles[name] = Role.CPU
    if hosts:
        reading.inferred(f"{name_list(hosts)}: a host that devices hang on is drawn as their CPU.")


def _network(edges: Sequence[ForeignEdge]) -> str:
    """The network that most edges speak of; Ethernet where none does."""
    kinds = Counter(
        kind
        for edge in edges
        for key, value in edge.attributes.items()
        if plain_key(key) in ("kind", "type", "linktype", "protocol", "network", "medium")
        and (kind := link_kind_of(text_of(value))) in (LinkKind.ETHERNET, LinkKind.INFINIBAND)
    )
    return kinds.most_common(1)[0][0].value if kinds else LinkKind.ETHERNET.value


class _Words:
    """Reads attributes, and keeps count of those that are not read."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._unread: Counter[str] = Counter()
        self._bare: list[int] = []
        self._broken: list[int] = []
        self._bundles = False

    def node(self, graph: GraphDrawing, node: ForeignNode, role: Role) -> Node:
        """A node with what its attributes say."""
        made = Node(node.name, role, parent=node.inside)
        boxes: dict[ContainerKind, str] = {}
        for key, value in node.attributes.items():
            plain, text = plain_key(key), text_of(value)
            kind = container_kind_of(plain)
            if not text or plain in _SPENT or plain in _ROLE_KEYS:
                continue
            if kind is not None and text != node.name:
                boxes[kind] = text
            elif plain == "parent":
                if text in graph.containers:
                    made.parent = text
                else:
                    boxes.setdefault(ContainerKind.TRAY, text)
            elif not _fill(made, plain, text):
                self._unread[key] += 1
        around: str | None = None
        for kind in reversed(ContainerKind):
            if kind in boxes and (role is not Role.HOST or kind is not ContainerKind.TRAY):
                around = graph.container(boxes[kind], kind, around)
        made.parent = made.parent if around is None else around
        return made

    def edge(self, edge: ForeignEdge, a: str, b: str) -> Edge:
        """An edge with what its attributes say."""
        made = Edge(a, b, line=edge.line)
        lane: float | None = None
        whole: float | None = None
        for key, value in edge.attributes.items():
            plain, text = plain_key(key), text_of(value)
            unit = key_unit(plain)
            if not text:
                continue
            if plain in _OF_ALL_CABLES:
                whole = whole or number_of(text)
            elif plain in SPEED_WORDS or unit is not None:
                lane = lane or self._speed(text, unit, edge.line)
            elif not _fill_edge(made, plain, text) and plain not in _SPENT:
                self._unread[key] += 1
        if lane is not None:
            whole = lane * (made.count or 1)
            self._bundles |= (made.count or 1) > 1
        made.bytes_per_s = whole if whole is not None and 1 <= whole <= 1e18 else None
        return made

    def _speed(self, text: str, unit: float | None, line: int) -> float | None:
        value = number_of(text)
        if value is not None and unit is None:
            self._bare.append(line)
            unit = self._asked_unit()
        speed = value * unit if value is not None and unit is not None else speed_of(text)
        if speed is None or speed < 1:
            self._broken.append(line)
            return None
        return speed

    def _asked_unit(self) -> float:
        question = Question(
            "speed_unit",
            "In which unit are the speeds of edges?",
            "Gb/s",
            tuple((unit, unit) for unit in UNITS),
            why="The file has numbers without a unit.",
        )
        return UNITS[self._reading.ask(question)]

    def say_what_was_not_read(self) -> None:
        """Attributes that are not known, and speeds that are no speeds."""
        for key, count in self._unread.most_common(_MOST_KEYS):
            self._reading.ignored(f"The attribute {shown(key)} is not read ({count:,}).")
        if len(self._unread) > _MOST_KEYS:
            self._reading.ignored(f"{len(self._unread) - _MOST_KEYS:,} more attributes are not read.")
        if self._broken:
            self._reading.contradictory(
                "Speeds that are no positive number were passed over.",
                *(line for line in self._broken if line),
            )
        if self._bundles:
            self._reading.inferred("Where an edge has several cables, its speed is that of each.")
        if self._bare:
            self._reading.guessed(
                f"Speeds have no unit: {self._reading.answers.get('speed_unit', 'Gb/s')} was taken."
            )


def _fill(node: Node, key: str, text: str) -> bool:
    """Put one attribute into a node; whether it is known."""
    if key in _MODEL_KEYS:
        model = model_of(node.role, text)
        node.model = model or node.model
        return bool(model)
    if key in _LABEL_KEYS:
        node.label = text[:200] if text != node.name and text.isprintable() else ""
        return True
    if key in ("rail", "railid", "railindex"):
        node.rail = int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None
        return node.rail is not None
    if key in ("state", "status"):
        state = state_of(text)
        node.state = state or node.state
        return state is not None
    if key == "speed" and node.role is Role.GPU:
        share = number_of(text)
        node.speed = share if share is not None and 1e-6 <= share <= 1 else node.speed
        return share is not None
    return False


def _fill_edge(edge: Edge, key: str, text: str) -> bool:
    """Put one attribute into an edge; whether it is known."""
    number = number_of(text)
    if key in _COUNT_KEYS:
        if number is not None and number == int(number) and 1 <= number <= _LARGEST_COUNT:
            edge.count = int(number)
            return True
        return False
    if key in _LATENCIES:
        edge.latency_s = number / _LATENCIES[key] if number is not None and 0 <= number <= 1e12 else None
        return edge.latency_s is not None
    if key in _LENGTH_KEYS:
        edge.length_m = number if number is not None and 0 <= number <= 1e9 else None
        return edge.length_m is not None
    if key in ("kind", "type", "linktype", "protocol", "medium"):
        edge.kind = link_kind_of(text) or edge.kind
        return edge.kind is not None
    if key in ("state", "status"):
        state = state_of(text)
        edge.state = state or State.UP
        return state is not None
    if key == "share":
        edge.share = number if number is not None and 1e-6 <= number <= 1 else 1.0
        return number is not None
    return False
