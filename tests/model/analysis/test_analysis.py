"""The whole way from a drawing to a report."""

from __future__ import annotations

import numpy as np
import pytest

from model.analysis import AnalysisCache, analyse
from model.document.document import Document
from model.document.edits import SetJob
from model.step.report import StepReport
from model.topology.types import State
from tests.model.analysis.drawings import changed, cluster, job


def report_of(document: Document) -> StepReport:
    report = analyse(document).report
    assert report is not None
    return report


def test_seconds_add_up_and_bytes_are_the_sum_of_their_segments() -> None:
    report = report_of(cluster(nodes=2, gpus=4, spec=job("parallel.tp=2", "parallel.pp=2")))
    totals = report.totals
    parts = totals.compute_s + totals.optimizer_s + totals.bubble_s + sum(totals.exposed_s.values())
    assert parts == pytest.approx(totals.time_s, rel=1e-9)
    segments = report.segments
    seconds = segments.end_s - segments.start_s
    moved = sum(
        segments.rates[state] * time for state, time in zip(segments.state.tolist(), seconds, strict=True)
    )
    assert moved == pytest.approx(sum(report.bytes_by_dimension.values()), rel=1e-9)
    assert (report.peak_utilisation <= 1).all()


def test_the_seconds_of_a_send_are_bytes_over_the_usable_rate() -> None:
    # PP 2 over one NIC each: microbatch × sequence × hidden × 2 B at 0.97 × 50 GB/s, plus latency.
    report = report_of(cluster(nodes=2, gpus=1, spec=job("parallel.pp=2", global_batch=8)))
    number = next(n for n, one in enumerate(report.exchanges) if one.kind == "pp.activation")
    exchange = report.exchanges[number]
    assert exchange.message_bytes == 1024 * 1024 * 2
    instance = report.traffic.instance_exchange.tolist().index(number)
    alone = exchange.message_bytes / (0.97 * 50e9) + float(report.traffic.alpha_s[instance])
    assert report.exchange_times[number].time_s == pytest.approx(8 * alone, rel=1e-6)


def test_mfu_is_model_flops_over_peak_and_time() -> None:
    report = report_of(cluster(nodes=1, gpus=2, spec=job("parallel.tp=2")))
    totals = report.totals
    assert totals.mfu == pytest.approx(totals.model_flops / (2 * 989e12 * totals.time_s), rel=1e-12)
    assert totals.hfu == totals.mfu
    assert totals.tokens_per_s_per_gpu == pytest.approx(16 * 1024 / totals.time_s / 2, rel=1e-12)


def test_every_total_has_a_figure_with_its_value() -> None:
    report = report_of(cluster(spec=job("parallel.tp=2")))
    figures = report.figures
    assert figures["step.time_s"].value == report.totals.time_s
    assert figures["step.mfu"].value == report.totals.mfu
    assert figures["memory.stage0.weights_bytes"].value == report.memory[0].weights_bytes
    assert figures["exchange.tp.forward.all-gather.message_bytes"].value == 1024 * 1024 * 2
    assert sum(
        value for name, value in figures["step.time_s"].inputs.items() if name.endswith("_s")
    ) == pytest.approx(report.totals.time_s)
    for name, figure in figures.items():
        assert figure.formula and figure.source, name
        assert np.isfinite(figure.value), name


@pytest.mark.parametrize("zero", [1, 3])
def test_figures_follow_from_the_inputs_that_they_show(zero: int) -> None:
    own = job("parallel.tp=2", "parallel.pp=2", f"parallel.zero={zero}", "recompute=full")
    report = report_of(cluster(nodes=2, gpus=4, spec=own))
    figures, totals = report.figures, report.totals
    for stage in range(2):
        for part in ("weights_bytes", "gradients_bytes", "optimizer_bytes"):
            figure = figures[f"memory.stage{stage}.{part}"]
            parameters, shards, each = figure.inputs.values()
            assert figure.value == pytest.approx(float(parameters) / float(shards) * float(each)), part
        for part in ("activations_bytes", "other_bytes", "total_bytes"):
            figure = figures[f"memory.stage{stage}.{part}"]
            assert figure.value == pytest.approx(sum(map(float, figure.inputs.values()))), part
    weights = figures["memory.stage0.weights_bytes"].inputs
    assert (weights["dense_shards"], weights["each_bytes"]) == ((2, 2) if zero == 3 else (1, 2))
    flops = figures["step.model_flops"].inputs
    assert float(flops["flops_per_token"]) * float(flops["tokens"]) == pytest.approx(totals.model_flops)
    bubble = dict(figures["step.bubble_s"].inputs)
    assert float(bubble.pop("time_s")) - sum(map(float, bubble.values())) == pytest.approx(totals.bubble_s)
    for name, seconds in totals.exposed_s.items():
        kinds = figures[f"step.exposed_s.{name}"].inputs
        assert sum(map(float, kinds.values())) == pytest.approx(seconds)
    assert {"pp.activation_s", "pp.gradient_s"} == figures["step.exposed_s.pp"].inputs.keys()


