"""Fields that hand over a value when the user is done with it, and can show that values differ."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QWheelEvent
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLineEdit, QSpinBox, QWidget

from gui.widgets.style import pad_spin, set_font

MIXED = "mixed"


def _for_the_drawing(event: QEvent, *, typing: bool, number: bool = False) -> bool:
    """Whether a key is the window's: undo and redo while nothing is typed, letters and brackets where only a
    number can be. Fields would keep these keys from being shortcuts.
    """
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier)
    if number and plain and (event.text().isalpha() or event.text() in ("[", "]")):
        return True
    keys = QKeySequence.StandardKey
    return not typing and (event.matches(keys.Undo) or event.matches(keys.Redo))


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
            self.lineEdit().setModified(False)
            self.committed.emit(value)

    def event(self, event: QEvent) -> bool:
        if _for_the_drawing(event, typing=self.lineEdit().isModified(), number=True):
            event.ignore()
            return True
        return super().event(event)

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
            self.lineEdit().setModified(False)
            self.committed.emit(share)

    def event(self, event: QEvent) -> bool:
        if _for_the_drawing(event, typing=self.lineEdit().isModified(), number=True):
            event.ignore()
            return True
        return super().event(event)

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


class _TypedField(QLineEdit):
    """A line of text. Esc takes typing back; while nothing is typed, undo is the drawing's."""

    def __init__(self, name: str, parent: QWidget | None, weight: int) -> None:
        super().__init__(parent)
        self._shown = ""
        self.setAccessibleName(name)
        set_font(self, 12, weight)

    def event(self, event: QEvent) -> bool:
        if _for_the_drawing(event, typing=self.text() != self._shown):
            event.ignore()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text() != self._shown:
            self.setText(self._shown)
        else:
            super().keyPressEvent(event)


class TextField(_TypedField):
    """One line of text. `committed` comes once per change; Esc takes the typing back."""

    committed = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent, 500)
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


class AmountField(_TypedField):
    """A number of at least 0 that may be unknown: an empty field. `committed` gives it, or None.

    `factor` is what one of the shown unit is in the unit of the value ("kW": 1000). What is no number is
    taken back and told by `refused`.
    """

    committed = Signal(object)
    refused = Signal(str)

    def __init__(
        self, name: str, unit: str, parent: QWidget | None = None, *, factor: float = 1.0, whole: bool = False
    ) -> None:
        super().__init__(name, parent, 600)
        self._name, self._unit, self._factor, self._whole = name, unit, factor, whole
        self.editingFinished.connect(self._finished)

    def set_value(self, value: float | None, *, otherwise: str = "—", mixed: bool = False) -> None:
        """Show a value without a signal. None shows `otherwise`, faintly; so does "mixed"."""
        text = "" if value is None else f"{value / self._factor:.10g} {self._unit}".strip()
        self._shown = text
        self.setPlaceholderText(MIXED if mixed else otherwise)
        self.setText(text)

    def _finished(self) -> None:
        text = self.text().strip()
        if text == self._shown:
            self.setText(self._shown)
            return
        number = text.removesuffix(self._unit).strip().replace(",", "") if self._unit else text.strip()
        try:
            value = None if not number else float(number) * self._factor
        except ValueError:
            value = -1.0
        if value is not None and (not 0 <= value < 1e15 or (self._whole and value != int(value))):
            self.setText(self._shown)
            kind = "a whole number" if self._whole else "a number"
            self.refused.emit(
                f"{self._name} is {kind} from 0 on, or empty where it is not known; not {text[:40]}."
            )
            return
        self._shown = text
        self.committed.emit(int(value) if self._whole and value is not None else value)
