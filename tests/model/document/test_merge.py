"""Merging a drawing into the open one: beside, as the node of trays, on hosts of the same name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.document.document import Document
from model.document.edits import Assign, SetFields, SetJob
from model.document.merge import Merge, plan_beside
from model.document.merge_hosts import plan_hosts
from model.document.merge_trays import hosts_in, node_of, plan_trays
from model.document.start import document_from
from model.errors import EditRefused
from model.files.importing import Drawing
from model.job.spec import apply_set
from model.topology.ports import port_findings
from model.topology.types import (
    NETWORK_LINKS,
    Container,
    ContainerKind,
    Device,
    DeviceKind,
    Link,
    LinkKind,
)
from topology_templates.registry import build


def template(ident: str, **parameters: object) -> Drawing:
    content = build(ident, parameters)
    return Drawing(content.name, content.devices, content.links, content.containers, content.positions)


def opened(ident: str, **parameters: object) -> Document:
    return document_from(build(ident, parameters))


def plain_cluster(hosts: int, per_leaf: int, leaf: str = "qm9700") -> Document:
    """Hosts of which only the network is known, as many on each leaf (conventions 44)."""
    leaves = [Device(f"leaf{n}", DeviceKind.LEAF, leaf) for n in range(-(-hosts // per_leaf))]
    nics = [Device(f"n{n}.nic", DeviceKind.NIC, "cx7-ndr", parent=f"n{n}") for n in range(hosts)]
    links = [
        Link(f"n{n}--leaf", f"n{n}.nic", f"leaf{n // per_leaf}", LinkKind.INFINIBAND, 50e9)
        for n in range(hosts)
    ]
    trays = [Container(f"n{n}", ContainerKind.TRAY) for n in range(hosts)]
    return document_from(Drawing("plain", (*leaves, *nics), tuple(links), tuple(trays)))


def one_undo_step(document: Document, merge: Merge) -> None:
    """Do, undo, redo: each time the whole document is as it was."""
    before = document.content()
    undo = merge.edit.apply(document)
    after = document.content()
    redo = undo.apply(document)
    assert document.content() == before
    redo.apply(document)
    assert document.content() == after


def network_of(document: Document, device: str) -> list[str]:
    topology = document.topology
    return sorted(link.other(device) for link in topology.links_of(device) if link.kind in NETWORK_LINKS)


def count(document: Document, kind: DeviceKind) -> int:
    return sum(device.kind is kind for device in document.topology.devices())


def test_the_same_node_again_changes_only_its_models() -> None:
    document = opened("hgx-h200", nodes=4)
    twin = opened("hgx-h100", nodes=4)
    merge = plan_trays(document, template("hgx-h100", nodes=1))
    one_undo_step(document, merge)
    assert merge.misfits == ()
    assert merge.trays == ("node00", "node01", "node02", "node03")
    assert document.topology.devices() == twin.topology.devices()
    assert {(each.a, each.b, each.kind, each.count) for each in document.topology.links()} == {
        (each.a, each.b, each.kind, each.count) for each in twin.topology.links()
    }
    assert document.layout.keys() == twin.layout.keys()


@pytest.mark.parametrize("way", ["tray", "host"])
def test_devices_that_stay_without_a_label_take_that_of_the_file(way: str) -> None:
    """The system's names tell which NIC is which; a label of ours stays, an id of theirs is no label."""
    document = opened("hgx-h100", nodes=1)
    SetFields("device", ("node00.nic1",), {"label": "ours"}).apply(document)
    node = template("hgx-h100", nodes=1)
    labels = {f"node00.nic{n}": f"mlx5_{n + 4}" for n in range(3)} | {"node00.gpu0": "node00.gpu0"}
    node = replace(
        node, devices=tuple(replace(each, label=labels.get(each.id, each.label)) for each in node.devices)
    )
    merge = plan_trays(document, node) if way == "tray" else plan_hosts(document, node)
    one_undo_step(document, merge)
    found = [document.topology.device(ident).label for ident in labels]
    assert found == ["mlx5_4", "ours", "mlx5_6", ""]


