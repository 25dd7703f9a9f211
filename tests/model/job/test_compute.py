"""Compute time by traffic_model §9, against the breakdown of T28 and reckonings by hand."""

from __future__ import annotations

import pytest

from model.catalog import catalog
from model.errors import JobError
from model.job.compute import chunk_computes, stage_computes
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import JobSpec
from tests.model.job.cases import gpt3_t8, job, llama_t3

H100 = catalog().gpus["h100-sxm"]
A100 = catalog().gpus["a100-sxm-80"]
MEMORY = 0.8 * 3.35e12
MATRIX = H100.gemm_efficiency["bf16"] * 989e12


def computes(own: JobSpec, world: int, gpu: object = H100):  # type: ignore[no-untyped-def]
    return stage_computes(own, model_shape(own), grid_of(own, world), gpu)  # type: ignore[arg-type]


def gemm(rows: float, inner: float, columns: float, matrix: float = MATRIX, memory: float = MEMORY) -> float:
    """t = max((F + 4e9)/(η·peak), bytes/(0.8·BW)) + 4 µs: §9 with F/(F + F½) written out."""
    flops = 2 * rows * inner * columns
    moved = 2 * (rows * inner + inner * columns + rows * columns)
    return max((flops + 4e9) / matrix, moved / memory) + 4e-6


def test_t28_forward_of_a_layer() -> None:
    # per-layer forward: GEMM 3.27 ms, attention 0.25 ms, elementwise 0.16 ms
    middle = computes(llama_t3(calibration={"gemm_efficiency": 0.55}), 1024)[1]
    matrices = middle.dgrad_s / 20
    assert matrices * 1e3 == pytest.approx(3.27, abs=5e-3)
    assert (middle.forward_s / 20 - matrices) * 1e3 == pytest.approx(0.25 + 0.16, abs=1e-2)
    tokens, h, f, own = 8192, 8192, 28672, 0.55 * 989e12
    by_hand = (
        gemm(tokens, h, (64 + 16) * 128 / 8, own)
        + gemm(tokens, 8192 / 8, h, own)
        + gemm(tokens, h, 2 * f / 8, own)
        + gemm(tokens, f / 8, h, own)
    )
    attention = 2 * 8192**2 * 64 * 128 / 8 / (0.55 * 989e12)
    elementwise = (20 * h * tokens / 8 + 6 * f * tokens / 8) / MEMORY + 8 * 4e-6
    assert middle.forward_s == pytest.approx(20 * (by_hand + attention + elementwise), rel=1e-12)
    backward = 2 * by_hand + attention * 2.5 / 0.8 + 1.7 * elementwise
    assert middle.backward_s == pytest.approx(20 * backward, rel=1e-12)
    assert middle.wgrad_s == middle.dgrad_s == pytest.approx(20 * by_hand, rel=1e-12)


def test_head_and_loss_are_in_the_last_stage() -> None:
    stages = computes(llama_t3(), 1024)
    head = gemm(8192, 8192, 128_256 / 8) + 10 * 8192 * 128_256 / 8 / MEMORY
    assert stages[0].forward_s == stages[2].forward_s
    assert stages[3].forward_s - stages[2].forward_s == pytest.approx(head, rel=1e-9)
    assert stages[3].backward_s - stages[2].backward_s == pytest.approx(2 * head, rel=1e-9)


def test_recompute_repeats_forward_or_the_scores() -> None:
    none, full = computes(llama_t3(), 1024)[1], computes(llama_t3(recompute="full"), 1024)[1]
    assert full.backward_s - none.backward_s == pytest.approx(none.forward_s, rel=1e-12)
    assert computes(llama_t3(recompute="selective"), 1024)[1] == none
    core = computes(gpt3_t8(attention="core"), 64, A100)[1]
    selective = computes(gpt3_t8(attention="core", recompute="selective"), 64, A100)[1]
    # two batched multiplications over all pairs at η, and 13·a·s²·b/t bytes of softmax
    scores = 4 * 2048**2 * 12288 / 8 / (A100.gemm_efficiency["bf16"] * 312e12) + 13 * 96 * 2048**2 / 8 / (
        0.8 * A100.hbm_bytes_per_s
    )
    assert selective.backward_s - core.backward_s == pytest.approx(12 * scores, rel=1e-9)


def test_fp8_speeds_matrices_up_leaves_attention_in_16_bits_and_casts_operands() -> None:
    wide, narrow = computes(llama_t3(), 1024)[1], computes(llama_t3(precision="fp8"), 1024)[1]
    assert narrow.dgrad_s / wide.dgrad_s == pytest.approx(
        MATRIX / (H100.gemm_efficiency["fp8"] * 1979e12), rel=0.01
    )
    # the inputs of the four multiplications of a layer: 2 bytes read, two layouts of 1 byte written
    casts = 20 * 4 * 8192 * (8192 + 8192 / 8 + 8192 + 28672 / 8) / MEMORY
    assert narrow.forward_s - narrow.dgrad_s == pytest.approx(wide.forward_s - wide.dgrad_s + casts, rel=1e-9)


def test_a_measured_efficiency_replaces_that_of_the_catalogue() -> None:
    own = llama_t3(calibration={"gemm_efficiency": H100.gemm_efficiency["bf16"] / 2})
    half, whole = computes(own, 1024)[1], computes(llama_t3(), 1024)[1]
    launches = 20 * 4 * 4e-6
    assert half.dgrad_s - launches == pytest.approx(2 * (whole.dgrad_s - launches), rel=1e-12)


