"""What can be done with the things that are chosen in the rack elevation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu

from model.document.edits import Edit
from model.document.rack_edits import (
    PlaceInRack,
    RackPlace,
    add_power_shelf,
    into_rack,
    rack_of,
    shifted,
    thing_of,
)
from model.errors import EditRefused
from model.text import plural

if TYPE_CHECKING:
    from gui.panels.rack_view import RackView


class RackCommands:
    """Each is one undo step; what is refused is said, and nothing changes."""

    def __init__(self, view: RackView) -> None:
        self._view = view
        self._context = view.context

    def menu(self, rack: str | None = None, u: int | None = None) -> QMenu:
        """What can be done with the selection, and with a rack at a free U. It ends itself when it closes."""
        menu = QMenu(self._view)
        menu.aboutToHide.connect(menu.deleteLater)
        entries: list[tuple[str, Callable[[], object], bool]] = [
            ("Show on the drawing", self.show_on_drawing, bool(self._context.selection)),
            ("Move to the lowest free U", self.move_to_free, bool(self.in_racks())),
            ("Take out of the rack", self.take_out, bool(self.in_racks())),
        ]
        for text, run, enabled in entries:
            menu.addAction(text, run).setEnabled(enabled)
        menu.addSeparator()
        if rack is not None:
            menu.addAction("Add a power shelf", lambda: self.add_power_shelf(rack, u))
        menu.addAction("Put into racks…", self._view.put_into_racks_requested.emit).setEnabled(
            bool(self._view.floor.loose)
        )
        menu.addAction("Whole racks in view", self._view.fit).setEnabled(bool(self._view.floor.rows))
        return menu

    def shift(self, by: int) -> None:
        """Move the selected things up, or down for a negative number of U; what is in the way is said."""
        edit = shifted(self._context.document.document, self.in_racks(), by)
        what = edit.places[0].id if len(edit.places) == 1 else plural(len(edit.places), "thing")
        if edit.places and self.push(edit, f"Move {what} {'up' if by > 0 else 'down'} {abs(by)} U"):
            self._view.reveal(edit.places[0].id)

    def to_rack(self, beside: int) -> None:
        """Move the selected things to the next rack, at their U."""
        topology = self._context.document.document.topology
        order, places = self._view.floor.racks, []
        for ident in self.in_racks():
            thing = thing_of(topology, ident)
            at = order.index(thing.parent or "") + beside
            if not 0 <= at < len(order):
                return
            places.append(RackPlace(ident, order[at], thing.u))
        what = places[0].id if len(places) == 1 else plural(len(places), "thing")
        if self.push(PlaceInRack(tuple(places)), f"Move {what} to {places[0].rack}"):
            self._view.reveal(places[0].id)

    def take_out(self) -> None:
        """Take the selected things out of their racks."""
        ids = self.in_racks()
        self.push(PlaceInRack(tuple(RackPlace(ident, None) for ident in ids)), "Take out of the rack")

    def move_to_free(self) -> None:
        """Move the selected things to the lowest free U of their racks, as one step."""
        document = self._context.document.document
        by_rack: dict[str, list[str]] = {}
        for ident in self.in_racks():
            by_rack.setdefault(thing_of(document.topology, ident).parent or "", []).append(ident)
        places = [place for rack, ids in by_rack.items() for place in into_rack(document, ids, rack).places]
        without = next((place.id for place in places if place.u is None), None)
        if without is not None:
            self._context.say(f"{without} finds no free U in its rack.")
        elif places:
            what = places[0].id if len(places) == 1 else plural(len(places), "thing")
            self.push(PlaceInRack(tuple(places)), f"Move {what} to the lowest free U")

    def add_power_shelf(self, rack: str, u: int | None = None) -> None:
        """Add a shelf of power supplies, at a U or the lowest free one."""
        try:
            edit = add_power_shelf(self._context.document.document, rack, u)
        except EditRefused as refused:
            self._context.say(str(refused))
            return
        if self.push(edit, f"Add a power shelf to {rack}"):
            self._context.set_selection((edit.containers[0].id,))

    def show_on_drawing(self) -> None:
        """Bring the selected things into view on the drawing."""
        if self._context.selection:
            self._context.go_to(self._context.selection)

    def in_racks(self) -> tuple[str, ...]:
        """The selected bars that are in a rack."""
        topology = self._context.document.document.topology
        bars = (
            ident for ident in sorted(self._context.selection) if self._view.floor.owner_of(ident) == ident
        )
        return tuple(ident for ident in bars if rack_of(topology, thing_of(topology, ident)) is not None)

    def push(self, edit: Edit, text: str) -> bool:
        try:
            self._context.document.push(edit, text)
        except EditRefused as refused:
            self._context.say(str(refused))
            return False
        return True
