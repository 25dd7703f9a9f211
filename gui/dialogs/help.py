"""Keys and mouse, and what program this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QMessageBox,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.actions import ACTIONS
from gui.widgets.style import label

MOUSE = (
    ("Drag on empty", "Select with a frame; Shift adds, Ctrl toggles"),
    ("Drag a device", "Move the selection; it catches on the grid and on edges, centres and gaps"),
    ("Shift+drag a device", "Move it without catching on anything"),
    ("Ctrl or Alt+drag a device", "Copy the selection with its links"),
    ("Drag from the edge of a device", "Connect; ends that fit glow"),
    ("Double-click on empty", "Add what you type: 8 h100, leaf, 2 hgx-h100"),
    ("Double-click a tray, rack or pod", "Fold it, or open it"),
    ("Double-click a link, near", "Open a bundle, or the lanes of a link"),
    ("Middle drag, Space+drag", "Move the view"),
    ("Wheel, Shift+wheel", "Move down, across"),
    ("Ctrl+wheel", "Zoom to the pointer"),
    ("Right-click", "What can be done here"),
    ("Hover a figure, F1", "How it was worked out"),
)
CANVAS_KEYS = (
    ("Arrows, Shift+arrows", "Nudge the selection by 1, by 20"),
    ("Tab", "Next device along the links of the selected one"),
    ("0 – 9 while painting", "Choose the group"),
    ("Arrows in the racks", "Move by one U, to the next rack; Shift: by five U; Ctrl: only choose"),
    ("Esc", "Cancel; then leave paths, partners, selection, filter"),
)


class KeysDialog(QDialog):
    """All keys, made from the list of actions."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys and mouse")
        self.resize(620, 620)
        area = QScrollArea()
        area.setWidgetResizable(True)
        inner = QWidget()
        grid = QGridLayout(inner)
        grid.setContentsMargins(20, 14, 20, 14)
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        actions = [
            (
                ", ".join(
                    QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText) for keys in spec.keys
                ),
                spec.tip or spec.text.replace("&", "").rstrip("…"),
            )
            for spec in ACTIONS.values()
            if spec.keys
        ]
        row = 0
        for title, lines in (("Mouse", MOUSE), ("On the drawing", CANVAS_KEYS), ("Commands", actions)):
            if row:
                grid.setRowMinimumHeight(row, 10)
                row += 1
            grid.addWidget(label(title, 14, 600), row, 0, 1, 2)
            row += 1
            for keys, words in lines:
                grid.addWidget(label(keys, 12, 600), row, 0, Qt.AlignmentFlag.AlignTop)
                grid.addWidget(label(words, 12, 400, "2", wrap=True), row, 1)
                row += 1
        area.setWidget(inner)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 12)
        column.addWidget(area)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.setContentsMargins(16, 0, 16, 0)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)


def program_version() -> str:
    """The version that is installed."""
    try:
        return version("railsketch")
    except PackageNotFoundError:
        return "from source"


def about(parent: QWidget) -> None:
    """What program this is."""
    QMessageBox.about(
        parent,
        "About Railsketch",
        f"<b>Railsketch</b> {program_version()}<br>Draw the cluster. See what training does to it.<br><br>"
        "MIT licence. Inter is by Rasmus Andersson, SIL Open Font License 1.1.",
    )
