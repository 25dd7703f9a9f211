"""The Qt-free view models, with numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gui.panels.findings_rows import cost_text, counts, detail_text, ordered, short_title, targets
from gui.panels.job_as_of import as_of_text
from gui.panels.memory_rows import bytes_per_parameter, memory_bars
from gui.panels.timeline_rows import (
    Piece,
    axis_ticks,
    label_text,
    lane_arrays,
    lane_columns,
)
from gui.panels.traffic_groups import in_plain_words
from gui.panels.traffic_groups_rows import devices_of_exchange, group_rows, links_of_exchange
from gui.panels.traffic_links_rows import (
    LinkLoad,
    LinkOrder,
    LinkTable,
    direction_name,
    load_at,
    stage_text,
    state_at,
)
from gui.panels.traffic_matrix_rows import LEVELS, blocks_of, heat_levels, heat_table, matrix_view
from gui.panels.traffic_plot_rows import Curve, link_curve, thinned
from model.analysis import analyse
from model.document.start import document_from
from model.job.memory import StageMemory
from model.job.spec import JobSpec, apply_set
from model.step.report import Block, BlockKind, Finding, Lane, Segments, Severity, StepReport
from tests.gui.panels.conftest import make_document
from topology_templates.registry import build

# --- links ---


def with_two_segments(report: StepReport, directed: int) -> StepReport:
    """From 1 s to 2 s half the usable rate, and twice the capacity offered; idle to 3 s; nothing else."""
    link, links = directed // 2, 2 * len(report.fabric.link_ids)
    rates, offered = np.zeros((2, links), np.float32), np.zeros((2, links), np.float32)
    rates[0, directed] = 0.5 * report.fabric.usable[link]
    offered[0, directed] = 2.0 * report.fabric.capacity[link]
    segments = Segments(
        start_s=np.array([1.0, 2.0]),
        end_s=np.array([2.0, 3.0]),
        state=np.array([0, 1], np.int32),
        rates=rates,
        offered=offered,
        active=((0,), ()),
    )
    return replace(report, segments=segments, totals=replace(report.totals, time_s=4.0))


def test_load_of_a_moment(report: StepReport) -> None:
    made = with_two_segments(report, 6)
    assert load_at(made, 6, 1.5).utilisation == pytest.approx(0.5)
    assert load_at(made, 6, 1.5).offered == pytest.approx(2.0)
    assert load_at(made, 6, 2.5) == LinkLoad(0.0, 0.0)
    assert load_at(made, 7, 1.5) == LinkLoad(0.0, 0.0)
    assert (state_at(made, 0.5), state_at(made, 1.0), state_at(made, 3.5)) == (None, 0, None)


def test_words_of_a_load() -> None:
    assert LinkLoad(1.0, 1.5).text(now=True) == "1.50×"
    assert LinkLoad(1.0, 12.0).text(now=True) == "12.00×"
    assert LinkLoad(0.53, 0.8).text(now=True) == "53.0 %"
    assert LinkLoad(0.0, 0.0).text(now=True) == "idle now"
    assert not LinkLoad(1.0, 1.0 + 1e-9).oversubscribed


def test_curve_covers_the_step_without_a_hole(report: StepReport) -> None:
    curve = link_curve(with_two_segments(report, 6), 6)
    assert curve.edges_s.tolist() == [0.0, 1.0, 2.0, 4.0]
    assert curve.percent == pytest.approx([0.0, 50.0, 0.0])
    assert curve.offered_percent == pytest.approx([100.0, 200.0, 100.0])
    assert curve.oversubscribed


def test_curve_adds_up_to_the_bytes_of_the_link(report: StepReport) -> None:
    directed = int(np.argmax(report.cost_s))
    curve = link_curve(report, directed)
    usable = report.fabric.usable[directed // 2]
    sent = float((curve.percent / 100 * np.diff(curve.edges_s)).sum() * usable)
    total = sum(float(part[directed]) for part in report.bytes_by_dimension.values())
    assert sent == pytest.approx(total, rel=1e-4)  # rates are kept in single precision


def test_thinning_keeps_mean_and_highest_value_of_each_step() -> None:
    values = np.zeros(1000)
    values[[7, 503]] = (80.0, 150.0)
    curve = Curve(np.linspace(0.0, 10.0, 1001), np.minimum(values, 100.0), np.maximum(values, 100.0))
    thin = thinned(curve, 0.0, 10.0, 100)
    assert len(thin.percent) == 100
    assert np.flatnonzero(thin.percent).tolist() == [0, 50]
    # Each step holds ten values: one of 80 (100) among zeros is 8 (10) in the mean.
    assert thin.percent[[0, 50]] == pytest.approx([8.0, 10.0])
    assert thin.highest is not None and thin.highest_offered is not None
    assert thin.highest[[0, 50]] == pytest.approx([80.0, 100.0]) and thin.highest_offered.max() == 150.0
    assert thin.oversubscribed
    uneven = thinned(Curve(np.array([0.0, 1.0, 4.0]), np.array([100.0, 0.0]), np.full(2, 100.0)), 0.0, 4.0, 1)
    assert uneven.percent == pytest.approx([25.0])  # 100 for one of four seconds
    near = thinned(curve, 5.0, 5.1, 100)
    assert near.edges_s[0] <= 5.0 and near.edges_s[-1] >= 5.1 and near.percent.max() == 100.0
    assert len(near.percent) <= 12


def test_link_table_holds_every_loaded_direction_once(report: StepReport) -> None:
    table = LinkTable(report)
    members = np.concatenate([table.members(row) for row in range(len(table))])
    loaded = np.flatnonzero(sum(report.bytes_by_dimension.values()) > 0)
    assert sorted(members.tolist()) == loaded.tolist()
    costs = [table.cost_s(row) for row in range(len(table))]
    assert costs == sorted(costs, reverse=True)
    for row in range(len(table)):
        assert report.cost_s[table.members(row)] == pytest.approx(table.cost_s(row), rel=1e-3)


def test_equal_links_share_a_row(report: StepReport) -> None:
    """The 8 GPUs of stage 0 have one bundle each to the first NVLink switch of their node: one row."""
    table = LinkTable(report)
    link = report.fabric.link_ids.index("node00.gpu0--node00.nvs0")
    row = table.row_of(link)
    assert row is not None
    same_host = {name for name in table.link_ids(row) if name.startswith("node00.gpu")}
    assert {f"node00.gpu{k}--node00.nvs0" for k in range(8)} <= same_host
    assert table.count(row) == len(table.members(row)) >= 8


def test_orders_of_the_links(report: StepReport) -> None:
    table = LinkTable(report, LinkOrder.BYTES)
    amounts = [float(table.total_bytes[table.directed(row)]) for row in range(len(table))]
    assert amounts == sorted(amounts, reverse=True)
    table.sort(LinkOrder.NAME)
    names = [table.title(row) for row in range(len(table))]
    assert names == sorted(names)


def test_names_and_flows_of_a_link(report: StepReport) -> None:
    link = report.fabric.link_ids.index("node00.gpu0--node00.nvs0")
    assert direction_name(report, 2 * link) == "node00.gpu0 → nvs0"
    assert direction_name(report, 2 * link + 1) == "node00.nvs0 → gpu0"
    table = LinkTable(report)
    row = next(row for row in range(len(table)) if table.title(row).startswith("leaf"))
    assert "stage" in table.flows(row)
    assert stage_text([1, 3]) == "stages 1, 3"
    assert stage_text([0, 1, 2, 3]) == "4 stages"


# --- groups ---


def test_groups_count_a_step_a_second_and_an_hour(report: StepReport) -> None:
    rows = group_rows(report)
    assert len(rows) == len(report.exchanges)
    dispatch = next(row for row in rows if row.kind == "ep.dispatch")
    # One all-to-all a layer and microbatch: 8 layers a stage × 16 microbatches; 2 experts of each of 4,096
    # tokens of 4,096 values in 2 bytes.
    assert dispatch.times_a_step == 8 * 16
    assert dispatch.message_bytes == 2 * 4096 * 4096 * 2
    assert dispatch.group_size == 8
    assert dispatch.group_count == 4
    assert dispatch.times_a_second == pytest.approx(128 / report.totals.time_s)
    assert dispatch.times_an_hour == pytest.approx(3600 * 128 / report.totals.time_s)
    assert dispatch.title == "EP dispatch"
    assert dispatch.blocking
    assert dispatch.how_often.startswith("67.1 MB × 128 a step")
    # 7 of 8 parts of each of 128 messages leave the GPU.
    assert dispatch.sent_bytes_per_gpu == pytest.approx(128 * dispatch.message_bytes * 7 / 8)
    seldom = replace(
        dispatch, sent_bytes_per_gpu=1e9, times_a_step=1, times_a_second=1 / 36.0, times_an_hour=100.0
    )
    assert seldom.how_often == "67.1 MB × 1 a step · once in 36.0 s · 100/hour"
    assert seldom.how_much == "GPU sends 1.00 GB a step · 27.8 MB/s · 100 GB/hour"
    assert dispatch.how_much.startswith("GPU sends 7.52 GB a step · ")
    assert dispatch.id not in dispatch.hover and "EP dispatch" in dispatch.hover
    figure = report.figures[f"exchange.{dispatch.id}.time_s"]
    assert "time_factor" in figure.inputs and "time_factor" not in in_plain_words(figure, dispatch).inputs
    message = in_plain_words(report.figures[f"exchange.{dispatch.id}.message_bytes"], dispatch)
    assert message.formula == "the whole tensor of one all-to-all of EP dispatch"
    exposed = [row.exposed_s for row in rows]
    assert exposed == sorted(exposed, reverse=True)


def test_links_of_an_exchange_are_those_with_its_bytes(report: StepReport) -> None:
    rows = {row.kind: row for row in group_rows(report)}
    inside = links_of_exchange(report, rows["ep.dispatch"].exchange)
    assert inside and all("--node" in name and ".nvs" in name for name in inside)  # EP 8 stays in the node
    across = links_of_exchange(report, rows["pp.activation"].exchange)
    assert any("leaf" in name for name in across)
    assert len(devices_of_exchange(report, rows["ep.dispatch"].exchange)) == 32


# --- matrix ---


def test_heat_is_logarithmic_and_zero_apart() -> None:
    levels = heat_levels(np.array([[0.0, 1.0], [10.0, 100.0]]))
    assert levels.tolist() == [[0, 1], [33, LEVELS]]  # 10 is half way between 1 and 100
    assert heat_levels(np.zeros((2, 2))).tolist() == [[0, 0], [0, 0]]
    table = heat_table((0xFFFFFFFF, 0xFF000010, 0xFF000020, 0xFF000030, 0xFF000040))
    assert table[0] == 0xFFFFFFFF and table[1] == 0xFF000010 and table[LEVELS] == 0xFF000040


def test_long_host_names_lose_what_they_share(report: StepReport) -> None:
    view = replace(matrix_view(report), blocks=(("cluster-node007", 0, 16), ("cluster-node011", 16, 32)))
    assert view.short_blocks(7) == (("007", 0, 16), ("011", 16, 32))
    assert matrix_view(report).short_blocks(7)[0][0] == "node00"


def test_matrix_groups_gpus_by_host(report: StepReport) -> None:
    view = matrix_view(report)
    assert view.blocks == tuple((f"node{n:02}", 8 * n, 8 * n + 8) for n in range(4))
    assert view.cuts == (8, 16, 24)
    assert blocks_of(("a", "b")) == (("a", 0, 1), ("b", 1, 2))
    assert view.matrix.sum() == pytest.approx(sum(view.by_dimension.values()))


# --- timeline ---

LANE = Lane(
    stage=1,
    replica=0,
    replicas=8,
    blocks=(
        Block(0.0, 4.0, BlockKind.FORWARD, microbatch=0, exposed_s=1.0),
        Block(5.0, 9.0, BlockKind.BACKWARD, microbatch=0),
        Block(9.0, 9.5, BlockKind.GRADIENT_SYNC, exposed_s=0.5),
        Block(9.5, 9.6, BlockKind.OPTIMIZER),
    ),
)


def test_lane_is_cut_into_pieces_without_a_hole() -> None:
    lane = lane_arrays(LANE, 10.0)
    assert lane.edges == pytest.approx([0, 3, 4, 5, 9, 9.5, 9.6, 10])
    assert [Piece(one) for one in lane.piece] == [
        Piece.FORWARD,
        Piece.EXPOSED,
        Piece.BUBBLE,
        Piece.BACKWARD,
        Piece.DP_SYNC,
        Piece.OPTIMIZER,
        Piece.BUBBLE,
    ]
    assert lane.label.tolist() == [0, 0]
    assert lane.label_end == pytest.approx([3.0, 9.0])  # the number stands in the compute part


def test_chunks_and_weight_gradients_are_told_apart() -> None:
    blocks = (
        Block(0.0, 2.0, BlockKind.FORWARD, microbatch=3, chunk=0),
        Block(2.0, 4.0, BlockKind.FORWARD, microbatch=3, exposed_s=0.5, chunk=1),
        Block(4.0, 6.0, BlockKind.WEIGHT_GRADIENT, microbatch=1, chunk=1),
    )
    lane = lane_arrays(Lane(0, 0, 1, blocks), 6.0)
    assert [Piece(one) for one in lane.piece] == [
        Piece.FORWARD,
        Piece.FORWARD,
        Piece.EXPOSED,
        Piece.WEIGHT,
    ]
    assert lane.band.tolist() == [False, True, False, True]
    assert lane.label_chunk.tolist() == [0, 1, 1]
    columns = lane_columns(lane, 0.0, 6.0, 60)
    assert not columns.band[:20].any() and columns.band[20:35].all() and not columns.band[35:40].any()
    assert label_text(3, 1, both_ways=False) == "3₁" and label_text(3, -1, both_ways=False) == "3"
    assert (label_text(3, 0, both_ways=True), label_text(8, 1, both_ways=True)) == ("3↓", "8↑")


def test_columns_show_wide_pieces_whole() -> None:
    columns = lane_columns(lane_arrays(LANE, 10.0), 0.0, 9.0, 90)
    assert not columns.lumped.any()
    assert (columns.piece[:30] == Piece.FORWARD).all()
    assert (columns.piece[30:40] == Piece.EXPOSED).all()
    assert np.flatnonzero(columns.first).tolist() == [0, 30, 40, 50]


def test_pieces_below_two_pixels_are_lumped_and_keep_their_share() -> None:
    """500 × (1 s forward, 0.5 s exposed, 0.5 s bubble) in 100 columns: each column 1/2, 1/4, 1/4."""
    blocks = tuple(
        Block(2.0 * k, 2.0 * k + 1.5, BlockKind.FORWARD, microbatch=k, exposed_s=0.5) for k in range(500)
    )
    lane = lane_arrays(Lane(0, 0, 1, blocks), 1000.0)
    columns = lane_columns(lane, 0.0, 1000.0, 100)
    assert columns.lumped.all()
    assert columns.shares[:, Piece.FORWARD] == pytest.approx(0.5)
    assert columns.shares[:, Piece.EXPOSED] == pytest.approx(0.25)
    assert columns.shares[:, Piece.BUBBLE] == pytest.approx(0.25)
    # Of the whole lane: 500 s forward, 250 s exposed, 250 s bubble.
    assert lane.cumulated[-1][[Piece.FORWARD, Piece.EXPOSED, Piece.BUBBLE]] == pytest.approx([500, 250, 250])


def test_ticks_are_round() -> None:
    ticks, decimals, unit = axis_ticks(2.45, 4.14, 8)
    assert ticks == pytest.approx((2.6, 2.8, 3.0, 3.2, 3.4, 3.6, 3.8, 4.0)) or ticks[0] == pytest.approx(2.5)
    assert unit == 1.0 and decimals >= 1
    ticks, decimals, unit = axis_ticks(0.0, 0.01, 5)
    assert ticks == pytest.approx((0.0, 0.002, 0.004, 0.006, 0.008, 0.01))
    assert (decimals, unit) == (0, 1e-3)


# --- memory ---


def stage(number: int, state: float, activations: float) -> StageMemory:
    return StageMemory(number, state, 0.0, 0.0, activations, 0.0, 80e9)


def test_memory_bars_merge_equal_stages_and_say_what_does_not_fit() -> None:
    """The look's example: stage 0 needs 87.7 of 80 GB, 19.4 GB state and 68.2 GB activations."""
    bars = memory_bars([stage(0, 19.43e9, 68.25e9), stage(1, 30e9, 20e9), stage(2, 30e9, 20e9)])
    assert [bar.name for bar in bars] == ["Stage 0", "Stages 1–2"]
    assert bars[0].text == "87.7 of 80.0 GB"
    assert bars[0].overflows and bars[0].verdict == "7.68 GB too much"
    assert not bars[1].overflows and not bars[1].tight
    tight = memory_bars([stage(0, 74e9, 0.0)])[0]
    assert tight.tight and tight.verdict == "92.5 %: above the 92.0 % line"


