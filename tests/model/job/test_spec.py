"""The job as written in files: defaults, round trip, and errors that name the field."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InputError
from model.job.spec import JobSpec, apply_set, parse_job


def test_the_job_has_the_fields_of_the_format_and_no_others() -> None:
    # json_formats.md, section "Job"
    names = {
        "": "model sequence_length global_batch microbatch precision gradient_precision vocabulary_multiple "
        "parallel schedule recompute attention overlap experts collectives routing checkpoint data "
        "memory calibration world",
        "parallel": "tp cp ep etp pp dp vpp order sequence_parallel zero reshard layers_per_stage dp_shard "
        "microbatch_group cp_algorithm scatter_gather zero3_unit",
        "overlap": "gradients parameters pipeline tensor experts bucket_bytes sm_share",
        "experts": "imbalance dispatch dispatch_precision capacity_factor node_limit",
        "collectives": "tp cp ep dp",
        "routing": "policy queue_pairs seed",
        "checkpoint": "every_steps to",
        "data": "bytes_per_token from",
        "memory": "context_bytes communicator_bytes fragmentation gathered_layers gathered_gradients",
        "calibration": "mfu layer_forward_s gemm_efficiency",
    }
    written = JobSpec().to_json()
    for group, fields in names.items():
        assert set(written[group] if group else written) == set(fields.split()), group


def test_defaults() -> None:
    own = JobSpec()
    assert (own.model, own.sequence_length, own.microbatch) == ("llama3-70b", 8192, 1)
    assert (own.precision, own.gradient_precision, own.vocabulary_multiple) == ("bf16", "fp32", 128)
    assert (own.parallel.order, own.parallel.zero, own.parallel.dp) == ("tp-cp-ep-dp-pp", 1, None)
    assert (own.schedule, own.recompute, own.attention) == ("1f1b", "none", "flash")
    assert (own.overlap.gradients, own.overlap.parameters, own.overlap.pipeline) == (True, True, False)
    assert own.data.bytes_per_token == 16
    assert own.world is None


def test_a_job_survives_json_pickle_and_hashing() -> None:
    moe = {"experts": 4, "top_k": 2, "expert_ffn": 8}
    own = parse_job(
        {
            "model": {"layers": 4, "hidden": 64, "heads": 4, "vocab": 100, "moe": moe},
            "parallel": {"layers_per_stage": [1, 3], "pp": 2},
            "world": ["b", "a"],
            "data": {"from": "store0"},
        }
    )  # fmt: skip
    again = parse_job(json.loads(json.dumps(own.to_json())))
    assert again == own
    assert hash(again) == hash(own)
    assert pickle.loads(pickle.dumps(own)) == own
    assert own.data.source == "store0"
    assert own.world == ("b", "a")


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("parallel.tp=true", "job field parallel.tp must be a whole number, not true"),
        ("parallel.tp=8.0", "job field parallel.tp must be a whole number, not 8.0"),
        ("parallel.tp=eight", 'job field parallel.tp must be a whole number, not "eight"'),
        ("parallel.tp=0", "job field parallel.tp must be at least 1, not 0"),
        ("overlap.foo=1", "the job has no field overlap.foo; there are overlap.gradients, "
         "overlap.parameters, overlap.pipeline, overlap.tensor, overlap.experts, overlap.bucket_bytes, "
         "overlap.sm_share"),
        ("parallel.tp.x=1", "job field parallel.tp has no parts, so parallel.tp.x cannot be set"),
        ("collectives.zoo.x=1", "the job has no field collectives.zoo; there are collectives.tp, "
         "collectives.cp, collectives.ep, collectives.dp"),
        ("parallel.tp", "'parallel.tp' is not of the form path=value, for example parallel.tp=8"),
        ("parallel=3", "job field parallel must be an object, not 3"),
        ("parallel.layers_per_stage=[1,true]",
         "job field parallel.layers_per_stage.1 must be a whole number, not true"),
        ("overlap.sm_share=NaN", "job field overlap.sm_share must be a finite number, not NaN"),
        ("experts.imbalance=1e999", "job field experts.imbalance must be a finite number, not Infinity"),
        ("experts.imbalance=true", "job field experts.imbalance must be a number, not true"),
        ("calibration.mfu=1e-300", "job field calibration.mfu must be at least 1e-06, not 1e-300"),
        ("calibration.gemm_efficiency=0",
         "job field calibration.gemm_efficiency must be at least 1e-06, not 0"),
        ("calibration.layer_forward_s=1e-300",
         "job field calibration.layer_forward_s must be at least 1e-09, not 1e-300"),
        ("overlap.gradients=1", "job field overlap.gradients must be true or false, not 1"),
        ("global_batch=2000000000000",
         "job field global_batch must be at most 1000000000000, not 2000000000000"),
        ("schedule=2f2b", "job field schedule must be one of 'gpipe', '1f1b', 'interleaved', 'zb-h1', "
         "'zb-v' or 'dualpipe', not \"2f2b\""),
        ("model=5", "job field model must be a preset id or an object with a shape, not 5"),
        ('model={"layers":1}', "job field model.hidden is missing"),
        ('model={"layers":1,"hidden":8,"heads":2,"vocab":9,"size":3}', "the job has no field model.size"),
        ("world=[1]", "job field world.0 must be a text, not 1"),
    ],
)  # fmt: skip
def test_a_bad_value_is_one_sentence_with_its_path(assignment: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        apply_set(JobSpec(), assignment)
    assert str(caught.value) == message


def test_values_are_json_where_they_parse_and_text_elsewhere() -> None:
    own = apply_set(JobSpec(), "parallel.tp=8")
    own = apply_set(own, "model=mixtral-8x7b")
    own = apply_set(own, "parallel.layers_per_stage=[3, 5]")
    own = apply_set(own, 'data.from="42"')
    own = apply_set(own, "parallel.dp=null")
    assert (own.parallel.tp, own.model, own.parallel.layers_per_stage) == (8, "mixtral-8x7b", (3, 5))
    assert (own.data.source, own.parallel.dp) == ("42", None)
    assert JobSpec().parallel.tp == 1


FIELDS = st.sampled_from(list(JobSpec().to_json()))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner),
    max_leaves=12,
)


@given(ANYTHING)
def test_anything_else_than_a_job_is_an_input_error(data: Any) -> None:
    try:
        own = parse_job(data)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert parse_job(own.to_json()) == own
