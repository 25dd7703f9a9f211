"""Below 12 %: racks as tiles, switches as tiers, one ribbon per tier; nothing that matters is dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtTest import QTest

from gui.canvas.far_layout import BAR_PX, lay_out_far
from gui.canvas.far_plan import gpus_in_groups, group_loads, plan_far, tile_loads, tile_weights
from gui.canvas.levels import Level
from gui.canvas.scene_index import KIND_CODE, SceneIndex
from gui.canvas.strands import load_strands
from gui.canvas.view import CanvasView
from gui.context import LAYERS
from model.analysis import analyse
from model.document.document import Document
from model.document.edits import SetFields
from model.topology.graph import Topology
from model.topology.types import State
from tests.gui.canvas.conftest import Hand
from tests.gui.canvas.test_view import colours, pictured
from topology_templates.registry import build


def drawn(template: str, **parameters: object) -> SceneIndex:
    content = build(template, parameters)
    topology = Topology(content.devices, content.links, content.containers)
    return SceneIndex(Document(topology, layout=dict(content.positions)))


def test_racks_are_tiles_and_every_tier_has_one_ribbon() -> None:
    # hgx-h100 nodes=128: 32 racks; 1,024 NICs on 32 leaves, 32 × 32 uplinks to 16 spines
    index = drawn("hgx-h100", nodes=128)
    plan = plan_far(index, set(LAYERS))
    assert len(plan.tiles) == 32
    assert plan.tier_size.tolist() == [32, 16]
    assert sorted(plan.ribbons.cables.tolist()) == [1024, 1024]
    assert len(plan.groups) == 1


def test_pods_have_tiers_of_their_own_and_nothing_is_counted_twice() -> None:
    # llama3-24k, two pods: leaves stand in racks, spines in pods, five cores in neither
    index = drawn("llama3-24k")
    plan = plan_far(index, set(LAYERS))
    assert len(plan.groups) == 3
    assert gpus_in_groups(plan).tolist() == [128, 64, 64]
    spines = plan.tier_kind == KIND_CODE["spine"]  # type: ignore[index]
    assert plan.tier_size[spines].tolist() == [2, 2]
    cables = plan.ribbons.cables.sum()
    end = index.ends
    tile = plan.tile_of[end]
    apart = (tile[:, 0] != tile[:, 1]) | (tile < 0).all(axis=1)
    assert cables == index.cables[apart].sum()


@pytest.mark.parametrize("zoom", [0.006, 0.02, 0.035, 0.06, 0.119])
@pytest.mark.parametrize(
    ("template", "nodes"), [("hgx-h100", 2048), ("llama3-24k", None), ("two-sites", None)]
)
def test_no_tile_or_tier_covers_another_at_any_zoom(template: str, nodes: int | None, zoom: float) -> None:
    index = drawn(template, **({} if nodes is None else {"nodes": nodes}))
    plan = plan_far(index, set(LAYERS))
    layout = lay_out_far(index, plan, zoom, Level.TILES)
    boxes = np.vstack((layout.tile, layout.tier)) * zoom
    order = np.argsort(boxes[:, 0])
    for place, row in enumerate(order[:-1].tolist()):
        after = order[place + 1 :]
        beside = after[boxes[after, 0] < boxes[row, 2] - 0.01]
        overlap = (boxes[beside, 1] < boxes[row, 3] - 0.01) & (boxes[beside, 3] > boxes[row, 1] + 0.01)
        assert not overlap.any()
    assert (boxes[:, 3] > boxes[:, 1]).all()
    for number in range(1, len(plan.groups)):
        tiers, group = layout.tier[plan.tier_group == number], layout.group[number]
        assert (tiers[:, 1] >= group[1] - 1e-6).all() and (tiers[:, 3] <= group[3] + 1e-6).all()


def test_tiers_keep_a_height_that_can_be_read() -> None:
    index = drawn("hgx-h100", nodes=128)
    plan = plan_far(index, set(LAYERS))
    for zoom in (0.02, 0.05, 0.1):
        layout = lay_out_far(index, plan, zoom, Level.TILES)
        assert ((layout.tier[:, 3] - layout.tier[:, 1]) * zoom >= BAR_PX - 1e-6).all()


def test_a_tile_has_the_mean_of_what_is_used_and_the_worst_of_all() -> None:
    index = drawn("leaf-spine")
    plan = plan_far(index, {"fabric"})
    count = len(index.links)
    used, ratio, peak = np.zeros((count, 2)), np.zeros((count, 2)), np.zeros((count, 2))
    links = plan.tile_links[plan.tile_start[0] : plan.tile_start[1]]
    # two links of equal capacity carry 0.8 and 0.4 one way, nothing the other: (0.8 + 0.4) / 4 = 0.3
    used[links[0], 0], used[links[1], 1] = 0.8, 0.4
    peak[links[:2]] = 0.8
    ratio[links[1], 1] = 1.25
    loads = tile_loads(plan, tile_weights(plan, index.capacity, ratio, peak), used)
    assert loads.mean[0] == pytest.approx(0.3)
    assert loads.worst[0] == 1.25 and loads.peak[0] == 0.8
    assert loads.step[0] == 3
    first = np.arange(len(plan.tiles)) == 0
    assert group_loads(plan, loads, first) == pytest.approx((0.3, 1.25, 0.8))


def test_a_ribbon_keeps_the_pattern_of_its_worst_link() -> None:
    index = drawn("hgx-h100", nodes=128)
    plan = plan_far(index, set(LAYERS))
    ribbon = plan.ribbons
    used, ratio = np.zeros((len(index.links), 2)), np.zeros((len(index.links), 2))
    link = int(ribbon.members(0)[7])
    ratio[link, 0] = 1.33
    loads = load_strands(ribbon, index.capacity, used, ratio)
    half = int(ribbon.flipped[ribbon.start[0] + 7])
    assert loads.over[0, half] and not loads.over[0, 1 - half]
    assert loads.ratio[0].max() == 1.33


def far(
    view: CanvasView, load: Callable[..., None], template: str = "hgx-h100", **parameters: object
) -> None:
    load(template, **parameters)
    document = view.context.document
    view.context.set_analysis(replace(analyse(document.document), revision=document.revision))
    view.zoom_to(0.09)
    view.come_to_rest()
    assert view.level is Level.TILES
    pictured(view)


def test_hover_and_click_find_tiles_tiers_and_ribbons(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    far(view, load, nodes=32)
    painter = view.painter
    assert painter.far is not None
    tile, tier = painter.far.layout.tile[3], painter.far.layout.tier[0]
    at = hand.pixel(((tile[0] + tile[2]) / 2, (tile[1] + tile[3]) / 2))
    QTest.mouseMove(view.viewport(), at)
    text = view.hover_card.text
    assert text is not None and text.title == "rack03" and "32 GPUs" in text.lines[0]
    hand.click(at)
    assert view.context.selection == {"rack03"}
    bar = hand.pixel(((tier[0] * 0.8 + tier[2] * 0.2), (tier[1] + tier[3]) / 2))
    hand.click(bar)
    assert view.context.selection == {f"leaf{number}" for number in range(8)}
    QTest.mouseMove(view.viewport(), bar + QPoint(1, 0))
    assert view.hover_card.text is not None and view.hover_card.text.title == "8 leaves"
    ribbon = int(np.argmax(np.diff(painter.strands.start) == 256))
    x, y = painter.curves.point(0.5)[ribbon].tolist()
    hand.click(hand.pixel((x, y)))
    assert len(view.context.selection) == 256


def test_a_rubber_band_and_a_drag_take_racks(view: CanvasView, hand: Hand, load: Callable[..., None]) -> None:
    far(view, load, nodes=32)
    assert view.painter.far is not None
    tile = view.painter.far.layout.tile
    low, high = tile[[0, 1]].min(axis=0), tile[[0, 1]].max(axis=0)
    start, end = hand.pixel((low[0], low[1])), hand.pixel((high[2], high[3]))
    hand.drag(start - QPoint(5, 3), end + QPoint(2, 3))
    assert view.context.selection == {"rack00", "rack01"}
    before = dict(view.context.document.document.layout)
    x, y = (tile[1, 0] + tile[1, 2]) / 2, (tile[1, 1] + tile[1, 3]) / 2
    hand.drag(hand.pixel((x, y)), hand.pixel((x + 2000, y)))
    after = view.context.document.document.layout
    moved = {name[:6] for name in before if after[name] != before[name]}
    assert moved == {f"node0{number}" for number in range(8)}


def test_what_is_down_and_what_is_spare_looks_so(view: CanvasView, load: Callable[..., None]) -> None:
    far(view, load, nodes=32)
    topology = view.context.document.document.topology
    rack = [one for one in topology.devices() if one.parent in {f"node{number:02d}" for number in range(4)}]
    error = view.theme.color("error").name()
    assert error not in colours(pictured(view))
    view.context.document.push(
        SetFields("device", tuple(one.id for one in rack), {"state": State.DOWN}), "Down"
    )
    plan = view.scene_data.far(view.level, view.zoom)[0]
    assert plan.down.tolist() == [True] + [False] * 7
    assert error in colours(pictured(view))


def test_fit_shows_all_of_the_far_view(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=128)
    view.resize(700, 500)
    view.fit()
    assert view.level <= Level.TILES
    assert view.painter.far is not None
    box = view.camera.boxes(view.painter.far.layout.group[0])
    top, bottom = view.overlay.insets()
    assert box[0] >= 0 and box[1] >= top - 1 and box[2] <= 700 and box[3] <= 500 - bottom + 1


def test_painting_over_a_rack_far_out_paints_all_its_gpus(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    far(view, load, nodes=32)
    assert view.painter.far is not None
    x0, y0, x1, y1 = view.painter.far.layout.tile[2].tolist()
    view.context.set_colour_by("dp")
    view.context.set_tool("paint")
    view.context.set_brush(5)
    hand.drag(hand.pixel((x0 + 100, (y0 + y1) / 2)), hand.pixel((x1 - 100, (y0 + y1) / 2)))
    paint = view.context.document.document.paint
    assert len(paint) == 32
    assert all(
        paint.group(f"node{node:02d}.gpu{gpu}", "dp") == 5 for node in range(8, 12) for gpu in range(8)
    )


def test_zooming_far_out_keeps_what_is_under_the_pointer(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=32)
    view.zoom_to(0.2)
    at = QPointF(400, 300)
    before = view.camera.to_scene(at)
    view.zoom_at(at, 0.3)
    after = view.camera.to_scene(at)
    assert abs(after.x() - before.x()) < 20 and abs(after.y() - before.y()) < 20