def test_what_is_often_said_wrongly_is_put_right_beside_the_number() -> None:
    # traffic_model §11
    figures = report_of(cluster(spec=job("parallel.tp=2"))).figures
    assert "backward 4" in figures["step.model_flops"].note
    assert "4 + 6" in figures["exchange.tp.forward.all-gather.sent_bytes_per_gpu_per_step"].note
    assert "megabytes" in figures["exchange.tp.forward.all-gather.message_bytes"].note
    assert "4 bytes" in figures["exchange.dp.gradient.reduce-scatter.message_bytes"].note
    sharded = report_of(cluster(spec=job("parallel.zero=3"))).figures
    assert "1.5 times" in sharded["exchange.dp.parameters.forward.sent_bytes_per_gpu_per_step"].note


def test_a_job_edit_keeps_the_compiled_fabric_and_a_topology_edit_does_not() -> None:
    document, cache = cluster(spec=job("parallel.tp=2")), AnalysisCache()
    stages: list[str] = []
    first = analyse(document, cache, stages.append).report
    assert [stage for stage in stages if "compiling" in stage] == ["compiling 11 devices"]
    assert "routing 4 GPUs" in stages
    stages.clear()
    SetJob(job("parallel.tp=1")).apply(document)
    second = analyse(document, cache, stages.append).report
    assert first is not None and second is not None
    assert second.fabric is first.fabric and not [stage for stage in stages if "compiling" in stage]
    changed(document, "link", "n0.k0-l", state=State.DOWN)
    third = analyse(document, cache).report
    assert third is not None and third.fabric is not first.fabric
    assert (third.fabric.capacity == 0).sum() == 1


def test_ports_are_looked_at_again_when_what_they_depend_on_changes() -> None:
    document, cache = cluster(), AnalysisCache()

    def ports() -> list[str]:
        return [f.title for f in analyse(document, cache).findings if f.id.startswith("ports")]

    assert not ports()
    changed(document, "link", "n0.k0-l", state=State.DOWN)
    assert not ports()
    changed(document, "link", "n0.k0-l", count=2)
    assert ports()
    changed(document, "link", "n0.k0-l", state=State.UP)
    assert ports()
    changed(document, "link", "n0.k0-l", count=1)
    assert not ports()


def test_a_gpu_model_that_the_catalogue_lacks_is_a_finding() -> None:
    analysis = analyse(changed(cluster(), "device", "n0.g0", model="tomorrow-1"))
    assert analysis.report is None
    assert any("tomorrow-1" in finding.detail for finding in analysis.findings)


def test_a_precision_that_the_gpu_lacks_is_a_finding() -> None:
    analysis = analyse(cluster(spec=job("precision=fp4")))
    assert analysis.report is None and not analysis.legal
    assert any("fp4" in finding.detail for finding in analysis.findings)


def test_a_world_that_names_nobody_is_a_finding() -> None:
    document = cluster(spec=job().model_copy(update={"world": ("nobody",)}))
    assert any("nobody" in finding.detail for finding in analyse(document).findings)


def test_a_stage_that_nobody_plays_does_not_stop_the_analysis() -> None:
    from model.placement.paint import Paint

    document = cluster(spec=job("parallel.pp=2"))
    document.paint = Paint({gpu: {"pp": 0} for gpu in ("n0.g0", "n0.g1", "n1.g0", "n1.g1")})
    analysis = analyse(document)
    assert analysis.report is not None
    assert np.isfinite(analysis.report.totals.time_s)
