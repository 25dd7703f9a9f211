"""What lines are drawn at which zoom, and what a bundle shows."""

from __future__ import annotations

import numpy as np
import pytest

from gui.canvas.bulk_raster import KEYS_A_HALF, raster_halves
from gui.canvas.curves import nearest, route
from gui.canvas.levels import Level, level_at, next_level
from gui.canvas.scene_index import SceneIndex
from gui.canvas.strands import build_strands, load_strands
from gui.context import LAYERS
from model.document.document import Document
from model.topology.graph import Topology
from model.topology.types import Device, DeviceKind, Link, LinkKind
from topology_templates.registry import build


def drawn(template: str, **parameters: object) -> SceneIndex:
    content = build(template, parameters)
    topology = Topology(content.devices, content.links, content.containers)
    return SceneIndex(Document(topology, layout=dict(content.positions)))


@pytest.mark.parametrize(
    ("zoom", "level"),
    [(0.05, Level.TILES), (0.12, Level.NODES), (0.39, Level.NODES), (0.4, Level.RANKS), (0.9, Level.PORTS)],
)
def test_level_of_a_zoom(zoom: float, level: Level) -> None:
    assert level_at(zoom) is level


def test_levels_fall_only_ten_percent_below_their_boundary() -> None:
    assert next_level(Level.NODES, 0.40) is Level.RANKS
    assert next_level(Level.RANKS, 0.37) is Level.RANKS
    assert next_level(Level.RANKS, 0.359) is Level.NODES
    assert next_level(Level.PORTS, 0.05) is Level.TILES


def test_nvl72_is_folded_to_one_bundle_per_tray_and_switch_tray_and_opens_near() -> None:
    # 162 bundles of 8 NVLinks for 1,296 links
    index = drawn("gb200-nvl72", racks=1)
    folded = build_strands(index, Level.RANKS, 0.6, {"scale-up"})
    assert len(folded) == 162
    assert set(folded.cables.tolist()) == {8}
    assert len(build_strands(index, Level.PORTS, 1.5, {"scale-up"})) == 1296


def test_from_forty_percent_down_one_bundle_per_node_and_leaf() -> None:
    index = drawn("hgx-h100", nodes=4, fabric="tor")
    near = build_strands(index, Level.RANKS, 0.6, {"fabric"})
    far = build_strands(index, Level.NODES, 0.3, {"fabric"})
    to_hosts = [
        cables for cables, inside in zip(far.cables.tolist(), far.bundled.tolist(), strict=True) if inside
    ]
    assert len(near) > len(far)
    assert to_hosts
    assert far.cables.sum() == near.cables.sum()


def test_layers_choose_kinds_of_links() -> None:
    index = drawn("hgx-h100", nodes=2)
    counts = {name: len(build_strands(index, Level.PORTS, 1.0, {name})) for name in LAYERS}
    assert counts["scale-up"] == 2 * 8 * 4
    assert sum(counts.values()) == len(index.links)


def test_a_bundle_shows_its_mean_and_the_pattern_of_its_worst_member() -> None:
    index = drawn("gb200-nvl72", racks=1)
    strands = build_strands(index, Level.RANKS, 0.6, {"scale-up"})
    used, ratio = np.zeros((len(index.links), 2)), np.zeros((len(index.links), 2))
    members = strands.members(0)
    used[members, 0] = [0.8, 0, 0, 0, 0, 0, 0, 0]
    ratio[members, 0] = [1.5, 0, 0, 0, 0, 0, 0, 0]
    loads = load_strands(strands, index.capacity, used, ratio)
    half = int(strands.flipped[strands.start[0]])
    assert loads.utilisation[0, half] == pytest.approx(0.1)
    assert loads.step[0, half] == 2
    assert loads.over[0].tolist() == [half == 0, half == 1]
    assert loads.ratio[0, half] == 1.5


def test_links_leave_and_arrive_upright_and_are_cut_in_the_middle() -> None:
    index = drawn("hgx-h100", nodes=2)
    curves = route(build_strands(index, Level.RANKS, 0.6, {"fabric"}), index.rects())
    assert np.allclose(curves.control[:, 0, 0], curves.control[:, 1, 0])
    assert np.allclose(curves.control[:, 2, 0], curves.control[:, 3, 0])
    halves = curves.halves()
    assert np.allclose(halves[:, 0, 3], halves[:, 1, 3])
    assert np.allclose(halves[:, 0, 3], curves.point(0.5))
    assert np.allclose(halves[:, 1, 0], curves.control[:, 3])


def test_nearest_tells_the_half_that_is_pointed_at() -> None:
    index = drawn("hgx-h100", nodes=2)
    curves = route(build_strands(index, Level.RANKS, 0.6, {"fabric"}), index.rects())
    flat = curves.flat()
    x, y = flat[5, 3]
    found = nearest(flat, float(x), float(y), 2.0)
    assert found is not None
    strand, half = found
    assert half == 0
    assert np.hypot(*(flat[strand] - (x, y)).T).min() < 2.0
    assert nearest(flat, 1e6, 1e6, 5.0) is None


@pytest.mark.parametrize("smooth", [True, False])
def test_the_id_buffer_holds_the_half_that_lies_there(smooth: bool) -> None:
    # one straight line from (10, 50) to (90, 50), four pixels wide, in a picture of 100 × 100
    flat = np.stack((np.linspace(10, 90, 17), np.full(17, 50.0)), axis=1)[None]
    buffer = raster_halves(flat, np.array([4.0]), (100, 100), smooth=smooth).reshape(100, 100)
    assert (buffer[50, 12:48] // KEYS_A_HALF == 0).all() and (buffer[50, 12:48] > 0).all()
    assert (buffer[50, 52:88] // KEYS_A_HALF == 1).all()
    assert (buffer[50] & 7)[15:85].min() == 7
    assert set(np.flatnonzero(buffer.any(axis=1)).tolist()) == {48, 49, 50, 51}
    assert not buffer[:, :9].any() and not buffer[:, 91:].any()
    striped = ((buffer[50] >> 3) & 1)[10:90].mean()
    assert striped == pytest.approx(2.2 / 7.4, abs=0.05)


def test_later_lines_lie_on_top() -> None:
    flat = np.stack((np.linspace(10, 90, 17), np.full(17, 50.0)), axis=1)
    upright = flat[:, ::-1]
    buffer = raster_halves(np.stack((flat, upright)), np.array([4.0, 4.0]), (100, 100), smooth=True)
    assert buffer.reshape(100, 100)[50, 50] // KEYS_A_HALF in (2, 3)


def test_a_link_in_a_row_goes_straight_or_in_an_arch_over_what_stands_between() -> None:
    devices = tuple(Device(f"leaf{n}", DeviceKind.LEAF, "qm9700") for n in range(3))
    links = tuple(Link(f"l{b}", "leaf0", f"leaf{b}", LinkKind.INFINIBAND, 50e9) for b in (1, 2))
    layout = {"leaf0": (0.0, 0.0), "leaf1": (300.0, 0.0), "leaf2": (600.0, 0.0)}
    index = SceneIndex(Document(Topology(devices, links), layout=layout))
    straight, arch = route(build_strands(index, Level.PORTS, 1.0, set(LAYERS)), index.rects()).flat()
    assert np.ptp(straight[:, 1]) == 0
    assert arch[:, 1].min() < index.rects()[:, 1].min() - 40
