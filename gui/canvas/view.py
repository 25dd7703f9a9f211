"""`CanvasView`: the drawing on the screen. It shows the shared state and hands the mouse to a tool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QPoint, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QWidget

from gui.canvas.camera import MAX_ZOOM, Camera
from gui.canvas.drops import Drops
from gui.canvas.empty_state import paint_empty
from gui.canvas.folding import around
from gui.canvas.foreground import Foreground
from gui.canvas.frame import Frame
from gui.canvas.gpu_look import first_cut
from gui.canvas.guard import guarded, guarded_paint
from gui.canvas.hit import Hit, hit
from gui.canvas.hover_card import HoverCard
from gui.canvas.keys import CanvasKeys
from gui.canvas.levels import Level, level_at, next_level
from gui.canvas.menu import canvas_menu
from gui.canvas.navigation import NavigableView
from gui.canvas.opening import open_under
from gui.canvas.overlay import Overlay
from gui.canvas.quick_add import QuickAdd
from gui.canvas.scene import Scene
from gui.canvas.scene_painter import Lit, ScenePainter
from gui.canvas.tools.base import Pointer, Tool
from gui.canvas.tools.connect import ConnectTool
from gui.canvas.tools.paint import PaintTool
from gui.canvas.tools.pan import PanTool
from gui.canvas.tools.place import PlaceTool, Placing, paint_ghost
from gui.canvas.tools.select import SelectTool
from gui.context import AppContext
from gui.edit_commands import EditCommands
from gui.theme import Theme
from model.document.clipboard import Fragment, paste
from model.document.document import Change
from model.errors import EditRefused
from model.text import plural

FIT_MARGIN = 28.0
SLICE_S = 0.008
"""So long at a time a sharp picture is worked on before the event loop gets its turn."""
_TOOLS: dict[str, type[Tool]] = {
    "select": SelectTool,
    "pan": PanTool,
    "connect": ConnectTool,
    "place": PlaceTool,
    "paint": PaintTool,
}


class CanvasView(NavigableView):
    """One view that paints the bulk itself; everything that it knows comes from the context.

    `template_requested(id, point)`: a template was dropped at a point in scene units.
    """

    template_requested = Signal(str, QPointF)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAcceptDrops(True)
        self.setAccessibleName("Drawing of the cluster")
        self.context = context
        self.edit = EditCommands(context, self)
        self.scene_data = Scene(context.document.document)
        self.frame_cache = Frame(self.scene_data, self.theme)
        self._foreground = Foreground(self.theme)
        self.hover_card = HoverCard(self)
        self.hovered: Hit | None = None
        self._fit_when_shown = True
        self._new_drawing = True
        self._panned_from: QPointF | None = None
        self.drop_ghost: tuple[Placing, QPointF] | None = None
        self._tools = {name: tool(self) for name, tool in _TOOLS.items()}
        self.keys = CanvasKeys(self)
        self._drops = Drops(self)
        self.quick_add = QuickAdd(self)
        self.overlay = Overlay(self)
        self._slices = QTimer(self)
        self._slices.setSingleShot(True)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._paint_slice)
        self._dot_clock = QElapsedTimer()
        self._dot_clock.start()
        self._connect_context()
        self.watch_events()
        self.scene_data.set_analysis(context.analysis)
        self._take_display_state()

    def _connect_context(self) -> None:
        context = self.context
        context.document.changed.connect(self._document_changed)
        context.document.reset.connect(self._document_reset)
        context.analysis_changed.connect(self._analysis_changed)
        context.theme.changed.connect(self._theme_changed)
        context.selection_changed.connect(self._selection_changed)
        context.lit_links_changed.connect(self.refresh)
        context.partners_changed.connect(self.refresh)
        context.colour_by_changed.connect(self._display_changed)
        context.link_mode_changed.connect(self._display_changed)
        context.layers_changed.connect(self._display_changed)
        context.tool_changed.connect(self._tool_changed)
        context.brush_changed.connect(self.refresh)
        context.place_changed.connect(self.refresh)
        context.went_to.connect(self.bring_into_view)
        context.playback.time_changed.connect(self._time_changed)
        context.playback.playing_changed.connect(self._playing_changed)

    # What others ask for

    @property
    def theme(self) -> Theme:
        """The theme to draw with."""
        return self.context.theme.current

    @property
    def painter(self) -> ScenePainter:
        """The painter, prepared for the view of the moment."""
        self.frame_cache.prepare(self.camera, self._level)
        return self.frame_cache.painter

    @property
    def tool(self) -> Tool:
        """The tool in use."""
        return self._tools[self.context.tool]

    def refresh(self, *_args: object) -> None:
        """Paint soon."""
        self.viewport().update()

    def hit_at(self, view: QPointF) -> Hit | None:
        """What is under a pixel."""
        painter = self.painter
        at = painter.camera.to_scene(view)
        return hit(painter, at.x(), at.y())

    def fit(self) -> None:
        """Show everything, with the arches of links over it."""
        box = self.scene_data.index.bounds()
        if box is None:
            self.fit_to(None)
            return
        camera = self.camera.fitted(box, self._free_area())
        for _ in range(3):  # how high the far view is depends on its zoom
            box = self._extent(box, camera)
            camera = self.camera.fitted(box, self._free_area())
        self.fit_to(box)

    def _extent(
        self, box: tuple[float, float, float, float], camera: Camera
    ) -> tuple[float, float, float, float]:
        """What is drawn of everything at the zoom of a camera."""
        level = level_at(camera.zoom)
        if level <= Level.TILES:
            return self.scene_data.far(level, camera.zoom)[1].bounds()
        curves = self.scene_data.strands(level, camera.zoom)[1]
        if not len(curves.control):
            return box
        points = np.vstack((curves.point(0.5), curves.control[:, 0], curves.control[:, 3]))
        low, high = points.min(axis=0), points.max(axis=0)
        x0, y0, x1, y1 = box
        return (
            float(min(x0, low[0])), float(min(y0, low[1])), float(max(x1, high[0])), float(max(y1, high[1])),
        )  # fmt: skip

    def fit_selection(self) -> None:
        """Show what is selected, or everything."""
        self.fit_to(self.scene_data.index.bounds(self.context.selection or None))

    @property
    def quick(self) -> bool:
        return self.frame_cache.quick(self.camera, next_level(self._level, self.zoom))

    def camera_moved(self) -> None:
        self._fit_when_shown = False
        self._leave_hover()
        self.overlay.minimap.update()

    def bring_into_view(self, ids: tuple[str, ...]) -> None:
        """Centre what is named; zoom only when it does not fit or would be too small to see."""
        scene = self.scene_data
        scene.set_folded(scene.folded - around(scene.index, ids))
        box = self.scene_data.index.bounds(ids)
        if box is None:
            return
        camera, area = self.camera, self._free_area()
        fitted = camera.fitted(box, area.adjusted(40, 40, -40, -40), most=MAX_ZOOM)
        zoom = min(fitted.zoom, max(camera.zoom, 0.5))
        middle = area.center()
        x = middle.x() - (box[0] + box[2]) / 2 * zoom
        y = middle.y() - (box[1] + box[3]) / 2 * zoom
        self.set_camera(replace(camera, zoom=zoom, x=x, y=y))

    def paste_fragment(self, fragment: Fragment, offset: tuple[float, float], verb: str) -> None:
        """Add a copy of a fragment, moved by scene units, as one undo step, and select it."""
        if fragment.empty:
            return
        edit = paste(self.context.document.document, fragment, offset)
        try:
            self.context.document.push(edit, f"{verb} {plural(len(edit.devices), 'device')}")
        except EditRefused as refused:
            self.context.say(str(refused))
            return
        devices, containers = edit.devices, edit.containers
        self.context.set_selection([*(one.id for one in devices), *(one.id for one in containers)])

    def lit(self) -> Lit:
        """What stands out now."""
        context = self.context
        return Lit(context.selection, context.lit_links, context.lit_devices)

    # What changes

    def _document_changed(self, change: Change) -> None:
        if self.tool.active:
            self.tool.cancel()  # what a gesture holds are rows of the drawing as it was
        was_empty = self.scene_data.index.empty
        if self.context.document.document is not self.scene_data.document:
            self.scene_data.set_document(self.context.document.document)
        else:
            self.scene_data.apply(change)
        self._leave_hover()
        if was_empty != self.scene_data.index.empty:
            self.overlay.place()
            self._clear_of_legend()
        self._new_drawing |= change.whole
        if change.whole or (was_empty and len(change.devices) > 1 and not self._all_visible()):
            self._fit_soon()
        self.overlay.minimap.update()
        self.refresh()

    def _document_reset(self) -> None:
        self.tool.cancel()
        self._new_drawing = True
        self.scene_data.set_document(self.context.document.document)
        self._leave_hover()
        self.overlay.place()
        self._fit_soon()
        self.refresh()

    def _fit_soon(self) -> None:
        """Fit now, or as soon as the view has its size."""
        if self.isVisible():
            self.fit()
        else:
            self._fit_when_shown = True

    def _clear_of_legend(self) -> None:
        """The first parts of a drawing must not lie under the legend that comes with them."""
        box = self.scene_data.index.bounds()
        if box is not None and self.isVisible():
            low = self.camera.to_view(QPointF(box[0], box[3])).y()
            hidden = low - self._free_area().bottom()
            if 0 < hidden < self.viewport().height():
                self.pan_by(0, -hidden)

    def _all_visible(self) -> bool:
        box = self.scene_data.index.bounds()
        seen = self.camera.visible()
        return box is not None and (
            box[0] >= seen[0] and box[1] >= seen[1] and box[2] <= seen[2] and box[3] <= seen[3]
        )

    def _selection_changed(self) -> None:
        """What a panel lit goes out when something else is chosen."""
        context = self.context
        if context.selection and not context.selection & (context.lit_links | context.lit_devices):
            context.set_lit_links(())
        self.refresh()

    def _analysis_changed(self) -> None:
        self.scene_data.set_analysis(self.context.analysis)
        if self._new_drawing and self.scene_data.report is not None:
            self._new_drawing = False
            self.context.set_colour_by(first_cut(self.scene_data.report.placement, self.context.colour_by))
        self.overlay.update_pictures()
        self.refresh()

    def _theme_changed(self) -> None:
        self.frame_cache.set_theme(self.theme)
        self._foreground = Foreground(self.theme)
        self.hover_card.update()
        self.overlay.update_pictures()
        self.refresh()

    def _display_changed(self) -> None:
        self._take_display_state()
        self.overlay.update_state()
        self.refresh()

    def _take_display_state(self) -> None:
        context, scene = self.context, self.scene_data
        scene.layers = context.layers
        if scene.dimension != context.colour_by:
            scene.set_dimension(context.colour_by)
        scene.show(context.link_mode, context.playback.time_s)

    def _playing_changed(self, playing: bool) -> None:
        if not playing:  # a held moment shows itself alone
            self.scene_data.show(self.context.link_mode, self.context.playback.time_s)
        self.refresh()

    def _time_changed(self, time_s: float) -> None:
        since = self.scene_data.time_s if self.context.playback.playing else None
        recoloured = self.scene_data.show(self.context.link_mode, time_s, since)
        if recoloured or self._dots_run():
            self.refresh()

    def _dots_run(self) -> bool:
        return self.context.playback.playing and self._level >= Level.RANKS

    def recover(self) -> None:
        try:
            self.tool.cancel()
        except Exception:  # the first error is the one to tell; a fresh tool on a fresh index holds nothing
            self._tools = {name: tool(self) for name, tool in _TOOLS.items()}
            self.scene_data.set_document(self.context.document.document)
        self._panned_from = self.drop_ghost = None
        self.refresh()

    def _tool_changed(self) -> None:
        for tool in self._tools.values():
            tool.cancel()
        self._leave_hover()
        self.viewport().setCursor(self.tool.cursor)
        self.refresh()

    # Fitting

    def _free_area(self) -> QRectF:
        """The part of the viewport that no overlay covers."""
        top, bottom = self.overlay.insets()
        return QRectF(self.viewport().rect()).adjusted(
            FIT_MARGIN, top + FIT_MARGIN / 2, -FIT_MARGIN, -bottom - FIT_MARGIN / 2
        )

    def fit_to(self, box: tuple[float, float, float, float] | None) -> None:
        """Show a box in scene units; without one the origin at 100 %."""
        area = self._free_area()
        if box is None:
            middle = area.center()
            self.set_camera(replace(self.camera, zoom=1.0, x=middle.x(), y=middle.y()))
            return
        camera = self.camera.fitted(box, area)
        self._level = level_at(camera.zoom)
        self.set_camera(camera)

    # Painting

    @guarded_paint
    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        painter.resetTransform()
        camera = self.camera
        frame = self.frame_cache
        if self.moving and frame.moved(painter, camera):
            return
        if frame.painted and not frame.ready(camera, self._level) and not frame.quick(camera, self._level):
            frame.begin(camera, self._level)
            self._slices.start()
            frame.moved(painter, camera)
            return
        painter.drawImage(QPoint(0, 0), frame.image(camera, self._level, self.lit()))

    def _paint_slice(self) -> None:
        """Go on with the sharp picture; what the hand does comes first."""
        if not self.moving and not self.frame_cache.go_on(SLICE_S):
            self._slices.start()
            return
        self.refresh()

    @property
    def busy(self) -> bool:
        """Whether a sharp picture is on its way."""
        return self.moving or self._slices.isActive()

    @guarded_paint
    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.scene_data.index.empty:
            paint_empty(painter, self.theme, QRectF(self.viewport().rect()))
        elif not self.moving:
            self._paint_hand(painter)
        if self.drop_ghost is not None:
            paint_ghost(self, painter, *self.drop_ghost)
        self.tool.paint(painter)

    def _paint_hand(self, painter: QPainter) -> None:
        scene_painter = self.painter
        if self._dots_run():
            self._foreground.dots(painter, scene_painter, self._dot_clock.elapsed() / 1000)
        self._foreground.selection(painter, scene_painter, self.lit())
        gpu = self.context.partners_of
        if gpu is not None:
            self._foreground.partners_of(painter, scene_painter, gpu)
        if self.hovered is not None and not self.tool.active:
            handles = self.context.tool in ("select", "connect")
            self._foreground.hover(painter, scene_painter, self.hovered, handles)

    # Mouse

    def _pointer(self, event: QMouseEvent) -> Pointer:
        view = event.position()
        return Pointer(view, self.camera.to_scene(view), event.modifiers(), event.buttons())

    @guarded
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        panning = event.button() == Qt.MouseButton.MiddleButton or (
            event.button() == Qt.MouseButton.LeftButton and self.keys.space_held
        )
        if panning:
            self._panned_from = event.position()
            self.keys.space_was_used()
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        elif event.button() == Qt.MouseButton.LeftButton:
            self._leave_hover()
            self.tool.press(self._pointer(event))
            self.refresh()
        event.accept()

    @guarded
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._panned_from is not None:
            way = event.position() - self._panned_from
            self._panned_from = event.position()
            self.pan_by(way.x(), way.y())
            return
        at = self._pointer(event)
        self.tool.move(at)
        if not self.tool.active and not event.buttons():
            self._hover(at)
        self.viewport().setCursor(self.tool.cursor_at(at))
        event.accept()

    @guarded
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._panned_from is not None:
            if event.button() in (Qt.MouseButton.MiddleButton, Qt.MouseButton.LeftButton):
                self._panned_from = None
                self.viewport().setCursor(self.tool.cursor)
        elif event.button() == Qt.MouseButton.LeftButton:
            self.tool.release(self._pointer(event))
            self.refresh()
        event.accept()

    @guarded
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """On empty canvas quick add, on a container fold it or open it again; else a press like any other."""
        plain = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
        if self.context.tool == "select" and plain:
            at = event.position()
            found = self.hit_at(at)
            if found is None:
                self._leave_hover()
                self.quick_add.open_at(at, self.camera.to_scene(at))
                event.accept()
                return
            if open_under(self, found, at):
                event.accept()
                return
        self.mousePressEvent(event)

    def toggle_fold(self, container: str) -> None:
        """Show a container as one box, or what is in it again; the file does not keep it."""
        scene = self.scene_data
        scene.set_folded(scene.folded ^ {container})
        self._leave_hover()
        self.refresh()

    @guarded
    def leaveEvent(self, event: QEvent) -> None:
        self._leave_hover()
        super().leaveEvent(event)

    def _hover(self, at: Pointer) -> None:
        found = self.hit_at(at.view)
        if found != self.hovered:
            self.hovered = found
            self.hover_card.show_for(found, at.view)
            self.refresh()

    def _leave_hover(self) -> None:
        if self.hovered is not None:
            self.hovered = None
            self.refresh()
        self.hover_card.hide()

    @guarded
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            found = self.hit_at(QPointF(event.pos()))
            if found is not None and not frozenset(found.ids) <= self.context.selection:
                self.context.set_selection(found.ids)
            elif found is None:
                self.context.set_selection(())
        self._leave_hover()
        canvas_menu(self).popup(event.globalPos())
        event.accept()

    # Keys and the rest

    @guarded
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.keys.press(event):
            super().keyPressEvent(event)

    @guarded
    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if not self.keys.release(event):
            super().keyReleaseEvent(event)

    @guarded
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Drops, and the keys that shortcuts must not take."""
        if self._drops.handle(event):
            return True
        if (
            watched is self
            and event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self.keys.wants(event)
        ):
            event.accept()
            return True
        return super().eventFilter(watched, event)

    @guarded
    def focusNextPrevChild(self, forward: bool) -> bool:
        return self.keys.next_device(forward) or super().focusNextPrevChild(forward)

    @guarded
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.overlay.place()
        if self._fit_when_shown and self.isVisible():
            self.fit()
            self._fit_when_shown = True
        self.refresh()

    @guarded
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.window().focusWidget() is None:
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.overlay.place()
        if self._fit_when_shown:
            self.fit()
            self._fit_when_shown = True  # until the user takes a view: the window still finds its size