def test_gpus_that_stay_keep_colours_ranks_and_order() -> None:
    document = opened("hgx-h200", nodes=2)
    world = tuple(reversed([gpu.id for gpu in document.topology.working(DeviceKind.GPU)]))
    SetJob(document.job.model_copy(update={"world": world})).apply(document)
    Assign("tp", 3, ("node01.gpu2",)).apply(document)
    plan_trays(document, template("hgx-b200", nodes=1)).edit.apply(document)
    assert document.job.world == world
    assert document.paint["node01.gpu2"] == {"tp": 3}
    assert document.topology.device("node01.gpu2").model == "b200-sxm"


def test_plain_hosts_become_nodes_with_a_link_for_each_nic() -> None:
    """8 hosts of 8 NICs take the 64 ports of a leaf, which is all that a QM9700 has."""
    document = plain_cluster(8, per_leaf=8)
    merge = plan_trays(document, template("hgx-h100", nodes=1))
    one_undo_step(document, merge)
    assert merge.misfits == ()
    assert count(document, DeviceKind.GPU) == 64
    assert document.topology.has_link("n3--leaf")
    for nic in (device for device in document.topology.devices() if device.kind is DeviceKind.NIC):
        assert network_of(document, nic.id) == ["leaf0"]
    assert port_findings(document.topology) == ()
    assert [gpu.parent for gpu in document.topology.working(DeviceKind.GPU)][::8] == [
        f"n{n}" for n in range(8)
    ]


def test_nics_of_the_same_names_stay_on_their_leaves_whatever_gpu_they_are_next_to() -> None:
    """As in many hosts, whose GPU 0 is next to the last HCA: the names tell it, not the order."""
    cluster = opened("hgx-h100", nodes=2, host="plain")
    hcas = (0, 3, 4, 5, 6, 9, 10, 11)
    names = {f"node0{host}.nic{nic}": f"mlx5_{hcas[nic]}" for host in range(2) for nic in range(8)}
    for ident, name in names.items():
        SetFields("device", (ident,), {"label": name}).apply(cluster)
    host = template("hgx-h100", nodes=1)
    node = replace(
        host,
        devices=tuple(
            replace(device, label=f"mlx5_{hcas[7 - device.rail]}")
            if device.kind is DeviceKind.NIC and device.rail is not None
            else device
            for device in host.devices
        ),
    )
    merge = plan_trays(cluster, node)
    one_undo_step(cluster, merge)
    topology = cluster.topology
    for ident, name in names.items():
        place = hcas.index(int(name[5:]))
        nic = topology.device(ident)
        assert (nic.label, network_of(cluster, ident)) == (name, [f"leaf{place}"])
        (bridge,) = (link.other(ident) for link in topology.links_of(ident) if link.kind is LinkKind.PCIE)
        near = {topology.device(link.other(bridge)) for link in topology.links_of(bridge)}
        gpus = {device.rail: device.id for device in near if device.kind is DeviceKind.GPU}
        assert gpus[nic.rail] == f"{ident[:6]}.gpu{7 - place}"
    assert any("told by their names" in said for said in merge.done)


def test_what_finds_no_port_is_listed_and_shared_out_evenly() -> None:
    """16 hosts on 64 ports: 4 NICs of each get one, 64 stay without."""
    document = plain_cluster(16, per_leaf=16)
    merge = plan_trays(document, template("hgx-h100", nodes=1))
    merge.edit.apply(document)
    (misfit,) = merge.misfits
    assert misfit.title == "64 NICs stay without a link"
    assert "leaf0 has no free 400G port (64 of 64 used)" in misfit.detail
    assert len(misfit.devices) == 64
    for host in range(16):
        nics = [device.id for device in document.topology.devices() if device.parent == f"n{host}"]
        linked = [
            ident for ident in nics if ident.split(".")[1].startswith("nic") and network_of(document, ident)
        ]
        assert len(linked) == 4


def test_the_links_of_a_plain_host_go_to_the_nics_of_their_rail() -> None:
    """One NIC on eight rail leaves, as simulators write it, becomes eight NICs on a leaf each."""
    leaves = [
        Device(f"leaf{rail}", DeviceKind.LEAF, "qm9700", rail=rail) for rail in (3, 1, 0, 2, 7, 6, 5, 4)
    ]
    nic = Device("n0.nic", DeviceKind.NIC, "cx7-ndr", parent="n0")
    links = [Link(f"l{leaf.rail}", "n0.nic", leaf.id, LinkKind.INFINIBAND, 50e9) for leaf in leaves]
    document = document_from(
        Drawing("", (*leaves, nic), tuple(links), (Container("n0", ContainerKind.TRAY),))
    )
    merge = plan_trays(document, template("hgx-h100", nodes=1))
    one_undo_step(document, merge)
    assert merge.misfits == ()
    for device in document.topology.devices():
        if device.kind is DeviceKind.NIC:
            assert network_of(document, device.id) == [f"leaf{device.rail}"]
    assert {f"l{rail}" for rail in range(8)} <= {link.id for link in document.topology.links()}


