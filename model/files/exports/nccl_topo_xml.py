"""NCCL's topology files, one for each host, as NCCL's own reader takes them.

That reader is no XML reader: no declaration, no tabs, no text, one element a line, attributes separated by
one blank, at most 16 attributes of 255 characters, 640 children and 256 elements. Units: PCIe by speed and
width, network Mb/s, NVLinks counted, C2C in MB/s.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from model.catalog import GpuSpec
from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.drawing import Host, hosts_of, omitted, watched, works
from model.files.exports.nccl_names import NAMES_OPTION, NetDevice, host_links, net_devices
from model.files.exports.nccl_pci_tree import Branch, PciTree, pci_tree
from model.files.exports.safe_names import FILE_NAMES, renamed, safe_names
from model.text import plural
from model.topology.graph import Topology
from model.topology.ports import spec_of
from model.topology.types import Device, DeviceKind, LinkKind

MOST_ELEMENTS = 256
MOST_CHILDREN = 640

_HIDDEN_SWITCH = "fffffff:ff:ff.0"
_ADDRESS = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.ASCII | re.IGNORECASE)
_SWITCH_CLASS, _GPU_CLASS, _BRIDGE_CLASS = "0x068000", "0x030200", "0x060400"
_NETWORK_CLASS = {True: "0x020700", False: "0x020000"}  # by whether it speaks InfiniBand
# NVIDIA's compute capabilities; GPUs of another architecture are left to NCCL, which asks the driver.
_SM = {"Ampere": 80, "Hopper": 90, "Blackwell": 100, "Blackwell Ultra": 103}
_LANE_BYTES_PER_S = {
    "2.5": 0.25e9,
    "5.0": 0.5e9,
    "8.0": 0.985e9,
    "16.0": 1.969e9,
    "32.0": 3.938e9,
    "64.0": 7.563e9,
}
_WIDTHS = (16, 8, 4, 2, 1)


@dataclass(frozen=True, slots=True)
class Element:
    """An element with its attributes in order."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Element, ...] = ()

    def count(self) -> int:
        """Elements, itself and all inside."""
        return 1 + sum(child.count() for child in self.children)

    def lines(self, depth: int = 0) -> Iterator[str]:
        """One element a line, two blanks for each level."""
        start = (
            "  " * depth + "<" + " ".join((self.tag, *(f'{name}="{text}"' for name, text in self.attributes)))
        )
        if not self.children:
            yield start + "/>"
            return
        yield start + ">"
        for child in self.children:
            yield from child.lines(depth + 1)
        yield "  " * depth + f"</{self.tag}>"


def _write(source: ExportSource) -> Exported:
    topology = source.document.topology
    hosts = [host for host in hosts_of(topology) if _gpus(host)]
    if not hosts:
        raise InputError("The drawing has no host with a working GPU, and NCCL's files describe such hosts.")
    names = safe_names((host.id for host in hosts), FILE_NAMES)
    files: dict[str, str] = {}
    notes: Counter[str] = Counter()
    for number, host in enumerate(watched(source, hosts, "writing hosts")):
        writer = _HostWriter(source, topology, host, number)
        files[f"{names[host.id]}.xml"] = "\n".join(writer.system().lines()) + "\n"
        notes.update(sorted(writer.notes))
    inside = {device.id for host in hosts for device in host.devices}
    outside = [device for device in topology.devices() if device.id not in inside]
    left_out = [
        *omitted(outside, why="a file describes one host"),
        *(f"{note} ({plural(count, 'host')})." for note, count in notes.items()),
        *renamed({f"{ident}.xml": f"{name}.xml" for ident, name in names.items()}, FILE_NAMES),
    ]
    return Exported(files, tuple(left_out))


def _gpus(host: Host) -> tuple[Device, ...]:
    return tuple(gpu for gpu in host.of_kind(DeviceKind.GPU) if works(gpu))


