"""Memory on the GPUs of each pipeline stage (traffic_model §2, conventions 25–29)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from model.job.chunks import head_rank, runs_both_ways
from model.job.in_flight import most_kept, stages_in_flight
from model.job.parameters import StageParameters, stage_parameters
from model.job.shape import ModelShape, StageLayers, layers_per_chunk, model_shape
from model.job.sizes import (
    activation_bytes,
    dense_shards,
    expert_shards,
    gradient_bytes,
    grid_of,
    microbatches,
    received_copies,
    tokens,
    uses_sequence_parallelism,
    vocabulary_of_rank,
)
from model.job.spec import JobSpec
from model.placement.grid import Grid

FILL_LIMIT = 0.92


@dataclass(frozen=True, slots=True)
class StageMemory:
    """Bytes on each GPU of one stage (traffic_model §2, conventions 25–29).

    `layer_activations_bytes` is the part of `activations_bytes` that the layers in flight keep. `inputs` has,
    by the name of a field, what that field follows from: of the state parameters, shards and bytes each, of
    the others the summands.
    """

    stage: int
    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    activations_bytes: float
    other_bytes: float
    hbm_bytes: float
    layer_activations_bytes: float = 0.0
    inputs: Mapping[str, Mapping[str, float]] = field(default_factory=dict, compare=False)

    @property
    def total_bytes(self) -> float:
        """All of it."""
        return (
            self.weights_bytes
            + self.gradients_bytes
            + self.optimizer_bytes
            + self.activations_bytes
            + self.other_bytes
        )


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes of one parameter before any sharding (conventions 26)."""

    weight: int
    gradient: int
    optimizer: int


def state_bytes(job: JobSpec) -> StateBytes:
    """16- and lower-bit recipes: weight 2, master copy and two moments 12; fp32: weight 4, moments 8."""
    if job.precision == "fp32":
        return StateBytes(4, gradient_bytes(job), 8)
    return StateBytes(2, gradient_bytes(job), 12)


def stage_memory(
    job: JobSpec, shape: ModelShape, grid: Grid, hbm_bytes: Sequence[float]
) -> tuple[StageMemory, ...]:
    """Memory of every stage of a legal job; `hbm_bytes` is what a GPU of each stage has."""
    held = _chunks_of_ranks(job, shape)
    stages = zip(stage_parameters(job, shape), held, hbm_bytes, strict=True)
    return tuple(_stage(job, shape, grid, *stage) for stage in stages)


def fits(job: JobSpec, world_size: int, hbm_bytes: float) -> bool:
    """Whether every stage of a legal job stays within `FILL_LIMIT` of a GPU's memory."""
    rows = stage_memory(job, model_shape(job), grid_of(job, world_size), [hbm_bytes] * job.parallel.pp)
    return all(row.total_bytes <= FILL_LIMIT * hbm_bytes for row in rows)


def around_bytes(job: JobSpec, grid: Grid, activations_bytes: float) -> float:
    """What no tensor of the job holds: runtime, buffers of communicators, fragmentation."""
    return sum(_around(job, grid, activations_bytes).values())


def _around(job: JobSpec, grid: Grid, activations_bytes: float) -> dict[str, float]:
    own = job.memory
    dimensions = sum(size > 1 for size in (grid.tp, grid.cp, grid.ep, grid.pp, grid.dp))
    return {
        "runtime_bytes": own.context_bytes,
        "communicators_bytes": own.communicator_bytes * dimensions,
        "fragmentation_bytes": own.fragmentation * activations_bytes,
    }


def layer_activations(job: JobSpec, shape: ModelShape, *, moe: bool, whole: bool = False) -> float:
    """Bytes that one layer keeps of one microbatch for its backward (conventions 27).

    `whole`: before `recompute` drops anything. SwiGLU models by the list of traffic_model §2.3, GELU ones by
    its K22 table written by tensors, so that it also holds away from f = 4h and MHA, where both are equal.
    """
    t = job.parallel.tp
    on_rank, h = tokens(job), shape.hidden
    sharded = on_rank / t
    width = activation_bytes(job) / 2
    if job.recompute == "full" and not whole:
        return width * 2 * h * (sharded if uses_sequence_parallelism(job) else on_rank)
    swiglu = shape.mlp == "swiglu"
    residual = (8 if swiglu else 10) * h * (sharded if uses_sequence_parallelism(job) else on_rank)
    total = residual + _attention(job, shape, whole=whole)
    per_width = 6 if swiglu else 4
    if not moe or shape.moe is None:
        return width * (total + per_width * shape.ffn * sharded)
    total += received_copies(job, shape) * (4 * h * job.parallel.etp + per_width * shape.moe.expert_ffn)
    total += (per_width * shape.shared_ffn + 4 * shape.moe.experts) * sharded
    return width * total


def _attention(job: JobSpec, shape: ModelShape, *, whole: bool) -> float:
    """What lies between the two projections of attention: q, k, v, output and what the softmax keeps."""
    t, a, d = job.parallel.tp, shape.heads, shape.head_dim
    on_rank = tokens(job)
    if shape.attention.kind == "mla":
        _, _, dn, dr, dv = shape.mla
        heads = (4 * a * (dn + dr) + 4 * a * dv) / t
    else:
        heads = 4 * a * d / t + 4 * max(shape.kv_heads / t, 1) * d
    kept = on_rank * heads
    if shape.mlp == "swiglu" or job.attention == "flash":
        kept += 4 * a * on_rank / t
    if job.attention == "core" and (whole or job.recompute == "none"):
        kept += 5 * a * job.sequence_length * on_rank / t
    return kept


