"""containerlab topologies: nodes of a kind (host, switch system), and links between their interfaces.

    name: lab
    topology:
      nodes: {leaf1: {kind: nokia_srlinux, type: ixrd3}, host1: {kind: linux}}
      links: [{endpoints: ["leaf1:e1-1", "host1:eth1"]}]

The extended form of a link (`type: veth` with endpoints of node and interface) is read, too. Grammar:
containerlab's manual, "Topology definition" and its JSON schema.
"""

from __future__ import annotations

import re
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.cabling import Cable, Cabling, End, Role, rate_of
from model.files.imports.cabling_drawing import draw
from model.files.imports.cabling_roles import role_of_word
from model.files.imports.yaml_text import YamlList, YamlMap, parse_yaml
from model.files.reading import shown
from model.topology.types import LinkKind

SPEED_LABELS = ("gbit_per_s", "speed", "bandwidth")  # labels or vars of a link that give its speed
_NO_CABLES = frozenset({"host", "mgmt-net", "macvlan", "dummy", "vxlan", "vxlan-stitch"})
_BRIDGES = frozenset({"bridge", "ovs-bridge"})
_HOST_KINDS = frozenset({"linux", "ext-container", "generic_vm", "k8s-kind", "sonic-host", "rare"})
_SWITCH_IMAGE = re.compile(r"frr|vyos|sonic|srlinux|ceos|crpd|bird|gobgp|cumulus", re.IGNORECASE)


def read(reading: Reading) -> Drawing:
    """The lab as a drawing. Raises `InputError` where the text is no topology of containerlab."""
    source = reading.source
    data = parse_yaml(source.text, source.name)
    topology = data.get("topology") if isinstance(data, YamlMap) else None
    if not isinstance(topology, YamlMap):
        raise InputError(f"{source.name} has no mapping topology, which holds the nodes and links of a lab.")
    cabling = Cabling(reading, LinkKind.ETHERNET)
    _nodes(reading, cabling, topology)
    links = topology.get("links")
    if links is not None and not isinstance(links, YamlList):
        raise InputError(f"{source.name}, line {topology.lines['links']}: links must be a list.")
    for link, line in zip(links or (), links.lines if links else (), strict=True):
        _link(reading, cabling, link, line)
    if not cabling.boxes:
        raise InputError(f"{source.name} has no node and no link.")
    name = data.get("name")
    return draw(cabling, name if isinstance(name, str) and name.strip() else source.name.partition(".")[0])


def _nodes(reading: Reading, cabling: Cabling, topology: YamlMap) -> None:
    nodes = topology.get("nodes")
    if nodes is None:
        return
    if not isinstance(nodes, YamlMap):
        raise InputError(f"{reading.source.name}, line {topology.lines['nodes']}: nodes must be a mapping.")
    for name, fields in nodes.items():
        line = nodes.lines[name]
        if fields is not None and not isinstance(fields, YamlMap):
            reading.broken(f"the node {shown(name)} must be a mapping, not {shown(fields)}", line)
            continue
        if not name.strip():
            reading.broken("a node has an empty name", line)
            continue
        settings = _settings(topology, fields or YamlMap(line))
        if settings.get("kind") in _BRIDGES:
            reading.inferred("Bridges of the machine that runs the lab are drawn as switches.", line)
        cabling.box(name, line, _role(settings))


def _settings(topology: YamlMap, fields: YamlMap) -> dict[str, Any]:
    """The fields of a node over those of its kind, its group and the defaults, as containerlab takes them."""
    defaults = topology.get("defaults")
    found: dict[str, Any] = dict(defaults) if isinstance(defaults, YamlMap) else {}
    for table, key in (("kinds", "kind"), ("groups", "group")):
        name, known = fields.get(key, found.get(key)), topology.get(table)
        inner = known.get(name) if isinstance(known, YamlMap) and isinstance(name, str) else None
        if isinstance(inner, YamlMap):
            found.update(inner)
    found.update(fields)
    return found


