"""Context parallelism: T24, conventions 12 and 13."""

from __future__ import annotations

from typing import Any

import pytest

from model.job.exchange import Exchange, Operation, When, Window
from model.job.spec import JobSpec
from tests.model.job.cases import job, llama_t3, planned


def t24(algorithm: str, **fields: Any) -> JobSpec:
    """Llama-3-405B, TP8 CP16, s 131,072, one microbatch on 128 GPUs."""
    parallel = {"tp": 8, "cp": 16, "cp_algorithm": algorithm}
    return job("llama3-405b", parallel, sequence_length=131_072, global_batch=1, **fields)


def context(own: JobSpec, world: int) -> list[Exchange]:
    return [exchange for exchange in planned(own, world).exchanges if exchange.dimension == "cp"]


def test_t24_ring() -> None:
    forward, backward = context(t24("ring"), 128)
    assert (forward.kind, forward.operation, forward.when) == (
        "cp.keys-values",
        Operation.SEND,
        When.FORWARD,
    )
    assert (forward.message_bytes, forward.count_per_step) == (4_194_304, 15 * 126)
    assert forward.message_bytes * forward.count_per_step == 62_914_560 * 126
    assert backward.message_bytes * backward.count_per_step == 125_829_120 * 126
    assert (backward.kind, backward.when) == ("cp.keys-values-gradient", When.BACKWARD)
    assert forward.window is backward.window is Window.ATTENTION
    # conventions 13: member j → j + 1, cyclic; the first CP group is 0, 8, …, 120
    assert forward.groups.shape == (8 * 16, 2)
    assert forward.groups[:3].tolist() == [[0, 8], [8, 16], [16, 24]]
    assert forward.groups[15].tolist() == [120, 0]


def test_t24_all_gather_moves_the_same_bytes() -> None:
    forward, again, scatter = context(t24("all-gather"), 128)
    assert [x.operation for x in (forward, again, scatter)] == [
        Operation.ALL_GATHER, Operation.ALL_GATHER, Operation.REDUCE_SCATTER,
    ]  # fmt: skip
    assert {x.message_bytes for x in (forward, again, scatter)} == {16 * 4_194_304}
    assert forward.message_bytes * 15 // 16 == 62_914_560
    assert (forward.when, again.when, scatter.when) == (When.FORWARD, When.BACKWARD, When.BACKWARD)
    assert forward.blocking
    assert forward.groups[0].tolist() == list(range(0, 128, 8))


def test_t24_ulysses() -> None:
    exchanges = context(t24("ulysses"), 128)
    for when in (When.FORWARD, When.BACKWARD):
        parts = [x for x in exchanges if x.when is when]
        assert {x.operation for x in parts} == {Operation.ALL_TO_ALL}
        assert sum(x.message_bytes for x in parts) * 15 // 16 == 66_846_720
        # queries, keys and values: 16 + 2 heads; then the output: 16 heads
        assert [x.message_bytes * 16 for x in parts] == [2 * 131_072 * 18 * 128, 2 * 131_072 * 16 * 128]
    assert {x.count_per_step for x in exchanges} == {126}


@pytest.mark.parametrize(("algorithm", "more"), [("ring", 1), ("all-gather", 1), ("ulysses", 2)])
def test_full_recompute_repeats_one_forward(algorithm: str, more: int) -> None:
    plain, again = (context(t24(algorithm, recompute=kind), 128) for kind in ("none", "full"))
    extra = [x for x in again if ".recompute" in x.id]
    assert len(again) - len(plain) == len(extra) == more
    forward = [x for x in plain if x.when is When.FORWARD]
    assert [(x.kind, x.message_bytes, x.count_per_step) for x in extra] == [
        (x.kind, x.message_bytes, x.count_per_step) for x in forward
    ]
    assert {x.when for x in extra} == {When.BACKWARD}


def test_latent_attention_moves_its_heads() -> None:
    # conventions 13: (a/t)·(dn + dr + dv) in place of 2·g_r·d; 128 heads over tp 2
    own = job("deepseek-v3-671b", {"tp": 2, "cp": 2, "ep": 4}, sequence_length=4096, global_batch=1)
    forward = context(own, 4)[0]
    assert forward.message_bytes == 2 * 2048 * 64 * (128 + 64 + 128)


def test_gradients_reduce_over_the_ranks_that_share_a_sequence() -> None:
    # conventions 14: over dp-cp, cp fastest; the pure dp groups stay
    plan = planned(llama_t3({"cp": 2}, global_batch=64), 128)
    gradient = next(x for x in plan.exchanges if x.kind == "dp.gradient")
    assert (gradient.group_key, gradient.group_size) == ("dp-cp", 4)
    assert gradient.groups[0].tolist() == [0, 8, 16, 24]
    tensor = next(x for x in plan.exchanges if x.kind == "tp.forward")
    assert tensor.message_bytes == 134_217_728 // 2
