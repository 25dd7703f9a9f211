"""The topology export: read by networkx unchanged, and back with keys, order, counts, capacities, states."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.document.document import Document
from model.document.edits import SetFields
from model.errors import InputError
from model.files.opening import open_any
from model.files.topology_json import topology_from_json, topology_to_json, write_topology
from model.topology.graph import Topology
from model.topology.types import Device, DeviceKind, Link, LinkKind, State
from tests.model.document.test_edits import node_document


def node_json() -> dict[str, Any]:
    return json.loads(json.dumps(topology_to_json(node_document())))


def test_networkx_reads_it_as_it_is() -> None:
    graph = nx.node_link_graph(node_json(), edges="edges")
    assert isinstance(graph, nx.MultiGraph)
    assert list(graph) == ["node0.gpu0", "node0.gpu1", "node0.nic0", "leaf0"]
    edge = graph.edges["node0.gpu0", "node0.gpu1", "node0.gpu0--node0.gpu1"]
    assert (edge["kind"], edge["count"], edge["capacity_bytes_per_s"]) == ("nvlink", 18, 450e9)
    assert graph.nodes["node0.gpu1"]["rail"] == 1


def test_states_and_capacities_survive(tmp_path: Path) -> None:
    document = node_document()
    SetFields("link", ("node0.gpu0--node0.gpu1",), {"state": "degraded", "share": 0.7}).apply(document)
    SetFields("link", ("node0.nic0--leaf0",), {"state": "down", "share": 0.5, "latency_s": 3e-7}).apply(
        document
    )
    SetFields("device", ("node0.gpu1",), {"state": "degraded", "speed": 0.8}).apply(document)
    write_topology(document, tmp_path / "t.json")
    edges = {edge["key"]: edge for edge in json.loads((tmp_path / "t.json").read_text())["edges"]}
    assert edges["node0.gpu0--node0.gpu1"]["capacity_bytes_per_s"] == pytest.approx(315e9)
    assert edges["node0.gpu0--node0.gpu1"]["nominal_bytes_per_s"] == 450e9
    assert edges["node0.nic0--leaf0"]["capacity_bytes_per_s"] == 0
    again = open_any(tmp_path / "t.json")
    assert again.topology.same_as(document.topology)
    assert again.name == document.name
    assert {ident: again.layout[ident] for ident in document.layout} == document.layout


@given(
    lane=st.floats(1.0, 1e15),
    count=st.integers(1, 1000),
    share=st.floats(1e-6, 1.0),
    state=st.sampled_from(State),
)
def test_any_link_comes_back_to_the_last_bit(lane: float, count: int, share: float, state: State) -> None:
    link = Link("l", "a", "b", LinkKind.PCIE, lane, count, share, state)
    devices = [Device("a", DeviceKind.CPU, "cpu"), Device("b", DeviceKind.NIC, "cx7-ndr")]
    data = json.loads(json.dumps(topology_to_json(Document(Topology(devices, [link])))))
    assert topology_from_json(data, Path("t.json")).topology.link("l") == link


def test_capacities_of_others_become_states() -> None:
    data = node_json()
    for edge in data["edges"]:
        del edge["lane_bytes_per_s"], edge["share"]
    data["edges"][0]["capacity_bytes_per_s"] = 225e9
    link = topology_from_json(data, Path("t.json")).topology.links()[0]
    assert (link.state, link.share, link.lane_bytes_per_s) == (State.DEGRADED, 0.5, 25e9)


def test_unknown_fields_stay(tmp_path: Path) -> None:
    data = node_json() | {"drawn_by": "hand"}
    data["nodes"][3]["asset"] = {"tag": 7}
    data["edges"][2]["colour"] = "blue"
    data["containers"][0]["room"] = "B"
    data["graph"]["region"] = "north"
    document = topology_from_json(data, Path("t.json"))
    again = topology_to_json(document)
    assert again["nodes"][3]["asset"] == {"tag": 7}
    assert again["edges"][2]["colour"] == "blue"
    assert again["containers"][0]["room"] == "B"
    assert again["graph"]["region"] == "north"
    assert again["drawn_by"] == "hand"
    assert topology_from_json(json.loads(json.dumps(again)), Path("t.json")).extra == document.extra


def test_a_drawing_without_positions_is_laid_out(tmp_path: Path) -> None:
    document = replace(node_document(), layout={})
    write_topology(document, tmp_path / "t.json")
    layout = open_any(tmp_path / "t.json").layout
    assert set(layout) == {device.id for device in document.topology.devices()}
    assert len(set(layout.values())) == len(layout)


def _edge(**fields: Any) -> dict[str, Any]:
    data = node_json()
    data["edges"][0] |= fields
    return data


def _node(**fields: Any) -> dict[str, Any]:
    data = node_json()
    data["nodes"][0] |= fields
    return data


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "newer": (node_json() | {"version": 99}, "newer version of Railsketch"),
    "nodes missing": (
        {"format": "railsketch.topology", "version": 1},
        "nodes must be a list, and is missing",
    ),
    "node is a text": (node_json() | {"nodes": ["gpu0"]}, 'entry 1 must be an object, not "gpu0"'),
    "unknown kind": (_node(kind="toaster"), 'kind of "node0.gpu0" is "toaster"'),
    "no id": (_node(id=None), "an id must be a text"),
    "speed above one": (_node(speed=1.5), "speed must be from 1e-06 to 1"),
    "position as text": (_node(x="left"), "positions go up to"),
    "edge to nowhere": (_edge(target="nobody"), 'ends at "nobody", and there is no such device'),
    "edge to itself": (_edge(target="node0.gpu0"), "a link joins two devices"),
    "no key": (_edge(key=None), "an id must be a text"),
    "key used twice": (_edge(key="node0.nic0--leaf0"), "this id occurs twice"),
    "negative capacity": (_edge(capacity_bytes_per_s=-1), "capacity_bytes_per_s must be a number from 0 on"),
    "nominal of zero": (_edge(nominal_bytes_per_s=0), "nominal_bytes_per_s must be a number above 0"),
    "beyond 64 bits": (_edge(nominal_bytes_per_s=10**400), "nominal_bytes_per_s must be a number"),
    "count of minus one": (_edge(count=-1), "count must be a whole number from 1"),
    "unknown state": (_edge(state="tired"), 'is "tired"; it must be one of up, degraded, down'),
    "containers as object": (node_json() | {"containers": {}}, "containers must be a list"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_content(tmp_path: Path, case: str) -> None:
    data, words = BAD[case]
    (tmp_path / "t.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=words) as caught:
        open_any(tmp_path / "t.json")
    assert "\n" not in str(caught.value)
