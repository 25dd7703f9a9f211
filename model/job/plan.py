"""The exchanges of a step: what each stage needs, joined with the groups that the placement gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from model.job.exchange import Exchange, IntArray, Operation, When, Window
from model.job.needs import Need, needs
from model.job.shape import ModelShape, layers_per_stage
from model.job.sizes import (
    activation_bytes,
    gradient_bytes,
    grid_of,
    microbatches,
    padded_vocabulary,
    tokens,
    uses_sequence_parallelism,
)
from model.job.spec import JobSpec
from model.placement.grid import Grid
from model.placement.types import Placement


@dataclass(frozen=True, slots=True)
class Plan:
    """What a legal job does in a step: exchanges, microbatches of a replica, stages and their layers."""

    exchanges: tuple[Exchange, ...]
    microbatches: int
    stages: int
    layers_per_stage: tuple[int, ...]
    grid: Grid


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of one size: `members` (n, size), `stages` (n,)."""

    members: IntArray
    stages: IntArray


def plan(job: JobSpec, placement: Placement, shape: ModelShape) -> Plan:
    """The plan of a legal job. Raises JobError when its sizes do not make up the placement's world."""
    grid = grid_of(job, placement.world_size)
    exchanges = [*_collectives(job, shape, grid, placement), *_pipeline(job, shape, grid, placement)]
    order = {"tp": 0, "ep": 1, "pp": 2, "dp": 3}
    exchanges.sort(key=lambda exchange: order[exchange.dimension])
    return Plan(
        exchanges=_numbered(exchanges),
        microbatches=microbatches(job, grid),
        stages=grid.pp,
        layers_per_stage=tuple(layers.count for layers in layers_per_stage(job, shape)),
        grid=grid,
    )


def _collectives(job: JobSpec, shape: ModelShape, grid: Grid, placement: Placement) -> Iterator[Exchange]:
    """One exchange for the stages that need the same, per size of group."""
    stages: dict[Need, list[int]] = defaultdict(list)
    for need in needs(job, shape, grid):
        if need.count and need.message_bytes:
            stages[replace(need, stage=-1)].append(need.stage)
    found: dict[str, tuple[_Groups, ...]] = {}
    algorithms = job.collectives.model_dump()
    for need, at in stages.items():
        if need.group_key not in found:
            found[need.group_key] = tuple(_by_size(placement, need.group_key))
        for groups in found[need.group_key]:
            chosen = np.isin(groups.stages, at)
            if chosen.any():
                yield Exchange(
                    id=need.name,
                    dimension=need.dimension,
                    kind=need.kind,
                    operation=need.operation,
                    algorithm=algorithms[need.dimension],
                    groups=groups.members[chosen],
                    stages=groups.stages[chosen],
                    group_key=need.group_key,
                    message_bytes=need.message_bytes,
                    count_per_step=need.count,
                    when=need.when,
                    window=need.window,
                    time_factor=need.time_factor,
                )


def _by_size(placement: Placement, key: str) -> Iterator[_Groups]:
    """The groups of a kind that have someone to talk to; sizes differ only where ranks are not played."""
    by_size: dict[int, list[IntArray]] = defaultdict(list)
    for group in placement.groups[key]:
        if len(group) > 1:
            by_size[len(group)].append(group)
    stage = placement.coordinates["pp"]
    for size in sorted(by_size, reverse=True):
        members = np.stack(by_size[size])
        yield _Groups(members, stage[members[:, 0]])


def _pipeline(job: JobSpec, shape: ModelShape, grid: Grid, placement: Placement) -> Iterator[Exchange]:
    """Sends between neighbouring stages, and the gradient of a table that both ends hold."""
    if grid.pp == 1:
        return
    at_stage = _pipelines(placement, grid.pp)
    size = activation_bytes(job) * tokens(job) * shape.hidden
    if uses_sequence_parallelism(job):
        size //= grid.tp
    down = [_pairs(at_stage, stage, stage + 1) for stage in range(grid.pp - 1)]
    up = [_pairs(at_stage, stage + 1, stage) for stage in range(grid.pp - 1)]
    m = microbatches(job, grid)
    for kind, sends, first, when in (
        ("pp.activation", down, 0, When.AFTER_FORWARD),
        ("pp.gradient", up, 1, When.AFTER_BACKWARD),
    ):
        groups = np.concatenate(sends)
        each = np.arange(first, first + grid.pp - 1, dtype=np.int32)
        senders = np.repeat(each, [len(rows) for rows in sends])
        if len(groups):
            yield _send(kind, Operation.SEND, groups, senders, size, m, when)
    if shape.tied_embeddings:
        table = (
            padded_vocabulary(shape.vocabulary, job.vocabulary_multiple, grid.tp) * shape.hidden // grid.tp
        )
        ends = _pairs(at_stage, 0, grid.pp - 1)
        if len(ends):
            stages = np.zeros(len(ends), dtype=np.int32)
            yield _send(
                "pp.tied-embedding", Operation.ALL_REDUCE, ends, stages, gradient_bytes(job) * table, 1,
                When.BEFORE_OPTIMIZER,
            )  # fmt: skip


def _send(
    kind: str, operation: Operation, groups: IntArray, stages: IntArray, size: int, count: int, when: When
) -> Exchange:
    return Exchange(
        id=kind,
        dimension="pp",
        kind=kind,
        operation=operation,
        algorithm="auto",
        groups=groups,
        stages=stages,
        group_key="pp",
        message_bytes=size,
        count_per_step=count,
        when=when,
        window=Window.NONE,
    )


def _pipelines(placement: Placement, stages: int) -> IntArray:
    """Who plays each stage of each pipeline, shape (pipelines, stages); -1 = nobody."""
    groups, stage = placement.groups["pp"], placement.coordinates["pp"]
    players = np.full((len(groups), stages), -1, dtype=np.int32)
    for row, group in enumerate(groups):
        players[row, stage[group]] = group
    return players


def _pairs(players: IntArray, source: int, target: int) -> IntArray:
    """[from, to] of every pipeline that has both stages."""
    pairs = players[:, [source, target]]
    return pairs[(pairs >= 0).all(axis=1)]


def _numbered(exchanges: list[Exchange]) -> tuple[Exchange, ...]:
    """Unique ids: the second of a name gets ".2", and so on."""
    seen: dict[str, int] = defaultdict(int)
    named = []
    for exchange in exchanges:
        seen[exchange.id] += 1
        number = seen[exchange.id]
        named.append(exchange if number == 1 else replace(exchange, id=f"{exchange.id}.{number}"))
    return tuple(named)
