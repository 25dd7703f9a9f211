"""Networks for labs: containerlab by its schema, Cumulus DOT, Air JSON; the drawing for Graphviz."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from model.document.document import Document
from model.errors import InputError
from tests.model.files.exports.drawings import drawings, export, pair, template, text_of

# After containerlab's own schema (schemas/clab.schema.json), of what is written here.
CONTAINERLAB = {
    "type": "object",
    "required": ["name", "topology"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9.-]*$"},
        "topology": {
            "type": "object",
            "required": ["nodes", "links"],
            "additionalProperties": False,
            "properties": {
                "nodes": {
                    "type": "object",
                    "minProperties": 1,
                    "propertyNames": {"pattern": "^[A-Za-z0-9][A-Za-z0-9.-]{0,59}$"},
                    "additionalProperties": {
                        "type": "object",
                        "required": ["kind", "image"],
                        "additionalProperties": False,
                        "properties": {name: {"type": "string"} for name in ("kind", "image", "group")},
                    },
                },
                "links": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["endpoints"],
                        "additionalProperties": False,
                        "properties": {
                            "endpoints": {
                                "type": "array",
                                "minItems": 2,
                                "maxItems": 2,
                                "items": {"type": "string", "pattern": r"^\S+:\S+$"},
                                "uniqueItems": True,
                            },
                            "vars": {"type": "object"},
                        },
                    },
                },
            },
        },
    },
}
# The pair has 4 leaf-spine links of 2 cables, 4 NICs and one for management.
PAIR_CABLES = {("r0", "top0"): 2, ("r0", "top1"): 2, ("r1", "top0"): 2, ("r1", "top1"): 2} | {
    (host, leaf): 1 for host in "ab" for leaf in ("r0", "r1")
}
PAIR_CABLES[("b", "mgmt")] = 1


def pairs(ends: list[tuple[str, str]]) -> Counter[tuple[str, str]]:
    return Counter((min(pair_of), max(pair_of)) for pair_of in ends)


def test_containerlab_follows_its_schema_and_has_every_cable() -> None:
    data = yaml.safe_load(text_of(pair(), "containerlab"))
    jsonschema.validate(data, CONTAINERLAB)
    nodes, links = data["topology"]["nodes"], data["topology"]["links"]
    assert {name: row["group"] for name, row in nodes.items()} == {
        **dict.fromkeys(("r0", "r1", "mgmt"), "leaf"),
        **dict.fromkeys(("top0", "top1"), "spine"),
        **dict.fromkeys(("a", "b"), "host"),
    }
    ends = [tuple(end.split(":")[0] for end in link["endpoints"]) for link in links]
    assert pairs(ends) == PAIR_CABLES
    interfaces = [end for link in links for end in link["endpoints"]]
    assert len(interfaces) == len(set(interfaces)) == 2 * 13
    assert Counter(link["vars"]["gbit_per_s"] for link in links) == {400: 12, 200: 1}


def test_sr_linux_has_its_own_names_of_ports() -> None:
    data = yaml.safe_load(text_of(pair(), "containerlab", switch_kind="nokia_srlinux"))
    assert data["topology"]["links"][0]["endpoints"] == ["r0:e1-1", "top0:e1-1"]
    assert data["topology"]["nodes"]["r0"]["kind"] == "nokia_srlinux"
    assert data["topology"]["nodes"]["a"]["kind"] == "linux"


_EDGE = re.compile(r'  "([^"]+)":"([^"]+)" -- "([^"]+)":"([^"]+)" \[speed="(\d+)G"\]')


def test_cumulus_dot_has_ports() -> None:
    edges = _EDGE.findall(text_of(pair(), "cumulus-dot"))
    assert pairs([(edge[0], edge[2]) for edge in edges]) == PAIR_CABLES
    assert edges[0] == ("r0", "swp1", "top0", "swp1", "400")
    ports = [(edge[at], edge[at + 1]) for edge in edges for at in (0, 2)]
    assert len(ports) == len(set(ports))


def test_slow_lanes_split_a_port() -> None:
    """HPN's leaves have 800G ports: NICs of 200G take four to a port, uplinks of 400G two."""
    edges = _EDGE.findall(text_of(template("alibaba-hpn"), "cumulus-dot"))
    at_leaf: dict[str, list[str]] = {}
    for a, a_port, b, b_port, speed in edges:
        for node, port in ((a, a_port), (b, b_port)):
            if "leaf" in node and speed == "200":
                at_leaf.setdefault(node, []).append(port)
    assert at_leaf
    for ports in at_leaf.values():
        assert ports[:4] == [f"swp1s{part}" for part in range(len(ports[:4]))]
    up = [b_port for _, _, b, b_port, speed in edges if speed == "400" and "spine" in b]
    assert set(up[:2]) <= {"swp1s0", "swp1s1"}


