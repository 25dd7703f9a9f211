"""The outline: the drawing as a tree, in step with the canvas. All of it works by keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QSize, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QTreeView, QVBoxLayout, QWidget

from gui.context import AppContext
from gui.panels.outline_model import OutlineModel
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.style import label, set_font
from model.document.document import Change
from model.text import plural

MOST_FOLLOWED = 50  # selected things whose branches are made for them; of more, those on show are marked
WIDTH = 230


class OutlinePanel(QWidget):
    """Sites, pods, racks, trays and devices. Choosing here chooses on the canvas, and the other way round.

    Enter or a double-click goes there, F2 renames. While hidden it does nothing.
    """

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._following = False
        self._behind = False
        self._open: set[str] = set()
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName("Outline")
        self.header = SectionHeader("Outline")
        self.empty = label("What you draw is listed here, by racks and trays.", 12, 400, "2", wrap=True)
        self.tree = QTreeView()
        self.tree.setAccessibleName("Outline: containers and devices")
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setIndentation(14)
        self.tree.setAnimated(False)
        self.tree.setIconSize(QSize(16, 16))
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.tree.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.tree.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.tree.setExpandsOnDoubleClick(False)
        set_font(self.tree, 12)
        self.rows = OutlineModel(context, self)
        self.tree.setModel(self.rows)
        column = QVBoxLayout(self)
        column.setContentsMargins(PADDING, 6, 4, 8)
        column.setSpacing(4)
        column.addWidget(self.header)
        column.addWidget(self.empty)
        column.addWidget(self.tree, 1)
        column.addStretch(0)
        self.tree.selectionModel().selectionChanged.connect(self._chosen)
        self.tree.activated.connect(self._go_to)
        self.tree.expanded.connect(lambda index: self._note(index, opened=True))
        self.tree.collapsed.connect(lambda index: self._note(index, opened=False))
        context.selection_changed.connect(self._follow)
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self._document_reset)
        context.theme.changed.connect(self.tree.viewport().update)
        self._show_counts()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 400)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._behind:
            self._rebuild()
        self._follow()

    # --- from the drawing ----------------------------------------------------------------------------------

    def _document_changed(self, change: Change) -> None:
        if not self.isVisible():
            self._behind = True
        elif self.rows.moved_by(change):
            self._rebuild()
            self._follow()
        else:
            self.rows.show_changed(change)

    def _document_reset(self) -> None:
        self._open.clear()
        if self.isVisible():
            self._rebuild()
        else:
            self._behind = True

    def _rebuild(self) -> None:
        """Show the drawing as it is, with the branches open that were."""
        self._behind = False
        opened, topology = set(self._open), self._context.document.document.topology
        with self._quiet():
            self.rows.rebuild()
            self._open = {ident for ident in opened if topology.has_container(ident)}
            for ident in sorted(self._open, key=lambda each: (each.count("."), each)):
                self.tree.expand(self.rows.index_of(ident))
        self._show_counts()

    def _show_counts(self) -> None:
        count = len(self._context.document.document.topology.devices())
        self.header.set_note(plural(count, "device") if count else "")
        filled = self.rows.hasChildren()
        self.empty.setVisible(not filled)
        self.tree.setVisible(filled)

    def _follow(self) -> None:
        """Mark what is selected elsewhere, and bring one thing into view."""
        chosen = self._context.selection
        if self._following or not self.isVisible() or chosen == self._marked():
            return
        topology = self._context.document.document.topology
        ids = [ident for ident in chosen if not topology.has_link(ident)]
        marked = QItemSelection()
        with self._quiet():
            for ident in ids:
                index = self.rows.index_of(ident, make=len(ids) <= MOST_FOLLOWED)
                if index.isValid():
                    marked.select(index, index)
            model = self.tree.selectionModel()
            model.select(marked, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            if len(ids) == 1 and not marked.isEmpty():
                index = marked.indexes()[0]
                model.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
                self.tree.scrollTo(index)

    # --- to the drawing ------------------------------------------------------------------------------------

    def _marked(self) -> frozenset[str]:
        indexes = self.tree.selectionModel().selectedIndexes()
        return frozenset(ident for index in indexes for ident in self.rows.ids_at(index))

    def _chosen(self) -> None:
        if self._following:
            return
        with self._quiet():
            self._context.set_selection(self._marked())

    def _go_to(self, index: QModelIndex) -> None:
        self._context.go_to(self.rows.ids_at(index))

    def _note(self, index: QModelIndex, *, opened: bool) -> None:
        ids = self.rows.ids_at(index)
        if len(ids) == 1:
            (self._open.add if opened else self._open.discard)(ids[0])

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Without taking our own changes for the user's."""
        before, self._following = self._following, True
        try:
            yield
        finally:
            self._following = before
