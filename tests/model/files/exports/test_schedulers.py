"""Slurm's topologies and topograph's models: trees with one parent, blocks of NVLink domains, names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from model.document.document import Document
from model.document.edits import SetFields
from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Drawing
from model.files.imports.hostlist import expand
from model.files.reading_text import Source
from model.files.registry import import_sources
from model.topology.graph import Topology
from model.topology.types import Device, DeviceKind, Link, LinkKind
from tests.model.files.exports.drawings import GB, drawings, export, pair, template, text_of

# topology.yaml(5) of Slurm 26.11, for what is written here.
SLURM_YAML = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["topology", "cluster_default"],
        "additionalProperties": False,
        "properties": {
            "topology": {"type": "string"},
            "cluster_default": {"type": "boolean"},
            "tree": {
                "type": "object",
                "required": ["switches"],
                "additionalProperties": False,
                "properties": {
                    "switches": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["switch"],
                            "additionalProperties": False,
                            "properties": {
                                name: {"type": "string"} for name in ("switch", "children", "nodes")
                            },
                            "oneOf": [{"required": ["children"]}, {"required": ["nodes"]}],
                        },
                    }
                },
            },
            "block": {
                "type": "object",
                "required": ["block_sizes", "blocks"],
                "additionalProperties": False,
                "properties": {
                    "block_sizes": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"type": "integer", "minimum": 1},
                    },
                    "blocks": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["block", "nodes"],
                            "properties": {"block": {"type": "string"}, "nodes": {"type": "string"}},
                            "additionalProperties": False,
                        },
                    },
                },
            },
        },
    },
}
# topograph's model files (tests/models of its repository).
TOPOGRAPH_MODEL = {
    "type": "object",
    "required": ["switches", "blocks"],
    "additionalProperties": False,
    "properties": {
        "switches": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"switches": {"type": "array", "minItems": 1, "items": {"type": "string"}}},
                "additionalProperties": False,
            },
        },
        "blocks": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["switch", "nodes"],
                "additionalProperties": False,
                "properties": {
                    "switch": {"type": "string"},
                    "nodes": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            },
        },
    },
}


def parsed(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """Switches of a topology.conf: their switches and nodes."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"SwitchName=(\S+)(?: Switches=(\S+))?(?: Nodes=(\S+))?", line)
        assert match, line
        assert match[1] not in found
        found[match[1]] = (expand(match[2] or ""), expand(match[3] or ""))
    return found


def check_tree(switches: Mapping[str, tuple[list[str], list[str]]]) -> None:
    """One parent for each switch and node, switches or nodes in each, names of 64 characters, no ring."""
    below = [name for children, nodes in switches.values() for name in (*children, *nodes)]
    assert len(below) == len(set(below))
    for name, (children, nodes) in switches.items():
        assert bool(children) != bool(nodes), name
        assert set(children) <= switches.keys()
        assert max(map(len, (name, *nodes))) <= 64
    roots = switches.keys() - set(below)
    seen, front = set(roots), list(roots)
    while front:
        front = [child for name in front for child in switches[name][0]]
        seen |= set(front)
    assert seen == switches.keys()


def test_leaves_with_several_spines_get_one_virtual_switch() -> None:
    text = text_of(template("leaf-spine", nodes=8), "slurm-topology-conf")
    assert text == (
        "SwitchName=spine0-to-spine1 Switches=leaf[0-1]\n"
        "SwitchName=leaf0 Nodes=node[00-03]\n"
        "SwitchName=leaf1 Nodes=node[04-07]\n"
    )


def test_rails_share_hosts_so_they_are_one_switch_and_management_is_none() -> None:
    exported = export(pair(), "slurm-topology-conf")
    assert exported.files[""] == "SwitchName=top0-to-top1 Switches=r0-to-r1\nSwitchName=r0-to-r1 Nodes=a,b\n"
    assert "4 switches merged into 2" in exported.left_out[0]


def test_a_tree_stays_as_it_is() -> None:
    """Three tiers with one parent each, with a core above another: of equal ones the first is the root."""
    devices = [Device(name, DeviceKind.CORE, "qm9700") for name in ("side", "top")]
    devices += [Device(f"s{n}", DeviceKind.SPINE, "qm9700") for n in (1, 2)]
    devices += [Device(f"n{n}.nic", DeviceKind.NIC, "cx7-ndr") for n in range(4)]
    pairs = [("s1", "side"), ("s2", "top"), ("side", "top")]
    pairs += [(f"n{n}.nic", f"s{1 + n // 2}") for n in range(4)]
    links = [Link(f"{a}-{b}", a, b, LinkKind.INFINIBAND, 50 * GB) for a, b in pairs]
    exported = export(Document(Topology(devices, links)), "slurm-topology-conf")
    assert parsed(str(exported.files[""])) == {
        "side": (["s1", "top"], []),
        "s1": ([], ["n0.nic", "n1.nic"]),
        "top": (["s2"], []),
        "s2": ([], ["n2.nic", "n3.nic"]),
    }
    assert exported.left_out == ()


