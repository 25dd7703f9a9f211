"""NetBox: tables to import and exported ones, of cables and of devices."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import import_sources, sniffed
from model.topology.types import State
from tests.model.files.imports.fabrics import cables, gbit, kinds, lines, link, opens, rails
from tests.model.files.imports.samples import drawing, imported, own, real, said, text

HEADINGS = (
    "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,status,length,length_unit\n"
)


def test_a_table_to_import() -> None:
    source = own("netbox-csv/import.csv")
    assert [one.id for one in sniffed(source)] == ["netbox-csv"]
    one = imported(source)
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"leaf": 1, "nic": 2, "tray": 2}
    assert [each.length_m for each in one.result.links] == [3.0, 3.0]
    assert lines(one, "Cables that stand there more than once") == (3,)
    assert lines(one, "Cables to ports that are dcim.powerport") == (4,)
    opens(one.result)


def test_exported_tables_of_cables_and_devices() -> None:
    """A mark of Excel, semicolons, display headings, fan-outs on both sides, decimal commas, feet, racks."""
    sources = [own("netbox-csv/exported.csv"), own("netbox-csv/devices.csv")]
    assert [one.id for one in sniffed(sources[0])] == ["netbox-csv"]
    one = import_sources(sources)
    assert isinstance(one.result, Drawing)
    assert gbit(one.result) == {
        frozenset(("gpu01.mlx5_0", "leaf01")): [(200.0, 2)],
        frozenset(("gpu02.mlx5_0", "leaf01")): [(400.0, 1)],
        frozenset(("gpu03.mlx5_0", "leaf01")): [(400.0, 1)],
        frozenset(("leaf01", "spine01")): [(400.0, 1), (400.0, 1)],
    }
    assert link(one.result, "gpu01.mlx5_0", "leaf01").length_m == 2.5
    assert link(one.result, "gpu03.mlx5_0", "leaf01").length_m == pytest.approx(3.048)
    assert {each.length_m: each.state for each in one.result.links}[30.0] is State.DOWN
    assert lines(one, "Cables that fan out") == (3, 4)
    assert lines(one, "The length long") == (7,)
    places = {
        each.id: (each.parent, each.u, each.height_u)
        for each in (*one.result.devices, *one.result.containers)
    }
    assert places["gpu01"] == ("R1", 10, 8.0)
    assert places["gpu02"] == ("R3", None, 8.0)
    assert places["spine01"] == ("R9", 38, 2.0)
    assert lines(one, "Devices in another rack") == (5,)
    assert "1 device without a cable left out." in said(one, "ignored")
    opens(one.result)


def test_units_that_are_taken_or_not_there() -> None:
    rows = "leaf1,R1,leaf,40,1\nleaf2,R1,leaf,40,1\ngpu1,R1,server,47,8\nleaf3,R1,leaf,0,1\nleaf4,,leaf,7,1\n"
    one = imported(text("Name,Rack,Role,Position,Height (U)\n" + rows))
    assert isinstance(one.result, Drawing)
    units = {each.id: each.u for each in (*one.result.devices, *one.result.containers)}
    assert units == {
        "leaf1": 40,
        "leaf2": None,
        "leaf3": None,
        "leaf4": None,
        "gpu1": 47,
        "gpu1.nic0": None,
        "R1": None,
    }
    assert {rack.id: rack.height_u for rack in one.result.containers}["R1"] == 54.0
    assert lines(one, "leaf2 would be in U 40 of rack R1, where leaf1 is; it got no unit.") == (3,)
    assert lines(one, "leaf3 would be in U 0 of rack R1, which no rack has; it got no unit.") == (5,)
    opens(one.result)


def test_devices_alone_are_drawn_without_links() -> None:
    result = drawing(own("netbox-csv/devices.csv"), "netbox-csv", unknown_boxes="switch")
    assert kinds(result) == {"leaf": 2, "spine": 1, "nic": 2, "tray": 2, "rack": 3}
    opens(result)


@pytest.mark.parametrize(
    ("length", "unit", "metres"),
    [
        ("3", "m", 3.0),
        ("10", "ft", 3.048),
        ("300", "cm", 3.0),
        ("1.5", "Kilometers", 1500.0),
        ("2", "", 2.0),
        ("", "m", None),
    ],
)
def test_lengths(length: str, unit: str, metres: float | None) -> None:
    row = f"gpu1,dcim.interface,eth0,leaf1,dcim.interface,swp1,connected,{length},{unit}\n"
    assert drawing(text(HEADINGS + row)).links[0].length_m == metres


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(delimiter: str) -> None:
    row = "gpu1,dcim.interface,eth0,leaf1,dcim.interface,swp1,connected,1,m\n"
    assert cables(drawing(text((HEADINGS + row).replace(",", delimiter)))) == 1


def test_cells_with_quotes_and_line_ends_keep_the_lines() -> None:
    one = imported(text(HEADINGS + '"gpu\n1",x,eth0,leaf1,x,swp1,odd,,\ngpu2,x,eth0,leaf1,x,swp2,odd,,\n'))
    assert lines(one, "The status odd of cables") == (3, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,c\n1,2,3\n", "is no table of NetBox"),
        (HEADINGS, "has headings, and no cable and no device below"),
        (HEADINGS + ",x,eth0,leaf1,x,swp1,,,\n", "line 2: side A of a cable names no device"),
        (HEADINGS + "gpu1,x,,,x,,,,\n", "line 2: a cable has no side B"),
        (HEADINGS + 'gpu1,x,"a,b",leaf1,x,"c,d,e",,,\n', "line 2: a cable joins 2 ends to 3"),
        (HEADINGS + '"' + "x" * 200_000 + "\n", "line 2: this is no CSV"),
    ],
)
def test_refused_with_the_line(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "netbox-csv")


def test_a_partial_import_leaves_a_broken_row_out() -> None:
    rows = ",x,eth0,leaf1,x,swp1,,,\ngpu1,x,eth0,leaf1,x,swp1,,,\n"
    one = imported(text(HEADINGS + rows), partial=True)
    assert isinstance(one.result, Drawing)
    assert cables(one.result) == 1
    assert lines(one, "Left out: side A of a cable") == (2,)


def test_infiniband_when_it_is_answered() -> None:
    row = "gpu1,dcim.interface,mlx5_0,leaf1,dcim.interface,1,connected,1,m\n"
    result = drawing(text(HEADINGS + row), network="infiniband")
    assert {each.kind.value for each in result.links} == {"infiniband"}
    assert {device.model for device in result.devices} == {"qm9700", "cx7-ndr"}


def test_interfaces_tell_the_network_and_the_speed_of_the_slower_end() -> None:
    """NetBox has speeds in kb/s."""
    rows = "gpu1,dcim.interface,ib0,leaf1,dcim.interface,1,connected,1,m\n"
    ports = "device,name,type,speed,enabled\ngpu1,ib0,infiniband-hdr,200000000,true\n"
    ports += "leaf1,1,infiniband-ndr,400000000,true\nleaf1,2,infiniband-ndr,fast,true\n"
    one = import_sources([text(HEADINGS + rows, "cables.csv"), text(ports, "interfaces.csv")])
    assert isinstance(one.result, Drawing)
    (cable,) = one.result.links
    assert (cable.kind.value, cable.lane_bytes_per_s) == ("infiniband", 25e9)
    assert not any("gbit" in question.key for question in one.questions)


def test_real_file() -> None:
    one = imported(real("netbox_csv/SYN_cables_import.csv"))
    assert isinstance(one.result, Drawing)
    assert kinds(one.result) == {"leaf": 4, "spine": 2, "nic": 8, "tray": 2}
    assert cables(one.result) == 16
    assert sorted(each.length_m or 0 for each in one.result.links) == [0.0] * 8 + [3.0] * 8
    assert lines(one, "Planned cables") == tuple(range(10, 18))
    assert rails(one.result)["gpu02.mlx5_3"] == 3
    opens(one.result)
