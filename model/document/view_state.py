"""`ViewState`: how a drawing is looked at and laid out, apart from what the cluster is."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from enum import StrEnum


class LinkStyle(StrEnum):
    """How links run on the drawing."""

    CURVED = "curved"
    STRAIGHT = "straight"
    ORTHOGONAL = "orthogonal"


@dataclass(frozen=True, slots=True)
class ViewState:
    """`pins` are ids of devices and containers that layouts leave where they are; `folds` are ids of
    containers that are drawn as one box; `links` is how links run.
    """

    pins: frozenset[str] = frozenset()
    folds: frozenset[str] = frozenset()
    links: LinkStyle = LinkStyle.CURVED

    def without(self, gone: Set[str]) -> ViewState:
        """The same without some ids; the same object where it names none of them."""
        if self.pins.isdisjoint(gone) and self.folds.isdisjoint(gone):
            return self
        return replace(self, pins=self.pins - gone, folds=self.folds - gone)

    def renamed(self, old: str, new: str) -> ViewState:
        """The same with another id for one thing; the same object where it does not name it."""

        def follow(ids: frozenset[str]) -> frozenset[str]:
            return (ids - {old}) | {new} if old in ids else ids

        pins, folds = follow(self.pins), follow(self.folds)
        if pins is self.pins and folds is self.folds:
            return self
        return replace(self, pins=pins, folds=folds)
