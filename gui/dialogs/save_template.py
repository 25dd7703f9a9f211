"""Save the selection as a template: its name, and which of its parts can be counted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QGridLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from gui.dialogs.buttons import dialog_buttons
from gui.widgets.style import label, separator, set_font, set_style
from model.errors import InputError
from model.text import plural
from topology_templates.user import LONGEST_NAME, Count, file_name, save_template
from topology_templates.user_alike import Alike, alike, joined, without_copies

if TYPE_CHECKING:
    from model.document.clipboard import Fragment

MOST_OFFERED = 6
LONGEST_SUMMARY = 120


class SaveTemplateDialog(QDialog):
    """`accept` writes the template into the folder; `path` is then its file."""

    def __init__(self, fragment: Fragment, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fragment = fragment
        self._folder = folder
        self._groups = alike(fragment)[:MOST_OFFERED]
        self.path: Path | None = None
        self.setWindowTitle("Save selection as template")
        self.setMinimumWidth(460)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._form(), 1)
        column.addWidget(separator())
        buttons, self.save_button = dialog_buttons(self, "Save")
        column.addWidget(buttons)
        self.name.textChanged.connect(self._update)
        self._update()
        self.name.setFocus()

    def _form(self) -> QVBoxLayout:
        self.name = QLineEdit()
        self.name.setAccessibleName("Name")
        self.name.setMaxLength(LONGEST_NAME)
        self.summary = QLineEdit()
        self.summary.setAccessibleName("Summary")
        self.summary.setMaxLength(LONGEST_SUMMARY)
        self.summary.setPlaceholderText("What it is, for the gallery")
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        for row, (text, field) in enumerate((("Name", self.name), ("Summary", self.summary))):
            set_font(field, 12, 500)
            caption = label(text, 12, 500)
            caption.setBuddy(field)
            grid.addWidget(caption, row, 0)
            grid.addWidget(field, row, 1)
        column = QVBoxLayout()
        column.setContentsMargins(16, 14, 16, 12)
        column.setSpacing(8)
        column.addLayout(grid)
        column.addSpacing(4)
        devices, links = len(self._fragment.devices), len(self._fragment.links)
        column.addWidget(label(f"{plural(devices, 'device')}, {plural(links, 'link')}", 12, 600))
        self.boxes: list[QCheckBox] = []
        if self._groups:
            column.addWidget(
                label("Parts that are alike can become a count, to be set when the template is placed.",
                      11, 400, "2", wrap=True)
            )  # fmt: skip
        for number, group in enumerate(self._groups):
            box = QCheckBox(f"{title_of(group)}: {len(group.members):,} like {group.members[0]}")
            box.setChecked(number == 0)
            box.toggled.connect(lambda _on: self._update())
            self.boxes.append(box)
            column.addWidget(box)
        self.note = label("", 11, 400, wrap=True)
        column.addWidget(self.note)
        column.addStretch(1)
        return column

    @property
    def chosen(self) -> tuple[Alike, ...]:
        """The groups that become counts."""
        return tuple(group for group, box in zip(self._groups, self.boxes, strict=True) if box.isChecked())

    def _update(self) -> None:
        name, problem = self.name.text().strip(), self._problem()
        target = self._folder / file_name(name)
        if problem:
            text, tone = problem, "error"
        elif not name:
            text, tone = "Give it a name.", "3"
        elif target.exists():
            text, tone = f"Takes the place of {target.name}, which is kept as {target.name}.bak.", "warning"
        else:
            text, tone = f"Goes into {target}", "3"
        self.note.setText(text)
        set_style(self.note, tone=tone)
        self.save_button.setEnabled(bool(name) and not problem)

    def _problem(self) -> str:
        chosen = self.chosen
        for place, first in enumerate(chosen):
            for second in chosen[place + 1 :]:
                if joined(first, second, self._fragment.links):
                    return (
                        f"{first.members[0]} and {second.members[0]} are joined to each other: "
                        "only one of them can be a count."
                    )
        return ""

    def accept(self) -> None:
        """Write the template; what prevents that is said here, and the dialog stays."""
        name = self.name.text().strip()
        if not self.save_button.isEnabled():
            return
        path = self._folder / file_name(name)
        chosen = self.chosen
        counts = [
            Count(_parameter(group, number), title_of(group), group.members[0], len(group.members))
            for number, group in enumerate(chosen)
        ]
        try:
            fragment = without_copies(self._fragment, chosen)
            save_template(path, name, self.summary.text().strip(), fragment, counts)
        except InputError as error:
            self.note.setText(str(error))
            set_style(self.note, tone="error")
            return
        self.path = path
        super().accept()


def title_of(group: Alike) -> str:
    """What a count is called: "Nodes", "Leaves"."""
    stem = group.stem
    many = "leaves" if stem == "leaf" else "switches" if stem == "switch" else f"{stem}s"
    return many[:1].upper() + many[1:]


def _parameter(group: Alike, number: int) -> str:
    """A name for the command line and the file: "nodes"; the number tells equal ones apart."""
    kept = re.sub(r"[^a-z0-9_]+", "_", title_of(group).casefold()).strip("_0123456789")[:20] or "parts"
    return kept if number == 0 else f"{kept}_{number + 1}"
