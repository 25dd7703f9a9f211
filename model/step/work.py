"""What every pipeline stage has to do in a step: stretches of compute, and the exchanges beside and after
them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from model.job.compute import StageCompute
from model.job.exchange import Exchange, When, Window
from model.placement.types import Placement
from model.step.schedule import Direction, Operation
from model.traffic.types import Traffic


@dataclass(frozen=True, slots=True)
class Stretch:
    """Seconds of compute, and the instances that run beside it and must end before what comes next."""

    seconds: float
    beside: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One direction of one microbatch on a stage.

    `throughout` runs beside all stretches; `blocking` follows them, one after the other; `sends` are handed
    over when the chunk ends.
    """

    stretches: tuple[Stretch, ...]
    throughout: tuple[int, ...] = ()
    blocking: tuple[int, ...] = ()
    sends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StageWork:
    """Everything that a stage does in a step; the numbers are indices of instances of `Traffic`."""

    chunks: dict[Direction, Chunk]
    optimizer_s: float
    under_first_forward: tuple[int, ...] = ()
    under_last_backward: tuple[int, ...] = ()
    gradients: tuple[int, ...] = ()
    before_optimizer: tuple[int, ...] = ()
    after_optimizer: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """The step as the simulation runs it.

    Per instance: `piece_alpha_s` latency and `piece_share` part of the bytes of one run of it (a chunk's, or
    the whole); `participants` the stages that must all be there before it starts, and that wait for its end;
    `stream` what runs one after the other: the collectives of a dimension at a stage, each kind of send;
    `hides_in_pipeline` whether waiting for it counts only when the pipeline part is over.
    """

    stages: tuple[StageWork, ...]
    orders: tuple[tuple[Operation, ...], ...]
    piece_alpha_s: tuple[float, ...]
    piece_share: tuple[float, ...]
    participants: tuple[tuple[int, ...], ...]
    stream: tuple[int, ...]
    hides_in_pipeline: tuple[bool, ...]


_SENDS = frozenset({When.AFTER_FORWARD, When.AFTER_BACKWARD})
_PER_MICROBATCH = _SENDS | {When.FORWARD, When.BACKWARD}


@dataclass(slots=True)
class _Drawers:
    """Instances of one stage by where they run, in the order of the plan."""

    chosen: dict[tuple[When, Window], list[int]] = field(default_factory=dict)

    def take(self, when: When, accepts: Callable[[Window], bool]) -> tuple[int, ...]:
        found = [
            number
            for key, numbers in self.chosen.items()
            if key[0] is when and accepts(key[1])
            for number in numbers
        ]
        return tuple(sorted(found))


def step_work(
    exchanges: Sequence[Exchange],
    traffic: Traffic,
    placement: Placement,
    computes: Sequence[StageCompute],
    orders: tuple[tuple[Operation, ...], ...],
) -> Work:
    """Sort the instances of `traffic` into what each stage does.

    `computes` has one entry per stage, at the speed of its slowest GPU; `orders` as `stage_orders` gives
    them.
    """
    stages = len(computes)
    drawers = [_Drawers() for _ in range(stages)]
    alphas, shares, members, streams, hides = [], [], [], [], []
    numbered: dict[Hashable, int] = {}
    stage_of_gpu = placement.coordinates["pp"]
    microbatches = len(orders[0]) // 2
    for number, (index, stage) in enumerate(
        zip(traffic.instance_exchange.tolist(), traffic.instance_stage.tolist(), strict=True)
    ):
        exchange = exchanges[index]
        runs = microbatches if exchange.when in _PER_MICROBATCH else 1
        alphas.append(float(traffic.alpha_s[number]) * exchange.count_per_step * exchange.time_factor / runs)
        shares.append(1.0 / runs)
        members.append(_participants(exchange, stage, stage_of_gpu, stages))
        streams.append(numbered.setdefault(_stream(exchange, number, members[-1]), len(numbered)))
        hides.append(exchange.when is When.GRADIENTS and not exchange.blocking)
        for part in members[-1]:
            drawers[part].chosen.setdefault((exchange.when, exchange.window), []).append(number)
    return Work(
        stages=tuple(
            _stage_work(drawer, compute, first=number == 0)
            for number, (drawer, compute) in enumerate(zip(drawers, computes, strict=True))
        ),
        orders=orders,
        piece_alpha_s=tuple(alphas),
        piece_share=tuple(shares),
        participants=tuple(members),
        stream=tuple(streams),
        hides_in_pipeline=tuple(hides),
    )


def _participants(exchange: Exchange, stage: int, stage_of_gpu: np.ndarray, stages: int) -> tuple[int, ...]:
    """The stages that run an instance together: the sender's of a send, else those of its members."""
    if exchange.when in _PER_MICROBATCH:
        return (stage,)
    found = np.unique(stage_of_gpu[exchange.groups[exchange.stages == stage]])
    return tuple(number for number in found.tolist() if 0 <= number < stages) or (stage,)


def _stream(exchange: Exchange, number: int, participants: tuple[int, ...]) -> Hashable:
    """Collectives of one dimension share a communication stream of their stage; all else has one of its
    own.
    """
    if exchange.when in _SENDS or len(participants) > 1:
        return number
    return (participants, exchange.dimension)


def _stage_work(drawer: _Drawers, compute: StageCompute, *, first: bool) -> StageWork:
    none = Window.NONE.__eq__

    def hidden(window: Window) -> bool:
        return window is not Window.NONE

    forward = Chunk(
        stretches=(Stretch(compute.forward_s),),
        throughout=drawer.take(When.FORWARD, hidden),
        blocking=drawer.take(When.FORWARD, none),
        sends=drawer.take(When.AFTER_FORWARD, lambda window: True),
    )
    dgrad = drawer.take(When.BACKWARD, Window.DGRAD.__eq__)
    wgrad = drawer.take(When.BACKWARD, Window.WGRAD.__eq__)
    rest = max(compute.backward_s - compute.dgrad_s - compute.wgrad_s, 0.0)
    backward = Chunk(
        stretches=(
            (Stretch(rest), Stretch(compute.dgrad_s, dgrad), Stretch(compute.wgrad_s, wgrad))
            if dgrad or wgrad
            else (Stretch(compute.backward_s),)
        ),
        throughout=drawer.take(
            When.BACKWARD, lambda window: hidden(window) and window not in (Window.DGRAD, Window.WGRAD)
        ),
        blocking=drawer.take(When.BACKWARD, none),
        sends=drawer.take(When.AFTER_BACKWARD, lambda window: True),
    )
    beside = drawer.take(When.GRADIENTS, hidden)
    return StageWork(
        chunks={Direction.FORWARD: forward, Direction.BACKWARD: backward},
        optimizer_s=compute.optimizer_s,
        under_first_forward=drawer.take(When.PARAMETERS, hidden),
        under_last_backward=beside if first else (),
        gradients=drawer.take(When.GRADIENTS, none)
        if first
        else drawer.take(When.GRADIENTS, lambda window: True),
        before_optimizer=drawer.take(When.BEFORE_OPTIMIZER, lambda window: True),
        after_optimizer=drawer.take(When.PARAMETERS, none),
    )
