"""What is ordered, labelled and entered into NetBox: counts of templates, lengths and classes of cables."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from model.document.document import Document
from model.document.edits import SetFields
from model.errors import InputError
from model.files.exports.csv_text import sheet_text
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from tests.model.files.exports.drawings import drawings, export, pair, template, text_of
from topology_templates.registry import counts

Rows = list[dict[str, str]]


def rows(text: str) -> Rows:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("ident", "parameters"),
    [
        ("hgx-h100", {"nodes": 40}),
        ("gb200-nvl72", {"racks": 2}),
        ("superpod-h100", {}),
        ("mi300x", {"nodes": 4}),
        ("fat-tree", {}),
    ],
)
def test_the_bill_counts_what_the_template_counts(ident: str, parameters: dict[str, object]) -> None:
    """`counts` reckons without building."""
    wanted = dict(counts(ident, parameters))
    bill = rows(text_of(template(ident, **parameters), "bill-of-materials"))
    names = {
        "GPU": "gpu",
        "NIC": "nic",
        "NVLink switch": "nvlink-switch",
        "CPU": "cpu",
        "PCIe switch": "pcie-switch",
    }
    names |= {name: name for name in ("leaf", "spine", "core")}
    found: Counter[str] = Counter()
    for row in bill:
        if row["category"] in names:
            found[names[row["category"]]] += int(row["quantity"])
    assert found == Counter({name: wanted[name] for name in names.values() if wanted.get(name)})


def test_the_bill_sums_cables_by_speed_and_class() -> None:
    """Of the pair: 12 cables of 400G, one of 200G; lengths that are set give their class and their metres."""
    document = pair()
    SetFields("link", ("r0-top0", "r0-top1"), {"length_m": 2.0}).apply(document)
    SetFields("link", ("a.nic0-l",), {"length_m": 20.0}).apply(document)
    bill = rows(text_of(document, "bill-of-materials"))
    cables = {row["name"]: (row["quantity"], row["note"]) for row in bill if row["category"] == "cable"}
    assert cables == {
        "InfiniBand 200G, cable of unknown length": ("1", ""),
        "InfiniBand 400G, Passive copper": ("4", "8 m together"),
        "InfiniBand 400G, Active optical cable": ("1", "20 m together"),
        "InfiniBand 400G, cable of unknown length": ("7", ""),
    }
    assert [row["quantity"] for row in bill if row["category"] == "tray or host"] == ["2"]


def test_power_is_said_where_all_of_a_model_have_the_same() -> None:
    """700 W is the catalogue's thermal design power of an H100; the trays of two GPUs it does not know."""
    document = pair()
    SetFields("device", ("r0",), {"power_w": 1500.0}).apply(document)
    power = {row["category"]: row["each_power_w"] for row in rows(text_of(document, "bill-of-materials"))}
    assert (power["GPU"], power["leaf"], power["tray or host"]) == ("700", "", "")
    gpus = tuple(device.id for device in document.topology.working(DeviceKind.GPU))
    SetFields("device", gpus, {"power_w": 500.0}).apply(document)
    power = {row["category"]: row["each_power_w"] for row in rows(text_of(document, "bill-of-materials"))}
    assert power["GPU"] == "500"


def test_trays_are_counted_by_what_is_in_them() -> None:
    """A rack of NVL72 has 18 trays of 4 GPUs (of 5.4 kW by the catalogue) and 9 of 2 switch chips."""
    bill = rows(text_of(template("gb200-nvl72", racks=2), "bill-of-materials"))
    trays = [row for row in bill if row["category"] == "tray or host"]
    assert [(row["name"][:9], row["quantity"], row["each_power_w"]) for row in trays] == [
        ("4 × GB200", "36", "5400"),
        ("2 × NVLin", "18", ""),
    ]


def test_the_schedule_has_a_row_for_each_cable_with_both_ends() -> None:
    document = pair()
    SetFields("link", ("a.nic0-l",), {"length_m": 2.5}).apply(document)
    table = rows(text_of(document, "cable-schedule"))
    assert len(table) == 13
    first = table[0]
    assert (first["cable"], first["from_device"], first["from_port"]) == ("r0-top0#1", "r0", "port 1")
    assert (first["to_device"], first["to_port"], first["speed_gbit_per_s"]) == ("top0", "port 1", "400")
    nic = next(row for row in table if row["link"] == "a.nic0-l")
    assert (nic["from_device"], nic["from_port"], nic["to_device"], nic["to_port"]) == (
        "a",
        "nic0",
        "r0",
        "port 5",
    )
    assert (nic["length_m"], nic["cable_class"], nic["from_model"]) == ("2.5", "Passive copper", "ConnectX-7")
    ends = [(row[f"{side}_device"], row[f"{side}_port"]) for row in table for side in ("from", "to")]
    assert len(ends) == len(set(ends))
    assert "12 cables of unknown length" in export(document, "cable-schedule").left_out[1]


