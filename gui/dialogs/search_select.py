"""Select by kind, model, rail, group, place, state or finding."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QListView,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gui.context import AppContext
from gui.dialogs.buttons import dialog_buttons
from gui.dialogs.search import known_findings
from gui.panels.panel_paint import draw_text
from gui.widgets.fields import ChoiceField
from gui.widgets.search import SearchField
from gui.widgets.style import label, separator, set_font
from model.document.search_select import By, Family, families
from model.text import plural

Index = QModelIndex | QPersistentModelIndex
ROW_HEIGHT = 26
_RIGHT = Qt.AlignmentFlag.AlignRight
NAMES = {
    By.KIND: "Kind",
    By.MODEL: "Model",
    By.RAIL: "Rail",
    By.GROUP: "Group",
    By.PLACE: "Rack or tray",
    By.STATE: "State",
    By.LINK: "Links of a kind",
    By.FINDING: "Finding",
}
_NOTHING = {
    By.RAIL: "Nothing here has a rail.",
    By.GROUP: "Groups are there once the job is legal.",
    By.PLACE: "Nothing here lies in a rack or tray.",
    By.FINDING: "No finding names a device or link.",
}
HOW = (
    ("new", "Select these"),
    ("add", "Add to the selection"),
    ("within", "Keep these of the selection"),
    ("remove", "Take these out of the selection"),
)


class FamilyModel(QAbstractListModel):
    """Families whose names hold a text."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._all: tuple[Family, ...] = ()
        self.shown: tuple[Family, ...] = ()

    def set_families(self, found: tuple[Family, ...]) -> None:
        """Show others."""
        self._all = found
        self.filter("")

    def filter(self, text: str) -> None:
        """Show those whose name holds every word."""
        words = text.casefold().split()
        self.beginResetModel()
        self.shown = tuple(each for each in self._all if all(word in each.name.casefold() for word in words))
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        family = self.shown[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return family.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{family.name}, {len(family.ids):,}"
        return None


class FamilyDelegate(QStyledItemDelegate):
    """Icon, name, and how many at the right."""

    def __init__(self, context: AppContext, view: QListView) -> None:
        super().__init__(view)
        self._context = context
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._view.viewport().width(), ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        if not isinstance(model, FamilyModel):
            raise TypeError("this delegate paints families")
        family, theme = model.shown[index.row()], self._context.theme.current
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        token = "accent-soft" if chosen else "raised" if state & QStyle.StateFlag.State_MouseOver else ""
        if token or state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(
                theme.color("accent") if state & QStyle.StateFlag.State_HasFocus else Qt.PenStyle.NoPen
            )
            painter.setBrush(theme.color(token) if token else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect.adjusted(0, 0, -1, -1), 5, 5)
        left = 10
        if family.icon:
            icon = theme.device_icon(family.icon, 16, self._view.devicePixelRatioF())
            painter.drawPixmap(rect.left() + 8, rect.top() + 5, icon)
            left = 32
        line = rect.adjusted(left, 0, -10, 0)
        number = f"{len(family.ids):,}"
        used = draw_text(painter, line, number, theme.font(11), theme.color("text-2"), _RIGHT)
        title = line.adjusted(0, 0, -int(used) - 10, 0)
        draw_text(painter, title, family.name, theme.font(12, 500), theme.color("text"))
        painter.restore()


class SelectDialog(QDialog):
    """What to select by, the values with their counts, and what to do with the selection that is there."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._findings = known_findings(context)
        report = context.analysis.report if context.analysis is not None else None
        self._placement = report.placement if report is not None else None
        self.setWindowTitle("Select by")
        self.resize(560, 440)
        self.by = QListWidget()
        self.by.setAccessibleName("Select by")
        self.by.setFixedWidth(150)
        self.by.setProperty("role", "choices")
        set_font(self.by, 12, 600)
        for by, name in NAMES.items():
            item = QListWidgetItem(name)
            item.setData(Qt.ItemDataRole.UserRole, by)
            self.by.addItem(item)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.by)
        row.addWidget(separator(vertical=True))
        row.addLayout(self._right(), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row, 1)
        column.addWidget(separator())
        column.addWidget(self._buttons())
        self.by.currentItemChanged.connect(lambda _now, _before: self._show_families())
        self.list.selectionModel().selectionChanged.connect(self._show_count)
        self.rows.modelReset.connect(self._show_count)
        self.list.activated.connect(lambda _index: self.accept())
        order: tuple[QWidget, ...] = (self.by, self.field, self.list, self.how, self.select_button)
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)
        self.by.setCurrentRow(0)
        self.by.setFocus()

    def _right(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setContentsMargins(12, 12, 12, 10)
        column.setSpacing(8)
        self.field = SearchField(self._context.theme, "Filter")
        self.field.searched.connect(self._filter)
        self.rows = FamilyModel(self)
        self.list = QListView()
        self.list.setModel(self.rows)
        self.list.setItemDelegate(FamilyDelegate(self._context, self.list))
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName("Values")
        self.empty = label("", 12, 400, "2", wrap=True)
        column.addWidget(self.field)
        column.addWidget(self.empty)
        column.addWidget(self.list, 1)
        return column

    def _buttons(self) -> QWidget:
        self.how = ChoiceField("What to do with the selection")
        self.how.set_options(HOW if self._context.selection else HOW[:1])
        self.how.setMinimumWidth(210)
        self.how.set_value("new")
        self.how.committed.connect(lambda _value: self._show_count())
        self.count = label("", 11, 400, "2")
        box, self.select_button = dialog_buttons(self, "Select")
        box.setContentsMargins(0, 0, 0, 0)
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(16, 10, 16, 12)
        row.addWidget(self.how)
        row.addWidget(self.count, 1)
        row.addWidget(box)
        return holder

    def _show_families(self) -> None:
        by = By(self.by.currentItem().data(Qt.ItemDataRole.UserRole))
        document = self._context.document.document
        self.field.blockSignals(True)
        self.field.clear()
        self.field.blockSignals(False)
        self.rows.set_families(families(document, by, self._placement, self._findings))
        self.empty.setText(_NOTHING.get(by, "There is nothing to choose from."))
        self._show_rows()

    def _filter(self, text: str) -> None:
        self.rows.filter(text)
        if self.rows.shown:
            self.empty.setText("")
        else:
            self.empty.setText(f"Nothing here is called “{text}”.")
        self._show_rows()

    def _show_rows(self) -> None:
        filled = bool(self.rows.shown)
        self.empty.setVisible(not filled)
        self.list.setVisible(filled)
        if filled:
            self.list.setCurrentIndex(self.rows.index(0))

    def chosen(self) -> frozenset[str]:
        """What the selection would become."""
        rows = (index.row() for index in self.list.selectionModel().selectedIndexes())
        ids = frozenset(ident for row in rows for ident in self.rows.shown[row].ids)
        how, now = self.how.currentData(), self._context.selection
        if how == "add":
            return now | ids
        if how == "within":
            return now & ids
        return now - ids if how == "remove" else ids

    def _show_count(self) -> None:
        count = len(self.chosen())
        self.count.setText(f"{plural(count, 'part')} selected" if self.rows.shown else "")
        self.select_button.setEnabled(bool(self.list.selectionModel().selectedIndexes()))

    def accept(self) -> None:
        """Select, and close."""
        if self.list.selectionModel().selectedIndexes():
            self._context.set_selection(self.chosen())
            self._context.say(f"{plural(len(self._context.selection), 'part')} selected.")
            super().accept()
