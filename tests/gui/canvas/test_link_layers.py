"""Which layer a link belongs to, above all on the networks that training does not use."""

from __future__ import annotations

from collections import Counter

import numpy as np

from gui.canvas.link_layers import layer_of_links
from gui.canvas.scene_index import SceneIndex
from gui.canvas.view import CanvasView
from gui.context import LAYERS
from model.document.document import Document
from model.document.edits import Load, SetFields
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from topology_templates.registry import build


def drawn(*more: Link, storage_on: str = "") -> tuple[Document, SceneIndex]:
    """Two hosts of a GPU with a NIC of rail 0 on leaf0 and one without a rail on mgmt0, below mgmt1."""
    devices = [
        Device(name, kind, model)
        for name, kind, model in (
            ("leaf0", DeviceKind.LEAF, "qm9700"),
            ("mgmt0", DeviceKind.LEAF, "sn5600"),
            ("mgmt1", DeviceKind.SPINE, "sn5600"),
        )
    ]
    links = [Link("up", "mgmt0", "mgmt1", LinkKind.ETHERNET, 25e9), *more]
    boxes = []
    for host in ("n0", "n1"):
        boxes.append(Container(host, ContainerKind.TRAY))
        devices += [
            Device(f"{host}.gpu", DeviceKind.GPU, "h100-sxm", parent=host, rail=0),
            Device(f"{host}.nic", DeviceKind.NIC, "cx7-ndr", parent=host, rail=0),
            Device(f"{host}.oob", DeviceKind.NIC, "bf3-b3220", parent=host),
        ]
        links += [
            Link(f"{host}.pcie", f"{host}.gpu", f"{host}.nic", LinkKind.PCIE, 64e9),
            Link(f"{host}.net", f"{host}.nic", "leaf0", LinkKind.INFINIBAND, 50e9),
            Link(f"{host}.mgmt", f"{host}.oob", "mgmt0", LinkKind.ETHERNET, 25e9),
        ]
    if storage_on:
        devices.append(Device("store", DeviceKind.STORAGE, "storage"))
        links.append(Link("data", "store", storage_on, LinkKind.ETHERNET, 25e9))
    document = Document(Topology(devices, links, boxes))
    return document, SceneIndex(document)


def layers(index: SceneIndex) -> dict[str, str]:
    return {link.id: LAYERS[code] for link, code in zip(index.links, layer_of_links(index), strict=True)}


def test_nics_without_a_rail_and_the_switches_only_they_reach_are_management() -> None:
    found = layers(drawn()[1])
    assert {name for name, layer in found.items() if layer == "management"} == {"up", "n0.mgmt", "n1.mgmt"}
    assert (found["n0.net"], found["n0.pcie"]) == ("fabric", "pcie")


def test_a_network_with_storage_on_it_is_that_of_storage() -> None:
    found = layers(drawn(storage_on="mgmt1")[1])
    assert {name for name, layer in found.items() if layer == "storage"} == {
        "up", "n0.mgmt", "n1.mgmt", "data",
    }  # fmt: skip


def test_storage_on_the_fabric_leaves_management_alone() -> None:
    found = layers(drawn(storage_on="leaf0")[1])
    assert found["data"] == "storage" and found["up"] == "management" and found["n0.net"] == "fabric"


def test_switches_that_training_reaches_too_stay_fabric() -> None:
    found = layers(drawn(Link("joined", "mgmt1", "leaf0", LinkKind.ETHERNET, 25e9))[1])
    assert found["joined"] == found["up"] == "fabric"
    assert found["n0.mgmt"] == "management"


def test_nics_of_a_host_without_rails_are_fabric() -> None:
    document, index = drawn()
    edit = SetFields("device", ("n0.nic", "n1.nic"), {"rail": None})
    edit.apply(document)
    index.patch(document, document.last_change)
    assert set(layers(index).values()) == {"fabric", "pcie"}


def test_a_storage_network_of_a_template_is_no_fabric() -> None:
    content = build("hgx-h100", {"nodes": 4, "host": "full", "storage": 2})
    index = SceneIndex(Document(Topology(content.devices, content.links, content.containers)))
    of_storage = {
        link.id for link in content.links if any("st-" in end or "storage" in end for end in (link.a, link.b))
    }
    networks = (LinkKind.ETHERNET, LinkKind.INFINIBAND)
    expected = {link.id for link in content.links if link.id in of_storage and link.kind in networks}
    assert {name for name, layer in layers(index).items() if layer == "storage"} == expected
    counts = Counter(LAYERS[code] for code in layer_of_links(index).tolist())
    assert counts["management"] == 0 and counts["storage"] and counts["fabric"]


def test_an_empty_drawing_has_no_layers() -> None:
    assert np.array_equal(layer_of_links(SceneIndex(Document())), [])


def test_the_layer_is_offered_where_there_is_such_a_network(view: CanvasView) -> None:
    chip = view.overlay.layers["management"]
    assert not chip.isVisible()
    document, _ = drawn()
    view.context.document.push(Load(document), "Load")
    assert chip.isVisible()
    shown = view.overlay.layers
    assert [name for name in LAYERS if shown[name].isVisible()] == list(LAYERS)
    chip.click()
    assert view.context.layers == frozenset(LAYERS) - {"management"}
    view.context.document.undo_stack.undo()
    assert not chip.isVisible()
