"""Cases of the model: template, layout, analysis from nothing and after edits, at 1,024 and 16,384 GPUs."""

from __future__ import annotations

import itertools
from functools import lru_cache

from benchmarks.measure import Case
from model.analysis import AnalysisCache, analyse, estimate
from model.document.document import Document
from model.document.edits import SetFields, SetJob
from model.document.start import document_from
from model.job.spec import JobSpec, apply_set
from model.topology.graph import Topology
from model.topology.layout import layout_by_role
from model.topology.types import DeviceKind, State
from model.traffic.types import Fabric
from model.worker.shared_arrays import Parcel, pack, unpack
from topology_templates.registry import build

NODES = 128
JOB = {
    "model": "llama3-70b",
    "parallel.tp": "8",
    "parallel.pp": "4",
    "global_batch": "1024",
    "sequence_length": "8192",
}


LARGE_NODES = 2048
LARGE = {**JOB, "parallel.pp": "16", "global_batch": "2048"}
EXPERTS = {
    "model": "deepseek-v3-671b",
    "parallel.ep": "64",
    "parallel.pp": "1",
    "parallel.tp": "1",
    "parallel.zero": "1",
    "recompute": "full",
    "global_batch": "16384",
    "sequence_length": "4096",
}


def document() -> Document:
    """1,024 H100 with Llama 3 70B on them: TP 8, PP 4, DP 32."""
    return drawn(NODES, JOB)


def drawn(nodes: int, values: dict[str, str]) -> Document:
    """So many nodes of eight H100, with a job."""
    content = build("hgx-h100", {"nodes": nodes})
    made = document_from(content)
    made.job = job_with(made.job, values)
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


@lru_cache(maxsize=1)
def large() -> tuple[Document, AnalysisCache]:
    """16,384 H100, compiled: TP 8, PP 16, DP 128, 16 microbatches."""
    made, cache = drawn(LARGE_NODES, LARGE), AnalysisCache()
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
_recompute = itertools.cycle(("full", "none"))
_speeds = itertools.cycle((0.8, 1.0))


def edit_job(_: None) -> int:
    """Another batch size, to the report."""
    made, cache = analysed()
    SetJob(apply_set(made.job, f"global_batch={next(_batches)}")).apply(made)
    return _gpus(made, cache)


def edit_job_large(_: None) -> int:
    """Recompute on or off, to the report."""
    made, cache = large()
    SetJob(apply_set(made.job, f"recompute={next(_recompute)}")).apply(made)
    return _gpus(made, cache)


def search_job() -> Document:
    """1,024 GPUs with the longest pipeline that a search looks at: PP 16, 256 microbatches."""
    made, _ = analysed()
    return Document(made.topology, job_with(made.job, {**JOB, "parallel.pp": "16", "global_batch": "2048"}))


def evaluate(made: Document) -> int:
    """One candidate of a search, its fabric compiled."""
    if estimate(made, analysed()[1]) <= 0:
        raise RuntimeError("a step takes no time")
    return int(made.job.global_batch)


def edit_topology(_: None) -> int:
    """A leaf's uplink goes down or comes up again, to the report."""
    return _toggle_uplink(*analysed())


def edit_topology_large(_: None) -> int:
    """The same with 16,384 GPUs."""
    return _toggle_uplink(*large())


def straggle(_: None) -> int:
    """A GPU becomes slow or well again, to the report: one replica in a lane of its own."""
    made, cache = analysed()
    gpu = next(device.id for device in made.topology.devices() if device.kind is DeviceKind.GPU)
    SetFields("device", (gpu,), {"speed": next(_speeds)}).apply(made)
    return _gpus(made, cache)


def experts(_: None) -> int:
    """All-to-all of EP 64 over eight nodes each, at 16,384 GPUs with the fabric compiled."""
    made, cache = large()
    before = made.job
    SetJob(job_with(before, EXPERTS)).apply(made)
    count = _gpus(made, cache)
    SetJob(before).apply(made)
    return count


def fetched() -> tuple[Fabric, Parcel]:
    """A report in shared memory, and the fabric that the window has already."""
    made, cache = analysed()
    analysis = analyse(made, cache)
    if analysis.report is None:
        raise RuntimeError("the benchmark's job does not run")
    return analysis.report.fabric, pack(analysis, {1: analysis.report.fabric})


def fetch(sent: tuple[Fabric, Parcel]) -> int:
    """Make the analysis of what lies in shared memory, as the window does after every edit."""
    fabric, parcel = sent
    return len(unpack(parcel, {1: fabric}).report.placement.gpus)


def large_document() -> Document:
    """16,384 GPUs, nothing compiled."""
    return drawn(LARGE_NODES, LARGE)


def _toggle_uplink(made: Document, cache: AnalysisCache) -> int:
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
        Case("job edit to report, 1,024 GPUs", nothing, edit_job, "GPUs", 0.1),
        Case("topology edit to report, 1,024 GPUs", nothing, edit_topology, "GPUs", 0.15),
        Case("slow GPU to report, 1,024 GPUs", nothing, straggle, "GPUs", 0.15),
        Case("evaluation for a search, 1,024 GPUs, m·p·v 4,096", search_job, evaluate, "sequences", 0.03),
        Case("fetch of a report, 1,024 GPUs", fetched, fetch, "GPUs", 0.016),
        Case("analysis from nothing, 16,384 GPUs", large_document, analyse_from_nothing, "GPUs", 2.5),
        Case("job edit to report, 16,384 GPUs", nothing, edit_job_large, "GPUs", 1.5),
        Case("topology edit to report, 16,384 GPUs", nothing, edit_topology_large, "GPUs", 1.5),
        Case("EP 64 all-to-all, 16,384 GPUs", nothing, experts, "GPUs", 1.5),
    ]
