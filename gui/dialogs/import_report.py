"""What an import says: notes by kind, and the text in which a note's lines are shown."""

from __future__ import annotations

from itertools import groupby

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QListWidgetItem,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from gui.dialogs.import_lines import LinesView, mark_token, marks_of
from gui.import_work import Excerpt, Seen
from gui.theme import ThemeManager
from gui.widgets.fields import ChoiceField
from gui.widgets.read_list import ReadList
from gui.widgets.style import label, separator, set_font
from model.files.importing import Note, NoteKind, note_place
from model.text import plural

MOST_SHOWN = 200  # notes of a kind; the text that is copied has all
_HEADS = {
    NoteKind.CONTRADICTORY: "Contradictory",
    NoteKind.GUESSED: "Guessed",
    NoteKind.INFERRED: "Inferred",
    NoteKind.IGNORED: "Ignored",
    NoteKind.FOUND: "Found",
}
_NOTE = Qt.ItemDataRole.UserRole
_KIND = Qt.ItemDataRole.UserRole + 1


class ReportView(QWidget):
    """The notes of `seen` above the text. Choosing a note goes to its first line, again to its next one.

    `counted` says how many notes there are.
    """

    counted = Signal(int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._notes: tuple[Note, ...] = ()
        self._heads = _HEADS
        self._excerpts: dict[str, Excerpt] = {}
        self._place = 0
        self._fresh = False  # the chosen note has just shown its first line
        self.list = ReadList("Report")
        self.copy_button = QPushButton("Copy report")
        self.copy_button.setProperty("role", "link")
        set_font(self.copy_button, 11, 500)
        self.source = ChoiceField("Text of")
        self.source.hide()
        self.source_name = label("", 11, 600)
        self.lines = LinesView(theme)
        self.empty = label("", 12, 400, "2", wrap=True)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(self._upper())
        splitter.addWidget(self._lower())
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(splitter)
        self.list.currentItemChanged.connect(lambda _now, _before: self._first_line())
        self.list.itemClicked.connect(lambda _item: self._next_line())
        self.list.itemActivated.connect(lambda _item: self._next_line())
        self.source.committed.connect(self._show_source)
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text()))
        theme.changed.connect(self._colour)

    def _upper(self) -> QWidget:
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(12, 10, 12, 8)
        column.setSpacing(6)
        head = QHBoxLayout()
        head.addWidget(label("Report", 12, 600))
        head.addStretch(1)
        head.addWidget(self.copy_button)
        column.addLayout(head)
        column.addWidget(self.empty)
        column.addWidget(self.list, 1)
        column.addStretch(0)
        return holder

    def _lower(self) -> QWidget:
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(6)
        head = QHBoxLayout()
        head.addWidget(self.source_name, 1)
        head.addWidget(self.source, 1)
        column.addLayout(head)
        column.addWidget(self.lines, 1)
        return holder

    def show_seen(self, seen: Seen) -> None:
        """Show another report and its texts."""
        self._notes = seen.notes
        self._heads = _HEADS | ({NoteKind.CONTRADICTORY: "Cannot be read"} if seen.problem else {})
        if seen.problem_at is not None:
            name, line = seen.problem_at
            self._notes = (Note(NoteKind.CONTRADICTORY, seen.problem, (line,), source=name), *self._notes)
        self._excerpts = {each.name: each for each in seen.excerpts}
        names = list(self._excerpts)
        self.source.set_options([(name, name) for name in names])
        self.source.setVisible(len(names) > 1)
        self.source_name.setVisible(len(names) <= 1)
        first = seen.problem_at[0] if seen.problem_at is not None else names[0] if names else None
        self.source.set_value(first)
        self._fill()
        self._show_source(first or "")
        if seen.problem_at is not None:
            self.lines.go_to(seen.problem_at[1])
        self.counted.emit(len(self._notes))

    def text(self) -> str:
        """The whole report as text."""
        rows = []
        for kind, notes in groupby(self._notes, key=lambda note: note.kind):
            rows.append(self._heads[kind])
            for note in notes:
                place = self._where(note)
                rows.append(f"- {note.text}{f' ({place})' if place else ''}")
        return "\n".join(rows)

    def _fill(self) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        for kind, group in groupby(self._notes, key=lambda note: note.kind):
            notes = list(group)
            head = QListWidgetItem(f"{self._heads[kind]} · {len(notes):,}")
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setFont(self._theme.current.font(11, 600))
            head.setData(_KIND, kind)
            self.list.addItem(head)
            for note in notes[:MOST_SHOWN]:
                place = self._where(note)
                item = QListWidgetItem(f"{note.text}  ·  {place}" if place else note.text)
                item.setData(_NOTE, note)
                if place:
                    item.setToolTip("Click to see the line, again to see the next one")
                self.list.addItem(item)
            if len(notes) > MOST_SHOWN:
                more = QListWidgetItem(f"and {len(notes) - MOST_SHOWN:,} more; Copy report has all of them")
                more.setFlags(Qt.ItemFlag.ItemIsEnabled)
                self.list.addItem(more)
        self.list.blockSignals(False)
        self.empty.setText("" if self._notes else "What was found, inferred and guessed is told here.")
        self.empty.setVisible(not self._notes)
        self.list.setVisible(bool(self._notes))
        self.copy_button.setEnabled(bool(self._notes))
        self._colour()

    def _colour(self) -> None:
        theme = self._theme.current
        for row in range(self.list.count()):
            item = self.list.item(row)
            kind = item.data(_KIND)
            if kind is not None:
                item.setForeground(theme.color(mark_token(NoteKind(kind))))

    def _where(self, note: Note) -> str:
        place = note_place(note)
        if place and len(self._excerpts) > 1 and note.source:
            return f"{note.source}, {place}"
        return place

    def _note(self) -> Note | None:
        item = self.list.currentItem()
        return item.data(_NOTE) if item is not None else None

    def _first_line(self) -> None:
        self._place = 0
        self._fresh = True
        self._show_line()

    def _next_line(self) -> None:
        note = self._note()
        if note is not None and note.lines and not self._fresh:
            self._place = (self._place + 1) % len(note.lines)
            self._show_line()
        self._fresh = False

    def _show_line(self) -> None:
        note = self._note()
        if note is None or not note.lines:
            return
        if note.source in self._excerpts and note.source != self.source.currentData():
            self.source.set_value(note.source)
            self._show_source(note.source)
        self.lines.go_to(note.lines[self._place])

    def _show_source(self, name: str) -> None:
        excerpt = self._excerpts.get(name, Excerpt("", (), (), 0))
        marks = marks_of([(note.kind, note.lines) for note in self._notes if note.source in (name, "")])
        whole = len(excerpt.numbers) == excerpt.count
        said = plural(excerpt.count, "line")
        if not whole:
            said += f", {len(excerpt.numbers):,} of them shown"
        self.source_name.setText(f"{name} · {said}" if excerpt.count else "")
        self.source.setToolTip(said)
        self.lines.show_text(excerpt, marks)


class ReportDialog(QDialog):
    """The report of the last import, to be read again while the drawing is used."""

    def __init__(self, theme: ThemeManager, seen: Seen, did: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Import report")
        self.resize(720, 620)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QVBoxLayout()
        head.setContentsMargins(12, 12, 12, 10)
        head.setSpacing(4)
        head.addWidget(label(f"{seen.name or 'Import'}: {seen.summary}", 14, 600, wrap=True))
        if did:
            head.addWidget(label(did, 11, 400, "2", wrap=True))
        for question in seen.questions:
            answer = seen.answers.get(question.key, question.default)
            shown = dict(question.choices).get(answer, f"{answer} {question.unit}".strip())
            head.addWidget(label(f"{question.text} {shown}", 11, 400, "2", wrap=True))
        column.addLayout(head)
        column.addWidget(separator())
        self.report = ReportView(theme)
        self.report.show_seen(seen)
        column.addWidget(self.report, 1)
        column.addWidget(separator())
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        box.setContentsMargins(16, 10, 16, 12)
        box.rejected.connect(self.reject)
        column.addWidget(box)
        self.report.list.setFocus()
