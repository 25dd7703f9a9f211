"""The last row of a dialog: what it does, and Cancel."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton

from gui.widgets.style import set_font


def dialog_buttons(dialog: QDialog, text: str) -> tuple[QDialogButtonBox, QPushButton]:
    """A row whose default button, named `text`, accepts the dialog; Cancel and Esc reject it."""
    box = QDialogButtonBox()
    box.setContentsMargins(16, 10, 16, 12)
    accept = box.addButton(text, QDialogButtonBox.ButtonRole.AcceptRole)
    accept.setProperty("role", "primary")
    accept.setDefault(True)
    set_font(accept, 12, 600)
    box.addButton(QDialogButtonBox.StandardButton.Cancel)
    box.accepted.connect(dialog.accept)
    box.rejected.connect(dialog.reject)
    return box, accept
