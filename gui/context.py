"""What all views of the window share: the document, its analysis, and what the user is looking at."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Signal

from gui.document import DocumentModel
from gui.playback import Playback
from gui.preferences import Preferences
from gui.theme import ThemeManager
from gui.turns import Turns

if TYPE_CHECKING:
    from gui.engine import Engine
    from model.document.clipboard import Fragment
    from model.document.document import Change
    from model.document.edits import Edit
    from model.document.pins import Arranged
    from model.placement.types import Dimension
    from model.step.report import Analysis, Figure, StepReport
    from model.step.what_if import Subject

LinkMode = Literal["now", "peak", "mean"]
Tool = Literal["select", "pan", "connect", "place", "paint"]
TrafficDimension = Literal["tp", "cp", "ep", "pp", "dp", "storage"]
MANY_DEVICES = 8000
"""The parts of a larger drawing are left out of later searches for garbage: each would hold the hand up."""
LAYERS = ("scale-up", "pcie", "fabric", "storage", "management")


class AppContext(QObject):
    """The shared state. Every setter says nothing when nothing changed; every signal comes after the change.

    `engine` is None until the window's first paint. `analysis` is the last result and stays while `stale`.
    """

    analysis_changed = Signal()
    stale_changed = Signal(bool)
    selection_changed = Signal()
    colour_by_changed = Signal()
    link_mode_changed = Signal()
    lit_links_changed = Signal()
    tool_changed = Signal()
    brush_changed = Signal()
    place_changed = Signal()
    layers_changed = Signal()
    partners_changed = Signal()
    engine_attached = Signal()
    went_to = Signal(tuple)
    said = Signal(str)
    explained = Signal(str, object)
    clipboard_changed = Signal()
    what_if_answered = Signal(object)
    traffic_of_changed = Signal()
    focus_changed = Signal()
    route_answered = Signal(object)

    def __init__(
        self,
        document: DocumentModel | None = None,
        theme: ThemeManager | None = None,
        playback: Playback | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.document = document if document is not None else DocumentModel(self)
        self.theme = theme if theme is not None else ThemeManager(self)
        self.playback = playback if playback is not None else Playback(self)
        self.preferences = Preferences(self)
        self.turns = Turns(self)
        self.engine: Engine | None = None
        self.analysis: Analysis | None = None
        self.stale = False
        self.selection: frozenset[str] = frozenset()
        self.colour_by: Dimension = "tp"
        self.link_mode: LinkMode = "now"
        self.lit_links: frozenset[str] = frozenset()
        self.lit_devices: frozenset[str] = frozenset()
        self.tool: Tool = "select"
        self.brush: int | None = 0
        self.place_kind = "gpu"
        self.place_model = ""
        self.place_count = 1
        self.layers: frozenset[str] = frozenset(LAYERS)
        self.partners_of: str | None = None
        self.clipboard: Fragment | None = None
        self.traffic_of: TrafficDimension | None = None
        self.focus: tuple[str, ...] = ()
        self.arranging = False
        self._chosen_order: tuple[str, ...] = ()
        self._report: StepReport | None = None
        self._narrowed: dict[TrafficDimension, StepReport] = {}
        self._stale_from = 0
        self.document.changed.connect(self._document_changed)
        self.document.reset.connect(self._document_reset)

    def attach_engine(self, engine: Engine) -> None:
        """Take the engine, once it exists: it gets the document, then every edit."""
        self.engine = engine
        engine.analysed.connect(self.set_analysis)
        engine.what_if.connect(self.what_if_answered)
        engine.route.connect(self.route_answered)
        self.document.applied.connect(self._send_edit)
        self.engine_attached.emit()
        engine.load(self.document.document, self.document.revision)

    def set_analysis(self, analysis: Analysis) -> None:
        """Show a result; it is stale when an edit came after the revision that it is of.

        Without a report (the job is illegal) the last legal step stays, and the playhead in it; it goes with
        the last device.
        """
        self.analysis = analysis
        report = analysis.report
        if report is not None:
            self._report, self._narrowed = report, {}
            if self.traffic_of is not None and not report.bytes_by_dimension[self.traffic_of].any():
                self.set_traffic_of(None)  # the job is not cut by it any more
            self.playback.set_step(report.totals.time_s, report.segments.start_s.tolist())
        elif not self.document.document.topology.devices():
            self._report, self._narrowed = None, {}
            self.playback.set_step(0.0)
        self.analysis_changed.emit()
        self._set_stale(analysis.revision < self._stale_from)

    @property
    def last_report(self) -> StepReport | None:
        """The last legal step of what is drawn."""
        return self._report

    @property
    def shown_report(self) -> StepReport | None:
        """What views of links show: the last legal step, of `traffic_of` alone where that is set."""
        report, dimension = self._report, self.traffic_of
        if report is None or dimension is None:
            return report
        if dimension not in self._narrowed:
            from model.step.by_dimension import report_of

            self._narrowed[dimension] = report_of(report, dimension)
        return self._narrowed[dimension]

    def set_selection(self, ids: Iterable[str]) -> None:
        """Choose devices, links and containers by id."""
        selection = frozenset(ids)
        if selection != self.selection:
            self.selection = selection
            kept = tuple(ident for ident in self._chosen_order if ident in selection)
            self._chosen_order = (*kept, *sorted(selection.difference(kept))) if len(selection) <= 2 else ()
            self.selection_changed.emit()

    def ordered_selection(self) -> tuple[str, ...]:
        """What is selected, in the order in which it was where it is one or two things."""
        return self._chosen_order or tuple(sorted(self.selection))

    def set_colour_by(self, dimension: Dimension) -> None:
        """The dimension whose groups fill the GPUs."""
        if dimension != self.colour_by:
            self.colour_by = dimension
            self.colour_by_changed.emit()

    def set_link_mode(self, mode: LinkMode) -> None:
        """Links show the rate of the moment, the peak or the mean of the step."""
        if mode != self.link_mode:
            self.link_mode = mode
            self.link_mode_changed.emit()

    def set_lit_links(self, links: Iterable[str], devices: Iterable[str] = ()) -> None:
        """Light links and devices that a panel speaks of; empty = none."""
        lit = (frozenset(links), frozenset(devices))
        if lit != (self.lit_links, self.lit_devices):
            self.lit_links, self.lit_devices = lit
            self.lit_links_changed.emit()

    def set_tool(self, tool: Tool) -> None:
        """What the mouse does on the canvas."""
        if tool != self.tool:
            self.tool = tool
            self.tool_changed.emit()

    def set_brush(self, group: int | None) -> None:
        """The group that the paint tool gives; None takes colours away."""
        if group != self.brush:
            self.brush = group
            self.brush_changed.emit()

    def set_place(self, kind: str, model: str, count: int = 1) -> None:
        """What the place tool puts down."""
        if (kind, model, count) != (self.place_kind, self.place_model, self.place_count):
            self.place_kind, self.place_model, self.place_count = kind, model, count
            self.place_changed.emit()

    def set_layers(self, layers: Iterable[str]) -> None:
        """Which of LAYERS are drawn."""
        chosen = frozenset(layers) & frozenset(LAYERS)
        if chosen != self.layers:
            self.layers = chosen
            self.layers_changed.emit()

    def set_partners_of(self, gpu: str | None) -> None:
        """The GPU whose partners are shown; None = nobody's."""
        if gpu != self.partners_of:
            self.partners_of = gpu
            self.partners_changed.emit()

    def set_traffic_of(self, dimension: TrafficDimension | None) -> None:
        """The dimension whose traffic alone is shown; None = all."""
        if dimension != self.traffic_of:
            self.traffic_of = dimension
            self.traffic_of_changed.emit()

    def set_focus(self, ids: Iterable[str]) -> None:
        """The device whose paths, or the two between which the route is shown; empty = none."""
        focus = tuple(ids)
        if focus != self.focus:
            self.focus = focus
            self.focus_changed.emit()

    def push_layout(self, arranged: Arranged, text: str) -> None:
        """Apply a layout as one undo step, on the way to which the drawing may move; says what stayed.

        Raises EditRefused, and changes nothing, when it is illegal.
        """
        from model.text import plural

        self.arranging = True
        try:
            self.document.push(arranged.edit, text)
        finally:
            self.arranging = False
        if arranged.kept:
            self.say(f"{plural(arranged.kept, 'pinned device')} stayed in place.")

    def set_clipboard(self, fragment: Fragment) -> None:
        """What was copied last."""
        self.clipboard = fragment
        self.clipboard_changed.emit()

    def go_to(self, ids: Iterable[str]) -> None:
        """Select `ids` and ask the canvas to bring them into view."""
        chosen = tuple(ids)
        self.set_selection(chosen)
        self.went_to.emit(chosen)

    def say(self, text: str) -> None:
        """A one-line message in the window."""
        self.said.emit(text)

    def explain(self, title: str, figure: Figure) -> None:
        """Ask the window to show how a figure was worked out."""
        self.explained.emit(title, figure)

    def ask_what_if(self, subject: Subject, ids: Iterable[str]) -> None:
        """Ask the engine what parts at twice their rate would bring; `what_if_answered` tells."""
        if self.engine is not None:
            self.engine.ask_what_if(subject, tuple(ids))

    def ask_route(self, source: str, target: str | None = None) -> None:
        """Ask the engine how it leads the bytes of a device, or those from one to another; `route_answered`
        tells.
        """
        if self.engine is not None:
            self.engine.ask_route(source, target)

    def _document_changed(self, change: Change) -> None:
        topology = self.document.document.topology
        gone = {ident for ident in self.selection if not topology.has(ident)}
        if gone:
            self.set_selection(self.selection - gone)
        if self.partners_of is not None and not topology.has_device(self.partners_of):
            self.set_partners_of(None)
        if not all(topology.has_device(ident) for ident in self.focus):
            self.set_focus(())
        if change.topology_changed or change.job or change.paint:
            self._stale_from = self.document.revision
            self._set_stale(True)

    def _send_edit(self, edit: Edit) -> None:
        if self.engine is not None:
            self.engine.send(edit, self.document.revision)

    def _document_reset(self) -> None:
        self._stale_from = self.document.revision
        self.set_selection(())
        self.set_lit_links(())
        self.set_partners_of(None)
        self.set_focus(())
        self.set_traffic_of(None)
        self.playback.set_step(0.0)
        self._report, self._narrowed = None, {}
        if self.analysis is not None:
            self.analysis = None
            self.analysis_changed.emit()
        self._set_stale(True)
        if len(self.document.document.topology.devices()) > MANY_DEVICES:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        if self.engine is not None:
            self.engine.load(self.document.document, self.document.revision)

    def _set_stale(self, stale: bool) -> None:
        if stale != self.stale:
            self.stale = stale
            self.stale_changed.emit(stale)
