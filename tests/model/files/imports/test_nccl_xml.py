"""Topology XML of NCCL and RCCL."""

from __future__ import annotations

from collections import Counter

import pytest

from model.analysis import analyse
from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Drawing, Imported
from model.files.registry import sniffed
from model.topology.types import Device, DeviceKind, LinkKind
from tests.model.files.imports.samples import drawing, imported, own, said, text

NCCL, RCCL = "nccl-topo-xml", "rccl-topo-xml"


def _drawn(one: Imported) -> Drawing:
    assert isinstance(one.result, Drawing)
    return one.result


def _of(result: Drawing, kind: DeviceKind) -> list[Device]:
    return [device for device in result.devices if device.kind is kind]


def _kinds(result: Drawing) -> dict[str, int]:
    return dict(Counter(device.kind.value for device in result.devices))


def _lanes(result: Drawing, kind: LinkKind = LinkKind.NVLINK) -> int:
    return sum(link.count for link in result.links if link.kind is kind)


def test_node_has_the_pcie_tree_the_nvlinks_and_rails_of_the_file() -> None:
    """Four H100 by their PCI ids, 5+4+4+5 links to four NVSwitches, each GPU behind a bridge with its NIC."""
    source = own(f"{NCCL}/hgx_half.xml")
    assert sniffed(source)[0].id == NCCL
    one = imported(source)
    result = _drawn(one)
    assert not result.whole and not one.questions
    assert _kinds(result) == {"gpu": 4, "nic": 4, "pcie-switch": 4, "cpu": 2, "nvlink-switch": 4}
    assert [(gpu.id, gpu.model, gpu.rail) for gpu in _of(result, DeviceKind.GPU)] == [
        (f"node00.gpu{number}", "h100-sxm", number) for number in range(4)
    ]
    assert [(nic.label, nic.model, nic.rail) for nic in _of(result, DeviceKind.NIC)] == [
        (f"mlx5_{number}", "cx7-ndr", number) for number in range(4)
    ]
    to_switch = {(link.a, link.b[-4:]): link.count for link in result.links if link.kind is LinkKind.NVLINK}
    # Odd GPUs list the four in the opposite order; they are numbered by bus id.
    for gpu in ("node00.gpu0", "node00.gpu1"):
        assert [to_switch[gpu, f"nvs{number}"] for number in range(4)] == [5, 4, 4, 5]
    assert _lanes(result) == 72
    up = {link.a: (link.b, link.lane_bytes_per_s) for link in result.links if link.kind is LinkKind.PCIE}
    assert up["node00.gpu3"] == up["node00.nic3"] and up["node00.gpu3"][1] == 63e9  # Gen 5 x16
    assert up[up["node00.gpu3"][0]][0] == "node00.cpu1"  # numaid 1, though it stands first


def test_node_runs_through_the_analysis() -> None:
    report = analyse(document_from(drawing(own(f"{NCCL}/hgx_half.xml")))).report
    assert report is not None
    loads = sum(report.bytes_by_dimension.values())
    into: Counter[str] = Counter()
    out: Counter[str] = Counter()
    for number, load in enumerate(loads):
        a, b = report.fabric.ends_of(number)
        out[a] += load
        into[b] += load
    switches = [f"node00.nvs{number}" for number in range(4)]
    assert all(into[switch] == pytest.approx(out[switch]) and into[switch] > 0 for switch in switches)
    # All that the GPUs send goes through the switches.
    assert sum(into[switch] for switch in switches) == pytest.approx(
        sum(out[f"node00.gpu{i}"] for i in range(4))
    )


def test_hosts_of_a_domain_are_kept_apart_though_their_bus_ids_are_equal() -> None:
    one = imported(own(f"{NCCL}/domain_of_two_hosts.xml"))
    result = _drawn(one)
    assert result.whole and [container.id for container in result.containers] == ["node00", "node01"]
    # The file lists the host of ranks 4 to 7 first.
    assert [gpu.id for gpu in _of(result, DeviceKind.GPU)] == [f"node0{i // 4}.gpu{i % 4}" for i in range(8)]
    assert _lanes(result) == 7 * 18
    assert {device.parent for device in _of(result, DeviceKind.NVLINK_SWITCH)} == {None}
    note = next(note for note in one.notes if "no NVLink" in note.text)
    assert (
        note.text == "node01.gpu2 (rank 6) has no NVLink, where others have 18."
        and note.kind == "contradictory"
    )
    c2c = [link for link in result.links if link.kind is LinkKind.C2C and ".gpu" in link.a]
    assert len(c2c) == 8 and {link.lane_bytes_per_s for link in c2c} == {450e9}  # 5 × 90000 MB/s
    assert {device.model for device in _of(result, DeviceKind.CPU)} == {"grace"}


