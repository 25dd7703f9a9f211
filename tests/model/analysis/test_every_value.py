"""Each value of the job runs on a drawing, and its seconds still add up (conventions 46)."""

from __future__ import annotations

import numpy as np
import pytest

from model.analysis import analyse
from model.document.document import Document
from model.document.edits import AddParts
from model.step.report import StepReport
from model.topology.types import Device, DeviceKind, Link, LinkKind
from tests.model.analysis.drawings import GB, cluster, job

MOE = '{"experts": 8, "top_k": 2, "expert_ffn": 512}'


def with_storage(*sets: str) -> Document:
    """Four nodes of two GPUs, and a storage device on their leaf."""
    document = cluster(nodes=4, spec=job(*sets))
    store = Device("store", DeviceKind.STORAGE, "")
    AddParts((store,), (Link("s", "store", "leaf0", LinkKind.INFINIBAND, 50 * GB),)).apply(document)
    return document


def report_of(*sets: str) -> StepReport:
    analysis = analyse(with_storage(*sets))
    assert analysis.report is not None, [finding.detail for finding in analysis.findings]
    return analysis.report


@pytest.mark.parametrize(
    ("sets", "busy"),
    [
        (("parallel.cp=2",), "cp"),
        (("parallel.cp=4", "parallel.cp_algorithm=all-gather"), "cp"),
        (("parallel.cp=2", "parallel.cp_algorithm=ulysses"), "cp"),
        (("parallel.zero=2",), "dp"),
        (("parallel.zero=3", "parallel.dp_shard=2"), "dp"),
        (("parallel.dp_shard=4",), "dp"),
        (("parallel.tp=2", "parallel.pp=2", "parallel.sequence_parallel=false",
          "parallel.scatter_gather=true"), "pp"),
        ((f"model.moe={MOE}", "parallel.ep=4", "parallel.etp=2"), "ep"),
        ((f"model.moe={MOE}", "parallel.ep=4", "experts.dispatch=all-gather"), "ep"),
        ((f"model.moe={MOE}", "parallel.ep=4", "experts.dispatch=deduplicated",
          "experts.node_limit=2"), "ep"),
        ((f"model.moe={MOE}", "parallel.ep=4", "experts.capacity_factor=1.25"), "ep"),
        (("calibration.mfu=0.4",), "dp"),
        (("calibration.layer_forward_s=0.01",), "dp"),
        (("collectives.dp=tree",), "dp"),
        (("collectives.dp=hierarchical", "parallel.zero=0"), "dp"),
        (("collectives.dp=sharp", "parallel.zero=0"), "dp"),
        (("collectives.dp=halving-doubling", "parallel.zero=0"), "dp"),
        (("routing.policy=hashed", "routing.queue_pairs=4", "routing.seed=7"), "dp"),
        (("routing.policy=static",), "dp"),
        (("checkpoint.every_steps=10", "checkpoint.to=store"), "storage"),
        (("checkpoint.every_steps=10",), "storage"),
        (("data.from=store", "data.bytes_per_token=100", "parallel.tp=2"), "storage"),
    ],
)  # fmt: skip
def test_a_value_runs_and_loads_its_links(sets: tuple[str, ...], busy: str) -> None:
    report = report_of(*sets)
    totals = report.totals
    parts = totals.compute_s + totals.optimizer_s + totals.bubble_s + sum(totals.exposed_s.values())
    assert parts == pytest.approx(totals.time_s, rel=1e-9)
    assert report.bytes_by_dimension[busy].sum() > 0
    assert np.isfinite(report.cost_s).all()
    assert report.traffic.unreachable == ()
