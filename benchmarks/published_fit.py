"""Fits the constants of a GPU type and a precision on the rows that may be used for it.

Two for each pair: the efficiency of large matrix multiplications, and the time in which the host issues a
kernel. Each makes the sum of |ours ÷ measured − 1| least, between what the step gives at a few values. The
efficiency is fitted on dense models alone, because the time of expert models says little of it; a pair that
has none takes that of the nearest GPU type. Deterministic, and blind to what the catalogue has now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.published_fabrics import cluster
from benchmarks.published_rows import Row
from benchmarks.published_run import extended, step_lengths
from model.analysis import analyse
from model.catalog import GpuSpec, catalog
from model.catalog.specs import Precision
from model.document.document import Document
from model.errors import JobError
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import parse_job
from model.step.account import Inputs, step_time
from model.step.seconds import TrackSeconds
from model.step.stage_devices import stage_seconds

Pair = tuple[str, str]

EFFICIENCY = (0.3, 0.9)
TRIED_EFFICIENCIES = (0.4, 0.7)  # between and around them the time is taken as a + b ÷ efficiency
EFFICIENCY_STEP = 0.01
TRIED_ISSUE_US = (2.0, 15.0, 30.0, 60.0)
ISSUE_STEP_US = 1.0
FIRST_ISSUE_US = 20.0
TURNS = 2
NEAREST = {
    "H100": ("H800", "B200", "GB200"),
    "H800": ("H100", "B200", "GB200"),
    "B200": ("GB200", "B300", "GB300"),
    "GB200": ("B200", "GB300", "B300"),
    "B300": ("GB300", "B200", "GB200"),
    "GB300": ("B300", "GB200", "B200"),
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """The constants of a pair, the rows that gave them, and median |error| and bias on these rows."""

    pair: Pair
    rows: int
    dense_rows: int
    efficiency: float
    issue_us: float
    residual: float
    bias: float
    taken_from: Pair | None


def fit_all(rows: Iterable[Row]) -> list[Fitted]:
    """Every pair that has rows to fit on which can be run; those that take another's efficiency come last."""
    by_pair: dict[Pair, list[Row]] = defaultdict(list)
    for row in rows:
        if row.fit and not row.unusable:
            by_pair[row.gpu_type, row.precision].append(row)
    own = {pair: found for pair, found in by_pair.items() if any(not row.moe for row in found)}
    fitted = {pair: fit(pair, found) for pair, found in sorted(own.items())}
    for pair, found in sorted(by_pair.items()):
        if pair not in fitted:
            fitted[pair] = fit(pair, found, nearest(pair, fitted))
    return list(fitted.values())


def nearest(pair: Pair, fitted: Mapping[Pair, Fitted]) -> Fitted | None:
    """The pair of the nearest GPU type in the same precision that has an efficiency of its own."""
    gpu_type, precision = pair
    near = (fitted.get((other, precision)) for other in NEAREST.get(gpu_type, ()))
    return next((one for one in near if one is not None and one.dense_rows), None)


def fit(pair: Pair, rows: Sequence[Row], like: Fitted | None = None) -> Fitted:
    """The constants of one pair, by turns.

    The efficiency is fitted on dense rows (without any it is that of `like`, or the catalogue's), the issue
    time on expert rows, or on dense ones where there are none.
    """
    ordered = sorted(rows, key=lambda one: (one.gpu, one.gpus, one.ident))
    prepared = [_Prepared(row) for row in ordered]
    dense = [one for one in prepared if not one.row.moe]
    routed = [one for one in prepared if one.row.moe] or dense
    spec = catalog().gpus[rows[0].gpu]
    efficiency = like.efficiency if like else spec.gemm_efficiency[prepared[0].precision]
    issue_us = FIRST_ISSUE_US
    for _ in range(TURNS):
        if dense:
            efficiency = _best_efficiency(dense, issue_us)
        issue_us = _best_issue(routed, efficiency)
    errors = np.array([one.ratio(efficiency, issue_us) for one in prepared]) - 1.0
    return Fitted(
        pair=pair,
        rows=len(rows),
        dense_rows=len(dense),
        efficiency=efficiency,
        issue_us=issue_us,
        residual=float(np.median(np.abs(errors))),
        bias=float(errors.mean()),
        taken_from=like.pair if like else None,
    )


def _best_efficiency(rows: Sequence[_Prepared], issue_us: float) -> float:
    """The efficiency with the least Σ |error|."""
    fine = _between(EFFICIENCY[0], EFFICIENCY[-1], EFFICIENCY_STEP)
    low, high = TRIED_EFFICIENCIES
    total = np.zeros(len(fine))
    for one in rows:
        slow, fast = one.ratio(low, issue_us), one.ratio(high, issue_us)
        total += np.abs(fast + (slow - fast) / (1 / low - 1 / high) * (1 / fine - 1 / high) - 1.0)
    return float(fine[int(np.argmin(total))])


def _best_issue(rows: Sequence[_Prepared], efficiency: float) -> float:
    """The issue time with the least Σ |error|, between those that are tried."""
    fine = _between(TRIED_ISSUE_US[0], TRIED_ISSUE_US[-1], ISSUE_STEP_US)
    total = np.zeros(len(fine))
    for one in rows:
        tried = [one.ratio(efficiency, value) for value in TRIED_ISSUE_US]
        total += np.abs(np.interp(fine, TRIED_ISSUE_US, tried) - 1.0)
    return float(fine[int(np.argmin(total))])


def _between(low: float, high: float, step: float) -> NDArray[np.float64]:
    return np.round(low + step * np.arange(round((high - low) / step) + 1), 6)


class _Prepared:
    """A row with everything but compute done."""

    def __init__(self, row: Row) -> None:
        self.row = row
        drawn = cluster(row.gpu, row.gpus, row.node_gbit_per_s)
        job = parse_job({**row.job, "world": list(drawn.world)})
        self.precision: Precision = job.precision
        self._job, self._shape, self._grid = job, model_shape(job), grid_of(job, row.gpus)
        self._lengths = step_lengths(job, row.gpus)
        self._inputs: list[Inputs] = []
        for length in self._lengths:
            analyse(Document(drawn.topology, length.job), drawn.cache)
            if drawn.cache.last is None:
                raise JobError(f"{row.ident} gives no report")
            self._inputs.append(drawn.cache.last.inputs)
        self._known: dict[tuple[TrackSeconds, ...], float] = {}

    def ratio(self, efficiency: float, issue_us: float) -> float:
        """ours ÷ measured with other constants; all GPUs are equal, and so are their replicas."""
        spec = catalog().gpus[self.row.gpu]
        changed = spec.model_copy(
            update={
                "gemm_efficiency": {**spec.gemm_efficiency, self.precision: efficiency},
                "kernel_issue_us": {**spec.kernel_issue_us, self.precision: issue_us},
            }
        )
        return self._time_s(changed) / (self.row.measured_s or 1.0)

    def _time_s(self, gpu: GpuSpec) -> float:
        own = stage_seconds(self._job, self._shape, self._grid, gpu)
        if own not in self._known:
            times = [
                step_time(replace(inputs, seconds=tuple(own[track.stage] for track in inputs.seconds)))
                for inputs in self._inputs
            ]
            self._known[own] = extended(self._lengths, times)
        return self._known[own]
