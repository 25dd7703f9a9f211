"""What the groups of each pipeline stage have to exchange: operation, bytes, count and what may hide it.

Which GPUs form the groups is `plan`. Token counts and probabilities of experts, the gradient norm and the
loss cost latency and no bytes (conventions 19): they are no exchanges, see `model.step.small`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from model.job.chunks import runs_both_ways
from model.job.context_needs import context_needs
from model.job.data_needs import data_needs
from model.job.exchange import When
from model.job.expert_needs import expert_needs
from model.job.need import Need
from model.job.parameters import stage_parameters
from model.job.shape import ModelShape, layers_per_stage
from model.job.spec import JobSpec
from model.job.tensor_needs import end_needs, layer_needs, pipeline_needs
from model.placement.grid import Grid

_PER_MICROBATCH = frozenset({When.FORWARD, When.BACKWARD})


def needs(job: JobSpec, shape: ModelShape, grid: Grid) -> Iterator[Need]:
    """Everything but sends between stages and storage, in the order tp, cp, ep, dp and by stage in each."""
    found = _one_way(job, shape, grid)
    return _both_ways(found, grid.pp) if runs_both_ways(job) else found


def _one_way(job: JobSpec, shape: ModelShape, grid: Grid) -> Iterator[Need]:
    layers = layers_per_stage(job, shape)
    parameters = stage_parameters(job, shape, copies=False)
    if grid.tp > 1:
        for stage in layers:
            yield from layer_needs(job, shape, grid, stage)
        yield from end_needs(job, shape, grid, parameters)
        yield from pipeline_needs(job, shape, grid)
    if grid.cp > 1:
        for stage in layers:
            yield from context_needs(job, shape, grid, stage)
    if grid.ep * grid.etp > 1:
        for stage in layers:
            yield from expert_needs(job, shape, grid, stage)
    for held, stage in zip(parameters, layers, strict=True):
        yield from data_needs(job, shape, grid, held, stage)


def _both_ways(found: Iterator[Need], stages: int) -> Iterator[Need]:
    """DualPipe: each rank runs its stage for half of the microbatches, that of the other end for the rest.

    Chunk 0 of a rank is its own stage, chunk 1 the copy of the other one. What runs once a step runs for
    both.
    """
    for need in found:
        half = need.when in _PER_MICROBATCH
        count = need.count // 2 if half else need.count
        own = replace(need, count=count, chunk=0)
        yield own
        yield replace(own, stage=stages - 1 - need.stage, chunk=1)
