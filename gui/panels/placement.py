"""Who plays what: the brushes of a dimension, what does not fit, and the partners of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.context import AppContext
from gui.panels.findings import FindingList
from gui.panels.panel_kit import Panel
from gui.panels.placement_brushes import BrushGrid
from gui.panels.placement_rows import (
    WORDS,
    BrushTable,
    group_count,
    layer_count,
    stage_layers,
    unplaced,
    world_size,
)
from gui.widgets.elided import ElidedLabel
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.segmented import SegmentedControl
from gui.widgets.style import label, set_font, themed_icon
from model.document.document import Change
from model.document.edits import ClearPaint
from model.job.exchange import dimension_name
from model.placement.resolve import partners
from model.placement.types import DIMENSIONS, Conflict, Dimension
from model.step.report import Finding, Severity
from model.text import name_list, plural

LONGEST_CONFLICTS = 140
NAMED = 4  # partners that a row names
_HINTS = {
    "tp": "Tensor parallel: colour GPUs by the group that shares each layer",
    "cp": "Context parallel: colour GPUs by the group that shares each sequence",
    "ep": "Expert parallel: colour GPUs by the group that shares the experts",
    "pp": "Pipeline parallel: colour GPUs by stage",
    "dp": "Data parallel: colour GPUs by replica",
}


class PartnerRow(QPushButton):
    """The partners of a GPU in one dimension; a click selects them with it."""

    def __init__(self, dimension: Dimension) -> None:
        super().__init__()
        self.dimension = dimension
        self.setProperty("role", "link")
        line = QHBoxLayout(self)
        line.setContentsMargins(4, 0, 4, 0)
        line.setSpacing(8)
        name = label(dimension_name(dimension), 11, 600)
        name.setFixedWidth(22)
        self._names = ElidedLabel("", 11, 400, "2")
        line.addWidget(name)
        line.addWidget(self._names, 1)
        self.setFixedHeight(20)

    def show_partners(self, own: str, names: tuple[str, ...]) -> None:
        """Say what the GPU itself is in, and who is with it."""
        text = f"in {own}, with {name_list(names, NAMED)}" if names else f"in {own}, alone"
        self._names.setText(text)
        self.setAccessibleName(f"Partners in {dimension_name(self.dimension)}, {text}")
        self.setEnabled(bool(names))


class PartnersCard(QWidget):
    """The partners of the selected GPU in all dimensions."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._gpu = ""
        self._partners: dict[Dimension, tuple[str, ...]] = {}
        self.title = ElidedLabel("", 12, 600)
        self.show_them = QPushButton("Show on the drawing")
        self.show_them.setCheckable(True)
        set_font(self.show_them, 11, 600)
        self.show_them.clicked.connect(self._toggle)
        self.rows = {dimension: PartnerRow(dimension) for dimension in DIMENSIONS}
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.show_them)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(1)
        column.addLayout(head)
        for dimension, row in self.rows.items():
            row.clicked.connect(lambda _checked=False, of=dimension: self._select(of))
            column.addWidget(row)

    def show_gpu(
        self,
        gpu: str,
        groups: dict[Dimension, int],
        found: dict[Dimension, tuple[str, ...]],
        of: Callable[[Dimension, str], int],
    ) -> None:
        """Show the partners of another GPU; `groups` has its colour in each dimension (−1 = none), and `of`
        tells that of a partner: those of a stage or replica are the other stages or replicas.
        """
        self._gpu, self._partners = gpu, found
        self.title.setText(f"Partners of {gpu}")
        for dimension, row in self.rows.items():
            number, names = groups[dimension], found[dimension]
            own = f"{WORDS[dimension]} {number}" if number >= 0 else "no group"
            if dimension in ("pp", "dp"):
                first = tuple(f"{name} ({of(dimension, name)})" for name in names[:NAMED])
                names = first + names[NAMED:]
            row.show_partners(own, names)
        self.show_them.setChecked(self._context.partners_of == gpu)

    def _toggle(self, checked: bool) -> None:
        self._context.set_partners_of(self._gpu if checked else None)

    def _select(self, dimension: Dimension) -> None:
        self._context.set_selection({self._gpu, *self._partners[dimension]})


