"""Drawings to export: templates, one drawn by hand whose every count is known, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from hypothesis import strategies as st

from model.document.document import Document
from model.document.start import document_from
from model.files.exporting import Exported, ExportSource
from model.files.registry import export_format
from model.step.report import Analysis
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State
from tests.model.analysis.drawings import job
from topology_templates.registry import build

GB = 1e9


class FakePainter:
    """A painter without a screen: it says what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.printed: list[tuple[str, dict[str, bytes], dict[str, str]]] = []

    def picture(self, document: Document, analysis: Analysis, kind: str, options: Mapping[str, str]) -> bytes:
        self.asked.append((kind, dict(options)))
        return f"<svg>{kind} of {document.name}</svg>".encode()

    def pages(self, markdown: str, pictures: Mapping[str, bytes], options: Mapping[str, str]) -> bytes:
        self.printed.append((markdown, dict(pictures), dict(options)))
        return b"%PDF-1.4 " + markdown.encode()


def template(ident: str, **parameters: object) -> Document:
    """The drawing of a template with the default job."""
    return document_from(build(ident, parameters))


def export(
    document: Document,
    ident: str,
    progress: Callable[[float, str], None] | None = None,
    **options: str,
) -> Exported:
    """An export by the id of its format."""
    source = ExportSource(document, painter=FakePainter(), options=options, progress=progress)
    return export_format(ident).write(source)


def text_of(document: Document, ident: str, **options: str) -> str:
    """The text of a format of one file."""
    text = export(document, ident, **options).files[""]
    assert isinstance(text, str)
    return text


def pair() -> Document:
    """Two hosts `a` and `b` of two H100s on one NVLink switch, two NICs each on rails r0 and r1, two spines.

    Each leaf has two cables to each spine; host b has one more NIC without a rail, on the switch `mgmt`.
    """
    devices = [Device(f"r{rail}", DeviceKind.LEAF, "qm9700", rail=rail) for rail in (0, 1)]
    devices += [Device(f"top{spine}", DeviceKind.SPINE, "qm9700") for spine in (0, 1)]
    devices.append(Device("mgmt", DeviceKind.LEAF, "qm9700"))
    links = [
        Link(f"r{rail}-top{spine}", f"r{rail}", f"top{spine}", LinkKind.INFINIBAND, 50 * GB, 2)
        for rail in (0, 1)
        for spine in (0, 1)
    ]
    for host in ("a", "b"):
        devices.append(Device(f"{host}.cpu0", DeviceKind.CPU, "cpu", parent=host))
        devices.append(Device(f"{host}.sw", DeviceKind.PCIE_SWITCH, "pcie-switch", parent=host))
        devices.append(Device(f"{host}.nvs", DeviceKind.NVLINK_SWITCH, "nvswitch3", parent=host))
        links.append(Link(f"{host}-up", f"{host}.sw", f"{host}.cpu0", LinkKind.PCIE, 63 * GB))
        for rail in (0, 1):
            gpu, nic = f"{host}.gpu{rail}", f"{host}.nic{rail}"
            devices.append(Device(gpu, DeviceKind.GPU, "h100-sxm", parent=host, rail=rail))
            devices.append(Device(nic, DeviceKind.NIC, "cx7-ndr", parent=host, rail=rail))
            links.append(Link(f"{gpu}-p", gpu, f"{host}.sw", LinkKind.PCIE, 63 * GB))
            links.append(Link(f"{nic}-p", nic, f"{host}.sw", LinkKind.PCIE, 63 * GB))
            links.append(Link(f"{gpu}-v", gpu, f"{host}.nvs", LinkKind.NVLINK, 25 * GB, 18))
            links.append(Link(f"{nic}-l", nic, f"r{rail}", LinkKind.INFINIBAND, 50 * GB))
    devices.append(Device("b.nic2", DeviceKind.NIC, "cx6-hdr", parent="b"))
    links.append(Link("b.nic2-p", "b.nic2", "b.cpu0", LinkKind.PCIE, 31.5 * GB))
    links.append(Link("b.nic2-l", "b.nic2", "mgmt", LinkKind.INFINIBAND, 25 * GB))
    boxes = [Container(host, ContainerKind.TRAY) for host in ("a", "b")]
    topology = Topology(devices, links, boxes)
    layout = {device.id: (60.0 * place, 0.0) for place, device in enumerate(devices)}
    return Document(topology, job("parallel.tp=2"), layout=layout, name="pair")


