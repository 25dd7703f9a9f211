"""Node-link JSON, as networkx, D3 and others write it: lists of nodes and of edges with attributes.

networkx called the list of edges `links` up to 3.3 and `edges` from 3.4 on; both are read. `key` tells
parallel edges apart. Where `source` and `target` are no names of nodes, they count nodes from 0 (old D3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.foreign_graph import ForeignEdge, ForeignGraph, ForeignNode, draw_foreign
from model.files.imports.graph_drawing import MOST_EDGES, MOST_NODES
from model.files.imports.json_text import item_lines, parse_object, text_of
from model.files.imports.own_graph import containers_of, own_drawing
from model.files.reading import shown
from model.topology.types import ContainerKind

_ENDS = (("source", "target"), ("from", "to"), ("a", "b"), ("src", "dst"))
_NAMES = ("id", "name", "label")


def sniff(head: str, name: str) -> int:
    """An object with lists of nodes and of links or edges."""
    if not head.lstrip().startswith("{") or "railsketch." in head[:4096]:
        return 0
    if not re.search(r'"nodes"\s*:\s*\[', head):
        return 0
    own = '"multigraph"' in head or '"directed"' in head
    edges = re.search(r'"(links|edges)"\s*:\s*\[', head)
    return 85 if own and edges else 70 if own else 50 if edges else 0


def read(reading: Reading) -> Drawing:
    """The graph; see `foreign_graph` for what attributes mean."""
    source = reading.source
    data = parse_object(source)
    if "nodes" not in data and isinstance(data.get("graph"), dict):
        data = data["graph"]
    about = data["graph"] if isinstance(data.get("graph"), dict) else {}
    about = about | ({"containers": data["containers"]} if "containers" in data else {})
    nodes = _list(reading, data, "nodes", MOST_NODES)
    edges = _list(reading, data, _edges_key(reading, data), MOST_EDGES)
    own = own_drawing(reading, nodes, edges, about)
    if own is not None:
        return own
    foreign = ForeignGraph(directed=data.get("directed") is True)
    _read_groups(about, foreign)
    _read_nodes(reading, nodes, foreign)
    _read_edges(reading, edges, foreign)
    title = text_of(about.get("name"))
    return draw_foreign(reading, foreign, title[:200] if title.isprintable() and title else source.name)


def _list(reading: Reading, data: Mapping[str, Any], key: str, most: int) -> list[Any]:
    value = data.get(key)
    if not isinstance(value, list):
        raise InputError(f"{reading.source.name} has no list of {key}.")
    if len(value) > most:
        raise InputError(f"{reading.source.name} has {len(value):,} {key}; at most {most:,} can be imported.")
    return value


def _read_groups(about: Mapping[str, Any], foreign: ForeignGraph) -> None:
    """Containers, where a file has them as this program writes them."""
    entries = [entry for entry in containers_of(about) if isinstance(entry, Mapping)]
    entries = [entry for entry in entries if text_of(entry.get("id"))]
    # The outer ones first, as each needs the one around it.
    entries.sort(key=lambda entry: list(ContainerKind).index(_kind_of(entry)), reverse=True)
    for entry in entries[:MOST_NODES]:
        kind = _kind_of(entry)
        around = text_of(entry.get("parent"))
        foreign.groups[text_of(entry["id"])] = (kind, around if around in foreign.groups else None)


def _kind_of(container: Mapping[str, Any]) -> ContainerKind:
    said = text_of(container.get("kind"))
    return next((kind for kind in ContainerKind if kind.value == said), ContainerKind.TRAY)


def _read_nodes(reading: Reading, nodes: Sequence[Any], foreign: ForeignGraph) -> None:
    lines = item_lines(reading.source.text, "nodes")
    for place, node in enumerate(nodes):
        line = lines[place] if place < len(lines) else 0
        if not isinstance(node, Mapping):
            node = {"id": node}
        name = next((text for key in _NAMES if (text := _name(node.get(key)))), "")
        if not name:
            reading.broken("a node has no id", line or None)
            continue
        foreign.nodes.append(ForeignNode(name, node, line))


def _name(value: object) -> str:
    """An id as a text; networkx writes tuples as lists."""
    if isinstance(value, list) and len(value) <= 16:
        return "-".join(map(text_of, value))
    return text_of(value)


def _edges_key(reading: Reading, data: Mapping[str, Any]) -> str:
    there = [key for key in ("edges", "links") if isinstance(data.get(key), list)]
    if not there:
        raise InputError(f'{reading.source.name} has no list of edges; it is called "links" or "edges".')
    if len(there) == 2:
        full = [key for key in there if data[key]]
        there = full or there
        if len(full) == 2:
            reading.contradictory('There are both "edges" and "links"; the edges were taken.')
    return there[0]


def _read_edges(reading: Reading, edges: Sequence[Any], foreign: ForeignGraph) -> None:
    lines = item_lines(reading.source.text, "edges") or item_lines(reading.source.text, "links")
    names = [node.name for node in foreign.nodes]
    pairs = [_ends(edge) for edge in edges]
    counted = _are_places(pairs, names)
    if counted:
        reading.inferred(
            "Ends of edges are no names of nodes: they were taken for their places in the list, from 0."
        )
    for place, (edge, ends) in enumerate(zip(edges, pairs, strict=True)):
        line = lines[place] if place < len(lines) else 0
        if ends is None:
            reading.broken(f"an edge has no two ends (source, target): {shown(edge)}", line or None)
            continue
        a, b = (names[int(end)] for end in ends) if counted else ends
        attributes = {
            name: value for name, value in edge.items() if name not in {end for pair in _ENDS for end in pair}
        }
        foreign.edges.append(ForeignEdge(a, b, attributes, line))


def _ends(edge: object) -> tuple[str, str] | None:
    """The names of both ends, under the names that programs use for them."""
    if not isinstance(edge, Mapping):
        return None
    for first, second in _ENDS:
        a, b = _name(edge.get(first)), _name(edge.get(second))
        if a and b:
            return a, b
    return None


def _are_places(pairs: Sequence[tuple[str, str] | None], names: Sequence[str]) -> bool:
    ends = {end for pair in pairs if pair is not None for end in pair}
    return (
        bool(ends)
        and not ends & set(names)
        and all(end.isascii() and end.isdigit() and len(end) < 10 and int(end) < len(names) for end in ends)
    )


FORMATS = (
    ImportFormat(
        id="node-link-json",
        name="Node-link JSON",
        suffixes=(".json",),
        sniff=sniff,
        read=read,
        how="networkx.node_link_data(graph, edges='edges') written by json.dump; D3 writes the same.",
        carries="Any graph: nodes with kind, model, rail, place; edges with speed, count, latency, length.",
        lacks="What the attributes do not say is asked for: kinds of nodes, the unit of speeds, models.",
    ),
)
