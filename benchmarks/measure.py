"""A case, how it is measured, and how the figures are printed."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

RUNS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure. `prepare` is not measured and runs before every run; `run` gets what it gave.

    `run` gives a count of what it worked on, and `counted` says what that is. `goal_s` is the process time
    that it must stay under.
    """

    name: str
    prepare: Callable[[], Any]
    run: Callable[[Any], int]
    counted: str
    goal_s: float


@dataclass(frozen=True, slots=True)
class Result:
    """The median process time of a case, the spread over its runs, and its count."""

    case: Case
    median_s: float
    slowest_s: float
    count: int

    @property
    def met(self) -> bool:
        """Whether the median is under the goal."""
        return self.median_s <= self.case.goal_s


def measure(case: Case, runs: int = RUNS) -> Result:
    """Run a case once to warm up and then `runs` times; process time, which other programs do not disturb."""
    case.run(case.prepare())
    times = []
    count = 0
    for _ in range(runs):
        prepared = case.prepare()
        gc.collect()
        start = time.process_time()
        count = case.run(prepared)
        times.append(time.process_time() - start)
    return Result(case, statistics.median(times), max(times), count)


def report(results: Iterable[Result]) -> bool:
    """Print a row per result; gives whether all goals are met."""
    print(f"{'case':<52}{'median':>10}{'slowest':>10}{'goal':>10}  count")
    all_met = True
    for result in results:
        all_met = all_met and result.met
        mark = "" if result.met else "  over the goal"
        print(
            f"{result.case.name:<52}{_ms(result.median_s)}{_ms(result.slowest_s)}{_ms(result.case.goal_s)}"
            f"  {result.count:,} {result.case.counted}{mark}",
            flush=True,
        )
    return all_met


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:>7,.0f} ms"
