"""The scrolling picture of the rack elevation, with what mouse and keys do on it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget

from gui.context import AppContext
from gui.panels.rack_commands import RackCommands
from gui.panels.rack_drag import RackDrag
from gui.panels.rack_geometry import LARGEST_U, SMALLEST_U, USUAL_U, RackBox, RackGeometry
from gui.panels.rack_paint import Look, RackPainter, described
from gui.panels.rack_rows import Bar, RackFloor, bar_lines, total_power, total_weight
from gui.widgets.tool_tips import ToolTips
from model.document.rack_edits import (
    PlaceInRack,
    rack_of,
    thing_of,
)
from model.text import plural

ZOOM_STEP = 1.2
_FAR = 5  # U that Shift and an arrow move


class RackView(QAbstractScrollArea):
    """Racks side by side. Selection is that of the context; every move is one undo step."""

    zoomed = Signal(float)
    put_into_racks_requested = Signal()

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.floor = RackFloor(context.document.document.topology)
        self.look = Look()
        self.u_px = USUAL_U
        self.geometry_ = RackGeometry(self.floor, self.u_px, self.viewport().width())
        self.drag: RackDrag | None = None
        self.commands = RackCommands(self)
        self.choosing = False  # the selection changes by a click in here
        self._pressed: tuple[QPointF, str, int] | None = None
        self.setAccessibleName("Racks")
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        ToolTips(self.viewport(), self.tip_at)

    # --- showing -------------------------------------------------------------------------------------------

    def show_floor(self, floor: RackFloor) -> None:
        """Show another revision; a drag of things that are gone ends."""
        self.floor = floor
        if self.drag is not None:
            self.end_drag()
        self._arrange()

    def show_look(self, look: Look) -> None:
        """Other loads, groups or selection."""
        self.look = look
        self.viewport().update()

    def set_zoom(self, u_px: float, at: QPointF | None = None) -> None:
        """The height of a U in pixels; the point `at` of the viewport keeps what it shows."""
        u_px = min(max(u_px, SMALLEST_U), LARGEST_U)
        if abs(u_px - self.u_px) < 1e-9:
            return
        anchor = at if at is not None else QPointF(self.viewport().rect().center())
        before = self._to_scene(anchor)
        old = self.geometry_.size
        self.u_px = u_px
        self._arrange()
        new = self.geometry_.size
        for bar, point, on_view, ratio in (
            (self.horizontalScrollBar(), before.x(), anchor.x(), new.width() / max(old.width(), 1.0)),
            (self.verticalScrollBar(), before.y(), anchor.y(), new.height() / max(old.height(), 1.0)),
        ):
            bar.setValue(round(point * ratio - on_view))
        self.zoomed.emit(u_px)

    def fit(self) -> None:
        """The zoom at which the tallest rack of a row is wholly in view."""
        tallest = max((box.height_u for strip in self.geometry_.strips for box in strip.racks), default=48)
        self.set_zoom((self.viewport().height() - 90) / tallest)

    def reveal(self, ident: str) -> None:
        """Scroll to a thing or a rack."""
        room = self._room_of(ident)
        if room is None:
            return
        area = self.shown_area()
        if area.contains(room):
            return
        # What is larger than the view shows its top left corner.
        for bar, first, last, start, page in (
            (self.horizontalScrollBar(), room.left(), room.right(), area.left(), area.width()),
            (self.verticalScrollBar(), room.top(), room.bottom(), area.top(), area.height()),
        ):
            if first < start or last > start + page:
                bar.setValue(round(min((first + last - page) / 2, first - 8)))

    def shown_area(self) -> QRectF:
        """What the viewport shows, in the pixels of the whole elevation."""
        return QRectF(self._to_scene(QPointF(0, 0)), self.viewport().size().toSizeF())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        area = self.shown_area()
        theme = self.context.theme.current
        with QPainter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), theme.color("canvas"))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(-area.topLeft())
            brush = RackPainter(theme, self.floor, self.geometry_, self.look, self.devicePixelRatioF())
            for strip in self.geometry_.visible(area):
                brush.strip(painter, strip, area.left())
            brush.loose(painter, area, area.left())
            if self.drag is not None:
                self.drag.paint(painter)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def _arrange(self) -> None:
        self.geometry_ = RackGeometry(self.floor, self.u_px, self.viewport().width())
        size, view = self.geometry_.size, self.viewport().size()
        for bar, whole, page in (
            (self.horizontalScrollBar(), size.width(), view.width()),
            (self.verticalScrollBar(), size.height(), view.height()),
        ):
            bar.setRange(0, max(0, round(whole - page)))
            bar.setPageStep(page)
            bar.setSingleStep(max(1, page // 12))
        self.viewport().update()

    # --- what is where -------------------------------------------------------------------------------------

    def _to_scene(self, point: QPointF) -> QPointF:
        return point + QPointF(self.horizontalScrollBar().value(), self.verticalScrollBar().value())

    def bar_at(self, point: QPointF) -> Bar | None:
        """The tray or device at a point of the viewport."""
        scene = self._to_scene(point)
        box = self.geometry_.rack_at(scene)
        if box is None:
            names = self.floor.loose
            spot = QRectF(scene.x(), scene.y(), 1, 1)
            for place in self.geometry_.chips_in(spot, len(names)):
                if self.geometry_.chip(place).contains(scene):
                    return self.floor.bar(names[place])
            return None
        face = self.floor.face(box.id)
        for bar in face.placed:
            if box.unit(bar.units[0], len(bar.units)).contains(scene):
                return bar
        for place, bar in enumerate(face.unplaced):
            if box.unplaced(place).contains(scene):
                return bar
        return None

    def rack_at(self, point: QPointF) -> RackBox | None:
        """The rack at a point of the viewport."""
        return self.geometry_.rack_at(self._to_scene(point))

    def room_of(self, ident: str) -> QRectF | None:
        """Where a thing or rack is on the viewport; None where it is not on the elevation."""
        room = self._room_of(ident)
        return None if room is None else room.translated(-self._to_scene(QPointF(0, 0)))

    def _room_of(self, ident: str) -> QRectF | None:
        box = self.geometry_.rack(ident)
        if box is not None:
            return box.whole
        topology = self.context.document.document.topology
        owner = self.floor.owner_of(ident)
        if owner is None:
            return None
        if owner in self.floor.loose:
            return self.geometry_.chip(self.floor.loose.index(owner))
        rack = rack_of(topology, thing_of(topology, owner))
        box = None if rack is None else self.geometry_.rack(rack.id)
        if box is None:
            return None
        face = self.floor.face(box.id)
        for bar in face.placed:
            if bar.id == owner:
                return box.unit(bar.units[0], len(bar.units))
        names = [bar.id for bar in face.unplaced]
        return box.unplaced(names.index(owner)) if owner in names else None

    def tip_at(self, point: QPoint) -> str:
        """What is under the pointer, in words."""
        bar = self.bar_at(QPointF(point))
        if bar is not None:
            return "\n".join((bar.id, *bar_lines(bar, self.look.loads.get(bar.id))))
        box = self.rack_at(QPointF(point))
        if box is None:
            return ""
        totals = self.floor.face(box.id).totals
        return "\n".join(
            (
                f"rack {box.id}",
                f"{totals.free_u} of {box.height_u} U free",
                f"power {total_power(totals)}, weight {total_weight(totals)}",
            )
        )

    # --- mouse ---------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        at = event.position()
        bar = self.bar_at(at)
        box = self.rack_at(at)
        ident = bar.id if bar is not None else self._head_at(at, box)
        if ident is None:
            if not event.modifiers() & (
                Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
            ):
                self.context.set_selection(())
            return
        self._choose(ident, event.modifiers())
        if bar is not None and ident in self.context.selection:
            offset = box.u_at(self._to_scene(at).y()) - bar.units[0] if box is not None and bar.units else 0
            self._pressed = (at, ident, max(0, min(offset, len(bar.units) - 1)))

    def _head_at(self, at: QPointF, box: RackBox | None) -> str | None:
        """A rack, where the pointer is on its head or edge and not in its free U."""
        if box is None or box.inside.contains(self._to_scene(at)):
            return None
        return box.id

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not event.buttons() & Qt.MouseButton.LeftButton:
            return
        if self.drag is None and self._pressed is not None:
            start, grabbed, offset = self._pressed
            if (event.position() - start).manhattanLength() < QApplication.startDragDistance():
                return
            chosen = self._movable()
            ids = chosen if grabbed in chosen else (grabbed,)
            self.drag = RackDrag(self, grabbed, ids, offset)
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        if self.drag is not None:
            self._scroll_at_edge(event.position())
            self.drag.move(self._to_scene(event.position()))
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        drag = self.drag
        if drag is None or event.button() is not Qt.MouseButton.LeftButton:
            return
        drag.move(self._to_scene(event.position()))
        self.end_drag()
        target = drag.target
        if target is None or not target.places:
            return
        if target.refused:
            self.context.say(target.refused)
            return
        self.commands.push(PlaceInRack(target.places), drag.text())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        bar, box = self.bar_at(event.position()), self.rack_at(event.position())
        ident = bar.id if bar is not None else box.id if box is not None else None
        if ident is not None:
            self.context.go_to((ident,))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            steps = event.angleDelta().y() / 120
            self.set_zoom(self.u_px * ZOOM_STEP**steps, event.position())
            event.accept()
        else:
            super().wheelEvent(event)

    def end_drag(self) -> None:
        """Let go of what is dragged, without moving it."""
        self.drag = None
        self._pressed = None
        self.viewport().unsetCursor()
        self.viewport().update()

    def _scroll_at_edge(self, at: QPointF) -> None:
        size = self.viewport().size()
        for bar, place, length in (
            (self.horizontalScrollBar(), at.x(), size.width()),
            (self.verticalScrollBar(), at.y(), size.height()),
        ):
            if place < 20:
                bar.setValue(bar.value() - 12)
            elif place > length - 20:
                bar.setValue(bar.value() + 12)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        at = QPointF(event.pos())
        bar, box = self.bar_at(at), self.rack_at(at)
        ident = bar.id if bar is not None else box.id if box is not None else None
        if ident is not None and ident not in self.context.selection:
            self.context.set_selection((ident,))
        free = None
        if bar is None and box is not None and box.inside.contains(self._to_scene(at)):
            free = box.u_at(self._to_scene(at).y())
        self.commands.menu(None if box is None else box.id, free).popup(event.globalPos())

    # --- keys ----------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, held = event.key(), event.modifiers()
        if key == Qt.Key.Key_Escape:
            if self.drag is not None:
                self.end_drag()
            else:
                self.context.set_selection(())
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            up = 1 if key == Qt.Key.Key_Up else -1
            if held & Qt.KeyboardModifier.ControlModifier or not self.commands.in_racks():
                self._walk(up)
            else:
                self.commands.shift(up * (_FAR if held & Qt.KeyboardModifier.ShiftModifier else 1))
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            beside = 1 if key == Qt.Key.Key_Right else -1
            if held & Qt.KeyboardModifier.ControlModifier or not self.commands.in_racks():
                self._walk_racks(beside)
            else:
                self.commands.to_rack(beside)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.commands.show_on_drawing()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.set_zoom(self.u_px * ZOOM_STEP)
        elif key == Qt.Key.Key_Minus:
            self.set_zoom(self.u_px / ZOOM_STEP)
        else:
            super().keyPressEvent(event)

    # --- helpers -------------------------------------------------------------------------------------------

    def _choose(self, ident: str, held: Qt.KeyboardModifier) -> None:
        chosen = self.context.selection
        self.choosing = True
        if held & Qt.KeyboardModifier.ControlModifier:
            self.context.set_selection(chosen ^ {ident})
        elif held & Qt.KeyboardModifier.ShiftModifier:
            self.context.set_selection(chosen | {ident})
        elif ident not in chosen:
            self.context.set_selection((ident,))
        self.choosing = False

    def _movable(self) -> tuple[str, ...]:
        """The selected bars, in racks or loose."""
        loose = set(self.floor.loose)
        inside = self.commands.in_racks()
        return (*inside, *(ident for ident in sorted(self.context.selection) if ident in loose))

    def _walk(self, up: int) -> None:
        """Select the next thing up or down its rack, or the first of all."""
        order = [bar.id for rack in self.floor.racks for bar in self._bars(rack)]
        self._select_beside(order, up)

    def _bars(self, rack: str) -> tuple[Bar, ...]:
        face = self.floor.face(rack)
        return (*face.placed, *face.unplaced)

    def _walk_racks(self, beside: int) -> None:
        self._select_beside(list(self.floor.racks), beside)

    def _select_beside(self, order: list[str], step: int) -> None:
        if not order:
            return
        places = [place for place, ident in enumerate(order) if ident in self.context.selection]
        at = (places[-1] + step) % len(order) if places else 0
        self.context.set_selection((order[at],))
        self.reveal(order[at])

    def current_text(self) -> str:
        """The selected bar in words, for a screen reader."""
        ids = self.commands.in_racks()
        if len(ids) != 1:
            return plural(len(self.floor.racks), "rack")
        topology = self.context.document.document.topology
        rack = rack_of(topology, thing_of(topology, ids[0]))
        if rack is None:
            return ""
        bars = {bar.id: bar for bar in self._bars(rack.id)}
        return f"{described(bars[ids[0]])} of {rack.id}" if ids[0] in bars else ""
