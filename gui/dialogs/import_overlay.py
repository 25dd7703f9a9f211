"""What NCCL chose on a host, beside what is computed here; a chosen channel is lit on the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.background import Background, Errand
from gui.import_work import Choice, Planned, Wanted, Way, plan
from gui.widgets.fields import ChoiceField
from gui.widgets.read_list import ReadList
from gui.widgets.style import label, separator, set_style
from model.files.overlay import ShownChannel, ShownGraph, ShownOverlay
from model.text import plural

if TYPE_CHECKING:
    from gui.context import AppContext

_CHANNEL = Qt.ItemDataRole.UserRole


class OverlayDialog(QDialog):
    """Stays beside the canvas; the host and the graph can be chosen."""

    def __init__(
        self,
        context: AppContext,
        background: Background,
        wanted: Wanted,
        planned: Planned,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._context, self._background, self._wanted = context, background, wanted
        self._errand: Errand | None = None
        self._overlay: ShownOverlay | None = None
        self.setWindowTitle("What NCCL chose")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(440, 560)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._body(), 1)
        column.addWidget(separator())
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        box.setContentsMargins(14, 10, 14, 12)
        box.rejected.connect(self.reject)
        column.addWidget(box)
        self.host.set_options([(host, host) for host in planned.hosts])
        self.host.committed.connect(self._other_host)
        self.graph.committed.connect(lambda _value: self._show_graph())
        self.list.currentItemChanged.connect(lambda _now, _before: self._light())
        self._show(planned)
        self.list.setFocus()

    def _body(self) -> QVBoxLayout:
        self.host = ChoiceField("Host")
        self.graph = ChoiceField("Graph")
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        for row, (text, field) in enumerate((("Host", self.host), ("Graph", self.graph))):
            caption = label(text, 12, 500)
            caption.setBuddy(field)
            grid.addWidget(caption, row, 0)
            grid.addWidget(field, row, 1)
        self.words = label("", 12, 400, wrap=True)
        self.ours = label("", 11, 400, "2", wrap=True)
        self.problem = label("", 12, 500, wrap=True)
        set_style(self.problem, soft="error")
        self.problem.hide()
        self.heading = label("", 12, 600)
        self.list = ReadList("Channels")
        column = QVBoxLayout()
        column.setContentsMargins(14, 14, 14, 10)
        column.setSpacing(8)
        column.addLayout(grid)
        for widget in (self.problem, self.words, self.ours, self.heading):
            column.addWidget(widget)
        column.addWidget(self.list, 1)
        column.addStretch(0)
        return column

    def _show(self, planned: Planned) -> None:
        self._errand = None
        self.host.setEnabled(self.host.count() > 1)
        self.problem.setText(planned.refused)
        self.problem.setVisible(bool(planned.refused))
        if planned.overlay is None:
            return
        self._overlay = planned.overlay
        self.host.set_value(planned.overlay.host)
        before = self.graph.currentIndex()
        self.graph.set_options(
            [
                (str(number), f"{graph.algorithm} · {plural(len(graph.channels), 'different channel')}")
                for number, graph in enumerate(planned.overlay.graphs)
            ]
        )
        self.graph.setCurrentIndex(min(max(before, 0), self.graph.count() - 1))
        self._show_graph()

    def _show_graph(self) -> None:
        overlay = self._overlay
        self.list.blockSignals(True)
        self.list.clear()
        if overlay is None or self.graph.currentIndex() < 0:
            self.list.blockSignals(False)
            return
        graph = overlay.graphs[self.graph.currentIndex()]
        self.words.setText("\n".join(graph.words))
        self.ours.setText(
            f"Here: {' → '.join(overlay.ours)}" if overlay.ours else "No GPU of it has a rank here."
        )
        self.heading.setText("Channels" if graph.channels else "No channels")
        if len(graph.channels) > 1:
            every = QListWidgetItem("All of them")
            every.setData(_CHANNEL, graph)
            self.list.addItem(every)
        for channel in graph.channels:
            item = QListWidgetItem(_channel_text(channel))
            item.setData(_CHANNEL, channel)
            self.list.addItem(item)
        self.list.blockSignals(False)
        self.list.setCurrentRow(0)
        self._light()

    def _light(self) -> None:
        """Light the links and GPUs of the chosen channel, as far as they are still there."""
        item = self.list.currentItem()
        chosen: ShownChannel | ShownGraph | None = item.data(_CHANNEL) if item is not None else None
        if chosen is None:
            self._context.set_lit_links(())
            return
        channels = chosen.channels if isinstance(chosen, ShownGraph) else (chosen,)
        topology = self._context.document.document.topology
        devices = {
            ident
            for channel in channels
            for ident in (*channel.gpus, channel.nic_in, channel.nic_out)
            if ident is not None and topology.has_device(ident)
        }
        self._context.set_lit_links([link for link in chosen.links if topology.has_link(link)], devices)

    def _other_host(self, host: str) -> None:
        self.host.setEnabled(False)
        content = self._context.document.document.content()
        self._errand = self._background.run(plan, self._wanted, Choice(Way.OVERLAY, host=host), content)
        self._errand.done.connect(self._show)
        self._errand.failed.connect(lambda text: self._show(Planned(refused=text)))

    def hideEvent(self, event: QHideEvent) -> None:
        """With the list goes the light on the canvas."""
        super().hideEvent(event)
        if not event.spontaneous():
            if self._errand is not None:
                self._errand.cancel()
            self._context.set_lit_links(())


def _channel_text(channel: ShownChannel) -> str:
    ends = [f"in by {channel.nic_in}"] if channel.nic_in is not None else []
    ends += [f"out by {channel.nic_out}"] if channel.nic_out is not None else []
    said = ", ".join([*ends, "in the order as here" if channel.as_here else "in another order than here"])
    return f"{' → '.join(channel.gpus)}\n{said}"
