"""What things in racks take: their own figures first, then those of the catalogue, else nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.catalog import catalog
from model.topology.equipment import equipment, mountable, rack_totals, things_in
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind


def host(ident: str, gpu: str, count: int, **fields: object) -> tuple[Container, list[Device]]:
    tray = replace(Container(ident, ContainerKind.TRAY, parent="r"), **fields)
    return tray, [Device(f"{ident}.{n}", DeviceKind.GPU, gpu, parent=ident) for n in range(count)]


def test_a_dgx_b200_is_known_by_its_gpus() -> None:
    """DGX B200 User Guide: 10U, 142.4 kg, 14.3 kW at most."""
    tray, gpus = host("t", "b200-sxm", 8)
    topology = Topology(gpus, (), (Container("r", ContainerKind.RACK), tray))
    found = equipment(topology, tray)
    assert (found.height_u, found.power_w, found.weight_kg) == (10.0, 14_300.0, 142.4)
    assert found.gpu_power_w == 8 * 1000


def test_its_own_figures_come_first() -> None:
    tray, gpus = host("t", "b200-sxm", 8, height_u=12.0, power_w=9000.0)
    topology = Topology(gpus, (), (Container("r", ContainerKind.RACK), tray))
    found = equipment(topology, tray)
    assert (found.height_u, found.power_w, found.weight_kg) == (12.0, 9000.0, 142.4)


def test_what_nobody_says_is_not_made_up() -> None:
    tray, gpus = host("t", "h100-sxm", 5)
    topology = Topology(gpus, (), (Container("r", ContainerKind.RACK), tray))
    found = equipment(topology, tray)
    assert (found.height_u, found.power_w, found.weight_kg) == (None, None, None)
    assert found.gpu_power_w == 5 * 700


def test_a_switch_is_known_by_its_model() -> None:
    topology = Topology([Device("s", DeviceKind.SPINE, "sn5600")])
    assert equipment(topology, topology.device("s")).height_u == 2.0
    assert equipment(topology, topology.device("s")).power_w is None


def test_sums_of_a_rack_are_lower_bounds_where_a_part_is_not_known() -> None:
    first, gpus = host("t", "b200-sxm", 8, u=1, height_u=10.0)
    leaf = Device("leaf", DeviceKind.LEAF, "qm9700", parent="r", u=40, height_u=1.0)
    rack = Container("r", ContainerKind.RACK, height_u=42.0, power_w=20_000.0, weight_kg=100.0)
    topology = Topology([*gpus, leaf], (), (rack, first))
    totals = rack_totals(topology, rack)
    assert (totals.power_w, totals.power_whole, totals.power_limit_w) == (14_300.0, False, 20_000.0)
    assert (totals.weight_kg, totals.weight_whole) == (pytest.approx(242.4), False)
    assert (totals.free_u, totals.height_u) == (42 - 10 - 1, 42.0)


def test_a_whole_rack_of_the_catalogue_stands_in() -> None:
    """GB300 NVL72: 142 kW at most, 1.36 t."""
    trays, gpus = [], []
    for number in range(18):
        tray, four = host(f"t{number}", "gb300", 4)
        trays.append(tray)
        gpus.extend(four)
    rack = Container("r", ContainerKind.RACK)
    totals = rack_totals(Topology(gpus, (), [rack, *trays]), rack)
    assert totals.power_limit_w == 142_000.0
    assert (totals.weight_kg, totals.weight_whole) == (1360.0, True)
    assert (totals.power_w, totals.power_whole) == (18 * 6500.0, True)


def test_parts_of_a_host_cannot_stand_in_a_rack_by_themselves() -> None:
    tray, gpus = host("t", "h100-sxm", 1)
    loose = Device("s", DeviceKind.STORAGE, "storage")
    topology = Topology([*gpus, loose], (), (Container("r", ContainerKind.RACK), tray))
    assert [mountable(topology, ident) for ident in ("t", "s", "t.0", "r")] == [True, True, False, False]
    assert [thing.id for thing in things_in(topology, "r")] == ["t"]


@pytest.mark.parametrize("field", ["height_u", "power_w", "weight_kg"])
def test_every_figure_of_the_catalogue_has_a_source(field: str) -> None:
    book = catalog()
    for spec in (*book.platforms.values(), *book.switches.values(), *book.hosts.values()):
        if getattr(spec, field) is not None:
            assert field in spec.provenance, f"{field} of {spec.id}"
            assert book.source_text(spec, field)
