"""Links that are offered more than they carry."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from model.checks.situation import Situation, short
from model.step.report import Finding, Severity, StepReport
from model.text import format_rate, format_ratio, plural
from model.topology.types import DeviceKind

_SLACK = 1e-6
_KINDS = tuple(DeviceKind)


def check(situation: Situation) -> Iterator[Finding]:
    """One warning for all links of equal ends, capacity and ratio; the dearest link leads."""
    report = situation.report
    if report is None:
        return
    over = np.flatnonzero(report.oversubscription > 1 + _SLACK)
    groups: dict[tuple[str, str, float, float], list[int]] = {}
    for directed in over.tolist():
        groups.setdefault(_key(report, directed), []).append(directed)
    for (source, target, capacity, ratio), links in groups.items():
        links.sort(key=lambda directed: -report.cost_s[directed])
        yield _finding(situation, report, links, f"{source} → {target}", capacity, ratio)


def _key(report: StepReport, directed: int) -> tuple[str, str, float, float]:
    """What makes links equal: kinds of their ends, capacity, ratio to three digits."""
    fabric, link = report.fabric, directed // 2
    ends = (fabric.link_a[link], fabric.link_b[link])
    source, target = ends if directed % 2 == 0 else (ends[1], ends[0])
    return (
        _KINDS[fabric.device_kind[source]].value,
        _KINDS[fabric.device_kind[target]].value,
        float(fabric.capacity[link]),
        float(f"{report.oversubscription[directed]:.3g}"),
    )


def _finding(
    situation: Situation, report: StepReport, links: list[int], kinds: str, capacity: float, ratio: float
) -> Finding:
    first = links[0]
    exact = float(report.oversubscription[first])
    source, target = situation.link_ends(first)
    words = f"is oversubscribed {format_ratio(exact)}"
    title = short(f"{source} → {target} {words}", f"{kinds} {words}")
    if len(links) > 1:
        title = short(f"{kinds} ×{len(links):,} oversubscribed {format_ratio(exact)}", f"{kinds} {words}")
    by = [name.upper() for name, loads in report.bytes_by_dimension.items() if loads[first] > 0]
    count = int(report.fabric.link_count[first // 2])
    where = (
        f"{source} → {target}"
        if len(links) == 1
        else f"{plural(len(links), 'link')} like {source} → {target}"
    )
    cost = float(report.cost_s[links].max())
    return Finding(
        id=f"oversubscribed.{report.fabric.link_ids[first // 2]}.{'ab' if first % 2 == 0 else 'ba'}",
        severity=Severity.WARNING,
        title=title,
        detail=f"{' and '.join(by)} {'offers' if len(by) == 1 else 'offer'} {format_rate(exact * capacity)} "
        f"to {format_rate(capacity)} on {where}.",
        links=tuple(dict.fromkeys(report.fabric.link_ids[directed // 2] for directed in links)),
        cost_s=cost if cost > 0 else None,
        fix=f"With {plural(_cables(count, exact), 'cable')} in place of {count:,} all of it fits.",
    )


def _cables(count: int, ratio: float) -> int:
    return int(np.ceil(count * ratio - _SLACK))
