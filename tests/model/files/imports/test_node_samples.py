"""Real files of nodes, from issues and repositories; what each must give stands in their index.

Skipped where the folder of reference files is not there.
"""

from __future__ import annotations

from collections import Counter

import pytest

from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Drawing, Imported
from model.topology.types import LinkKind
from tests.model.files.imports.samples import imported, real, said


def _read(path: str) -> tuple[Imported, Drawing]:
    one = imported(real(path))
    assert isinstance(one.result, Drawing)
    document_from(one.result)
    return one, one.result


def _kinds(result: Drawing) -> Counter[str]:
    return Counter(device.kind.value for device in result.devices)


def _lanes(result: Drawing) -> int:
    return sum(link.count for link in result.links if link.kind in (LinkKind.NVLINK, LinkKind.XGMI))


def _rails(result: Drawing) -> dict[int, str]:
    """The NIC of each rail, where it is one."""
    found = {
        device.rail: device.label
        for device in result.devices
        if device.kind == "nic" and device.rail is not None
    }
    return dict(sorted(found.items()))


SMI = {
    # file: GPUs, NICs, NUMA nodes, NVLink lanes, NIC of each GPU
    "h100_8gpu_9nic_tabs_nccl1453": (
        8,
        9,
        2,
        144,
        ["NIC8", "NIC7", "NIC6", "NIC5", "NIC4", "NIC3", "NIC2", "NIC1"],
    ),
    "b200_8gpu_16nic_glued_cells_nccl1646": (
        8,
        16,
        4,
        144,
        ["NIC4", "NIC7", "NIC8", "NIC9", "NIC10", "NIC13", "NIC14", "NIC15"],
    ),
    "a100_mlx5names_glued_partial_nccl820": (
        8,
        10,
        2,
        96,
        ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6", "mlx5_7"],
    ),
    "rtx3090_2gpu_nv4_bridge": (2, 0, 1, 4, []),
    "gb200_tray_4gpu_no_nic": (4, 0, 2, 72, []),
    "v100_dgx1_hypercube_mlx5_ncclt29": (8, 2, 2, 24, ["", "", "mlx5_0", "mlx5_1"]),
    "topo_mp_nvlink_hidden_partial_deepep60": (8, 14, 2, 144, ["NIC0", "NIC1", "NIC2", "NIC7"]),
    "single_gpu_pod": (1, 0, 1, 0, []),
    "dgxh100_12nic_cut_after_nic5": (
        8,
        12,
        2,
        144,
        ["NIC0", "NIC3", "NIC4", "NIC5", "NIC6", "NIC9", "NIC10", "NIC11"],
    ),
    "SYN_h100_8gpu_ansi_underline": (2, 1, 1, 36, ["NIC0"]),
}


@pytest.mark.parametrize("name", SMI)
def test_nvidia_smi(name: str) -> None:
    gpus, nics, numas, lanes, near = SMI[name]
    one, result = _read(f"nvidia_smi_topo/{name}.txt")
    kinds = _kinds(result)
    assert one.format.id == "nvidia-smi-topo" and not result.whole
    assert (kinds["gpu"], kinds["nic"], kinds["cpu"], _lanes(result)) == (gpus, nics, numas, lanes)
    assert _rails(result) == {rail: nic for rail, nic in enumerate(near) if nic}


def test_nvidia_smi_peculiarities() -> None:
    one, result = _read("nvidia_smi_topo/h100_8gpu_9nic_tabs_nccl1453.txt")
    assert "28 with NV18" in said(one, "found")
    assert next(device.rail for device in result.devices if device.label == "NIC0") is None
    one, _ = _read("nvidia_smi_topo/b200_8gpu_16nic_glued_cells_nccl1646.txt")
    assert "NIC0, NIC1, NIC2, NIC3 share one slot" in said(one, "inferred")
    one, result = _read("nvidia_smi_topo/v100_dgx1_hypercube_mlx5_ncclt29.txt")
    assert "8 with NV1, 8 with NV2" in said(one, "found") and _kinds(result)["nvlink-switch"] == 0
    per_gpu = Counter(
        end for link in result.links if link.kind is LinkKind.NVLINK for end in (link.a, link.b) * link.count
    )
    assert set(per_gpu.values()) == {6}
    one, _ = _read("nvidia_smi_topo/topo_mp_nvlink_hidden_partial_deepep60.txt")
    assert "topo -mp hides them" in next(
        question.why for question in one.questions if question.key == "scale_up"
    )
    one, _ = _read("nvidia_smi_topo/gb200_tray_4gpu_no_nic.txt")
    assert "cannot be seen from inside it" in said(one, "inferred")
    one, _ = _read("nvidia_smi_topo/dgxh100_12nic_cut_after_nic5.txt")
    assert "NIC1, NIC2 share one slot" in said(one, "inferred")
    one, _ = _read("nvidia_smi_topo/SYN_h100_8gpu_ansi_underline.txt")
    assert "Colour codes" in said(one, "inferred")


