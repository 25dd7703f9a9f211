"""Parameters and FLOPs: T1, T2, T4, T8–T12, T14 and every preset of the catalogue."""

from __future__ import annotations

import pytest

from model.catalog import catalog
from model.errors import InputError
from model.job.flops import (
    attention_matrix_parameters,
    hardware_flops,
    model_flops,
    model_flops_per_token,
)
from model.job.parameters import (
    active_parameters,
    layer_parameters,
    mlp_parameters,
    model_parameters,
    stage_parameters,
)
from model.job.shape import layers_per_stage, model_shape, preset_shape
from model.job.sizes import padded_vocabulary
from model.job.spec import parse_job
from tests.model.job.cases import gpt3_t8, job, llama_t3


@pytest.mark.parametrize("name", list(catalog().models))
def test_parameters_of_every_preset(name: str) -> None:
    # hardware.md §8: recomputed from the shapes by another program
    preset = catalog().models[name]
    assert model_parameters(preset_shape(preset)) == preset.params_total_recomputed_exact
    assert active_parameters(preset_shape(preset)) == preset.params_active_recomputed_exact


@pytest.mark.parametrize(
    ("model", "attention", "mlp", "layer", "total"),
    [
        ("llama3-70b", 150_994_944, 704_643_072, 855_654_400, 70_553_706_496),  # T2
        ("llama3-405b", 570_425_344, 2_617_245_696, 3_187_703_808, 405_853_388_800),  # T14
    ],
)
def test_t2_and_t14_parameters(model: str, attention: int, mlp: int, layer: int, total: int) -> None:
    shape = model_shape(job(model))
    assert attention_matrix_parameters(shape) == attention
    assert mlp_parameters(shape, shape.ffn) == mlp
    assert layer_parameters(shape, moe=False).total == layer
    assert model_parameters(shape) == total


def test_t10_and_t12_mixture_of_experts() -> None:
    mixtral = model_shape(job("mixtral-8x7b"))
    assert model_parameters(mixtral) == 46_702_792_704
    assert active_parameters(mixtral) == 12_879_925_248
    deepseek = model_shape(job("deepseek-v3-671b"))
    assert attention_matrix_parameters(deepseek) + 1536 + 512 == 187_107_328
    assert layer_parameters(deepseek, moe=True).total == 11_507_286_272
    assert model_parameters(deepseek) == 671_026_419_200
    assert active_parameters(deepseek) == 37_552_297_472
    assert deepseek.moe_layers == 58


def test_t2_flops_of_a_token() -> None:
    own = job("llama3-70b")
    assert model_flops_per_token(own, model_shape(own)) == 449_222_541_312
    assert model_flops_per_token(own, model_shape(own), causal=False) == 481_434_796_032


def test_t12_and_t14_flops_of_a_token() -> None:
    deepseek = job("deepseek-v3-671b", sequence_length=4096)
    assert model_flops_per_token(deepseek, model_shape(deepseek)) == pytest.approx(250.45e9, rel=1e-5)
    llama = job("llama3-405b")
    assert model_flops_per_token(llama, model_shape(llama)) == 2_523_955_986_432


def test_t8_flops_of_a_step_and_utilisation() -> None:
    own = gpt3_t8(attention="core", recompute="selective")
    shape, cluster = model_shape(own), 64 * 312e12
    assert model_flops(own, shape, causal=False) == pytest.approx(1.41092e17, rel=5e-6)
    assert model_flops(own, shape, causal=False) / (cluster * 13.75) == pytest.approx(0.5139, abs=5e-5)
    assert hardware_flops(own, shape, causal=False) / (cluster * 13.75) == pytest.approx(0.5185, abs=5e-5)
    full = gpt3_t8(recompute="full")
    assert model_flops(full, shape, causal=False) / (cluster * 18.13) == pytest.approx(0.3897, abs=5e-5)
    assert hardware_flops(full, shape, causal=False) / (cluster * 18.13) == pytest.approx(0.5192, abs=5e-5)


@pytest.mark.parametrize(
    ("model", "gpus", "batch", "seconds", "mfu"),
    [("megatron-22b", 8, 4, 1.10, 0.4165), ("megatron-530b", 280, 280, 37.83, 0.5605),
     ("megatron-1t", 512, 512, 71.49, 0.5627)],
)  # fmt: skip
def test_t8_utilisation_of_the_other_models(
    model: str, gpus: int, batch: int, seconds: float, mfu: float
) -> None:
    own = job(model, {"tp": 8}, sequence_length=2048, global_batch=batch)
    flops = model_flops(own, model_shape(own), causal=False)
    assert flops / (gpus * 312e12 * seconds) == pytest.approx(mfu, abs=5e-5)


def test_flash_repeats_nothing_under_selective_recompute() -> None:
    own = gpt3_t8(recompute="selective")
    assert hardware_flops(own, model_shape(own)) == model_flops(own, model_shape(own))


def test_t4_parameters_of_the_ranks_of_each_stage() -> None:
    own = llama_t3()
    shape = model_shape(own)
    assert layer_parameters(shape, moe=False, tp=8).total == 106_971_136
    found = [stage.total for stage in stage_parameters(own, shape)]
    assert found == [2_270_756_864, 2_139_422_720, 2_139_422_720, 2_270_765_056]


