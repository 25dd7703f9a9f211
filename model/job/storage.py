"""Reading training data and writing checkpoints (traffic_model §3.6).

The data of a microbatch are read by the first rank of each TP group of the first and of the last stage, half
of them (token ids here, labels there) unless they are the same, and handed on inside the group. A checkpoint
writes every shard once; its bytes are those of a mean step, 1 ÷ `every_steps` of a whole one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from model.errors import JobError
from model.job.chunks import head_rank, runs_both_ways
from model.job.exchange import Exchange, IntArray, Operation, When, Window
from model.job.members import groups_of
from model.job.memory import state_bytes
from model.job.parameters import StageParameters, stage_parameters
from model.job.shape import ModelShape
from model.job.sizes import microbatches, tokens
from model.job.spec import JobSpec
from model.placement.grid import Grid
from model.placement.types import Placement
from model.text import name_list


def refuse_unknown_storage(job: JobSpec, devices: Sequence[str]) -> None:
    """Raise JobError where the job names storage that is not among the working `devices`."""
    for field, name in (("data.from", job.data.source), ("checkpoint.to", job.checkpoint.to)):
        if name is not None and name not in devices:
            there = f"there is {name_list(devices)}, or null" if devices else "there is none, so null fits"
            raise JobError(
                f"{field} names {name}, which is no storage device of the drawing that is up; {there}"
            )


def storage_exchanges(
    job: JobSpec, shape: ModelShape, grid: Grid, placement: Placement, devices: Sequence[str]
) -> Iterator[Exchange]:
    """`devices`: the storage devices of the drawing, over which a checkpoint without `to` is spread.

    Raises JobError for another device than those.
    """
    refuse_unknown_storage(job, devices)
    if job.data.source is not None and job.data.bytes_per_token:
        yield from _data(job, grid, placement, job.data.source)
    targets = [job.checkpoint.to] if job.checkpoint.to is not None else list(devices)
    if job.checkpoint.every_steps is not None and targets:
        yield from _checkpoint(job, shape, grid, placement, targets)


def _data(job: JobSpec, grid: Grid, placement: Placement, source: str) -> Iterator[Exchange]:
    stages = sorted({0, head_rank(job)})
    m, size = microbatches(job, grid), -(-job.data.bytes_per_token * tokens(job) // len(stages))
    of_gpu = placement.coordinates["pp"]
    readers = np.flatnonzero((placement.coordinates["tp"] == 0) & np.isin(of_gpu, stages)).astype(np.int32)
    if not len(readers):
        return
    yield Exchange(
        id="storage.data",
        dimension="storage",
        kind="storage.data",
        operation=Operation.READ,
        algorithm="auto",
        groups=readers[:, None],
        stages=of_gpu[readers],
        group_key="tp",
        message_bytes=size,
        count_per_step=m,
        when=When.FORWARD,
        window=Window.LAYER,
        storage=(source,) * len(readers),
    )
    for groups in groups_of(placement, "tp"):
        chosen = groups.at(stages)
        if len(chosen.members):
            yield Exchange(
                id="tp.data",
                dimension="tp",
                kind="tp.data",
                operation=Operation.BROADCAST,
                algorithm="auto",
                groups=chosen.members,
                stages=chosen.stages,
                group_key="tp",
                message_bytes=size,
                count_per_step=m,
                when=When.FORWARD,
                window=Window.LAYER,
            )


def _checkpoint(
    job: JobSpec, shape: ModelShape, grid: Grid, placement: Placement, targets: list[str]
) -> Iterator[Exchange]:
    of_gpu = placement.coordinates["pp"]
    by_size: dict[int, list[int]] = defaultdict(list)
    for held in stage_parameters(job, shape):
        by_size[_written(job, grid, held)].append(held.stage)
    for size, stages in by_size.items():
        writers: IntArray = np.flatnonzero(np.isin(of_gpu, stages)).astype(np.int32)
        if size and len(writers):
            yield Exchange(
                id="storage.checkpoint",
                dimension="storage",
                kind="storage.checkpoint",
                operation=Operation.WRITE,
                algorithm="auto",
                groups=writers[:, None],
                stages=of_gpu[writers],
                group_key="tp",
                message_bytes=size,
                count_per_step=1,
                when=When.PARAMETERS,
                storage=tuple(targets[gpu % len(targets)] for gpu in writers.tolist()),
            )


def _written(job: JobSpec, grid: Grid, held: StageParameters) -> int:
    """Bytes a GPU writes in a mean step: weights and optimizer of what no other GPU writes."""
    dense = (held.dense - held.replicated) + held.replicated / grid.tp
    unique = dense / (grid.dp * grid.cp) + held.experts / grid.edp
    if runs_both_ways(job):
        unique /= 2
    each = state_bytes(job)
    return round((each.weight + each.optimizer) * unique / (job.checkpoint.every_steps or 1))
