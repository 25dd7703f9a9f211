"""A step in a few figures: as values for `--json`, and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model.document.document import Document
from model.files.exports.wording import finding_line, job_line, memory_peak
from model.files.traffic_json import finding_to_json, step_to_json
from model.files.writing import finite
from model.job.exchange import dimension_name
from model.step.report import Analysis, Finding, Severity, StepReport
from model.text import format_bytes, format_percent, format_ratio, format_seconds, plural, three_digits

_LISTED = 12


def summary(document: Document, analysis: Analysis) -> dict[str, Any]:
    """The figures of the status bar and the findings; step figures are left out where there is no report."""
    values: dict[str, Any] = {
        "name": document.name,
        "devices": len(document.topology.devices()),
        "links": len(document.topology.links()),
        "job": job_line(document.job),
    }
    report = analysis.report
    if report is not None:
        values |= {"gpus": len(report.placement.gpus)} | step_to_json(report)
        values |= {
            "worst_link": worst_link(report),
            "memory_peak": memory_peak(report),
        }
    values["findings"] = [finding_to_json(finding) for finding in analysis.findings]
    return values


def worst_link(report: StepReport) -> dict[str, Any] | None:
    """The figures of `StepReport.worst_link`; None without traffic."""
    directed = report.worst_link()
    if directed is None:
        return None
    source, target = report.fabric.ends_of(directed)
    return {
        "id": report.fabric.link_ids[directed // 2],
        "from": source,
        "to": target,
        "cost_s": finite(float(report.cost_s[directed])),
        "peak_utilisation": finite(float(report.peak_utilisation[directed])),
        "oversubscription": finite(float(report.oversubscription[directed])),
    }


def summary_text(document: Document, analysis: Analysis, written: Sequence[str]) -> str:
    """The summary for people."""
    topology = document.topology
    lines = [
        f"{document.name or 'Untitled'}: {plural(len(topology.devices()), 'device')}, "
        f"{plural(len(topology.links()), 'link')}",
        f"job             {job_line(document.job)}",
    ]
    if analysis.report is not None:
        lines += step_lines(analysis.report)
    lines += finding_lines(analysis.findings)
    if written:
        lines.append(f"wrote           {', '.join(written)}")
    return "\n".join(lines)


def step_lines(report: StepReport) -> list[str]:
    """The figures of the step, one a line."""
    totals = report.totals
    exposed = [
        f"{dimension_name(name)} {format_seconds(value)}"
        for name, value in totals.exposed_s.items()
        if value > 0
    ]
    lines = [
        f"GPUs            {len(report.placement.gpus):,}",
        f"step            {format_seconds(totals.time_s)}",
        f"tokens/s/GPU    {three_digits(totals.tokens_per_s_per_gpu)}",
        f"MFU             {format_percent(totals.mfu)}",
        f"compute         {format_seconds(totals.compute_s)}, "
        f"optimizer {format_seconds(totals.optimizer_s)}, bubble {format_seconds(totals.bubble_s)}",
        f"exposed         {' · '.join(exposed) or 'nothing'}",
    ]
    worst = worst_link(report)
    if worst is not None:
        lines.append(f"worst link      {_link_words(worst)}")
    peak = memory_peak(report)
    if peak is not None:
        share = format_percent(peak["total_bytes"] / peak["hbm_bytes"]) if peak["hbm_bytes"] else "?"
        lines.append(
            f"memory peak     {format_bytes(peak['total_bytes'])} of {format_bytes(peak['hbm_bytes'])} "
            f"({share}) on stage {peak['stage']}"
        )
    return lines


def _link_words(worst: dict[str, Any]) -> str:
    words = [f"{worst['from']} → {worst['to']}"]
    if worst["cost_s"]:
        words.append(f"costs {format_seconds(worst['cost_s'])}")
    words.append(f"peak {format_percent(worst['peak_utilisation'] or 0.0)}")
    if (worst["oversubscription"] or 0.0) > 1:
        words.append(f"oversubscribed {format_ratio(worst['oversubscription'])}")
    return ", ".join(words)


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """How many findings there are, and the first of them, one a line."""
    if not findings:
        return ["findings        none"]
    severities = [finding.severity for finding in findings]
    counts = [
        plural(severities.count(severity), severity.value, many)
        for severity, many in ((Severity.ERROR, None), (Severity.WARNING, None), (Severity.INFO, "info"))
        if severity in severities
    ]
    lines = [f"findings        {', '.join(counts)}"]
    lines += [f"  {finding_line(finding)}" for finding in findings[:_LISTED]]
    if len(findings) > _LISTED:
        lines.append(f"  and {len(findings) - _LISTED:,} more; railsketch check lists all")
    return lines


def exit_code(findings: Sequence[Finding]) -> int:
    """1 where there is a finding of severity error (conventions 37), else 0."""
    return int(any(finding.severity is Severity.ERROR for finding in findings))
