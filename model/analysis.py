"""The whole way from a document to a report. Read this first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from model.checks import Situation, findings
from model.document.document import Document
from model.errors import RailsketchError
from model.job.chunks import chunks_per_rank, microbatch_group, running_schedule
from model.job.flops import hardware_flops, model_flops
from model.job.legality import refuse_illegal, violations
from model.job.memory import stage_memory
from model.job.plan import Plan, plan
from model.job.shape import ModelShape, model_shape
from model.job.sizes import grid_of
from model.job.spec import JobSpec
from model.placement.resolve import resolve, world_of
from model.placement.types import Placement
from model.step.account import Arithmetic, Inputs, run_step
from model.step.classes import Surroundings, replica_tracks, surroundings
from model.step.estimate import estimate_time
from model.step.figures import figures_of
from model.step.report import Analysis, StepReport
from model.step.schedule import pipeline_schedule
from model.step.small import small_latencies
from model.step.stage_devices import GpuKinds, StageDevices, gpu_kinds, stage_devices
from model.step.what_if import Simulated
from model.step.work import Choices, Outline
from model.text import plural
from model.topology.graph import Topology
from model.topology.ports import PortFinding, port_findings
from model.topology.types import Device, DeviceKind, Link
from model.traffic.fabric import compile_fabric
from model.traffic.load import load, load_alone
from model.traffic.types import Fabric

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A topology as arrays, what surrounds each device, what its ports say, which GPUs and storage work."""

    fabric: Fabric
    around: Surroundings
    ports: tuple[PortFinding, ...]
    working_gpus: tuple[str, ...]
    storage: tuple[str, ...]


@dataclass(slots=True)
class AnalysisCache:
    """What depends on the topology alone, so that an edit of the job or the colours does not do it again.

    `drawn`: the devices and links that it was compiled from. `last`: what the latest report was simulated
    from, for `model.step.what_if`; None where there is none.
    """

    topology: Topology | None = None
    revision: int = -1
    compiled: Compiled | None = None
    drawn: tuple[tuple[Device, ...], tuple[Link, ...]] = ((), ())
    last: Simulated | None = None

    def compiled_of(self, topology: Topology, say: Progress) -> Compiled:
        """The topology as it is now, compiled."""
        if self.compiled is None or self.topology is not topology or self.revision != topology.revision:
            say(f"compiling {plural(len(topology.devices()), 'device')}")
            fabric = compile_fabric(topology)
            drawn = (topology.devices(), topology.links())
            known = self.compiled.ports if self.compiled is not None else None
            ports = known if known is not None and _same_ports(self.drawn, drawn) else port_findings(topology)
            self.drawn = drawn
            self.compiled = Compiled(
                fabric,
                surroundings(fabric),
                ports,
                tuple(device.id for device in topology.working(DeviceKind.GPU)),
                tuple(device.id for device in topology.working(DeviceKind.STORAGE)),
            )
            self.topology, self.revision = topology, topology.revision
        return self.compiled


def _same_ports(
    before: tuple[tuple[Device, ...], tuple[Link, ...]], now: tuple[tuple[Device, ...], tuple[Link, ...]]
) -> bool:
    """Whether nothing changed that ports depend on; states, shares and speeds are not among it."""
    (old_devices, old_links), (devices, links) = before, now
    return (
        len(old_devices) == len(devices)
        and len(old_links) == len(links)
        and all(
            (old.id, old.kind, old.model) == (new.id, new.kind, new.model)
            for old, new in zip(old_devices, devices, strict=True)
            if old is not new
        )
        and all(
            replace(old, state=new.state, share=new.share) == new
            for old, new in zip(old_links, links, strict=True)
            if old is not new
        )
    )


def analyse(
    document: Document, cache: AnalysisCache | None = None, progress: Progress | None = None
) -> Analysis:
    """What the document means: a report where the job is legal, findings always. Never raises for bad input.

    `progress` is told the stage of the work in a few words.
    """
    say = progress or _say_nothing
    topology, job = document.topology, document.job
    cache = cache or AnalysisCache()
    compiled = cache.compiled_of(topology, say)
    cache.last = None
    situation = Situation(topology, job, compiled.fabric, compiled.ports, compiled.working_gpus)
    try:
        world = world_of(job.world, compiled.working_gpus)
        situation = replace(
            situation,
            world=world,
            violations=violations(job, len(world)) if world else (),
        )
        if world and not situation.violations:
            placement = resolve(world, grid_of(job, len(world)), document.paint)
            situation = replace(situation, placement=placement)
            report, cache.last = _report(document, compiled, placement, say)
            situation = replace(situation, report=report)
    except RailsketchError as error:
        situation = replace(situation, problems=(str(error),))
    say("checking")
    return Analysis(
        revision=document.revision,
        report=situation.report,
        findings=findings(situation),
        legal=situation.report is not None,
    )


