"""What the groups of each pipeline stage have to exchange: operation, bytes, count and what may hide it.

traffic_model §3 and §7, conventions 8–14, 19 and 21. Which GPUs form the groups is `plan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from model.job.exchange import ExchangeDimension, Operation, When, Window
from model.job.parameters import StageParameters, stage_parameters
from model.job.shape import ModelShape, StageLayers, layers_per_stage
from model.job.sizes import (
    activation_bytes,
    gradient_bytes,
    local_tokens,
    microbatches,
    tokens,
    uses_sequence_parallelism,
)
from model.job.spec import JobSpec
from model.placement.grid import Grid, GroupKey

FP8_BLOCK = 128  # elements that share one 4-byte scale
CROSS_ENTROPY_REDUCTIONS = 3


@dataclass(frozen=True, slots=True)
class Need:
    """One collective that every group of `group_key` at `stage` runs `count` times a step."""

    name: str
    kind: str
    dimension: ExchangeDimension
    group_key: GroupKey
    operation: Operation
    stage: int
    message_bytes: int
    count: int
    when: When
    window: Window = Window.NONE
    time_factor: float = 1.0


def needs(job: JobSpec, shape: ModelShape, grid: Grid) -> Iterator[Need]:
    """Everything but the pipeline's own exchanges, in the order tp, ep, dp and by stage within each kind."""
    layers, parameters = layers_per_stage(job, shape), stage_parameters(job, shape)
    if grid.tp > 1:
        for stage in layers:
            yield from _layer_tensor(job, shape, grid, stage)
        yield from _beside_layers(job, shape, grid, parameters)
    if grid.ep > 1:
        for stage in layers:
            yield from _experts(job, shape, grid, stage)
    for held in parameters:
        if grid.dp * grid.cp > 1:
            yield from _data(job, grid, held.stage, held.dense, "dp-cp")
        if grid.edp > 1:
            yield from _data(job, grid, held.stage, held.experts, "edp")


def _tensor(
    kind: str, operation: Operation, stage: int, message_bytes: int, count: int, when: When,
    window: Window = Window.NONE, name: str = "",
) -> Need:  # fmt: skip
    return Need(
        name=f"{name or kind}.{operation.value}",
        kind=kind,
        dimension="tp",
        group_key="tp",
        operation=operation,
        stage=stage,
        message_bytes=message_bytes,
        count=count,
        when=when,
        window=window,
    )


def _layer_tensor(job: JobSpec, shape: ModelShape, grid: Grid, layers: StageLayers) -> Iterator[Need]:
    """Around attention and MLP of each layer; of experts only shared ones need it (conventions 10)."""
    m, stage = microbatches(job, grid), layers.stage
    size = activation_bytes(job) * tokens(job) * shape.hidden
    blocks = 2 * layers.dense + (2 if shape.shared_ffn else 1) * layers.moe
    count = m * blocks
    gather, scatter, reduce = Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_REDUCE
    sequence = uses_sequence_parallelism(job)
    forward = (gather, scatter) if sequence else (reduce,)
    for operation in forward:
        yield _tensor("tp.forward", operation, stage, size, count, When.FORWARD)
    if sequence:
        yield _tensor("tp.backward", gather, stage, size, count, When.BACKWARD)
        yield _tensor("tp.backward", scatter, stage, size, count, When.BACKWARD, Window.WGRAD)
        yield _tensor(
            "tp.backward", gather, stage, size, count, When.BACKWARD, Window.DGRAD, "tp.backward.inputs"
        )
    else:
        yield _tensor("tp.backward", reduce, stage, size, count, When.BACKWARD, Window.WGRAD)
    if job.recompute == "full":
        for operation in forward:
            yield _tensor(
                "tp.forward", operation, stage, size, count, When.BACKWARD, name="tp.forward.recompute"
            )


