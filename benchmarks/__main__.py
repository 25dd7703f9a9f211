"""`python -m benchmarks [words]`: measure all cases, or those whose names contain one of the words."""

from __future__ import annotations

import importlib
import importlib.util
import sys

from benchmarks import watchdog
from benchmarks.measure import Case, measure, report
from benchmarks.memory import LIMITS_MB, peak_mb

MODULES = ("engine", "canvas")


def all_cases() -> list[Case]:
    """The cases of every module here; each has a function `cases`."""
    found: list[Case] = []
    for name in MODULES:
        if importlib.util.find_spec(f"benchmarks.{name}") is not None:
            found.extend(importlib.import_module(f"benchmarks.{name}").cases())
    return found


def main(words: list[str]) -> int:
    """Measure and print; 1 when a goal is missed."""
    chosen = [case for case in all_cases() if not words or any(word in case.name for word in words)]
    met = report(measure(case) for case in chosen)
    if not words or "memory" in words:
        for nodes, limit in LIMITS_MB.items():
            megabytes = peak_mb(nodes)
            met = met and megabytes <= limit
            print(f"memory of window and engine, {8 * nodes:,} GPUs: {megabytes:,.0f} MB of {limit:,.0f} MB")
    if not words or "watchdog" in words:
        met = watchdog.measured() and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
