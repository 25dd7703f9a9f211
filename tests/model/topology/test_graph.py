"""The drawing's owner: unique ids, order that survives, nothing changed by a refusal."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import pytest

from model.errors import EditRefused
from model.topology.floor import mounts
from model.topology.graph import Parts, Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State


def _gpu(ident: str, parent: str | None = None) -> Device:
    return Device(ident, DeviceKind.GPU, "h100-sxm", parent=parent)


def _link(ident: str, a: str, b: str) -> Link:
    return Link(ident, a, b, LinkKind.NVLINK, 25e9)


@pytest.fixture
def topology() -> Topology:
    return Topology(
        [_gpu("g0", "node0"), _gpu("g1", "node0"), _gpu("g2")],
        [_link("l01", "g0", "g1"), _link("l12", "g1", "g2"), _link("l01b", "g1", "g0")],
        [Container("rack0", ContainerKind.RACK), Container("node0", ContainerKind.TRAY, parent="rack0")],
    )


def test_graph_holds_the_values_under_the_ids(topology: Topology) -> None:
    assert topology.graph.nodes["g1"]["device"] == topology.device("g1")
    assert topology.graph.edges["g0", "g1", "l01b"]["link"].a == "g1"
    assert topology.graph.number_of_edges("g0", "g1") == 2
    assert [link.id for link in topology.links_between("g1", "g0")] == ["l01", "l01b"]


def test_removed_device_takes_its_links_and_comes_back_in_place(topology: Topology) -> None:
    before = pickle.loads(pickle.dumps(topology))
    removed = topology.remove(["g1"], [], [])
    assert [link.id for link in removed.links] == ["l01", "l12", "l01b"]
    assert topology.links() == ()
    assert topology.children("node0") == ("g0",)
    assert not topology.same_as(before)
    topology.add(removed)
    assert topology.same_as(before)
    assert topology.checksum() == before.checksum()
    assert [link.id for link in topology.links_of("g1")] == ["l01", "l12", "l01b"]


def test_order_survives_interleaved_removal_and_addition(topology: Topology) -> None:
    first = topology.remove(["g0"], [], [])
    second = topology.remove(["g1"], [], [])
    topology.add(Parts(devices=(_gpu("g9"),)))
    topology.add(second)
    topology.add(first)
    assert [device.id for device in topology.devices()] == ["g0", "g1", "g2", "g9"]
    assert [link.id for link in topology.links()] == ["l01", "l12", "l01b"]


def test_reading_twice_gives_the_same_tuple_until_something_changes(topology: Topology) -> None:
    links = topology.links()
    topology.put(devices=[replace(topology.device("g0"), state=State.DOWN)])
    assert topology.links() is links
    assert topology.devices()[0].state is State.DOWN
    assert topology.graph.nodes["g0"]["device"].state is State.DOWN


def test_rename_follows_into_links_parents_and_graph(topology: Topology) -> None:
    topology.rename("device", "g1", "gpu-one")
    topology.rename("container", "node0", "host")
    topology.rename("link", "l12", "cable")
    assert [device.id for device in topology.devices()] == ["g0", "gpu-one", "g2"]
    assert [link.id for link in topology.links_of("gpu-one")] == ["l01", "cable", "l01b"]
    assert topology.graph.edges["gpu-one", "g2", "cable"]["link"].a == "gpu-one"
    assert topology.children("host") == ("g0", "gpu-one")
    assert topology.children("rack0") == ("host",)
    assert topology.descendants("rack0") == ("host", "g0", "gpu-one")
    assert not topology.has_device("g1")


def test_every_write_bumps_the_revision(topology: Topology) -> None:
    seen = [topology.revision]
    topology.put(devices=[replace(topology.device("g0"), label="x")])
    seen.append(topology.revision)
    topology.rename("device", "g0", "a")
    seen.append(topology.revision)
    topology.remove(["a"], [], [])
    seen.append(topology.revision)
    assert seen == sorted(set(seen))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (Parts(devices=(_gpu("g0"),)), "in use"),
        (Parts(devices=(_gpu("l01"),)), "in use"),
        (Parts(devices=(_gpu("new"), _gpu("new"))), "twice"),
        (Parts(links=(_link("l", "g0", "nobody"),)), "no such device"),
        (Parts(links=(_link("l", "g0", "g0"),)), "two devices"),
        (Parts(devices=(_gpu("n", parent="nowhere"),)), "no such container"),
        (Parts(links=(replace(_link("l", "g0", "g1"), lane_bytes_per_s=-1.0),)), "must be from 1 to"),
        (Parts(links=(replace(_link("l", "g0", "g1"), lane_bytes_per_s=math.nan),)), "must be from 1 to"),
        (Parts(links=(replace(_link("l", "g0", "g1"), count=0),)), "whole number"),
        (Parts(links=(replace(_link("l", "g0", "g1"), share=1.5),)), "share"),
        (Parts(devices=(replace(_gpu("n"), speed=0.0),)), "speed"),
        (Parts(devices=(_gpu(""),)), "not empty"),
        (
            Parts(
                containers=(
                    Container("p", ContainerKind.POD, parent="q"),
                    Container("q", ContainerKind.POD, parent="p"),
                )
            ),
            "inside itself",
        ),
    ],
)
def test_refusals_name_the_thing_and_change_nothing(topology: Topology, parts: Parts, words: str) -> None:
    before, revision = topology.checksum(), topology.revision
    with pytest.raises(EditRefused, match=words):
        topology.add(parts)
    assert (topology.checksum(), topology.revision) == (before, revision)
    assert topology.graph.number_of_nodes() == 3


def test_container_that_holds_something_is_not_removed_alone(topology: Topology) -> None:
    with pytest.raises(EditRefused, match="holds g0"):
        topology.remove([], [], ["node0"])
    with pytest.raises(EditRefused, match='no device "nobody"'):
        topology.remove(["nobody"], [], [])


def test_pickled_copy_goes_on_as_the_original(topology: Topology) -> None:
    topology.remove(["g2"], [], [])
    copy = pickle.loads(pickle.dumps(topology))
    for each in (topology, copy):
        each.add(Parts(devices=(_gpu("late"),)))
    assert copy.places() == topology.places()
    assert copy.revision == topology.revision


def test_a_very_deep_nest_is_walked_to_its_end() -> None:
    depth = 3000
    trays = [Container(f"t{i}", ContainerKind.TRAY, parent=f"t{i - 1}" if i else None) for i in range(depth)]
    topology = Topology([Device("gpu", DeviceKind.GPU, "h100-sxm", parent=f"t{depth - 1}")], (), trays)
    assert topology.descendants("t0") == (*(tray.id for tray in trays[1:]), "gpu")
    assert mounts(topology).thing.tolist() == [-1]
