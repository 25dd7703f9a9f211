"""What is inconsistent in the colours."""

from __future__ import annotations

from collections.abc import Iterator

from model.checks.situation import Situation, short
from model.step.report import Finding, Severity


def check(situation: Situation) -> Iterator[Finding]:
    """One finding per conflict of the placement."""
    if situation.placement is None:
        return
    for number, conflict in enumerate(situation.placement.conflicts):
        yield Finding(
            id=f"placement.{number}.{conflict.title.lower().replace(' ', '-')}",
            severity=Severity.ERROR,
            title=short(conflict.title, "Colours that do not fit each other"),
            detail=conflict.detail,
            devices=conflict.gpus,
            fix="Paint these GPUs anew, or erase their colours.",
        )
