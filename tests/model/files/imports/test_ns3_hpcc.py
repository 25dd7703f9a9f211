"""ns-3 topologies of HPCC and ASTRA-sim."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.registry import sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import between, boxes, check_traffic, kinds, neighbours, speeds
from tests.model.files.imports.samples import drawing, imported, own, real, text


def test_plain_hosts_with_a_card_each() -> None:
    """The switch is on either side of a line, its ids on two lines, delays in ms, us and ns."""
    source = own("ns3-hpcc/mixed_units.txt")
    assert [one.id for one in sniffed(source)] == ["ns3-hpcc"]
    found = drawing(source)
    assert kinds(found) == {"nic": 4, "leaf": 2}
    assert boxes(found) == {"tray": 4}
    assert speeds(found, LinkKind.ETHERNET) == {100.0: 2, 25.0: 2, 400.0: 2}
    assert neighbours(found, "host1.nic0") == {"switch4"}
    assert len(between(found, "switch4", "switch5")) == 2
    assert [link.latency_s for link in found.links] == [1e-6] * 6


def test_empty_line_of_switches() -> None:
    found = drawing(own("ns3-hpcc/no_switch.txt"))
    assert kinds(found) == {"nic": 2}
    assert len(found.links) == 1


def test_field_counts_tell_the_dialects_apart() -> None:
    """Three numbers are ns-3, five and a word SimAI; a table of numbers is neither."""
    link = "0 1 100Gbps 1000ns 0\n"
    assert [one.id for one in sniffed(text(f"2 0 1\n\n{link}"))] == ["ns3-hpcc"]
    assert [one.id for one in sniffed(text(f"2 1 1 0 1 H100\n1\n{link}"))] == ["simai"]
    assert "ns3-hpcc" not in [one.id for one in sniffed(text("2 0 1\n1 2 3\n4 5 6\n"))]


def test_hosts_with_gpus_train() -> None:
    found = drawing(own("ns3-hpcc/mixed_units.txt"), hosts="gpu", gpu_model="b200-sxm")
    assert kinds(found) == {"nic": 4, "gpu": 4, "leaf": 2}
    assert neighbours(found, "host2.gpu0") == {"host2.nic0"}
    check_traffic(found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1000000000 0 0\n\n", "line 1: the header says 1,000,000,000 nodes; at most 200,000"),
        ("3 0 1000000000\n\n", "line 1: the header says 1,000,000,000 links; at most 1,000,000"),
        ("3 4 0\n\n", "line 1: 4 switches cannot be among 3 nodes"),
        (
            "3 1 1\n2\n0 2 100Gbps 1ms 0\n1 2 100Gbps 1ms 0\n",
            "line 1: the header says 1 link, and the file has 2",
        ),
        ("3 2 0\n2 2\n", "line 2: node 2 is named twice among the switches"),
        ("3 1 1\n2\n0 2 1e99Gbps 1ms 0\n", "line 3: .* is no rate"),
        ("nodes 3\n", "line 1: the first line must have 3 cells"),
    ],
)
def test_broken_files_name_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "ns3-hpcc")


def test_the_real_star() -> None:
    """9 nodes, switch 8 first on each line; 8 links of 400 Gb/s."""
    found = drawing(real("ns3_hpcc_topology/8_nodes_1_switch_topology.txt"))
    assert kinds(found) == {"nic": 8, "leaf": 1}
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 8}
    assert neighbours(found, "switch8") == {f"host{number}.nic0" for number in range(8)}


def test_the_real_fabric() -> None:
    """144 nodes = 128 hosts and 16 switches (ids 128 to 143), 192 links of 200 Gb/s."""
    source = real("ns3_hpcc_topology/128_nodes_16_switch_topology.txt")
    found = drawing(source)
    switches = {one.id for one in found.devices if one.kind.value != "nic"}
    assert switches == {f"switch{number}" for number in range(128, 144)}
    assert boxes(found) == {"tray": 128}
    assert speeds(found, LinkKind.ETHERNET) == {200.0: 192}
    check_traffic(drawing(source, hosts="gpu"))