class _HostWriter:
    """The file of one host. `notes`: what is left out of it, in words without a full stop."""

    def __init__(self, source: ExportSource, topology: Topology, host: Host, number: int) -> None:
        self.notes: set[str] = set()
        self._topology, self._host, self._number = topology, host, number
        self._gpus = _gpus(host)
        self._refuse_others()
        self._nets = net_devices(source, topology, host)
        self._tree = pci_tree(topology, host)
        self._real = _addresses(host)
        self._buses = self._bus_ids(self._tree)
        self._bridges = 0
        if self._tree.unused:
            self.notes.add("PCIe links beyond a tree left out")
        if any(not works(device) for device in host.devices):
            self.notes.add("Devices that are down left out")

    def _refuse_others(self) -> None:
        for gpu in self._gpus:
            spec = spec_of(gpu)
            if isinstance(spec, GpuSpec) and spec.vendor != "NVIDIA":
                raise InputError(
                    f"{gpu.id} is of the model {spec.name}; NCCL and its files know GPUs of NVIDIA only."
                )

    def _bus_ids(self, tree: PciTree) -> dict[str, str]:
        """The address of each device: its own, else an invented one, a bus for each device in the order of
        the tree. NVLink switches follow."""
        placed = [
            branch.device.id
            for _, branches in tree.roots
            for top in branches
            for branch in top.walk()
            if branch.device is not None and not branch.is_bridge
        ]
        placed += [device.id for device in self._host.of_kind(DeviceKind.NVLINK_SWITCH) if works(device)]
        if self._real and any(ident not in self._real for ident in placed):
            self.notes.add("PCIe addresses invented for devices whose label is none")
        real = set(self._real.values())
        invented = (f"{place // 255:04x}:{place % 255 + 1:02x}:00.0" for place in itertools.count())
        free = (bus for bus in invented if bus not in real)
        return {ident: self._real.get(ident) or next(free) for ident in placed}

    def _bridge(self, device: Device | None) -> str:
        """The address of a bridge: its own, else the next invented one, from ffff:ff:00.0 down."""
        own = self._real.get(device.id) if device is not None else None
        taken = self._real.values()
        while own is None:
            number, self._bridges = self._bridges, self._bridges + 1
            bus = f"ffff:{0xFF - number // 32:02x}:{number % 32:02x}.0"
            own = bus if bus not in taken else None
        return own

    def system(self) -> Element:
        """The whole file, made smaller where it has too many elements."""
        for merged, flat in ((False, False), (True, False), (True, True)):
            self._bridges = 0
            system = self._system(merged=merged, flat=flat)
            if system.count() <= MOST_ELEMENTS and _widest(system) <= MOST_CHILDREN:
                if merged:
                    what = "NVLink switches written as one" + (" and PCIe switches left out" if flat else "")
                    self.notes.add(f"{what}, as NCCL reads at most {MOST_ELEMENTS} elements")
                return system
        raise InputError(
            f"{self._host.id} needs {system.count():,} elements, and NCCL reads at most {MOST_ELEMENTS} of "
            f"one file; it has {plural(len(self._gpus), 'GPU')} and {len(self._nets):,} network ports."
        )

    def _system(self, *, merged: bool, flat: bool) -> Element:
        links = self._nvlinks(merged=merged)
        cpus = []
        for number, (cpu, branches) in enumerate(self._tree.roots):
            arm = cpu is not None and cpu.model in ("grace", "vera")
            tops = [leaf for top in branches for leaf in _leaves(top)] if flat else list(branches)
            children = tuple(child for top in tops for child in self._pci(top, links))
            if children:
                attributes = (("numaid", str(number)), ("arch", "arm64" if arm else "x86_64"))
                cpus.append(Element("cpu", attributes, children))
        return Element("system", (("version", "1"),), tuple(cpus))

    def _pci(self, branch: Branch, links: Mapping[str, tuple[Element, ...]]) -> list[Element]:
        below = [child for one in branch.below for child in self._pci(one, links)]
        device = branch.device
        speed, width = _speed(branch.bytes_per_s)
        tail = (("link_speed", speed), ("link_width", str(width)))
        if device is None or branch.is_bridge:
            if not below:
                return []
            attributes = (("busid", self._bridge(device)), ("class", _BRIDGE_CLASS), *tail)
            return [Element("pci", attributes, tuple(below))]
        busid = self._buses[device.id]
        if branch.bytes_per_s <= 0:
            self.notes.add("PCIe links that are not drawn written as Gen5 of 16 lanes")
        if device.kind is DeviceKind.GPU:
            gpu = self._gpu(device, links.get(device.id, ()))
            return [Element("pci", (("busid", busid), ("class", _GPU_CLASS), *tail), (gpu,))]
        nets = [net for net in self._nets if net.nic is device]
        if not nets:
            return []
        attributes = (("busid", busid), ("class", _NETWORK_CLASS[nets[0].infiniband]), *tail)
        nic = Element("nic", (), tuple(self._net(net) for net in nets))
        return [Element("pci", attributes, (nic,))]

    def _gpu(self, gpu: Device, links: tuple[Element, ...]) -> Element:
        spec, number = spec_of(gpu), self._gpus.index(gpu)
        sm = _SM.get(spec.arch) if isinstance(spec, GpuSpec) else None
        if sm is None:
            self.notes.add("The compute capability of GPUs left to NCCL, which asks the driver")
        attributes = [("dev", str(number)), *([("sm", str(sm))] if sm is not None else [])]
        attributes += [("rank", str(number)), ("gdr", "1")]
        return Element("gpu", tuple(attributes), links + tuple(self._c2c(gpu)))

    def _c2c(self, gpu: Device) -> Iterator[Element]:
        for link in self._topology.links_of(gpu.id):
            other = self._topology.device(link.other(gpu.id))
            if link.kind is LinkKind.C2C and other.kind is DeviceKind.CPU and works(link) and works(other):
                rate = round(link.capacity_bytes_per_s / link.count / 1e6)
                yield Element("c2c", (("bw", str(rate)), ("count", str(link.count))))

    def _net(self, net: NetDevice) -> Element:
        guid = (self._number << 16 | self._host.devices.index(net.nic) + 1) << 8
        return Element(
            "net",
            (
                ("name", net.name),
                ("dev", str(net.number)),
                ("speed", str(round(net.bytes_per_s * 8 / 1e6))),
                ("port", str(net.port)),
                ("guid", f"0x{guid:016x}"),
                ("maxconn", "131072"),
                ("gdr", "1"),
            ),
        )

    def _nvlinks(self, *, merged: bool) -> dict[str, tuple[Element, ...]]:
        """The NVLinks of each GPU: direct ones at both ends, those to a switch outside the host as hidden."""
        counts: dict[str, Counter[tuple[str, str]]] = {gpu.id: Counter() for gpu in self._gpus}
        foreign = 0
        for link in host_links(self._topology, self._host, frozenset({LinkKind.NVLINK})):
            for end in (link.a, link.b):
                if end not in counts:
                    continue
                other = self._topology.device(link.other(end))
                if other.kind is DeviceKind.GPU and other.id not in counts:
                    foreign += link.count
                elif other.kind is DeviceKind.GPU:
                    counts[end][self._buses[other.id], _GPU_CLASS] += link.count
                else:
                    bus = _HIDDEN_SWITCH if merged else self._buses.get(other.id, _HIDDEN_SWITCH)
                    counts[end][bus, _SWITCH_CLASS] += link.count
        if foreign:
            self.notes.add("NVLinks to GPUs of other hosts left out")
        return {
            gpu: tuple(
                Element("nvlink", (("target", target), ("count", str(count)), ("tclass", kind)))
                for (target, kind), count in own.items()
            )
            for gpu, own in counts.items()
        }


