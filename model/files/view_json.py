"""Pins, folds, places of empty containers and the style of links in files; all of them optional."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from model.document.document import Position
from model.document.view_state import LinkStyle, ViewState
from model.errors import InputError
from model.files.reading import section, shown
from model.text import plural
from model.topology.graph import Topology

_FIELDS = frozenset({"pins", "folds", "links", "spots"})


def view_to_json(view: ViewState) -> dict[str, Any]:
    """The section `view` of a file, in an order that does not depend on how it came about."""
    section: dict[str, Any] = {
        "pins": sorted(view.pins),
        "folds": sorted(view.folds),
        "links": view.links.value,
    }
    if view.spots:
        section["spots"] = {ident: list(view.spots[ident]) for ident in sorted(view.spots)}
    return section


def view_from_json(
    data: Mapping[str, Any], topology: Topology, path: Path
) -> tuple[ViewState, dict[str, Any], tuple[str, ...]]:
    """The section `view` of `data`, fields of it that this version does not know, and notes on what it names
    in vain, which is left out. Raises `InputError` where it is no such section.
    """
    if "view" not in data:
        return ViewState(), {}, ()
    own = section(data, "view", dict, path)
    notes: list[str] = []

    def known(name: str, word: str, there: Callable[[str], bool]) -> frozenset[str]:
        ids = own.get(name, [])
        if not isinstance(ids, list):
            raise InputError(f"{path}: {name} of the view must be a list of ids, not {shown(ids)}.")
        lost = [ident for ident in ids if not (isinstance(ident, str) and there(ident))]
        if lost:
            notes.append(f"{plural(len(lost), word)} left out: there is no {shown(lost[0])}.")
        return frozenset(ident for ident in ids if isinstance(ident, str) and there(ident))

    def placeable(ident: str) -> bool:
        return topology.has_device(ident) or topology.has_container(ident)

    pins, folds = known("pins", "pin", placeable), known("folds", "fold", topology.has_container)
    style, styles = own.get("links", LinkStyle.CURVED.value), [one.value for one in LinkStyle]
    if style not in styles:
        notes.append(f"Links are drawn curved: {shown(style)} is none of {', '.join(styles)}.")
        style = LinkStyle.CURVED.value
    spots, lost = _spots(own.get("spots", {}), topology, path)
    if lost:
        notes.append(f"{plural(len(lost), 'place')} of containers left out: {shown(lost[0])} has none.")
    kept = {name: value for name, value in own.items() if name not in _FIELDS}
    return ViewState(pins, folds, LinkStyle(style), spots), kept, tuple(notes)


def _spots(value: object, topology: Topology, path: Path) -> tuple[dict[str, Position], list[str]]:
    """Places of containers, and the ids that are no container or whose place is none."""
    if not isinstance(value, dict):
        raise InputError(f"{path}: spots of the view must be centres by id, not {shown(value)}.")
    found: dict[str, Position] = {}
    lost = []
    for ident, at in value.items():
        place = at if isinstance(at, list) and len(at) == 2 else []
        x, y = place or (None, None)
        if topology.has_container(ident) and _is_length(x) and _is_length(y):
            found[ident] = (float(x), float(y))
        else:
            lost.append(ident)
    return found, lost


def _is_length(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e9