def test_racks_give_lengths_and_places() -> None:
    """Trays of a template stand in racks at a U; with the leaf in the same rack the length follows."""
    document = template("superpod-h100")
    SetFields("device", ("leaf0",), {"parent": "rack00", "u": 40}).apply(document)
    row = next(
        row for row in rows(text_of(document, "cable-schedule")) if row["link"] == "node00.nic0--leaf0"
    )
    assert (row["from_rack"], row["to_rack"], row["to_u"]) == ("rack00", "rack00", "40")
    assert row["from_u"]
    assert 0.5 < float(row["length_m"]) < 3.0 and row["cable_class"] == "Passive copper"


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_schedule_bill_and_netbox_agree(document: Document) -> None:
    """All have as many cables as the drawing, and no port twice."""
    network = [link for link in document.topology.links() if link.kind.value in ("infiniband", "ethernet")]
    wanted = sum(link.count for link in network)
    try:
        schedule = rows(text_of(document, "cable-schedule"))
        bill = rows(text_of(document, "bill-of-materials"))
        netbox = export(document, "netbox-csv").files
    except InputError:
        assert wanted == 0
        return
    assert len(schedule) == wanted
    assert sum(int(row["quantity"]) for row in bill if row["category"] == "cable") == wanted
    cables, interfaces, devices = (
        rows(str(netbox[f"{name}.csv"])) for name in ("cables", "interfaces", "devices")
    )
    ends = [(row[f"side_{side}_device"], row[f"side_{side}_name"]) for row in cables for side in "ab"]
    assert len(ends) == len(set(ends)) == 2 * wanted
    assert {(row["device"], row["name"]) for row in interfaces} == set(ends)
    assert {row["name"] for row in devices} == {device for device, _ in ends}


def test_netbox_tables() -> None:
    document = pair()
    SetFields("link", ("a.nic0-l",), {"length_m": 2.5}).apply(document)
    SetFields("link", ("a.nic1-l",), {"state": "down"}).apply(document)
    files = {name: rows(str(text)) for name, text in export(document, "netbox-csv").files.items()}
    assert list(files) == ["devices.csv", "interfaces.csv", "cables.csv"]
    devices = {row["name"]: row for row in files["devices.csv"]}
    assert (devices["a"]["role"], devices["a"]["device_type"]) == ("server", "2 × H100 SXM5 80GB")
    assert (devices["r0"]["role"], devices["r0"]["manufacturer"]) == ("leaf", "NVIDIA")
    cable = next(
        row for row in files["cables.csv"] if row["side_a_device"] == "a" and row["side_a_name"] == "nic0"
    )
    assert cable == {
        "side_a_device": "a", "side_a_type": "dcim.interface", "side_a_name": "nic0",
        "side_b_device": "r0", "side_b_type": "dcim.interface", "side_b_name": "swp5",
        "type": "dac-passive", "status": "connected", "label": "a.nic0-l 400G",
        "length": "2.50", "length_unit": "m",
    }  # fmt: skip
    down = next(
        row for row in files["cables.csv"] if row["side_a_name"] == "nic1" and row["side_a_device"] == "a"
    )
    assert down["status"] == "decommissioning"
    kinds = {(row["device"], row["name"]): (row["type"], row["speed"]) for row in files["interfaces.csv"]}
    assert kinds["a", "nic0"] == ("infiniband-ndr", "400000000")
    assert kinds["b", "nic2"] == ("infiniband-hdr", "200000000")


def test_ports_of_a_nic_with_two_are_told_apart() -> None:
    document = template("alibaba-hpn")
    table = rows(text_of(document, "cable-schedule"))
    ports = {row["from_port"] for row in table if row["from_device"] == "node00"}
    assert {"nic0 port 1", "nic0 port 2"} <= ports
    assert "2,048 cables at parts of split ports" in export(document, "cable-schedule").left_out[-1]


def test_states_are_said() -> None:
    document = pair()
    document.topology.put(devices=(replace(document.topology.device("a.gpu0"), label="x"),))
    SetFields("link", ("a.nic1-l",), {"state": "down"}).apply(document)
    (note,) = (one for one in export(document, "bill-of-materials").left_out if "down" in one)
    assert note == "1 link that is down or degraded is written as built; the format has no states."


FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-x", "@SUM(A1)")


def named_like_a_formula(name: str) -> Document:
    """A host and its only NIC and GPU, cabled to a leaf; all of them begin with the name."""
    devices = [
        Device(f"{name}.gpu0", DeviceKind.GPU, "h100-sxm", parent=name),
        Device(f"{name}.nic0", DeviceKind.NIC, "cx7-ndr", parent=name),
        Device(f"{name}.leaf", DeviceKind.LEAF, "qm9700"),
    ]
    links = [
        Link("p", devices[0].id, devices[1].id, LinkKind.PCIE, 63e9),
        Link(f"{name}-l", devices[1].id, devices[2].id, LinkKind.INFINIBAND, 50e9),
    ]
    return Document(Topology(devices, links, [Container(name, ContainerKind.TRAY)]))


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("ident", ["cable-schedule", "bill-of-materials", "traffic-matrix-csv"])
def test_names_are_no_formulas_in_tables_for_people(ident: str, name: str) -> None:
    """Signs that OWASP lists for CSV injection; names stay readable, numbers stay numbers."""
    table = list(csv.reader(io.StringIO(text_of(named_like_a_formula(name), ident))))
    assert not [cell for row in table for cell in row if cell.startswith(("=", "+", "-", "@", "\t"))]
    if ident != "bill-of-materials":
        assert any(cell.startswith(f"'{name}") for row in table for cell in row)


def test_tables_that_are_read_back_keep_names_and_numbers_stay() -> None:
    assert sheet_text(["=a"], [("-1.5", -2, None, "\tx", "a=b")]) == "'=a\n-1.5,-2,,'\tx,a=b\n"
    name = FORMULAS[0]
    table = list(csv.reader(io.StringIO(text_of(named_like_a_formula(name), "rank-map-csv"))))
    assert table[1][1] == name
