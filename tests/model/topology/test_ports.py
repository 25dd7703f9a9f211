"""Port budgets and connection rules. Counts are those of the products: H100 18 NVLinks, QM9700 64 × 400G,
ConnectX-7 one 400G port, SN5600 64 × 800G that split in two (128 × 400G)."""

from __future__ import annotations

import pytest

from model.topology.graph import Parts, Topology
from model.topology.ports import Allowed, Refusal, check_connect, new_link, port_findings, port_use, ports_of
from model.topology.types import Device, DeviceKind, Link, LinkKind

K = DeviceKind


@pytest.fixture
def topology() -> Topology:
    kinds = {
        "gpu0": (K.GPU, "h100-sxm"),
        "gpu1": (K.GPU, "h100-sxm"),
        "amd0": (K.GPU, "mi300x"),
        "amd1": (K.GPU, "mi300x"),
        "black0": (K.GPU, "gb200"),
        "nvsw0": (K.NVLINK_SWITCH, "nvswitch3"),
        "nic0": (K.NIC, "cx7-ndr"),
        "nic1": (K.NIC, "cx7-ndr"),
        "hdr0": (K.NIC, "cx6-hdr"),
        "leaf5": (K.LEAF, "qm9700"),
        "spine2": (K.SPINE, "qm9700"),
        "eth0": (K.LEAF, "sn5600"),
        "cpu0": (K.CPU, "cpu"),
        "cpu1": (K.CPU, "cpu"),
        "grace0": (K.CPU, "grace"),
        "sw0": (K.PCIE_SWITCH, "pcie-switch"),
        "store": (K.STORAGE, "storage"),
        "site0": (K.SITE_GATEWAY, "site-gateway"),
        "site1": (K.SITE_GATEWAY, "site-gateway"),
        "odd": (K.NIC, "home-made"),
    }
    return Topology([Device(ident, kind, model) for ident, (kind, model) in kinds.items()])


@pytest.mark.parametrize(
    ("a", "b", "kind", "lane", "most"),
    [
        ("gpu0", "nvsw0", LinkKind.NVLINK, 25e9, 18),
        ("gpu0", "gpu1", LinkKind.NVLINK, 25e9, 18),
        ("amd0", "amd1", LinkKind.XGMI, 64e9, 7),
        ("gpu0", "nic0", LinkKind.PCIE, 63e9, 1),
        ("nic0", "leaf5", LinkKind.INFINIBAND, 50e9, 1),
        ("nic0", "eth0", LinkKind.ETHERNET, 50e9, 1),
        ("nic0", "nic1", LinkKind.INFINIBAND, 50e9, 1),
        ("hdr0", "leaf5", LinkKind.INFINIBAND, 25e9, 1),
        ("leaf5", "spine2", LinkKind.INFINIBAND, 50e9, 64),
        ("cpu0", "cpu1", LinkKind.C2C, 40e9, 4),
        ("cpu0", "gpu0", LinkKind.PCIE, 63e9, 1),
        ("grace0", "black0", LinkKind.C2C, 450e9, 1),
        ("sw0", "gpu0", LinkKind.PCIE, 63e9, 1),
        ("store", "leaf5", LinkKind.INFINIBAND, 50e9, 8),
        ("site0", "site1", LinkKind.WAN, 50e9, 64),
    ],
)
def test_usual_kind_speed_and_room(
    topology: Topology, a: str, b: str, kind: LinkKind, lane: float, most: int
) -> None:
    assert check_connect(topology, a, b) == Allowed(kind, lane, most)
    assert check_connect(topology, b, a) == Allowed(kind, lane, most)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ("gpu0", "leaf5", "a GPU and a leaf do not connect: put a NIC between gpu0 and leaf5"),
        ("gpu0", "amd0", "gpu0 has NVLink 4 and amd0 Infinity Fabric (xGMI)"),
        ("black0", "nvsw0", "black0 has NVLink 5 and nvsw0 NVLink 4"),
        ("amd0", "nvsw0", "amd0 has no NVLink"),
        ("leaf5", "eth0", "leaf5 speaks InfiniBand and eth0 Ethernet"),
        ("store", "sw0", "a storage node and a PCIe switch do not connect: put a NIC between store and sw0"),
        ("gpu0", "gpu0", "gpu0 cannot be connected to itself"),
        ("odd", "leaf5", 'odd is of the model "home-made", which the catalogue does not have'),
        (
            "nvsw0",
            "leaf5",
            "an NVLink switch and a leaf do not connect: "
            "an NVLink switch joins GPUs and other NVLink switches",
        ),
    ],
)
def test_reasons(topology: Topology, a: str, b: str, reason: str) -> None:
    assert check_connect(topology, a, b) == Refusal(reason)


def test_full_leaf_is_refused_in_the_words_of_the_look(topology: Topology) -> None:
    topology.add(Parts(links=(Link("up", "leaf5", "spine2", LinkKind.INFINIBAND, 50e9, count=64),)))
    assert check_connect(topology, "nic0", "leaf5") == Refusal("leaf5 has no free 400G port (64 of 64 used)")


def test_count_beyond_the_budget_says_how_many_fit(topology: Topology) -> None:
    topology.add(Parts(links=(Link("nv", "gpu0", "nvsw0", LinkKind.NVLINK, 25e9, count=10),)))
    answer = check_connect(topology, "gpu0", "nvsw0", count=9)
    assert answer == Refusal("gpu0 has room for only 8 more on its NVLinks (10 of 18 used), not 9")
    assert check_connect(topology, "gpu0", "nvsw0", count=8) == Allowed(LinkKind.NVLINK, 25e9, 8)


def test_wrong_kind_is_named(topology: Topology) -> None:
    answer = check_connect(topology, "nic0", "leaf5", kind=LinkKind.NVLINK)
    assert answer == Refusal("NVLink does not join nic0 and leaf5; InfiniBand does")


def test_an_800g_port_splits_into_two_of_400g(topology: Topology) -> None:
    topology.add(Parts(links=(Link("l", "nic0", "eth0", LinkKind.ETHERNET, 50e9),)))
    assert port_use(topology, "eth0")["network"] == 0.5
    assert port_use(topology, "nic0") == {"network": 1.0, "pcie": 0.0}
    assert ports_of(topology.device("eth0"))[0].count == 64


def test_new_links_get_free_ids(topology: Topology) -> None:
    answer = check_connect(topology, "leaf5", "spine2")
    assert isinstance(answer, Allowed)
    for expected in ("leaf5--spine2", "leaf5--spine2-2", "leaf5--spine2-3"):
        link = new_link(topology, "leaf5", "spine2", answer)
        assert link.id == expected
        topology.add(Parts(links=(link,)))


def test_findings_keep_what_gestures_would_refuse(topology: Topology) -> None:
    assert port_findings(topology) == ()
    topology.add(
        Parts(
            links=(
                Link("many", "nic0", "leaf5", LinkKind.INFINIBAND, 50e9, count=3),
                Link("strange", "gpu0", "leaf5", LinkKind.NVLINK, 25e9),
                Link("fast", "hdr0", "leaf5", LinkKind.INFINIBAND, 50e9),
            )
        )
    )
    found = {finding.title: finding for finding in port_findings(topology)}
    assert set(found) == {
        "nic0 has too few 400G ports",
        "NVLink does not join gpu0 and leaf5",
        "fast is faster than hdr0",
    }
    assert found["nic0 has too few 400G ports"].detail == (
        "3 400G ports are taken at nic0, and a cx7-ndr has 1."
    )
    assert found["nic0 has too few 400G ports"].links == ("many",)
