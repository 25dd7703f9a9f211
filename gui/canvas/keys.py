"""Keys on the canvas: nudging, brushes, Tab along links, Space, Esc. Commands belong to the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from model.document.edits import Move
from model.errors import EditRefused
from model.text import plural
from model.topology.footprint import GRID

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

_ARROWS = {
    Qt.Key.Key_Left: (-1.0, 0.0),
    Qt.Key.Key_Right: (1.0, 0.0),
    Qt.Key.Key_Up: (0.0, -1.0),
    Qt.Key.Key_Down: (0.0, 1.0),
}
_PAN_PX = 60.0


class CanvasKeys:
    """Key presses of one view."""

    def __init__(self, view: CanvasView) -> None:
        self._view = view
        self._context = view.context
        self.space_held = False
        self._space_used = False

    def wants(self, event: QKeyEvent) -> bool:
        """Keys that the canvas takes before the window's shortcuts see them."""
        if event.key() == Qt.Key.Key_Space:
            return not event.modifiers()
        return event.key() == Qt.Key.Key_Escape

    def press(self, event: QKeyEvent) -> bool:
        """Whether the key meant something here."""
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Space and not event.modifiers():
            if not event.isAutoRepeat():
                self.space_held, self._space_used = True, False
                self._view.viewport().setCursor(Qt.CursorShape.OpenHandCursor)
            return True
        if key == Qt.Key.Key_Escape:
            self.escape()
            return True
        if key in _ARROWS:
            self._arrow(key, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
            return True
        if self._context.tool == "paint" and Qt.Key.Key_0 <= key <= Qt.Key.Key_9 and not event.modifiers():
            self._context.set_brush(int(key) - int(Qt.Key.Key_0))
            return True
        return self._command(event)

    def _command(self, event: QKeyEvent) -> bool:
        """Commands, where no window with shortcuts of its own is around."""
        edit, view = self._view.edit, self._view
        for sequence, run in (
            (QKeySequence.StandardKey.Copy, edit.copy),
            (QKeySequence.StandardKey.Cut, edit.cut),
            (QKeySequence.StandardKey.Paste, edit.paste),
            (QKeySequence.StandardKey.Delete, edit.delete),
            (QKeySequence.StandardKey.SelectAll, edit.select_all),
            (QKeySequence.StandardKey.Undo, self._context.document.undo_stack.undo),
            (QKeySequence.StandardKey.Redo, self._context.document.undo_stack.redo),
        ):
            if event.matches(sequence):
                run()
                return True
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if event.key() == Qt.Key.Key_F and not control:
            (view.fit_selection if shift else view.fit)()
            return True
        if event.key() == Qt.Key.Key_1 and control:
            view.zoom_to(1.0)
            return True
        if event.key() == Qt.Key.Key_Backspace:
            edit.delete()
            return True
        return False

    def release(self, event: QKeyEvent) -> bool:
        """Space tapped plays or pauses; held with a drag it was only a hand."""
        if event.key() != Qt.Key.Key_Space or event.isAutoRepeat() or not self.space_held:
            return False
        self.space_held = False
        self._view.viewport().setCursor(self._view.tool.cursor)
        if not self._space_used:
            self._context.playback.toggle()
        return True

    def space_was_used(self) -> None:
        """Space panned; letting it go does not play."""
        self._space_used = True

    def escape(self) -> None:
        """Cancel what is under way; else leave paths, partners, what is lit, selection, filter, tool."""
        context = self._context
        if self._view.motion.running:
            self._view.motion.cancel()
        elif self._view.tool.active:
            self._view.tool.cancel()
        elif context.focus:
            context.set_focus(())
        elif context.partners_of is not None:
            context.set_partners_of(None)
        elif context.lit_links or context.lit_devices:
            context.set_lit_links(())
        elif context.selection:
            context.set_selection(())
        elif context.traffic_of is not None:
            context.set_traffic_of(None)
        elif context.tool != "select":
            context.set_tool("select")

    def _arrow(self, key: Qt.Key, far: bool) -> None:
        dx, dy = _ARROWS[key]
        index = self._view.scene_data.index
        rows = index.device_rows(self._context.selection)
        if not len(rows):
            self._view.pan_by(-dx * _PAN_PX, -dy * _PAN_PX)
            return
        step = GRID if far else 1.0
        there = index.centre[rows] + (dx * step, dy * step)
        names = [index.device_ids[row] for row in rows.tolist()]
        positions = {name: (x, y) for name, (x, y) in zip(names, there.tolist(), strict=True)}
        try:
            self._context.document.push(Move(positions), f"Nudge {plural(len(names), 'device')}")
        except EditRefused as refused:
            self._context.say(str(refused))

    def next_device(self, forward: bool) -> bool:
        """Tab goes from the one selected device to the next at the end of its links; else focus moves on."""
        index = self._view.scene_data.index
        selection = self._context.selection
        if len(selection) != 1:
            return False
        (ident,) = selection
        if ident not in index.device_row:
            return False
        row = index.device_row[ident]
        ends = index.ends[index.links_of(row)]
        near = sorted({int(end) for pair in ends.tolist() for end in pair if end != row})
        if not near:
            return False
        after = [other for other in near if other > row] or near
        before = [other for other in near if other < row] or near
        self._context.set_selection((index.device_ids[after[0] if forward else before[-1]],))
        return True
