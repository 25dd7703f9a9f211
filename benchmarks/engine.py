"""Cases of the model: template, layout, analysis from nothing and after edits, at 1,024 GPUs."""

from __future__ import annotations

import itertools
from functools import lru_cache

from benchmarks.measure import Case
from model.analysis import AnalysisCache, analyse
from model.document.document import Document
from model.document.edits import SetFields, SetJob
from model.document.start import document_from
from model.job.spec import JobSpec, apply_set
from model.topology.graph import Topology
from model.topology.layout import layout_by_role
from model.topology.types import DeviceKind, State
from topology_templates.registry import build

NODES = 128
JOB = {
    "model": "llama3-70b",
    "parallel.tp": "8",
    "parallel.pp": "4",
    "global_batch": "1024",
    "sequence_length": "8192",
}


def document() -> Document:
    """1,024 H100 with Llama 3 70B on them: TP 8, PP 4, DP 32."""
    content = build("hgx-h100", {"nodes": NODES})
    made = document_from(content.name, content.devices, content.links, content.containers, content.positions)
    made.job = job_with(made.job, JOB)
    return made


def job_with(job: JobSpec, values: dict[str, str]) -> JobSpec:
    """The job with values set by path."""
    for path, value in values.items():
        job = apply_set(job, f"{path}={value}")
    return job


@lru_cache(maxsize=1)
def analysed() -> tuple[Document, AnalysisCache]:
    """A document whose fabric is compiled."""
    made, cache = document(), AnalysisCache()
    analyse(made, cache)
    return made, cache


def build_topology(_: None) -> int:
    content = build("hgx-h100", {"nodes": NODES})
    return len(Topology(content.devices, content.links, content.containers).links())


def lay_out(topology: Topology) -> int:
    return len(layout_by_role(topology))


def analyse_from_nothing(made: Document) -> int:
    return _gpus(made, AnalysisCache())


def _gpus(made: Document, cache: AnalysisCache) -> int:
    found = analyse(made, cache)
    if found.report is None:
        raise RuntimeError(f"the benchmark's job does not run: {[one.title for one in found.findings]}")
    return len(found.report.placement.gpus)


_batches = itertools.cycle(("512", "1024"))
_states = itertools.cycle((State.DOWN, State.UP))


def edit_job(_: None) -> int:
    """Another batch size, to the report."""
    made, cache = analysed()
    SetJob(apply_set(made.job, f"global_batch={next(_batches)}")).apply(made)
    return _gpus(made, cache)


def edit_topology(_: None) -> int:
    """A leaf's uplink goes down or comes up again, to the report."""
    made, cache = analysed()
    link = next(
        link.id for link in made.topology.links() if made.topology.device(link.b).kind is DeviceKind.SPINE
    )
    SetFields("link", (link,), {"state": next(_states)}).apply(made)
    return _gpus(made, cache)


def nothing() -> None:
    """Nothing to prepare."""


def topology() -> Topology:
    """The drawing alone."""
    content = build("hgx-h100", {"nodes": NODES})
    return Topology(content.devices, content.links, content.containers)


def cases() -> list[Case]:
    """All cases of the model."""
    return [
        Case("template to topology, 1,024 GPUs", nothing, build_topology, "links", 1.0),
        Case("layout by role, 1,024 GPUs", topology, lay_out, "devices", 0.5),
        Case("analysis from nothing, 1,024 GPUs", document, analyse_from_nothing, "GPUs", 1.0),
        Case("job edit to report, 1,024 GPUs", nothing, edit_job, "GPUs", 0.3),
        Case("topology edit to report, 1,024 GPUs", nothing, edit_topology, "GPUs", 0.3),
    ]
