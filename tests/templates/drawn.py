"""What tests of templates look at: a drawing and its counts, and parameters of each at its ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from model.topology.footprint import FOOTPRINT
from model.topology.graph import Topology
from model.topology.ports import port_findings
from model.topology.types import DeviceKind, LinkKind
from topology_templates.content import TemplateContent
from topology_templates.registry import counts

Values = dict[str, object]


def _each(names: Iterable[str], values: Values) -> dict[str, Values]:
    return {name: dict(values) for name in names}


SMALLEST: dict[str, Values] = {
    **_each(("hgx-h100", "hgx-h200", "hgx-b200", "hgx-b300", "hgx-h800", "hgx-a100"), {"nodes": 1}),
    **_each(("mi300x", "mi325x", "mi355x", "rail-only", "leaf-spine", "deepseek-v3"), {"nodes": 1}),
    **_each(("gb200-nvl72", "gb300-nvl72", "vr-nvl72"), {"racks": 1}),
    "gb200-nvl36x2": {"pairs": 1},
    **_each(("superpod-h100", "superpod-b200", "superpod-b300", "superpod-gb200", "superpod-gb300"), {}),
    "pcie-workstation": {"gpus": 1, "bridges": "none"},
    "fat-tree": {"radix": 4, "gpus_per_host": 1},
    "two-sites": {"nodes": 1, "gateways": 1, "lines": 1, "distance_km": 0.1},
    "llama3-24k": {"pods": 1, "racks_per_pod": 1},
    "alibaba-hpn": {"segments": 1, "nodes_per_segment": 1},
}

PLAIN: Values = {"host": "plain"}
LARGEST: dict[str, Values] = {
    **_each(
        ("hgx-h100", "hgx-h200", "hgx-b200", "hgx-b300", "hgx-h800", "hgx-a100"), {"nodes": 2048, **PLAIN}
    ),
    **_each(("mi300x", "mi325x", "mi355x", "deepseek-v3"), {"nodes": 2048, **PLAIN}),
    "leaf-spine": {"nodes": 2048, "oversubscription": 8, **PLAIN},
    "rail-only": {"nodes": 64, "storage": 256},
    **_each(("gb200-nvl72", "gb300-nvl72"), {"racks": 28, "storage": 256}),
    "vr-nvl72": {"racks": 28, "storage": 256, "storage_fabric": "own"},
    "gb200-nvl36x2": {"pairs": 28},
    **_each(("superpod-h100", "superpod-b200"), {"units": 64, **PLAIN}),
    "superpod-b300": {"units": 18, **PLAIN},
    **_each(("superpod-gb200", "superpod-gb300"), {"units": 16, **PLAIN}),
    "pcie-workstation": {"machines": 64, "gpus": 8, "storage": 256},
    "fat-tree": {"radix": 40, "tiers": "three", **PLAIN},
    "two-sites": {"nodes": 192, "gateways": 8, "lines": 32, "distance_km": 20000},
    "llama3-24k": {"pods": 8, "racks_per_pod": 192, **PLAIN},
    "alibaba-hpn": {"segments": 15, "nodes_per_segment": 128, "cores": True, **PLAIN},
}


def topology_of(content: TemplateContent) -> Topology:
    return Topology(content.devices, content.links, content.containers)


def by_kind(content: TemplateContent) -> Counter[str]:
    return Counter(device.kind.value for device in content.devices)


def cables(content: TemplateContent, a: DeviceKind, b: DeviceKind) -> int:
    kind = {device.id: device.kind for device in content.devices}
    return sum(link.count for link in content.links if {kind[link.a], kind[link.b]} == {a, b})


def check_counts(content: TemplateContent, name: str, values: Values) -> None:
    """`counts` says what was built, no device has more cables than ports, and every device has a place."""
    topology = topology_of(content)
    assert port_findings(topology) == ()
    expected, found = counts(name, values), by_kind(content)
    for kind in DeviceKind:
        assert expected[kind.value] == found[kind.value], kind
    assert expected["devices"] == len(content.devices)
    assert expected["links"] == len(content.links)
    lanes = sum(link.count for link in content.links if link.kind is LinkKind.NVLINK)
    assert expected["nvlink_lanes"] == lanes
    assert expected["host_leaf"] == cables(content, DeviceKind.NIC, DeviceKind.LEAF)
    assert expected["leaf_spine"] == cables(content, DeviceKind.LEAF, DeviceKind.SPINE)
    assert expected["spine_core"] == cables(content, DeviceKind.SPINE, DeviceKind.CORE)
    assert expected["wan"] == sum(link.count for link in content.links if link.kind is LinkKind.WAN)
    assert set(content.positions) == {device.id for device in content.devices}


def overlaps(content: TemplateContent) -> list[tuple[str, str]]:
    """Pairs of devices whose footprints share area, found by a sweep from left to right."""
    boxes = []
    for device in content.devices:
        (x, y), (width, height) = content.positions[device.id], FOOTPRINT[device.kind]
        boxes.append((x - width / 2, x + width / 2, y - height / 2, y + height / 2, device.id))
    return list(_sweep(sorted(boxes)))


def _sweep(boxes: list[tuple[float, float, float, float, str]]) -> Iterable[tuple[str, str]]:
    active: list[tuple[float, float, float, float, str]] = []
    for box in boxes:
        active = [other for other in active if other[1] > box[0]]
        for other in active:
            if other[2] < box[3] and box[2] < other[3]:
                yield other[4], box[4]
        active.append(box)
