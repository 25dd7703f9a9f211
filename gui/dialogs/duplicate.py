"""Copies of the selection in a row: how many, which way, how far apart, and what they will be called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QCheckBox, QDialog, QGridLayout, QVBoxLayout, QWidget

from gui.dialogs.buttons import dialog_buttons
from gui.widgets.fields import ChoiceField, NumberField
from gui.widgets.style import label, separator, set_style
from model.document.arrange import Axis
from model.document.arrange_row import MOST_COPIES, Row, duplicate_row
from model.errors import EditRefused
from model.text import plural
from model.topology.footprint import GRID

if TYPE_CHECKING:
    from gui.context import AppContext

WIDEST_GAP = 10_000


class DuplicateDialog(QDialog):
    """After `accept`, `row` is what to add and `text` what to call it."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.row: Row | None = None
        self.setWindowTitle("Duplicate in a row")
        self.setMinimumWidth(420)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._form(), 1)
        column.addWidget(separator())
        buttons, self.make_button = dialog_buttons(self, "Duplicate")
        column.addWidget(buttons)
        self.copies.valueChanged.connect(self._update)
        self.gap.valueChanged.connect(self._update)
        self.axis.committed.connect(lambda _value: self._update())
        self.wired.toggled.connect(lambda _on: self._update())
        self._update()
        self.copies.setFocus()
        self.copies.selectAll()

    def _form(self) -> QVBoxLayout:
        self.copies = NumberField(1, MOST_COPIES, "Copies")
        self.copies.setKeyboardTracking(True)
        self.copies.set_value(3)
        self.axis = ChoiceField("Direction")
        self.axis.set_options(((Axis.ACROSS.value, "To the right"), (Axis.DOWN.value, "Downwards")))
        self.axis.set_value(Axis.ACROSS.value)
        self.gap = NumberField(0, WIDEST_GAP, "Gap")
        self.gap.set_value(int(GRID))
        self.gap.setSingleStep(int(GRID))
        self.wired = QCheckBox("Wire the copies to the rest like the original")
        self.wired.setChecked(True)
        self.names = label("", 12, 600, wrap=True)
        self.note = label("", 11, 400, wrap=True)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        rows = (("Copies", self.copies), ("Direction", self.axis), ("Gap", self.gap))
        for number, (name, field) in enumerate(rows):
            text = label(name, 12, 500)
            text.setBuddy(field)
            grid.addWidget(text, number, 0)
            grid.addWidget(field, number, 1)
        column = QVBoxLayout()
        column.setContentsMargins(16, 14, 16, 12)
        column.setSpacing(8)
        column.addLayout(grid)
        column.addWidget(self.wired)
        column.addSpacing(4)
        column.addWidget(self.names)
        column.addWidget(self.note)
        column.addStretch(1)
        return column

    @property
    def text(self) -> str:
        """What the step is called."""
        return f"Duplicate {plural(self.copies.value(), 'time')}"

    def _update(self) -> None:
        try:
            self.row = duplicate_row(
                self._context.document.document,
                self._context.selection,
                self.copies.value(),
                axis=Axis(self.axis.currentData()),
                gap=float(self.gap.value()),
                wired=self.wired.isChecked(),
            )
        except EditRefused as refusal:
            self.row = None
            self.names.setText("")
            self._say(str(refusal), "error")
        else:
            self.names.setText(names_text(self.row.names))
            self._say(*self._wires(self.row))
        self.make_button.setEnabled(self.row is not None)

    def _wires(self, row: Row) -> tuple[str, str]:
        if row.left_out:
            return row.left_out, "warning"
        return f"{plural(len(row.edit.devices), 'device')}, {plural(len(row.edit.links), 'link')}.", "2"

    def _say(self, text: str, tone: str) -> None:
        self.note.setText(text)
        set_style(self.note, tone=tone)

    def accept(self) -> None:
        """Close, if there is something to add."""
        if self.row is not None:
            super().accept()


def names_text(names: tuple[tuple[str, ...], ...]) -> str:
    """What the copies are called: "node04, node05 … node11", with how many more each copy holds."""
    first = [copy[0] for copy in names]
    text = ", ".join(first) if len(first) <= 3 else f"{first[0]}, {first[1]} … {first[-1]}"
    others = len(names[0]) - 1
    return f"{text}, each with {plural(others, 'more part')}" if others else text
