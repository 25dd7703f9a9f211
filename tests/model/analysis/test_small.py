"""What costs latency only (conventions 19), by NCCL's constants for its short protocol (traffic_model §5.3).

Tree LL: 6.8 µs, 0.6 a step over NVLink, 5.0 over the network; ring LL: 6.6, 0.6 and 2.7. Probabilities take
one step of an all-to-all: 3.4 µs inside a domain, 14 over the network.
"""

from __future__ import annotations

import pytest

from model.analysis import analyse
from model.document.document import Document
from model.job.sizes import grid_of
from model.job.spec import JobSpec, apply_set
from model.placement.paint import Paint
from model.placement.resolve import resolve
from model.step.small import Small, small_latencies
from model.topology.types import DeviceKind
from model.traffic.fabric import compile_fabric
from tests.model.analysis.drawings import cluster, job
from tests.model.analysis.test_collective_times import MOE


def latencies(document: Document) -> Small:
    world = [gpu.id for gpu in document.topology.working(DeviceKind.GPU)]
    placement = resolve(world, grid_of(document.job, len(world)), Paint())
    return small_latencies(document.job, compile_fabric(document.topology), placement)


@pytest.mark.parametrize(
    ("sets", "norm_us", "loss_us"),
    [
        # Loss over the 8 of dp. The norm: all 16, 4 nodes of 4, 6.8 + 2 (3 · 0.6 + 2 · 5) = 30.4.
        (("parallel.tp=2",), 30.4, 30.4 - 2 * 2 * 0.6),
        # Nothing sharded: the norm is summed over the 2 of tp alone, 6.8 + 2 · 0.6.
        (("parallel.tp=2", "parallel.zero=0"), 8.0, 30.4 - 2 * 2 * 0.6),
        # A whole model on each GPU: no norm to sum.
        (("parallel.zero=0",), 0.0, 30.4),
    ],
)
def test_loss_and_gradient_norm(sets: tuple[str, ...], norm_us: float, loss_us: float) -> None:
    found = latencies(cluster(nodes=4, gpus=4, spec=job(*sets)))
    assert found.closing_s == pytest.approx((norm_us + loss_us) * 1e-6)
    assert (found.forward_s, found.backward_s) == (0.0, 0.0)


def experts(nodes: int, *sets: str) -> Document:
    spec = JobSpec.model_validate({"model": MOE, "sequence_length": 1024, "global_batch": 8 * nodes})
    for assignment in (f"parallel.ep={8 * nodes}", *sets):
        spec = apply_set(spec, assignment)
    return cluster(nodes=nodes, gpus=8, spec=spec)


def test_counts_and_probabilities_of_experts() -> None:
    one, two = latencies(experts(1)), latencies(experts(2))
    assert one.forward_s == pytest.approx((6.6 + 7 * 0.6 + 3.4) * 1e-6)
    assert one.backward_s == pytest.approx(3.4e-6)
    assert two.forward_s == pytest.approx((6.6 + 14 * 0.6 + 2.7 + 14) * 1e-6)
    again = latencies(experts(1, 'recompute="full"'))
    assert again.backward_s == pytest.approx(one.backward_s + one.forward_s)


def test_they_are_in_the_step_and_on_no_link() -> None:
    """One microbatch, two layers with experts: their time is bubble, and only they are."""
    document = experts(1)
    report = analyse(document).report
    assert report is not None
    small = latencies(document)
    expected = 2 * (small.forward_s + small.backward_s) + small.closing_s
    assert report.totals.bubble_s == pytest.approx(expected, rel=1e-6)
    assert {exchange.kind for exchange in report.exchanges if exchange.dimension == "ep"} == {
        "ep.dispatch", "ep.combine", "ep.combine-gradient", "ep.dispatch-gradient"
    }  # fmt: skip


def test_a_single_gpu_waits_for_nobody() -> None:
    assert latencies(cluster(nodes=1, gpus=1, spec=job())) == Small()
