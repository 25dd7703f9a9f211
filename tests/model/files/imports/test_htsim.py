"""htsim's fat trees."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.registry import sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import between, boxes, check_traffic, kinds, neighbours, speeds
from tests.model.files.imports.samples import drawing, imported, own, real, said, text

_SMALL = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n"
_SMALL += "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n"


def test_three_tiers_wired_as_htsim_does() -> None:
    """Pods of 8 hosts, 2 ToR, 2 aggregation switches; aggregation i of a pod joins cores i and i + 2."""
    source = own("htsim/three_tiers_bundled.topo")
    assert [one.id for one in sniffed(source)] == ["htsim"]
    one = imported(source)
    found = drawing(source)
    assert kinds(found) == {"nic": 16, "leaf": 4, "spine": 4, "core": 4}
    assert boxes(found) == {"tray": 16, "pod": 2}
    assert neighbours(found, "tor2") == {*(f"host{n:02d}.nic0" for n in range(8, 12)), "agg2", "agg3"}
    assert neighbours(found, "agg1") == {"tor0", "tor1", "core1", "core3"}
    assert neighbours(found, "core2") == {"agg0", "agg2"}
    (bundle,) = between(found, "agg1", "core3")
    assert (bundle.count, bundle.nominal_bytes_per_s, bundle.latency_s) == (2, 25e9, 2e-6)
    assert speeds(found, LinkKind.ETHERNET) == {200.0: 32}
    ignored = {note.text.partition(" is ")[0].partition(" are ")[0]: note.lines for note in one.notes}
    assert ignored["Sizes of queues"] == (12,)
    assert ignored["The latency of switches"] == (19,)


def test_the_said_oversubscription_is_compared() -> None:
    assert not said(imported(text(_SMALL)), "contradictory")
    wrong = imported(text(_SMALL.replace("Radix_Up 2\n", "Radix_Up 2\nOversubscribed 4\n")))
    assert "Tier 0 is said to be 4:1 oversubscribed; its links make it 2:1" in said(wrong, "contradictory")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes 8", "Nodes 1000000000", "line 1: 1,000,000,000 nodes; at most 200,000"),
        ("Tiers 2", "Tiers 4", "line 2: a fat tree has 2 or 3 tiers, not 4"),
        ("Podsize 8", "Podsize 4", "with 2 tiers all 8 nodes are one pod"),
        ("Nodes 8", "Nodes 9", r"Nodes \(9\) must be a multiple of Podsize \(8\)"),
        (
            "Radix_Down 4",
            "Radix_Down 3",
            r"line 6: Podsize \(8\) must be a multiple of Radix_Down of tier 0 \(3\)",
        ),
        (
            "Radix_Down 2",
            "Radix_Down 3",
            "line 10: Radix_Down 3 does not fit 2 switches of tier 0, which need 2",
        ),
        ("Radix_Up 2\n", "", "line 4: tier 0 needs a Radix_Up"),
        ("Radix_Up 2", "Radix_Up two", 'line 7: Radix_Up is a whole number, not "two"'),
        ("Radix_Up 2", "Radix_Up 2.5", "line 7: Radix_Up is a whole number"),
        (
            "Radix_Up 2",
            "Radix_Up 2\nRADIX_UP 2",
            r"line 8: RADIX_UP stands twice in a tier \(first in line 7\)",
        ),
        ("Tier 1", "Tier 0", "line 8: tier 0 is described twice"),
    ],
)
def test_broken_files_name_the_line(old: str, new: str, message: str) -> None:
    assert old in _SMALL
    with pytest.raises(InputError, match=message):
        imported(text(_SMALL.replace(old, new, 1)), "htsim")


def test_sizes_are_refused_before_they_are_drawn() -> None:
    """131,072 hosts with 2 hosts a ToR are 65,536 leaves and as many spines: more than can be imported."""
    huge = "Nodes 131072\nTiers 2\nTier 0\nDownlink_speed_Gbps 1\nRadix_Down 2\nRadix_Up 65536\n"
    with pytest.raises(InputError, match=r"262,144 hosts and switches; at most 200,000"):
        imported(text(huge + "Tier 1\nDownlink_speed_Gbps 1\nRadix_Down 65536\n"), "htsim")


def test_hosts_with_gpus_train() -> None:
    check_traffic(drawing(text(_SMALL), hosts="gpu"))


def test_the_real_leaf_spine() -> None:
    """32 hosts, 2 tiers, radix 8 down and 2 up: 4 : 1 oversubscribed."""
    source = real("htsim_topo/leaf_spine_tiny.topo")
    one = imported(source)
    found = drawing(source)
    assert kinds(found) == {"nic": 32, "leaf": 4, "spine": 2}
    assert speeds(found, LinkKind.ETHERNET) == {100.0: 40}
    assert len([1 for ident in neighbours(found, "tor0") if ident.startswith("host")]) == 8
    assert {"agg0", "agg1"} < neighbours(found, "tor0")
    assert "4:1 oversubscribed" in said(one, "found")
    check_traffic(drawing(source, hosts="gpu"))
