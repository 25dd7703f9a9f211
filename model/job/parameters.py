"""Parameter counts: of a whole model, and of the rank of each pipeline stage.

traffic_model §1.1 and §2.2, conventions 25.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.job.chunks import head_rank, runs_both_ways
from model.job.shape import ModelShape, layers_per_stage
from model.job.sizes import padded_vocabulary
from model.job.spec import JobSpec


@dataclass(frozen=True, slots=True)
class LayerParameters:
    """One layer on a rank: `sharded` is divided by t, `replicated` is whole with `norms` among it."""

    sharded: int
    replicated: int
    norms: int
    experts: int

    @property
    def dense(self) -> int:
        """Everything but the routed experts."""
        return self.sharded + self.replicated

    @property
    def total(self) -> int:
        """Everything."""
        return self.dense + self.experts


NO_LAYER = LayerParameters(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class StageParameters:
    """One stage on a rank: `dense` reduces over dp-cp, `experts` over edp.

    Of `dense`, `replicated` (`norms` among it) is the same on every rank of a TP group.
    """

    stage: int
    dense: int
    experts: int
    norms: int
    replicated: int
    largest_layer: LayerParameters

    @property
    def total(self) -> int:
        """All of them."""
        return self.dense + self.experts


def model_parameters(shape: ModelShape) -> int:
    """All parameters of the model, vocabulary not padded."""
    dense, moe = layer_parameters(shape, moe=False), layer_parameters(shape, moe=True)
    routed = shape.moe_layers
    return routed * moe.total + (shape.layers - routed) * dense.total + _ends(shape)


def active_parameters(shape: ModelShape) -> int:
    """Parameters that work for one token: as `model_parameters` with k in place of E routed experts."""
    if shape.moe is None:
        return model_parameters(shape)
    idle = (shape.moe.experts - shape.moe.top_k) * mlp_parameters(shape, shape.moe.expert_ffn)
    return model_parameters(shape) - shape.moe_layers * idle


def stage_parameters(job: JobSpec, shape: ModelShape, *, copies: bool = True) -> tuple[StageParameters, ...]:
    """What each rank of each stage of a legal job holds; the vocabulary padded (conventions 23).

    DualPipe ranks hold a copy of the stage at the other end as well (conventions 26), left out without
    `copies`.
    """
    own = job.parallel
    dense = layer_parameters(shape, moe=False, tp=own.tp)
    moe = layer_parameters(shape, moe=True, tp=own.tp, expert_ranks=own.ep * own.etp)
    embedding = padded_vocabulary(shape.vocabulary, job.vocabulary_multiple, own.tp) * shape.hidden // own.tp
    head = head_rank(job)
    found = []
    for layers in layers_per_stage(job, shape):
        count = layers.dense * dense.dense + layers.moe * moe.dense
        replicated = layers.dense * dense.replicated + layers.moe * moe.replicated
        norms = layers.dense * dense.norms + layers.moe * moe.norms
        if layers.stage == 0:
            positions = shape.positions * shape.hidden
            count += embedding + positions
            replicated += positions
        if layers.stage == head:
            count += shape.norm_width
            replicated += shape.norm_width
            norms += shape.norm_width
            if not shape.tied_embeddings or head != 0:
                count += embedding
        kinds = [kind for kind, some in ((dense, layers.dense), (moe, layers.moe)) if some]
        largest = max(kinds, key=lambda kind: kind.total, default=NO_LAYER)
        found.append(
            StageParameters(layers.stage, count, layers.moe * moe.experts, norms, replicated, largest)
        )
    if copies and runs_both_ways(job):
        return tuple(_both(one, other) for one, other in zip(found, reversed(found), strict=True))
    return tuple(found)


def _both(one: StageParameters, other: StageParameters) -> StageParameters:
    return StageParameters(
        stage=one.stage,
        dense=one.dense + other.dense,
        experts=one.experts + other.experts,
        norms=one.norms + other.norms,
        replicated=one.replicated + other.replicated,
        largest_layer=max(one.largest_layer, other.largest_layer, key=lambda layer: layer.total),
    )


def layer_parameters(shape: ModelShape, *, moe: bool, tp: int = 1, expert_ranks: int = 1) -> LayerParameters:
    """One layer on a rank of `tp` ranks, with the routed experts spread over `expert_ranks` (e · et)."""
    sharded, replicated, norms = _attention(shape, tp)
    norms += 2 * shape.norm_width
    replicated += 2 * shape.norm_width
    if not moe or shape.moe is None:
        inner, outer = _mlp(shape, shape.ffn)
        return LayerParameters(sharded + inner // tp, replicated + outer, norms, 0)
    own = shape.moe
    inner, outer = _mlp(shape, own.expert_ffn)
    replicated += shape.hidden * own.experts + (own.experts if own.router_bias else 0)
    return LayerParameters(
        sharded + own.shared_experts * inner // tp,
        replicated + own.shared_experts * outer,
        norms,
        own.experts * (inner + outer) // expert_ranks,
    )


def mlp_parameters(shape: ModelShape, width: int) -> int:
    """One whole MLP of a width."""
    return sum(_mlp(shape, width))


def _mlp(shape: ModelShape, width: int) -> tuple[int, int]:
    """(divided by tensor parallelism, whole): matrices and inner biases, and the bias of the output."""
    matrices = shape.mlp_matrices * shape.hidden * width
    if not shape.mlp_bias:
        return matrices, 0
    return matrices + (shape.mlp_matrices - 1) * width, shape.hidden


def _attention(shape: ModelShape, tp: int) -> tuple[int, int, int]:
    """(on the rank of what is divided, whole, norms among the whole)."""
    h, a, d, own = shape.hidden, shape.heads, shape.head_dim, shape.attention
    if own.kind == "mla":
        ql, kl, dn, dr, dv = shape.mla
        query = ql * h + ql * a * (dn + dr) if ql else h * a * (dn + dr)
        matrices = query + kl * h + kl * a * (dn + dv) + h * dr + a * dv * h
        norms = (ql + kl) * (2 if shape.norm == "layernorm" else 1)
        return matrices // tp, norms, norms
    kv_heads = max(shape.kv_heads // tp, 1)
    sharded = 2 * h * a * d // tp + 2 * h * kv_heads * d
    whole = norms = 2 * d if own.qk_norm else 0
    if own.qkv_bias:
        sharded += a * d // tp + 2 * kv_heads * d
    if own.sinks:
        sharded += a // tp
    if own.out_bias:
        whole += h
    return sharded, whole, norms


def _ends(shape: ModelShape) -> int:
    tables = 1 if shape.tied_embeddings else 2
    return (tables * shape.vocabulary + shape.positions) * shape.hidden + shape.norm_width
