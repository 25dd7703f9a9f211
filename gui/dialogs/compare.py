"""The network as built against the open drawing: every difference, where it is, and lists to take along."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.background import Background, Errand
from gui.import_work import Choice, Planned, Wanted, Way, plan
from gui.widgets.fields import ChoiceField
from gui.widgets.read_list import ReadList
from gui.widgets.search import SearchField
from gui.widgets.style import label, separator, set_style
from model.document.compare import DIFFERENCE_NAMES, Comparison, Difference, DifferenceKind
from model.text import plural

if TYPE_CHECKING:
    from gui.context import AppContext
    from model.document.document import Change

MOST_SHOWN = 500  # differences in the list; what is copied has all that match
_DIFFERENCE = Qt.ItemDataRole.UserRole
_HEAD = Qt.ItemDataRole.UserRole + 1
_WORST = (DifferenceKind.SWAPPED, DifferenceKind.MOVED, DifferenceKind.WRONG_RAIL)


class CompareDialog(QDialog):
    """Stays beside the canvas. Choosing a difference lights its links and devices and goes to them."""

    def __init__(
        self,
        context: AppContext,
        background: Background,
        wanted: Wanted,
        found: Comparison,
        name: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._context, self._background, self._wanted = context, background, wanted
        self._found, self._name = found, name or "the file"
        self._errand: Errand | None = None
        self.setWindowTitle("As built")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 600)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._body(), 1)
        column.addWidget(separator())
        column.addWidget(self._bottom())
        self.field.searched.connect(lambda _text: self._fill())
        self.kinds.committed.connect(lambda _kind: self._fill())
        self.list.currentItemChanged.connect(lambda _now, _before: self._go())
        self.list.itemActivated.connect(lambda _item: self._go())
        self.list.itemClicked.connect(lambda _item: self._go())
        self.again_button.clicked.connect(self.compare_again)
        self.text_button.clicked.connect(lambda: self._copy(self.as_text()))
        self.csv_button.clicked.connect(lambda: self._copy(self.as_csv()))
        context.document.changed.connect(self._changed)
        context.document.reset.connect(lambda: self._set_stale(True))
        context.theme.changed.connect(self._colour)
        self._show(found)
        self.list.setFocus()

    def _body(self) -> QVBoxLayout:
        self.title = label("", 14, 600, wrap=True)
        self.counts = label("", 11, 400, "2", wrap=True)
        self.notes = label("", 11, 400, "2", wrap=True)
        self.stale = label("The drawing has changed since; places may be others now.", 11, 500, wrap=True)
        set_style(self.stale, soft="warning")
        self.again_button = QPushButton("Compare again")
        stale_row = QHBoxLayout()
        stale_row.addWidget(self.stale, 1)
        stale_row.addWidget(self.again_button)
        self.field = SearchField(self._context.theme, "Filter differences")
        self.kinds = ChoiceField("Kind of difference")
        filters = QHBoxLayout()
        filters.addWidget(self.field, 1)
        filters.addWidget(self.kinds, 1)
        self.list = ReadList("Differences")
        self.empty = label("", 12, 400, "2", wrap=True)
        column = QVBoxLayout()
        column.setContentsMargins(14, 14, 14, 10)
        column.setSpacing(8)
        for widget in (self.title, self.counts, self.notes):
            column.addWidget(widget)
        column.addLayout(stale_row)
        column.addLayout(filters)
        column.addWidget(self.empty)
        column.addWidget(self.list, 1)
        column.addStretch(0)
        return column

    def _bottom(self) -> QWidget:
        self.text_button = QPushButton("Copy as text")
        self.csv_button = QPushButton("Copy as CSV")
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        box.rejected.connect(self.reject)
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(14, 10, 14, 12)
        row.addWidget(self.text_button)
        row.addWidget(self.csv_button)
        row.addStretch(1)
        row.addWidget(box)
        for button in (self.text_button, self.csv_button, self.again_button):
            button.setAutoDefault(False)
        return holder

    # --- showing -------------------------------------------------------------------------------------------

    def _show(self, found: Comparison) -> None:
        self._found = found
        different = plural(len(found.differences), "difference")
        self.title.setText(
            f"{self._name}: {different}" if found.differences else f"{self._name} is built as designed"
        )
        cables = plural(found.cables, "cable")
        self.counts.setText(f"{plural(found.devices, 'device')} matched by name · {cables} as designed")
        self.notes.setText("\n".join(found.notes))
        self.notes.setVisible(bool(found.notes))
        counts = found.counts()
        before = self.kinds.currentData()
        options = [("", f"All ({len(found.differences):,})")]
        options += [
            (kind.value, f"{DIFFERENCE_NAMES[kind]} ({counts[kind]:,})")
            for kind in DifferenceKind
            if kind in counts
        ]
        self.kinds.set_options(options)
        self.kinds.set_value(before if before in [value for value, _ in options] else "")
        self._set_stale(False)
        self._fill()

    def shown(self) -> tuple[Difference, ...]:
        """The differences that the filters let through."""
        words = self.field.text().casefold().split()
        kind = self.kinds.currentData()
        return tuple(
            each
            for each in self._found.differences
            if (not kind or each.kind.value == kind)
            and all(word in " ".join((each.text, *each.devices)).casefold() for word in words)
        )

    def _fill(self) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        shown = self.shown()
        for kind, group in groupby(shown[:MOST_SHOWN], key=lambda each: each.kind):
            head = QListWidgetItem(f"{DIFFERENCE_NAMES[kind]} · {sum(each.kind is kind for each in shown):,}")
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setFont(self._context.theme.current.font(11, 600))
            head.setData(_HEAD, kind)
            self.list.addItem(head)
            for each in group:
                item = QListWidgetItem(each.text)
                item.setData(_DIFFERENCE, each)
                self.list.addItem(item)
        if len(shown) > MOST_SHOWN:
            more = QListWidgetItem(f"and {len(shown) - MOST_SHOWN:,} more; filter them, or copy the list")
            more.setFlags(Qt.ItemFlag.ItemIsEnabled)
            self.list.addItem(more)
        self.list.blockSignals(False)
        self._colour()
        if self._found.differences:
            self.empty.setText("No difference is like that.")
        else:
            self.empty.setText("Every cable that both know is where the drawing has it.")
        self.empty.setVisible(not shown)
        self.list.setVisible(bool(shown))
        self.field.setEnabled(bool(self._found.differences))
        self.kinds.setEnabled(bool(self._found.differences))
        for button in (self.text_button, self.csv_button):
            button.setEnabled(bool(shown))

    def _colour(self) -> None:
        theme = self._context.theme.current
        for row in range(self.list.count()):
            item = self.list.item(row)
            kind = item.data(_HEAD)
            if kind is not None:
                item.setForeground(theme.color("error" if kind in _WORST else "warning"))

    def _go(self) -> None:
        """Light the links and devices of the chosen difference, and go to what is still there of them."""
        item = self.list.currentItem()
        each: Difference | None = item.data(_DIFFERENCE) if item is not None else None
        if each is None:
            return
        topology = self._context.document.document.topology
        devices = [ident for ident in each.devices if topology.has(ident)]
        links = [ident for ident in each.links if topology.has_link(ident)]
        self._context.set_lit_links(links, [ident for ident in devices if topology.has_device(ident)])
        if links or devices:
            self._context.go_to(links or devices)  # links first: a selected switch would light all of its own
        else:
            self._context.say("Nothing of this is in the drawing.")

    # --- staying right -------------------------------------------------------------------------------------

    def _changed(self, change: Change) -> None:
        if change.topology_changed or change.whole:
            self._set_stale(True)

    def _set_stale(self, stale: bool) -> None:
        self.stale.setVisible(stale)
        self.again_button.setVisible(stale)
        self.again_button.setEnabled(True)
        self.again_button.setText("Compare again")

    def compare_again(self) -> None:
        """Compare what was read with the drawing as it is now."""
        self.again_button.setEnabled(False)
        self.again_button.setText("Comparing…")
        content = self._context.document.document.content()
        self._errand = self._background.run(plan, self._wanted, Choice(Way.COMPARE), content)
        self._errand.done.connect(self._compared)
        self._errand.failed.connect(self._refused)

    def _compared(self, planned: Planned) -> None:
        self._errand = None
        if planned.comparison is None:
            self._refused(planned.refused)
        else:
            self._show(planned.comparison)

    def _refused(self, text: str) -> None:
        self._errand = None
        self._set_stale(True)
        self.stale.setText(text)

    # --- taking along --------------------------------------------------------------------------------------

    def as_text(self) -> str:
        """What is shown, as a list by kind."""
        rows = [self.title.text(), self.counts.text(), *self._found.notes]
        for kind, group in groupby(self.shown(), key=lambda each: each.kind):
            rows += ["", DIFFERENCE_NAMES[kind], *(f"- {each.text}" for each in group)]
        return "\n".join(rows) + "\n"

    def as_csv(self) -> str:
        """What is shown, a row each."""
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(("kind", "difference", "devices", "links", "as_built"))
        for each in self.shown():
            rows.writerow((each.kind.value, each.text, *map(_joined, (each.devices, each.links, each.built))))
        return out.getvalue()

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._context.say(f"Copied {plural(len(self.shown()), 'difference')}.")

    def hideEvent(self, event: QHideEvent) -> None:
        """With the list goes the light on the canvas."""
        super().hideEvent(event)
        if not event.spontaneous():
            if self._errand is not None:
                self._errand.cancel()
            self._context.set_lit_links(())


def _joined(names: Iterable[str]) -> str:
    return " ".join(names)
