"""Which jobs a training framework would start, and the nearest ones that it would (traffic_model §4.4).

One function a rule. Each looks at a job and the number of GPUs and gives what it breaks, if anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from model.errors import JobError
from model.job.chunks import (
    MOST_CHUNKS,
    ONE_CHUNK,
    chunks_per_rank,
    microbatch_group,
    running_schedule,
    runs_both_ways,
)
from model.job.shape import ModelShape, model_shape
from model.job.sizes import replicas, uses_sequence_parallelism
from model.job.spec import JobSpec
from model.placement.grid import Grid, parse_order
from model.text import name_list, plural, whole


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its name, a sentence with the values, the field to change and legal values near it."""

    rule: str
    message: str
    field: str
    nearest: tuple[int | str | bool, ...] = ()

    @property
    def nearest_first(self) -> str:
        """The sentence with the legal values in front, for a place where its end may be cut."""
        reason, found, near = self.message.partition("; nearest ")
        return f"nearest {near}: {reason}" if found else self.message


@dataclass(frozen=True, slots=True)
class _Case:
    """What the rules look at."""

    job: JobSpec
    shape: ModelShape
    world: int

    @property
    def model_parallel(self) -> int:
        own = self.job.parallel
        return own.tp * own.cp * own.pp

    @property
    def dp(self) -> int:
        """D as given, else what is left; 0 where the world is too small."""
        return replicas(self.job, self.world)

    @property
    def microbatches(self) -> int:
        """m, or 0 where the batch does not divide."""
        each = self.job.microbatch * self.dp
        return self.job.global_batch // each if each and self.job.global_batch % each == 0 else 0


_Rule = Callable[[_Case], Iterator[Violation]]


def violations(job: JobSpec, world_size: int) -> tuple[Violation, ...]:
    """Every rule that the job breaks on `world_size` GPUs. Raises InputError where it has no model."""
    case = _Case(job, model_shape(job), world_size)
    return tuple(found for rule in RULES for found in rule(case))


def refuse_illegal(job: JobSpec, world_size: int) -> None:
    """Raise JobError with the first broken rule as one sentence."""
    found = violations(job, world_size)
    if found:
        raise JobError(found[0].message)


def nearest_multiples(value: int, unit: int) -> tuple[int, ...]:
    """The multiples of `unit` just below and above `value`, from `unit` on: (1000, 32) → (992, 1024)."""
    below = value // unit * unit
    return (below, below + unit) if below else (unit,)


