"""What is trained and how it is cut, with what is legal beside every size."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.context import AppContext
from gui.panels.job_as_of import as_of_text
from gui.panels.job_fields import GROUPS
from gui.panels.job_more import MoreFields, Surroundings, fill_choices
from gui.panels.job_rows import SIZES, JobView, Mark, SizeRow, job_view
from gui.panels.panel_kit import Panel
from gui.panels.placement_rows import world_size
from gui.theme import Theme
from gui.widgets.elided import ElidedLabel
from gui.widgets.fields import ChoiceField, NumberField
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.style import label, set_font, set_style, themed_icon
from model.catalog import catalog
from model.document.document import Change
from model.document.edits import SetJob
from model.document.start import has_default_job
from model.errors import RailsketchError
from model.job.choices import Choice, legal_values
from model.job.exchange import Operation, dimension_name
from model.job.spec import JobSpec, apply_set
from model.placement.types import Dimension
from model.text import sentence
from model.topology.types import DeviceKind
from model.traffic.domains import Spans, domain_spans

_TONE: dict[Mark, str] = {"ok": "2", "warning": "warning", "error": "error", "off": "3"}
_ICON: dict[Mark, tuple[str, str]] = {
    "ok": ("check", "ok"),
    "warning": ("warning", "warning"),
    "error": ("error", "error"),
    "off": ("minus", "text-3"),
}
_PRECISIONS = {"bf16": "BF16", "fp16": "FP16", "fp8": "FP8", "fp4": "FP4", "fp32": "FP32"}
_SCHEDULES = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved": "Interleaved",
    "zb-h1": "ZB-H1",
    "zb-v": "ZB-V",
    "dualpipe": "DualPipe",
}
_NAMES = {
    "tp": "Tensor parallel size",
    "cp": "Context parallel size",
    "ep": "Expert parallel size",
    "pp": "Pipeline stages",
    "dp": "Replicas",
}


def _word(words: Mapping[str, str], value: object) -> str:
    return words.get(str(value), str(value))


def _field_name(path: str) -> str:
    """What to call a field of the job in the undo menu."""
    for group in GROUPS:
        for spec in group.fields:
            if spec.path == path:
                return f"{group.text.lower()}: {spec.text}"
    name = path.rpartition(".")[2]
    return name.upper() if name in SIZES else name.replace("_", " ")


class SizeField(NumberField):
    """A size whose arrows go to the next legal value; anything may be typed."""

    def __init__(self, name: str) -> None:
        super().__init__(1, 1_048_576, name)
        self.legal: tuple[int, ...] = ()

    def stepBy(self, steps: int) -> None:
        value = self.value()
        beyond = [one for one in self.legal if (one > value if steps > 0 else one < value)]
        if beyond:
            self.setValue(min(beyond) if steps > 0 else max(beyond))
        elif not self.legal:
            super().stepBy(steps)


class SizeLine(QFrame):
    """One parallel size: name, field, mark and reason. The line of the colouring dimension is highlighted."""

    def __init__(self, dimension: Dimension) -> None:
        super().__init__()
        self.dimension = dimension
        self.name = label(dimension_name(dimension), 12, 600)
        self.name.setFixedWidth(22)
        self.field = SizeField(_NAMES[dimension]) if dimension != "dp" else None
        self.number = label("", 12, 600)
        self.mark = QLabel()
        self.mark.setFixedWidth(16)
        self.reason = ElidedLabel("", 11, 400, "2")
        line = QHBoxLayout(self)
        line.setContentsMargins(6, 0, 6, 0)
        line.setSpacing(6)
        line.addWidget(self.name)
        shown: QWidget = self.field if self.field is not None else self.number
        shown.setFixedSize(58, 22)
        shown.setProperty("scale", "small")
        if self.field is None:
            self.number.setContentsMargins(8, 0, 0, 0)
        line.addWidget(shown)
        line.addWidget(self.mark)
        line.addWidget(self.reason, 1)
        self.setFixedHeight(24)
        self._icon: Mark = "off"

    def show_row(self, row: SizeRow, theme: Theme) -> None:
        """Show value, mark and reason."""
        if self.field is not None:
            self.field.legal = row.legal
            self.field.set_empty("–")
            self.field.set_value(row.value)
            self.field.setEnabled(row.editable)
            set_style(self.field, mark=row.mark if row.mark in ("error", "warning") else "")
            self.field.setToolTip(row.text)
            self.field.setAccessibleDescription(row.text)
        self.number.setText("–" if row.value is None else f"{row.value:,}")
        self.name.setEnabled(row.value is not None)
        self.reason.setText(row.text)
        set_style(self.reason, tone=_TONE[row.mark])
        self._icon = row.mark
        self.show_theme(theme)

    def show_theme(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        name, token = _ICON[self._icon]
        pixmap = theme.pixmap(name, 14, self.devicePixelRatioF(), theme.color(token))
        self.mark.setPixmap(pixmap if self.reason.text() else QPixmap())

    def highlight(self, on: bool, theme: Theme) -> None:
        """Whether GPUs are coloured by this dimension."""
        set_style(self.name, tone="accent" if on else "")
        self.setStyleSheet(
            f"SizeLine {{ background: {theme.color('accent-soft').name()}; border-radius: 5px; }}"
            if on
            else ""
        )


class JobPanel(Panel):
    """Model, batch and parallel sizes; every change is one undoable edit of the job."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "Job", parent)
        self._spans = Spans()
        self.view: JobView | None = None
        self._build()
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self.refresh)
        context.colour_by_changed.connect(self._highlight)
        self.show_report()

    # --- building ------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.header = SectionHeader("Job")

        self.model = ChoiceField("Model")
        self.model.setPlaceholderText("Choose a model")
        self.precision = ChoiceField("Precision of the matrix multiplications")
        self.schedule = ChoiceField("Pipeline schedule")
        for field, path in (
            (self.model, "model"),
            (self.precision, "precision"),
            (self.schedule, "schedule"),
        ):
            field.activated.connect(
                lambda index, field=field, path=path: self._commit(path, field.itemData(index))
            )
            field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        top = QHBoxLayout()
        top.setSpacing(6)
        top.addWidget(self.model, 5)
        top.addWidget(self.precision, 3)
        top.addWidget(self.schedule, 4)
        self.batch = NumberField(1, 2**31 - 1, "Global batch, sequences")
        self.sequence = NumberField(1, 2**31 - 1, "Sequence length, tokens")
        self.microbatch = NumberField(1, 10**6, "Microbatch, sequences")
        self.count = label("", 12, 600)
        self.count_text = ElidedLabel("", 10, 400, "3")
        self.sizes = {name: SizeLine(cast(Dimension, name)) for name in SIZES}
        for name, line in self.sizes.items():
            if line.field is not None:
                line.field.committed.connect(lambda value, path=f"parallel.{name}": self._commit(path, value))
        self.fold = QToolButton()
        self.fold.setText("More")
        self.fold.setCheckable(True)
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.setAccessibleName("More job fields")
        set_font(self.fold, 11, 600)
        self.fold.toggled.connect(self._unfold)
        self.more = MoreFields()
        self.more.committed.connect(self._commit)
        self.more.hide()
        self.verdict = label("", 11, 600, wrap=True)
        self.verdict_mark = QLabel(self.verdict)
        self.as_of = label("", 11, 500, "3", wrap=True)
        self.header.add(self.fold)
        column = QVBoxLayout(self)
        column.setContentsMargins(PADDING, 6, PADDING, 10)
        column.setSpacing(6)
        column.addWidget(self.header)
        column.addLayout(top)
        column.addLayout(self._batch_grid())
        lines = QVBoxLayout()
        lines.setContentsMargins(-6, 0, -6, 0)
        lines.setSpacing(1)
        for line in self.sizes.values():
            lines.addWidget(line)
        column.addLayout(lines)
        column.addWidget(self.verdict)
        column.addWidget(self.as_of)
        column.addWidget(self.more)
        self._unfold(False)

    def _batch_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(2)
        for column, (text, field, path) in enumerate(
            (
                ("Global batch", self.batch, "global_batch"),
                ("Sequence", self.sequence, "sequence_length"),
                ("Microbatch", self.microbatch, "microbatch"),
            )
        ):
            name = ElidedLabel(text, 11, 400, "3")
            name.setBuddy(field)
            field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            grid.addWidget(name, 0, column)
            grid.addWidget(field, 1, column)
            grid.setColumnStretch(column, 4)
            field.committed.connect(lambda value, path=path: self._commit(path, value))
        grid.addWidget(ElidedLabel("Microbatches", 11, 400, "3"), 0, 3)
        line = QHBoxLayout()
        line.setSpacing(4)
        line.addWidget(self.count)
        line.addWidget(self.count_text, 1)
        grid.addLayout(line, 1, 3)
        grid.setColumnStretch(3, 5)
        return grid

    # --- state ---------------------------------------------------------------------------------------------

    def show_report(self) -> None:
        for _step in self.report_steps():
            pass

    def report_steps(self) -> Iterator[None]:
        analysis = self.context.analysis
        report = analysis.report if analysis is not None else None
        self._spans = domain_spans(report.fabric, report.placement) if report is not None else Spans()
        yield
        self.refresh()

    def show_stale(self) -> None:
        self._show_as_of()

    def show_theme(self) -> None:
        theme = self.context.theme.current
        for line in self.sizes.values():
            line.show_theme(theme)
        self._show_verdict_mark()
        self._highlight()

    def refresh(self) -> None:
        """Show the document's job."""
        document, theme = self.context.document.document, self.context.theme.current
        job, world = document.job, world_size(document)
        self.view = view = job_view(job, world, self._spans)
        unasked = world == 0 and has_default_job(document)
        self.header.set_note("" if unasked else view.model_text)
        self._show_choices(job, world)
        if unasked:
            self.model.setCurrentIndex(-1)
        for field, path, value in (
            (self.batch, "global_batch", job.global_batch),
            (self.sequence, "sequence_length", job.sequence_length),
            (self.microbatch, "microbatch", job.microbatch),
        ):
            reason = view.broken.get(path, "")
            field.set_value(value)
            field.setToolTip(reason)
            set_style(field, mark="error" if reason else "")
        self.count.setText(f"{view.microbatches:,}" if view.microbatches is not None else "–")
        self.count_text.setText(view.microbatch_text)
        for row in view.sizes:
            self.sizes[row.name].show_row(row, theme)
        self._show_more()
        self.verdict.setText(view.verdict.text)
        off = view.verdict.mark == "off"
        set_style(self.verdict, soft="" if off else view.verdict.mark, tone="2" if off else "")
        self._show_verdict_mark()
        self._show_as_of()
        self._highlight()

    def _show_verdict_mark(self) -> None:
        """The icon before the verdict; there is none before what only says the next act."""
        mark: Mark = self.view.verdict.mark if self.view is not None else "off"
        theme, (name, token) = self.context.theme.current, _ICON[mark]
        set_style(self.verdict, marked=mark != "off")
        self.verdict_mark.setVisible(mark != "off")
        self.verdict_mark.setPixmap(theme.pixmap(name, 14, self.devicePixelRatioF(), theme.color(token)))
        self.verdict_mark.adjustSize()
        self.verdict_mark.move(8, 5)

    def _show_choices(self, job: JobSpec, world: int) -> None:
        presets = {preset.id: preset.name for preset in catalog().models.values()}
        own = "" if isinstance(job.model, str) else job.model.name
        self.model.clear()
        if own:
            self.model.addItem(own, None)
        for preset, name in presets.items():
            self.model.addItem(name, preset)
        if isinstance(job.model, str):
            row = self.model.findData(job.model)
            if row < 0:
                self.model.addItem(job.model, job.model)
            self.model.setCurrentIndex(self.model.findData(job.model))
        set_style(self.model, mark="error" if self.view is not None and "model" in self.view.broken else "")
        for field, path, words in (
            (self.precision, "precision", _PRECISIONS),
            (self.schedule, "schedule", _SCHEDULES),
        ):
            try:
                choices = legal_values(job, world, path)
            except RailsketchError:
                choices = tuple(Choice(value) for value in words)
            fill_choices(field, choices, getattr(job, path), partial(_word, words))

    def _show_as_of(self) -> None:
        text = ""
        if self.report is not None and self.outdated and not self.context.stale:
            text = as_of_text(self.report.job, self.context.document.document.job)
        self.as_of.setText(f"Traffic, step and memory are {text}." if text else "")
        self.as_of.setVisible(bool(text))

    def _highlight(self) -> None:
        for name, line in self.sizes.items():
            line.highlight(name == self.context.colour_by, self.context.theme.current)

    def _show_more(self) -> None:
        """The fields behind "More", while they are unfolded: each asks what would be legal."""
        if self.view is None or not self.fold.isChecked():
            return
        document, report = self.context.document.document, self.report
        operations: dict[str, frozenset[Operation]] = {}
        for exchange in report.exchanges if report is not None else ():
            seen = operations.get(exchange.dimension, frozenset())
            operations[exchange.dimension] = seen | {exchange.operation}
        storage = tuple(
            device.id for device in document.topology.devices() if device.kind is DeviceKind.STORAGE
        )
        around = Surroundings(world_size(document), self.view.broken, storage, operations)
        self.more.show_job(document.job, around)

    def _unfold(self, on: bool) -> None:
        self._show_more()
        self.more.setVisible(on)
        self.fold.setText("Less" if on else "More")
        themed_icon(self.fold, self.context.theme, "chevron-up" if on else "chevron-down")
        self.updateGeometry()

    def _document_changed(self, change: Change) -> None:
        if change.job or change.topology_changed or change.whole:
            self.refresh()

    # --- acts ----------------------------------------------------------------------------------------------

    def _commit(self, path: str, value: object) -> None:
        """Set one field of the job as one undo step; what the job refuses is said and taken back."""
        job = self.context.document.document.job
        try:
            changed = apply_set(job, f"{path}={json.dumps(value)}")
            if changed != job:
                self.context.document.push(SetJob(changed), f"Set {_field_name(path)}")
        except RailsketchError as error:
            self.context.say(sentence(str(error)))
            self.refresh()
