"""Every edit undoes exactly: ids, order, positions, colours, job. Known cases, and random sequences."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.document.document import Document
from model.document.edits import (
    AddParts,
    Assign,
    Batch,
    ClearPaint,
    Connect,
    Edit,
    Load,
    Move,
    RemoveParts,
    Rename,
    SetFields,
    SetFolds,
    SetJob,
    SetLinkStyle,
    SetPins,
    SetSpots,
)
from model.document.start import job_for
from model.document.view_state import LinkStyle, ViewState
from model.errors import EditRefused
from model.job.default import default_job
from model.job.legality import violations
from model.job.spec import JobSpec, apply_set
from model.placement.paint import Paint
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State


def node_document() -> Document:
    """Two GPUs and a NIC in a tray in a rack, a leaf outside, links, colours, a world order, pins, a fold."""
    topology = Topology(
        [
            Device("node0.gpu0", DeviceKind.GPU, "h100-sxm", parent="node0", rail=0),
            Device("node0.gpu1", DeviceKind.GPU, "h100-sxm", parent="node0", rail=1),
            Device("node0.nic0", DeviceKind.NIC, "cx7-ndr", parent="node0", rail=0),
            Device("leaf0", DeviceKind.LEAF, "qm9700"),
        ],
        [
            Link("node0.gpu0--node0.gpu1", "node0.gpu0", "node0.gpu1", LinkKind.NVLINK, 25e9, count=18),
            Link("node0.gpu0--node0.nic0", "node0.gpu0", "node0.nic0", LinkKind.PCIE, 63e9),
            Link("node0.nic0--leaf0", "node0.nic0", "leaf0", LinkKind.INFINIBAND, 50e9),
        ],
        [Container("rack0", ContainerKind.RACK), Container("node0", ContainerKind.TRAY, parent="rack0")],
    )
    return Document(
        topology,
        JobSpec(world=("node0.gpu1", "node0.gpu0")),
        Paint({"node0.gpu0": {"tp": 1, "dp": 0}, "node0.gpu1": {"tp": 0}}),
        {"node0.gpu0": (0.0, 0.0), "node0.gpu1": (40.0, 0.0), "node0.nic0": (0.0, 80.0)},
        "sketch",
        view=ViewState(frozenset({"node0.gpu0", "node0"}), frozenset({"node0"}), spots={"node0": (4.0, 8.0)}),
    )


_EXTRA_LINK = Link("cable", "node0.gpu1", "node0.nic0", LinkKind.PCIE, 63e9)

EDITS: list[Edit] = [
    AddParts(
        (Device("late", DeviceKind.CPU, "cpu", parent="box"),),
        (Link("host", "late", "node0.gpu0", LinkKind.PCIE, 63e9),),
        (Container("box", ContainerKind.TRAY, parent="rack0"),),
        {"late": (5.0, 5.0)},
    ),
    RemoveParts(("node0.gpu0",)),
    RemoveParts(("node0.gpu0", "node0.gpu1", "node0.nic0"), (), ("node0", "rack0")),
    RemoveParts((), ("node0.gpu0--node0.nic0",), ("rack0",)),
    RemoveParts(("leaf0",), (), ("node0",)),
    Connect(_EXTRA_LINK),
    Move({"node0.gpu0": (1.0, 2.0), "leaf0": (3.0, 4.0)}),
    Move({"node0.gpu0": None}),
    SetFields("device", ("node0.gpu0", "node0.gpu1"), {"state": "down", "speed": 0.5}),
    SetFields("link", ("node0.nic0--leaf0",), {"state": State.DEGRADED, "share": 0.75, "count": 2}),
    SetFields("container", ("node0",), {"parent": None, "label": "host"}),
    Rename("device", "node0.gpu0", "first"),
    Rename("link", "node0.nic0--leaf0", "uplink"),
    Rename("container", "node0", "host"),
    Rename("document", "sketch", "plan"),
    SetJob(JobSpec(global_batch=64)),
    Assign("pp", 3, ("node0.gpu0", "node0.gpu1")),
    Assign("tp", None, ("node0.gpu0",)),
    ClearPaint(),
    Load(Document(Topology([Device("only", DeviceKind.GPU, "h100-sxm")]), name="other")),
    Batch((RemoveParts(("leaf0",)), Connect(_EXTRA_LINK), Rename("device", "node0.gpu1", "second"))),
    SetPins(pin=frozenset({"leaf0", "node0"})),
    SetFolds(fold=frozenset({"rack0", "node0"})),
    SetSpots({"rack0": (1.0, 2.0), "node0": None}),
    SetLinkStyle(LinkStyle.STRAIGHT),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: type(edit).__name__)
def test_do_undo_redo(edit: Edit) -> None:
    document, before = node_document(), node_document()
    undo = edit.apply(document)
    after = pickle.loads(pickle.dumps(document))
    assert not document.same_as(before), "the edit did nothing"
    redo = undo.apply(document)
    assert document.same_as(before)
    assert document.checksum() == before.checksum()
    redo.apply(document)
    assert document.same_as(after)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: type(edit).__name__)
def test_replay_in_another_process_gives_the_same(edit: Edit) -> None:
    document, replica = node_document(), node_document()
    for each in (edit, edit.apply(document)):
        pickle.loads(pickle.dumps(each)).apply(replica)
        if each is not edit:
            each.apply(document)
    assert replica.checksum() == document.checksum()


def test_rename_of_a_gpu_reaches_everything_that_names_it() -> None:
    document = node_document()
    Rename("device", "node0.gpu0", "first").apply(document)
    assert document.job.world == ("node0.gpu1", "first")
    assert document.paint["first"] == {"tp": 1, "dp": 0}
    assert document.layout["first"] == (0.0, 0.0)
    assert "node0.gpu0" not in document.paint
    assert [link.a for link in document.topology.links_of("first")] == ["first", "first"]
    assert document.last_change.devices == {"node0.gpu0", "first"}
    assert document.last_change.job


def test_removing_a_gpu_takes_links_colours_and_its_place_in_the_world() -> None:
    document = node_document()
    RemoveParts(("node0.gpu0",)).apply(document)
    assert [link.id for link in document.topology.links()] == ["node0.nic0--leaf0"]
    assert list(document.paint) == ["node0.gpu1"]
    assert document.job.world == ("node0.gpu1",)
    assert "node0.gpu0" not in document.layout
    assert document.last_change.links == {"node0.gpu0--node0.gpu1", "node0.gpu0--node0.nic0"}


def test_removed_container_releases_what_is_not_named() -> None:
    document = node_document()
    RemoveParts(container_ids=("node0",)).apply(document)
    assert document.topology.device("node0.gpu0").parent == "rack0"
    document = node_document()
    RemoveParts(container_ids=("node0", "rack0")).apply(document)
    assert document.topology.device("node0.gpu0").parent is None
    assert document.topology.containers() == ()


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (RemoveParts(("nobody",)), "no device"),
        (RemoveParts(("node0.gpu0",), ("nothing",)), "no link"),
        (Connect(Link("x", "node0.gpu0", "nobody", LinkKind.PCIE, 1e9)), "no such device"),
        (Move({"nobody": (0.0, 0.0)}), "no device"),
        (Move({"leaf0": (float("nan"), 0.0)}), "cannot stand"),
        (SetFields("device", ("node0.gpu0",), {"state": "broken"}), "none of up, degraded, down"),
        (SetFields("device", ("node0.gpu0",), {"id": "x"}), "cannot be set"),
        (SetFields("link", ("node0.nic0--leaf0",), {"count": -1}), "whole number"),
        (SetFields("container", ("rack0",), {"parent": "node0"}), "inside itself"),
        (Rename("device", "node0.gpu0", "leaf0"), "in use"),
        (Assign("tp", 0, ("leaf0",)), "no GPU"),
        (Assign("tp", -1, ("node0.gpu0",)), "from 0 on"),
        (Batch((RemoveParts(("leaf0",)), RemoveParts(("leaf0",)))), "no device"),
    ],
)
def test_refused_edits_change_nothing(edit: Edit, words: str) -> None:
    document = node_document()
    with pytest.raises(EditRefused, match=words):
        edit.apply(document)
    assert document.same_as(node_document())
    assert document.revision == 0


def test_load_undone_leaves_older_undo_usable() -> None:
    document, before = node_document(), node_document()
    first = RemoveParts(("node0.gpu0",)).apply(document)
    revision = document.topology.revision
    second = Load(Document(name="empty")).apply(document)
    assert document.topology.revision > revision
    assert document.topology.devices() == ()
    second.apply(document)
    first.apply(document)
    assert document.same_as(before)
    assert [device.id for device in document.topology.devices()][:2] == ["node0.gpu0", "node0.gpu1"]


SPOTS = {"host": (4.0, 8.0)}


def test_removing_and_renaming_carry_pins_and_folds_along() -> None:
    document = node_document()
    Rename("container", "node0", "host").apply(document)
    assert document.view == ViewState(frozenset({"node0.gpu0", "host"}), frozenset({"host"}), spots=SPOTS)
    assert document.last_change.view
    undo = RemoveParts(("node0.gpu0",), (), ("host",)).apply(document)
    assert document.view == ViewState()
    SetPins(pin=frozenset({"leaf0"})).apply(document)  # what came in between stays when it is taken back
    undo.apply(document)
    assert document.view == ViewState(
        frozenset({"node0.gpu0", "host", "leaf0"}), frozenset({"host"}), spots=SPOTS
    )


def test_only_what_is_there_is_pinned_and_only_containers_fold() -> None:
    document, before = node_document(), node_document()
    for edit, words in (
        (SetPins(pin=frozenset({"node0.nic0--leaf0"})), "Only devices and containers can be pinned"),
        (SetFolds(fold=frozenset({"leaf0"})), "leaf0"),
        (SetSpots({"leaf0": (0.0, 0.0)}), "leaf0"),
        (SetSpots({"rack0": (float("nan"), 0.0)}), "positions go up to"),
    ):
        with pytest.raises(EditRefused, match=words):
            edit.apply(document)
    assert document.same_as(before)


def test_snapshot_of_load_is_not_touched_by_later_edits() -> None:
    document = Document()
    load = Load(node_document())
    undo = load.apply(document)
    Move({"leaf0": (9.0, 9.0)}).apply(document)
    undo.apply(document)
    load.apply(document)
    assert document.same_as(node_document())


_KINDS = st.sampled_from(
    ["add", "remove", "connect", "fields", "rename", "move", "assign", "container", "job", "view"]
)


def _random_edit(kind: str, number: int, draw: st.DataObject, document: Document) -> Edit:
    topology = document.topology
    ids = [device.id for device in topology.devices()]
    some = tuple(draw.draw(st.lists(st.sampled_from(ids), max_size=4, unique=True))) if ids else ()
    boxes = [container.id for container in topology.containers()]
    if kind == "add":
        parent = draw.draw(st.sampled_from([None, *boxes]))
        new = Device(f"new{number}", DeviceKind.GPU, "h100-sxm", parent=parent)
        return AddParts((new,), positions={new.id: (float(number), 0.0)})
    if kind == "connect" and len(some) >= 2:
        return Connect(Link(f"link{number}", some[0], some[1], LinkKind.NVLINK, 25e9, count=number % 5 + 1))
    if kind == "fields":
        return SetFields("device", some, {"state": State.DOWN, "rail": number})
    if kind == "rename" and some:
        return Rename("device", some[0], f"renamed{number}")
    if kind == "move":
        return Move({ident: (float(number), float(place)) for place, ident in enumerate(some)})
    if kind == "assign":
        gpus = tuple(ident for ident in some if topology.device(ident).kind is DeviceKind.GPU)
        group = draw.draw(st.sampled_from([None, 0, 1]))
        return Assign(draw.draw(st.sampled_from(["tp", "pp", "dp"])), group, gpus)
    if kind == "container":
        gone = tuple(draw.draw(st.lists(st.sampled_from(boxes), unique=True))) if boxes else ()
        return Batch(
            (
                RemoveParts(some, (), gone),
                AddParts(containers=(Container(f"box{number}", ContainerKind.TRAY),)),
            )
        )
    if kind == "view":
        folds = frozenset(draw.draw(st.lists(st.sampled_from(boxes), unique=True))) if boxes else frozenset()
        return Batch((SetPins(pin=frozenset(some)), SetFolds(unfold=folds)))
    if kind == "job":
        return SetJob(document.job.model_copy(update={"global_batch": number + 1, "world": some or None}))
    return RemoveParts(some)


@settings(max_examples=150, deadline=None)
@given(kinds=st.lists(_KINDS, min_size=1, max_size=12), default=st.booleans(), draw=st.data())
def test_random_sequences_undo_and_redo_exactly(kinds: list[str], default: bool, draw: st.DataObject) -> None:
    document = node_document()
    if default:
        document.job = job_for(document.topology)
    states, undo = [pickle.loads(pickle.dumps(document))], []
    for number, kind in enumerate(kinds):
        undo.append(_random_edit(kind, number, draw, document).apply(document))
        states.append(pickle.loads(pickle.dumps(document)))
    redo = []
    for number in range(len(kinds), 0, -1):
        assert document.same_as(states[number])
        redo.append(undo.pop().apply(document))
    assert document.same_as(states[0])
    for number in range(1, len(kinds) + 1):
        redo.pop().apply(document)
        assert document.same_as(states[number])
        assert document.topology.graph.number_of_edges() == len(document.topology.links())


def _gpus(first: int, count: int) -> AddParts:
    return AddParts(
        tuple(Device(f"gpu{number}", DeviceKind.GPU, "h100-sxm") for number in range(first, first + count))
    )


def test_a_job_that_nobody_touched_follows_the_gpus() -> None:
    document, undo, states = Document(), [], [copy.deepcopy(Document())]
    for edit in (
        _gpus(0, 3),
        Batch((_gpus(3, 2), SetFields("device", ("gpu0",), {"state": "down"}))),
        RemoveParts(("gpu1",)),
        SetFields("device", ("gpu2",), {"state": "down"}),
    ):
        undo.append(edit.apply(document))
        assert document.last_change.job and document.job == job_for(document.topology)
        states.append(copy.deepcopy(document))
    # 3, then 5 − 1, then 3, then 2 GPUs that work; about 1,024 sequences in equal parts (conventions 36).
    assert [state.job.global_batch for state in states[1:]] == [3 * 341, 4 * 256, 3 * 341, 2 * 512]
    for state, world in zip(states[1:], (3, 4, 3, 2), strict=True):
        assert not violations(state.job, world)
    redo = []
    for state in reversed(states[:-1]):
        redo.append(undo.pop().apply(document))
        assert document.same_as(state)
    for state in states[1:]:
        redo.pop().apply(document)
        assert document.same_as(state)


def test_a_job_that_somebody_set_stays() -> None:
    document = Document()
    _gpus(0, 4).apply(document)
    own = apply_set(document.job, "model=mixtral-8x7b")
    SetJob(own).apply(document)
    before = copy.deepcopy(document)
    undo = _gpus(4, 1).apply(document)
    assert document.job == own
    undo.apply(document)
    assert document.same_as(before)


def test_a_job_set_to_what_more_gpus_would_get_is_not_lost_by_undo() -> None:
    document = Document()
    _gpus(0, 3).apply(document)
    SetJob(default_job(5, 80e9)).apply(document)
    before = copy.deepcopy(document)
    undo = _gpus(3, 2).apply(document)
    assert document.job == before.job == job_for(document.topology)
    after = copy.deepcopy(document)
    redo = undo.apply(document)
    assert document.same_as(before)
    redo.apply(document)
    assert document.same_as(after)


def test_checksum_sees_every_part_of_the_content() -> None:
    seen = {node_document().checksum()}
    for edit in EDITS:
        document = node_document()
        edit.apply(document)
        seen.add(document.checksum())
    assert len(seen) == len(EDITS) + 1


def test_whole_numbers_are_held_as_floats() -> None:
    whole, real = node_document(), node_document()
    for document, one in ((whole, 1), (real, 1.0)):
        SetFields("link", ("node0.nic0--leaf0",), {"length_m": one}).apply(document)
        Move({"leaf0": (one, one)}).apply(document)
    assert whole.checksum() == real.checksum()


def test_fields_that_do_not_change_stay() -> None:
    document = node_document()
    SetFields("device", ("node0.gpu0",), {"speed": 0.5}).apply(document)
    assert document.topology.device("node0.gpu0") == replace(
        node_document().topology.device("node0.gpu0"), speed=0.5
    )
