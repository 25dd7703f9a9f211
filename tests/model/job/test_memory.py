"""Memory of each stage: T1, T4, T7, T8, T11, T15, T16, T22 and the terms of conventions 26 and 27."""

from __future__ import annotations

from typing import Any

import pytest

from model.job.default import default_job
from model.job.in_flight import chunks_in_flight, most_kept, stages_in_flight
from model.job.memory import layer_activations, state_bytes
from model.job.parameters import stage_parameters
from model.job.shape import layers_per_stage, model_shape
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


@pytest.mark.parametrize(
    ("field", "value", "more"),
    [
        ("context_bytes", 3.0e9, 2.0e9),
        ("communicator_bytes", 0.5e9, 3 * 0.2e9),  # tp, pp and dp
        ("fragmentation", 0.0, None),
        ("gathered_layers", 3, 2 * 106_971_136),
        ("gathered_gradients", 0, -4 * 106_971_136),
    ],
)
def test_what_surrounds_the_state_is_a_setting(field: str, value: float, more: float | None) -> None:
    usual = memory(llama_t3({"zero": 3}), 1024)[1]
    changed = memory(llama_t3({"zero": 3}, memory={field: value}), 1024)[1]
    if more is None:
        more = -0.05 * usual.activations_bytes
    assert changed.other_bytes - usual.other_bytes == pytest.approx(more)
    assert changed.total_bytes - usual.total_bytes == pytest.approx(more)


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


def test_t7_activations_of_five_chunks_a_rank() -> None:
    own = llama_t3({"vpp": 5}, schedule="interleaved")
    assert [chunks_in_flight(own, rank, 32) for rank in range(4)] == [23, 21, 19, 17]
    rows = memory(own, 1024)
    assert [row.layer_activations_bytes for row in rows] == [4 * 281_280_512 * n for n in (23, 21, 19, 17)]
    assert [row.layer_activations_bytes / 1e9 for row in rows] == pytest.approx(
        [25.88, 23.63, 21.38, 19.13], abs=5e-3
    )


@pytest.mark.parametrize(
    ("sequence_parallel", "recompute", "layer", "stage_0"),
    [(False, "none", 552, 66.84375), (True, "none", 342, None), (True, "selective", 102, 12.3515625)],
)
def test_t8_activations_of_gpt3(
    sequence_parallel: bool, recompute: str, layer: int, stage_0: float | None
) -> None:
    parallel = {"sequence_parallel": sequence_parallel, "vpp": 3}
    own = gpt3_t8(attention="core", recompute=recompute, parallel=parallel)
    assert layer_activations(own, model_shape(own), moe=False) == layer * MIB
    if stage_0 is not None:
        # interleaved, 3 chunks: stage 0 holds p·(1 + (p−1)/(p·v)) microbatches of its 12 layers
        assert memory(own, 64)[0].layer_activations_bytes == stage_0 * GIB


@pytest.mark.parametrize(
    ("model", "pp", "vpp", "batch", "whole", "selective"),
    [("megatron-530b", 35, 3, 280, 114.0234375, 23.076171875), ("megatron-1t", 64, 1, 512, 131.25, 26.5625)],
)
def test_t8_activations_of_530b_and_1t(
    model: str, pp: int, vpp: int, batch: int, whole: float, selective: float
) -> None:
    for sequence_parallel, recompute, expected in ((False, "none", whole), (True, "selective", selective)):
        parallel = {"tp": 8, "pp": pp, "vpp": vpp, "sequence_parallel": sequence_parallel}
        own = job(model, parallel, sequence_length=2048, global_batch=batch, attention="core",
                  recompute=recompute)  # fmt: skip
        assert memory(own, 8 * pp)[0].layer_activations_bytes == expected * GIB


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


