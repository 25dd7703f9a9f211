"""Rules between a job and the shape of its model: what TP, CP and EP cut must divide (traffic_model §4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from model.job.chunks import (
    MOST_CHUNKS,
    chunks_per_rank,
)
from model.job.rule import Case, Violation, divisors, nearest_multiples, neighbours, say
from model.job.sizes import uses_sequence_parallelism
from model.text import plural, whole


def tensor_sizes(case: Case) -> tuple[int, ...]:
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


def heads_rule(case: Case) -> Iterator[Violation]:
    """Heads and KV heads divide over TP."""
    tp, heads, kv_heads = case.job.parallel.tp, case.shape.heads, case.shape.kv_heads
    near = neighbours(tp, tensor_sizes(case))
    if heads % tp:
        yield Violation(
            "heads",
            f"{heads} attention heads are not a multiple of TP {tp}{say(near)}",
            "parallel.tp",
            near,
        )
    elif kv_heads % tp and tp % kv_heads:
        yield Violation(
            "key-value heads",
            f"{kv_heads} key-value heads are neither a multiple nor a divisor of TP {tp}{say(near)}",
            "parallel.tp",
            near,
        )


def widths_rule(case: Case) -> Iterator[Violation]:
    """Widths divide over TP, those of experts over expert TP."""
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
            near = neighbours(parts, tensor_sizes(case) if field == "tp" else divisors(width))
            yield Violation(
                "widths",
                f"the {name} {whole(width)} is not a multiple of {field.upper()} {parts}{say(near)}",
                f"parallel.{field}",
                near,
            )


def experts_rule(case: Case) -> Iterator[Violation]:
    """EP needs experts, and divides them."""
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
        near = neighbours(own.ep, divisors(moe.experts))
        yield Violation(
            "experts",
            f"{moe.experts} experts are not a multiple of EP {own.ep}{say(near)}",
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


def sequence_rule(case: Case) -> Iterator[Violation]:
    """What needs sequence parallelism has it."""
    own, length = case.job.parallel, case.job.sequence_length
    if own.cp > 1 and length % (2 * own.cp):
        near = nearest_multiples(length, 2 * own.cp)
        yield Violation(
            "sequence",
            f"sequence length {whole(length)} is not a multiple of 2 × CP = {2 * own.cp}{say(near)}",
            "sequence_length",
            near,
        )
    elif uses_sequence_parallelism(case.job) and length // own.cp % own.tp:
        near = nearest_multiples(length, own.tp * own.cp)
        yield Violation(
            "sequence",
            f"sequence length {whole(length)} is not a multiple of TP × CP = {own.tp} × {own.cp} = "
            f"{own.tp * own.cp}, as sequence parallelism needs{say(near)}",
            "sequence_length",
            near,
        )


def batch_rule(case: Case) -> Iterator[Violation]:
    """The batch divides into microbatches of all replicas."""
    each = case.job.microbatch * case.dp
    if each and case.job.global_batch % each:
        near = nearest_multiples(case.job.global_batch, each)
        yield Violation(
            "batch",
            f"global batch {whole(case.job.global_batch)} is not a multiple of microbatch × DP = "
            f"{case.job.microbatch} × {case.dp} = {each}{say(near)}",
            "global_batch",
            near,
        )


def length_rule(case: Case) -> Iterator[Violation]:
    """The sequence divides over CP and TP."""
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


def overlap_rule(case: Case) -> Iterator[Violation]:
    """What overlaps has what it rests on."""
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


def ulysses_rule(case: Case) -> Iterator[Violation]:
    """Heads of a rank divide over CP."""
    own, heads = case.job.parallel, case.shape.heads
    if own.cp_algorithm == "ulysses" and heads % own.tp == 0 and heads // own.tp % own.cp:
        near = neighbours(own.cp, divisors(heads // own.tp))
        yield Violation(
            "ulysses",
            f"ulysses needs the heads of a rank, {heads} ÷ TP {own.tp} = {heads // own.tp}, to be a multiple "
            f"of CP {own.cp}{say(near)}",
            "parallel.cp",
            near,
        )
