"""InfraGraph files."""

from __future__ import annotations

import sys

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import between, boxes, check_traffic, device, kinds, neighbours, speeds
from tests.model.files.imports.samples import drawing, imported, own, said, text

_DEVICE = """name: box
components:
- {name: xpu, choice: xpu, count: 2}
- {name: nvsw, choice: switch, count: 1}
edges:
- {scheme: many2many, link: l, ep1: {component: "xpu[0:2]"}, ep2: {component: nvsw}}
links: [{name: l}]
"""


def test_hosts_cards_and_switches() -> None:
    """A device inside a device is one network card; asic and ports are one switch; 2 equal links a bundle."""
    pytest.importorskip("infragraph")
    source = own("infragraph/small.yaml")
    assert [one.id for one in sniffed(source)] == ["infragraph"]
    found = drawing(source)
    assert found.name == "small"
    assert kinds(found) == {
        "gpu": 4,
        "nic": 4,
        "cpu": 2,
        "pcie-switch": 2,
        "nvlink-switch": 2,
        "leaf": 1,
        "spine": 1,
    }
    assert boxes(found) == {"tray": 2}
    assert neighbours(found, "host.1.card.0") == {"host.1.pciesw.0", "tor.0"}
    (bundle,) = between(found, "tor.0", "top.0")
    assert (bundle.count, bundle.nominal_bytes_per_s) == (2, 100e9)
    assert bundle.latency_s == pytest.approx(500e-9)
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 4, 800.0: 1}
    # 900 GB/s of a B200 are 18 lanes of 50 GB/s.
    assert {(link.count, link.lane_bytes_per_s) for link in found.links if link.kind is LinkKind.NVLINK} == {
        (18, 50e9)
    }
    assert device(found, "host.0.xpu.1").model == "b200-sxm"
    assert "2 links that only manage NVLink switches" in said(imported(source), "ignored")
    check_traffic(found)


def test_one_device_is_a_part_to_be_merged() -> None:
    pytest.importorskip("infragraph")
    result = imported(text(_DEVICE)).result
    assert isinstance(result, Drawing)
    assert not result.whole
    assert kinds(result) == {"gpu": 2, "nvlink-switch": 1}


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "infragraph", None)
    with pytest.raises(InputError, match=r"pip install railsketch\[infragraph\]"):
        imported(text(_DEVICE))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("count: 2", "count: 1000000000", 'the count of "xpu" is 1000000000'),
        ("count: 2", "count: -1", 'the count of "xpu" is -1'),
        ("choice: switch", "choice: device", None),
        ("components:", "instances: []\ndevices:", "is no valid InfraGraph: components is a mandatory"),
    ],
)
def test_broken_files_are_one_sentence(old: str, new: str, message: str | None) -> None:
    pytest.importorskip("infragraph")
    assert old in _DEVICE
    with pytest.raises(InputError, match=message):
        imported(text(_DEVICE.replace(old, new, 1)), "infragraph")


def test_edges_to_what_is_not_there_are_told() -> None:
    """The package passes over them without a word."""
    pytest.importorskip("infragraph")
    one = imported(text(_DEVICE.replace("{component: nvsw}", "{component: gone}")))
    assert 'Edges name "gone", which the device "box" does not have' in said(one, "contradictory")


def test_sizes_are_refused_before_they_are_written_out() -> None:
    """100,000 · 100,000 edges of a device, and a device that contains itself."""
    huge = (
        _DEVICE.replace("count: 2", "count: 100000").replace('"xpu[0:2]"', "xpu").replace("nvsw}}", "xpu}}")
    )
    with pytest.raises(InputError, match=r"100,001 components and up to 10,000,000,000 edges"):
        imported(text(huge), "infragraph")
    endless = _DEVICE.replace("{name: nvsw, choice: switch", "{name: box, choice: device")
    with pytest.raises(InputError, match='the device "box" contains devices more than 8 deep, or itself'):
        imported(text(endless), "infragraph")
