"""Slurm's topology.yaml: several topologies, of which one is drawn."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from tests.model.files.imports.fabrics import kinds, lines, link, opens
from tests.model.files.imports.samples import drawing, imported, own, real, said, text


def test_the_default_of_the_cluster_is_drawn_unless_another_is_chosen() -> None:
    source = own("slurm-topology-yaml/both.yaml")
    assert [one.id for one in sniffed(source)] == ["slurm-topology-yaml"]
    one = imported(source)
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"nic": 4, "tray": 4, "rack": 2}
    assert one.result.name == "racks"
    question = next(each for each in one.questions if each.key == "topology")
    assert [value for value, _ in question.choices] == ["any", "racks", "tree", "loop"]
    assert lines(one, "4 topologies") == (2, 4, 12, 21)
    assert lines(one, "The key color") == (11,)
    tree = drawing(source, topology="tree", uplinks="one")
    assert kinds(tree) == {"spine": 1, "leaf": 2, "nic": 4, "tray": 4}
    assert link(tree, "s1", "s0").count == 1
    opens(tree)


def test_a_ring_is_a_rack_and_flat_is_nothing() -> None:
    source = own("slurm-topology-yaml/both.yaml")
    assert kinds(drawing(source, topology="loop")) == {"nic": 4, "tray": 4, "rack": 1}
    with pytest.raises(InputError, match="line 3: topology any is flat, which names no switches"):
        drawing(source, topology="any")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- topology: a\n  tree: 5\n", "line 2: a list of switches is expected"),
        (
            "- topology: a\n  tree:\n    switches:\n      - x\n",
            "line 4: one of the switches must be a mapping",
        ),
        ("- topology: a\n  tree:\n    switches:\n      - nodes: n1\n", "line 4: switch must be a name"),
        (
            "- topology: a\n  tree:\n    switches:\n      - {switch: s, nodes: {a: 1}}\n",
            "line 4: nodes must be a host",
        ),
        (
            "- topology: a\n  tree:\n    switches:\n      - {switch: s, nodes: 'n[1'}\n",
            "line 4: The host list",
        ),
        ("- topology: a\n  planet: 1\n", "line 1: a topology has one of tree, block"),
        ("- topology: a\n  tree: {switches: []}\n", "has no switch and no block"),
        ("[]", "has no list of topologies"),
        ("text", "has no list of topologies"),
        ("- topology: a\n  topology: b\n", "line 2, has the key 'topology' twice"),
        (
            "- topology: a\n  block:\n    block_sizes: [big]\n    blocks: [{block: b, nodes: n1}]\n",
            'line 3: block_sizes are whole numbers, not "big"',
        ),
    ],
)
def test_refused_with_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "slurm-topology-yaml")


def test_two_topologies_of_one_name() -> None:
    half = "- topology: a\n  block: {blocks: [{block: b, nodes: n1}]}\n"
    with pytest.raises(InputError, match='line 3: the topology "a" stands there twice'):
        imported(text(half * 2))
    one = imported(text(half * 2), partial=True)
    assert "1 topology: a (block)." in said(one, "found")


@pytest.mark.parametrize(
    ("topology", "found"),
    [
        ("fabric", {"core": 1, "spine": 2, "leaf": 4, "nic": 64, "tray": 64}),
        ("nvl72", {"rack": 3, "nic": 54, "tray": 54}),
    ],
)
def test_real_file(topology: str, found: dict[str, int]) -> None:
    one = imported(real("slurm_topology_yaml/SYN_multi_topology.yaml"), answers={"topology": topology})
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == found
    assert "3 topologies: fabric (tree), nvl72 (block), any (flat)." in said(one, "found")
    assert ("gpu101" in {tray.id for tray in one.result.containers}) is (topology == "fabric")
    opens(one.result)