class PlacementPanel(Panel):
    """Brushes, Assign all, Erase, conflicts and partners."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(context, "Placement", parent)
        self._world = 0
        self._build()
        context.colour_by_changed.connect(self._show_dimension)
        context.brush_changed.connect(self._show_brush)
        context.tool_changed.connect(self._show_brush)
        context.selection_changed.connect(self._show_partners)
        context.partners_changed.connect(self._show_partners)
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self._document_reset)
        self._document_reset()

    def _build(self) -> None:
        self.header = SectionHeader("Placement")
        self.dimension = SegmentedControl(
            [(dimension, dimension_name(dimension)) for dimension in DIMENSIONS],
            "Colour GPUs by",
            tips=[_HINTS[dimension] for dimension in DIMENSIONS],
        )
        self.dimension.chosen.connect(lambda value: self.context.set_colour_by(cast(Dimension, value)))
        self.header.add(self.dimension)
        self.empty = label("Each group gets a colour and a brush here.", 12, 400, "2", wrap=True)
        self.brushes = BrushGrid(self.context)
        self.brushes.brush_chosen.connect(self._take_brush)
        self.assign_all = self._button(
            "Assign all", "assign", "Take all painted colours away: every GPU plays its rank in order"
        )
        self.erase = self._button(
            "Erase", "erase", "Paint over a GPU to take its colour of this dimension away"
        )
        self.erase.setCheckable(True)
        self.assign_all.clicked.connect(self._assign_all)
        self.erase.clicked.connect(
            lambda checked: self._take_brush(None) if checked else self.context.set_tool("select")
        )
        self.summary = ElidedLabel("", 10, 400, "3")
        self.acts = QWidget()
        line = QHBoxLayout(self.acts)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        line.addWidget(self.assign_all)
        line.addWidget(self.erase)
        line.addWidget(self.summary, 1)
        self.conflicts = FindingList(self.context)
        self.conflicts.setAccessibleName("Conflicts in the placement")
        self.conflicts.clicked.connect(self._select_conflict)
        self.conflicts.activated.connect(self._select_conflict)
        self.partners = PartnersCard(self.context)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(PADDING, 6, PADDING, 10)
        layout.setSpacing(6)
        for widget in (self.header, self.empty, self.brushes, self.acts, self.conflicts, self.partners):
            layout.addWidget(widget)
        layout.addStretch(1)

    def _button(self, text: str, icon: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(tip)
        set_font(button, 12, 600)
        themed_icon(button, self.context.theme, icon)
        return button

    # --- state ---------------------------------------------------------------------------------------------

    def show_report(self) -> None:
        document, dimension = self.context.document.document, self.context.colour_by
        placement = self.report.placement if self.report is not None and self._world else None
        self.empty.setVisible(self._world == 0)
        for widget in (self.brushes, self.acts):
            widget.setVisible(self._world > 0)
        if self._world == 0:
            self.brushes.show_table(None)
        else:
            layers = stage_layers(layer_count(document.job), document.job) if dimension == "pp" else ()
            table = BrushTable(
                dimension, group_count(document.job, self._world, dimension), placement, layers
            )
            self.brushes.show_table(table)
            left = len(unplaced(placement)) if placement is not None else 0
            self.summary.setText(f"{table.summary} · {left:,} unplaced")
        self.assign_all.setEnabled(len(document.paint) > 0)
        self._show_conflicts(placement.conflicts if placement is not None else ())
        self._show_partners()

    def show_stale(self) -> None:
        self.brushes.viewport().update()

    def show_theme(self) -> None:
        self.brushes.viewport().update()
        self.conflicts.viewport().update()

    def _show_dimension(self) -> None:
        self.dimension.set_value(self.context.colour_by)
        self.show_report()

    def _show_brush(self) -> None:
        self.erase.setChecked(self.context.tool == "paint" and self.context.brush is None)
        self.brushes.viewport().update()
        brush = self.context.brush
        if brush is not None and brush < self.brushes.brushes.rowCount():
            self.brushes.setCurrentIndex(self.brushes.brushes.index(brush))

    def _show_conflicts(self, conflicts: tuple[Conflict, ...]) -> None:
        rows = tuple(
            Finding(f"conflict-{number}", Severity.ERROR, conflict.title, conflict.detail, conflict.gpus)
            for number, conflict in enumerate(conflicts)
        )
        self.conflicts.rows.set_findings(rows)
        self.conflicts.setVisible(bool(rows))
        self.conflicts.setFixedHeight(min(LONGEST_CONFLICTS, 44 * max(1, len(rows))))

    def _show_partners(self) -> None:
        gpu = self.context.partners_of
        if len(self.context.selection) == 1:
            (gpu,) = self.context.selection
        placement = self.report.placement if self.report is not None else None
        place = placement.gpus.index(gpu) if placement is not None and gpu in placement.gpus else -1
        self.partners.setVisible(place >= 0)
        if placement is None or place < 0 or gpu is None:
            return
        groups = {dimension: int(placement.shown[dimension][place]) for dimension in DIMENSIONS}
        self.partners.show_gpu(
            gpu,
            groups,
            partners(placement, gpu),
            lambda dimension, name: int(placement.shown[dimension][placement.gpus.index(name)]),
        )

    def _document_changed(self, change: Change) -> None:
        if change.topology_changed or change.job or change.paint:
            self._document_reset()

    def _document_reset(self) -> None:
        self._world = world_size(self.context.document.document)
        self.dimension.set_value(self.context.colour_by)
        self.show_report()

    # --- acts ----------------------------------------------------------------------------------------------

    def _take_brush(self, number: int | None) -> None:
        self.context.set_brush(number)
        self.context.set_tool("paint")

    def _assign_all(self) -> None:
        painted = len(self.context.document.document.paint)
        self.context.document.push(ClearPaint(), "Assign all")
        self.context.say(f"{plural(painted, 'painted GPU')} went back to the order of the job")

    def _select_conflict(self, index: object) -> None:
        row = self.conflicts.currentIndex().row()
        if row >= 0:
            self.context.set_selection(self.existing(frozenset(self.conflicts.rows.findings[row].devices)))
