"""Findings on a document: what is wrong and where, why, what it costs, and what to do. One file per
family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from model.checks import (
    algorithms,
    conflicts,
    cost,
    domains,
    hashing,
    legality,
    memory,
    oversubscription,
    participation,
    ports,
    racks,
    reach,
    states,
    storage,
)
from model.checks.situation import Situation
from model.step.report import Finding, Severity

Check = Callable[[Situation], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    legality.check,
    conflicts.check,
    memory.check,
    domains.check,
    reach.check,
    oversubscription.check,
    cost.check,
    states.check,
    algorithms.check,
    hashing.check,
    ports.check,
    racks.check,
    participation.check,
    storage.check,
)

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def findings(situation: Situation) -> tuple[Finding, ...]:
    """All findings: the worst first, within a severity the dearest first."""
    found = [finding for check in CHECKS for finding in check(situation)]
    return tuple(sorted(found, key=lambda finding: (_ORDER[finding.severity], -(finding.cost_s or 0.0))))


__all__ = ["CHECKS", "Check", "Situation", "findings"]
