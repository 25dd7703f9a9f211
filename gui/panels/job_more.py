"""The foldable rest of the job panel: everything of the job that is seldom touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QWidget

from gui.panels import job_texts
from gui.panels.job_fields import (
    GROUPS,
    FieldSpec,
    choice_text,
    fitting_algorithms,
    has_effect,
    storage_choices,
    value_at,
)
from gui.panels.job_rows import capital
from gui.widgets.fields import ChoiceField, NumberField, TextField
from gui.widgets.style import label, set_font, set_style
from model.job.choices import Choice, legal_values
from model.job.exchange import Operation
from model.job.spec import JobSpec

_READ: Mapping[str, Callable[[str], object]] = {
    "count": job_texts.read_count,
    "counts": job_texts.read_counts,
    "decimal": job_texts.read_decimal,
    "share": job_texts.read_share,
    "bytes": job_texts.read_bytes,
    "seconds": job_texts.read_seconds,
}
_WRITE: Mapping[str, Callable[[Any], str]] = {
    "count": lambda value: f"{value:,}",
    "counts": lambda value: ", ".join(str(one) for one in value),
    "decimal": lambda value: f"{value:g}",
    "share": job_texts.share_text,
    "bytes": job_texts.bytes_text,
    "seconds": job_texts.seconds_text,
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the fields need to know beside the job: GPUs, broken fields with reasons, storage devices, and
    the operations of each dimension where a report tells.
    """

    world: int
    broken: Mapping[str, str] = field(default_factory=dict)
    storage: tuple[str, ...] = ()
    operations: Mapping[str, frozenset[Operation]] = field(default_factory=dict)


def fill_choices(
    combo: ChoiceField,
    choices: tuple[Choice, ...],
    current: object,
    text_of: Callable[[object], str],
) -> None:
    """Offer values; illegal ones are marked and say why."""
    combo.clear()
    values = [choice.value for choice in choices]
    if current not in values:
        choices = (*choices, Choice(current))  # type: ignore[arg-type]
    for row, choice in enumerate(choices):
        note = " · illegal here" if choice.reason else ""
        combo.addItem(f"{text_of(choice.value)}{note}", choice.value)
        combo.setItemData(row, choice.reason, Qt.ItemDataRole.ToolTipRole)
    index = next((row for row, choice in enumerate(choices) if choice.value == current), 0)
    combo.setCurrentIndex(index)


class MoreFields(QWidget):
    """The rows of `GROUPS` that have an effect. `committed` gives path and value of what the user set."""

    committed = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, QWidget] = {}
        self.reasons: dict[str, QLabel] = {}
        self._names: dict[str, QLabel] = {}
        self._heads: dict[str, QLabel] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        row = 0
        for group in GROUPS:
            head = self._heads[group.text] = label(group.text, 11, 600, "3")
            head.setContentsMargins(0, 6 if row else 0, 0, 0)
            grid.addWidget(head, row, 0, 1, 2)
            row += 1
            for spec in group.fields:
                row = self._add(grid, spec, row)

    def _add(self, grid: QGridLayout, spec: FieldSpec, row: int) -> int:
        made = self._field(spec)
        made.setAccessibleDescription(spec.tip)
        self.fields[spec.path] = made
        if isinstance(made, QCheckBox):
            grid.addWidget(made, row, 0, 1, 2)
        else:
            name = self._names[spec.path] = label(spec.text, 11, 400, "2")
            name.setBuddy(made)
            name.setToolTip(spec.tip)
            grid.addWidget(name, row, 0)
            grid.addWidget(made, row, 1)
        reason = self.reasons[spec.path] = label("", 11, 400, "error", wrap=True)
        grid.addWidget(reason, row + 1, 0, 1, 2)
        return row + 2

    def show_job(self, job: JobSpec, around: Surroundings) -> None:
        """Show the values of a job, mark the fields that break a rule, leave out those without effect."""
        for group in GROUPS:
            any_shown = False
            for spec in group.fields:
                made, reason = self.fields[spec.path], around.broken.get(spec.path, "")
                shown = bool(reason) or has_effect(spec, job)
                any_shown = any_shown or shown
                made.setVisible(shown)
                if spec.path in self._names:
                    self._names[spec.path].setVisible(shown)
                self.reasons[spec.path].setText(capital(reason))
                self.reasons[spec.path].setVisible(bool(reason))
                set_style(made, mark="error" if reason else "")
                made.setToolTip(reason or spec.tip)
                if shown:
                    self._show(spec, made, job, around)
            self._heads[group.text].setVisible(any_shown)

    def _show(self, spec: FieldSpec, made: QWidget, job: JobSpec, around: Surroundings) -> None:
        value = value_at(job, spec.path)
        if isinstance(made, NumberField):
            made.set_value(int(value))
        elif isinstance(made, TextField):
            made.set_value("" if value is None else _WRITE[spec.kind](value))
            made.setPlaceholderText(spec.empty)
        elif isinstance(made, ChoiceField):
            choices = self._choices(spec, job, around)
            fill_choices(made, choices, value, lambda one: choice_text(spec, one))
        elif isinstance(made, QCheckBox):
            made.setChecked(bool(value))

    @staticmethod
    def _choices(spec: FieldSpec, job: JobSpec, around: Surroundings) -> tuple[Choice, ...]:
        if spec.kind == "storage":
            return tuple(Choice(one) for one in storage_choices(around.storage))
        choices = legal_values(job, around.world, spec.path)
        if spec.kind == "algorithm":
            fitting = fitting_algorithms(around.operations.get(spec.path.rpartition(".")[2], ()))
            choices = tuple(choice for choice in choices if choice.value in fitting)
        return choices

    def _field(self, spec: FieldSpec) -> QWidget:
        if spec.kind == "flag":
            box = QCheckBox(spec.text)
            set_font(box, 11)
            box.clicked.connect(lambda checked, path=spec.path: self.committed.emit(path, checked))
            return box
        if spec.kind in ("choice", "storage", "algorithm"):
            choice = ChoiceField(spec.text)
            choice.activated.connect(
                lambda index, path=spec.path, made=choice: self.committed.emit(path, made.itemData(index))
            )
            return choice
        if spec.kind == "number":
            number = NumberField(spec.low, 2**31 - 1, spec.text)
            number.committed.connect(lambda value, path=spec.path: self.committed.emit(path, value))
            return number
        typed = TextField(spec.text)
        read = _READ[spec.kind]
        typed.committed.connect(lambda text, path=spec.path: self.committed.emit(path, read(text)))
        return typed
