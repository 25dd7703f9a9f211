"""From a simulated step to its sums: seconds by cause, times of exchanges, loads of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.job.exchange import EXCHANGE_DIMENSIONS, Exchange
from model.step.report import Block, BlockKind, ExchangeTime, Lane, Segments, StepTotals
from model.step.segments import costs, peaks, segments_of
from model.step.shares import Shares
from model.step.simulate import Trace, simulate
from model.step.tracks import Tracks
from model.step.work import Outline, step_work
from model.traffic.types import Traffic

FloatArray = NDArray[np.float64]

_PIPELINE = frozenset({BlockKind.FORWARD, BlockKind.BACKWARD, BlockKind.WEIGHT_GRADIENT})


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """FLOPs and tokens of one step, and what the `gpus` of the job's world could do at their peak (FLOP/s in
    sum).

    FLOPs and tokens are those of the replicas that are whole; `missing` ranks that nobody plays make
    `broken` of the `replicas` unable to train.
    """

    model_flops: float
    hardware_flops: float
    tokens: float
    peak_flops: float
    gpus: int
    replicas: int = 1
    broken: int = 0
    missing: int = 0


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


@dataclass(frozen=True, slots=True)
class Inputs(Outline):
    """What a step is simulated from: its outline on links. `usable` and `capacity` (2·links,) bytes/s.

    `traffic.instance_stage` is the label.
    """

    usable: FloatArray
    capacity: FloatArray
    traffic: Traffic
    arithmetic: Arithmetic


def run_step(inputs: Inputs) -> Step:
    """Simulate one step and account for it.

    Loads on links that carry nothing now are left out: an exchange moves what it can.
    """
    usable, capacity, traffic = inputs.usable, inputs.capacity, inputs.traffic
    loads = _live(traffic.loads, usable)
    shares, trace = _simulated(inputs, loads)
    offered_weight = _offered_weight(_live(traffic.endpoint_loads, capacity), capacity)
    used, offered = peaks(shares, trace, offered_weight)
    segments = segments_of(trace, shares, loads, offered_weight)
    by_dimension = bytes_by_dimension(inputs.exchanges, traffic, loads)
    total = sum(by_dimension.values(), np.zeros(len(usable)))
    times = _exchange_times(trace, inputs)
    alive = usable > 0
    return Step(
        totals=_totals(trace, inputs, times),
        exchange_times=times,
        bytes_by_dimension=by_dimension,
        peak_utilisation=used,
        mean_utilisation=_ratio(total, usable * trace.time_s),
        oversubscription=np.where(alive, offered * _ratio(usable, capacity), 0.0),
        cost_s=costs(shares, trace),
        segments=segments,
        lanes=tuple(_lane(inputs.tracks, track, blocks) for track, blocks in enumerate(trace.blocks)),
    )


def step_time(inputs: Inputs) -> float:
    """The time of a step alone, s."""
    return _simulated(inputs, _live(inputs.traffic.loads, inputs.usable))[1].time_s


def _simulated(inputs: Inputs, loads: csr_array) -> tuple[Shares, Trace]:
    traffic = inputs.traffic
    factor = np.array([inputs.exchanges[index].time_factor for index in traffic.instance_exchange.tolist()])
    shares = Shares(loads, inputs.usable, traffic.largest_edge_bytes, factor)
    work = step_work(inputs, traffic, inputs.schedule)
    return shares, simulate(work, shares)


def _lane(tracks: Tracks, track: int, blocks: tuple[Block, ...]) -> Lane:
    replicas = tracks.replicas[track // tracks.stages]
    return Lane(track % tracks.stages, replicas[0], len(replicas), blocks)


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


def _share_of_tracks(inputs: Inputs) -> FloatArray:
    """Which share of the GPUs that play is in each track."""
    track = inputs.tracks.of_gpus(inputs.placement)
    count = inputs.tracks.count
    gpus = np.bincount(track[track >= 0], minlength=count)[:count].astype(np.float64)
    share: FloatArray = gpus / max(gpus.sum(), 1.0)
    return share


def _exchange_times(trace: Trace, inputs: Inputs) -> tuple[ExchangeTime, ...]:
    """Wire time of a mean GPU that takes part, exposed time of a mean GPU of the job."""
    exchanges, traffic = inputs.exchanges, inputs.traffic
    wire, part, exposed = (np.zeros(len(exchanges)) for _ in range(3))
    for number, (index, label) in enumerate(
        zip(traffic.instance_exchange.tolist(), traffic.instance_stage.tolist(), strict=True)
    ):
        members = np.count_nonzero(exchanges[index].stages == label) * exchanges[index].group_size
        wire[index] += trace.wire_s[number] * members
        part[index] += members
    for share, by_instance in zip(_share_of_tracks(inputs).tolist(), trace.exposed, strict=True):
        for number, seconds in by_instance.items():
            exposed[traffic.instance_exchange[number]] += share * seconds
    return tuple(
        ExchangeTime(time, hidden)
        for time, hidden in zip(_ratio(wire, part).tolist(), exposed.tolist(), strict=True)
    )


def _totals(trace: Trace, inputs: Inputs, times: tuple[ExchangeTime, ...]) -> StepTotals:
    """The sums of conventions 46; what nothing else explains is bubble."""
    arithmetic, share = inputs.arithmetic, _share_of_tracks(inputs)
    exposed: dict[str, float] = dict.fromkeys(EXCHANGE_DIMENSIONS, 0.0)
    for time, exchange in zip(times, inputs.exchanges, strict=True):
        exposed[exchange.dimension] += time.exposed_s
    busy = np.array([own.busy_share for own in inputs.seconds])
    optimizer = np.array([own.optimizer_s for own in inputs.seconds])
    compute_s = float(share @ (np.array(trace.compute_s) * busy))
    optimizer_s = float(share @ (optimizer * busy))
    time_s = trace.time_s
    per_second = 1.0 / time_s if time_s > 0 else 0.0
    peak = arithmetic.peak_flops
    return StepTotals(
        time_s=time_s,
        tokens_per_s_per_gpu=arithmetic.tokens * per_second / max(arithmetic.gpus, 1),
        model_flops=arithmetic.model_flops,
        mfu=arithmetic.model_flops * per_second / peak if peak > 0 else 0.0,
        hfu=arithmetic.hardware_flops * per_second / peak if peak > 0 else 0.0,
        bubble_fraction=bubble_fraction(trace, inputs.tracks),
        compute_s=compute_s,
        optimizer_s=optimizer_s,
        bubble_s=max(time_s - compute_s - optimizer_s - sum(exposed.values()), 0.0),
        exposed_s=exposed,
    )


def bubble_fraction(trace: Trace, tracks: Tracks) -> float:
    """1 − mean busy time ÷ length of the pipeline part (conventions 28)."""
    blocks = [[block for block in lane if block.what in _PIPELINE] for lane in trace.blocks]
    every = [block for lane in blocks for block in lane]
    if not every:
        return 0.0
    length = max(block.end_s for block in every) - min(block.start_s for block in every)
    replicas = [len(tracks.replicas[track // tracks.stages]) for track in range(tracks.count)]
    busy = sum(
        count * sum(block.end_s - block.start_s for block in lane)
        for count, lane in zip(replicas, blocks, strict=True)
    )
    return max(1.0 - busy / sum(replicas) / length, 0.0)
