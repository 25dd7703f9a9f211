"""Node-link JSON."""

from __future__ import annotations

import json

import networkx as nx
import pytest

from model.document.start import document_from
from model.errors import InputError
from model.files.exporting import ExportSource
from model.files.importing import Drawing
from model.files.registry import export_formats, import_sources, sniffed
from model.topology.types import LinkKind, State
from tests.model.files.imports.graphs import between, boxes, check_traffic, device, kinds, speeds
from tests.model.files.imports.samples import drawing, imported, own, real, said, text
from topology_templates.registry import build


def _json(nodes: list[object], edges: list[object], **more: object) -> str:
    return json.dumps({"nodes": nodes, "links": edges, **more})


def test_foreign_words_are_read_where_they_are_obvious() -> None:
    source = own("node-link-json/foreign.json")
    assert [one.id for one in sniffed(source)] == ["node-link-json"]
    found = drawing(source)
    assert found.name == "two racks"
    assert kinds(found) == {"gpu": 1, "nic": 1, "leaf": 1, "spine": 2, "storage": 1}
    assert boxes(found) == {"rack": 1, "tray": 1}
    gpu = device(found, "h1-g0")
    assert (gpu.model, gpu.rail, gpu.parent) == ("h100-sxm", 0, "h1")
    assert {box.id: box.parent for box in found.containers} == {"r1": None, "h1": "r1"}
    assert device(found, "spine-2").state is State.DOWN


def test_speeds_counts_and_directions() -> None:
    """400G and 800 Gb/s are bits, 50GB/s bytes; a speed is that of each cable; there and back is one link."""
    found = drawing(own("node-link-json/foreign.json"))
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 2, 1600.0: 1, 800.0: 1, 200.0: 1}
    (up,) = between(found, "h1-n0", "tor-1")
    assert up.latency_s == pytest.approx(1.5e-6)
    bundle, single = sorted(between(found, "tor-1", "spine-1"), key=lambda link: -link.count)
    assert (bundle.count, bundle.length_m, single.count) == (2, 30.0, 1)


def test_what_is_not_read_is_told_with_its_line() -> None:
    one = imported(own("node-link-json/foreign.json"))
    assert 'The attribute "colour" is not read (1).' in said(one, "ignored")
    loop = next(note for note in one.notes if "to itself" in note.text)
    assert loop.lines == (18,)
    assert "Kinds taken from names: spine-1." in said(one, "inferred")


def test_ends_can_be_places_in_the_list() -> None:
    """What nodes are is not said either: the middle one of a chain of three is a switch."""
    source = own("node-link-json/places.json")
    found = drawing(source)
    assert kinds(found) == {"nic": 2, "leaf": 1}
    assert device(found, "beta").kind.value == "leaf"
    assert kinds(drawing(source, unknown_nodes="gpu")) == {"gpu": 3}
    # 18 lanes of 25 GB/s, 9 of them for each of the two links of the middle one.
    assert speeds(drawing(source, unknown_nodes="gpu"), LinkKind.NVLINK) == {1800.0: 2}


def test_bare_numbers_ask_for_their_unit() -> None:
    content = _json(
        [{"id": "a", "type": "switch"}, {"id": "b", "type": "host"}],
        [{"source": "a", "target": "b", "bw": 50}],
    )
    assert speeds(drawing(text(content)), LinkKind.ETHERNET) == {50.0: 1}
    assert speeds(drawing(text(content), speed_unit="GB/s"), LinkKind.ETHERNET) == {400.0: 1}
    assert "speed_unit" in [one.key for one in imported(text(content)).questions]


def test_both_names_of_the_list_of_edges() -> None:
    nodes = [{"id": "a", "type": "switch"}, {"id": "b", "type": "host"}]
    one = imported(
        text(
            json.dumps(
                {
                    "nodes": nodes,
                    "edges": [{"source": "a", "target": "b"}],
                    "links": [{"source": "b", "target": "a"}] * 2,
                }
            )
        )
    )
    assert isinstance(one.result, Drawing)
    assert len(one.result.links) == 1
    assert 'both "edges" and "links"' in said(one, "contradictory")


def test_a_host_that_gpus_hang_on_is_their_cpu() -> None:
    nodes = [
        {"id": "srv", "type": "server"},
        {"id": "g", "type": "gpu"},
        {"id": "n", "type": "nic"},
        {"id": "l", "type": "tor"},
    ]
    edges = [
        {"source": "srv", "target": "g"},
        {"source": "srv", "target": "n"},
        {"source": "n", "target": "l"},
    ]
    found = drawing(text(_json(nodes, edges)))
    assert kinds(found) == {"cpu": 1, "gpu": 1, "nic": 1, "leaf": 1}


def test_networkx_writes_what_is_read() -> None:
    """The graph of a fat tree, with the keys that networkx gives to parallel edges."""
    graph = nx.MultiGraph()
    graph.add_nodes_from([("h0", {"type": "host"}), ("h1", {"type": "host"}), ("t", {"type": "switch"})])
    graph.add_edges_from([("h0", "t", {"gbps": 100}), ("h1", "t", {"gbps": 100}), ("h1", "t", {"gbps": 25})])
    for key in ("links", "edges"):
        content = json.dumps(nx.node_link_data(graph, edges=key))
        assert speeds(drawing(text(content)), LinkKind.ETHERNET) == {100.0: 2, 25.0: 1}


@pytest.mark.parametrize("ident", ["node-link-json", "graphml"])
def test_our_own_export_comes_back_the_same(ident: str) -> None:
    document = document_from(build("hgx-h100", {"nodes": 2}))
    exported = export_formats()[ident].write(ExportSource(document)).files[""]
    content = exported if isinstance(exported, str) else exported.decode()
    result = import_sources([text(content)], ident).result
    assert isinstance(result, Drawing)
    again = document_from(result)
    assert again.topology.same_as(document.topology)
    assert again.layout == document.layout
    assert again.name == document.name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"nodes": []}', 'has no list of edges; it is called "links" or "edges"'),
        ('{"links": []}', "has no list of nodes"),
        ('{"nodes": [\n{"id": "a"},\n{"id": "a"}], "links": []}', 'line 3: the node "a" stands twice'),
        ('{"nodes": [\n{"size": 1}], "links": []}', "line 2: a node has no id"),
        (
            '{"nodes": [{"id": "a"}],\n"links": [\n{"source": "a", "target": "b"}]}',
            'line 3: an edge ends at "b"',
        ),
        ('{"nodes": [{"id": "a"}],\n"links": [\n{"source": "a"}]}', "line 3: an edge has no two ends"),
        ('{"nodes": [{"id": "a", "x": NaN}], "links": []}', "NaN is no number"),
        ('{"nodes": [{"id": "a"}], "links": [', "ends too early"),
    ],
)
def test_broken_files_name_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "node-link-json")


@pytest.mark.parametrize("name", ["SYN_nx33_links_key", "SYN_nx34_edges_key"])
def test_the_real_files(name: str) -> None:
    """4 nodes, 4 edges, 2 of them parallel between leaf0 and spine0; the same graph in both."""
    found = drawing(real(f"node_link_json/{name}.json"))
    assert kinds(found) == {"gpu": 1, "nic": 1, "leaf": 1, "spine": 1}
    assert len(found.links) == 4
    assert len(between(found, "leaf0", "spine0")) == 2
    assert {link.nominal_bytes_per_s for link in found.links} == {50e9}
    check_traffic(found)