@pytest.mark.parametrize(
    ("schedule", "parallel", "m", "held"),
    [
        ("1f1b", {"pp": 4}, 8, [4, 3, 2, 1]),
        ("1f1b", {"pp": 4}, 2, [2, 2, 2, 1]),
        ("gpipe", {"pp": 4}, 8, [8, 8, 8, 8]),
        ("zb-h1", {"pp": 4}, 8, [4, 4, 4, 4]),
        ("zb-v", {"pp": 4}, 8, [4, 4, 4, 4]),
        ("dualpipe", {"pp": 4}, 8, [5, 5, 5, 5]),
        ("gpipe", {"pp": 1}, 8, [1]),
    ],
)
def test_t22_microbatches_in_flight(
    schedule: str, parallel: dict[str, int], m: int, held: list[float]
) -> None:
    # T22, traffic_model §2.4
    own = llama_t3({"tp": 1, **parallel}, schedule=schedule)
    assert [stages_in_flight(own, rank, m) for rank in range(own.parallel.pp)] == held
    layer = layer_activations(own, model_shape(own), moe=False)
    kept = [row.layer_activations_bytes for row in memory(llama_t3({"tp": 1, **parallel}, schedule=schedule,
            global_batch=m), own.parallel.pp)]  # fmt: skip
    assert kept == pytest.approx([layer * 80 / own.parallel.pp * n for n in held])


def test_t22_chunks_in_flight() -> None:
    own = llama_t3({"pp": 4, "vpp": 2})
    assert [chunks_in_flight(own, rank, 8) for rank in range(4)] == [11, 9, 7, 5]
    assert chunks_in_flight(llama_t3({"pp": 16, "vpp": 8}), 0, 32) == 143
    # a larger group of microbatches keeps more: 2(p − r − 1) + (v − 1)·N + 1
    assert chunks_in_flight(llama_t3({"pp": 4, "vpp": 2, "microbatch_group": 6}), 0, 12) == 13


def test_chunks_of_different_sizes_are_kept_in_the_order_of_the_schedule() -> None:
    # p 2, v 2, m 4, N 2; rank 0 runs F0 F0 F1 F1 (groups of 2), then one backward of chunk 1 for each forward
    own = llama_t3({"pp": 2, "vpp": 2}, schedule="interleaved")
    assert chunks_in_flight(own, 0, 4) == 5
    # held after each forward: 3a + 2b, 4a + b, 4a + b, 3a + 2b
    assert most_kept(own, 0, 4, [10.0, 1.0]) == 4 * 10 + 1
    assert most_kept(own, 0, 4, [1.0, 10.0]) == 3 * 1 + 2 * 10
    assert most_kept(own, 0, 4, [2.0, 2.0]) == 10


def test_t15_llama_405b_does_not_fit_with_eight_chunks() -> None:
    layers = [1] * 126 + [0, 0]
    own = job("llama3-405b", {"tp": 8, "pp": 16, "vpp": 8, "layers_per_stage": layers}, global_batch=2048)
    first, second = memory(own, 16_384)[:2]
    # 128 one-layer chunks of 533,200,896 B
    assert first.layer_activations_bytes == 128 * 533_200_896
    assert first.layer_activations_bytes == pytest.approx(68.2e9, rel=1e-3)
    stage = stage_parameters(own, model_shape(own))[1]
    assert stage.total == 3_187_933_184
    kept = second.weights_bytes + second.gradients_bytes + second.optimizer_bytes
    assert kept == pytest.approx(19.43e9, rel=1e-3)
    assert kept + first.layer_activations_bytes == pytest.approx(87.7e9, rel=1e-3)
    assert first.total_bytes > first.hbm_bytes


def test_t16_fsdp_of_1024() -> None:
    own = job("llama3-70b", {"zero": 3}, global_batch=1024, gradient_precision="bf16")
    (row,) = memory(own, 1024)
    state_of_rank = row.weights_bytes + row.gradients_bytes + row.optimizer_bytes
    assert state_of_rank == 16 * 70_553_706_496 / 1024
    assert state_of_rank == pytest.approx(1.102e9, rel=1e-3)
    # conventions 27: two gathered layers of 1.711 GB and the gradients of one
    plain = job("llama3-70b", {"zero": 0}, global_batch=1024, gradient_precision="bf16")
    assert row.other_bytes - memory(plain, 1024)[0].other_bytes == pytest.approx(3 * 1.711e9, rel=1e-3)


