"""Which model chunks the ranks of a pipeline hold, by schedule (traffic_model §6, conventions 24 and 31).

The model is cut into positions σ = 0 … n − 1, each some layers. Interleaved schedules deal them out in turn
(σ mod p), ZB-V down and up again, the others one to a rank. DualPipe runs the pipeline from both ends, so
that rank r also holds a copy of the stage of rank p − 1 − r.
"""

from __future__ import annotations

from itertools import pairwise

from model.job.spec import JobSpec

ONE_CHUNK = frozenset({"gpipe", "zb-h1", "dualpipe"})

MOST_CHUNKS = 2**17
"""Stages × chunks × microbatches that a step may have: a few seconds of simulation."""


def running_schedule(job: JobSpec) -> str:
    """The schedule that runs: with one stage the plain one, and 1F1B or interleaved by `vpp`."""
    if job.parallel.pp == 1:
        return "1f1b"
    if job.schedule in ("1f1b", "interleaved"):
        return "interleaved" if job.parallel.vpp > 1 else "1f1b"
    return job.schedule


def chunks_per_rank(job: JobSpec) -> int:
    """v: positions on each rank. ZB-V always has 2."""
    return 2 if running_schedule(job) == "zb-v" else job.parallel.vpp


def positions(job: JobSpec) -> int:
    """p · v: positions of the whole model."""
    return job.parallel.pp * chunks_per_rank(job)


def rank_of(job: JobSpec, position: int) -> int:
    """The pipeline rank that holds a position."""
    p = job.parallel.pp
    if running_schedule(job) == "zb-v" and position >= p:
        return 2 * p - 1 - position
    return position % p


def head_rank(job: JobSpec) -> int:
    """The rank of the last position: output head and loss."""
    return rank_of(job, positions(job) - 1)


def runs_both_ways(job: JobSpec) -> bool:
    """Whether half of the microbatches enter at the last rank (DualPipe)."""
    return running_schedule(job) == "dualpipe"


def microbatch_group(job: JobSpec) -> int:
    """N: microbatches that pass one chunk before the next one's turn; p unless given."""
    return job.parallel.microbatch_group or job.parallel.pp


def hops(job: JobSpec) -> tuple[tuple[int, int], ...]:
    """(from rank, to rank) of every step from one position to the next that leaves a rank."""
    ranks = [rank_of(job, position) for position in range(positions(job))]
    return tuple((one, other) for one, other in pairwise(ranks) if one != other)
