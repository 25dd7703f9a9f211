"""In which order a pipeline rank runs its chunks, schedule by schedule (traffic_model §6.1).

An order function gives the operations of one rank. What an operation waits for follows from the operation
itself (`schedule`), so another schedule is another order function in `ORDERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Direction(StrEnum):
    """What an operation does with a chunk of the model.

    BACKWARD is the whole backward. Schedules that fill bubbles cut it in two. INPUT_GRADIENT has everything
    that the rank before waits for: recompute, attention, norms and the input-gradient GEMMs, with all
    exchanges of the backward. WEIGHT_GRADIENT has the weight-gradient GEMMs alone, and the reduce-scatter of
    ZeRO-3 that takes their results.
    """

    FORWARD = "forward"
    BACKWARD = "backward"
    INPUT_GRADIENT = "input-gradient"
    WEIGHT_GRADIENT = "weight-gradient"


class Operation(NamedTuple):
    """One chunk of one microbatch on one rank.

    `joined`: it runs together with the operation after it, in each other's shadow (DualPipe's F&B).
    `steady`: forward and backward alternate here, so that expert exchanges may hide beside compute
    (`overlap.experts`).
    """

    direction: Direction
    microbatch: int
    chunk: int = 0
    joined: bool = False
    steady: bool = False


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Ranks, microbatches of a replica, chunks of a rank, and how many microbatches pass a chunk in turn."""

    stages: int
    microbatches: int
    chunks: int = 1
    group: int = 1


OrderFunction = Callable[[int, Pipeline], tuple[Operation, ...]]

_F, _B = Direction.FORWARD, Direction.BACKWARD
_I, _W = Direction.INPUT_GRADIENT, Direction.WEIGHT_GRADIENT


def gpipe(_stage: int, pipeline: Pipeline) -> tuple[Operation, ...]:
    """All forwards, then all backwards."""
    numbers = range(pipeline.microbatches)
    return tuple(Operation(direction, number) for direction in (_F, _B) for number in numbers)


def one_forward_one_backward(stage: int, pipeline: Pipeline) -> tuple[Operation, ...]:
    """1F1B: `min(p − r − 1, m)` forwards, then forward and backward in turn, then the backwards left."""
    numbers = range(pipeline.microbatches)
    forwards = [Operation(_F, number) for number in numbers]
    backwards = [Operation(_B, number) for number in numbers]
    return _alternating(forwards, backwards, pipeline.stages - stage - 1)


def interleaved(stage: int, pipeline: Pipeline) -> tuple[Operation, ...]:
    """Megatron-Core's schedule table: groups of N microbatches pass chunk 0, then chunk 1 …; backward the
    chunks in reverse; `2(p − r − 1) + (v − 1)·N` forwards before the first backward.
    """
    m, v, group = pipeline.microbatches, pipeline.chunks, pipeline.group
    table = [
        (chunk, number)
        for first in range(0, m, group)
        for chunk in range(v)
        for number in range(first, min(first + group, m))
    ]
    forwards = [Operation(_F, number, chunk) for chunk, number in table]
    backwards = [Operation(_B, number, v - 1 - chunk) for chunk, number in table]
    return _alternating(forwards, backwards, 2 * (pipeline.stages - stage - 1) + (v - 1) * group)


def _alternating(
    forwards: list[Operation], backwards: list[Operation], warm_up: int
) -> tuple[Operation, ...]:
    warm_up = min(warm_up, len(forwards))
    order = forwards[:warm_up]
    for forward, backward in zip(forwards[warm_up:], backwards, strict=False):
        order += [forward._replace(steady=True), backward._replace(steady=True)]
    return tuple(order + backwards[len(forwards) - warm_up :])


def zero_bubble_h1(stage: int, pipeline: Pipeline) -> tuple[Operation, ...]:
    """ZB-H1: 1F1B, the weight gradients of rank r run r microbatches late and fill the cool-down."""
    order: list[Operation] = []
    weights = 0
    for operation in one_forward_one_backward(stage, pipeline):
        if operation.direction is _F:
            order.append(operation)
            continue
        order.append(operation._replace(direction=_I))
        if operation.microbatch >= stage:
            order.append(Operation(_W, weights))
            weights += 1
    order += [Operation(_W, number) for number in range(weights, pipeline.microbatches)]
    return tuple(order)


def zero_bubble_v(stage: int, pipeline: Pipeline) -> tuple[Operation, ...]:
    """ZB-V: two chunks, the second on the way back, so that rank 0 has both ends of the model.

    The handcrafted order for tf = tbi = tw, as PyTorch's ScheduleZBVZeroBubble has it.
    """
    p = pipeline.stages
    count = max(2 * p - 1, pipeline.microbatches)
    made = _Counted()
    made.run(2 * (p - stage) - 1, (_F, 0))
    made.run(stage, (_F, 1), (_F, 0))
    made.run(p - stage, (_F, 1), (_I, 1), (_W, 1))
    while made.count[_F, 1] < made.count[_F, 0] or made.count[_F, 0] < count:
        if made.count[_F, 0] < count:
            made.run(1, (_F, 0))
        made.run(1, (_I, 0), (_W, 0), (_F, 1), (_I, 1), (_W, 1))
    made.run(stage, (_I, 0), (_I, 1))
    made.run(p - stage, (_I, 0), (_W, 0))
    for chunk in (1, 0):
        made.run(made.count[_I, chunk] - made.count[_W, chunk], (_W, chunk))
    return tuple(one for one in made.order if one.microbatch < pipeline.microbatches)


