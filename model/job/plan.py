"""The exchanges of a step: what each stage needs, joined with the groups that the placement gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from model.job.exchange import Exchange, Operation
from model.job.members import Groups, groups_of
from model.job.need import Need
from model.job.needs import needs
from model.job.pipeline import pipeline_exchanges
from model.job.shape import ModelShape, layers_per_stage
from model.job.sizes import grid_of, microbatches, shard_replicas
from model.job.spec import JobSpec
from model.job.storage import storage_exchanges
from model.placement.grid import Grid
from model.placement.types import Placement

_ORDER = ("tp", "cp", "ep", "pp", "dp", "storage")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a legal job does in a step: exchanges, microbatches of a replica, stages and their layers."""

    exchanges: tuple[Exchange, ...]
    microbatches: int
    stages: int
    layers_per_stage: tuple[int, ...]
    grid: Grid


def plan(job: JobSpec, placement: Placement, shape: ModelShape, storage: Sequence[str] = ()) -> Plan:
    """The plan of a legal job. Raises JobError when its sizes do not make up the placement's world.

    `storage`: the ids of the storage devices that checkpoints can be written to.
    """
    grid = grid_of(job, placement.world_size)
    exchanges = [
        *_collectives(job, shape, grid, placement),
        *pipeline_exchanges(job, shape, grid, placement),
        *storage_exchanges(job, shape, grid, placement, storage),
    ]
    exchanges.sort(key=lambda exchange: _ORDER.index(exchange.dimension))
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
    found: dict[tuple[str, str], tuple[Groups, ...]] = {}
    algorithms = job.collectives.model_dump()
    parts = shard_replicas(job, grid)
    for need, at in stages.items():
        key = (need.group_key, need.members)
        if key not in found:
            replicas = grid.edp if need.group_key == "edp" else grid.dp
            found[key] = groups_of(placement, *key, replicas // parts)
        for groups in found[key]:
            chosen = groups.at(at)
            if len(chosen.members):
                yield _exchange(need, chosen, algorithms[need.dimension])


def _exchange(need: Need, groups: Groups, algorithm: str) -> Exchange:
    if need.dedup is not None:
        algorithm = "deduplicated"
    elif need.operation is Operation.SEND:
        algorithm = "auto"
    return Exchange(
        id=need.name,
        dimension=need.dimension,
        kind=need.kind,
        operation=need.operation,
        algorithm=algorithm,
        groups=groups.members,
        stages=groups.stages,
        group_key=need.group_key,
        message_bytes=need.message_bytes,
        count_per_step=need.count,
        when=need.when,
        window=need.window,
        time_factor=need.time_factor,
        dedup=need.dedup,
        buckets=need.buckets,
        units=need.units,
        host_kernels=need.units * groups.members.shape[1] if need.listed else 0,
        chunk=need.chunk,
    )


def _numbered(exchanges: list[Exchange]) -> tuple[Exchange, ...]:
    """Unique ids: the second of a name gets ".2", and so on."""
    seen: dict[str, int] = defaultdict(int)
    named = []
    for exchange in exchanges:
        seen[exchange.id] += 1
        number = seen[exchange.id]
        named.append(exchange if number == 1 else replace(exchange, id=f"{exchange.id}.{number}"))
    return tuple(named)
