"""Copy and paste: internal links, containers, rails and readable fresh ids."""

from __future__ import annotations

from model.document.clipboard import copy, paste
from model.document.edits import AddParts, RemoveParts
from model.topology.types import Device, DeviceKind
from tests.model.document.test_edits import node_document


def test_a_copied_node_keeps_its_links_and_rails_under_new_names() -> None:
    document = node_document()
    edit = paste(document, copy(document, ["node0"]), (100.0, 0.0))
    assert [container.id for container in edit.containers] == ["node1"]
    assert edit.containers[0].parent == "rack0"
    assert [(device.id, device.parent, device.rail) for device in edit.devices] == [
        ("node1.gpu0", "node1", 0),
        ("node1.gpu1", "node1", 1),
        ("node1.nic0", "node1", 0),
    ]
    assert [(link.id, link.a, link.b, link.count) for link in edit.links] == [
        ("node1.gpu0--node1.gpu1", "node1.gpu0", "node1.gpu1", 18),
        ("node1.gpu0--node1.nic0", "node1.gpu0", "node1.nic0", 1),
    ]
    assert edit.positions["node1.nic0"] == (100.0, 80.0)


def test_paste_again_counts_on_and_undoes() -> None:
    document, before = node_document(), node_document()
    fragment = copy(document, ["node0", "leaf0"])
    undo = [paste(document, fragment, (100.0, 0.0)).apply(document) for _ in range(3)]
    names = [container.id for container in document.topology.containers()]
    assert names == ["rack0", "node0", "node1", "node2", "node3"]
    assert document.topology.link("node3.nic0--leaf3").b == "leaf3"
    assert document.topology.device("node3.gpu1").parent == "node3"
    for edit in reversed(undo):
        edit.apply(document)
    assert document.same_as(before)


def test_a_device_alone_counts_up_beside_its_siblings() -> None:
    document = node_document()
    edit = paste(document, copy(document, ["node0.gpu0"]), (0.0, 0.0))
    assert [(device.id, device.parent) for device in edit.devices] == [("node0.gpu2", "node0")]
    assert edit.links == ()
    assert edit.containers == ()


def test_all_devices_of_a_tray_bring_the_tray() -> None:
    document = node_document()
    fragment = copy(document, ["node0.gpu0", "node0.gpu1", "node0.nic0"])
    assert [container.id for container in fragment.containers] == ["node0"]
    assert copy(document, ["rack0"]).devices == fragment.devices


def test_labels_that_repeat_the_id_follow_and_leading_zeros_stay() -> None:
    document = node_document()
    AddParts((Device("host07", DeviceKind.CPU, "cpu", label="host07"),)).apply(document)
    edit = paste(document, copy(document, ["host07"]), (0.0, 0.0))
    assert [(device.id, device.label) for device in edit.devices] == [("host08", "host08")]
    assert edit.positions == {}


def test_a_container_that_is_gone_is_no_parent() -> None:
    document, other = node_document(), node_document()
    fragment = copy(document, ["node0.gpu0"])
    RemoveParts((), (), ("node0",)).apply(other)
    assert paste(other, fragment, (0.0, 0.0)).devices[0].parent is None
