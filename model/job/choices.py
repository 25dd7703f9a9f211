"""Values that a panel can offer for a job field, each with the reason where it cannot be taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from model.errors import InputError
from model.job.legality import violations
from model.job.rule import divisors, nearest_multiples
from model.job.shape import model_shape
from model.job.sizes import replicas
from model.job.spec import Algorithm, Calibration, JobSpec, parse_job

_MOST = 64
_SIZES = ("tp", "cp", "ep", "etp", "pp", "dp", "vpp")
_FLAGS = ("parallel.sequence_parallel", "parallel.reshard", "parallel.scatter_gather", "overlap.gradients",
          "overlap.parameters", "overlap.pipeline", "overlap.tensor", "overlap.experts")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """A value, and why it cannot be taken; the reason is empty where it can."""

    value: int | str | bool | None
    reason: str = ""

    @property
    def legal(self) -> bool:
        """Whether it can be taken."""
        return not self.reason


def legal_values(job: JobSpec, world: int, field: str) -> tuple[Choice, ...]:
    """Values for a field such as "parallel.tp", with all other fields as they are.

    Empty for fields that take any number or text. A rule that the job breaks already, whatever this field is,
    is not held against a value.
    """
    try:
        before = {found.message for found in violations(job, world)}
    except InputError:
        before = set()
    return tuple(
        Choice(value, _reason(job, world, field, value, before)) for value in _candidates(job, world, field)
    )


def _candidates(job: JobSpec, world: int, field: str) -> tuple[int | str | bool | None, ...]:
    group, _, name = field.rpartition(".")
    if group == "parallel" and name in _SIZES:
        found = divisors(world)[:_MOST] if world else (1,)
        if name == "vpp":
            found = divisors(model_shape(job).layers)[:_MOST]
        return (None, *found) if name == "dp" else found
    if field in ("parallel.dp_shard", "parallel.microbatch_group"):
        return _parts(job, world, name)
    if field in _FLAGS:
        return (True, False)
    if field == "parallel.zero":
        return (0, 1, 2, 3)
    if field == "parallel.order":
        return ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
    if field == "microbatch":
        dp = replicas(job, world)
        if not dp or job.global_batch % dp:
            return (1,)
        return tuple(size for size in range(1, _MOST + 1) if job.global_batch // dp % size == 0)
    if field == "global_batch":
        dp = replicas(job, world)
        return nearest_multiples(job.global_batch, job.microbatch * dp) if dp else ()
    if group == "collectives":
        return get_args(Algorithm)
    owner: object = JobSpec if not group else type(getattr(job, group, Calibration()))
    described = getattr(owner, "model_fields", {}).get(name)
    choices = get_args(described.annotation) if described is not None else ()
    return choices if choices and all(isinstance(one, str) for one in choices) else ()


def _parts(job: JobSpec, world: int, name: str) -> tuple[int | None, ...]:
    """Divisors of D, or sizes of a group of microbatches; null first."""
    own, dp = job.parallel, replicas(job, world)
    if not dp:
        return (None,)
    if name == "dp_shard":
        return (None, *divisors(dp)[:_MOST])
    m = job.global_batch // (job.microbatch * dp)
    return (None, *range(own.pp, min(m, own.pp + _MOST) + 1))


def _reason(job: JobSpec, world: int, field: str, value: object, before: set[str]) -> str:
    changed = _with(job, field, value)
    if changed == job:
        return ""
    found = [one.message for one in violations(changed, world) if one.message not in before]
    return found[0] if found else ""


def _with(job: JobSpec, field: str, value: object) -> JobSpec:
    data = job.to_json()
    *groups, name = field.split(".")
    target = data
    for group in groups:
        target = target[group]
    target[name] = value
    return parse_job(data)