class _Counted:
    """An order in which every kind of operation counts its microbatches."""

    def __init__(self) -> None:
        self.order: list[Operation] = []
        self.count = {(direction, chunk): 0 for direction in (_F, _I, _W) for chunk in (0, 1)}

    def run(self, times: int, *kinds: tuple[Direction, int]) -> None:
        for _ in range(times):
            for direction, chunk in kinds:
                self.order.append(Operation(direction, self.count[direction, chunk], chunk))
                self.count[direction, chunk] += 1


def dual_pipe(stage: int, pipeline: Pipeline) -> tuple[Operation, ...]:
    """DualPipe: half of the microbatches enter at rank 0 (chunk 0), half at rank p − 1 (chunk 1).

    The eight steps of DeepSeek's dualpipe.py. A forward of one direction and a backward of the other run
    together. With fewer than 2p microbatches the order is that of 2p, without those that there are not.
    """
    p, m = pipeline.stages, pipeline.microbatches
    near, half = min(stage, p - 1 - stage), p // 2
    each = max(-(-m // 2), p)
    made = _BothWays(second_half=stage >= half, first=-(-m // 2), total=m)
    made.forward(0, times=2 * (half - near - 1))
    for _ in range(near + 1):
        made.forward(0)
        made.forward(1)
    for _ in range(half - near - 1):
        made.backward(1, split=True)
        made.weight()
        made.forward(1)
    for turn in range(each - p + near + 1):
        made.both(0, 1, joined=turn > 0 or near < half - 1)
        made.both(1, 0)
    for _ in range(half - near - 1):
        made.backward(1)
        made.both(1, 0)
    split = False
    for turn in range(near + 1):
        split = split or (turn == (near + 1) // 2 and near % 2 == 1)
        made.backward(1, split=split)
        split = split or (turn == (near + 1) // 2 and near % 2 == 0)
        made.backward(0, split=split)
    for _ in range(half - near - 1):
        made.weight()
        made.backward(0, split=True)
    made.weight(times=near + 1)
    return tuple(made.order)


class _BothWays:
    """An order under way; `phase` 0 is the direction whose microbatches enter nearer to the rank."""

    def __init__(self, *, second_half: bool, first: int, total: int) -> None:
        self.order: list[Operation] = []
        self._turned = int(second_half)
        self._start, self._count = (0, first), (first, total - first)
        self._next = {(direction, chunk): 0 for direction in (_F, _B) for chunk in (0, 1)}
        self._late: list[Operation | None] = []

    def _take(self, direction: Direction, phase: int) -> tuple[int, int] | None:
        """(microbatch, chunk) of the next one; None where there are no more microbatches."""
        chunk = phase ^ self._turned
        number = self._next[direction, chunk]
        self._next[direction, chunk] += 1
        return (self._start[chunk] + number, chunk) if number < self._count[chunk] else None

    def forward(self, phase: int, times: int = 1) -> None:
        for _ in range(times):
            if (found := self._take(_F, phase)) is not None:
                self.order.append(Operation(_F, *found))

    def backward(self, phase: int, *, split: bool = False) -> None:
        found = self._take(_B, phase)
        if found is not None:
            self.order.append(Operation(_I if split else _B, *found))
        if split:
            self._late.append(Operation(_W, *found) if found is not None else None)

    def weight(self, times: int = 1) -> None:
        for _ in range(times):
            if (operation := self._late.pop(0)) is not None:
                self.order.append(operation)

    def both(self, forward: int, backward: int, *, joined: bool = True) -> None:
        first, second = self._take(_F, forward), self._take(_B, backward)
        if first is not None:
            self.order.append(Operation(_F, *first, joined=joined and second is not None))
        if second is not None:
            self.order.append(Operation(_B, *second))


ORDERS: Mapping[str, OrderFunction] = {
    "gpipe": gpipe,
    "1f1b": one_forward_one_backward,
    "interleaved": interleaved,
    "zb-h1": zero_bubble_h1,
    "zb-v": zero_bubble_v,
    "dualpipe": dual_pipe,
}


def runs(order: tuple[Operation, ...]) -> Iterator[tuple[Operation, ...]]:
    """The operations in the order of a rank; joined ones as one."""
    together: list[Operation] = []
    for operation in order:
        together.append(operation)
        if not operation.joined:
            yield tuple(together)
            together = []
