"""Port budgets and links that do not fit their ends."""

from __future__ import annotations

from collections.abc import Iterator

from model.checks.situation import Situation, short
from model.step.report import Finding, Severity
from model.topology.ports import PortFinding


def check(situation: Situation) -> Iterator[Finding]:
    """What no gesture would have drawn, as notes: an over-full sketch is kept. Equal ones are one finding."""
    by_title: dict[str, list[PortFinding]] = {}
    for found in situation.ports:
        by_title.setdefault(found.title, []).append(found)
    for title, equal in by_title.items():
        brief = short(title, "Links that do not fit their ends")
        yield Finding(
            id=f"ports.{title.lower().replace(' ', '-')}",
            severity=Severity.INFO,
            title=brief,
            detail=equal[0].detail if brief == title else f"{title}. {equal[0].detail}",
            devices=tuple(dict.fromkeys(device for found in equal for device in found.devices)),
            links=tuple(dict.fromkeys(link for found in equal for link in found.links)),
            fix="Take links away, or choose a model with the ports.",
        )
