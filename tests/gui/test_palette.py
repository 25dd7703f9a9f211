"""The palette: what it offers, what a drag carries, and the keys; edits of the edit menu."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDrag
from PySide6.QtTest import QTest

from gui.context import AppContext
from gui.edit_commands import EditCommands
from gui.panels.facts import facts
from gui.panels.palette import (
    CONTAINER_MIME,
    DEVICE_MIME,
    PALETTE,
    PalettePanel,
    container_mime,
    device_mime,
)
from gui.panels.templates import TemplatesPanel
from gui.widgets.template_tile import TEMPLATE_MIME, template_mime
from model.catalog import catalog
from model.topology.types import DeviceKind


@pytest.fixture
def panel(context: AppContext, qtbot: Any) -> PalettePanel:
    made = PalettePanel(context)
    qtbot.addWidget(made)
    made.resize(226, 480)
    made.show()
    return made


def test_every_kind_of_device_is_offered(panel: PalettePanel) -> None:
    assert set(PALETTE) == set(DeviceKind)
    assert all(tile.accessibleName() for tile in panel.tiles.values())


# Ports and rates as published: H100 18 NVLink of 25 GB/s, ConnectX-7 1 × 400G, Quantum-2 64 × 400G.
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("gpu", "18 × NVLink 4 · 450 GB/s/dir · 700 W"),
        ("nvlink-switch", "64 × NVLink 4 · 25.0 GB/s each · SHARP"),
        ("leaf", "64 × 400G · InfiniBand · SHARP v3"),
    ],
)
def test_facts_line(kind: str, text: str) -> None:
    assert facts(catalog().device(kind, catalog().default_model(kind))) == text


def test_facts_of_every_product_say_something() -> None:
    for kind in PALETTE:
        for spec in catalog().of_kind(kind).values():
            assert facts(spec)


def test_mime_says_kind_model_and_count() -> None:
    data = device_mime("gpu", "h100-sxm", 8)
    assert json.loads(bytes(data.data(DEVICE_MIME).data())) == {
        "kind": "gpu",
        "model": "h100-sxm",
        "count": 8,
    }
    assert bytes(template_mime("hgx-h100").data(TEMPLATE_MIME).data()) == b"hgx-h100"


def test_click_arms_the_place_tool(panel: PalettePanel, context: AppContext) -> None:
    panel.copies.setValue(8)
    QTest.mouseClick(panel.tiles["leaf"], Qt.MouseButton.LeftButton)
    assert (context.place_kind, context.place_model, context.place_count) == ("leaf", "qm9700", 8)
    assert context.tool == "place"
    assert panel._facts.text() == facts(catalog().device("leaf", "qm9700"))


def test_model_is_remembered_per_kind(panel: PalettePanel, context: AppContext) -> None:
    second = catalog().models_of("gpu")[1]
    panel.choose("gpu")
    panel.model.committed.emit(second)
    panel.choose("nic")
    panel.choose("gpu")
    assert context.place_model == second and panel.model.currentData() == second


def test_enter_asks_to_insert(panel: PalettePanel, context: AppContext) -> None:
    seen: list[tuple[str, str, int]] = []
    panel.insert_requested.connect(lambda kind, model, count: seen.append((kind, model, count)))
    QTest.keyClick(panel.tiles["nic"], Qt.Key.Key_Return)
    assert seen == [("nic", catalog().default_model("nic"), 1)] and context.tool == "select"


def test_dragging_carries_what_is_chosen(
    panel: PalettePanel, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried: list[dict[str, Any]] = []

    def run(drag: QDrag, *_actions: object) -> Qt.DropAction:
        carried.append(json.loads(bytes(drag.mimeData().data(DEVICE_MIME).data())))
        return Qt.DropAction.CopyAction

    monkeypatch.setattr(QDrag, "exec", run)
    tile = panel.tiles["spine"]
    QTest.mousePress(tile, Qt.MouseButton.LeftButton, pos=QPoint(10, 10))
    QTest.mouseMove(tile, QPoint(60, 40))
    assert carried == [{"kind": "spine", "model": "qm9700", "count": 1}]
    QTest.mouseRelease(tile, Qt.MouseButton.LeftButton, pos=QPoint(60, 40))
    assert context.tool == "select"


def test_filter_finds_kinds_by_name_and_by_product(panel: PalettePanel, qtbot: Any) -> None:
    QTest.keyClicks(panel.search, "quantum")
    assert [kind for kind, tile in panel.tiles.items() if tile.isVisible()] == ["leaf", "spine", "core"]
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert all(tile.isVisible() for tile in panel.tiles.values())


def test_templates_are_listed_and_filtered(context: AppContext, qtbot: Any) -> None:
    panel = TemplatesPanel(context)
    qtbot.addWidget(panel)
    panel.show()
    seen: list[str] = []
    panel.chosen.connect(seen.append)
    QTest.mouseDClick(panel.tiles["hgx-h100"], Qt.MouseButton.LeftButton)
    QTest.keyClick(panel.tiles["gb200-nvl72"], Qt.Key.Key_Return)
    assert seen == ["hgx-h100", "gb200-nvl72"]
    panel.filter("gb200 nvl72")
    shown = {ident for ident, tile in panel.tiles.items() if tile.isVisible()}
    assert "gb200-nvl72" in shown and "hgx-h100" not in shown


@pytest.fixture
def commands(drawing: AppContext) -> EditCommands:
    return EditCommands(drawing)


@pytest.mark.parametrize("name", ["duplicate", "delete", "cut", "paste", "tidy", "clear_colours"])
def test_edit_menu_do_undo_redo(commands: EditCommands, drawing: AppContext, name: str) -> None:
    from model.document.edits import Assign

    model = drawing.document
    model.push(Assign("tp", 1, ("node.gpu0",)), "paint")
    drawing.set_selection({"node.gpu0", "node.nvs0", "d"})
    commands.copy()
    before = copy.deepcopy(model.document)
    getattr(commands, name)()
    after = copy.deepcopy(model.document)
    assert not after.same_as(before)
    assert model.undo_stack.count() == 2
    model.undo_stack.undo()
    assert model.document.same_as(before)
    model.undo_stack.redo()
    assert model.document.same_as(after)


def test_copies_bring_their_inner_links_and_stand_beside(commands: EditCommands, drawing: AppContext) -> None:
    topology = drawing.document.document.topology
    drawing.set_selection({"node", "leaf0"})
    commands.copy()
    commands.paste()
    assert len(topology.devices()) == 10 and len(topology.links()) == 8
    layout = drawing.document.document.layout
    old = {"node.gpu0", "node.gpu1", "node.nvs0", "node.nic0", "leaf0"}
    # The leaf is the widest, 140 around 0; the copies' left edge lies right of it.
    assert min(layout[ident][0] for ident in layout.keys() - old) - 70 > 70
    assert drawing.selection.isdisjoint(old)
    commands.paste()
    places = list(layout.values())
    assert len(set(places)) == len(places) == 15


def test_deleting_a_container_takes_what_it_holds(commands: EditCommands, drawing: AppContext) -> None:
    said: list[str] = []
    drawing.said.connect(said.append)
    drawing.set_selection({"node"})
    commands.delete()
    assert said == ["Deleted with 4 parts inside; Ungroup keeps what is inside."]
    topology = drawing.document.document.topology
    assert [device.id for device in topology.devices()] == ["leaf0"]
    assert not topology.links() and not topology.containers() and not drawing.selection


def test_select_all_and_nothing(commands: EditCommands, drawing: AppContext) -> None:
    commands.select_all()
    assert drawing.selection == {"node", "node.gpu0", "node.gpu1", "node.nvs0", "node.nic0", "leaf0"}
    drawing.set_selection({"d"})
    said: list[str] = []
    drawing.said.connect(said.append)
    assert not commands.copy() and said


def test_containers_are_offered_and_asked_for_once(panel: PalettePanel, qtbot: Any) -> None:
    wanted: list[str] = []
    panel.container_requested.connect(wanted.append)
    assert list(panel.containers) == ["tray", "rack", "pod", "site"]
    rack = panel.containers["rack"]
    qtbot.mouseClick(rack, Qt.MouseButton.LeftButton)
    qtbot.mouseDClick(rack, Qt.MouseButton.LeftButton)
    QTest.keyClick(panel.containers["pod"], Qt.Key.Key_Return)
    assert wanted == ["rack", "pod"]
    assert bytes(container_mime("rack").data(CONTAINER_MIME).data()) == b"rack"
