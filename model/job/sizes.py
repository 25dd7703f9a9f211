"""Sizes that follow from a job and the number of GPUs, shared by parameters, memory, compute and plan."""

from __future__ import annotations

import math

from model.errors import JobError
from model.job.shape import ModelShape
from model.job.spec import JobSpec
from model.placement.grid import Grid


def grid_of(job: JobSpec, world_size: int) -> Grid:
    """The grid of a job on `world_size` GPUs. Raises JobError when the sizes do not fit (see `legality`)."""
    own, dp = job.parallel, replicas(job, world_size)
    if dp < 1 or own.tp * own.cp * own.pp * dp != world_size:
        sizes = f"{own.tp} × {own.cp} × {own.pp} × {dp}"
        raise JobError(f"tp × cp × pp × dp = {sizes} is not the {world_size} GPUs there are")
    return Grid(tp=own.tp, cp=own.cp, ep=own.ep, etp=own.etp, pp=own.pp, dp=dp, order=own.order)


def replicas(job: JobSpec, world_size: int) -> int:
    """D as given, else what is left of the world; 0 where it is too small."""
    own = job.parallel
    return own.dp or world_size // (own.tp * own.cp * own.pp)


def microbatches(job: JobSpec, grid: Grid) -> int:
    """m = B / (b · D): microbatches of one replica in a step."""
    return job.global_batch // (job.microbatch * grid.dp)


def tokens(job: JobSpec) -> int:
    """T = s · b / c: tokens of a microbatch on one CP rank."""
    return job.sequence_length * job.microbatch // job.parallel.cp


def local_tokens(job: JobSpec) -> int:
    """Tokens of a microbatch that one rank hands to its experts: T / t under sequence parallelism."""
    return tokens(job) // job.parallel.tp if uses_sequence_parallelism(job) else tokens(job)


def uses_sequence_parallelism(job: JobSpec) -> bool:
    """With tp = 1 it is off, silently (conventions 9)."""
    return job.parallel.sequence_parallel and job.parallel.tp > 1


def padded_vocabulary(vocabulary: int, multiple: int, tp: int) -> int:
    """V = ceil(V0 / (k · t)) · k · t (conventions 23)."""
    unit = multiple * tp
    return -(-vocabulary // unit) * unit


def activation_bytes(job: JobSpec) -> int:
    """β: bytes of one activation or weight; 8- and 4-bit recipes keep 16 bits (conventions 14, 27)."""
    return 4 if job.precision == "fp32" else 2


def gradient_bytes(job: JobSpec) -> int:
    """βg: bytes of one gradient that is kept and reduced."""
    return 4 if job.gradient_precision == "fp32" else 2


def vocabulary_of_rank(job: JobSpec, shape: ModelShape) -> int:
    """V / t: rows of an embedding table or output head on one rank."""
    return padded_vocabulary(shape.vocabulary, job.vocabulary_multiple, job.parallel.tp) // job.parallel.tp


def kv_width(job: JobSpec, shape: ModelShape) -> int:
    """Elements of keys and values of one token on a rank: 2·g_r·d, MLA (a/t)·(dn + dr + dv)."""
    t = job.parallel.tp
    if shape.attention.kind == "mla":
        _, _, dn, dr, dv = shape.mla
        return shape.heads // t * (dn + dr + dv)
    return 2 * max(shape.kv_heads // t, 1) * shape.head_dim


def sent_copies(job: JobSpec, shape: ModelShape) -> int:
    """Token copies of a microbatch that a rank sends to experts in one layer (traffic_model §3.4).

    n_loc · k; with a capacity E · ceil(n_loc · k / E · CF), padding included.
    """
    if shape.moe is None:
        return 0
    copies, factor = local_tokens(job) * shape.moe.top_k, job.experts.capacity_factor
    if factor is None:
        return copies
    return shape.moe.experts * math.ceil(copies * factor / shape.moe.experts)


def received_copies(job: JobSpec, shape: ModelShape) -> float:
    """Token copies that reach the fullest rank in one layer; with a capacity all ranks are equally full.

    With expert tensor parallelism each rank then gathers etp times as many.
    """
    imbalance = 1.0 if job.experts.capacity_factor is not None else job.experts.imbalance
    return sent_copies(job, shape) * imbalance


def shard_replicas(job: JobSpec, grid: Grid) -> int:
    """R: parts of the replicas that each hold all shards (HSDP); 1 without `dp_shard`."""
    return grid.dp // (job.parallel.dp_shard or grid.dp)


def dense_shards(job: JobSpec, grid: Grid) -> int:
    """Ranks that share the state of what is not an expert: D · c, of HSDP dp_shard · c."""
    return grid.dp * grid.cp // shard_replicas(job, grid)


def expert_shards(job: JobSpec, grid: Grid) -> int:
    """Ranks that share the state of the experts: eD, of HSDP eD ÷ R."""
    return max(grid.edp // shard_replicas(job, grid), 1)
