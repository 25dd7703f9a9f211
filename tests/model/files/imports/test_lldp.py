"""LLDP JSON: one file per host, in the three shapes that lldpctl writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from model.errors import InputError
from model.files.importing import Drawing, Imported
from model.files.reading_text import Source
from model.files.registry import import_sources, sniffed
from tests.model.files.imports.fabrics import cables, kinds, opens
from tests.model.files.imports.samples import drawing, imported, own, real, said, text


def _both(*names: str) -> Imported:
    return import_sources([own(f"lldp-json/{name}") for name in names])


def _one(interface: Any, name: str = "host7.json") -> Source:
    return text(json.dumps({"lldp": {"interface": interface}}), name)


def _neighbour(chassis: Any, port: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "via": "LLDP",
        "chassis": chassis,
        "port": port or {"id": {"type": "ifname", "value": "swp3"}},
        **more,
    }


def test_two_files_see_the_same_cable() -> None:
    """The host says the port of the leaf, the leaf a MAC address and a full name: still one cable."""
    assert [one.id for one in sniffed(own("lldp-json/gpu01.json"))] == ["lldp-json"]
    for names in (("gpu01.json", "leaf01.json"), ("leaf01.json", "gpu01.json")):
        one = _both(*names)
        assert isinstance(one.result, Drawing)
        assert kinds(one.result) == {"spine": 1, "leaf": 3, "nic": 3, "tray": 1}
        assert {nic.id for nic in one.result.devices if nic.parent} == {
            "gpu01.eth2",
            "gpu01.eth3",
            "gpu01.eth4",
        }
        assert cables(one.result) == 4
        assert "of one box: gpu01.example.net." in said(one, "inferred")
        assert "5 neighbours in 2 files." in said(one, "found")
        opens(one.result)


def test_neighbours_without_a_name_and_of_other_protocols() -> None:
    one = _both("gpu01.json")
    inferred = said(one, "inferred")
    assert "Neighbours that send no name are called by their MAC address." in inferred
    assert "Neighbours were also taken that speak CDPv2." in inferred
    assert "Ports known by local only are called by their description." in inferred
    assert "It is of the host gpu01, by the name of the file." in inferred


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("gpu01.lldp.json", "gpu01"),
        ("lldp_gpu01.json", "gpu01"),
        ("gpu01-lldpctl.txt", "gpu01"),
        ("rack1.gpu01.json0", "rack1.gpu01"),
        ("lldpctl.json", "host"),
        ("the pasted text", "host"),
    ],
)
def test_the_host_by_the_name_of_the_file(name: str, host: str) -> None:
    result = drawing(_one({"eth0": _neighbour({"leaf1": {}})}, name), "lldp-json")
    assert [tray.id for tray in result.containers] == [host]


def test_a_file_that_says_its_own_name() -> None:
    data = {
        "local-chassis": {"chassis": {"gpu9": {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}}},
        "lldp": {"interface": {"eth0": _neighbour({"leaf1": {}})}},
    }
    assert [tray.id for tray in drawing(text(json.dumps(data), "x.json")).containers] == ["gpu9"]


def test_a_host_that_bridges_is_no_switch() -> None:
    capability = [{"type": "Bridge", "enabled": True}, {"type": "Router", "enabled": True}]
    server = {"descr": "Ubuntu 24.04 LTS", "capability": capability}
    one = drawing(
        _one([{"swp1": _neighbour({"box": server}, {"id": {"type": "mac", "value": "x"}})}], "leaf1.json")
    )
    assert [tray.id for tray in one.containers] == ["box"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "has no field lldp"),
        ('{"lldp": {}}', "names no neighbour"),
        ('{"lldp": {"interface": []}}', "names no neighbour"),
        ('{"lldp": {"interface": {"eth0": {}}}}', "names no neighbour"),
        ('{"lldp": {"interface": [7]}}', "an interface must be an object"),
        ('{"lldp": {"interface": {"eth0": 7}}}', "the interface eth0 must be an object"),
        ("[]", "an object is expected"),
        ('{"lldp": 1, "lldp": 2}', "twice in one object"),
        ('{"lldp": {"inter', "ends too early"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_refused(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text(content), "lldp-json")


@pytest.mark.parametrize(
    ("path", "neighbours", "devices"),
    [
        ("SYN_list_form_2nbr_same_if.json", "3 neighbours in 1 file.", {"leaf": 3, "nic": 2, "tray": 1}),
        ("SYN_dict_form_single_if.json", "1 neighbour in 1 file.", {"leaf": 1, "nic": 1, "tray": 1}),
    ],
)
def test_real_files(path: str, neighbours: str, devices: dict[str, int]) -> None:
    one = imported(real(f"lldp_json/{path}"))
    assert isinstance(one.result, Drawing)
    assert neighbours in said(one, "found")
    assert kinds(one.result) == devices
    assert ("Port ens1f1np1" in said(one, "contradictory")) is path.startswith("SYN_list")
    opens(one.result)