def test_file_of_classes_only_asks_for_what_it_does_not_say() -> None:
    one = imported(own(f"{NCCL}/class_only.xml"))
    result = _drawn(one)
    assert [question.key for question in one.questions] == ["gpu_model", "nic_model", "scale_up"]
    assert [question.default for question in one.questions] == ["a100-sxm-80", "cx6-hdr", "none"]
    assert "numbered by bus id" in said(one, "inferred")
    rails = {device.label: device.rail for device in result.devices if device.rail is not None}
    assert [rails[f"000{bus}:00:00.0"] for bus in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert [rails[f"010{bus}:00:00.0"] for bus in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert {link.lane_bytes_per_s for link in result.links if link.kind is LinkKind.PCIE} == {31.5e9}
    assert "does not mean that there is none" in said(one, "guessed")
    other = drawing(own(f"{NCCL}/class_only.xml"), gpu_model="h100-sxm", scale_up="switch")
    assert _lanes(other) == 72


def test_devices_without_a_class_are_counted_and_asked_for() -> None:
    source = own(f"{NCCL}/no_class.xml")
    one = imported(source)
    assert _kinds(_drawn(one)) == {"cpu": 2}
    note = next(note for note in one.notes if "unknown kind" in note.text)
    assert note.text.startswith("3 devices of unknown kind") and note.lines == (6, 7, 10)
    assert _kinds(drawing(source, unknown_devices="gpu")) == {"gpu": 3, "cpu": 2}
    assert _kinds(drawing(source, unknown_devices="nic")) == {"nic": 3, "cpu": 2}


def test_cut_file_of_a_virtual_machine() -> None:
    """Cut between elements it is read; a hidden NVSwitch is drawn; the PCIe speed is doubted and asked."""
    source = own(f"{NCCL}/vm_cut.xml")
    one = imported(source)
    result = _drawn(one)
    assert (len(_of(result, DeviceKind.GPU)), len(_of(result, DeviceKind.NIC)), _lanes(result)) == (1, 1, 18)
    assert "so it is cut" in said(one, "contradictory")
    assert "a switch that the file does not show" in said(one, "inferred")
    gpu = next(link for link in result.links if link.a == "node00.gpu0" and link.kind is LinkKind.PCIE)
    assert gpu.lane_bytes_per_s == 31.5e9
    built = drawing(source, pcie_speed="catalogue")
    assert next(link for link in built.links if link.a == "node00.gpu0").lane_bytes_per_s == 63e9
    cut = own(f"{NCCL}/vm_cut_in_tag.xml")
    with pytest.raises(InputError, match="line 10: it is no well-formed XML"):
        imported(cut)
    assert _kinds(_drawn(imported(cut, partial=True)))["gpu"] == 1


def test_two_ports_of_a_card_are_one_nic_in_one_slot() -> None:
    one = imported(own(f"{NCCL}/two_ports_of_a_card.xml"))
    result = _drawn(one)
    assert [nic.label for nic in _of(result, DeviceKind.NIC)] == ["mlx5_0, mlx5_1", "eth0"]
    assert sum(link.a == "node00.nic0" for link in result.links) == 1
    told = said(one, "contradictory")
    assert "different speeds (200 Gb/s and 100 Gb/s)" in told and "There is no GPU" in told
    # Gen 3 x8 for eth0, whose speed of 0 counts as 10 Gb/s for NCCL.
    assert next(link for link in result.links if link.a == "node00.nic1").lane_bytes_per_s == 15.75e9 / 2
    assert "counts as 10 Gb/s" in said(one, "guessed")


def test_oddities_are_read_as_far_as_they_make_sense_and_said() -> None:
    one = imported(own(f"{NCCL}/oddities.xml"))
    result = _drawn(one)
    lanes = {(link.a[-1], link.b[-1]): link.count for link in result.links if link.kind is LinkKind.NVLINK}
    assert lanes == {("0", "1"): 4, ("1", "2"): 4}
    told = said(one, "contradictory")
    assert "A GPU lists links to itself" in told
    assert "lists 4 links to node00.gpu1, which lists 3; the larger is drawn" in told
    assert "listed at one end only" in told
    ignored = said(one, "ignored")
    for what in (
        "0000:77:00.0, which is not in the file",
        "NVLinks to a CPU",
        "<frob> in <cpu>",
        "neither GPU nor NIC",
    ):
        assert what in ignored
    guessed = said(one, "guessed")
    assert "'16.0 GT/s': Gen 3 to it, drawn as Gen 4" in guessed and "'fast' is no PCIe speed" in guessed
    assert "no GPU of sm 86" in guessed
    rates = {link.a: link.lane_bytes_per_s for link in result.links if link.kind is LinkKind.PCIE}
    assert [rates[f"node00.gpu{number}"] for number in range(3)] == [31.5e9, 15.75e9, 15.75e9 / 2]


def test_parts_of_one_gpu_share_its_links() -> None:
    one = imported(own(f"{NCCL}/two_parts_of_a_gpu.xml"))
    assert [link.count for link in _drawn(one).links if link.kind is LinkKind.NVLINK] == [9, 9]
    assert "they share them" in said(one, "contradictory")


def test_invented_schema_is_refused() -> None:
    with pytest.raises(InputError, match=r"line 3: <gpu> stands under <system>, which NCCL ignores silently"):
        imported(own(f"{NCCL}/invented_schema.xml"), partial=True)
    with pytest.raises(InputError, match="version 2 is RCCL's"):
        imported(own(f"{RCCL}/mesh_of_four.xml"), NCCL)
    with pytest.raises(InputError, match="<system> has no <cpu>"):
        imported(text('<system version="1"/>'))


def test_rccl_lists_each_xgmi_at_both_ends() -> None:
    """sm="304" counts compute units of an MI300X; six pairs, twelve listed ends."""
    source = own(f"{RCCL}/mesh_of_four.xml")
    assert sniffed(source)[0].id == RCCL
    one = imported(source)
    result = _drawn(one)
    assert _kinds(result) == {"gpu": 4, "nic": 4, "pcie-switch": 4, "cpu": 2}
    assert (_lanes(result, LinkKind.XGMI), _lanes(result)) == (6, 0)
    assert {link.lane_bytes_per_s for link in result.links if link.kind is LinkKind.XGMI} == {64e9}
    assert {gpu.model for gpu in _of(result, DeviceKind.GPU)} == {"mi300x"}
    assert [nic.rail for nic in _of(result, DeviceKind.NIC)] == [0, 1, 2, 3]
    report = analyse(document_from(result)).report
    assert report is not None and sum(load.sum() for load in report.bytes_by_dimension.values()) > 0
