"""Sends of schedules with several chunks a rank (conventions 21), and what DualPipe holds twice."""

from __future__ import annotations

from typing import Any

from model.job.chunks import head_rank, hops, rank_of
from model.job.exchange import Exchange, Operation, When
from tests.model.job.cases import gpt3_t8, job, llama_t3, planned


def of_kind(parallel: dict[str, Any], kind: str, world: int = 64, **fields: Any) -> list[Exchange]:
    own = llama_t3(parallel, global_batch=64, **fields)
    return [x for x in planned(own, world).exchanges if x.kind == kind]


def stages_joined(exchange: Exchange, each: int) -> set[tuple[int, int]]:
    """The pairs of stages, for pp outermost with `each` ranks a stage."""
    return {(source // each, target // each) for source, target in exchange.groups.tolist()}


def test_interleaved_sends_wrap_around() -> None:
    # conventions 21: m·v between neighbours, m·(v − 1) from the last rank to the first, an entry of its own
    forward, wrap = of_kind({"vpp": 5}, "pp.activation")
    assert (forward.count_per_step, wrap.count_per_step) == (32 * 5, 32 * 4)
    assert stages_joined(forward, 16) == {(0, 1), (1, 2), (2, 3)}
    assert stages_joined(wrap, 16) == {(3, 0)}
    assert forward.message_bytes == wrap.message_bytes == 16_777_216
    backward, back = of_kind({"vpp": 5}, "pp.gradient")
    assert (backward.count_per_step, back.count_per_step) == (160, 128)
    assert stages_joined(backward, 16) == {(1, 0), (2, 1), (3, 2)}
    assert stages_joined(back, 16) == {(0, 3)}
    assert set(back.stages.tolist()) == {0}
    assert {x.when for x in (backward, back)} == {When.AFTER_BACKWARD}


def test_layers_and_ends_of_interleaved_chunks() -> None:
    # the collectives of the layers do not depend on how they are cut
    plan = planned(llama_t3({"vpp": 5}, global_batch=64), 64)
    flat = planned(llama_t3(global_batch=64), 64)
    for one, other in zip(
        [x for x in plan.exchanges if x.dimension != "pp"],
        [x for x in flat.exchanges if x.dimension != "pp"],
        strict=True,
    ):
        assert (one.id, one.message_bytes, one.count_per_step) == (
            other.id,
            other.message_bytes,
            other.count_per_step,
        )
    ends = {x.kind: x.chunk for x in plan.exchanges if x.kind in ("tp.embedding", "tp.head")}
    assert ends == {"tp.embedding": 0, "tp.head": 4}


def test_zb_v_goes_down_and_comes_back() -> None:
    own = llama_t3(schedule="zb-v")
    assert [rank_of(own, position) for position in range(8)] == [0, 1, 2, 3, 3, 2, 1, 0]
    assert hops(own) == ((0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0))
    assert head_rank(own) == 0
    down, up = of_kind({}, "pp.activation", schedule="zb-v")
    assert (down.chunk, up.chunk, down.count_per_step, up.count_per_step) == (0, 1, 32, 32)
    assert stages_joined(down, 16) == {(0, 1), (1, 2), (2, 3)}
    assert stages_joined(up, 16) == {(1, 0), (2, 1), (3, 2)}
    (head, *_) = of_kind({}, "tp.head", schedule="zb-v")
    assert set(head.stages.tolist()) == {0}


def test_zb_v_needs_no_exchange_for_tied_embeddings() -> None:
    own = gpt3_t8(schedule="zb-v")
    assert [x for x in planned(own, 64).exchanges if x.kind == "pp.tied-embedding"] == []


def test_dualpipe_sends_half_each_way_and_sums_its_copies() -> None:
    down, up = of_kind({}, "pp.activation", schedule="dualpipe")
    assert (down.count_per_step, up.count_per_step) == (16, 16)
    assert stages_joined(up, 16) == {(1, 0), (2, 1), (3, 2)}
    heads = of_kind({}, "tp.head", schedule="dualpipe")
    assert {(x.chunk, x.count_per_step, *set(x.stages.tolist())) for x in heads} == {(0, 16, 3), (1, 16, 0)}
    copies = of_kind({}, "dp.gradient-copies", schedule="dualpipe")
    assert {x.operation for x in copies} == {Operation.ALL_REDUCE}
    outer, inner = copies
    assert stages_joined(outer, 16) == {(0, 3)}
    assert stages_joined(inner, 16) == {(1, 2)}
    # ZeRO-1 over 2 replicas: each rank sums its half of the gradients of both stages that it holds
    assert inner.message_bytes == 4 * 2 * 2_139_422_720 // 2
    # each rank reduces its own stage and the copy over its replicas
    gradients = [x for x in of_kind({}, "dp.gradient", schedule="dualpipe") if 1 in x.stages]
    assert [x.message_bytes for x in gradients] == [4 * 2_139_422_720] * 2


def test_dualpipe_runs_as_much_as_one_way() -> None:
    one, both = (
        sum(
            x.message_bytes * x.count_per_step * len(x.groups)
            for x in planned(llama_t3(schedule=schedule, global_batch=64), 64).exchanges
            if x.dimension in ("tp", "pp") and x.kind != "tp.norm-gradient"
        )
        for schedule in ("1f1b", "dualpipe")
    )
    assert one == both


def test_scatter_gather_sends_parts_and_puts_them_together() -> None:
    (sent,) = of_kind({"sequence_parallel": False, "scatter_gather": True}, "pp.activation")
    assert sent.message_bytes == 134_217_728 // 8
    forward, backward = of_kind({"sequence_parallel": False, "scatter_gather": True}, "tp.pipeline")
    assert (forward.message_bytes, forward.count_per_step) == (134_217_728, 32)
    assert (set(forward.stages.tolist()), set(backward.stages.tolist())) == ({1, 2, 3}, {0, 1, 2})
    assert of_kind({"scatter_gather": True}, "tp.pipeline") == []
    interleaved = of_kind({"sequence_parallel": False, "scatter_gather": True, "vpp": 5}, "tp.pipeline")
    received = {stage: sum(x.count_per_step for x in interleaved if x.when is When.FORWARD
                           and stage in x.stages) for stage in range(4)}  # fmt: skip
    assert received == {0: 32 * 4, 1: 32 * 5, 2: 32 * 5, 3: 32 * 5}


def test_moe_layers_lie_where_their_chunk_does() -> None:
    # conventions 24: positions in σ order; the three dense layers of DeepSeek-V3 are in the first chunk
    layers = [4] * 14 + [3, 2]
    own = job("deepseek-v3-671b", {"ep": 8, "pp": 8, "vpp": 2, "layers_per_stage": layers},
              sequence_length=4096, global_batch=64, schedule="interleaved")  # fmt: skip
    counts = {}
    for x in planned(own, 64).exchanges:
        if x.kind == "ep.dispatch":
            counts.update(dict.fromkeys(x.stages.tolist(), x.count_per_step // 8))
    assert counts == {0: 5, 1: 8, 2: 8, 3: 8, 4: 8, 5: 8, 6: 7, 7: 6}
