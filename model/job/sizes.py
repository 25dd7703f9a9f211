"""Sizes that follow from a job and the number of GPUs, shared by parameters, memory, compute and plan."""

from __future__ import annotations

from model.errors import JobError
from model.job.spec import JobSpec
from model.placement.grid import Grid


def grid_of(job: JobSpec, world_size: int) -> Grid:
    """The grid of a job on `world_size` GPUs. Raises JobError when the sizes do not fit (see `legality`)."""
    own = job.parallel
    model_parallel = own.tp * own.cp * own.pp
    dp = own.dp if own.dp is not None else world_size // model_parallel
    if dp < 1 or model_parallel * dp != world_size:
        sizes = f"{own.tp} × {own.cp} × {own.pp} × {dp}"
        raise JobError(f"tp × cp × pp × dp = {sizes} is not the {world_size} GPUs there are")
    return Grid(tp=own.tp, cp=own.cp, ep=own.ep, etp=own.etp, pp=own.pp, dp=dp, order=own.order)


def microbatches(job: JobSpec, grid: Grid) -> int:
    """m = B / (b · D): microbatches of one replica in a step."""
    return job.global_batch // (job.microbatch * grid.dp)


def tokens(job: JobSpec) -> int:
    """T = s · b / c: tokens of a microbatch on one CP rank."""
    return job.sequence_length * job.microbatch // job.parallel.cp


def local_tokens(job: JobSpec) -> int:
    """Tokens of a microbatch that one rank hands to its experts: T / t under sequence parallelism."""
    return tokens(job) // job.parallel.tp if uses_sequence_parallelism(job) else tokens(job)


def uses_sequence_parallelism(job: JobSpec) -> bool:
    """With tp = 1 it is off, silently (conventions 9)."""
    return job.parallel.sequence_parallel and job.parallel.tp > 1


def padded_vocabulary(vocabulary: int, multiple: int, tp: int) -> int:
    """V = ceil(V0 / (k · t)) · k · t (conventions 23)."""
    unit = multiple * tp
    return -(-vocabulary // unit) * unit


def activation_bytes(job: JobSpec) -> int:
    """β: bytes of one activation or weight; 8- and 4-bit recipes keep 16 bits (conventions 14, 27)."""
    return 4 if job.precision == "fp32" else 2


def gradient_bytes(job: JobSpec) -> int:
    """βg: bytes of one gradient that is kept and reduced."""
    return 4 if job.gradient_precision == "fp32" else 2


def microbatches_in_flight(stage: int, stages: int, count: int) -> int:
    """Forwards that a stage holds at most under 1F1B: min(m, p − r) (traffic_model §2.4)."""
    return min(count, stages - stage)
