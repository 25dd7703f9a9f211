"""Edits of how a drawing is looked at: pins, folds, where empty containers stand, how links run.

They name only what changes, so that they can be taken back after others of their kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from model.document.document import Change, Document, Position
from model.document.edit import Edit, check_known, check_positions
from model.document.view_state import LinkStyle
from model.errors import EditRefused


@dataclass(frozen=True, slots=True)
class SetPins(Edit):
    """Pin devices and containers where they are, and let go of others."""

    pin: frozenset[str] = frozenset()
    unpin: frozenset[str] = frozenset()

    def _do(self, document: Document) -> tuple[Edit, Change]:
        for ident in self.pin:
            if not (document.topology.has_device(ident) or document.topology.has_container(ident)):
                raise EditRefused(f'Only devices and containers can be pinned, and "{ident}" is neither.')
        old = document.view.pins
        new = (old | self.pin) - self.unpin
        document.view = replace(document.view, pins=new)
        return SetPins(pin=old - new, unpin=new - old), Change(view=True)


@dataclass(frozen=True, slots=True)
class SetFolds(Edit):
    """Draw containers as one box each, and open others."""

    fold: frozenset[str] = frozenset()
    unfold: frozenset[str] = frozenset()

    def _do(self, document: Document) -> tuple[Edit, Change]:
        check_known(document.topology, "container", self.fold)
        old = document.view.folds
        new = (old | self.fold) - self.unfold
        document.view = replace(document.view, folds=new)
        return SetFolds(fold=old - new, unfold=new - old), Change(view=True)


@dataclass(frozen=True, slots=True)
class SetLinkStyle(Edit):
    """How links run on the drawing."""

    style: LinkStyle

    def _do(self, document: Document) -> tuple[Edit, Change]:
        old = document.view.links
        document.view = replace(document.view, links=LinkStyle(self.style))
        return SetLinkStyle(old), Change(view=True)


@dataclass(frozen=True, slots=True)
class SetSpots(Edit):
    """Set the centres of containers for as long as nothing is in them; None takes the place away."""

    spots: Mapping[str, Position | None] = field(default_factory=dict)

    def _do(self, document: Document) -> tuple[Edit, Change]:
        placed = {ident: at for ident, at in self.spots.items() if at is not None}
        check_known(document.topology, "container", placed)
        check_positions(placed)
        old = document.view.spots
        left = {ident: at for ident, at in old.items() if ident not in self.spots}
        new = left | {ident: (float(x), float(y)) for ident, (x, y) in placed.items()}
        document.view = replace(document.view, spots=new)
        return SetSpots({ident: old.get(ident) for ident in self.spots}), Change(view=True)
