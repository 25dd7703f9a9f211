"""How long single kernels take on a GPU (traffic_model §9)."""

from __future__ import annotations

from dataclasses import dataclass

from model.catalog import GpuSpec
from model.catalog.specs import Precision
from model.job.spec import JobSpec

HALF_SPEED_FLOPS = 4e9  # a matrix multiplication of this size reaches half of its speed
HBM_SHARE = 0.8
LAUNCH_S = 4e-6
ATTENTION_EFFICIENCY = 0.55
GROUPED_GEMM_SHARE = 0.7  # middle of the 0.6–0.8 of a dense one that grouped matrix multiplications reach
OPERAND_BYTES: dict[Precision, float] = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5625}


@dataclass(frozen=True, slots=True)
class Speeds:
    """What a GPU reaches in a job.

    FLOP/s: `peak` of its data sheet, `matrix` of large matrix multiplications in the job's precision,
    `batched` of those over attention scores, `attention` of fused attention. `memory` bytes/s. `issue`
    seconds that the host takes to issue one kernel. `operand` and `element` bytes of one number as a
    multiplication reads and writes it.
    """

    peak: float
    matrix: float
    attention: float
    batched: float
    memory: float
    issue: float
    operand: float
    element: float

    def gemm_s(self, rows: float, inner: float, columns: float) -> float:
        """One multiplication (rows × inner) · (inner × columns)."""
        return self.grouped_gemm_s(rows, 1.0, inner, columns, share=1.0)

    def grouped_gemm_s(
        self, rows: float, groups: float, inner: float, columns: float, share: float = GROUPED_GEMM_SHARE
    ) -> float:
        """`rows` spread over `groups` matrices (inner × columns), which are all read once."""
        flops = 2.0 * rows * inner * columns
        if not flops:
            return 0.0
        read = self.operand * (rows * inner + groups * inner * columns)
        moved = read + self.element * rows * columns
        return max((flops + HALF_SPEED_FLOPS) / (self.matrix * share), moved / self.memory) + LAUNCH_S


def speeds_of(job: JobSpec, gpu: GpuSpec) -> Speeds:
    """The speeds of a GPU in a job. Raises JobError when it lacks the job's precision."""
    peak = gpu.peak_flops(job.precision)
    measured = job.calibration.gemm_efficiency
    # Attention stays in 16 bits where the matrices are narrower.
    wide: Precision = "fp32" if job.precision == "fp32" else "bf16"
    wide_peak = gpu.peak_flops(wide)
    return Speeds(
        peak=peak,
        matrix=peak * (measured or gpu.gemm_efficiency[job.precision]),
        attention=wide_peak * ATTENTION_EFFICIENCY,
        batched=wide_peak * (measured or gpu.gemm_efficiency[wide]),
        memory=gpu.hbm_bytes_per_s * HBM_SHARE,
        issue=gpu.kernel_issue_s(job.precision),
        operand=OPERAND_BYTES[job.precision],
        element=4.0 if job.precision == "fp32" else 2.0,
    )
