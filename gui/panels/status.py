"""The status bar: the step in six figures, each with its derivation, and what the engine is doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLayout, QSizePolicy, QWidget

from gui.panels.placement_rows import world_size
from gui.panels.status_values import Entry, entries
from gui.widgets.bar import Bar
from gui.widgets.elided import ElidedLabel
from gui.widgets.figure import FigureLabel
from gui.widgets.style import label, separator, set_style
from model.job.memory import FILL_LIMIT
from model.text import capital, plural

if TYPE_CHECKING:
    from gui.context import AppContext
    from model.document.document import Change

HEIGHT = 28
LONGEST_FIGURE = 230
FIRST_TO_GO = ("tokens", "exposed", "mfu", "hbm", "worst")
RING_AFTER_MS = 150
STAGE_AFTER_MS = 1000
MESSAGE_MS = 6000


class StateDot(QWidget):
    """A dot while nothing is computed, an open ring while something is."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._busy = False
        self._token = "ok"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        context.theme.changed.connect(self.update)

    @property
    def busy(self) -> bool:
        """Whether the ring is shown."""
        return self._busy

    def show_state(self, *, busy: bool, token: str) -> None:
        """Show a dot or a ring in the colour of a token."""
        self._busy, self._token = busy, token
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(12, 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        color = self._context.theme.current.color(self._token)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self._busy:
                painter.setPen(QPen(color, 2))
                painter.drawArc(QRectF(2, 2, 8, 8), 0, 290 * 16)
            else:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(color)
                painter.drawEllipse(QRectF(3, 3, 6.5, 6.5))


def _divider() -> QWidget:
    """A short line with room at both sides, which goes when the line goes."""
    holder = QWidget()
    line = separator(vertical=True)
    line.setFixedHeight(14)
    row = QHBoxLayout(holder)
    row.setContentsMargins(3, 0, 3, 0)
    row.addWidget(line)
    return holder


class StatusPanel(QWidget):
    """Step time, tokens per second and GPU, MFU, exposed communication, worst link, HBM peak, engine state.

    Figures keep their value while they are stale, in a fainter tone. Without a step it says what is drawn.
    """

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.setFixedHeight(HEIGHT)
        self.setProperty("role", "bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName("Status")
        self._present: frozenset[str] = frozenset()
        self._row = row = QHBoxLayout(self)
        row.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        row.setContentsMargins(14, 0, 14, 0)
        row.setSpacing(7)
        self._names: dict[str, QLabel] = {}
        self.figures: dict[str, FigureLabel] = {}
        self._lines: dict[str, QWidget] = {}
        for key in ("step", "tokens", "mfu", "exposed", "worst", "hbm", "gpus", "findings"):
            name = label("", 11, 400, "2")
            figure = FigureLabel(context, "", 12, 600)
            line = _divider()
            row.addWidget(name)
            row.addWidget(figure)
            if key == "hbm":
                self.hbm_bar = Bar(context.theme, height=7)
                self.hbm_bar.setFixedWidth(56)
                row.addWidget(self.hbm_bar)
            row.addWidget(line)
            self._names[key], self.figures[key], self._lines[key] = name, figure, line
        self.message = ElidedLabel("", 11, 500)
        row.addWidget(self.message, 1)
        self.dot = StateDot(context)
        self.state = label("", 11, 400, "2")
        row.addWidget(self.dot)
        row.addWidget(self.state)
        self._stage = ""
        self._failure = ""
        self._ring = self._single_shot(RING_AFTER_MS, self._show_ring)
        self._stage_timer = self._single_shot(STAGE_AFTER_MS, self._show_stage)
        self._message_timer = self._single_shot(MESSAGE_MS, lambda: self.message.setText(""))
        self._connect()
        self.refresh()
        self.show_idle()

    def _single_shot(self, ms: int, slot: Callable[[], object]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(ms)
        timer.timeout.connect(slot)
        return timer

    def _connect(self) -> None:
        context = self._context
        context.analysis_changed.connect(self.refresh)
        context.stale_changed.connect(self.refresh)
        context.document.changed.connect(self.refresh)
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self.refresh)
        context.document.reset.connect(self._keep_batch)
        self._keep_batch()
        context.said.connect(self.show_message)
        context.engine_attached.connect(self._engine_attached)
        if context.engine is not None:
            self._engine_attached()

    def _keep_batch(self) -> None:
        self._batch = self._context.document.document.job.global_batch

    def _document_changed(self, change: Change) -> None:
        """A job that nobody asked for follows the GPUs: say so where its batch changes."""
        before = self._batch
        self._keep_batch()
        if change.job and change.topology_changed and self._batch != before:
            gpus = world_size(self._context.document.document)
            self.show_message(
                f"Global batch {before:,} → {self._batch:,}, the same for each of {plural(gpus, 'GPU')}"
            )

    def _engine_attached(self) -> None:
        engine = self._context.engine
        if engine is not None:
            engine.busy.connect(self.show_busy)
            engine.stage.connect(self._stage_said)
            engine.failed.connect(self.show_failure)

    def show_message(self, text: str) -> None:
        """A line of text that goes after a while."""
        self.message.setText(text)
        self._message_timer.start()

    def show_busy(self, busy: bool) -> None:
        """The engine started or ended."""
        if busy:
            if self._failure:
                self._failure = ""
                self.message.setText("")
            if not self._ring.isActive() and not self.dot.busy:
                self._ring.start()
                self._stage_timer.start()
        else:
            self._ring.stop()
            self._stage_timer.stop()
            self.show_idle()

    def show_failure(self, text: str) -> None:
        """The engine could not do it; the sentence stays until it can."""
        self._failure = text
        self._message_timer.stop()
        self.message.setText(text)
        self.show_idle()

    def show_idle(self) -> None:
        """Nothing is being computed."""
        analysis = self._context.analysis
        if self._failure:
            token, text = "error", "Not worked out"
        elif not self._context.document.document.topology.devices():
            token, text = "ok", "Ready"
        elif analysis is None:
            token, text = "accent", "Computing …"
        elif not analysis.legal:
            token, text = "error", "The job does not fit"
        else:
            token, text = "ok", "Up to date"
        self.dot.show_state(busy=False, token=token)
        self.state.setText(text)

    def _stage_said(self, stage: str) -> None:
        self._stage = stage
        if self.dot.busy and not self._stage_timer.isActive():
            self._show_stage()

    def _show_ring(self) -> None:
        self.dot.show_state(busy=True, token="accent")
        self.state.setText("Working out")

    def _show_stage(self) -> None:
        if self._stage:
            text = capital(self._stage)
            mode = Qt.TextElideMode.ElideRight
            self.state.setText(self.state.fontMetrics().elidedText(text, mode, LONGEST_FIGURE))

    def refresh(self, *_changed: object) -> None:
        """Show the figures of the analysis as it is now."""
        context = self._context
        shown = entries(context.document.document, context.analysis)
        stale = context.stale and context.analysis is not None
        for key in self.figures:
            entry = shown.get(key)
            if entry is not None:
                self._show(key, entry, stale)
        self._present = frozenset(shown)
        self._fit()
        hbm = shown.get("hbm")
        if hbm is not None and hbm.share is not None:
            step = 6 if hbm.share > 1 else 5 if hbm.share > FILL_LIMIT else 4 if hbm.share > 0.75 else 3
            parts = ((hbm.share, "over" if hbm.share > 1 else step),)
            self.hbm_bar.set_parts(parts, tick=FILL_LIMIT, full=max(1.0, hbm.share), text=hbm.text)
        if not self.dot.busy and not self._ring.isActive():
            self.show_idle()

    def _fit(self) -> None:
        """Show what there is; where the bar is too narrow for all, the least important figures go."""
        shown = set(self._present)
        self._set_shown(shown)
        for key in FIRST_TO_GO:
            if self.width() == 0 or self._row.sizeHint().width() <= self.width():
                return
            shown.discard(key)
            self._set_shown(shown)

    def _set_shown(self, shown: set[str]) -> None:
        for key, figure in self.figures.items():
            for widget in (self._names[key], figure, self._lines[key]):
                widget.setVisible(key in shown)
        self.hbm_bar.setVisible("hbm" in shown)
        self._row.invalidate()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(200, HEIGHT)

    def _show(self, key: str, entry: Entry, stale: bool) -> None:
        self._names[key].setText(entry.name)
        figure = self.figures[key]
        text = figure.fontMetrics().elidedText(entry.text, Qt.TextElideMode.ElideMiddle, LONGEST_FIGURE)
        figure.set_figure(text, entry.figure, entry.name)
        set_style(self.figures[key], tone="3" if stale else entry.tone)
