"""What a pipeline rank keeps for backwards that have not run yet, by schedule (traffic_model §2.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.job.chunks import chunks_per_rank, microbatch_group, running_schedule, runs_both_ways
from model.job.spec import JobSpec

_MOST_STEPS = 2**20


def stages_in_flight(job: JobSpec, rank: int, microbatches: int) -> float:
    """Forwards that a rank holds at most, in microbatches of all its chunks (of DualPipe: of one of both).

    GPipe m; 1F1B min(m, p − r); interleaved min(m·v, 2(p − r − 1) + (v − 1)·N + 1) chunks of v; ZB-H1 and
    ZB-V as 1F1B on rank 0: min(m, p); DualPipe min(m, p + 1).
    """
    p, m = job.parallel.pp, microbatches
    schedule = running_schedule(job)
    if schedule == "interleaved":
        return chunks_in_flight(job, rank, m) / chunks_per_rank(job)
    most = {"gpipe": m, "1f1b": p - rank, "zb-h1": p, "zb-v": p, "dualpipe": p + 1}[schedule]
    return min(m, most)


def chunks_in_flight(job: JobSpec, rank: int, microbatches: int) -> int:
    """Forwards of single chunks that a rank holds at most under an interleaved schedule."""
    return min(microbatches * chunks_per_rank(job), _warm_up(job, rank) + 1)


def most_kept(job: JobSpec, rank: int, microbatches: int, each: Sequence[float]) -> float:
    """The most that a rank keeps at once when one microbatch of its chunk j keeps `each[j]`.

    Where chunks differ under an interleaved schedule, the order of Megatron-Core's schedule table decides
    which are in flight; it repeats after two groups of microbatches. A table beyond `_MOST_STEPS` counts all
    in flight as the largest.
    """
    if running_schedule(job) != "interleaved":
        return stages_in_flight(job, rank, microbatches) * sum(each) / (2 if runs_both_ways(job) else 1)
    held, v = chunks_in_flight(job, rank, microbatches), len(each)
    if len(set(each)) == 1 or 3 * v * microbatch_group(job) > _MOST_STEPS:
        return held * max(each)
    chunk = _forward_order(microbatches, microbatch_group(job), v)
    size = np.asarray(each, dtype=np.float64)
    forwards = np.cumsum(size[chunk])
    freed = np.concatenate([[0.0], np.cumsum(size[v - 1 - chunk])])
    later = np.arange(len(chunk) - held + 1)
    return float((forwards[held - 1 + later] - freed[later]).max())


def _warm_up(job: JobSpec, rank: int) -> int:
    """Forwards before the first backward."""
    return 2 * (job.parallel.pp - rank - 1) + (chunks_per_rank(job) - 1) * microbatch_group(job)


def _forward_order(microbatches: int, group: int, chunks: int) -> NDArray[np.int64]:
    """The chunk of each forward: groups of N microbatches pass chunk 0, then chunk 1, …; three groups."""
    sizes = [min(group, microbatches - first) for first in range(0, min(microbatches, 3 * group), group)]
    return np.concatenate([np.repeat(np.arange(chunks), size) for size in sizes])
