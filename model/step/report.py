"""The result of a step: timeline, rates, costs, memory. Everything that the window and the files show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from model.job.exchange import Exchange
from model.job.memory import StageMemory
from model.placement.types import Placement
from model.step.rates import RateTable
from model.traffic.types import Fabric, Traffic

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


class Severity(StrEnum):
    """How bad a finding is (conventions 37)."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a user should know: what and where (`title`), why (`detail`), what to do (`fix`), what it
    costs.
    """

    id: str
    severity: Severity
    title: str
    detail: str
    devices: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    cost_s: float | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its derivation, and a `note` where it is often taken for something else."""

    value: float
    unit: str
    formula: str
    inputs: Mapping[str, float | int | str] = field(default_factory=dict)
    source: str = ""
    note: str = ""


class BlockKind(StrEnum):
    """What a stage does in a block of its lane; the values are those of the traffic JSON."""

    FORWARD = "forward"
    BACKWARD = "backward"
    WEIGHT_GRADIENT = "weight-gradient"
    OPTIMIZER = "optimizer"
    GRADIENT_SYNC = "gradient-sync"
    PARAMETER_GATHER = "parameter-gather"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a lane. `exposed_s` is the part of it, at its end, spent waiting for exchanges. `chunk`:
    the model chunk, where the stage has several.
    """

    start_s: float
    end_s: float
    what: BlockKind
    microbatch: int | None = None
    exposed_s: float = 0.0
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """The blocks of one pipeline stage, for `replicas` equal replicas from number `replica` on."""

    stage: int
    replica: int
    replicas: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Segments:
    """The step cut where the set of active exchanges changes.

    `start_s`, `end_s` (s,); `state` (s,) indexes the rows of `rates`, one per distinct set of active
    exchanges. `rates` (states, 2·links) bytes/s; `offered` the same for offered rates (conventions 48); both
    are read as `rates[state]` or `rates[states, directed_link]`, and need not be dense arrays.
    `active`: per state the indices of the active instances of `Traffic`; one that only waits for its latency
    has no rate.
    """

    start_s: FloatArray
    end_s: FloatArray
    state: IntArray
    rates: RateTable
    offered: RateTable
    active: Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ExchangeTime:
    """Seconds of one exchange of the plan in one step: on the wire, and exposed (mean over all GPUs)."""

    time_s: float
    exposed_s: float


@dataclass(frozen=True, slots=True)
class StepTotals:
    """The sums of a step; compute_s + optimizer_s + bubble_s + Σ exposed_s = time_s (conventions 46)."""

    time_s: float
    tokens_per_s_per_gpu: float
    model_flops: float
    mfu: float
    hfu: float
    bubble_fraction: float
    compute_s: float
    optimizer_s: float
    bubble_s: float
    exposed_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StepReport:
    """One analysed document. Arrays over directed links have shape (2·links,), see `model.traffic.types`."""

    job: Mapping[str, object]
    fabric: Fabric
    placement: Placement
    exchanges: tuple[Exchange, ...]
    exchange_times: tuple[ExchangeTime, ...]
    traffic: Traffic
    bytes_by_dimension: Mapping[str, FloatArray]
    peak_utilisation: FloatArray
    mean_utilisation: FloatArray
    oversubscription: FloatArray
    cost_s: FloatArray
    segments: Segments
    lanes: tuple[Lane, ...]
    totals: StepTotals
    memory: tuple[StageMemory, ...]
    stage_of_gpu: IntArray
    figures: Mapping[str, Figure]

    def worst_link(self) -> int | None:
        """The directed link that costs the step most; without any cost the most oversubscribed, else the
        busiest. None without traffic.
        """
        for values in (self.cost_s, self.oversubscription, self.peak_utilisation):
            directed = int(np.argmax(values)) if len(values) else 0
            if len(values) and values[directed] > 0:
                return directed
        return None

    def fullest_stage(self) -> StageMemory | None:
        """The stage that needs the largest share of its GPU's memory."""
        return max(self.memory, key=lambda stage: stage.total_bytes / stage.hbm_bytes, default=None)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the engine says of one revision: a report where the job is legal, and findings always."""

    revision: int
    report: StepReport | None
    findings: tuple[Finding, ...]
    legal: bool
