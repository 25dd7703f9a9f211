"""Compute time of each piece of the pipeline (traffic_model §9).

`kernels` says how long single kernels take, `layer_times` what a layer is made of; here layers become chunks
and stages.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.catalog import GpuSpec
from model.job.chunks import positions
from model.job.flops import layer_flops_per_token
from model.job.kernels import Speeds, speeds_of
from model.job.layer_times import LayerTimes, head_times, layer_times
from model.job.parameters import StageParameters, stage_parameters
from model.job.shape import ModelShape, StageLayers, layers_per_chunk
from model.job.sizes import dense_shards, expert_shards, tokens
from model.job.spec import JobSpec
from model.placement.grid import Grid

OPTIMIZER_BYTES_PER_PARAMETER = 30


@dataclass(frozen=True, slots=True)
class ChunkCompute:
    """Seconds of compute of one position of the pipeline for one microbatch, at full GPU speed.

    Without any communication. `backward_s` is with recompute; `dgrad_s` and `wgrad_s` are the parts of it in
    input-gradient and weight-gradient GEMMs, the windows that can hide TP traffic. `attention_s` and
    `attention_backward_s` are the parts of forward and backward in core attention, the window of the ring of
    context parallelism. `stage` is the rank that holds the position; the last one has the head and the loss.
    """

    stage: int
    forward_s: float
    backward_s: float
    dgrad_s: float
    wgrad_s: float
    attention_s: float = 0.0
    attention_backward_s: float = 0.0


@dataclass(frozen=True, slots=True)
class StageCompute:
    """Seconds of compute of one stage: the sum of its chunks, and the optimizer once a step."""

    stage: int
    forward_s: float
    backward_s: float
    dgrad_s: float
    wgrad_s: float
    optimizer_s: float


def stage_computes(job: JobSpec, shape: ModelShape, grid: Grid, gpu: GpuSpec) -> tuple[StageCompute, ...]:
    """Compute of every stage of a legal job on GPUs of one kind.

    Raises JobError when the GPU cannot multiply matrices in the job's precision.
    """
    memory = speeds_of(job, gpu).memory
    of_stage: list[list[ChunkCompute]] = [[] for _ in range(job.parallel.pp)]
    for chunk in chunk_computes(job, shape, gpu):
        of_stage[chunk.stage].append(chunk)
    return tuple(
        StageCompute(
            stage=held.stage,
            forward_s=sum(chunk.forward_s for chunk in chunks),
            backward_s=sum(chunk.backward_s for chunk in chunks),
            dgrad_s=sum(chunk.dgrad_s for chunk in chunks),
            wgrad_s=sum(chunk.wgrad_s for chunk in chunks),
            optimizer_s=_optimizer_s(job, grid, held, memory),
        )
        for chunks, held in zip(of_stage, stage_parameters(job, shape), strict=True)
    )


def chunk_computes(job: JobSpec, shape: ModelShape, gpu: GpuSpec) -> tuple[ChunkCompute, ...]:
    """Compute of every position σ of a legal job (`chunks` says which rank holds it).

    Raises JobError when the GPU cannot multiply matrices in the job's precision.
    """
    speeds = speeds_of(job, gpu)
    dense, routed = (_measured(job, layer_times(job, shape, speeds, moe=moe)) for moe in (False, True))
    last = positions(job) - 1
    return tuple(
        _chunk(job, shape, speeds, (dense, routed), layers, head=position == last)
        for position, layers in enumerate(layers_per_chunk(job, shape))
    )


def _chunk(
    job: JobSpec,
    shape: ModelShape,
    speeds: Speeds,
    kinds: tuple[LayerTimes, LayerTimes],
    layers: StageLayers,
    *,
    head: bool,
) -> ChunkCompute:
    counted = tuple(zip(kinds, (layers.dense, layers.moe), strict=True))
    forward = sum(kind.forward * count for kind, count in counted)
    backward = sum(kind.backward(job) * count for kind, count in counted)
    dgrad = sum(kind.matrices * count for kind, count in counted)
    launches = sum(kind.launches * count for kind, count in counted)
    passes = 3 if job.recompute == "full" else 2
    host_forward, host_backward = launches * speeds.issue, passes * launches * speeds.issue
    if head:
        gemm, loss = head_times(job, shape, speeds)
        forward, backward, dgrad = forward + gemm + loss, backward + 2 * (gemm + loss), dgrad + gemm
    if job.calibration.mfu is not None:
        return _at_mfu(job, shape, speeds, layers, head=head)
    if job.calibration.layer_forward_s is None:
        forward, backward = max(forward, host_forward), max(backward, host_backward)
    attention = sum(kind.attention * count for kind, count in counted)
    attention_backward = sum(kind.attention_backward * count for kind, count in counted)
    return ChunkCompute(layers.stage, forward, backward, dgrad, dgrad, attention, attention_backward)


def _measured(job: JobSpec, modelled: LayerTimes) -> LayerTimes:
    """A layer by its measured forward time: everything in proportion to the modelled one."""
    seconds = job.calibration.layer_forward_s
    if seconds is None:
        return modelled
    return modelled.scaled(seconds / modelled.forward)


def _at_mfu(
    job: JobSpec, shape: ModelShape, speeds: Speeds, layers: StageLayers, *, head: bool
) -> ChunkCompute:
    """A chunk whose model FLOPs run at a measured share of the peak; recompute comes on top."""
    speed = speeds.peak * (job.calibration.mfu or 1.0)
    of_layers = tokens(job) / job.parallel.tp * layer_flops_per_token(job, shape, layers.dense, layers.moe)
    of_head = (
        tokens(job) / job.parallel.tp * layer_flops_per_token(job, shape, 0, 0, head=True) if head else 0.0
    )
    forward = (of_layers + of_head) / speed
    again = of_layers / speed if job.recompute == "full" else 0.0
    return ChunkCompute(layers.stage, forward, 2 * forward + again, forward, forward)


def _optimizer_s(job: JobSpec, grid: Grid, held: StageParameters, memory: float) -> float:
    share: float = held.total
    if job.parallel.zero > 0:
        share = held.dense / dense_shards(job, grid) + held.experts / expert_shards(job, grid)
    return OPTIMIZER_BYTES_PER_PARAMETER * share / memory