def test_blocks_are_nvlink_domains() -> None:
    """4 racks of 18 trays: sizes 18, 36, 72, as each is the base times a power of two within the racks."""
    text = text_of(template("gb200-nvl72", racks=4), "slurm-topology-conf", topology="block")
    lines = text.splitlines()
    assert lines[0] == "BlockName=rack01 Nodes=rack01.tray[01-18]"
    assert len(lines) == 5
    assert lines[-1] == "BlockSizes=18,36,72"
    with pytest.raises(InputError, match=r"no NVLink domain spans .* and no host stands in a rack"):
        export(pair(), "slurm-topology-conf", topology="block")


def test_racks_are_blocks_where_no_nvlink_domain_is() -> None:
    """Blocks that were read come back line by line; 2 blocks of 4 and 5 have the sizes 4 and 8."""
    text = "BlockName=r1 Nodes=n[1-4]\nBlockName=r2 Nodes=n[5-9]\nBlockSizes=4,8\n"
    result = import_sources([Source("topology.conf", text)], "slurm-topology-conf").result
    assert isinstance(result, Drawing)
    document = document_from(result)
    exported = export(document, "slurm-topology-conf", topology="block")
    assert exported.files[""] == text
    assert exported.left_out == ("Blocks are racks, as no NVLink domain spans several hosts.",)
    data = yaml.safe_load(text_of(document, "slurm-topology-yaml", topology="block"))
    jsonschema.validate(data, SLURM_YAML)
    with pytest.raises(InputError, match="No host of the drawing has a cable to a switch"):
        export(document, "slurm-topology-conf", topology="tree")
    SetFields("container", ("n9",), {"parent": None}).apply(document)
    assert export(document, "slurm-topology-conf", topology="block").left_out[-1] == (
        "Left out: 1 host in no block: n9."
    )


def test_yaml_follows_slurms_schema() -> None:
    for choice, count in (("tree", 1), ("block", 1), ("both", 2)):
        data = yaml.safe_load(
            text_of(template("gb200-nvl72", racks=2), "slurm-topology-yaml", topology=choice)
        )
        jsonschema.validate(data, SLURM_YAML)
        assert len(data) == count
        assert [one["cluster_default"] for one in data] == [True, False][:count]
    tree, block = data
    assert {row["switch"] for row in tree["tree"]["switches"]} == {
        "spine0-to-spine3",
        "leaf0-to-leaf3",
        "leaf4-to-leaf7",
    }
    assert block["block"]["block_sizes"] == [18, 36]
    assert [len(expand(row["nodes"])) for row in block["block"]["blocks"]] == [18, 18]


def test_every_host_stands_once_in_large_clusters() -> None:
    switches = parsed(text_of(template("hgx-h100", nodes=256), "slurm-topology-conf"))
    check_tree(switches)
    nodes = [node for _, own in switches.values() for node in own]
    assert sorted(nodes) == [f"node{n:03d}" for n in range(256)]
    assert [len(own) for _, own in switches.values() if own] == [32] * 8


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_any_drawing_is_a_tree_that_slurm_takes(document: Document) -> None:
    try:
        switches = parsed(text_of(document, "slurm-topology-conf"))
    except InputError:
        return
    check_tree(switches)
    assert any(nodes for _, nodes in switches.values())


def test_topograph_model_and_graph() -> None:
    document = template("gb200-nvl72", racks=2)
    model = yaml.safe_load(text_of(document, "topograph-model"))
    jsonschema.validate(model, TOPOGRAPH_MODEL)
    assert model["switches"] == {"spine0-to-spine3": {"switches": ["leaf0-to-leaf3", "leaf4-to-leaf7"]}}
    domains: dict[str, int] = {}
    for block in model["blocks"]:
        name = block["annotations"]["accelerator.topology.test/domain"]
        domains[name] = domains.get(name, 0) + sum(len(expand(nodes)) for nodes in block["nodes"])
    assert domains == {"nvl1": 18, "nvl2": 18}
    graph = json.loads(text_of(document, "topograph-graph"))
    assert len(graph["instances"]) == 36
    assert graph["instances"][0] == {
        "id": "rack01.tray01",
        "network_layers": ["leaf0-to-leaf3", "spine0-to-spine3"],
        "labels": {"accelerator.topograph.run/domain": "nvl1"},
    }


def test_a_virtual_switch_is_not_called_like_a_host() -> None:
    """The spines would be top0-to-top1, which is the name of a host."""
    document = pair()
    document.topology.rename("container", "a", "top0-to-top1")
    switches = parsed(text_of(document, "slurm-topology-conf"))
    assert switches == {
        "top0-to-top1-switch": (["r0-to-r1"], []),
        "r0-to-r1": ([], ["top0-to-top1", "b"]),
    }
