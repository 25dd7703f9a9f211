"""The memory card: per stage a bar of what fills the HBM."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from gui.context import AppContext
from gui.panels.job_as_of import as_of_text
from gui.panels.memory_rows import PARTS, MemoryBar, bytes_per_parameter, memory_bars
from gui.panels.panel_kit import Panel
from gui.panels.panel_paint import draw_text, hatch
from gui.theme import Theme
from gui.widgets.figure import derivation_html
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.style import label
from gui.widgets.tool_tips import ToolTips
from model.job.memory import FILL_LIMIT
from model.job.spec import parse_job
from model.step.report import Figure

ROW_HEIGHT, TEXT_HEIGHT = 34, 17
_TOKENS: tuple[str | int, ...] = ("accent", "forward", "optimizer", 3, "strong")  # a number: step of the ramp
_FULL = 1.15  # the right end of a bar in shares of the HBM; more is cut there and told in words


def _color(theme: Theme, token: str | int) -> QColor:
    return theme.ramp(token) if isinstance(token, int) else theme.color(token)


class MemoryBars(QWidget):
    """The bars, with a line at the fill limit and the end of the HBM."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.bars: tuple[MemoryBar, ...] = ()
        self.faint = False
        self.figures: Mapping[str, Figure] = {}
        self._tips = ToolTips(self, self.hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_bars(self, bars: tuple[MemoryBar, ...]) -> None:
        """Show other bars."""
        self.bars = bars
        self.setAccessibleName("; ".join(f"{bar.name}: {bar.text}, {bar.verdict}" for bar in bars))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, max(1, len(self.bars)) * ROW_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._context.theme.current
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            first = max(0, event.rect().top() // ROW_HEIGHT)
            for row in range(first, min(len(self.bars), event.rect().bottom() // ROW_HEIGHT + 1)):
                self._bar(
                    painter, theme, self.bars[row], QRectF(0, row * ROW_HEIGHT, self.width(), ROW_HEIGHT)
                )

    def _bar(self, painter: QPainter, theme: Theme, bar: MemoryBar, rect: QRectF) -> None:
        right, align = QRectF(rect.left(), rect.top(), rect.width(), 17), Qt.AlignmentFlag.AlignRight
        tone = "error" if bar.overflows else "warning" if bar.tight else "text"
        bold, plain = theme.font(12, 700), theme.font(11)
        draw_text(painter, right, bar.text, bold, theme.color("text-3" if self.faint else tone), align)
        taken = QFontMetrics(bold).horizontalAdvance(bar.text) + 8
        verdict = right.adjusted(0, 0, -taken, 0)
        room = verdict.width() - 66
        if bar.overflows or bar.tight or room > 60:
            draw_text(painter, verdict.adjusted(66, 0, 0, 0), bar.verdict, plain,
                      theme.color(tone if bar.overflows or bar.tight else "text-3"), align)  # fmt: skip
        draw_text(
            painter,
            QRectF(rect.left(), rect.top(), 90, 17),
            bar.name,
            theme.font(11, 600),
            theme.color("text-2"),
        )
        self._track(painter, theme, bar, QRectF(rect.left(), rect.top() + 19, rect.width(), 9))

    def _track(self, painter: QPainter, theme: Theme, bar: MemoryBar, track: QRectF) -> None:
        scale = track.width() / _FULL
        end = track.left() + scale
        painter.fillRect(QRectF(track.left(), track.top(), scale, track.height()), theme.color("line"))
        x = track.left()
        for part, token in zip(bar.parts, _TOKENS, strict=True):
            width = part / bar.hbm_bytes * scale if bar.hbm_bytes > 0 else 0.0
            width = min(width, track.right() - x)
            painter.fillRect(QRectF(x, track.top(), width, track.height()), _color(theme, token))
            x += width
        if bar.overflows:
            beyond = QRectF(end, track.top(), x - end, track.height())
            painter.fillRect(beyond, theme.color("panel"))
            painter.setPen(QPen(theme.color("error"), 1))
            painter.setBrush(hatch(theme.color("error")))
            painter.drawRect(beyond.adjusted(0.5, 0.5, -0.5, -0.5))
        limit = track.left() + FILL_LIMIT * scale
        for position, token, style in (
            (limit, "warning", Qt.PenStyle.DotLine),
            (end, "text", Qt.PenStyle.SolidLine),
        ):
            painter.setPen(QPen(theme.color(token), 1.5, style))
            painter.drawLine(QPointF(position, track.top() - 3), QPointF(position, track.bottom() + 3))

    def figure_at(self, at: QPoint | None) -> tuple[str, Figure] | None:
        """How the part of a bar at a point was worked out, beside the bars all of it (None: of the first)."""
        row = at.y() // ROW_HEIGHT if at is not None else 0
        if not 0 <= row < len(self.bars):
            return None
        bar, part = self.bars[row], len(PARTS)
        if at is not None and at.y() % ROW_HEIGHT >= TEXT_HEIGHT:
            ends = np.cumsum(bar.parts) / max(bar.hbm_bytes, 1.0) * self.width() / _FULL
            part = int(np.searchsorted(ends, at.x(), side="right"))
        word = PARTS[part] if part < len(PARTS) else ""
        figure = self.figures.get(f"memory.stage{bar.first_stage}.{word or 'total'}_bytes")
        return (f"{bar.name}: {word or 'all'}", figure) if figure is not None else None

    def hover(self, at: QPoint) -> str:
        """The bar at a point in words; on a part of it how that part was worked out, else all of it."""
        row = at.y() // ROW_HEIGHT
        if not 0 <= row < len(self.bars):
            return ""
        found = self.figure_at(at)
        return derivation_html(*found) if found is not None else self.bars[row].hover


class MemoryLegend(QWidget):
    """What the colours of the bars mean, in one or two lines."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.setAccessibleName("Legend: " + ", ".join(PARTS))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(34)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._context.theme.current
        font = theme.font(11)
        metrics = QFontMetrics(font)
        with QPainter(self) as painter:
            x, y = 0.0, 0.0
            for token, word in zip(_TOKENS, PARTS, strict=True):
                width = 15 + metrics.horizontalAdvance(word) + 12
                if x + width - 12 > self.width():
                    x, y = 0.0, y + 17
                painter.fillRect(QRectF(x, y + 4, 10, 10), _color(theme, token))
                draw_text(painter, QRectF(x + 15, y, width, 17), word, font, theme.color("text-2"))
                x += width
            text = f"dotted: {FILL_LIMIT:.0%} line".replace("%", " %")
            if x + metrics.horizontalAdvance(text) > self.width():
                x, y = 0.0, y + 17
            draw_text(painter, QRectF(x, y, self.width() - x, 17), text, font, theme.color("text-3"))


class MemoryPanel(Panel):
    """Bars per stage, and the bytes that a parameter takes."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "Memory", parent)
        self.header = SectionHeader("Memory", "")
        self.bars = MemoryBars(context)
        self.legend = MemoryLegend(context)
        self.per_parameter = label("", 11, 400, "2", wrap=True)
        self.empty = label(
            "What each GPU must hold appears here as soon as a job fits the drawing.", 12, 400, "2", wrap=True
        )
        self.area = QScrollArea()
        self.area.setWidget(self.bars)
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setAccessibleName("Memory by stage")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(PADDING, 6, PADDING, 10)
        layout.setSpacing(6)
        for widget in (self.header, self.empty, self.area, self.legend, self.per_parameter):
            layout.addWidget(widget)
        layout.addStretch(1)
        self.show_report()

    def show_report(self) -> None:
        report = self.report
        bars = memory_bars(report.memory) if report is not None else ()
        self.bars.figures = report.figures if report is not None else {}
        self.bars.set_bars(bars)
        self.area.setMaximumHeight(self.bars.sizeHint().height() + 2)
        self.empty.setVisible(not bars)
        for widget in (self.area, self.legend, self.per_parameter):
            widget.setVisible(bool(bars))
        if report is not None:
            at = report.placement.coordinates
            replicas = int(at["dp"].max(initial=0) + 1) * int(at["cp"].max(initial=0) + 1)
            experts = int(at["edp"].max(initial=0) + 1) if at["ep"].max(initial=0) > 0 else 0
            self.per_parameter.setText(bytes_per_parameter(parse_job(report.job), replicas, experts))
        self.show_stale()

    def show_stale(self) -> None:
        self.bars.faint = self.outdated
        self.bars.update()
        report = self.report
        if report is None:
            self.header.set_note("")
            return
        illegal = self.outdated and not self.context.stale
        peak = max(self.bars.bars, key=lambda bar: bar.fill, default=None)
        note = f"peak {peak.text}, {peak.verdict}" if peak is not None else ""
        self.header.set_note(as_of_text(report.job, self.context.document.document.job) if illegal else note)
