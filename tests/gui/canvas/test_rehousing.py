"""Dragging into a container's frame and out of it: when that changes what is in it, and when it does not."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from gui.canvas.containers import drop_container
from gui.canvas.tools.place import Placing, put_down
from gui.canvas.view import CanvasView
from model.document.edits import AddParts, SetFolds
from model.topology.types import Container, ContainerKind, Device, DeviceKind
from tests.gui.canvas.conftest import Hand


@pytest.fixture
def drawn(view: CanvasView) -> CanvasView:
    """A rack with a host of three GPUs and a leaf, an empty-handed host beside it, and a loose leaf above."""
    gpus = tuple(Device(f"node.gpu{i}", DeviceKind.GPU, "h100-sxm", parent="node") for i in range(3))
    other = tuple(Device(f"other.gpu{i}", DeviceKind.GPU, "h100-sxm", parent="other") for i in range(2))
    view.context.document.push(
        AddParts(
            (
                *gpus,
                Device("leaf0", DeviceKind.LEAF, "qm9700", parent="rack", u=40, height_u=1.0),
                *other,
                Device("leaf1", DeviceKind.LEAF, "qm9700"),
            ),
            (),
            (
                Container("rack", ContainerKind.RACK),
                Container("node", ContainerKind.TRAY, parent="rack", u=1, height_u=8.0),
                Container("other", ContainerKind.TRAY),
            ),
            {
                **{f"node.gpu{i}": (60.0 * i, 0.0) for i in range(3)},
                "leaf0": (60.0, -160.0),
                **{f"other.gpu{i}": (500.0 + 60.0 * i, 0.0) for i in range(2)},
                "leaf1": (500.0, -400.0),
            },
        ),
        "Draw",
    )
    view.fit()
    view.grab()
    return view


def parent(view: CanvasView, ident: str) -> str | None:
    topology = view.context.document.document.topology
    return (topology.container(ident) if topology.has_container(ident) else topology.device(ident)).parent


def title(view: CanvasView, hand: Hand, ident: str) -> QPoint:
    """A point on the name of a container."""
    index = view.scene_data.index
    x0, y0, _, _ = index.hull[index.container_row[ident]].tolist()
    return hand.pixel((x0 + 8, y0 + 8))


def steps(view: CanvasView) -> int:
    return view.context.document.undo_stack.count()


def test_a_switch_dropped_into_a_rack_stands_in_it_as_one_step(drawn: CanvasView, hand: Hand) -> None:
    before, count = drawn.context.document.document.checksum(), steps(drawn)
    hand.drag(hand.at("leaf1"), hand.at("leaf0", dx=-50))
    topology = drawn.context.document.document.topology
    assert parent(drawn, "leaf1") == "rack" and topology.device("leaf1").u == 9  # above the host of 8 U
    assert steps(drawn) == count + 1
    stack = drawn.context.document.undo_stack
    assert stack.undoText() == "Move leaf1 into rack"
    after = drawn.context.document.document.checksum()
    stack.undo()
    assert drawn.context.document.document.checksum() == before
    stack.redo()
    assert drawn.context.document.document.checksum() == after


def test_a_host_dropped_into_a_rack_takes_its_gpus_along(drawn: CanvasView, hand: Hand) -> None:
    hand.drag(title(drawn, hand, "other"), hand.at("leaf0", dx=-80))
    assert parent(drawn, "other") == "rack" and parent(drawn, "other.gpu0") == "other"


def test_what_is_dropped_wholly_outside_leaves_its_rack(drawn: CanvasView, hand: Hand) -> None:
    hand.drag(hand.at("leaf0"), hand.at("leaf0", dx=-40, dy=-30), hand.at("leaf0", dy=-280))
    device = drawn.context.document.document.topology.device("leaf0")
    assert device.parent is None and device.u is None
    assert drawn.context.document.undo_stack.undoText() == "Move leaf0 out of rack"
    drawn.context.document.undo_stack.undo()
    device = drawn.context.document.document.topology.device("leaf0")
    assert (device.parent, device.u) == ("rack", 40)


@pytest.mark.parametrize("dy", [-20.0, -50.0, 60.0])
def test_what_still_touches_its_frame_stays_in_it(drawn: CanvasView, hand: Hand, dy: float) -> None:
    hand.drag(hand.at("leaf0"), hand.at("leaf0", dy=dy))
    assert parent(drawn, "leaf0") == "rack"
    assert drawn.context.document.document.topology.device("leaf0").u == 40


def test_out_of_a_host_is_into_the_rack_around_it(drawn: CanvasView, hand: Hand) -> None:
    hand.drag(hand.at("node.gpu1"), hand.at("node.gpu1", dy=-120))
    assert parent(drawn, "node.gpu1") == "rack"
    hand.drag(hand.at("node.gpu1"), hand.at("node.gpu1", dx=-400))
    assert parent(drawn, "node.gpu1") is None


def test_a_gpu_goes_from_host_to_host(drawn: CanvasView, hand: Hand) -> None:
    hand.drag(hand.at("node.gpu2"), hand.at("other.gpu0", dx=30))
    assert parent(drawn, "node.gpu2") == "other"


def test_a_frame_follows_the_last_thing_in_it(drawn: CanvasView, hand: Hand) -> None:
    drawn.context.set_selection({"other.gpu0", "other.gpu1"})
    hand.drag(hand.at("other.gpu0"), hand.at("other.gpu0", dy=300))
    assert parent(drawn, "other.gpu0") == parent(drawn, "other.gpu1") == "other"


def test_shift_only_moves(drawn: CanvasView, hand: Hand) -> None:
    hand.drag(hand.at("leaf1"), hand.at("leaf0", dx=-50), modifiers=Qt.KeyboardModifier.ShiftModifier)
    assert parent(drawn, "leaf1") is None


def test_a_rack_never_goes_into_a_host(drawn: CanvasView, hand: Hand) -> None:
    hand.drag(title(drawn, hand, "rack"), hand.at("other.gpu0", dx=30))
    assert parent(drawn, "rack") is None


def test_escape_takes_the_drag_back(drawn: CanvasView, hand: Hand) -> None:
    before = drawn.context.document.document.checksum()
    hand.drag(hand.at("leaf1"), hand.at("leaf0", dx=-50), release=False)
    QTest.keyClick(drawn.viewport(), Qt.Key.Key_Escape)
    QTest.mouseRelease(drawn.viewport(), Qt.MouseButton.LeftButton)
    assert drawn.context.document.document.checksum() == before


def test_the_frame_that_would_take_it_is_shown(drawn: CanvasView, hand: Hand) -> None:
    way = hand.at("leaf0", dx=-50)
    hand.drag(hand.at("leaf1"), way, release=False)
    x0, y0, _, _ = drawn.scene_data.index.hull[drawn.scene_data.index.container_row["rack"]].tolist()
    edge = hand.pixel((x0, y0)) + QPoint(-2, 40)
    ratio = drawn.devicePixelRatio()
    shown = drawn.viewport().grab().toImage()
    near = [shown.pixelColor(int((edge.x() + dx) * ratio), int(edge.y() * ratio)) for dx in range(-3, 4)]
    assert drawn.theme.color("accent") in near
    QTest.mouseRelease(drawn.viewport(), Qt.MouseButton.LeftButton, pos=way)


def test_into_a_folded_host(drawn: CanvasView, hand: Hand) -> None:
    drawn.context.document.show(SetFolds(fold=frozenset({"other"})))
    drawn.grab()
    hand.drag(hand.at("leaf1"), hand.at("other.gpu0", dx=30))
    assert parent(drawn, "leaf1") == "other"


def spot(view: CanvasView, ident: str) -> tuple[float, float]:
    x0, y0, x1, y1 = view.scene_data.index.hull[view.scene_data.index.container_row[ident]].tolist()
    return ((x0 + x1) / 2, (y0 + y1) / 2)


def test_an_empty_rack_stands_where_it_was_dropped_and_moves(drawn: CanvasView, hand: Hand) -> None:
    drop_container(drawn, ContainerKind.RACK, QPointF(200.0, 300.0))
    drawn.fit()
    drawn.grab()
    assert spot(drawn, "rack0") == (200.0, 300.0)
    before = drawn.context.document.document.checksum()
    hand.drag(
        title(drawn, hand, "rack0"), title(drawn, hand, "rack0") + hand.pixel((0, 60)) - hand.pixel((0, 0))
    )
    assert spot(drawn, "rack0")[1] == pytest.approx(360.0)
    assert drawn.context.document.undo_stack.undoText() == "Move rack0"
    drawn.context.document.undo_stack.undo()
    assert spot(drawn, "rack0") == (200.0, 300.0)
    assert drawn.context.document.document.checksum() == before


def test_an_empty_tray_goes_into_an_empty_rack_and_along_with_it(drawn: CanvasView, hand: Hand) -> None:
    drop_container(drawn, ContainerKind.RACK, QPointF(200.0, 300.0))
    drop_container(drawn, ContainerKind.TRAY, QPointF(700.0, 300.0))
    drawn.fit()
    drawn.grab()
    hand.drag(title(drawn, hand, "tray0"), hand.pixel((180.0, 300.0)))
    topology = drawn.context.document.document.topology
    assert (topology.container("tray0").parent, topology.container("tray0").u) == ("rack0", 1)
    inside = spot(drawn, "tray0")
    hand.drag(
        title(drawn, hand, "rack0"), title(drawn, hand, "rack0") + hand.pixel((0, 60)) - hand.pixel((0, 0))
    )
    assert spot(drawn, "tray0") == pytest.approx((inside[0], inside[1] + 60.0))


def test_escape_leaves_an_empty_rack_where_it_was(drawn: CanvasView, hand: Hand) -> None:
    drop_container(drawn, ContainerKind.RACK, QPointF(200.0, 300.0))
    drawn.fit()
    drawn.grab()
    start = title(drawn, hand, "rack0")
    hand.drag(start, start + QPoint(50, 40), release=False)
    assert spot(drawn, "rack0") != (200.0, 300.0)
    QTest.keyClick(drawn.viewport(), Qt.Key.Key_Escape)
    assert spot(drawn, "rack0") == (200.0, 300.0)
    QTest.mouseRelease(drawn.viewport(), Qt.MouseButton.LeftButton)


def test_what_is_dropped_from_the_palette_into_a_rack_stands_in_it(drawn: CanvasView, hand: Hand) -> None:
    document = drawn.context.document.document
    put_down(drawn, Placing(DeviceKind.LEAF, "sn5600", 2), QPointF(-40.0, -160.0))
    new = [device for device in document.topology.devices() if device.model == "sn5600"]
    # 2U each (catalogue), above the host of 8 U
    assert [(one.parent, one.u, one.height_u) for one in new] == [("rack", 9, 2.0), ("rack", 11, 2.0)]
    put_down(drawn, Placing(DeviceKind.GPU, "h100-sxm"), QPointF(-40.0, -140.0))
    gpu = document.topology.devices()[-1]
    assert (gpu.parent, gpu.u) == ("rack", None)
    drawn.grab()
    drop_container(drawn, ContainerKind.TRAY, QPointF(130.0, -100.0))
    tray = document.topology.container("tray0")
    assert (tray.parent, tray.u, tray.height_u) == ("rack", 13, 1.0)
