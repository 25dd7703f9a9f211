"""Families of things by what they share. One small drawing; members counted by hand."""

from __future__ import annotations

from model.document.document import Document
from model.document.edits import SetFields
from model.document.search import FoundFinding
from model.document.search_select import By, families
from model.job.sizes import grid_of
from model.job.spec import apply_set
from model.placement.resolve import resolve
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind

TRAY, RACK = ContainerKind.TRAY, ContainerKind.RACK


def drawing() -> Document:
    devices = [
        Device(f"n{tray}.gpu{rail}", DeviceKind.GPU, "h100-sxm", parent=f"n{tray}", rail=rail)
        for tray in range(2)
        for rail in range(4)
    ]
    devices += [Device("leaf0", DeviceKind.LEAF, "qm9700", rail=0), Device("leaf1", DeviceKind.LEAF, "odd")]
    links = [Link("x", "n0.gpu0", "leaf0", LinkKind.INFINIBAND, 50e9)]
    boxes = [Container("n0", TRAY, parent="r"), Container("n1", TRAY), Container("r", RACK)]
    return Document(Topology(devices, links, boxes))


def sizes(document: Document, by: By) -> dict[str, int]:
    return {family.name: len(family.ids) for family in families(document, by)}


def test_kinds_models_rails_places_links() -> None:
    document = drawing()
    assert sizes(document, By.KIND) == {"GPU": 8, "Leaf": 2}
    assert list(sizes(document, By.MODEL).values()) == [8, 1, 1] and "odd" in sizes(document, By.MODEL)
    assert sizes(document, By.RAIL) == {"Rail 0": 3, "Rail 1": 2, "Rail 2": 2, "Rail 3": 2}
    assert sizes(document, By.PLACE) == {"r": 4, "n0": 4, "n1": 4}
    assert sizes(document, By.LINK) == {"InfiniBand": 1}


def test_states_of_devices_and_links_apart() -> None:
    document = drawing()
    SetFields("device", ("leaf1",), {"state": "down"}).apply(document)
    SetFields("device", ("n0.gpu1",), {"state": "degraded", "speed": 0.5}).apply(document)
    SetFields("link", ("x",), {"state": "down"}).apply(document)
    assert sizes(document, By.STATE) == {
        "Devices that are up": 8,
        "Devices that are degraded": 1,
        "Devices that are down": 1,
        "Links that are down": 1,
        "GPUs with less than their compute": 1,
    }


def test_groups_and_findings() -> None:
    document = drawing()
    gpus = tuple(device.id for device in document.topology.devices()[:8])
    placement = resolve(gpus, grid_of(apply_set(document.job, "parallel.tp=4"), 8), document.paint)
    groups = {family.name: family.ids for family in families(document, By.GROUP, placement)}
    assert groups["TP group 0"] == gpus[:4] and groups["TP group 1"] == gpus[4:]
    assert groups["Replica 1"] == gpus[4:]
    assert families(document, By.GROUP) == ()
    findings = (FoundFinding("hot", "", ("x", "gone")), FoundFinding("empty", "", ()))
    assert [(family.name, family.ids) for family in families(document, By.FINDING, None, findings)] == [
        ("hot", ("x",))
    ]
