"""The last row of a dialog that works in the background: a bar, a word on it, Stop, and its buttons."""

from __future__ import annotations

from PySide6.QtWidgets import QDialogButtonBox, QHBoxLayout, QProgressBar, QPushButton, QWidget

from gui.widgets.style import label, set_font


class BusyRow(QWidget):
    """`most` is the end of the bar; 0 = it is not known how far the work is."""

    def __init__(self, box: QDialogButtonBox, name: str, most: int) -> None:
        super().__init__()
        self.bar = QProgressBar()
        self.bar.setRange(0, most)
        self.bar.setFixedSize(140, 6)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(name)
        self.state = label("", 11, 400, "2")
        self.stop_button = QPushButton("Stop")
        self.stop_button.setProperty("role", "link")
        set_font(self.stop_button, 11, 500)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 10, 16, 12)
        for widget in (self.bar, self.state, self.stop_button):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(box)