def test_a_host_on_two_switches_stays_on_both_alike() -> None:
    """Two leaves for each host: of eight NICs four are on each."""
    leaves = [Device(f"leaf{n}", DeviceKind.LEAF, "qm9700") for n in range(2)]
    nic = Device("n0.nic", DeviceKind.NIC, "cx7-ndr", parent="n0")
    links = [Link(f"l{n}", "n0.nic", f"leaf{n}", LinkKind.INFINIBAND, 50e9) for n in range(2)]
    document = document_from(
        Drawing("", (*leaves, nic), tuple(links), (Container("n0", ContainerKind.TRAY),))
    )
    plan_trays(document, template("hgx-h100", nodes=1)).edit.apply(document)
    assert [len(document.topology.links_of(leaf.id)) for leaf in leaves] == [4, 4]


def test_new_links_are_no_faster_than_those_of_their_host() -> None:
    """A file that says 100G for a host says so for all of its NICs."""
    document = plain_cluster(2, per_leaf=2)
    slow = [replace(link, lane_bytes_per_s=12.5e9) for link in document.topology.links()]
    document.topology.put((), slow, ())
    plan_trays(document, template("hgx-h100", nodes=1)).edit.apply(document)
    network = [link for link in document.topology.links() if link.kind in NETWORK_LINKS]
    assert [link.lane_bytes_per_s for link in network] == [12.5e9] * 16


def test_a_node_with_fewer_nics_names_the_links_that_go() -> None:
    document = opened("hgx-h100", nodes=1)
    node = template("hgx-h100", nodes=1)
    gone = {f"node00.nic{index}" for index in range(4, 8)}
    small = replace(
        node,
        devices=tuple(device for device in node.devices if device.id not in gone),
        links=tuple(link for link in node.links if link.a not in gone and link.b not in gone),
    )
    merge = plan_trays(document, small)
    one_undo_step(document, merge)
    assert [misfit.title for misfit in merge.misfits] == ["4 links of devices that the node lacks are gone"]
    assert count(document, DeviceKind.NIC) == 4


def test_a_node_without_nics_keeps_those_of_the_trays() -> None:
    document = opened("hgx-h100", nodes=2)
    node = template("hgx-h100", nodes=1, host="plain")
    nics = {device.id for device in node.devices if device.kind is DeviceKind.NIC}
    bare = replace(
        node,
        devices=tuple(device for device in node.devices if device.id not in nics),
        links=tuple(link for link in node.links if link.a not in nics and link.b not in nics),
    )
    merge = plan_trays(document, bare)
    one_undo_step(document, merge)
    assert count(document, DeviceKind.NIC) == 16
    assert network_of(document, "node01.nic3") == network_of(opened("hgx-h100", nodes=2), "node01.nic3")
    assert {link.other("node00.nic3") for link in document.topology.links_of("node00.nic3")} >= {
        "node00.gpu3"
    }


def test_switches_of_a_rack_stay_and_those_of_the_node_are_left_out() -> None:
    """An NVL72 tray filled with what `nvidia-smi topo -m` shows of it: four GPUs on an invented switch."""
    document = opened("gb200-nvl72", racks=1)
    links = len(document.topology.links())
    gpus = [Device(f"GPU{n}", DeviceKind.GPU, "gb300", parent="host", rail=n) for n in range(4)]
    switch = Device("NVSwitch", DeviceKind.NVLINK_SWITCH, "nvlink5-switch", parent="host")
    inner = [Link(f"l{n}", f"GPU{n}", "NVSwitch", LinkKind.NVLINK, 50e9, 18) for n in range(4)]
    host = Container("host", ContainerKind.TRAY)
    node = Drawing("tray", (*gpus, switch), tuple(inner), (host,), whole=False)
    merge = plan_trays(document, node)
    one_undo_step(document, merge)
    assert merge.done[0] == "18 trays get 4 GPUs each."
    assert any("those of the rack" in text for text in merge.done)
    assert len(merge.trays) == 18
    assert {gpu.model for gpu in document.topology.working(DeviceKind.GPU)} == {"gb300"}
    scale_up = [link for link in document.topology.links() if link.kind is LinkKind.NVLINK]
    assert len(scale_up) == 72 * 18
    assert len(document.topology.links()) < links  # CPUs are gone, NICs hang on the GPUs


