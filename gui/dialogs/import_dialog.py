"""The import dialog: the format, what it does not say, what was read, and what to do with it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.background import Background, Errand
from gui.dialogs.busy import BusyRow
from gui.dialogs.buttons import dialog_buttons
from gui.dialogs.import_questions import QuestionForm
from gui.dialogs.import_report import ReportView
from gui.dialogs.import_ways import WaysPanel
from gui.import_work import Choice, Planned, Seen, Wanted, Way, look, plan
from gui.widgets.fields import ChoiceField
from gui.widgets.style import label, separator, set_style
from model.text import plural

if TYPE_CHECKING:
    from gui.context import AppContext

LEFT_WIDTH = 420


class ImportDialog(QDialog):
    """Reads in the background and shows what it found. After `accept`, `planned` is what to do.

    `wanted` is what is read and how, `seen` what was found, `choice` the way that `planned` is of.
    """

    def __init__(
        self,
        context: AppContext,
        background: Background,
        wanted: Wanted,
        way: Way | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._context, self._background = context, background
        self._errand: Errand | None = None
        self._first_way = way
        self._was_ready = False
        self.wanted = wanted
        self.seen: Seen | None = None
        self.planned = Planned()
        self.choice: Choice | None = None
        self.setWindowTitle("Import")
        self.resize(960, 660)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._body(), 1)
        column.addWidget(separator())
        column.addWidget(self._bottom())
        self._connect()
        self._read()

    # --- building ------------------------------------------------------------------------------------------

    def _body(self) -> QHBoxLayout:
        self.report = ReportView(self._context.theme)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self._left())
        row.addWidget(separator(vertical=True))
        row.addWidget(self.report, 1)
        return row

    def _left(self) -> QWidget:
        self.title = label(_name(self.wanted), 14, 600, wrap=True)
        self.format = ChoiceField("Format")
        self.format.setPlaceholderText("Looking at the text")
        self.format.setEnabled(False)
        caption = label("Format", 12, 500)
        caption.setBuddy(self.format)
        self.about = label("", 11, 400, "3", wrap=True)
        self.problem = label("", 12, 500, wrap=True)
        set_style(self.problem, soft="error")
        self.partial = QCheckBox("Import what can be read")
        self.summary = label("", 12, 600, wrap=True)
        self.questions_head = label("What the file does not say", 12, 600)
        self.questions = QuestionForm()
        self.ways = WaysPanel(self._context)
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(16, 14, 16, 12)
        column.setSpacing(8)
        column.addWidget(self.title)
        format_row = QHBoxLayout()
        caption.setFixedWidth(90)
        format_row.addWidget(caption)
        format_row.addSpacing(6)
        format_row.addWidget(self.format, 1)
        column.addLayout(format_row)
        column.addWidget(self.about)
        column.addWidget(self.problem)
        column.addWidget(self.partial)
        column.addWidget(self.summary)
        column.addSpacing(4)
        column.addWidget(self.ways)
        column.addSpacing(4)
        column.addWidget(self.questions_head)
        column.addWidget(self.questions)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inner)
        scroll.setFixedWidth(LEFT_WIDTH)
        return scroll

    def _bottom(self) -> QWidget:
        box, self.import_button = dialog_buttons(self, "Import")
        box.setContentsMargins(0, 0, 0, 0)
        row = BusyRow(box, "Reading", 0)
        self.busy, self.state, self.stop_button = row.bar, row.state, row.stop_button
        return row

    def _connect(self) -> None:
        self.format.committed.connect(self._other_format)
        self.partial.toggled.connect(self._set_partial)
        self.questions.answered.connect(self._read)
        self.ways.changed.connect(self._plan)
        self.stop_button.clicked.connect(self._stop)
        self.finished.connect(lambda _code: self._cancel())
        order: tuple[QWidget, ...] = (
            self.format, self.partial, self.ways.way, self.ways.trays, self.ways.host, self.ways.list,
            self.report.list, self.report.source, self.report.lines, self.report.copy_button,
            self.stop_button, self.import_button,
        )  # fmt: skip
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)

    # --- reading -------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read with the format and the answers as they are."""
        self.wanted = Wanted(
            self.wanted.paths,
            self.wanted.text,
            self.format.currentData() or self.wanted.format_id,
            self.questions.answers,
            self.partial.isChecked(),
        )
        self._begin(f"Reading {_name(self.wanted)}")
        errand = self._background.run(look, self.wanted)
        errand.done.connect(self._show_seen)
        errand.failed.connect(lambda text: self._show_seen(Seen((), problem=text)))
        self._errand = errand

    def _plan(self) -> None:
        """Work out what the chosen way would do."""
        choice = self.ways.choice
        if choice is None or self.seen is None or self.seen.problem:
            return
        self.choice = Choice(choice.way, choice.trays, choice.host, self.partial.isChecked())
        self._begin("Working out what changes")
        content = self._context.document.document.content()
        errand = self._background.run(plan, self.wanted, self.choice, content)
        errand.done.connect(self._show_plan)
        errand.failed.connect(lambda text: self._show_plan(Planned(refused=text)))
        self._errand = errand

    def _begin(self, what: str) -> None:
        self._cancel()
        self.planned = Planned()
        self.import_button.setEnabled(False)
        self.busy.show()
        self.stop_button.show()
        self.state.setText(f"{what}…")
        if self.seen is None:
            self.partial.hide()
            self._show_problem("")
            self._show_rest(False)

    def _cancel(self) -> None:
        if self._errand is not None:
            self._errand.cancel()
            self._errand = None

    def _end(self) -> None:
        self._errand = None
        self.busy.hide()
        self.stop_button.hide()
        self.state.setText("")

    def _stop(self) -> None:
        """Give up reading; another format or way begins anew."""
        self._cancel()
        self._end()
        self._show_problem("Reading was stopped; nothing was changed.")

    def _other_format(self, _ident: str) -> None:
        self.questions.clear()
        self.partial.blockSignals(True)
        self.partial.setChecked(False)
        self.partial.blockSignals(False)
        self._read()

    def _set_partial(self, _on: bool) -> None:
        self._read()

    # --- showing -------------------------------------------------------------------------------------------

    def _show_seen(self, seen: Seen) -> None:
        self._end()
        self.seen = seen
        if seen.formats:
            self.format.set_options([(one.id, _format_text(one.name, one.likely)) for one in seen.formats])
            self.format.setPlaceholderText("Choose a format")
            self.format.setEnabled(True)
            self.format.setCurrentIndex(self.format.findData(seen.format_id))
        chosen = next((one for one in seen.formats if one.id == seen.format_id), None)
        self.about.setText("" if chosen is None else f"Holds: {chosen.carries}\nHas not: {chosen.lacks}")
        self.about.setVisible(chosen is not None)
        self._show_problem(seen.problem)
        self._show_partial(seen)
        self.report.show_seen(seen)
        self._show_rest(not seen.problem)
        if seen.problem:
            self.questions.mark(seen.problem)
            self.questions.setVisible(bool(self.questions.fields))
            self.format.setFocus()
            return
        self.summary.setText(f"{seen.name}: {seen.summary}" if seen.name else seen.summary)
        self.questions.mark("")
        self.questions.show_questions(seen.questions, seen.answers)
        for before, after in pairwise((self.ways.list, *self.questions.fields.values(), self.report.list)):
            QWidget.setTabOrder(before, after)
        self.questions_head.setVisible(bool(seen.questions))
        self.questions.setVisible(bool(seen.questions))
        self.ways.offer(seen, self._first_way)
        self._plan()

    def _show_plan(self, planned: Planned) -> None:
        self._end()
        self.planned = planned
        self.ways.show_plan(planned)
        if self.seen is not None and self.seen.kind == "ranks" and planned.misfits:
            self.partial.setText("Place the ranks that can be placed")
            self.partial.show()
        self.import_button.setText(self.ways.verb)
        self.import_button.setEnabled(self.can_accept)
        if self.can_accept and not self._was_ready:
            self._was_ready = True
            self.import_button.setFocus()

    @property
    def can_accept(self) -> bool:
        """Whether there is something to do."""
        planned = self.planned
        return any(each is not None for each in (planned.edit, planned.comparison, planned.overlay))

    def _show_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _show_partial(self, seen: Seen) -> None:
        left = seen.salvage
        if seen.problem and left is not None:
            self.partial.setText(f"Import what can be read, without {plural(left, 'thing')} that cannot")
        elif self.partial.isChecked():
            self.partial.setText("Import what can be read")
        self.partial.setVisible(self.partial.isChecked() or (bool(seen.problem) and left is not None))

    def _show_rest(self, shown: bool) -> None:
        for widget in (self.summary, self.questions_head, self.questions, self.ways):
            widget.setVisible(shown)

    def accept(self) -> None:
        """Close, if there is something to do."""
        if self.can_accept:
            super().accept()


def _name(wanted: Wanted) -> str:
    if not wanted.paths:
        return "Pasted text"
    if len(wanted.paths) == 1:
        return wanted.paths[0].name
    return f"{wanted.paths[0].name} and {plural(len(wanted.paths) - 1, 'other file')}"


def _format_text(name: str, likely: bool) -> str:
    return f"{name}  ·  likely" if likely else name
