"""Focus: the paths of a device or the route between two stay clear, and are listed as the engine has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest

from gui.canvas.menu import canvas_menu
from gui.canvas.view import CanvasView
from gui.view_commands import ViewCommands
from model.document.edits import RemoveParts
from tests.gui.canvas.conftest import Hand, NearEngine

SHIFT = Qt.KeyboardModifier.ShiftModifier


def picture(view: CanvasView) -> np.ndarray:
    image: QImage = view.frame_cache.image(view.camera, view.level, view.lit())
    pixels = np.frombuffer(image.constBits(), dtype=np.uint8)
    return pixels.reshape(image.height(), -1, 4)[..., :3].astype(int)


def focus_on(view: CanvasView, *ids: str) -> None:
    view.context.set_selection(())
    for number in range(len(ids)):
        view.context.set_selection(ids[: number + 1])
    view.commands.toggle_focus()


def test_two_selected_devices_show_the_route_in_the_order_of_the_clicks(
    analysed: CanvasView, hand: Hand
) -> None:
    hand.click(hand.at("node01.gpu2"))
    hand.click(hand.at("node00.gpu2"), modifiers=SHIFT)
    menu = canvas_menu(analysed)
    action = next(one for one in menu.actions() if one.text() == "Focus on the route between them")
    action.trigger()
    assert analysed.context.focus == ("node01.gpu2", "node00.gpu2")
    card = analysed.overlay.focus_card
    assert card.isVisible() and card.title.text() == "node01.gpu2 → node00.gpu2"
    names = [card.tree.topLevelItem(row).text(0) for row in range(card.tree.topLevelItemCount())]
    assert names == [
        "1  node01.gpu2 → pcie1", "2  node01.pcie1 → nic2", "3  node01.nic2 → leaf2",
        "4  leaf2 → node00.nic2", "5  node00.nic2 → pcie1", "6  node00.pcie1 → gpu2",
    ]  # fmt: skip
    third = card.tree.topLevelItem(2)
    assert [third.text(column) for column in (1, 2)] == ["100 %", "400G · 50.0 GB/s"]
    assert third.text(3).endswith("%")


def test_the_card_names_what_flows_and_how(analysed: CanvasView) -> None:
    focus_on(analysed, "node00.gpu2", "node02.gpu2")
    text = analysed.overlay.focus_card.note.text()
    assert text.startswith("PP activation: ")
    assert text.endswith(" a step. By the network; split evenly over equal paths.")


def test_even_routing_lists_every_spine_with_its_share(analysed: CanvasView) -> None:
    focus_on(analysed, "node00.gpu0", "node01.gpu1")
    tree = analysed.overlay.focus_card.tree
    stage = tree.topLevelItem(3)
    assert stage.text(0) == "4  leaf0 → spine0 … spine3" and stage.text(1) == "×4"
    assert [stage.child(row).text(1) for row in range(4)] == ["25.0 %"] * 4
    tree.setCurrentItem(stage.child(2))
    (link,) = analysed.context.selection
    assert analysed.context.document.document.topology.link(link).other("leaf0") == "spine2"
    assert analysed.context.focus == ("node00.gpu0", "node01.gpu1")


def test_what_is_not_on_the_route_fades(analysed: CanvasView, hand: Hand) -> None:
    camera, before = analysed.camera, picture(analysed)
    analysed.context.set_focus(("node00.gpu0", "node00.gpu4"))
    analysed.set_camera(camera)
    after = picture(analysed)
    ground = np.array(analysed.theme.color("canvas").getRgb()[:3])[::-1]
    for name, faded in (("node00.gpu0", False), ("node03.gpu5", True)):
        at = hand.at(name, 10, 24)
        old, new = before[at.y(), at.x()], after[at.y(), at.x()]
        assert (np.abs(new - ground).sum() < np.abs(old - ground).sum() * 0.5) == faded


def test_a_gpu_lists_its_partners_and_a_switch_its_links(analysed: CanvasView) -> None:
    focus_on(analysed, "node00.gpu0")
    card = analysed.overlay.focus_card
    rows = {card.tree.topLevelItem(row).text(0) for row in range(card.tree.topLevelItemCount())}
    assert rows == {"TP · 3 partners", "PP · 1 partner", "DP · 2 partners"}
    clear = analysed.focus.clear
    assert clear is not None and {"node00.gpu3", "leaf0"} <= clear.devices
    assert "node03.gpu7" not in clear.devices
    focus_on(analysed, "spine1")
    assert analysed.focus.clear is not None
    assert analysed.focus.clear.devices == {"spine1", *(f"leaf{number}" for number in range(8))}
    assert card.note.text() == "Passes on what others send, over 8 links."
    assert card.tree.topLevelItemCount() == 8


def test_escape_leaves_the_focus_before_the_selection(analysed: CanvasView) -> None:
    focus_on(analysed, "node00.gpu0", "node01.gpu0")
    QTest.keyClick(analysed, Qt.Key.Key_Escape)
    assert analysed.context.focus == () and analysed.context.selection
    assert not analysed.overlay.focus_card.isVisible() and analysed.focus.clear is None


def test_the_same_command_leaves_it_and_too_many_are_said(analysed: CanvasView) -> None:
    said: list[str] = []
    analysed.context.said.connect(said.append)
    focus_on(analysed, "node00.gpu0")
    analysed.commands.toggle_focus()
    assert analysed.context.focus == ()
    analysed.context.set_selection(("node00.gpu0", "node00.gpu1", "node00.gpu2"))
    ViewCommands(analysed.context).toggle_focus()
    assert said == ["Select one device to see its paths, or two to see the route between them."]


def test_no_way_is_said_on_the_card(analysed: CanvasView) -> None:
    focus_on(analysed, "node00.gpu0", "leaf3")
    card = analysed.overlay.focus_card
    assert card.note.text() == "leaf3 only passes bytes on; choose GPUs or storage."
    assert card.tree.topLevelItemCount() == 0


def test_removing_what_is_in_focus_leaves_it(analysed: CanvasView) -> None:
    focus_on(analysed, "node00.gpu0")
    analysed.context.document.push(RemoveParts(("node00.gpu0",)), "Delete")
    assert analysed.context.focus == () and not analysed.overlay.focus_card.isVisible()


def test_a_focus_is_seen_far_out_too(view: CanvasView, load: Callable[..., None]) -> None:
    load("leaf-spine")
    view.zoom_to(0.08)
    view.come_to_rest()
    plain = picture(view)
    spine = next(device.id for device in view.scene_data.index.devices if device.kind == "spine")
    view.context.set_focus((spine,))
    view.zoom_to(0.08)
    view.come_to_rest()
    assert view.painter.far is not None
    assert not np.array_equal(picture(view), plain)


def test_the_card_leaves_the_drawing_the_larger_part_and_cuts_no_words(analysed: CanvasView) -> None:
    analysed.resize(700, 440)
    focus_on(analysed, "node00.gpu0", "leaf3")
    card, note = analysed.overlay.focus_card, analysed.overlay.focus_card.note
    assert analysed.overlay.right_inset() == card.width() + 12 < 350
    analysed.grab()
    assert note.height() >= note.heightForWidth(note.width())
    analysed.fit()
    box = analysed.scene_data.index.bounds()
    assert box is not None
    assert analysed.camera.to_view(QPointF(box[2], box[1])).x() < card.x()


def test_a_stopped_engine_is_said(analysed: CanvasView, engine: NearEngine) -> None:
    engine.running = False
    focus_on(analysed, "node00.gpu0")
    assert analysed.overlay.focus_card.note.text() == "The engine has stopped; the next edit starts it again."
