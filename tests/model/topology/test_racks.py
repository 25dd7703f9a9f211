"""What can stand in a rack: one thing in each U, none outside."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import EditRefused
from model.topology.graph import Topology
from model.topology.nesting import nesting_refusal
from model.topology.racks import free_units, lowest_free, refusal, units
from model.topology.types import Container, ContainerKind

RACK = Container("A2", ContainerKind.RACK, height_u=42.0)


def tray(ident: str, u: int | None, height_u: float | None = None, parent: str = "A2") -> Container:
    return Container(ident, ContainerKind.TRAY, parent=parent, u=u, height_u=height_u)


@pytest.mark.parametrize(
    ("things", "reason"),
    [
        ((tray("node03", 12), tray("node07", 12)), "node03 and node07 would both be in U 12 of rack A2"),
        ((tray("node03", 5, 8.0), tray("node07", 12)), "node03 and node07 would both be in U 12 of rack A2"),
        ((tray("a", 1, 1.5), tray("b", 2)), "a and b would both be in U 2 of rack A2"),
        ((tray("a", 36, 8.0),), "a would be in U 36–43 of rack A2, which has 42 U"),
        ((tray("a", 43),), "a would be in U 43 of rack A2, which has 42 U"),
        ((tray("a", 0),), "a would be in U 0 of rack A2; the lowest is U 1"),
    ],
)
def test_what_does_not_fit_is_refused(things: tuple[Container, ...], reason: str) -> None:
    assert refusal(RACK, things) == reason
    with pytest.raises(EditRefused, match=reason):
        Topology((), (), (RACK, *things))
    topology = Topology((), (), (RACK, *(replace(thing, u=None) for thing in things)))
    before = topology.checksum()
    with pytest.raises(EditRefused, match=reason):
        topology.put(containers=things)
    assert topology.checksum() == before


def test_neighbours_and_an_unknown_place_fit() -> None:
    things = (tray("a", 1, 8.0), tray("b", 9, 8.0), tray("c", 35, 8.0), tray("d", None), tray("e", None))
    assert refusal(RACK, things) is None
    assert Topology((), (), (RACK, *things)).children("A2") == ("a", "b", "c", "d", "e")


def test_two_can_change_places_at_once_and_a_rack_cannot_shrink_under_them() -> None:
    topology = Topology((), (), (RACK, tray("a", 1, 2.0), tray("b", 40, 2.0)))
    topology.put(containers=(tray("a", 40, 2.0), tray("b", 1, 2.0)))
    assert topology.container("a").u == 40
    with pytest.raises(EditRefused, match="which has 40 U"):
        topology.put(containers=(replace(RACK, height_u=40.0),))


def test_a_tray_that_becomes_a_rack_is_asked_too() -> None:
    outer = Container("x", ContainerKind.POD)
    topology = Topology((), (), (outer, tray("a", 5, parent="x"), tray("b", 5, parent="x")))
    with pytest.raises(EditRefused, match="both be in U 5"):
        topology.put(containers=(replace(outer, kind=ContainerKind.RACK),))


def test_without_a_height_a_rack_has_the_default_of_48() -> None:
    rack = Container("r", ContainerKind.RACK)
    assert refusal(rack, (tray("a", 48),)) is None
    assert refusal(rack, (tray("a", 49),)) == "a would be in U 49 of rack r, which has 48 U"


def test_free_units_and_the_lowest_that_has_the_room() -> None:
    things = (tray("a", 2, 3.0), tray("b", 7, 1.0))
    small = replace(RACK, height_u=10.0)
    assert free_units(small, things) == (1, 5, 6, 8, 9, 10)
    assert lowest_free(small, things, 2.0) == 5
    assert lowest_free(small, things, 3.0) == 8
    assert lowest_free(small, things, 4.0) is None
    assert lowest_free(small, things, 1.0, start=6) == 6


@given(st.lists(st.tuples(st.integers(1, 44), st.floats(0.5, 9.0, allow_nan=False)), min_size=1, max_size=12))
def test_accepted_means_that_no_two_share_a_unit(places: list[tuple[int, float]]) -> None:
    things = [tray(f"t{number}", u, height) for number, (u, height) in enumerate(places)]
    taken = [unit for u, height in places for unit in units(u, height)]
    fits = len(taken) == len(set(taken)) and all(u - 1 + height <= 42 for u, height in places)
    assert (refusal(RACK, things) is None) == fits


@pytest.mark.parametrize("inner", list(ContainerKind))
@pytest.mark.parametrize("outer", list(ContainerKind))
def test_a_site_holds_pods_a_pod_racks_a_rack_trays(inner: ContainerKind, outer: ContainerKind) -> None:
    order = [ContainerKind.TRAY, ContainerKind.RACK, ContainerKind.POD, ContainerKind.SITE]
    fits = order.index(inner) < order.index(outer)
    why = nesting_refusal(Container("i", inner), Container("o", outer))
    assert (why is None) == fits
    assert why is None or f'{inner} "i" cannot lie in {outer} "o"' in why
