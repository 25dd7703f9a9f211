"""The card of a focus: the hops of a route with names, capacity and load, or whom a device talks to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QSizePolicy,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
)

from gui.canvas.focus import Focus
from gui.canvas.focus_rows import Row, hop_rows, neighbour_rows, partner_rows, way_name, way_text
from gui.panels.panel_kit import Throttle
from gui.widgets.elided import ElidedLabel
from gui.widgets.segmented import SegmentedControl
from gui.widgets.style import label, set_font, set_style, themed_icon
from model.text import plural

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

WIDTH = 400
_LEAST_WIDTH = 300
_ROW = 22
_HOPS = ("Hop", "Share", "Capacity", "Load")
_PARTNERS = ("Partner", "Sends", "Gets")
_LINKS = ("Other end", "Capacity", "Out", "In")


class FocusCard(QFrame):
    """Lies over the canvas while something is in focus. Its lines select what they name."""

    def __init__(self, view: CanvasView, focus: Focus) -> None:
        super().__init__(view)
        self._canvas, self._focus = view, focus
        self._context = view.context
        self.setProperty("role", "card")
        self.setAccessibleName("Focus: paths of a device, or the route between two")
        self.title = ElidedLabel("", 13, 700)
        self.close_button = QToolButton()
        themed_icon(self.close_button, view.context.theme, "cross", px=12)
        self.close_button.setToolTip("Leave the focus (Esc)")
        self.close_button.setAccessibleName("Leave the focus")
        self.close_button.setFixedSize(24, 22)
        self.close_button.clicked.connect(lambda: self._context.set_focus(()))
        self.note = label("", 11, 400, "2", wrap=True)
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.ways: SegmentedControl | None = None
        self.tree = QTreeWidget()
        self.tree.setAccessibleName("Hops and partners")
        self.tree.setFrameShape(QFrame.Shape.NoFrame)
        self.tree.setUniformRowHeights(True)
        self.tree.setIndentation(12)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        set_font(self.tree, 11)
        self.tree.itemSelectionChanged.connect(self._select)
        self._build()
        self._shown: list[Row] = []
        self._throttle = Throttle(self._show_rows, self)
        focus.changed.connect(self._show)
        for signal in (
            self._context.link_mode_changed,
            self._context.traffic_of_changed,
            self._context.playback.time_changed,
        ):
            signal.connect(self._loads_changed)
        self.hide()

    def _build(self) -> None:
        self._head = QHBoxLayout()
        self._head.addWidget(self.title, 1)
        self._head.addWidget(self.close_button)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(12, 8, 8, 8)
        self._column.setSpacing(6)
        self._column.addLayout(self._head)
        self._column.addWidget(self.note)
        self._column.addWidget(self.tree, 1)

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, self.heightForWidth(WIDTH))

    def heightForWidth(self, width: int) -> int:
        rows = sum(1 + len(row.children) * (len(self._shown) == 1) for row in self._shown)
        list_height = 34 + _ROW * max(rows, 1) if self._shown else 0
        ways = 30 if self.ways is not None else 0
        margins, frame = self._column.contentsMargins(), 2 * self.frameWidth()
        words = self.note.heightForWidth(width - margins.left() - margins.right() - frame)
        edges = margins.top() + margins.bottom() + frame + 2 * self._column.spacing()
        return edges + self._head.sizeHint().height() + words + ways + min(list_height, 330)

    def place(self, right: int, top: int, bottom: int) -> None:
        """Stand at the right below a height, above another."""
        width = min(WIDTH, max(_LEAST_WIDTH, right // 2 - 24))  # the drawing keeps the larger part
        height = min(self.heightForWidth(width), max(120, bottom - top))
        self.setGeometry(right - width, top, width, height)

    # What it says

    def _show(self) -> None:
        ids = self._context.focus
        self.setVisible(bool(ids))
        if not ids:
            return
        self.title.setText(" → ".join(ids))
        self.title.setToolTip(self.title.text())
        self._show_ways()
        self._show_note()
        self._show_rows()
        self._canvas.overlay.place()

    def _show_ways(self) -> None:
        ways = self._focus.ways
        if self.ways is not None:
            self._column.removeWidget(self.ways)
            self.ways.deleteLater()
            self.ways = None
        if len(ways) > 1:
            names = [(str(number), way_name(way)) for number, way in enumerate(ways[:5])]
            self.ways = SegmentedControl(names, "Way")
            self.ways.set_value(str(ways.index(self._focus.way)) if self._focus.way in ways else "0")
            self.ways.chosen.connect(lambda value: self._focus.choose(int(value)))
            self._column.insertWidget(1, self.ways, 0, Qt.AlignmentFlag.AlignLeft)

    def _show_note(self) -> None:
        focus, route = self._focus, self._focus.route
        set_style(self.note, tone="error" if focus.reason else "2")
        if focus.reason:
            text = focus.reason
        elif focus.way is not None and route is not None:
            text = way_text(focus.way, route.policy)
        elif route is not None:
            partners = len({partner.device for partner in route.partners})
            text = f"Talks to {plural(partners, 'device')} over {plural(len(route.links), 'link')} in a step."
            if not partners:
                text = "Takes no part in the exchanges of this step."
        elif len(self._context.focus) == 1 and focus.clear is not None and focus.clear.links:
            text = f"Passes on what others send, over {plural(len(focus.clear.links), 'link')}."
        else:
            text = "The engine is finding the way…"
        self.note.setText(text)

    def _loads_changed(self, *_args: object) -> None:
        if self.isVisible():
            self._throttle.request()

    def _show_rows(self) -> None:
        focus, scene = self._focus, self._canvas.scene_data
        columns: tuple[str, ...] = _HOPS
        rows: list[Row] = []
        if focus.way is not None:
            rows = hop_rows(focus.way, scene)
        elif focus.route is not None:
            columns, rows = _PARTNERS, partner_rows(focus.route)
        elif len(self._context.focus) == 1 and not focus.reason:
            columns, rows = _LINKS, neighbour_rows(scene, self._context.focus[0])
        self.tree.setVisible(bool(rows))
        if rows == self._shown and self.tree.columnCount() == len(columns):
            return
        same = [row.ids for row in rows] == [row.ids for row in self._shown]
        self._shown = rows
        if same and self.tree.topLevelItemCount() == len(rows):
            self._rewrite(rows)
        else:
            self._refill(columns, rows)

    def _rewrite(self, rows: list[Row]) -> None:
        """Other figures in the same lines: what is open and chosen stays."""
        for number, row in enumerate(rows):
            item = self.tree.topLevelItem(number)
            if item is None:
                continue
            _write(item, row)
            for at, child in enumerate(row.children):
                _write(item.child(at), child)

    def _refill(self, columns: tuple[str, ...], rows: list[Row]) -> None:
        self.tree.blockSignals(True)
        self.tree.clear()
        self.tree.setColumnCount(len(columns))
        self.tree.setHeaderLabels(list(columns))
        for row in rows:
            item = _item(row)
            item.addChildren([_item(child) for child in row.children])
            self.tree.addTopLevelItem(item)
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        if len(rows) == 1:
            self.tree.expandAll()
        self.tree.blockSignals(False)

    def _select(self) -> None:
        """Select what the chosen line names; the focus stays."""
        chosen = self.tree.selectedItems()
        if chosen:
            self._context.set_selection(chosen[0].data(0, Qt.ItemDataRole.UserRole))


def _write(item: QTreeWidgetItem | None, row: Row) -> None:
    if item is not None:
        for column, text in enumerate(row.cells):
            item.setText(column, text)


def _item(row: Row) -> QTreeWidgetItem:
    item = QTreeWidgetItem(list(row.cells))
    item.setData(0, Qt.ItemDataRole.UserRole, row.ids)
    item.setToolTip(0, row.cells[0])
    item.setSizeHint(0, QSize(0, _ROW))
    for column in range(1, len(row.cells)):
        item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return item