_NAMES = st.sampled_from(
    ["host{}", "pod.a/host{}", "host {}", "Ünit{}", '"q"{}', "a|b<{}>", "x" * 70 + "{}", "h{}-01", "rack[{}]"]
)


@st.composite
def drawings(draw: st.DrawFn) -> Document:
    """Anything that a user may draw: uneven hosts, loose devices, parts that are down, strange names."""
    devices: list[Device] = []
    links: list[Link] = []
    boxes: list[Container] = []
    leaves = [f"leaf{n}" for n in range(draw(st.integers(0, 3)))]
    spines = [f"spine/{n}" for n in range(draw(st.integers(0, 2)))]
    devices += [
        Device(name, DeviceKind.LEAF, draw(st.sampled_from(["qm9700", "sn5600", "own"]))) for name in leaves
    ]
    devices += [Device(name, DeviceKind.SPINE, "qm9700") for name in spines]
    network = draw(st.sampled_from([LinkKind.INFINIBAND, LinkKind.ETHERNET]))
    states = st.sampled_from([State.UP, State.UP, State.UP, State.DEGRADED, State.DOWN])
    pattern = draw(_NAMES)

    def join(a: str, b: str, kind: LinkKind, lane: float, most: int = 1) -> None:
        count = draw(st.integers(1, most))
        share = draw(st.sampled_from([1.0, 0.5]))
        links.append(Link(f"l{len(links)}", a, b, kind, lane, count, share=share, state=draw(states)))

    for leaf in leaves:
        for spine in spines:
            join(leaf, spine, network, 50 * GB, 3)
    for number in range(draw(st.integers(0, 3))):
        host = pattern.format(number)
        boxed = draw(st.booleans())
        parent = host if boxed else None
        if boxed:
            boxes.append(Container(host, ContainerKind.TRAY))
        cpu = f"{host}.cpu"
        if draw(st.booleans()):
            devices.append(Device(cpu, DeviceKind.CPU, "cpu", parent=parent))
        gpus = [f"{host}.gpu{n}" for n in range(draw(st.integers(0, 3)))]
        nics = [f"{host}.nic{n}" for n in range(draw(st.integers(0, 2)))]
        model = draw(st.sampled_from(["h100-sxm", "mi300x", "rubin"]))
        for place, name in enumerate(gpus):
            devices.append(Device(name, DeviceKind.GPU, model, parent=parent, rail=place, state=draw(states)))
        for place, name in enumerate(nics):
            rail = draw(st.sampled_from([None, place]))
            devices.append(
                Device(name, DeviceKind.NIC, "cx7-ndr", parent=parent, rail=rail, state=draw(states))
            )
            for leaf in draw(st.lists(st.sampled_from(leaves), max_size=2)) if leaves else []:
                join(name, leaf, network, draw(st.sampled_from([50 * GB, 25 * GB])))
        for gpu, nic in zip(gpus, nics, strict=False):
            join(gpu, nic, LinkKind.PCIE, 63 * GB)
        if any(device.id == cpu for device in devices):
            for name in (*gpus, *nics):
                if draw(st.booleans()):
                    join(name, cpu, LinkKind.PCIE, draw(st.sampled_from([63 * GB, 31.5 * GB])))
        for one, other in pairwise(gpus):
            join(one, other, LinkKind.XGMI if model == "mi300x" else LinkKind.NVLINK, 25 * GB, 4)
    topology = Topology(devices, links, boxes)
    layout = {device.id: (60.0 * place, 0.0) for place, device in enumerate(devices)}
    return Document(topology, job(), layout=layout, name=draw(st.sampled_from(["", "Plan <1>", "ö|_x_"])))
