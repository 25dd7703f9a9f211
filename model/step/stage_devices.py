"""What the GPUs of each pipeline stage can do: in lockstep the slowest and the smallest count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from model.catalog import GpuSpec, catalog
from model.errors import JobError
from model.job.compute import StageCompute, stage_computes
from model.job.shape import ModelShape
from model.job.spec import JobSpec
from model.placement.grid import Grid
from model.placement.types import Placement
from model.text import name_list
from model.topology.graph import Topology


@dataclass(frozen=True, slots=True)
class StageDevices:
    """Per stage: compute at the pace of its slowest GPU, and the memory of its smallest one.

    `peak_flops` is the sum over all GPUs that play, as their data sheets have it.
    """

    computes: tuple[StageCompute, ...]
    hbm_bytes: tuple[float, ...]
    peak_flops: float
    playing: int


def stage_devices(
    topology: Topology, placement: Placement, job: JobSpec, shape: ModelShape, grid: Grid
) -> StageDevices:
    """Look the GPUs of every stage up in the catalogue.

    Raises JobError when a GPU is of no known model, or has no arithmetic in the job's precision.
    """
    counts: dict[tuple[int, str, float], int] = {}
    for gpu, stage in zip(placement.gpus, placement.coordinates["pp"].tolist(), strict=True):
        if stage >= 0:
            device = topology.device(gpu)
            key = (stage, device.model, device.speed)
            counts[key] = counts.get(key, 0) + 1
    if not counts:
        raise JobError(
            "no GPU plays a rank, so there is nothing to compute on; erase colours that do not fit"
        )
    specs = _specs(model for _, model, _ in counts)
    times = {model: stage_computes(job, shape, grid, spec) for model, spec in specs.items()}
    computes, memory = [], []
    for stage in range(grid.pp):
        # A stage that nobody plays is counted like the others, so that the step still has all its stages.
        kinds = {key[1:] for key in counts if key[0] == stage} or {key[1:] for key in counts}
        paced = [_paced(times[model][stage], speed) for model, speed in kinds]
        computes.append(max(paced, key=lambda compute: compute.forward_s + compute.backward_s))
        memory.append(min(specs[model].hbm_bytes for model, _ in kinds))
    return StageDevices(
        computes=tuple(computes),
        hbm_bytes=tuple(memory),
        peak_flops=sum(specs[key[1]].peak_flops(job.precision) * count for key, count in counts.items()),
        playing=sum(counts.values()),
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


def _paced(compute: StageCompute, speed: float) -> StageCompute:
    """The times of a GPU that delivers a share of its compute."""
    return StageCompute(
        stage=compute.stage,
        forward_s=compute.forward_s / speed,
        backward_s=compute.backward_s / speed,
        dgrad_s=compute.dgrad_s / speed,
        wgrad_s=compute.wgrad_s / speed,
        optimizer_s=compute.optimizer_s / speed,
    )
