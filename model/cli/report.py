"""The report of a run as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.cli.summary import finding_line, job_line, memory_peak
from model.document.document import Document
from model.job.exchange import EXCHANGE_DIMENSIONS, dimension_name
from model.step.report import Analysis, StepReport
from model.text import format_bytes, format_percent, format_ratio, format_seconds, three_digits

_LINKS = 20


def report_markdown(document: Document, analysis: Analysis) -> str:
    """Step, exposed communication, exchanges, dearest links, memory and findings."""
    lines = [f"# {document.name or 'Untitled'}", "", job_line(document.job), ""]
    report = analysis.report
    if report is not None:
        lines += _step(report) + _exchanges(report) + _links(report) + _memory(report)
    lines += ["## Findings", ""]
    lines += [f"- {finding_line(finding)}" for finding in analysis.findings] or ["None."]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in cells] + [""]


def _step(report: StepReport) -> list[str]:
    totals = report.totals
    rows = [
        ("Step", format_seconds(totals.time_s)),
        ("Tokens/s/GPU", three_digits(totals.tokens_per_s_per_gpu)),
        ("MFU", format_percent(totals.mfu)),
        ("HFU", format_percent(totals.hfu)),
        ("Compute", format_seconds(totals.compute_s)),
        ("Optimizer", format_seconds(totals.optimizer_s)),
        ("Bubble", format_seconds(totals.bubble_s)),
    ]
    rows += [
        (f"Exposed {dimension_name(name)}", format_seconds(value))
        for name in EXCHANGE_DIMENSIONS
        if (value := totals.exposed_s.get(name, 0.0)) > 0
    ]
    return ["## Step", "", *_table(("Figure", "Value"), rows)]


def _exchanges(report: StepReport) -> list[str]:
    rows = [
        (
            exchange.kind,
            exchange.operation.value,
            algorithm,
            str(exchange.group_size),
            format_bytes(exchange.message_bytes),
            f"{exchange.count_per_step:,}",
            "blocking" if exchange.blocking else "hidden",
            format_seconds(times.exposed_s),
        )
        for exchange, algorithm, times in zip(
            report.exchanges, report.traffic.algorithms, report.exchange_times, strict=True
        )
    ]
    head = ("Kind", "Operation", "Algorithm", "Group", "Message", "Times", "Waits", "Exposed")
    return ["## Exchanges", "", *_table(head, rows)]


def _links(report: StepReport) -> list[str]:
    """The dearest directed links, then the busiest; links that show the same figures share a row."""
    total = np.sum(list(report.bytes_by_dimension.values()), axis=0)
    order = np.lexsort((-report.peak_utilisation, -report.cost_s))
    rows: dict[tuple[str, ...], list[str]] = {}
    for directed in order[total[order] > 0].tolist():
        figures = (
            format_seconds(float(report.cost_s[directed])),
            format_bytes(float(total[directed])),
            format_percent(float(report.peak_utilisation[directed])),
            format_ratio(float(report.oversubscription[directed])),
        )
        if figures not in rows and len(rows) == _LINKS:
            break
        rows.setdefault(figures, []).append(" → ".join(report.fabric.ends_of(directed)))
    table = [
        (f"{names[0]} ×{len(names):,}" if len(names) > 1 else names[0], *figures)
        for figures, names in rows.items()
    ]
    head = ("Link", "Costs", "Bytes a step", "Peak", "Offered ÷ capacity")
    return ["## Dearest links", "", *_table(head, table)]


def _memory(report: StepReport) -> list[str]:
    peak = memory_peak(report)
    rows = [
        (
            f"{stage.stage}{' (fullest)' if peak and peak['stage'] == stage.stage else ''}",
            *(
                format_bytes(value)
                for value in (
                    stage.weights_bytes,
                    stage.gradients_bytes,
                    stage.optimizer_bytes,
                    stage.activations_bytes,
                    stage.other_bytes,
                    stage.total_bytes,
                    stage.hbm_bytes,
                )
            ),
        )
        for stage in report.memory
    ]
    head = ("Stage", "Weights", "Gradients", "Optimizer", "Activations", "Other", "Total", "HBM")
    return ["## Memory of a GPU", "", *_table(head, rows)]
