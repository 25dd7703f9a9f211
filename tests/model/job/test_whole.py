"""Whatever legal job is given: every figure is finite, nothing is negative, and the parts fit each other."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from model.catalog import catalog
from model.job.chunks import positions
from model.job.compute import stage_computes
from model.job.exchange import Operation
from model.job.flops import hardware_flops, model_flops
from model.job.legality import violations
from model.job.parameters import model_parameters, stage_parameters
from model.job.shape import model_shape
from model.job.sizes import grid_of
from model.job.spec import parse_job
from tests.model.job.cases import memory, planned

GPU = catalog().gpus["h100-sxm"]
SIZE = st.sampled_from([1, 2, 4, 8])
MODELS: list[str | dict[str, Any]] = [
    "mixtral-8x7b",
    "deepseek-v3-671b",
    "gpt3-175b",
    "llama3-8b",
    "llama4-maverick",
    "gpt-oss-120b",
    {"layers": 8, "hidden": 64, "heads": 8, "vocab": 17, "tied_embeddings": True},
    {"layers": 8, "hidden": 64, "heads": 8, "vocab": 17, "mlp": "gelu", "norm": "layernorm"},
]
JOBS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "parallel": st.fixed_dictionaries(
            {
                "tp": SIZE,
                "ep": SIZE,
                "pp": SIZE,
                "cp": st.sampled_from([1, 2, 4]),
                "etp": st.sampled_from([1, 2]),
                "vpp": st.sampled_from([1, 2]),
                "zero": st.sampled_from([0, 1, 2, 3]),
                "dp_shard": st.sampled_from([None, None, 1, 2]),
                "cp_algorithm": st.sampled_from(["ring", "all-gather", "ulysses"]),
                "scatter_gather": st.booleans(),
                "sequence_parallel": st.booleans(),
                "reshard": st.booleans(),
                "order": st.sampled_from(["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "dp-tp-ep-cp-pp"]),
            }
        ),
        "schedule": st.sampled_from(["1f1b", "gpipe", "zb-h1", "zb-v", "dualpipe"]),
        "global_batch": st.sampled_from([1, 8, 64, 10**12]),
        "sequence_length": st.sampled_from([1, 8, 4096, 2**26]),
        "precision": st.sampled_from(["bf16", "fp8", "fp32"]),
        "recompute": st.sampled_from(["none", "selective", "full"]),
        "attention": st.sampled_from(["flash", "core"]),
        "experts": st.fixed_dictionaries(
            {
                "imbalance": st.sampled_from([1.0, 3.5]),
                "dispatch_precision": st.sampled_from(["bf16", "fp8"]),
                "dispatch": st.sampled_from(["direct", "deduplicated", "all-gather"]),
                "capacity_factor": st.sampled_from([None, 0.5, 2.0]),
            }
        ),
    }
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(JOBS, st.sampled_from([1, 2, 8, 16, 64]))
def test_every_legal_job_has_finite_figures(fields: dict[str, Any], world: int) -> None:
    own = parse_job(fields)
    if own.parallel.pp > 1:
        layers, count = model_shape(own).layers, positions(own)
        each, rest = divmod(layers, count)
        parallel = {**fields["parallel"], "layers_per_stage": [each + rest, *[each] * (count - 1)]}
        own = parse_job({**fields, "parallel": parallel})
    assume(not violations(own, world))
    shape, grid = model_shape(own), grid_of(own, world)
    for row in memory(own, world):
        parts = (
            row.weights_bytes,
            row.gradients_bytes,
            row.optimizer_bytes,
            row.activations_bytes,
            row.other_bytes,
        )
        assert all(math.isfinite(part) and part >= 0 for part in parts)
        assert row.activations_bytes >= row.layer_activations_bytes
    for stage in stage_computes(own, shape, grid, GPU):
        assert 0 <= stage.dgrad_s + stage.wgrad_s <= stage.backward_s + 1e-12
        assert 0 <= stage.forward_s < math.inf
        assert 0 <= stage.optimizer_s < math.inf  # 0 where a stage has no layers
    assert hardware_flops(own, shape) >= model_flops(own, shape) > 0
    held = sum(
        stage.dense * grid.tp + stage.experts * grid.ep * grid.etp for stage in stage_parameters(own, shape)
    )
    assert held >= model_parameters(shape)
    for exchange in planned(own, world).exchanges:
        assert 0 < exchange.message_bytes < 2**63
        assert exchange.count_per_step > 0
        assert exchange.groups.shape[0] == exchange.stages.shape[0]
        assert exchange.group_size >= 2
        assert exchange.groups.min() >= 0
        assert exchange.groups.max() < world
        assert exchange.operation is not Operation.SEND or exchange.group_size == 2
        assert all(len(set(row)) == exchange.group_size for row in exchange.groups.tolist())
