"""From a simulated step to its sums: seconds by cause, times of exchanges, loads of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.job.compute import StageCompute
from model.job.exchange import EXCHANGE_DIMENSIONS, Exchange
from model.placement.types import Placement
from model.step.report import BlockKind, ExchangeTime, Lane, Segments, StepTotals
from model.step.schedule import stage_orders
from model.step.segments import costs, peaks, segments_of
from model.step.shares import Shares
from model.step.simulate import Trace, simulate
from model.step.work import Work, step_work
from model.traffic.types import Fabric, Traffic

FloatArray = NDArray[np.float64]

_PIPELINE = frozenset({BlockKind.FORWARD, BlockKind.BACKWARD, BlockKind.WEIGHT_GRADIENT})


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """FLOPs and tokens of one step of the whole job, and what its GPUs could do at their peak (FLOP/s in
    sum).
    """

    model_flops: float
    hardware_flops: float
    tokens: float
    peak_flops: float
    gpus: int


@dataclass(frozen=True, slots=True)
class Step:
    """One simulated step. Arrays over directed links have shape (2·links,)."""

    totals: StepTotals
    exchange_times: tuple[ExchangeTime, ...]
    bytes_by_dimension: Mapping[str, FloatArray]
    peak_utilisation: FloatArray
    mean_utilisation: FloatArray
    oversubscription: FloatArray
    cost_s: FloatArray
    segments: Segments
    lanes: tuple[Lane, ...]
    stage_exposed_s: tuple[Mapping[int, float], ...]


def run_step(
    fabric: Fabric,
    placement: Placement,
    exchanges: Sequence[Exchange],
    traffic: Traffic,
    computes: Sequence[StageCompute],
    *,
    schedule: str,
    microbatches: int,
    replicas: int,
    arithmetic: Arithmetic,
) -> Step:
    """Simulate one step and account for it.

    `computes` has one entry per pipeline stage, at the speed of its slowest GPU. Loads on links that carry
    nothing now are left out: an exchange moves what it can. Raises JobError for a schedule that is not built.
    """
    usable, capacity = np.repeat(fabric.usable, 2), np.repeat(fabric.capacity, 2)
    loads = _live(traffic.loads, usable)
    factor = np.array([exchanges[index].time_factor for index in traffic.instance_exchange.tolist()])
    shares = Shares(loads, usable, traffic.largest_edge_bytes, factor)
    work = step_work(
        exchanges, traffic, placement, computes, stage_orders(schedule, len(computes), microbatches)
    )
    trace = simulate(work, shares)
    offered_weight = _offered_weight(_live(traffic.endpoint_loads, capacity), capacity)
    used, offered = peaks(shares, trace, offered_weight)
    segments = segments_of(trace, shares, loads, offered_weight)
    by_dimension = bytes_by_dimension(exchanges, traffic, loads)
    total = sum(by_dimension.values(), np.zeros(len(usable)))
    alive = usable > 0
    return Step(
        totals=_totals(work, trace, exchanges, traffic, placement, computes, arithmetic),
        exchange_times=_exchange_times(trace, exchanges, traffic, placement, len(computes)),
        bytes_by_dimension=by_dimension,
        peak_utilisation=used,
        mean_utilisation=_ratio(total, usable * trace.time_s),
        oversubscription=np.where(alive, offered * _ratio(usable, capacity), 0.0),
        cost_s=costs(shares, trace),
        segments=segments,
        lanes=tuple(Lane(stage, 0, replicas, blocks) for stage, blocks in enumerate(trace.blocks)),
        stage_exposed_s=trace.exposed,
    )


def _ratio(value: FloatArray, by: FloatArray) -> FloatArray:
    return np.divide(value, by, out=np.zeros_like(value), where=by > 0)


def _live(loads: csr_array, rate: FloatArray) -> csr_array:
    """`loads` without what lies on links that carry nothing, in canonical form."""
    live: csr_array = loads.astype(np.float64, copy=True)
    live.sum_duplicates()
    live.data[rate[live.indices] <= 0] = 0.0
    live.eliminate_zeros()
    return live


def _offered_weight(endpoint_loads: csr_array, capacity: FloatArray) -> FloatArray:
    """Per instance 1 ÷ the seconds that its step's bytes take if only end points limit it; 0 where none
    do.
    """
    seconds = csr_array(
        (
            endpoint_loads.data / capacity[endpoint_loads.indices],
            endpoint_loads.indices,
            endpoint_loads.indptr,
        ),
        shape=endpoint_loads.shape,
    )
    if seconds.nnz == 0:
        return np.zeros(seconds.shape[0])
    longest = seconds.max(axis=1).toarray().ravel()
    return np.divide(1.0, longest, out=np.zeros_like(longest), where=longest > 0)


def bytes_by_dimension(
    exchanges: Sequence[Exchange], traffic: Traffic, loads: csr_array
) -> dict[str, FloatArray]:
    """Bytes per step on every directed link, for each dimension of EXCHANGE_DIMENSIONS."""
    dimension = np.array(
        [
            EXCHANGE_DIMENSIONS.index(exchanges[index].dimension)
            for index in traffic.instance_exchange.tolist()
        ],
        dtype=np.int64,
    )
    choose = csr_array(
        (np.ones(len(dimension)), (dimension, np.arange(len(dimension)))),
        shape=(len(EXCHANGE_DIMENSIONS), len(dimension)),
    )
    table = (choose @ loads).toarray()
    return {name: table[row] for row, name in enumerate(EXCHANGE_DIMENSIONS)}


def gpus_per_stage(placement: Placement, stages: int) -> FloatArray:
    """How many GPUs play each stage."""
    stage = placement.coordinates["pp"]
    return np.bincount(stage[stage >= 0], minlength=stages)[:stages].astype(np.float64)


def _exchange_times(
    trace: Trace, exchanges: Sequence[Exchange], traffic: Traffic, placement: Placement, stages: int
) -> tuple[ExchangeTime, ...]:
    """Wire time of a mean GPU that takes part, exposed time of a mean GPU of the job."""
    gpus = gpus_per_stage(placement, stages)
    share = gpus / max(gpus.sum(), 1.0)
    wire, part, exposed = (np.zeros(len(exchanges)) for _ in range(3))
    for number, (index, stage) in enumerate(
        zip(traffic.instance_exchange.tolist(), traffic.instance_stage.tolist(), strict=True)
    ):
        members = np.count_nonzero(exchanges[index].stages == stage) * exchanges[index].group_size
        wire[index] += trace.wire_s[number] * members
        part[index] += members
    for stage_share, by_instance in zip(share.tolist(), trace.exposed, strict=True):
        for number, seconds in by_instance.items():
            exposed[traffic.instance_exchange[number]] += stage_share * seconds
    return tuple(
        ExchangeTime(time, hidden)
        for time, hidden in zip(_ratio(wire, part).tolist(), exposed.tolist(), strict=True)
    )


def _totals(
    work: Work,
    trace: Trace,
    exchanges: Sequence[Exchange],
    traffic: Traffic,
    placement: Placement,
    computes: Sequence[StageCompute],
    arithmetic: Arithmetic,
) -> StepTotals:
    """The sums of conventions 46; what nothing else explains is bubble."""
    gpus = gpus_per_stage(placement, len(computes))
    share = gpus / max(gpus.sum(), 1.0)
    exposed: dict[str, float] = dict.fromkeys(EXCHANGE_DIMENSIONS, 0.0)
    for time, exchange in zip(
        _exchange_times(trace, exchanges, traffic, placement, len(computes)), exchanges, strict=True
    ):
        exposed[exchange.dimension] += time.exposed_s
    compute = np.array(
        [
            sum(
                stretch.seconds
                for operation in operations
                for stretch in stage.chunks[operation.direction].stretches
            )
            for stage, operations in zip(work.stages, work.orders, strict=True)
        ]
    )
    optimizer = np.array([stage.optimizer_s for stage in work.stages])
    compute_s, optimizer_s = float(share @ compute), float(share @ optimizer)
    time_s = trace.time_s
    per_second = 1.0 / time_s if time_s > 0 else 0.0
    peak = arithmetic.peak_flops
    return StepTotals(
        time_s=time_s,
        tokens_per_s_per_gpu=arithmetic.tokens * per_second / max(arithmetic.gpus, 1),
        model_flops=arithmetic.model_flops,
        mfu=arithmetic.model_flops * per_second / peak if peak > 0 else 0.0,
        hfu=arithmetic.hardware_flops * per_second / peak if peak > 0 else 0.0,
        bubble_fraction=bubble_fraction(trace),
        compute_s=compute_s,
        optimizer_s=optimizer_s,
        bubble_s=max(time_s - compute_s - optimizer_s - sum(exposed.values()), 0.0),
        exposed_s=exposed,
    )


def bubble_fraction(trace: Trace) -> float:
    """1 − mean busy time ÷ length of the pipeline part (conventions 28)."""
    blocks = [[block for block in lane if block.what in _PIPELINE] for lane in trace.blocks]
    every = [block for lane in blocks for block in lane]
    if not every:
        return 0.0
    length = max(block.end_s for block in every) - min(block.start_s for block in every)
    busy = sum(block.end_s - block.start_s for block in every) / len(blocks)
    return max(1.0 - busy / length, 0.0)
