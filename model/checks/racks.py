"""Racks whose content may draw more than they can supply."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from model.checks.situation import Situation, short
from model.step.report import Finding, Severity
from model.text import format_power, name_list, plural
from model.topology.equipment import RackTotals, rack_totals
from model.topology.graph import Topology
from model.topology.types import ContainerKind

_known: WeakKeyDictionary[Topology, tuple[int, tuple[tuple[str, RackTotals], ...]]] = WeakKeyDictionary()


def check(situation: Situation) -> Iterator[Finding]:
    """One warning for all of them; the limit is the rack's own, else that of the catalogue's whole rack."""
    over = _overloaded(situation.topology)
    if not over:
        return
    worst, totals = max(over, key=lambda entry: entry[1].power_w - (entry[1].power_limit_w or 0.0))
    least = "" if totals.power_whole else "at least "
    draws, supplied = f"{least}{format_power(totals.power_w)}", format_power(totals.power_limit_w or 0.0)
    several = len(over) > 1
    yield Finding(
        id="racks.power",
        severity=Severity.WARNING,
        title=f"{plural(len(over), 'rack')} may draw more than supplied"
        if several
        else short(f"{worst} may draw {draws} of {supplied}", "A rack may draw more than supplied"),
        detail=f"What is in {worst} may draw {draws} together; the rack can supply {supplied}."
        + (f" Over their limit: {name_list([rack for rack, _ in over])}." if several else ""),
        devices=tuple(
            ident
            for rack, _ in over
            for ident in situation.topology.descendants(rack)
            if situation.topology.has_device(ident)
        ),
        fix="Take trays or switches out, or correct the power of the rack in its properties.",
    )


def _overloaded(topology: Topology) -> tuple[tuple[str, RackTotals], ...]:
    """Racks above their limit, kept until the topology changes."""
    kept = _known.get(topology)
    if kept is None or kept[0] != topology.revision:
        racks = (box for box in topology.containers() if box.kind is ContainerKind.RACK)
        totals = ((box.id, rack_totals(topology, box)) for box in racks)
        over = tuple((ident, of) for ident, of in totals if of.over_limit)
        kept = (topology.revision, over)
        _known[topology] = kept
    return kept[1]
