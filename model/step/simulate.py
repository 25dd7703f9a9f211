"""The event simulation of a step: tracks run their chunks, exchanges share links, everyone waits for whom it
must.

All groups of a track run in lockstep (the slowest holds everyone), so a track is one process and an exchange
at a track is one thing on the wire.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from model.step.orders import Direction, Operation
from model.step.report import Block, BlockKind
from model.step.shares import Shares
from model.step.wires import History, Piece, Wires
from model.step.work import Chunk, Run, Stretch, Work


@dataclass(frozen=True, slots=True)
class Race:
    """Compute for so many seconds, or until these pieces have ended."""

    seconds: float
    pieces: Sequence[Piece]


_MOST_BUCKETS = 512

Request = float | Sequence[Piece] | Race
"""What a track asks for: seconds of compute, the end of pieces, or what comes first of both."""

_BLOCK = {
    Direction.FORWARD: BlockKind.FORWARD,
    Direction.BACKWARD: BlockKind.BACKWARD,
    Direction.INPUT_GRADIENT: BlockKind.BACKWARD,
    Direction.WEIGHT_GRADIENT: BlockKind.WEIGHT_GRADIENT,
}


@dataclass(slots=True)
class Waiting:
    """What one track waits for now, and what waiting has cost it so far (seconds by instance).

    `counts`: whether it has nothing else to do meanwhile.
    """

    pending: list[Piece] = field(default_factory=list)
    since: float = 0.0
    counts: bool = True
    exposed: dict[int, float] = field(default_factory=dict)
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened, per track and per instance.

    `blocks` and `compute_s` (without the optimizer) per track; `exposed` per track seconds by instance;
    `awaited` per instance the spans in which something waited for it; `histories` per component of `Shares`;
    `wire_s` per instance its seconds on the wire. `pipeline_s` is when the last backward of all ended,
    `time_s` when everything had.
    """

    blocks: tuple[tuple[Block, ...], ...]
    compute_s: tuple[float, ...]
    exposed: tuple[dict[int, float], ...]
    awaited: tuple[list[tuple[float, float]], ...]
    histories: tuple[History, ...]
    wire_s: tuple[float, ...]
    pipeline_s: float
    time_s: float


def simulate(work: Work, shares: Shares) -> Trace:
    """Run one step of `work` on links shared as `shares` says. Raises RuntimeError where tracks block each
    other.
    """
    return _Simulation(work, shares).run()


