"""The traffic of one dimension alone: links, badges, dots, legend, list and matrix show it, and say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.canvas.hover_card import card_text
from gui.canvas.view import CanvasView
from gui.context import AppContext
from gui.panels.traffic import TrafficPanel
from model.analysis import analyse
from model.document.edits import SetJob
from model.job.spec import apply_set


def test_links_show_only_what_the_dimension_puts_on_them(analysed: CanvasView) -> None:
    context, scene = analysed.context, analysed.scene_data
    whole = scene.utilisation.copy()
    shown = []
    for dimension in ("tp", "pp", "dp"):
        context.set_traffic_of(dimension)  # type: ignore[arg-type]
        shown.append(scene.utilisation.copy())
        assert scene.legend.traffic == dimension.upper()
    assert np.allclose(sum(shown), whole)
    # TP of 4 stays on NVLink: no cable between switches carries any of it.
    cables = [row for row, link in enumerate(scene.index.links) if link.kind == "infiniband"]
    assert not shown[0][cables].any() and shown[2][cables].any()
    context.set_traffic_of(None)
    assert np.array_equal(scene.utilisation, whole) and scene.legend.traffic == ""


def test_the_menu_of_the_chip_chooses_and_escape_resets(analysed: CanvasView) -> None:
    chip, context = analysed.overlay.traffic, analysed.context
    assert chip.text() == "All traffic ▾"
    chip.menu().aboutToShow.emit()
    actions = {action.text(): action for action in chip.menu().actions()}
    assert actions["Only DP"].isEnabled() and not actions["Only EP"].isEnabled()
    actions["Only DP"].trigger()
    assert context.traffic_of == "dp" and chip.text() == "Only DP ▾"
    QTest.keyClick(analysed, Qt.Key.Key_Escape)
    assert context.traffic_of is None and chip.text() == "All traffic ▾"


def test_hover_and_dots_speak_of_the_dimension(analysed: CanvasView) -> None:
    context, painter = analysed.context, analysed.painter
    context.set_traffic_of("dp")
    scene = analysed.scene_data
    row = next(row for row, link in enumerate(scene.index.links) if link.kind == "infiniband"
               and scene.utilisation[row].any())  # fmt: skip
    point = analysed.painter.curves.point(0.25)
    strand = next(s for s in range(len(painter.strands)) if row in painter.strands.members(s).tolist())
    found = analysed.hit_at(analysed.camera.to_view(_point(point[strand])))
    assert found is not None and found.kind == "strand"
    text = card_text(scene, analysed.painter.strands, found)
    assert text is not None and text.lines[-2].startswith("DP ") and " · " not in text.lines[-2]
    assert any(line.startswith("DP alone: ") for line in text.lines) and text.cost == ""


def test_list_plot_and_matrix_agree_with_the_canvas(
    qtbot: QtBot, analysed: CanvasView, context: AppContext
) -> None:
    panel = TrafficPanel(context)
    qtbot.addWidget(panel)
    assert panel.links.links.table is not None
    everything = len(panel.links.links.table)
    context.set_traffic_of("pp")
    table = panel.links.links.table
    assert table is not None and table.report is context.shown_report
    assert 0 < len(table) < everything
    assert panel.header.title.text().startswith("PP traffic")
    assert panel.plot_title.text() == "Utilisation by PP, %"
    for row in range(len(table)):
        assert table.flows(row).startswith("PP")
    context.set_traffic_of(None)
    assert len(panel.links.links.table) == everything and panel.header.title.text().startswith("Traffic")


def test_a_new_step_without_the_dimension_shows_all_again(analysed: CanvasView) -> None:
    context = analysed.context
    context.set_traffic_of("pp")
    job = apply_set(context.document.document.job, "parallel.pp=1")
    context.document.push(SetJob(job), "Job")
    context.set_analysis(replace(analyse(context.document.document), revision=context.document.revision))
    assert context.traffic_of is None
    assert analysed.scene_data.report is context.analysis.report  # type: ignore[union-attr]


def _point(xy: np.ndarray) -> object:
    from PySide6.QtCore import QPointF

    return QPointF(float(xy[0]), float(xy[1]))
