"""Jobs, findings and the fullest stage in the words of reports and of the command line."""

from __future__ import annotations

from typing import Any

from model.files.writing import finite
from model.job.spec import JobSpec
from model.step.report import Finding, StepReport
from model.text import format_seconds


def job_line(job: JobSpec) -> str:
    """The job in a few words: "llama3-70b, TP 8 · PP 4, batch 128 of 8,192 tokens, bf16"."""
    name = job.model if isinstance(job.model, str) else job.model.name
    own = job.parallel
    sizes = [("TP", own.tp), ("CP", own.cp), ("EP", own.ep), ("PP", own.pp), ("DP", own.dp or 1)]
    cut = " · ".join(f"{label} {size}" for label, size in sizes if size > 1) or "data parallel only"
    return f"{name}, {cut}, batch {job.global_batch:,} of {job.sequence_length:,} tokens, {job.precision}"


def memory_peak(report: StepReport) -> dict[str, Any] | None:
    """The stage whose GPUs are fullest."""
    stage = report.fullest_stage()
    if stage is None:
        return None
    return {
        "stage": stage.stage,
        "total_bytes": finite(stage.total_bytes),
        "hbm_bytes": finite(stage.hbm_bytes),
    }


def finding_line(finding: Finding) -> str:
    """A finding in one line: severity, title, why, what to do, what it costs."""
    words = " ".join(part for part in (finding.detail, finding.fix) if part)
    cost = f" · {format_seconds(finding.cost_s)}" if finding.cost_s else ""
    line = (
        f"{finding.severity.value}: {finding.title} — {words}{cost}"
        if words
        else (f"{finding.severity.value}: {finding.title}{cost}")
    )
    return " ".join(line.split())
