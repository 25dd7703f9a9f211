"""The report of a drawing and its step as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from model.document.document import Document
from model.files.exports.parts import product_name
from model.files.exports.wording import finding_line, job_line, memory_peak
from model.job.exchange import EXCHANGE_DIMENSIONS, dimension_name
from model.placement.types import DIMENSIONS
from model.step.report import Analysis, Finding, Severity, StepReport
from model.text import (
    capital,
    format_bytes,
    format_percent,
    format_port,
    format_rate,
    format_ratio,
    format_seconds,
    name_list,
    plural,
    three_digits,
)
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.types import NETWORK_LINKS, ContainerKind, DeviceKind, LinkKind, State

_LINKS = 20
_STAGES = 64
_FINDINGS = 200
_MARKS = re.compile(r"([\\`*<>\[\]|])")
_EDGE_LINES = re.compile(r"(?<!\w)_|_(?!\w)")
_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def report_markdown(document: Document, analysis: Analysis, pictures: Mapping[str, str] | None = None) -> str:
    """Topology, placement, step, exposed communication, exchanges, dearest links, memory and findings.

    `pictures`: the name of a file and what it shows.
    """
    lines = [f"# {_plain(document.name or 'Untitled')}", "", _plain(job_line(document.job)), ""]
    for name, caption in (pictures or {}).items():
        lines += [f"![{_plain(caption)}]({name})", "", f"*{_plain(caption)}*", ""]
    lines += _topology(document)
    report = analysis.report
    if report is not None:
        lines += _placement(report) + _step(report) + _exchanges(report) + _links(report) + _memory(report)
    lines += ["## Findings", "", *_findings(analysis.findings)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Text that Markdown takes as it is; a name like `a_b` needs nothing."""
    return _EDGE_LINES.sub(r"\\_", _MARKS.sub(r"\\\1", " ".join(text.split())))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> list[str]:
    """Columns named in `numbers` are written to the right."""
    rule = ["---:" if name in numbers else "---" for name in head]
    cells = [[_plain(cell) for cell in head], rule, *([_plain(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells] + [""]


def _topology(document: Document) -> list[str]:
    """Devices by kind and model, and links by kind and speed."""
    topology = document.topology
    products: dict[tuple[DeviceKind, str], str] = {}
    counts: Counter[tuple[DeviceKind, str]] = Counter()
    down: Counter[tuple[DeviceKind, str]] = Counter()
    for device in topology.devices():
        key = (device.kind, device.model)
        products.setdefault(key, product_name(device))
        counts[key] += 1
        down[key] += device.state is State.DOWN
    order = list(DeviceKind)
    rows = [
        (
            capital(DEVICE_NAMES[kind]),
            products[kind, model],
            f"{counts[kind, model]:,}",
            f"{down[kind, model]:,}",
        )
        for kind, model in sorted(counts, key=lambda key: order.index(key[0]))
    ]
    boxes = Counter(box.kind for box in topology.containers())
    words = [plural(boxes[kind], kind.value) for kind in ContainerKind if boxes[kind]]
    lines = ["## Topology", "", f"{', '.join(words)}." if words else "No trays or racks.", ""]
    if rows:
        lines += _table(("Device", "Model", "Count", "Down"), rows, ("Count", "Down"))
    return lines + _link_table(document)


def _link_table(document: Document) -> list[str]:
    found: dict[tuple[LinkKind, float], tuple[int, int]] = {}
    for link in document.topology.links():
        bundles, lanes = found.get((link.kind, link.lane_bytes_per_s), (0, 0))
        found[link.kind, link.lane_bytes_per_s] = (bundles + 1, lanes + link.count)
    rows = [
        (
            LINK_NAMES[kind],
            format_port(lane) if kind in NETWORK_LINKS else format_rate(lane),
            f"{bundles:,}",
            f"{lanes:,}",
        )
        for (kind, lane), (bundles, lanes) in sorted(
            found.items(), key=lambda item: list(LinkKind).index(item[0][0])
        )
    ]
    head = ("Link", "Each lane or cable", "Bundles", "Lanes or cables")
    return _table(head, rows, head[1:]) if rows else []


def _placement(report: StepReport) -> list[str]:
    """The sizes of the job's dimensions and how far their groups reach, and where the stages are."""
    placement, fabric = report.placement, report.fabric
    devices = np.array([fabric.device_index[gpu] for gpu in placement.gpus], np.int64)
    host, domain = fabric.host[devices], fabric.domain[devices]
    rows = []
    for name in DIMENSIONS:
        groups = placement.groups[name]
        size = max((len(group) for group in groups), default=0)
        if size > 1:
            group_of = placement.group_of[name]
            reach = [f"{_most_met(group_of, of):,}" for of in (host, domain)]
            rows.append((name.upper(), f"{size:,}", f"{len(groups):,}", *reach))
    lines = [
        "## Placement",
        "",
        f"{plural(placement.world_size, 'rank')} on {plural(len(placement.gpus), 'GPU')}.",
        "",
    ]
    head = ("Dimension", "Members", "Groups", "Hosts a group meets", "Scale-up domains a group meets")
    if rows:
        lines += _table(head, rows, head[1:])
    if placement.conflicts:
        lines += [f"{plural(len(placement.conflicts), 'conflict')} in the colours; see the findings.", ""]
    return lines + _stage_table(report, host)


def _most_met(group_of: np.ndarray, place: np.ndarray) -> int:
    """The largest number of places that members of one group are at."""
    known = (group_of >= 0) & (place >= 0)
    if not known.any():
        return 0
    pairs = np.unique(np.stack([group_of[known], place[known]], axis=1), axis=0)
    return int(np.bincount(pairs[:, 0]).max())


def _stage_table(report: StepReport, host: np.ndarray) -> list[str]:
    stages = np.unique(report.stage_of_gpu[report.stage_of_gpu >= 0])
    if len(stages) < 2 or len(stages) > _STAGES:
        return []
    rows = []
    for stage in stages.tolist():
        mine = report.stage_of_gpu == stage
        hosts = [report.fabric.host_ids[at] for at in dict.fromkeys(host[mine].tolist()) if at >= 0]
        rows.append((str(stage), f"{int(mine.sum()):,}", name_list(hosts)))
    return _table(("Stage", "GPUs", "Hosts"), rows, ("GPUs",))


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
    return ["## Step", "", *_table(("Figure", "Value"), rows, ("Value",))]


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
    table = _table(head, rows, ("Group", "Message", "Times", "Exposed")) if rows else ["None.", ""]
    return ["## Exchanges", "", *table]


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
    lines = _table(head, table, head[1:]) if table else ["No link carries anything.", ""]
    return ["## Dearest links", "", *lines]


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
    return ["## Memory of a GPU", "", *_table(head, rows, head[1:])]


def _findings(findings: Sequence[Finding]) -> list[str]:
    """The worst first; `check` lists all where there are very many."""
    if not findings:
        return ["None."]
    ordered = sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))
    lines = [f"- {_plain(finding_line(finding))}" for finding in ordered[:_FINDINGS]]
    if len(findings) > _FINDINGS:
        lines += ["", f"And {len(findings) - _FINDINGS:,} more."]
    return lines