def _beside_layers(
    job: JobSpec, shape: ModelShape, grid: Grid, parameters: tuple[StageParameters, ...]
) -> Iterator[Need]:
    """Embedding, output head, loss and norm gradients (conventions 8)."""
    m, last = microbatches(job, grid), grid.pp - 1
    size = activation_bytes(job) * tokens(job) * shape.hidden
    gather, scatter, reduce = Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_REDUCE
    if uses_sequence_parallelism(job):
        yield _tensor("tp.embedding", scatter, 0, size, m, When.FORWARD)
        yield _tensor("tp.embedding", gather, 0, size, m, When.BACKWARD)
        yield _tensor("tp.head", gather, last, size, m, When.FORWARD)
        yield _tensor("tp.head", scatter, last, size, m, When.BACKWARD, Window.WGRAD)
        yield _tensor("tp.head", gather, last, size, m, When.BACKWARD, Window.DGRAD, "tp.head.inputs")
    else:
        yield _tensor("tp.embedding", reduce, 0, size, m, When.FORWARD)
        yield _tensor("tp.head", reduce, last, size, m, When.BACKWARD, Window.WGRAD)
    count = CROSS_ENTROPY_REDUCTIONS * m
    yield _tensor("tp.cross-entropy", reduce, last, 4 * tokens(job), count, When.FORWARD)
    if uses_sequence_parallelism(job):
        for held in parameters:
            yield _tensor("tp.norm-gradient", reduce, held.stage, 4 * held.norms, 1, When.BEFORE_OPTIMIZER)


def _experts(job: JobSpec, shape: ModelShape, grid: Grid, layers: StageLayers) -> Iterator[Need]:
    """All-to-all to the experts and back, and the same mirrored for the gradients (traffic_model §3.4)."""
    if shape.moe is None:
        return
    copies = local_tokens(job) * shape.moe.top_k
    wide = narrow = activation_bytes(job) * shape.hidden
    if job.experts.dispatch_precision == "fp8":
        narrow = shape.hidden + -(-4 * shape.hidden // FP8_BLOCK)
    passes = [
        ("ep.dispatch", "", narrow, When.FORWARD),
        ("ep.combine", "", wide, When.FORWARD),
        ("ep.combine-gradient", "", narrow, When.BACKWARD),
        ("ep.dispatch-gradient", "", wide, When.BACKWARD),
    ]
    if job.recompute == "full":
        passes += [
            ("ep.dispatch", ".recompute", narrow, When.BACKWARD),
            ("ep.combine", ".recompute", wide, When.BACKWARD),
        ]
    for kind, suffix, each, when in passes:
        yield Need(
            name=f"{kind}{suffix}",
            kind=kind,
            dimension="ep",
            group_key="ep",
            operation=Operation.ALL_TO_ALL,
            stage=layers.stage,
            message_bytes=copies * each,
            count=microbatches(job, grid) * layers.moe,
            when=when,
            time_factor=job.experts.imbalance,
        )


def _data(job: JobSpec, grid: Grid, stage: int, parameters: int, key: GroupKey) -> Iterator[Need]:
    """Gradients and parameters of the replicas, by `zero` (conventions 14)."""
    m, zero = microbatches(job, grid), job.parallel.zero
    suffix = "-experts" if key == "edp" else ""
    gradients, weights = gradient_bytes(job) * parameters, activation_bytes(job) * parameters
    beside_backward = job.overlap.gradients
    beside_forward = job.overlap.parameters

    def need(
        kind: str, name: str, operation: Operation, size: int, count: int, when: When, window: Window
    ) -> Need:
        return Need(
            f"{kind}{suffix}.{name}",
            f"{kind}{suffix}",
            "dp",
            key,
            operation,
            stage,
            size,
            count,
            when,
            window,
        )

    gather, scatter = Operation.ALL_GATHER, Operation.REDUCE_SCATTER
    if zero < 3:
        operation = scatter if zero else Operation.ALL_REDUCE
        window = Window.LAST_BACKWARD if beside_backward else Window.NONE
        yield need("dp.gradient", operation.value, operation, gradients, 1, When.GRADIENTS, window)
    else:
        window = Window.LAYER if beside_backward else Window.NONE
        yield need("dp.gradient", scatter.value, scatter, gradients, m, When.BACKWARD, window)
    if zero == 3 and job.parallel.reshard:
        window = Window.LAYER if beside_forward else Window.NONE
        yield need("dp.parameters", "forward", gather, weights, m, When.FORWARD, window)
        yield need("dp.parameters", "backward", gather, weights, m, When.BACKWARD, window)
    elif zero:
        window = Window.FIRST_FORWARD if beside_forward else Window.NONE
        yield need("dp.parameters", gather.value, gather, weights, 1, When.PARAMETERS, window)