def test_hybrid_sharding_spreads_the_state_over_its_part_of_the_replicas() -> None:
    rows = memory(llama_t3({"zero": 3, "dp_shard": 8}), 1024)
    assert rows[1].weights_bytes == 2 * 2_139_422_720 / 8
    assert rows[1].optimizer_bytes == 12 * 2_139_422_720 / 8
    with_context = memory(llama_t3({"zero": 1, "dp_shard": 8, "cp": 2}), 1024)
    assert with_context[1].optimizer_bytes == 12 * 2_139_422_720 / 16


def test_zero_2_shards_gradients_and_optimizer() -> None:
    row = memory(llama_t3({"zero": 2}), 1024)[1]
    n = 2_139_422_720
    assert (row.weights_bytes, row.gradients_bytes, row.optimizer_bytes) == (2 * n, 4 * n / 32, 12 * n / 32)


def test_context_parallelism_divides_activations() -> None:
    plain, cut = memory(llama_t3(global_batch=64), 64)[1], memory(llama_t3({"cp": 2}, global_batch=64), 64)[1]
    assert cut.activations_bytes == plain.activations_bytes / 2


def test_dualpipe_holds_both_ends() -> None:
    # conventions 26: parameters double; rank 0 holds the first and the last stage
    plain = memory(llama_t3(global_batch=64), 64)
    both = memory(llama_t3(schedule="dualpipe", global_batch=64), 64)
    assert both[0].weights_bytes == plain[0].weights_bytes + plain[3].weights_bytes == both[3].weights_bytes
    assert both[1].weights_bytes == 2 * plain[1].weights_bytes
    ids, end = 8 * 8192 / 8 * 5 / 2, 4 * 8192 * 8192 / 8 + 8192 * (128_256 // 8) * 6
    assert both[0].activations_bytes - both[0].layer_activations_bytes == ids + end
    assert both[1].activations_bytes == both[1].layer_activations_bytes


def test_zb_v_brings_the_head_to_the_first_rank() -> None:
    own = llama_t3({"pp": 4}, schedule="zb-v", global_batch=64)
    first, *_, last = stage_parameters(own, model_shape(own))
    assert first.total == 20 * 106_971_136 + 8192 + 2 * 128_256 * 8192 // 8
    assert last.total == 20 * 106_971_136
    uneven = llama_t3({"pp": 2, "layers_per_stage": [10, 20, 30, 20]}, schedule="zb-v")
    assert [layers.count for layers in layers_per_stage(uneven, model_shape(uneven))] == [30, 50]


def test_capacity_and_expert_tensor_parallelism_in_activations() -> None:
    # Mixtral, 4096 tokens, k 2, CF 1.25: 8 · ceil(4096·2/8 · 1.25) = 10,240 copies whatever the imbalance
    h, fe = 4096, 14336
    own = {"sequence_length": 4096, "experts": {"imbalance": 3.0}}
    base = layer_activations(job("mixtral-8x7b", **own), model_shape(job("mixtral-8x7b")), moe=True)
    capped = job("mixtral-8x7b", sequence_length=4096, experts={"imbalance": 3.0, "capacity_factor": 1.25})
    found = layer_activations(capped, model_shape(capped), moe=True)
    assert base - found == (4096 * 2 * 3 - 10_240) * (4 * h + 6 * fe)
    # over etp 2 every rank has the copies of both and half the width of each expert
    wide = job("mixtral-8x7b", {"etp": 2}, **own)
    assert layer_activations(wide, model_shape(wide), moe=True) - base == 4096 * 2 * 3 * 4 * h


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
