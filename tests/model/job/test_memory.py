"""Memory of each stage: T1, T4, T7, T8, T11, T22 and the terms of conventions 26 and 27."""

from __future__ import annotations

from typing import Any

import pytest

from model.job.default import default_job
from model.job.memory import layer_activations, state_bytes
from model.job.parameters import stage_parameters
from model.job.shape import model_shape
from model.job.sizes import microbatches_in_flight
from model.job.spec import parse_job
from tests.model.job.cases import gpt3_t8, job, llama_t3, memory

GIB = 2**30
MIB = 2**20


def state(own: Any, world: int) -> list[float]:
    return [row.weights_bytes + row.gradients_bytes + row.optimizer_bytes for row in memory(own, world)]


def test_t1_textbook_bytes_of_a_parameter() -> None:
    each = state_bytes(parse_job({"gradient_precision": "bf16"}))
    assert 70e9 * (each.weight + each.gradient + each.optimizer) == 1.12e12
    assert 70e9 * each.weight == 140e9


@pytest.mark.parametrize(
    ("zero", "gradients", "figures"),
    [(0, "fp32", (40.874, 38.510, 40.874)), (0, "bf16", (36.332, 34.231, 36.332)),
     (1, "fp32", (14.476, 13.639, 14.476))],
)  # fmt: skip
def test_t4_state(zero: int, gradients: str, figures: tuple[float, ...]) -> None:
    own = llama_t3({"zero": zero}, gradient_precision=gradients)
    first, middle, _, last = (value / 1e9 for value in state(own, 1024))
    assert (first, middle, last) == pytest.approx(figures, abs=5e-4)
    per_parameter = 6 + 12 / 32 if zero else {"fp32": 18, "bf16": 16}[gradients]
    assert state(own, 1024)[1] == 2_139_422_720 * per_parameter


def test_zero_3_shards_everything_and_gathers_two_layers() -> None:
    plain, sharded = memory(llama_t3({"zero": 0}), 1024)[1], memory(llama_t3({"zero": 3}), 1024)[1]
    assert sharded.weights_bytes == plain.weights_bytes / 32
    assert sharded.gradients_bytes == plain.gradients_bytes / 32
    assert sharded.optimizer_bytes == plain.optimizer_bytes / 32
    # conventions 27: 2 layers at 2 B and one at 4 B; without reshard all weights of the rank
    assert sharded.other_bytes - plain.other_bytes == pytest.approx(106_971_136 * (2 * 2 + 4))
    kept = memory(llama_t3({"zero": 3, "reshard": False}), 1024)[1]
    assert kept.other_bytes - plain.other_bytes == pytest.approx(2 * 2_139_422_720 + 4 * 106_971_136)


def test_t7_activations_of_the_llama_list() -> None:
    own = llama_t3()
    assert layer_activations(own, model_shape(own), moe=False) == 281_280_512 == 274_688 * 8192 // 8
    rows = memory(own, 1024)
    assert [row.layer_activations_bytes for row in rows] == [20 * 281_280_512 * n for n in (4, 3, 2, 1)]
    assert [row.layer_activations_bytes / 1e9 for row in rows] == pytest.approx(
        [22.50, 16.88, 11.25, 5.63], abs=5e-3
    )


def test_t7_what_the_ends_add() -> None:
    rows = memory(llama_t3(), 1024)
    extra = [row.activations_bytes - row.layer_activations_bytes for row in rows]
    # conventions 27: ids 8·s·b/t of each microbatch in flight; on the last stage 4·s·b·h/t and the logits
    assert extra[0] == 4 * 8 * 8192 / 8
    assert extra[1] == extra[2] == 0
    logits = 8192 * (128_256 // 8) * 6
    assert extra[3] == 4 * 8192 * 8192 / 8 + logits
    assert logits == 525_336_576 + 262_668_288


@pytest.mark.parametrize(
    ("sequence_parallel", "recompute", "layer", "stage_0"),
    [(False, "none", 552, 66.84375), (True, "none", 342, None), (True, "selective", 102, 12.3515625)],
)
def test_t8_activations_of_gpt3(
    sequence_parallel: bool, recompute: str, layer: int, stage_0: float | None
) -> None:
    own = gpt3_t8(attention="core", recompute=recompute, parallel={"sequence_parallel": sequence_parallel})
    found = layer_activations(own, model_shape(own), moe=False)
    assert found == layer * MIB
    if stage_0 is not None:
        # interleaved, 3 chunks: stage 0 holds p·(1 + (p−1)/(p·v)) microbatches of its 12 layers
        assert found * 12 * 8 * (1 + 7 / 24) == pytest.approx(stage_0 * GIB, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "pp", "whole", "selective"),
    [("megatron-530b", 35, 114.0234375, 23.076171875), ("megatron-1t", 64, 131.25, 26.5625)],
)
def test_t8_activations_of_530b_and_1t(model: str, pp: int, whole: float, selective: float) -> None:
    def layer(recompute: str, sequence_parallel: bool) -> float:
        parallel = {"tp": 8, "sequence_parallel": sequence_parallel}
        own = job(model, parallel, sequence_length=2048, attention="core", recompute=recompute)
        return layer_activations(own, model_shape(own), moe=False)

    layers = model_shape(job(model)).layers
    held = layers * (1 + (pp - 1) / (pp * 3)) if pp == 35 else layers
    assert layer("none", False) * held / GIB == pytest.approx(whole, rel=1e-12)
    assert layer("selective", True) * held / GIB == pytest.approx(selective, rel=1e-12)


