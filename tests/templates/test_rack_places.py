"""Where templates stand trays and switches in racks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from model.topology.cables import cable_class, cable_length_m
from model.topology.graph import Topology
from model.topology.racks import refusal
from model.topology.types import ContainerKind, DeviceKind
from topology_templates.registry import TEMPLATES, build


def drawn(ident: str, values: Mapping[str, Any] | None = None) -> Topology:
    content = build(ident, values)
    return Topology(content.devices, content.links, content.containers)


def units(topology: Topology, rack: str) -> dict[str, tuple[int | None, float | None]]:
    things = (
        topology.container(ident) if topology.has_container(ident) else topology.device(ident)
        for ident in topology.children(rack)
    )
    return {thing.id: (thing.u, thing.height_u) for thing in things}


@pytest.mark.parametrize("ident", ["gb200-nvl72", "gb300-nvl72", "vr-nvl72"])
def test_nvl72_has_its_switch_trays_between_its_compute_trays(ident: str) -> None:
    """8 compute trays of 1U below, 9 switch trays, 10 compute trays above; room for power shelves."""
    found = units(drawn(ident), "rack01")
    trays = [found[f"rack01.tray{number:02d}"][0] for number in range(1, 19)]
    assert trays == [*range(12, 20), *range(29, 39)]
    assert [found[f"rack01.nvsw{number}"][0] for number in range(1, 10)] == list(range(20, 29))
    assert {height for _, height in found.values()} == {1.0}


def test_hosts_are_stacked_by_their_height() -> None:
    """DGX H100 are 8U, DGX B200 10U: four to a rack."""
    assert list(units(drawn("hgx-h100", {"nodes": 8}), "rack00").values()) == [
        (1, 8.0),
        (9, 8.0),
        (17, 8.0),
        (25, 8.0),
    ]
    tall = units(drawn("hgx-b200", {"nodes": 8}), "rack00")
    assert [u for u, _ in tall.values()] == [1, 11, 21, 31]


def test_what_does_not_fit_or_has_no_known_height_has_no_place() -> None:
    seven = units(drawn("leaf-spine", {"nodes": 14, "nodes_per_rack": 7, "oversubscription": 7.0}), "rack00")
    assert [u for u, _ in seven.values()] == [1, 9, 17, 25, 33, 41, None]
    assert [u for u, _ in units(drawn("fat-tree"), "rack00").values()] == [None]


def test_a_leaf_in_the_rack_is_reached_by_copper() -> None:
    topology = drawn("llama3-24k")
    lengths = [
        (cable_length_m(topology, link), link.lane_bytes_per_s)
        for link in topology.links()
        if {topology.device(link.a).kind, topology.device(link.b).kind} == {DeviceKind.NIC, DeviceKind.LEAF}
    ]
    assert len(lengths) == 2 * 4 * 16
    assert {cable_class(length or 99.0, lane).id for length, lane in lengths} == {"copper"}


@pytest.mark.parametrize("ident", list(TEMPLATES))
def test_nothing_overlaps_in_any_template(ident: str) -> None:
    topology = drawn(ident)
    for box in topology.containers():
        if box.kind is ContainerKind.RACK:
            things = [
                topology.container(one) if topology.has_container(one) else topology.device(one)
                for one in topology.children(box.id)
            ]
            assert refusal(box, things) is None
