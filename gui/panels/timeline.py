"""The step over time: play it, scrub it, see who computes and who waits."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QScrollBar,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.context import AppContext
from gui.panels.job_as_of import as_of_text
from gui.panels.panel_kit import Panel
from gui.panels.panel_paint import draw_text, hatch
from gui.panels.timeline_lanes import TimelineLanes, clock_text, legend_color
from gui.panels.timeline_overview import TimelineOverview
from gui.panels.timeline_rows import LaneArrays, Piece, lane_arrays
from gui.playback import SPEEDS
from gui.widgets.style import label, set_font, set_style, themed_icon
from model.job.chunks import runs_both_ways
from model.job.spec import parse_job
from model.step.report import StepReport

WANTED_SECONDS = 8.0  # how long one step should play when nobody chose a speed
MOST_SECONDS = 90.0
SEEN_SECONDS = 1 / 30  # two frames
_WORDS = {
    Piece.FORWARD: "Forward",
    Piece.BACKWARD: "Backward",
    Piece.WEIGHT: "Weight grad.",
    Piece.EXPOSED: "Exposed comm.",
    Piece.BUBBLE: "Bubble",
    Piece.DP_SYNC: "DP sync",
    Piece.OPTIMIZER: "Optimizer",
}

LEGEND_STRETCH = 1000  # beside the transport it takes all that is left
_SHORT = {
    "Backward": "Backw.",
    "Weight grad.": "Weights",
    "Exposed comm.": "Exposed",
    "Optimizer": "Optim.",
    "From the last stage": "From last",
}


def speed_text(speed: float) -> str:
    """ "1 : 200" for a step that plays 200 times slower than it runs, "5 : 1" for five times faster."""
    if speed > 1:
        return f"{speed:,.0f} : 1"
    return f"1 : {1 / speed:,.0f}"


def fitting_speed(duration_s: float, exchange_s: float = math.inf) -> float:
    """The usual speed at which a step of `duration_s` plays in about `WANTED_SECONDS`; slower, up to
    `MOST_SECONDS`, where an exchange of `exchange_s` would come and go unseen.
    """
    speed = min(SPEEDS, key=lambda speed: abs(math.log(duration_s / speed / WANTED_SECONDS)))
    for slower in SPEEDS:
        if slower < speed and exchange_s / speed < SEEN_SECONDS and duration_s / slower <= MOST_SECONDS:
            speed = slower
    return speed


def usual_exchange_s(report: StepReport) -> float:
    """How long one state of the links lasts, the median over those in which something flows; infinite
    without any.
    """
    segments = report.segments
    flowing = np.array([bool(active) for active in segments.active], dtype=np.bool_)[segments.state]
    lasts = (segments.end_s - segments.start_s)[flowing]
    return float(np.median(lasts)) if len(lasts) else math.inf


class TimelineLegend(QWidget):
    """What the colours of the lanes mean, as far as they occur; what does not fit is left out from the right
    and told in the tool tip.
    """

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.words: dict[Piece | None, str] = {}
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(20)

    def show_pieces(self, pieces: frozenset[Piece], odd_chunks: str) -> None:
        """Explain these pieces, and what a block with a line is (empty: there are none)."""
        self.words = {piece: word for piece, word in _WORDS.items() if piece in pieces}
        if odd_chunks:
            self.words[None] = odd_chunks
        text = "Legend: " + ", ".join(self.words.values())
        self.setAccessibleName(text)
        self.setToolTip(text)
        self.updateGeometry()
        self.update()

    def _font(self) -> QFontMetrics:
        return QFontMetrics(self._context.theme.current.font(11))

    def sizeHint(self) -> QSize:
        return QSize(sum(self._laid_out(short=False)[1]), 20)

    @property
    def shortest(self) -> int:
        """The width in which all entries fit, with short words."""
        return sum(self._laid_out(short=True)[1])

    def _laid_out(self, *, short: bool) -> tuple[list[str], list[int]]:
        """The words and what each entry takes."""
        metrics = self._font()
        words = [_SHORT.get(word, word) if short else word for word in self.words.values()]
        return words, [metrics.horizontalAdvance(word) + (24 if short else 32) for word in words]

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._context.theme.current
        words, widths = self._laid_out(short=self.sizeHint().width() > self.width())
        while widths and sum(widths) > self.width():
            widths.pop()
        x = self.width() - sum(widths) + 4
        with QPainter(self) as painter:
            for piece, word, width in zip(self.words, words, widths, strict=False):
                fill, lines = legend_color(theme, Piece.FORWARD if piece is None else piece)
                box = QRectF(x, 4.5, 11, 11)
                painter.fillRect(box, fill)
                if lines is not None:
                    painter.fillRect(box, hatch(lines))
                if piece is None:
                    painter.fillRect(QRectF(x, 11.5, 11, 2), theme.color("text"))
                painter.setPen(QPen(theme.color("strong" if piece is Piece.BUBBLE else "line"), 1))
                painter.drawRect(box)
                rect = QRectF(x + 17, 0, width, 20)
                draw_text(painter, rect, word, theme.font(11), theme.color("text-2"))
                x += width


class TimelinePanel(Panel):
    """Transport, overview strip and lanes."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "Step timeline", parent)
        self._shown: StepReport | None = None
        self._window = (0.0, 1.0)  # shares of the step
        self._speed_chosen = False
        self.lanes = TimelineLanes(context)
        self.overview = TimelineOverview(context)
        self.more = QScrollBar(Qt.Orientation.Vertical)
        self.more.setAccessibleName("More stages")
        self._build()
        self.lanes.scrubbed.connect(self._scrub)
        self.lanes.resized.connect(self._lay_out_scroll)
        for view in (self.lanes, self.overview):
            view.window_changed.connect(self.set_window)
        self.more.valueChanged.connect(self.lanes.set_first)
        playback = context.playback
        playback.time_changed.connect(self._time_changed)
        playback.playing_changed.connect(self._playing_changed)
        playback.speed_changed.connect(self._show_speed)
        playback.duration_changed.connect(self._duration_changed)
        self._duration_changed(playback.duration_s)
        self._show_speed(playback.speed)
        self._playing_changed(playback.playing)
        self.show_report()

    # --- building ------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.to_start = self._button("To the start of the step", "to-start")
        self.play = self._button("Play (Space)", "play")
        self.loop = self._button("Begin again at the end", "loop")
        self.loop.setCheckable(True)
        self.loop.setChecked(True)
        self.to_start.clicked.connect(lambda: self.context.playback.set_time(0.0))
        self.play.clicked.connect(self.context.playback.toggle)
        self.speed = QComboBox()
        set_font(self.speed, 12, 600)
        self.speed.setAccessibleName("Speed")
        self.speed.setToolTip("How much slower or faster than the step runs it is played ([ and ])")
        for value in SPEEDS:
            self.speed.addItem(speed_text(value), value)
        self.speed.activated.connect(self._choose_speed)
        self.readout = label("", 12, 700, "accent")
        self.readout.setAccessibleName("Moment of the step")
        self.as_of = label("", 11, 500, "warning")
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(label("Step", 12, 600))
        line.addSpacing(6)
        for widget in (self.to_start, self.play, self.loop, self.speed, self.readout, self.as_of):
            line.addWidget(widget)
        self.legend = TimelineLegend(self.context)
        self._head = line
        line.addWidget(self.legend, LEGEND_STRETCH)
        line.addStretch(1)
        tracks = QHBoxLayout()
        tracks.setSpacing(2)
        tracks.addWidget(self.lanes, 1)
        tracks.addWidget(self.more)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.overview)
        column.addLayout(tracks, 1)
        self.empty = label(
            "Time, stage by stage, appears here as soon as a job fits the drawing.", 12, tone="2"
        )
        self.empty.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        pages = QWidget()  # without it the first page would open a window of its own
        self._stack = QStackedLayout(pages)
        self._stack.addWidget(body)
        self._stack.addWidget(self.empty)
        self._rows = layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 8)
        layout.setSpacing(4)
        layout.addLayout(line)
        layout.addWidget(pages, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_legend()

    def _place_legend(self) -> None:
        """The legend stands beside the transport, or below it where that is too narrow."""
        used = 0
        for index in range(self._head.count()):
            item = self._head.itemAt(index)
            widget = item.widget() if item is not None else None
            if widget is not None and widget is not self.legend and not widget.isHidden():
                used += widget.sizeHint().width() + self._head.spacing()
        margins = self._rows.contentsMargins()
        room = self.width() - margins.left() - margins.right() - used - 12
        below = self.legend.shortest > room
        if below != (self._rows.indexOf(self.legend) >= 0):
            (self._head if below else self._rows).removeWidget(self.legend)
            if below:
                self._rows.insertWidget(1, self.legend)
            else:
                self._head.insertWidget(self._head.count() - 1, self.legend, LEGEND_STRETCH)

    def _button(self, tip: str, icon: str) -> QToolButton:
        button = QToolButton()
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        themed_icon(button, self.context.theme, icon)
        button.setFixedSize(26, 26)
        return button

    # --- state ---------------------------------------------------------------------------------------------

    def show_report(self) -> None:
        report = self.report
        self._stack.setCurrentIndex(1 if report is None else 0)
        if report is self._shown:
            return
        self._shown = report
        arrays: list[LaneArrays] = []
        until_s = report.totals.time_s if report is not None else 0.0
        if report is not None:
            lanes = sorted(report.lanes, key=lambda lane: (lane.stage, lane.replica))
            arrays = [lane_arrays(lane, until_s) for lane in lanes]
            self.lanes.both_ways = runs_both_ways(parse_job(report.job))
        self.lanes.set_lanes(arrays, until_s)
        self.overview.set_lanes(arrays, until_s, self.lanes.name_width)
        present = frozenset(Piece(one) for lane in arrays for one in np.unique(lane.piece).tolist())
        odd = any(lane.band.any() for lane in arrays)
        line = ("From the last stage" if self.lanes.both_ways else "Odd chunk") if odd else ""
        self.legend.show_pieces(present, line)
        self._place_legend()
        self.set_window(self._window[0] * until_s, self._window[1] * until_s)
        self._time_changed(self.context.playback.time_s)
        self._lay_out_scroll()

    def show_stale(self) -> None:
        set_style(self.readout, tone="3" if self.outdated else "accent")
        text = ""
        if self.report is not None and self.outdated and not self.context.stale:
            text = as_of_text(self.report.job, self.context.document.document.job)
        self.lanes.of_older_job = bool(text)
        self.lanes.update()
        self.as_of.setText(text)
        self.as_of.setVisible(bool(text))
        self._place_legend()

    def show_theme(self) -> None:
        self.lanes.changed()
        self.update()

    def set_window(self, start_s: float, end_s: float) -> None:
        """Let the lanes show `start_s` … `end_s`."""
        until_s = self.report.totals.time_s if self.report is not None else 0.0
        if until_s > 0:
            self._window = (start_s / until_s, end_s / until_s)
        self.lanes.set_window(start_s, end_s)
        self.overview.set_window(start_s, end_s)

    @property
    def window_s(self) -> tuple[float, float]:
        """The window of the lanes."""
        until_s = self.report.totals.time_s if self.report is not None else 0.0
        return self._window[0] * until_s, self._window[1] * until_s

    def keyPressEvent(self, event: QKeyEvent) -> None:
        playback = self.context.playback
        acts = {
            Qt.Key.Key_Space: playback.toggle,
            Qt.Key.Key_Period: playback.next_segment,
            Qt.Key.Key_Comma: playback.previous_segment,
            Qt.Key.Key_BracketLeft: playback.slower,
            Qt.Key.Key_BracketRight: playback.faster,
        }
        act = acts.get(Qt.Key(event.key()))
        if act is None:
            super().keyPressEvent(event)
        else:
            act()

    def _lay_out_scroll(self) -> None:
        count = len(self.report.lanes) if self.report is not None else 0
        hidden = max(0, count - self.lanes.fitting)
        self.more.setRange(0, hidden)
        self.more.setPageStep(self.lanes.fitting)
        self.more.setVisible(hidden > 0)

    def _scrub(self, time_s: float) -> None:
        self.context.playback.pause()
        self.context.playback.set_time(time_s)

    def _time_changed(self, time_s: float) -> None:
        until_s = self.context.playback.duration_s
        wrapped = 0.0 < time_s < self.lanes.time_s - until_s / 2  # not a step back, and not "to the start"
        if self.context.playback.playing and wrapped and not self.loop.isChecked():
            self.context.playback.pause()
            self.context.playback.set_time(until_s)
            return
        self.lanes.set_time(time_s)
        self.overview.set_time(time_s)
        self.readout.setText(clock_text(time_s, until_s) if until_s > 0 else "–")
        start, end = self.window_s
        if self.context.playback.playing and not start <= time_s <= end:
            first = min(max(0.0, time_s - 0.1 * (end - start)), max(0.0, until_s - (end - start)))
            self.set_window(first, first + (end - start))

    def _playing_changed(self, playing: bool) -> None:
        themed_icon(self.play, self.context.theme, "pause" if playing else "play", token="accent")
        text = "Pause (Space)" if playing else "Play (Space)"
        self.play.setToolTip(text)
        self.play.setAccessibleName(text)

    def _duration_changed(self, duration_s: float) -> None:
        for widget in (self.to_start, self.play, self.loop, self.speed):
            widget.setEnabled(duration_s > 0)
        if duration_s > 0 and not self._speed_chosen:
            analysis = self.context.analysis
            report = analysis.report if analysis is not None else None
            exchange_s = usual_exchange_s(report) if report is not None else math.inf
            self.context.playback.set_speed(fitting_speed(duration_s, exchange_s))

    def _choose_speed(self, index: int) -> None:
        self._speed_chosen = True
        self.context.playback.set_speed(float(self.speed.itemData(index)))

    def _show_speed(self, speed: float) -> None:
        index = self.speed.findData(speed)
        if index >= 0:
            self.speed.setCurrentIndex(index)
        else:
            self.speed.setCurrentText(speed_text(speed))