def _chunks_of_ranks(job: JobSpec, shape: ModelShape) -> list[list[StageLayers]]:
    """The chunks of each rank, of DualPipe also the one at the other end."""
    held: list[list[StageLayers]] = [[] for _ in range(job.parallel.pp)]
    for chunk in layers_per_chunk(job, shape):
        held[chunk.stage].append(chunk)
    if runs_both_ways(job):
        return [own + other for own, other in zip(held, reversed(held), strict=True)]
    return held


def _stage(
    job: JobSpec,
    shape: ModelShape,
    grid: Grid,
    parameters: StageParameters,
    chunks: Sequence[StageLayers],
    hbm_bytes: float,
) -> StageMemory:
    each, zero = state_bytes(job), job.parallel.zero
    shards = (dense_shards(job, grid), expert_shards(job, grid))

    def state(per_parameter: int, sharded_from: int) -> dict[str, float]:
        dense, experts = shards if zero >= sharded_from else (1, 1)
        own = {"dense_parameters": parameters.dense, "dense_shards": dense}
        if parameters.experts:
            own |= {"expert_parameters": parameters.experts, "expert_shards": experts}
        return {**own, "each_bytes": per_parameter}

    activations = _activations(job, shape, grid, parameters.stage, chunks)
    inputs = {
        "weights_bytes": state(each.weight, 3),
        "gradients_bytes": state(each.gradient, 2),
        "optimizer_bytes": state(each.optimizer, 1),
        "activations_bytes": activations,
        "other_bytes": _other(job, shape, grid, parameters, chunks, sum(activations.values())),
    }
    return StageMemory(
        stage=parameters.stage,
        weights_bytes=_held(inputs["weights_bytes"]),
        gradients_bytes=_held(inputs["gradients_bytes"]),
        optimizer_bytes=_held(inputs["optimizer_bytes"]),
        activations_bytes=sum(activations.values()),
        other_bytes=sum(inputs["other_bytes"].values()),
        hbm_bytes=hbm_bytes,
        layer_activations_bytes=activations["layers_in_flight_bytes"],
        inputs=inputs,
    )


def _held(state: Mapping[str, float]) -> float:
    experts = state.get("expert_parameters", 0) / state.get("expert_shards", 1)
    return state["each_bytes"] * (state["dense_parameters"] / state["dense_shards"] + experts)


def _activations(
    job: JobSpec, shape: ModelShape, grid: Grid, rank: int, chunks: Sequence[StageLayers]
) -> dict[str, float]:
    """What the layers in flight keep, and the ends of the model and recompute where the stage has them."""
    t, m = job.parallel.tp, microbatches(job, grid)
    dense = layer_activations(job, shape, moe=False)
    moe = layer_activations(job, shape, moe=True)
    kept = most_kept(job, rank, m, [chunk.dense * dense + chunk.moe * moe for chunk in chunks])
    found, sharded = {"layers_in_flight_bytes": kept}, tokens(job) / t
    ends = {rank, job.parallel.pp - 1 - rank} if runs_both_ways(job) else {rank}
    if 0 in ends:
        found["token_ids_bytes"] = 8 * sharded * stages_in_flight(job, rank, m) / len(ends)
    if head_rank(job) in ends:
        beta = activation_bytes(job)
        found["head_bytes"] = 2 * beta * sharded * shape.hidden
        found["logits_bytes"] = (beta + 4) * tokens(job) * vocabulary_of_rank(job, shape)
    if job.recompute == "full":
        kinds = {kind for chunk in chunks for kind, some in ((False, chunk.dense), (True, chunk.moe)) if some}
        found["recomputed_layer_bytes"] = max(
            (layer_activations(job, shape, moe=kind, whole=True) for kind in kinds), default=0.0
        )
    return found


def _other(
    job: JobSpec,
    shape: ModelShape,
    grid: Grid,
    parameters: StageParameters,
    chunks: Sequence[StageLayers],
    activations: float,
) -> dict[str, float]:
    """What lies around the tensors of the job, and the buffers that are gathered into."""
    beta, layers = activation_bytes(job), sum(chunk.count for chunk in chunks)
    found = _around(job, grid, activations)
    if uses_sequence_parallelism(job):
        found["sequence_buffer_bytes"] = beta * tokens(job) * shape.hidden
    if job.parallel.zero == 3:
        largest = parameters.largest_layer
        over = (dense_shards(job, grid) > 1, expert_shards(job, grid) > 1)
        unit = largest.dense * over[0] + largest.experts * over[1]
        gathered = unit * min(job.memory.gathered_layers, layers)
        if not job.parallel.reshard:
            gathered = parameters.dense * over[0] + parameters.experts * over[1]
        gradients = unit * min(job.memory.gathered_gradients, layers)
        found["gathered_weights_bytes"] = beta * gathered
        found["gathered_gradients_bytes"] = gradient_bytes(job) * gradients
    return found
