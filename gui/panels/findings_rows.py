"""Findings in the order in which they matter, as texts. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from model.step.report import Finding, Severity
from model.text import format_seconds

SEVERITIES: tuple[Severity, ...] = (Severity.ERROR, Severity.WARNING, Severity.INFO)
LONGEST_TITLE = 45


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Severity first, then what it costs (nothing known counts as zero), then as they came."""
    return tuple(
        sorted(findings, key=lambda finding: (SEVERITIES.index(finding.severity), -(finding.cost_s or 0.0)))
    )


def counts(findings: Sequence[Finding]) -> dict[Severity, int]:
    """How many there are of each severity."""
    return {severity: sum(f.severity is severity for f in findings) for severity in SEVERITIES}


def short_title(finding: Finding) -> str:
    """The title, cut with an ellipsis where it is longer than a row may be."""
    title = finding.title
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1].rstrip() + "…"


def detail_text(finding: Finding) -> str:
    """Why, then what to do."""
    return " ".join(part for part in (finding.detail, finding.fix) if part)


def cost_text(finding: Finding) -> str:
    """What it costs a step; a severity of error without a cost says so."""
    if finding.cost_s is not None and finding.cost_s > 0:
        return format_seconds(finding.cost_s)
    return "error" if finding.severity is Severity.ERROR else ""


def targets(finding: Finding) -> tuple[str, ...]:
    """Where a click goes: the devices and links that the finding names."""
    return (*finding.devices, *finding.links)
