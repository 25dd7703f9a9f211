"""The time of a step in milliseconds of work, for searches: every exchange as fast as alone on its links.

A pipeline that runs long enough repeats itself, so only its two ends and a few rounds are walked through and
the rounds between are counted. What `simulate` adds is that exchanges share links, and every rate over time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.step.account import Inputs
from model.step.orders import Direction, Operation, runs
from model.step.schedule import Schedule, pipeline_schedule
from model.step.tracks import PER_MICROBATCH
from model.step.work import Chunk, Run, Work, step_work

FloatArray = NDArray[np.float64]
Alone = list[float]
"""Per instance the seconds that its whole step takes alone."""

_MOST_PARTS = 64


def estimate_time(inputs: Inputs) -> float:
    """Seconds of a step. Too short where exchanges of different tracks meet on a link at the same time."""
    schedule = inputs.schedule
    stages, microbatches = len(schedule.orders), schedule.microbatches
    period = schedule.group if schedule.name == "interleaved" else 2
    rounds = -(-stages // period)
    few = microbatches - (microbatches - 2 * rounds * period) // period * period
    more = few + max(rounds // 2, 1) * period
    if more >= microbatches:
        few = more = microbatches
    longer = pipeline_schedule(schedule.name, stages, more, schedule.chunks, schedule.group)
    work = step_work(
        inputs.exchanges,
        inputs.traffic,
        inputs.placement,
        inputs.tracks,
        inputs.seconds,
        longer,
        inputs.choices,
        inputs.small,
    )
    alone = _alone(inputs, work, more / microbatches)
    most = _Walk(work, longer, alone).time_s()
    if few == more:
        return most
    shorter = pipeline_schedule(schedule.name, stages, few, schedule.chunks, schedule.group)
    # An operation takes as long however many there are, so the shares of the longer one hold.
    least = _Walk(work, shorter, alone).time_s()
    return least + (most - least) * (microbatches - few) / (more - few)


class _Walk:
    """One walk through the operations of all tracks, in an order in which their inputs are there."""

    def __init__(self, work: Work, schedule: Schedule, alone: Alone) -> None:
        each = [tuple(runs(order)) for order in schedule.orders]
        self._work, self._alone = work, alone
        self._runs = each * (len(work.tracks) // len(each))
        self._schedule = schedule
        self._ranks = len(schedule.orders)
        self._known: dict[tuple[int, Direction, int, bool, int], float] = {}
        self._ended: dict[tuple[int, int, bool, int], float] = {}
        self._sources: dict[tuple[int, int, Direction], tuple[int, int]] = {}
        self._send_s: dict[tuple[int, Direction, int], float] = {}
        self._gathers: dict[tuple[int, int], tuple[Run, ...]] = {}
        self._last: list[dict[int, Operation]] = []
        for track, (own, order) in enumerate(zip(work.tracks, self._runs, strict=True)):
            rank = track % self._ranks
            for direction, chunk in own.chunks:
                source = schedule.source((rank, chunk), direction)
                if source is not None and source[0] != rank:
                    self._sources[track, chunk, direction] = (track - rank + source[0], source[1])
                self._send_s[track, direction, chunk] = self._sum(own.sends.get((direction, chunk), ()))
            self._gathers.update({(track, chunk): wanted for chunk, wanted in enumerate(own.gathers)})
            self._last.append({one.chunk: one for together in order for one in together})

    def time_s(self) -> float:
        """Of all of it."""
        work, count = self._work, len(self._work.tracks)
        now = [0.0] * count
        place = [0] * count
        synced = [0.0] * count
        waiting = list(range(count))
        while waiting:
            left = [track for track in waiting if not self._advance(track, now, place, synced)]
            if left == waiting and not any(self._ready(track, place) for track in left):
                raise RuntimeError("the order of the schedule makes tracks wait for each other for ever")
            waiting = left
        barrier = 0.0
        for track, own in enumerate(work.tracks):
            late = self._sum((*own.late_gradients, *own.before_optimizer))
            barrier = max(barrier, max(now[track], synced[track]) + late)
        last = max(own.optimizer_s + self._sum(own.after_optimizer) for own in work.tracks)
        return barrier + work.closing_s + last

    def _sum(self, wanted: Sequence[Run]) -> float:
        return sum(self._alone[run.instance] * run.share for run in wanted)

    def _inputs_at(self, track: int, together: Sequence[Operation]) -> float | None:
        """When everything is there that these operations wait for; None = not known yet."""
        at = 0.0
        for operation in together:
            source = self._sources.get((track, operation.chunk, operation.direction))
            if source is not None:
                forward = operation.direction is Direction.FORWARD
                arrived = self._ended.get((*source, forward, operation.microbatch))
                if arrived is None:
                    return None
                at = max(at, arrived)
        return at

    def _ready(self, track: int, place: list[int]) -> bool:
        return self._inputs_at(track, self._runs[track][place[track]]) is not None

    def _advance(self, track: int, now: list[float], place: list[int], synced: list[float]) -> bool:
        """Run a track as far as its inputs reach; gives whether it is through."""
        work, operations, last = self._work.tracks[track], self._runs[track], self._last[track]
        while place[track] < len(operations):
            together = operations[place[track]]
            arrived = self._inputs_at(track, together)
            if arrived is None:
                return False
            start = max(now[track], arrived)
            end = now[track] = self._gathered(track, together, start, start + self._seconds(track, together))
            for one in together:
                if one.direction is not Direction.WEIGHT_GRADIENT:
                    there = end + self._send_s[track, one.direction, one.chunk]
                    self._ended[track, one.chunk, one.direction is Direction.FORWARD, one.microbatch] = there
                    if self._work.holds_sender:
                        now[track] = max(now[track], there)
                if last[one.chunk] is one and work.gradients[one.chunk]:
                    synced[track] = self._synced(work.gradients[one.chunk], start, end, synced[track])
            place[track] += 1
        return True

    def _gathered(self, track: int, together: Sequence[Operation], start: float, end: float) -> float:
        """The end of operations that may be the first ones to need the parameters of their chunks."""
        for one in together:
            wanted = self._gathers.pop((track, one.chunk), None)
            if wanted:
                first = max(self._sum((run,)) / self._parts(run) for run in wanted)
                end = max(end + max(first - start, 0.0), self._sum(wanted))
        return end

    def _parts(self, run: Run) -> int:
        return min(max(round(self._work.buckets[run.instance] * run.share), 1), _MOST_PARTS)

    def _synced(self, wanted: Sequence[Run], start: float, end: float, busy: float) -> float:
        """When the gradients of a chunk are summed that its last backward leaves from `start` to `end`."""
        for run in wanted:
            parts, seconds = self._parts(run), self._sum((run,))
            for part in range(1, parts + 1):
                ready = start + (end - start) * part / parts if parts > 1 else end
                busy = max(busy, ready) + seconds / parts
        return busy

    def _seconds(self, track: int, together: Sequence[Operation]) -> float:
        first = together[0]
        key = (track, first.direction, first.chunk, first.steady, len(together))
        found = self._known.get(key)
        if found is None:
            own = self._work.tracks[track].chunks
            chunks = [own[one.direction, one.chunk] for one in together]
            hidden = len(together) > 1 or (self._work.choices.experts and first.steady)
            found = self._known[key] = self._long(chunks, hidden)
        return found

    def _long(self, chunks: Sequence[Chunk], hidden: bool) -> float:
        """Compute with what runs beside it, and what blocks."""
        share = self._work.choices.sm_share

        def all_of(part: Callable[[Chunk], Sequence[Run]]) -> float:
            return sum(self._sum(part(chunk)) for chunk in chunks)

        def beside(seconds: float, other: float) -> float:
            slowed = min(seconds / (1 - share), seconds + share * other)
            return max(slowed, other)

        compute = sum(
            beside(stretch.seconds, self._sum(stretch.beside))
            for chunk in chunks
            for stretch in chunk.stretches
        )
        experts = all_of(lambda chunk: chunk.experts)
        throughout = all_of(lambda chunk: chunk.throughout) + (experts if hidden else 0.0)
        total = all_of(lambda chunk: chunk.leading) + beside(compute, throughout)
        waited = 0.0 if hidden else experts + sum(chunk.latency_s for chunk in chunks)
        return total + all_of(lambda chunk: chunk.blocking) + waited


def _alone(inputs: Inputs, work: Work, scale: float) -> Alone:
    """Seconds of every instance alone; of what runs in every microbatch only `scale` of a step."""
    loads: csr_array = inputs.traffic.loads
    rates = inputs.usable[loads.indices]
    seconds = np.divide(loads.data, rates, out=np.zeros(len(loads.data)), where=rates > 0)
    longest = np.zeros(loads.shape[0])
    np.maximum.at(longest, np.repeat(np.arange(loads.shape[0]), np.diff(loads.indptr)), seconds)
    found = []
    for number, index in enumerate(inputs.traffic.instance_exchange.tolist()):
        exchange = inputs.exchanges[index]
        whole = work.alpha_s[number] + float(longest[number]) * exchange.time_factor
        found.append(whole * (scale if exchange.when in PER_MICROBATCH else 1.0))
    return found
