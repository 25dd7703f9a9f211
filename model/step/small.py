"""What is too small to count on links and costs latency all the same (conventions 19).

Before tokens go to their experts each rank tells the others how many there are, and the probabilities go
with them (traffic_model §3.4); after the gradients are summed every rank waits for the sum of the loss and
for the norm of all gradients (§3.3). No exchange of the plan stands for these: waiting for them is bubble
(conventions 46). Long fibres between sites are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from model.job.members import groups_of
from model.job.spec import JobSpec
from model.placement.types import Placement
from model.traffic.arrays import FloatArray, IndexArray
from model.traffic.fabric import gpu_indices
from model.traffic.latency import hop_s, ring_s, tree_s
from model.traffic.parts import Parts, cut_into_parts
from model.traffic.types import Fabric

_SecondsOf = Callable[[Parts, int], FloatArray]
"""From parts of groups and their size to seconds of each group."""

SHORT = "LL"  # NCCL's protocol for messages of a few bytes


@dataclass(frozen=True, slots=True)
class Small:
    """Seconds that wait for small exchanges.

    `forward_s`, `backward_s`: of one layer with experts and one microbatch. `closing_s`: between the last sum
    of gradients and the optimizer, once a step.
    """

    forward_s: float = 0.0
    backward_s: float = 0.0
    closing_s: float = 0.0


def small_latencies(job: JobSpec, fabric: Fabric, placement: Placement) -> Small:
    """The latencies of a job on a drawing; of several groups those of the slowest."""
    devices = gpu_indices(fabric, placement.gpus).astype(np.int64)

    def slowest(groups: list[IndexArray], seconds_of: _SecondsOf) -> float:
        each = [seconds_of(cut_into_parts(fabric, devices[own]), own.shape[1]) for own in groups if len(own)]
        return max((float(found.max()) for found in each), default=0.0)

    experts = _groups(placement, "ep")
    counts, probabilities = slowest(experts, _gather_s), slowest(experts, _exchange_s)
    forward = counts + probabilities
    return Small(
        forward_s=forward,
        backward_s=probabilities + (forward if job.recompute == "full" else 0.0),
        closing_s=slowest(_groups(placement, "dp-cp"), _sum_s) + slowest(_of_norm(job, placement), _sum_s),
    )


def _groups(placement: Placement, key: str) -> list[IndexArray]:
    return [own.members.astype(np.int64) for own in groups_of(placement, key)]


def _of_norm(job: JobSpec, placement: Placement) -> list[IndexArray]:
    """Who sums the norm: all where the optimizer is sharded, else the ranks of one copy of the model."""
    playing = np.flatnonzero(placement.rank >= 0)
    if job.parallel.zero:
        rows = [playing]
    else:
        copy = placement.coordinates["dp"] * job.parallel.cp + placement.coordinates["cp"]
        rows = [playing[copy[playing] == one] for one in np.unique(copy[playing])]
    return [row[None, :] for row in rows if len(row) > 1]


def _gather_s(parts: Parts, size: int) -> FloatArray:
    return ring_s(size - 1, parts.group_size - 1, SHORT)


def _exchange_s(parts: Parts, _size: int) -> FloatArray:
    """One step, over the network where a group has several parts."""
    return hop_s(parts.group_size == 1)


def _sum_s(parts: Parts, _size: int) -> FloatArray:
    return tree_s(parts.largest, parts.group_size, SHORT)