class _Simulation:
    def __init__(self, work: Work, shares: Shares) -> None:
        self._work = work
        self._ranks = len(work.schedule.orders)
        self._count = len(work.tracks)
        self._events: list[tuple[float, int, Callable[[float, int, int], None], int, int]] = []
        self._sequence = 0
        self._now = 0.0
        self._wires = Wires(shares, work.alpha_s, work.stream, self._at, self._ended)
        self._processes = [self._track(number) for number in range(self._count)]
        self._waiting = [Waiting() for _ in range(self._count)]
        self._turn = [0] * self._count
        self._blocks: list[list[Block]] = [[] for _ in range(self._count)]
        self._compute = [0.0] * self._count
        self._awaited: list[list[tuple[float, float]]] = [[] for _ in range(shares.count)]
        self._joint: dict[tuple[int, int], Piece] = {}
        self._comings: dict[tuple[int, int], int] = {}
        self._deliveries: dict[tuple[int, int, bool, int], list[Piece]] = {}
        self._launches: list[Piece] = []
        self._in_pipeline = self._count
        self._pipeline_s: float | None = None
        self._before_barrier = self._count
        self._barrier = Piece(-1, self._count)
        self._barrier_s = 0.0
        self._finished = 0

    # The clock

    def _at(self, time: float, call: Callable[[float, int, int], None], number: int, version: int) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time, self._sequence, call, number, version))

    def run(self) -> Trace:
        for track in range(self._count):
            self._resume(0.0, track, 0)
        events, wires, pop = self._events, self._wires, heapq.heappop
        while True:
            if wires.unsettled and (not events or events[0][0] > self._now):
                wires.settle(self._now)
            if not events:
                break
            time, _, call, number, version = pop(events)
            self._now = time
            call(time, number, version)
        if self._finished < self._count:
            raise RuntimeError("the order of the schedule makes tracks wait for each other for ever")
        end = max((block.end_s for blocks in self._blocks for block in blocks), default=0.0)
        return Trace(
            blocks=tuple(tuple(blocks) for blocks in self._blocks),
            compute_s=tuple(self._compute),
            exposed=tuple(waiting.exposed for waiting in self._waiting),
            awaited=tuple(self._awaited),
            histories=tuple(wires.histories),
            wire_s=tuple(wires.wire_s),
            pipeline_s=self._pipeline_s or 0.0,
            time_s=max(end, self._barrier_s),
        )

    def _resume(self, time: float, track: int, turn: int) -> None:
        """Let a track go on until it computes or waits for something that has not ended."""
        if turn != self._turn[track]:
            return
        process = self._processes[track]
        while True:
            request = next(process, None)
            if request is None:
                self._finished += 1
                return
            self._turn[track] += 1
            if isinstance(request, float):
                self._at(time + request, self._resume, track, self._turn[track])
                return
            pieces = request.pieces if isinstance(request, Race) else request
            pending = [piece for piece in pieces if not piece.done]
            if pending:
                waiting = self._waiting[track]
                waiting.pending, waiting.since = pending, time
                waiting.counts = not isinstance(request, Race)
                for piece in pending:
                    piece.waiting.append(track)
                if isinstance(request, Race):
                    self._at(time + request.seconds, self._give_up, track, self._turn[track])
                return

    def _give_up(self, time: float, track: int, turn: int) -> None:
        """The compute of a race is done before its pieces are."""
        if turn != self._turn[track] or not self._waiting[track].pending:
            return
        for piece in self._waiting[track].pending:
            piece.waiting.remove(track)
        self._waiting[track].pending = []
        self._resume(time, track, turn)

    # Waiting

    def _start(self, piece: Piece) -> None:
        """One more participant has come to a piece; the last one starts it."""
        if piece.missing > 1:
            piece.missing -= 1
            return
        for track in piece.waiting:
            self._account(track)
        piece.missing = 0
        self._wires.start(self._now, piece)

    def _ended(self, time: float, piece: Piece) -> None:
        for track in piece.waiting:
            self._account(track)
            waiting = self._waiting[track]
            waiting.pending.remove(piece)
            if not waiting.pending:
                self._at(time, self._resume, track, self._turn[track])

    def _account(self, track: int) -> None:
        """Charge the time since the last account to the exchanges that are on their way."""
        waiting, now = self._waiting[track], self._now
        if not waiting.counts:
            return
        handed_over = [piece for piece in waiting.pending if piece.missing == 0 and piece.instance >= 0]
        under_way = [piece for piece in handed_over if piece.on_wire] or handed_over
        for piece in under_way:
            since = waiting.since
            if self._work.hides_in_pipeline[piece.instance]:
                # Until the last backward of all has ended the track would wait for the others anyway.
                since = now if self._pipeline_s is None else max(since, self._pipeline_s)
            if now > since:
                seconds = (now - since) / len(under_way)
                waiting.exposed[piece.instance] = waiting.exposed.get(piece.instance, 0.0) + seconds
                waiting.total += seconds
                self._awaited[piece.instance].append((since, now))
        waiting.since = now

    # What a track does

    def _track(self, track: int) -> Generator[Request, None, None]:
        work, operations = self._work.tracks[track], self._work.runs[track]
        if not operations:
            return
        gathers = {chunk: self._lead(track, own) for chunk, own in enumerate(work.gathers) if own}
        last = {
            one.chunk: one
            for together in operations
            for one in together
            if one.direction is not Direction.FORWARD
        }
        gradients: list[Piece] = []
        for together in operations:
            yield [piece for operation in together for piece in self._arrival(track, operation)]
            start, waited = self._now, self._waiting[track].total
            needed = [gathers.pop(one.chunk) for one in together if one.chunk in gathers]
            for first, _ in needed:
                yield first
            ending = [one.chunk for one in together if last[one.chunk] is one]
            for chunk in ending:
                gradients += self._follow(track, chunk, together)
            yield from self._chunks(track, together)
            for _, rest in needed:
                yield rest
            self._note_run(track, start, together, self._waiting[track].total - waited)
            sent = [piece for operation in together for piece in self._hand_over(track, operation)]
            for chunk in ending:
                gradients += self._launch(
                    track, [run for run in work.gradients[chunk] if self._parts(run) == 1]
                )
            if self._work.holds_sender:
                yield sent
        yield from self._after_pipeline(track, gradients)

    def _parts(self, run: Run) -> int:
        """The buckets of what falls to one chunk; more than `_MOST_BUCKETS` follow as closely as these."""
        return min(max(round(self._work.buckets[run.instance] * run.share), 1), _MOST_BUCKETS)

    def _lead(self, track: int, wanted: Sequence[Run]) -> tuple[list[Piece], list[Piece]]:
        """Parameters on their way from the start of the step: the first bucket, and the others."""
        first: list[Piece] = []
        rest: list[Piece] = []
        for run in wanted:
            for part, bucket in enumerate(self._cut(run, 0)):
                (rest if part else first).extend(self._launch(track, (bucket,)))
        return first, rest

    def _cut(self, run: Run, shows: int) -> list[Run]:
        """The buckets of a run. Where all have one latency together it is that of the bucket that `shows`."""
        parts = self._parts(run)
        each = run.share / parts
        latencies = [each] * parts
        if self._work.one_latency[run.instance]:
            latencies = [0.0] * parts
            latencies[shows] = run.share
        return [Run(run.instance, each, latency) for latency in latencies]

    def _follow(self, track: int, chunk: int, together: Sequence[Operation]) -> list[Piece]:
        """Gradients that leave while the last backward of a chunk computes them: in n buckets, the k-th when
        k/n of it is done.
        """
        work = self._work
        computing = sum(work.tracks[track].chunks[one.direction, one.chunk].seconds for one in together)
        pieces: list[Piece] = []
        for run in work.tracks[track].gradients[chunk]:
            parts = self._parts(run)
            if parts == 1:
                continue
            for part, bucket in enumerate(self._cut(run, -1), start=1):
                piece = self._come_to(track, bucket)
                self._launches.append(piece)
                self._at(self._now + computing * part / parts, self._start_late, len(self._launches) - 1, 0)
                pieces.append(piece)
        return pieces

    def _start_late(self, _time: float, launch: int, _version: int) -> None:
        self._start(self._launches[launch])

    def _chunks(self, track: int, together: Sequence[Operation]) -> Generator[Request, None, None]:
        """The compute of one operation, or of two that are joined, and what runs beside and after it."""
        own = self._work.tracks[track].chunks
        chunks = [own[one.direction, one.chunk] for one in together]
        hidden = len(together) > 1 or (self._work.choices.experts and together[0].steady)
        yield self._launch(track, _all(chunks, lambda chunk: chunk.leading))
        beside = _all(chunks, lambda chunk: chunk.throughout)
        if hidden:
            beside += _all(chunks, lambda chunk: chunk.experts)
        throughout = self._launch(track, beside)
        for chunk in chunks:
            for stretch in chunk.stretches:
                yield from self._compute_for(track, stretch, throughout)
        yield throughout
        for run in _all(chunks, lambda chunk: chunk.blocking if hidden else chunk.blocking + chunk.experts):
            yield self._launch(track, (run,))
        latency = 0.0 if hidden else sum(chunk.latency_s for chunk in chunks)
        if latency > 0:
            yield latency

    def _compute_for(
        self, track: int, stretch: Stretch, throughout: list[Piece]
    ) -> Generator[Request, None, None]:
        """Compute of a stretch; communication that runs beside it slows it by the share of SMs it takes."""
        beside = self._launch(track, stretch.beside)
        left, pace = stretch.seconds, 1.0 - self._work.choices.sm_share
        start = self._now
        while left > 0:
            running = [piece for piece in (*beside, *throughout) if not piece.done] if pace < 1 else []
            began = self._now
            if not running:
                yield float(left)
                break
            yield Race(left / pace, running)
            left -= (self._now - began) * pace
            # What is left is rounding: less than the clock can tell apart.
            if left <= stretch.seconds * 1e-12 or self._now + left / pace <= self._now:
                break
        self._compute[track] += self._now - start
        if beside:
            yield beside

    def _after_pipeline(self, track: int, gradients: list[Piece]) -> Generator[Request, None, None]:
        """Gradient sync, the barrier of the gradient norm, optimizer, parameter gather."""
        work = self._work.tracks[track]
        self._in_pipeline -= 1
        if self._in_pipeline == 0:
            self._pipeline_s = self._now
        start, waited = self._now, self._waiting[track].total
        yield gradients
        for run in (*work.late_gradients, *work.before_optimizer):
            yield self._launch(track, (run,))
        self._note(track, start, BlockKind.GRADIENT_SYNC, self._waiting[track].total - waited)
        self._before_barrier -= 1
        if self._before_barrier == 0:
            if self._work.closing_s > 0:
                yield self._work.closing_s
            self._barrier.done = True
            self._barrier_s = self._now
            self._ended(self._now, self._barrier)
        yield (self._barrier,)
        start = self._now
        if work.optimizer_s > 0:
            yield float(work.optimizer_s)
        self._note(track, start, BlockKind.OPTIMIZER, 0.0)
        start, waited = self._now, self._waiting[track].total
        for run in work.after_optimizer:
            yield self._launch(track, (run,))
        self._note(track, start, BlockKind.PARAMETER_GATHER, self._waiting[track].total - waited)

    # Blocks

    def _note_run(self, track: int, start: float, together: Sequence[Operation], exposed: float) -> None:
        """The block of an operation; of joined ones a block each, in proportion to their compute."""
        first, several = together[0], self._work.schedule.chunks > 1
        if len(together) > 1:
            own = self._work.tracks[track].chunks
            seconds = [own[one.direction, one.chunk].seconds for one in together]
            whole = sum(seconds)
            middle = start + (self._now - exposed - start) * (seconds[0] / whole if whole > 0 else 0.0)
            self._add(track, _block(start, middle, first, 0.0, several))
            start, first = middle, together[1]
        self._add(track, _block(start, self._now, first, exposed, several))

    def _note(self, track: int, start: float, what: BlockKind, exposed: float) -> None:
        self._add(track, Block(start, self._now, what, None, exposed))

    def _add(self, track: int, block: Block) -> None:
        if block.end_s > block.start_s:
            self._blocks[track].append(block)

    # Pieces

    def _launch(self, track: int, wanted: Sequence[Run]) -> list[Piece]:
        """Come to runs of instances; those of several tracks start when all have come."""
        pieces = []
        for run in wanted:
            piece = self._come_to(track, run)
            self._start(piece)
            pieces.append(piece)
        return pieces

    def _come_to(self, track: int, run: Run) -> Piece:
        """The piece of a run; what several tracks run together is one piece for all of them."""
        number = run.instance
        participants = len(self._work.participants[number])
        if participants == 1:
            return Piece(number, 1, run.share, run.latency)
        coming = self._comings[track, number] = self._comings.get((track, number), 0) + 1
        piece = self._joint.get((number, coming))
        if piece is None:
            piece = self._joint[number, coming] = Piece(number, participants, run.share, run.latency)
        return piece

    # The pipeline

    def _arrival(self, track: int, operation: Operation) -> list[Piece]:
        """The pieces that an operation of a track waits for before it starts."""
        rank = track % self._ranks
        source = self._work.schedule.source((rank, operation.chunk), operation.direction)
        if source is None or source[0] == rank:
            return []
        return self._delivery(track - rank + source[0], source[1], operation)

    def _delivery(self, track: int, chunk: int, operation: Operation) -> list[Piece]:
        """What `track` sends after such an operation on `chunk`; without a send, only that it has ended."""
        forward = operation.direction is Direction.FORWARD
        key = (track, chunk, forward, operation.microbatch)
        pieces = self._deliveries.get(key)
        if pieces is None:
            sends = self._work.tracks[track].sends
            runs = sends.get((operation.direction, chunk), ())
            if not runs and not forward:
                both = (Direction.BACKWARD, Direction.INPUT_GRADIENT)
                runs = next((sends[way, chunk] for way in both if sends.get((way, chunk))), ())
            pieces = [Piece(run.instance, 1, run.share) for run in runs] or [Piece(-1, 1)]
            self._deliveries[key] = pieces
        return pieces

    def _hand_over(self, track: int, operation: Operation) -> list[Piece]:
        """The operation has ended: what it sends is on its way."""
        rank = track % self._ranks
        target = self._work.schedule.target((rank, operation.chunk), operation.direction)
        if target is None or target[0] == rank:
            return []
        pieces = self._delivery(track, operation.chunk, operation)
        for piece in pieces:
            if piece.instance >= 0:
                self._start(piece)
            else:
                piece.done = True
                self._ended(self._now, piece)
        return [piece for piece in pieces if piece.instance >= 0]


def _all(chunks: Sequence[Chunk], part: Callable[[Chunk], tuple[Run, ...]]) -> tuple[Run, ...]:
    return tuple(run for chunk in chunks for run in part(chunk))


def _block(start: float, end: float, operation: Operation, exposed: float, several: bool) -> Block:
    chunk = operation.chunk if several else None
    return Block(start, end, _BLOCK[operation.direction], operation.microbatch, exposed, chunk)
