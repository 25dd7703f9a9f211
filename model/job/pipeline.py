"""What crosses from stage to stage: activations, their gradients, and what two stages both hold.

traffic_model §3.2, conventions 20 and 21.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from model.job.chunks import chunks_per_rank, head_rank, running_schedule, runs_both_ways
from model.job.exchange import Exchange, ExchangeDimension, IntArray, Operation, When
from model.job.members import pairs, pipelines
from model.job.parameters import stage_parameters
from model.job.shape import ModelShape
from model.job.sizes import (
    activation_bytes,
    dense_shards,
    expert_shards,
    gradient_bytes,
    microbatches,
    tokens,
    uses_sequence_parallelism,
    vocabulary_of_rank,
)
from model.job.spec import JobSpec
from model.placement.grid import Grid
from model.placement.types import Placement

Hop = tuple[int, int]


def pipeline_exchanges(
    job: JobSpec, shape: ModelShape, grid: Grid, placement: Placement
) -> Iterator[Exchange]:
    """Sends between stages, the table that both ends hold, and the second copies of DualPipe."""
    if grid.pp == 1:
        return
    players = pipelines(placement, grid.pp)
    yield from _sends(job, shape, grid, players)
    head = head_rank(job)
    ends = pairs(players, 0, head)
    if shape.tied_embeddings and head != 0 and len(ends):
        size = gradient_bytes(job) * vocabulary_of_rank(job, shape) * shape.hidden
        yield _joint("pp.tied-embedding", "pp", ends, np.zeros(len(ends), dtype=np.int32), size)
    if runs_both_ways(job):
        yield from _copies(job, shape, grid, players)


def _sends(job: JobSpec, shape: ModelShape, grid: Grid, players: IntArray) -> Iterator[Exchange]:
    size = activation_bytes(job) * tokens(job) * shape.hidden
    if uses_sequence_parallelism(job) or job.parallel.scatter_gather:
        size = -(-size // grid.tp)
    for kind, when, backwards in (
        ("pp.activation", When.AFTER_FORWARD, False),
        ("pp.gradient", When.AFTER_BACKWARD, True),
    ):
        for suffix, chunk, count, way in _ways(job, microbatches(job, grid)):
            each = [(target, source) if backwards else (source, target) for source, target in way]
            rows = [pairs(players, *hop) for hop in each]
            groups = np.concatenate(rows)
            if not len(groups):
                continue
            stages = np.repeat(np.array([hop[0] for hop in each], dtype=np.int32), [len(row) for row in rows])
            yield Exchange(
                id=f"{kind}{suffix}",
                dimension="pp",
                kind=kind,
                operation=Operation.SEND,
                algorithm="auto",
                groups=groups,
                stages=stages,
                group_key="pp",
                message_bytes=size,
                count_per_step=count,
                when=when,
                chunk=chunk,
            )


def _ways(job: JobSpec, m: int) -> Iterator[tuple[str, int | None, int, list[Hop]]]:
    """(suffix of the id, chunk that sends, count of each pair, forward hops), by way through the ranks.

    Interleaved schedules wrap from the last rank to the first between two chunks; ZB-V comes back on the
    second chunk; DualPipe sends half of the microbatches each way.
    """
    down = [(rank, rank + 1) for rank in range(job.parallel.pp - 1)]
    up = [(target, source) for source, target in reversed(down)]
    schedule = running_schedule(job)
    if schedule == "zb-v":
        yield "", 0, m, down
        yield ".return", 1, m, up
    elif schedule == "dualpipe":
        yield "", 0, m // 2, down
        yield ".return", 1, m // 2, up
    else:
        v = chunks_per_rank(job)
        yield "", None, m * v, down
        if v > 1:
            yield ".wrap", None, m * (v - 1), [(job.parallel.pp - 1, 0)]


def _copies(job: JobSpec, shape: ModelShape, grid: Grid, players: IntArray) -> Iterator[Exchange]:
    """The gradients of each stage and of its copy at the other end are summed, shard by shard."""
    sharded = job.parallel.zero > 0
    held = stage_parameters(job, shape)
    for kind, shards, sizes in (
        ("dp.gradient-copies", dense_shards(job, grid), [stage.dense for stage in held]),
        ("dp.gradient-copies-experts", expert_shards(job, grid), [stage.experts for stage in held]),
    ):
        by_size: dict[int, list[int]] = defaultdict(list)
        for rank in range(grid.pp // 2):
            by_size[-(-gradient_bytes(job) * sizes[rank] // (shards if sharded else 1))].append(rank)
        for size, ranks in by_size.items():
            rows = [pairs(players, rank, grid.pp - 1 - rank) for rank in ranks]
            groups = np.concatenate(rows)
            if size and len(groups):
                stages = np.repeat(np.array(ranks, dtype=np.int32), [len(row) for row in rows])
                yield _joint(kind, "dp", groups, stages, size)


def _joint(
    kind: str, dimension: ExchangeDimension, groups: IntArray, stages: IntArray, size: int
) -> Exchange:
    """An all-reduce between two stages, once a step."""
    return Exchange(
        id=kind,
        dimension=dimension,
        kind=kind,
        operation=Operation.ALL_REDUCE,
        algorithm="auto",
        groups=groups,
        stages=stages,
        group_key="pp",
        message_bytes=size,
        count_per_step=1,
        when=When.BEFORE_OPTIMIZER,
    )
