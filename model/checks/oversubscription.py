"""Links that are offered more than they carry."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from model.checks.situation import Situation, short
from model.job.exchange import dimension_name
from model.step.report import Finding, Severity, StepReport
from model.text import capital, format_rate, format_ratio, plural
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.types import HOST_LINKS, SCALE_UP_LINKS, DeviceKind, LinkKind

_SLACK = 1e-6
_DEVICE_KINDS = tuple(DeviceKind)
_LINK_KINDS = tuple(LinkKind)
_INSIDE = HOST_LINKS | SCALE_UP_LINKS


def check(situation: Situation) -> Iterator[Finding]:
    """One warning for all links of one sort and ratio; the dearest link leads."""
    report = situation.report
    if report is None:
        return
    groups: dict[tuple[str, float], list[int]] = {}
    for directed in np.flatnonzero(report.oversubscription > 1 + _SLACK).tolist():
        ratio = float(f"{report.oversubscription[directed]:.3g}")
        groups.setdefault((_sort(report, directed), ratio), []).append(directed)
    for (sort, _), links in groups.items():
        links.sort(key=lambda directed: -report.cost_s[directed])
        yield _finding(situation, report, links, sort)


def _sort(report: StepReport, directed: int) -> str:
    """What to call a link among its like: by its ends in the network, by its kind inside a host or domain."""
    fabric, link = report.fabric, directed // 2
    kind = _LINK_KINDS[fabric.link_kind[link]]
    if kind in _INSIDE:
        return LINK_NAMES[kind]
    ends = [
        DEVICE_NAMES[_DEVICE_KINDS[fabric.device_kind[end]]]
        for end in (fabric.link_a[link], fabric.link_b[link])
    ]
    return " → ".join(ends if directed % 2 == 0 else reversed(ends))


def _finding(situation: Situation, report: StepReport, links: list[int], sort: str) -> Finding:
    first = links[0]
    fabric, link = report.fabric, first // 2
    ratio, capacity = float(report.oversubscription[first]), float(fabric.capacity[link])
    arrow = " → ".join(situation.fabric.ends_of(first))
    if len(links) == 1:
        title, where = f"{arrow} is oversubscribed {format_ratio(ratio)}", arrow
    else:
        title = f"{sort} ×{len(links):,} oversubscribed {format_ratio(ratio)}"
        where = f"each of {len(links):,} links like {arrow}"
    by = [dimension_name(name) for name, loads in report.bytes_by_dimension.items() if loads[first] > 0]
    who = capital(by[0] if len(by) == 1 else f"{', '.join(by[:-1])} and {by[-1]}")
    cost = float(report.cost_s[links].max())
    return Finding(
        id=f"oversubscribed.{fabric.link_ids[link]}.{'ab' if first % 2 == 0 else 'ba'}",
        severity=Severity.WARNING,
        title=short(title, f"{sort} oversubscribed {format_ratio(ratio)}"),
        detail=f"{who} {'offers' if len(by) == 1 else 'offer'} {format_rate(ratio * capacity)} "
        f"to {format_rate(capacity)} on {where}.",
        links=tuple(dict.fromkeys(fabric.link_ids[directed // 2] for directed in links)),
        cost_s=cost if cost > 0 else None,
        fix=_fix(sort, int(fabric.link_count[link]), ratio),
    )


def _fix(sort: str, count: int, ratio: float) -> str:
    if sort in {LINK_NAMES[kind] for kind in _INSIDE}:
        return (
            "Exchanges that do not run at the same time offer less; another overlap setting separates them."
        )
    cables = int(np.ceil(count * ratio - _SLACK))
    return f"With {plural(cables, 'cable')} in place of {count:,} all of it fits."
