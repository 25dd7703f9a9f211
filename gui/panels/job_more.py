"""The foldable rest of the job panel: switches and choices that are seldom touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from gui.widgets.fields import ChoiceField, NumberField, TextField
from gui.widgets.style import label, set_font, set_style
from model.job.choices import Choice, legal_values
from model.job.spec import JobSpec

_NOT_BUILT = "not built yet"


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One row: the path of the job field, its name for people, and how it is edited."""

    path: str
    text: str
    kind: Literal["choice", "flag", "number", "decimal"]
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A head and its rows."""

    text: str
    fields: tuple[FieldSpec, ...]


GROUPS: tuple[Group, ...] = (
    Group(
        "State and activations",
        (
            FieldSpec("parallel.zero", "ZeRO", "choice", "What is sharded over the replicas"),
            FieldSpec("gradient_precision", "Gradients in", "choice", "Precision in which they are reduced"),
            FieldSpec("recompute", "Recompute", "choice", "What the backward works out again"),
            FieldSpec("attention", "Attention", "choice"),
            FieldSpec("parallel.sequence_parallel", "Sequence parallel", "flag", "Norms cut over TP"),
            FieldSpec("vocabulary_multiple", "Vocabulary multiple", "number",
                      "The vocabulary is padded to a multiple of this × TP"),
        ),
    ),
    Group(
        "Ranks",
        (
            FieldSpec("parallel.order", "Order", "choice", "From the smallest stride to the largest"),
            FieldSpec("parallel.dp", "DP", "choice", "Derived from what is left, or fixed"),
            FieldSpec("parallel.vpp", "Chunks a stage", "choice"),
            FieldSpec("parallel.etp", "Expert TP", "choice"),
        ),
    ),
    Group(
        "Overlap with compute",
        (
            FieldSpec("overlap.gradients", "Gradients", "flag"),
            FieldSpec("overlap.parameters", "Parameters", "flag"),
            FieldSpec("overlap.pipeline", "Pipeline sends", "flag"),
            FieldSpec("overlap.tensor", "Tensor parallel", "flag"),
            FieldSpec("overlap.experts", "Experts", "flag"),
        ),
    ),
    Group(
        "Collective algorithm",
        (
            FieldSpec("collectives.tp", "TP", "choice"),
            FieldSpec("collectives.cp", "CP", "choice"),
            FieldSpec("collectives.ep", "EP", "choice"),
            FieldSpec("collectives.dp", "DP", "choice"),
        ),
    ),
    Group(
        "Experts",
        (
            FieldSpec("experts.imbalance", "Imbalance", "decimal", "Most loaded expert rank ÷ mean"),
            FieldSpec("experts.dispatch", "Dispatch", "choice"),
            FieldSpec("experts.dispatch_precision", "Dispatch in", "choice"),
        ),
    ),
)  # fmt: skip

_WORDS: Mapping[str, Mapping[object, str]] = {
    "parallel.zero": {0: "0: nothing sharded", 1: "1: optimizer", 2: "2: + gradients", 3: "3: + weights"},
    "parallel.dp": {None: "derived"},
    "recompute": {"none": "None", "selective": "Selective", "full": "Full"},
    "attention": {"flash": "Flash", "core": "Core"},
}


def value_at(job: JobSpec, path: str) -> Any:
    """The value of a job field as in the job file."""
    value: Any = job.to_json()
    for name in path.split("."):
        value = value[name]
    return value


def choice_text(path: str, value: object) -> str:
    """A value for people."""
    known = _WORDS.get(path, {})
    if value in known:
        return known[value]
    return value.upper() if isinstance(value, str) and value in ("bf16", "fp8", "fp32") else str(value)


def fill_choices(
    field: ChoiceField,
    path: str,
    choices: tuple[Choice, ...],
    current: object,
    words: Mapping[str, str] | None = None,
) -> None:
    """Offer values; those that are not built yet are greyed and say why, illegal ones say why."""
    field.clear()
    values = [choice.value for choice in choices]
    if current not in values:
        choices = (*choices, Choice(current))  # type: ignore[arg-type]
    model = field.model()
    for row, choice in enumerate(choices):
        missing = choice.reason.startswith(_NOT_BUILT)
        text = (words or {}).get(str(choice.value)) or choice_text(path, choice.value)
        field.addItem(f"{text} ({_NOT_BUILT})" if missing else text, choice.value)
        field.setItemData(row, choice.reason, Qt.ItemDataRole.ToolTipRole)
        if missing and isinstance(model, QStandardItemModel):
            item = model.item(row)
            item.setEnabled(choice.value == current)
    index = next((row for row, choice in enumerate(choices) if choice.value == current), 0)
    field.setCurrentIndex(index)


class MoreFields(QWidget):
    """The rows of `GROUPS`. `committed` gives path and value of what the user set."""

    committed = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, QWidget] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        row = 0
        for group in GROUPS:
            grid.addWidget(label(group.text, 11, 600, "3"), row, 0, 1, 2)
            row += 1
            for spec in group.fields:
                field = self._field(spec)
                field.setToolTip(spec.tip)
                field.setAccessibleDescription(spec.tip)
                self.fields[spec.path] = field
                if isinstance(field, QCheckBox):
                    grid.addWidget(field, row, 0, 1, 2)
                else:
                    name = label(spec.text, 11, 400, "2")
                    name.setBuddy(field)
                    grid.addWidget(name, row, 0)
                    grid.addWidget(field, row, 1)
                row += 1

    def show_job(self, job: JobSpec, world: int, broken: Mapping[str, str]) -> None:
        """Show the values of a job, and mark the fields that break a rule."""
        for group in GROUPS:
            for spec in group.fields:
                field, value = self.fields[spec.path], value_at(job, spec.path)
                reason = broken.get(spec.path, "")
                set_style(field, mark="error" if reason else "")
                field.setToolTip(reason or spec.tip)
                self._show(spec, field, job, world, value)

    def _show(self, spec: FieldSpec, field: QWidget, job: JobSpec, world: int, value: Any) -> None:
        if isinstance(field, NumberField):
            field.set_value(int(value))
        elif isinstance(field, TextField):
            field.set_value(f"{value:g}")
        elif isinstance(field, ChoiceField):
            fill_choices(field, spec.path, legal_values(job, world, spec.path), value)
        elif isinstance(field, QCheckBox):
            field.setChecked(bool(value))
            other = [choice for choice in legal_values(job, world, spec.path) if choice.value != value]
            reason = other[0].reason if other and other[0].reason.startswith(_NOT_BUILT) else ""
            field.setEnabled(not reason)
            if reason:
                field.setToolTip(reason)
            field.setText(f"{spec.text} ({_NOT_BUILT})" if reason else spec.text)

    def _field(self, spec: FieldSpec) -> QWidget:
        if spec.kind == "flag":
            box = QCheckBox(spec.text)
            set_font(box, 11)
            box.clicked.connect(lambda checked, path=spec.path: self.committed.emit(path, checked))
            return box
        if spec.kind == "choice":
            choice = ChoiceField(spec.text)
            choice.activated.connect(
                lambda index, path=spec.path, field=choice: self.committed.emit(path, field.itemData(index))
            )
            return choice
        if spec.kind == "number":
            number = NumberField(1, 2**20, spec.text)
            number.committed.connect(lambda value, path=spec.path: self.committed.emit(path, value))
            return number
        decimal = TextField(spec.text)
        decimal.committed.connect(lambda text, path=spec.path: self.committed.emit(path, _decimal(text)))
        return decimal


def _decimal(text: str) -> object:
    """The number that was typed, with comma or point; what is none stays text and is refused."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text
