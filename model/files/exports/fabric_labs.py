"""The switched network for those who emulate it: containerlab, Cumulus DOT (PTM), NVIDIA Air."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.cabling import ROLES, Cable, Cabling, Port, cabling_of
from model.files.exports.csv_text import number
from model.files.exports.drawing import TIERS, omitted, watched, written_as_built
from model.files.exports.safe_names import CONTAINER_NAMES, HOST_NAMES, NameRule, renamed, safe_names
from model.topology.types import NETWORK_LINKS, DeviceKind

_CHUNK = 2000  # links that are written between two reports of progress
_SWITCH_KINDS = (
    ("linux", "Linux containers (FRR)"),
    ("nokia_srlinux", "Nokia SR Linux"),
    ("arista_ceos", "Arista cEOS"),
    ("sonic-vs", "SONiC"),
)
_SWITCH_OPTION = ExportOption("switch_kind", "Kind of switches", "linux", _SWITCH_KINDS)
_IMAGES = {
    "linux": "quay.io/frrouting/frr:10.1.1",
    "nokia_srlinux": "ghcr.io/nokia/srlinux:latest",
    "arista_ceos": "ceos:latest",
    "sonic-vs": "docker-sonic-vs:latest",
}
_HOST_IMAGE = "ghcr.io/hellt/network-multitool:latest"


def _lab(source: ExportSource, rule: NameRule) -> tuple[Cabling, dict[str, str]]:
    """The cables and the names of their nodes. Raises `InputError` where there is no network."""
    cabling = cabling_of(source)
    if not cabling.cables:
        raise InputError("The drawing has no network cable, and these files describe nothing else.")
    return cabling, safe_names(cabling.nodes, rule)


def _left_out(source: ExportSource, cabling: Cabling) -> tuple[str, ...]:
    """What is not in the file: the inside of hosts, and what has no network cable."""
    topology = source.document.topology
    ends = {port.device.id for cable in cabling.cables for port in (cable.a, cable.b)}
    devices = [device for device in topology.devices() if device.id not in ends]
    links = [link for link in topology.links() if link.kind not in NETWORK_LINKS]
    return (*omitted(devices, links), *written_as_built(topology))


def _kind(source: ExportSource, node: str) -> DeviceKind | None:
    """None for a host."""
    topology = source.document.topology
    return topology.device(node).kind if topology.has_device(node) else None


def _role(source: ExportSource, node: str) -> str:
    kind = _kind(source, node)
    return "host" if kind is None else ROLES.get(kind, "host")


def _is_switch(source: ExportSource, node: str) -> bool:
    return _kind(source, node) in TIERS


def _write_containerlab(source: ExportSource) -> Exported:
    kind = source.chosen(_SWITCH_OPTION)
    cabling, names = _lab(source, CONTAINER_NAMES)
    title = safe_names([source.document.name or "railsketch"], CONTAINER_NAMES)
    nodes = {
        names[node]: {
            "kind": kind if _is_switch(source, node) else "linux",
            "image": _IMAGES[kind] if _is_switch(source, node) else _HOST_IMAGE,
            "group": _role(source, node),
        }
        for node in cabling.nodes
    }
    head: dict[str, Any] = {"name": next(iter(title.values())).lower(), "topology": {"nodes": nodes}}
    text = "".join(
        (_yaml(head), "  links:\n", *_link_chunks(source, cabling, names, srlinux=kind == "nokia_srlinux"))
    )
    return Exported({"": text}, (*_left_out(source, cabling), *renamed(names, CONTAINER_NAMES)))


def _yaml(value: Any) -> str:
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(value, Dumper=dumper, sort_keys=False, width=1_000_000, allow_unicode=True))


def _link_chunks(
    source: ExportSource, cabling: Cabling, names: Mapping[str, str], *, srlinux: bool
) -> Iterator[str]:
    """The links as YAML, some at a time; speeds are variables, as containerlab has no place for them."""
    cables = cabling.cables
    for start in range(0, len(cables), _CHUNK):
        source.progress(0.5 + 0.5 * start / len(cables), "writing links")
        rows = [
            {
                "endpoints": [
                    f"{names[p.node]}:{_interface(p, srlinux=srlinux)}" for p in (cable.a, cable.b)
                ],
                "vars": {"gbit_per_s": _gbit(cable)},
            }
            for cable in cables[start : start + _CHUNK]
        ]
        yield "".join(f"    {line}\n" for line in _yaml(rows).splitlines())


def _gbit(cable: Cable) -> float | int:
    value = round(cable.gbit_per_s, 6)
    return int(value) if value == int(value) else value


def _interface(port: Port, *, srlinux: bool) -> str:
    return f"e1-{port.on_node}" if srlinux and port.is_switch else f"eth{port.on_node}"


def _write_cumulus(source: ExportSource) -> Exported:
    cabling, names = _lab(source, HOST_NAMES)
    lines = ["graph G {"]
    lines += [f'  "{names[node]}" [function="{_role(source, node)}"]' for node in cabling.nodes]
    for cable in watched(source, cabling.cables, "writing links", 0.5):
        ends = " -- ".join(f'"{names[port.node]}":"{_port_name(port)}"' for port in (cable.a, cable.b))
        lines.append(f'  {ends} [speed="{number(cable.gbit_per_s)}G"]')
    text = "\n".join((*lines, "}")) + "\n"
    return Exported({"": text}, (*_left_out(source, cabling), *renamed(names, HOST_NAMES)))


def _port_name(port: Port) -> str:
    return port.swp() if port.is_switch else port.eth()


def _write_air(source: ExportSource) -> Exported:
    cabling, names = _lab(source, HOST_NAMES)
    nodes = {names[node]: _machine(_is_switch(source, node)) for node in cabling.nodes}
    links = [
        [{"interface": _port_name(port), "node": names[port.node]} for port in (cable.a, cable.b)]
        for cable in watched(source, cabling.cables, "writing links", 0.5)
    ]
    text = _air_text(source.document.name or "Railsketch", nodes, links)
    return Exported({"": text}, (*_left_out(source, cabling), *renamed(names, HOST_NAMES)))


def _machine(is_switch: bool) -> dict[str, Any]:
    if is_switch:
        return {"os": "cumulus-vx-5.16.1", "cpu": 2, "memory": 4096, "storage": 20}
    return {"os": "generic/ubuntu2404", "cpu": 2, "memory": 2048, "storage": 10}


def _air_text(title: str, nodes: Mapping[str, Any], links: list[list[dict[str, str]]]) -> str:
    """JSON with a node or a link on each line."""
    node_lines = ",\n".join(f"   {json.dumps(name)}: {json.dumps(row)}" for name, row in nodes.items())
    link_lines = ",\n".join(f"   {json.dumps(row)}" for row in links)
    head = f'{{\n "format": "JSON",\n "title": {json.dumps(title)},\n "content": {{\n  "nodes": {{\n'
    return f'{head}{node_lines}\n  }},\n  "links": [\n{link_lines}\n  ]\n }}\n}}\n'


FORMATS = (
    ExportFormat(
        id="containerlab",
        name="containerlab topology",
        suffix=".clab.yml",
        write=_write_containerlab,
        use="containerlab deploy -t FILE starts a container for each switch and host.",
        lacks="GPUs, NVLink, PCIe, what a host is made of; speeds are variables that nothing enforces.",
        options=(_SWITCH_OPTION,),
    ),
    ExportFormat(
        id="cumulus-dot",
        name="DOT topology (Cumulus, NVIDIA Air)",
        suffix=".dot",
        write=_write_cumulus,
        use="/etc/ptm.d/topology.dot of Cumulus Linux, and the DOT import of NVIDIA Air.",
        lacks="GPUs, NVLink, PCIe, what a host is made of; speeds are attributes that PTM passes over.",
    ),
    ExportFormat(
        id="air-json",
        name="NVIDIA Air topology (JSON)",
        suffix=".json",
        write=_write_air,
        use="The import of a simulation in NVIDIA Air.",
        lacks="Speeds, GPUs, NVLink, PCIe, and what a host is made of.",
    ),
)
