"""Replicas: ZeRO-2, hybrid sharding and buckets, T16 and conventions 14."""

from __future__ import annotations

from typing import Any

import pytest

from model.job.exchange import Exchange, Operation, When, Window
from model.job.spec import JobSpec
from model.placement.paint import Paint
from tests.model.job.cases import job, llama_t3, planned

GATHER, SCATTER, REDUCE = Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_REDUCE
MIDDLE = 2_139_422_720


def of_data(own: JobSpec, world: int, stage: int = 0) -> list[Exchange]:
    return [x for x in planned(own, world).exchanges if x.dimension == "dp" and stage in x.stages]


def test_t16_fsdp_of_1024() -> None:
    own = job("llama3-70b", {"zero": 3}, global_batch=1024, gradient_precision="bf16")
    wire = {
        operation: sum(x.message_bytes * 1023 / 1024 * x.count_per_step for x in of_data(own, 1024)
                       if x.operation is operation)
        for operation in (GATHER, SCATTER)
    }  # fmt: skip
    assert wire[GATHER] == pytest.approx(281.9e9, rel=1e-3)
    assert wire[SCATTER] == pytest.approx(141.0e9, rel=1e-3)
    assert sum(wire.values()) == pytest.approx(422.9e9, rel=1e-3)
    # one unit for each layer
    assert {x.buckets for x in of_data(own, 1024)} == {80}


@pytest.mark.parametrize(
    ("unit", "buckets", "kernels"),
    [("layer", 80, 0), ("matrix", 80 * 5, 0), ("matrix-list", 80 * 5, 80 * 5 * 1024)],
)
def test_units_of_zero_3(unit: str, buckets: int, kernels: int) -> None:
    """Of a layer: queries, keys and values in one, output, gate, up and down; bytes and counts stay."""
    own = job("llama3-70b", {"zero": 3, "zero3_unit": unit}, global_batch=1024)
    found = of_data(own, 1024)
    assert {(x.buckets, x.units, x.host_kernels) for x in found} == {(buckets, buckets, kernels)}
    whole = of_data(job("llama3-70b", {"zero": 3}, global_batch=1024), 1024)
    assert [(x.message_bytes, x.count_per_step) for x in found] == [
        (x.message_bytes, x.count_per_step) for x in whole
    ]


def test_units_of_experts() -> None:
    """Mixtral, EP 8: each of 32 layers has attention and router, and one expert of three matrices."""
    own = job("mixtral-8x7b", {"zero": 3, "zero3_unit": "matrix", "ep": 8}, global_batch=64)
    buckets = {
        x.kind.removesuffix(".gradient"): x.buckets for x in of_data(own, 64) if x.operation is SCATTER
    }
    assert sorted(buckets.values()) == [32 * 3, 32 * 3]


def test_zero_2_scatters_gradients_in_every_microbatch() -> None:
    gradient, parameters = of_data(llama_t3({"zero": 2}), 1024, stage=1)
    assert (gradient.operation, gradient.count_per_step, gradient.when) == (SCATTER, 32, When.BACKWARD)
    assert (gradient.message_bytes, gradient.window) == (4 * MIDDLE, Window.LAYER)
    assert (parameters.operation, parameters.count_per_step, parameters.message_bytes) == (
        GATHER,
        1,
        2 * MIDDLE,
    )


def test_hybrid_sharding_works_inside_parts_and_sums_between_them() -> None:
    # §3.3: F-part with n = F, and 2(R − 1)/R·βg·N/F for the shard; mesh (replicate, shard), shard fastest
    gradient, between, parameters = of_data(llama_t3({"dp_shard": 8}), 1024, stage=1)
    assert (gradient.operation, gradient.message_bytes, gradient.group_size) == (SCATTER, 4 * MIDDLE, 8)
    assert (parameters.operation, parameters.message_bytes, parameters.group_size) == (GATHER, 2 * MIDDLE, 8)
    assert (between.operation, between.message_bytes, between.group_size) == (REDUCE, 4 * MIDDLE // 8, 4)
    assert (between.kind, between.count_per_step, between.when) == (
        "dp.gradient-replicas",
        1,
        When.GRADIENTS,
    )
    first_stage = of_data(llama_t3({"dp_shard": 8}), 1024, stage=0)
    # dp(0) = 0, 8, 16, …, 248
    assert first_stage[0].groups[0].tolist() == list(range(0, 64, 8))
    assert first_stage[1].groups[0].tolist() == [0, 64, 128, 192]


def test_hybrid_sharding_with_context_parallelism_and_another_order() -> None:
    own = llama_t3({"dp_shard": 2, "cp": 2, "order": "tp-dp-cp-ep-pp", "zero": 3}, global_batch=64)
    gradient = next(x for x in of_data(own, 256) if x.kind == "dp.gradient")
    between = next(x for x in of_data(own, 256) if x.kind == "dp.gradient-replicas")
    # dp = 4 in parts of 2, over both cp ranks, which are 8·4 ranks apart
    assert gradient.groups[0].tolist() == [0, 8, 32, 40]
    assert between.groups[0].tolist() == [0, 16]
    assert between.message_bytes == gradient.message_bytes // 4
    assert (gradient.count_per_step, between.count_per_step) == (16, 1)


def test_parts_keep_their_ranks_where_some_are_not_played() -> None:
    # the last replica of four has no GPU, the parts of two stay as they are
    own = job("llama3-8b", {"dp_shard": 2}, global_batch=4)
    paint = Paint().assign("dp", 99, ["g3"])
    found = {x.kind: x.groups.tolist() for x in planned(own, 4, paint).exchanges}
    assert found["dp.gradient"] == [[0, 1]]
    assert found["dp.gradient-replicas"] == [[0, 2]]


def test_hybrid_sharding_of_experts() -> None:
    own = job("mixtral-8x7b", {"ep": 4, "dp_shard": 8}, global_batch=16)
    found = {x.kind: x for x in of_data(own, 16) if x.kind.endswith("-experts")}
    shards, between = found["dp.gradient-experts"], found["dp.gradient-replicas-experts"]
    # edp has 4 replicas: two in each part of 8 ranks
    assert shards.groups[0].tolist() == [0, 4]
    assert between.groups[0].tolist() == [0, 8]
    assert between.message_bytes == shards.message_bytes // 2


@pytest.mark.parametrize(
    ("overlap", "buckets"),
    [
        # Megatron-Core: max(40e6, 1e6·D) parameters, only on the first stage and only to overlap
        ({}, {0: 57, 1: 1, 3: 1}),
        ({"gradients": False, "parameters": False}, {0: 1, 1: 1, 3: 1}),
        ({"bucket_bytes": 10**9}, {0: 10, 1: 9, 3: 10}),
    ],
)
def test_buckets(overlap: dict[str, Any], buckets: dict[int, int]) -> None:
    own = llama_t3(overlap=overlap)
    found = {stage: of_data(own, 1024, stage)[0] for stage in (0, 1, 3)}
    assert {stage: x.buckets for stage, x in found.items()} == buckets
    # conventions 21: buckets are not counted
    assert {x.count_per_step for x in found.values()} == {1}
