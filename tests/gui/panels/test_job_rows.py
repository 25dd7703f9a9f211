"""What the job panel says, against the look's main picture: Mixtral 8×7B on 32 GPUs."""

from __future__ import annotations

import pytest

from gui.panels.job_rows import job_view
from gui.panels.placement_rows import BrushTable, group_count, stage_layers, unplaced, world_size
from model.job.spec import JobSpec, apply_set
from model.placement.grid import Grid
from model.placement.paint import Paint
from model.placement.resolve import resolve
from model.placement.types import Dimension
from model.step.report import StepReport
from model.traffic.domains import Spans, domain_spans
from tests.gui.panels.conftest import MIXTRAL, make_document


def mixtral_job(*changes: str) -> JobSpec:
    job = JobSpec()
    for setting in (*MIXTRAL, *changes):
        job = apply_set(job, setting)
    return job


NO_SPANS = Spans()


def rows(job: JobSpec, world: int = 32, spans: Spans = NO_SPANS) -> dict[str, tuple[str, str]]:
    return {row.name: (row.mark, row.text) for row in job_view(job, world, spans).sizes}


def test_legal_job_reads_as_in_the_picture() -> None:
    view = job_view(mixtral_job(), 32, NO_SPANS)
    found = rows(mixtral_job())
    assert found["tp"] == ("ok", "32 heads, 8 KV heads: 1 2 4 8 legal")
    assert rows(apply_set(mixtral_job(), "model=llama3-70b"), 1024)["tp"][1] == (
        "64 heads, 8 KV heads: 1 2 4 … 64"
    )
    assert found["pp"] == ("ok", "32 layers → 8 a stage")
    assert found["dp"] == ("ok", "derived: 32 GPUs ÷ (1 × 1 × 4)")
    assert found["ep"][0] == "ok" and found["ep"][1].startswith("8 experts: 1 2 4 8")
    assert view.verdict.text == "Legal: TP 1 × CP 1 × PP 4 × DP 8 = 32 GPUs"
    assert view.verdict.mark == "ok"
    assert view.model_text == "Mixtral 8x7B · 46.7 B, 12.9 B active"
    assert (view.microbatches, view.microbatch_text) == (16, "= 128 ÷ 8")


def test_a_group_over_several_domains_is_a_warning() -> None:
    assert rows(mixtral_job(), spans=Spans({"ep": 2}, "xGMI domain"))["ep"] == (
        "warning",
        "8 experts; spans 2 xGMI domains",
    )


def test_an_illegal_size_says_why_and_what_is_near() -> None:
    view = job_view(mixtral_job("parallel.tp=5"), 32, NO_SPANS)
    row = {one.name: one for one in view.sizes}["tp"]
    assert row.mark == "error"
    assert "32 attention heads are not a multiple of TP 5" in row.text
    assert row.value == 5
    assert view.verdict.mark == "error" and "32 GPUs are not a multiple" in view.verdict.text


def test_context_parallelism_names_what_it_divides() -> None:
    mark, text = rows(mixtral_job())["cp"]
    assert (mark, text) == ("ok", "off; 2 × CP must divide 4,096")
    assert rows(mixtral_job("parallel.cp=2"))["cp"] == ("ok", "of 4,096 tokens: 1 2 4 8 legal")


def test_no_gpus_and_an_unknown_model() -> None:
    view = job_view(mixtral_job(), 0, NO_SPANS)
    assert view.verdict.text == "No GPUs yet. Place some: the sizes fill themselves in and stay legal."
    view = job_view(mixtral_job("model=nobody"), 32, NO_SPANS)
    assert view.verdict.mark == "error" and "nobody" in view.verdict.text


def test_dense_model_has_no_experts_to_spread() -> None:
    job = apply_set(apply_set(mixtral_job(), "model=llama3-8b"), "parallel.ep=1")
    assert rows(job)["ep"] == ("off", "this model has no experts")


def test_spans_of_the_small_drawing(report: StepReport) -> None:
    spans = domain_spans(report.fabric, report.placement)
    assert spans == Spans({"tp": 1, "cp": 1, "ep": 1}, "NVLink domain")


# --- placement ---


def test_brushes_of_stages() -> None:
    """8 GPUs, tp 2 × pp 2 × dp 2 in Megatron order: stage 0 is ranks 0–3."""
    grid = Grid(tp=2, cp=1, ep=1, etp=1, pp=2, dp=2)
    gpus = tuple(f"node{n}.gpu{k}" for n in range(2) for k in range(4))
    placement = resolve(gpus, grid, Paint())
    table = BrushTable("pp", 2, placement, ("layers 0–15", "layers 16–31"))
    assert [table.brush(k).name for k in range(2)] == ["Stage 0", "Stage 1"]
    assert table.brush(1).holds == "layers 16–31"
    assert table.members(0) == gpus[:4]
    assert table.summary == "4 each"
    groups = BrushTable("tp", 4, placement)
    assert groups.brush(1).name == "TP 1" and groups.brush(1).holds == "node0"
    assert groups.members(1) == gpus[2:4]
    assert unplaced(placement) == ()


def test_brush_counts_follow_the_job() -> None:
    job = mixtral_job("parallel.tp=2")
    dimensions: tuple[Dimension, ...] = ("tp", "ep", "pp", "dp")
    counts = {dimension: group_count(job, 32, dimension) for dimension in dimensions}
    assert counts == {"tp": 16, "ep": 4, "pp": 4, "dp": 4}
    assert world_size(make_document(nodes=2)) == 16


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        (("parallel.pp=4",), ("layers 0–7", "layers 8–15", "layers 16–23", "layers 24–31")),
        (
            ("parallel.pp=4", "parallel.layers_per_stage=[7,9,16,0]"),
            ("layers 0–6", "layers 7–15", "layers 16–31", "no layer"),
        ),
        (("parallel.pp=2", "parallel.vpp=2"), ("16 in 2 chunks", "16 in 2 chunks")),
        (
            ("parallel.pp=2", "schedule=zb-v", "parallel.layers_per_stage=[7,9,15,1]"),
            ("8 in 2 chunks", "24 in 2 chunks"),
        ),
    ],
)
def test_layers_of_stages(settings: tuple[str, ...], texts: tuple[str, ...]) -> None:
    job = JobSpec()
    for setting in settings:
        job = apply_set(job, setting)
    assert stage_layers(32, job) == texts
