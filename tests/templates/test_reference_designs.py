"""Templates against published designs: SuperPODs, fat trees, Meta, DeepSeek, Alibaba, wiring of hosts."""

from __future__ import annotations

from collections import Counter

import pytest

from model.topology.ports import port_use
from model.topology.types import DeviceKind, LinkKind
from tests.templates.drawn import by_kind, cables, topology_of
from topology_templates.fabric import FabricPlan
from topology_templates.registry import build, counts

# DGX SuperPOD reference architectures: units, GPUs, leaves, spines, cores, cables leaf–spine, spine–core.
# H100: table 4 (its node–leaf column holds four more, to the fabric manager). B200: table 3. B300 on
# Spectrum-X: 8 and 16 units are two planes, whose 2 × 400G the table counts as one cable. B300 on XDR: the
# 18-unit row prints 9,216 GPUs for its 1,296 nodes, a misprint. GB300: second hand.
SUPERPODS = [
    ("superpod-h100", {"units": 1}, 248, 8, 4, 0, 256, 0),
    ("superpod-h100", {"units": 2}, 504, 16, 8, 0, 512, 0),
    ("superpod-h100", {"units": 3}, 760, 24, 16, 0, 768, 0),
    ("superpod-h100", {"units": 4}, 1016, 32, 16, 0, 1024, 0),
    ("superpod-b200", {"units": 2}, 512, 16, 8, 0, 512, 0),
    ("superpod-b200", {"units": 4}, 1024, 32, 16, 0, 1024, 0),
    ("superpod-b200", {"units": 8}, 2048, 64, 32, 0, 2048, 0),
    ("superpod-b200", {"units": 16}, 4096, 128, 128, 64, 4096, 4096),
    ("superpod-b200", {"units": 32}, 8192, 256, 256, 128, 8192, 8192),
    ("superpod-b200", {"units": 64}, 16384, 512, 512, 256, 16384, 16384),
    ("superpod-b300", {"units": 1, "network": "ethernet"}, 512, 16, 8, 0, 512, 0),
    ("superpod-b300", {"units": 2, "network": "ethernet"}, 1024, 32, 16, 0, 1024, 0),
    ("superpod-b300", {"units": 4, "network": "ethernet"}, 2048, 64, 32, 0, 2048, 0),
    ("superpod-b300", {"units": 8, "network": "ethernet"}, 4096, 128, 64, 0, 2 * 4096, 0),
    ("superpod-b300", {"units": 16, "network": "ethernet"}, 8192, 256, 128, 0, 2 * 8192, 0),
    ("superpod-b300", {"units": 1}, 576, 8, 4, 0, 576, 0),
    ("superpod-b300", {"units": 2}, 1152, 16, 8, 0, 1152, 0),
    ("superpod-b300", {"units": 4}, 2304, 32, 18, 0, 2304, 0),
    ("superpod-b300", {"units": 8}, 4608, 64, 36, 0, 4608, 0),
    ("superpod-b300", {"units": 18}, 10368, 144, 72, 0, 10368, 0),
    ("superpod-gb300", {"units": 16}, 9216, 128, 72, 0, 9216, 0),
]


@pytest.mark.parametrize(("name", "values", "gpus", "leaves", "spines", "cores", "up", "top"), SUPERPODS)
def test_superpods(
    name: str, values: dict[str, object], gpus: int, leaves: int, spines: int, cores: int, up: int, top: int
) -> None:
    found = counts(name, values)
    assert (found["gpu"], found["leaf"], found["spine"], found["core"]) == (gpus, leaves, spines, cores)
    assert (found["leaf_spine"], found["spine_core"]) == (up, top)
    planes = 2 if up == 2 * gpus else 1
    assert found["host_leaf"] == planes * gpus


def test_gb200_superpod_has_whole_units() -> None:
    """NVIDIA: a unit is 8 racks = 576 GPUs, up to 128 racks = 9,216 GPUs. Leaves by the rule of the others:
    144 trays on leaves of 32 are 5 sets of 4 rails; a pod holds 3 units, whose 60 leaves fit under 64."""
    one, most = counts("superpod-gb200", {"units": 1}), counts("superpod-gb200", {"units": 16})
    assert (one["gpu"], one["host_leaf"], one["leaf"]) == (576, 576, 20)
    assert (most["gpu"], most["host_leaf"], most["leaf"]) == (9216, 9216, 320)
    topology = topology_of(build("superpod-gb200", {"units": 4, "host": "plain"}))
    assert topology.device("leaf59").parent == "pod00" and topology.device("leaf60").parent == "pod01"
    assert topology.container("rack24").parent == "pod00" and topology.container("rack25").parent == "pod01"
    assert "leaf60" in [link.b for link in topology.links_of("rack25.tray01.nic0")]