def test_several_hosts_in_a_file_have_to_be_told_apart() -> None:
    node = template("hgx-h100", nodes=2)
    assert hosts_in(node) == ("node00", "node01")
    with pytest.raises(EditRefused, match="holds 2 hosts"):
        plan_trays(opened("hgx-h100", nodes=1), node)
    with pytest.raises(EditRefused, match='no host "node07"'):
        node_of(node, "node07")
    assert {device.parent for device in node_of(node, "node01").devices} == {"node01"}


def test_chosen_trays_only() -> None:
    document = opened("hgx-h100", nodes=3)
    merge = plan_trays(document, template("hgx-b200", nodes=1), ("node01",))
    one_undo_step(document, merge)
    models = {gpu.parent: gpu.model for gpu in document.topology.working(DeviceKind.GPU)}
    assert models == {"node00": "h100-sxm", "node01": "b200-sxm", "node02": "h100-sxm"}


def test_without_trays_or_without_a_node_it_is_refused() -> None:
    with pytest.raises(EditRefused, match="no trays"):
        plan_trays(Document(), template("hgx-h100", nodes=1))
    fabric = Drawing("fabric", (Device("leaf", DeviceKind.LEAF, "qm9700"),), ())
    with pytest.raises(EditRefused, match="holds no host"):
        plan_trays(opened("hgx-h100", nodes=1), fabric)


# Attach by host name


def test_hosts_are_found_without_domain_case_and_leading_zeros() -> None:
    document = opened("hgx-h100", nodes=3)
    other = template("hgx-b200", nodes=1)
    new = {"node00": "NODE1.cluster.example"}
    renamed = Drawing(
        "file",
        tuple(
            replace(each, id=f"{new['node00']}.{each.id.split('.')[1]}", parent=new["node00"])
            for each in other.devices
            if each.parent
        ),
        (),
        (Container(new["node00"], ContainerKind.TRAY),),
    )
    merge = plan_hosts(document, renamed)
    one_undo_step(document, merge)
    assert merge.trays == ("node01",)
    models = {gpu.parent: gpu.model for gpu in document.topology.working(DeviceKind.GPU)}
    assert models == {"node00": "h100-sxm", "node01": "b200-sxm", "node02": "h100-sxm"}
    assert network_of(document, "node01.nic5") == network_of(opened("hgx-h100", nodes=3), "node01.nic5")


def test_guessed_models_of_a_file_do_not_replace_ours() -> None:
    document = opened("hgx-b200", nodes=1)
    before = document.topology.devices()
    plan_hosts(document, template("hgx-h100", nodes=1), models=False).edit.apply(document)
    models = {device.id: device.model for device in document.topology.devices()}
    assert {device.id: models[device.id] for device in before} == {each.id: each.model for each in before}


def test_cables_of_a_file_replace_those_of_its_nics() -> None:
    """LLDP of one host: nic0 is on another leaf than drawn, and at half the speed."""
    document = opened("hgx-h100", nodes=2, fabric="rail")
    (leaf,) = network_of(document, "node00.nic0")
    (elsewhere,) = network_of(document, "node00.nic1")
    drawing = Drawing(
        "lldp",
        (
            Device("node00.nic0", DeviceKind.NIC, "cx7-ndr", parent="node00"),
            Device(elsewhere, DeviceKind.LEAF, "qm9700"),
        ),
        (Link("cable", "node00.nic0", elsewhere, LinkKind.INFINIBAND, 25e9),),
        (Container("node00", ContainerKind.TRAY),),
    )
    merge = plan_hosts(document, drawing)
    one_undo_step(document, merge)
    assert network_of(document, "node00.nic0") == [leaf, elsewhere]  # the leaf drawn is not in the file
    both = replace(drawing, devices=(*drawing.devices, Device(leaf, DeviceKind.LEAF, "qm9700")))
    plan_hosts(document, both).edit.apply(document)
    assert network_of(document, "node00.nic0") == [elsewhere]
    (link,) = document.topology.links_between("node00.nic0", elsewhere)
    assert link.lane_bytes_per_s == 25e9


