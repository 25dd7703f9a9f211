"""Dragging trays and switches between U and racks: a ghost, what is legal, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPen

from gui.panels.panel_paint import draw_text
from gui.panels.rack_geometry import RackBox
from model.document.rack_edits import RackPlace, height_of, rack_of, thing_of, why_not
from model.text import plural
from model.topology.equipment import things_in
from model.topology.racks import free_units, units

if TYPE_CHECKING:
    from gui.panels.rack_view import RackView


@dataclass(frozen=True, slots=True)
class Target:
    """Where a drag would end: the places, and why that cannot be (empty: it can)."""

    places: tuple[RackPlace, ...]
    box: RackBox | None
    refused: str = ""


class RackDrag:
    """One drag, from the press that began it to release or Esc.

    `grabbed` is the thing under the pointer; the others move with it and keep their distance in U.
    """

    def __init__(self, view: RackView, grabbed: str, ids: tuple[str, ...], offset_u: int) -> None:
        self._view = view
        self._grabbed = grabbed
        self._offset_u = offset_u
        topology = view.context.document.document.topology
        self._things = {ident: thing_of(topology, ident) for ident in ids}
        self._heights = {ident: height_of(topology, thing) for ident, thing in self._things.items()}
        self._homes = {ident: rack_of(topology, thing) for ident, thing in self._things.items()}
        self.target: Target | None = None
        self.at = QPointF()

    def move(self, at: QPointF) -> None:
        """The pointer is here, in the pixels of the whole elevation."""
        self.at = at
        self.target = self._target(at)

    def _target(self, at: QPointF) -> Target | None:
        topology = self._view.context.document.document.topology
        geometry = self._view.geometry_
        box = geometry.rack_at(at)
        if box is None:
            if not geometry.loose.adjusted(-1e6, -6, 1e6, 1e6).contains(at):
                return None
            inside = [ident for ident in self._things if self._homes[ident] is not None]
            return Target(tuple(RackPlace(ident, None) for ident in inside), None) if inside else None
        anchor = box.u_at(at.y()) - self._offset_u
        places = tuple(self._places(box.id, anchor))
        if all(self._stays(place) for place in places):
            return Target((), box)
        return Target(places, box, why_not(topology, places) or "")

    def _places(self, rack: str, anchor: int) -> list[RackPlace]:
        """Those with a U keep their distance to the grabbed one; the others follow above, one by one."""
        first = self._things[self._grabbed].u
        found: list[RackPlace] = []
        above = units(anchor, self._heights[self._grabbed])[-1] + 1
        order = sorted(self._things, key=lambda ident: ident != self._grabbed)
        for ident in order:
            own = self._things[ident].u
            if ident == self._grabbed:
                found.append(RackPlace(ident, rack, anchor))
            elif own is not None and first is not None:
                found.append(RackPlace(ident, rack, anchor + own - first))
            else:
                found.append(RackPlace(ident, rack, above))
                above = units(above, self._heights[ident])[-1] + 1
        return found

    def _stays(self, place: RackPlace) -> bool:
        thing = self._things[place.id]
        return (thing.parent, thing.u) == (place.rack, place.u)

    def text(self) -> str:
        """What the undo list calls the drag."""
        what = self._grabbed if len(self._things) == 1 else plural(len(self._things), "thing")
        target = self.target
        if target is None or target.box is None:
            return f"Take {what} out of the rack"
        u = next(place.u for place in target.places if place.id == self._grabbed)
        return f"Move {what} to U {u} of {target.box.id}"

    def paint(self, painter: QPainter) -> None:
        """The ghost, the rack that takes it, and the reason where it does not."""
        theme, target = self._view.context.theme.current, self.target
        if target is None:
            return
        token = "error" if target.refused else "accent"
        if target.box is None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color(token), 1.5, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(self._view.geometry_.loose.adjusted(-4, -2, 4, 2), 6, 6)
            return
        self._room(painter, target.box)
        if not target.refused:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("accent"), 2.5))
            painter.drawRoundedRect(target.box.hull.adjusted(-2, -2, 2, 2), 8, 8)
        soft = theme.color(f"{token}-soft")
        soft.setAlphaF(0.85)
        for place in target.places:
            if place.u is None:
                continue
            room = target.box.unit(place.u, len(units(place.u, self._heights[place.id])))
            painter.setBrush(soft)
            painter.setPen(QPen(theme.color(token), 1.5, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
            if self._view.geometry_.detailed:
                name = room.adjusted(8, 0, -8, 0)
                draw_text(painter, name, place.id, theme.font(10, 600), theme.color("text"))
        if target.refused:
            self._reason(painter, target.refused)

    def _room(self, painter: QPainter, box: RackBox) -> None:
        """Tint the U of a rack in which the grabbed thing would find room."""
        topology = self._view.context.document.document.topology
        rack = topology.container(box.id)
        staying = [thing for thing in things_in(topology, box.id) if thing.id not in self._things]
        free, height = set(free_units(rack, staying)), self._heights[self._grabbed]
        fits = {u for first in free if free.issuperset(units(first, height)) for u in units(first, height)}
        tint = self._view.context.theme.current.color("accent-soft")
        tint.setAlphaF(0.45)
        for u in fits:
            painter.fillRect(box.unit(u).adjusted(1, 1, -1, -1), tint)

    def _reason(self, painter: QPainter, text: str) -> None:
        """The reason at the pointer, inside the view."""
        theme = self._view.context.theme.current
        font = theme.font(11, 500)
        area = self._view.shown_area()
        width = min(QFontMetrics(font).horizontalAdvance(text) + 24.0, area.width() - 8)
        left = min(max(self.at.x() + 14, area.left() + 4), area.right() - width - 4)
        top = self.at.y() + 16
        if top + 24 > area.bottom():
            top = self.at.y() - 34
        room = QRectF(left, top, width, 24)
        painter.setBrush(theme.color("error-soft"))
        painter.setPen(QPen(theme.color("error"), 1))
        painter.drawRoundedRect(room, 5, 5)
        draw_text(painter, room.adjusted(10, 0, -10, 0), text, font, theme.color("error"))
