"""A row of choices of which exactly one holds."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from gui.widgets.style import set_font


class SegmentedControl(QFrame):
    """Exclusive choices side by side. Tab reaches the chosen one, the arrow keys move the choice."""

    chosen = Signal(str)

    def __init__(
        self,
        options: Sequence[tuple[str, str]],
        name: str,
        parent: QWidget | None = None,
        *,
        tips: Sequence[str] = (),
    ) -> None:
        """`options` are (value, text); `name` is what the control is called for a screen reader."""
        super().__init__(parent)
        self.setProperty("role", "segmented")
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(1, 1, 1, 1)
        row.setSpacing(0)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        for index, (value, text) in enumerate(options):
            button = QPushButton(text)
            button.setCheckable(True)
            button.setProperty("role", "segment")
            button.setAccessibleName(f"{name}: {text}")
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            set_font(button, 11, 600)
            if index < len(tips):
                button.setToolTip(tips[index])
            button.clicked.connect(lambda _checked, chosen=value: self.chosen.emit(chosen))
            button.installEventFilter(self)
            self._group.addButton(button)
            self._buttons[value] = button
            row.addWidget(button)
        if options:
            self.set_value(options[0][0])

    @property
    def value(self) -> str:
        """The value that holds."""
        return next((value for value, button in self._buttons.items() if button.isChecked()), "")

    def set_value(self, value: str) -> None:
        """Show a value without a signal."""
        button = self._buttons[value]
        button.setChecked(True)
        for other in self._buttons.values():
            other.setFocusPolicy(Qt.FocusPolicy.StrongFocus if other is button else Qt.FocusPolicy.ClickFocus)

    def button(self, value: str) -> QPushButton:
        """The button of a value."""
        return self._buttons[value]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # A button of a group takes the arrow keys for itself, but goes only to buttons that Tab reaches.
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
            if step is not None:
                self._step(step)
                return True
        return False

    def _step(self, step: int) -> None:
        values = [value for value, button in self._buttons.items() if button.isEnabled()]
        if self.value in values:
            value = values[(values.index(self.value) + step) % len(values)]
            self.set_value(value)
            self._buttons[value].setFocus(Qt.FocusReason.TabFocusReason)
            self.chosen.emit(value)
