"""Which job an older report is of, in a few words. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.job.spec import JobSpec

_SHORT = {
    "global_batch": "batch",
    "sequence_length": "sequence",
    "microbatch": "microbatch",
    "model": "model",
}


def as_of_text(reported: Mapping[str, Any], job: JobSpec) -> str:
    """ "as of TP 8" from the first two fields in which the reported job differs; empty where it does not."""
    now = job.to_json()
    parts = [
        f"{name.upper()} {value}"
        for name, value in reported.get("parallel", {}).items()
        if name in ("tp", "cp", "ep", "pp", "dp")
        and value is not None
        and now["parallel"][name] not in (value, None)
    ]
    parts += [f"{word} {reported[name]}" for name, word in _SHORT.items() if reported.get(name) != now[name]]
    if parts:
        return "as of " + ", ".join(parts[:2])
    return "as of the last legal job" if dict(reported) != now else ""
