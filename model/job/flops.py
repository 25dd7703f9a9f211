"""Floating-point operations of a step (traffic_model §1.2). One multiply-add counts as two.

Attention is counted causal (half of all pairs) or full; MFU uses the causal count, as Megatron-Core does.
"""

from __future__ import annotations

from model.job.shape import ModelShape
from model.job.sizes import padded_vocabulary
from model.job.spec import JobSpec


def model_flops_per_token(job: JobSpec, shape: ModelShape, *, causal: bool = True) -> float:
    """Forward and backward of one token, nothing repeated."""
    attention = attention_flops(job, shape, causal=causal) * shape.layers
    return 3.0 * (_matrix_flops(shape) + _head_flops(job, shape) + attention)


def hardware_flops_per_token(job: JobSpec, shape: ModelShape, *, causal: bool = True) -> float:
    """With what `recompute` repeats: nothing, core attention (0 with flash), or every layer's forward."""
    total = model_flops_per_token(job, shape, causal=causal)
    attention = attention_flops(job, shape, causal=causal) * shape.layers
    if job.recompute == "full":
        return total + _matrix_flops(shape) + attention
    if job.recompute == "selective" and job.attention == "core":
        return total + attention
    return total


def model_flops(job: JobSpec, shape: ModelShape, *, causal: bool = True) -> float:
    """`model_flops_per_token` of a whole step of all replicas."""
    return model_flops_per_token(job, shape, causal=causal) * job.global_batch * job.sequence_length


def hardware_flops(job: JobSpec, shape: ModelShape, *, causal: bool = True) -> float:
    """`hardware_flops_per_token` of a whole step of all replicas."""
    return hardware_flops_per_token(job, shape, causal=causal) * job.global_batch * job.sequence_length


def attention_flops(job: JobSpec, shape: ModelShape, *, causal: bool = True) -> float:
    """Core attention of one layer, forward, a token: full 4·s·a·d, MLA 2·s·a·(dn+dr+dv); causal half."""
    if shape.attention.kind == "mla":
        _, _, dn, dr, dv = shape.mla
        full = 2.0 * job.sequence_length * shape.heads * (dn + dr + dv)
    else:
        full = 4.0 * job.sequence_length * shape.heads * shape.head_dim
    return full / 2 if causal else full


def layer_flops_per_token(
    job: JobSpec, shape: ModelShape, dense: int, moe: int, *, head: bool = False
) -> float:
    """Forward of one token through some dense and some routed layers, and the output head with `head`."""
    layers = dense + moe
    flops = 2.0 * (
        layers * attention_matrix_parameters(shape)
        + dense * dense_matrix_parameters(shape)
        + moe * routed_matrix_parameters(shape)
    )
    return flops + layers * attention_flops(job, shape) + (_head_flops(job, shape) if head else 0.0)


def dense_matrix_parameters(shape: ModelShape) -> int:
    """Parameters of one dense MLP that multiply matrices."""
    return shape.mlp_matrices * shape.hidden * shape.ffn


def routed_matrix_parameters(shape: ModelShape) -> int:
    """Parameters that one token meets in a layer of experts, the router among them; 0 without experts."""
    if shape.moe is None:
        return 0
    width = shape.moe.top_k * shape.moe.expert_ffn + shape.shared_ffn
    return shape.mlp_matrices * shape.hidden * width + shape.hidden * shape.moe.experts


def attention_matrix_parameters(shape: ModelShape) -> int:
    """Parameters of one layer's attention that multiply matrices (no biases, no norms)."""
    h, a, g, d = shape.hidden, shape.heads, shape.kv_heads, shape.head_dim
    if shape.attention.kind != "mla":
        return 2 * h * a * d + 2 * h * g * d
    ql, kl, dn, dr, dv = shape.mla
    query = ql * (h + a * (dn + dr)) if ql else h * a * (dn + dr)
    return query + kl * (h + a * (dn + dv)) + h * dr + a * dv * h


def _matrix_flops(shape: ModelShape) -> float:
    """Matrix multiplications of all layers, forward, per token, the router among them."""
    moe = shape.moe_layers
    mlps = (shape.layers - moe) * dense_matrix_parameters(shape) + moe * routed_matrix_parameters(shape)
    return 2.0 * (shape.layers * attention_matrix_parameters(shape) + mlps)


def _head_flops(job: JobSpec, shape: ModelShape) -> float:
    return 2.0 * shape.hidden * padded_vocabulary(shape.vocabulary, job.vocabulary_multiple, job.parallel.tp)
