"""The job of a drawing that came without one (conventions 36)."""

from __future__ import annotations

from model.catalog import catalog
from model.job.memory import fits
from model.job.parameters import model_parameters
from model.job.shape import preset_shape
from model.job.spec import JobSpec

_LONGEST_SEQUENCE = 8192


def default_job(world_size: int, hbm_bytes: float) -> JobSpec:
    """A job that is legal for any world: tp 1, pp 1, the smallest preset that fits into `hbm_bytes`.

    Where none fits it is the smallest preset all the same; the memory check then says so.
    """
    presets = sorted(catalog().models.values(), key=lambda preset: model_parameters(preset_shape(preset)))
    per_replica = max(1, round(1024 / max(world_size, 1)))
    jobs = [
        JobSpec(
            model=preset.id,
            sequence_length=min(preset.seq, _LONGEST_SEQUENCE),
            global_batch=max(world_size, 1) * per_replica,
        )
        for preset in presets
    ]
    if world_size < 1:
        return jobs[0]
    return next((job for job in jobs if fits(job, world_size, hbm_bytes)), jobs[0])
