"""Templates: counts against NVIDIA's SuperPOD tables, port budgets, wiring, bad parameters."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest

from model.catalog import catalog
from model.errors import InputError
from model.topology.ports import port_use
from model.topology.types import NETWORK_SWITCHES, ContainerKind, DeviceKind, LinkKind
from tests.templates.drawn import by_kind, cables, check_counts, topology_of
from topology_templates.registry import TEMPLATES, build, counts, template

# DGX SuperPOD reference architecture H100, table 4: nodes, leaves, spines, cables leaf–spine. The table's
# cables from nodes to leaves are 8 · nodes + 4 (four to the fabric manager, which is not drawn).
H100_ROWS = [(31, 8, 4, 256), (63, 16, 8, 512), (95, 24, 16, 768), (127, 32, 16, 1024)]
# DGX SuperPOD reference architecture B200, table 3 (the same eight NICs a node and the same switch): nodes,
# leaves, spines, cores, cables leaf–spine, cables spine–core.
B200_ROWS = [
    (64, 16, 8, 0, 512, 0),
    (128, 32, 16, 0, 1024, 0),
    (256, 64, 32, 0, 2048, 0),
    (512, 128, 128, 64, 4096, 4096),
    (1024, 256, 256, 128, 8192, 8192),
    (2048, 512, 512, 256, 16384, 16384),
]


@pytest.mark.parametrize(("nodes", "leaves", "spines", "leaf_spine"), H100_ROWS)
def test_h100_superpod_rows(nodes: int, leaves: int, spines: int, leaf_spine: int) -> None:
    content = build("hgx-h100", {"nodes": nodes})
    found = by_kind(content)
    assert (found["gpu"], found["leaf"], found["spine"], found["core"]) == (8 * nodes, leaves, spines, 0)
    assert cables(content, DeviceKind.NIC, DeviceKind.LEAF) == 8 * nodes
    assert cables(content, DeviceKind.LEAF, DeviceKind.SPINE) == leaf_spine


@pytest.mark.parametrize(("nodes", "leaves", "spines", "cores", "leaf_spine", "spine_core"), B200_ROWS)
def test_rows_of_two_and_three_tiers(
    nodes: int, leaves: int, spines: int, cores: int, leaf_spine: int, spine_core: int
) -> None:
    found = counts("hgx-h100", {"nodes": nodes})
    assert (found["leaf"], found["spine"], found["core"]) == (leaves, spines, cores)
    assert found["host_leaf"] == 8 * nodes
    assert (found["leaf_spine"], found["spine_core"]) == (leaf_spine, spine_core)


CASES = [
    ("hgx-h100", {"nodes": 1}),
    ("hgx-h100", {}),
    ("hgx-h100", {"nodes": 33, "host": "plain", "storage": 5}),
    ("hgx-h100", {"nodes": 40, "leaf_uplinks": 8}),
    ("hgx-h100", {"nodes": 20, "fabric": "tor"}),
    ("hgx-h100", {"nodes": 300, "host": "plain"}),
    ("hgx-h100", {"nodes": 270, "fabric": "tor", "host": "plain", "storage": 3}),
    ("hgx-h100", {"nodes": 64, "leaf_downlinks": 4, "leaf_uplinks": 4, "host": "plain", "storage": 1}),
    ("gb200-nvl72", {}),
    ("gb200-nvl72", {"racks": 3, "host": "plain", "fabric": "tor", "storage": 2}),
    ("gb200-nvl72", {"racks": 8, "leaf_downlinks": 8, "leaf_uplinks": 4}),
]


@pytest.mark.parametrize(("name", "values"), CASES)
def test_port_budgets_hold_and_counts_tell_the_truth(name: str, values: dict[str, object]) -> None:
    content = build(name, values)
    check_counts(content, name, values)
    topology, found = topology_of(content), by_kind(content)
    assert nx.is_connected(nx.Graph(topology.graph))
    network = topology.graph.subgraph(
        device.id for device in topology.devices() if device.kind in NETWORK_SWITCHES | {DeviceKind.STORAGE}
    )
    for piece in nx.connected_components(nx.Graph(network)):
        rails = {
            topology.device(ident).rail for ident in piece if topology.device(ident).kind is DeviceKind.LEAF
        }
        if found["storage"] or found["core"] == 0 or values.get("fabric") == "tor":
            assert len(piece) == len(network)
        else:  # the two halves of the pods, each with half of the rails
            assert len(rails) == (4 if name == "hgx-h100" else 2)


def test_h100_host_is_wired_5_4_4_5() -> None:
    """NVIDIA, Hot Chips 34: 5, 4, 4, 5 NVLinks to the four switches, 18 a GPU, 144 a host."""
    content = build("hgx-h100", {"nodes": 1})
    topology = topology_of(content)
    for gpu in range(8):
        bundles = [link for link in topology.links_of(f"node00.gpu{gpu}") if link.kind is LinkKind.NVLINK]
        assert [(link.b, link.count) for link in bundles] == [
            (f"node00.nvs{chip}", lanes) for chip, lanes in enumerate((5, 4, 4, 5))
        ]
        assert all(link.lane_bytes_per_s == 25e9 for link in bundles)
    used = [port_use(topology, f"node00.nvs{chip}")["nvlink"] for chip in range(4)]
    assert used == [40, 32, 32, 40]


def test_h100_host_full_and_plain() -> None:
    """2 GPUs and 2 NICs on each of 4 PCIe switches, 2 switches on each CPU; plain joins GPU and NIC."""
    full = topology_of(build("hgx-h100", {"nodes": 1}))
    switch = {}
    for rail in range(8):
        for part in ("gpu", "nic"):
            links = full.links_of(f"node00.{part}{rail}")
            switch[part, rail] = [link.b for link in links if link.kind is LinkKind.PCIE]
            assert full.device(f"node00.{part}{rail}").rail == rail
        assert switch["gpu", rail] == switch["nic", rail] == [f"node00.pcie{rail // 2}"]
    for number in range(4):
        up = [link.b for link in full.links_of(f"node00.pcie{number}") if link.a == f"node00.pcie{number}"]
        assert up == [f"node00.cpu{number // 2}"]
    plain = topology_of(build("hgx-h100", {"nodes": 1, "host": "plain"}))
    for rail in range(8):
        pcie = [link for link in plain.links_of(f"node00.gpu{rail}") if link.kind is LinkKind.PCIE]
        assert [(link.b, link.lane_bytes_per_s) for link in pcie] == [(f"node00.nic{rail}", 63e9)]
    assert not [device for device in plain.devices() if device.kind is DeviceKind.CPU]


def test_rail_leaves() -> None:
    """Rail i of host n is on leaf 8 · (n ÷ 32) + i; every leaf reaches every spine by equally many cables."""
    topology = topology_of(build("hgx-h100", {"nodes": 40}))
    for node, rail in ((0, 0), (31, 7), (32, 0), (39, 5)):
        up = [
            link.b for link in topology.links_of(f"node{node:02d}.nic{rail}") if link.a.endswith(f"nic{rail}")
        ]
        assert up[-1] == f"leaf{8 * (node // 32) + rail}"
        assert topology.device(up[-1]).rail == rail
    for leaf in range(16):
        up = [link for link in topology.links_of(f"leaf{leaf}") if link.b.startswith("spine")]
        assert [(link.b, link.count) for link in up] == [(f"spine{spine}", 4) for spine in range(8)]
        assert {link.lane_bytes_per_s for link in up} == {50e9}
        assert {link.kind for link in up} == {LinkKind.INFINIBAND}


def test_top_of_rack() -> None:
    topology = topology_of(build("hgx-h100", {"nodes": 6, "fabric": "tor"}))
    leaves = {
        node: {link.b for rail in range(8) for link in topology.links_of(f"node{node:02d}.nic{rail}")}
        for node in range(6)
    }
    assert all("leaf0" in leaves[node] for node in range(4))
    assert all("leaf1" in leaves[node] for node in (4, 5))


def test_three_tiers_keep_rails_in_halves() -> None:
    """Leaves of rails 0–3 go to the first 32 spines of their pod, 4–7 to the others, a cable each; spine j of
    every pod to core group j. The second pod is part filled: 44 nodes on 16 leaves, and all 64 spines."""
    content = build("hgx-h100", {"nodes": 300, "host": "plain"})
    topology = topology_of(content)
    found = by_kind(content)
    assert (found["leaf"], found["spine"], found["core"]) == (64 + 16, 128, 64)
    for leaf, first in ((0, 0), (7, 32), (64, 64), (69, 96)):
        up = [link for link in topology.links_of(f"leaf{leaf}") if link.b.startswith("spine")]
        assert [link.b for link in up] == [f"spine{spine}" for spine in range(first, first + 32)]
        assert {link.count for link in up} == {1}
    for spine in (5, 64 + 5):
        up = [link for link in topology.links_of(f"spine{spine}") if link.b.startswith("core")]
        assert [(link.b, link.count) for link in up] == [("core5", 32)]
    pods = [one.id for one in topology.containers() if one.kind is ContainerKind.POD]
    assert pods == ["pod00", "pod01"]
    assert topology.device("leaf64").parent == topology.device("spine64").parent == "pod01"
    assert topology.container("rack64").parent == "pod01"


def test_oversubscribed_leaves() -> None:
    """32 down and 8 up is 4 : 1; two leaf sets of 8 need ⌈16 · 8 ÷ 64⌉ = 2 spines, which divides 8."""
    found = counts("hgx-h100", {"nodes": 40, "leaf_uplinks": 8})
    assert (found["leaf"], found["spine"], found["leaf_spine"]) == (16, 2, 128)


def test_gb200_rack() -> None:
    """NVIDIA: 72 GPUs × 18 NVLinks = 1,296, one from a GPU to each of 18 chips; 4 NICs of 400G a tray."""
    content = build("gb200-nvl72", {"racks": 1})
    topology = topology_of(content)
    found = by_kind(content)
    assert (found["gpu"], found["nic"], found["cpu"], found["nvlink-switch"]) == (72, 72, 36, 18)
    nvlinks = [link for link in content.links if link.kind is LinkKind.NVLINK]
    assert len(nvlinks) == 1296
    assert Counter(link.count for link in nvlinks) == {1: 1296}
    assert len({(link.a, link.b) for link in nvlinks}) == 1296
    chips = [device.id for device in content.devices if device.kind is DeviceKind.NVLINK_SWITCH]
    assert {port_use(topology, chip)["nvlink"] for chip in chips} == {72}
    assert all(link.lane_bytes_per_s == 50e9 for link in nvlinks)
    trays = [one for one in content.containers if one.id.startswith("rack01.tray")]
    switch_trays = [one for one in content.containers if one.id.startswith("rack01.nvsw")]
    assert (len(trays), len(switch_trays)) == (18, 9)
    c2c = [link for link in topology.links_of("rack01.tray07.gpu3") if link.kind is LinkKind.C2C]
    assert [(link.b, link.lane_bytes_per_s) for link in c2c] == [("rack01.tray07.cpu1", 450e9)]
    assert catalog().nics[topology.device("rack01.tray18.nic3").model].port_gbit_per_s == 400
    for rail in range(4):
        up = [link.b for link in topology.links_of(f"rack01.tray18.nic{rail}")]
        assert f"leaf{rail}" in up


def test_gpus_are_listed_host_by_host() -> None:
    content = build("gb200-nvl72", {"racks": 2})
    gpus = [device.id for device in content.devices if device.kind is DeviceKind.GPU]
    assert gpus == [
        f"rack{rack:02d}.tray{tray:02d}.gpu{gpu}"
        for rack in (1, 2)
        for tray in range(1, 19)
        for gpu in range(4)
    ]


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("hgx-h100", {"nodes": 0}, r"nodes = 0 does not work: it is a whole number from 1 to 2048"),
        ("hgx-h100", {"nodes": "2049"}, r"nodes = 2049 .* from 1 to 2048"),
        ("hgx-h100", {"nodes": "many"}, r"nodes = many .* whole number"),
        ("hgx-h100", {"nodes": True}, r"nodes = true does not work: it is a whole number from 1 to 2048"),
        ("hgx-h100", {"nodes": "4_0"}, r"nodes = 4_0 does not work: it is a whole number"),
        ("gb200-nvl72", {"racks": 29}, r"racks = 29 .* from 1 to 28"),
        ("hgx-h100", {"fabric": "ring"}, r"fabric = ring does not work: it is one of rail, tor"),
        ("hgx-h100", {"racks": 2}, r"no parameter called 'racks'; it has .*nodes"),
        ("hgx-h100", {"leaf_downlinks": 40}, r"leaf_uplinks = 32 does not fit: .* at most 24 uplinks"),
        (
            "hgx-h100",
            {"fabric": "tor", "leaf_downlinks": 4},
            r"leaf_downlinks = 4 is too few .* the least is 8",
        ),
        ("hgx-h100", {"nodes": 2048, "leaf_downlinks": 2}, r"leaf_downlinks = 2 needs 128 pods.* works is 4"),
        ("hgx-a100", {"leaf_downlinks": 32}, r"leaf_uplinks = 20 does not fit: .* at most 8 uplinks"),
        (
            "hgx-h100",
            {"storage_fabric": "own", "storage": 2, "host": "plain"},
            r"host = plain .* host = full does",
        ),
        (
            "superpod-b300",
            {"units": 17, "network": "ethernet"},
            r"units = 17 .* 16 units, the nearest that works",
        ),
        ("superpod-b300", {"units": 19}, r"units = 19 .* from 1 to 18"),
        (
            "leaf-spine",
            {"nodes_per_rack": 6, "oversubscription": 1.0},
            r"oversubscription = 1 does not work: .* 48 downlinks .* 16 ports left .* works is 3\.",
        ),
        ("leaf-spine", {"oversubscription": 0.5}, r"oversubscription = 0.5 .* a number from 1 to 56"),
        ("fat-tree", {"radix": 9}, r"radix = 9 .* the nearest is 8"),
        ("fat-tree", {"radix": 12}, r"gpus_per_host = 4 .* 6 downlinks of a leaf; the nearest is 2"),
        ("fat-tree", {"gpus_per_host": 3}, r"gpus_per_host = 3 .* the nearest is 2"),
        (
            "fat-tree",
            {"radix": 64, "tiers": "three"},
            r"radix = 64 .* 65,536 GPUs.* nearest radix for that is 40",
        ),
        ("two-sites", {"nodes": 192, "storage": 256}, r"storage = 256 .* nearest that works is 224"),
        ("pcie-workstation", {"gpus": 1}, r"bridges = pairs .* bridges = none does"),
        ("rail-only", {"host": "plain", "storage": 1}, r"host = plain .* host = full does"),
        ("alibaba-hpn", {"cores": "perhaps"}, r"cores = perhaps .* boolean"),
        ("hgx-h100", {"storage": -1}, r"storage = -1 .* from 0 to 256"),
        ("dgx", {}, r"no template called 'dgx'; there are hgx-h100, "),
    ],
)
def test_bad_parameters_are_one_clear_sentence(name: str, values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        build(name, values)
    assert "\n" not in str(caught.value)


def test_the_nearest_value_named_does_work() -> None:
    assert counts("hgx-h100", {"leaf_downlinks": 40, "leaf_uplinks": 24})["leaf"] == 8
    assert counts("hgx-h100", {"fabric": "tor", "leaf_downlinks": 8})["leaf"] == 4
    assert counts("hgx-h100", {"nodes": 2048, "leaf_downlinks": 4})["core"] > 0
    assert counts("hgx-a100", {"leaf_downlinks": 32, "leaf_uplinks": 8})["leaf"] == 8
    assert counts("leaf-spine", {"nodes_per_rack": 6, "oversubscription": 3})["leaf"] == 2
    assert counts("fat-tree", {"radix": 40, "tiers": "three"})["gpu"] == 16_000
    assert counts("fat-tree", {"radix": 12, "gpus_per_host": 2})["gpu"] == 72
    assert counts("two-sites", {"nodes": 192, "storage": 224})["storage"] == 2 * 224


def test_the_gallery_can_say_what_each_template_takes() -> None:
    assert next(iter(TEMPLATES)) == "hgx-h100"
    for one in TEMPLATES.values():
        assert one.name and one.group
        assert len(one.summary) <= 70 and not one.summary.endswith(".")
        for field in one.parameters.model_fields.values():
            assert field.title and field.description
    assert template("hgx-h100").parameters().model_dump()["leaf_downlinks"] == 32
