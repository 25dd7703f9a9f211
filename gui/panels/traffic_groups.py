"""The groups tab: every kind of exchange with its operation, size, bytes, how often, and what it exposes."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gui.context import AppContext
from gui.panels.panel_paint import draw_text
from gui.panels.traffic_groups_rows import GroupRow, devices_of_exchange, group_rows, links_of_exchange
from gui.widgets.figure import derivation_html
from model.step.report import Figure, StepReport
from model.text import format_seconds

Index = QModelIndex | QPersistentModelIndex
ROW_HEIGHT = 67
REMARK_HEIGHT = 15
_RIGHT = Qt.AlignmentFlag.AlignRight


class GroupListModel(QAbstractListModel):
    """One row per exchange."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.report: StepReport | None = None
        self.rows: tuple[GroupRow, ...] = ()

    def set_report(self, report: StepReport | None) -> None:
        """Take over a report."""
        if report is self.report:
            return
        self.beginResetModel()
        self.report = report
        self.rows = group_rows(report) if report is not None else ()
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return row.hover
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._hover(row)
        return None

    def _hover(self, row: GroupRow) -> str:
        """The row in words, and how its figures were worked out."""
        figures = self.report.figures if self.report is not None else {}
        words = "".join(f"<div>{escape(line)}</div>" for line in row.hover.splitlines())
        for name, title in (("message_bytes", "A message"), ("time_s", "Time"), ("exposed_s", "Exposed")):
            figure = figures.get(f"exchange.{row.id}.{name}")
            if figure is not None:
                words += f"<hr>{derivation_html(title, in_plain_words(figure, row))}"
        return words


def in_plain_words(figure: Figure, row: GroupRow) -> Figure:
    """A figure of an exchange without what only the engine calls it, and without a factor of 1."""
    inputs = {name: value for name, value in figure.inputs.items() if (name, value) != ("time_factor", 1.0)}
    formula = figure.formula.replace(row.id, row.title).replace(row.kind, row.title)
    return replace(figure, formula=formula, inputs=inputs)


class GroupDelegate(QStyledItemDelegate):
    """Four lines: what, between whom, how often, how much; exposed seconds at the right. A fifth where
    there is something to know of algorithm or paths.
    """

    def __init__(self, context: AppContext, view: GroupList) -> None:
        super().__init__(view)
        self._context = context
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        model = index.model()
        remark = isinstance(model, GroupListModel) and model.rows[index.row()].remark
        return QSize(0, ROW_HEIGHT + (REMARK_HEIGHT if remark else 0))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        if not isinstance(model, GroupListModel):
            return
        row, rect = model.rows[index.row()], option.rect
        state: QStyle.StateFlag = option.state
        theme, faint = self._context.theme.current, self._view.faint
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if selected or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("accent-soft" if selected else "raised"))
            painter.drawRoundedRect(rect, 5, 5)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(theme.color("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        line = QRect(rect.left() + 6, rect.top() + 3, rect.width() - 12, 16)
        exposed = format_seconds(row.exposed_s) if row.exposed_s > 0 else "0 ms"
        token = "text-3" if faint or row.exposed_s <= 0 else "text"
        used = draw_text(painter, line, exposed, theme.font(12, 700), theme.color(token), _RIGHT)
        draw_text(
            painter,
            line.adjusted(0, 0, -int(used) - 8, 0),
            row.title,
            theme.font(12, 600),
            theme.color("text"),
        )
        line = line.translated(0, 16)
        tone = "warning" if row.blocking and row.exposed_s > 0 else "text-3"
        used = draw_text(painter, line, row.waiting, theme.font(11), theme.color(tone), _RIGHT)
        draw_text(
            painter, line.adjusted(0, 0, -int(used) - 8, 0), row.what, theme.font(11), theme.color("text-2")
        )
        line = line.translated(0, 15)
        draw_text(painter, line, row.how_often, theme.font(11), theme.color("text-3"))
        line = line.translated(0, 15)
        draw_text(painter, line, row.how_much, theme.font(11), theme.color("text-3"))
        line = line.translated(0, REMARK_HEIGHT)
        if row.remark:
            draw_text(painter, line, row.remark, theme.font(11), theme.color("warning"))
        painter.restore()


class GroupList(QListView):
    """The list; choosing a row lights its links and its GPUs. `chosen` comes then."""

    chosen = Signal()

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.faint = False  # figures are of an older state
        self.groups = GroupListModel(self)
        self.setModel(self.groups)
        self.setItemDelegate(GroupDelegate(context, self))
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Groups: kinds of exchange")
        self.clicked.connect(self._choose)
        self.activated.connect(self._choose)
        self.chosen_id = ""

    def refresh(self, report: StepReport | None) -> None:
        """Show a report; the chosen exchange stays chosen and lit where it still exists."""
        if report is self.groups.report:
            return
        self.groups.set_report(report)
        for number, row in enumerate(self.groups.rows):
            if row.id == self.chosen_id:
                self.setCurrentIndex(self.groups.index(number))
                if self.isVisible():
                    self._choose(self.groups.index(number))

    def figure_at(self, at: QPoint | None) -> tuple[str, Figure] | None:
        """What F1 explains: exposed time of the row at a point of the viewport, else of the current row."""
        index = self.indexAt(at) if at is not None else self.currentIndex()
        report = self.groups.report
        if report is None or not index.isValid():
            return None
        row = self.groups.rows[index.row()]
        figure = report.figures.get(f"exchange.{row.id}.exposed_s")
        return (f"Exposed time of {row.title}", in_plain_words(figure, row)) if figure is not None else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        before = self.currentIndex()
        super().keyPressEvent(event)
        if self.currentIndex() != before and self.currentIndex().isValid():
            self._choose(self.currentIndex())

    def _choose(self, index: QModelIndex) -> None:
        report = self.groups.report
        if report is None:
            return
        row = self.groups.rows[index.row()]
        self.chosen_id = row.id
        self._context.set_lit_links(
            links_of_exchange(report, row.exchange), devices_of_exchange(report, row.exchange)
        )
        self.chosen.emit()
