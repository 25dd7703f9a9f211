"""Expert parallelism beyond the plain all-to-all: T13 and conventions 11, 12 and 19."""

from __future__ import annotations

from typing import Any

from model.job.exchange import Dedup, Exchange, Operation, When, Window
from model.job.spec import JobSpec
from tests.model.job.cases import job, planned

A2A, GATHER, SCATTER = Operation.ALL_TO_ALL, Operation.ALL_GATHER, Operation.REDUCE_SCATTER
TOKENS, WIDTH = 4096, 4096


def mixtral(parallel: dict[str, Any], experts: dict[str, Any] | None = None, **fields: Any) -> JobSpec:
    """Mixtral 8x7B with 4,096 tokens on each rank, 64 sequences."""
    return job("mixtral-8x7b", parallel, sequence_length=TOKENS, global_batch=64, experts=experts or {},
               **fields)  # fmt: skip


def of_experts(own: JobSpec, world: int = 64) -> list[Exchange]:
    return [exchange for exchange in planned(own, world).exchanges if exchange.dimension == "ep"]


def test_t13_deduplicated_dispatch_knows_its_tokens() -> None:
    experts = {"dispatch": "deduplicated", "dispatch_precision": "fp8", "node_limit": 4}
    own = job(
        "deepseek-v3-671b",
        {"ep": 64, "pp": 16, "layers_per_stage": [4] * 15 + [1]},
        sequence_length=4096,
        global_batch=2048,
        experts=experts,
    )
    found = {x.kind: x for x in of_experts(own, 2048)}
    assert {x.algorithm for x in found.values()} == {"deduplicated"}
    assert {x.operation for x in found.values()} == {A2A}
    # T13: 7,392 B a copy; S still counts all 8 copies of 4,096 tokens
    assert found["ep.dispatch"].message_bytes == 4096 * 8 * 7392
    assert found["ep.combine"].message_bytes == 4096 * 8 * 14_336
    out = Dedup(experts=256, copies_per_token=8, node_limit=4)
    back = Dedup(experts=256, copies_per_token=8, node_limit=4, combine=True)
    assert {kind: x.dedup for kind, x in found.items()} == {
        "ep.dispatch": out,
        "ep.combine": back,
        "ep.combine-gradient": out,
        "ep.dispatch-gradient": back,
    }


def test_all_gather_dispatch_does_not_depend_on_top_k() -> None:
    # traffic_model §3.4: AG and RS of all tokens of the group
    found = {x.kind: x for x in of_experts(mixtral({"ep": 8}, {"dispatch": "all-gather", "imbalance": 2.0}))}
    assert {kind: x.operation for kind, x in found.items()} == {
        "ep.dispatch": GATHER,
        "ep.combine": SCATTER,
        "ep.combine-gradient": GATHER,
        "ep.dispatch-gradient": SCATTER,
    }
    assert {(x.message_bytes, x.time_factor) for x in found.values()} == {(8 * TOKENS * WIDTH * 2, 1.0)}


def test_a_capacity_fixes_the_copies() -> None:
    # traffic_model §3.4: S = E·capacity·h·β, capacity = ceil(n_loc·k/E · CF) = ceil(1024 · 1.3) = 1332
    found = of_experts(mixtral({"ep": 8}, {"capacity_factor": 1.3, "imbalance": 2.0}))
    assert {(x.message_bytes, x.time_factor) for x in found} == {(8 * 1332 * WIDTH * 2, 1.0)}


def test_expert_tensor_parallelism_gathers_and_scatters() -> None:
    # conventions 11: AG over et with S = et·n_loc·k·h·β after dispatch, RS before combine, backward mirrored
    found = of_experts(mixtral({"tp": 2, "ep": 4, "etp": 2}))
    assert [(x.kind, x.operation, x.group_key) for x in found] == [
        ("ep.dispatch", A2A, "ep"),
        ("ep.dispatch", GATHER, "etp"),
        ("ep.combine", SCATTER, "etp"),
        ("ep.combine", A2A, "ep"),
        ("ep.combine-gradient", A2A, "ep"),
        ("ep.combine-gradient", GATHER, "etp"),
        ("ep.dispatch-gradient", SCATTER, "etp"),
        ("ep.dispatch-gradient", A2A, "ep"),
    ]
    copies = TOKENS // 2 * 2
    assert {x.message_bytes for x in found if x.group_key == "ep"} == {copies * WIDTH * 2}
    assert {x.message_bytes for x in found if x.group_key == "etp"} == {2 * copies * WIDTH * 2}
    assert {x.groups.shape for x in found if x.group_key == "etp"} == {(32, 2)}
    assert found[0].groups[0].tolist() == [0, 2, 4, 6]
    assert found[1].groups[0].tolist() == [0, 1]


def test_expert_tensor_parallelism_alone_has_no_all_to_all() -> None:
    found = of_experts(mixtral({"tp": 2, "etp": 2}))
    assert {x.operation for x in found} == {GATHER, SCATTER}


def test_full_recompute_repeats_dispatch_and_combine() -> None:
    # conventions 12
    again = [x for x in of_experts(mixtral({"tp": 2, "ep": 4, "etp": 2}, recompute="full"))
             if "recompute" in x.id]  # fmt: skip
    assert [(x.kind, x.operation) for x in again] == [
        ("ep.dispatch", A2A), ("ep.dispatch", GATHER), ("ep.combine", SCATTER), ("ep.combine", A2A),
    ]  # fmt: skip
    assert {x.when for x in again} == {When.BACKWARD}


def test_overlap_of_experts_hides_them_beside_compute() -> None:
    assert {x.window for x in of_experts(mixtral({"ep": 8}))} == {Window.NONE}
    own = mixtral({"ep": 8}, overlap={"experts": True})
    assert {x.window for x in of_experts(own)} == {Window.LAYER}
