"""Rows of a name and a field, which can be hidden."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QWidget

from gui.widgets.style import label


class Form(QWidget):
    """A form of the inspector."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._rows = QFormLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setHorizontalSpacing(8)
        self._rows.setVerticalSpacing(5)
        self._rows.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._rows.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)

    def add(self, text: str, field: QWidget) -> None:
        """A row."""
        name = label(text, 11, 400, "2")
        name.setMinimumWidth(50)
        name.setBuddy(field)
        self._rows.addRow(name, field)

    def show_row(self, field: QWidget, shown: bool) -> None:
        """Show or hide a row."""
        self._rows.setRowVisible(field, shown)
