"""Find: type a name, a kind, a group or a finding; Enter goes there."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, Qt
from PySide6.QtCore import QSize as Size
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gui.context import AppContext
from gui.panels.panel_paint import draw_text
from gui.widgets.search import SearchField
from gui.widgets.style import label
from model.document.search import FoundFinding, Hit, HitKind, Hits, SearchIndex
from model.text import plural

Index = QModelIndex | QPersistentModelIndex
ROW_HEIGHT = 28
WIDTH, HEIGHT = 520, 440
_RIGHT = Qt.AlignmentFlag.AlignRight
_MOVING = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})
_ICONS = {HitKind.ALL: "select", HitKind.GROUP: "paint", HitKind.FINDING: "warning", HitKind.LINK: "connect"}
_WORDS = {
    HitKind.ALL: "Select",
    HitKind.KIND: "Kind",
    HitKind.GROUP: "Group",
    HitKind.FINDING: "Finding",
    HitKind.CONTAINER: "Container",
    HitKind.DEVICE: "Device",
    HitKind.LINK: "Link",
}


def known_findings(context: AppContext) -> tuple[FoundFinding, ...]:
    """The findings of the last analysis that name something."""
    findings = () if context.analysis is None else context.analysis.findings
    return tuple(FoundFinding(each.title, each.detail, (*each.devices, *each.links)) for each in findings)


def search_index(context: AppContext) -> SearchIndex:
    """An index of the open drawing with the groups and findings of its last analysis."""
    report = context.analysis.report if context.analysis is not None else None
    placement = report.placement if report is not None else None
    return SearchIndex(context.document.document, placement, known_findings(context))


class HitModel(QAbstractListModel):
    """What was found."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.hits: tuple[Hit, ...] = ()

    def set_hits(self, hits: tuple[Hit, ...]) -> None:
        """Show others."""
        self.beginResetModel()
        self.hits = hits
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.hits)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        hit = self.hits[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return hit.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{hit.title}\n{hit.note}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{_WORDS[hit.kind]}: {hit.title}, {hit.note}"
        return None


class HitDelegate(QStyledItemDelegate):
    """Icon, title, and at the right what it is."""

    def __init__(self, context: AppContext, view: QListView) -> None:
        super().__init__(view)
        self._context = context
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> Size:
        return Size(self._view.viewport().width(), ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        if not isinstance(model, HitModel):
            raise TypeError("this delegate paints what a search found")
        hit, theme = model.hits[index.row()], self._context.theme.current
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        token = "accent-soft" if chosen else "raised" if state & QStyle.StateFlag.State_MouseOver else ""
        if token:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color(token))
            painter.drawRoundedRect(rect, 5, 5)
        ratio = self._view.devicePixelRatioF()
        if hit.kind in (HitKind.KIND, HitKind.CONTAINER, HitKind.DEVICE):
            icon = theme.device_icon(hit.icon, 16, ratio)
        else:
            tone = "warning" if hit.kind is HitKind.FINDING else "text-2"
            icon = theme.pixmap(_ICONS[hit.kind], 16, ratio, theme.color(tone))
        painter.drawPixmap(rect.left() + 8, rect.top() + 6, icon)
        line = rect.adjusted(34, 0, -10, 0)
        note = line.adjusted(line.width() * 45 // 100, 0, 0, 0)
        used = draw_text(painter, note, hit.note, theme.font(11), theme.color("text-2"), _RIGHT)
        title = line.adjusted(0, 0, -int(used) - 10, 0)
        weight = 600 if hit.kind in (HitKind.CONTAINER, HitKind.DEVICE, HitKind.LINK) else 500
        draw_text(painter, title, hit.title, theme.font(12, weight), theme.color("text"))
        painter.restore()


class SearchDialog(QDialog):
    """A field and what it finds. Up and Down choose, Enter goes there, Esc closes."""

    def __init__(self, context: AppContext, index: SearchIndex, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._index = index
        self.setWindowTitle("Find")
        self.resize(WIDTH, HEIGHT)
        self.field = SearchField(context.theme, "Name, kind, model, group or finding")
        self.field.setMinimumHeight(30)
        self.rows = HitModel(self)
        self.list = QListView()
        self.list.setModel(self.rows)
        self.list.setItemDelegate(HitDelegate(context, self.list))
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName("What was found")
        self.count = label("", 11, 400, "3")
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 10)
        column.setSpacing(8)
        column.addWidget(self.field)
        column.addWidget(self.list, 1)
        column.addWidget(self.count)
        self.field.searched.connect(self._search)
        self.field.installEventFilter(self)
        self.field.returnPressed.connect(self._go_to_current)
        self.list.clicked.connect(self._go_to)
        self.list.activated.connect(self._go_to)
        self._show(Hits(), "")
        self.field.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keys that move in the list work while one types."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _MOVING:
            self.list.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)

    def _search(self, text: str) -> None:
        self._show(self._index.find(text), text)

    def _show(self, hits: Hits, text: str) -> None:
        self.rows.set_hits(hits.hits)
        if hits.hits:
            self.list.setCurrentIndex(self.rows.index(0))
            self.list.scrollToTop()
        if not text:
            words = "Words in any order: “leaf down”, “node03 nic”, “TP group 2”, “oversubscribed”."
        elif not hits.hits:
            words = f"Nothing here is called “{text}”."
        else:
            words = f"{plural(hits.devices, 'device')}, {plural(hits.links, 'link')}. Enter goes there."
        self.count.setText(words)

    def _go_to_current(self) -> None:
        index = self.list.currentIndex()
        if index.isValid():
            self._go_to(index)

    def _go_to(self, index: QModelIndex) -> None:
        hit = self.rows.hits[index.row()]
        topology = self._context.document.document.topology
        links = [ident for ident in hit.ids if topology.has_link(ident)]
        if hit.kind is HitKind.FINDING:
            self._context.set_lit_links(links, [ident for ident in hit.ids if topology.has_device(ident)])
        self._context.go_to(ident for ident in hit.ids if topology.has(ident))
        self.accept()