def test_the_optimizer_moves_30_bytes_of_each_parameter_of_its_shard() -> None:
    assert computes(llama_t3(), 1024)[1].optimizer_s == pytest.approx(30 * 2_139_422_720 / 32 / MEMORY)
    assert computes(llama_t3({"zero": 0}), 1024)[1].optimizer_s == pytest.approx(30 * 2_139_422_720 / MEMORY)
    mixtral = computes(job("mixtral-8x7b", {"ep": 8}, global_batch=64), 64)[0]
    assert mixtral.optimizer_s == pytest.approx(30 * (1_605_636_096 / 64 + 5_637_144_576 / 8) / MEMORY)


def test_imbalance_of_experts_costs_compute() -> None:
    even = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, global_batch=64)
    uneven = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, global_batch=64, experts={"imbalance": 1.5})
    before, after = computes(even, 64)[0], computes(uneven, 64)[0]
    # routed multiplications: 2 · 3·h·fe FLOP for each of 4096·2 copies, at 0.7 of η; 50 % more of them
    extra = 0.5 * 32 * 2 * 3 * 4096 * 14336 * 4096 * 2 / (0.7 * MATRIX)
    assert after.dgrad_s - before.dgrad_s == pytest.approx(extra, rel=1e-9)


def test_a_stage_without_layers_takes_no_time() -> None:
    stages = computes(llama_t3({"layers_per_stage": [0, 40, 40, 0]}), 1024)
    assert (stages[0].forward_s, stages[0].backward_s) == (0, 0)
    assert stages[3].forward_s > 0


def test_a_precision_that_a_gpu_lacks_is_refused() -> None:
    with pytest.raises(JobError, match="no fp8"):
        computes(llama_t3(precision="fp8"), 1024, A100)


def test_a_chunk_is_never_faster_than_its_kernels_are_issued() -> None:
    tiny = {"layers": 4, "hidden": 256, "heads": 4, "vocab": 1024, "mlp": "gelu"}
    own = job(tiny, sequence_length=128, global_batch=8, recompute="full")
    slow = H100.model_copy(update={"kernel_issue_us": {"bf16": 50.0}})
    stage = computes(own, 8, slow)[0]
    # 16 kernels a layer forward; backward twice as many, and the forward once more
    assert stage.forward_s == pytest.approx(4 * 16 * 50e-6, rel=1e-12)
    assert stage.backward_s == pytest.approx(3 * 4 * 16 * 50e-6, rel=1e-12)
    assert computes(llama_t3(), 1024, slow)[1] == computes(llama_t3(), 1024)[1]


def test_chunks_add_up_to_stages_and_the_last_has_the_head() -> None:
    own = llama_t3({"vpp": 5}, schedule="interleaved")
    chunks = chunk_computes(own, model_shape(own), H100)
    stages = computes(own, 1024)
    assert [chunk.stage for chunk in chunks] == [0, 1, 2, 3] * 5
    for number, stage in enumerate(stages):
        assert stage.forward_s == pytest.approx(
            sum(chunk.forward_s for chunk in chunks[number::4]), rel=1e-12
        )
    assert chunks[19].forward_s > chunks[15].forward_s == chunks[0].forward_s


def test_a_measured_mfu_gives_the_time_of_the_model_flops() -> None:
    own = llama_t3(calibration={"mfu": 0.4}, recompute="full")
    stages = computes(own, 1024)
    # T2: 449,222,541,312 FLOP a token, a third of it forward; 8 ranks share 8,192 tokens
    forward = sum(stage.forward_s for stage in stages)
    assert forward == pytest.approx(449_222_541_312 / 3 * 8192 / 8 / (0.4 * 989e12), rel=1e-12)
    assert stages[0].backward_s == pytest.approx(3 * stages[0].forward_s, rel=1e-12)


def test_a_measured_layer_time_scales_everything_in_the_layers() -> None:
    modelled = computes(llama_t3(), 1024)[1]
    measured = computes(llama_t3(calibration={"layer_forward_s": 8e-3}), 1024)[1]
    assert measured.forward_s == pytest.approx(20 * 8e-3, rel=1e-12)
    assert measured.backward_s / modelled.backward_s == pytest.approx(
        measured.forward_s / modelled.forward_s, rel=1e-12
    )


def test_copies_for_experts_are_reordered_three_times() -> None:
    one = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, global_batch=64)
    two = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, global_batch=64, experts={"imbalance": 2.0})
    before, after = computes(one, 64)[0], computes(two, 64)[0]
    # twice the copies: 3 times read and written at 2 bytes, and the activation of their width
    copies = 4096 * 2
    more = 32 * copies * (3 * 4 * 4096 + 6 * 14336) / MEMORY
    extra = (after.forward_s - after.dgrad_s) - (before.forward_s - before.dgrad_s)
    assert extra == pytest.approx(more, rel=1e-9)


def test_expert_tensor_parallelism_cuts_the_width_and_gathers_the_copies() -> None:
    one = computes(job("mixtral-8x7b", {"tp": 2, "ep": 4}, global_batch=64), 64)[0]
    cut = computes(job("mixtral-8x7b", {"tp": 2, "ep": 4, "etp": 2}, global_batch=64), 64)[0]
    assert cut.dgrad_s == pytest.approx(one.dgrad_s, rel=1e-3)


def test_a_capacity_fixes_what_experts_compute() -> None:
    # traffic_model §3.4: whatever the imbalance, E · ceil(n_loc·k/E · CF) copies on every rank
    def forward(**experts: float) -> float:
        own = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, global_batch=8, experts=experts)
        return computes(own, 8)[0].forward_s

    assert forward(capacity_factor=1.0, imbalance=3.0) == forward()
    assert forward(capacity_factor=1.5) == pytest.approx(forward(imbalance=1.5))
