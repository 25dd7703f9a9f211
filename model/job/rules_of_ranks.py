"""Rules of how the world is cut into ranks, stages and chunks (traffic_model §4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from model.errors import JobError
from model.job.chunks import (
    ONE_CHUNK,
    chunks_per_rank,
    microbatch_group,
    running_schedule,
    runs_both_ways,
)
from model.job.rule import Case, Violation, divisors, nearest_multiples, neighbours, say
from model.job.rules_of_model import tensor_sizes
from model.placement.grid import Grid, parse_order
from model.text import whole


def world_rule(case: Case) -> Iterator[Violation]:
    """The world divides into the grid, and DP as given fits."""
    own, world, unit = case.job.parallel, case.world, case.model_parallel
    sizes = f"TP × CP × PP = {own.tp} × {own.cp} × {own.pp} = {unit}"
    if world < 1:
        yield Violation("world", "the world has no GPU; add at least one GPU that is up", "world")
    elif world % unit:
        near = nearest_multiples(world, unit)
        instead = say(neighbours(own.tp, tensor_sizes(case)), "or TP").replace(";", ",")
        yield Violation(
            "world",
            f"{whole(world)} GPUs are not a multiple of {sizes}{say(near)}{instead}",
            "world",
            near,
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


def order_rule(case: Case) -> Iterator[Violation]:
    """The order of ranks names every dimension larger than 1."""
    own = case.job.parallel
    sizes = {"tp": own.tp, "cp": own.cp, "ep": own.ep, "dp": case.dp, "pp": own.pp}
    try:
        parse_order(own.order, sizes)
    except JobError as error:
        yield Violation("order", str(error), "parallel.order", ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"))


def expert_grid_rule(case: Case) -> Iterator[Violation]:
    """The expert grid covers the same ranks, stage by stage."""
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
            f"{unit}{say(near)}",
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


def shards_rule(case: Case) -> Iterator[Violation]:
    """Parts of the replicas that share state divide them."""
    own, shard = case.job.parallel, case.job.parallel.dp_shard
    if shard is None or not case.dp:
        return
    if case.dp % shard:
        near = neighbours(shard, divisors(case.dp))
        yield Violation(
            "shards",
            f"DP {case.dp} is not a multiple of dp_shard {shard}{say(near)}",
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
        near = neighbours(
            shard,
            tuple(one for one in divisors(case.dp) if own.tp * own.cp * one % (own.etp * own.ep) == 0),
        )
        yield Violation(
            "shards",
            f"each part of dp_shard {shard} has TP × CP × dp_shard = {own.tp} × {own.cp} × {shard} = {ranks} "
            f"ranks, not a multiple of ETP × EP = {own.etp} × {own.ep}{say(near)}",
            "parallel.dp_shard",
            near,
        )


def chunks_rule(case: Case) -> Iterator[Violation]:
    """Chunks of a stage go with the schedule, and a step has no more pieces than are simulated."""
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


def both_ways_rule(case: Case) -> Iterator[Violation]:
    """What DualPipe needs to run both ways."""
    own, m = case.job.parallel, case.microbatches
    if not runs_both_ways(case.job):
        return
    if own.pp % 2:
        near = neighbours(own.pp, tuple(p for p in divisors(case.shape.layers) if p % 2 == 0))
        yield Violation(
            "both ways",
            f"schedule dualpipe runs from both ends and needs an even PP, but PP is {own.pp}{say(near)}",
            "parallel.pp",
            near,
        )
    elif m % 2:
        each = case.job.microbatch * case.dp
        near = tuple(count * each for count in nearest_multiples(m, 2))
        yield Violation(
            "both ways",
            f"schedule dualpipe sends half of the microbatches each way, but there are {m}"
            f"{say(near, 'nearest global batch')}",
            "global_batch",
            near,
        )


def layers_rule(case: Case) -> Iterator[Violation]:
    """Layers divide over the chunks, or are given for each."""
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
        near = neighbours(own.pp, legal)
        yield Violation(
            "layers",
            f"{layers} layers are not a multiple of PP × VPP = {own.pp} × {v} = {chunks}"
            f"{say(near, 'nearest PP')}, or give layers_per_stage",
            "parallel.pp",
            near,
        )


def interleaved_rule(case: Case) -> Iterator[Violation]:
    """Microbatches go through the chunks in groups."""
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
            f"{say(near, 'nearest global batch')}",
            "global_batch",
            near,
        )
