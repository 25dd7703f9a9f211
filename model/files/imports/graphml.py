"""GraphML, as networkx, yEd, Gephi and igraph write it.

Every edge is read, whatever its id: files exist in which all have the same. Data are texts by key, with the
defaults of the keys; yEd keeps the names of nodes in labels of their pictures. Nodes that hold a graph are
containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.foreign_graph import ForeignEdge, ForeignGraph, ForeignNode, draw_foreign
from model.files.imports.foreign_words import number_of
from model.files.imports.graph_drawing import MOST_EDGES, MOST_NODES
from model.files.imports.own_graph import own_drawing
from model.files.imports.xml import Element, looks_like, read_xml
from model.files.reading import shown
from model.topology.types import ContainerKind


@dataclass(slots=True)
class _Keys:
    """Names of keys by id, and the defaults of those for nodes and for edges."""

    names: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, dict[str, str]] = field(default_factory=lambda: {"node": {}, "edge": {}, "graph": {}})

    def data(self, element: Element, kind: str) -> dict[str, str]:
        """The attributes of a node, an edge or a graph by name."""
        found = dict(self.defaults[kind])
        for data in element.all("data"):
            name = self.names.get(data.get("key"), data.get("key"))
            text = data.text.strip()
            label = _label(data) if not text else ""
            if text or not label:
                found[name] = text
            else:
                found["label"] = label
        return found

    def typed(self, element: Element, kind: str) -> dict[str, Any]:
        """The same with numbers where the key says that they are, None where they are none."""
        return {
            name: _value(text, self.types.get(name, "")) for name, text in self.data(element, kind).items()
        }


def _value(text: str, kind: str) -> str | int | float | None:
    if kind not in ("int", "long", "float", "double"):
        return text
    number = number_of(text)
    return int(number) if number is not None and kind in ("int", "long") else number


def sniff(head: str, name: str) -> int:
    """The root element says it."""
    return 95 if looks_like(head, "graphml") else 0


def read(reading: Reading) -> Drawing:
    """The graph; see `foreign_graph` for what attributes mean."""
    root = read_xml(reading, "graphml")
    keys = _read_keys(root)
    graphs = list(root.all("graph"))
    if not graphs:
        raise InputError(f"{reading.source.name} has no <graph>.")
    if len(graphs) > 1:
        reading.ignored(
            "There are several graphs; the first is drawn.", *(graph.line for graph in graphs[1:])
        )
    own = own_drawing(reading, *_typed(graphs[0], keys), keys.data(graphs[0], "graph"))
    if own is not None:
        return own
    foreign = ForeignGraph(directed=_directed(reading, graphs[0]))
    _read_graph(reading, graphs[0], keys, foreign)
    title = graphs[0].get("id")
    usable = title and title.isprintable() and title.upper() not in ("G", "GRAPH", "")
    return draw_foreign(reading, foreign, title[:200] if usable else reading.source.name)


def _read_keys(root: Element) -> _Keys:
    keys = _Keys()
    for key in root.all("key"):
        name = key.get("attr.name") or key.get("id")
        keys.names[key.get("id")] = name
        keys.types[name] = key.get("attr.type")
        default = next((one.text.strip() for one in key.all("default")), "")
        for kind in ("node", "edge"):
            if default and key.get("for", "all") in (kind, "all"):
                keys.defaults[kind][name] = default
    return keys


def _typed(graph: Element, keys: _Keys) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes and edges as our own export has them, to be looked at by `own_drawing`."""
    nodes = [keys.typed(node, "node") | {"id": node.get("id")} for node in graph.all("node")]
    edges = [
        {"key": edge.get("id")}
        | keys.typed(edge, "edge")
        | {"source": edge.get("source"), "target": edge.get("target")}
        for edge in graph.all("edge")
    ]
    return nodes, edges


def _label(data: Element) -> str:
    """The text of the first label in a picture of yEd."""
    return next(
        (
            one.text.strip()
            for one in data.walk()
            if one.tag in ("NodeLabel", "EdgeLabel") and one.text.strip()
        ),
        "",
    )


def _directed(reading: Reading, graph: Element) -> bool:
    kind = graph.get("edgedefault").lower()
    if kind not in ("directed", "undirected"):
        reading.guessed(f"edgedefault is {shown(kind)}: taken for undirected.", graph.line)
    return kind == "directed"


def _read_graph(reading: Reading, graph: Element, keys: _Keys, foreign: ForeignGraph) -> None:
    """All nodes and edges, those of graphs inside nodes too."""
    ids: dict[str, int] = {}
    repeated: list[int] = []
    waiting: list[tuple[Element, str | None]] = [(graph, None)]
    heights = _heights(graph)
    while waiting:
        current, group = waiting.pop()
        for element in current.children:
            if element.tag == "node":
                inner = _node(reading, element, keys, foreign, group, heights)
                waiting.extend((one, inner) for one in element.all("graph"))
            elif element.tag == "edge":
                ident = element.get("id")
                if ident and ids.setdefault(ident, element.line) != element.line:
                    repeated.append(element.line)
                _edge(reading, element, keys, foreign)
            elif element.tag in ("hyperedge", "port"):
                reading.ignored(f"<{element.tag}> is not read.", element.line)
    if repeated:
        reading.inferred("Ids of edges are used again; each edge was read as one of its own.", *repeated)


def _heights(graph: Element) -> Mapping[int, int]:
    """How many layers of groups are inside each node, by the identity of its element."""
    found: dict[int, int] = {}
    for element in reversed(list(graph.walk())):
        if element.tag == "node":
            inner = [
                1 + found.get(id(node), 0) for inside in element.all("graph") for node in inside.all("node")
            ]
            found[id(element)] = max(inner, default=0)
    return found


def _node(
    reading: Reading,
    element: Element,
    keys: _Keys,
    foreign: ForeignGraph,
    group: str | None,
    heights: Mapping[int, int],
) -> str | None:
    """A node, or the group that it is; gives the group for what is inside."""
    name = element.get("id")
    if not name:
        reading.broken("a node has no id", element.line)
        return group
    if len(foreign.nodes) >= MOST_NODES:
        raise InputError(
            f"{reading.source.name} has more than {MOST_NODES:,} nodes; no more can be imported."
        )
    height = heights[id(element)]
    if height == 0:
        foreign.nodes.append(ForeignNode(name, keys.data(element, "node"), element.line, group))
        return group
    kinds = list(ContainerKind)
    foreign.groups.setdefault(name, (kinds[min(height, len(kinds)) - 1], group))
    return name


def _edge(reading: Reading, element: Element, keys: _Keys, foreign: ForeignGraph) -> None:
    a, b = element.get("source"), element.get("target")
    if not a or not b:
        reading.broken("an edge has no source and target", element.line)
    elif len(foreign.edges) >= MOST_EDGES:
        raise InputError(
            f"{reading.source.name} has more than {MOST_EDGES:,} edges; no more can be imported."
        )
    elif a in foreign.groups or b in foreign.groups:
        reading.ignored("Edges of groups of nodes are not drawn.", element.line)
    else:
        foreign.edges.append(ForeignEdge(a, b, keys.data(element, "edge"), element.line))


FORMATS = (
    ImportFormat(
        id="graphml",
        name="GraphML",
        suffixes=(".graphml", ".xml"),
        sniff=sniff,
        read=read,
        how="networkx.write_graphml(graph, path), or the save and export commands of yEd, Gephi and igraph.",
        carries="Any graph: nodes with kind, model, rail, place; edges with speed, count, latency, length.",
        lacks="What the data do not say is asked for: kinds of nodes, unit of speeds, models. No pictures.",
    ),
)
