"""Which jobs a training framework would start, and the nearest ones that it would (traffic_model §4.4).

One function a rule, in `rules_of_ranks` and `rules_of_model`. Each looks at a job and the number of GPUs and
gives what it breaks, if anything.
"""

from __future__ import annotations

from model.errors import JobError
from model.job.rule import Case, Rule, Violation
from model.job.rules_of_model import (
    batch_rule,
    experts_rule,
    heads_rule,
    length_rule,
    overlap_rule,
    sequence_rule,
    ulysses_rule,
    widths_rule,
)
from model.job.rules_of_ranks import (
    both_ways_rule,
    chunks_rule,
    expert_grid_rule,
    interleaved_rule,
    layers_rule,
    order_rule,
    shards_rule,
    world_rule,
)
from model.job.shape import model_shape
from model.job.spec import JobSpec

RULES: tuple[Rule, ...] = (
    world_rule,
    order_rule,
    expert_grid_rule,
    chunks_rule,
    both_ways_rule,
    layers_rule,
    heads_rule,
    widths_rule,
    experts_rule,
    sequence_rule,
    batch_rule,
    length_rule,
    interleaved_rule,
    overlap_rule,
    ulysses_rule,
    shards_rule,
)


def violations(job: JobSpec, world_size: int) -> tuple[Violation, ...]:
    """Every rule that the job breaks on `world_size` GPUs. Raises InputError where it has no model."""
    case = Case(job, model_shape(job), world_size)
    return tuple(found for rule in RULES for found in rule(case))


def refuse_illegal(job: JobSpec, world_size: int) -> None:
    """Raise JobError with the first broken rule as one sentence."""
    found = violations(job, world_size)
    if found:
        raise JobError(found[0].message)
