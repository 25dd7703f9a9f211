"""The GPU × GPU matrix of bytes a step, on a log scale, with totals beside it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from gui.context import AppContext
from gui.panels.panel_paint import draw_text
from gui.panels.traffic_matrix_rows import MatrixView, dimension_totals, heat_levels, heat_table, matrix_view
from gui.widgets.figure import FigureLabel
from gui.widgets.style import label, set_style
from gui.widgets.tool_tips import ToolTips
from model.step.report import Figure, StepReport
from model.text import format_bytes, format_percent

NARROWEST, WIDEST = 96, 150
LABELS, LONGEST_LABEL = 46, 5  # pixels, letters


_RIGHT = Qt.AlignmentFlag.AlignRight


# One at a time: what comes later replaces what is still shown. numpy lets the window go on meanwhile.
_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="matrix")


class HeatMap(QWidget):
    """The matrix as squares, rows send to columns; hover names both ends and the bytes."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.view: MatrixView | None = None
        self._levels: NDArray[np.uint8] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Bytes a step from GPU to GPU")
        self._tips = ToolTips(self, lambda at: self._hover(QPointF(at)))

    def set_view(self, view: MatrixView | None) -> None:
        """Show another matrix."""
        self.view = view
        self._levels = heat_levels(view.matrix) if view is not None else None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(LABELS + WIDEST + 2, WIDEST + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(LABELS + NARROWEST + 2, NARROWEST + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.view is None or self._levels is None:
            return
        theme = self._context.theme.current
        area = self._area
        table = heat_table(tuple(color.rgba() for color in theme.heat()))
        pixels = np.ascontiguousarray(table[self._levels])
        side = len(pixels)
        image = QImage(pixels.data, side, side, side * 4, QImage.Format.Format_ARGB32)
        with QPainter(self) as painter:
            painter.drawImage(area, image)
            painter.setPen(QPen(theme.color("strong"), 1))
            cuts = self.view.cuts
            shown = cuts if len(cuts) <= 32 else ()
            for cut in shown:
                at = cut / side * area.width()
                painter.drawLine(
                    QPointF(area.left() + at, area.top()), QPointF(area.left() + at, area.bottom())
                )
                painter.drawLine(
                    QPointF(area.left(), area.top() + at), QPointF(area.right(), area.top() + at)
                )
            painter.drawRect(area)
            step = max(1, -(-len(self.view.blocks) // 9))
            for name, first, last in self._names(QFontMetrics(theme.font(10)))[::step]:
                middle = (first + last) / 2 / side * area.height() + area.top()
                rect = QRectF(0, min(max(0.0, middle - 7), area.bottom() - 13), LABELS - 4, 14)
                draw_text(
                    painter, rect, name, theme.font(10), theme.color("text-3"), Qt.AlignmentFlag.AlignRight
                )

    def _names(self, metrics: QFontMetrics) -> tuple[tuple[str, int, int], ...]:
        """The blocks under names that fit beside the rows: of long ones the part in which they differ."""
        blocks = self.view.blocks if self.view is not None else ()
        if self.view is None or all(metrics.horizontalAdvance(name) <= LABELS - 4 for name, _, _ in blocks):
            return blocks
        return self.view.short_blocks(LONGEST_LABEL)

    @property
    def _area(self) -> QRectF:
        side = min(WIDEST, self.width() - LABELS - 2)
        return QRectF(LABELS, 0.5, side, side)

    def _hover(self, at: QPointF) -> str:
        if self.view is None or not self._area.contains(at):
            return ""
        area, rows = self._area, len(self.view.labels)
        column = min(rows - 1, int((at.x() - area.left()) / area.width() * rows))
        row = min(rows - 1, int((at.y() - area.top()) / area.height() * rows))
        return self.cell_text(row, column)

    def cell_text(self, row: int, column: int) -> str:
        """Who sends how much to whom."""
        if self.view is None:
            return ""
        amount = format_bytes(float(self.view.matrix[row, column]))
        return f"{self.view.labels[row]} → {self.view.labels[column]}: {amount} a step"


class HeatScale(QWidget):
    """The log scale with its ends."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._ends = ("", "")
        self.setFixedHeight(26)

    def set_ends(self, low: float, high: float) -> None:
        """The smallest and the largest amount of a pair, bytes."""
        self._ends = (format_bytes(low), format_bytes(high)) if high > 0 else ("", "")
        self.setAccessibleName(f"Scale from {self._ends[0]} to {self._ends[1]}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._context.theme.current
        table = heat_table(tuple(color.rgba() for color in theme.heat()))
        pixels = np.ascontiguousarray(table[1:][None, :])
        image = QImage(pixels.data, pixels.shape[1], 1, pixels.shape[1] * 4, QImage.Format.Format_ARGB32)
        with QPainter(self) as painter:
            painter.drawImage(QRectF(0, 0, self.width(), 8), image)
            below = QRectF(0, 10, self.width(), 14)
            draw_text(painter, below, self._ends[0], theme.font(10), theme.color("text-3"))
            draw_text(
                painter,
                below,
                self._ends[1],
                theme.font(10),
                theme.color("text-3"),
                Qt.AlignmentFlag.AlignRight,
            )


class MatrixCard(QWidget):
    """Matrix left; at the right the totals, what crosses nodes and what changes rail."""

    _reckoned = Signal(object, object)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._report: StepReport | None = None
        self._reckoned.connect(self._show, Qt.ConnectionType.QueuedConnection)
        self.map = HeatMap(context)
        self.scale = HeatScale(context)
        self._totals = QGridLayout()
        self._totals.setHorizontalSpacing(8)
        self._totals.setVerticalSpacing(1)
        self._totals.setColumnStretch(0, 1)
        self._figures: list[FigureLabel] = []
        self._rows: list[QLabel] = []
        self._crossing = self._figure("Crosses a node")
        self._changing = self._figure("Changes rail")
        side = QVBoxLayout()
        side.setSpacing(2)
        for column, (text, align) in enumerate(
            (("Sent by", Qt.AlignmentFlag.AlignLeft), ("all", _RIGHT), ("each", _RIGHT))
        ):
            self._totals.addWidget(label(text, 11, 400, "3"), 0, column, align)
        side.addLayout(self._totals)
        side.addSpacing(6)
        side.addLayout(self._line("Crosses a node", self._crossing))
        side.addLayout(self._line("Changes rail", self._changing))
        side.addStretch(1)
        side.addWidget(self.scale)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(10)
        line.addWidget(self.map, 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(side, 1)

    def show_report(self, report: StepReport | None) -> None:
        """Work the matrix of a report out and show it when it is there; until then the old one stays."""
        if report is self._report:
            return
        self._report = report
        if report is None:
            self.map.set_view(None)
            return
        _WORKER.submit(self._reckon, report)

    def _reckon(self, report: StepReport) -> None:
        """In the worker; a report that was replaced while it waited is left out."""
        if report is self._report:
            with suppress(RuntimeError):  # the window closed meanwhile
                self._reckoned.emit(report, matrix_view(report))

    def show_faint(self, faint: bool) -> None:
        """Figures in text 3 while they are of an older state."""
        for figure in self._figures:
            set_style(figure, tone="3" if faint else "")

    def _show(self, report: StepReport, view: MatrixView) -> None:
        if report is not self._report:
            return
        self.map.set_view(view)
        self.scale.set_ends(view.smallest, view.largest)
        for figure, share, text in (
            (self._crossing, view.crossing_hosts, "between GPUs of different nodes"),
            (self._changing, view.changing_rail, "between GPUs of different rails"),
        ):
            inputs = {"all_bytes": sum(view.by_dimension.values())}
            worked = Figure(share, "", f"bytes a step {text} ÷ bytes between all pairs of GPUs", inputs,
                            "bytes of the algorithms' edges, relays included")  # fmt: skip
            figure.set_figure(format_percent(share), worked)
        for old in self._rows:
            old.deleteLater()
        self._figures = [self._crossing, self._changing]
        self._rows = []
        for row, (name, amount, note) in enumerate(dimension_totals(view, len(report.placement.gpus))):
            total = self._figure(f"Sent by {name}")
            total.set_figure(amount, self._total(view, name, report))
            parts = (label(name, 11, 600), total, label(note, 11, 400, "2"))
            for column, part in enumerate(parts):
                align = _RIGHT if column else Qt.AlignmentFlag.AlignLeft
                self._totals.addWidget(part, row + 1, column, align)
            self._rows.extend(parts)

    @staticmethod
    def _total(view: MatrixView, name: str, report: StepReport) -> Figure:
        return Figure(
            view.by_dimension[name.lower()],
            "B",
            f"bytes that {name} exchanges send from GPU to GPU in a step, over all pairs",
            {
                kind: sent * int(np.count_nonzero(np.bincount(np.ravel(exchange.groups))))
                for exchange, sent, kind in zip(
                    report.exchanges,
                    report.traffic.sent_bytes_per_gpu.tolist(),
                    (exchange.id for exchange in report.exchanges),
                    strict=True,
                )
                if exchange.dimension == name.lower()
            },
            "per exchange: bytes that leave a GPU × GPUs that take part",
        )

    def _figure(self, title: str) -> FigureLabel:
        figure = FigureLabel(self._context, title, 11, 700)
        self._figures.append(figure)
        return figure

    @staticmethod
    def _line(text: str, figure: QLabel) -> QHBoxLayout:
        line = QHBoxLayout()
        line.addWidget(label(text, 11, 400, "2"))
        line.addStretch(1)
        line.addWidget(figure)
        return line
