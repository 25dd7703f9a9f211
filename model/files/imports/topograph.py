"""NVIDIA topograph: the model of its test provider (YAML), and the graph that its graph engine writes (JSON).

Model: `switches: {name: {switches: [child]}}` and `blocks: [{switch, nodes: ["n[1-2]"], annotations}]`, whose
annotation `…/domain` is an NVLink domain; older versions have lists with names and `capacity_blocks: [{name,
nvlink, nodes}]`. Children need no entry of their own, and have one parent.
Graph: `instances: [{id, network_layers: [nearest, …], labels}]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.graph_drawing import MOST_NODES
from model.files.imports.hostlist import expand
from model.files.imports.json_text import item_lines, parse_object, text_of
from model.files.imports.known_parts import gpu_by_name
from model.files.imports.scheduler_tree import Cluster, SchedulerHost, draw
from model.files.imports.yaml_text import YamlList, YamlMap, parse_yaml
from model.files.reading import shown

_DOMAIN = re.compile(r"accelerator\.[a-z.]+/domain|network\.topology\.nvidia\.com/accelerator")


@dataclass(slots=True)
class _Tree:
    """Switches in the order in which they are named, who stands above whom, and the line that says so."""

    reading: Reading
    switches: dict[str, None] = field(default_factory=dict)
    above: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def put(self, child: str, parent: str, line: int) -> None:
        """One step; a second parent is broken."""
        for name in (parent, child):
            self.switches.setdefault(name)
        known = self.above.get(child)
        if child == parent:
            self.reading.broken(f"the switch {shown(child)} stands above itself", line)
        elif known is not None and known != parent:
            self.reading.broken(
                f"the switch {shown(child)} has two parents, {shown(known)} (line {self.lines[child]}) "
                f"and {shown(parent)}",
                line,
            )
        elif known is None:
            self.above[child], self.lines[child] = parent, line

    def check_for_circles(self) -> None:
        """A switch above itself, over others, is broken: the last step of the circle is left out."""
        done: set[str] = set()
        for start in self.switches:
            way: dict[str, None] = {}
            name = start
            while name in self.above and name not in done:
                if name in way:
                    parent = self.above.pop(name)
                    self.reading.broken(
                        f"the switches {shown(name)} and {shown(parent)} stand above each other in a circle",
                        self.lines[name],
                    )
                    break
                way[name] = None
                name = self.above[name]
            done.update(way)


# The model


def sniff_model(head: str, name: str) -> int:
    """Top level keys `switches` and `blocks`, the latter with `nodes`."""
    blocks = re.search(r"^(blocks|capacity_blocks)\s*:", head, re.MULTILINE)
    nodes = re.search(r"^[ \t-]*nodes\s*:", head, re.MULTILINE)
    switches = re.search(r"^switches\s*:", head, re.MULTILINE)
    if not nodes or re.search(r"^[ \t]*topology\s*:", head, re.MULTILINE):
        return 0
    return 90 if blocks and switches else 50 if blocks else 0


def read_model(reading: Reading) -> Drawing:
    """Switches, the hosts of blocks, and NVLink domains as racks."""
    data = parse_yaml(reading.source.text, reading.source.name)
    if not isinstance(data, YamlMap):
        raise InputError(f"{reading.source.name} has no keys switches and blocks at its top.")
    tree = _Tree(reading)
    owners: dict[str, str] = {}
    for name, value, line in _named(reading, data, "switches"):
        tree.switches.setdefault(name)
        if value.get("labels"):
            reading.ignored("Labels of switches are not read.", value.lines["labels"])
        for child, place in _names(reading, value, "switches", line):
            tree.put(child, name, place)
        for block, _ in _names(reading, value, "capacity_blocks", line):
            owners[block] = name
    hosts = list(_block_hosts(reading, data, tree, owners))
    tree.check_for_circles()
    ignored = sorted(key for key in data if key not in ("switches", "blocks", "capacity_blocks"))
    for key in ignored:
        reading.ignored(f"The key {shown(key)} is not read.", data.lines[key])
    return draw(reading, Cluster(hosts, tree.above, list(tree.switches)))


def _named(reading: Reading, data: YamlMap, key: str) -> Iterator[tuple[str, YamlMap, int]]:
    """The entries of a mapping by name, or of a list of entries that have a name."""
    value = data.get(key)
    if isinstance(value, YamlMap):
        for name, entry in value.items():
            yield name, entry if isinstance(entry, YamlMap) else YamlMap(value.lines[name]), value.lines[name]
    elif isinstance(value, YamlList):
        for entry, line in zip(value, value.lines, strict=True):
            name = text_of(entry.get("name")) if isinstance(entry, YamlMap) else ""
            if name:
                yield name, entry, line
            else:
                reading.broken(f"an entry of {key} has no name", line)
    elif value is not None:
        reading.broken(f"{key} is neither a mapping nor a list", data.lines[key])


def _names(reading: Reading, entry: YamlMap, key: str, line: int) -> Iterator[tuple[str, int]]:
    """The texts in a list, host lists expanded."""
    value = entry.get(key)
    if value is None:
        return
    if not isinstance(value, YamlList):
        value = YamlList(line) if isinstance(value, YamlMap) else [value]
    lines = value.lines if isinstance(value, YamlList) else [entry.lines[key]]
    for item, place in zip(value, lines, strict=False):
        text = text_of(item)
        try:
            names = expand(text)
        except InputError as error:
            reading.broken(str(error).rstrip("."), place)
            continue
        if not names:
            reading.broken(f"{key} holds something that is no name", place)
        for name in names:
            yield name, place


def _block_hosts(
    reading: Reading, data: YamlMap, tree: _Tree, owners: Mapping[str, str]
) -> Iterator[SchedulerHost]:
    known: dict[str, int] = {}
    for entry, line in _blocks(reading, data):
        switch = text_of(entry.get("switch")) or owners.get(text_of(entry.get("name")), "")
        if switch:
            tree.switches.setdefault(switch)
        else:
            reading.contradictory("A block names no switch: its hosts hang on nothing.", line)
        domain = _domain(entry)
        for name, place in _names(reading, entry, "nodes", line):
            if name in known:
                reading.broken(
                    f"the node {shown(name)} is in two blocks (first in line {known[name]})", place
                )
                continue
            if len(known) >= MOST_NODES:
                raise InputError(f"{reading.source.name} names more than {MOST_NODES:,} nodes.")
            known[name] = place
            yield SchedulerHost(
                name, switch, domain, gpu=gpu_by_name(text_of(entry.get("type"))) or "", line=place
            )


def _blocks(reading: Reading, data: YamlMap) -> Iterator[tuple[YamlMap, int]]:
    for key in ("blocks", "capacity_blocks"):
        value = data.get(key)
        if isinstance(value, YamlMap):
            value = list(value.values())
            lines: Sequence[int] = list(data[key].lines.values())
        else:
            lines = value.lines if isinstance(value, YamlList) else ()
        for entry, line in zip(value or (), lines, strict=False):
            if isinstance(entry, YamlMap):
                yield entry, line
            else:
                reading.broken(f"an entry of {key} is no mapping", line)


def _domain(entry: Mapping[str, Any]) -> str:
    """The NVLink domain of a block or an instance; its own key in older versions."""
    own = text_of(entry.get("nvlink"))
    for key in ("annotations", "labels"):
        notes = entry.get(key)
        if not own and isinstance(notes, Mapping):
            own = next((text_of(value) for name, value in notes.items() if _DOMAIN.fullmatch(name)), "")
    return own


# The graph


def sniff_graph(head: str, name: str) -> int:
    """`instances` with `network_layers`."""
    if not head.lstrip().startswith("{") or '"instances"' not in head:
        return 0
    return 95 if '"network_layers"' in head else 30


def read_graph(reading: Reading) -> Drawing:
    """Instances and the switches above each, the nearest first."""
    source = reading.source
    instances = parse_object(source).get("instances")
    if not isinstance(instances, list):
        raise InputError(f"{source.name} has no list of instances.")
    lines = item_lines(source.text, "instances")
    tree = _Tree(reading)
    hosts: dict[str, SchedulerHost] = {}
    for place, instance in enumerate(instances):
        line = lines[place] if place < len(lines) else 0
        name = text_of(instance.get("id")) if isinstance(instance, dict) else ""
        if not name:
            reading.broken("an instance has no id", line)
        elif name in hosts:
            reading.broken(
                f"the instance {shown(name)} stands twice (first in line {hosts[name].line})", line
            )
        elif len(hosts) >= MOST_NODES:
            raise InputError(f"{source.name} has more than {MOST_NODES:,} instances.")
        else:
            hosts[name] = _instance(reading, tree, instance, name, line)
    tree.check_for_circles()
    return draw(reading, Cluster(list(hosts.values()), tree.above, list(tree.switches)))


def _instance(
    reading: Reading, tree: _Tree, instance: Mapping[str, Any], name: str, line: int
) -> SchedulerHost:
    layers = instance.get("network_layers") or []
    if not isinstance(layers, list):
        reading.broken(f"network_layers of {shown(name)} is no list", line)
        layers = []
    way = [text for text in map(text_of, layers) if text]
    for child, parent in pairwise(way):
        tree.put(child, parent, line)
    if way:
        tree.switches.setdefault(way[0])
    model = gpu_by_name(text_of(instance.get("type"))) or ""
    return SchedulerHost(name, way[0] if way else "", _domain(instance), gpu=model, line=line)


_LACKS = "GPUs, network cards, cables and speeds: the number of GPUs, models and one speed are asked for."
FORMATS = (
    ImportFormat(
        id="topograph-model",
        name="topograph model (YAML)",
        suffixes=(".yaml", ".yml"),
        sniff=sniff_model,
        read=read_model,
        how="The file that modelFileName of topograph's test provider names (tests/models of topograph).",
        carries="Switches with one parent each, hosts by block, NVLink domains.",
        lacks=_LACKS,
    ),
    ImportFormat(
        id="topograph-graph",
        name="topograph graph (JSON)",
        suffixes=(".json",),
        sniff=sniff_graph,
        read=read_graph,
        how="What topograph answers with the engine graph (POST /v1/generate, then GET /v1/topology?uid=…).",
        carries="Hosts with the switches above them, the nearest first, and NVLink domains.",
        lacks=_LACKS,
    ),
)
