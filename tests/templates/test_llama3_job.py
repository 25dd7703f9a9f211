"""docs/llama3-fabric.md: what 7 : 1 above the pods costs Llama 3 405B, and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from benchmarks.llama3_fabric import Llama3Fabric, by_turns, in_order, shuffled

# Step and wait for PP in seconds, bytes above the pods in TB, highest use there: the table of the document.
ROWS: list[tuple[Callable[[], Sequence[int]], str, float, float, float, float]] = [
    (in_order, "dp", 6.69, 0.21, 29, 0.29),
    (in_order, "pp", 6.84, 0.40, 103, 1.0),
    (by_turns, "pp", 6.74, 0.22, 619, 1.0),
    (by_turns, "dp", 7.22, 0.79, 279, 1.0),
    (shuffled, "dp", 7.62, 1.09, 737, 1.0),
]


@pytest.fixture(scope="module")
def fabric() -> Llama3Fabric:
    return Llama3Fabric()


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "outermost", "step", "wait", "terabytes", "use"), ROWS)
def test_rows_of_the_document(
    fabric: Llama3Fabric,
    nodes: Callable[[], Sequence[int]],
    outermost: str,
    step: float,
    wait: float,
    terabytes: float,
    use: float,
) -> None:
    found = fabric.run(nodes, outermost)
    assert found.step_s == pytest.approx(step, rel=0.01)
    assert found.exposed_pp_s == pytest.approx(wait, rel=0.05)
    assert found.above_pods_bytes / 1e12 == pytest.approx(terabytes, rel=0.01)
    assert found.peak_utilisation == pytest.approx(use, abs=0.01)
    assert found.pod_peak_utilisation <= 0.501


@pytest.mark.slow
def test_the_crossings_of_rings_in_order(fabric: Llama3Fabric) -> None:
    """Reckoned by hand: 2,048 nodes in order touch 6 pods, so each of the 128 rings (TP 8 × PP 16) crosses 6
    borders (5, and back), over two links each (up and down). A hop of reduce-scatter (4 bytes a gradient) and
    all-gather (2) carries 127/128 of 6 bytes a parameter, and the rings' parameters are the whole model's."""
    parameters = 405_853_388_800
    expected = 6 * 2 * 6 * parameters * 127 / 128
    # Norms are on every TP rank, and the vocabulary is padded: 0.1 % more.
    assert fabric.run(in_order, "dp").above_pods_bytes == pytest.approx(expected, rel=2e-3)


@pytest.mark.slow
def test_without_oversubscription_the_order_does_not_matter() -> None:
    fabric = Llama3Fabric(oversubscription=1.0)
    steps = [fabric.run(nodes, outermost).step_s for nodes, outermost, *_ in ROWS]
    assert max(steps) == pytest.approx(min(steps), rel=1e-6)
