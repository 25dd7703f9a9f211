"""In which order a pipeline stage runs its chunks (traffic_model §6.1).

A schedule is an order function: stage, stages and microbatches to the operations of that stage. What an
operation waits for follows from the operation itself, so another schedule is another order function in
`ORDERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from model.errors import JobError


class Direction(StrEnum):
    """Which way a chunk goes through the model."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Operation(NamedTuple):
    """One chunk of one microbatch on one stage."""

    direction: Direction
    microbatch: int


OrderFunction = Callable[[int, int, int], tuple[Operation, ...]]


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> tuple[Operation, ...]:
    """1F1B: `min(p − r − 1, m)` forwards, then forward and backward in turn, then the backwards that are
    left.
    """
    warm_up = min(stages - stage - 1, microbatches)
    order = [Operation(Direction.FORWARD, number) for number in range(warm_up)]
    for number in range(warm_up, microbatches):
        order.append(Operation(Direction.FORWARD, number))
        order.append(Operation(Direction.BACKWARD, number - warm_up))
    order.extend(
        Operation(Direction.BACKWARD, number) for number in range(microbatches - warm_up, microbatches)
    )
    return tuple(order)


ORDERS: Mapping[str, OrderFunction] = {
    "1f1b": one_forward_one_backward,
    "interleaved": one_forward_one_backward,  # with one chunk a stage both are the same (conventions 31)
}


def stage_orders(schedule: str, stages: int, microbatches: int) -> tuple[tuple[Operation, ...], ...]:
    """The operations of every stage. One stage makes every schedule plain (conventions 31).

    Raises JobError for a schedule that has no order function here.
    """
    order = one_forward_one_backward if stages == 1 else ORDERS.get(schedule)
    if order is None:
        raise JobError(f"schedule {schedule} is not built yet; there is {', '.join(ORDERS)}")
    return tuple(order(stage, stages, microbatches) for stage in range(stages))


def most_in_flight(operations: Sequence[Operation]) -> int:
    """How many microbatches a stage holds at most: forwards that no backward has freed yet."""
    held = most = 0
    for operation in operations:
        held += 1 if operation.direction is Direction.FORWARD else -1
        most = max(most, held)
    return most
