"""The arrays behind the drawing: a patched index equals one made anew, and hulls hold what lies in them."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from gui.canvas.naming import device_names, free_rails
from gui.canvas.scene import rows_in
from gui.canvas.scene_index import NIC, SceneIndex
from model.document.document import Document
from model.document.edits import (
    AddParts,
    Assign,
    Connect,
    Edit,
    Move,
    RemoveParts,
    Rename,
    SetFields,
    SetSpots,
)
from model.document.rack_edits import group, put_into_racks
from model.errors import EditRefused
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from topology_templates.registry import build

ARRAYS = (
    "centre", "half", "kind", "state", "parent", "ends", "link_kind", "link_state", "cables", "nominal",
    "capacity", "hull", "title_below", "container_parent", "depth", "gpu_rows",
)  # fmt: skip


def document(template: str = "hgx-h100", **parameters: object) -> Document:
    content = build(template, parameters)
    return Document(
        Topology(content.devices, content.links, content.containers), layout=dict(content.positions)
    )


def assert_equal(index: SceneIndex, fresh: SceneIndex) -> None:
    assert index.device_ids == fresh.device_ids
    assert index.link_ids == fresh.link_ids
    assert index.container_ids == fresh.container_ids
    for name in ARRAYS:
        assert np.array_equal(getattr(index, name), getattr(fresh, name)), name
    for row in range(0, len(index.devices), 7):
        assert index.links_of(row).tolist() == fresh.links_of(row).tolist()


def edits(seed: int) -> list[Edit]:
    draw = random.Random(seed)
    gpu = f"node0{draw.randrange(2)}.gpu{draw.randrange(8)}"
    choices: list[Edit] = [
        Move({gpu: (draw.uniform(-500, 500), 40.0), "leaf1": (0.0, 0.0)}),
        SetFields("device", (gpu,), {"state": "down"}),
        SetFields("link", (f"{gpu}--{gpu[:6]}.nvs1",), {"count": 2, "state": "degraded", "share": 0.5}),
        SetFields("device", (gpu,), {"parent": None}),
        RemoveParts((gpu,)),
        RemoveParts((), (), ("node01",)),
        Connect(Link("extra", "leaf0", "leaf3", LinkKind.INFINIBAND, 50e9)),
        AddParts((Device("core0", DeviceKind.CORE, "qm9700"),), positions={"core0": (0.0, -900.0)}),
        Rename("device", gpu, "renamed"),
        Assign("tp", 1, (gpu,)),
    ]
    draw.shuffle(choices)
    return choices[:4]


@pytest.mark.parametrize("seed", range(8))
def test_a_patched_index_equals_one_made_anew(seed: int) -> None:
    made = document(nodes=2)
    index = SceneIndex(made)
    inverses = []
    for edit in edits(seed):
        try:
            inverses.append(edit.apply(made))
        except Exception as refused:  # an edit that an earlier one made impossible
            assert type(refused).__name__ == "EditRefused"
            continue
        index.patch(made, made.last_change)
        assert_equal(index, SceneIndex(made))
    for inverse in reversed(inverses):
        inverse.apply(made)
        index.patch(made, made.last_change)
        assert_equal(index, SceneIndex(made))


@pytest.mark.parametrize("seed", range(4))
def test_containers_that_come_and_go_leave_the_links_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = document(nodes=4)
    index = SceneIndex(made)
    read = []
    whole = SceneIndex._read_links
    monkeypatch.setattr(SceneIndex, "_read_links", lambda self: (read.append(self), whole(self))[1])
    steps: list[Callable[[], Edit]] = [
        lambda: put_into_racks(made, (), per_rack=2),
        lambda: group(made, ("node00", "node01"), ContainerKind.POD, "pod"),
        lambda: AddParts(containers=(Container("empty", ContainerKind.SITE),)),
        lambda: RemoveParts((), (), ("node02",)),
        lambda: Rename("container", "node03", "host"),
        lambda: SetSpots({made.topology.containers()[0].id: (40.0, 80.0)}),
    ]
    random.Random(seed).shuffle(steps)
    inverses = []
    for step in steps:
        try:
            inverses.append(step().apply(made))
        except EditRefused:  # an earlier one took what it needs
            continue
        index.patch(made, made.last_change)
        assert_equal(index, SceneIndex(made))
    assert len(inverses) >= 4
    for inverse in reversed(inverses):
        inverse.apply(made)
        index.patch(made, made.last_change)
        assert_equal(index, SceneIndex(made))
    assert index not in read


@pytest.mark.parametrize("count", [1, 8, 120])
def test_few_parts_or_many_are_taken_out_alike(count: int) -> None:
    made = document(nodes=16)
    index = SceneIndex(made)
    links, ids = index.links, list(index.link_ids)
    gpus = [device.id for device in made.topology.devices() if device.kind is DeviceKind.GPU]
    RemoveParts(tuple(gpus[4 : 4 + count])).apply(made)
    index.patch(made, made.last_change)
    assert_equal(index, SceneIndex(made))
    assert index.link_row == {ident: row for row, ident in enumerate(index.link_ids)}
    assert index.device_row == {ident: row for row, ident in enumerate(index.device_ids)}
    assert [link.id for link in links] == ids  # who holds the rows of before keeps them


def test_painting_moves_nothing() -> None:
    made = document(nodes=1)
    index = SceneIndex(made)
    version = index.version
    Assign("tp", 1, ("node00.gpu0",)).apply(made)
    index.patch(made, made.last_change)
    assert index.version == version


@pytest.mark.parametrize(
    ("template", "parameters"), [("hgx-h100", {"nodes": 4}), ("gb200-nvl72", {"racks": 1})]
)
def test_hulls_hold_their_devices_and_do_not_overlap(template: str, parameters: dict[str, object]) -> None:
    index = SceneIndex(document(template, **parameters))
    boxes = index.rects()
    for row in range(len(index.containers)):
        inside = index.devices_in(row)
        inside = inside[index.kind[inside] != NIC]  # NICs may sit on the edge
        hull = index.hull[row]
        assert (boxes[inside, :2] >= hull[:2]).all() and (boxes[inside, 2:] <= hull[2:]).all()
    trays = [row for row, one in enumerate(index.containers) if one.kind is ContainerKind.TRAY]
    for place, first in enumerate(trays):
        for second in trays[place + 1 :]:
            a, b = index.hull[first], index.hull[second]
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_the_nics_of_a_host_sit_on_its_edge_and_its_name_stands_below() -> None:
    index = SceneIndex(document(nodes=1))
    nics = np.flatnonzero(index.kind == NIC)
    tray = index.container_row["node00"]
    assert set(index.centre[nics, 1].tolist()) == {index.hull[tray, 1]}
    assert index.title_below[tray]


def test_names_are_free_and_rails_are_the_lowest_free() -> None:
    topology = Topology(
        (
            Device("gpu0", DeviceKind.GPU, "h100-sxm"),
            Device("gpu2", DeviceKind.GPU, "h100-sxm"),
            Device("n.gpu0", DeviceKind.GPU, "h100-sxm", parent="n", rail=1),
        ),
        (Link("gpu0--gpu2", "gpu0", "gpu2", LinkKind.NVLINK, 25e9),),
        (Container("n", ContainerKind.TRAY),),
    )
    assert device_names(topology, DeviceKind.GPU, 3, None) == ["gpu1", "gpu3", "gpu4"]
    assert device_names(topology, DeviceKind.GPU, 2, "n") == ["n.gpu1", "n.gpu2"]
    assert free_rails(topology, DeviceKind.GPU, 3, "n") == [0, 2, 3]
    assert free_rails(topology, DeviceKind.GPU, 2, None) == [None, None]
    assert free_rails(topology, DeviceKind.CPU, 1, "n") == [None]


def test_an_empty_tray_stands_below_what_its_rack_holds() -> None:
    devices = [Device("leaf", DeviceKind.LEAF, "qm9700", parent="r")]
    boxes = [
        Container("r", ContainerKind.RACK),
        Container("shelf0", ContainerKind.TRAY, parent="r"),
        Container("shelf1", ContainerKind.TRAY, parent="r"),
        Container("alone", ContainerKind.RACK),
    ]
    document = Document(Topology(devices, (), boxes), layout={"leaf": (5000.0, 3000.0)})
    index = SceneIndex(document)
    rack, first, second, alone = index.hull.tolist()
    assert rack[0] <= first[0] and first[2] <= rack[2] and 3000.0 < first[1] < first[3] <= rack[3]
    assert first[3] < second[1] <= second[3] <= rack[3]  # no room beside it
    assert rack[2] - rack[0] < 400 and rack[3] - rack[1] < 400
    assert alone[3] == -20.0


@pytest.mark.parametrize(
    "now",
    [
        "abcdefg",  # the same
        "abefg", "bcdefg", "abcdef", "",  # some are gone
        "abXcdefg", "Xabcdefg", "abcdefgX", "aXbcYdefg",  # some came
        "abXefg", "gfedcba",  # both, turned round
    ],
)  # fmt: skip
def test_rows_in_another_list_are_those_of_a_look_up_one_by_one(now: str) -> None:
    known = list("abcdefg")
    expected = [known.index(one) if one in known else -1 for one in now]
    assert rows_in(list(now), known).tolist() == expected
