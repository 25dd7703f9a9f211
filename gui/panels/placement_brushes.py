"""The brushes: a grid of group tiles, made as they come into view."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QPainter, QResizeEvent
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
from gui.panels.placement_rows import BrushTable
from gui.widgets.chip import paint_group
from model.text import plural

Index = QModelIndex | QPersistentModelIndex
TILE_HEIGHT, GAP, NARROWEST_TILE = 40, 6, 72
MOST_ROWS = 3
_MIDDLE = Qt.TextElideMode.ElideMiddle


class BrushModel(QAbstractListModel):
    """The brushes of a `BrushTable`."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.table: BrushTable | None = None

    def set_table(self, table: BrushTable | None) -> None:
        """Show other brushes; where only their contents differ, the view stays where it is."""
        before = self.rowCount()
        after = len(table) if table is not None else 0
        if before == after:
            self.table = table
            if after:
                self.dataChanged.emit(self.index(0), self.index(after - 1))
            return
        self.beginResetModel()
        self.table = table
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self.table is None else len(self.table)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self.table is None or not index.isValid():
            return None
        brush = self.table.brush(index.row())
        if role == Qt.ItemDataRole.DisplayRole:
            return brush.name
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            gpus = plural(brush.gpus, "GPU")
            return f"{brush.name}: {gpus}" if brush.holds == gpus else f"{brush.name}: {brush.holds}, {gpus}"
        return None


class BrushDelegate(QStyledItemDelegate):
    """A tile with the number on its colour, the name, and what the group holds."""

    def __init__(self, context: AppContext, view: QListView) -> None:
        super().__init__(view)
        self._context = context
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return self._view.gridSize()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        if not isinstance(model, BrushModel) or model.table is None:
            return
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        theme, brush = self._context.theme.current, model.table.brush(index.row())
        chosen = self._context.tool == "paint" and self._context.brush == brush.number
        lit = bool(state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_HasFocus))
        tile = QRectF(rect).adjusted(0.5, 0.5, -GAP + 0.5, -GAP + 0.5)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.color("accent" if chosen else "strong" if lit else "line"))
        painter.setBrush(theme.color("accent-soft" if chosen else "raised"))
        painter.drawRoundedRect(tile, 6, 6)
        number = str(brush.number)
        chip = QRectF(tile.left() + 5, tile.top() + 3, max(16, 4 + 7 * len(number)), 15)
        paint_group(painter, theme, chip, brush.number, number)
        name = QRectF(chip.right() + 5, tile.top() + 2, tile.right() - chip.right() - 8, 17)
        draw_text(painter, name, brush.name, theme.font(11, 600), theme.color("text"))
        holds = QRectF(tile.left() + 6, tile.top() + 18, tile.width() - 10, 15)
        draw_text(painter, holds, brush.holds, theme.font(10), theme.color("text-2"), elide=_MIDDLE)
        painter.restore()


class BrushGrid(QListView):
    """As many tiles a row as fit. Choosing one takes it as the brush of the paint tool."""

    brush_chosen = Signal(int)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.brushes = BrushModel(self)
        self.setModel(self.brushes)
        self.setItemDelegate(BrushDelegate(context, self))
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setMovement(QListView.Movement.Static)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setUniformItemSizes(True)
        self.setLayoutMode(QListView.LayoutMode.SinglePass)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Brushes")
        self.clicked.connect(lambda index: self.brush_chosen.emit(index.row()))
        self.activated.connect(lambda index: self.brush_chosen.emit(index.row()))

    def show_table(self, table: BrushTable | None) -> None:
        """Show other brushes."""
        self.brushes.set_table(table)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()
        super().resizeEvent(event)

    def _arrange(self) -> None:
        """Equal tiles that fill the width, and as much height as the rows need up to `MOST_ROWS`."""
        count, room = self.brushes.rowCount(), self.width() - 1
        columns = max(1, room // (NARROWEST_TILE + GAP))
        rows = -(-count // columns)
        many = rows > MOST_ROWS
        if many:
            room -= self.verticalScrollBar().sizeHint().width()
            columns = max(1, room // (NARROWEST_TILE + GAP))
        width = min(room // min(columns, max(1, count)), 2 * NARROWEST_TILE)
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if many else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        self.setGridSize(QSize(width, TILE_HEIGHT + GAP))
        self.setFixedHeight(min(max(1, rows), MOST_ROWS) * (TILE_HEIGHT + GAP))
