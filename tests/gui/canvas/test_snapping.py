"""Snap lines: what a dragged part catches on, and that a large drawing makes it no dearer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gui.canvas import snapping
from gui.canvas.snapping import MOST_NEIGHBOURS, Guide, Snapper
from gui.canvas.view import CanvasView
from model.topology.types import DeviceKind
from tests.counting import calls
from tests.gui.canvas.conftest import Hand

Put = Callable[..., str]
SHIFT = Qt.KeyboardModifier.ShiftModifier


def box(x: float, y: float, width: float = 100, height: float = 40) -> tuple[float, float, float, float]:
    return (x, y, x + width, y + height)


def snapped(boxes: list[tuple[float, float, float, float]], moving: tuple[float, ...]) -> snapping.Snap:
    own = np.array(moving)
    return Snapper(np.array(boxes).reshape(-1, 4), own).snap(own, 6.0)


def test_edges_and_centres_catch_within_reach_and_the_nearest_wins() -> None:
    # Left edges 4 apart, the lower one's top 3 off the upper one's bottom.
    snap = snapped([box(0, 0)], box(4, 43, 60))
    assert snap.shift == (-4.0, -3.0)
    assert Guide(0, 0.0, 0.0, 80.0) in snap.guides
    # The centres (50 and 52) are nearer than the edges (20 and 22 …).
    assert snapped([box(0, 0)], box(22, 300, 60)).shift == (-2.0, None)
    assert snapped([box(0, 0)], box(107, 300, 60)).shift == (None, None)


def test_the_middle_between_two_and_the_next_in_a_row_are_equal_gaps() -> None:
    # 100 wide at 0 and 500: between them 400, a box of 60 leaves 170 on both sides, so it begins at 270.
    between = snapped([box(0, 0), box(500, 0)], box(273, 11, 60))
    assert between.shift[0] == -3.0
    gaps = sorted((guide.begin, guide.end) for guide in between.guides if guide.gap)
    assert gaps == [(100.0, 270.0), (330.0, 500.0)]
    # Two at a distance of 50: the next begins 50 behind them, at 300.
    onward = snapped([box(0, 0), box(150, 0)], box(296, 9, 70))
    assert onward.shift[0] == 4.0
    assert len([guide for guide in onward.guides if guide.gap]) == 2


def test_of_many_neighbours_only_the_nearest_count() -> None:
    many = [box(300.0 * number, 0) for number in range(5000)]
    snapper = Snapper(np.array(many), np.array(box(2, 300)))
    assert len(snapper._boxes) == MOST_NEIGHBOURS
    assert snapper.snap(np.array(box(2, 300)), 6.0).shift[0] == -2.0


def test_a_step_of_a_drag_costs_the_same_on_every_drawing() -> None:
    def work(count: int) -> int:
        places = np.arange(count, dtype=float)
        boxes = np.stack((places * 300, places * 0, places * 300 + 100, places * 0 + 40), axis=1)
        moving = np.array(box(2.0, 300.0))
        snapper = Snapper(boxes, moving)
        return calls(lambda: snapper.snap(moving, 6.0))

    assert work(50_000) == work(MOST_NEIGHBOURS)


def test_dragging_a_device_catches_on_another_and_undoes(view: CanvasView, hand: Hand, put: Put) -> None:
    put("spine0", DeviceKind.SPINE, 0, 0)
    put("gpu0", DeviceKind.GPU, 300, 200)
    view.zoom_to(1.0)
    before = view.context.document.document.layout["gpu0"]
    hand.drag(hand.at("gpu0"), hand.pixel((-3, 200)))  # to 3 left of the middle of the spine
    assert view.context.document.document.layout["gpu0"][0] == pytest.approx(0.0, abs=0.51)
    view.context.document.undo_stack.undo()
    assert view.context.document.document.layout["gpu0"] == before


def test_lines_show_while_dragging_and_go_with_escape(view: CanvasView, hand: Hand, put: Put) -> None:
    put("spine0", DeviceKind.SPINE, 0, 0)
    put("gpu0", DeviceKind.GPU, 300, 200)
    view.zoom_to(1.0)
    hand.drag(hand.at("gpu0"), hand.pixel((1, 200)), release=False)
    tool = view.tool
    assert any(guide.axis == 0 for guide in tool._guides)  # type: ignore[attr-defined]
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert not tool._guides  # type: ignore[attr-defined]
    assert view.context.document.document.layout["gpu0"] == (300.0, 200.0)


def test_shift_lets_the_hand_have_its_way(view: CanvasView, hand: Hand, put: Put) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    view.zoom_to(1.0)
    hand.drag(hand.at("gpu0"), hand.at("gpu0") + QPoint(33, 7), modifiers=SHIFT)
    assert view.context.document.document.layout["gpu0"] == pytest.approx((33.0, 7.0))


def test_without_the_grid_and_lines_it_goes_where_the_hand_goes(
    view: CanvasView, hand: Hand, put: Put
) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    put("gpu1", DeviceKind.GPU, 0, 300)
    view.zoom_to(1.0)
    for name in ("snap_to_grid", "snap_to_parts"):
        view.context.preferences.set(name, False)
    hand.drag(hand.at("gpu0"), hand.at("gpu0") + QPoint(3, 33))
    assert view.context.document.document.layout["gpu0"] == pytest.approx((3.0, 33.0))


def test_frames_of_containers_catch_on_frames(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=2)
    index = view.scene_data.index
    first, second = (index.hull[index.container_row[name]].copy() for name in ("node00", "node01"))
    view.context.set_selection({"node00"})
    start = hand.pixel((first[0] + 24, first[3] - 14))
    down = round((second[3] - second[1] + 60) * view.zoom)
    over = round((second[0] - first[0]) * view.zoom) + 3
    hand.drag(start, start + QPoint(over, down))
    hull = view.scene_data.index.hull[index.container_row["node00"]]
    assert hull[0] == pytest.approx(second[0], abs=1e-6)
