"""Select: click, rubber band, drag to move, Ctrl+drag to copy; a drag from an edge or port connects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from gui.canvas.empty_frames import movable_frames
from gui.canvas.hit import Hit, caught
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.snapping import REACH_PX, Guide, Snapper, paint_guides, snapping_boxes
from gui.canvas.tools.base import Pointer, Tool
from gui.canvas.tools.connect import ConnectTool
from gui.canvas.tools.rehousing import NewHome, Rehousing, homes_text, rehousing
from model.document import clipboard
from model.document.document import Position
from model.document.edits import Batch, Edit, Move, SetSpots
from model.errors import EditRefused
from model.text import plural
from model.topology.footprint import GRID

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

LIVE_LIMIT = 4000
"""Up to so many links the drawing itself follows a drag, if it is painted quickly; above, boxes do."""


class SelectTool(Tool):
    """The tool one is in when nothing else is chosen."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._pressed: Pointer | None = None
        self._hit: Hit | None = None
        self._band: QRectF | None = None
        self._rows: IntArray | None = None
        self._frames: dict[str, Position] = {}
        self._grabbed = 0
        self._shift = (0.0, 0.0)
        self._copying = False
        self._live = False
        self._plain = False
        self._snapper: Snapper | None = None
        self._guides: tuple[Guide, ...] = ()
        self._rehousing: Rehousing | None = None
        self._homes: tuple[NewHome, ...] = ()
        self._at = QPointF()
        self.connecting = ConnectTool(view)

    @property
    def active(self) -> bool:
        return self._pressed is not None or self.connecting.active

    # Pointer

    def press(self, at: Pointer) -> None:
        self._hit = self.view.hit_at(at.view)
        modifiers = at.modifiers & (
            Qt.KeyboardModifier.ShiftModifier
            | Qt.KeyboardModifier.ControlModifier
            | Qt.KeyboardModifier.AltModifier
        )
        self._plain = not modifiers
        if self._hit is not None and self._hit.on_edge and self._plain:
            self.context.set_selection(self._hit.ids)
            self.connecting.begin(self._hit.ids[0], at)
            return
        self._pressed = at
        if self._hit is not None:
            self._choose(self._hit, at)

    def _choose(self, hit: Hit, at: Pointer) -> None:
        context, ids = self.context, frozenset(hit.ids)
        if at.has(Qt.KeyboardModifier.ControlModifier):
            return  # a click adds or takes away, a drag copies: the release knows
        if at.has(Qt.KeyboardModifier.ShiftModifier):
            context.set_selection(context.selection | ids)
        elif not ids <= context.selection:
            context.set_selection(ids)

    def move(self, at: Pointer) -> None:
        if self.connecting.active:
            self.connecting.move(at)
            return
        if self._pressed is None:
            return
        if self._rows is None and self._band is None and not at.far_from(self._pressed):
            return
        hit = self._hit
        movable = hit is not None and hit.kind != "strand"
        if hit is not None and movable and not frozenset(hit.ids) <= self.context.selection:
            if self._pressed.has(Qt.KeyboardModifier.ControlModifier):
                self.context.set_selection(hit.ids)
            else:
                movable = False
        if not movable:
            self._band = QRectF(self._pressed.scene, at.scene).normalized()
            self.view.refresh()
            return
        if self._rows is None:
            self._begin_drag(at)
        self._drag(at)

    def release(self, at: Pointer) -> None:
        if self.connecting.active:
            self.connecting.release(at)
            return
        pressed, hit = self._pressed, self._hit
        if pressed is None:
            return
        if self._band is not None:
            self._take_band(at)
        elif self._rows is not None:
            self._finish_drag()
        elif hit is None:
            if self._plain:
                self.context.set_selection(())
                self.context.set_lit_links(())
                self.context.set_partners_of(None)
        elif self._plain:
            self.context.set_selection(hit.ids)
        elif pressed.has(Qt.KeyboardModifier.ControlModifier):
            self._toggle(frozenset(hit.ids))
        self._forget()

    def _toggle(self, ids: frozenset[str]) -> None:
        chosen = self.context.selection
        self.context.set_selection(chosen - ids if ids <= chosen else chosen | ids)

    def _take_band(self, at: Pointer) -> None:
        band = self._band or QRectF()
        found = caught(self.view.painter, (band.left(), band.top(), band.right(), band.bottom()))
        if at.has(Qt.KeyboardModifier.ControlModifier):
            self.context.set_selection(self.context.selection ^ found)
        elif at.has(Qt.KeyboardModifier.ShiftModifier):
            self.context.set_selection(self.context.selection | found)
        else:
            self.context.set_selection(found)

    # Dragging

    def _begin_drag(self, at: Pointer) -> None:
        index = self.view.scene_data.index
        self._rows = index.device_rows(self.context.selection)
        self._frames = movable_frames(index, self.context.selection)
        begun_with = self._pressed or at
        self._copying = any(
            pointer.has(key)
            for pointer in (begun_with, at)
            for key in (Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier)
        )
        self._live = not self._copying and len(index.links) <= LIVE_LIMIT and self.view.quick
        self._shift = (0.0, 0.0)
        hit = self._hit
        if hit is not None and hit.kind == "device":
            self._grabbed = hit.row
        elif len(self._rows):
            self._grabbed = int(self._rows[0])
        self._origin = index.centre[self._grabbed].copy() if len(self._rows) else np.zeros(2)
        self._snapper = None
        if len(self._rows) and self.context.preferences.snap_to_parts and self.view.painter.far is None:
            others, self._box = snapping_boxes(self.view.painter, self._rows, self.context.selection)
            self._snapper = Snapper(others, self._box)
        if (len(self._rows) or self._frames) and not self._copying:
            self._rehousing = rehousing(self.view, begun_with.scene)

    def _drag(self, at: Pointer) -> None:
        """Shift the selection: to the lines of what is near, else so that the device in hand stands on the
        grid; with Shift held just where the hand is.
        """
        if self._pressed is None or self._rows is None or not (len(self._rows) or self._frames):
            return
        way = at.scene - self._pressed.scene
        shift, guides = self._snapped(np.array((way.x(), way.y())), at)
        homes = self._rehousing.homes(at.scene, shift) if self._rehousing and not self._only_moves(at) else ()
        self._at = at.view
        if homes:
            self.view.refresh()
        if (shift, guides, homes) == (self._shift, self._guides, self._homes):
            return
        self._guides, self._homes = guides, homes
        if self._live:
            step = (shift[0] - self._shift[0], shift[1] - self._shift[1])
            self.view.scene_data.index.snapshot_move(self._rows, *step)
        self._shift = shift
        if self._live and self._frames:
            self.view.scene_data.index.show_spots(self._document_spots() | self._shifted_frames())
        self.view.refresh()

    def _snapped(self, way: FloatArray, at: Pointer) -> tuple[tuple[float, float], tuple[Guide, ...]]:
        """How far to shift where the hand moved by `way`, and the lines that were caught."""
        if self._only_moves(at):
            return (float(way[0]), float(way[1])), ()
        target = self._origin + way
        if self.context.preferences.snap_to_grid:
            target = np.round(target / GRID) * GRID
        shift = [float(target[axis] - self._origin[axis]) for axis in (0, 1)]
        if self._snapper is None:
            return (shift[0], shift[1]), ()
        snap = self._snapper.snap(self._box + np.tile(way, 2), REACH_PX / self.view.zoom)
        for axis, caught_at in enumerate(snap.shift):
            if caught_at is not None:
                shift[axis] = float(way[axis]) + caught_at
        return (shift[0], shift[1]), snap.guides

    def _only_moves(self, at: Pointer) -> bool:
        """Whether Shift is or was held: things go just where the hand is and stay in their containers."""
        shift_key = Qt.KeyboardModifier.ShiftModifier
        return at.has(shift_key) or (self._pressed is not None and self._pressed.has(shift_key))

    def _finish_drag(self) -> None:
        rows, shift, copying = self._rows, self._shift, self._copying
        ids, homes, frames = self.context.selection, self._homes, self._shifted_frames()
        self._put_back()
        if rows is None or shift == (0.0, 0.0) or not (len(rows) or frames):
            return
        document = self.context.document
        if copying:
            self.view.paste_fragment(clipboard.copy(document.document, ids), shift, "Copy")
            return
        index = self.view.scene_data.index
        names = [index.device_ids[row] for row in rows.tolist()]
        there = index.centre[rows] + shift
        positions = {name: (x, y) for name, (x, y) in zip(names, there.tolist(), strict=True)}
        edits: list[Edit] = [Move(positions)] if positions else []
        if frames:
            edits.append(SetSpots(frames))
        if homes and self._rehousing is not None:
            edits.extend(self._rehousing.edits(homes))
        moved = names or list(frames)
        what = moved[0] if len(moved) == 1 else plural(len(moved), "device" if names else "container")
        text = f"Move {what} {homes_text(homes)}" if homes else f"Move {what}"
        try:
            document.push(edits[0] if len(edits) == 1 else Batch(tuple(edits)), text)
        except EditRefused as refused:
            self.context.say(str(refused))

    def _document_spots(self) -> dict[str, Position]:
        return dict(self.context.document.document.view.spots)

    def _shifted_frames(self) -> dict[str, Position]:
        """Where the empty containers that are dragged stand now."""
        dx, dy = self._shift
        return {ident: (x + dx, y + dy) for ident, (x, y) in self._frames.items()}

    def _put_back(self) -> None:
        if self._live and self._frames and self._shift != (0.0, 0.0):
            self.view.scene_data.index.show_spots(self._document_spots())
        if self._live and self._rows is not None and self._shift != (0.0, 0.0):
            self.view.scene_data.index.snapshot_move(self._rows, -self._shift[0], -self._shift[1])
        self._shift = (0.0, 0.0)

    def cancel(self) -> None:
        self.connecting.cancel()
        self._put_back()
        self._forget()

    def _forget(self) -> None:
        self._pressed = self._hit = self._band = self._rows = self._snapper = self._rehousing = None
        self._guides, self._homes, self._frames = (), (), {}
        self._copying = self._live = False
        self.view.refresh()

    # Ghosts

    def paint(self, painter: QPainter) -> None:
        camera, theme = self.view.camera, self.view.theme
        if self.connecting.active:
            self.connecting.paint(painter)
        if self._band is not None:
            soft = theme.color("accent")
            soft.setAlphaF(0.10)
            painter.setBrush(soft)
            painter.setPen(QPen(theme.color("accent"), 1))
            painter.drawRect(
                QRectF(camera.to_view(self._band.topLeft()), camera.to_view(self._band.bottomRight()))
            )
        if self._rows is not None and not self._live and self._shift != (0.0, 0.0):
            self._paint_boxes(painter)
        paint_guides(painter, theme, camera, self._guides)
        if self._rehousing is not None:
            self._rehousing.paint(painter, self._homes, self._at)

    def _paint_boxes(self, painter: QPainter) -> None:
        index, camera, theme = self.view.scene_data.index, self.view.camera, self.view.theme
        rows = self._rows if self._rows is not None else np.zeros(0, np.int32)
        low = camera.points(index.centre[rows] - index.half[rows] + self._shift)
        size = 2 * index.half[rows] * camera.zoom
        seen = ((low + size > 0) & (low < (camera.width, camera.height))).all(axis=1)
        low, size = low[seen], size[seen]
        soft = theme.color("accent-soft")
        soft.setAlphaF(0.5)
        painter.setBrush(soft)
        painter.setPen(QPen(theme.color("accent"), 1))
        painter.drawRects(
            [
                QRectF(QPointF(x, y), QPointF(x + w, y + h))
                for (x, y), (w, h) in zip(low.tolist(), size.tolist(), strict=True)
            ]
        )

    def cursor_at(self, at: Pointer) -> Qt.CursorShape:
        if self.connecting.active:
            return Qt.CursorShape.CrossCursor
        if self._rows is not None:
            return Qt.CursorShape.DragCopyCursor if self._copying else Qt.CursorShape.SizeAllCursor
        hovered = self.view.hovered
        if hovered is not None and hovered.on_edge:
            return Qt.CursorShape.CrossCursor
        return Qt.CursorShape.ArrowCursor
