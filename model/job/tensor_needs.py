"""What tensor parallelism exchanges (traffic_model §3.1 and §7, conventions 8–10, 12)."""

from __future__ import annotations

from collections.abc import Iterator

from model.job.chunks import chunks_per_rank, head_rank, hops
from model.job.exchange import Operation, When, Window
from model.job.need import Need
from model.job.parameters import StageParameters
from model.job.shape import ModelShape, StageLayers
from model.job.sizes import activation_bytes, microbatches, tokens, uses_sequence_parallelism
from model.job.spec import JobSpec
from model.placement.grid import Grid

CROSS_ENTROPY_REDUCTIONS = 3


def layer_needs(job: JobSpec, shape: ModelShape, grid: Grid, layers: StageLayers) -> Iterator[Need]:
    """Around attention and MLP of each layer; of experts only shared ones need it (conventions 10)."""
    m, stage = microbatches(job, grid), layers.stage
    size = activation_bytes(job) * tokens(job) * shape.hidden
    blocks = 2 * layers.dense + (2 if shape.shared_ffn else 1) * layers.moe
    count = m * blocks
    gather, scatter, reduce = Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_REDUCE
    sequence = uses_sequence_parallelism(job)
    forward = (gather, scatter) if sequence else (reduce,)
    bulk = Window.MATRIX if job.overlap.tensor else Window.NONE
    for operation in forward:
        yield _need("tp.forward", operation, stage, size, count, When.FORWARD, bulk)
    if sequence:
        yield _need("tp.backward", gather, stage, size, count, When.BACKWARD, bulk)
        yield _need("tp.backward", scatter, stage, size, count, When.BACKWARD, Window.WGRAD)
        yield _need(
            "tp.backward", gather, stage, size, count, When.BACKWARD, Window.DGRAD, "tp.backward.inputs"
        )
    else:
        yield _need("tp.backward", reduce, stage, size, count, When.BACKWARD, Window.WGRAD)
    if job.recompute == "full":
        for operation in forward:
            yield _need(
                "tp.forward", operation, stage, size, count, When.BACKWARD, bulk, "tp.forward.recompute"
            )


def end_needs(
    job: JobSpec, shape: ModelShape, grid: Grid, parameters: tuple[StageParameters, ...]
) -> Iterator[Need]:
    """Embedding, output head, loss and norm gradients (conventions 8)."""
    m, head = microbatches(job, grid), head_rank(job)
    several = chunks_per_rank(job) > 1
    first, last = (0, chunks_per_rank(job) - 1) if several else (None, None)
    size = activation_bytes(job) * tokens(job) * shape.hidden
    gather, scatter, reduce = Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_REDUCE
    if uses_sequence_parallelism(job):
        yield _need("tp.embedding", scatter, 0, size, m, When.FORWARD, chunk=first)
        yield _need("tp.embedding", gather, 0, size, m, When.BACKWARD, chunk=first)
        yield _need("tp.head", gather, head, size, m, When.FORWARD, chunk=last)
        yield _need("tp.head", scatter, head, size, m, When.BACKWARD, Window.WGRAD, chunk=last)
        yield _need(
            "tp.head", gather, head, size, m, When.BACKWARD, Window.DGRAD, "tp.head.inputs", chunk=last
        )
    else:
        yield _need("tp.embedding", reduce, 0, size, m, When.FORWARD, chunk=first)
        yield _need("tp.head", reduce, head, size, m, When.BACKWARD, Window.WGRAD, chunk=last)
    count = CROSS_ENTROPY_REDUCTIONS * m
    yield _need("tp.cross-entropy", reduce, head, 4 * tokens(job), count, When.FORWARD, chunk=last)
    if uses_sequence_parallelism(job):
        for held in parameters:
            yield _need("tp.norm-gradient", reduce, held.stage, 4 * held.norms, 1, When.BEFORE_OPTIMIZER)


def pipeline_needs(job: JobSpec, shape: ModelShape, grid: Grid) -> Iterator[Need]:
    """Putting together what `scatter_gather` sends in t parts, wherever a chunk receives it."""
    if not job.parallel.scatter_gather or uses_sequence_parallelism(job):
        return
    m, size = microbatches(job, grid), activation_bytes(job) * tokens(job) * shape.hidden
    for when, receivers in (
        (When.FORWARD, [target for _, target in hops(job)]),
        (When.BACKWARD, [source for source, _ in hops(job)]),
    ):
        for stage in range(grid.pp):
            count = m * receivers.count(stage)
            yield _need("tp.pipeline", Operation.ALL_GATHER, stage, size, count, when)


def _need(
    kind: str, operation: Operation, stage: int, message_bytes: int, count: int, when: When,
    window: Window = Window.NONE, name: str = "", chunk: int | None = None,
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
        chunk=chunk,
    )
