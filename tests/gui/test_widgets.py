"""The controls: one signal per change, keys, mixed values, and figures that explain themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from gui.context import AppContext
from gui.widgets.bar import Bar
from gui.widgets.elided import ElidedLabel
from gui.widgets.fields import ChoiceField, NumberField, ShareField, TextField
from gui.widgets.figure import (
    ExplainPopup,
    FigureLabel,
    derivation_html,
    figure_of,
    input_row,
    input_text,
    value_text,
)
from gui.widgets.flow import FlowLayout
from gui.widgets.search import SearchField
from gui.widgets.segmented import SegmentedControl
from gui.widgets.style import themed_icon
from model.step.report import Figure

MFU = Figure(0.319, "", "model FLOPs ÷ (time × peak FLOP/s)", {"GPUs": 32, "step": 4.142}, "PaLM, appendix B")


def test_segmented_by_keys_and_mouse(context: AppContext, qtbot: Any) -> None:
    control = SegmentedControl([("tp", "TP"), ("pp", "PP"), ("dp", "DP")], "Colour by")
    qtbot.addWidget(control)
    control.show()
    seen: list[str] = []
    control.chosen.connect(seen.append)
    QTest.keyClick(control.button("tp"), Qt.Key.Key_Right)
    QTest.keyClick(control.button("pp"), Qt.Key.Key_Left)
    QTest.keyClick(control.button("tp"), Qt.Key.Key_Left)
    QTest.mouseClick(control.button("pp"), Qt.MouseButton.LeftButton)
    assert seen == ["pp", "tp", "dp", "pp"] and control.value == "pp"
    control.set_value("tp")
    assert len(seen) == 4
    assert control.button("pp").accessibleName() == "Colour by: PP"


def test_segmented_stops_once_in_the_tab_order(context: AppContext, qtbot: Any) -> None:
    control = SegmentedControl([("a", "A"), ("b", "B")], "Choice")
    qtbot.addWidget(control)
    reached = [
        button
        for button in control.findChildren(QPushButton)
        if button.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert reached == [control.button("a")]


def test_number_is_committed_once(context: AppContext, qtbot: Any) -> None:
    field = NumberField(1, 64, "Copies")
    qtbot.addWidget(field)
    field.show()
    field.set_value(8)
    seen: list[int] = []
    field.committed.connect(seen.append)
    field.selectAll()
    QTest.keyClicks(field, "16")
    assert seen == []
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert seen == [16, 17]


def test_escape_takes_typing_back(context: AppContext, qtbot: Any) -> None:
    field = NumberField(1, 64, "Copies")
    qtbot.addWidget(field)
    field.show()
    field.set_value(8)
    field.selectAll()
    QTest.keyClicks(field, "33")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.value() == 8 and field.text() == "8"


def test_mixed_numbers_and_shares(context: AppContext, qtbot: Any) -> None:
    number, share = NumberField(1, 64, "Count"), ShareField("Share")
    for field in (number, share):
        qtbot.addWidget(field)
        field.set_value(None)
        assert field.text() == "mixed"
    counts: list[int] = []
    shares: list[float] = []
    number.committed.connect(counts.append)
    share.committed.connect(shares.append)
    number.setValue(4)
    share.setValue(75.0)
    assert (counts, shares) == ([4], [0.75])
    assert number.minimum() == 1 and share.text() == "75.0 %"


def test_choice_tells_the_value_not_the_text(context: AppContext, qtbot: Any) -> None:
    field = ChoiceField("State")
    qtbot.addWidget(field)
    field.set_options([("up", "Up"), ("down", "Down")])
    field.set_value(None)
    assert field.placeholderText() == "mixed" and field.currentIndex() == -1
    seen: list[str] = []
    field.committed.connect(seen.append)
    field.show()
    field.set_value("up")
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert seen == ["down"]


def test_text_is_committed_on_enter_and_taken_back_on_escape(context: AppContext, qtbot: Any) -> None:
    field = TextField("Name")
    qtbot.addWidget(field)
    field.show()
    field.set_value("leaf0")
    seen: list[str] = []
    field.committed.connect(seen.append)
    QTest.keyClicks(field, "x")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert seen == []
    QTest.keyClicks(field, "1")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert seen == ["leaf01"]


def test_search_escape_clears(context: AppContext, qtbot: Any) -> None:
    field = SearchField(context.theme, "Filter")
    qtbot.addWidget(field)
    field.show()
    seen: list[str] = []
    field.searched.connect(seen.append)
    QTest.keyClicks(field, "le")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert seen == ["l", "le", ""]


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure(117440512, "B", ""), "117 MB"),
        (Figure(0.0123, "s", ""), "12.3 ms"),
        (Figure(0.319, "", ""), "31.9 %"),
        (Figure(1.5, "", ""), "1.50"),
        (Figure(1234, "tokens", ""), "1,230 tokens"),
    ],
)
def test_values_have_si_units(figure: Figure, text: str) -> None:
    assert value_text(figure) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1024, "1,024"), (4.142, "4.14"), (1e-6, "1e−06"), ("TP", "TP"), (-3, "−3")]
)
def test_inputs_of_figures(value: float | str, text: str) -> None:
    assert input_text(value) == text


@pytest.mark.parametrize(
    ("name", "value", "row"),
    [
        ("time_s", 4.142, ("time", "4.14 s")),
        ("exposed_tp_s", 0.0123, ("exposed TP", "12.3 ms")),
        ("hbm_bytes", 8e10, ("HBM", "80.0 GB")),
        ("capacity_bytes_per_s", 5e10, ("capacity", "50.0 GB/s")),
        ("peak_of_all_gpus_flops_per_s", 9.89e14, ("peak of all GPUs", "989 TFLOP/s")),
        ("model_flops", 9.89e14, ("model FLOPs", "989 TFLOP")),
        ("tokens", 4194304, ("tokens", "4,194,304")),
        ("link", "a → b", ("link", "a → b")),
    ],
)
def test_inputs_have_words_and_units(name: str, value: float | str, row: tuple[str, str]) -> None:
    assert input_row(name, value) == row


def test_figure_explains_on_enter_and_click_and_offers_itself_to_f1(context: AppContext, qtbot: Any) -> None:
    label = FigureLabel(context, "MFU")
    qtbot.addWidget(label)
    seen: list[tuple[str, Figure]] = []
    context.explained.connect(lambda title, figure: seen.append((title, figure)))
    label.show()
    QTest.keyClick(label, Qt.Key.Key_Return)
    assert seen == [] and figure_of(label, None) is None
    label.set_figure("31.9 %", MFU)
    QTest.keyClick(label, Qt.Key.Key_Return)
    QTest.mouseClick(label, Qt.MouseButton.LeftButton)
    assert seen == [("MFU", MFU)] * 2
    assert figure_of(label, None) == ("MFU", MFU)
    assert label.accessibleName() == "MFU: 31.9 %"
    assert "model FLOPs" in label.toolTip() and "PaLM" in label.toolTip()


def test_derivation_is_escaped() -> None:
    html = derivation_html("a < b", Figure(1, "", "x < y & z", {"<i>": 1}))
    assert "x &lt; y &amp; z" in html and "<i>" not in html


def test_explanation_closes_on_escape(context: AppContext, qtbot: Any) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    owner.show()
    popup = ExplainPopup("MFU", MFU, owner)
    closed: list[bool] = []
    popup.destroyed.connect(lambda: closed.append(True))
    popup.show_at(owner.mapToGlobal(owner.rect().center()))
    QTest.keyClick(popup, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: bool(closed))


def test_flow_starts_a_new_row_and_skips_hidden(context: AppContext, qtbot: Any) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    flow = FlowLayout(holder, spacing=6, columns=3)
    tiles = [QPushButton(str(number)) for number in range(4)]
    for tile in tiles:
        flow.addWidget(tile)
    holder.resize(200, flow.heightForWidth(200))
    holder.show()
    assert tiles[3].y() > tiles[0].y() and tiles[3].x() == tiles[0].x()
    tall = flow.heightForWidth(200)
    tiles[1].hide()
    flow.activate()
    assert flow.heightForWidth(200) < tall


def test_elided_label_shows_all_on_hover_only_when_cut(context: AppContext, qtbot: Any) -> None:
    label = ElidedLabel("a rather long name of a link between two switches")
    qtbot.addWidget(label)
    label.resize(60, 20)
    label.show()
    assert label.toolTip() == label.text()
    label.resize(600, 20)
    assert label.toolTip() == ""


def test_bar_hatches_what_is_above_capacity(context: AppContext, qtbot: Any) -> None:
    bar = Bar(context.theme)
    qtbot.addWidget(bar)
    bar.resize(150, 14)
    bar.set_parts(((1.5, "over"),), tick=1.0, full=1.5, text="offered 150 %")
    over = context.theme.current.color("over").rgb()
    image = bar.grab().toImage()
    row = [image.pixelColor(x, 7).rgb() == over for x in range(image.width())]
    below, above = row[5:90], row[106:145]
    assert all(below)
    assert 0 < sum(above) < len(above) / 2
    assert bar.accessibleName() == "offered 150 %"


def test_icon_follows_the_theme_and_goes_with_its_button(context: AppContext, qtbot: Any) -> None:
    button = QPushButton()
    themed_icon(button, context.theme, "undo")
    themed_icon(button, context.theme, "redo")
    light = button.icon().pixmap(16).toImage()
    context.theme.set_choice("dark")
    assert button.icon().pixmap(16).toImage() != light
    assert button.icon().pixmap(16).toImage() == context.theme.current.icon("redo").pixmap(16).toImage()
    button.deleteLater()
    qtbot.waitUntil(lambda: not _alive(button))
    context.theme.set_choice("light")


def _alive(widget: QWidget) -> bool:
    from shiboken6 import isValid

    return bool(isValid(widget))


def test_what_is_often_said_wrongly_stands_with_the_figure(context: AppContext, qtbot: Any) -> None:
    figure = replace(MFU, note="Often said: 6 N a token. That is 2 N forward & 4 N backward.")
    assert "2 N forward &amp; 4 N backward" in derivation_html("MFU", figure)
    owner = QWidget()
    qtbot.addWidget(owner)
    for shown, expected in ((figure, 1), (MFU, 0)):
        popup = ExplainPopup("MFU", shown, owner)
        notes = [one for one in popup.findChildren(QLabel) if one.text() == figure.note]
        assert len(notes) == expected
        popup.close()
