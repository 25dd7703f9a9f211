"""What the step puts on links: the dearest, the kinds of exchange, a link over time, who sends to whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSplitter, QStackedLayout, QToolButton, QVBoxLayout, QWidget

from gui.context import AppContext
from gui.panels.job_as_of import as_of_text
from gui.panels.panel_kit import Panel, Throttle
from gui.panels.timeline_lanes import clock_text
from gui.panels.traffic_groups import GroupList
from gui.panels.traffic_links import ROW_HEIGHT as LINK_ROW
from gui.panels.traffic_links import LinkList
from gui.panels.traffic_links_rows import LinkOrder
from gui.panels.traffic_matrix import MatrixCard
from gui.panels.what_if import WhatIfLine
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.segmented import SegmentedControl
from gui.widgets.style import label, set_font
from model.job.exchange import dimension_name
from model.topology.types import DeviceKind

if TYPE_CHECKING:
    from gui.panels.traffic_plot import UtilisationPlot

USUAL_HEIGHT = 484
NEAR = 1 / 40  # of the step: what "around the playhead" shows


class TrafficPanel(Panel):
    """Links and groups as tabs; below them utilisation over time and the matrix."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "Traffic", parent)
        self.plot: UtilisationPlot | None = None
        self._build()
        self._throttle = Throttle(self._show_time, self)
        context.playback.time_changed.connect(self._time_changed)
        context.link_mode_changed.connect(self._show_time)
        context.traffic_of_changed.connect(self.show_report)
        context.selection_changed.connect(self._selection_changed)
        self.show_report()

    # --- building ------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.header = SectionHeader("Traffic")
        self.tabs = SegmentedControl([("links", "Links"), ("groups", "Groups")], "Show")
        self.tabs.chosen.connect(self.show_tab)
        self.header.add(self.tabs)
        self.caption = label("Dearest links", 11, 600, "2")
        self.order = QToolButton()
        self.order.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.order.setAccessibleName("Sort links by")
        self.order.setToolTip("Sort by …")
        set_font(self.order, 11)
        menu = QMenu(self.order)
        for order in LinkOrder:
            menu.addAction(order.value, lambda order=order: self.sort_by(order))
        self.order.setMenu(menu)
        self.links = LinkList(self.context)
        self.links.chosen.connect(self._show_curves)
        self.groups = GroupList(self.context)
        self.groups.chosen.connect(self._show_what_if)
        self._pages = QWidget()  # without it the first page would open a window of its own
        self.lists = QStackedLayout(self._pages)
        self.lists.addWidget(self.links)
        self.lists.addWidget(self.groups)
        self.empty = label(
            "Links colour as soon as a job fits the drawing. Nothing has to be complete.",
            12,
            400,
            "2",
            wrap=True,
        )
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.split = QSplitter(Qt.Orientation.Vertical)
        self.split.setChildrenCollapsible(False)
        self.split.setHandleWidth(1)
        self.split.addWidget(self._top())
        self.split.addWidget(self._plot_box())
        self.split.addWidget(self._matrix_box())
        for index, stretch in enumerate((5, 2, 0)):
            self.split.setStretchFactor(index, stretch)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(PADDING, 6, PADDING, 8)
        layout.setSpacing(4)
        layout.addWidget(self.header)
        layout.addWidget(self.empty)
        layout.addWidget(self.split, 1)
        layout.addStretch(0)
        self.sort_by(LinkOrder.COST)

    def sizeHint(self) -> QSize:
        return QSize(324, USUAL_HEIGHT if self.report is not None else 90)

    def _top(self) -> QWidget:
        top = QWidget()
        top.setMinimumHeight(44 + 4 * LINK_ROW)
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        line = QHBoxLayout()
        line.addWidget(self.caption)
        line.addStretch(1)
        line.addWidget(self.order)
        column.addLayout(line)
        column.addWidget(self._pages, 1)
        self.what_if = WhatIfLine(self.context)
        column.addWidget(self.what_if)
        return top

    def _plot_box(self) -> QWidget:
        box = QWidget()
        box.setMinimumHeight(118)
        self._plot_column = QVBoxLayout(box)
        self._plot_column.setContentsMargins(0, 4, 0, 2)
        self._plot_column.setSpacing(2)
        line = QHBoxLayout()
        self.plot_title = label("Utilisation, %", 11, 600, "2")
        self.span = SegmentedControl([("step", "Step"), ("near", "Near")], "Show of the step",
                                     tips=["The whole step", "Around the playhead"])  # fmt: skip
        self.span.chosen.connect(lambda _value: self._show_window())
        line.addWidget(self.plot_title)
        line.addStretch(1)
        line.addWidget(self.span)
        self._plot_column.addLayout(line)
        return box

    def _matrix_box(self) -> QWidget:
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(4)
        line = QHBoxLayout()
        line.addWidget(label("GPU × GPU, bytes a step", 11, 600, "2"))
        line.addStretch(1)
        line.addWidget(label("row sends to column", 11, 400, "3"))
        column.addLayout(line)
        self.matrix = MatrixCard(self.context)
        column.addWidget(self.matrix)
        column.addStretch(1)
        return box

    # --- state ---------------------------------------------------------------------------------------------

    def _take_report(self) -> None:
        """The report is taken together with its table, which comes in steps."""

    def show_report(self) -> None:
        for _step in self.report_steps():
            pass

    def report_steps(self) -> Iterator[None]:
        report = self.context.shown_report
        table = yield from self.links.links.table_steps(report)
        self.report = report
        self.links.show_table(table)
        yield
        self.empty.setVisible(report is None)
        self.split.setVisible(report is not None)
        self.groups.refresh(report)
        yield
        self.matrix.show_report(report)
        self.updateGeometry()
        if report is not None and self.plot is None:
            QTimer.singleShot(0, self._make_plot)
        self._show_curves()
        self._show_time()

    def show_stale(self) -> None:
        self.links.faint = self.groups.faint = self.outdated
        self.links.viewport().update()
        self.groups.viewport().update()
        self.matrix.show_faint(self.outdated)
        self._show_title()

    def show_theme(self) -> None:
        if self.plot is not None:
            self.plot.show_theme()
        self.update()

    def show_tab(self, name: str) -> None:
        """Show "links" or "groups"."""
        self.tabs.set_value(name)
        self.lists.setCurrentIndex(0 if name == "links" else 1)
        self.caption.setText("Dearest links" if name == "links" else "Kinds of exchange")
        self.order.setText(f"{self._order.value} ▾" if name == "links" else "exposed a step")
        self.order.setEnabled(name == "links")
        self._show_what_if()

    def sort_by(self, order: LinkOrder) -> None:
        """Sort the links."""
        self._order = order
        self.links.links.set_order(order)
        self.show_tab(self.tabs.value)

    def _make_plot(self) -> None:
        """pyqtgraph takes long to import, so it comes after everything else is there."""
        if self.plot is not None:
            return
        from gui.panels.traffic_plot import UtilisationPlot

        self.plot = UtilisationPlot(self.context)
        self._plot_column.addWidget(self.plot, 1)
        self._show_curves()
        self._show_time()

    def _time_changed(self, _time_s: float) -> None:
        if self.plot is not None:
            self.plot.set_time(self.context.playback.time_s)
        self._throttle.request()

    def _show_time(self) -> None:
        self._show_title()
        self.links.viewport().update()
        self._show_window()

    def _show_title(self) -> None:
        report, mode = self.report, self.context.link_mode
        if report is None:
            self.header.set_title("Traffic")
            self.header.set_note("")
            return
        of = self.context.traffic_of
        what = "Traffic" if of is None else f"{dimension_name(of)} traffic"
        self.plot_title.setText("Utilisation, %" if of is None else f"Utilisation by {dimension_name(of)}, %")
        moment = clock_text(self.context.playback.time_s, report.totals.time_s)
        titles = {
            "now": f"{what} at {moment}",
            "peak": f"{what}, peak of the step",
            "mean": f"{what}, mean of the step",
        }
        self.header.set_title(titles[mode])
        illegal = self.outdated and not self.context.stale
        self.header.set_note(as_of_text(report.job, self.context.document.document.job) if illegal else "")

    def _show_window(self) -> None:
        if self.plot is None or self.report is None:
            return
        until, now = self.report.totals.time_s, self.context.playback.time_s
        if self.span.value == "step":
            self.plot.set_window(0.0, until)
        else:
            width = until * NEAR
            start = min(max(0.0, now - width / 2), until - width)
            self.plot.set_window(start, start + width)
        self.plot.set_time(now)

    def _selection_changed(self) -> None:
        self.links.follow(self.context.selection)
        self._show_curves()

    def _show_curves(self) -> None:
        if self.plot is not None:
            self.plot.show_links(self.report, self._directed())
        self._show_what_if()

    def _show_what_if(self) -> None:
        """What the chosen row, or the GPU or link selected on the canvas, would bring at twice its rate."""
        selection, table = self.context.selection, self.links.links.table
        topology = self.context.document.document.topology
        alone = next(iter(selection)) if len(selection) == 1 else ""
        if topology.has_device(alone) and topology.device(alone).kind is DeviceKind.GPU:
            self.what_if.show_subject("gpu", (alone,), alone)
        elif self.tabs.value == "groups":
            exchange = self.groups.chosen_id
            if exchange:
                self.what_if.show_subject("exchange", (exchange,), exchange)
            else:
                self.what_if.clear_subject()
        elif table is not None and self.links.picked is not None:
            row = self.links.currentIndex().row()
            ids = table.link_ids(row)
            name = table.title(row) if len(ids) == 1 else f"{table.title(row)} ×{len(ids):,}"
            self.what_if.show_subject("link", ids, name)
        elif topology.has_link(alone):
            self.what_if.show_subject("link", (alone,), alone)
        else:
            self.what_if.clear_subject()

    def _directed(self) -> tuple[int, ...]:
        """The link chosen in the list, else both ways of links selected elsewhere, else the first row."""
        report, table = self.report, self.links.links.table
        if report is None or table is None or not len(table):
            return ()
        if self.links.picked is not None:
            return (self.links.picked,)
        selection = self.context.selection
        links = [number for number, name in enumerate(report.fabric.link_ids) if name in selection]
        return tuple(way for link in links for way in (2 * link, 2 * link + 1))[:4] or (table.directed(0),)
