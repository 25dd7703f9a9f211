"""`ViewState`: how a drawing is looked at and laid out, apart from what the cluster is."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum


class LinkStyle(StrEnum):
    """How links run on the drawing."""

    CURVED = "curved"
    STRAIGHT = "straight"
    ORTHOGONAL = "orthogonal"


@dataclass(frozen=True, slots=True)
class ViewState:
    """`pins` are ids of devices and containers that layouts leave where they are; `folds` are ids of
    containers that are drawn as one box; `links` is how links run; `spots` are the centres of containers, in
    scene units, for as long as nothing in them says where they are.
    """

    pins: frozenset[str] = frozenset()
    folds: frozenset[str] = frozenset()
    links: LinkStyle = LinkStyle.CURVED
    spots: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def without(self, gone: Set[str]) -> ViewState:
        """The same without some ids; the same object where it names none of them."""
        if gone.isdisjoint(self.pins | self.folds | self.spots.keys()):
            return self
        spots = {ident: at for ident, at in self.spots.items() if ident not in gone}
        return replace(self, pins=self.pins - gone, folds=self.folds - gone, spots=spots)

    def renamed(self, old: str, new: str) -> ViewState:
        """The same with another id for one thing; the same object where it does not name it."""

        def follow(ids: frozenset[str]) -> frozenset[str]:
            return (ids - {old}) | {new} if old in ids else ids

        if old not in self.pins | self.folds | self.spots.keys():
            return self
        spots = {new if ident == old else ident: at for ident, at in self.spots.items()}
        return replace(self, pins=follow(self.pins), folds=follow(self.folds), spots=spots)