@pytest.mark.parametrize(
    ("settings", "replicas", "text"),
    [
        (("parallel.zero=0",), 32, "18 B a parameter"),  # T4
        (("parallel.zero=1",), 32, "6 + 12/32 B a parameter"),  # T4
        (("parallel.zero=3",), 32, "18/32 B a parameter"),
        (("parallel.zero=1",), 1, "18 B a parameter"),
        (("parallel.zero=1", "precision=fp32"), 8, "8 + 8/8 B a parameter"),  # traffic_model §2.1
    ],
)
def test_bytes_a_parameter(settings: tuple[str, ...], replicas: int, text: str) -> None:
    job = JobSpec()
    for setting in settings:
        job = apply_set(job, setting)
    assert bytes_per_parameter(job, replicas, 0).startswith(text + ":")


# --- findings ---


def test_findings_worst_first() -> None:
    found = (
        Finding("a", Severity.INFO, "note", "", cost_s=9.0),
        Finding("b", Severity.WARNING, "cheap", "why", cost_s=0.1, fix="do this"),
        Finding("c", Severity.WARNING, "dear", "", cost_s=0.5, links=("l",), devices=("d",)),
        Finding("d", Severity.ERROR, "x" * 60, ""),
    )
    rows = ordered(found)
    assert [finding.id for finding in rows] == ["d", "c", "b", "a"]
    assert counts(found) == {Severity.ERROR: 1, Severity.WARNING: 2, Severity.INFO: 1}
    assert len(short_title(rows[0])) == 45 and short_title(rows[0]).endswith("…")
    assert cost_text(rows[0]) == "error" and cost_text(rows[1]) == "500 ms"
    assert detail_text(rows[2]) == "why do this"
    assert targets(rows[1]) == ("d", "l")


