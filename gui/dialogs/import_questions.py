"""What a format does not say, as a form: each question with its default in the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.widgets.fields import ChoiceField, TextField
from gui.widgets.style import label, set_style
from model.files.importing import Question


class QuestionForm(QWidget):
    """`answered` comes when an answer changed; `answers` are all of those that differ from the default."""

    answered = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._questions: tuple[Question, ...] = ()
        self._values: dict[str, str] = {}
        self.fields: dict[str, ChoiceField | TextField] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._inner: QWidget | None = None

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """Answers by key, as they are handed to the reader."""
        return tuple(sorted(self._values.items()))

    def clear(self) -> None:
        """Forget all answers: it is another format."""
        self._values = {}
        self.show_questions((), {})

    def show_questions(self, questions: Sequence[Question], taken: Mapping[str, str]) -> None:
        """Show questions with the answers that were taken. Fields of questions that stay are kept."""
        if tuple(questions) == self._questions:
            return
        focused = next((key for key, field in self.fields.items() if field.hasFocus()), None)
        self._questions = tuple(questions)
        self.fields = {}
        if self._inner is not None:
            self._column.removeWidget(self._inner)
            self._inner.hide()
            self._inner.deleteLater()
        self._inner = QWidget()
        column = QVBoxLayout(self._inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        for question in questions:
            self._add(column, question, taken.get(question.key, question.default))
        self._column.addWidget(self._inner)
        if focused in self.fields:
            self.fields[focused].setFocus()

    def _add(self, column: QVBoxLayout, question: Question, value: str) -> None:
        field: ChoiceField | TextField
        if question.choices:
            field = ChoiceField(question.text)
            field.set_options(question.choices)
        else:
            field = TextField(question.text)
        field.set_value(value)
        field.setAccessibleDescription(question.why)
        field.committed.connect(lambda answer, key=question.key: self._take(key, answer))
        caption = label(question.text, 12, 500, wrap=True)
        caption.setBuddy(field)
        column.addWidget(caption)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(field, 1)
        if question.unit and not question.choices:
            line.addWidget(label(question.unit, 12, 400, "2"))
        column.addLayout(line)
        if question.why:
            column.addWidget(label(question.why, 11, 400, "3", wrap=True))
        column.addSpacing(6)
        self.fields[question.key] = field

    def _take(self, key: str, answer: str) -> None:
        self._values[key] = answer
        self.answered.emit()

    def mark(self, problem: str) -> None:
        """Mark the field whose question a sentence names; none where it names none."""
        for key, field in self.fields.items():
            set_style(field, mark="error" if problem.startswith(key) else "")
