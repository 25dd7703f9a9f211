"""A pipeline schedule: the order of every rank, and the way of a microbatch through ranks and chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from model.errors import JobError
from model.job.chunks import MOST_CHUNKS
from model.step.orders import ORDERS, Direction, Operation, Pipeline, one_forward_one_backward
from model.text import plural

Place = tuple[int, int]
"""A rank and one of its chunks."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What every rank does in which order, under the schedule `name`; `group` as in `Pipeline`.

    `orders` has one entry per rank. A forward at a place follows that at `before[place]`, a backward that at
    `after[place]`; ends of the model are in neither. Both may be on the same rank, then nothing is sent.
    """

    name: str
    microbatches: int
    group: int
    orders: tuple[tuple[Operation, ...], ...]
    chunks: int
    before: Mapping[Place, Place]
    after: Mapping[Place, Place]

    def source(self, place: Place, direction: Direction) -> Place | None:
        """Where the input of an operation comes from; None at an end, and for weight gradients."""
        if direction is Direction.WEIGHT_GRADIENT:
            return None
        return (self.before if direction is Direction.FORWARD else self.after).get(place)

    def target(self, place: Place, direction: Direction) -> Place | None:
        """Where the result of an operation goes."""
        if direction is Direction.WEIGHT_GRADIENT:
            return None
        return (self.after if direction is Direction.FORWARD else self.before).get(place)


@lru_cache(maxsize=64)
def pipeline_schedule(
    name: str, stages: int, microbatches: int, chunks: int = 1, group: int | None = None
) -> Schedule:
    """The schedule of `stages` ranks. One stage makes every schedule plain; `group` is p unless given.

    Raises JobError for a schedule that there is not, that needs another number of stages, or of more than
    `MOST_CHUNKS`.
    """
    order = one_forward_one_backward if stages == 1 else ORDERS.get(name)
    if order is None:
        raise JobError(f"there is no schedule {name}; there is {', '.join(ORDERS)}")
    if order is ORDERS["dualpipe"] and stages % 2:
        raise JobError(f"dualpipe needs an even number of stages, not {stages}")
    if stages * microbatches * chunks > MOST_CHUNKS:
        raise JobError(
            f"{microbatches:,} microbatches on {plural(stages * chunks, 'piece')} of the model are more than "
            f"the {MOST_CHUNKS:,} in all that a step is simulated with; take a smaller batch, a larger "
            "microbatch or more DP"
        )
    pipeline = Pipeline(stages, microbatches, chunks, group or stages)
    orders = tuple(order(stage, pipeline) for stage in range(stages))
    ways = _ways(name if stages > 1 else "1f1b", stages, chunks)
    after = {here: there for way in ways for here, there in pairwise(way)}
    before = {there: here for here, there in after.items()}
    held = len({place[1] for way in ways for place in way})
    return Schedule(name, microbatches, pipeline.group, orders, held, before, after)


def _ways(name: str, stages: int, chunks: int) -> list[list[Place]]:
    """The places that a microbatch passes forward; of DualPipe one way for each half of them."""
    ranks = range(stages)
    if name == "dualpipe":
        return [[(rank, 0) for rank in ranks], [(rank, 1) for rank in reversed(ranks)]]
    if name == "zb-v":
        return [[(rank, 0) for rank in ranks] + [(rank, 1) for rank in reversed(ranks)]]
    return [[(rank, chunk) for chunk in range(chunks if name == "interleaved" else 1) for rank in ranks]]
