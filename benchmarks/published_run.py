"""Runs published rows through the engine, as a document on a drawn cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.published_fabrics import cluster
from benchmarks.published_rows import Row
from model.analysis import analyse
from model.document.document import Document
from model.errors import RailsketchError
from model.job.memory import COMMUNICATOR_BYTES, CONTEXT_BYTES, FRAGMENTATION, StageMemory
from model.job.not_built import not_built
from model.job.spec import parse_job

GIB = 2.0**30
LEAST_SHARE = 0.005  # of the step, to be named among what it is made of


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row and what the engine says of it; `reason` where it says nothing.

    `memory_gib` is the fullest stage without context, communicator buffers and fragmentation.
    """

    row: Row
    time_s: float | None = None
    memory_gib: float | None = None
    reason: str = ""
    waits: str = ""

    @property
    def error(self) -> float | None:
        """(ours − measured) ÷ measured."""
        if self.time_s is None or self.row.measured_s is None:
            return None
        return self.time_s / self.row.measured_s - 1.0

    @property
    def memory_error(self) -> float | None:
        """The same of peak memory."""
        if self.memory_gib is None or self.row.measured_gib is None:
            return None
        return self.memory_gib / self.row.measured_gib - 1.0


def run_rows(rows: Iterable[Row]) -> Iterator[Outcome]:
    """All rows, those on one cluster together so that it is compiled once."""
    for row in sorted(rows, key=lambda one: (one.gpu, one.gpus, one.node_gbit_per_s or 0.0, one.ident)):
        yield run_row(row)


def run_row(row: Row) -> Outcome:
    """One row. What the engine cannot do is the reason in the outcome, never an exception."""
    if row.unusable:
        return Outcome(row, reason=row.unusable)
    try:
        drawn = cluster(row.gpu, row.gpus, row.node_gbit_per_s)
        job = parse_job({**row.job, "world": list(drawn.world)})
    except RailsketchError as error:
        return Outcome(row, reason=str(error))
    missing = not_built(job)
    if missing:
        return Outcome(row, reason=f"not built yet: {'; '.join(missing)}")
    analysis = analyse(Document(drawn.topology, job), drawn.cache)
    report = analysis.report
    if report is None:
        errors = [f"{finding.title}: {finding.detail}" for finding in analysis.findings]
        return Outcome(row, reason=errors[0] if errors else "no report")
    totals = report.totals
    parts = {"compute": totals.compute_s, "optimizer": totals.optimizer_s, "bubble": totals.bubble_s}
    parts |= dict(totals.exposed_s)
    return Outcome(
        row,
        time_s=totals.time_s,
        memory_gib=max(_allocated(row, one) for one in report.memory) / GIB,
        waits=" ".join(
            f"{name} {100 * seconds / totals.time_s:.0f}"
            for name, seconds in parts.items()
            if seconds > LEAST_SHARE * totals.time_s
        ),
    )


def _allocated(row: Row, stage: StageMemory) -> float:
    """What an allocator counts: without context, communicator buffers and fragmentation (conventions 27)."""
    sizes = row.job["parallel"]
    dimensions = sum(sizes[name] > 1 for name in ("tp", "cp", "ep", "pp", "dp"))
    outside = CONTEXT_BYTES + COMMUNICATOR_BYTES * dimensions + FRAGMENTATION * stage.activations_bytes
    return float(stage.total_bytes - outside)
