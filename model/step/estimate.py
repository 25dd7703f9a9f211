"""The time of a step in milliseconds of work, for searches: every exchange as fast as alone on its links.

A pipeline that runs long enough repeats itself, so only its two ends and a few rounds are walked through and
the rounds between are counted. What `simulate` adds is that exchanges share links, and every rate over time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from model.step.orders import Direction, Operation, runs
from model.step.schedule import pipeline_schedule
from model.step.tracks import PER_MICROBATCH
from model.step.work import Chunk, Outline, Run, TrackWork, Work, step_work
from model.traffic.types import Alone

_MOST_PARTS = 64


def estimate_time(outline: Outline, alone: Alone) -> float:
    """Seconds of a step. Too short where exchanges of different tracks meet on a link at the same time."""
    schedule = outline.schedule
    stages, microbatches = len(schedule.orders), schedule.microbatches
    period = schedule.group if schedule.name == "interleaved" else 2
    rounds = -(-stages // period)
    few = microbatches - (microbatches - 2 * rounds * period) // period * period
    more = few + max(rounds // 2, 1) * period
    if more >= microbatches:
        few = more = microbatches
    shape = (schedule.chunks, schedule.group)
    work = step_work(outline, alone, pipeline_schedule(schedule.name, stages, more, *shape))
    walk = _Walk(work, _seconds_alone(outline, alone, work, more / microbatches))
    most = walk.time_s(_program(schedule.name, stages, more, *shape))
    if few == more:
        return most
    # An operation takes as long however many there are, so the shares of the longer one hold.
    least = walk.time_s(_program(schedule.name, stages, few, *shape))
    return least + (most - least) * (microbatches - few) / (more - few)


def _seconds_alone(outline: Outline, alone: Alone, work: Work, scale: float) -> list[float]:
    """Of the whole step of every instance; of what runs in every microbatch only `scale` of a step."""
    found = []
    for number, (index, wire) in enumerate(
        zip(alone.instance_exchange.tolist(), alone.wire_s.tolist(), strict=True)
    ):
        exchange = outline.exchanges[index]
        whole = work.alpha_s[number] + wire * exchange.time_factor
        found.append(whole * (scale if exchange.when in PER_MICROBATCH else 1.0))
    return found


_Pass = tuple[Direction, int]
"""A direction, and the chunk that it runs on."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Operations that run together, with numbers in place of what they wait for and hand on.

    `needs`: slots of what must be there; `kind` indexes the kinds of the program; `gives`: slots of what is
    there afterwards, and the pass of each; `first`, `last`: chunks that run here for the first or last time.
    """

    needs: tuple[int, ...]
    kind: int
    gives: tuple[tuple[int, int], ...]
    first: tuple[int, ...]
    last: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Program:
    """The order of every rank of one replica. `kinds`: (passes, steady) of pieces; `passes` hand on."""

    ranks: tuple[tuple[_Piece, ...], ...]
    kinds: tuple[tuple[tuple[_Pass, ...], bool], ...]
    passes: tuple[_Pass, ...]
    slots: int


@lru_cache(maxsize=64)
def _program(name: str, stages: int, microbatches: int, chunks: int, group: int) -> _Program:
    schedule = pipeline_schedule(name, stages, microbatches, chunks, group)
    kinds: dict[tuple[tuple[_Pass, ...], bool], int] = {}
    passes: dict[_Pass, int] = {}

    def slot(rank: int, operation: Operation, chunk: int) -> int:
        way = 2 * (rank * schedule.chunks + chunk) + (operation.direction is Direction.FORWARD)
        return way * microbatches + operation.microbatch

    def piece(
        rank: int, together: tuple[Operation, ...], first: set[int], last: dict[int, Operation]
    ) -> _Piece:
        sources = [(schedule.source((rank, one.chunk), one.direction), one) for one in together]
        own = tuple((one.direction, one.chunk) for one in together)
        gives = [one for one in together if one.direction is not Direction.WEIGHT_GRADIENT]
        new = tuple(dict.fromkeys(one.chunk for one in together if one.chunk not in first))
        first.update(new)
        return _Piece(
            needs=tuple(
                slot(*there[:1], one, there[1]) for there, one in sources if there and there[0] != rank
            ),
            kind=kinds.setdefault((own, together[0].steady), len(kinds)),
            gives=tuple(
                (slot(rank, one, one.chunk), passes.setdefault((one.direction, one.chunk), len(passes)))
                for one in gives
            ),
            first=new,
            last=tuple(one.chunk for one in together if last[one.chunk] is one),
        )

    ranks = []
    for rank, order in enumerate(schedule.orders):
        seen: set[int] = set()
        last = {one.chunk: one for one in order}
        ranks.append(tuple(piece(rank, together, seen, last) for together in runs(order)))
    return _Program(tuple(ranks), tuple(kinds), tuple(passes), 2 * stages * schedule.chunks * microbatches)


class _Walk:
    """Walks through the operations of all tracks, in an order in which their inputs are there."""

    def __init__(self, work: Work, alone: Sequence[float]) -> None:
        self._work, self._alone = work, alone
        self._known: dict[tuple[int, tuple[_Pass, ...], bool], float] = {}

    def time_s(self, program: _Program) -> float:
        """Of all of it."""
        work, ranks = self._work, len(program.ranks)
        barrier = 0.0
        for first in range(0, len(work.tracks), ranks):
            ends = self._replica(program, first)
            for own, end in zip(work.tracks[first : first + ranks], ends, strict=True):
                barrier = max(barrier, end + self._sum((*own.late_gradients, *own.before_optimizer)))
        last = max(own.optimizer_s + self._sum(own.after_optimizer) for own in work.tracks)
        return barrier + work.closing_s + last

    def _replica(self, program: _Program, first: int) -> list[float]:
        """When each rank of a replica has computed everything and its gradients are on no link any more."""
        there: list[float | None] = [None] * program.slots
        ranks = [
            _Rank(self, self._work.tracks[first + rank], first + rank, program, pieces)
            for rank, pieces in enumerate(program.ranks)
        ]
        waiting = ranks
        while waiting:
            left = [rank for rank in waiting if not rank.advance(there)]
            if len(left) == len(waiting) and not any(rank.ready(there) for rank in left):
                raise RuntimeError("the order of the schedule makes tracks wait for each other for ever")
            waiting = left
        return [max(rank.now, rank.synced) for rank in ranks]

    def holds_sender(self) -> bool:
        """Whether a rank goes on when its send has arrived."""
        return self._work.holds_sender

    def _sum(self, wanted: Sequence[Run]) -> float:
        return sum(self._alone[run.instance] * run.share for run in wanted)

    def send_s(self, own: TrackWork, one: _Pass) -> float:
        """What a pass of a track hands on takes."""
        return self._sum(own.sends.get(one, ()))

    def _parts(self, run: Run) -> int:
        return min(max(round(self._work.buckets[run.instance] * run.share), 1), _MOST_PARTS)

    def _bucket_s(self, run: Run) -> tuple[float, float]:
        """Of every bucket, and what the one that shows takes more: a latency that all have together."""
        together = self._work.one_latency[run.instance]
        latency = self._work.alpha_s[run.instance] * run.share if together else 0.0
        return (self._sum((run,)) - latency) / self._parts(run), latency

    def gathered(self, wanted: Sequence[Run], start: float, end: float) -> float:
        """The end of what needs the parameters of its chunk for the first time."""
        if not wanted:
            return end
        first = max(sum(self._bucket_s(run)) for run in wanted)
        return max(end + max(first - start, 0.0), self._sum(wanted))

    def synced(self, wanted: Sequence[Run], start: float, end: float, busy: float) -> float:
        """When the gradients of a chunk are summed that its last backward leaves from `start` to `end`."""
        for run in wanted:
            parts, (seconds, shown) = self._parts(run), self._bucket_s(run)
            for part in range(1, parts + 1):
                ready = start + (end - start) * part / parts if parts > 1 else end
                busy = max(busy, ready) + seconds + (shown if part == parts else 0.0)
        return busy

    def seconds(self, track: int, kind: tuple[tuple[_Pass, ...], bool]) -> float:
        """Of a kind of piece on a track."""
        passes, steady = kind
        found = self._known.get((track, passes, steady))
        if found is None:
            chunks = [self._work.tracks[track].chunks[one] for one in passes]
            hidden = len(passes) > 1 or (self._work.choices.experts and steady)
            found = self._known[track, passes, steady] = self._long(chunks, hidden)
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


class _Rank:
    """One track on its way through its pieces: the time that it has reached, and that of its gradients."""

    __slots__ = ("_at", "_holds", "_own", "_pieces", "_seconds", "_sends", "_walk", "now", "synced")

    def __init__(
        self, walk: _Walk, own: TrackWork, track: int, program: _Program, pieces: tuple[_Piece, ...]
    ) -> None:
        self._walk, self._own, self._pieces = walk, own, pieces
        used = {piece.kind for piece in pieces}
        self._seconds = [
            walk.seconds(track, kind) if number in used else 0.0 for number, kind in enumerate(program.kinds)
        ]
        self._sends = [walk.send_s(own, one) for one in program.passes]
        self._holds = walk.holds_sender()
        self._at = 0
        self.now = 0.0
        self.synced = 0.0

    def ready(self, there: Sequence[float | None]) -> bool:
        """Whether what the next piece waits for is there."""
        return all(there[slot] is not None for slot in self._pieces[self._at].needs)

    def advance(self, there: list[float | None]) -> bool:
        """Run as far as the inputs reach; gives whether the track is through."""
        pieces, seconds, sends, now = self._pieces, self._seconds, self._sends, self.now
        for number in range(self._at, len(pieces)):
            piece = pieces[number]
            start = now
            for slot in piece.needs:
                arrived = there[slot]
                if arrived is None:
                    self._at, self.now = number, now
                    return False
                if arrived > start:
                    start = arrived
            now = start + seconds[piece.kind]
            for chunk in piece.first:
                if chunk < len(self._own.gathers):
                    now = self._walk.gathered(self._own.gathers[chunk], start, now)
            end = now
            for slot, sent in piece.gives:
                there[slot] = arrived = end + sends[sent]
                if self._holds and arrived > now:
                    now = arrived
            for chunk in piece.last:
                self.synced = self._walk.synced(self._own.gradients[chunk], start, end, self.synced)
        self._at, self.now = len(pieces), now
        return True
