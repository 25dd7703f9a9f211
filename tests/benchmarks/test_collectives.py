"""NCCL's model by its worked examples, our rule beside it, and the page of tables."""

from __future__ import annotations

import pytest

from benchmarks.collectives import (
    PAGE,
    corner_fraction,
    corner_table,
    measured_rows,
    measured_table,
    our_busbw,
    worked_table,
)
from benchmarks.collectives_nccl import nvls_estimate, ring_estimate, tree_estimate
from benchmarks.collectives_page import markdown, with_tables
from model.job.exchange import Operation

REDUCE, GATHER, SCATTER = Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER
TENSOR = 134_217_728


def test_t3_of_the_nccl_model() -> None:
    """T3: ring 56.0 + 652.4 = 708.4 µs, all-gather 32.2 + 326.2 = 358.4 µs, NVLS 25 + 409.4 = 434.4 µs."""
    ring = ring_estimate(REDUCE, TENSOR, members=8, nodes=1, busbw=360e9)
    gather = ring_estimate(GATHER, TENSOR, members=8, nodes=1, busbw=360e9)
    nvls = nvls_estimate(TENSOR, members=8, channels=16, intra=360e9, generation="hopper")
    found = [(one.latency_s * 1e6, one.bytes_s * 1e6, one.time_s * 1e6) for one in (ring, gather, nvls)]
    expected = [(56.0, 652.4, 708.4), (32.2, 326.2, 358.4), (25.0, 409.4, 434.4)]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=0.06)


def test_t5_of_the_nccl_model() -> None:
    """T5: 48.5 GB/s, one GPU a node: reduce-scatter 0.1714 s, 442 µs of it latency; bf16 all-reduce 0.1722 s,
    1.227 ms of it latency (1.4 times)."""
    fp32 = 4 * 2_139_422_720
    scatter = ring_estimate(SCATTER, fp32, members=32, nodes=32, busbw=48.5e9)
    assert scatter.latency_s == pytest.approx(442.4e-6)
    assert scatter.time_s == pytest.approx(0.1714, abs=5e-5)
    reduce = ring_estimate(REDUCE, fp32 / 2, members=32, nodes=32, busbw=48.5e9)
    assert reduce.latency_s == pytest.approx(1.227e-3, abs=1e-6)
    assert reduce.time_s == pytest.approx(0.1722, abs=5e-5)


def test_the_latency_of_a_small_all_reduce_is_not_stretched() -> None:
    """The 1.4 holds from 64 bytes a channel and member on: two nodes of 8, 8.4 + 28·3.4 + 2·14 µs."""
    plain = 8.4e-6 + 28 * 3.4e-6 + 2 * 14e-6
    small = ring_estimate(REDUCE, 64 * 16 - 1, members=16, nodes=2, busbw=360e9)
    large = ring_estimate(REDUCE, 64 * 16, members=16, nodes=2, busbw=360e9)
    assert (small.latency_s, large.latency_s) == pytest.approx((plain, 1.4 * plain))


def test_a_tree_climbs_once_per_doubling_of_nodes() -> None:
    """8.4 + 2·(7·4 + log2(M)·14) µs; busbw × 0.92, algbw half of it."""
    for nodes, levels in ((1, 0), (2, 1), (8, 3), (128, 7)):
        tree = tree_estimate(1e9, members=8 * nodes, nodes=nodes, busbw=360e9)
        assert tree.latency_s == pytest.approx((8.4 + 2 * (7 * 4 + levels * 14)) * 1e-6)
        assert tree.bytes_s == pytest.approx(1e9 / (0.46 * 360e9))


def test_our_rings_come_within_six_per_cent_of_measured_bus_bandwidths_on_nvlink() -> None:
    rings = [item for item in measured_rows() if item.algorithm == "ring"]
    assert len(rings) == 6
    for item in rings:
        assert our_busbw(item)[0] / 1e9 == pytest.approx(item.busbw[0], rel=0.06)


def test_one_gib_over_128_nodes_has_the_fraction_that_latency_alone_gives() -> None:
    """By hand: α = 8.4 + (2046 − 254)·3.4 + 254·14 = 9,657.2 µs; 2·1023/1024·2³⁰ B over NVLink at 370.8 GB/s
    take 5,785.8 µs; of 400 GB/s that is 0.347, where 0.315 was measured."""
    size = 2.0**30
    alpha, wire = (8.4 + 1792 * 3.4 + 254 * 14) * 1e-6, 2 * 1023 / 1024 * size
    assert corner_fraction(128, size) == pytest.approx(wire / (alpha + wire / 370.8e9) / 400e9, rel=1e-6)
    assert corner_fraction(128, size) == pytest.approx(0.347, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "make"), [("worked", worked_table), ("measured", measured_table), ("corners", corner_table)]
)
def test_the_page_shows_what_the_script_computes(name: str, make: object) -> None:
    """`python -m benchmarks.collectives` writes the tables anew."""
    assert callable(make)
    assert markdown(make()) in PAGE.read_text("utf-8")


def test_a_table_goes_between_its_marks_and_nowhere_else() -> None:
    text = "a\n<!-- table t -->\nold\n<!-- end t -->\nb"
    made = with_tables(text, {"t": [["x", "y"], ["1", "2"]]})
    assert made == "a\n<!-- table t -->\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n<!-- end t -->\nb"
    assert with_tables(made, {"t": [["x", "y"], ["1", "2"]]}) == made
    with pytest.raises(ValueError, match="0 places for the table u"):
        with_tables(text, {"u": [["x"]]})
