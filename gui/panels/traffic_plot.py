"""Utilisation of chosen links over the step: stepped curves, a line at 100 %, and what exceeds it hatched.
Where more happens than there are pixels, the area is the mean of each pixel and a thin line its maximum.

pyqtgraph takes a second to import, so this module is imported when a report is first shown.
"""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gui.context import AppContext
from gui.panels.timeline_rows import axis_ticks
from gui.panels.traffic_links_rows import direction_name
from gui.panels.traffic_plot_rows import Curve, FloatArray, link_curve, thinned
from gui.widgets.elided import ElidedLabel
from model.step.report import StepReport

LOWEST_FINE = 64  # pixels that a tick every 50 % needs
LOWEST_TOP, HIGHEST_TOP = 110.0, 400.0


class UtilisationPlot(QWidget):
    """The curves of some directed links, within a window of the step."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._curves: list[tuple[str, Curve]] = []
        self._names = ""
        self._items: list[pg.GraphicsObject] = []
        self._window = (0.0, 1.0)
        self._top = 150.0
        self._plot = pg.PlotWidget()
        self._plot.setMenuEnabled(False)
        self._plot.setMouseEnabled(False, False)
        self._plot.hideButtons()
        self._plot.setAntialiasing(False)
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        self._plot.setAccessibleName("Utilisation over the step")
        self._plot.wheelEvent = lambda event: event.ignore()
        item = self._plot.getPlotItem()
        item.setContentsMargins(0, 4, 4, 0)
        self._left, self._bottom = item.getAxis("left"), item.getAxis("bottom")
        self._left.setWidth(30)
        self._bottom.setHeight(18)
        self._full = pg.InfiniteLine(pos=100.0, angle=0)
        self._head = pg.InfiniteLine(pos=0.0, angle=90)
        self._head.setZValue(50)
        for line in (self._full, self._head):
            self._plot.addItem(line)
        self.legend = ElidedLabel("", 11, 400, "2")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        self._plot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        column.addWidget(self._plot, 1)
        column.addWidget(self.legend)
        self.show_theme()

    @property
    def curves(self) -> tuple[tuple[str, Curve], ...]:
        """Names and curves shown."""
        return tuple(self._curves)

    @property
    def window_s(self) -> tuple[float, float]:
        """The stretch of time shown."""
        return self._window

    def show_links(self, report: StepReport | None, directed: tuple[int, ...]) -> None:
        """Draw the curves of directed links of a report."""
        self._curves = []
        if report is not None:
            self._curves = [(direction_name(report, link), link_curve(report, link)) for link in directed]
        top = max((curve.top_percent for _, curve in self._curves), default=0.0)
        self._top = min(HIGHEST_TOP, max(LOWEST_TOP, 1.08 * top))
        over = any(curve.oversubscribed for _, curve in self._curves)
        names = ", ".join(name for name, _ in self._curves)
        names = names or "Choose a link that carries traffic to see it over the step."
        self._names = f"{names}; hatched: offered above capacity" if over else names
        self._draw()

    def set_window(self, start_s: float, end_s: float) -> None:
        """The stretch of time shown."""
        if (start_s, end_s) == self._window or end_s <= start_s:
            return
        self._window = (start_s, end_s)
        self._draw()

    def set_time(self, time_s: float) -> None:
        """Move the playhead."""
        self._head.setPos(time_s)

    def show_theme(self) -> None:
        """Take over the colours of the theme."""
        theme = self._context.theme.current
        self._plot.setBackground(theme.color("panel"))
        for axis in (self._left, self._bottom):
            axis.setPen(pg.mkPen(theme.color("line")))
            axis.setTextPen(pg.mkPen(theme.color("text-3")))
            axis.setTickFont(theme.font(10))
            axis.setStyle(tickLength=0)
        self._full.setPen(pg.mkPen(theme.color("text-3"), width=1, style=Qt.PenStyle.DashLine))
        self._head.setPen(pg.mkPen(theme.color("accent"), width=2))
        self._draw()

    def _draw(self) -> None:
        for item in self._items:
            self._plot.removeItem(item)
        self._items = []
        theme = self._context.theme.current
        width = max(50, int(self._plot.width()))
        means = False
        for number, (_, whole) in enumerate(self._curves):
            curve = thinned(whole, *self._window, width)
            color = theme.color("over") if whole.oversubscribed else theme.ramp((3, 5, 2, 4)[number % 4])
            fill = theme.color("over") if whole.oversubscribed else theme.ramp((3, 5, 2, 4)[number % 4])
            fill.setAlpha(90)
            pen = QPen(color, 1)
            pen.setCosmetic(True)
            highest = curve.percent if curve.highest is None else curve.highest
            means = means or curve.highest is not None
            self._add(curve, curve.percent, None, fill, 0.0)
            self._add(curve, highest, pen, None, None)
            if whole.oversubscribed:
                hatched = QBrush(theme.color("over"), Qt.BrushStyle.BDiagPattern)
                self._add(curve, curve.offered_percent, None, hatched, 100.0)
                if curve.highest_offered is not None:
                    self._add(curve, curve.highest_offered, pen, None, None)
        self.legend.setText(f"area: mean, line: peak; {self._names}" if means else self._names)
        self._range()

    def _add(
        self, curve: Curve, values: FloatArray, pen: QPen | None, fill: object, level: float | None
    ) -> None:
        item = pg.PlotCurveItem(
            curve.edges_s, values, stepMode="center", pen=pen, brush=fill, fillLevel=level
        )
        self._plot.addItem(item)
        self._items.append(item)

    def _range(self) -> None:
        start, end = self._window
        self._plot.setRange(xRange=(start, end), yRange=(0.0, self._top), padding=0, disableAutoRange=True)
        step = 50 if self._top <= 220 and self._plot.height() >= LOWEST_FINE else 100
        self._left.setTicks([[(value, str(value)) for value in range(0, int(self._top) + 1, step)]])
        ticks, decimals, unit = axis_ticks(start, end, 4)
        name = {1.0: "s", 1e-3: "ms"}.get(unit, "µs")
        marks = [(tick, f"{tick / unit:,.{decimals}f} {name}") for tick in ticks]
        self._bottom.setTicks([marks])