def test_hosts_and_switches_without_a_match_are_added() -> None:
    document = opened("hgx-h100", nodes=1)
    (leaf,) = network_of(document, "node00.nic0")
    drawing = Drawing(
        "more",
        (Device("x.nic", DeviceKind.NIC, "cx7-ndr", parent="x"), Device(leaf, DeviceKind.LEAF, "qm9700")),
        (Link("cable", "x.nic", leaf, LinkKind.INFINIBAND, 50e9),),
        (Container("x", ContainerKind.TRAY),),
    )
    merge = plan_hosts(document, drawing)
    one_undo_step(document, merge)
    assert document.topology.device("x.nic").parent == "x"
    assert network_of(document, "x.nic") == [leaf]
    assert "x.nic" in document.layout


def test_nothing_of_the_same_name_is_refused() -> None:
    other = Drawing("other", (Device("z", DeviceKind.LEAF, "qm9700"),), ())
    with pytest.raises(EditRefused, match="put it beside"):
        plan_hosts(opened("hgx-h100", nodes=1), other)


@pytest.mark.parametrize("ident", ["hgx-h100", "gb200-nvl72", "mi300x"])
def test_a_drawing_attached_to_itself_changes_nothing(ident: str) -> None:
    size = {"racks": 1} if ident == "gb200-nvl72" else {"nodes": 3}
    document = opened(ident, **size)
    before = document.content()
    merge = plan_hosts(document, template(ident, **size))
    merge.edit.apply(document)
    assert document.content() == before
    assert merge.misfits == ()


@given(
    hosts=st.integers(1, 12),
    per_leaf=st.integers(1, 12),
    leaf=st.sampled_from(["qm9700", "qm8700", "sn5600"]),
    node=st.sampled_from(["hgx-a100", "hgx-h100", "hgx-b300", "mi300x"]),
)
def test_filled_hosts_are_whole_and_no_port_is_taken_twice(
    hosts: int, per_leaf: int, leaf: str, node: str
) -> None:
    """Every NIC has a link or is listed, links that were there stay, and switches are never over-full."""
    document = plain_cluster(hosts, per_leaf, leaf)
    kept = {link.id for link in document.topology.links()}
    drawing = template(node, nodes=1)
    wanted = [device.kind for device in node_of(drawing).devices]
    merge = plan_trays(document, drawing)
    one_undo_step(document, merge)
    assert kept <= {link.id for link in document.topology.links()}
    unlinked = {ident for misfit in merge.misfits for ident in misfit.devices}
    for host in range(hosts):
        inside = [device for device in document.topology.devices() if device.parent == f"n{host}"]
        assert sorted(device.kind for device in inside) == sorted(wanted)
        for device in inside:
            if device.kind is DeviceKind.NIC:
                assert bool(network_of(document, device.id)) != (device.id in unlinked)
    for finding in port_findings(document.topology):
        assert not any(ident.startswith("leaf") for ident in finding.devices), finding


# Beside


def test_beside_gives_new_names_and_stands_to_the_right() -> None:
    document = opened("hgx-h100", nodes=1)
    right = max(x for x, _ in document.layout.values())
    before = {device.id for device in document.topology.devices()}
    merge = plan_beside(document, template("hgx-h100", nodes=1))
    one_undo_step(document, merge)
    new = [device.id for device in document.topology.devices() if device.id not in before]
    assert len(new) == len(before)
    assert min(document.layout[ident][0] for ident in new) > right


def test_beside_on_nothing_brings_the_default_job() -> None:
    document = Document()
    merge = plan_beside(document, template("hgx-h100", nodes=2))
    one_undo_step(document, merge)
    assert document.same_as(opened("hgx-h100", nodes=2))


def test_a_job_that_was_set_stays() -> None:
    document = opened("hgx-h200", nodes=2)
    job = apply_set(document.job, "parallel.tp=8")
    SetJob(job).apply(document)
    plan_trays(document, template("hgx-h100", nodes=1)).edit.apply(document)
    assert document.job == job