def test_two_planes_of_b300() -> None:
    """Both ports of a NIC carry 400G, each into its own plane."""
    content = build("superpod-b300", {"units": 5, "network": "ethernet", "host": "plain"})
    topology = topology_of(content)
    up = [link for link in topology.links_of("node000.nic3") if link.kind is LinkKind.ETHERNET]
    assert [(link.b, link.lane_bytes_per_s) for link in up] == [("p0-leaf3", 50e9), ("p1-leaf3", 50e9)]
    for link in content.links:
        if link.kind is LinkKind.ETHERNET and link.b.partition("-")[2].startswith("spine"):
            assert link.a.partition("-")[0] == link.b.partition("-")[0]
    assert port_use(topology, "p0-leaf0")["network"] == 64


@pytest.mark.parametrize("radix", [4, 8, 16, 24, 40, 64])
def test_fat_tree_of_two_tiers(radix: int) -> None:
    """k²/2 ends, 3k/2 switches, k²/2 cables between them (64: 2,048, 96, 2,048; 40: 800, 60, 800)."""
    found = counts("fat-tree", {"radix": radix, "gpus_per_host": 2})
    assert found["gpu"] == found["host_leaf"] == radix**2 // 2
    assert (found["leaf"], found["spine"], found["core"]) == (radix, radix // 2, 0)
    assert found["leaf_spine"] == radix**2 // 2


@pytest.mark.parametrize("radix", [4, 8, 16, 24, 40])
def test_fat_tree_of_three_tiers(radix: int) -> None:
    """k³/4 ends, 5k²/4 switches, k³/2 cables between them."""
    found = counts("fat-tree", {"radix": radix, "tiers": "three", "gpus_per_host": 2})
    assert found["gpu"] == radix**3 // 4
    assert found["leaf"] + found["spine"] + found["core"] == 5 * radix**2 // 4
    assert found["leaf_spine"] + found["spine_core"] == radix**3 // 2


def test_fat_tree_of_three_tiers_of_64() -> None:
    """65,536 ends, 5,120 switches, 131,072 cables: more than is drawn, so reckoned only."""
    plan = FabricPlan(8192, 8, "tor", 32, 32, 0, "qm9700", "cx7-ndr")
    assert plan.leaves + plan.spines + plan.cores == 5120
    assert plan.leaves * plan.uplinks + plan.spines * 32 == 131_072
    assert plan.hosts * 8 == 65_536


@pytest.mark.parametrize(("gpus", "lanes"), [(2, 18), (4, 6)])
def test_small_hosts_are_joined_directly(gpus: int, lanes: int) -> None:
    """18 NVLinks of an H100 among its neighbours: 18 to one, 6 to each of three (HGX H100 4-GPU)."""
    content = build("fat-tree", {"gpus_per_host": gpus})
    nvlinks = [link for link in content.links if link.kind is LinkKind.NVLINK]
    assert {link.count for link in nvlinks} == {lanes}
    used = port_use(topology_of(content), "node00.gpu0")["nvlink"]
    assert used == 18


def test_llama3_fabric() -> None:
    """Meta: 8 pods × 192 racks × 2 hosts × 8 = 24,576 H100 on 1,536 leaves; in a pod leaves have twice as
    many cables up as down; above it 7 : 1 (3,072 ÷ 448 = 6.86 with whole cables)."""
    found = counts("llama3-24k", {"pods": 8, "racks_per_pod": 192})
    assert (found["gpu"], found["leaf"], found["host_leaf"]) == (24_576, 1536, 24_576)
    assert found["leaf_spine"] == 2 * found["host_leaf"]
    assert found["host_leaf"] / found["spine_core"] == pytest.approx(7.0, rel=0.03)
    assert found["host_leaf"] / found["spine_core"] <= 7.0


def test_llama3_pods() -> None:
    """A leaf in every rack; leaves reach the spines of their pod only; each pod reaches each core."""
    topology = topology_of(build("llama3-24k", {"pods": 3, "racks_per_pod": 2}))
    assert topology.device("leaf3").parent == "rack03"
    assert topology.container("rack03").parent == "pod01"
    ends = {link.b for link in topology.links_of("leaf3") if link.a == "leaf3"}
    assert ends == {"pod01.spine0", "pod01.spine1"}
    cores = [device.id for device in topology.devices() if device.kind is DeviceKind.CORE]
    for core in cores:
        assert {link.a.partition(".")[0] for link in topology.links_of(core)} == {"pod00", "pod01", "pod02"}
    nodes = [one.id for one in topology.containers() if one.id.startswith("node")]
    assert nodes == [f"node{number:02d}" for number in range(12)]


def test_deepseek_planes() -> None:
    """DeepSeek-V3 (ISCA '25): NIC i only in plane i; eight planes end at 16,384 GPUs on 768 switches."""
    most = counts("deepseek-v3", {"nodes": 2048})
    assert (most["gpu"], most["leaf"] + most["spine"], most["leaf_spine"]) == (16_384, 768, 16_384)
    content = build("deepseek-v3", {"nodes": 40, "host": "plain"})
    for link in content.links:
        if link.kind is LinkKind.INFINIBAND:
            plane = link.b[:2]
            assert link.a.startswith(plane) or link.a.endswith(f"nic{plane[1:]}")


def test_alibaba_hpn() -> None:
    """HPN 7: 15 segments of 16 leaves = 240, 120 aggregation switches, 14,400 cables between; a leaf has
    128 × 200G down and 60 × 400G up, an aggregation switch 120 down and 8 up, on switches of 64 × 800G."""
    values = {"segments": 15, "nodes_per_segment": 128, "cores": True}
    found = counts("alibaba-hpn", values)
    assert (found["gpu"], found["leaf"], found["spine"]) == (15_360, 240, 120)
    assert (found["leaf_spine"], found["spine_core"]) == (14_400, 120 * 8)
    assert found["host_leaf"] / found["leaf"] == 128
    topology = topology_of(build("alibaba-hpn", {"segments": 2, "nodes_per_segment": 128, "host": "plain"}))
    assert port_use(topology, "leaf0")["network"] == 128 / 4 + 60 / 2
    up = [link for link in topology.links_of("node000.nic5") if link.kind is LinkKind.ETHERNET]
    assert [(link.b, link.lane_bytes_per_s) for link in up] == [("leaf5", 25e9), ("leaf13", 25e9)]
    assert {topology.device(leaf).rail for leaf in ("leaf5", "leaf13")} == {5}
    first = {link.b for link in topology.links_of("leaf5") if link.a == "leaf5"}
    second = {link.b for link in topology.links_of("leaf13") if link.a == "leaf13"}
    assert first.isdisjoint(second) and len(first) == len(second) == 10


# Of one host: GPUs, NVLink switches, NVLinks of a GPU to each, GB/s of one, Gb/s of a NIC.
HOSTS = [
    ("hgx-a100", (2, 2, 2, 2, 2, 2), 25, 200),
    ("hgx-h100", (5, 4, 4, 5), 25, 400),
    ("hgx-h200", (5, 4, 4, 5), 25, 400),
    ("hgx-h800", (2, 2, 2, 2), 25, 400),
    ("hgx-b200", (9, 9), 50, 400),
    ("hgx-b300", (9, 9), 50, 800),
]


@pytest.mark.parametrize(("name", "split", "lane", "nic"), HOSTS)
def test_hgx_hosts(name: str, split: tuple[int, ...], lane: float, nic: float) -> None:
    content = build(name, {"nodes": 1})
    topology = topology_of(content)
    assert by_kind(content)["gpu"] == 8 and by_kind(content)["nvlink-switch"] == len(split)
    for gpu in range(8):
        bundles = [link for link in topology.links_of(f"node00.gpu{gpu}") if link.kind is LinkKind.NVLINK]
        assert tuple(link.count for link in bundles) == split
        assert {link.lane_bytes_per_s for link in bundles} == {lane * 1e9}
    network = [
        link for link in content.links if link.a.startswith("node00.nic") and link.b.startswith("leaf")
    ]
    assert {link.lane_bytes_per_s for link in network} == {nic * 1e9 / 8}


def test_connectx8_is_the_pcie_switch() -> None:
    """B300 and GB300: PCIe Gen6 from the GPU straight to its NIC (121 GB/s), Gen5 on to the CPU (63 GB/s)."""
    for name, host in (("hgx-b300", "node00"), ("gb300-nvl72", "rack01.tray01")):
        topology = topology_of(build(name, {}))
        links = [link for link in topology.links_of(f"{host}.nic0") if link.kind is LinkKind.PCIE]
        assert {link.other(f"{host}.nic0"): link.lane_bytes_per_s for link in links} == {
            f"{host}.gpu0": 121e9,
            f"{host}.cpu0": 63e9,
        }
        assert not [device for device in topology.devices() if device.kind is DeviceKind.PCIE_SWITCH]


@pytest.mark.parametrize(("name", "lane"), [("mi300x", 64e9), ("mi325x", 64e9), ("mi355x", 76.5e9)])
def test_mi_hosts_are_a_full_mesh(name: str, lane: float) -> None:
    """28 pairs of 8, one xGMI link each."""
    content = build(name, {"nodes": 1})
    mesh = [link for link in content.links if link.kind is LinkKind.XGMI]
    assert len({frozenset((link.a, link.b)) for link in mesh}) == len(mesh) == 28
    assert {(link.count, link.lane_bytes_per_s) for link in mesh} == {(1, lane)}


def test_nvl36x2() -> None:
    """2 racks × 9 trays × 4 GPUs; 18 chips a rack, with 36 NVLinks to its GPUs and 36 to the other rack."""
    content = build("gb200-nvl36x2", {})
    topology = topology_of(content)
    assert (by_kind(content)["gpu"], by_kind(content)["nvlink-switch"]) == (72, 36)
    assert cables(content, DeviceKind.GPU, DeviceKind.NVLINK_SWITCH) == 1296
    assert cables(content, DeviceKind.NVLINK_SWITCH, DeviceKind.NVLINK_SWITCH) == 648
    assert Counter(one.parent for one in content.containers if "tray" in one.id) == {"rack01": 9, "rack02": 9}
    for link in content.links:
        if link.a.split(".")[-1].startswith("gpu") and link.kind is LinkKind.NVLINK:
            assert link.a[:6] == link.b[:6]
    assert port_use(topology, "rack01.nvsw1.c0")["nvlink"] == 72


def test_vera_rubin() -> None:
    """72 packages × 36 NVLinks on 36 chips of 72 ports; 8 NICs of 800G a tray, so two for each GPU."""
    content = build("vr-nvl72", {})
    found = by_kind(content)
    assert (found["gpu"], found["nvlink-switch"], found["nic"]) == (72, 36, 144)
    assert cables(content, DeviceKind.GPU, DeviceKind.NVLINK_SWITCH) == 2592
    rails = Counter(device.rail for device in content.devices if device.parent == "rack01.tray01")
    assert rails == {0: 3, 1: 3, 2: 3, 3: 3, None: 2}


def test_workstation_bridges() -> None:
    """A bridge joins two cards by 12 NVLinks (300 GB/s one way); the fifth card has none."""
    content = build("pcie-workstation", {"gpus": 5})
    bridges = [(link.a, link.b, link.count) for link in content.links if link.kind is LinkKind.NVLINK]
    assert bridges == [("node00.gpu0", "node00.gpu1", 12), ("node00.gpu2", "node00.gpu3", 12)]
    assert not [
        link for link in build("pcie-workstation", {"bridges": "none"}).links if link.kind is LinkKind.NVLINK
    ]


def test_rail_only_has_no_spine() -> None:
    found = counts("rail-only", {"nodes": 64})
    assert (found["leaf"], found["spine"], found["host_leaf"]) == (8, 0, 512)


@pytest.mark.parametrize(("asked", "uplinks"), [(1, 32), (1.5, 22), (2, 16), (7, 5), (32, 1), (56, 1)])
def test_oversubscription_is_never_more_than_asked(asked: float, uplinks: int) -> None:
    """4 hosts a rack have 32 cables down; ⌈32 ÷ asked⌉ go up."""
    found = counts("leaf-spine", {"nodes": 16, "oversubscription": asked})
    assert found["leaf"] == 4
    assert found["leaf_spine"] == 4 * uplinks
    assert found["host_leaf"] / found["leaf_spine"] <= asked


def test_two_sites_are_joined_by_long_lines() -> None:
    """40 km at 5 ns a metre are 0.2 ms; 2 pairs of gateways with 4 lines each."""
    content = build("two-sites", {})
    lines = [link for link in content.links if link.kind is LinkKind.WAN]
    assert [(link.a, link.b, link.count) for link in lines] == [
        ("a-gw0", "b-gw0", 4),
        ("a-gw1", "b-gw1", 4),
    ]
    assert [link.length_m for link in lines] == [40_000.0, 40_000.0]
    assert [link.latency_s for link in lines] == pytest.approx([2e-4, 2e-4])
    crossing = [link for link in content.links if link.a[0] != link.b[0] and "-" in link.b]
    assert [link for link in crossing if link.a.startswith(("a-", "b-"))] == lines
    assert counts("two-sites")["wan"] == 8
