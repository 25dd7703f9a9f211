"""Slurm's topology as .conf and as .yaml: the network as a tree, NVLink domains (else racks) as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.drawing import Host, hosts_of, not_working, wide_domains, works
from model.files.exports.safe_names import HOST_NAMES, renamed, safe_names
from model.files.exports.switch_tree import SwitchTree, TreeSwitch, switch_tree
from model.files.imports.hostlist import fold
from model.text import name_list, plural
from model.topology.graph import Topology
from model.topology.types import ContainerKind, DeviceKind

_KINDS = (("tree", "Tree of switches"), ("block", "Blocks, one for each NVLink domain, else for each rack"))
_CONF_KIND = ExportOption("topology", "Topology", "tree", _KINDS)
_YAML_KIND = ExportOption("topology", "Topology", "tree", (*_KINDS, ("both", "Both, the tree as default")))
_LACKS = "Bandwidth (Slurm ignores LinkSpeed), NICs, ports, GPUs, and what is inside a host."


@dataclass(frozen=True, slots=True)
class Blocks:
    """Hosts by the name of their block, and Slurm's sizes. `notes`: what the blocks are and leave out."""

    hosts: Mapping[str, tuple[str, ...]]
    sizes: tuple[int, ...]
    notes: tuple[str, ...]


def blocks_of(source: ExportSource) -> Blocks:
    """The NVLink domains of more than one host; where there is none, the racks with hosts.

    Raises `InputError` where there are neither.
    """
    topology = source.document.topology
    notes: tuple[str, ...] = ()
    wide = wide_domains(topology)
    if wide:
        named: Mapping[str, Sequence[Host]] = dict(zip(_block_names(topology, wide), wide, strict=True))
        expected = [host for host in hosts_of(topology) if any(map(works, host.of_kind(DeviceKind.GPU)))]
    else:
        expected = [host for host in hosts_of(topology) if any(map(works, host.devices))]
        named = _by_rack(topology, expected)
        notes = ("Blocks are racks, as no NVLink domain spans several hosts.",)
    if not named:
        raise InputError(
            "The drawing has no blocks: no NVLink domain spans several hosts, and no host stands in a rack."
        )
    sizes = [min(len(hosts) for hosts in named.values())]
    while 2 * sizes[-1] <= sizes[0] * len(named):
        sizes.append(2 * sizes[-1])
    inside = {host.id for hosts in named.values() for host in hosts}
    alone = [host.id for host in expected if host.id not in inside]
    if alone:
        notes += (f"Left out: {plural(len(alone), 'host')} in no block: {name_list(alone)}.",)
    return Blocks(
        {name: tuple(host.id for host in hosts) for name, hosts in named.items()}, tuple(sizes), notes
    )


def _by_rack(topology: Topology, hosts: Iterable[Host]) -> dict[str, list[Host]]:
    """Hosts by the rack around their tray, in the order of the racks."""
    boxes = {box.id: box for box in topology.containers()}
    found: dict[str, list[Host]] = {box.id: [] for box in boxes.values() if box.kind is ContainerKind.RACK}
    for host in hosts:
        box = boxes.get(host.id)
        around = boxes.get(box.parent or "") if box is not None else None
        while around is not None and around.kind is not ContainerKind.RACK:
            around = boxes.get(around.parent or "")
        if around is not None:
            found[around.id].append(host)
    return {rack: own for rack, own in found.items() if own}


def _block_names(topology: Topology, wide: Sequence[Sequence[Host]]) -> list[str]:
    """Named by the container that holds just the hosts of a domain (its rack), else numbered."""
    boxes = {box.id: box for box in topology.containers()}
    parents = [{boxes[host.id].parent if host.id in boxes else None for host in hosts} for hosts in wide]
    around = [next(iter(own)) if len(own) == 1 else None for own in parents]
    return [
        only if only is not None and around.count(only) == 1 else f"block{place:03d}"
        for place, only in enumerate(around, 1)
    ]


def tree_of(source: ExportSource) -> SwitchTree:
    """The tree of switches. Raises `InputError` where no host has a switch."""
    tree = switch_tree(source)
    if not tree.roots:
        raise InputError("No host of the drawing has a cable to a switch, so there is no tree.")
    return tree


