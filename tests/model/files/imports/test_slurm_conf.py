"""Slurm's topology.conf: trees, rails, blocks, and what is wrong in them."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from tests.counting import calls
from tests.model.files.imports.fabrics import gbit, kinds, lines, link, opens, rails
from tests.model.files.imports.samples import drawing, imported, own, real, said, text


def test_tree_in_any_case_with_comments_quotes_and_joined_lines() -> None:
    source = own("slurm-topology-conf/tree.conf")
    assert [one.id for one in sniffed(source)] == ["slurm-topology-conf"]
    one = imported(source)
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"spine": 1, "leaf": 3, "nic": 5, "tray": 5}
    assert [tray.id for tray in one.result.containers] == ["n1", "n2", "x7", "n3-ib", "n4-ib"]
    assert lines(one, "LinkSpeed") == (3,)
    assert lines(one, "1 switch without a line of their own: l3") == (2,)
    assert lines(one, "Other files that are included") == (6,)
    opens(one.result)


@pytest.mark.parametrize(
    ("uplinks", "counts"), [("full", [3, 2, 1]), ("half", [2, 1, 1]), ("one", [1, 1, 1])]
)
def test_width_of_uplinks_as_answered(uplinks: str, counts: list[int]) -> None:
    result = drawing(own("slurm-topology-conf/tree.conf"), uplinks=uplinks, network_gbit_per_s="200")
    assert [link(result, leaf, "top").count for leaf in ("l1", "l2", "l3")] == counts
    assert gbit(result)[frozenset(("l1", "top"))] == [(200.0, counts[0])]


def test_nodes_on_several_leaves_and_leaves_below_several_spines() -> None:
    one = imported(own("slurm-topology-conf/rails.conf"))
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"spine": 2, "leaf": 2, "nic": 8, "tray": 4}
    found = rails(one.result)
    assert (found["rail0"], found["rail1"], found["n3.nic0"], found["n3.nic1"]) == (0, 1, 0, 1)
    assert lines(one, "2 switches below several others, where Slurm takes one") == (2, 3)
    assert link(one.result, "rail0", "spine1").count == 2


def test_blocks_become_racks() -> None:
    one = imported(own("slurm-topology-conf/blocks.conf"))
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"nic": 10, "tray": 10, "rack": 3}
    racks = {tray.id: tray.parent for tray in one.result.containers if tray.parent}
    assert (racks["n04"], racks["n07"], racks["n08"]) == ("b1", "b2", "b3")
    assert lines(one, "BlockSizes begins with 4, and block b2 has 3 nodes only.") == (4, 2)
    assert lines(one, "Nodes in several blocks") == (2, 3)
    opens(one.result)


def test_rings_become_racks_and_long_ones_are_said() -> None:
    one = imported(text("RingName=a Nodes=n[1-16]\nRingName=b Nodes=m[1-17]\n"))
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"nic": 33, "tray": 33, "rack": 2}
    assert lines(one, "A ring of nodes is drawn as a rack") == (1, 2)
    assert lines(one, "Rings of more than 16 nodes") == (2,)


def test_blocks_joined_by_switches_when_asked_for() -> None:
    result = drawing(own("slurm-topology-conf/blocks.conf"), block_switches="yes")
    assert kinds(result) == {"nic": 10, "tray": 10, "rack": 3, "leaf": 3, "spine": 1}
    assert link(result, "b1-leaf", "spine").count == 4


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [("2,4,8", False), ("2", False), ("2,3", True), ("2,12", True), ("-1", True), ("3", True)],
)
def test_block_sizes(sizes: str, wrong: bool) -> None:
    one = imported(text(f"BlockName=b Nodes=n[1-2]\nBlockSizes={sizes}\n"))
    assert ("BlockSizes" in said(one, "contradictory")) is wrong


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
            "line 2: the switch a is above itself: a → b → a",
        ),
        ("SwitchName=a Switches=a\n", "line 1: the switch a is above itself: a → a"),
        ("SwitchName=a Nodes=n[1-\n", "line 1: The host list 'n.1-' has a bracket that is never closed"),
        ("SwitchName=a Nodes=n[1-2] junk\n", "line 1: 'junk' is no Key=value"),
        ("SwitchName=a Nodes=n1 nodes=n2\n", "line 1: nodes stands there twice"),
        ("Nodes=n1\nSwitchName=a Nodes=n2\n", "line 1: the line has none of SwitchName"),
        ("SwitchName=s[1-2] Nodes=n1\n", "is no name of one switch"),
        ("BlockName=b Nodes=n1\nBlockSizes=x\n", "line 2: BlockSizes has 'x'"),
        ("# only a comment\n", "has no switch and no block"),
        ("SwitchName=a Nodes=n[1-199999]\nSwitchName=b Nodes=m[1-9]\n", "line 2: more than 200,000 names"),
    ],
)
def test_refused_with_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "slurm-topology-conf")


def test_a_partial_import_leaves_the_circle_out() -> None:
    one = imported(text("SwitchName=a Switches=b\nSwitchName=b Switches=a Nodes=n1\n"), partial=True)
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"spine": 1, "leaf": 1, "nic": 1, "tray": 1}
    assert "Left out: the switch a is above itself" in said(one, "ignored")


def test_several_roots_are_said() -> None:
    one = imported(text("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n"))
    assert "2 switches have none above them (a, b)" in said(one, "found")


def test_a_node_with_the_name_of_its_switch() -> None:
    result = drawing(text("SwitchName=a Nodes=a,b\n"))
    assert kinds(result) == {"leaf": 1, "nic": 2, "tray": 2}
    opens(result)


def _tree(leaves: int) -> str:
    rows = [f"SwitchName=leaf{n} Nodes=n[{n}000-{n}019]" for n in range(1, leaves + 1)]
    return "\n".join([f"SwitchName=root Switches=leaf[1-{leaves}]", *rows])


def test_work_grows_with_the_nodes_and_no_faster() -> None:
    few, many = (calls(lambda leaves=leaves: imported(text(_tree(leaves)))) for leaves in (10, 80))
    assert many < 9 * few


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("SYN_hostlist_torture.conf", {"spine": 1, "leaf": 3, "nic": 19, "tray": 19}),
        ("slinky_block_with_comments.conf", {"rack": 12, "nic": 96, "tray": 96}),
        ("large_tree_4tier.conf", {"core": 3, "spine": 26, "leaf": 500, "nic": 10_000, "tray": 10_000}),
    ],
)
def test_real_files(path: str, found: dict[str, int]) -> None:
    result = drawing(real(f"slurm_topology_conf/{path}"))
    assert kinds(result) == found
    if len(result.devices) < 1000:
        opens(result)


def test_peculiarities_of_the_real_files() -> None:
    one = imported(real("slurm_topology_conf/slinky_block_with_comments.conf"))
    assert "BlockSizes are 8, 16, 32." in said(one, "found")
    assert "contradictory" not in {note.kind for note in one.notes}
    result = drawing(real("slurm_topology_conf/SYN_hostlist_torture.conf"))
    on = {
        name: sum(1 for each in result.links if name in (each.a, each.b)) - 1 for name in ("S0", "s1", "s2")
    }
    assert on == {"S0": 8, "s1": 5, "s2": 6}
    large = imported(real("slurm_topology_conf/large_tree_4tier.conf"))
    assert "529 switches and 10,000 nodes." in said(large, "found")
