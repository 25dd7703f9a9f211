"""The exchanges of a step: T1, T3, T5, T6, T9, T10, T12/T13 sizes, T15, T26 and T27."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from model.job.exchange import Exchange, Operation, When, Window
from model.job.plan import Plan
from model.placement.paint import Paint
from tests.model.job.cases import gpt3_t8, job, llama_t3, planned

GATHER, SCATTER, REDUCE = Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_REDUCE


@pytest.fixture(scope="module")
def t3() -> Plan:
    return planned(llama_t3(), 1024)


def of_kind(plan: Plan, *kinds: str) -> list[Exchange]:
    return [exchange for exchange in plan.exchanges if exchange.kind in kinds]


def layers_only(plan: Plan) -> list[Exchange]:
    return of_kind(plan, "tp.forward", "tp.backward")


def count(exchanges: Iterable[Exchange]) -> int:
    return sum(exchange.count_per_step for exchange in exchanges)


def test_t3_sequence_parallel(t3: Plan) -> None:
    assert (t3.microbatches, t3.stages, t3.layers_per_stage) == (32, 4, (20, 20, 20, 20))
    exchanges = layers_only(t3)
    assert count(exchanges) == 6_400
    assert count(x for x in exchanges if x.operation is GATHER) == 32 * 20 * 6
    assert count(x for x in exchanges if x.operation is SCATTER) == 32 * 20 * 4
    assert {x.message_bytes for x in exchanges} == {134_217_728}
    assert {x.groups.shape for x in exchanges} == {(128, 8)}
    # T27: wire of an AG or RS is 7/8 of S
    assert sum(x.message_bytes * 7 // 8 * x.count_per_step for x in exchanges) == 751_619_276_800


def test_t3_classic() -> None:
    exchanges = layers_only(planned(llama_t3({"sequence_parallel": False}), 1024))
    assert count(exchanges) == 2_560
    assert {(x.operation, x.message_bytes) for x in exchanges} == {(REDUCE, 134_217_728)}
    assert exchanges[0].message_bytes * 2 * 7 // 8 == 234_881_024


def test_t1_tensor_collectives_of_a_microbatch() -> None:
    # 4 · 80 = 320 per microbatch of the whole model: one microbatch on 32 GPUs, summed over the four stages
    plan = planned(llama_t3({"sequence_parallel": False}, global_batch=1), 32)
    assert sum(x.count_per_step * len(x.groups) for x in layers_only(plan)) == 320


def test_what_hides_tensor_exchanges(t3: Plan) -> None:
    # traffic_model §7: re-gather beside dgrad, dgrad RS beside wgrad, everything else blocks
    windows = {x.id: (x.when, x.window) for x in layers_only(t3)}
    assert windows == {
        "tp.forward.all-gather": (When.FORWARD, Window.NONE),
        "tp.forward.reduce-scatter": (When.FORWARD, Window.NONE),
        "tp.backward.all-gather": (When.BACKWARD, Window.NONE),
        "tp.backward.reduce-scatter": (When.BACKWARD, Window.WGRAD),
        "tp.backward.inputs.all-gather": (When.BACKWARD, Window.DGRAD),
    }
    classic = {x.id: x.window for x in layers_only(planned(llama_t3({"sequence_parallel": False}), 1024))}
    assert classic == {"tp.forward.all-reduce": Window.NONE, "tp.backward.all-reduce": Window.WGRAD}


def test_overlap_of_tensor_parallelism_hides_what_feeds_matrix_multiplications() -> None:
    found = {x.id: x.window for x in layers_only(planned(llama_t3(overlap={"tensor": True}), 1024))}
    assert found == {
        "tp.forward.all-gather": Window.MATRIX,
        "tp.forward.reduce-scatter": Window.MATRIX,
        "tp.backward.all-gather": Window.MATRIX,
        "tp.backward.reduce-scatter": Window.WGRAD,
        "tp.backward.inputs.all-gather": Window.DGRAD,
    }


def test_tensor_exchanges_beside_the_layers(t3: Plan) -> None:
    # conventions 8
    found = {(x.kind, x.operation, x.when): x for x in of_kind(t3, "tp.embedding", "tp.head")}
    assert {key: (x.count_per_step, set(x.stages.tolist())) for key, x in found.items()} == {
        ("tp.embedding", SCATTER, When.FORWARD): (32, {0}),
        ("tp.embedding", GATHER, When.BACKWARD): (32, {0}),
        ("tp.head", GATHER, When.FORWARD): (32, {3}),
        ("tp.head", SCATTER, When.BACKWARD): (32, {3}),
        ("tp.head", GATHER, When.BACKWARD): (32, {3}),
    }
    assert {x.message_bytes for x in found.values()} == {134_217_728}
    classic = planned(llama_t3({"sequence_parallel": False}), 1024)
    assert [(x.kind, x.operation, x.when) for x in of_kind(classic, "tp.embedding", "tp.head")] == [
        ("tp.embedding", REDUCE, When.FORWARD),
        ("tp.head", REDUCE, When.BACKWARD),
    ]
    assert of_kind(classic, "tp.norm-gradient") == []


def test_t26_norm_gradients_and_cross_entropy(t3: Plan) -> None:
    norms = of_kind(t3, "tp.norm-gradient")
    assert [(x.message_bytes, x.count_per_step, sorted(set(x.stages.tolist()))) for x in norms] == [
        (1_310_720, 1, [0, 1, 2]),
        (1_310_720 + 4 * 8192, 1, [3]),
    ]
    (loss,) = of_kind(t3, "tp.cross-entropy")
    assert (loss.message_bytes, loss.count_per_step, loss.operation) == (32_768, 3 * 32, REDUCE)
    assert set(loss.stages.tolist()) == {3}


def test_full_recompute_repeats_the_forward_of_the_layers_only() -> None:
    # N21: 6 all-reduces a layer instead of 4
    plan = planned(llama_t3({"sequence_parallel": False}, recompute="full"), 1024)
    assert count(layers_only(plan)) == 6 * 20 * 32
    again = [x for x in layers_only(plan) if x.kind == "tp.forward" and x.when is When.BACKWARD]
    assert [(x.count_per_step, x.window) for x in again] == [(2 * 20 * 32, Window.NONE)]
    sequence = planned(llama_t3(recompute="full"), 1024)
    assert count(layers_only(sequence)) == 6_400 + 32 * 20 * 4
    assert count(of_kind(plan, "tp.head", "tp.embedding")) == 2 * 32
    assert count(layers_only(planned(llama_t3(recompute="selective"), 1024))) == 6_400


def test_t5_distributed_optimizer(t3: Plan) -> None:
    first, middle, last = 2_270_756_864, 2_139_422_720, 2_270_765_056
    gradients, parameters = of_kind(t3, "dp.gradient"), of_kind(t3, "dp.parameters")
    assert [x.message_bytes for x in gradients] == [4 * first, 4 * middle, 4 * last]
    assert [x.message_bytes for x in parameters] == [2 * first, 2 * middle, 2 * last]
    assert [sorted(set(x.stages.tolist())) for x in gradients] == [[0], [1, 2], [3]]
    assert {(x.operation, x.count_per_step, x.when, x.window) for x in gradients} == {
        (SCATTER, 1, When.GRADIENTS, Window.LAST_BACKWARD)
    }
    assert {(x.operation, x.count_per_step, x.when, x.window) for x in parameters} == {
        (GATHER, 1, When.PARAMETERS, Window.FIRST_FORWARD)
    }
    assert gradients[1].message_bytes * 31 / 32 == pytest.approx(8.290e9, rel=1e-4)
    # T27: (31/32)·(4 + 2)·N
    assert (gradients[1].message_bytes + parameters[1].message_bytes) * 31 // 32 == 12_435_394_560


def test_t5_all_reduce() -> None:
    for precision, wire in (("bf16", 8.290e9), ("fp32", 16.58e9)):
        plan = planned(llama_t3({"zero": 0}, gradient_precision=precision), 1024)
        assert of_kind(plan, "dp.parameters") == []
        middle = of_kind(plan, "dp.gradient")[1]
        assert middle.operation is REDUCE
        assert middle.message_bytes * 2 * 31 / 32 == pytest.approx(wire, rel=1e-4)


def test_zero_3_gathers_in_every_microbatch() -> None:
    # conventions 14: AG 2m times and RS m times; without reshard AG once
    plan = planned(llama_t3({"zero": 3}), 1024)
    assert count(x for x in of_kind(plan, "dp.parameters") if 1 in x.stages) == 2 * 32
    assert count(x for x in of_kind(plan, "dp.gradient") if 1 in x.stages) == 32
    assert {x.window for x in of_kind(plan, "dp.parameters", "dp.gradient")} == {Window.LAYER}
    kept = planned(llama_t3({"zero": 3, "reshard": False}), 1024)
    assert count(x for x in of_kind(kept, "dp.parameters") if 1 in x.stages) == 1
    assert count(x for x in of_kind(kept, "dp.gradient") if 1 in x.stages) == 32


def test_without_overlap_everything_of_dp_blocks() -> None:
    plan = planned(llama_t3(overlap={"gradients": False, "parameters": False}), 1024)
    assert all(x.blocking for x in of_kind(plan, "dp.gradient", "dp.parameters"))


def test_t6_pipeline_sends(t3: Plan) -> None:
    forward, backward = of_kind(t3, "pp.activation", "pp.gradient")
    for exchange in (forward, backward):
        assert (exchange.operation, exchange.message_bytes, exchange.count_per_step) == (
            Operation.SEND,
            16_777_216,
            32,
        )
        assert exchange.groups.shape == (3 * 256, 2)
        assert exchange.blocking
    assert forward.groups[0].tolist() == [0, 256]
    assert backward.groups[0].tolist() == [256, 0]
    assert sorted(set(forward.stages.tolist())) == [0, 1, 2]
    assert sorted(set(backward.stages.tolist())) == [1, 2, 3]
    assert {tuple(row) for row in forward.groups.tolist()} == {(b, a) for a, b in backward.groups.tolist()}
    # T27: an interior stage sends 64 times
    assert 2 * 32 * forward.message_bytes == 1_073_741_824
    classic = planned(llama_t3({"sequence_parallel": False}), 1024)
    assert {x.message_bytes for x in of_kind(classic, "pp.activation", "pp.gradient")} == {134_217_728}


def test_t9_gpt3() -> None:
    plan = planned(gpt3_t8(), 64)
    assert {x.message_bytes for x in layers_only(plan)} == {50_331_648}
    assert of_kind(plan, "pp.activation")[0].message_bytes == 6_291_456
    (tied,) = of_kind(plan, "pp.tied-embedding")
    assert (tied.message_bytes, tied.count_per_step, tied.operation) == (314_572_800, 1, REDUCE)
    assert tied.groups.tolist() == [[rank, 56 + rank] for rank in range(8)]
    assert tied.when is When.BEFORE_OPTIMIZER
    one_stage = gpt3_t8(parallel={"pp": 1})
    assert of_kind(planned(one_stage, 8), "pp.tied-embedding") == []


def test_t10_mixtral_all_to_all() -> None:
    own = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, global_batch=64)
    plan = planned(own, 64)
    exchanges = [x for x in plan.exchanges if x.dimension == "ep"]
    assert [x.kind for x in exchanges] == [
        "ep.dispatch",
        "ep.combine",
        "ep.combine-gradient",
        "ep.dispatch-gradient",
    ]
    assert {x.message_bytes for x in exchanges} == {67_108_864}
    assert {x.operation for x in exchanges} == {Operation.ALL_TO_ALL}
    assert {x.count_per_step for x in exchanges} == {32}
    # wire of a microbatch and GPU: 7/8 of S, 4 times in each of 32 layers
    assert sum(x.message_bytes * 7 // 8 * x.count_per_step for x in exchanges) == 7_516_192_768
    assert {x.groups.shape for x in exchanges} == {(8, 8)}


def test_t11_experts_reduce_over_their_own_replicas() -> None:
    plan = planned(job("mixtral-8x7b", {"ep": 8}, global_batch=64), 64)
    (dense,), (experts,) = of_kind(plan, "dp.gradient"), of_kind(plan, "dp.gradient-experts")
    assert (dense.message_bytes, dense.group_size, dense.group_key) == (4 * 1_605_636_096, 64, "dp-cp")
    assert (experts.message_bytes, experts.group_size, experts.group_key) == (4 * 5_637_144_576, 8, "edp")
    assert experts.groups[0].tolist() == list(range(0, 64, 8))


def test_t13_fp8_dispatch_is_7392_bytes_a_copy() -> None:
    own = job(
        "deepseek-v3-671b",
        {"ep": 64, "pp": 16, "layers_per_stage": [4] * 15 + [1]},
        sequence_length=4096,
        global_batch=2048,
        experts={"dispatch_precision": "fp8"},
    )
    plan = planned(own, 2048)
    size = {x.kind: x.message_bytes for x in plan.exchanges if x.dimension == "ep"}
    copies = 4096 * 8
    # conventions 19: FP8 for dispatch and the backward of combine, 16 bits for the others
    assert size == {
        "ep.dispatch": 7392 * copies,
        "ep.combine": 2 * 7168 * copies,
        "ep.combine-gradient": 7392 * copies,
        "ep.dispatch-gradient": 2 * 7168 * copies,
    }
    # T13: unpadded bf16 wire 63/64 · 4096 · 8 · 14,336
    assert size["ep.combine"] * 63 // 64 == 462_422_016
    # conventions 24: three dense layers lie in stage 0, so it dispatches in one layer only
    dispatch = of_kind(plan, "ep.dispatch")
    assert [(x.count_per_step, sorted(set(x.stages.tolist()))) for x in dispatch] == [
        (16, [0, 15]),
        (64, list(range(1, 15))),
    ]


def test_moe_layers_under_tp_have_one_pair_of_tensor_exchanges() -> None:
    # conventions 10: attention keeps 1 AG + 1 RS forward and 1 AG + 1 RS + 1 re-gather backward
    own = job("mixtral-8x7b", {"tp": 2, "ep": 4}, sequence_length=4096, global_batch=64)
    exchanges = layers_only(planned(own, 64))
    assert count(exchanges) == 5 * 32 * 2
    # sequence parallelism halves the tokens of a rank: 2,048 · 2 copies · 8,192 B
    dispatch = of_kind(planned(own, 64), "ep.dispatch")[0]
    assert dispatch.message_bytes == 33_554_432


def test_a_shared_expert_brings_the_dense_exchanges_back() -> None:
    own = job("deepseek-v3-671b", {"tp": 2, "ep": 8}, sequence_length=4096, global_batch=8)
    plan = planned(own, 16)
    assert count(layers_only(plan)) == 10 * 61 * plan.microbatches


def test_imbalance_stretches_time_and_not_bytes() -> None:
    own = job("mixtral-8x7b", {"ep": 8}, sequence_length=4096, global_batch=64, experts={"imbalance": 1.5})
    exchanges = [x for x in planned(own, 64).exchanges if x.dimension == "ep"]
    assert {(x.message_bytes, x.time_factor) for x in exchanges} == {(67_108_864, 1.5)}


def test_t15_llama_405b() -> None:
    own = job("llama3-405b", {"tp": 8, "pp": 16, "layers_per_stage": [7, *[8] * 14, 7]}, global_batch=2048)
    plan = planned(own, 16_384)
    assert plan.microbatches == 16
    assert {x.message_bytes for x in layers_only(plan)} == {268_435_456}
    assert of_kind(plan, "pp.activation")[0].message_bytes == 33_554_432
    middle = of_kind(plan, "dp.gradient")[1]
    assert middle.message_bytes * 127 / 128 == pytest.approx(12.652e9, rel=1e-4)
    assert {(x.count_per_step, len(set(x.stages.tolist()))) for x in of_kind(plan, "tp.backward")} == {
        (2 * 7 * 16, 2),
        (2 * 8 * 16, 14),
    }


def test_ids_are_unique_and_number_what_repeats(t3: Plan) -> None:
    ids = [exchange.id for exchange in t3.exchanges]
    assert len(ids) == len(set(ids))
    assert [x.id for x in of_kind(t3, "dp.gradient")] == [
        "dp.gradient.reduce-scatter",
        "dp.gradient.reduce-scatter.2",
        "dp.gradient.reduce-scatter.3",
    ]


def test_one_gpu_has_nothing_to_exchange() -> None:
    assert planned(job("llama3-8b", global_batch=4), 1).exchanges == ()


def test_algorithms_come_from_the_job() -> None:
    plan = planned(llama_t3(collectives={"tp": "ring", "dp": "ring"}), 1024)
    assert {x.dimension: x.algorithm for x in plan.exchanges} == {"tp": "ring", "pp": "auto", "dp": "ring"}


def test_groups_follow_the_paint_and_leave_out_who_has_no_rank() -> None:
    own = llama_t3({"tp": 2, "pp": 2}, global_batch=2)
    swapped = planned(own, 8, Paint().assign("tp", 1, ["g0"]).assign("tp", 0, ["g2"]))
    assert of_kind(swapped, "tp.forward")[0].groups.tolist() == [[2, 1], [0, 3], [4, 5], [6, 7]]
    missing = planned(own, 8, Paint().assign("tp", 99, ["g3"]))
    assert of_kind(missing, "tp.forward")[0].groups.tolist() == [[0, 1], [4, 5], [6, 7]]
    assert [3, 7] not in of_kind(missing, "pp.activation")[0].groups.tolist()
    assert of_kind(missing, "pp.activation")[0].groups.tolist() == [[0, 4], [1, 5], [2, 6]]
    large = planned(llama_t3({"tp": 4, "pp": 1}, global_batch=2), 8, Paint().assign("tp", 99, ["g3"]))
    assert [(x.id, x.groups.tolist()) for x in of_kind(large, "tp.forward") if x.operation is GATHER] == [
        ("tp.forward.all-gather", [[4, 5, 6, 7]]),
        ("tp.forward.all-gather.2", [[0, 1, 2]]),
    ]