@pytest.mark.parametrize(
    ("sp", "recompute", "expected"), [(False, "none", 59.25), (True, "selective", 9.5625)]
)
def test_t8_activations_of_22b(sp: bool, recompute: str, expected: float) -> None:
    own = job("megatron-22b", {"tp": 8, "sequence_parallel": sp}, sequence_length=2048, global_batch=4,
              microbatch=4, attention="core", recompute=recompute)  # fmt: skip
    (row,) = memory(own, 8)
    assert row.layer_activations_bytes == expected * GIB


def test_t11_state_of_a_mixtral_rank() -> None:
    own = job("mixtral-8x7b", {"ep": 8}, global_batch=64)
    (value,) = state(own, 64)
    assert value == (6 + 12 / 64) * 1_605_636_096 + (6 + 12 / 8) * 5_637_144_576
    assert value == pytest.approx(52.213e9, rel=1e-5)


def test_t22_microbatches_in_flight_under_1f1b() -> None:
    assert [microbatches_in_flight(stage, 4, 8) for stage in range(4)] == [4, 3, 2, 1]
    assert [microbatches_in_flight(stage, 4, 2) for stage in range(4)] == [2, 2, 2, 1]


def test_full_recompute_keeps_inputs_and_one_whole_layer() -> None:
    # traffic_model §2.3: 2·s·b·h a layer (÷ t with SP) plus one layer's working set once
    row = memory(llama_t3(recompute="full"), 1024)[1]
    assert row.layer_activations_bytes == 3 * 20 * 2 * 8192 * 8192 / 8
    assert row.activations_bytes - row.layer_activations_bytes == 281_280_512


def test_flash_keeps_the_log_sum_exp_instead_of_the_scores() -> None:
    # K22 with SP and selective recompute is 34·s·b·h/t; flash adds 4·a·s·b/t
    own = gpt3_t8()
    assert layer_activations(own, model_shape(own), moe=False) == 102 * MIB + 4 * 96 * 2048 / 8


def test_activations_of_a_mixture_of_experts() -> None:
    # §2.3, Mixtral, 4096 tokens: 8h + 4ad + 4gd + 4a, R·(4h + 6fe) with R = T·k·imbalance, router 4·E
    own = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, experts={"imbalance": 1.5})
    h, a, g, d, fe = 4096, 32, 8, 128, 14336
    attention = 8 * h + 4 * a * d + 4 * g * d + 4 * a
    expected = 4096 * attention + 4096 * 2 * 1.5 * (4 * h + 6 * fe) + 4096 * 4 * 8
    assert layer_activations(own, model_shape(own), moe=True) == expected


def test_mla_keeps_wider_queries_and_narrower_values() -> None:
    own = job("deepseek-v3-671b", sequence_length=4096)
    h, a, f = 7168, 128, 18432
    expected = 4096 * (8 * h + 2 * a * 192 * 2 + 2 * a * 128 * 2 + 4 * a + 6 * f)
    assert layer_activations(own, model_shape(own), moe=False) == expected


def test_without_sp_the_residual_part_is_whole() -> None:
    own = llama_t3({"sequence_parallel": False})
    per_token = 274_688 - 8 * 8192
    expected = 8192 * (8 * 8192 + per_token / 8)
    assert layer_activations(own, model_shape(own), moe=False) == expected


def test_other_bytes_are_the_sum_of_their_defaults() -> None:
    # conventions 27: 1 GB + 0.3 GB for each of tp, pp, dp + the gather buffer 2·s·b·h + 5 % of activations
    row = memory(llama_t3(), 1024)[1]
    expected = 1.0e9 + 3 * 0.3e9 + 134_217_728 + 0.05 * row.activations_bytes
    assert row.other_bytes == pytest.approx(expected, rel=1e-12)
    assert row.total_bytes == pytest.approx(
        13_638_819_840 + row.activations_bytes + row.other_bytes, rel=1e-12
    )


def test_fp32_keeps_no_copy_and_twice_the_activations() -> None:
    each = state_bytes(parse_job({"precision": "fp32"}))
    assert (each.weight, each.gradient, each.optimizer) == (4, 4, 8)
    wide, narrow = llama_t3(precision="fp32"), llama_t3()
    shape = model_shape(narrow)
    assert layer_activations(wide, shape, moe=False) == 2 * layer_activations(narrow, shape, moe=False)


def test_stages_hold_the_layers_that_they_were_given() -> None:
    own = llama_t3({"layers_per_stage": [10, 30, 40, 0]})
    rows = memory(own, 1024)
    assert [row.layer_activations_bytes for row in rows] == [
        281_280_512 * n for n in (4 * 10, 3 * 30, 2 * 40, 0)
    ]
    assert stage_parameters(own, model_shape(own))[3].total == 8192 + 128_256 * 8192 // 8


def test_the_default_job_fits_and_takes_everyone() -> None:
    # conventions 36: tp 1, pp 1, a batch that is a multiple of the world, the smallest preset (Llama 2 7B)
    for world in (1, 7, 8, 1000, 1024, 16384):
        own = default_job(world, 80e9)
        assert own.global_batch % world == 0
        assert (own.parallel.tp, own.parallel.pp, own.model) == (1, 1, "llama2-7b")
    (row,) = memory(default_job(1024, 80e9), 1024)
    assert row.total_bytes < 0.92 * 80e9
    assert default_job(0, 0.0).model == "llama2-7b"
