"""The rack elevation under the hand: dragging, keys, refusals, selection, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from gui.dialogs.put_into_racks import PutIntoRacksDialog
from gui.panels.rack_elevation import RackElevationPanel
from gui.panels.rack_geometry import SMALLEST_U
from gui.panels.rack_rows import RackFloor, ThingLoads
from gui.panels.rack_view import RackView
from model.document.document import Document
from model.document.edits import AddParts, Edit, Load, RemoveParts, Rename, SetFields
from model.document.start import document_from
from model.step.report import Analysis
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind
from tests.counting import calls
from topology_templates.registry import build

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def hall() -> Document:
    """Racks A2 (node03 at U 1–2, node07 at U 12–13) and A3 (empty), a switch in no rack."""
    boxes = [
        Container("A2", ContainerKind.RACK, height_u=20.0),
        Container("A3", ContainerKind.RACK, height_u=20.0, power_w=5000.0),
        Container("node03", ContainerKind.TRAY, parent="A2", u=1, height_u=2.0, power_w=1000.0),
        Container("node07", ContainerKind.TRAY, parent="A2", u=12, height_u=2.0, power_w=6000.0),
    ]
    devices = [
        Device("node03.gpu0", DeviceKind.GPU, "h100-sxm", parent="node03"),
        Device("leaf0", DeviceKind.LEAF, "sn5600"),
    ]
    return Document(Topology(devices, (), boxes), name="hall")


@pytest.fixture
def panel(qtbot: QtBot, empty_context: AppContext) -> RackElevationPanel:
    empty_context.document.set_document(hall())
    made = RackElevationPanel(empty_context)
    qtbot.addWidget(made)
    made.resize(700, 560)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    made.view.setFocus()
    return made


def middle(view: RackView, ident: str) -> QPoint:
    room = view.room_of(ident)
    assert room is not None
    return room.center().toPoint()


def unit(view: RackView, rack: str, u: int) -> QPoint:
    box = view.geometry_.rack(rack)
    assert box is not None
    return (box.unit(u).center() - view.shown_area().topLeft()).toPoint()


def drag(qtbot: QtBot, view: RackView, start: QPoint, end: QPoint, *, release: bool = True) -> None:
    port = view.viewport()
    qtbot.mousePress(port, LEFT, NONE, start)
    qtbot.mouseMove(port, start + QPoint(4, 12))
    for step in (0.5, 1.0):
        qtbot.mouseMove(port, start + (end - start) * step)
    if release:
        qtbot.mouseRelease(port, LEFT, NONE, end)


def where(context: AppContext, ident: str) -> tuple[str | None, int | None]:
    topology = context.document.document.topology
    thing = topology.container(ident) if topology.has_container(ident) else topology.device(ident)
    return thing.parent, thing.u


@pytest.fixture
def said(empty_context: AppContext) -> list[str]:
    heard: list[str] = []
    empty_context.said.connect(heard.append)
    return heard


def test_a_tray_is_dragged_to_another_u_and_rack_in_one_step(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context, view = panel.context, panel.view
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 7))
    assert where(context, "node03") == ("A3", 7)
    assert context.document.undo_stack.count() == 1
    assert context.document.undo_stack.undoText() == "Move node03 to U 7 of A3"
    assert context.selection == {"node03"}
    context.document.undo_stack.undo()
    assert where(context, "node03") == ("A2", 1)
    # Grabbed at its upper U, that one follows the pointer.
    drag(qtbot, view, unit(view, "A2", 2), unit(view, "A2", 6))
    assert where(context, "node03") == ("A2", 5)


def test_what_does_not_fit_says_why_and_moves_nothing(
    qtbot: QtBot, panel: RackElevationPanel, said: list[str]
) -> None:
    context, view = panel.context, panel.view
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A2", 12), release=False)
    assert view.drag is not None and view.drag.target is not None
    reason = "node03 and node07 would both be in U 12 of rack A2."
    assert view.drag.target.refused == reason
    view.grab()  # the reason is painted at the pointer
    qtbot.mouseRelease(view.viewport(), LEFT, NONE, unit(view, "A2", 12))
    assert said == [reason]
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 20))
    assert said[1:] == ["node03 would be in U 20–21 of rack A3, which has 20 U."]
    assert where(context, "node03") == ("A2", 1)
    assert context.document.undo_stack.count() == 0


def test_escape_ends_a_drag(qtbot: QtBot, panel: RackElevationPanel) -> None:
    view = panel.view
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 7), release=False)
    assert view.drag is not None
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.drag is None
    qtbot.mouseRelease(view.viewport(), LEFT, NONE, unit(view, "A3", 7))
    assert panel.context.document.undo_stack.count() == 0
    assert panel.context.selection == {"node03"}


def test_several_keep_their_distance(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context, view = panel.context, panel.view
    context.set_selection({"node03", "node07"})
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 3))
    assert (where(context, "node03"), where(context, "node07")) == (("A3", 3), ("A3", 14))
    assert context.document.undo_stack.undoText() == "Move 2 things to U 3 of A3"


def test_a_switch_comes_into_a_rack_and_out_again(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context, view = panel.context, panel.view
    drag(qtbot, view, middle(view, "leaf0"), unit(view, "A3", 19))
    assert where(context, "leaf0") == ("A3", 19)
    assert context.document.document.topology.device("leaf0").height_u == 2.0
    port = view.viewport().rect()
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    target = view.geometry_.loose.center() - view.shown_area().topLeft()
    assert port.contains(target.toPoint())
    drag(qtbot, view, unit(view, "A3", 19), target.toPoint())
    assert where(context, "leaf0") == (None, None)
    assert context.document.undo_stack.undoText() == "Take leaf0 out of the rack"


def test_arrows_move_by_one_u_and_stop_at_what_is_in_the_way(
    qtbot: QtBot, panel: RackElevationPanel, said: list[str]
) -> None:
    context, view = panel.context, panel.view
    context.set_selection({"node03"})
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert where(context, "node03") == ("A2", 2)
    qtbot.keyClick(view, Qt.Key.Key_Up, SHIFT)
    assert where(context, "node03") == ("A2", 7)
    for _ in range(3):
        qtbot.keyClick(view, Qt.Key.Key_Up)
    assert where(context, "node03") == ("A2", 10)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert where(context, "node03") == ("A2", 10) and "both be in U 12" in said[-1]
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert where(context, "node03") == ("A3", 10)
    qtbot.keyClick(view, Qt.Key.Key_Down, SHIFT)
    assert where(context, "node03") == ("A3", 5)


def test_ctrl_and_arrows_walk_and_enter_shows_on_the_drawing(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context, view = panel.context, panel.view
    gone: list[tuple[str, ...]] = []
    context.went_to.connect(gone.append)
    qtbot.keyClick(view, Qt.Key.Key_Up)  # nothing is selected: the first
    assert context.selection == {"node03"}
    qtbot.keyClick(view, Qt.Key.Key_Up, CONTROL)
    assert context.selection == {"node07"}
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert gone == [("node07",)]
    qtbot.keyClick(view, Qt.Key.Key_Right, CONTROL)
    assert context.selection == {"A2"}
    assert context.document.undo_stack.count() == 0


def test_clicks_select_and_a_double_click_goes_to_the_drawing(
    qtbot: QtBot, panel: RackElevationPanel
) -> None:
    context, view = panel.context, panel.view
    gone: list[tuple[str, ...]] = []
    context.went_to.connect(gone.append)
    port = view.viewport()
    qtbot.mouseClick(port, LEFT, NONE, unit(view, "A2", 12))
    assert context.selection == {"node07"}
    qtbot.mouseClick(port, LEFT, CONTROL, unit(view, "A2", 1))
    assert context.selection == {"node03", "node07"}
    qtbot.mouseClick(port, LEFT, NONE, unit(view, "A3", 4))
    assert context.selection == frozenset()
    box = view.geometry_.rack("A3")
    assert box is not None
    qtbot.mouseClick(port, LEFT, NONE, QPoint(int(box.hull.left()) + 30, int(box.hull.top()) - 20))
    assert context.selection == {"A3"}
    qtbot.mouseDClick(port, LEFT, NONE, unit(view, "A2", 12))
    assert gone == [("node07",)]


def test_what_is_selected_elsewhere_lights_its_tray(qtbot: QtBot, panel: RackElevationPanel) -> None:
    panel.context.set_selection({"node03.gpu0"})
    assert panel.view.look.holds_chosen == {"node03"}
    assert panel.view.look.chosen == {"node03.gpu0"}


def test_the_menu_offers_what_can_be_done(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context = panel.context
    context.set_selection({"node07"})
    menu = panel.view.commands.menu()
    actions = {action.text(): action for action in menu.actions()}
    actions["Move to the lowest free U"].trigger()
    assert where(context, "node07") == ("A2", 3)
    actions["Take out of the rack"].trigger()
    assert where(context, "node07") == (None, None)
    context.set_selection(())
    disabled = {action.text() for action in panel.view.commands.menu().actions() if not action.isEnabled()}
    assert {"Take out of the rack", "Show on the drawing"} <= disabled


def test_a_power_shelf_comes_to_the_free_u_that_was_clicked(
    qtbot: QtBot, panel: RackElevationPanel, said: list[str]
) -> None:
    context = panel.context
    actions = {action.text(): action for action in panel.view.commands.menu("A2", 8).actions()}
    actions["Add a power shelf"].trigger()
    assert context.selection == {"A2.power-shelf0"}
    shelf = context.document.document.topology.container("A2.power-shelf0")
    assert (shelf.parent, shelf.u, shelf.height_u, shelf.power_w) == ("A2", 8, 1.0, 100.0)
    panel.view.commands.add_power_shelf("A2")
    assert where(context, "A2.power-shelf1") == ("A2", 3)
    panel.view.commands.add_power_shelf("A2", 12)
    assert said == ["A2.power-shelf2 and node07 would both be in U 12 of rack A2."]
    for _ in range(14):
        panel.view.commands.add_power_shelf("A2")
    panel.view.commands.add_power_shelf("A2")
    assert said[1:] == ["A2 has no free U for a power shelf."]


def test_tips_say_height_power_and_weight(qtbot: QtBot, panel: RackElevationPanel) -> None:
    view = panel.view
    assert view.tip_at(unit(view, "A2", 1)) == "node03\nU 1 to 2 · 2 U\npower 1.00 kW, weight —\n1 GPU"
    box = view.geometry_.rack("A3")
    assert box is not None
    head = QPointF(box.hull.left() + 20, box.hull.top() - 20) - view.shown_area().topLeft()
    assert view.tip_at(head.toPoint()) == "rack A3\n20 of 20 U free\npower 0 of 5.00 kW, weight — kg"


def test_a_rack_that_may_draw_too_much_says_so(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context, view = panel.context, panel.view
    drag(qtbot, view, unit(view, "A2", 12), unit(view, "A3", 3))
    totals = view.floor.face("A3").totals
    assert (totals.power_w, totals.power_limit_w) == (6000.0, 5000.0)
    error = context.theme.current.color("error")
    picture = view.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    assert near(picture, error.rgb()) > 5


def near(picture: QImage, rgb: int) -> int:
    """How many pixels have about a colour."""
    pixels = (
        np.frombuffer(picture.constBits(), np.uint8).reshape(picture.height(), -1, 4)[..., :3].astype(int)
    )
    wanted = np.array([rgb & 255, rgb >> 8 & 255, rgb >> 16 & 255])
    return int((np.abs(pixels - wanted).sum(axis=2) < 30).sum())


def test_the_empty_state_puts_a_drawing_into_racks(qtbot: QtBot, empty_context: AppContext) -> None:
    empty_context.document.set_document(document_from(build("hgx-b200", {"nodes": 4})))
    panel = RackElevationPanel(empty_context)
    qtbot.addWidget(panel)
    panel.resize(500, 500)
    panel.show()
    assert panel.stack.currentIndex() == 1 and panel.begin.isVisible()
    qtbot.mouseClick(panel.begin, LEFT)
    dialog = panel.window().findChild(PutIntoRacksDialog)
    assert dialog is not None
    dialog.gap.setValue(1)
    dialog.first.setValue(2)
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert panel.stack.currentIndex() == 0
    assert [where(empty_context, f"node0{number}")[1] for number in range(4)] == [2, 13, 24, 35]
    assert empty_context.document.undo_stack.count() == 1
    empty_context.document.undo_stack.undo()
    assert panel.stack.currentIndex() == 1


def test_the_dialog_says_what_cannot_be(qtbot: QtBot, empty_context: AppContext) -> None:
    empty_context.document.set_document(hall())
    empty_context.set_selection({"node03"})
    dialog = PutIntoRacksDialog(empty_context)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.what.currentData() == "all" and dialog.make_button.isEnabled()
    assert dialog.note.text().startswith("1 thing into 1 rack")
    dialog.first.setValue(48)
    assert not dialog.make_button.isEnabled()
    assert dialog.note.text() == "leaf0 does not fit above U 47 of 48 U."
    dialog.reject()
    assert empty_context.document.undo_stack.count() == 0


def test_an_empty_drawing_says_the_next_act(qtbot: QtBot, empty_context: AppContext) -> None:
    panel = RackElevationPanel(empty_context)
    qtbot.addWidget(panel)
    panel.show()
    assert panel.stack.currentIndex() == 1 and not panel.begin.isVisible()
    empty_context.document.push(AddParts(containers=(Container("r", ContainerKind.RACK),)), "Add")
    assert panel.stack.currentIndex() == 0
    assert panel.view.floor.racks == ("r",)


def test_only_what_is_in_view_is_painted(qtbot: QtBot, empty_context: AppContext) -> None:
    """256 racks cost about what a few do: a face is made only for a rack that is painted."""
    racks = [Container(f"r{number:03d}", ContainerKind.RACK) for number in range(256)]
    trays = [
        Container(f"t{number:03d}", ContainerKind.TRAY, parent=f"r{number:03d}", u=1) for number in range(256)
    ]
    empty_context.document.set_document(Document(Topology((), (), [*racks, *trays])))
    panel = RackElevationPanel(empty_context)
    qtbot.addWidget(panel)
    panel.resize(700, 560)
    panel.show()
    panel.view.viewport().grab()
    assert 1 <= len(panel.view.floor._faces) <= 6
    panel.view.viewport().grab()
    first = calls(panel.view.viewport().grab)
    panel.view.set_zoom(3.0)
    panel.view.viewport().grab()
    assert len(panel.view.floor._faces) < 60
    assert calls(panel.view.viewport().grab) < 20 * first


def test_zoom_keeps_what_is_under_the_pointer(qtbot: QtBot, panel: RackElevationPanel) -> None:
    view = panel.view
    at = QPointF(unit(view, "A3", 3))
    assert view.rack_at(at) is not None
    view.set_zoom(25.0, at)
    box = view.rack_at(at)
    assert box is not None and box.id == "A3"
    view.fit()
    assert SMALLEST_U < view.u_px < 30
    qtbot.keyClick(view, Qt.Key.Key_Minus)
    assert view.u_px < 30


def test_loads_are_those_of_the_busiest_link(
    qtbot: QtBot, context: AppContext, mixtral: Analysis, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    """Against a plain loop over all links."""
    report = mixtral.report
    assert report is not None
    topology = context.document.document.topology
    floor = RackFloor(topology)
    found = ThingLoads(floor, report).at("peak", 0.0)
    worst: dict[str, float] = {}
    for place, ident in enumerate(report.fabric.link_ids):
        link = topology.link(ident)
        ends = {floor.owner_of(link.a), floor.owner_of(link.b)}
        load = float(report.peak_utilisation[2 * place : 2 * place + 2].max())
        for end in ends if len(ends) > 1 else ():
            worst[end or ""] = max(worst.get(end or "", 0.0), load)
    assert {name: load for name, load in found.items() if name} == pytest.approx(worst)
    assert found["node00"] > 0.2


def test_a_hidden_panel_works_when_it_is_shown(qtbot: QtBot, empty_context: AppContext) -> None:
    panel = RackElevationPanel(empty_context)
    qtbot.addWidget(panel)
    empty_context.document.set_document(hall())
    assert panel.view.floor.racks == ()
    panel.show()
    assert panel.view.floor.racks == ("A2", "A3")
    panel.hide()
    empty_context.document.push(SetFields("container", ("node03",), {"u": 5}), "Move")
    panel.show()
    assert panel.view.floor.face("A2").placed[0].units == range(5, 7)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_stand_out_in_both_themes(qtbot: QtBot, panel: RackElevationPanel, theme: str) -> None:
    panel.context.theme.set_choice(theme)
    box = panel.view.geometry_.rack("A2")
    assert box is not None
    picture = panel.view.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    assert near(picture, panel.context.theme.current.color("text").rgb()) > 20
    assert near(picture, panel.context.theme.current.color("canvas").rgb()) > 1000


def test_an_edit_during_a_drag_ends_it(qtbot: QtBot, panel: RackElevationPanel) -> None:
    view = panel.view
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 7), release=False)
    gone = replace(panel.context.document.document.topology.container("node03"), label="x")
    panel.context.document.push(SetFields("container", ("node03",), {"label": gone.label}), "Label")
    assert view.drag is None
    qtbot.mouseRelease(view.viewport(), LEFT, NONE, unit(view, "A3", 7))
    assert panel.context.document.undo_stack.count() == 1


@pytest.mark.parametrize(
    "edit", [Rename("container", "A3", "B3"), RemoveParts(container_ids=("A3",)), Load(Document())]
)
def test_the_rack_under_a_drag_is_renamed_or_goes(
    qtbot: QtBot, panel: RackElevationPanel, edit: Edit
) -> None:
    context, view = panel.context, panel.view
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 7), release=False)
    at = unit(view, "A3", 7)
    context.document.push(edit, "Edit")
    after = context.document.document.checksum()
    assert view.drag is None
    qtbot.mouseMove(view.viewport(), at)
    qtbot.mouseRelease(view.viewport(), LEFT, NONE, at)
    view.grab()
    assert context.document.document.checksum() == after
    context.document.undo_stack.undo()
    assert where(context, "node03") == ("A2", 1)


def test_undo_during_a_drag_ends_it(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context, view = panel.context, panel.view
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 7))
    drag(qtbot, view, unit(view, "A3", 7), unit(view, "A3", 3), release=False)
    at = unit(view, "A3", 3)
    context.document.undo_stack.undo()
    qtbot.mouseRelease(view.viewport(), LEFT, NONE, at)
    assert where(context, "node03") == ("A2", 1)
    assert not context.document.undo_stack.canUndo()


def test_a_theme_during_a_drag_leaves_it_going(qtbot: QtBot, panel: RackElevationPanel) -> None:
    context, view = panel.context, panel.view
    drag(qtbot, view, unit(view, "A2", 1), unit(view, "A3", 7), release=False)
    context.theme.set_choice("dark")
    context.theme.apply()
    view.grab()
    qtbot.mouseRelease(view.viewport(), LEFT, NONE, unit(view, "A3", 7))
    assert where(context, "node03") == ("A3", 7)
