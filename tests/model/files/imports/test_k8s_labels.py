"""Labels of Kubernetes nodes."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import import_sources, sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import boxes, check_traffic, device, kinds, neighbours
from tests.model.files.imports.samples import drawing, imported, own, real, said, text


def test_tiers_cliques_and_counts() -> None:
    """Tier 0 is the nearest; GPUs by label or capacity; a node without both is left out."""
    source = own("k8s-labels/nodes.yaml")
    assert [one.id for one in sniffed(source)] == ["k8s-labels"]
    one = imported(source)
    found = drawing(source)
    counted = kinds(found)
    assert (counted["gpu"], counted["nic"], counted["leaf"], counted["spine"]) == (10, 10, 2, 1)
    assert boxes(found) == {"tray": 3, "rack": 1}
    assert device(found, "gpu-a.gpu0").model == "gb200"
    assert {"gpu-a.nic3", "gpu-b.nic1", "spine-0"} <= neighbours(found, "leaf-0")
    odd = next(note for note in one.notes if note.kind == "contradictory")
    assert odd.text == "Most nodes have 4 GPUs; gpu-b has 2."
    assert "Left out: control" in said(one, "ignored")
    check_traffic(found)


def test_layers_of_aws_count_the_other_way() -> None:
    """Layer 1 is the farthest. 8 GPUs of a host share NVLink switches of their own."""
    found = drawing(own("k8s-labels/aws.json"))
    assert {one.id for one in found.devices if one.kind.value == "leaf"} == {"nn-near-1", "nn-near-2"}
    assert neighbours(found, "nn-middle") == {"nn-near-1", "nn-near-2", "nn-far"}
    domain = [one for one in found.devices if one.kind.value == "nvlink-switch"]
    assert {one.parent for one in domain} == {"ip-1", "ip-2"}
    assert {link.kind for link in found.links} == {LinkKind.ETHERNET, LinkKind.PCIE, LinkKind.NVLINK}


def test_levels_of_kueue_name_the_labels() -> None:
    """Broad to narrow; the host name is no switch. The objects can be in two files."""
    found = drawing(own("k8s-labels/kueue.yaml"))
    assert kinds(found) == {"nic": 2, "leaf": 2, "spine": 1}
    assert neighbours(found, "r1") == {"n1.nic0", "b1"}
    topology, _, nodes = own("k8s-labels/kueue.yaml").text.partition("---\n")
    apart = import_sources([text(topology, "t.yaml"), text(nodes, "n.yaml")], "k8s-labels").result
    assert isinstance(apart, Drawing)
    assert kinds(apart) == kinds(found)
    with pytest.raises(InputError, match=r"names the levels example\.com/block, example\.com/rack"):
        imported(text(topology))


def test_a_compute_domain_only_has_a_number() -> None:
    found = drawing(own("k8s-labels/compute_domain.yaml"), gpus_per_host="2")
    assert kinds(found) == {"gpu": 6, "nvlink-switch": 2}
    assert boxes(found) == {"tray": 3, "rack": 1}
    huge = own("k8s-labels/compute_domain.yaml").text.replace("3", "1000000000")
    with pytest.raises(InputError, match="asks for 1,000,000,000 nodes; at most 200,000"):
        imported(text(huge))


def _node(name: str, **labels: str) -> str:
    lines = [f"    {key.replace('__', '/').replace('_', '.')}: {value!r}" for key, value in labels.items()]
    return "\n".join(
        ["---", "apiVersion: v1", "kind: Node", "metadata:", f"  name: {name}", "  labels:", *lines, ""]
    )


def test_labels_that_do_not_agree_are_told() -> None:
    older = {"network_topology_nvidia_com__leaf": "l1", "nvidia_com__gpu_count": "1"}
    first = _node("a", **older, network_topology_nvidia_com__spine="s1", nvidia_com__gpu_clique="c.1")
    second = _node("b", **older, network_topology_nvidia_com__spine="s2", nvidia_com__gpu_clique="c.1")
    one = imported(text(first + second))
    assert '"l1" stands below "s1" and below "s2" by labels of nodes; the first is drawn.' in said(
        one, "contradictory"
    )
    both = first + _node("c", nvidia_com__gpu_clique="c.1", network_topology_nvidia_com__accelerator="other")
    assert 'The clique "c.1" is spread over the domains c.1, other' in said(
        imported(text(both)), "contradictory"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_node("a", nvidia_com__gpu_count="99"), 'line 2: a has "99" GPUs; a number from 0 to 64'),
        (_node("a", foo="1"), "None of the 1 node .* has GPUs or a label"),
        (_node("a", nvidia_com__gpu_count="1") * 2, 'line 9: the node "a" stands twice'),
        ("apiVersion: v1\nkind: Node\nmetadata: {}\n", "line 1: a Node has no metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "has no Node of Kubernetes"),
    ],
)
def test_broken_files_name_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "k8s-labels")


def test_the_real_node_list() -> None:
    """6 nodes, 2 leaf, 1 spine, 2 NVLink domains; one node without gpu.clique, one with gpu.count 3."""
    source = real("k8s_topology/SYN_nodelist_labels.json")
    one = imported(source)
    found = drawing(source)
    counted = kinds(found)
    assert (counted["gpu"], counted["leaf"], counted["spine"]) == (23, 2, 1)
    assert boxes(found) == {"tray": 6, "rack": 2}
    assert sorted(box.id for box in found.containers if box.parent == "nvl-1") == [
        "gpu-1-0",
        "gpu-1-1",
        "gpu-1-2",
    ]
    assert "Most nodes have 4 GPUs; gpu-1-2 has 3." in said(one, "contradictory")
    without = next(note for note in one.notes if "without a label nvidia.com/gpu.clique" in note.text)
    assert without.text.startswith("gpu-1-1:")
    assert without.lines == (69,)
    check_traffic(found)
