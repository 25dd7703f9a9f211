"""Stand trays and switches into new racks: how many a rack, from which U, how far apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDialog, QGridLayout, QVBoxLayout, QWidget

from gui.dialogs.buttons import dialog_buttons
from gui.widgets.fields import ChoiceField, NumberField
from gui.widgets.style import label, separator, set_style
from model.catalog import catalog
from model.document.edits import Batch
from model.document.rack_edits import MOST_PER_RACK, described, put_into_racks
from model.errors import EditRefused

if TYPE_CHECKING:
    from gui.context import AppContext

ALL, CHOSEN = "all", "selection"


class PutIntoRacksDialog(QDialog):
    """Accepting it does the edit, as one undo step."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._edit: Batch | None = None
        self.setWindowTitle("Put into racks")
        self.setMinimumWidth(400)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._form(), 1)
        column.addWidget(separator())
        buttons, self.make_button = dialog_buttons(self, "Put into racks")
        column.addWidget(buttons)
        self.finished.connect(self.deleteLater)
        self._update()
        self.per_rack.setFocus()
        self.per_rack.selectAll()

    def _form(self) -> QVBoxLayout:
        heights = catalog().racks.heights_u
        self.what = ChoiceField("What")
        self.what.set_options(((ALL, "All that is in no rack"), (CHOSEN, "The selection")))
        self.what.set_value(CHOSEN if self._chosen_can() else ALL)
        self.per_rack = NumberField(1, MOST_PER_RACK, "Things a rack")
        self.per_rack.set_value(4)
        self.rack_height = ChoiceField("Height of the racks")
        self.rack_height.set_options([(repr(height), f"{height:g} U") for height in heights])
        self.rack_height.set_value(repr(heights[0]))
        self.first = NumberField(1, int(max(heights)), "First U")
        self.first.set_value(1)
        self.gap = NumberField(0, 20, "Free U between")
        self.gap.set_value(0)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        rows: tuple[tuple[str, QWidget], ...] = (
            ("What", self.what),
            ("Trays and switches a rack", self.per_rack),
            ("Height of the racks", self.rack_height),
            ("First U", self.first),
            ("Free U between them", self.gap),
        )
        for number, (name, field) in enumerate(rows):
            text = label(name, 12, 500)
            text.setBuddy(field)
            grid.addWidget(text, number, 0)
            grid.addWidget(field, number, 1)
        for choice in (self.what, self.rack_height):
            choice.committed.connect(lambda _value: self._update())
        for number_field in (self.per_rack, self.first, self.gap):
            number_field.setKeyboardTracking(True)
            number_field.valueChanged.connect(lambda _value: self._update())
        self.note = label("", 11, 400, wrap=True)
        column = QVBoxLayout()
        column.setContentsMargins(16, 14, 16, 12)
        column.setSpacing(8)
        column.addLayout(grid)
        column.addWidget(self.note)
        column.addStretch(1)
        return column

    def _chosen_can(self) -> bool:
        if not self._context.selection:
            return False
        try:
            self._plan(self._context.selection, 1, 1, 0, None)
        except EditRefused:
            return False
        return True

    def _plan(
        self, ids: frozenset[str], per_rack: int, first_u: int, gap_u: int, height_u: float | None
    ) -> Batch:
        document = self._context.document.document
        return put_into_racks(
            document, ids, per_rack=per_rack, first_u=first_u, gap_u=gap_u, height_u=height_u
        )

    def _update(self) -> None:
        ids = self._context.selection if self.what.currentData() == CHOSEN else frozenset[str]()
        if self.what.currentData() == CHOSEN and not ids:
            self._say("Nothing is selected.", "error")
            return
        try:
            height = float(self.rack_height.currentData())
            edit = self._plan(ids, self.per_rack.value(), self.first.value(), self.gap.value(), height)
        except EditRefused as refusal:
            self._say(str(refusal), "error")
        else:
            self._edit = edit
            self.note.setText(f"{described(edit)}. Things without a known height take 1 U.")
            set_style(self.note, tone="2")
            self.make_button.setEnabled(True)

    def _say(self, text: str, tone: str) -> None:
        self._edit = None
        self.note.setText(text)
        set_style(self.note, tone=tone)
        self.make_button.setEnabled(False)

    def accept(self) -> None:
        """Do it and close, if there is something to do."""
        if self._edit is None:
            return
        try:
            self._context.document.push(self._edit, f"Put {described(self._edit)}")
        except EditRefused as refusal:
            self._say(str(refusal), "error")
            return
        super().accept()
