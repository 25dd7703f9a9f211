"""Runs published rows through the engine, as a document on a drawn cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.published_fabrics import cluster
from benchmarks.published_rows import Row
from model.analysis import analyse
from model.document.document import Document
from model.errors import RailsketchError
from model.job.memory import StageMemory, around_bytes
from model.job.sizes import grid_of, microbatches
from model.job.spec import JobSpec, parse_job
from model.step.report import StepReport

GIB = 2.0**30
MOST_PIECES = 6144  # chunks of microbatches that a step may have to be run whole
SHORTER, LONGER = 2, 3  # microbatches for each stage in its place
LEAST_SHARE = 0.005  # of the step, to be named among what it is made of


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row and what the engine says of it; `reason` where it says nothing.

    `memory_gib` is the fullest stage without context, communicator buffers and fragmentation. `shortened`:
    the time was extended from two steps of fewer microbatches.
    """

    row: Row
    time_s: float | None = None
    memory_gib: float | None = None
    reason: str = ""
    waits: str = ""
    shortened: bool = False

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
    reports: list[StepReport] = []
    lengths = step_lengths(job, row.gpus)
    for length in lengths:
        analysis = analyse(Document(drawn.topology, length.job), drawn.cache)
        if analysis.report is None:
            errors = [f"{finding.title}: {finding.detail}" for finding in analysis.findings]
            return Outcome(row, reason=errors[0] if errors else "no report")
        reports.append(analysis.report)
    totals = reports[-1].totals
    parts = {"compute": totals.compute_s, "optimizer": totals.optimizer_s, "bubble": totals.bubble_s}
    parts |= dict(totals.exposed_s)
    return Outcome(
        row,
        time_s=extended(lengths, [report.totals.time_s for report in reports]),
        memory_gib=max(_allocated(job, row.gpus, one) for one in reports[-1].memory) / GIB,
        waits=" ".join(
            f"{name} {100 * seconds / totals.time_s:.0f}"
            for name, seconds in parts.items()
            if seconds > LEAST_SHARE * totals.time_s
        ),
        shortened=len(lengths) > 1,
    )


@dataclass(frozen=True, slots=True)
class StepLength:
    """A job with some number of microbatches; `whole` is how many its row has."""

    microbatches: int
    job: JobSpec
    whole: int


def step_lengths(job: JobSpec, gpus: int) -> tuple[StepLength, ...]:
    """The job itself; a step of very many pieces at two smaller batches in its place."""
    grid = grid_of(job, gpus)
    whole = microbatches(job, grid)
    if whole * grid.pp * job.parallel.vpp <= MOST_PIECES or whole <= LONGER * grid.pp:
        return (StepLength(whole, job, whole),)
    each = job.global_batch // whole
    return tuple(
        StepLength(size, job.model_copy(update={"global_batch": each * size}), whole)
        for size in (SHORTER * grid.pp, LONGER * grid.pp)
    )


def extended(lengths: Sequence[StepLength], times: Sequence[float]) -> float:
    """The time of the whole step: once the pipeline is full, every microbatch takes as long as the last."""
    first, last = lengths[0], lengths[-1]
    if len(lengths) == 1:
        return times[0]
    each = (times[-1] - times[0]) / (last.microbatches - first.microbatches)
    return times[-1] + each * (last.whole - last.microbatches)


def _allocated(job: JobSpec, gpus: int, stage: StageMemory) -> float:
    """What an allocator counts: without context, communicator buffers and fragmentation (conventions 27)."""
    return stage.total_bytes - around_bytes(job, grid_of(job, gpus), stage.activations_bytes)
