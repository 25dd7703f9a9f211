"""NCCL's topology files and device lists, read as NCCL reads them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from model.document.document import Document
from model.document.edits import SetFields
from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Drawing
from model.files.reading_text import Source
from model.files.registry import import_sources
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from tests.model.files.exports.drawings import GB, drawings, export, pair, template, text_of
from tests.model.files.exports.nccl_reader import NcclError, Node, Reader, pci_gbytes_per_s


def read(document: Document, **options: str) -> dict[str, Node]:
    files = export(document, "nccl-topo-xml", **options).files
    return {name: Reader(str(text)).root for name, text in files.items()}


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0"?>\n<system version="1"></system>',
        '<system version="1">\n\t<cpu numaid="0"/>\n</system>',
        '<system version="1">\n<cpu numaid="0"\n arch="x86_64"/>\n</system>',
        '<system version="1">text</system>',
        '<system version="2"></system>',
        '<system version="1"><cpu numaid="' + "1" * 256 + '"/></system>',
    ],
)
def test_the_reader_of_these_tests_refuses_what_nccl_refuses(text: str) -> None:
    with pytest.raises(NcclError):
        Reader(text)


def test_a_host_of_two_gpus() -> None:
    """Every value is that of the drawing: Gen5 x16 is 48 GB/s in NCCL, 400G is 400,000 Mb/s, 18 NVLinks."""
    files = read(pair())
    assert list(files) == ["a.xml", "b.xml"]
    host = files["a.xml"]
    assert [cpu.attributes["arch"] for cpu in host.children] == ["x86_64"]
    (bridge,) = host.children[0].children
    assert bridge.attributes["class"] == "0x060400"
    assert bridge.attributes["busid"] == "ffff:ff:00.0"
    assert Counter(pci.attributes["class"] for pci in bridge.children) == {"0x030200": 2, "0x020700": 2}
    assert {pci_gbytes_per_s(pci) for pci in host.all("pci")} == {48.0}
    gpus = host.all("gpu")
    assert [(gpu.attributes["dev"], gpu.attributes["sm"]) for gpu in gpus] == [("0", "90"), ("1", "90")]
    (target,) = {link.attributes["target"] for link in host.all("nvlink")}
    assert target not in {pci.attributes["busid"] for pci in host.all("pci")}
    assert [link.attributes["count"] for link in host.all("nvlink")] == ["18", "18"]
    nets = [
        (net.attributes["name"], net.attributes["dev"], net.attributes["speed"]) for net in host.all("net")
    ]
    assert nets == [("mlx5_0", "0", "400000"), ("mlx5_1", "1", "400000")]
    third = files["b.xml"].all("net")[2].attributes
    assert (third["name"], third["speed"]) == ("mlx5_2", "200000")
    guids = [net.attributes["guid"] for name in files for net in files[name].all("net")]
    assert len(set(guids)) == 5
    named = read(pair(), nic_names="drawing")["b.xml"]
    assert [net.attributes["name"] for net in named.all("net")] == ["nic0", "nic1", "nic2"]


def test_switch_in_the_nic_and_no_cpu_become_a_bridge() -> None:
    host = read(template("hgx-h100", nodes=1, host="plain"))["node00.xml"]
    bridges = host.children[0].children
    assert len(bridges) == 8
    for bridge in bridges:
        assert [pci.attributes["class"] for pci in bridge.children] == ["0x020700", "0x030200"]


def test_a_rack_hides_its_nvlink_switches_and_shows_c2c() -> None:
    files = read(template("gb200-nvl72", racks=1))
    assert len(files) == 18
    tray = files["rack01.tray01.xml"]
    assert {cpu.attributes["arch"] for cpu in tray.children} == {"arm64"}
    links = [(link.attributes["target"], link.attributes["count"]) for link in tray.all("nvlink")]
    assert links == [("fffffff:ff:ff.0", "18")] * 4
    assert [(c2c.attributes["bw"], c2c.attributes["count"]) for c2c in tray.all("c2c")] == [
        ("450000", "1")
    ] * 4
    assert {pci_gbytes_per_s(pci) for pci in tray.all("pci")} == {48.0}
    (_, note) = export(template("gb200-nvl72", racks=1), "nccl-topo-xml").left_out
    assert note == "PCIe links that are not drawn written as Gen5 of 16 lanes (18 hosts)."


def test_direct_links_stand_at_both_ends() -> None:
    document = mesh(4)
    host = read(document)["box.xml"]
    bus = [pci.attributes["busid"] for pci in host.all("pci") if pci.attributes["class"] == "0x030200"]
    for at, gpu in enumerate(host.all("gpu")):
        targets = [link.attributes["target"] for link in gpu.all("nvlink")]
        assert sorted(targets) == sorted(bus[:at] + bus[at + 1 :])


def test_addresses_of_labels_are_kept_and_others_make_room() -> None:
    """8 digits of domain are nvidia-smi's way to write the address that Linux and NCCL write with 4."""
    document = pair()
    labels = {
        "a.gpu0": "00000000:0F:00.0",
        "a.gpu1": "0000:01:00.0",
        "a.nic0": "0000:2d:00.1",
        "a.nic1": "mlx5_1",
        "a.sw": "0000:0a:00.0",
        "a.nvs": "ffff:ff:00.0",
        "b.gpu0": "0000:0f:00.0",
        "b.gpu1": "0000:0f:00.0",
    }
    for ident, label in labels.items():
        SetFields("device", (ident,), {"label": label}).apply(document)
    files = read(document)
    buses = [pci.attributes["busid"] for pci in files["a.xml"].all("pci")]
    assert sorted(buses) == ["0000:01:00.0", "0000:02:00.0", "0000:0a:00.0", "0000:0f:00.0", "0000:2d:00.1"]
    assert {link.attributes["target"] for link in files["a.xml"].all("nvlink")} == {"ffff:ff:00.0"}
    assert "0000:0f:00.0" not in {pci.attributes["busid"] for pci in files["b.xml"].all("pci")}
    assert "PCIe addresses invented for devices whose label is none (1 host)." in (
        export(document, "nccl-topo-xml").left_out
    )


