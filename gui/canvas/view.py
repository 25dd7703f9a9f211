"""`CanvasView`: the drawing on the screen. It shows the shared state and hands the mouse to a tool."""

from __future__ import annotations

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

from gui.canvas.dots import Dots
from gui.canvas.drops import Drops
from gui.canvas.empty_state import paint_empty
from gui.canvas.fitting import FittedView
from gui.canvas.focus import Focus
from gui.canvas.following import Following
from gui.canvas.foreground import Foreground
from gui.canvas.frame import Frame
from gui.canvas.guard import guarded, guarded_paint
from gui.canvas.hit import Hit, hit
from gui.canvas.hover_card import HoverCard
from gui.canvas.keys import CanvasKeys
from gui.canvas.layout_motion import LayoutMotion
from gui.canvas.levels import Level, next_level
from gui.canvas.menu import canvas_menu
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
from gui.view_commands import ViewCommands
from model.document.clipboard import Fragment, paste
from model.document.edits import SetFolds
from model.errors import EditRefused
from model.text import plural

SLICE_S = 0.008
"""So long at a time a sharp picture is worked on before the event loop gets its turn."""
_TOOLS: dict[str, type[Tool]] = {
    "select": SelectTool,
    "pan": PanTool,
    "connect": ConnectTool,
    "place": PlaceTool,
    "paint": PaintTool,
}


class CanvasView(FittedView):
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
        self.commands = ViewCommands(context, self)
        self.scene_data = Scene(context.document.document)
        self.frame_cache = Frame(self.scene_data, self.theme)
        self._foreground = Foreground(self.theme)
        self._dots = Dots(self.theme)
        self.hover_card = HoverCard(self)
        self.hovered: Hit | None = None
        self._panned_from: QPointF | None = None
        self.drop_ghost: tuple[Placing, QPointF] | None = None
        self._tools = {name: tool(self) for name, tool in _TOOLS.items()}
        self.keys = CanvasKeys(self)
        self._drops = Drops(self)
        self.quick_add = QuickAdd(self)
        self.focus = Focus(self)
        self.motion = LayoutMotion(self)
        self.overlay = Overlay(self)
        self._slices = QTimer(self)
        self._slices.setSingleShot(True)
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._paint_slice)
        self._dot_clock = QElapsedTimer()
        self._dot_clock.start()
        context.theme.changed.connect(self._theme_changed)
        context.tool_changed.connect(self._tool_changed)
        self._following = Following(self)
        self.watch_events()

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

    @property
    def quick(self) -> bool:
        return self.frame_cache.quick(self.camera, next_level(self._level, self.zoom))

    def camera_moved(self) -> None:
        self.fit_when_shown = False
        self.leave_hover()
        self.overlay.minimap.update()

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
        return Lit(context.selection, context.lit_links, context.lit_devices, self.focus.clear)

    @property
    def dots_run(self) -> bool:
        """Whether dots move along the links."""
        moving = self.context.playback.playing and not self.context.preferences.reduce_motion
        return moving and self._level >= Level.RANKS

    # What changes

    def _theme_changed(self) -> None:
        self.frame_cache.set_theme(self.theme)
        self._foreground = Foreground(self.theme)
        self._dots = Dots(self.theme)
        self.hover_card.update()
        self.overlay.update_pictures()
        self.refresh()

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
        self.leave_hover()
        self.viewport().setCursor(self.tool.cursor)
        self.refresh()

    # Painting

    @guarded_paint
    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        painter.resetTransform()
        self.context.turns.give_way()
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
        """Go on with the sharp picture; what the hand does comes first, and panels take turns with it."""
        if self.context.turns.due:
            self._slices.start()
            return
        self.context.turns.give_way()
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
        elif not self.moving and self.frame_cache.prepared(self.camera, self._level):
            self._paint_hand(painter)
        if self.drop_ghost is not None:
            paint_ghost(self, painter, *self.drop_ghost)
        self.tool.paint(painter)

    def _paint_hand(self, painter: QPainter) -> None:
        scene_painter = self.painter
        if self.dots_run:
            self._dots.paint(painter, scene_painter, self._dot_clock.elapsed() / 1000, self.focus.clear)
        self._foreground.selection(painter, scene_painter, self.lit())
        gpu = self.context.partners_of
        if gpu is not None:
            self._foreground.partners_of(painter, scene_painter, gpu, self.overlay.insets()[0])
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
        self.motion.finish()
        panning = event.button() == Qt.MouseButton.MiddleButton or (
            event.button() == Qt.MouseButton.LeftButton and self.keys.space_held
        )
        if panning:
            self._panned_from = event.position()
            self.keys.space_was_used()
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        elif event.button() == Qt.MouseButton.LeftButton:
            self.leave_hover()
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
                self.leave_hover()
                self.quick_add.open_at(at, self.camera.to_scene(at))
                event.accept()
                return
            if open_under(self, found, at):
                event.accept()
                return
        self.mousePressEvent(event)

    def toggle_fold(self, container: str) -> None:
        """Show a container as one box, or what is in it again; a look of the drawing is no undo step."""
        one = frozenset({container})
        folded = one <= self.scene_data.folded
        self.context.document.show(SetFolds(unfold=one) if folded else SetFolds(fold=one))

    @guarded
    def leaveEvent(self, event: QEvent) -> None:
        self.leave_hover()
        super().leaveEvent(event)

    def _hover(self, at: Pointer) -> None:
        found = self.hit_at(at.view)
        if found != self.hovered:
            self.hovered = found
            self.hover_card.show_for(found, at.view)
            self.refresh()

    def leave_hover(self) -> None:
        """Forget what the pointer was on."""
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
        self.leave_hover()
        canvas_menu(self, QPointF(event.pos())).popup(event.globalPos())
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
        if self.fit_when_shown and self.isVisible():
            self.fit()
            self.fit_when_shown = True
        self.refresh()

    @guarded
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.window().focusWidget() is None:
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.overlay.place()
        if self.fit_when_shown:
            self.fit()
            self.fit_when_shown = True  # until the user takes a view: the window still finds its size
