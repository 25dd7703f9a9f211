"""The traffic of a step as CSV: bytes between GPUs, and a row for each exchange."""

from __future__ import annotations

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.csv_text import sheet_text
from model.files.exports.drawing import watched
from model.job.exchange import Operation
from model.step.report import StepReport
from model.text import plural, sentence
from model.traffic.matrix import gpu_matrix

_EXCHANGE = (
    *("id", "dimension", "kind", "operation", "algorithm", "groups", "group_size", "message_bytes"),
    *("count_per_step", "waits", "sent_bytes_per_gpu_per_step", "time_s", "exposed_s"),
)
_MOST_OPTION = ExportOption("most", "GPUs up to which each has its own row (hosts above)", "256")
_LARGEST = 4096


def report_of(source: ExportSource) -> StepReport:
    """The report of the step. Raises `InputError` with the reason where there is none."""
    analysis = source.analysis
    if analysis.report is None:
        errors = [finding.title for finding in analysis.findings if finding.severity.value == "error"]
        why = sentence(errors[0]) if errors else "There is no GPU that works."
        raise InputError(f"No step could be worked out: {why}")
    return analysis.report


def _write_matrix(source: ExportSource) -> Exported:
    """Rows send, columns receive; the sum is that of `model.traffic.matrix`."""
    most = source.number(_MOST_OPTION, 1, _LARGEST)
    report = report_of(source)
    source.progress(0.7, "adding up the traffic")
    found = gpu_matrix(report.fabric, report.placement, report.exchanges, most)
    rows = zip(found.labels, found.matrix.tolist(), strict=True)
    text = sheet_text(
        ("bytes per step, from row to column", *found.labels),
        ((label, *(repr(value) for value in row)) for label, row in rows),
    )
    notes = []
    gpus = len(report.placement.gpus)
    if len(found.labels) < gpus:
        notes.append(f"{plural(gpus, 'GPU')} are summed up in {len(found.labels):,} rows, by host.")
    storage = sum(1 for one in report.exchanges if one.operation in (Operation.READ, Operation.WRITE))
    if storage:
        notes.append(f"Left out: {plural(storage, 'exchange')} with storage.")
    return Exported({"": text}, tuple(notes))


def _write_exchanges(source: ExportSource) -> Exported:
    report = report_of(source)
    traffic = report.traffic
    rows = zip(
        watched(source, report.exchanges, "writing exchanges", 0.9),
        traffic.algorithms,
        traffic.sent_bytes_per_gpu.tolist(),
        report.exchange_times,
        strict=True,
    )
    text = sheet_text(
        _EXCHANGE,
        (
            (
                exchange.id,
                exchange.dimension,
                exchange.kind,
                exchange.operation.value,
                algorithm,
                len(exchange.groups),
                exchange.group_size,
                exchange.message_bytes,
                exchange.count_per_step,
                "blocking" if exchange.blocking else "hidden",
                repr(sent),
                repr(times.time_s),
                repr(times.exposed_s),
            )
            for exchange, algorithm, sent, times in rows
        ),
    )
    return Exported({"": text}, ("Left out: which GPUs are in each group (the traffic export has them).",))


FORMATS = (
    ExportFormat(
        id="traffic-matrix-csv",
        name="Traffic matrix (CSV)",
        suffix=".csv",
        write=_write_matrix,
        use="Bytes of a step from each GPU (or host) to each other one, for tables and other simulators.",
        lacks="Which exchange, which way and when; reads and writes of storage.",
        options=(_MOST_OPTION,),
    ),
    ExportFormat(
        id="exchange-csv",
        name="Exchanges of a step (CSV)",
        suffix=".csv",
        write=_write_exchanges,
        use="A row for each kind of exchange: operation, algorithm, bytes, how often, and what it costs.",
        lacks="Links, the timeline, and the members of groups.",
    ),
)
