"""Cables: lengths reckoned by hand from U and places on the floor, and the classes of the catalogue."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.catalog import catalog
from model.topology.cables import cable_class, cable_length_m, cable_lengths, cable_text
from model.topology.floor import FloorPlace, floor_places
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind

GBIT = 1e9 / 8
U = 0.04445  # EIA-310: 1.75 inches


def leaf(ident: str, rack: str | None, u: int | None, height_u: float | None = None) -> Device:
    return Device(ident, DeviceKind.LEAF, "qm9700", parent=rack, u=u, height_u=height_u)


def cable(a: str, b: str, length_m: float | None = None) -> Link:
    return Link(f"{a}--{b}", a, b, LinkKind.INFINIBAND, 400 * GBIT, length_m=length_m)


def rack(ident: str, **fields: object) -> Container:
    return replace(Container(ident, ContainerKind.RACK), **fields)


def one_cable(a: Device, b: Device, *racks: Container) -> float | None:
    topology = Topology((a, b), (cable(a.id, b.id),), racks)
    return cable_length_m(topology, topology.links()[0])


def test_inside_a_rack_it_is_the_height_between_the_middles_and_slack() -> None:
    # Middles at 0.5 U and 10 + 1 U (two units high): 10.5 U apart.
    length = one_cable(leaf("a", "r", 1), leaf("b", "r", 11, 2.0), rack("r"))
    assert length == pytest.approx(10.5 * U + 0.5)


def test_between_racks_it_goes_over_the_trays_along_and_across() -> None:
    # Up from 0.5 U to 42 U and 0.3 m more, three racks along and two rows across, down to 41.5 U.
    near = rack("r", row=0, column=1, height_u=42.0)
    far = rack("s", row=2, column=4, height_u=42.0)
    length = one_cable(leaf("a", "r", 1), leaf("b", "s", 42), near, far)
    assert length == pytest.approx((41.5 + 0.5) * U + 2 * 0.3 + 3 * 0.6 + 2 * 2.4 + 1.0)


def test_what_is_in_a_tray_has_the_place_of_the_tray() -> None:
    tray = Container("t", ContainerKind.TRAY, parent="r", u=1, height_u=8.0)
    nic = Device("n", DeviceKind.NIC, "cx7-ndr", parent="t")
    gpu = Device("g", DeviceKind.GPU, "h100-sxm", parent="t")
    links = (cable("n", "a"), Link("inside", "n", "g", LinkKind.PCIE, 6e10))
    topology = Topology((leaf("a", "r", 40), nic, gpu), links, (rack("r"), tray))
    assert cable_length_m(topology, links[0]) == pytest.approx((39.5 - 4.0) * U + 0.5)
    assert cable_length_m(topology, links[1]) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (leaf("a", "r", 1), leaf("b", None, 1)),
        (leaf("a", "r", 1), leaf("b", "r", None)),
        (leaf("a", "r", 1), leaf("b", "elsewhere", 1)),
    ],
    ids=["no rack", "no U", "another site"],
)
def test_an_unknown_place_gives_no_length(a: Device, b: Device) -> None:
    site = Container("far", ContainerKind.SITE)
    assert one_cable(a, b, rack("r"), site, rack("elsewhere", parent="far")) is None


def test_a_length_of_its_own_counts() -> None:
    links = (cable("a", "b", 7.5),)
    topology = Topology((leaf("a", "r", 1), leaf("b", "r", 2)), links, (rack("r"),))
    assert cable_length_m(topology, links[0]) == 7.5
    assert cable_lengths(topology) == {"a--b": 7.5}


def test_lengths_follow_a_moved_thing() -> None:
    topology = Topology((leaf("a", "r", 1), leaf("b", "r", 2)), (cable("a", "b"),), (rack("r"),))
    before = cable_length_m(topology, topology.links()[0])
    topology.put(devices=(leaf("b", "r", 12),))
    after = cable_length_m(topology, topology.links()[0])
    assert before is not None and after is not None
    assert after - before == pytest.approx(10 * U)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 48)), min_size=2, max_size=8, unique=True))
def test_lengths_are_symmetric_and_all_at_once_the_same(places: list[tuple[int, int]]) -> None:
    racks = [rack(f"r{number}") for number in range(6)]
    devices = [leaf(f"d{number}", f"r{where}", u) for number, (where, u) in enumerate(places)]
    pairs = [(a, b) for a in devices for b in devices if a.id != b.id]
    topology = Topology(devices, [cable(a.id, b.id) for a, b in pairs], racks)
    lengths = cable_lengths(topology)
    for a, b in pairs:
        assert lengths[f"{a.id}--{b.id}"] == lengths[f"{b.id}--{a.id}"]
        assert lengths[f"{a.id}--{b.id}"] == cable_length_m(topology, topology.link(f"{a.id}--{b.id}"))
        assert (lengths[f"{a.id}--{b.id}"] or 0.0) >= 0.5


@pytest.mark.parametrize(
    ("length_m", "gbit_per_s", "name"),
    [
        (3.0, 400, "copper"),
        (3.01, 400, "active-copper"),
        (3.0, 200, "copper"),
        (2.0, 800, "copper"),
        (2.01, 800, "active-copper"),
        (1.0, 1600, "active-copper"),
        (5.0, 800, "active-copper"),
        (5.01, 400, "aoc"),
        (30.0, 400, "aoc"),
        (30.1, 400, "fibre"),
        (40_000.0, 400, "fibre"),
    ],
)
def test_classes(length_m: float, gbit_per_s: float, name: str) -> None:
    """Copper to 3 m at 400G and 2 m at 800G, active copper to 5 m, optical cables to 30 m, fibre above."""
    assert cable_class(length_m, gbit_per_s * GBIT).id == name


def test_a_metre_takes_five_nanoseconds() -> None:
    assert catalog().cables.seconds_per_metre == pytest.approx(5e-9)


def test_racks_of_a_pod_stand_in_rows_of_their_own() -> None:
    pods = [Container(name, ContainerKind.POD) for name in ("p", "q")]
    racks = [rack(f"p{number:02d}", parent="p") for number in range(18)] + [rack("q0", parent="q")]
    places = floor_places(Topology((), (), [*pods, *racks]))
    assert places["p00"] == FloorPlace(None, 0, 0)
    assert places["p15"] == FloorPlace(None, 0, 15)
    assert places["p16"] == FloorPlace(None, 1, 0)
    assert places["q0"] == FloorPlace(None, 2, 0)


def test_a_place_of_its_own_is_kept_and_the_others_go_around_it() -> None:
    racks = [rack("a"), rack("b", row=0, column=1), rack("c"), rack("d", row=5)]
    places = floor_places(Topology((), (), racks))
    assert {ident: (at.row, at.column) for ident, at in places.items()} == {
        "a": (0, 0),
        "b": (0, 1),
        "c": (0, 2),
        "d": (5, 0),
    }
    assert list(places) == ["a", "b", "c", "d"]


def test_cables_in_words() -> None:
    devices = [leaf("a", "r", 1), leaf("b", "r", 11), leaf("c", "r", 42), leaf("d", None, None)]
    links = [
        cable("a", "b"),
        cable("a", "c"),
        cable("a", "d"),
        cable("b", "c", 4.0),
        cable("b", "d", 40_000.0),
    ]
    topology = Topology(devices, links, (rack("r"),))
    assert cable_text(topology, links[:1]) == "0.945 m, passive copper, 4.72 ns"
    assert cable_text(topology, links[:2]) == "0.945 to 2.32 m, passive copper"
    assert cable_text(topology, [links[0], links[3]]) == "0.945 to 4.00 m, passive copper or active copper"
    assert cable_text(topology, links[4:]) == "40,000 m, fibre and transceivers, 200 µs"
    assert cable_text(topology, links[:3]) == "" and cable_text(topology, ()) == ""
