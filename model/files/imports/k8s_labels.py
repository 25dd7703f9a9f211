"""Kubernetes nodes and the labels that say where they stand.

Reads what `kubectl get nodes -o json` (or yaml) prints: a List, a NodeList or single nodes, also several YAML
documents. Topology objects of Kueue and KAI (`spec.levels`, broad to narrow) say which labels are levels; a
ComputeDomain only says how many nodes it wants.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.graph_drawing import MOST_NODES
from model.files.imports.json_text import parse_object, text_of
from model.files.imports.known_parts import gpu_by_name
from model.files.imports.scheduler_tree import MOST_GPUS_OF_A_HOST, Cluster, SchedulerHost, draw
from model.files.imports.yaml_text import YamlMap, parse_documents
from model.files.reading import shown
from model.files.reading_text import Source
from model.text import name_list, plural

_CLIQUE = "nvidia.com/gpu.clique"
_DOMAINS = (
    "accelerator.topograph.run/domain",
    "network.topology.nvidia.com/accelerator",
    "network.topology.kubernetes.io/accelerator",
)
_COUNTS = ("nvidia.com/gpu.count", "amd.com/gpu.count")
_CAPACITIES = ("nvidia.com/gpu", "amd.com/gpu")
_PRODUCTS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "gpu.nvidia.com/model")
_HOST_LABELS = frozenset({"kubernetes.io/hostname", "cloud.google.com/gce-topology-host"})
# Labels of switches, the nearest first; the first family that a node has counts.
_FAMILIES = (
    (
        "network.topology.nvidia.com/leaf",
        "network.topology.nvidia.com/spine",
        "network.topology.nvidia.com/core",
    ),
    (
        "network.topology.nvidia.com/block",
        "network.topology.nvidia.com/spine",
        "network.topology.nvidia.com/datacenter",
    ),
    (
        "network.topology.kubernetes.io/block",
        "network.topology.kubernetes.io/spine",
        "network.topology.kubernetes.io/datacenter",
    ),
    ("cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block"),
    ("cloud.provider.com/topology-rack", "cloud.provider.com/topology-block"),
)
_TIER = re.compile(r"fabric\.topograph\.run/tier-([0-9]{1,2})")
_LAYER = re.compile(r"topology\.k8s\.aws/network-node-layer-([0-9]{1,2})")


@dataclass(frozen=True, slots=True)
class _Item:
    """One object, with the line of it or of its name (0: not known)."""

    value: Mapping[str, Any]
    line: int

    @property
    def kind(self) -> str:
        return text_of(self.value.get("kind"))

    def part(self, *path: str) -> Mapping[str, Any]:
        """A mapping inside it; empty where there is none."""
        value: Any = self.value
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping) else {}

    @property
    def name(self) -> str:
        return text_of(self.part("metadata").get("name"))


@dataclass(slots=True)
class _Found:
    """What the files hold."""

    nodes: list[_Item] = field(default_factory=list)
    levels: list[str] = field(default_factory=list)
    domains: list[tuple[str, int]] = field(default_factory=list)


def sniff(head: str, name: str) -> int:
    """Objects of Kubernetes that are nodes with labels of a topology, a Topology or a ComputeDomain."""
    if not re.search(r"""["']?apiVersion["']?\s*:""", head):
        return 0
    kinds = set(re.findall(r"""["']?kind["']?\s*:\s*["']?([A-Za-z]+)""", head))
    if "ComputeDomain" in kinds or ("Topology" in kinds and "nodeLabel" in head):
        return 90
    if kinds & {"Node", "NodeList"}:
        return 90 if re.search(r"topograph|gpu\.clique|network-node-layer|topology", head) else 60
    return 30 if "List" in kinds and '"items"' in head else 0


def read(reading: Reading) -> Drawing:
    """Nodes under the switches of their labels; NVLink domains are racks."""
    found = _Found()
    for source in reading.sources:
        _collect(reading, source, found)
    if found.nodes:
        return _draw_nodes(reading, found)
    if found.domains:
        return _draw_domains(reading, found.domains)
    if found.levels:
        raise InputError(
            f"{reading.source.name} names the levels {name_list(found.levels)} and no nodes; add the "
            "output of kubectl get nodes -o json."
        )
    raise InputError(f"{reading.source.name} has no Node of Kubernetes.")


# Objects


def _collect(reading: Reading, source: Source, found: _Found) -> None:
    others: Counter[str] = Counter()
    for item in _items(source):
        if item.kind == "Node" and item.name:
            if len(found.nodes) >= MOST_NODES:
                raise InputError(f"{source.name} has more than {MOST_NODES:,} nodes.")
            found.nodes.append(item)
        elif item.kind == "Node":
            reading.broken("a Node has no metadata.name", item.line or None, source)
        elif item.kind == "Topology":
            found.levels.extend(_levels(item))
        elif item.kind == "ComputeDomain":
            found.domains.append(_wanted(reading, item, source))
        else:
            others[item.kind or "an object without a kind"] += 1
    for kind, count in others.items():
        reading.ignored(f"Not read: {kind} ({count:,}).")


def _items(source: Source) -> Iterator[_Item]:
    """The objects of a text; those in a list one by one."""
    if source.text.lstrip().startswith("{"):
        documents: Sequence[Any] = [parse_object(source)]
        lines = _name_lines(source.text)
    else:
        documents, lines = parse_documents(source.text, source.name), {}
    for document in documents:
        inner = document.get("items") if isinstance(document, Mapping) else document
        for value in inner if isinstance(inner, list) else [document]:
            if isinstance(value, Mapping):
                known = value.line if isinstance(value, YamlMap) else 0
                item = _Item(_with_kind(value, document), known)
                yield _Item(item.value, known or lines.get(item.name, 0))


def _with_kind(value: Mapping[str, Any], document: object) -> Mapping[str, Any]:
    """Items of a NodeList have no kind of their own."""
    if "kind" not in value and isinstance(document, Mapping) and document.get("kind") == "NodeList":
        return {**value, "kind": "Node"}
    return value


def _name_lines(text: str) -> dict[str, int]:
    """The line in which each name of a JSON text stands first."""
    lines: dict[str, int] = {}
    line = counted = 0
    for match in re.finditer(r'"name"\s*:\s*"([^"\\]{1,253})"', text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        lines.setdefault(match[1], line + 1)
    return lines


def _levels(item: _Item) -> Iterator[str]:
    levels = item.part("spec").get("levels")
    for level in levels if isinstance(levels, list) else ():
        label = text_of(level.get("nodeLabel")) if isinstance(level, Mapping) else ""
        if label:
            yield label


def _wanted(reading: Reading, item: _Item, source: Source) -> tuple[str, int]:
    text = text_of(item.part("spec").get("numNodes"))
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        reading.broken(f"spec.numNodes of a ComputeDomain is {shown(text)}", item.line or None, source)
        return item.name, 0
    if int(text) > MOST_NODES:
        raise InputError(
            f"{source.name} asks for {int(text):,} nodes; at most {MOST_NODES:,} can be imported."
        )
    return item.name, int(text)


# Nodes


def _draw_nodes(reading: Reading, found: _Found) -> Drawing:
    levels = _Levels(reading, found.levels)
    hosts: dict[str, SchedulerHost] = {}
    for item in found.nodes:
        if item.name in hosts:
            reading.broken(
                f"the node {shown(item.name)} stands twice (first in line {hosts[item.name].line})",
                item.line or None,
            )
        else:
            hosts[item.name] = _host(reading, item, levels)
    kept = [host for host in hosts.values() if host.switch or host.domain or host.gpus]
    if not kept:
        raise InputError(
            f"None of the {plural(len(hosts), 'node')} of {reading.source.name} has GPUs or a label that "
            "says where it stands."
        )
    plain = [host for host in hosts.values() if not (host.switch or host.domain or host.gpus)]
    if plain:
        reading.ignored(
            f"Left out: {name_list([host.name for host in plain])}, without GPUs and without a place.",
            *(host.line for host in plain if host.line),
        )
    _check(reading, found.nodes, kept)
    network = "ethernet" if levels.cloud else "infiniband"
    default = next((host.gpu for host in kept if host.gpu), "gb200" if any(h.domain for h in kept) else "")
    return draw(reading, Cluster(kept, levels.above, list(levels.switches)), gpu=default, network=network)


class _Levels:
    """The switches that labels name, and who stands above whom."""

    def __init__(self, reading: Reading, given: Sequence[str]) -> None:
        """`given`: the labels of a Topology object, broad to narrow."""
        self.reading = reading
        self.switches: dict[str, None] = {}
        self.above: dict[str, str] = {}
        self.cloud = False
        self._given = [label for label in reversed(given) if label not in _HOST_LABELS]

    def nearest(self, labels: Mapping[str, str], line: int) -> str:
        """The nearest switch of a node, empty where its labels name none; all of its switches are kept."""
        way = [name for name in self._way(labels) if name]
        for name in way:
            self.switches.setdefault(name)
        for child, parent in pairwise(way):
            known = self.above.setdefault(child, parent)
            if known != parent and child != parent:
                self.reading.contradictory(
                    f"{shown(child)} stands below {shown(known)} and below {shown(parent)} by labels of "
                    "nodes; the first is drawn.",
                    *([line] if line else []),
                )
        return way[0] if way else ""

    def _way(self, labels: Mapping[str, str]) -> list[str]:
        if self._given:
            return self._distinct(labels.get(label, "") for label in self._given)
        for pattern, sign in ((_TIER, 1), (_LAYER, -1)):
            numbered = [
                (sign * int(match[1]), value)
                for key, value in labels.items()
                if (match := pattern.fullmatch(key))
            ]
            if numbered:
                self.cloud |= sign < 0
                return self._distinct(value for _, value in sorted(numbered))
        for family in _FAMILIES:
            if any(label in labels for label in family):
                self.cloud |= "nvidia" not in family[0]
                return self._distinct(labels.get(label, "") for label in family)
        return []

    @staticmethod
    def _distinct(names: Iterator[str]) -> list[str]:
        """A tree: the same name in two levels is one switch, in the lower of them."""
        return list(dict.fromkeys(name for name in names if name))


def _host(reading: Reading, item: _Item, levels: _Levels) -> SchedulerHost:
    labels = {key: text_of(value) for key, value in item.part("metadata", "labels").items()}
    domain = next((labels[key] for key in _DOMAINS if labels.get(key)), "") or labels.get(_CLIQUE, "")
    product = next((labels[key] for key in _PRODUCTS if labels.get(key)), "")
    if "accelerator.topograph.run/sub-domain" in labels:
        reading.ignored("Sub-domains of accelerators are not drawn.")
    return SchedulerHost(
        item.name,
        levels.nearest(labels, item.line),
        domain,
        _gpus(reading, item, labels),
        gpu_by_name(product.replace("-", " ")) or "",
        item.line,
    )


def _gpus(reading: Reading, item: _Item, labels: Mapping[str, str]) -> int | None:
    """By label, else by capacity; None where neither says it."""
    capacity = item.part("status", "capacity")
    said = [labels.get(key, "") for key in _COUNTS] + [text_of(capacity.get(key)) for key in _CAPACITIES]
    text = next((each for each in said if each), "")
    if not text:
        return 0 if capacity else None
    if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= MOST_GPUS_OF_A_HOST:
        return int(text)
    reading.broken(
        f"{item.name} has {shown(text)} GPUs; a number from 0 to {MOST_GPUS_OF_A_HOST} is expected",
        item.line or None,
    )
    return None


def _check(reading: Reading, nodes: Sequence[_Item], hosts: Sequence[SchedulerHost]) -> None:
    """Nodes that differ from the rest, and cliques that do not agree with domains."""
    counts = Counter(host.gpus for host in hosts if host.gpus)
    usual, _ = counts.most_common(1)[0] if counts else (0, 0)
    odd = [host for host in hosts if host.gpus and host.gpus != usual]
    if odd:
        fewer = ", ".join(f"{host.name} has {host.gpus}" for host in odd[:4])
        reading.contradictory(
            f"Most nodes have {plural(usual, 'GPU')}; {fewer}{' …' if len(odd) > 4 else ''}.",
            *(host.line for host in odd if host.line),
        )
    kept = {host.name: host for host in hosts}
    cliques: dict[str, set[str]] = {}
    without = []
    for item in nodes:
        clique = text_of(item.part("metadata", "labels").get(_CLIQUE))
        host = kept.get(item.name)
        if host is not None and clique:
            cliques.setdefault(clique, set()).add(host.domain)
        elif host is not None and host.domain:
            without.append(host)
    if cliques and without:
        reading.inferred(
            f"{name_list([host.name for host in without])}: without a label {_CLIQUE}, so the label of "
            "the domain was taken.",
            *(host.line for host in without if host.line),
        )
    for clique, domains in cliques.items():
        if len(domains) > 1:
            reading.contradictory(
                f"The clique {shown(clique)} is spread over the domains {name_list(sorted(domains))}; "
                "the domains are drawn."
            )


def _draw_domains(reading: Reading, domains: Sequence[tuple[str, int]]) -> Drawing:
    """Nothing but a number of nodes in one NVLink domain is known."""
    total = sum(count for _, count in domains)
    if total > MOST_NODES:
        raise InputError(
            f"{reading.source.name} asks for {total:,} nodes; at most {MOST_NODES:,} can be imported."
        )
    hosts = [
        SchedulerHost(f"{name or 'node'}-{number}", domain=name or "domain")
        for name, count in domains
        for number in range(count)
    ]
    if not hosts:
        raise InputError(f"{reading.source.name} asks for no nodes (spec.numNodes is 0).")
    reading.guessed("A ComputeDomain only says how many nodes it wants: they are drawn without a network.")
    return draw(reading, Cluster(hosts, {}, []), gpus=4, gpu="gb200")


FORMATS = (
    ImportFormat(
        id="k8s-labels",
        name="Kubernetes node labels",
        suffixes=(".json", ".yaml", ".yml"),
        sniff=sniff,
        read=read,
        how="kubectl get nodes -o json (or yaml); with it, kubectl get topologies -o yaml for Kueue and KAI.",
        carries="Nodes, their GPUs by label or capacity, switches by labels of topology, NVLink domains.",
        lacks="Cables, speeds and network cards: models and one speed are asked for.",
        several=True,
    ),
)
