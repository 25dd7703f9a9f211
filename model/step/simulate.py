"""The event simulation of a step: stages run their chunks, exchanges share links, everyone waits for whom it
must.

All replicas and groups of a stage run in lockstep (the slowest holds everyone), so a stage is one process
and an exchange at a stage is one thing on the wire.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from model.step.report import Block, BlockKind
from model.step.schedule import Direction, Operation
from model.step.shares import Shares
from model.step.wires import History, Piece, Wires
from model.step.work import Work

Request = float | Sequence[Piece]
"""What a stage asks for: seconds of compute, or the end of pieces."""

_BLOCK = {Direction.FORWARD: BlockKind.FORWARD, Direction.BACKWARD: BlockKind.BACKWARD}


@dataclass(slots=True)
class Waiting:
    """What one stage waits for now, and what waiting has cost it so far (seconds by instance)."""

    pending: list[Piece] = field(default_factory=list)
    since: float = 0.0
    exposed: dict[int, float] = field(default_factory=dict)
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened, per stage and per instance.

    `blocks` per stage; `exposed` per stage seconds by instance; `awaited` per instance the spans in which
    something waited for it; `histories` per component of `Shares`; `wire_s` per instance its seconds on the
    wire. `pipeline_s` is when the last backward of all ended, `time_s` when everything had.
    """

    blocks: tuple[tuple[Block, ...], ...]
    exposed: tuple[dict[int, float], ...]
    awaited: tuple[list[tuple[float, float]], ...]
    histories: tuple[History, ...]
    wire_s: tuple[float, ...]
    pipeline_s: float
    time_s: float


def simulate(work: Work, shares: Shares) -> Trace:
    """Run one step of `work` on links shared as `shares` says. Raises RuntimeError where stages block each
    other.
    """
    return _Simulation(work, shares).run()


