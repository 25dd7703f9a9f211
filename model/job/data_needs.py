"""What the replicas exchange, by `zero` (traffic_model §3.3, conventions 14)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from model.job.exchange import Operation, When, Window
from model.job.need import Members, Need
from model.job.parameters import StageParameters
from model.job.shape import ModelShape, StageLayers
from model.job.sizes import (
    activation_bytes,
    dense_shards,
    expert_shards,
    gradient_bytes,
    microbatches,
    shard_replicas,
)
from model.job.spec import JobSpec
from model.placement.grid import Grid

MEGATRON_BUCKET = 40_000_000  # parameters
MEGATRON_BUCKET_PER_REPLICA = 1_000_000
DEEPSPEED_BUCKET = 500_000_000  # elements


def data_needs(
    job: JobSpec, shape: ModelShape, grid: Grid, held: StageParameters, layers: StageLayers
) -> Iterator[Need]:
    """Gradients and parameters of one stage, experts apart."""
    dense, experts = _units(job, shape, layers)
    if grid.dp * grid.cp > 1:
        yield from _Replicas(job, grid, held.stage, held.dense, dense, "dp-cp").needs()
    if grid.edp > 1:
        yield from _Replicas(job, grid, held.stage, held.experts, experts, "edp").needs()


def _units(job: JobSpec, shape: ModelShape, layers: StageLayers) -> tuple[int, int]:
    """(of what is not an expert, of experts): what ZeRO-3 gathers one after the other, layers or matrices."""
    if job.parallel.zero3_unit == "layer":
        return layers.count, layers.moe
    of_mlp, routed = shape.mlp_matrices, shape.moe
    dense = layers.count * shape.attention_matrices + layers.dense * of_mlp
    if routed is None:
        return dense, 0
    beside_experts = 1 + routed.shared_experts * of_mlp  # the router, and the experts that all tokens go to
    return dense + layers.moe * beside_experts, layers.moe * routed.experts // job.parallel.ep * of_mlp


class _Replicas:
    """The exchanges of `parameters` on every rank of a stage, under ZeRO-3 in so many units."""

    def __init__(
        self, job: JobSpec, grid: Grid, stage: int, parameters: int, units: int, key: Literal["dp-cp", "edp"]
    ) -> None:
        self._job, self._grid, self._stage, self._key = job, grid, stage, key
        self._gradients = gradient_bytes(job) * parameters
        self._weights = activation_bytes(job) * parameters
        self._parameters, self._units = parameters, units
        self._suffix = "-experts" if key == "edp" else ""
        self._hybrid = shard_replicas(job, grid) > 1 and job.parallel.zero > 0

    def needs(self) -> Iterator[Need]:
        """Gradients first, in the order in which they run."""
        job, m, zero = self._job, microbatches(self._job, self._grid), self._job.parallel.zero
        gather, scatter = Operation.ALL_GATHER, Operation.REDUCE_SCATTER
        late = Window.LAST_BACKWARD if job.overlap.gradients else Window.NONE
        if zero < 2:
            operation = scatter if zero else Operation.ALL_REDUCE
            yield self._need("dp.gradient", operation.value, operation, self._gradients, 1, When.GRADIENTS,
                             late, self._buckets())  # fmt: skip
        else:
            window = Window.LAYER if job.overlap.gradients else Window.NONE
            buckets = self._units if zero == 3 else self._buckets()
            yield self._need("dp.gradient", scatter.value, scatter, self._gradients, m, When.BACKWARD, window,
                             buckets)  # fmt: skip
        if self._hybrid:
            yield self._between_parts(late)
        if zero == 3 and job.parallel.reshard:
            window = Window.LAYER if job.overlap.parameters else Window.NONE
            for name, when in (("forward", When.FORWARD), ("backward", When.BACKWARD)):
                yield self._need("dp.parameters", name, gather, self._weights, m, when, window, self._units)
        elif zero:
            window = Window.FIRST_FORWARD if job.overlap.parameters else Window.NONE
            buckets = self._units if zero == 3 else self._buckets()
            yield self._need("dp.parameters", gather.value, gather, self._weights, 1, When.PARAMETERS, window,
                             buckets)  # fmt: skip

    def _between_parts(self, window: Window) -> Need:
        """HSDP: the shard of each rank summed over the parts that hold a copy of it, once a step."""
        shards = (dense_shards if self._key == "dp-cp" else expert_shards)(self._job, self._grid)
        reduce = Operation.ALL_REDUCE
        return self._need("dp.gradient-replicas", reduce.value, reduce, -(-self._gradients // shards), 1,
                          When.GRADIENTS, window, 1, "replicas")  # fmt: skip

    def _buckets(self) -> int:
        """Of the size asked for; else as Megatron-Core does: only on the first stage, only to overlap."""
        own = self._job.overlap
        if own.bucket_bytes is not None:
            return max(-(-self._gradients // own.bucket_bytes), 1)
        if self._job.parallel.zero == 2:
            return max(-(-self._parameters // DEEPSPEED_BUCKET), 1)
        if self._stage > 0 or not own.gradients:
            return 1
        size = max(MEGATRON_BUCKET, MEGATRON_BUCKET_PER_REPLICA * self._grid.dp)
        return max(-(-self._parameters // size), 1)

    def _need(
        self, kind: str, name: str, operation: Operation, size: int, count: int, when: When, window: Window,
        buckets: int, members: Members = "shards",
    ) -> Need:  # fmt: skip
        in_units = self._job.parallel.zero == 3 and members == "shards"
        return Need(
            name=f"{kind}{self._suffix}.{name}",
            kind=f"{kind}{self._suffix}",
            dimension="dp",
            group_key=self._key,
            operation=operation,
            stage=self._stage,
            message_bytes=size,
            count=count,
            when=when,
            window=window,
            members=members if self._hybrid else "group",
            buckets=max(buckets, 1),
            units=max(buckets, 1) if in_units else 1,
            listed=in_units and self._job.parallel.zero3_unit == "matrix-list",
        )
