"""Pins, folds and the style of links in files; all of them optional."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.document.view_state import LinkStyle, ViewState
from model.errors import InputError
from model.files.reading import section, shown
from model.text import plural
from model.topology.graph import Topology

_FIELDS = frozenset({"pins", "folds", "links"})


def view_to_json(view: ViewState) -> dict[str, Any]:
    """The section `view` of a file, in an order that does not depend on how it came about."""
    return {"pins": sorted(view.pins), "folds": sorted(view.folds), "links": view.links.value}


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
    kept = {name: value for name, value in own.items() if name not in _FIELDS}
    return ViewState(pins, folds, LinkStyle(style)), kept, tuple(notes)
