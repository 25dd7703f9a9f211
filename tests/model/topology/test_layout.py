"""Layout by role: nothing overlaps, tiers are in order, any drawing is laid out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.topology.footprint import CONTAINER_PADDING, CONTAINER_TITLE, FOOTPRINT
from model.topology.graph import Topology
from model.topology.layout import layout_by_role
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from tests.counting import calls
from topology_templates.registry import build

Positions = dict[str, tuple[float, float]]
Box = tuple[float, float, float, float]


def box_of(device: Device, positions: Positions) -> Box:
    (x, y), (width, height) = positions[device.id], FOOTPRINT[device.kind]
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def overlapping(boxes: list[Box]) -> list[tuple[int, int]]:
    """Pairs of boxes that share area, found by a sweep from left to right."""
    order = sorted(range(len(boxes)), key=lambda index: boxes[index][0])
    found, active = [], []
    for index in order:
        left, top, _, bottom = boxes[index]
        active = [other for other in active if boxes[other][2] > left]
        found.extend((other, index) for other in active if boxes[other][1] < bottom and boxes[other][3] > top)
        active.append(index)
    return found


def hulls(topology: Topology, positions: Positions) -> dict[str, Box]:
    """Frames of containers: children, padding, and the title at the top (and below where there are NICs)."""
    found: dict[str, Box] = {}

    def hull(ident: str) -> Box | None:
        boxes: list[Box] = []
        for child in topology.children(ident):
            if topology.has_container(child):
                inner = hull(child)
                if inner is not None:
                    boxes.append(inner)
            else:
                boxes.append(box_of(topology.device(child), positions))
        if not boxes:
            return None
        array = np.array(boxes)
        x0, y0 = array[:, :2].min(axis=0) - CONTAINER_PADDING
        x1, y1 = array[:, 2:].max(axis=0) + CONTAINER_PADDING
        kinds = {
            topology.device(child).kind for child in topology.children(ident) if topology.has_device(child)
        }
        if DeviceKind.NIC in kinds:
            y1 += CONTAINER_TITLE
        y0 -= CONTAINER_TITLE
        found[ident] = (float(x0), float(y0), float(x1), float(y1))
        return found[ident]

    for container in topology.containers():
        if container.parent is None:
            hull(container.id)
    return found


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("hgx-h100", {"nodes": 1}),
        ("hgx-h100", {"nodes": 4}),
        ("hgx-h100", {"nodes": 31, "storage": 9}),
        ("hgx-h100", {"nodes": 128}),
        ("hgx-h100", {"nodes": 300, "host": "plain"}),
        ("hgx-h100", {"nodes": 21, "fabric": "tor"}),
        ("gb200-nvl72", {"racks": 1}),
        ("gb200-nvl72", {"racks": 5, "host": "plain"}),
        ("gb200-nvl36x2", {"pairs": 2}),
        ("vr-nvl72", {"racks": 1}),
        ("mi300x", {"nodes": 9}),
        ("pcie-workstation", {"machines": 5, "gpus": 8}),
        ("leaf-spine", {"nodes": 20, "storage": 4, "storage_fabric": "own"}),
        ("fat-tree", {"tiers": "three"}),
        ("two-sites", {"nodes": 6, "storage": 2}),
        ("llama3-24k", {"pods": 3, "racks_per_pod": 6}),
        ("alibaba-hpn", {"segments": 3, "nodes_per_segment": 9, "cores": True}),
        ("deepseek-v3", {"nodes": 70, "host": "plain"}),
        ("superpod-b300", {"units": 5, "network": "ethernet", "host": "plain"}),
        ("superpod-gb200", {"units": 4, "host": "plain"}),
    ],
)
def test_nothing_overlaps_in_templates(name: str, values: dict[str, object]) -> None:
    content = build(name, values)
    topology = Topology(content.devices, content.links, content.containers)
    positions = dict(content.positions)
    assert overlapping([box_of(device, positions) for device in content.devices]) == []
    frames = hulls(topology, positions)
    siblings: dict[str | None, list[Box]] = {}
    for container in content.containers:
        siblings.setdefault(container.parent, []).append(frames[container.id])
    for device in content.devices:
        siblings.setdefault(device.parent, []).append(box_of(device, positions))
    for boxes in siblings.values():
        assert overlapping(boxes) == []


def test_tiers_stand_above_each_other() -> None:
    content = build("hgx-h100", {"nodes": 300, "host": "full"})
    heights: dict[DeviceKind, list[float]] = {}
    for device in content.devices:
        heights.setdefault(device.kind, []).append(content.positions[device.id][1])
    assert max(heights[DeviceKind.CORE]) < min(heights[DeviceKind.SPINE])
    assert max(heights[DeviceKind.SPINE]) < min(heights[DeviceKind.LEAF])
    assert max(heights[DeviceKind.LEAF]) < min(heights[DeviceKind.NIC])
    rows = [
        [content.positions[f"node000.{part}0"][1] for part in ("nic", "pcie", "gpu", "nvs", "cpu")],
    ]
    assert rows[0] == sorted(rows[0])
    gpus = [content.positions[f"node000.gpu{index}"] for index in range(8)]
    assert len({y for _, y in gpus}) == 1
    assert [x for x, _ in gpus] == sorted(x for x, _ in gpus)


def test_nvl72_has_two_rows_of_nine_trays_with_the_switches_between() -> None:
    content = build("gb200-nvl72", {"racks": 1})
    y = {ident: place[1] for ident, place in content.positions.items()}
    x = {ident: place[0] for ident, place in content.positions.items()}
    upper = {y[f"rack01.tray{tray:02d}.gpu0"] for tray in range(1, 10)}
    lower = {y[f"rack01.tray{tray:02d}.gpu0"] for tray in range(10, 19)}
    switches = {y[f"rack01.nvsw{tray}.c{chip}"] for tray in range(1, 10) for chip in (0, 1)}
    assert len(upper) == len(lower) == len(switches) == 1
    assert max(upper) < min(switches) < min(lower)
    # The GPUs face the switches: NICs are on the far side in both rows.
    assert y["rack01.tray01.nic0"] < y["rack01.tray01.gpu0"]
    assert y["rack01.tray10.nic0"] > y["rack01.tray10.gpu0"]
    assert [x[f"rack01.tray{tray:02d}.gpu0"] for tray in range(1, 10)] == sorted(
        x[f"rack01.tray{tray:02d}.gpu0"] for tray in range(1, 10)
    )


def test_planes_stand_in_rows_of_their_own() -> None:
    """The 16 leaves of a segment: 8 rails of the first plane from left to right, below them the second."""
    place = build("alibaba-hpn", {"segments": 1}).positions
    assert [place[f"leaf{n}"][0] for n in range(8)] == [place[f"leaf{n}"][0] for n in range(8, 16)]
    assert len({place[f"leaf{leaf}"][1] for leaf in range(8)}) == 1
    assert place["leaf0"][1] < place["leaf8"][1] == place["leaf15"][1]
    assert [place[f"leaf{leaf}"][0] for leaf in range(8)] == sorted(place[f"leaf{n}"][0] for n in range(8))


def test_a_leaf_stands_on_top_of_its_rack() -> None:
    place = build("llama3-24k", {}).positions
    for rack in range(8):
        nics = [place[f"node{node:02d}.nic{nic}"] for node in (2 * rack, 2 * rack + 1) for nic in range(8)]
        x, y = place[f"leaf{rack}"]
        assert min(at for at, _ in nics) < x < max(at for at, _ in nics)
        assert y < min(at for _, at in nics)


def test_a_drawing_without_containers_keeps_what_is_wired_together_together() -> None:
    """Two hand-drawn hosts of two GPUs: each GPU is nearer to its own switch than to the other host's."""
    devices, links = [], []
    for host in "ab":
        devices.append(Device(f"{host}s", DeviceKind.NVLINK_SWITCH, "nvswitch3"))
        for index in (1, 0):
            devices.append(Device(f"{host}g{index}", DeviceKind.GPU, "h100-sxm"))
            devices.append(Device(f"{host}n{index}", DeviceKind.NIC, "cx7-ndr"))
            links.append(Link(f"{host}l{index}", f"{host}g{index}", f"{host}s", LinkKind.NVLINK, 25e9, 18))
            links.append(Link(f"{host}p{index}", f"{host}g{index}", f"{host}n{index}", LinkKind.PCIE, 63e9))
            links.append(Link(f"{host}e{index}", f"{host}n{index}", "leaf", LinkKind.INFINIBAND, 50e9))
    devices.append(Device("leaf", DeviceKind.LEAF, "qm9700"))
    topology = Topology(devices, links)
    positions = layout_by_role(topology)
    for host, other in (("a", "b"), ("b", "a")):
        for index in (0, 1):
            gpu = np.array(positions[f"{host}g{index}"])
            own, far = np.array(positions[f"{host}s"]), np.array(positions[f"{other}s"])
            assert np.linalg.norm(gpu - own) < np.linalg.norm(gpu - far)
            assert positions[f"{host}n{index}"][0] == positions[f"{host}g{index}"][0]
    assert positions["leaf"][1] < min(positions[f"{host}n0"][1] for host in "ab")
    assert overlapping([box_of(device, positions) for device in devices]) == []