# --- an older report ---


def test_as_of_names_what_the_report_is_of() -> None:
    job = apply_set(JobSpec(), "parallel.tp=8")
    assert as_of_text(job.to_json(), apply_set(job, "parallel.tp=5")) == "as of TP 8"
    assert as_of_text(job.to_json(), apply_set(job, "global_batch=1000")) == "as of batch 1024"
    assert as_of_text(job.to_json(), job) == ""


def test_groups_say_what_fell_back_and_how_hashing_went() -> None:
    """EP 2 over two nodes of 8: a ring is asked for an all-to-all, and flows cross the spines by hashing."""
    found = analyse(
        make_document(
            "model=mixtral-8x7b", "parallel.tp=8", "parallel.ep=2", "parallel.order=tp-cp-ep-dp-pp",
            "global_batch=32", "sequence_length=4096", "collectives.dp=tree", "routing.policy=hashed",
            "recompute=full", nodes=16, fabric="tor",
        )
    ).report  # fmt: skip
    assert found is not None
    rows = group_rows(found)
    fallen = [row for row in rows if row.dimension == "dp" and row.operation != "all-reduce"]
    assert fallen and all("tree is for all-reduce only" in row.remark for row in fallen)
    assert all(remark in row.hover for row in rows for remark in row.remarks)
    tiers = {tier.exchange_id: tier for tier in found.traffic.ecmp}
    assert tiers
    for row in rows:
        assert ("hashed leaf → spine" in row.remark) == (row.id in tiers)
    tier = next(iter(tiers.values()))
    row = next(row for row in rows if row.id == tier.exchange_id)
    assert f"worst cable {tier.drawn:.2f}× even, {tier.expected:.2f}× expected" in row.remark


def test_names_of_links_leave_out_what_goes_without_saying() -> None:
    rack = build("gb200-nvl72", {"racks": 1})
    document = document_from(rack)
    document.job = apply_set(document.job, "parallel.tp=4")
    found = analyse(document).report
    assert found is not None
    table = LinkTable(found)
    titles = {table.title(row) for row in range(len(table))}
    assert titles and not any("rack01" in title for title in titles)
    assert any(title.startswith("tray01.gpu0 → nvsw") for title in titles)
