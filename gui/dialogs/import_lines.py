"""A text with its line numbers, on which lines are marked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gui.import_work import Excerpt
from gui.theme import ThemeManager
from model.files.importing import NoteKind

Index = QModelIndex | QPersistentModelIndex
_GAP = 8
_EDGE = 3
_MARKS: Mapping[NoteKind, str] = {
    NoteKind.CONTRADICTORY: "error",
    NoteKind.GUESSED: "warning",
    NoteKind.INFERRED: "accent",
    NoteKind.IGNORED: "text-3",
    NoteKind.FOUND: "ok",
}
_SOFT: Mapping[NoteKind, str] = {
    NoteKind.CONTRADICTORY: "error-soft",
    NoteKind.GUESSED: "warning-soft",
    NoteKind.INFERRED: "accent-soft",
    NoteKind.IGNORED: "raised",
    NoteKind.FOUND: "ok-soft",
}


def mark_token(kind: NoteKind) -> str:
    """The colour of a kind of note."""
    return _MARKS[kind]


class LinesModel(QAbstractListModel):
    """The lines of an excerpt; `marks` are the worst kind of note of each noted line."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.excerpt = Excerpt("", (), (), 0)
        self.marks: Mapping[int, NoteKind] = {}

    def show(self, excerpt: Excerpt, marks: Mapping[int, NoteKind]) -> None:
        """Show another text, or other marks."""
        self.beginResetModel()
        self.excerpt, self.marks = excerpt, marks
        self.endResetModel()

    def row_of(self, line: int) -> int:
        """The row of a line, or of the next one that is shown."""
        return min(bisect_left(self.excerpt.numbers, line), len(self.excerpt.numbers) - 1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.excerpt.numbers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.excerpt.lines[index.row()]
        if role == Qt.ItemDataRole.AccessibleTextRole:
            number = self.excerpt.numbers[index.row()]
            kind = self.marks.get(number)
            said = f", {kind.value}" if kind is not None else ""
            return f"Line {number:,}{said}: {self.excerpt.lines[index.row()]}"
        return None


class _LineDelegate(QStyledItemDelegate):
    """Number, an edge in the colour of the mark, and the text in a font of equal widths."""

    def __init__(self, theme: ThemeManager, view: LinesView) -> None:
        super().__init__(view)
        self._theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return self._view.row_size

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        if not isinstance(model, LinesModel):
            raise TypeError("this delegate paints lines")
        theme, row = self._theme.current, index.row()
        numbers = model.excerpt.numbers
        kind = model.marks.get(numbers[row])
        rect = option.rect
        painter.save()
        if kind is not None:
            painter.fillRect(rect, theme.color(_SOFT[kind]))
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.color("accent-soft"))
        if kind is not None:
            painter.fillRect(rect.left(), rect.top(), _EDGE, rect.height(), theme.color(_MARKS[kind]))
        painter.setFont(self._view.mono)
        gutter = self._view.gutter
        middle = Qt.AlignmentFlag.AlignVCenter
        jumped = row > 0 and numbers[row] != numbers[row - 1] + 1
        painter.setPen(theme.color("text-3"))
        if jumped:
            painter.drawLine(rect.left(), rect.top(), rect.right(), rect.top())
        painter.drawText(
            rect.left(),
            rect.top(),
            gutter,
            rect.height(),
            Qt.AlignmentFlag.AlignRight | middle,
            f"{numbers[row]}",
        )
        painter.setPen(theme.color("text"))
        left = rect.left() + gutter + 2 * _GAP
        painter.drawText(
            left,
            rect.top(),
            max(rect.width() - gutter, 1),
            rect.height(),
            int(middle.value),
            model.data(index),
        )
        painter.restore()


class LinesView(QListView):
    """Shows an excerpt; `go_to(line)` selects a line and brings it into view."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self.mono: QFont = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        self.mono.setPixelSize(11)
        self.gutter = 0
        self.row_size = QSize(100, 17)
        self.lines = LinesModel(self)
        self.setModel(self.lines)
        self.setItemDelegate(_LineDelegate(theme, self))
        self.setUniformItemSizes(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Text")
        theme.changed.connect(self.viewport().update)

    def show_text(self, excerpt: Excerpt, marks: Mapping[int, NoteKind]) -> None:
        """Show another text with its marks."""
        metrics = QFontMetrics(self.mono)
        widest = max((len(line) for line in excerpt.lines), default=0)
        self.gutter = metrics.horizontalAdvance("0") * len(str(excerpt.count)) + _GAP + _EDGE
        self.row_size = QSize(
            self.gutter + 3 * _GAP + metrics.horizontalAdvance("m") * widest, metrics.height() + 2
        )
        self.lines.show(excerpt, marks)

    def go_to(self, line: int) -> None:
        """Select a line and bring it into the middle."""
        if not self.lines.excerpt.numbers:
            return
        index = self.lines.index(self.lines.row_of(line))
        self.setCurrentIndex(index)
        self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        self.horizontalScrollBar().setValue(0)


def marks_of(lines: Sequence[tuple[NoteKind, Sequence[int]]]) -> dict[int, NoteKind]:
    """The worst kind of each line; kinds are given from the worst on."""
    found: dict[int, NoteKind] = {}
    for kind, numbers in lines:
        for number in numbers:
            found.setdefault(number, kind)
    return found
