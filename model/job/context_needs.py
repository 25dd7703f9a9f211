"""What context parallelism exchanges (traffic_model §3.5, conventions 12 and 13)."""

from __future__ import annotations

from collections.abc import Iterator

from model.job.exchange import Operation, When, Window
from model.job.need import Members, Need
from model.job.shape import ModelShape, StageLayers
from model.job.sizes import activation_bytes, kv_width, microbatches, tokens
from model.job.spec import JobSpec
from model.placement.grid import Grid


def context_needs(job: JobSpec, shape: ModelShape, grid: Grid, layers: StageLayers) -> Iterator[Need]:
    """Keys and values to all ranks that hold a part of the sequence, or heads for sequence and back."""
    passes = [(When.FORWARD, False, ""), (When.BACKWARD, True, "")]
    if job.recompute == "full":
        passes.append((When.BACKWARD, False, ".recompute"))
    for when, gradients, suffix in passes:
        for need in _PASSES[job.parallel.cp_algorithm](job, shape, grid, gradients):
            kind, operation, members, size, times, window = need
            yield Need(
                name=f"{kind}.{operation.value}{suffix}",
                kind=kind,
                dimension="cp",
                group_key="cp",
                operation=operation,
                stage=layers.stage,
                message_bytes=size,
                count=microbatches(job, grid) * layers.count * times,
                when=when,
                window=window,
                members=members,
            )


_Pass = tuple[str, Operation, Members, int, int, Window]


def _ring(job: JobSpec, shape: ModelShape, grid: Grid, gradients: bool) -> Iterator[_Pass]:
    """c − 1 sends to the next member; backward carries keys, values and their gradients."""
    size = activation_bytes(job) * tokens(job) * kv_width(job, shape)
    kind, factor = ("cp.keys-values-gradient", 2) if gradients else ("cp.keys-values", 1)
    yield kind, Operation.SEND, "ring", factor * size, grid.cp - 1, Window.ATTENTION


def _all_gather(job: JobSpec, shape: ModelShape, grid: Grid, gradients: bool) -> Iterator[_Pass]:
    """Keys and values of the whole sequence, again for the backward; their gradients scattered."""
    size = grid.cp * activation_bytes(job) * tokens(job) * kv_width(job, shape)
    yield "cp.keys-values", Operation.ALL_GATHER, "group", size, 1, Window.NONE
    if gradients:
        yield "cp.keys-values-gradient", Operation.REDUCE_SCATTER, "group", size, 1, Window.NONE


def _ulysses(job: JobSpec, shape: ModelShape, grid: Grid, gradients: bool) -> Iterator[_Pass]:
    """Queries, keys and values before attention and its output after it; the same for the gradients."""
    heads = shape.heads // job.parallel.tp
    if shape.attention.kind == "mla":
        _, _, dn, dr, dv = shape.mla
        queries, output = heads * (dn + dr), heads * dv
    else:
        queries = output = heads * shape.head_dim
    suffix = "-gradient" if gradients else ""
    for kind, width in (
        (f"cp.queries-keys-values{suffix}", queries + kv_width(job, shape)),
        (f"cp.attention-output{suffix}", output),
    ):
        size = activation_bytes(job) * tokens(job) * width
        yield kind, Operation.ALL_TO_ALL, "group", size, 1, Window.NONE


_PASSES = {"ring": _ring, "all-gather": _all_gather, "ulysses": _ulysses}
