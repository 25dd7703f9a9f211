"""Brushes, erasing, conflicts and partners under the hand."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from gui.panels.placement import PlacementPanel
from model.document.edits import Assign
from model.step.report import Analysis


def shown(qtbot: QtBot, context: AppContext) -> PlacementPanel:
    panel = PlacementPanel(context)
    qtbot.addWidget(panel)
    panel.resize(348, 420)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    return panel


def click_brush(qtbot: QtBot, panel: PlacementPanel, number: int) -> None:
    view = panel.brushes
    rect = view.visualRect(view.brushes.index(number))
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center() - QPoint(4, 4))


def test_segments_choose_what_colours(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    qtbot.mouseClick(panel.dimension.button("pp"), Qt.MouseButton.LeftButton)
    assert context.colour_by == "pp"
    table = panel.brushes.brushes.table
    assert table is not None and len(table) == 4
    assert (table.brush(1).name, table.brush(1).holds) == ("Stage 1", "layers 8–15")
    assert panel.summary.text() == "8 each · 0 unplaced"
    context.set_colour_by("dp")
    assert panel.dimension.value == "dp"


def test_a_brush_takes_up_the_paint_tool(qtbot: QtBot, context: AppContext) -> None:
    context.set_colour_by("pp")
    panel = shown(qtbot, context)
    click_brush(qtbot, panel, 2)
    assert (context.tool, context.brush) == ("paint", 2)
    qtbot.mouseClick(panel.erase, Qt.MouseButton.LeftButton)
    assert (context.tool, context.brush) == ("paint", None)
    click_brush(qtbot, panel, 3)
    assert not panel.erase.isChecked() and context.brush == 3
    panel.brushes.setFocus()
    panel.brushes.setCurrentIndex(panel.brushes.brushes.index(0))
    qtbot.keyClick(panel.brushes, Qt.Key.Key_Return)
    assert context.brush == 0


def test_assign_all_takes_every_colour_away_as_one_edit(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    assert not panel.assign_all.isEnabled()
    context.document.push(Assign("pp", 1, ("node00.gpu0", "node00.gpu1")), "Paint")
    assert panel.assign_all.isEnabled()
    qtbot.mouseClick(panel.assign_all, Qt.MouseButton.LeftButton)
    assert len(context.document.document.paint) == 0
    assert context.document.undo_stack.count() == 2
    context.document.undo_stack.undo()
    assert context.document.document.paint.group("node00.gpu1", "pp") == 1


def test_conflicts_are_listed_and_select_their_gpus(
    qtbot: QtBot, context: AppContext, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    panel = shown(qtbot, context)
    assert not panel.conflicts.isVisible()
    # All eight ranks of stage 1 are held by unpainted GPUs of node01: a ninth GPU does not fit.
    context.document.push(Assign("pp", 1, ("node00.gpu0",)), "Paint")
    reanalyse(context)
    assert panel.report is not None and panel.report.placement.conflicts
    assert panel.conflicts.isVisible()
    rect = panel.conflicts.visualRect(panel.conflicts.rows.index(0))
    qtbot.mouseClick(panel.conflicts.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert "node00.gpu0" in context.selection
    assert "1 unplaced" in panel.summary.text()


def test_a_brush_says_once_how_many_gpus_it_has(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    context.set_colour_by("dp")  # pp 4 of 32 GPUs: a replica is one GPU of each of four nodes
    index = panel.brushes.brushes.index(1)
    assert panel.brushes.brushes.data(index, Qt.ItemDataRole.ToolTipRole) == "Replica 1: 4 GPUs"


def test_partners_of_the_selected_gpu(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    assert not panel.partners.isVisible()
    context.set_selection({"node00.gpu3"})
    assert panel.partners.isVisible()
    # pp 4 of 32 GPUs in Megatron order: the same place in every node.
    row = panel.partners.rows["pp"]
    assert row.accessibleName() == (
        "Partners in PP, in stage 0, with node01.gpu3 (1), node02.gpu3 (2), node03.gpu3 (3)"
    )
    qtbot.mouseClick(panel.partners.show_them, Qt.MouseButton.LeftButton)
    assert context.partners_of == "node00.gpu3"
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    assert context.selection == {f"node0{n}.gpu3" for n in range(4)}
    assert not panel.partners.rows["tp"].isEnabled()


def test_many_brushes_scroll(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    context.set_colour_by("tp")  # tp 1: every one of 32 GPUs is a group
    view = panel.brushes
    assert view.brushes.rowCount() == 32
    qtbot.waitUntil(lambda: view.verticalScrollBar().maximum() > 0)
    rects = [view.visualRect(view.brushes.index(number)) for number in range(12)]
    columns = {rect.left() for rect in rects}
    assert len(columns) >= 3 and len({rect.top() for rect in rects}) > 1
    assert max(rect.right() for rect in rects) <= view.viewport().width()


def test_empty_drawing(qtbot: QtBot, empty_context: AppContext) -> None:
    panel = shown(qtbot, empty_context)
    assert panel.empty.isVisible() and not panel.brushes.isVisible()
    assert panel.empty.text() == "Each group gets a colour and a brush here."