def tree_notes(source: ExportSource, tree: SwitchTree) -> list[str]:
    """What the tree does not say of the drawing."""
    notes = list(not_working(source.document.topology))
    merged = tree.merged()
    if merged:
        count = sum(len(switch.stands_for) for switch in merged)
        first = merged[0]
        notes.append(
            f"{plural(count, 'switch', 'switches')} merged into {len(merged):,}, as a tree has one parent "
            f"for each switch and host: {first.name} stands for {name_list(first.stands_for)}."
        )
    if tree.loose:
        ids = [host.id for host in tree.loose]
        notes.append(f"Left out: {plural(len(ids), 'host')} without a cable to a switch: {name_list(ids)}.")
    if len(tree.roots) > 1:
        notes.append(f"There are {len(tree.roots):,} trees that no switch joins; no job can span them.")
    return notes


class _Names:
    """The names that Slurm takes, of everything that is written."""

    def __init__(self, tree: SwitchTree | None, blocks: Blocks | None) -> None:
        wanted: list[str] = []
        for switch in tree.walk() if tree is not None else ():
            wanted += (switch.name, *switch.hosts)
        for block, members in blocks.hosts.items() if blocks is not None else ():
            wanted += (block, *members)
        self.of = safe_names(dict.fromkeys(wanted), HOST_NAMES)

    def host_list(self, ids: Iterable[str]) -> str:
        return fold([self.of[ident] for ident in ids])

    def notes(self) -> tuple[str, ...]:
        return renamed(self.of, HOST_NAMES)


def _chosen(source: ExportSource, option: ExportOption) -> tuple[SwitchTree | None, Blocks | None]:
    kind = source.chosen(option)
    tree = tree_of(source) if kind in ("tree", "both") else None
    return tree, blocks_of(source) if kind in ("block", "both") else None


def _write_conf(source: ExportSource) -> Exported:
    tree, blocks = _chosen(source, _CONF_KIND)
    names = _Names(tree, blocks)
    lines: list[str] = []
    notes: list[str] = []
    if tree is not None:
        source.progress(0.6, "writing switches")
        for switch in tree.walk():
            below = (
                f"Switches={names.host_list(below.name for below in switch.below)}" if switch.below else ""
            )
            hosts = f"Nodes={names.host_list(switch.hosts)}" if switch.hosts else ""
            lines.append(f"SwitchName={names.of[switch.name]} {below}{hosts}")
        notes += tree_notes(source, tree)
    if blocks is not None:
        for block, members in blocks.hosts.items():
            lines.append(f"BlockName={names.of[block]} Nodes={names.host_list(members)}")
        lines.append(f"BlockSizes={','.join(map(str, blocks.sizes))}")
        notes += blocks.notes
    return Exported({"": "\n".join(lines) + "\n"}, (*notes, *names.notes()))


def _write_yaml(source: ExportSource) -> Exported:
    tree, blocks = _chosen(source, _YAML_KIND)
    names = _Names(tree, blocks)
    topologies: list[dict[str, Any]] = []
    notes: list[str] = []
    if tree is not None:
        source.progress(0.6, "writing switches")
        topologies.append(
            {
                "topology": "tree",
                "cluster_default": True,
                "tree": {"switches": [_yaml_switch(names, switch) for switch in tree.walk()]},
            }
        )
        notes += tree_notes(source, tree)
    if blocks is not None:
        rows = [
            {"block": names.of[block], "nodes": names.host_list(members)}
            for block, members in blocks.hosts.items()
        ]
        block = {"block_sizes": list(blocks.sizes), "blocks": rows}
        topologies.append({"topology": "block", "cluster_default": tree is None, "block": block})
        notes += blocks.notes
    text = yaml.safe_dump(topologies, sort_keys=False, explicit_start=True, width=1_000_000)
    return Exported({"": text}, (*notes, *names.notes()))


def _yaml_switch(names: _Names, switch: TreeSwitch) -> dict[str, str]:
    row = {"switch": names.of[switch.name]}
    if switch.below:
        row["children"] = names.host_list(below.name for below in switch.below)
    if switch.hosts:
        row["nodes"] = names.host_list(switch.hosts)
    return row


FORMATS = (
    ExportFormat(
        id="slurm-topology-conf",
        name="Slurm topology.conf",
        suffix=".conf",
        write=_write_conf,
        use="/etc/slurm/topology.conf, with TopologyPlugin=topology/tree or topology/block in slurm.conf.",
        lacks=_LACKS,
        options=(_CONF_KIND,),
    ),
    ExportFormat(
        id="slurm-topology-yaml",
        name="Slurm topology.yaml",
        suffix=".yaml",
        write=_write_yaml,
        use="/etc/slurm/topology.yaml of Slurm 25.05 and newer, which then ignores topology.conf.",
        lacks=_LACKS,
        options=(_YAML_KIND,),
    ),
)
