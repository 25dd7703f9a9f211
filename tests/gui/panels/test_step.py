"""Timeline, findings and memory under the hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from gui.panels.findings import FindingsPanel
from gui.panels.memory import MemoryPanel
from gui.panels.timeline import TimelinePanel, fitting_speed, speed_text
from gui.panels.timeline_lanes import AXIS_HEIGHT, NAME_WIDTH, TAG_WIDTH, clock_text
from model.document.edits import SetFields, SetJob
from model.job.spec import apply_set
from model.step.report import Analysis, Finding, Severity
from tests.gui.panels.conftest import make_document


def timeline(qtbot: QtBot, context: AppContext) -> TimelinePanel:
    panel = TimelinePanel(context)
    qtbot.addWidget(panel)
    panel.resize(1026, 214)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    return panel


def at(panel: TimelinePanel, share: float) -> QPoint:
    """The point of the lanes at a share of their window."""
    return QPoint(NAME_WIDTH + round(share * (panel.lanes.width() - NAME_WIDTH)), AXIS_HEIGHT + 10)


def test_dragging_on_the_lanes_scrubs(qtbot: QtBot, context: AppContext) -> None:
    panel = timeline(qtbot, context)
    duration = context.playback.duration_s
    context.playback.play()
    qtbot.mousePress(panel.lanes, Qt.MouseButton.LeftButton, pos=at(panel, 0.25))
    assert not context.playback.playing
    assert context.playback.time_s == pytest.approx(0.25 * duration, rel=0.01)
    qtbot.mouseMove(panel.lanes, at(panel, 0.5))
    qtbot.mouseRelease(panel.lanes, Qt.MouseButton.LeftButton, pos=at(panel, 0.5))
    assert panel.readout.text() == clock_text(context.playback.time_s, duration)


def test_keys_play_and_step(qtbot: QtBot, context: AppContext) -> None:
    panel = timeline(qtbot, context)
    panel.lanes.setFocus()
    qtbot.keyClick(panel.lanes, Qt.Key.Key_Space)
    assert context.playback.playing and panel.play.accessibleName().startswith("Pause")
    qtbot.keyClick(panel.lanes, Qt.Key.Key_Space)
    assert not context.playback.playing
    context.playback.set_time(0.0)
    qtbot.keyClick(panel.lanes, Qt.Key.Key_Period)
    assert panel.report is not None
    bounds = panel.report.segments.start_s
    assert context.playback.time_s == pytest.approx(float(bounds[bounds > 0][0]))
    qtbot.keyClick(panel.lanes, Qt.Key.Key_Comma)
    assert context.playback.time_s == 0.0
    speed = context.playback.speed
    qtbot.keyClick(panel.lanes, Qt.Key.Key_BracketRight)
    assert context.playback.speed > speed
    assert panel.speed.currentText() == speed_text(context.playback.speed)


def test_window_follows_overview_and_wheel(qtbot: QtBot, context: AppContext) -> None:
    panel = timeline(qtbot, context)
    duration = context.playback.duration_s
    assert panel.window_s == pytest.approx((0.0, duration))
    point = QPointF(at(panel, 0.5))
    wheel = QWheelEvent(
        point,
        panel.lanes.mapToGlobal(point),
        QPoint(),
        QPoint(0, 240),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(panel.lanes, wheel)
    start, end = panel.window_s
    assert end - start == pytest.approx(0.64 * duration, rel=1e-6)  # two steps of 0.8
    overview = panel.overview
    width = overview.width() - NAME_WIDTH
    middle = QPoint(NAME_WIDTH + round((start + end) / 2 / duration * width), 12)
    qtbot.mousePress(overview, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(overview, QPoint(NAME_WIDTH + width, 12))
    qtbot.mouseRelease(overview, Qt.MouseButton.LeftButton)
    assert panel.window_s[1] == pytest.approx(duration)
    left = QPoint(NAME_WIDTH + round(panel.window_s[0] / duration * width), 12)
    qtbot.mousePress(overview, Qt.MouseButton.LeftButton, pos=left)
    qtbot.mouseMove(overview, QPoint(NAME_WIDTH + round(0.75 * width), 12))
    qtbot.mouseRelease(overview, Qt.MouseButton.LeftButton)
    assert panel.window_s[0] == pytest.approx(0.75 * duration, rel=0.01)
    qtbot.mouseDClick(overview, Qt.MouseButton.LeftButton, pos=middle)
    assert panel.window_s == pytest.approx((0.0, duration))


def test_without_loop_it_stops_at_the_end(qtbot: QtBot, context: AppContext) -> None:
    panel = timeline(qtbot, context)
    qtbot.mouseClick(panel.loop, Qt.MouseButton.LeftButton)
    context.playback.set_time(0.999 * context.playback.duration_s)
    context.playback.set_speed(1.0)
    with qtbot.waitSignal(context.playback.playing_changed, check_params_cb=lambda playing: not playing):
        context.playback.play()
    assert context.playback.time_s == context.playback.duration_s


def test_speeds() -> None:
    assert speed_text(0.005) == "1 : 200"
    assert fitting_speed(4.142) == 0.5  # 8.3 s
    assert fitting_speed(0.008) == 0.001
    assert speed_text(5.0) == "5 : 1" and fitting_speed(123.0) == 20.0  # 6.2 s
    assert fitting_speed(4.142, 0.5) == 0.5
    assert fitting_speed(4.142, 0.002) == 0.05  # 2 ms take 40 ms, the step 83 s
    assert fitting_speed(4.142, 1e-6) == 0.05  # more than a minute and a half is too long
    assert clock_text(2.914, 4.142) == "2.914 s"
    assert clock_text(0.0123, 0.05) == "12.300 ms"


def test_lanes_hover_and_paint(qtbot: QtBot, context: AppContext) -> None:
    panel = timeline(qtbot, context)
    image = panel.lanes.grab().toImage()
    theme = context.theme.current
    colours = {image.pixelColor(x, AXIS_HEIGHT + 12).name() for x in range(NAME_WIDTH, image.width())}
    assert {theme.color("backward").name(), theme.color("forward").name()} <= colours
    before = panel.lanes.paints
    context.playback.set_time(1.0)
    qtbot.waitUntil(lambda: panel.lanes.paints > before)
    qtbot.mouseMove(panel.lanes, at(panel, 0.5))
    assert panel.lanes.toolTip().startswith("Stage 0, 8 equal replicas: ")


def test_no_half_label_stands_beside_the_playhead(qtbot: QtBot, context: AppContext) -> None:
    panel = timeline(qtbot, context)
    lanes, duration = panel.lanes, context.playback.duration_s
    panel_colour = context.theme.current.color("panel").rgb()

    def written(left: int, right: int) -> list[int]:
        """Columns of the axis with something on them."""
        image = lanes.grab().toImage()
        ratio = image.devicePixelRatio()
        rows = range(round((AXIS_HEIGHT - 5) * ratio))
        return [
            x
            for x in range(left, right)
            if any(image.pixel(round(x * ratio), y) & 0xFFFFFF != panel_colour & 0xFFFFFF for y in rows)
        ]

    context.playback.set_time(0.0)
    first = next(x for x in written(NAME_WIDTH + TAG_WIDTH, lanes.width() - TAG_WIDTH))
    last = max(x for x in written(first, first + 50))
    middle = (first + last) // 2 + TAG_WIDTH / 2
    context.playback.set_time(duration * (middle - NAME_WIDTH) / (lanes.width() - NAME_WIDTH))
    tag = written(first - 10, last + TAG_WIDTH + 10)
    assert len(tag) == pytest.approx(TAG_WIDTH, abs=2)
    assert min(tag) == pytest.approx((first + last) // 2, abs=2)


def test_unequal_replicas_have_lanes_of_their_own(
    qtbot: QtBot, context: AppContext, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    """DP 4, one slow GPU in replica 3: two classes, so two lanes a stage, which name their replicas."""
    panel = timeline(qtbot, context)
    narrow = panel.lanes.name_width
    dense = make_document(
        "model=llama3-8b", "parallel.tp=2", "parallel.pp=4", "global_batch=64", "sequence_length=4096"
    )
    context.document.push(SetJob(dense.job), "dense")
    context.document.push(SetFields("device", ("node00.gpu7",), {"speed": 0.5}), "slow down")
    reanalyse(context)
    assert panel.report is not None
    lanes = [(lane.stage, lane.replica, lane.replicas) for lane in panel.lanes._lanes]
    assert lanes == [(stage, *rest) for stage in range(4) for rest in ((0, 3), (3, 1))]
    assert panel.lanes.name_width > narrow == NAME_WIDTH
    at_lane = QPointF(panel.lanes.name_width + 3, AXIS_HEIGHT + panel.lanes.lane_height + 6)
    assert panel.lanes._hover(at_lane).startswith("Stage 0, replica 3: forward of microbatch 0")
    context.document.undo_stack.undo()
    reanalyse(context)
    assert len(panel.lanes._lanes) == 4 and panel.lanes.name_width == narrow


@pytest.mark.parametrize(
    ("schedule", "words", "hover"),
    [
        ("zb-h1", ("Weight grad.",), "microbatch 0, "),
        ("interleaved", ("Odd chunk",), "microbatch 0, model chunk 0"),
        ("dualpipe", ("Weight grad.", "From the last stage"), "enters at the first stage"),
    ],
)
def test_each_schedule_explains_its_pieces(
    qtbot: QtBot,
    context: AppContext,
    reanalyse: Callable[[AppContext], Analysis],
    schedule: str,
    words: tuple[str, ...],
    hover: str,
) -> None:
    panel = timeline(qtbot, context)
    assert not {"Weight grad.", "Odd chunk"} & set(panel.legend.words.values())
    job = apply_set(context.document.document.job, f"schedule={schedule}")
    if schedule == "interleaved":
        job = apply_set(job, "parallel.vpp=2")
    context.document.push(SetJob(job), "schedule")
    reanalyse(context)
    assert set(words) <= set(panel.legend.words.values())
    first = panel.lanes._lanes[0]
    assert hover in panel.lanes._hover(QPointF(panel.lanes.name_width + 2, AXIS_HEIGHT + 6))
    assert first.band.any() == (schedule != "zb-h1")
    panel.grab()  # paints lines, weights and labels


def test_the_legend_goes_below_where_it_is_narrow(qtbot: QtBot, context: AppContext) -> None:
    panel = timeline(qtbot, context)
    beside = panel.legend.geometry()
    assert beside.center().y() == pytest.approx(panel.play.geometry().center().y(), abs=3)
    panel.resize(440, 214)
    qtbot.waitUntil(lambda: panel.legend.y() >= panel.play.geometry().bottom())
    assert panel.legend.shortest <= panel.legend.width() <= 440
    panel.resize(1026, 214)
    qtbot.waitUntil(lambda: panel.legend.geometry() == beside)


def test_timeline_without_a_step(qtbot: QtBot, empty_context: AppContext) -> None:
    panel = timeline(qtbot, empty_context)
    assert panel.empty.isVisible() and not panel.lanes.isVisible()
    assert not panel.play.isEnabled()


# --- findings ---

FOUND = (
    Finding("spare", Severity.INFO, "leaf7 takes no part", "", devices=("leaf7",)),
    Finding("dear", Severity.WARNING, "leaf0 → spine0 is oversubscribed 1.50×", "6 of 12 flows hash to it.",
            links=("leaf0--spine0",), cost_s=0.541, fix="Adaptive routing saves 97 ms."),
    Finding("tp", Severity.ERROR, "TP 16 spans 2 NVLink domains", "Slow.", devices=("node00.gpu0", "gone")),
)  # fmt: skip


def findings(qtbot: QtBot, context: AppContext, found: tuple[Finding, ...] = FOUND) -> FindingsPanel:
    panel = FindingsPanel(context)
    qtbot.addWidget(panel)
    panel.resize(400, 214)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    assert context.analysis is not None
    context.set_analysis(replace(context.analysis, findings=found))
    return panel


def test_findings_are_worst_first_and_lead_there(qtbot: QtBot, context: AppContext) -> None:
    panel = findings(qtbot, context)
    assert [finding.id for finding in panel.findings] == ["tp", "dear", "spare"]
    rect = panel.list.visualRect(panel.list.rows.index(1))
    with qtbot.waitSignal(context.went_to) as went:
        qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert went.args[0] == ("leaf0--spine0",)
    assert context.lit_links == {"leaf0--spine0"}
    text = panel.list.rows.data(panel.list.rows.index(1), Qt.ItemDataRole.AccessibleTextRole)
    assert text.startswith("warning: leaf0 → spine0") and text.endswith("541 ms")


def test_n_walks_through_the_findings(qtbot: QtBot, context: AppContext) -> None:
    panel = findings(qtbot, context)
    panel.list.setFocus()
    qtbot.keyClick(panel, Qt.Key.Key_N)
    assert context.selection == {"node00.gpu0"}  # what the drawing no longer has is left out
    qtbot.keyClick(panel, Qt.Key.Key_N)
    assert context.selection == {"leaf0--spine0"}
    qtbot.keyClick(panel, Qt.Key.Key_N, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(panel, Qt.Key.Key_N, Qt.KeyboardModifier.ShiftModifier)
    assert context.selection == {"leaf7"}
    tall = panel.list.visualRect(panel.list.rows.index(2)).height()
    assert tall >= panel.list.visualRect(panel.list.rows.index(0)).height()
    context.go_to(("leaf0--spine0",))  # from elsewhere
    assert panel.list.currentIndex().row() == 1


def test_no_findings(qtbot: QtBot, context: AppContext, empty_context: AppContext) -> None:
    panel = findings(qtbot, context, ())
    assert panel.empty.isVisible() and panel.empty.text().startswith("None: ")
    empty = FindingsPanel(empty_context)
    qtbot.addWidget(empty)
    assert empty.empty.text() == "None: the drawing is empty."


# --- memory ---


def test_memory_by_stage(qtbot: QtBot, context: AppContext) -> None:
    panel = MemoryPanel(context)
    qtbot.addWidget(panel)
    panel.resize(348, 260)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    assert panel.report is not None
    peak = max(stage.total_bytes for stage in panel.report.memory)
    assert panel.header.note.text().startswith(f"peak {peak / 1e9:.1f} of 80.0 GB")
    assert panel.per_parameter.text().startswith("6 + 12/8 B a parameter")
    assert "Stage 0: " in panel.bars.accessibleName()
    assert not panel.empty.isVisible()
    assert "weights" in panel.bars.hover(QPoint(3, 24))  # on the first part of the first bar
    whole = panel.bars.hover(QPoint(3, 5))
    assert "all</b>" in whole and panel.report.figures["memory.stage0.total_bytes"].formula[:20] in whole


def test_memory_that_does_not_fit_is_marked(
    qtbot: QtBot, context: AppContext, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    document = make_document("model=llama3-70b", "parallel.tp=1", "parallel.pp=4", "global_batch=128")
    context.document.set_document(document)
    assert reanalyse(context).legal
    panel = MemoryPanel(context)
    qtbot.addWidget(panel)
    panel.resize(348, 260)
    panel.show()
    assert all(bar.overflows for bar in panel.bars.bars)
    assert "too much" in panel.header.note.text()
    image = panel.bars.grab().toImage()
    error = context.theme.current.color("error").name()
    row = [image.pixelColor(x, 23).name() for x in range(image.width())]
    assert error in row


def test_memory_of_an_empty_drawing(qtbot: QtBot, empty_context: AppContext) -> None:
    panel = MemoryPanel(empty_context)
    qtbot.addWidget(panel)
    panel.show()
    assert panel.empty.isVisible() and not panel.legend.isVisible()