def _addresses(host: Host) -> dict[str, str]:
    """PCIe addresses, as Linux writes them, of devices whose label is one that no other of the host has."""
    found = {device.id: _ADDRESS.fullmatch(device.label) for device in host.devices}
    written = {
        ident: f"{int(match[1], 16):04x}:{match[2].lower()}" for ident, match in found.items() if match
    }
    counts = Counter(written.values())
    return {ident: bus for ident, bus in written.items() if counts[bus] == 1 and bus != _HIDDEN_SWITCH}


def _widest(element: Element) -> int:
    return max(len(element.children), *(_widest(child) for child in element.children), 0)


def _leaves(branch: Branch) -> list[Branch]:
    """The devices below a bridge, without the bridges."""
    return [one for one in branch.walk() if one.device is not None and not one.is_bridge]


def _speed(bytes_per_s: float) -> tuple[str, int]:
    """The PCIe speed and width whose rate is nearest, the widest of equal ones; 0 is a Gen5 link of 16."""
    if bytes_per_s <= 0:
        return "32.0 GT/s PCIe", 16
    _, width, speed = min(
        (round(abs(lane * width / bytes_per_s - 1), 2), -width, speed)
        for speed, lane in _LANE_BYTES_PER_S.items()
        for width in _WIDTHS
    )
    return f"{speed} GT/s PCIe", -width


FORMATS = (
    ExportFormat(
        id="nccl-topo-xml",
        name="NCCL topology XML",
        suffix=".xml",
        write=_write,
        use="NCCL_TOPO_FILE=FILE on each host, for virtual machines that hide their PCIe tree.",
        lacks="The fabric outside of the host, and PCIe addresses where they are not the labels of devices: "
        "put those of the machine in place of the invented ones.",
        folder=True,
        options=(NAMES_OPTION,),
    ),
)
