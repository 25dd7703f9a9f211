"""One collective on an idle fabric, by the rule that a step uses: α + the largest of bytes ÷ usable rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from model.analysis import AnalysisCache, analyse
from model.document.document import Document
from model.document.start import document_from
from model.job.exchange import Exchange, Operation, When
from model.job.spec import apply_set
from model.placement.types import Placement
from model.step.report import StepReport
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from model.traffic.types import Fabric
from topology_templates.registry import build


def drawing(template: str, **parameters: object) -> Document:
    """A template as a document with the default job."""
    made = build(template, parameters)
    return document_from(made)


def report_of(document: Document, job: Sequence[str], cache: AnalysisCache | None = None) -> StepReport:
    """The report with the job's fields set ("parallel.tp=8"). Raises RuntimeError when it does not run."""
    for assignment in job:
        document.job = apply_set(document.job, assignment)
    analysis = analyse(document, cache)
    if analysis.report is None:
        raise RuntimeError(f"the job does not run: {[found.detail for found in analysis.findings]}")
    return analysis.report


@dataclass(frozen=True, slots=True)
class Alone:
    """A collective by itself: α, seconds per byte of S, and the algorithm that ran."""

    alpha_s: float
    seconds_per_byte: float
    algorithm: str

    def time_s(self, size: float) -> float:
        """Seconds for a tensor of `size` bytes."""
        return self.alpha_s + size * self.seconds_per_byte


@lru_cache(maxsize=32)
def fabric_of(template: str, count_name: str, count: int) -> Fabric:
    """A compiled template."""
    return compile_fabric(drawing(template, **{count_name: count}).topology)


def alone(fabric: Fabric, places: Sequence[int], operation: Operation, algorithm: str = "auto") -> Alone:
    """`operation` over the GPUs at `places` in drawing order, with nothing else on the links."""
    gpus = tuple(fabric.device_ids[device] for device in fabric.gpu_devices)
    nobody: Mapping[str, np.ndarray] = {}
    placement = Placement(gpus, len(gpus), np.arange(len(gpus), dtype=np.int32), nobody, {}, {}, ())
    size = 2**30
    exchange = Exchange(
        id="alone",
        dimension="dp",
        kind="dp.alone",
        operation=operation,
        algorithm=algorithm,
        groups=np.array([list(places)], dtype=np.int32),
        stages=np.zeros(1, dtype=np.int32),
        group_key="dp",
        message_bytes=size,
        count_per_step=1,
        when=When.GRADIENTS,
    )
    traffic = load(fabric, placement, [exchange])
    loads = traffic.loads
    slowest = float((loads.data / np.repeat(fabric.usable, 2)[loads.indices]).max())
    return Alone(float(traffic.alpha_s[0]), slowest / size, traffic.algorithms[0])


def busbw_factor(operation: Operation, members: int) -> float:
    """busbw ÷ algbw, as nccl-tests count it."""
    if operation is Operation.ALL_REDUCE:
        return 2 * (members - 1) / members
    if operation is Operation.SEND:
        return 1.0
    return (members - 1) / members