@st.composite
def drawings(draw: st.DrawFn) -> Topology:
    """Any devices in any nest of containers with any links between them."""
    containers: list[Container] = []
    for number in range(draw(st.integers(0, 6))):
        parent = draw(st.sampled_from([None, *(one.id for one in containers)]))
        kind = draw(st.sampled_from(list(ContainerKind)))
        containers.append(Container(f"c{number}", kind, parent=parent))
    names = [None, *(one.id for one in containers)]
    devices = [
        Device(
            f"d{number}",
            draw(st.sampled_from(list(DeviceKind))),
            "any",
            parent=draw(st.sampled_from(names)),
            rail=draw(st.sampled_from([None, 0, 1])),
        )
        for number in range(draw(st.integers(0, 30)))
    ]
    links = []
    if len(devices) > 1:
        for number in range(draw(st.integers(0, 20))):
            a, b = draw(st.lists(st.sampled_from(devices), min_size=2, max_size=2, unique=True))
            links.append(Link(f"l{number}", a.id, b.id, draw(st.sampled_from(list(LinkKind))), 1e9))
    return Topology(devices, links, containers)


@given(drawings())
def test_any_drawing_is_laid_out_without_overlap(topology: Topology) -> None:
    positions = layout_by_role(topology)
    assert set(positions) == {device.id for device in topology.devices()}
    assert overlapping([box_of(device, positions) for device in topology.devices()]) == []


def test_an_empty_drawing() -> None:
    assert layout_by_role(Topology()) == {}


def test_cost_grows_no_faster_than_the_drawing() -> None:
    """Eight times the hosts take at most a little more than eight times the calls."""

    def cost(nodes: int) -> int:
        content = build("hgx-h100", {"nodes": nodes})
        topology = Topology(content.devices, content.links, content.containers)
        return calls(lambda: layout_by_role(topology))

    cost(1)  # fills the caches
    assert cost(128) < 9 * cost(16)
