"""What is inconsistent in the colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from model.checks.situation import Situation, short
from model.placement.types import Conflict, ConflictKind
from model.step.report import Finding, Severity

MOST_APART = 6  # conflicts of a kind that are told one by one
TOLD = 3  # of more the first ones, in one finding
_TOGETHER: Mapping[ConflictKind, str] = {
    "no such colour": "{} colours that the job does not have",
    "contradiction": "{} sets of colours contradict themselves",
    "place taken": "{} sets of colours have no free rank",
    "group too full": "{} groups have more GPUs than places",
    "rank empty": "{} sets of ranks have no GPU",
}
_FIX = "Paint these GPUs anew, or erase their colours."


def check(situation: Situation) -> Iterator[Finding]:
    """One finding per conflict of the placement, or one for all of a kind where there are many."""
    if situation.placement is None:
        return
    by_kind: dict[ConflictKind, list[Conflict]] = {}
    for conflict in situation.placement.conflicts:
        by_kind.setdefault(conflict.kind, []).append(conflict)
    number = 0
    for kind, conflicts in by_kind.items():
        if len(conflicts) > MOST_APART:
            conflicts = [_together(kind, conflicts)]
        for conflict in conflicts:
            yield Finding(
                id=f"placement.{number}.{conflict.title.lower().replace(' ', '-')}",
                severity=Severity.ERROR,
                title=short(conflict.title, "Colours that do not fit each other"),
                detail=conflict.detail,
                devices=conflict.gpus,
                fix=_FIX,
            )
            number += 1


def _together(kind: ConflictKind, conflicts: Sequence[Conflict]) -> Conflict:
    """Many of a kind as one, with all their GPUs."""
    told = " ".join(conflict.detail for conflict in conflicts[:TOLD])
    gpus = tuple(dict.fromkeys(gpu for conflict in conflicts for gpu in conflict.gpus))
    detail = f"{told} And {len(conflicts) - TOLD:,} more like these."
    return Conflict(kind, _TOGETHER[kind].format(f"{len(conflicts):,}"), detail, gpus)
