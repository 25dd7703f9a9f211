"""Fields that hand over a value when the user is done with it, and can show that values differ."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLineEdit, QSpinBox, QWidget

from gui.widgets.style import pad_spin, set_font

MIXED = "mixed"


class NumberField(QSpinBox):
    """A whole number. `committed` comes once per change: Enter, leaving the field, an arrow.

    None is shown as "mixed" (or as `empty`) and stands one below the smallest value.
    """

    committed = Signal(int)

    def __init__(
        self, low: int, high: int, name: str, parent: QWidget | None = None, *, empty: str = MIXED
    ) -> None:
        super().__init__(parent)
        self._shown: int | None = low
        self._low = low
        self.setRange(low, high)
        self._empty = empty
        self.setAccessibleName(name)
        self.setKeyboardTracking(False)
        self.setGroupSeparatorShown(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        set_font(self, 12, 600)
        pad_spin(self)
        self.valueChanged.connect(self._changed)

    def set_empty(self, text: str) -> None:
        """What None is shown as from now on."""
        self._empty = text

    def set_value(self, value: int | None) -> None:
        """Show a value without a signal."""
        self.blockSignals(True)
        if value is None:
            self.setMinimum(self._low - 1)
            self.setSpecialValueText(self._empty)
            self.setValue(self._low - 1)
        else:
            self.setValue(value)
            self.setMinimum(self._low)
            self.setSpecialValueText("")
        self.blockSignals(False)
        self._shown = value

    def _changed(self, value: int) -> None:
        if value >= self._low and value != self._shown:
            self._shown = value
            self.setMinimum(self._low)
            self.setSpecialValueText("")
            self.committed.emit(value)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.lineEdit().isModified():
            self.set_value(self._shown)
            self.lineEdit().setModified(False)
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():  # in a scrolling column the wheel must not change what it passes over
            super().wheelEvent(event)
        else:
            event.ignore()


class ShareField(QDoubleSpinBox):
    """A share shown in percent, 0 < share ≤ 1. `committed` gives the share."""

    committed = Signal(float)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: float | None = 1.0
        self.setRange(0.1, 100.0)
        self.setDecimals(1)
        self.setSingleStep(5.0)
        self.setSuffix(" %")
        self.setAccessibleName(name)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        set_font(self, 12, 600)
        pad_spin(self)
        self.valueChanged.connect(self._changed)

    def set_value(self, share: float | None) -> None:
        """Show a share without a signal; None = mixed."""
        self.blockSignals(True)
        if share is None:
            self.setMinimum(0.0)
            self.setSpecialValueText(MIXED)
            self.setValue(0.0)
        else:
            self.setValue(share * 100)
            self.setMinimum(0.1)
            self.setSpecialValueText("")
        self.blockSignals(False)
        self._shown = share

    def _changed(self, value: float) -> None:
        share = value / 100
        if value >= 0.1 and (self._shown is None or abs(share - self._shown) > 1e-9):
            self._shown = share
            self.setMinimum(0.1)
            self.setSpecialValueText("")
            self.committed.emit(share)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():  # in a scrolling column the wheel must not change what it passes over
            super().wheelEvent(event)
        else:
            event.ignore()


class ChoiceField(QComboBox):
    """One of several values. `committed` gives the value that the user chose."""

    committed = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(4)
        set_font(self, 12, 500)
        self.activated.connect(lambda index: self.committed.emit(self.itemData(index)))

    def set_options(self, options: Sequence[tuple[str, str]]) -> None:
        """The choices as (value, text)."""
        self.clear()
        for value, text in options:
            self.addItem(text, value)

    def set_value(self, value: str | None) -> None:
        """Show a value without a signal; None = mixed."""
        if value is None:
            self.setPlaceholderText(MIXED)
            self.setCurrentIndex(-1)
        else:
            self.setCurrentIndex(self.findData(value))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():  # in a scrolling column the wheel must not change what it passes over
            super().wheelEvent(event)
        else:
            event.ignore()


class TextField(QLineEdit):
    """One line of text. `committed` comes once per change; Esc takes the typing back."""

    committed = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = ""
        self.setAccessibleName(name)
        set_font(self, 12, 500)
        self.editingFinished.connect(self._finished)

    def set_value(self, text: str | None) -> None:
        """Show a text without a signal; None = mixed."""
        self._shown = text or ""
        self.setPlaceholderText(MIXED if text is None else "")
        self.setText(self._shown)

    def _finished(self) -> None:
        text = self.text().strip()
        if text != self._shown:
            self._shown = text
            self.committed.emit(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text() != self._shown:
            self.setText(self._shown)
        else:
            super().keyPressEvent(event)