class _Simulation:
    def __init__(self, work: Work, shares: Shares) -> None:
        self._work = work
        self._stages = len(work.stages)
        self._events: list[tuple[float, int, Callable[[float, int, int], None], int, int]] = []
        self._sequence = 0
        self._now = 0.0
        self._wires = Wires(shares, work.piece_alpha_s, work.piece_share, work.stream, self._at, self._ended)
        self._processes = [self._stage(number) for number in range(self._stages)]
        self._waiting = [Waiting() for _ in range(self._stages)]
        self._blocks: list[list[Block]] = [[] for _ in range(self._stages)]
        self._awaited: list[list[tuple[float, float]]] = [[] for _ in range(shares.count)]
        self._joint: dict[int, Piece] = {}
        self._deliveries: dict[tuple[int, Operation], list[Piece]] = {}
        self._in_pipeline = self._stages
        self._pipeline_s: float | None = None
        self._before_barrier = self._stages
        self._barrier = Piece(-1, self._stages)
        self._barrier_s = 0.0
        self._finished = 0

    # The clock

    def _at(self, time: float, call: Callable[[float, int, int], None], number: int, version: int) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time, self._sequence, call, number, version))

    def run(self) -> Trace:
        for stage in range(self._stages):
            self._resume(0.0, stage, 0)
        events, wires, pop = self._events, self._wires, heapq.heappop
        while True:
            if wires.unsettled and (not events or events[0][0] > self._now):
                wires.settle(self._now)
            if not events:
                break
            time, _, call, number, version = pop(events)
            self._now = time
            call(time, number, version)
        if self._finished < self._stages:
            raise RuntimeError("the order of the schedule makes stages wait for each other for ever")
        end = max((block.end_s for blocks in self._blocks for block in blocks), default=0.0)
        return Trace(
            blocks=tuple(tuple(blocks) for blocks in self._blocks),
            exposed=tuple(waiting.exposed for waiting in self._waiting),
            awaited=tuple(self._awaited),
            histories=tuple(wires.histories),
            wire_s=tuple(wires.wire_s),
            pipeline_s=self._pipeline_s or 0.0,
            time_s=max(end, self._barrier_s),
        )

    def _resume(self, time: float, stage: int, _version: int) -> None:
        """Let a stage go on until it computes or waits for something that has not ended."""
        process = self._processes[stage]
        while True:
            request = next(process, None)
            if request is None:
                self._finished += 1
                return
            if isinstance(request, float):
                self._at(time + request, self._resume, stage, 0)
                return
            pending = [piece for piece in request if not piece.done]
            if pending:
                waiting = self._waiting[stage]
                waiting.pending, waiting.since = pending, time
                for piece in pending:
                    piece.waiting.append(stage)
                return

    # Waiting

    def _start(self, piece: Piece) -> None:
        """One more participant has come to a piece; the last one starts it."""
        if piece.missing > 1:
            piece.missing -= 1
            return
        for stage in piece.waiting:
            self._account(stage)
        piece.missing = 0
        self._wires.start(self._now, piece)

    def _ended(self, time: float, piece: Piece) -> None:
        for stage in piece.waiting:
            self._account(stage)
            waiting = self._waiting[stage]
            waiting.pending.remove(piece)
            if not waiting.pending:
                self._at(time, self._resume, stage, 0)

    def _account(self, stage: int) -> None:
        """Charge the time since the last account to the exchanges that are on their way."""
        waiting, now = self._waiting[stage], self._now
        handed_over = [piece for piece in waiting.pending if piece.missing == 0 and piece.instance >= 0]
        under_way = [piece for piece in handed_over if piece.on_wire] or handed_over
        for piece in under_way:
            since = waiting.since
            if self._work.hides_in_pipeline[piece.instance]:
                # Until the last backward of all has ended the stage would wait for the others anyway.
                since = now if self._pipeline_s is None else max(since, self._pipeline_s)
            if now > since:
                seconds = (now - since) / len(under_way)
                waiting.exposed[piece.instance] = waiting.exposed.get(piece.instance, 0.0) + seconds
                waiting.total += seconds
                self._awaited[piece.instance].append((since, now))
        waiting.since = now

    # What a stage does

    def _stage(self, stage: int) -> Generator[Request, None, None]:
        work, operations = self._work.stages[stage], self._work.orders[stage]
        if not operations:
            return
        first_gather = self._launch(work.under_first_forward)
        late_gradients: list[Piece] = []
        for position, operation in enumerate(operations):
            yield self._arrival(stage, operation)
            start, waited = self._now, self._waiting[stage].total
            if position == len(operations) - 1:
                late_gradients = self._launch(work.under_last_backward)
            yield from self._chunk(stage, operation)
            if position == 0:
                yield first_gather
            exposed = self._waiting[stage].total - waited
            self._note(stage, start, _BLOCK[operation.direction], exposed, operation.microbatch)
            self._hand_over(stage, operation)
        yield from self._after_pipeline(stage, late_gradients)

    def _chunk(self, stage: int, operation: Operation) -> Generator[Request, None, None]:
        chunk = self._work.stages[stage].chunks[operation.direction]
        throughout = self._launch(chunk.throughout)
        for stretch in chunk.stretches:
            beside = self._launch(stretch.beside)
            if stretch.seconds > 0:
                yield float(stretch.seconds)
            yield beside
        yield throughout
        for number in chunk.blocking:
            yield self._launch((number,))

    def _after_pipeline(self, stage: int, gradients: list[Piece]) -> Generator[Request, None, None]:
        """Gradient sync, the barrier of the gradient norm, optimizer, parameter gather."""
        work = self._work.stages[stage]
        self._in_pipeline -= 1
        if self._in_pipeline == 0:
            self._pipeline_s = self._now
        start, waited = self._now, self._waiting[stage].total
        yield gradients
        for number in (*work.gradients, *work.before_optimizer):
            yield self._launch((number,))
        self._note(stage, start, BlockKind.GRADIENT_SYNC, self._waiting[stage].total - waited)
        self._before_barrier -= 1
        if self._before_barrier == 0:
            self._barrier.done = True
            self._barrier_s = self._now
            self._ended(self._now, self._barrier)
        yield (self._barrier,)
        start = self._now
        if work.optimizer_s > 0:
            yield float(work.optimizer_s)
        self._note(stage, start, BlockKind.OPTIMIZER, 0.0)
        start, waited = self._now, self._waiting[stage].total
        for number in work.after_optimizer:
            yield self._launch((number,))
        self._note(stage, start, BlockKind.PARAMETER_GATHER, self._waiting[stage].total - waited)

    def _note(
        self, stage: int, start: float, what: BlockKind, exposed: float, microbatch: int | None = None
    ) -> None:
        if self._now > start:
            self._blocks[stage].append(Block(start, self._now, what, microbatch, exposed))

    def _launch(self, numbers: Sequence[int]) -> list[Piece]:
        """Come to one run of each instance; those of several stages start when all have come."""
        pieces = []
        for number in numbers:
            participants = len(self._work.participants[number])
            if participants == 1:
                piece = Piece(number, 1)
            else:
                piece = self._joint.setdefault(number, Piece(number, participants))
                if piece.missing == 1:
                    del self._joint[number]
            self._start(piece)
            pieces.append(piece)
        return pieces

    # The pipeline

    def _arrival(self, stage: int, operation: Operation) -> list[Piece]:
        """The pieces that an operation of a stage waits for before it starts."""
        source = stage - 1 if operation.direction is Direction.FORWARD else stage + 1
        if not 0 <= source < self._stages:
            return []
        return self._delivery(source, operation)

    def _delivery(self, source: int, operation: Operation) -> list[Piece]:
        """What `source` sends after `operation`; without a send exchange, only that it has ended."""
        key = (source, operation)
        pieces = self._deliveries.get(key)
        if pieces is None:
            sends = self._work.stages[source].chunks[operation.direction].sends
            pieces = self._deliveries[key] = [Piece(number, 1) for number in sends] or [Piece(-1, 1)]
        return pieces

    def _hand_over(self, stage: int, operation: Operation) -> None:
        """The chunk has ended: what it sends is on its way, and the stage goes on."""
        for piece in self._delivery(stage, operation):
            if piece.instance >= 0:
                self._start(piece)
            else:
                piece.done = True
                self._ended(self._now, piece)
