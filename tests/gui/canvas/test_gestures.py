"""Real gestures on the viewport: each does what it says, as one undo step that undoes exactly."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QWheelEvent
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication

from gui.canvas.tools.place import DEVICE_MIME, TEMPLATE_MIME
from gui.canvas.view import CanvasView
from model.topology.types import ContainerKind, DeviceKind, LinkKind, State
from tests.gui.canvas.conftest import Hand, link_kinds

Put = Callable[..., str]
SHIFT, CONTROL, ALT = (
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
)


def layout(view: CanvasView) -> dict[str, tuple[float, float]]:
    return dict(view.context.document.document.layout)


def steps(view: CanvasView) -> int:
    return view.context.document.undo_stack.index()


def drop(view: CanvasView, mime: str, payload: bytes, at: QPoint) -> None:
    data = QMimeData()
    data.setData(mime, payload)
    actions, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    port = view.viewport()
    QApplication.sendEvent(port, QDragEnterEvent(at, actions, data, button, none))
    QApplication.sendEvent(port, QDragMoveEvent(at, actions, data, button, none))
    QApplication.sendEvent(port, QDropEvent(QPointF(at), actions, data, button, none))


# Placing


def test_drop_places_on_the_grid_with_readable_names(view: CanvasView, hand: Hand) -> None:
    payload = json.dumps({"kind": "gpu", "model": "h100-sxm", "count": 2}).encode()
    drop(view, DEVICE_MIME, payload, hand.pixel((103, 47)))
    assert layout(view) == {"gpu0": (100.0, 40.0), "gpu1": (140.0, 40.0)}
    assert view.context.selection == {"gpu0", "gpu1"}
    assert steps(view) == 1
    drop(view, DEVICE_MIME, json.dumps({"kind": "gpu"}).encode(), hand.pixel((300, 40)))
    assert view.context.document.document.topology.device("gpu2").model == "h100-sxm"
    view.context.document.undo_stack.setIndex(0)
    assert layout(view) == {}
    view.context.document.undo_stack.setIndex(2)
    assert set(layout(view)) == {"gpu0", "gpu1", "gpu2"}


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"{}", b'{"kind": "gpu", "model": "abacus"}', b'{"kind": "toaster"}']
)
def test_a_drop_that_is_not_understood_changes_nothing(view: CanvasView, hand: Hand, payload: bytes) -> None:
    drop(view, DEVICE_MIME, payload, hand.pixel((0, 0)))
    assert steps(view) == 0


def test_a_dropped_template_is_asked_for(view: CanvasView, hand: Hand) -> None:
    spy = QSignalSpy(view.template_requested)
    drop(view, TEMPLATE_MIME, b"hgx-h100", hand.pixel((60, 80)))
    assert spy.count() == 1
    name, point = spy.at(0)
    assert name == "hgx-h100"
    assert (round(point.x()), round(point.y())) == (60, 80)


def test_click_places_what_the_palette_has_chosen(view: CanvasView, hand: Hand) -> None:
    view.context.set_place("leaf", "", 1)
    view.context.set_tool("place")
    hand.click(hand.pixel((-60, 20)))
    hand.click(hand.pixel((160, 20)))
    assert layout(view) == {"leaf0": (-60.0, 20.0), "leaf1": (160.0, 20.0)}
    assert steps(view) == 2


def test_inside_a_tray_a_device_gets_its_name_and_the_next_rail(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=1)
    topology = view.context.document.document.topology
    x, y = layout(view)["node00.gpu7"]
    drop(view, DEVICE_MIME, json.dumps({"kind": "gpu"}).encode(), hand.pixel((x, y + 50)))
    new = topology.device("node00.gpu8")
    assert (new.parent, new.rail) == ("node00", 8)


# Connecting


def test_drag_with_the_connect_tool_joins_two_devices(view: CanvasView, hand: Hand, put: Put) -> None:
    put("nic0", DeviceKind.NIC, 0, 0)
    put("leaf0", DeviceKind.LEAF, 0, -160)
    view.context.set_tool("connect")
    hand.drag(hand.at("nic0"), hand.at("leaf0"))
    (link,) = view.context.document.document.topology.links()
    assert (link.a, link.b, link.kind, link.count) == ("nic0", "leaf0", LinkKind.INFINIBAND, 1)
    assert link.nominal_bytes_per_s == 50e9
    view.context.document.undo_stack.undo()
    assert link_kinds(view) == []


def test_drag_from_an_edge_connects_without_leaving_the_select_tool(
    view: CanvasView, hand: Hand, put: Put
) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    put("nvs0", DeviceKind.NVLINK_SWITCH, 0, 160)
    hand.drag(hand.at("gpu0", dy=36), hand.at("nvs0"))
    assert link_kinds(view) == [LinkKind.NVLINK]
    assert layout(view)["gpu0"] == (0.0, 0.0)


def test_a_second_drag_adds_a_cable_and_shift_takes_all_lanes(view: CanvasView, hand: Hand, put: Put) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    put("nvs0", DeviceKind.NVLINK_SWITCH, 0, 160)
    view.context.set_tool("connect")
    hand.drag(hand.at("gpu0"), hand.at("nvs0"))
    hand.drag(hand.at("gpu0"), hand.at("nvs0"))
    (link,) = view.context.document.document.topology.links()
    assert link.count == 2
    hand.drag(hand.at("gpu0"), hand.at("nvs0"), modifiers=SHIFT)
    (link,) = view.context.document.document.topology.links()
    assert link.count == 18  # NVLinks of an H100
    view.context.document.undo_stack.undo()
    assert view.context.document.document.topology.links()[0].count == 2


def test_a_refused_connection_says_why_and_changes_nothing(view: CanvasView, hand: Hand, put: Put) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    put("leaf0", DeviceKind.LEAF, 0, -160)
    said = QSignalSpy(view.context.said)
    before = steps(view)
    view.context.set_tool("connect")
    hand.drag(hand.at("gpu0"), hand.at("leaf0"), release=False)
    view.grab()
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=hand.at("leaf0"))
    assert steps(view) == before
    assert link_kinds(view) == []
    assert said.count() == 1
    assert "gpu0" in said.at(0)[0] or "GPU" in said.at(0)[0]


def test_escape_cancels_a_connection(view: CanvasView, hand: Hand, put: Put) -> None:
    put("nic0", DeviceKind.NIC, 0, 0)
    put("leaf0", DeviceKind.LEAF, 0, -160)
    view.context.set_tool("connect")
    hand.drag(hand.at("nic0"), hand.at("leaf0"), release=False)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=hand.at("leaf0"))
    assert link_kinds(view) == []


# Selecting


def test_click_shift_and_control(view: CanvasView, hand: Hand, put: Put) -> None:
    for number in range(3):
        put(f"leaf{number}", DeviceKind.LEAF, 200 * number, 0)
    hand.click(hand.at("leaf0"))
    assert view.context.selection == {"leaf0"}
    hand.click(hand.at("leaf1"), SHIFT)
    hand.click(hand.at("leaf2"), CONTROL)
    assert view.context.selection == {"leaf0", "leaf1", "leaf2"}
    hand.click(hand.at("leaf1"), CONTROL)
    assert view.context.selection == {"leaf0", "leaf2"}
    hand.click(hand.pixel((200, 200)))
    assert view.context.selection == frozenset()


def test_rubber_band_catches_what_is_inside_and_shift_adds(view: CanvasView, hand: Hand, put: Put) -> None:
    for number in range(3):
        put(f"leaf{number}", DeviceKind.LEAF, 200 * number - 200, 0)
    hand.drag(hand.pixel((-290, -60)), hand.pixel((80, 60)))
    assert view.context.selection == {"leaf0", "leaf1"}
    hand.drag(hand.pixel((110, -60)), hand.pixel((290, 60)), modifiers=SHIFT)
    assert view.context.selection == {"leaf0", "leaf1", "leaf2"}
    assert steps(view) == 3


def test_a_click_on_a_link_selects_it_and_delete_takes_it_away(
    view: CanvasView, hand: Hand, put: Put
) -> None:
    put("nic0", DeviceKind.NIC, 0, 0)
    put("leaf0", DeviceKind.LEAF, 0, -200)
    view.context.set_tool("connect")
    hand.drag(hand.at("nic0"), hand.at("leaf0"))
    view.context.set_tool("select")
    view.context.set_selection(())
    hand.click(hand.pixel((0, -90)))
    (link,) = view.context.document.document.topology.links()
    assert view.context.selection == {link.id}
    QTest.keyClick(view, Qt.Key.Key_Delete)
    assert link_kinds(view) == []
    view.context.document.undo_stack.undo()
    assert view.context.document.document.topology.links() == (link,)


def test_a_click_on_a_tray_selects_it_and_a_drag_moves_all_in_it(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=2)
    before = layout(view)
    index = view.scene_data.index
    x0, _, _, y1 = index.hull[index.container_row["node01"]]
    title = hand.pixel((x0 + 20, y1 - 12))
    hand.click(title)
    assert view.context.selection == {"node01"}
    hand.drag(title, title + QPoint(60, 40))
    after = layout(view)
    moved = {name for name in before if after[name] != before[name]}
    assert moved == {name for name in before if name.startswith("node01.")}
    ways = {(after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in moved}
    assert len(ways) == 1
    view.context.document.undo_stack.undo()
    assert layout(view) == before


# Moving and copying


def test_a_drag_moves_the_selection_on_the_grid_and_undoes(view: CanvasView, hand: Hand, put: Put) -> None:
    put("leaf0", DeviceKind.LEAF, 0, 0)
    put("leaf1", DeviceKind.LEAF, 210, 10)
    view.context.set_selection(("leaf0", "leaf1"))
    hand.drag(hand.at("leaf0"), hand.pixel((37, 55)))
    assert layout(view) == {"leaf0": (40.0, 60.0), "leaf1": (250.0, 70.0)}
    assert steps(view) == 3
    view.context.document.undo_stack.undo()
    assert layout(view) == {"leaf0": (0.0, 0.0), "leaf1": (210.0, 10.0)}
    assert view.scene_data.index.centre.tolist() == [[0.0, 0.0], [210.0, 10.0]]
    view.context.document.undo_stack.redo()
    assert layout(view)["leaf1"] == (250.0, 70.0)


def test_escape_puts_a_drag_back(view: CanvasView, hand: Hand, put: Put) -> None:
    put("leaf0", DeviceKind.LEAF, 0, 0)
    hand.drag(hand.at("leaf0"), hand.pixel((120, 80)), release=False)
    assert view.scene_data.index.centre.tolist() == [[120.0, 80.0]]
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=hand.pixel((120, 80)))
    assert layout(view) == {"leaf0": (0.0, 0.0)}
    assert view.scene_data.index.centre.tolist() == [[0.0, 0.0]]
    assert steps(view) == 1


@pytest.mark.parametrize("key", [CONTROL, ALT])
def test_a_drag_with_control_or_alt_copies_with_the_links_inside(
    view: CanvasView, hand: Hand, put: Put, key: Qt.KeyboardModifier
) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    put("nvs0", DeviceKind.NVLINK_SWITCH, 0, 140)
    view.context.set_tool("connect")
    hand.drag(hand.at("gpu0"), hand.at("nvs0"))
    view.context.set_tool("select")
    view.context.set_selection(("gpu0", "nvs0"))
    before = steps(view)
    hand.drag(hand.at("gpu0"), hand.pixel((200, 0)), modifiers=key)
    assert layout(view) == {
        "gpu0": (0.0, 0.0),
        "nvs0": (0.0, 140.0),
        "gpu1": (200.0, 0.0),
        "nvs1": (200.0, 140.0),
    }
    assert {(link.a, link.b) for link in view.context.document.document.topology.links()} == {
        ("gpu0", "nvs0"), ("gpu1", "nvs1"),
    }  # fmt: skip
    assert view.context.selection == {"gpu1", "nvs1"}
    assert steps(view) == before + 1


def test_control_and_drag_on_what_is_not_chosen_copies_that_alone(
    view: CanvasView, hand: Hand, put: Put
) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    put("leaf0", DeviceKind.LEAF, 200, 0)
    view.context.set_selection(("leaf0",))
    hand.drag(hand.at("gpu0"), hand.at("gpu0", dy=160), modifiers=CONTROL)
    assert layout(view) == {"gpu0": (0, 0), "leaf0": (200, 0), "gpu1": (0, 160)}


def test_copy_and_paste_by_keys_brings_the_links(view: CanvasView, hand: Hand, put: Put) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    put("nvs0", DeviceKind.NVLINK_SWITCH, 0, 140)
    view.context.set_tool("connect")
    hand.drag(hand.at("gpu0"), hand.at("nvs0"))
    view.context.set_selection(("gpu0", "nvs0"))
    QTest.keyClick(view, Qt.Key.Key_C, CONTROL)
    QTest.keyClick(view, Qt.Key.Key_V, CONTROL)
    assert set(layout(view)) == {"gpu0", "nvs0", "gpu1", "nvs1"}
    assert len(link_kinds(view)) == 2
    view.context.document.undo_stack.undo()
    assert set(layout(view)) == {"gpu0", "nvs0"}


def test_delete_and_undo_bring_back_the_same(view: CanvasView, hand: Hand, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=1)
    document = view.context.document.document
    before = document.checksum()
    view.context.set_selection(("node00.gpu3", "leaf0"))
    QTest.keyClick(view, Qt.Key.Key_Delete)
    assert not document.topology.has_device("node00.gpu3")
    assert "node00.gpu3" not in view.scene_data.index.device_row
    view.context.document.undo_stack.undo()
    assert document.checksum() == before
    assert "node00.gpu3" in view.scene_data.index.device_row


def test_arrows_nudge(view: CanvasView, put: Put) -> None:
    put("leaf0", DeviceKind.LEAF, 0, 0)
    view.context.set_selection(("leaf0",))
    QTest.keyClick(view, Qt.Key.Key_Right)
    QTest.keyClick(view, Qt.Key.Key_Up, SHIFT)
    assert layout(view) == {"leaf0": (1.0, -20.0)}
    assert steps(view) == 3


def test_tab_goes_along_links(view: CanvasView, hand: Hand, put: Put) -> None:
    put("nic0", DeviceKind.NIC, 0, 0)
    put("leaf0", DeviceKind.LEAF, 0, -160)
    view.context.set_tool("connect")
    hand.drag(hand.at("nic0"), hand.at("leaf0"))
    view.context.set_selection(("nic0",))
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert view.context.selection == {"leaf0"}


# Painting


def test_a_sweep_paints_the_gpus_under_it_as_one_step(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=1)
    context = view.context
    context.set_tool("paint")
    context.set_colour_by("pp")
    context.set_brush(2)
    before = steps(view)
    hand.drag(hand.at("node00.gpu1"), hand.at("node00.gpu4"))
    painted = {f"node00.gpu{number}" for number in range(1, 5)}
    paint = context.document.document.paint
    assert {gpu: paint.group(gpu, "pp") for gpu in paint} == dict.fromkeys(painted, 2)
    assert steps(view) == before + 1
    index, look = view.scene_data.index, view.scene_data.gpus
    shown = {
        index.device_ids[row] for row, group in zip(index.gpu_rows, look.group, strict=True) if group == 2
    }
    assert shown == painted
    context.set_brush(None)
    hand.click(hand.at("node00.gpu1"))
    assert set(context.document.document.paint) == painted - {"node00.gpu1"}
    context.document.undo_stack.undo()
    context.document.undo_stack.undo()
    assert not context.document.document.paint


def test_digits_choose_the_brush_and_escape_cancels_a_sweep(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=1)
    view.context.set_tool("paint")
    QTest.keyClick(view, Qt.Key.Key_3)
    assert view.context.brush == 3
    before = steps(view)
    hand.drag(hand.at("node00.gpu1"), hand.at("node00.gpu4"), release=False)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=hand.at("node00.gpu4"))
    assert steps(view) == before


# The view


def wheel(view: CanvasView, at: QPoint, turn: QPoint, modifiers: Qt.KeyboardModifier) -> None:
    event = QWheelEvent(
        QPointF(at), view.viewport().mapToGlobal(QPointF(at)), QPoint(), turn, Qt.MouseButton.NoButton,
        modifiers, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view.viewport(), event)


def test_zooming_keeps_what_is_under_the_pointer(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=2)
    at = hand.at("node01.gpu2")
    zoom = view.zoom
    for _ in range(4):
        wheel(view, at, QPoint(0, 120), CONTROL)
    assert view.zoom == pytest.approx(zoom * 1.2**4)
    assert (hand.at("node01.gpu2") - at).manhattanLength() <= 6
    there = view.mapToScene(at)
    x, y = layout(view)["node01.gpu2"]
    assert abs(there.x() - x) * view.zoom < 6 and abs(there.y() - y) * view.zoom < 6
    for _ in range(4):
        wheel(view, at, QPoint(0, -120), CONTROL)
    assert view.zoom == pytest.approx(zoom)


def test_wheel_middle_drag_and_space_drag_pan(view: CanvasView, hand: Hand, put: Put) -> None:
    put("leaf0", DeviceKind.LEAF, 0, 0)
    start = hand.at("leaf0")
    wheel(view, QPoint(300, 300), QPoint(0, -120), Qt.KeyboardModifier.NoModifier)
    assert hand.at("leaf0") == start + QPoint(0, -60)
    wheel(view, QPoint(300, 300), QPoint(0, 120), SHIFT)
    assert hand.at("leaf0") == start + QPoint(60, -60)
    hand.drag(QPoint(300, 300), QPoint(340, 320), button=Qt.MouseButton.MiddleButton)
    assert hand.at("leaf0") == start + QPoint(100, -40)
    QTest.keyPress(view, Qt.Key.Key_Space)
    hand.drag(QPoint(300, 300), QPoint(260, 320))
    QTest.keyRelease(view, Qt.Key.Key_Space)
    assert hand.at("leaf0") == start + QPoint(60, -20)
    assert layout(view) == {"leaf0": (0.0, 0.0)}
    assert view.context.selection == frozenset()


def test_fit_shows_everything_and_shift_f_the_selection(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=4)
    whole = view.zoom
    seen = view.camera.visible()
    box = view.scene_data.index.bounds()
    assert box is not None
    assert seen[0] <= box[0] and seen[1] <= box[1] and seen[2] >= box[2] and seen[3] >= box[3]
    view.context.set_selection(("node02",))
    QTest.keyClick(view, Qt.Key.Key_F, SHIFT)
    assert view.zoom > whole * 1.2
    QTest.keyClick(view, Qt.Key.Key_1, CONTROL)
    assert view.zoom == pytest.approx(1.0)
    QTest.keyClick(view, Qt.Key.Key_F)
    assert view.zoom == pytest.approx(whole)


def test_escape_leaves_partners_selection_and_tool_in_that_order(view: CanvasView, put: Put) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    context = view.context
    context.set_tool("connect")
    context.set_selection(("gpu0",))
    context.set_partners_of("gpu0")
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert context.partners_of is None and context.selection
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert not context.selection and context.tool == "connect"
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert context.tool == "select"


def test_states_from_the_menu_are_one_step(view: CanvasView, hand: Hand, put: Put) -> None:
    from gui.canvas.menu import canvas_menu

    put("gpu0", DeviceKind.GPU, 0, 0)
    put("nvs0", DeviceKind.NVLINK_SWITCH, 0, 160)
    view.context.set_tool("connect")
    hand.drag(hand.at("gpu0"), hand.at("nvs0"))
    topology = view.context.document.document.topology
    (link,) = topology.links()
    view.context.set_selection(("gpu0", link.id))
    menu = canvas_menu(view)
    next(action for action in menu.actions() if action.text() == "Degraded").trigger()
    assert (topology.device("gpu0").state, topology.device("gpu0").speed) == (State.DEGRADED, 0.75)
    assert (topology.link(link.id).state, topology.link(link.id).share) == (State.DEGRADED, 0.75)
    view.grab()
    view.context.document.undo_stack.undo()
    assert topology.device("gpu0").state is State.UP
    assert topology.link(link.id) == link


def test_bring_into_view_centres(view: CanvasView, hand: Hand, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=4)
    view.zoom_to(1.0)
    view.context.go_to(("node03.gpu7",))
    assert view.context.selection == {"node03.gpu7"}
    middle = view.viewport().rect().center()
    assert (hand.at("node03.gpu7") - middle).manhattanLength() < 120
    assert any(box.kind is ContainerKind.TRAY for box in view.scene_data.index.containers)


def test_a_click_on_the_minimap_goes_there(view: CanvasView, hand: Hand, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=4)
    view.zoom_to(1.0)
    view.come_to_rest()
    minimap = view.overlay.minimap
    assert minimap.isVisible()
    QTest.mouseClick(
        minimap, Qt.MouseButton.LeftButton, pos=QPoint(minimap.width() - 12, minimap.height() // 2)
    )
    middle = view.viewport().rect().center()
    box = view.scene_data.index.bounds()
    assert box is not None
    # near the right edge of the drawing, where node03 stands
    assert view.camera.to_scene(QPointF(middle)).x() > box[0] + 0.85 * (box[2] - box[0])
    assert (hand.at("node03.gpu7") - middle).x() < 200
