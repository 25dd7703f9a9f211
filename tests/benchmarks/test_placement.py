"""What the page on placement says, on smaller clusters and by hand."""

from __future__ import annotations

import pytest

from benchmarks.collectives_page import markdown
from benchmarks.placement import (
    BUFFER,
    PAGE,
    TENSOR,
    expert_cases,
    expert_group_table,
    llama_cases,
    nic_bytes,
    tensor_table,
)
from model.step.report import StepReport


@pytest.fixture(scope="module")
def llama() -> dict[str, StepReport]:
    """The Llama cases on 128 GPUs."""
    return {case.name: case.report() for case in llama_cases(128)}


@pytest.fixture(scope="module")
def experts() -> dict[str, StepReport]:
    """The expert cases with 4 stages of 64 and 8 microbatches."""
    return {case.name: case.report() for case in expert_cases(4, 8)}


def layer_bytes(report: StepReport) -> float:
    """Bytes that leave a GPU of a middle stage for TP of its layers."""
    return sum(
        float(report.traffic.sent_bytes_per_gpu[number])
        for number, one in enumerate(report.exchanges)
        if one.kind in ("tp.forward", "tp.backward") and 1 in one.stages
    )


def test_the_tensor_is_that_of_the_job(llama: dict[str, StepReport]) -> None:
    for report in llama.values():
        sizes = {one.message_bytes for one in report.exchanges if one.kind in ("tp.forward", "tp.backward")}
        assert sizes == {TENSOR}


def test_tp_across_nodes_puts_the_same_bytes_on_nics(llama: dict[str, StepReport]) -> None:
    """20 layers × 10 operations × 256 microbatches (batch 1,024 over 4 replicas) × 7/8 of the tensor."""
    inside, across = llama["H100: TP 8 in a node"], llama["H100: TP 8, one GPU in each of 8 nodes"]
    wire = 20 * 10 * 256 * 7 / 8 * TENSOR
    assert layer_bytes(inside) == pytest.approx(wire, rel=1e-12)
    assert layer_bytes(across) == pytest.approx(wire, rel=1e-12)
    assert nic_bytes(inside)["tp"].max() == 0
    assert nic_bytes(across)["tp"].min() == pytest.approx(wire, rel=0.02)
    assert len(nic_bytes(across)["tp"]) == 128


def test_tp_across_nodes_shows_more_than_in_them_and_most_with_one_gpu_a_node(
    llama: dict[str, StepReport],
) -> None:
    shown = {name: report.totals.exposed_s["tp"] for name, report in llama.items()}
    inside, across = shown["H100: TP 8 in a node"], shown["H100: TP 8, one GPU in each of 8 nodes"]
    assert inside < shown["H100: TP 16 over 2 nodes"] < across
    # What shows in the node is at least the 4 operations of each forward, and at most all 10.
    once = (8.4 + 7 * 3.4) * 1e-6 + 7 / 8 * TENSOR / 370.8e9
    assert 20 * 4 * 256 * once < inside < 20 * 10 * 256 * once * 1.05
    # Across, nothing hides for long: between 7 and 10 times as much.
    assert 7 < across / inside < 10
    seconds = {name: report.totals.time_s for name, report in llama.items()}
    assert seconds["H100: TP 8, one GPU in each of 8 nodes"] > 1.8 * seconds["H100: TP 8 in a node"]


def test_a_rack_gives_tp_8_nothing_and_tp_16_much(llama: dict[str, StepReport]) -> None:
    shown = {name: report.totals.exposed_s["tp"] for name, report in llama.items()}
    assert shown["GB200 NVL72, 64 of each rack: TP 8"] == pytest.approx(
        shown["B200: TP 8 in a node"], rel=0.1
    )
    assert shown["GB200 NVL72, 64 of each rack: TP 16"] < 0.65 * shown["B200: TP 16 over 2 nodes"]
    for name in ("GB200 NVL72, 64 of each rack: TP 8", "GB200 NVL72, 64 of each rack: TP 16"):
        assert nic_bytes(llama[name])["tp"].max() == 0


def test_expert_bytes_on_nics(experts: dict[str, StepReport]) -> None:
    """HGX: 7/8 of each buffer; 6 all-to-alls (2 forward, 2 again, 2 backward) × 58 MoE layers ÷ 4 stages × 8.

    In rack order groups 0 to 3 have 64, 8 + 56, 16 + 48, 24 + 40 GPUs in their racks; a and b GPUs exchange
    2 · a · b pieces of 1/64 of a buffer.
    """
    nodes = experts["HGX H100"]
    assert nic_bytes(nodes)["ep"].sum() == pytest.approx(256 * 6 * 58 / 4 * 8 * 7 / 8 * BUFFER, rel=1e-12)
    assert nic_bytes(experts["GB200 NVL72, 64 of each rack"])["ep"].sum() == 0
    layers = (16 - 3, 15, 15, 15)  # the first three of 61 are dense
    crossing = sum(
        6 * 8 * count * 2 * a * (64 - a) * BUFFER / 64
        for count, a in zip(layers, (64, 8, 16, 24), strict=True)
    )
    ordered = nic_bytes(experts["GB200 NVL72, 72 in rack order"])["ep"]
    assert ordered.sum() == pytest.approx(crossing, rel=1e-12)
    # Of the group 8 + 56 a NIC of the smaller side sends 56/64 of every buffer.
    assert ordered.max() == pytest.approx(6 * 8 * 15 * 56 / 64 * BUFFER, rel=1e-12)


def test_experts_across_racks_wait_like_experts_across_nodes(
    experts: dict[str, StepReport],
) -> None:
    step = {name: report.totals.time_s for name, report in experts.items()}
    shown = {name: report.totals.exposed_s["ep"] for name, report in experts.items()}
    within, ordered = "GB200 NVL72, 64 of each rack", "GB200 NVL72, 72 in rack order"
    assert step[within] < step[ordered] < step["HGX B200"] < step["HGX H100"]
    assert shown["HGX B200"] == pytest.approx(shown["HGX H100"], rel=0.01)
    # 644 µs of each all-to-all in a rack against 8,489 µs over nodes.
    assert shown["HGX H100"] / shown[within] == pytest.approx(8489 / 644, rel=0.02)


def test_the_page_shows_what_the_script_computes() -> None:
    """The tables in which no GPU computes; `python -m benchmarks.placement` writes all of them."""
    text = PAGE.read_text("utf-8")
    assert markdown(tensor_table()) in text
    assert markdown(expert_group_table()) in text