def test_nccl_class_only() -> None:
    _, result = _read("nccl_topo_xml/azure_ndv4.xml")
    kinds = _kinds(result)
    assert (kinds["gpu"], kinds["nic"], kinds["pcie-switch"], kinds["cpu"]) == (8, 8, 4, 4)
    below = Counter(link.b for link in result.links if link.kind is LinkKind.PCIE and ".pcie" in link.b)
    assert set(below.values()) == {4}


def test_nccl_dual_port_cards() -> None:
    one, result = _read("nccl_topo_xml/oci_h100_dualport_speed180000.xml")
    kinds = _kinds(result)
    assert (kinds["gpu"], kinds["nic"], kinds["pcie-switch"], kinds["cpu"]) == (8, 8, 24, 2)
    assert "8 NICs with 16 named ports" in said(one, "found")
    assert (_lanes(result), kinds["nvlink-switch"]) == (144, 4)
    assert "2 ports of 180G and 180G" in said(one, "contradictory")
    one, result = _read("nccl_topo_xml/dgxa100_dualport_mixed_speed_fragment_nccl1505.xml")
    assert (_kinds(result)["gpu"], _kinds(result)["nic"]) == (0, 1)
    assert "200 Gb/s and 100 Gb/s" in said(one, "contradictory")


def test_nccl_files_that_lack_something() -> None:
    one, _ = _read("nccl_topo_xml/aws_g5_48xl_no_class.xml")
    assert "9 devices of unknown kind" in said(one, "ignored")
    one, result = _read("nccl_topo_xml/h200_vm_flat_truncated_ncclt256.xml")
    assert (_kinds(result)["gpu"], _kinds(result)["nic"], _lanes(result)) == (1, 1, 18)
    assert "so it is cut" in said(one, "contradictory") and "slower PCIe link" in said(one, "contradictory")
    with pytest.raises(InputError, match="<gpu> stands under <system>, which NCCL ignores"):
        _read("nccl_topo_xml/BAD_invented_schema_gpu_under_system.xml")


def test_nccl_domain_of_two_trays() -> None:
    one, result = _read("nccl_topo_xml/SYN_gb300_2tray_rank5_missing_nvlink.xml")
    assert result.whole and len(result.containers) == 2
    assert (_kinds(result)["gpu"], _lanes(result)) == (8, 126)
    assert "(rank 5) has no NVLink, where others have 18" in said(one, "contradictory")


def test_rccl() -> None:
    one, result = _read("rccl_topo_xml/mi300x_8p_xgmi_v2.xml")
    assert one.format.id == "rccl-topo-xml"
    kinds = _kinds(result)
    assert (kinds["gpu"], kinds["nic"], kinds["cpu"]) == (8, 8, 2)
    assert [link.count for link in result.links if link.kind is LinkKind.XGMI] == [1] * 28


def test_amd_smi() -> None:
    one, result = _read("rocm_smi_topo/amd_smi_2gpu_pcie.txt")
    assert one.format.id == "amd-smi-topo"
    assert "2 GPUs, 9 tables." in said(one, "found") and "access disabled" in said(one, "found")
    assert (_kinds(result)["gpu"], _lanes(result)) == (2, 0)


def test_lstopo_without_gpus() -> None:
    with pytest.raises(InputError, match="no GPUs found in 1 package"):
        _read("lstopo_xml/dgx_gb10.xml")
