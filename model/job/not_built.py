"""The one table of job values whose effect is not part of this version.

Such a value is refused by the engine and greyed in the window, never ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from model.errors import NotBuiltError
from model.job.spec import JobSpec


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """One row: the field, which of its values work, and what the others would do."""

    path: str
    built: Callable[[object], bool]
    effect: str


TABLE: tuple[NotBuilt, ...] = ()

_BY_PATH = {row.path: row for row in TABLE}


def is_built(path: str, value: object) -> bool:
    """Whether a job field can take a value in this version. `path` as in "parallel.tp"."""
    row = _BY_PATH.get(path)
    return row is None or row.built(value)


def not_built(job: JobSpec) -> list[str]:
    """What the job asks for that is not built yet: "parallel.vpp = 2 (several model chunks a stage)"."""
    data = job.to_json()
    found = []
    for row in TABLE:
        value: object = data
        for name in row.path.split("."):
            value = value[name] if isinstance(value, dict) else None
        # With one stage every schedule is the plain one (conventions 31).
        plain = row.path == "schedule" and job.parallel.pp == 1
        if not plain and not row.built(value):
            found.append(f"{row.path} = {json.dumps(value)} ({row.effect})")
    return found


def refuse_not_built(job: JobSpec) -> None:
    """Raise NotBuiltError with one sentence when the job asks for something that is not built."""
    found = not_built(job)
    if found:
        raise NotBuiltError(f"not built yet: {'; '.join(found)}")
