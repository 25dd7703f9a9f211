"""The export dialog: the formats, what each is for and leaves out, its options, and writing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QHideEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.background import Background, Errand
from gui.dialogs.busy import BusyRow
from gui.dialogs.export_options import OptionForm
from gui.export_work import ExportOrder, Written, export
from gui.settings import settings
from gui.widgets.read_list import ReadList
from gui.widgets.search import SearchField
from gui.widgets.style import label, separator, set_font, set_style
from model.files.exporting import ExportFormat
from model.files.registry import export_formats
from model.text import plural

if TYPE_CHECKING:
    from gui.context import AppContext

LEFT_WIDTH = 280
ROW_HEIGHT = 24
_ID = Qt.ItemDataRole.UserRole
_BINARY = (".png", ".pdf")
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Railsketch": ("railsketch-project", "railsketch-topology", "railsketch-traffic"),
    "Pictures and reports": (
        "picture-png", "picture-svg", "picture-pdf", "report-pdf", "report-markdown",
    ),
    "Cables and parts": ("cable-schedule", "bill-of-materials", "netbox-csv"),
    "Steps and traffic": ("chrome-trace", "traffic-matrix-csv", "exchange-csv"),
    "Jobs and schedulers": (
        "launch-hints", "rank-map-csv", "slurm-hostfile", "open-mpi-rankfile", "slurm-topology-conf",
        "slurm-topology-yaml", "topograph-model", "topograph-graph",
    ),
    "NCCL": ("nccl-topo-xml", "nccl-ib-hca"),
    "Simulators and labs": (
        "simai", "ns3-hpcc", "astra-sim-yml", "containerlab", "air-json", "cumulus-dot",
    ),
    "Graphs": ("node-link-json", "graphml", "dot"),
}  # fmt: skip


class ExportDialog(QDialog):
    """Stays open: several formats can be written one after the other, while the drawing is used."""

    def __init__(
        self,
        context: AppContext,
        background: Background,
        folder: Callable[[], str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._context, self._background, self._folder = context, background, folder
        self._formats = export_formats()
        self._errand: Errand | None = None
        self._last: tuple[Path, ...] = ()
        self.setWindowTitle("Export")
        self.resize(840, 580)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self._left())
        row.addWidget(separator(vertical=True))
        row.addWidget(self._right(), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(row, 1)
        column.addWidget(separator())
        column.addWidget(self._bottom())
        self._connect()
        self._fill("")
        self._show_busy(False)
        self.choose(str(settings().value("export/format", "picture-png")))
        self.export_button.setDefault(True)  # now that it is in the dialog, which keeps it so
        self.list.setFocus()

    # --- building ------------------------------------------------------------------------------------------

    def _left(self) -> QWidget:
        self.field = SearchField(self._context.theme, "Filter formats")
        self.list = QListWidget()
        self.list.setAccessibleName("Formats")
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        set_font(self.list, 12, 500)
        self.empty = label("", 12, 400, "2", wrap=True)
        holder = QWidget()
        holder.setFixedWidth(LEFT_WIDTH)
        column = QVBoxLayout(holder)
        column.setContentsMargins(12, 12, 8, 8)
        column.setSpacing(8)
        column.addWidget(self.field)
        column.addWidget(self.empty)
        column.addWidget(self.list, 1)
        return holder

    def _right(self) -> QWidget:
        self.title = label("", 14, 600, wrap=True)
        self.use = label("", 12, 400, "2", wrap=True)
        self.lacks = label("", 12, 400, "2", wrap=True)
        self.options = OptionForm()
        self.options_head = label("Options", 12, 600)
        self.outcome = label("", 12, 500, wrap=True)
        self.show_button = QPushButton("Show in folder")
        self.show_button.setProperty("role", "link")
        set_font(self.show_button, 11, 500)
        self.left_head = label("Left out of this drawing:", 11, 600)
        self.left_out = ReadList("What was left out")
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(16, 14, 16, 12)
        column.setSpacing(8)
        for widget in (self.title, self.use, self.lacks):
            column.addWidget(widget)
        column.addSpacing(6)
        column.addWidget(self.options_head)
        column.addWidget(self.options)
        column.addSpacing(6)
        done = QHBoxLayout()
        done.addWidget(self.outcome, 1)
        done.addWidget(self.show_button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(done)
        column.addWidget(self.left_head)
        column.addWidget(self.left_out, 1)
        column.addStretch(0)
        return holder

    def _bottom(self) -> QWidget:
        box = QDialogButtonBox()
        self.export_button = box.addButton("Export…", QDialogButtonBox.ButtonRole.ActionRole)
        self.export_button.setProperty("role", "primary")
        set_font(self.export_button, 12, 600)
        self.copy_button = box.addButton("Copy", QDialogButtonBox.ButtonRole.ActionRole)
        self.copy_button.setToolTip("Copy the text into the clipboard")
        box.addButton(QDialogButtonBox.StandardButton.Close)
        box.rejected.connect(self.reject)
        row = BusyRow(box, "Progress", 100)
        self.busy, self.state, self.stop_button = row.bar, row.state, row.stop_button
        return row

    def _connect(self) -> None:
        self.field.searched.connect(self._fill)
        self.list.currentItemChanged.connect(lambda _now, _before: self._show_format())
        self.list.itemActivated.connect(lambda _item: self.ask_target())
        self.export_button.clicked.connect(self.ask_target)
        self.copy_button.clicked.connect(self.copy)
        self.stop_button.clicked.connect(self._stop)
        self.show_button.clicked.connect(self._show_in_folder)
        self._context.selection_changed.connect(self._show_selection)
        order: tuple[QWidget, ...] = (
            self.field, self.list, self.options, self.show_button, self.left_out, self.stop_button,
            self.export_button, self.copy_button,
        )  # fmt: skip
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)

    # --- formats -------------------------------------------------------------------------------------------

    def _fill(self, text: str) -> None:
        """The formats whose name, use or group holds every word."""
        words = text.casefold().split()
        self.list.blockSignals(True)
        chosen = self.format.id if self.list.currentItem() is not None else ""
        self.list.clear()
        for group, members in self._grouped():
            fitting = [
                one
                for one in members
                if all(word in f"{group} {one.name} {one.use} {one.id}".casefold() for word in words)
            ]
            if fitting:
                head = QListWidgetItem(group)
                head.setFlags(Qt.ItemFlag.NoItemFlags)
                head.setFont(self._context.theme.current.font(11, 600))
                head.setSizeHint(QSize(0, ROW_HEIGHT))
                self.list.addItem(head)
            for one in fitting:
                item = QListWidgetItem(f"  {one.name}")
                item.setData(_ID, one.id)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{one.name}, {group}")
                item.setToolTip(one.use)
                item.setSizeHint(QSize(0, ROW_HEIGHT))
                self.list.addItem(item)
        self.list.blockSignals(False)
        found = self.list.count() > 0
        self.empty.setText("" if found else f"No format is called “{text}”.")
        self.empty.setVisible(not found)
        self.list.setVisible(found)
        if found and not self._select(chosen):
            self.list.setCurrentRow(1)
        for button in (self.export_button, self.copy_button):
            button.setEnabled(found)

    def _grouped(self) -> list[tuple[str, list[ExportFormat]]]:
        known = {ident for members in _GROUPS.values() for ident in members}
        groups = [
            (name, [self._formats[ident] for ident in members if ident in self._formats])
            for name, members in _GROUPS.items()
        ]
        return [*groups, ("Others", [one for one in self._formats.values() if one.id not in known])]

    def choose(self, format_id: str) -> None:
        """Choose a format in the list."""
        if not self._select(format_id):
            self.field.clear()
            if not self._select(format_id):
                self.list.setCurrentRow(1)

    def _select(self, format_id: str) -> bool:
        for row in range(self.list.count()):
            if self.list.item(row).data(_ID) == format_id:
                self.list.setCurrentRow(row)
                self.list.scrollToItem(self.list.item(row))
                return True
        return False

    @property
    def format(self) -> ExportFormat:
        """The chosen format."""
        return self._formats[str(self.list.currentItem().data(_ID))]

    def _show_format(self) -> None:
        if self.list.currentItem() is None or self.list.currentItem().data(_ID) is None:
            return
        one = self.format
        self.title.setText(one.name)
        self.use.setText(f"For: {one.use}")
        self.lacks.setText(f"Leaves out: {one.lacks}")
        self.options.show_options(one, self._context.theme.current.name)
        self.options_head.setVisible(bool(one.options))
        self._show_selection()
        self.copy_button.setVisible(not one.folder and one.suffix not in _BINARY)
        self._show_result("", "")
        self._show_left_out(())

    def _show_selection(self) -> None:
        topology = self._context.document.document.topology
        ids = [ident for ident in sorted(self._context.selection) if not topology.has_link(ident)]
        self.options.show_selection(ids)

    # --- writing -------------------------------------------------------------------------------------------

    def ask_target(self) -> None:
        """Ask for the file or folder, then write."""
        if self._errand is not None or not self.export_button.isEnabled():
            return
        one = self.format
        if one.folder:
            name = QFileDialog.getExistingDirectory(self, f"Folder for {one.name}", self._folder())
        else:
            stem = Path(self._context.document.name).name.split(".")[0] or "cluster"
            suggested = Path(self._folder()) / f"{stem}{_tail(one)}"
            kinds = f"{one.name} (*{one.suffix});;All files (*)"
            name, _ = QFileDialog.getSaveFileName(self, f"Export {one.name}", str(suggested), kinds)
        if name:
            path = Path(name)
            if not one.folder and not path.suffix:
                path = path.with_name(path.name + one.suffix)
            self._run(path)

    def copy(self) -> None:
        """Put the text into the clipboard."""
        if self._errand is None:
            self._run(None)

    def _run(self, target: Path | None) -> None:
        order = ExportOrder(self.format.id, self.options.values, target)
        settings().setValue("export/format", order.format_id)
        self._show_result("", "")
        self._show_left_out(())
        self._show_busy(True)
        self._errand = self._background.run(export, self._context.document.document.content(), order)
        self._errand.progressed.connect(self._progressed)
        self._errand.done.connect(self._done)
        self._errand.failed.connect(self._failed)

    def _progressed(self, share: float, what: str) -> None:
        self.busy.setRange(0, 100 if share > 0 else 0)
        self.busy.setValue(round(100 * share))
        self.state.setText(f"{what[:1].upper()}{what[1:]}…")

    def _done(self, written: Written) -> None:
        self._show_busy(False)
        self._last = written.paths
        if written.order.target is None:
            QGuiApplication.clipboard().setText(written.text)
            lines = plural(written.text.count("\n"), "line")
            said = f"Copied {lines} of {self._formats[written.order.format_id].name}."
        elif len(written.paths) == 1:
            said = f"Wrote {written.paths[0]}"
        else:
            said = f"Wrote {plural(len(written.paths), 'file')} into {written.order.target}"
        self._show_result(said, "ok")
        self.show_button.setVisible(bool(written.paths))
        self._show_left_out(written.left_out)
        self._context.say(said)

    def _failed(self, text: str) -> None:
        self._show_busy(False)
        self._show_result(text, "error")

    def _stop(self) -> None:
        if self._errand is not None:
            self._errand.cancel()
            self._show_busy(False)
            self._show_result("The export was stopped; nothing was written.", "2")

    def _show_busy(self, busy: bool) -> None:
        if not busy:
            self._errand = None
        self.busy.setRange(0, 0)
        shown: tuple[QWidget, ...] = (self.busy, self.state, self.stop_button)
        for widget in shown:
            widget.setVisible(busy)
        self.state.setText("Beginning…")
        used: tuple[QWidget, ...] = (
            self.export_button,
            self.copy_button,
            self.list,
            self.field,
            self.options,
        )
        for widget in used:
            widget.setEnabled(not busy)
        (self.stop_button if busy else self.export_button).setFocus()

    def _show_result(self, text: str, tone: str) -> None:
        self.outcome.setText(text)
        set_style(self.outcome, tone=tone)
        self.outcome.setVisible(bool(text))
        self.show_button.hide()

    def _show_left_out(self, left_out: tuple[str, ...]) -> None:
        self.left_out.clear()
        self.left_out.addItems([text.removeprefix("Left out: ") for text in left_out])
        self.left_head.setVisible(bool(left_out))
        self.left_out.setVisible(bool(left_out))

    def _show_in_folder(self) -> None:
        if self._last:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._last[0].parent)))

    def hideEvent(self, event: QHideEvent) -> None:
        """A closed dialog writes nothing any more."""
        super().hideEvent(event)
        if not event.spontaneous():
            self._stop()


def _tail(one: ExportFormat) -> str:
    """What follows the name of the drawing, so that two formats do not take the same file."""
    plain = one.suffix in (".txt", ".csv", ".json", ".yaml", ".yml", ".conf", ".xml", ".dot")
    return f"-{one.id.removeprefix('railsketch-')}{one.suffix}" if plain else one.suffix
