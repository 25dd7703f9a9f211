"""Port budgets and links that do not fit their ends."""

from __future__ import annotations

from collections.abc import Iterator

from model.checks.situation import Situation
from model.step.report import Finding, Severity


def check(situation: Situation) -> Iterator[Finding]:
    """What no gesture would have drawn, as notes: an over-full sketch is kept."""
    for found in situation.ports:
        yield Finding(
            id=f"ports.{found.title.lower().replace(' ', '-')}",
            severity=Severity.INFO,
            title=found.title,
            detail=found.detail,
            devices=found.devices,
            links=found.links,
            fix="Take links away, or choose a model with the ports.",
        )
