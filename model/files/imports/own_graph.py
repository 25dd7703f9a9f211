"""Graphs with the attributes of our own topology export: read without loss, whatever the format around."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model.files.importing import Drawing, Reading
from model.files.topology_json import FORMAT, VERSION, topology_from_json
from model.text import plural
from model.topology.types import DeviceKind, LinkKind

_DEVICES = frozenset(kind.value for kind in DeviceKind)
_LINKS = frozenset(kind.value for kind in LinkKind)


def own_drawing(
    reading: Reading,
    nodes: Sequence[Any],
    edges: Sequence[Any],
    about: Mapping[str, Any],
) -> Drawing | None:
    """The drawing, when every node and edge has what our export writes; None for graphs of others.

    `about`: the attributes of the graph, `name` and `containers` (a list, or its JSON as a text) among them.
    """
    if not nodes or not all(map(_is_device, nodes)) or not all(map(_is_link, edges)):
        return None
    data = {
        "format": FORMAT,
        "version": VERSION,
        "graph": {"name": about.get("name", "")},
        "nodes": list(nodes),
        "edges": list(edges),
        "containers": containers_of(about),
    }
    document = topology_from_json(data, Path(reading.source.name))
    parts = document.topology.parts()
    reading.found(
        f"{plural(len(parts.devices), 'device')} and {plural(len(parts.links), 'link')} of Railsketch"
    )
    return Drawing(document.name, parts.devices, parts.links, parts.containers, document.layout)


def containers_of(about: Mapping[str, Any]) -> list[Any]:
    """The containers among the attributes of a graph; none where there are none that can be read."""
    value = about.get("containers")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return value if isinstance(value, list) else []


def _is_device(node: object) -> bool:
    return (
        isinstance(node, dict)
        and isinstance(node.get("id"), str)
        and isinstance(node.get("model"), str)
        and node.get("kind") in _DEVICES
    )


def _is_link(edge: object) -> bool:
    return (
        isinstance(edge, dict)
        and isinstance(edge.get("key"), str)
        and isinstance(edge.get("lane_bytes_per_s"), int | float)
        and edge.get("kind") in _LINKS
    )
