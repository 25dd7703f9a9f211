"""Racks and groups as edits: each undoes exactly, what does not fit is refused with the reason."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.document.clipboard import copy, paste, paste_all
from model.document.document import Document
from model.document.edits import AddParts, Edit, RemoveParts, SetFields
from model.document.rack_edits import (
    PlaceInRack,
    RackPlace,
    described,
    group,
    group_kind,
    into_rack,
    outermost,
    put_into_racks,
    ungroup,
)
from model.errors import EditRefused
from model.topology.floor import floor_places
from model.topology.graph import Topology
from model.topology.layout import layout_by_role
from model.topology.racks import units_of
from model.topology.types import Container, ContainerKind, Device, DeviceKind
from topology_templates.registry import build

TRAY, RACK, POD, SITE = ContainerKind


def hall() -> Document:
    """A pod with racks A2 (node03 at U 5, node07 at U 12) and A3, loose things, a GPU in node03."""
    boxes = [
        Container("hall", POD),
        Container("A2", RACK, parent="hall", height_u=42.0),
        Container("A3", RACK, parent="hall", height_u=42.0),
        Container("node03", TRAY, parent="A2", u=5, height_u=2.0),
        Container("node07", TRAY, parent="A2", u=12, height_u=2.0),
        Container("node09", TRAY, parent="hall"),
    ]
    devices = [
        Device("node03.gpu0", DeviceKind.GPU, "h100-sxm", parent="node03"),
        Device("leaf0", DeviceKind.LEAF, "sn5600", parent="hall"),
        Device("spine0", DeviceKind.SPINE, "sn5600"),
    ]
    return Document(Topology(devices, (), boxes), name="hall")


def places(*of: tuple[str, str | None, int | None]) -> PlaceInRack:
    return PlaceInRack(tuple(RackPlace(*one) for one in of))


GOOD: list[Edit] = [
    places(("node03", "A2", 20)),
    places(("node03", "A3", 12), ("node07", "A3", 14)),
    places(("node03", "A2", 12), ("node07", "A2", 5)),
    places(("node09", "A3", 41)),
    places(("node03", None, None)),
    places(("leaf0", "A3", None)),
    SetFields("container", ("node03",), {"u": 10}),
    SetFields("container", ("A2",), {"row": 2, "column": 3, "power_w": 40_000.0}),
    RemoveParts(container_ids=("A2",)),
    group(hall(), ("node09", "leaf0"), RACK, "A4"),
    group(hall(), ("leaf0", "spine0"), RACK, "net"),
    group(hall(), ("hall",), SITE, "north"),
    ungroup(hall(), ("A2", "node03.gpu0")),
    put_into_racks(hall(), (), per_rack=4),
]


@pytest.mark.parametrize("edit", GOOD, ids=lambda edit: type(edit).__name__)
def test_do_undo_redo(edit: Edit) -> None:
    document, before = hall(), hall()
    undo = pickle.loads(pickle.dumps(edit)).apply(document)
    after = pickle.loads(pickle.dumps(document))
    assert not document.same_as(before)
    redo = undo.apply(document)
    assert document.same_as(before)
    redo.apply(document)
    assert document.same_as(after)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (places(("node03", "A2", 11)), "node03 and node07 would both be in U 12 of rack A2"),
        (places(("node03", "A2", 42)), "node03 would be in U 42–43 of rack A2, which has 42 U"),
        (places(("node03", "A2", 0)), "the lowest is U 1"),
        (places(("node03.gpu0", "A2", 1)), "node03.gpu0 is a part of a host; its tray can stand in a rack"),
        (places(("A3", "A2", 1)), "rack A3 cannot stand in a rack"),
        (places(("node03", "hall", 1)), "hall is a pod"),
        (places(("node03", "A3", 1), ("node07", "A3", 2)), "would both be in U 2 of rack A3"),
        (SetFields("container", ("node03",), {"u": 11}), "would both be in U 12 of rack A2"),
        (SetFields("container", ("node03",), {"height_u": 9.0}), "would both be in U 12 of rack A2"),
        (SetFields("container", ("A2",), {"height_u": 12.0}), "which has 12 U"),
        (SetFields("container", ("A2",), {"parent": "A2"}), "would lie inside itself"),
        (SetFields("container", ("hall",), {"parent": "node03"}), "would lie inside itself"),
        (SetFields("container", ("A2",), {"parent": "A3"}), 'rack "A2" cannot lie in rack "A3"'),
        (SetFields("container", ("A2",), {"parent": "node09"}), "a tray holds devices only"),
        (SetFields("container", ("hall",), {"kind": "rack"}), 'cannot lie in rack "hall"'),
        (AddParts(containers=(Container("p", POD, parent="A2"),)), 'pod "p" cannot lie in rack "A2"'),
        (AddParts(containers=(Container("x", TRAY, parent="A2", u=5),)), "both be in U 5 of rack A2"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_lost(edit: Edit, reason: str) -> None:
    document = hall()
    with pytest.raises(EditRefused, match=reason):
        edit.apply(document)
    assert document.same_as(hall())
    assert document.revision == 0


def test_a_thing_gets_the_height_of_the_catalogue_when_it_is_placed() -> None:
    document = hall()
    places(("leaf0", "A3", 1)).apply(document)
    leaf = document.topology.device("leaf0")
    assert (leaf.parent, leaf.u, leaf.height_u) == ("A3", 1, 2.0)
    places(("leaf0", None, None)).apply(document)
    assert (document.topology.device("leaf0").parent, document.topology.device("leaf0").u) == ("hall", None)


def test_what_a_removed_rack_held_keeps_no_unit() -> None:
    document = hall()
    RemoveParts(container_ids=("A2",)).apply(document)
    node = document.topology.container("node03")
    assert (node.parent, node.u, node.height_u) == ("hall", None, 2.0)


def test_group_takes_the_container_around_all_that_can_hold_it() -> None:
    document = hall()
    group(document, ("node09", "leaf0", "node03.gpu0"), RACK, "A4").apply(document)
    topology = document.topology
    assert topology.container("A4").parent == "hall"
    assert topology.children("A4") == ("node09", "node03.gpu0", "leaf0")
    assert (topology.container("node09").u, topology.device("leaf0").u) == (1, 2)
    assert topology.device("node03.gpu0").u is None


def test_group_of_racks_in_a_pod_cannot_be_a_rack() -> None:
    with pytest.raises(EditRefused, match='rack "A2" cannot lie in rack "x"'):
        group(hall(), ("A2", "A3"), RACK, "x")
    with pytest.raises(EditRefused, match="Select devices or containers"):
        group(hall(), (), RACK, "x")


def test_the_kind_that_one_would_choose() -> None:
    topology = hall().topology
    assert group_kind(topology, ("node03.gpu0",)) is TRAY
    assert group_kind(topology, ("leaf0", "spine0")) is RACK
    assert group_kind(topology, ("node03", "leaf0")) is RACK
    assert group_kind(topology, ("A2", "node09")) is POD
    assert group_kind(topology, ("hall",)) is SITE


def test_outermost_leaves_out_what_lies_in_another() -> None:
    assert outermost(hall().topology, ("A2", "node03", "node03.gpu0", "leaf0")) == ("A2", "leaf0")


def test_ungroup_keeps_the_content() -> None:
    document = hall()
    ungroup(document, ("A2", "leaf0")).apply(document)
    assert document.topology.children("hall") == ("A3", "node03", "node07", "node09", "leaf0")
    with pytest.raises(EditRefused, match="Select a tray, rack, pod or site"):
        ungroup(document, ("leaf0",))


def test_put_into_racks_stacks_what_is_in_no_rack() -> None:
    content = build("hgx-b200", {"nodes": 4})  # four hosts of 10 U each, in no rack
    document = Document(Topology(content.devices, content.links, content.containers))
    before = document.topology.devices()
    edit = put_into_racks(document, (), per_rack=4, first_u=2, gap_u=1)
    edit.apply(document)
    topology = document.topology
    racks = [box.id for box in topology.containers() if box.kind is RACK]
    assert [topology.container(f"node0{number}").u for number in range(4)] == [2, 13, 24, 35]
    switches = [device for device in topology.devices() if device.kind in ("leaf", "spine")]
    assert all(device.parent in racks and device.u is not None for device in switches)
    assert [device.id for device in topology.devices()] == [device.id for device in before]
    assert described(edit).endswith(f"into {len(racks)} racks")
    with pytest.raises(EditRefused, match="in racks already"):
        put_into_racks(document, (), per_rack=4)


def test_put_into_racks_takes_as_many_as_fit_and_says_what_does_not() -> None:
    boxes = [Container(f"n{number}", TRAY, height_u=20.0) for number in range(5)]
    document = Document(Topology((), (), boxes))
    put_into_racks(document, (), per_rack=4, height_u=42.0).apply(document)
    assert [document.topology.container(f"n{number}").u for number in range(5)] == [1, 21, 1, 21, 1]
    high = Document(Topology((), (), [Container("tall", TRAY, height_u=43.0)]))
    with pytest.raises(EditRefused, match="tall does not fit above U 0 of 42 U"):
        put_into_racks(high, (), per_rack=1, height_u=42.0)
    with pytest.raises(EditRefused, match="takes 1 to 48"):
        put_into_racks(high, (), per_rack=0)


def test_into_a_rack_at_the_lowest_free_units() -> None:
    document = hall()
    edit = into_rack(document, ("node09", "leaf0", "node07"), "A2")
    assert edit == places(("node09", "A2", 1), ("leaf0", "A2", 2), ("node07", "A2", 7))
    edit.apply(document)
    full = Document(
        Topology((), (), [Container("r", RACK, height_u=2.0), Container("t", TRAY, height_u=3.0)])
    )
    assert into_rack(full, ("t",), "r") == places(("t", "r", None))
    with pytest.raises(EditRefused, match="hall is a pod"):
        into_rack(document, ("node09",), "hall")


_THINGS = [f"n{number}" for number in range(5)]


@given(
    st.lists(
        st.tuples(st.sampled_from(_THINGS), st.sampled_from(["r", "s", None]), st.integers(0, 14)),
        max_size=12,
    )
)
def test_no_sequence_of_placings_ends_in_an_overlap(moves: list[tuple[str, str | None, int]]) -> None:
    """Whatever is accepted leaves every U to one thing; what is refused changes nothing; all undo."""
    racks = [Container("r", RACK, height_u=12.0), Container("s", RACK, height_u=12.0)]
    boxes = [Container(ident, TRAY, height_u=1.0 + number) for number, ident in enumerate(_THINGS)]
    document = Document(Topology((), (), [*racks, *boxes]))
    start, undos = document.checksum(), []
    for ident, rack, u in moves:
        before = document.checksum()
        try:
            undos.append(places((ident, rack, u)).apply(document))
        except EditRefused:
            assert document.checksum() == before
        for name in ("r", "s"):
            taken = [
                unit
                for child in document.topology.children(name)
                for unit in units_of(document.topology.container(child))
            ]
            assert len(taken) == len(set(taken))
            assert all(1 <= unit <= 12 for unit in taken)
    for undo in reversed(undos):
        undo.apply(document)
    assert document.checksum() == start


def test_a_copy_in_the_same_rack_gets_the_next_free_units() -> None:
    document = hall()
    edit = paste(document, copy(document, frozenset({"node03"})), (10.0, 0.0))
    edit.apply(document)
    assert document.topology.container("node04").u == 7
    copies, _ = paste_all(document, copy(document, frozenset({"node07"})), [(0.0, 0.0)] * 2)
    copies.apply(document)
    assert [document.topology.container(ident).u for ident in ("node08", "node10")] == [14, 16]


def test_a_copied_rack_keeps_its_units_and_stands_elsewhere() -> None:
    document = hall()
    SetFields("container", ("A2",), {"row": 1, "column": 4}).apply(document)
    paste(document, copy(document, frozenset({"A2"})), (10.0, 0.0)).apply(document)
    assert [document.topology.container(ident).u for ident in document.topology.children("A4")] == [5, 12]
    places_ = floor_places(document.topology)
    assert (places_["A2"].row, places_["A2"].column) == (1, 4)
    assert (places_["A4"].row, places_["A4"].column) == (1, 0)


def test_a_copy_without_room_is_in_the_rack_at_no_unit() -> None:
    boxes = [Container("r", RACK, height_u=3.0), Container("n1", TRAY, parent="r", u=1, height_u=2.0)]
    document = Document(Topology((), (), boxes))
    paste(document, copy(document, frozenset({"n1"})), (10.0, 0.0)).apply(document)
    assert (document.topology.container("n2").parent, document.topology.container("n2").u) == ("r", None)


def test_switches_in_racks_stay_in_their_tiers() -> None:
    content = build("hgx-h100", {"nodes": 16})
    document = Document(Topology(content.devices, content.links, content.containers))
    before = layout_by_role(document.topology)
    put_into_racks(document, (), per_rack=3).apply(document)
    after = layout_by_role(document.topology)
    assert after == before
    topology = document.topology
    for rack in (box.id for box in topology.containers() if box.kind is RACK):
        kinds = {
            topology.device(ident).kind for ident in topology.children(rack) if topology.has_device(ident)
        }
        assert len(kinds) <= 1
