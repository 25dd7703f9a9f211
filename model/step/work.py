"""What every track has to do in a step: stretches of compute, and the exchanges beside and after them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from model.job.exchange import Exchange, IntArray, When, Window
from model.job.exchange import Operation as Collective
from model.placement.types import Placement
from model.step.orders import Direction, Operation, runs
from model.step.schedule import Schedule
from model.step.seconds import ChunkSeconds, TrackSeconds
from model.step.small import Small
from model.step.tracks import PER_MICROBATCH, Tracks


@dataclass(frozen=True, slots=True)
class Choices:
    """How a job overlaps: `overlap.pipeline`, `overlap.experts` and `overlap.sm_share`."""

    pipeline: bool = False
    experts: bool = False
    sm_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Outline:
    """What a step consists of, before it is known which links carry it.

    `exchanges` have labels in place of stages (`Tracks.split`); `seconds` has one entry per track.
    """

    placement: Placement
    exchanges: tuple[Exchange, ...]
    tracks: Tracks
    seconds: tuple[TrackSeconds, ...]
    schedule: Schedule
    choices: Choices
    small: Small


class Instances(Protocol):
    """Which exchange at which label an instance is, and α of one of its operations (`Traffic`, `Alone`)."""

    @property
    def instance_exchange(self) -> NDArray[np.int32]:
        """(instances,)."""

    @property
    def instance_stage(self) -> NDArray[np.int32]:
        """(instances,): the label."""

    @property
    def alpha_s(self) -> NDArray[np.float64]:
        """(instances,)."""


class Run(NamedTuple):
    """One run of an instance, the share of its step that it moves, and of its latency (None: the same)."""

    instance: int
    share: float
    latency: float | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Seconds of compute, and what runs beside it and must end before what comes next."""

    seconds: float
    beside: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One direction of one microbatch on a chunk, or two that are joined.

    `leading` comes first; `throughout` runs beside all stretches; `blocking` follows them, one after the
    other; `experts` do so too, or run throughout where forwards and backwards pair up to hide them: always
    where two are joined, else with `overlap.experts` where they alternate. `latency_s`: of what goes with the
    experts and is too small to be an exchange; hidden with them.
    """

    stretches: tuple[Stretch, ...]
    leading: tuple[Run, ...] = ()
    throughout: tuple[Run, ...] = ()
    blocking: tuple[Run, ...] = ()
    experts: tuple[Run, ...] = ()
    latency_s: float = 0.0

    @property
    def seconds(self) -> float:
        """Compute of all stretches."""
        return sum(stretch.seconds for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class TrackWork:
    """Everything that a track does in a step.

    `sends` by direction and chunk; `gathers` per chunk the parameters that its first forward needs, and may
    hide but for the first bucket; `gradients` per chunk what its last backward leaves: in buckets beside it,
    or after it.
    """

    chunks: dict[tuple[Direction, int], Chunk]
    optimizer_s: float
    sends: dict[tuple[Direction, int], tuple[Run, ...]]
    gathers: tuple[tuple[Run, ...], ...] = ()
    gradients: tuple[tuple[Run, ...], ...] = ()
    late_gradients: tuple[Run, ...] = ()
    before_optimizer: tuple[Run, ...] = ()
    after_optimizer: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """The step as the simulation runs it.

    `tracks` and `runs` have an entry per track: what it does, and its operations (joined ones together).
    Per instance: `alpha_s` latency of a whole step; `participants` the tracks that must all be there before
    it starts, and that wait for its end; `stream` what runs one after the other: the collectives of a
    dimension at a track, each kind of send; `buckets` the parts in which it follows a backward or leads a
    forward; `one_latency` whether all buckets have one together;
    `hides_in_pipeline` whether waiting for it counts only when the pipeline part is over. `holds_sender`: a
    rank goes on when its send has arrived. `closing_s`: from the last sum of gradients of all ranks to the
    optimizer.
    """

    schedule: Schedule
    choices: Choices
    tracks: tuple[TrackWork, ...]
    runs: tuple[tuple[tuple[Operation, ...], ...], ...]
    alpha_s: tuple[float, ...]
    participants: tuple[tuple[int, ...], ...]
    stream: tuple[int, ...]
    buckets: tuple[int, ...]
    one_latency: tuple[bool, ...]
    hides_in_pipeline: tuple[bool, ...]
    holds_sender: bool
    closing_s: float


TrackArray = NDArray[np.int64]

_SENDS = frozenset({When.AFTER_FORWARD, When.AFTER_BACKWARD})
_SCATTERS = frozenset({Collective.REDUCE_SCATTER, Collective.ALL_REDUCE})


@dataclass(slots=True)
class _Drawer:
    """Instances of one track by when they run, in the order of the plan, and its sends by target track."""

    chosen: dict[When, list[int]] = field(default_factory=lambda: defaultdict(list))
    sends: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def step_work(outline: Outline, instances: Instances, schedule: Schedule) -> Work:
    """Sort the instances into what each track does, under `schedule` (the outline's, or one as it begins)."""
    tracks, seconds = outline.tracks, outline.seconds
    drawers = [_Drawer() for _ in range(tracks.count)]
    of_gpu = tracks.of_gpus(outline.placement)
    of_instance = [outline.exchanges[index] for index in instances.instance_exchange.tolist()]
    alphas, members, streams = [], [], []
    numbered: dict[Hashable, int] = {}
    latency = instances.alpha_s.tolist()
    for number, (exchange, label) in enumerate(
        zip(of_instance, instances.instance_stage.tolist(), strict=True)
    ):
        # What runs in every microbatch runs at one track, whoever its members are.
        own = None if exchange.when in PER_MICROBATCH else exchange.groups[exchange.stages == label]
        members.append(_participants(own, label, of_gpu, tracks.count))
        alphas.append(_latency_s(exchange, latency[number], seconds[members[-1][0]].issue_s))
        streams.append(numbered.setdefault(_stream(exchange, number, members[-1]), len(numbered)))
        for track in members[-1]:
            drawers[track].chosen[exchange.when].append(number)
        if exchange.when in _SENDS:
            targets = exchange.groups[exchange.stages == label][:, 1]
            for target in np.unique(of_gpu[targets]).tolist():
                drawers[members[-1][0]].sends[target].append(number)
    makers = [
        _Maker(track, drawer, of_instance, own, schedule, tracks.stages, outline.small)
        for track, (drawer, own) in enumerate(zip(drawers, seconds, strict=True))
    ]
    return Work(
        schedule=schedule,
        choices=outline.choices,
        tracks=tuple(maker.work() for maker in makers),
        runs=tuple(tuple(runs(order)) for order in schedule.orders) * len(tracks.replicas),
        alpha_s=tuple(alphas),
        participants=tuple(members),
        stream=tuple(streams),
        buckets=tuple(max(exchange.buckets, 1) for exchange in of_instance),
        one_latency=tuple(exchange.units == 1 for exchange in of_instance),
        hides_in_pipeline=tuple(one.when is When.GRADIENTS and not one.blocking for one in of_instance),
        holds_sender=_deals_in_turn(schedule) and not outline.choices.pipeline,
        closing_s=outline.small.closing_s,
    )


def _latency_s(exchange: Exchange, alpha_s: float, issue_s: float) -> float:
    """Of all operations of a step: every unit has the latency of its own steps."""
    each = alpha_s * exchange.units + exchange.host_kernels * issue_s
    return each * exchange.count_per_step * exchange.time_factor


def _deals_in_turn(schedule: Schedule) -> bool:
    """Whether chunks are dealt out in turn (interleaved): from the last rank back to the first."""
    last = len(schedule.orders) - 1
    return schedule.before.get((0, 1)) == (last, 0)


def _participants(groups: IntArray | None, label: int, of_gpu: TrackArray, count: int) -> tuple[int, ...]:
    """The tracks that run an instance together: those of the members of `groups`, else the label's."""
    if groups is None:
        return (label,)
    found = tuple(track for track in np.unique(of_gpu[groups]).tolist() if 0 <= track < count)
    return found or (label % count,)


def _stream(exchange: Exchange, number: int, participants: tuple[int, ...]) -> Hashable:
    """Collectives of one dimension share a communication stream of their track; all else has one of its
    own.
    """
    if exchange.when in _SENDS or len(participants) > 1:
        return number
    return (participants, exchange.dimension)


class _Maker:
    """Makes the work of one track."""

    def __init__(
        self,
        track: int,
        drawer: _Drawer,
        exchanges: Sequence[Exchange],
        seconds: TrackSeconds,
        schedule: Schedule,
        stages: int,
        small: Small,
    ) -> None:
        self._small = small
        self._first_track = track - track % stages
        self._rank = track % stages
        self._drawer = drawer
        self._exchanges = exchanges
        self._seconds = seconds
        self._schedule = schedule
        order = schedule.orders[self._rank]
        self._operations: dict[tuple[Direction, int], int] = defaultdict(int)
        for operation in order:
            self._operations[operation.direction, operation.chunk] += 1
        self._passes = [
            self._operations.get((Direction.FORWARD, chunk), 0) for chunk in range(len(seconds.chunks))
        ]
        self._sends = self._sends_by_operation()
        self._send_uses: dict[int, int] = defaultdict(int)
        for key, numbers in self._sends.items():
            for number in numbers:
                self._send_uses[number] += self._operations[key]

    def work(self) -> TrackWork:
        """All of it."""
        chunks = range(self._schedule.chunks)
        unsent = [
            number for when in _SENDS for number in self._drawer.chosen[when] if not self._send_uses[number]
        ]
        return TrackWork(
            chunks={key: self._chunk(*key) for key in self._operations},
            optimizer_s=self._seconds.optimizer_s,
            sends={
                key: tuple(Run(number, 1.0 / self._send_uses[number]) for number in numbers)
                for key, numbers in self._sends.items()
            },
            gathers=tuple(
                self._of_chunk(When.PARAMETERS, lambda window: window is not Window.NONE, chunk)
                for chunk in chunks
            ),
            gradients=tuple(
                self._of_chunk(When.GRADIENTS, lambda window: window is not Window.NONE, chunk)
                for chunk in chunks
            ),
            late_gradients=self._whole(When.GRADIENTS, Window.NONE),
            # A send that no operation of this schedule makes still has its bytes to move.
            before_optimizer=tuple(Run(number, 1.0) for number in unsent)
            + self._whole(When.BEFORE_OPTIMIZER),
            after_optimizer=self._whole(When.PARAMETERS, Window.NONE),
        )

    def _whole(self, when: When, window: Window | None = None) -> tuple[Run, ...]:
        return tuple(
            Run(number, 1.0)
            for number in self._drawer.chosen[when]
            if window is None or self._exchanges[number].window is window
        )

    def _of_chunk(self, when: When, accepts: Callable[[Window], bool], chunk: int) -> tuple[Run, ...]:
        """What falls to one chunk of what runs once a step; all of it to chunks that run."""
        present = [min(passes, 1) for passes in self._passes]
        return tuple(
            Run(number, share)
            for number in self._drawer.chosen[when]
            if accepts(self._exchanges[number].window)
            and (share := self._share_of_chunk(self._exchanges[number], chunk, present)) > 0
        )

    def _share_of_chunk(self, exchange: Exchange, chunk: int, passes: Sequence[int]) -> float:
        """By layers and passes of each chunk, or all to its own one; by passes alone where that is none."""
        layers = [own.layers for own in self._seconds.chunks]
        if exchange.chunk is not None:
            layers = [float(number == exchange.chunk) for number in range(len(layers))]
        weights = [one * times for one, times in zip(layers, passes, strict=True)]
        if not sum(weights):
            weights = [float(times) for times in passes]
        total = sum(weights)
        return weights[chunk] / total if total > 0 else 0.0

    # Chunks

    def _runs(
        self, directions: Sequence[Direction], when: When, chunk: int
    ) -> Iterator[tuple[Exchange, Run]]:
        """What runs in each operation of these directions on a chunk."""
        times = sum(self._operations.get((direction, chunk), 0) for direction in directions)
        for number in self._drawer.chosen[when]:
            exchange = self._exchanges[number]
            share = self._share_of_chunk(exchange, chunk, self._passes)
            if share > 0 and times:
                yield exchange, Run(number, share / times)

    def _chunk(self, direction: Direction, chunk: int) -> Chunk:
        own = self._seconds.chunks[chunk]
        if direction is Direction.FORWARD:
            made = self._forward(own, list(self._runs((direction,), When.FORWARD, chunk)))
            return replace(made, latency_s=own.routed * self._small.forward_s)
        backwards = (Direction.BACKWARD, Direction.INPUT_GRADIENT)
        found = list(self._runs(backwards, When.BACKWARD, chunk))
        if direction is Direction.BACKWARD:
            return replace(self._backward(own, found), latency_s=own.routed * self._small.backward_s)
        late = [one for one in found if one[0].dimension == "dp" and one[0].operation in _SCATTERS]
        split = self._operations.get((Direction.WEIGHT_GRADIENT, chunk), 0)
        if direction is Direction.WEIGHT_GRADIENT:
            return _windowed([(own.wgrad_s, ())], late, frozenset()) if split else Chunk(())
        return self._input_gradient(own, [one for one in found if one not in late])

    def _forward(self, own: ChunkSeconds, found: list[tuple[Exchange, Run]]) -> Chunk:
        attention = _in(found, Window.ATTENTION)
        matrix = [run for exchange, run in found if exchange.window is Window.MATRIX]
        parts: list[tuple[float, tuple[Run, ...]]] = [(own.forward_s, ())]
        if attention or matrix:
            rest = max(own.forward_s - own.attention_s - own.dgrad_s, 0.0)
            first = min(own.attention_s, own.forward_s)
            parts = [(first, attention), (own.forward_s - first - rest, _later(found)), (rest, ())]
        return _windowed(parts, found, frozenset({Window.ATTENTION}))

    def _backward(self, own: ChunkSeconds, found: list[tuple[Exchange, Run]]) -> Chunk:
        dgrad, wgrad = _in(found, Window.DGRAD) + _later(found), _in(found, Window.WGRAD)
        attention = _in(found, Window.ATTENTION)
        parts: list[tuple[float, tuple[Run, ...]]] = [(own.backward_s, ())]
        if dgrad or wgrad or attention:
            rest = max(own.backward_s - own.dgrad_s - own.wgrad_s, 0.0)
            first = min(own.attention_backward_s, rest) if attention else 0.0
            parts = [(rest - first, ()), (first, attention), (own.dgrad_s, dgrad), (own.wgrad_s, wgrad)]
        return _windowed(parts, found, frozenset({Window.ATTENTION, Window.DGRAD, Window.WGRAD}))

    def _input_gradient(self, own: ChunkSeconds, found: list[tuple[Exchange, Run]]) -> Chunk:
        """Without the weight-gradient GEMMs, which hide nothing when they run later."""
        bare = replace(own, backward_s=max(own.backward_s - own.wgrad_s, 0.0), wgrad_s=0.0)
        return replace(self._backward(bare, found), latency_s=own.routed * self._small.backward_s)

    # Sends

    def _sends_by_operation(self) -> dict[tuple[Direction, int], tuple[int, ...]]:
        """The instances that carry the result of each kind of operation to where it goes.

        An exchange from here to there of the right kind and chunk; where the plan has none, another one
        from here to there: in bytes per pair of stages both are the same.
        """
        found: dict[tuple[Direction, int], tuple[int, ...]] = {}
        for direction, chunk in self._operations:
            target = self._schedule.target((self._rank, chunk), direction)
            if target is None or target[0] == self._rank:
                continue
            numbers = self._drawer.sends.get(self._first_track + target[0], [])
            when = When.AFTER_FORWARD if direction is Direction.FORWARD else When.AFTER_BACKWARD
            numbers = [n for n in numbers if self._exchanges[n].when is when] or numbers
            numbers = [n for n in numbers if self._exchanges[n].chunk == chunk] or numbers
            found[direction, chunk] = tuple(numbers)
        return found


def _in(found: list[tuple[Exchange, Run]], window: Window) -> tuple[Run, ...]:
    return tuple(run for exchange, run in found if exchange.window is window)


def _later(found: list[tuple[Exchange, Run]]) -> tuple[Run, ...]:
    """The parts of what overlaps with its own matrix multiplications that can: all but 1 ÷ group size."""
    return tuple(
        run._replace(share=run.share * (1 - 1 / exchange.group_size))
        for exchange, run in found
        if exchange.window is Window.MATRIX and exchange.group_size > 1
    )


def _windowed(
    parts: list[tuple[float, tuple[Run, ...]]], found: list[tuple[Exchange, Run]], covered: frozenset[Window]
) -> Chunk:
    """Stretches, and around them what is not beside one of them already (windows in `covered`).

    Of what is cut into units (`buckets`) beside a layer's compute the first gather comes before it, and the
    last scatter after it (traffic_model §7).
    """
    leading: list[Run] = []
    throughout: list[Run] = []
    blocking: list[Run] = []
    experts: list[Run] = []
    for exchange, run in found:
        if exchange.dimension == "ep" and exchange.window in (Window.NONE, Window.LAYER):
            experts.append(run)
        elif exchange.window is Window.MATRIX:
            leading.append(run._replace(share=run.share / max(exchange.group_size, 1)))
        elif exchange.window is Window.NONE:
            blocking.append(run)
        elif exchange.window not in covered:
            part = run.share / exchange.buckets if exchange.buckets > 1 else 0.0
            throughout.append(run._replace(share=run.share - part))
            if part:
                end = blocking if exchange.operation in _SCATTERS else leading
                end.append(run._replace(share=part))
    return Chunk(
        stretches=tuple(Stretch(seconds, beside) for seconds, beside in parts),
        leading=tuple(leading),
        throughout=tuple(throughout),
        blocking=tuple(blocking),
        experts=tuple(experts),
    )