def _role(settings: dict[str, Any]) -> Role:
    labels = settings.get("labels")
    for said in (labels.get("role") if isinstance(labels, YamlMap) else None, settings.get("group")):
        if isinstance(said, str) and role_of_word(said) is not Role.UNKNOWN:
            return role_of_word(said)
    kind, image = settings.get("kind"), settings.get("image")
    if not isinstance(kind, str):
        return Role.UNKNOWN
    if kind.lower() in _HOST_KINDS:
        return Role.SWITCH if isinstance(image, str) and _SWITCH_IMAGE.search(image) else Role.HOST
    return Role.SWITCH


def _link(reading: Reading, cabling: Cabling, link: Any, line: int) -> None:
    if not isinstance(link, YamlMap):
        reading.broken(f"a link must be a mapping with endpoints, not {shown(link)}", line)
        return
    kind = link.get("type", "veth")
    if isinstance(kind, str) and kind in _NO_CABLES:
        reading.ignored(f"Links of the type {kind} end at the machine that runs the lab: left out.", line)
        return
    endpoints = link.get("endpoints")
    if not isinstance(endpoints, YamlList) or len(endpoints) != 2:
        reading.broken("a link has a list of two endpoints", line)
        return
    ends = [_end(each) for each in endpoints]
    for end, said in zip(ends, endpoints, strict=True):
        if end is None:
            reading.broken(f"an endpoint is written node:interface, not {shown(said)}", line)
            return
    first, second = ends
    if first is None or second is None:
        return
    if first.box in _NO_CABLES or second.box in _NO_CABLES:
        special = first.box if first.box in _NO_CABLES else second.box
        reading.ignored(f"Links to {special}: end at the machine that runs the lab: left out.", line)
        return
    for end in (first, second):
        if end.box not in cabling.boxes:
            reading.inferred("Nodes that only links name were drawn, too.", line)
    cabling.cable(Cable(first, second, line, _rate(reading, link, line)))


def _end(value: Any) -> End | None:
    if isinstance(value, YamlMap):
        node, port = value.get("node"), value.get("interface", "")
    elif isinstance(value, str) and ":" in value:
        node, _, port = value.partition(":")
    else:
        return None
    if not isinstance(node, str) or not node.strip() or not isinstance(port, str):
        return None
    return End(node.strip(), port.strip())


def _rate(reading: Reading, link: YamlMap, line: int) -> float:
    """Bytes/s that labels or vars of a link give; 0 where they give none."""
    for table in (link.get("labels"), link.get("vars")):
        if not isinstance(table, YamlMap):
            continue
        for key in SPEED_LABELS:
            if key not in table:
                continue
            rate = rate_of(str(table[key]))
            if rate:
                return rate
            reading.ignored(f"A {key} of {shown(table[key])} is no speed in Gb/s.", line)
    return 0.0


def sniff(head: str, name: str) -> int:
    """By its nodes with kinds and its endpoints."""
    if not re.search(r"^topology:[ \t]*(?:#.*)?$", head, re.MULTILINE):
        return 0
    if re.search(r"^[ \t]*+-?[ \t]*+endpoints[ \t]*:", head, re.MULTILINE):
        return 95
    if name.endswith((".clab.yml", ".clab.yaml")):
        return 90
    return 60 if re.search(r"^[ \t]+nodes:", head, re.MULTILINE) and re.search(r"\bkind:", head) else 0


FORMATS = (
    ImportFormat(
        id="containerlab",
        name="containerlab topology",
        suffixes=(".clab.yml", ".clab.yaml", ".yml", ".yaml"),
        sniff=sniff,
        read=read,
        how="The topology file of a lab, *.clab.yml.",
        carries="Hosts, switches and the link on each interface; speeds where labels of links give them.",
        lacks="Speeds have no place of their own and are asked for; GPUs and lengths are not in it.",
    ),
)