def test_t4_with_the_vocabulary_padded() -> None:
    own = parse_job({"model": "llama3-70b", "parallel": {"tp": 8, "pp": 4}})
    assert stage_parameters(own, model_shape(own))[0].total == 2_271_543_296
    # traffic_model §0.1
    assert padded_vocabulary(128_256, 128, 8) == 129_024
    assert padded_vocabulary(50_257, 128, 8) == 51_200
    assert padded_vocabulary(32_000, 128, 1) == 32_000


def test_t8_parameters_of_a_layer() -> None:
    shape = model_shape(gpt3_t8())
    matrices = attention_matrix_parameters(shape) + shape.mlp_matrices * shape.hidden * shape.ffn
    assert matrices == 12 * 12288**2 == 1_811_939_328
    assert 18 * matrices * 12 / 8 / 2**30 == 45.5625


def test_t11_parameters_of_a_mixtral_rank() -> None:
    own = job("mixtral-8x7b", {"ep": 8})
    (stage,) = stage_parameters(own, model_shape(own))
    assert (stage.dense, stage.experts) == (1_605_636_096, 5_637_144_576)


def test_t15_parameters_of_eight_layers() -> None:
    own = job("llama3-405b", {"tp": 8, "pp": 16, "layers_per_stage": [7, *[8] * 14, 7]})
    assert stage_parameters(own, model_shape(own))[5].total == 3_187_933_184


def test_key_value_heads_are_doubled_where_tp_is_larger() -> None:
    # conventions 25: K/V = 2·h·max(g/t, 1)·d; 8 key-value heads on 16 ranks
    shape = model_shape(job("llama3-70b"))
    h, f = 8192, 28672
    expected = 2 * h * 64 * 128 // 16 + 2 * h * 1 * 128 + 3 * h * f // 16 + 2 * h
    assert layer_parameters(shape, moe=False, tp=16).total == expected


def test_biases_by_column_and_row() -> None:
    # conventions 25: column-parallel biases ÷ t, row-parallel whole; GPT-3 has (3h)+(h)+(f)+(h), LayerNorm 4h
    h = 12288
    whole = layer_parameters(model_shape(gpt3_t8()), moe=False).total
    rank = layer_parameters(model_shape(gpt3_t8()), moe=False, tp=8).total
    assert whole == 12 * h**2 + 3 * h + h + 4 * h + h + 4 * h
    assert rank == 12 * h**2 // 8 + 3 * h // 8 + h + 4 * h // 8 + h + 4 * h


def test_a_tied_table_lies_on_both_ends_of_a_pipeline_and_once_without_one() -> None:
    def total(pp: int) -> int:
        own = job("megatron-175b", {"pp": pp})
        return sum(stage.total for stage in stage_parameters(own, model_shape(own)))

    assert total(8) - total(1) == 51_200 * 12288
    assert total(1) == catalog().models["megatron-175b"].params_total_recomputed_exact


def test_dense_layers_come_first_or_every_second() -> None:
    # conventions 24: DeepSeek-V3 has 3 dense layers; in Maverick layer i is MoE when i mod 2 = 1
    deepseek = job("deepseek-v3-671b", {"pp": 4, "layers_per_stage": [2, 20, 20, 19]})
    found = [(stage.dense, stage.moe) for stage in layers_per_stage(deepseek, model_shape(deepseek))]
    assert found == [(2, 0), (1, 19), (0, 20), (0, 19)]
    maverick = model_shape(job("llama4-maverick"))
    assert [maverick.is_moe(layer) for layer in range(4)] == [False, True, False, True]
    assert maverick.moe_layers == 24


def test_the_defaults_of_a_model_object() -> None:
    # conventions 34
    shape = model_shape(job({"layers": 2, "hidden": 64, "heads": 4, "vocab": 100}))
    assert (shape.kv_heads, shape.head_dim, shape.ffn, shape.norm, shape.mlp) == (
        4,
        16,
        256,
        "rmsnorm",
        "swiglu",
    )
    assert not shape.tied_embeddings
    assert shape.moe is None
    per_layer = 4 * 64 * 64 + 3 * 64 * 256 + 2 * 64
    assert model_parameters(shape) == 2 * per_layer + 2 * 100 * 64 + 64


SMALL = {"layers": 1, "hidden": 8, "heads": 4, "vocab": 9}


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("llama9-1b", "there is no model preset 'llama9-1b'; there is gpt3-175b"),
        ({**SMALL, "hidden": 10}, "hidden 10 is no multiple of heads 4"),
        ({**SMALL, "kv_heads": 3}, "heads 4 is not a multiple of kv_heads 3"),
        ({**SMALL, "attention": {"kind": "mla"}}, "needs kv_lora_rank"),
        ({**SMALL, "moe": {"experts": 2, "top_k": 3, "expert_ffn": 8}}, "top_k 3 is more than the 2 experts"),
    ],
)
def test_an_impossible_model_is_refused(model: str | dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        model_shape(job(model))
