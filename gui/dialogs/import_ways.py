"""What to do with what was read: the ways that are possible, and what the chosen one would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QListWidgetItem, QVBoxLayout, QWidget

from gui.import_work import Choice, Planned, Seen, Way
from gui.widgets.fields import ChoiceField
from gui.widgets.read_list import ReadList
from gui.widgets.style import label, set_style
from model.text import plural
from model.topology.types import ContainerKind

if TYPE_CHECKING:
    from gui.context import AppContext

WAY_NAMES: Mapping[Way, str] = {
    Way.NEW: "New drawing",
    Way.BESIDE: "Put it beside what is open",
    Way.TRAYS: "Use it as the node of trays",
    Way.HOSTS: "Attach it by host name",
    Way.COMPARE: "Compare the open drawing with it, as built",
    Way.RANKS: "Place the ranks on the open cluster",
    Way.OVERLAY: "Show what NCCL chose on a host",
}
_VERBS: Mapping[Way, str] = {Way.COMPARE: "Compare", Way.RANKS: "Place ranks", Way.OVERLAY: "Show"}
EVERY, CHOSEN = "every", "selected"
MOST_MISFITS = 100
LIST_HEIGHT = 96


class WaysPanel(QWidget):
    """`changed` comes when another way, or another host or set of trays, was chosen."""

    changed = Signal()

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.way = ChoiceField("What to do with it")
        self.trays = ChoiceField("Trays to fill")
        self.host = ChoiceField("Host of the file")
        self._trays_label = label("Trays", 12, 500)
        self._host_label = label("Host", 12, 500)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        for row, (caption, field) in enumerate(
            (
                (label("What to do", 12, 500), self.way),
                (self._trays_label, self.trays),
                (self._host_label, self.host),
            )
        ):
            caption.setBuddy(field)
            caption.setFixedWidth(90)
            grid.addWidget(caption, row, 0)
            grid.addWidget(field, row, 1)
            field.committed.connect(lambda _value: self._chosen())
        self.summary = label("", 11, 400, "2", wrap=True)
        self.heading = label("", 11, 600, wrap=True)
        self.list = ReadList("What does not fit")
        self.list.setFixedHeight(LIST_HEIGHT)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(grid)
        column.addWidget(self.summary)
        column.addWidget(self.heading)
        column.addWidget(self.list)
        self.show_plan(Planned())
        self._show_options()

    # --- what can be chosen --------------------------------------------------------------------------------

    def offer(self, seen: Seen, wanted: Way | None) -> None:
        """Offer the ways for what was read; the one that was chosen stays where it can."""
        ways = self._ways(seen)
        before = self.way.currentData() or wanted
        self.way.set_options([(way.value, WAY_NAMES[way]) for way in ways])
        self.way.set_value(before if before in ways else ways[0] if ways else None)
        hosts = seen.hosts
        if seen.kind == "drawing" and self._items(self.host) != hosts:
            self.host.set_options([(host, host) for host in hosts])
            self.host.set_value(hosts[0] if hosts else None)
        if self.trays.count() == 0:
            chosen = self._selected_trays()
            options = [(EVERY, "Every tray")]
            if chosen:
                options.append((CHOSEN, f"{plural(len(chosen), 'selected tray')}"))
            self.trays.set_options(options)
            self.trays.set_value(CHOSEN if chosen else EVERY)
        self._show_options()

    def _ways(self, seen: Seen) -> list[Way]:
        if seen.kind == "ranks":
            return [Way.RANKS]
        if seen.kind == "overlay":
            return [Way.OVERLAY]
        if self._empty:
            return [Way.NEW]
        parts = [Way.TRAYS] if seen.hosts else []
        joined = [Way.BESIDE, Way.HOSTS, Way.COMPARE, *parts]
        return [Way.NEW, *joined] if seen.whole else [*parts, Way.BESIDE, Way.HOSTS, Way.COMPARE, Way.NEW]

    @property
    def _empty(self) -> bool:
        topology = self._context.document.document.topology
        return not topology.devices() and not topology.containers()

    def _selected_trays(self) -> tuple[str, ...]:
        topology = self._context.document.document.topology
        chosen = [ident for ident in self._context.selection if topology.has_container(ident)]
        trays = [ident for ident in chosen if topology.container(ident).kind is ContainerKind.TRAY]
        return tuple(sorted(trays))

    @staticmethod
    def _items(field: ChoiceField) -> tuple[str, ...]:
        return tuple(field.itemData(index) for index in range(field.count()))

    @property
    def choice(self) -> Choice | None:
        """The way as it is chosen; None where there is none."""
        value = self.way.currentData()
        if value is None:
            return None
        way = Way(value)
        if way is Way.TRAYS:
            trays = self._selected_trays() if self.trays.currentData() == CHOSEN else None
            return Choice(way, trays, self.host.currentData())
        if way is Way.OVERLAY:
            return Choice(way, host=self.host.currentData())
        return Choice(way)

    @property
    def verb(self) -> str:
        """What the button is called."""
        choice = self.choice
        return "Import" if choice is None else _VERBS.get(choice.way, "Import")

    def _chosen(self) -> None:
        self._show_options()
        self.changed.emit()

    def _show_options(self) -> None:
        way = self.way.currentData()
        filling = way == Way.TRAYS
        for widget in (self.trays, self._trays_label):
            widget.setVisible(filling and self.trays.count() > 1)
        hosts = (filling or way == Way.OVERLAY) and self.host.count() > 1
        self.host.setVisible(hosts)
        self._host_label.setVisible(hosts)

    # --- what it would do ----------------------------------------------------------------------------------

    def show_plan(self, planned: Planned) -> None:
        """Say what the way would do, and what then does not fit."""
        if planned.overlay is not None and self._items(self.host) != planned.hosts:
            self.host.set_options([(host, host) for host in planned.hosts])
            self.host.set_value(planned.overlay.host)
            self._show_options()
        self.summary.setText("\n".join(_said(planned)))
        self.summary.setVisible(bool(self.summary.text()))
        set_style(self.summary, tone="error" if planned.refused else "2")
        self.list.clear()
        for misfit in planned.misfits[:MOST_MISFITS]:
            self.list.addItem(QListWidgetItem(f"{misfit.title}\n{misfit.detail}".strip()))
        if len(planned.misfits) > MOST_MISFITS:
            self.list.addItem(QListWidgetItem(f"and {len(planned.misfits) - MOST_MISFITS:,} more"))
        shown = bool(planned.misfits)
        self.heading.setText("What does not fit:" if shown else "")
        set_style(self.heading, tone="warning")
        self.heading.setVisible(shown)
        self.list.setVisible(shown)


def _said(planned: Planned) -> Sequence[str]:
    if planned.refused:
        return (planned.refused, *planned.done)
    if planned.comparison is not None:
        found = planned.comparison
        return (
            f"{plural(len(found.differences), 'difference')}; {plural(found.cables, 'cable')} "
            f"{'is' if found.cables == 1 else 'are'} as designed, {plural(found.devices, 'device')} matched.",
        )
    if planned.overlay is not None:
        return (f"On {planned.overlay.host}.",)
    return planned.done
