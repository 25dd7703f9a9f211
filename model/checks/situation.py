"""What the checks look at: the document's parts, and as much of the analysis as there is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.job.rule import Violation
from model.job.spec import JobSpec
from model.placement.types import Placement
from model.step.report import StepReport
from model.topology.graph import Topology
from model.topology.ports import PortFinding
from model.traffic.types import Fabric

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Situation:
    """One document as far as it could be analysed.

    `ports` is what the drawing's ports say, `world` are the GPUs that could take part. `problems` are
    sentences on why there is no report, beside the broken rules in `violations`. `placement` and `report` are
    None where the job cannot run.
    """

    topology: Topology
    job: JobSpec
    fabric: Fabric
    ports: tuple[PortFinding, ...]
    world: tuple[str, ...]
    violations: tuple[Violation, ...] = ()
    problems: tuple[str, ...] = ()
    placement: Placement | None = None
    report: StepReport | None = None


def total_bytes(report: StepReport) -> FloatArray:
    """Bytes per step on every directed link, all dimensions together."""
    return np.asarray(sum(report.bytes_by_dimension.values(), np.zeros(len(report.cost_s))))


def short(title: str, otherwise: str) -> str:
    """`title` where it fits into a row (45 characters), else `otherwise`."""
    return title if len(title) <= 45 else otherwise
