"""The options of an export format, as a form."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gui.widgets.fields import ChoiceField, TextField
from gui.widgets.style import label
from model.files.exporting import ExportFormat, ExportOption
from model.text import plural

SELECTION = "selection"
_WHOLE, _PART = "whole", "part"


class OptionForm(QWidget):
    """The fields of `show_options`; `values` are the options by key."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, ChoiceField | TextField] = {}
        self._ids: tuple[str, ...] = ()
        self._format: ExportFormat | None = None
        self._inner: QWidget | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    def show_options(self, one: ExportFormat, theme: str) -> None:
        """Show the options of a format; pictures begin with the theme of the window."""
        self._format, self.fields = one, {}
        if self._inner is not None:
            self._column.removeWidget(self._inner)
            self._inner.hide()
            self._inner.deleteLater()
        self._inner = QWidget()
        grid = QGridLayout(self._inner)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        for row, option in enumerate(one.options):
            field = self._field(option, theme)
            caption = label(
                "Part of the drawing" if option.key == SELECTION else option.text, 12, 500, wrap=True
            )
            caption.setFixedWidth(170)
            caption.setBuddy(field)
            grid.addWidget(caption, row, 0)
            grid.addWidget(field, row, 1)
            self.fields[option.key] = field
        self._column.addWidget(self._inner)
        self.show_selection(self._ids)

    def show_selection(self, ids: Sequence[str]) -> None:
        """Offer what is selected, where the format can show a part."""
        self._ids = tuple(ids)
        field = self.fields.get(SELECTION)
        if isinstance(field, ChoiceField):
            before = field.currentData()
            options = [(_WHOLE, "All of it")]
            if self._ids:
                options.append((_PART, f"Only around {plural(len(self._ids), 'selected part')}"))
            field.set_options(options)
            field.set_value(before if before == _PART and self._ids else _WHOLE)

    @staticmethod
    def _field(option: ExportOption, theme: str) -> ChoiceField | TextField:
        field: ChoiceField | TextField
        if option.key == SELECTION:
            return ChoiceField("Part of the drawing")
        if option.choices:
            field = ChoiceField(option.text)
            field.set_options(option.choices)
            known = [value for value, _ in option.choices]
            field.set_value(theme if option.key == "theme" and theme in known else option.default)
            return field
        field = TextField(option.text)
        field.set_value(option.default)
        return field

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The options as they are set."""
        return tuple((key, self._value(key, field)) for key, field in self.fields.items())

    def _value(self, key: str, field: ChoiceField | TextField) -> str:
        if not isinstance(field, ChoiceField):
            return field.text().strip()
        if key == SELECTION:
            return "\n".join(self._ids) if field.currentData() == _PART else ""
        return str(field.currentData())
