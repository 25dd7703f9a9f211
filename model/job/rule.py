"""What a rule of legality looks at and gives, and the legal values near one that is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from model.job.shape import ModelShape
from model.job.sizes import replicas
from model.job.spec import JobSpec
from model.text import name_list, whole


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its name, a sentence with the values, the field to change and legal values near it."""

    rule: str
    message: str
    field: str
    nearest: tuple[int | str | bool, ...] = ()

    @property
    def nearest_first(self) -> str:
        """The sentence with the legal values in front, for a place where its end may be cut."""
        reason, found, near = self.message.partition("; nearest ")
        return f"nearest {near}: {reason}" if found else self.message


@dataclass(frozen=True, slots=True)
class Case:
    """What the rules look at."""

    job: JobSpec
    shape: ModelShape
    world: int

    @property
    def model_parallel(self) -> int:
        own = self.job.parallel
        return own.tp * own.cp * own.pp

    @property
    def dp(self) -> int:
        """D as given, else what is left; 0 where the world is too small."""
        return replicas(self.job, self.world)

    @property
    def microbatches(self) -> int:
        """m, or 0 where the batch does not divide."""
        each = self.job.microbatch * self.dp
        return self.job.global_batch // each if each and self.job.global_batch % each == 0 else 0


Rule = Callable[[Case], Iterator[Violation]]


def nearest_multiples(value: int, unit: int) -> tuple[int, ...]:
    """The multiples of `unit` just below and above `value`, from `unit` on: (1000, 32) → (992, 1024)."""
    below = value // unit * unit
    return (below, below + unit) if below else (unit,)


def divisors(value: int) -> tuple[int, ...]:
    """All divisors of a positive number, ascending."""
    small = [d for d in range(1, int(value**0.5) + 1) if value % d == 0]
    return tuple(dict.fromkeys((*small, *(value // d for d in reversed(small)))))


def neighbours(value: int, legal: tuple[int, ...]) -> tuple[int, ...]:
    """The largest legal value below and the smallest above."""
    below = [one for one in legal if one < value][-1:]
    above = [one for one in legal if one > value][:1]
    return (*below, *above)


def say(values: tuple[int, ...], what: str = "nearest") -> str:
    """The end of a sentence that names legal values; empty where there are none."""
    return f"; {what} {name_list([whole(value) for value in values])}" if values else ""
