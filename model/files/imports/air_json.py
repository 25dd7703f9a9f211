"""The JSON of NVIDIA Air's import: nodes by name, and links as pairs of an interface and a node.

{"format": "JSON", "title": "…", "content": {"nodes": {"leaf01": {"os": "…"}},
 "links": [[{"interface": "swp1", "node": "leaf01"}, {"interface": "eth1", "node": "server01"}]]}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.cabling import Cable, Cabling, End, Role
from model.files.imports.cabling_drawing import draw
from model.files.imports.cabling_roles import role_of_word
from model.files.reading import parse_json, shown
from model.topology.types import LinkKind

UNCONNECTED = "unconnected"
_SWITCH_OS = re.compile(r"cumulus|sonic|\bsrl|\beos\b|nvos|onyx|mlnx-os|junos|nx-?os", re.IGNORECASE)
_HOST_OS = re.compile(r"generic|ubuntu|debian|rocky|centos|rhel|alma|fedora|windows|dgx", re.IGNORECASE)


def read(reading: Reading) -> Drawing:
    """The topology as a drawing. Raises `InputError` where the text is no such JSON."""
    source = reading.source
    data = parse_json(source.text.encode("utf-8", "replace"), Path(source.name))
    content = data.get("content", data)
    if not isinstance(content, dict) or not isinstance(content.get("links", []), list):
        raise InputError(f"{source.name}: content must be an object with nodes and links.")
    nodes = content.get("nodes", {})
    if not isinstance(nodes, dict):
        raise InputError(f"{source.name}: nodes must be an object with a field for each node.")
    cabling = Cabling(reading, LinkKind.ETHERNET)
    for name, fields in nodes.items():
        _node(reading, cabling, name, fields)
    for number, link in enumerate(content.get("links", []), 1):
        _link(reading, cabling, number, link)
    if not cabling.boxes:
        raise InputError(f"{source.name} has no node and no link.")
    unknown = len(cabling.boxes) - len(nodes)
    if unknown > 0:
        reading.inferred(f"{unknown} of the nodes are only named by links.")
    title = data.get("title")
    return draw(cabling, title if isinstance(title, str) and title.strip() else source.name.partition(".")[0])


def _node(reading: Reading, cabling: Cabling, name: str, fields: Any) -> None:
    if not name.strip():
        reading.broken("a node has an empty name")
        return
    box = cabling.box(name)
    if not isinstance(fields, dict):
        reading.broken(f"the node {shown(name)} must be an object, not {shown(fields)}")
        return
    said = next((fields[key] for key in ("function", "role") if isinstance(fields.get(key), str)), "")
    if said and role_of_word(said) is not Role.UNKNOWN:
        box.role = role_of_word(said)
        return
    system = fields.get("os")
    if isinstance(system, str):
        if _SWITCH_OS.search(system):
            box.role = Role.SWITCH
        elif _HOST_OS.search(system):
            box.role = Role.HOST
        if box.role is not Role.UNKNOWN:
            reading.inferred("Hosts and switches told by the systems that run on them (os).")


def _link(reading: Reading, cabling: Cabling, number: int, link: Any) -> None:
    if not isinstance(link, list) or len(link) != 2:
        reading.broken(f"link {number} must be a list of two ends, not {shown(link)}")
        return
    if UNCONNECTED in link:
        reading.ignored("Ports that are not connected were left out.")
        return
    ends = [_end(end) for end in link]
    if ends[0] is None or ends[1] is None:
        odd = link[0] if ends[0] is None else link[1]
        reading.broken(f'link {number}: an end is {{"node": …, "interface": …}}, not {shown(odd)}')
        return
    cabling.cable(Cable(ends[0], ends[1]))


def _end(value: Any) -> End | None:
    if not isinstance(value, Mapping):
        return None
    node, port = value.get("node"), value.get("interface", "")
    if not isinstance(node, str) or not node.strip() or not isinstance(port, str):
        return None
    return End(node, port)


def sniff(head: str, name: str) -> int:
    """By the words of its links."""
    if not head.lstrip().startswith("{"):
        return 0
    if re.search(r'"format"\s*:\s*"JSON"', head) and '"content"' in head:
        return 95
    pair = re.search(
        r'\[\s*+\[?\s*+\{\s*+"(?:interface|node)"\s*+:\s*+"[^"]*"\s*+,\s*+"(?:interface|node)"', head
    )
    return 80 if pair and '"links"' in head else 0


FORMATS = (
    ImportFormat(
        id="air-json",
        name="NVIDIA Air topology (JSON)",
        suffixes=(".json",),
        sniff=sniff,
        read=read,
        how="The JSON that NVIDIA Air imports, and exports from a simulation.",
        carries="Hosts, switches and the cable on each port.",
        lacks="Speeds are not in it and asked for; products, GPUs and lengths are not either.",
    ),
)
