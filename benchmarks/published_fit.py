"""Fits the constants of a GPU type and a precision on the rows that may be used for it.

Two for each pair (`CONSTANTS`): the efficiency of large matrix multiplications, and the time in which the
host issues a kernel or the efficiency of attention. Each makes the sum of |ln(ours ÷ measured)| least, on a
grid between what the step gives at a few values. The efficiency is fitted on dense models alone, because the
time of expert models says little of it; a pair that has none takes that of the nearest GPU type.
Deterministic.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

from benchmarks.published_fabrics import cluster
from benchmarks.published_rows import Row
from model.analysis import analyse
from model.catalog import GpuSpec, catalog
from model.catalog.specs import Precision
from model.document.document import Document
from model.errors import JobError
from model.job.not_built import not_built
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import parse_job
from model.step.account import step_time
from model.step.seconds import TrackSeconds
from model.step.stage_devices import stage_seconds

FloatArray = NDArray[np.float64]
Pair = tuple[str, str]

EFFICIENCY = (0.35, 0.5, 0.65, 0.8)
SECOND = {"issue": (2.0, 10.0, 20.0, 30.0, 40.0, 55.0), "attention": (0.25, 0.35, 0.45, 0.55, 0.7)}
FINE_STEPS = {"efficiency": 0.01, "issue": 1.0, "attention": 0.01}
CONSTANTS: dict[Pair, str] = {("H100", "bf16"): "attention"}
OTHERWISE = "issue"
NEAREST = {
    "H100": ("H800", "B200", "GB200"),
    "H800": ("H100", "B200", "GB200"),
    "B200": ("GB200", "B300", "GB300"),
    "GB200": ("B200", "GB300", "B300"),
    "B300": ("GB300", "B200", "GB200"),
    "GB300": ("B300", "GB200", "B200"),
}
MOST_TURNS = 20


@dataclass(frozen=True, slots=True)
class Fitted:
    """The constants of a pair, the rows that gave them, and median |error| and bias on these rows."""

    pair: Pair
    rows: int
    dense_rows: int
    efficiency: float
    second_name: str
    second: float
    residual: float
    bias: float
    taken_from: Pair | None


def fit_all(rows: Iterable[Row]) -> list[Fitted]:
    """Every pair that has rows to fit on which can be run; those that take another's efficiency come last."""
    by_pair: dict[Pair, list[Row]] = defaultdict(list)
    for row in rows:
        if row.fit and not row.unusable and not not_built(parse_job(row.job)):
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
    return next((one for one in near if one is not None and one.taken_from is None), None)


def fit(pair: Pair, rows: Sequence[Row], like: Fitted | None = None) -> Fitted:
    """The constants of one pair: by turns the efficiency on dense rows and the other constant on all.

    Without dense rows the efficiency is that of `like`.
    """
    name = CONSTANTS.get(pair, OTHERWISE)
    ordered = sorted(rows, key=lambda one: (one.gpu, one.gpus, one.ident))
    efficiency, second = _fine(EFFICIENCY, FINE_STEPS["efficiency"]), _fine(SECOND[name], FINE_STEPS[name])
    points = np.stack(np.meshgrid(np.log(efficiency), second, indexing="ij"), axis=-1)
    axes = (np.log(EFFICIENCY), np.asarray(SECOND[name]))
    errors = np.stack([RegularGridInterpolator(axes, _table(row, name))(points) for row in ordered])
    dense = np.array([not row.moe for row in ordered])
    at_second = int(np.argmin(np.abs(second - _present(rows[0], name))))
    at_efficiency = int(np.argmin(np.abs(efficiency - (like.efficiency if like else 0.0))))
    for _ in range(MOST_TURNS):
        before = (at_efficiency, at_second)
        if dense.any():
            at_efficiency = int(np.argmin(np.abs(errors[dense, :, at_second]).sum(axis=0)))
        at_second = int(np.argmin(np.abs(errors[:, at_efficiency, :]).sum(axis=0)))
        if before == (at_efficiency, at_second):
            break
    at = np.expm1(errors[:, at_efficiency, at_second])
    return Fitted(
        pair=pair,
        rows=len(rows),
        dense_rows=int(dense.sum()),
        efficiency=float(efficiency[at_efficiency]),
        second_name=name,
        second=float(second[at_second]),
        residual=float(np.median(np.abs(at))),
        bias=float(at.mean()),
        taken_from=like.pair if like else None,
    )


def _fine(coarse: Sequence[float], step: float) -> FloatArray:
    count = round((coarse[-1] - coarse[0]) / step)
    return np.round(coarse[0] + step * np.arange(count + 1), 6)


def _present(row: Row, name: str) -> float:
    """The constant that the catalogue has now."""
    spec = catalog().gpus[row.gpu]
    if name == "attention":
        return spec.attention_efficiency
    return dict(spec.kernel_issue_us)[_precision(row)]


def _precision(row: Row) -> Precision:
    return parse_job(row.job).precision


def _table(row: Row, name: str) -> FloatArray:
    """ln(ours ÷ measured) at every coarse efficiency and second constant."""
    prepared = _Prepared(row)
    measured = row.measured_s or 1.0
    return np.array(
        [
            [math.log(prepared.time_s(_changed(row, eta, name, value)) / measured) for value in SECOND[name]]
            for eta in EFFICIENCY
        ]
    )


def _changed(row: Row, efficiency: float, name: str, value: float) -> GpuSpec:
    spec, own = catalog().gpus[row.gpu], _precision(row)
    update: dict[str, object] = {"gemm_efficiency": {**spec.gemm_efficiency, own: efficiency}}
    if name == "attention":
        update["attention_efficiency"] = value
    else:
        update["kernel_issue_us"] = {**spec.kernel_issue_us, own: value}
    return spec.model_copy(update=update)


class _Prepared:
    """A row with everything but compute done."""

    def __init__(self, row: Row) -> None:
        drawn = cluster(row.gpu, row.gpus, row.node_gbit_per_s)
        self._job = parse_job({**row.job, "world": list(drawn.world)})
        self._shape = model_shape(self._job)
        self._grid = grid_of(self._job, len(drawn.world))
        analyse(Document(drawn.topology, self._job), drawn.cache)
        if drawn.cache.last is None:
            raise JobError(f"{row.ident} gives no report")
        self._inputs = drawn.cache.last.inputs
        self._known: dict[tuple[TrackSeconds, ...], float] = {}

    def time_s(self, gpu: GpuSpec) -> float:
        """Its step on another GPU; all of them are equal, and so are their replicas."""
        own = stage_seconds(self._job, self._shape, self._grid, gpu)
        seconds = tuple(own[track.stage] for track in self._inputs.seconds)
        if seconds not in self._known:
            self._known[seconds] = step_time(replace(self._inputs, seconds=seconds))
        return self._known[seconds]