def test_gpus_come_back_at_their_addresses() -> None:
    """A file whose addresses are not in the order of the tree, read and written again."""
    document = pair()
    wanted = {"a.gpu0": "0000:9c:00.0", "a.gpu1": "0001:0f:00.0"}
    for ident, label in wanted.items():
        SetFields("device", (ident,), {"label": label}).apply(document)
    text = str(export(document, "nccl-topo-xml").files["a.xml"])
    result = import_sources([Source("a.xml", text)], "nccl-topo-xml").result
    assert isinstance(result, Drawing)
    (host,) = read(document_from(result)).values()
    gpus = [pci for pci in host.all("pci") if pci.attributes["class"] == "0x030200"]
    assert {pci.all("gpu")[0].attributes["dev"]: pci.attributes["busid"] for pci in gpus} == {
        "0": "0000:9c:00.0",
        "1": "0001:0f:00.0",
    }


def mesh(gpus: int, nics: int = 0) -> Document:
    """GPUs each joined to each other by an NVLink, and NICs, below one CPU."""
    names = [f"box.gpu{n}" for n in range(gpus)]
    devices = [Device("box.cpu", DeviceKind.CPU, "cpu", parent="box")]
    devices += [Device(name, DeviceKind.GPU, "a100-sxm-80", parent="box") for name in names]
    devices += [Device(f"box.nic{n}", DeviceKind.NIC, "cx6-hdr", parent="box") for n in range(nics)]
    links = [Link(f"p{d.id}", d.id, "box.cpu", LinkKind.PCIE, 31.5 * GB) for d in devices[1:]]
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    links += [Link(f"{a}{b}", a, b, LinkKind.NVLINK, 25 * GB) for a, b in pairs]
    return Document(Topology(devices, links, [Container("box", ContainerKind.TRAY)]))


def test_what_nccl_cannot_hold_is_refused_with_the_numbers() -> None:
    """16 GPUs with 240 NVLink ends, 16 pci, 16 gpu, cpu and system are 274 elements."""
    with pytest.raises(InputError, match="box needs 274 elements, and NCCL reads at most 256"):
        export(mesh(16), "nccl-topo-xml")
    assert read(mesh(15))["box.xml"]


def test_many_switches_are_merged_before_a_host_is_refused() -> None:
    """16 GPUs on 14 switches: 224 links are too many, one for each GPU is not."""
    devices = [Device("box.cpu", DeviceKind.CPU, "cpu", parent="box")]
    links: list[Link] = []
    devices += [Device(f"box.s{n}", DeviceKind.NVLINK_SWITCH, "nvswitch3", parent="box") for n in range(14)]
    for number in range(16):
        gpu = f"box.gpu{number}"
        devices.append(Device(gpu, DeviceKind.GPU, "h100-sxm", parent="box"))
        links.append(Link(f"p{number}", gpu, "box.cpu", LinkKind.PCIE, 63 * GB))
        links += [Link(f"n{number}-{n}", gpu, f"box.s{n}", LinkKind.NVLINK, 25 * GB) for n in range(14)]
    document = Document(Topology(devices, links, [Container("box", ContainerKind.TRAY)]))
    exported = export(document, "nccl-topo-xml")
    host = Reader(str(exported.files["box.xml"])).root
    assert [(link.attributes["target"], link.attributes["count"]) for link in host.all("nvlink")] == [
        ("fffffff:ff:ff.0", "14")
    ] * 16
    assert any("written as one" in sentence for sentence in exported.left_out)


def test_other_makers_are_refused() -> None:
    with pytest.raises(InputError, match="MI300X; NCCL and its files know GPUs of NVIDIA only"):
        export(template("mi300x", nodes=1), "nccl-topo-xml")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_nccl_reads_every_file_that_is_written(document: Document) -> None:
    """Each working GPU of a host stands once, and no two devices of a file share an address."""
    try:
        files = read(document)
    except InputError:
        return
    gpus = document.topology.working(DeviceKind.GPU)
    assert sum(len(host.all("gpu")) for host in files.values()) == len(gpus)
    for host in files.values():
        bus = [pci.attributes["busid"] for pci in host.all("pci")]
        assert len(bus) == len(set(bus))
        numbers = sorted(int(gpu.attributes["dev"]) for gpu in host.all("gpu"))
        assert numbers == list(range(len(numbers)))
        for pci in host.all("pci"):
            assert pci_gbytes_per_s(pci) > 0


def test_hca_lists_leave_management_out() -> None:
    lines = text_of(pair(), "nccl-ib-hca").splitlines()
    assert lines[1:] == ["a: NCCL_IB_HCA==mlx5_0,mlx5_1", "b: NCCL_IB_HCA==mlx5_0,mlx5_1"]
    assert export(pair(), "nccl-ib-hca").left_out == ("Left out: 1 NIC not used by the job.",)
