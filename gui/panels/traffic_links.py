"""The list of the dearest links: what flows on each, how full it is, what it costs the step."""

from __future__ import annotations

from collections.abc import Generator
from enum import IntEnum
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
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gui.context import AppContext
from gui.panels.panel_paint import draw_load_bar, draw_text
from gui.panels.traffic_links_rows import LinkLoad, LinkOrder, LinkTable, link_figures, load_summary
from gui.widgets.figure import derivation_html
from model.step.report import Figure, StepReport
from model.text import format_seconds, format_share

Index = QModelIndex | QPersistentModelIndex
ROW_HEIGHT = 36
_EMPTY = "No link carries anything: connect GPUs that exchange, or cut the job over more of them."
_RIGHT = Qt.AlignmentFlag.AlignRight


class LinkRole(IntEnum):
    """What the delegate asks of a row beside its texts."""

    LOAD = Qt.ItemDataRole.UserRole + 1


class LinkListModel(QAbstractListModel):
    """The rows of a `LinkTable`. It holds no row: each is made when it is shown."""

    def __init__(self, context: AppContext, parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context
        self.table: LinkTable | None = None
        self._order = LinkOrder.COST

    def table_steps(self, report: StepReport | None) -> Generator[None, None, LinkTable | None]:
        """Work out the table of a report in steps of some ten milliseconds; returns it."""
        if report is None or (self.table is not None and report is self.table.report):
            return None if report is None else self.table
        table = yield from LinkTable.steps(report, self._order)
        if table.order is not self._order:  # chosen meanwhile
            table.sort(self._order)
        return table

    def set_table(self, table: LinkTable | None) -> None:
        """Take over a table."""
        if table is not self.table:
            self.beginResetModel()
            self.table = table
            self.endResetModel()

    def set_order(self, order: LinkOrder) -> None:
        """Sort by something else."""
        self._order = order
        if self.table is not None:
            self.beginResetModel()
            self.table.sort(order)
            self.endResetModel()

    def load(self, row: int) -> LinkLoad:
        """What the bar of a row shows in the link mode of the context."""
        table, mode = self.table, self._context.link_mode
        if table is None:
            return LinkLoad(0.0, 0.0)
        if mode == "now":
            return table.at(row, self._context.playback.time_s)
        return table.peak(row) if mode == "peak" else table.mean(row)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self.table is None else len(self.table)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        table, row = self.table, index.row()
        if table is None or not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return table.title(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._hover(table, row)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return (
                f"{table.title(row)}, {table.flows(row)}, peak {load_summary(table.peak(row))}, "
                f"costs {format_seconds(table.cost_s(row))} a step"
            )
        if role == LinkRole.LOAD:
            return self.load(row)
        return None

    @staticmethod
    def _hover(table: LinkTable, row: int) -> str:
        """The row in words, and how its figures were worked out."""
        count = table.count(row)
        each = f"<div>{count} equal links; each of them:</div>" if count > 1 else ""
        words = f"{each}<div>{escape(table.title(row))}: {escape(table.flows(row))}</div>"
        figures = link_figures(table.report, table.directed(row))
        return words + "".join(f"<hr>{derivation_html(title, one)}" for title, one in figures.items())


class LinkDelegate(QStyledItemDelegate):
    """Two lines and a bar."""

    def __init__(self, context: AppContext, view: LinkList) -> None:
        super().__init__(view)
        self._context = context
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        if not isinstance(model, LinkListModel) or model.table is None:
            return
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        load = model.load(index.row())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._background(painter, rect, state, load)
        bar_width = 74 if rect.width() >= 310 else 60
        cost_width = 58
        inner = rect.adjusted(6, 2, -4, -2)
        bar_left = inner.right() - cost_width - bar_width
        self._names(
            painter,
            QRect(inner.left(), inner.top(), bar_left - inner.left() - 8, inner.height()),
            model,
            index,
        )
        self._load(
            painter, QRect(bar_left, inner.top(), bar_width, inner.height()), load, model.table.bar_scale
        )
        self._cost(
            painter, QRect(inner.right() - cost_width, inner.top(), cost_width, inner.height()), model, index
        )
        painter.restore()

    def _background(self, painter: QPainter, rect: QRect, state: QStyle.StateFlag, load: LinkLoad) -> None:
        theme = self._context.theme.current
        token = ""
        if state & QStyle.StateFlag.State_Selected:
            token = "error-soft" if load.oversubscribed else "accent-soft"
        elif state & QStyle.StateFlag.State_MouseOver:
            token = "raised"
        if token:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color(token))
            painter.drawRoundedRect(rect, 5, 5)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(theme.color("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)

    def _names(self, painter: QPainter, rect: QRect, model: LinkListModel, index: Index) -> None:
        theme, table, row = self._context.theme.current, model.table, index.row()
        if table is None:
            return
        top, bottom = _halves(rect)
        count = table.count(row)
        if count > 1:
            font = theme.font(10, 600)
            text = f"×{count:,}"
            room = QFontMetrics(font).horizontalAdvance(text) + 6
            used = draw_text(
                painter,
                top.adjusted(0, 0, -room, 0),
                table.title(row),
                theme.font(12, 600),
                theme.color("text"),
                elide=Qt.TextElideMode.ElideMiddle,
            )
            chip = top.adjusted(int(used) + 5, 0, 0, 0)
            draw_text(painter, chip, text, font, theme.color("text-2"))
        else:
            draw_text(
                painter,
                top,
                table.title(row),
                theme.font(12, 600),
                theme.color("text"),
                elide=Qt.TextElideMode.ElideMiddle,
            )
        draw_text(painter, bottom, table.flows(row), theme.font(11), theme.color("text-3"))

    def _load(self, painter: QPainter, rect: QRect, load: LinkLoad, scale: float) -> None:
        theme = self._context.theme.current
        top, bottom = _halves(rect)
        bar = QRectF(top.left(), top.center().y() - 4, top.width(), 8)
        draw_load_bar(painter, bar, load, theme, scale)
        token = "over" if load.oversubscribed else "text-3"
        font = theme.font(10, 600 if load.oversubscribed else 400)
        text = load.text(now=self._context.link_mode == "now")
        draw_text(painter, bottom, text, font, theme.color("text-3" if self._view.faint else token))

    def _cost(self, painter: QPainter, rect: QRect, model: LinkListModel, index: Index) -> None:
        theme, table, row = self._context.theme.current, model.table, index.row()
        if table is None:
            return
        top, bottom = _halves(rect)
        cost = table.cost_s(row)
        token = "text-3" if self._view.faint or cost <= 0 else "text"
        text = format_seconds(cost) if cost > 0 else "0 ms"
        draw_text(painter, top, text, theme.font(12, 700), theme.color(token), _RIGHT)
        draw_text(
            painter, bottom, format_share(table.share(row)), theme.font(11), theme.color("text-3"), _RIGHT
        )


class LinkList(QListView):
    """The list; choosing a row selects its link and lights all that are equal, Enter goes there."""

    chosen = Signal()

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.faint = False  # figures are of an older state
        self.links = LinkListModel(context, self)
        self.setModel(self.links)
        self.setItemDelegate(LinkDelegate(context, self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Dearest links")
        self.clicked.connect(self._choose)
        self.activated.connect(self._go)
        self._linked, self._by_hand = "", False

    @property
    def picked(self) -> int | None:
        """The directed link of the row that was chosen here; None when the choice came from elsewhere."""
        index, table = self.currentIndex(), self.links.table
        if not self._by_hand or table is None or not index.isValid():
            return None
        return table.directed(index.row())

    def show_table(self, table: LinkTable | None) -> None:
        """Show the table of a report; the chosen link stays chosen where it is still loaded."""
        self.links.set_table(table)
        row = self._row_of(table, self._linked) if table is not None and self._linked else None
        if row is not None:
            self.setCurrentIndex(self.links.index(row))

    def follow(self, selection: frozenset[str]) -> None:
        """Show the row of a link that was selected elsewhere."""
        table = self.links.table
        if selection == {self._linked}:
            return
        self._linked, self._by_hand = next(iter(selection)) if len(selection) == 1 else "", False
        row = self._row_of(table, self._linked) if table is not None else None
        if row is not None:
            self.setCurrentIndex(self.links.index(row))
            self.scrollTo(self.links.index(row))

    def figure_at(self, at: QPoint | None) -> tuple[str, Figure] | None:
        """What F1 explains: the cost of the row at a point of the viewport, else of the current row."""
        index = self.indexAt(at) if at is not None else self.currentIndex()
        table = self.links.table
        if table is None or not index.isValid():
            return None
        figures = link_figures(table.report, table.directed(index.row()))
        return f"Cost of {table.title(index.row())}", figures["Cost a step"]

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.links.table is not None and not len(self.links.table):
            theme = self._context.theme.current
            with QPainter(self.viewport()) as painter:
                painter.setFont(theme.font(11))
                painter.setPen(theme.color("text-2"))
                words = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignTop
                painter.drawText(self.viewport().rect().adjusted(0, 6, -6, 0), words, _EMPTY)

    def keyPressEvent(self, event: Any) -> None:
        before = self.currentIndex()
        super().keyPressEvent(event)
        if self.currentIndex() != before and self.currentIndex().isValid():
            self._choose(self.currentIndex())

    @staticmethod
    def _row_of(table: LinkTable, link_id: str) -> int | None:
        ids = table.report.fabric.link_ids
        return table.row_of(ids.index(link_id)) if link_id in ids else None

    def _choose(self, index: QModelIndex) -> None:
        table = self.links.table
        if table is None:
            return
        ids = table.link_ids(index.row())
        self._by_hand = True
        self._linked = table.report.fabric.link_ids[table.directed(index.row()) // 2]
        self._context.set_lit_links(frozenset(ids))
        self._context.set_selection(frozenset({self._linked}))
        self.chosen.emit()

    def _go(self, index: QModelIndex) -> None:
        if self.links.table is not None:
            self._choose(index)
            self._context.go_to((self._linked,))


def _halves(rect: QRect) -> tuple[QRect, QRect]:
    half = rect.height() // 2
    return QRect(rect.left(), rect.top(), rect.width(), half), QRect(
        rect.left(), rect.top() + half, rect.width(), half
    )
