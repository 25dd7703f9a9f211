"""XML of lstopo (hwloc 2 and 3)."""

from __future__ import annotations

from collections import Counter

import pytest

from model.errors import InputError
from model.files.importing import Drawing, Imported
from model.files.registry import sniffed
from model.topology.types import DeviceKind, LinkKind
from tests.model.files.imports.samples import drawing, imported, own, said, text

FOLDER = "lstopo-xml"


def _drawn(one: Imported) -> Drawing:
    assert isinstance(one.result, Drawing)
    return one.result


def test_gpu_that_three_libraries_list_is_one_device() -> None:
    """cuda0, opencl0d0 and nvml0 are one PCI device; two NVSwitches with 6 links of 25 GB/s to each GPU."""
    source = own(f"{FOLDER}/two_gpus_two_switches.xml")
    assert [one.id for one in sniffed(source)] == [FOLDER]
    one = imported(source)
    result = _drawn(one)
    assert Counter(device.kind.value for device in result.devices) == {
        "gpu": 2,
        "nic": 2,
        "pcie-switch": 2,
        "cpu": 2,
        "nvlink-switch": 2,
    }
    assert [link.count for link in result.links if link.kind is LinkKind.NVLINK] == [6, 6, 6, 6]
    assert {device.model for device in result.devices if device.kind is DeviceKind.GPU} == {"a100-sxm-40"}
    nics = [device for device in result.devices if device.kind is DeviceKind.NIC]
    assert [(nic.label, nic.rail, nic.model) for nic in nics] == [
        ("mlx5_0", 0, "cx6-hdr"),
        ("mlx5_1", 1, "cx6-hdr"),
    ]
    up = {link.a: (link.b, link.lane_bytes_per_s) for link in result.links if link.kind is LinkKind.PCIE}
    assert up["node00.gpu1"] == up["node00.nic1"]
    assert up["node00.gpu1"][1] == pytest.approx(31.5e9, rel=1e-3)
    assert up[up["node00.gpu1"][0]][0] == "node00.cpu1"
    # The disk and the display chip of the management controller are no GPU.
    assert "class 0108" in said(one, "ignored") and "class 0300" in said(one, "ignored")


def test_direct_links_by_their_bandwidth() -> None:
    """50,000 MB/s are two links; `distances2` of hwloc 3 with plain indexes."""
    result = drawing(own(f"{FOLDER}/two_gpus_direct.xml"))
    assert [(link.a, link.b, link.count) for link in result.links if link.kind is LinkKind.NVLINK] == [
        ("node00.gpu0", "node00.gpu1", 2)
    ]


def test_without_a_matrix_the_user_is_asked() -> None:
    one = imported(own(f"{FOLDER}/no_matrix.xml"))
    assert [question.key for question in one.questions] == ["scale_up"]
    assert not any(link.kind is LinkKind.NVLINK for link in _drawn(one).links)
    other = drawing(own(f"{FOLDER}/no_matrix.xml"), scale_up="switch")
    assert sum(link.count for link in other.links if link.kind is LinkKind.NVLINK) == 24


def test_file_without_gpus_says_so() -> None:
    with pytest.raises(InputError, match="no GPUs found in 1 package; it has no PCI device at all"):
        imported(own(f"{FOLDER}/no_io.xml"))


def test_matrix_of_another_size_is_broken() -> None:
    content = own(f"{FOLDER}/two_gpus_direct.xml").text.replace("1000000 50000 ", "50000 ")
    with pytest.raises(InputError, match="the matrix of bandwidths has 3 values for 2 objects"):
        imported(text(content))
    assert "Left out: the matrix" in said(imported(text(content), partial=True), "ignored")
