"""What costs the step more than five per cent (conventions 37)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from model.checks.domains import leaves_domain
from model.checks.situation import Situation
from model.job.exchange import dimension_name
from model.step.report import Finding, Severity, StepReport
from model.text import capital, format_percent, format_ratio, format_seconds

LIMIT = 0.05
"""The share of the step from which a cost is a warning."""

_FIX = {
    "tp": "A smaller TP, or groups inside one scale-up domain, are exposed less.",
    "cp": "A smaller CP is exposed less.",
    "ep": "EP inside one scale-up domain is exposed less.",
    "pp": "Neighbouring stages on the same rail, or fewer stages, are exposed less.",
    "dp": "Overlap of gradients and parameters, ZeRO or more NICs hide more of it.",
    "storage": "Fewer checkpoints or more storage links are exposed less.",
}
_FIX_INSIDE = {
    "tp": "A smaller TP, or overlap of TP with the matrix products, is exposed less.",
    "ep": "A smaller EP, or overlap of experts between microbatches, is exposed less.",
}
"""Where every group lies inside one scale-up domain already."""


def check(situation: Situation) -> Iterator[Finding]:
    """Exposed communication of a dimension, and the bubble, above `LIMIT` of the step time."""
    report = situation.report
    if report is None or report.totals.time_s <= 0:
        return
    totals = report.totals
    for dimension, seconds in totals.exposed_s.items():
        if seconds > LIMIT * totals.time_s:
            links = _dearest(report, dimension)
            yield Finding(
                id=f"cost.{dimension}",
                severity=Severity.WARNING,
                title=f"{capital(dimension_name(dimension))} is exposed "
                f"{format_percent(seconds / totals.time_s)} of the step",
                detail=f"GPUs wait {format_seconds(seconds)} of {format_seconds(totals.time_s)} for it."
                + _named(report, links),
                links=tuple(dict.fromkeys(report.fabric.link_ids[directed // 2] for directed in links)),
                cost_s=seconds,
                fix=_fix(situation, dimension),
            )
    if totals.bubble_s > LIMIT * totals.time_s:
        yield Finding(
            id="cost.bubble",
            severity=Severity.WARNING,
            title=f"The bubble is {format_percent(totals.bubble_s / totals.time_s)} of the step",
            detail=f"GPUs have nothing to do for {format_seconds(totals.bubble_s)} of "
            f"{format_seconds(totals.time_s)} while the pipeline fills, drains and waits for the slowest.",
            cost_s=totals.bubble_s,
            fix="More microbatches (a larger batch or smaller microbatch) or fewer stages make it smaller.",
        )


def _fix(situation: Situation, dimension: str) -> str:
    inside = dimension in _FIX_INSIDE and not leaves_domain(situation, dimension)
    return (_FIX_INSIDE if inside else _FIX)[dimension]


def _dearest(report: StepReport, dimension: str) -> list[int]:
    """The directed links with bytes of the dimension that held the step back longest, all equal ones."""
    cost = np.where(report.bytes_by_dimension[dimension] > 0, report.cost_s, 0.0)
    if not len(cost) or cost.max() <= 0:
        return []
    return np.flatnonzero(cost >= cost.max() * (1 - 1e-6)).tolist()


def _named(report: StepReport, links: list[int]) -> str:
    if not links:
        return ""
    source, target = report.fabric.ends_of(links[0])
    times = "" if len(links) == 1 else f" and {len(links) - 1:,} like it"
    held = format_seconds(float(report.cost_s[links[0]]))
    over = float(report.oversubscription[links[0]])
    ratio = f", offered {format_ratio(over)}" if over > 1 + 1e-6 else ""
    return f" What holds it back longest is {source} → {target}{times}: {held}{ratio}."
