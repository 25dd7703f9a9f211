"""Models and graphs of NVIDIA topograph."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.registry import sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import between, boxes, check_traffic, device, kinds, neighbours, speeds
from tests.model.files.imports.samples import drawing, imported, own, real, said, text


def test_tree_with_hosts_and_domains() -> None:
    """leaf-3 and leaf-2 are only named as children; `extra` stands in a list beside a range."""
    source = own("topograph-model/three_tiers.yaml")
    assert [one.id for one in sniffed(source)] == ["topograph-model"]
    found = drawing(source)
    assert kinds(found) == {"core": 1, "spine": 2, "leaf": 3, "nic": 7}
    assert boxes(found) == {"tray": 7, "rack": 2}
    assert neighbours(found, "leaf-1") == {"spine-a", "a01.nic0", "a02.nic0", "a03.nic0", "extra.nic0"}
    assert neighbours(found, "core") == {"spine-a", "spine-b"}
    parents = {box.id: box.parent for box in found.containers}
    assert (parents["extra"], parents["b2"], parents["c1"]) == ("ra", "rb", None)
    # One cable of each of 7 hosts and of leaf-3; below leaf-1 and spine-a are 4 hosts, leaf-2 2, spine-b 3.
    assert speeds(found, LinkKind.INFINIBAND) == {400.0: 8, 1600.0: 2, 800.0: 1, 1200.0: 1}
    assert speeds(drawing(source, uplinks="one"), LinkKind.INFINIBAND) == {400.0: 12}
    assert [link.count for link in between(drawing(source, uplinks="half"), "spine-b", "core")] == [2]
    one = imported(source)
    assert next(note.lines for note in one.notes if note.text == "Labels of switches are not read.") == (6,)
    assert "6 switches, 7 hosts, 2 NVLink domains of 2 to 4 hosts" in said(one, "found")
    assert "How many cables there are is not in the file" in said(one, "guessed")


def test_hosts_can_have_gpus() -> None:
    """4 GB200 a host: 16 and 8 of a domain share NVLink switches with a port for each lane (18 of a GPU).

    A switch has 72 ports: 16 · 18 lanes need 6 of them with 3 lanes of each GPU, 8 · 18 need 2 with 9.
    """
    found = drawing(own("topograph-model/three_tiers.yaml"), gpus_per_host="4", gpu_model="gb200")
    counted = kinds(found)
    assert (counted["gpu"], counted["nic"]) == (28, 28)
    in_ra = [one for one in found.devices if one.kind.value == "nvlink-switch" and one.parent == "ra"]
    assert len(in_ra) == 6
    lanes = [
        link.count for link in found.links if link.kind is LinkKind.NVLINK and in_ra[0].id in (link.a, link.b)
    ]
    assert lanes == [3] * 16
    assert device(found, "a02.gpu3").rail == 3
    check_traffic(found)


def test_older_models_have_lists_and_capacity_blocks() -> None:
    found = drawing(own("topograph-model/older.yaml"))
    assert kinds(found) == {"spine": 1, "leaf": 1, "nic": 2}
    assert boxes(found) == {"tray": 2, "rack": 1}
    assert neighbours(found, "sw2") == {"sw1", "n1.nic0", "n2.nic0"}


_MODEL = (
    "switches:\n  a:\n    switches: [b, c]\n  b:\n    switches: [d]\nblocks:\n- switch: d\n  nodes: [n1]\n"
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[d]", "[c]", r'line 5: the switch "c" has two parents, "a" \(line 3\) and "b"'),
        ("[d]", "[a]", "stand above each other in a circle"),
        ("[d]", "[b]", 'line 5: the switch "b" stands above itself'),
        ("[n1]", "[n1, n1]", r'line 8: the node "n1" is in two blocks \(first in line 8\)'),
        ("[n1]", '["n[1-99999999]"]', "line 8: The host list stands for more than"),
        ("[n1]", '["n[1-"]', "line 8: The host list .* has a bracket that is never closed"),
        ("[n1]", "[n1", "is no valid YAML"),
    ],
)
def test_broken_models_name_the_line(old: str, new: str, message: str) -> None:
    assert old in _MODEL
    with pytest.raises(InputError, match=message):
        imported(text(_MODEL.replace(old, new, 1)), "topograph-model")


def test_partial_import_keeps_the_first_parent() -> None:
    one = imported(text(_MODEL.replace("[d]", "[c, d]")), "topograph-model", partial=True)
    assert 'Left out: the switch "c" has two parents' in said(one, "ignored")


def test_a_block_without_a_switch_is_told() -> None:
    one = imported(
        text("switches:\n  a:\nblocks:\n- nodes: [n1]\n- switch: a\n  nodes: [n2]\n"), "topograph-model"
    )
    assert "A block names no switch" in said(one, "contradictory")
    assert "above n1" in said(one, "contradictory")


def test_graph_of_instances() -> None:
    source = own("topograph-graph/instances.json")
    assert [one.id for one in sniffed(source)] == ["topograph-graph"]
    found = drawing(source, network="ethernet", network_gbit_per_s="800")
    assert kinds(found) == {"nic": 4, "leaf": 2, "spine": 1}
    assert boxes(found) == {"tray": 4, "rack": 1}
    assert neighbours(found, "leaf-1") == {"i-1.nic0", "i-2.nic0", "spine-1"}
    assert speeds(found, LinkKind.ETHERNET) == {800.0: 4, 1600.0: 1}
    lonely = next(note for note in imported(source).notes if "above i-4" in note.text)
    assert lonely.lines == (7,)


def test_types_of_instances_are_models_of_gpus() -> None:
    found = drawing(own("topograph-graph/instances.json"), gpus_per_host="2", gpu_model="h100-sxm")
    models = {one.id: one.model for one in found.devices if one.kind.value == "gpu"}
    assert (models["i-1.gpu0"], models["i-4.gpu1"]) == ("gb200", "h100-sxm")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"instances": 3}', "has no list of instances"),
        (
            '{"instances": [\n{"id": "a"},\n{"id": "a"}]}',
            r'line 3: the instance "a" stands twice \(first in line 2\)',
        ),
        ('{"instances": [\n{"network_layers": []}]}', "line 2: an instance has no id"),
        ('{"instances": [{"id": "a"', "ends too early"),
    ],
)
def test_broken_graphs_name_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "topograph-graph")


def test_the_real_nvl72_model() -> None:
    """7 switches, 4 blocks, 72 nodes, 4 NVLink domains of 18 nodes."""
    source = real("topograph_model/nvl72.yaml")
    found = drawing(source)
    assert kinds(found) == {"core": 1, "spine": 2, "leaf": 4, "nic": 72}
    assert boxes(found) == {"tray": 72, "rack": 4}
    racks = [box.parent for box in found.containers if box.kind.value == "tray"]
    assert {name: racks.count(name) for name in set(racks)} == {
        "nvl-1-1": 18,
        "nvl-1-2": 18,
        "nvl-2-1": 18,
        "nvl-2-2": 18,
    }
    assert {"node1101", "node1118"} <= {box.id for box in found.containers if box.parent == "nvl-1-1"}


def test_the_real_small_tree() -> None:
    """3 switches (S2 and S3 only named as children), 6 nodes, 2 domains."""
    found = drawing(real("topograph_model/small-tree.yaml"))
    assert kinds(found) == {"spine": 1, "leaf": 2, "nic": 6}
    assert neighbours(found, "S2") == {"S1", "I21.nic0", "I22.nic0", "I25.nic0"}
    assert {box.id for box in found.containers if box.kind.value == "rack"} == {"nvl2", "nvl3"}
