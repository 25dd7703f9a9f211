"""The legality rules one by one (traffic_model §4.4, T29, conventions 30–32), with the values they name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import JobError
from model.job.legality import refuse_illegal, violations
from model.job.rule import divisors, nearest_multiples
from model.job.shape import model_shape
from model.job.sizes import grid_of, microbatches
from model.job.spec import JobSpec, parse_job
from tests.model.job.cases import job, llama_t3

ORDERS = ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
DENSE = {"layers": 12, "hidden": 1536, "heads": 12, "vocab": 1000, "ffn": 6144}


def small(
    parallel: dict[str, Any] | None = None, model: dict[str, Any] | None = None, **fields: Any
) -> JobSpec:
    """A 12-layer model with 12 heads on 96 sequences."""
    return job(
        {**DENSE, **(model or {})}, parallel, **{"sequence_length": 4800, "global_batch": 96, **fields}
    )


def mixtral(parallel: dict[str, Any]) -> JobSpec:
    """Mixtral on 96 sequences."""
    return job("mixtral-8x7b", parallel, global_batch=96)


def rules(own: JobSpec, world: int) -> list[str]:
    return [found.rule for found in violations(own, world)]


def test_the_job_of_t3_is_legal() -> None:
    assert violations(llama_t3(), 1024) == ()
    refuse_illegal(llama_t3(), 1024)


def test_t29_a_world_that_does_not_divide() -> None:
    found = violations(llama_t3(), 1000)[0]
    assert (found.rule, found.nearest) == ("world", (992, 1024))
    assert (
        found.message
        == "1000 GPUs are not a multiple of TP × CP × PP = 8 × 1 × 4 = 32; nearest 992, 1024, or TP 2"
    )
    with pytest.raises(JobError, match="1000 GPUs are not a multiple"):
        refuse_illegal(llama_t3(), 1000)


def test_t29_a_batch_that_does_not_divide() -> None:
    (found,) = violations(llama_t3(global_batch=1000), 1024)
    assert (found.rule, found.field, found.nearest) == ("batch", "global_batch", (992, 1024))
    assert "1000 is not a multiple of microbatch × DP = 1 × 32 = 32" in found.message


def test_t29_key_value_heads() -> None:
    legal = small({"tp": 16}, {"heads": 64, "kv_heads": 8, "head_dim": 64})
    assert violations(legal, 16) == ()
    illegal = small({"tp": 4}, {"kv_heads": 6})
    (found,) = violations(illegal, 12)
    assert (found.rule, found.nearest) == ("key-value heads", (3, 6))
    assert found.message == "6 key-value heads are neither a multiple nor a divisor of TP 4; nearest 3, 6"


def test_t29_a_rest_of_microbatches_in_an_interleaved_schedule() -> None:
    # p 4, m 6, v 2: a remainder of 2 is less than 4
    own = small({"pp": 4, "vpp": 2}, {"layers": 16}, schedule="interleaved", global_batch=6)
    (found,) = violations(own, 4)
    assert (found.rule, found.nearest) == ("interleaving", (4, 8))
    assert "6 microbatches leave a rest of 2 in groups of 4, less than PP 4" in found.message
    assert violations(small({"pp": 4, "vpp": 3}, global_batch=8), 4) == ()


def test_t29_a_sequence_that_context_parallelism_cannot_cut() -> None:
    (found,) = violations(small({"cp": 2}, sequence_length=8190), 2)
    assert (found.rule, found.nearest) == ("sequence", (8188, 8192))
    assert "8190 is not a multiple of 2 × CP = 4" in found.message


@pytest.mark.parametrize(
    ("own", "world", "rule", "nearest", "words"),
    [
        (small({"dp": 3}), 4, "world", (4,), "× DP = 1 × 1 × 1 × 3 = 3, not the 4 GPUs there are; DP 4 fits"),
        (small({"dp": 8}), 4, "world", (4,), "1 × 1 × 1 × 8 = 8, not the 4 GPUs"),
        (small({"tp": 4}), 2, "world", (4,), "2 GPUs are not a multiple"),
        (small({"pp": 5}), 60, "layers", (4, 6), "12 layers are not a multiple of PP × VPP = 5 × 1 = 5"),
        (small({"pp": 2, "layers_per_stage": [5, 6]}), 2, "layers", (), "2 entries that add up to 11"),
        (small({"pp": 2, "layers_per_stage": [5, 6, 1]}), 2, "layers", (), "3 entries that add up to 12"),
        (small({"vpp": 2}), 1, "chunks", (1,), "VPP 2 needs PP > 1"),
        (small({"vpp": 2, "pp": 2}), 2, "chunks", (1,), "VPP 2 with PP 2 needs overlap.pipeline true"),
        (small({"tp": 8}), 24, "heads", (6, 12), "not a multiple of TP 8; nearest 6, 12"),
        (small({"tp": 8}), 8, "heads", (4,), "12 attention heads are not a multiple of TP 8; nearest 4"),
        (small({"tp": 4}, {"ffn": 6146}), 4, "widths", (2,), "width 6146 is not a multiple of TP 4"),
        (small({"ep": 2}), 2, "experts", (1,), "EP 2 needs a model with experts"),
        (small({"etp": 2}), 2, "experts", (1,), "ETP 2 needs a model with experts"),
        (mixtral({"ep": 16}), 16, "experts", (8,), "8 experts are not a multiple of EP 16; nearest 8"),
        (mixtral({"tp": 2, "sequence_parallel": False}), 2, "expert sequence parallelism", (True,),
         "needs sequence_parallel true"),
        (mixtral({"ep": 8}), 12, "expert world", (8, 16), "not a multiple of ETP × EP × PP = 1 × 8 × 1"),
        # 2^17 chunks are simulated: 65,536 microbatches on two stages, four sequences each
        (small({"pp": 2, "dp": 2}, microbatch=2, global_batch=10**12), 4, "length", (262_144,),
         "makes 250,000,000,000 microbatches on 2 pieces of the model, more than the 131,072 in all"),
        (small({"tp": 4}, sequence_length=4802), 4, "sequence", (4800, 4804), "4802 is not a multiple of TP"),
        (small(overlap={"gradients": False}), 1, "overlap", (False,), "overlap.parameters true needs"),
        (small(overlap={"tensor": True}), 1, "overlap", (False,), "overlap.tensor true needs"),
        (small({"tp": 4, "cp": 2, "cp_algorithm": "ulysses"}), 8, "ulysses", (1, 3), "12 ÷ TP 4 = 3"),
        (small({"dp_shard": 3}), 4, "shards", (2, 4), "DP 4 is not a multiple of dp_shard 3; nearest 2, 4"),
        (small({"dp_shard": 2, "zero": 0}), 4, "shards", (1, 2, 3), "zero 1, 2 or 3 fits"),
        (mixtral({"ep": 8, "dp_shard": 4}), 16, "shards", (8,), "= 1 × 1 × 4 = 4 ranks, not"),
        (small({"vpp": 2, "pp": 3}, schedule="gpipe"), 3, "chunks", (1,), "gpipe runs one chunk a stage"),
        (small({"vpp": 3, "pp": 3}, schedule="zb-v"), 3, "chunks", (2,), "VPP 2 fits"),
        (small({"pp": 4}, schedule="zb-v"), 4, "layers", (2,), "PP × VPP = 4 × 2 = 8"),
        (small({"pp": 3}, schedule="dualpipe"), 3, "both ways", (2, 4), "needs an even PP, but PP is 3"),
        (small({"pp": 4}, schedule="dualpipe", global_batch=7), 4, "both ways", (6, 8), "but there are 7"),
        (small({"order": "tp-dp", "pp": 2}), 2, "order", ORDERS, "leaves out pp"),
        (small({"order": "tp-xx"}), 1, "order", ORDERS, "names 'xx'"),
        (small(), 0, "world", (), "the world has no GPU"),
    ],
)  # fmt: skip
def test_every_rule(own: JobSpec, world: int, rule: str, nearest: tuple[Any, ...], words: str) -> None:
    found = violations(own, world)
    assert [one.rule for one in found] == [rule]
    assert found[0].nearest == nearest
    assert words in found[0].message
    assert "\n" not in found[0].message


def test_the_largest_batch_is_legal() -> None:
    assert rules(small(global_batch=2**17), 1) == []
    assert rules(small(global_batch=2**17 + 1), 1) == ["length"]


def test_experts_and_the_rest_of_a_layer_share_their_stages() -> None:
    # traffic_model §4.4: dense and expert grids need the same DP size and PP groups unless pp is outermost
    inside = job("mixtral-8x7b", {"ep": 2, "pp": 2, "order": "tp-cp-ep-pp-dp"}, global_batch=16)
    assert rules(inside, 16) == ["expert replicas"]
    outside = job("mixtral-8x7b", {"ep": 2, "pp": 2}, global_batch=16)
    assert rules(outside, 16) == []
    without = job("mixtral-8x7b", {"pp": 2, "order": "tp-cp-ep-pp-dp"}, global_batch=16)
    assert rules(without, 16) == []


def test_dense_models_do_not_look_at_the_expert_grid() -> None:
    assert rules(small({"tp": 4, "pp": 2, "order": "tp-pp-dp"}), 16) == []


def test_sequence_parallelism_without_tp_is_off_silently() -> None:
    # conventions 9
    assert rules(small({"sequence_parallel": True}, sequence_length=4801), 1) == []


def test_zero_0_has_no_parameter_gather_to_overlap() -> None:
    assert rules(small({"zero": 0}, overlap={"gradients": False}), 1) == []


def test_the_microbatch_group_lies_between_pp_and_m() -> None:
    own = small({"pp": 4, "vpp": 3, "microbatch_group": 16}, global_batch=8)
    (found,) = violations(own, 4)
    assert (found.rule, found.nearest) == ("interleaving", (8,))


def test_schedules_that_hold_two_chunks_by_themselves() -> None:
    # conventions 31: p = 1 makes every schedule plain; ZB-V has two chunks whether vpp says so or not
    assert rules(small({"pp": 2}, schedule="zb-v"), 2) == []
    assert rules(small({"pp": 2, "vpp": 2}, schedule="zb-v"), 2) == []
    assert rules(small({"pp": 2, "layers_per_stage": [3, 3, 3, 3]}, schedule="zb-v"), 2) == []
    assert rules(small(schedule="dualpipe", global_batch=7), 1) == []


def test_nearest_values() -> None:
    assert nearest_multiples(1000, 32) == (992, 1024)
    assert nearest_multiples(5, 32) == (32,)
    assert divisors(12) == (1, 2, 3, 4, 6, 12)
    assert divisors(16) == (1, 2, 4, 8, 16)
    assert divisors(1) == (1,)


SIZE = st.sampled_from([1, 2, 3, 4, 6, 8])


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries({"tp": SIZE, "ep": SIZE, "pp": SIZE, "vpp": st.sampled_from([1, 2]), "cp": SIZE,
                           "order": st.sampled_from([*ORDERS, "pp-dp-ep-cp-tp"])}),
    st.sampled_from([1, 2, 8, 12, 16, 24, 64]), st.integers(1, 128),
    st.sampled_from(["mixtral-8x7b", "llama3-8b"]),
)  # fmt: skip
def test_a_job_without_violations_has_a_grid_and_whole_microbatches(
    parallel: dict[str, Any], world: int, batch: int, model: str
) -> None:
    own = parse_job({"model": model, "parallel": parallel, "global_batch": batch})
    if violations(own, world):
        return
    grid = grid_of(own, world)
    assert grid.world == world
    assert microbatches(own, grid) * own.microbatch * grid.dp == batch
    assert model_shape(own).moe is None or grid.pp == 1 or grid.same_stages


def test_the_nearest_values_stand_first_where_the_end_of_a_sentence_is_cut() -> None:
    (found,) = violations(small({"tp": 8}), 8)
    assert found.nearest_first == "nearest 4: 12 attention heads are not a multiple of TP 8"


def test_numbers_of_five_digits_and_more_have_separators() -> None:
    (found,) = violations(small({"cp": 2}, sequence_length=131_070), 2)
    assert (
        found.message == "sequence length 131,070 is not a multiple of 2 × CP = 4; nearest 131,068, 131,072"
    )
