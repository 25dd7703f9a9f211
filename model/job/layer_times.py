"""What one layer of a rank takes: matrix multiplications, attention and what only moves memory (§9)."""

from __future__ import annotations

from dataclasses import dataclass

from model.job.flops import attention_flops
from model.job.kernels import LAUNCH_S, Speeds
from model.job.shape import ModelShape
from model.job.sizes import (
    local_tokens,
    padded_vocabulary,
    received_copies,
    tokens,
    uses_sequence_parallelism,
)
from model.job.spec import JobSpec

ATTENTION_BACKWARD_FLOPS = 2.5
ATTENTION_BACKWARD_SPEED = 0.8
ELEMENTWISE_BACKWARD = 1.7
ELEMENTWISE_LAUNCHES = 8
SOFTMAX_BYTES = 13
LOSS_BYTES_PER_LOGIT = 10
CAST_BYTES = 4  # an operand of 8 or 4 bits: 16 bits read, two layouts of it written
# Kernels of one forward pass of a layer as the host issues them; a backward pass has twice as many.
LAUNCHES_FLASH = 16
LAUNCHES_CORE = 24
LAUNCHES_ROUTED = 36
LAUNCHES_CASTS = 8
PERMUTATIONS = 3  # of the routed copies there and back: into send order, by expert, and their reverse


@dataclass(frozen=True, slots=True)
class LayerTimes:
    """Forward seconds of one layer by what runs, the seconds of core attention backward, kernels issued."""

    matrices: float
    attention: float
    attention_backward: float
    elementwise: float
    launches: int

    @property
    def forward(self) -> float:
        """One forward pass."""
        return self.matrices + self.attention + self.elementwise

    def backward(self, job: JobSpec) -> float:
        """One backward pass with what `recompute` repeats before it."""
        total = 2 * self.matrices + self.attention_backward + ELEMENTWISE_BACKWARD * self.elementwise
        if job.recompute == "full":
            return total + self.forward
        if job.recompute == "selective" and job.attention == "core":
            return total + self.attention
        return total

    def scaled(self, factor: float) -> LayerTimes:
        """All times longer by a factor."""
        return LayerTimes(
            self.matrices * factor,
            self.attention * factor,
            self.attention_backward * factor,
            self.elementwise * factor,
            self.launches,
        )


def layer_times(job: JobSpec, shape: ModelShape, speeds: Speeds, *, moe: bool) -> LayerTimes:
    """One layer, with routed experts or dense."""
    routed = moe and shape.moe is not None
    forward, backward = _core_attention(job, shape, speeds)
    launches = LAUNCHES_CORE if job.attention == "core" else LAUNCHES_FLASH
    return LayerTimes(
        matrices=_projections_s(job, shape, speeds) + _mlp_s(job, shape, speeds, moe=moe),
        attention=forward,
        attention_backward=backward,
        elementwise=_elementwise_s(job, shape, speeds, moe=moe),
        launches=launches + LAUNCHES_ROUTED * routed + LAUNCHES_CASTS * _narrow(job),
    )


def head_times(job: JobSpec, shape: ModelShape, speeds: Speeds) -> tuple[float, float]:
    """(matrix multiplication, loss) of one microbatch on the last stage, forward; backward is twice that."""
    t = job.parallel.tp
    columns = padded_vocabulary(shape.vocabulary, job.vocabulary_multiple, t) / t
    loss = LOSS_BYTES_PER_LOGIT * tokens(job) * columns / speeds.memory
    return speeds.gemm_s(tokens(job), shape.hidden, columns), loss


def _narrow(job: JobSpec) -> bool:
    return job.precision in ("fp8", "fp4")


def _projections_s(job: JobSpec, shape: ModelShape, speeds: Speeds) -> float:
    """Matrix multiplications around core attention: query, keys and values in one, then the output."""
    rows, t, h, a = tokens(job), job.parallel.tp, shape.hidden, shape.heads
    if shape.attention.kind == "mla":
        ql, kl, dn, dr, dv = shape.mla
        down = speeds.gemm_s(rows, h, (ql + kl + dr) / t)
        query = speeds.gemm_s(rows, ql or h, a * (dn + dr) / t)
        keys_values = speeds.gemm_s(rows, kl, a * (dn + dv) / t)
        return down + query + keys_values + speeds.gemm_s(rows, a * dv / t, h)
    columns = (a / t + 2 * max(shape.kv_heads / t, 1)) * shape.head_dim
    return speeds.gemm_s(rows, h, columns) + speeds.gemm_s(rows, a * shape.head_dim / t, h)


def _mlp_s(job: JobSpec, shape: ModelShape, speeds: Speeds, *, moe: bool) -> float:
    rows, t, h = tokens(job), job.parallel.tp, shape.hidden
    inner = shape.mlp_matrices - 1

    def block(width: float) -> float:
        return speeds.gemm_s(rows, h, inner * width) + speeds.gemm_s(rows, width, h)

    if not moe or shape.moe is None:
        return block(shape.ffn / t)
    own = shape.moe
    # Expert tensor parallelism gathers the copies of its group and gives each rank a part of the width.
    copies = received_copies(job, shape) * job.parallel.etp
    held, width = own.experts / job.parallel.ep, own.expert_ffn / job.parallel.etp
    routed = speeds.grouped_gemm_s(copies, held, h, inner * width) + speeds.grouped_gemm_s(
        copies, held, width, h
    )
    shared = block(shape.shared_ffn / t) if shape.shared_ffn else 0.0
    return routed + shared + speeds.gemm_s(local_tokens(job), h, own.experts)


def _core_attention(job: JobSpec, shape: ModelShape, speeds: Speeds) -> tuple[float, float]:
    """(forward, backward). Flash skips what is masked, core computes all pairs and moves the scores."""
    rows, t = tokens(job), job.parallel.tp
    if job.attention == "flash":
        forward = attention_flops(job, shape) * rows / t / speeds.attention
        return forward, forward * ATTENTION_BACKWARD_FLOPS / ATTENTION_BACKWARD_SPEED
    matrices = attention_flops(job, shape, causal=False) * rows / t / speeds.batched
    moved = SOFTMAX_BYTES * shape.heads * job.sequence_length * rows / t / speeds.memory
    return matrices + moved, 2 * matrices + ELEMENTWISE_BACKWARD * moved


def _elementwise_s(job: JobSpec, shape: ModelShape, speeds: Speeds, *, moe: bool) -> float:
    """Norms, residuals, activation; the reordering of copies for experts; the casts of narrow operands."""
    rows, t, h = tokens(job), job.parallel.tp, shape.hidden
    dropout = 1 if shape.mlp == "gelu" else 0
    residual = (8 + 2 * (6 + dropout)) * h * (rows / t if uses_sequence_parallelism(job) else rows)
    per_width = 6 if shape.mlp == "swiglu" else 4
    if moe and shape.moe is not None:
        copies = received_copies(job, shape)
        widths = shape.moe.expert_ffn * copies + shape.shared_ffn * rows / t
        reordered = PERMUTATIONS * 4 * h * copies
        inputs = h * copies
    else:
        widths, reordered, inputs = shape.ffn * rows / t, 0.0, h * rows
    moved = (residual + per_width * widths + reordered) * speeds.element / 2
    if _narrow(job):
        moved += CAST_BYTES * (h * rows + shape.heads * shape.head_dim * rows / t + inputs + widths)
    return moved / speeds.memory + ELEMENTWISE_LAUNCHES * LAUNCH_S
