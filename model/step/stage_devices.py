"""What the GPUs of each track can do: in lockstep the slowest and the smallest count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from model.catalog import GpuSpec, catalog
from model.errors import JobError
from model.job.chunks import runs_both_ways
from model.job.compute import chunk_computes, stage_computes
from model.job.shape import ModelShape, layers_per_chunk
from model.job.spec import JobSpec
from model.placement.grid import Grid
from model.placement.types import Placement
from model.step.seconds import ChunkSeconds, TrackSeconds
from model.step.tracks import Tracks
from model.text import name_list
from model.topology.graph import Topology

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GpuKinds:
    """The GPUs of a placement by what they can do.

    `kinds`: (catalogue id, speed) of each kind; `kind_of_gpu` (gpus,) indexes it. `stages` per kind the
    seconds of every stage at that speed, `specs` its catalogue entry. `idle`: the entries of the GPUs of the
    world that play no rank.
    """

    kinds: tuple[tuple[str, float], ...]
    kind_of_gpu: IntArray
    specs: tuple[GpuSpec, ...]
    stages: tuple[tuple[TrackSeconds, ...], ...]
    idle: tuple[GpuSpec, ...] = ()

    def pace(self, kind: int, stage: int) -> float:
        """Seconds of one microbatch, forward and backward: what makes one kind slower than another."""
        return sum(chunk.forward_s + chunk.backward_s for chunk in self.stages[kind][stage].chunks)

    def with_speed(self, gpu: int, factor: float) -> GpuKinds:
        """The same with one GPU `factor` times as fast."""
        own = int(self.kind_of_gpu[gpu])
        model, speed = self.kinds[own]
        of_gpu = self.kind_of_gpu.copy()
        of_gpu[gpu] = len(self.kinds)
        return GpuKinds(
            (*self.kinds, (model, speed * factor)),
            of_gpu,
            (*self.specs, self.specs[own]),
            (*self.stages, tuple(_paced(stage, factor) for stage in self.stages[own])),
            self.idle,
        )


def gpu_kinds(
    topology: Topology, placement: Placement, job: JobSpec, shape: ModelShape, grid: Grid
) -> GpuKinds:
    """Look the GPUs of the world up in the catalogue.

    Raises JobError when nobody plays, when a GPU is of no known model, or has no arithmetic in the job's
    precision.
    """
    devices = [topology.device(gpu) for gpu in placement.gpus]
    plays = placement.coordinates["pp"] >= 0
    numbered: dict[tuple[str, float], int] = {}
    numbers = [
        numbered.setdefault((device.model, device.speed), len(numbered)) if playing else -1
        for device, playing in zip(devices, plays.tolist(), strict=True)
    ]
    if not numbered:
        raise JobError(
            "no GPU plays a rank, so there is nothing to compute on; erase colours that do not fit"
        )
    specs = _specs(device.model for device in devices)
    whole = {model: stage_seconds(job, shape, grid, specs[model]) for model in {kind[0] for kind in numbered}}
    return GpuKinds(
        kinds=tuple(numbered),
        kind_of_gpu=np.array(numbers, dtype=np.int64),
        specs=tuple(specs[model] for model, _ in numbered),
        stages=tuple(tuple(_paced(stage, speed) for stage in whole[model]) for model, speed in numbered),
        idle=tuple(
            specs[device.model]
            for device, playing in zip(devices, plays.tolist(), strict=True)
            if not playing
        ),
    )


@dataclass(frozen=True, slots=True)
class StageDevices:
    """Per track: compute at the pace of its slowest GPU. Per stage the memory of its smallest GPU.

    `peak_flops` is the sum over all GPUs of the world, as their data sheets have it, whether they play a rank
    or not: a GPU that is left idle is not a gain.
    """

    seconds: tuple[TrackSeconds, ...]
    hbm_bytes: tuple[float, ...]
    peak_flops: float


def stage_devices(kinds: GpuKinds, placement: Placement, tracks: Tracks, job: JobSpec) -> StageDevices:
    """What the tracks of a step can do."""
    track = tracks.of_gpus(placement)
    counts = np.zeros((tracks.count, len(kinds.kinds)), dtype=np.int64)
    np.add.at(counts, (track[track >= 0], kinds.kind_of_gpu[track >= 0]), 1)
    seconds, memory = [], [float("inf")] * tracks.stages
    for number, row in enumerate(counts.tolist()):
        stage = number % tracks.stages
        # A stage that nobody plays is counted like the others, so that the step still has all its stages.
        own = [(kind, count) for kind, count in enumerate(row) if count] or list(
            enumerate(counts.sum(axis=0))
        )
        slowest = max((kind for kind, _ in own), key=lambda kind: kinds.pace(kind, stage))
        most = kinds.pace(slowest, stage)
        busy = sum(count * kinds.pace(kind, stage) for kind, count in own)
        share = busy / (most * sum(count for _, count in own)) if most > 0 else 1.0
        paced = kinds.stages[slowest][stage]
        seconds.append(replace(paced, stage=stage, busy_share=float(min(share, 1.0))))
        memory[stage] = min(memory[stage], *(kinds.specs[kind].hbm_bytes for kind, _ in own))
    of_kind = np.bincount(kinds.kind_of_gpu[kinds.kind_of_gpu >= 0], minlength=len(kinds.kinds)).tolist()
    peaks = [spec.peak_flops(job.precision) for spec in kinds.specs]
    return StageDevices(
        seconds=tuple(seconds),
        hbm_bytes=tuple(memory),
        peak_flops=sum(peak * count for peak, count in zip(peaks, of_kind, strict=True))
        + sum(spec.peak_flops(job.precision) for spec in kinds.idle),
    )


def stage_seconds(job: JobSpec, shape: ModelShape, grid: Grid, spec: GpuSpec) -> tuple[TrackSeconds, ...]:
    """Each stage's chunks at full speed; of DualPipe also the copy of the stage at the other end."""
    computes = stage_computes(job, shape, grid, spec)
    held: list[list[ChunkSeconds]] = [[] for _ in computes]
    for chunk, layers in zip(chunk_computes(job, shape, spec), layers_per_chunk(job, shape), strict=True):
        held[chunk.stage].append(
            ChunkSeconds(
                chunk.forward_s,
                chunk.backward_s,
                chunk.dgrad_s,
                chunk.wgrad_s,
                chunk.attention_s,
                chunk.attention_backward_s,
                float(layers.count),
                layers.moe,
            )
        )
    if runs_both_ways(job):
        held = [own + other for own, other in zip(held, reversed(held), strict=True)]
    return tuple(
        TrackSeconds(
            compute.stage, tuple(chunks), compute.optimizer_s, issue_s=spec.kernel_issue_s(job.precision)
        )
        for compute, chunks in zip(computes, held, strict=True)
    )


def _paced(stage: TrackSeconds, speed: float) -> TrackSeconds:
    """The times of a GPU that delivers a share of its compute."""
    return replace(
        stage,
        chunks=tuple(chunk.paced(speed) for chunk in stage.chunks),
        optimizer_s=stage.optimizer_s / speed,
    )


def _specs(models: Iterable[str]) -> dict[str, GpuSpec]:
    known = catalog().gpus
    wanted = set(models)
    unknown = sorted(wanted - known.keys())
    if unknown:
        raise JobError(
            f"the catalogue has no GPU {name_list(unknown)}, so its speed is not known; "
            f"choose one of {name_list(list(known))}"
        )
    return {model: known[model] for model in wanted}
