"""Compute time of each pipeline stage (traffic_model §9)."""

from __future__ import annotations

from dataclasses import dataclass

from model.catalog import GpuSpec
from model.catalog.specs import Precision
from model.job.flops import attention_flops
from model.job.parameters import StageParameters, stage_parameters
from model.job.shape import ModelShape, layers_per_stage
from model.job.sizes import (
    activation_bytes,
    local_tokens,
    padded_vocabulary,
    tokens,
    uses_sequence_parallelism,
)
from model.job.spec import JobSpec
from model.placement.grid import Grid

HALF_SPEED_FLOPS = 4e9  # a matrix multiplication of this size reaches half of its speed
HBM_SHARE = 0.8
LAUNCH_S = 4e-6
LAUNCHES_PER_LAYER = 8
ATTENTION_EFFICIENCY = 0.55
ATTENTION_BACKWARD_FLOPS = 2.5
ATTENTION_BACKWARD_SPEED = 0.8
ELEMENTWISE_BACKWARD = 1.7
GROUPED_GEMM_SHARE = 0.7  # middle of the 0.6–0.8 of a dense one that grouped matrix multiplications reach
SOFTMAX_BYTES = 13
OPTIMIZER_BYTES_PER_PARAMETER = 30
LOSS_BYTES_PER_LOGIT = 10


@dataclass(frozen=True, slots=True)
class StageCompute:
    """Seconds of compute of one stage at full GPU speed, without any communication.

    `forward_s` and `backward_s` are of one microbatch (backward with recompute; head and loss are in the last
    stage). `dgrad_s` and `wgrad_s` are the parts of `backward_s` in input-gradient and weight-gradient GEMMs,
    the windows that can hide TP traffic. `optimizer_s` is once a step.
    """

    stage: int
    forward_s: float
    backward_s: float
    dgrad_s: float
    wgrad_s: float
    optimizer_s: float


@dataclass(frozen=True, slots=True)
class _Speeds:
    """What a GPU reaches: FLOP/s of large matrix multiplications and of attention, bytes/s of its memory."""

    matrix: float
    attention: float
    batched: float
    memory: float
    element_bytes: int

    def gemm_s(self, rows: float, inner: float, columns: float, *, share: float = 1.0) -> float:
        """One multiplication (rows × inner) · (inner × columns)."""
        flops = 2.0 * rows * inner * columns
        if not flops:
            return 0.0
        moved = self.element_bytes * (rows * inner + inner * columns + rows * columns)
        return max((flops + HALF_SPEED_FLOPS) / (self.matrix * share), moved / self.memory) + LAUNCH_S


@dataclass(frozen=True, slots=True)
class _Layer:
    """Forward seconds of one layer by what runs, and the seconds of core attention backward."""

    matrices: float
    attention: float
    attention_backward: float
    elementwise: float

    @property
    def forward(self) -> float:
        return self.matrices + self.attention + self.elementwise

    def backward(self, job: JobSpec) -> float:
        total = 2 * self.matrices + self.attention_backward + ELEMENTWISE_BACKWARD * self.elementwise
        if job.recompute == "full":
            return total + self.forward
        if job.recompute == "selective" and job.attention == "core":
            return total + self.attention
        return total


def stage_computes(job: JobSpec, shape: ModelShape, grid: Grid, gpu: GpuSpec) -> tuple[StageCompute, ...]:
    """Compute of every stage of a legal job on GPUs of one kind.

    Raises JobError when the GPU cannot multiply matrices in the job's precision.
    """
    speeds = _speeds(job, gpu)
    dense, moe = _layer(job, shape, speeds, moe=False), _layer(job, shape, speeds, moe=True)
    head = _head_s(job, shape, speeds)
    found = []
    for layers, held in zip(layers_per_stage(job, shape), stage_parameters(job, shape), strict=True):
        last = layers.stage == job.parallel.pp - 1
        head_gemm, loss = head if last else (0.0, 0.0)
        matrices = layers.dense * dense.matrices + layers.moe * moe.matrices + head_gemm
        forward = layers.dense * dense.forward + layers.moe * moe.forward
        backward = layers.dense * dense.backward(job) + layers.moe * moe.backward(job)
        found.append(
            StageCompute(
                stage=layers.stage,
                forward_s=forward + head_gemm + loss,
                backward_s=backward + 2 * (head_gemm + loss),
                dgrad_s=matrices,
                wgrad_s=matrices,
                optimizer_s=_optimizer_s(job, grid, held, speeds),
            )
        )
    return tuple(found)


