"""A form made from a pydantic model: one field a parameter, each with its error in place."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QGridLayout, QLabel, QLineEdit, QSpinBox, QWidget

from gui.widgets.fields import ChoiceField
from gui.widgets.style import label, pad_spin, set_font, set_style

_WIDEST = 10_000_000


class ParameterForm(QWidget):
    """Rows of name, field and explanation. `values_changed` comes on every change, valid or not."""

    values_changed = Signal()

    def __init__(self, kind: type[BaseModel], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = kind
        self.fields: dict[str, QWidget] = {}
        self._notes: dict[str, QLabel] = {}
        self._descriptions: dict[str, str] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(2, 1)
        for row, (name, info) in enumerate(_in_order(kind)):
            title = info.title or name.replace("_", " ").capitalize()
            field = self._field(info, title)
            field.setAccessibleDescription(info.description or "")
            field.setToolTip(info.description or "")
            text = label(title, 12, 500)
            text.setBuddy(field)
            note = label(info.description or "", 11, 400, "3", wrap=True)
            grid.addWidget(text, row, 0)
            grid.addWidget(field, row, 1)
            grid.addWidget(note, row, 2)
            self.fields[name], self._notes[name] = field, note
            self._descriptions[name] = info.description or ""
        grid.setRowStretch(len(self.fields), 1)  # few fields stand at the top

    def _field(self, info: FieldInfo, title: str) -> QWidget:
        default, kind = info.get_default(call_default_factory=True), info.annotation
        if get_origin(kind) is Literal:
            choice = ChoiceField(title)
            choice.set_options([(value, value) for value in get_args(kind)])
            choice.set_value(default)
            choice.committed.connect(lambda _value: self.values_changed.emit())
            return choice
        if kind is bool:
            box = QCheckBox()
            box.setAccessibleName(title)
            box.setChecked(bool(default))
            box.toggled.connect(lambda _on: self.values_changed.emit())
            return box
        if kind is int:
            # Wider than what is legal, so that a wrong number can be typed and is answered, not cut off.
            number = QSpinBox()
            number.setRange(-_WIDEST, _WIDEST)
            number.setGroupSeparatorShown(True)
            number.setValue(default)
            number.valueChanged.connect(lambda _value: self.values_changed.emit())
            return _named(number, title)
        if kind is float:
            real = QDoubleSpinBox()
            real.setRange(-_WIDEST, _WIDEST)
            real.setDecimals(3)
            real.setValue(default)
            real.valueChanged.connect(lambda _value: self.values_changed.emit())
            return _named(real, title)
        line = QLineEdit(str(default))
        line.textChanged.connect(lambda _text: self.values_changed.emit())
        return _named(line, title)

    def values(self) -> dict[str, Any]:
        """What stands in the fields."""
        return {name: _value(field) for name, field in self.fields.items()}

    def set_value(self, name: str, value: object) -> None:
        """Put a value into a field."""
        field = self.fields[name]
        if isinstance(field, ChoiceField):
            field.set_value(str(value))
        elif isinstance(field, QCheckBox):
            field.setChecked(bool(value))
        elif isinstance(field, QSpinBox | QDoubleSpinBox):
            field.setValue(value)  # type: ignore[arg-type]
        elif isinstance(field, QLineEdit):
            field.setText(str(value))

    def check(self) -> BaseModel | None:
        """The parameters, or None after each wrong field was marked and says what would be right."""
        try:
            parameters = self._kind.model_validate(self.values())
        except ValidationError as error:
            problems = {str(each["loc"][0]): _sentence(each) for each in error.errors() if each["loc"]}
            self._mark(problems)
            return None
        self._mark({})
        return parameters

    def _mark(self, problems: dict[str, str]) -> None:
        for name, field in self.fields.items():
            problem = problems.get(name, "")
            set_style(field, mark="error" if problem else "")
            self._notes[name].setText(problem or self._descriptions[name])
            set_style(self._notes[name], tone="error" if problem else "3")


def _in_order(kind: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    """A template's own parameters first, then those that it shares with others."""
    own = kind.__annotations__.keys()
    return sorted(kind.model_fields.items(), key=lambda item: item[0] not in own)


def _named(field: QWidget, title: str) -> QWidget:
    field.setAccessibleName(title)
    field.setMinimumWidth(110)
    set_font(field, 12, 600)
    if isinstance(field, QSpinBox | QDoubleSpinBox):
        pad_spin(field)
    return field


def _value(field: QWidget) -> object:
    if isinstance(field, ChoiceField):
        return field.currentData()
    if isinstance(field, QCheckBox):
        return field.isChecked()
    if isinstance(field, QSpinBox | QDoubleSpinBox):
        return field.value()
    return field.text() if isinstance(field, QLineEdit) else None


def _sentence(error: Any) -> str:
    limits = error.get("ctx", {})
    if "ge" in limits:
        return f"At least {limits['ge']:,}."
    if "le" in limits:
        return f"At most {limits['le']:,}."
    return str(error["msg"]).rstrip(".") + "."
