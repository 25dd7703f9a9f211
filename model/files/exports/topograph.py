"""NVIDIA topograph: its model of a cluster, and the graph that its engines hand out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.drawing import wide_domains
from model.files.exports.safe_names import HOST_NAMES, renamed, safe_names
from model.files.exports.slurm_topology import tree_notes, tree_of
from model.files.exports.switch_tree import SwitchTree, TreeSwitch
from model.files.imports.hostlist import fold, split

DOMAIN_LABEL = "accelerator.topograph.run/domain"
_MODEL_DOMAIN = "accelerator.topology.test/domain"
_LACKS = "Speeds, cables, ports, NICs, the GPUs of a host, and parallel ways: one parent for each switch."


def _write_model(source: ExportSource) -> Exported:
    tree = tree_of(source)
    names, hosts = _names(tree)
    domains = _domains(source)
    switches: dict[str, Any] = {}
    blocks: list[dict[str, Any]] = []
    source.progress(0.5, "writing switches")
    for switch in tree.walk():
        if switch.below:
            switches[names[switch.name]] = {"switches": [names[below.name] for below in switch.below]}
        for domain, members in _by_domain(switch, domains).items():
            block: dict[str, Any] = {
                "switch": names[switch.name],
                "nodes": split(fold([hosts[host] for host in members])),
            }
            if domain:
                block["annotations"] = {_MODEL_DOMAIN: domain}
            blocks.append(block)
    text = yaml.safe_dump({"switches": switches, "blocks": blocks}, sort_keys=False, width=1_000_000)
    return Exported({"": text}, (*tree_notes(source, tree), *renamed(names | hosts, HOST_NAMES)))


def _write_graph(source: ExportSource) -> Exported:
    tree = tree_of(source)
    names, hosts = _names(tree)
    domains = _domains(source)
    source.progress(0.5, "writing instances")
    instances = []
    for way in _ways(tree):
        layers = [names[switch.name] for switch in reversed(way)]
        for host in way[-1].hosts:
            labels = {DOMAIN_LABEL: domains[host]} if host in domains else {}
            instances.append({"id": hosts[host], "network_layers": layers, "labels": labels})
    text = json.dumps({"instances": instances}, indent=1) + "\n"
    return Exported({"": text}, (*tree_notes(source, tree), *renamed(names | hosts, HOST_NAMES)))


def _names(tree: SwitchTree) -> tuple[dict[str, str], dict[str, str]]:
    """Names of switches and of hosts."""
    switches = [switch.name for switch in tree.walk()]
    hosts = [host for switch in tree.walk() for host in switch.hosts]
    names = safe_names((*switches, *hosts), HOST_NAMES)
    return {name: names[name] for name in switches}, {host: names[host] for host in hosts}


def _domains(source: ExportSource) -> dict[str, str]:
    """The NVLink domain of each host in one that spans hosts, "nvl1" first."""
    wide = wide_domains(source.document.topology)
    return {host.id: f"nvl{number}" for number, hosts in enumerate(wide, 1) for host in hosts}


def _by_domain(switch: TreeSwitch, domains: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for host in switch.hosts:
        found.setdefault(domains.get(host, ""), []).append(host)
    return found


def _ways(tree: SwitchTree) -> Iterator[tuple[TreeSwitch, ...]]:
    """From the top to each switch that has hosts."""
    stack: list[tuple[TreeSwitch, ...]] = [(root,) for root in reversed(tree.roots)]
    while stack:
        way = stack.pop()
        if way[-1].hosts:
            yield way
        stack += [(*way, below) for below in reversed(way[-1].below)]


FORMATS = (
    ExportFormat(
        id="topograph-model",
        name="topograph model (YAML)",
        suffix=".yaml",
        write=_write_model,
        use="topograph's test provider, to try a scheduler on this cluster (provider test, modelFileName).",
        lacks=_LACKS,
    ),
    ExportFormat(
        id="topograph-graph",
        name="topograph graph (JSON)",
        suffix=".json",
        write=_write_graph,
        use="What topograph's graph engine hands out: each host with its switches, the nearest first.",
        lacks=_LACKS,
    ),
)