def test_air_json_has_every_cable() -> None:
    data = json.loads(text_of(pair(), "air-json"))
    assert data["format"] == "JSON" and data["title"] == "pair"
    assert pairs([(a["node"], b["node"]) for a, b in data["content"]["links"]]) == PAIR_CABLES
    assert data["content"]["nodes"]["r0"]["os"].startswith("cumulus")
    assert data["content"]["nodes"]["a"]["os"].startswith("generic/ubuntu")


def test_what_is_inside_hosts_is_said_to_be_left_out() -> None:
    (sentence,) = export(pair(), "containerlab").left_out
    assert sentence == (
        "Left out: 2 CPUs, 2 PCIe switches, 2 NVLink switches, 4 GPUs, 11 PCIe links, 4 NVLink links."
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_any_network_is_a_lab(document: Document) -> None:
    try:
        data = yaml.safe_load(text_of(document, "containerlab"))
    except InputError:
        return
    jsonschema.validate(data, CONTAINERLAB)
    network = [link for link in document.topology.links() if link.kind.value in ("infiniband", "ethernet")]
    assert len(data["topology"]["links"]) == sum(link.count for link in network)
    for link in data["topology"]["links"]:
        for end in link["endpoints"]:
            assert end.split(":")[0] in data["topology"]["nodes"]


DOT = shutil.which("dot")


def graphviz(text: str) -> dict[str, object]:
    """What Graphviz has read."""
    command = [str(DOT), "-Tdot_json"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60)
    assert not done.stderr.strip(), done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.skipif(DOT is None, reason="Graphviz (dot) is not installed")
def test_graphviz_reads_the_whole_drawing() -> None:
    document = pair()
    data = graphviz(text_of(document, "dot"))
    objects: list[dict[str, str]] = data["objects"]  # type: ignore[assignment]
    nodes = {row["name"]: row for row in objects if "nodes" not in row}
    assert set(nodes) == {device.id for device in document.topology.devices()}
    assert (nodes["a.gpu0"]["kind"], nodes["a.gpu0"]["model"], nodes["a.gpu0"]["label"]) == (
        "gpu",
        "h100-sxm",
        "gpu0",
    )
    clusters = {row["name"] for row in objects if "nodes" in row}
    assert {"cluster_a", "cluster_b"} <= clusters
    edges: list[dict[str, object]] = data["edges"]  # type: ignore[assignment]
    names = [row["name"] for row in objects]
    found = pairs([(names[edge["tail"]], names[edge["head"]]) for edge in edges])  # type: ignore[index]
    assert found == pairs([(link.a, link.b) for link in document.topology.links()])


@pytest.mark.skipif(DOT is None, reason="Graphviz (dot) is not installed")
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_graphviz_reads_any_drawing(document: Document) -> None:
    data = graphviz(text_of(document, "dot"))
    objects: list[dict[str, object]] = data.get("objects", [])  # type: ignore[assignment]
    names = {str(row["name"]) for row in objects if "nodes" not in row}
    assert {device.id for device in document.topology.devices()} <= names
    assert len(data.get("edges", [])) == len(document.topology.links())  # type: ignore[arg-type]
