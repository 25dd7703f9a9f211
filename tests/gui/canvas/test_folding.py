"""Double-clicks: containers fold and open again, what is small comes near, empty canvas asks what to add."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.canvas.levels import Level
from gui.canvas.menu import canvas_menu
from gui.canvas.quick_add import offers
from gui.canvas.view import CanvasView
from model.document.edits import RemoveParts
from model.files.project import load_project
from model.topology.types import DeviceKind
from tests.gui.canvas.conftest import Hand
from tests.gui.canvas.test_view import colours, pictured


def double_click(hand: Hand, at: QPoint) -> None:
    QTest.mouseClick(hand.port, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(hand.port, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseRelease(hand.port, Qt.MouseButton.LeftButton, pos=at)


def title_of(view: CanvasView, hand: Hand, container: str) -> QPoint:
    index = view.scene_data.index
    x0, _, _, y1 = index.hull[index.container_row[container]]
    return hand.pixel((x0 + 24, y1 - 14))


def test_a_folded_node_hides_its_devices_and_bundles_its_links(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=2)
    view.zoom_to(0.45)
    scene = view.scene_data
    before = len(view.painter.strands)
    document = view.context.document
    topology, steps = document.document.topology.checksum(), document.undo_stack.count()
    at = title_of(view, hand, "node00")
    double_click(hand, at)
    assert scene.folded == {"node00"}
    assert document.document.topology.checksum() == topology
    assert document.document.view.folds == {"node00"} and document.undo_stack.count() == steps
    strands, index = view.painter.strands, scene.index
    own = len(index.devices) + index.container_row["node00"]
    bundles = np.flatnonzero((strands.end == own).any(axis=1))
    # eight NICs to eight leaves: one bundle each; every link inside is gone
    assert len(bundles) == 8 and strands.cables[bundles].tolist() == [1] * 8
    assert len(strands) < before
    gpu = view.context.document.document.layout["node00.gpu0"]
    found = view.hit_at(hand.pixel(gpu).toPointF())
    assert found is not None and found.ids == ("node00",)
    assert index.device_row["node00.gpu0"] not in view.painter.visible_devices().tolist()
    folded = pictured(view)
    double_click(hand, at)
    assert scene.folded == frozenset()
    assert len(view.painter.strands) == before
    assert pictured(view) != folded


def test_folds_outlive_what_is_undone_around_them(view: CanvasView, load: Callable[..., None]) -> None:
    load("hgx-h100", nodes=2)
    document = view.context.document
    view.toggle_fold("node00")
    document.push(RemoveParts(container_ids=("node00",)), "Delete")
    assert view.scene_data.folded == frozenset()
    view.toggle_fold("node01")
    document.undo_stack.undo()
    assert view.scene_data.folded == {"node00", "node01"}
    document.undo_stack.redo()
    assert view.scene_data.folded == {"node01"}


def test_nested_folds_open_one_by_one_and_move_as_one(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("leaf-spine")
    commands, scene, index = view.commands, view.scene_data, view.scene_data.index
    commands.fold_kind("tray")
    commands.fold_kind("rack")
    view.zoom_to(0.5)
    trays = [one.id for one in index.containers if one.kind == "tray"]
    racks = [one.id for one in index.containers if one.kind == "rack"]
    assert scene.folded == {*trays, *racks}
    assert scene.folding.hidden[[index.container_row[tray] for tray in trays]].all()
    view.context.set_selection((racks[0],))
    commands.toggle_folds()
    inside = [index.container_row[tray.id] for tray in index.containers if tray.parent == racks[0]]
    assert not scene.folding.hidden[inside].any() and all(scene.folding.is_folded(row) for row in inside)
    before = dict(view.context.document.document.layout)
    hull = index.hull[index.container_row[racks[1]]]
    at = hand.pixel(((hull[0] + hull[2]) / 2, (hull[1] + hull[3]) / 2))
    view.context.preferences.set("snap_to_parts", False)
    hand.drag(at, at + QPoint(0, 100))
    after = view.context.document.document.layout
    moved = {name for name in before if before[name] != after[name]}
    assert moved == {index.device_ids[row] for row in index.devices_in(index.container_row[racks[1]])}
    shifts = {(after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in moved}
    assert len(shifts) == 1 and (0.0, 0.0) not in shifts
    commands.unfold_all()
    assert scene.folded == frozenset()


def test_what_there_is_none_of_is_said(view: CanvasView, load: Callable[..., None]) -> None:
    said: list[str] = []
    view.context.said.connect(said.append)
    load("hgx-h100", nodes=1)
    view.commands.fold_kind("site")
    view.context.set_selection(("leaf0",))
    view.commands.toggle_folds()
    assert said == [
        "There is no site on this drawing.", "Select trays, racks, pods or sites to fold them.",
    ]  # fmt: skip


def test_folds_are_saved_with_the_drawing(
    view: CanvasView, load: Callable[..., None], tmp_path: Path
) -> None:
    load("hgx-h100", nodes=2)
    view.commands.fold_kind("tray")
    view.context.document.save(tmp_path / "p.json")
    view.context.document.set_document(load_project(tmp_path / "p.json"))
    assert view.scene_data.folded == {"node00", "node01"}


def test_a_folded_rack_sums_what_leaves_it(view: CanvasView, hand: Hand, load: Callable[..., None]) -> None:
    load("leaf-spine")
    view.zoom_to(0.5)
    view.toggle_fold("rack00")
    index, strands = view.scene_data.index, view.painter.strands
    own = len(index.devices) + index.container_row["rack00"]
    cables = strands.cables[(strands.end == own).any(axis=1)]
    inside = np.zeros(len(index.devices), dtype=bool)
    inside[index.devices_in(index.container_row["rack00"])] = True
    leaving = inside[index.ends].sum(axis=1) == 1
    assert cables.sum() == index.cables[leaving].sum()
    assert len(cables) == 1  # 32 NICs to the one leaf of the rack


def test_going_to_a_device_opens_what_hides_it(view: CanvasView, load: Callable[..., None]) -> None:
    load("leaf-spine")
    view.toggle_fold("rack00")
    view.toggle_fold("rack01")
    inside = view.scene_data.index.devices_in(view.scene_data.index.container_row["rack00"])
    view.context.go_to((view.scene_data.index.device_ids[int(inside[0])],))
    assert view.scene_data.folded == {"rack01"}


def test_far_out_a_double_click_on_a_rack_comes_near(
    view: CanvasView, hand: Hand, load: Callable[..., None]
) -> None:
    load("hgx-h100", nodes=128)
    view.zoom_to(0.05)
    view.come_to_rest()
    assert view.painter.far is not None
    x0, y0, x1, y1 = view.painter.far.layout.tile[5].tolist()
    double_click(hand, hand.pixel(((x0 + x1) / 2, (y0 + y1) / 2)))
    assert view.level >= Level.NODES
    box = view.scene_data.index.hull[view.scene_data.index.container_row["rack05"]]
    seen = view.camera.visible()
    assert seen[0] <= box[0] and seen[1] <= box[1] and box[2] <= seen[2] and box[3] <= seen[3]


# Quick add


def test_text_finds_devices_and_templates() -> None:
    first = offers("8 h100")[0]
    assert first.placing is not None
    assert (first.placing.kind, first.placing.model, first.placing.count) == (DeviceKind.GPU, "h100-sxm", 8)
    assert any(offer.template == "hgx-h100" for offer in offers("8 h100"))
    leaf = offers("leaf")[0]
    assert leaf.placing is not None and leaf.placing.kind is DeviceKind.LEAF and leaf.placing.count == 1
    template = offers("4 hgx-h100")[0]
    assert (template.template, template.parameters) == ("hgx-h100", (("nodes", 4),))
    assert offers("x × 3") == [] and offers("") == [] and offers("0 h100") == []


def test_double_click_on_empty_canvas_places_what_is_typed(view: CanvasView, hand: Hand) -> None:
    at = hand.pixel((200, 100))
    double_click(hand, at)
    quick = view.quick_add
    assert quick.isVisible() and quick.field.hasFocus()
    QTest.keyClicks(quick.field, "3 leaf")
    QTest.keyClick(quick.field, Qt.Key.Key_Return)
    assert not quick.isVisible()
    layout = view.context.document.document.layout
    assert layout == {"leaf0": (200, 100), "leaf1": (360, 100), "leaf2": (520, 100)}
    assert view.context.selection == set(layout)
    assert view.context.document.undo_stack.count() == 1


def test_the_menu_of_the_empty_canvas_adds_there(view: CanvasView, hand: Hand) -> None:
    at = QPointF(hand.pixel((200, 100)))
    action = next(one for one in canvas_menu(view, at).actions() if one.text() == "Add here…")
    action.trigger()
    QTest.keyClicks(view.quick_add.field, "leaf")
    QTest.keyClick(view.quick_add.field, Qt.Key.Key_Return)
    assert view.context.document.document.layout == {"leaf0": (200, 100)}
    assert "Add here…" not in [one.text() for one in canvas_menu(view, at).actions()]  # leaf0 is selected


def test_what_is_offered_low_on_the_canvas_is_in_sight(view: CanvasView, hand: Hand) -> None:
    double_click(hand, QPoint(300, view.viewport().height() - 20))
    quick = view.quick_add
    QTest.keyClicks(quick.field, "h")
    assert len(quick.offers) == 6
    assert view.rect().contains(quick.geometry())


def test_quick_add_chooses_by_arrows_and_mouse_and_escapes(view: CanvasView, hand: Hand) -> None:
    double_click(hand, hand.pixel((0, 0)))
    quick = view.quick_add
    QTest.keyClicks(quick.field, "switch")
    assert len(quick.offers) > 2
    QTest.keyClick(quick.field, Qt.Key.Key_Down)
    assert quick.chosen == 1
    rows = quick.layout().itemAt(1).widget()
    QTest.mouseClick(rows, Qt.MouseButton.LeftButton, pos=QPoint(40, 13))
    assert len(view.context.document.document.topology.devices()) == 1
    double_click(hand, hand.pixel((400, 300)))
    QTest.keyClicks(quick.field, "h100")
    QTest.keyClick(quick.field, Qt.Key.Key_Escape)
    assert not quick.isVisible()
    assert view.hasFocus()
    assert len(view.context.document.document.topology.devices()) == 1


def test_quick_add_says_what_it_does_not_know(view: CanvasView, hand: Hand) -> None:
    double_click(hand, hand.pixel((0, 0)))
    QTest.keyClicks(view.quick_add.field, "warp core")
    assert view.quick_add.offers == [] and "warp core" in view.quick_add.error
    QTest.keyClick(view.quick_add.field, Qt.Key.Key_Return)
    assert view.quick_add.isVisible()
    assert view.context.document.document.topology.devices() == ()


def test_quick_add_places_a_template_at_the_point(view: CanvasView, hand: Hand, qtbot: QtBot) -> None:
    double_click(hand, hand.pixel((0, 0)))
    QTest.keyClicks(view.quick_add.field, "hgx-h100")
    QTest.keyClick(view.quick_add.field, Qt.Key.Key_Return)
    devices = view.context.document.document.topology.devices()
    assert sum(one.kind is DeviceKind.GPU for one in devices) == 8
    view.context.document.undo_stack.undo()
    assert view.context.document.document.topology.devices() == ()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_a_folded_pod_is_a_tile_far_out_too(view: CanvasView, load: Callable[..., None], name: str) -> None:
    view.context.theme.set_choice(name)
    load("llama3-24k")
    view.zoom_to(0.1)
    view.come_to_rest()
    assert view.painter.far is not None and not view.painter.far.layout.closed[1:].any()
    view.toggle_fold("pod0" if "pod0" in view.scene_data.index.container_row else "pod00")
    assert view.painter.far is not None
    assert view.painter.far.layout.closed[1:].tolist() == [True, False]
    assert view.theme.ramp(0).name() in colours(pictured(view))
