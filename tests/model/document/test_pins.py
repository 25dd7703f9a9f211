"""Layouts with pinned things: they stay, what belongs to them stands around them, the rest makes way."""

from __future__ import annotations

import pytest

from model.document.arrange import Axis, Edge, align, distribute, tidy
from model.document.document import Document
from model.document.edits import Move, SetPins
from model.document.pins import pinned_devices, tidy_all
from model.document.start import document_from
from model.errors import EditRefused
from model.topology.footprint import FOOTPRINT
from model.topology.layout import layout_by_role
from tests.model.document.test_arrange import drawing
from topology_templates.registry import build


def pinned(document: Document, *ids: str) -> Document:
    SetPins(pin=frozenset(ids)).apply(document)
    return document


def boxes(document: Document) -> list[tuple[float, float, float, float]]:
    found = []
    for device in document.topology.devices():
        (x, y), (width, height) = document.layout[device.id], FOOTPRINT[device.kind]
        found.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
    return found


def overlaps(document: Document) -> int:
    parts = boxes(document)
    return sum(
        a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
        for place, a in enumerate(parts)
        for b in parts[place + 1 :]
    )


def cluster() -> Document:
    return document_from(build("hgx-h100", {"nodes": 4}))


def test_a_pinned_container_pins_all_that_is_in_it() -> None:
    document = pinned(drawing(), "t", "g")
    assert pinned_devices(document) == {"g", "t.a", "t.b"}


def test_without_pins_all_is_laid_out_by_role() -> None:
    document = cluster()
    arranged = tidy_all(document)
    assert arranged.kept == 0 and arranged.edit == Move(layout_by_role(document.topology))


def test_with_one_pinned_node_the_same_layout_stands_around_it() -> None:
    document = cluster()
    by_role = layout_by_role(document.topology)
    nodes = [device.id for device in document.topology.devices() if device.parent == "node02"]
    away = {name: (by_role[name][0] + 400.0, by_role[name][1] - 240.0) for name in by_role}
    document = document_from(build("hgx-h100", {"nodes": 4}))
    Move(away).apply(document)
    pinned(document, "node02")
    arranged = tidy_all(document)
    assert arranged.kept == len(nodes)
    undo = arranged.edit.apply(document)
    assert document.layout == away  # every shift is one of the whole
    assert overlaps(document) == 0
    undo.apply(document)
    assert document.layout == away


def test_what_stands_in_the_way_of_a_pinned_node_makes_way() -> None:
    document = cluster()
    by_role = layout_by_role(document.topology)
    Move(by_role).apply(document)
    first = [device.id for device in document.topology.devices() if device.parent == "node00"]
    second = [device.id for device in document.topology.devices() if device.parent == "node01"]
    # The first node is put where the second one would be laid out.
    by = by_role[second[0]][0] - by_role[first[0]][0], by_role[second[0]][1] - by_role[first[0]][1]
    moved = {name: (by_role[name][0] + by[0], by_role[name][1] + by[1]) for name in first}
    Move(moved).apply(document)
    pinned(document, "node00", "leaf0" if document.topology.has_device("leaf0") else "spine0")
    tidy_all(document).edit.apply(document)
    assert {name: document.layout[name] for name in first} == moved
    assert overlaps(document) == 0


def test_align_takes_the_line_of_what_is_pinned() -> None:
    document = pinned(drawing(), "leaf")
    arranged = align(document, ("g", "leaf", "t"), Edge.LEFT)
    arranged.edit.apply(document)
    # The leaf's left edge is at 200 − 70 = 130: the GPU goes to 130 + 18, the tray's first to 130 + 12 + 18.
    assert arranged.kept == 1
    assert document.layout["leaf"] == (200.0, 100.0)
    assert document.layout["g"][0] == 148.0 and document.layout["t.a"][0] == 160.0


def test_distribute_makes_gaps_equal_on_both_sides_of_what_is_pinned() -> None:
    document = drawing()
    Move({"t.a": (900.0, 0.0), "t.b": (420.0, 0.0), "leaf": (300.0, 0.0)}).apply(document)
    pinned(document, "t.b")
    distribute(document, ("g", "leaf", "t.a", "t.b"), Axis.ACROSS).edit.apply(document)
    # Between 18 and 402 the leaf (140 wide) leaves 244, 122 on each side: its middle is at 18 + 122 + 70.
    assert document.layout["leaf"] == (210.0, 0.0)
    assert document.layout["t.b"] == (420.0, 0.0) and document.layout["t.a"] == (900.0, 0.0)


def test_tidy_of_a_part_leaves_what_is_pinned_in_it() -> None:
    document = pinned(cluster(), "node01.gpu3")
    before = document.layout["node01.gpu3"]
    arranged = tidy(document, ("node01",))
    arranged.edit.apply(document)
    assert arranged.kept == 1 and document.layout["node01.gpu3"] == before


def test_nothing_but_pinned_parts_is_refused_in_words() -> None:
    document = pinned(drawing(), "g", "t", "leaf")
    with pytest.raises(EditRefused, match="All that is selected is pinned"):
        align(document, ("g", "leaf"), Edge.TOP)