def estimate(document: Document, cache: AnalysisCache) -> float:
    """Seconds of a step of a legal job, in milliseconds of work: what a search asks of every candidate.

    Every exchange is as fast as alone on its links (`model.step.estimate`); the compiled fabric comes from
    the cache. Raises RailsketchError where the job is illegal or the drawing does not allow it.
    """
    compiled = cache.compiled_of(document.topology, _say_nothing)
    world = world_of(document.job.world, compiled.working_gpus)
    refuse_illegal(document.job, len(world))
    placement = resolve(world, grid_of(document.job, len(world)), document.paint)
    outline = _prepared(document, compiled, placement, _say_nothing).outline
    fabric, routing = compiled.fabric, document.job.routing
    return estimate_time(outline, load_alone(fabric, placement, outline.exchanges, routing))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A job on a drawing, before it is routed."""

    planned: Plan
    shape: ModelShape
    kinds: GpuKinds
    devices: StageDevices
    outline: Outline
    stage_of_label: NDArray[np.int32]


def _prepared(document: Document, compiled: Compiled, placement: Placement, say: Progress) -> _Prepared:
    """Plan one step of a legal job. Raises RailsketchError where the drawing does not allow it."""
    job, fabric = document.job, compiled.fabric
    shape = model_shape(job)
    planned = plan(job, placement, shape, compiled.storage)
    kinds = gpu_kinds(document.topology, placement, job, shape, planned.grid)
    schedule = pipeline_schedule(
        running_schedule(job),
        planned.stages,
        planned.microbatches,
        chunks_per_rank(job),
        microbatch_group(job),
    )
    say(f"routing {plural(len(placement.gpus), 'GPU')}")
    tracks = replica_tracks(
        fabric,
        placement,
        planned.exchanges,
        kinds,
        compiled.around,
        stages=planned.stages,
        replicas=planned.grid.dp,
        operations=sum(len(order) for order in schedule.orders),
    )
    exchanges, stage_of_label = tracks.split(planned.exchanges, placement)
    devices = stage_devices(kinds, placement, tracks, job)
    outline = Outline(
        placement=placement,
        exchanges=exchanges,
        tracks=tracks,
        seconds=devices.seconds,
        schedule=schedule,
        choices=Choices(job.overlap.pipeline, job.overlap.experts, job.overlap.sm_share),
        small=small_latencies(job, fabric, placement),
    )
    return _Prepared(planned, shape, kinds, devices, outline, stage_of_label)


def _arithmetic(
    job: JobSpec, shape: ModelShape, placement: Placement, replicas: int, peak_flops: float
) -> Arithmetic:
    """FLOPs and tokens of the replicas whose every rank has a GPU; the others train nothing."""
    replica = placement.coordinates["dp"]
    played = np.bincount(replica[replica >= 0], minlength=replicas)
    whole = int((played == placement.world_size // replicas).sum())
    return Arithmetic(
        model_flops=model_flops(job, shape) * whole / replicas,
        hardware_flops=hardware_flops(job, shape) * whole / replicas,
        tokens=float(job.global_batch) * job.sequence_length * whole / replicas,
        peak_flops=peak_flops,
        gpus=len(placement.gpus),
        replicas=replicas,
        broken=replicas - whole,
        missing=placement.world_size - int(played.sum()),
    )


def _report(
    document: Document, compiled: Compiled, placement: Placement, say: Progress
) -> tuple[StepReport, Simulated]:
    """Plan, route and run one step of a legal job. Raises RailsketchError where the drawing does not allow
    it.
    """
    job, fabric = document.job, compiled.fabric
    prepared = _prepared(document, compiled, placement, say)
    planned, devices, outline = prepared.planned, prepared.devices, prepared.outline
    traffic = load(fabric, placement, outline.exchanges, job.routing)
    arithmetic = _arithmetic(job, prepared.shape, placement, planned.grid.dp, devices.peak_flops)
    inputs = Inputs(
        **{one.name: getattr(outline, one.name) for one in fields(Outline)},
        usable=np.repeat(fabric.usable, 2),
        capacity=np.repeat(fabric.capacity, 2),
        traffic=traffic,
        arithmetic=arithmetic,
    )
    say(f"simulating {plural(planned.microbatches, 'microbatch', 'microbatches')}")
    step = run_step(inputs)
    memory = stage_memory(job, prepared.shape, planned.grid, devices.hbm_bytes)
    report = StepReport(
        job=job.to_json(),
        fabric=fabric,
        placement=placement,
        exchanges=planned.exchanges,
        exchange_times=step.exchange_times,
        traffic=replace(traffic, instance_stage=prepared.stage_of_label[traffic.instance_stage]),
        bytes_by_dimension=step.bytes_by_dimension,
        peak_utilisation=step.peak_utilisation,
        mean_utilisation=step.mean_utilisation,
        oversubscription=step.oversubscription,
        cost_s=step.cost_s,
        segments=step.segments,
        lanes=step.lanes,
        totals=step.totals,
        memory=memory,
        stage_of_gpu=placement.coordinates["pp"],
        figures=figures_of(step, arithmetic, memory, planned.exchanges, traffic),
    )
    return report, Simulated(fabric, job, prepared.kinds, inputs, step.totals.time_s)


def _say_nothing(_text: str) -> None:
    pass
