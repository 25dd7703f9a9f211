"""Ring, NVLS, all-to-all and send on an idle fabric, from the drawing to the report (conventions 45).

Each is α + bytes ÷ usable rate, worked out here: NCCL's latencies for Simple are 8.4 µs for a ring, 3.4 µs a
step over NVLink, 14 µs over the network, 25 µs for NVLS; usable are 0.824 × 18 × 25 GB/s of NVLink 4 and
0.97 × 50 GB/s of a NIC.
"""

from __future__ import annotations

import pytest

from model.analysis import analyse
from model.document.document import Document
from model.job.spec import JobSpec, apply_set
from model.step.report import StepReport
from model.topology.types import LinkKind, State
from tests.model.analysis.drawings import changed, cluster, job

NVLINK, NIC = 0.824 * 18 * 25e9, 0.97 * 50e9
RING, OVER_NVLINK, OVER_NETWORK, NVLS = 8.4e-6, 3.4e-6, 14e-6, 25e-6


def report_of(document: Document) -> StepReport:
    analysis = analyse(document)
    assert analysis.report is not None, [found.detail for found in analysis.findings]
    return analysis.report


def operation_s(report: StepReport, kind: str, operation: str) -> tuple[float, int]:
    """Seconds of one operation, and its S."""
    number = next(
        n for n, one in enumerate(report.exchanges) if one.kind == kind and one.operation == operation
    )
    exchange = report.exchanges[number]
    return report.exchange_times[number].time_s / exchange.count_per_step, exchange.message_bytes


def gradients(nodes: int, gpus: int, *more: str) -> StepReport:
    """A step whose gradients are reduced when nothing else runs."""
    spec = job("overlap.gradients=false", "overlap.parameters=false", *more, global_batch=nodes * gpus)
    return report_of(cluster(nodes=nodes, gpus=gpus, spec=spec))


@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_ring_all_reduce_inside_a_domain(gpus: int) -> None:
    steps = 2 * (gpus - 1)
    time, size = operation_s(
        gradients(1, gpus, "parallel.zero=0", "collectives.dp=ring"), "dp.gradient", "all-reduce"
    )
    assert time == pytest.approx(RING + steps * OVER_NVLINK + steps / gpus * size / NVLINK, rel=1e-9)


def test_nvls_all_reduce_inside_a_domain() -> None:
    time, size = operation_s(gradients(1, 8, "parallel.zero=0"), "dp.gradient", "all-reduce")
    assert time == pytest.approx(NVLS + 1.125 * size / NVLINK, rel=1e-9)


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather"])
def test_ring_of_one_gpu_per_node(operation: str) -> None:
    report = gradients(8, 1)
    kind = next(one.kind for one in report.exchanges if one.operation == operation and one.dimension == "dp")
    time, size = operation_s(report, kind, operation)
    assert time == pytest.approx(RING + 7 * OVER_NETWORK + 7 / 8 * size / NIC, rel=1e-9)


@pytest.mark.parametrize(("nodes", "gpus"), [(2, 2), (4, 2), (2, 8), (4, 8)])
def test_ring_all_reduce_over_nodes(nodes: int, gpus: int) -> None:
    """As many channels as GPUs of a node; each carries its part of V over the GPU's NIC, NVLink all of V."""
    members = nodes * gpus
    steps, between = 2 * (members - 1), 2 * (nodes - 1)
    time, size = operation_s(gradients(nodes, gpus, "parallel.zero=0"), "dp.gradient", "all-reduce")
    wire = steps / members * size
    alpha = RING + (steps - between) * OVER_NVLINK + between * OVER_NETWORK
    assert time == pytest.approx(alpha + max(wire / NVLINK, wire / gpus / NIC), rel=1e-9)


MOE = {
    "name": "small mixture",
    "layers": 2,
    "hidden": 1024,
    "heads": 16,
    "vocab": 32_000,
    "moe": {"experts": 32, "top_k": 4, "expert_ffn": 512},
}


@pytest.mark.parametrize(
    ("nodes", "gpus", "alpha", "parts_of_s", "rate"),
    [
        (1, 8, OVER_NVLINK, 7 / 8, NVLINK),  # direct, inside
        (8, 1, OVER_NETWORK, 7 / 8, NIC),  # direct, one GPU a node
        (2, 8, OVER_NETWORK, 1 / 2, NIC),  # by rail: half of every buffer leaves, NVLink has 14/16 of it
        (4, 4, OVER_NETWORK, 3 / 4, NIC),
    ],
)
def test_all_to_all(nodes: int, gpus: int, alpha: float, parts_of_s: float, rate: float) -> None:
    spec = JobSpec.model_validate(
        {"model": MOE, "sequence_length": 1024, "global_batch": nodes * gpus, "vocabulary_multiple": 1}
    )
    # Gradients and parameters under way at the same time would take an eighth of the NIC.
    for assignment in (
        "overlap.parameters=false", "overlap.gradients=false", f"parallel.ep={nodes * gpus}"
    ):  # fmt: skip
        spec = apply_set(spec, assignment)
    time, size = operation_s(
        report_of(cluster(nodes=nodes, gpus=gpus, spec=spec)), "ep.dispatch", "all-to-all"
    )
    assert size == 1024 * 4 * 1024 * 2  # tokens × experts a token × hidden × bf16
    assert time == pytest.approx(alpha + parts_of_s * size / rate, rel=1e-9)


def test_a_slower_cable_is_the_whole_difference() -> None:
    """A ring over 8 nodes with 400G, then with one cable at half its rate: the bytes take twice as long."""
    whole = cluster(nodes=8, gpus=1, spec=job("parallel.zero=0", "overlap.gradients=false", global_batch=8))
    time, size = operation_s(report_of(whole), "dp.gradient", "all-reduce")
    cable = next(link for link in whole.topology.links() if link.kind is LinkKind.INFINIBAND)
    half = changed(whole, "link", cable.id, share=0.5, state=State.DEGRADED)
    slower, _ = operation_s(report_of(half), "dp.gradient", "all-reduce")
    assert slower - time == pytest.approx(14 / 8 * size / NIC, rel=1e-9)
