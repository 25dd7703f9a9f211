"""GraphML."""

from __future__ import annotations

import io

import networkx as nx
import pytest

from model.errors import InputError
from model.files.registry import sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import between, boxes, device, kinds, speeds
from tests.model.files.imports.samples import drawing, imported, own, real, said, text

_HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<graph edgedefault="undirected">\n'


def test_edges_with_the_same_id_are_edges_of_their_own() -> None:
    """Two of the three join the same nodes; the default of a key holds where an edge says nothing."""
    source = own("graphml/same_edge_ids.graphml")
    assert [one.id for one in sniffed(source)] == ["graphml"]
    found = drawing(source)
    assert kinds(found) == {"leaf": 1, "nic": 2}
    assert len(between(found, "host1.nic0", "leaf1")) == 2
    assert speeds(found, LinkKind.ETHERNET) == {100.0: 2, 25.0: 1}
    one = imported(source)
    assert "each edge was read as one of its own" in said(one, "inferred")
    assert "Speeds have no unit: Gb/s was taken." in said(one, "guessed")


def test_groups_and_labels_of_yed() -> None:
    found = drawing(own("graphml/yed_groups.graphml"))
    assert kinds(found) == {"gpu": 1, "nic": 1, "leaf": 1}
    assert boxes(found) == {"tray": 1}
    gpu = device(found, "n0::n0")
    assert (gpu.label, gpu.parent) == ("GPU 0", "n0")
    note = next(
        note for note in imported(own("graphml/yed_groups.graphml")).notes if "groups of nodes" in note.text
    )
    assert note.lines == (16,)


def test_networkx_writes_what_is_read() -> None:
    graph = nx.MultiGraph()
    graph.add_nodes_from(
        [("g", {"kind": "gpu", "model": "b200-sxm"}), ("n", {"kind": "nic"}), ("t", {"kind": "tor"})]
    )
    graph.add_edge("g", "n")
    graph.add_edges_from([("n", "t", {"gbps": 400.0}), ("n", "t", {"gbps": 400.0})])
    buffer = io.BytesIO()
    nx.write_graphml(graph, buffer)
    found = drawing(text(buffer.getvalue().decode()))
    assert device(found, "g").model == "b200-sxm"
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 2}
    assert len(found.links) == graph.number_of_edges()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<graphml></graphml>", "has no <graph>"),
        (
            f'{_HEAD}<node id="a"/>\n<edge source="a" target="b"/>\n</graph></graphml>',
            'line 4: an edge ends at "b"',
        ),
        (f"{_HEAD}<node/>\n</graph></graphml>", "line 3: a node has no id"),
        (
            f'{_HEAD}<node id="a"/><edge source="a"/>\n</graph></graphml>',
            "line 3: an edge has no source and target",
        ),
        (f'<!DOCTYPE x [<!ENTITY a "b">]>{_HEAD}</graph></graphml>', "it declares entities"),
        (f'{_HEAD}<node id="a"></graph></graphml>', "line 3"),
    ],
)
def test_broken_files_name_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "graphml")


def test_the_real_file_of_networkx_2827() -> None:
    """4 nodes, and 4 edges that all have the id 0: all four are read."""
    found = drawing(real("graphml/networkx_multigraph_duplicate_edge_ids_nx2827.graphml"))
    assert len(found.devices) == 4
    assert len(found.links) == 4
    # Nobody says what the nodes are: 2node has one neighbour and is a host.
    assert kinds(found) == {"nic": 1, "leaf": 1, "spine": 2}
    ends = sorted(tuple(sorted(end.partition(".")[0] for end in (link.a, link.b))) for link in found.links)
    assert ends == [("1node", "2node"), ("1node", "3node"), ("1node", "4node"), ("3node", "4node")]
