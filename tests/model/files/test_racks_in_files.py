"""Racks in project and topology files: places come back as they were, and what cannot be is one sentence."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from model.document.document import Document
from model.errors import InputError
from model.files.project import project_from_json, project_json
from model.files.topology_json import topology_from_json, topology_to_json
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind

PATH = Path("hall.json")


def hall() -> Document:
    boxes = [
        Container("A2", ContainerKind.RACK, height_u=42.0, power_w=40_000.0, row=1, column=3),
        Container("node03", ContainerKind.TRAY, parent="A2", u=5, height_u=2.0),
        Container("node07", ContainerKind.TRAY, parent="A2", u=12, height_u=1.5, weight_kg=20.0),
    ]
    devices = [Device("leaf0", DeviceKind.LEAF, "qm9700", parent="A2", u=40, power_w=900.0)]
    return Document(Topology(devices, (), boxes), name="hall")


def test_places_come_back() -> None:
    document = hall()
    project = project_from_json(project_json(document), PATH)
    assert project.topology.same_as(document.topology)
    exported = topology_from_json(topology_to_json(document), PATH)
    assert exported.topology.same_as(document.topology)
    box = topology_to_json(document)["containers"][0]
    assert (box["row"], box["column"], box["height_u"]) == (1, 3, 42.0)


def test_a_file_without_rows_is_read_as_before() -> None:
    data = copy.deepcopy(topology_to_json(hall()))
    for box in data["containers"]:
        del box["row"], box["column"]
    assert topology_from_json(data, PATH).topology.container("A2").row is None


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("u", 11, "hall.json: node03 and node07 would both be in U 12 of rack A2."),
        ("u", 42, "hall.json: node03 would be in U 42–43 of rack A2, which has 42 U."),
        ("parent", "node03", 'hall.json: container "node03" would lie inside itself.'),
    ],
)
def test_what_cannot_stand_is_named(name: str, value: object, reason: str) -> None:
    data = copy.deepcopy(topology_to_json(hall()))
    data["containers"][1][name] = value
    if name == "u" and value == 11:
        data["containers"][1]["height_u"] = 2
    with pytest.raises(InputError) as refused:
        topology_from_json(data, PATH)
    assert str(refused.value) == reason