def divisors(value: int) -> tuple[int, ...]:
    """All divisors of a positive number, ascending."""
    small = [d for d in range(1, int(value**0.5) + 1) if value % d == 0]
    return tuple(dict.fromkeys((*small, *(value // d for d in reversed(small)))))


def _near(value: int, legal: tuple[int, ...]) -> tuple[int, ...]:
    """The largest legal value below and the smallest above."""
    below = [one for one in legal if one < value][-1:]
    above = [one for one in legal if one > value][:1]
    return (*below, *above)


def _say(values: tuple[int, ...], what: str = "nearest") -> str:
    return f"; {what} {name_list([whole(value) for value in values])}" if values else ""


def _world(case: _Case) -> Iterator[Violation]:
    own, world, unit = case.job.parallel, case.world, case.model_parallel
    sizes = f"TP × CP × PP = {own.tp} × {own.cp} × {own.pp} = {unit}"
    if world < 1:
        yield Violation("world", "the world has no GPU; add at least one GPU that is up", "world")
    elif world % unit:
        near = nearest_multiples(world, unit)
        instead = _say(_near(own.tp, _tensor_sizes(case)), "or TP").replace(";", ",")
        yield Violation(
            "world", f"{whole(world)} GPUs are not a multiple of {sizes}{_say(near)}{instead}", "world", near
        )
    elif own.dp is not None and unit * own.dp != world:
        legal = world // unit
        yield Violation(
            "world",
            f"TP × CP × PP × DP = {own.tp} × {own.cp} × {own.pp} × {own.dp} = {unit * own.dp}, "
            f"not the {whole(world)} GPUs there are; DP {legal} fits, or null for what is left",
            "parallel.dp",
            (legal,),
        )


def _order(case: _Case) -> Iterator[Violation]:
    own = case.job.parallel
    sizes = {"tp": own.tp, "cp": own.cp, "ep": own.ep, "dp": case.dp, "pp": own.pp}
    try:
        parse_order(own.order, sizes)
    except JobError as error:
        yield Violation("order", str(error), "parallel.order", ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"))


def _expert_grid(case: _Case) -> Iterator[Violation]:
    own, world = case.job.parallel, case.world
    if (
        case.shape.moe is None
        or world < 1
        or world % case.model_parallel
        or case.dp * case.model_parallel != world
    ):
        return
    unit = own.etp * own.ep * own.pp
    if world % unit:
        near = nearest_multiples(world, unit)
        yield Violation(
            "expert world",
            f"{whole(world)} GPUs are not a multiple of ETP × EP × PP = {own.etp} × {own.ep} × {own.pp} = "
            f"{unit}{_say(near)}",
            "world",
            near,
        )
        return
    try:
        grid = Grid(own.tp, own.cp, own.ep, own.etp, own.pp, case.dp, own.order)
    except JobError:
        return  # the order rule has said it
    if grid.axes[-1] != "pp" and grid.pp > 1 and grid.dp != grid.edp:
        yield Violation(
            "expert replicas",
            f"order {own.order} does not end with PP, so experts need as many replicas as the rest: "
            f"there are DP = {grid.dp} and EDP = {grid.edp}; end the order with PP",
            "parallel.order",
            ("tp-cp-ep-dp-pp",),
        )
    elif not grid.same_stages:
        yield Violation(
            "expert stages",
            f"order {own.order} puts experts and the rest of a layer into different pipeline stages; "
            "end the order with PP",
            "parallel.order",
            ("tp-cp-ep-dp-pp",),
        )


def _chunks(case: _Case) -> Iterator[Violation]:
    own, schedule = case.job.parallel, running_schedule(case.job)
    if own.vpp > 1 and own.pp == 1:
        yield Violation(
            "chunks", f"VPP {own.vpp} needs PP > 1, but PP is 1; VPP 1 fits", "parallel.vpp", (1,)
        )
    elif own.vpp > 1 and schedule in ONE_CHUNK:
        yield Violation(
            "chunks",
            f"schedule {schedule} runs one chunk a stage, but VPP is {own.vpp}; VPP 1 fits, or schedule "
            "interleaved",
            "parallel.vpp",
            (1,),
        )
    elif own.vpp > 2 and schedule == "zb-v":
        yield Violation(
            "chunks",
            f"schedule zb-v runs two chunks a stage, but VPP is {own.vpp}; VPP 2 fits",
            "parallel.vpp",
            (2,),
        )
    elif schedule == "interleaved" and own.pp == 2 and not case.job.overlap.pipeline:
        yield Violation(
            "chunks",
            f"VPP {own.vpp} with PP 2 needs overlap.pipeline true; or take PP 4 or VPP 1",
            "parallel.vpp",
            (1,),
        )


def _both_ways(case: _Case) -> Iterator[Violation]:
    own, m = case.job.parallel, case.microbatches
    if not runs_both_ways(case.job):
        return
    if own.pp % 2:
        near = _near(own.pp, tuple(p for p in divisors(case.shape.layers) if p % 2 == 0))
        yield Violation(
            "both ways",
            f"schedule dualpipe runs from both ends and needs an even PP, but PP is {own.pp}{_say(near)}",
            "parallel.pp",
            near,
        )
    elif m % 2:
        each = case.job.microbatch * case.dp
        near = tuple(count * each for count in nearest_multiples(m, 2))
        yield Violation(
            "both ways",
            f"schedule dualpipe sends half of the microbatches each way, but there are {m}"
            f"{_say(near, 'nearest global batch')}",
            "global_batch",
            near,
        )


def _layers(case: _Case) -> Iterator[Violation]:
    own, layers = case.job.parallel, case.shape.layers
    v, given = chunks_per_rank(case.job), own.layers_per_stage
    chunks = own.pp * v
    if given is not None:
        if len(given) != chunks or sum(given) != layers:
            yield Violation(
                "layers",
                f"layers_per_stage has {len(given)} entries that add up to {sum(given)}; it needs "
                f"PP × VPP = {own.pp} × {v} = {chunks} entries that add up to {layers} layers",
                "parallel.layers_per_stage",
            )
    elif layers % chunks:
        legal = tuple(
            p for p in divisors(layers) if layers % (p * v) == 0 and case.world % (own.tp * own.cp * p) == 0
        )
        near = _near(own.pp, legal)
        yield Violation(
            "layers",
            f"{layers} layers are not a multiple of PP × VPP = {own.pp} × {v} = {chunks}"
            f"{_say(near, 'nearest PP')}, or give layers_per_stage",
            "parallel.pp",
            near,
        )


def _tensor_sizes(case: _Case) -> tuple[int, ...]:
    """The tp values that suit heads, widths and the world, ascending."""
    own, shape = case.job.parallel, case.shape
    widths = [shape.heads, shape.shared_ffn]
    if shape.moe_layers < shape.layers:
        widths.append(shape.ffn)
    return tuple(
        t
        for t in divisors(shape.heads)
        if all(width % t == 0 for width in widths)
        and (shape.kv_heads % t == 0 or t % shape.kv_heads == 0)
        and case.world % (t * own.cp * own.pp) == 0
    )


def _heads(case: _Case) -> Iterator[Violation]:
    tp, heads, kv_heads = case.job.parallel.tp, case.shape.heads, case.shape.kv_heads
    near = _near(tp, _tensor_sizes(case))
    if heads % tp:
        yield Violation(
            "heads", f"{heads} attention heads are not a multiple of TP {tp}{_say(near)}", "parallel.tp", near
        )
    elif kv_heads % tp and tp % kv_heads:
        yield Violation(
            "key-value heads",
            f"{kv_heads} key-value heads are neither a multiple nor a divisor of TP {tp}{_say(near)}",
            "parallel.tp",
            near,
        )


def _widths(case: _Case) -> Iterator[Violation]:
    own, shape = case.job.parallel, case.shape
    widths: list[tuple[str, int, int, str]] = []
    if shape.moe_layers < shape.layers:
        widths.append(("FFN width", shape.ffn, own.tp, "tp"))
    if shape.moe is not None:
        widths.append(("expert FFN width", shape.moe.expert_ffn, own.etp, "etp"))
        if shape.shared_ffn:
            widths.append(("shared expert width", shape.shared_ffn, own.tp, "tp"))
    for name, width, parts, field in widths:
        if width % parts:
            near = _near(parts, _tensor_sizes(case) if field == "tp" else divisors(width))
            yield Violation(
                "widths",
                f"the {name} {whole(width)} is not a multiple of {field.upper()} {parts}{_say(near)}",
                f"parallel.{field}",
                near,
            )


def _batch(case: _Case) -> Iterator[Violation]:
    each = case.job.microbatch * case.dp
    if each and case.job.global_batch % each:
        near = nearest_multiples(case.job.global_batch, each)
        yield Violation(
            "batch",
            f"global batch {whole(case.job.global_batch)} is not a multiple of microbatch × DP = "
            f"{case.job.microbatch} × {case.dp} = {each}{_say(near)}",
            "global_batch",
            near,
        )


def _length(case: _Case) -> Iterator[Violation]:
    pieces = case.job.parallel.pp * chunks_per_rank(case.job)
    most = MOST_CHUNKS // pieces
    if case.microbatches <= most:
        return
    near = most // 2 * 2 * case.job.microbatch * case.dp
    yield Violation(
        "length",
        f"global batch {whole(case.job.global_batch)} makes {case.microbatches:,} microbatches on "
        f"{plural(pieces, 'piece')} of the model, more than the {MOST_CHUNKS:,} in all that a step is "
        f"simulated with; nearest {whole(near)}, or take a larger microbatch or more DP",
        "global_batch",
        (near,),
    )


def _interleaved(case: _Case) -> Iterator[Violation]:
    own, m = case.job.parallel, case.microbatches
    if running_schedule(case.job) != "interleaved" or not m:
        return
    group = microbatch_group(case.job)
    each = case.job.microbatch * case.dp
    if not own.pp <= group <= m:
        yield Violation(
            "interleaving",
            f"the microbatch group {group} must be from PP {own.pp} to the {m} microbatches of a step; "
            f"nearest {min(max(group, own.pp), max(m, own.pp))}",
            "parallel.microbatch_group",
            (min(max(group, own.pp), max(m, own.pp)),),
        )
    elif 0 < m % group < own.pp:
        near = tuple(count * each for count in nearest_multiples(m, group))
        yield Violation(
            "interleaving",
            f"{m} microbatches leave a rest of {m % group} in groups of {group}, less than PP {own.pp}"
            f"{_say(near, 'nearest global batch')}",
            "global_batch",
            near,
        )


def _experts(case: _Case) -> Iterator[Violation]:
    own, moe = case.job.parallel, case.shape.moe
    if moe is None:
        for name, size in (("ep", own.ep), ("etp", own.etp)):
            if size > 1:
                yield Violation(
                    "experts",
                    f"{name.upper()} {size} needs a model with experts, {case.shape.name} has none; "
                    f"{name.upper()} 1 fits",
                    f"parallel.{name}",
                    (1,),
                )
        return
    if moe.experts % own.ep:
        near = _near(own.ep, divisors(moe.experts))
        yield Violation(
            "experts",
            f"{moe.experts} experts are not a multiple of EP {own.ep}{_say(near)}",
            "parallel.ep",
            near,
        )
    if own.tp > 1 and not own.sequence_parallel:
        yield Violation(
            "expert sequence parallelism",
            f"a model with experts and TP {own.tp} needs sequence_parallel true; or take TP 1",
            "parallel.sequence_parallel",
            (True,),
        )


def _sequence(case: _Case) -> Iterator[Violation]:
    own, length = case.job.parallel, case.job.sequence_length
    if own.cp > 1 and length % (2 * own.cp):
        near = nearest_multiples(length, 2 * own.cp)
        yield Violation(
            "sequence",
            f"sequence length {whole(length)} is not a multiple of 2 × CP = {2 * own.cp}{_say(near)}",
            "sequence_length",
            near,
        )
    elif uses_sequence_parallelism(case.job) and length // own.cp % own.tp:
        near = nearest_multiples(length, own.tp * own.cp)
        yield Violation(
            "sequence",
            f"sequence length {whole(length)} is not a multiple of TP × CP = {own.tp} × {own.cp} = "
            f"{own.tp * own.cp}, as sequence parallelism needs{_say(near)}",
            "sequence_length",
            near,
        )


def _overlap(case: _Case) -> Iterator[Violation]:
    own = case.job.overlap
    if own.parameters and not own.gradients and case.job.parallel.zero > 0:
        yield Violation(
            "overlap",
            "overlap.parameters true needs overlap.gradients true; set both, or both to false",
            "overlap.parameters",
            (False,),
        )
    if own.tensor and not uses_sequence_parallelism(case.job):
        yield Violation(
            "overlap",
            f"overlap.tensor true needs sequence_parallel true and TP > 1, but TP is {case.job.parallel.tp} "
            f"and sequence_parallel {str(case.job.parallel.sequence_parallel).lower()}; "
            "overlap.tensor false fits",
            "overlap.tensor",
            (False,),
        )


def _ulysses(case: _Case) -> Iterator[Violation]:
    own, heads = case.job.parallel, case.shape.heads
    if own.cp_algorithm == "ulysses" and heads % own.tp == 0 and heads // own.tp % own.cp:
        near = _near(own.cp, divisors(heads // own.tp))
        yield Violation(
            "ulysses",
            f"ulysses needs the heads of a rank, {heads} ÷ TP {own.tp} = {heads // own.tp}, to be a multiple "
            f"of CP {own.cp}{_say(near)}",
            "parallel.cp",
            near,
        )


def _shards(case: _Case) -> Iterator[Violation]:
    own, shard = case.job.parallel, case.job.parallel.dp_shard
    if shard is None or not case.dp:
        return
    if case.dp % shard:
        near = _near(shard, divisors(case.dp))
        yield Violation(
            "shards",
            f"DP {case.dp} is not a multiple of dp_shard {shard}{_say(near)}",
            "parallel.dp_shard",
            near,
        )
        return
    if own.zero == 0:
        yield Violation(
            "shards",
            f"dp_shard {shard} needs something to shard, but zero is 0; zero 1, 2 or 3 fits, or no dp_shard",
            "parallel.zero",
            (1, 2, 3),
        )
    ranks = own.tp * own.cp * shard
    if case.shape.moe is not None and ranks % (own.etp * own.ep):
        near = _near(
            shard,
            tuple(one for one in divisors(case.dp) if own.tp * own.cp * one % (own.etp * own.ep) == 0),
        )
        yield Violation(
            "shards",
            f"each part of dp_shard {shard} has TP × CP × dp_shard = {own.tp} × {own.cp} × {shard} = {ranks} "
            f"ranks, not a multiple of ETP × EP = {own.etp} × {own.ep}{_say(near)}",
            "parallel.dp_shard",
            near,
        )


RULES: tuple[_Rule, ...] = (
    _world,
    _order,
    _expert_grid,
    _chunks,
    _both_ways,
    _layers,
    _heads,
    _widths,
    _experts,
    _sequence,
    _batch,
    _length,
    _interleaved,
    _overlap,
    _ulysses,
    _shards,
)
