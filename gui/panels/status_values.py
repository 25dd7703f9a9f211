"""What the status bar says of an analysis. No widgets."""

from __future__ import annotations

from dataclasses import dataclass

from model.document.document import Document
from model.step.report import Analysis, Figure, StepReport
from model.text import format_percent, format_ratio, format_seconds, format_share, three_digits
from model.topology.types import DeviceKind

EXPOSED_WARNING = 0.10


@dataclass(frozen=True, slots=True)
class Entry:
    """One figure of the status bar; `share` is for a bar beside it."""

    name: str
    text: str
    tone: str = ""
    figure: Figure | None = None
    share: float | None = None


def entries(document: Document, analysis: Analysis | None) -> dict[str, Entry]:
    """The figures by key, in the order of the bar; without a step, what there is to say of the drawing."""
    report = analysis.report if analysis is not None else None
    if report is None:
        gpus = sum(device.kind is DeviceKind.GPU for device in document.topology.devices())
        shown = {"step": Entry("Step", "–"), "gpus": Entry("GPUs", f"{gpus:,}")}
        if not document.topology.devices():
            shown["findings"] = Entry("Findings", "none: the drawing is empty")
        elif analysis is not None and analysis.findings:
            shown["findings"] = Entry("Findings", f"{len(analysis.findings):,}")
        return shown
    totals = report.totals
    exposed = sum(totals.exposed_s.values())
    share = exposed / totals.time_s if totals.time_s > 0 else 0.0
    figures = report.figures
    shown = {
        "step": Entry("Step", format_seconds(totals.time_s), "", figures.get("step.time_s")),
        "tokens": Entry(
            "Tokens/s/GPU",
            f"{totals.tokens_per_s_per_gpu:,.0f}",
            "",
            figures.get("step.tokens_per_s_per_gpu"),
        ),
        "mfu": Entry("MFU", format_percent(totals.mfu), "", figures.get("step.mfu")),
        "exposed": Entry(
            "Exposed communication",
            format_share(share),
            "warning" if share > EXPOSED_WARNING else "",
            _exposed_figure(report, share),
        ),
    }
    worst = worst_link(report)
    if worst is not None:
        shown["worst"] = worst
    memory = hbm_peak(report)
    if memory is not None:
        shown["hbm"] = memory
    return shown


def _exposed_figure(report: StepReport, share: float) -> Figure:
    inputs: dict[str, float | int | str] = {
        f"exposed_{dimension}_s": seconds
        for dimension, seconds in report.totals.exposed_s.items()
        if seconds > 0
    }
    inputs["step_time_s"] = report.totals.time_s
    return Figure(
        share,
        "",
        "time in which GPUs wait for exchanges under way ÷ step time",
        inputs,
        "seconds are means over all GPUs of the job",
    )


def worst_link(report: StepReport) -> Entry | None:
    """The directed link that costs the step most; without any cost the most oversubscribed or busiest."""
    index = report.worst_link()
    if index is None:
        return None
    name = " → ".join(report.fabric.ends_of(index))
    over = float(report.oversubscription[index])
    peak = float(report.peak_utilisation[index])
    figure = Figure(
        float(report.cost_s[index]),
        "s",
        "exposed time during which this link was the bottleneck of what the step waited for",
        {
            "link": name,
            "peak utilisation": format_percent(peak),
            "offered ÷ capacity": format_ratio(over),
            "capacity": f"{three_digits(float(report.fabric.capacity[index // 2]) / 1e9)} GB/s",
        },
    )
    text = f"{name} {format_ratio(over) if over > 1 else format_percent(peak)}"
    return Entry("Worst link", text, "error" if over > 1 else "", figure)


def hbm_peak(report: StepReport) -> Entry | None:
    """The stage that needs most of its GPU's memory."""
    stage = report.fullest_stage()
    if stage is None:
        return None
    share = stage.total_bytes / stage.hbm_bytes
    text = f"{three_digits(stage.total_bytes / 1e9)} of {three_digits(stage.hbm_bytes / 1e9)} GB"
    figure = report.figures.get(f"memory.stage{stage.stage}.total_bytes")
    return Entry("HBM peak", text, "error" if share > 1 else "", figure, share)
