"""`Following`: how a view follows the document, its analysis and the state that all views share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.canvas.gpu_look import first_cut
from gui.panels.panel_kit import MANY_GPUS
from model.document.document import Change

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView


class Following:
    """The slots of one view; connecting them is all that it takes."""

    def __init__(self, view: CanvasView) -> None:
        self._view = view
        self._context = view.context
        self._scene = view.scene_data
        self._new_drawing = True
        self._connect()
        self._scene.set_report(self._context.shown_report)
        self._take_display_state()

    def _connect(self) -> None:
        context, view = self._context, self._view
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self._document_reset)
        context.analysis_changed.connect(self._analysis_changed)
        context.selection_changed.connect(self._selection_changed)
        context.lit_links_changed.connect(view.refresh)
        context.partners_changed.connect(view.refresh)
        context.colour_by_changed.connect(self._display_changed)
        context.link_mode_changed.connect(self._display_changed)
        context.layers_changed.connect(self._display_changed)
        context.traffic_of_changed.connect(self._traffic_changed)
        context.brush_changed.connect(view.refresh)
        context.place_changed.connect(view.refresh)
        context.went_to.connect(view.bring_into_view)
        context.playback.time_changed.connect(self._time_changed)
        context.playback.playing_changed.connect(self._playing_changed)

    def _document_changed(self, change: Change) -> None:
        view, scene = self._view, self._scene
        if view.tool.active:
            view.tool.cancel()  # what a gesture holds are rows of the drawing as it was
        view.motion.finish()
        before = view.motion.places(change)
        was_empty = scene.index.empty
        if self._context.document.document is not scene.document:
            scene.set_document(self._context.document.document)
        else:
            scene.apply(change)
        if before is not None:
            view.motion.begin(*before)
        view.leave_hover()
        if was_empty != scene.index.empty:
            view.overlay.place()
            view.clear_of_legend()
        view.overlay.show_layers()
        self._new_drawing |= change.whole
        if change.whole or (was_empty and len(change.devices) > 1 and not view.all_visible()):
            view.fit_soon()
        view.overlay.minimap.update()
        view.refresh()

    def _document_reset(self) -> None:
        view = self._view
        view.tool.cancel()
        view.motion.drop()
        self._new_drawing = True
        self._scene.set_document(self._context.document.document)
        view.leave_hover()
        view.overlay.show_layers()
        view.overlay.place()
        view.fit_soon()
        view.refresh()

    def _selection_changed(self) -> None:
        """What a panel lit goes out when something else is chosen."""
        context = self._context
        if context.selection and not context.selection & (context.lit_links | context.lit_devices):
            context.set_lit_links(())
        self._view.refresh()

    def _analysis_changed(self) -> None:
        """A large report is taken over in a turn of its own, as panels do it."""
        report, turns = self._context.shown_report, self._context.turns
        if report is not None and len(report.placement.gpus) > MANY_GPUS:
            turns.later(self._take_report)
        else:
            turns.drop(self._take_report)
            self._take_report()

    def _take_report(self) -> None:
        context, scene = self._context, self._scene
        if context.shown_report is not scene.report:  # else the last legal step stays
            scene.set_report(context.shown_report, context.playback.time_s)
        if self._new_drawing and scene.report is not None:
            self._new_drawing = False
            context.set_colour_by(first_cut(scene.report.placement, context.colour_by))
        self._view.overlay.update_pictures()
        self._view.refresh()

    def _traffic_changed(self) -> None:
        self._scene.set_report(self._context.shown_report)
        self._view.leave_hover()
        self._view.overlay.update_state()
        self._view.refresh()

    def _display_changed(self) -> None:
        self._take_display_state()
        self._view.overlay.update_state()
        self._view.refresh()

    def _take_display_state(self) -> None:
        context, scene = self._context, self._scene
        scene.layers = context.layers
        if scene.dimension != context.colour_by:
            scene.set_dimension(context.colour_by)
        scene.show(context.link_mode, context.playback.time_s)

    def _playing_changed(self, playing: bool) -> None:
        if not playing:  # a held moment shows itself alone
            self._scene.show(self._context.link_mode, self._context.playback.time_s)
        self._view.refresh()

    def _time_changed(self, time_s: float) -> None:
        if self._context.shown_report is not self._scene.report:
            return  # another step has come; its loads are read when it is taken over
        playing, turns = self._context.playback.playing, self._context.turns
        view = self._view
        if playing and (turns.due or not view.frame_cache.prepared(view.camera, view.level)):
            return  # the next picture shows also what passed meanwhile
        turns.give_way()
        since = self._scene.time_s if playing else None
        recoloured = self._scene.show(self._context.link_mode, time_s, since)
        if recoloured or self._view.dots_run:
            self._view.refresh()
