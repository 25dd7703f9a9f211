"""Align, distribute and tidy on small drawings; coordinates worked out by hand from the footprints."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.document.arrange import Axis, Edge, align, blocks, distribute, tidy
from model.document.document import Document
from model.document.start import document_from
from model.errors import EditRefused
from model.topology.footprint import FOOTPRINT
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind
from topology_templates.registry import build

GPU, LEAF = DeviceKind.GPU, DeviceKind.LEAF


def drawing() -> Document:
    """A GPU (36 × 70), a leaf (140 × 46) and a tray with two GPUs."""
    devices = (
        Device("g", GPU, "h100-sxm"),
        Device("leaf", LEAF, "qm9700"),
        Device("t.a", GPU, "h100-sxm", parent="t"),
        Device("t.b", GPU, "h100-sxm", parent="t"),
    )
    layout = {"g": (0.0, 0.0), "leaf": (200.0, 100.0), "t.a": (500.0, 300.0), "t.b": (540.0, 300.0)}
    return Document(Topology(devices, (), (Container("t", ContainerKind.TRAY),)), layout=layout)


@pytest.mark.parametrize(
    ("edge", "leaf", "inside"),
    [
        # Left edges: the GPU's at −18; the leaf is 140 wide, the tray begins 12 left of its first GPU.
        (Edge.LEFT, (52.0, 100.0), (12.0, 300.0)),
        (Edge.TOP, (200.0, -12.0), (500.0, 42.0)),
        # All together span x from −18 to 540 + 18 + 12 = 570: the middle is 276, and that of the tray 520.
        (Edge.CENTRE, (276.0, 100.0), (256.0, 300.0)),
    ],
)
def test_align_moves_a_container_as_one(
    edge: Edge, leaf: tuple[float, float], inside: tuple[float, float]
) -> None:
    document = drawing()
    undo = align(document, ("g", "leaf", "t"), edge).edit.apply(document)
    assert document.layout["leaf"] == leaf and document.layout["t.a"] == inside
    assert document.layout["t.b"][0] - document.layout["t.a"][0] == 40.0
    undo.apply(document)
    assert document.layout == drawing().layout


@given(
    st.lists(st.tuples(st.integers(-900, 900), st.integers(-900, 900)), min_size=3, max_size=9),
    st.sampled_from(Axis),
)
def test_gaps_are_equal_and_the_outer_two_stay(places: list[tuple[int, int]], axis: Axis) -> None:
    kinds = [(GPU, LEAF)[number % 2] for number in range(len(places))]
    devices = [Device(f"d{number}", kind, "x") for number, kind in enumerate(kinds)]
    layout = {f"d{number}": (float(x), float(y)) for number, (x, y) in enumerate(places)}
    document = Document(Topology(devices), layout=layout)
    ids = [device.id for device in devices]
    before = sorted(sum(block.span(axis)) for block in blocks(document, ids))
    distribute(document, ids, axis).edit.apply(document)
    after = sorted((block.span(axis) for block in blocks(document, ids)), key=sum)
    gaps = [second[0] - first[1] for first, second in pairwise(after)]
    assert max(gaps) - min(gaps) < 1e-6
    assert min(low for low, _ in after) == pytest.approx(min(after)[0])
    assert sum(after[0]) == pytest.approx(before[0])


def test_tidy_moves_only_what_is_selected_and_without_overlap() -> None:
    content = build("hgx-h100", {"nodes": 2})
    document = document_from(content)
    inside = document.topology.descendants("node01")
    for number, ident in enumerate(inside):
        document.layout[ident] = (3000.0 + number % 3, 700.0)
    elsewhere = {ident: at for ident, at in document.layout.items() if ident not in inside}
    undo = tidy(document, ("node01",)).edit.apply(document)
    assert {ident: at for ident, at in document.layout.items() if ident not in inside} == elsewhere
    for a, b in combinations(inside, 2):
        (ax, ay), (bx, by) = document.layout[a], document.layout[b]
        first, second = (FOOTPRINT[document.topology.device(ident).kind] for ident in (a, b))
        wide, high = (first[0] + second[0]) / 2, (first[1] + second[1]) / 2
        assert abs(ax - bx) >= wide or abs(ay - by) >= high
    left = min(document.layout[ident][0] for ident in inside)
    assert abs(left - 3000.0) < 60.0
    undo.apply(document)
    assert document.layout[inside[0]] == (3000.0, 700.0)


def test_too_few_are_refused_in_words() -> None:
    document = drawing()
    with pytest.raises(EditRefused, match="two or more"):
        align(document, ("t", "t.a"), Edge.LEFT)
    with pytest.raises(EditRefused, match="three or more"):
        distribute(document, ("g", "t"), Axis.DOWN)
    with pytest.raises(EditRefused, match="two or more devices"):
        tidy(document, ("g",))
    assert document.layout == drawing().layout