def _speeds(job: JobSpec, gpu: GpuSpec) -> _Speeds:
    peak = gpu.peak_flops(job.precision)
    efficiency = job.calibration.gemm_efficiency or gpu.gemm_efficiency[job.precision]
    # Attention stays in 16 bits where the matrices are narrower.
    wide: Precision = "fp32" if job.precision == "fp32" else "bf16"
    wide_peak = gpu.peak_flops(wide)
    return _Speeds(
        matrix=peak * efficiency,
        attention=wide_peak * ATTENTION_EFFICIENCY,
        batched=wide_peak * (job.calibration.gemm_efficiency or gpu.gemm_efficiency[wide]),
        memory=gpu.hbm_bytes_per_s * HBM_SHARE,
        element_bytes=activation_bytes(job),
    )


def _layer(job: JobSpec, shape: ModelShape, speeds: _Speeds, *, moe: bool) -> _Layer:
    forward, backward = _core_attention(job, shape, speeds)
    return _Layer(
        matrices=_projections_s(job, shape, speeds) + _mlp_s(job, shape, speeds, moe=moe),
        attention=forward,
        attention_backward=backward,
        elementwise=_elementwise_s(job, shape, speeds, moe=moe),
    )


def _projections_s(job: JobSpec, shape: ModelShape, speeds: _Speeds) -> float:
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


def _mlp_s(job: JobSpec, shape: ModelShape, speeds: _Speeds, *, moe: bool) -> float:
    rows, t, h = tokens(job), job.parallel.tp, shape.hidden
    inner = shape.mlp_matrices - 1

    def block(width: float) -> float:
        return speeds.gemm_s(rows, h, inner * width) + speeds.gemm_s(rows, width, h)

    if not moe or shape.moe is None:
        return block(shape.ffn / t)
    own = shape.moe
    copies = local_tokens(job) * own.top_k * job.experts.imbalance
    held, width = own.experts / job.parallel.ep, own.expert_ffn
    routed = sum(
        _grouped_gemm_s(speeds, copies, held, wide, high) for wide, high in ((h, inner * width), (width, h))
    )
    shared = block(shape.shared_ffn / t) if shape.shared_ffn else 0.0
    return routed + shared + speeds.gemm_s(local_tokens(job), h, own.experts)


def _grouped_gemm_s(speeds: _Speeds, rows: float, groups: float, inner: float, columns: float) -> float:
    """`rows` spread over `groups` matrices (inner × columns), which are all read once."""
    flops = 2.0 * rows * inner * columns
    moved = speeds.element_bytes * (rows * inner + groups * inner * columns + rows * columns)
    speed = speeds.matrix * GROUPED_GEMM_SHARE
    return max((flops + HALF_SPEED_FLOPS) / speed, moved / speeds.memory) + LAUNCH_S


def _core_attention(job: JobSpec, shape: ModelShape, speeds: _Speeds) -> tuple[float, float]:
    """(forward, backward). Flash skips what is masked, core computes all pairs and moves the scores."""
    rows, t = tokens(job), job.parallel.tp
    if job.attention == "flash":
        forward = attention_flops(job, shape) * rows / t / speeds.attention
        return forward, forward * ATTENTION_BACKWARD_FLOPS / ATTENTION_BACKWARD_SPEED
    matrices = attention_flops(job, shape, causal=False) * rows / t / speeds.batched
    moved = SOFTMAX_BYTES * shape.heads * job.sequence_length * rows / t / speeds.memory
    return matrices + moved, 2 * matrices + ELEMENTWISE_BACKWARD * moved


def _elementwise_s(job: JobSpec, shape: ModelShape, speeds: _Speeds, *, moe: bool) -> float:
    rows, t, h = tokens(job), job.parallel.tp, shape.hidden
    dropout = 1 if shape.mlp == "gelu" else 0
    residual = (8 + 2 * (6 + dropout)) * h * (rows / t if uses_sequence_parallelism(job) else rows)
    per_width = 6 if shape.mlp == "swiglu" else 4
    if moe and shape.moe is not None:
        copies = local_tokens(job) * shape.moe.top_k * job.experts.imbalance
        inner = per_width * (shape.moe.expert_ffn * copies + shape.shared_ffn * rows / t)
    else:
        inner = per_width * shape.ffn * rows / t
    moved = (residual + inner) * speeds.element_bytes / 2
    return moved / speeds.memory + LAUNCHES_PER_LAYER * LAUNCH_S


def _head_s(job: JobSpec, shape: ModelShape, speeds: _Speeds) -> tuple[float, float]:
    """(matrix multiplication, loss) of one microbatch on the last stage, forward; backward is twice that."""
    t = job.parallel.tp
    columns = padded_vocabulary(shape.vocabulary, job.vocabulary_multiple, t) / t
    loss = LOSS_BYTES_PER_LOGIT * tokens(job) * columns / speeds.memory
    return speeds.gemm_s(tokens(job), shape.hidden, columns), loss


def _optimizer_s(job: JobSpec, grid: Grid, held: StageParameters, speeds: _Speeds) -> float:
    share: float = held.total
    if job.parallel.zero > 0:
        share = held.dense / (grid.dp * grid.cp) + held.experts / grid.edp
    return OPTIMIZER_BYTES_PER_PARAMETER * share / speeds.memory
