"""htsim's fat tree files (csg-htsim, sim/datacenter/topologies): sizes of tiers, from which the tree follows.

    Nodes 32 / Tiers 2 / Podsize 32, then for each tier, from the hosts up: Tier 0 / Downlink_speed_Gbps 100 /
    Radix_Down 8 / Radix_Up 2 / Downlink_Latency_ns 1000 / Switch_Latency_ns 0 / Oversubscribed 4 / Bundle 1

Keys are read in any case, values are whole numbers. The tree is wired as FatTreeTopologyCfg and
FatTreeTopology of csg-htsim do it: a top of rack switch joins every aggregation switch of its pod, and
aggregation switch i of each pod the cores i, i + A, i + 2A …, with A aggregation switches in a pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.graph_drawing import MOST_NODES, GraphDrawing
from model.files.imports.graph_models import BYTES_PER_GBIT, Models
from model.files.imports.graph_parts import Edge, Node, Role
from model.files.reading import shown
from model.text import plural
from model.topology.types import ContainerKind

_WHOLE = ("nodes", "tiers", "podsize")
_TIER = {
    "downlink_speed_gbps": 10**6,
    "radix_down": MOST_NODES,
    "radix_up": MOST_NODES,
    "downlink_latency_ns": 10**9,
    "switch_latency_ns": 10**9,
    "oversubscribed": 10**6,
    "bundle": 10**4,
    "queue_up": 10**18,
    "queue_down": 10**18,
}
_NAMES = {"downlink_speed_gbps": "Downlink_speed_Gbps", "downlink_latency_ns": "Downlink_Latency_ns"}
_ROLES = {0: Role.LEAF, 1: Role.SPINE, 2: Role.CORE}
_PREFIXES = {0: "tor", 1: "agg", 2: "core"}


@dataclass(slots=True)
class _Tier:
    """What the file says of a tier, and the line of each key."""

    line: int
    values: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def get(self, key: str, default: int = 0) -> int:
        return self.values.get(key, default)


@dataclass(frozen=True, slots=True)
class _Tree:
    """How many of each: hosts, then switches by tier in a pod (cores in all)."""

    hosts: int
    pods: int
    tors: int
    aggs: int
    cores: int
    tiers: tuple[_Tier, ...]

    @property
    def devices(self) -> int:
        return self.hosts + self.pods * (self.tors + self.aggs) + self.cores


def sniff(head: str, name: str) -> int:
    """`Nodes`, `Tiers` and `Podsize` are words that nothing else begins with."""
    words = {line.split()[0].lower() for line in head.split("\n")[:60] if len(line.split()) == 2}
    return 95 if {"nodes", "tiers"} <= words and words & {"podsize", "tier"} else 0


def read(reading: Reading) -> Drawing:
    """The tree that the sizes describe, with plain hosts."""
    sizes, lines, tiers = _read_sizes(reading)
    tree = _tree(reading, sizes, lines, tiers)
    graph = GraphDrawing(reading, Models(reading))
    _draw(graph, tree)
    _say(reading, tree)
    return graph.drawing(reading.source.name)


# Reading


def _read_sizes(reading: Reading) -> tuple[dict[str, int], dict[str, int], dict[int, _Tier]]:
    sizes: dict[str, int] = {}
    lines: dict[str, int] = {}
    tiers: dict[int, _Tier] = {}
    current: _Tier | None = None
    for number, cells in _said(reading):
        key = cells[0].lower()
        value = _whole(reading, cells, number)
        if value is None:
            continue
        if key == "tier":
            if value in tiers:
                reading.broken(f"tier {value} is described twice (first in line {tiers[value].line})", number)
            current = tiers.setdefault(value, _Tier(number))
        elif key in _WHOLE:
            if sizes.setdefault(key, value) != value:
                reading.broken(f"{cells[0]} is {sizes[key]} in line {lines[key]} and {value} here", number)
            lines.setdefault(key, number)
        elif key not in _TIER:
            reading.ignored(f"{shown(cells[0])} is no key that is known.", number)
        elif current is None:
            reading.broken(f"{cells[0]} stands before the first Tier", number)
        elif key in current.values:
            reading.broken(f"{cells[0]} stands twice in a tier (first in line {current.lines[key]})", number)
        elif value > _TIER[key]:
            reading.broken(f"{cells[0]} {value:,} is more than {_TIER[key]:,}", number)
        else:
            current.values[key], current.lines[key] = value, number
    return sizes, lines, tiers


def _said(reading: Reading) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(reading.source.lines, start=1):
        cells = line.partition("#")[0].split()
        if cells:
            yield number, cells


def _whole(reading: Reading, cells: list[str], number: int) -> int | None:
    if len(cells) != 2:
        reading.broken(f"a line is a key and a number, not {shown(' '.join(cells))}", number)
        return None
    text = cells[1]
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        reading.broken(f"{cells[0]} is a whole number, not {shown(text)}", number)
        return None
    return int(text)


def _tree(reading: Reading, sizes: dict[str, int], lines: dict[str, int], tiers: dict[int, _Tier]) -> _Tree:
    """The counts; raises `InputError` where they do not make a tree."""
    where = reading.source.name
    needed = ("nodes", "tiers", "podsize") if sizes.get("tiers") == 3 else ("nodes", "tiers")
    for key in needed:
        if not sizes.get(key):
            raise InputError(f"{where} does not say {key.capitalize()}, which must be at least 1.")
    nodes, count = sizes["nodes"], sizes["tiers"]
    if nodes > MOST_NODES:
        raise InputError(
            f"{where}, line {lines['nodes']}: {nodes:,} nodes; at most {MOST_NODES:,} can be imported."
        )
    if count not in (2, 3):
        raise InputError(f"{where}, line {lines['tiers']}: a fat tree has 2 or 3 tiers, not {count}.")
    for number in range(count):
        if number not in tiers:
            raise InputError(f"{where} has {count} tiers and does not describe tier {number}.")
        _check_tier(reading, number, tiers[number], last=number == count - 1)
    extra = sorted(number for number in tiers if number >= count)
    if extra:
        reading.ignored(f"Tier {extra[0]} is beyond the {count} tiers of the file.", tiers[extra[0]].line)
    used = tuple(tiers[number] for number in range(count))
    return _counts(reading, nodes, sizes.get("podsize") or nodes, used)


def _check_tier(reading: Reading, number: int, tier: _Tier, *, last: bool) -> None:
    where = reading.source.name
    needed = ["downlink_speed_gbps", "radix_down", *([] if last else ["radix_up"])]
    for key in needed:
        if not tier.get(key):
            name = _NAMES.get(key, key.title())
            line = tier.lines.get(key, tier.line)
            raise InputError(f"{where}, line {line}: tier {number} needs a {name} of at least 1.")
    if last and tier.get("radix_up"):
        reading.contradictory(
            "Radix_Up of the last tier goes nowhere and is left out.", tier.lines["radix_up"]
        )


def _counts(reading: Reading, nodes: int, pod: int, tiers: tuple[_Tier, ...]) -> _Tree:
    tor, agg = tiers[0], tiers[1]
    bundles = [tier.get("bundle", 1) or 1 for tier in tiers]
    _divides(reading, nodes, pod, "Nodes", "Podsize")
    if len(tiers) == 2 and pod != nodes:
        raise InputError(
            f"{reading.source.name}: with 2 tiers all {nodes:,} nodes are one pod; Podsize is {pod:,}."
        )
    down = tor.get("radix_down") // bundles[0]
    _divides(reading, pod, down, "Podsize", "Radix_Down of tier 0", tor.lines["radix_down"])
    _divides(reading, tor.get("radix_down"), bundles[0], "Radix_Down of tier 0", "its Bundle")
    _divides(reading, tor.get("radix_up"), bundles[1], "Radix_Up of tier 0", "Bundle of tier 1")
    pods, tors, aggs = nodes // pod, pod // down, tor.get("radix_up") // bundles[1]
    _must_be(reading, agg, "radix_down", tors * bundles[1], f"{plural(tors, 'switch', 'switches')} of tier 0")
    cores = 0
    if len(tiers) == 3:
        _divides(reading, agg.get("radix_up"), bundles[2], "Radix_Up of tier 1", "Bundle of tier 2")
        cores = aggs * (agg.get("radix_up") // bundles[2])
        _must_be(reading, tiers[2], "radix_down", pods * bundles[2], plural(pods, "pod"))
    tree = _Tree(nodes, pods, tors, aggs, cores, tiers)
    if tree.devices > MOST_NODES:
        raise InputError(
            f"{reading.source.name} describes {tree.devices:,} hosts and switches; "
            f"at most {MOST_NODES:,} can be imported."
        )
    _check_oversubscription(reading, tree)
    return tree


def _divides(reading: Reading, whole: int, part: int, what: str, by: str, line: int | None = None) -> None:
    if not part or whole % part:
        place = f", line {line}" if line else ""
        raise InputError(
            f"{reading.source.name}{place}: {what} ({whole:,}) must be a multiple of {by} ({part:,})."
        )


def _must_be(reading: Reading, tier: _Tier, key: str, wanted: int, why: str) -> None:
    found = tier.get(key)
    if found != wanted:
        reading.broken(f"Radix_Down {found:,} does not fit {why}, which need {wanted:,}", tier.lines[key])


def _check_oversubscription(reading: Reading, tree: _Tree) -> None:
    """htsim compares the ratio of the radices with what the file says of it, and so does this."""
    for number, tier in enumerate(tree.tiers[:-1]):
        said = tier.get("oversubscribed")
        down = tier.get("radix_down") * tier.get("downlink_speed_gbps")
        up = tier.get("radix_up") * tree.tiers[number + 1].get("downlink_speed_gbps")
        if said and said * up != down:
            reading.contradictory(
                f"Tier {number} is said to be {said}:1 oversubscribed; its links make it {down / up:.3g}:1.",
                tier.lines["oversubscribed"],
            )


# Drawing


def _draw(graph: GraphDrawing, tree: _Tree) -> None:
    several = tree.pods > 1
    down = tree.hosts // (tree.pods * tree.tors)
    for pod in range(tree.pods):
        box = graph.container(f"pod{pod}", ContainerKind.POD) if several else None
        for tier, count in ((0, tree.tors), (1, tree.aggs)):
            for number in range(pod * count, (pod + 1) * count):
                graph.node(Node(f"{_PREFIXES[tier]}{number}", _ROLES[tier], parent=box))
        for host in range(pod * tree.tors * down, (pod + 1) * tree.tors * down):
            graph.node(Node(f"host{host:0{len(str(tree.hosts - 1))}d}", Role.HOST, parent=box))
            _join(graph, tree, 0, f"host{host:0{len(str(tree.hosts - 1))}d}", f"tor{host // down}")
        for tor in range(pod * tree.tors, (pod + 1) * tree.tors):
            for agg in range(pod * tree.aggs, (pod + 1) * tree.aggs):
                _join(graph, tree, 1, f"tor{tor}", f"agg{agg}")
    for core in range(tree.cores):
        graph.node(Node(f"core{core}", Role.CORE))
        for pod in range(tree.pods):
            _join(graph, tree, 2, f"agg{pod * tree.aggs + core % tree.aggs}", f"core{core}")


def _join(graph: GraphDrawing, tree: _Tree, tier: int, below: str, above: str) -> None:
    facts = tree.tiers[tier]
    bundle = facts.get("bundle", 1) or 1
    speed = facts.get("downlink_speed_gbps") * BYTES_PER_GBIT * bundle
    graph.edge(
        Edge(below, above, speed, bundle, facts.get("downlink_latency_ns") / 1e9, facts.lines["radix_down"])
    )


def _say(reading: Reading, tree: _Tree) -> None:
    parts = [plural(tree.hosts, "host"), plural(tree.pods * tree.tors, "leaf", "leaves")]
    parts.append(plural(tree.pods * tree.aggs, "spine"))
    if tree.cores:
        parts.append(plural(tree.cores, "core"))
    tor = tree.tiers[0]
    down = tor.get("radix_down") * tor.get("downlink_speed_gbps")
    up = tor.get("radix_up") * tree.tiers[1].get("downlink_speed_gbps")
    reading.found(f"{', '.join(parts)}; leaves are {down / up:.3g}:1 oversubscribed")
    queues = [line for tier in tree.tiers for key, line in tier.lines.items() if key.startswith("queue")]
    if queues:
        reading.ignored("Sizes of queues are not read: nothing is dropped here.", *queues)
    slow = [tier.lines["switch_latency_ns"] for tier in tree.tiers if tier.get("switch_latency_ns")]
    if slow:
        reading.ignored("The latency of switches is that of their model in the catalogue.", *slow)


FORMATS = (
    ImportFormat(
        id="htsim",
        name="htsim fat tree",
        suffixes=(".topo", ".txt"),
        sniff=sniff,
        read=read,
        how="The file that -topo of csg-htsim names (sim/datacenter/topologies).",
        carries="A fat tree of 2 or 3 tiers by its sizes: hosts, switches, speeds, bundles, link latency.",
        lacks="What a host is: GPUs and models are asked for. Queues and switch latency are left out.",
    ),
)
