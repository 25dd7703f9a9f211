"""Links, groups, curves and matrix under the hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from gui.panels.traffic import TrafficPanel
from gui.panels.traffic_links_rows import LinkOrder, link_figures
from gui.widgets.figure import FigureLabel, figure_of
from model.document.edits import SetJob
from model.job.spec import apply_set
from model.step.report import Analysis


def shown(qtbot: QtBot, context: AppContext, width: int = 348) -> TrafficPanel:
    panel = TrafficPanel(context)
    qtbot.addWidget(panel)
    panel.resize(width, 620)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    return panel


def click_row(qtbot: QtBot, view: object, row: int) -> None:
    rect = view.visualRect(view.model().index(row, 0))  # type: ignore[attr-defined]
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())  # type: ignore[attr-defined]


def test_a_link_is_selected_and_its_equals_lit(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    table = panel.links.links.table
    assert table is not None
    click_row(qtbot, panel.links, 1)
    assert context.lit_links == set(table.link_ids(1))
    assert len(context.selection) == 1 and context.selection <= context.lit_links
    panel.links.setFocus()
    qtbot.keyClick(panel.links, Qt.Key.Key_Down)
    assert context.lit_links == set(table.link_ids(2))
    with qtbot.waitSignal(context.went_to) as went:
        qtbot.keyClick(panel.links, Qt.Key.Key_Return)
    assert went.args[0] == tuple(context.selection)


def test_a_large_report_comes_with_its_table_in_steps(
    qtbot: QtBot, context: AppContext, mixtral: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.panels.panel_kit.MANY_GPUS", 0)
    panel, before = shown(qtbot, context), context.last_report
    assert mixtral.report is not None
    other = replace(mixtral.report)
    context.set_analysis(replace(mixtral, report=other, revision=context.document.revision))
    table = panel.links.links.table
    assert panel.report is before and table is not None and table.report is before
    states = []
    while context.turns.due or len(states) < 2:
        QApplication.processEvents()
        context.turns.give_way()
        shown_table = panel.links.links.table
        assert shown_table is not None and shown_table.report is panel.report
        states.append(panel.report is other)
    assert not states[0] and states[-1]


def test_bars_follow_the_clock_and_the_mode(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    model = panel.links.links
    assert model.table is not None
    link = model.table.directed(0)
    report = model.table.report
    busy = next(k for k, state in enumerate(report.segments.state) if report.segments.rates[state, link] > 0)
    middle = float(report.segments.start_s[busy] + report.segments.end_s[busy]) / 2
    context.playback.set_time(middle)
    expected = report.segments.rates[report.segments.state[busy], link] / report.fabric.usable[link // 2]
    assert model.load(0).utilisation == pytest.approx(expected)
    assert panel.header.title.text() == f"Traffic at {middle:.3f} s"
    context.set_link_mode("peak")
    assert model.load(0).utilisation == pytest.approx(report.peak_utilisation[link])
    assert panel.header.title.text() == "Traffic, peak of the step"


def test_sorting_by_another_column(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    menu = panel.order.menu()
    action = next(action for action in menu.actions() if action.text() == LinkOrder.NAME.value)
    action.trigger()
    table = panel.links.links.table
    assert table is not None
    names = [table.title(row) for row in range(len(table))]
    assert names == sorted(names)
    assert panel.order.text().startswith("name")


def test_choosing_a_group_lights_its_links(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    qtbot.mouseClick(panel.tabs.button("groups"), Qt.MouseButton.LeftButton)
    assert panel.groups.isVisible() and not panel.links.isVisible()
    rows = panel.groups.groups.rows
    number = next(k for k, row in enumerate(rows) if row.kind == "ep.dispatch")
    click_row(qtbot, panel.groups, number)
    assert context.lit_links and all(".nvs" in link for link in context.lit_links)
    assert len(context.lit_devices) == 32
    assert "128 times a step" in panel.groups.groups.data(
        panel.groups.groups.index(number), Qt.ItemDataRole.ToolTipRole
    )


def test_curves_and_playhead(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    qtbot.waitUntil(lambda: panel.plot is not None)
    assert panel.plot is not None
    table = panel.links.links.table
    assert table is not None
    assert [name for name, _ in panel.plot.curves] == [table.title(0)]
    click_row(qtbot, panel.links, 2)
    assert [name for name, _ in panel.plot.curves] == [table.title(2)]
    context.set_selection({"node00.nic0--leaf0"})
    assert [name for name, _ in panel.plot.curves] == ["node00.nic0 → leaf0", "leaf0 → node00.nic0"]
    current = panel.links.currentIndex().row()
    assert "node00.nic0--leaf0" in table.link_ids(current)  # the list follows
    qtbot.mouseClick(panel.span.button("near"), Qt.MouseButton.LeftButton)
    context.playback.set_time(context.playback.duration_s / 2)
    qtbot.waitUntil(lambda: panel.plot is not None and panel.plot.window_s[0] > 0)
    start, end = panel.plot.window_s
    assert start < context.playback.time_s < end
    assert end - start == pytest.approx(context.playback.duration_s / 40)


def test_matrix_arrives_and_names_its_cells(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    qtbot.waitUntil(lambda: panel.matrix.map.view is not None)
    view = panel.matrix.map.view
    assert view is not None and view.matrix.shape == (32, 32)
    assert panel.matrix.map.cell_text(0, 1).startswith("node00.gpu0 → node00.gpu1: ")
    total = sum(view.by_dimension.values())
    assert view.matrix.sum() == pytest.approx(total)
    middle = panel.matrix.map.rect().center()
    event = QHelpEvent(QHelpEvent.Type.ToolTip, middle, panel.matrix.map.mapToGlobal(QPoint(0, 0)))
    QApplication.sendEvent(panel.matrix.map, event)
    assert " → " in QToolTip.text()


def test_illegal_job_keeps_the_traffic(
    qtbot: QtBot, context: AppContext, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    panel = shown(qtbot, context)
    rows = panel.links.links.rowCount()
    job = context.document.document.job
    context.document.push(SetJob(apply_set(job, "parallel.pp=3")), "x")
    assert panel.links.faint
    reanalyse(context)
    assert panel.links.links.rowCount() == rows
    assert panel.header.note.text() == "as of PP 4"
    context.document.undo_stack.undo()
    reanalyse(context)
    assert panel.header.note.text() == "" and not panel.links.faint


def test_the_chosen_link_stays_chosen(
    qtbot: QtBot, context: AppContext, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    panel = shown(qtbot, context)
    click_row(qtbot, panel.links, 3)
    (chosen,) = context.selection
    context.document.push(SetJob(apply_set(context.document.document.job, "global_batch=256")), "x")
    reanalyse(context)
    table = panel.links.links.table
    assert table is not None
    assert chosen in table.link_ids(panel.links.currentIndex().row())


def test_empty_and_both_themes(qtbot: QtBot, empty_context: AppContext, context: AppContext) -> None:
    panel = shown(qtbot, empty_context)
    assert panel.empty.isVisible() and not panel.split.isVisible()
    full = shown(qtbot, context, width=300)
    assert full.width() == 300
    light = full.grab().toImage()
    context.theme.set_choice("dark")
    qtbot.waitUntil(lambda: full.grab().toImage() != light)
    assert full.plot is None or full.grab().toImage().pixelColor(2, 2) == context.theme.current.color("panel")


def test_every_figure_of_the_panel_is_explained(qtbot: QtBot, context: AppContext) -> None:
    """Hover and F1 on rows and totals lead to the figure: what is shown, how it came about."""
    panel = shown(qtbot, context)
    table = panel.links.links.table
    assert table is not None
    tip = panel.links.links.data(panel.links.links.index(0), Qt.ItemDataRole.ToolTipRole)
    for title in ("Cost a step", "Bytes a step", "Peak utilisation", "Mean utilisation"):
        assert title in tip
    row = panel.links.visualRect(panel.links.links.index(1)).center()
    found = figure_of(panel.links.viewport(), panel.links.viewport().mapToGlobal(row))
    assert found is not None
    assert found[1].value == table.cost_s(1) and found[0] == f"Cost of {table.title(1)}"
    click_row(qtbot, panel.links, 0)
    assert figure_of(panel.links, None) == (
        f"Cost of {table.title(0)}",
        link_figures(table.report, table.directed(0))["Cost a step"],
    )
    qtbot.mouseClick(panel.tabs.button("groups"), Qt.MouseButton.LeftButton)
    click_row(qtbot, panel.groups, 2)
    exchange = panel.groups.groups.rows[2]
    found = figure_of(panel.groups, None)
    assert found is not None and found[1].value == exchange.exposed_s
    qtbot.waitUntil(lambda: panel.matrix.map.view is not None)
    view = panel.matrix.map.view
    assert view is not None
    totals = {label.accessibleName(): label.figure for label in panel.matrix.findChildren(FigureLabel)}
    assert len(totals) == 2 + sum(amount > 0 for amount in view.by_dimension.values())
    for name, figure in totals.items():
        assert figure is not None, name
        if name.startswith("Sent by EP"):
            # Every pair's bytes are some GPU's: what the exchanges send adds up to the matrix.
            assert sum(map(float, figure.inputs.values())) == pytest.approx(figure.value)
