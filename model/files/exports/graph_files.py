"""The whole drawing as a graph for other programs: GraphML, and node-link JSON as networkx writes it.

Attributes have the names and units of the topology export. Both formats know no containers: a device has the
id of its container as `parent`, and the containers themselves are an attribute of the graph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.drawing import watched
from model.files.topology_json import topology_to_json
from model.files.writing import json_text

_NODE_TYPES = {
    **dict.fromkeys(("kind", "model", "label", "parent", "state"), "string"),
    "rail": "long",
    **dict.fromkeys(("speed", "u", "height_u", "power_w", "weight_kg", "x", "y"), "double"),
}
_EDGE_TYPES = {
    **dict.fromkeys(("key", "kind", "state"), "string"),
    "count": "long",
    **dict.fromkeys(("capacity_bytes_per_s", "nominal_bytes_per_s", "lane_bytes_per_s"), "double"),
    **dict.fromkeys(("share", "latency_s", "length_m"), "double"),
}
_GRAPH_TYPES = {"name": "string", "containers": "string"}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def _write_node_link(source: ExportSource) -> Exported:
    source.progress(0.0, "collecting the graph")
    whole = topology_to_json(source.document)
    graph = {"name": source.document.name, "containers": whole["containers"]}
    own = {
        "directed": False,
        "multigraph": True,
        "graph": graph,
        "nodes": whole["nodes"],
        "edges": whole["edges"],
    }
    source.progress(0.4, "writing the graph")
    return Exported({"": json_text(own)}, _job_left_out())


def _job_left_out() -> tuple[str, ...]:
    return ("Left out: the job, the colours and the traffic.",)


def _write_graphml(source: ExportSource) -> Exported:
    source.progress(0.0, "collecting the graph")
    whole = topology_to_json(source.document)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<graphml xmlns="{_NAMESPACE}">']
    tables = (("graph", _GRAPH_TYPES), ("node", _NODE_TYPES), ("edge", _EDGE_TYPES))
    lines += [
        f'  <key id="{where[0]}_{name}" for="{where}" attr.name="{name}" attr.type="{kind}"/>'
        for where, types in tables
        for name, kind in types.items()
    ]
    lines.append('  <graph edgedefault="undirected">')
    containers = json.dumps(whole["containers"], ensure_ascii=False)
    about = {"name": source.document.name, "containers": containers}
    lines += _data("g", _GRAPH_TYPES, about)
    lines += _elements(source, whole["nodes"], whole["edges"])
    text = "\n".join((*lines, "  </graph>", "</graphml>")) + "\n"
    return Exported({"": text}, _job_left_out())


def _elements(
    source: ExportSource, nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    for node in watched(source, nodes, "writing devices", 0.2, 0.4):
        yield f"    <node id={_attribute(node['id'])}>"
        yield from _data("n", _NODE_TYPES, node)
        yield "    </node>"
    for edge in watched(source, edges, "writing links", 0.4):
        ends = f"source={_attribute(edge['source'])} target={_attribute(edge['target'])}"
        yield f"    <edge id={_attribute(edge['key'])} {ends}>"
        yield from _data("e", _EDGE_TYPES, edge)
        yield "    </edge>"


def _data(prefix: str, types: Mapping[str, str], values: Mapping[str, Any]) -> Iterator[str]:
    """What is known of a thing; unknown values are left out, as GraphML has no null."""
    for name in types:
        value = values.get(name)
        if value is not None and value != "":
            yield f'      <data key="{prefix}_{name}">{escape(_NO_XML.sub("", str(value)))}</data>'


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("", text))


FORMATS = (
    ExportFormat(
        id="node-link-json",
        name="Node-link JSON",
        suffix=".json",
        write=_write_node_link,
        use='networkx.node_link_graph(json.load(file), edges="edges").',
        lacks="The job, the colours, and what the project file keeps of the view.",
    ),
    ExportFormat(
        id="graphml",
        name="GraphML",
        suffix=".graphml",
        write=_write_graphml,
        use="networkx.read_graphml, Gephi, yEd and others.",
        lacks="The job, the colours; containers are text in an attribute of the graph.",
    ),
)
