"""The drawing as a graph: networkx reads both formats, and everything is there."""

from __future__ import annotations

import io
import json

import networkx as nx
from hypothesis import HealthCheck, given, settings

from model.document.document import Document
from tests.model.files.exports.drawings import drawings, pair, text_of


def graphml(document: Document) -> nx.MultiGraph[str]:
    data = text_of(document, "graphml").encode()
    graph = nx.read_graphml(io.BytesIO(data), force_multigraph=True)
    assert isinstance(graph, nx.MultiGraph) and not graph.is_directed()
    return graph


def test_graphml_of_the_pair() -> None:
    graph = graphml(pair())
    assert graph.nodes["a.gpu1"] | {"x": 0} == {
        "kind": "gpu", "model": "h100-sxm", "parent": "a", "rail": 1, "state": "up", "speed": 1.0,
        "x": 0, "y": 0.0,
    }  # fmt: skip
    edge = graph.edges["r0", "top0", "r0-top0"]
    assert (edge["kind"], edge["count"], edge["capacity_bytes_per_s"]) == ("infiniband", 2, 100e9)
    assert json.loads(graph.graph["containers"])[0]["id"] == "a"
    assert graph.graph["name"] == "pair"


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_networkx_reads_the_same_graph_from_both(document: Document) -> None:
    """Nodes, and links with their ends, ids, counts and capacities."""
    topology = document.topology
    node_link = nx.node_link_graph(json.loads(text_of(document, "node-link-json")), edges="edges")
    for graph in (graphml(document), node_link):
        assert set(graph) == {device.id for device in topology.devices()}
        for device in topology.devices():
            found = graph.nodes[device.id]
            assert (found["kind"], found["state"], found.get("rail")) == (
                device.kind,
                device.state,
                device.rail,
            )
        assert graph.number_of_edges() == len(topology.links())
        for link in topology.links():
            edge = graph.edges[link.a, link.b, link.id]
            assert (edge["kind"], edge["count"]) == (link.kind, link.count)
            assert edge["capacity_bytes_per_s"] == link.capacity_bytes_per_s
