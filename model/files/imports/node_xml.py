"""The topology XML of NCCL and of RCCL: the PCIe tree of one host, or of all hosts of an NVLink domain.

Elements and units as NCCL's `xml.cc` and `topo.cc` read them: network speed in Mb/s, a PCIe link as transfer
rate and lanes, class codes matched from their start. A key is (host, bus id): hosts repeat bus ids.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from model.errors import InputError
from model.files.importing import Question, Reading
from model.files.imports.node_host import PCIE_LANE, Host, Numa, Slot
from model.files.imports.xml import Element
from model.text import name_list, plural
from model.topology.types import DeviceKind

HIDDEN_SWITCH = "fffffff:ff:ff.0"
DEFAULT_NET_MBIT = 10_000  # NCCL's for a speed of 0 or less
_GENERATION_BY_RATE = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_MOST_LINKS = 1_000
_MOST_HOSTS = 1_000
_MOST_DEVICES = 20_000
_MOST_SPEED = 10**8  # Mb/s


@dataclass(slots=True)
class XmlGpu:
    """A <gpu>: where it is, and what the file says of it."""

    slot: Slot
    host: str
    bus: str
    line: int
    sm: int = 0
    gcn: str = ""
    rank: int | None = None
    dev: int | None = None
    vendor: int | None = None
    device: int | None = None
    arm: bool = False
    generation: int = 0
    share: int = 1  # how many <gpu> of one card repeat its links
    links: list[tuple[str, str, int, int]] = field(default_factory=list)  # target, class, count, line


@dataclass(slots=True)
class XmlNic:
    """A card with its <net> ports."""

    slot: Slot
    line: int
    vendor: int | None = None
    device: int | None = None
    names: list[str] = field(default_factory=list)
    speeds: list[int] = field(default_factory=list)  # Mb/s of each port
    infiniband: bool | None = None


@dataclass(slots=True)
class XmlNode:
    """All hosts of a file, their GPUs and NICs with what was said of them."""

    hosts: list[Host] = field(default_factory=list)
    gpus: list[XmlGpu] = field(default_factory=list)
    nics: list[XmlNic] = field(default_factory=list)
    unknown: list[tuple[str, int]] = field(
        default_factory=list
    )  # bus id and line of devices of no known kind
    switches: dict[tuple[str, str], int] = field(default_factory=dict)  # NVSwitches of the tree: line
    says_links: bool = False


def read_system(reading: Reading, root: Element) -> XmlNode:
    """The hosts of a <system>. Raises `InputError` for a schema that NCCL does not have."""
    _refuse_invented(reading, root)
    found = XmlNode()
    by_hash: dict[str, Host] = {}
    cpus = list(root.all("cpu"))
    if not cpus:
        raise InputError(
            f"{reading.source.name}, line {root.line}: <system> has no <cpu>; NCCL's file has one."
        )
    devices = sum(1 for element in root.walk() if element.tag in ("pci", "nic", "gpu"))
    hosts = len({cpu.get("host_hash") for cpu in cpus})
    if hosts > _MOST_HOSTS or devices > _MOST_DEVICES:
        raise InputError(
            f"{reading.source.name} has {hosts:,} hosts and {devices:,} devices; at most "
            f"{_MOST_HOSTS:,} and {_MOST_DEVICES:,} are read."
        )
    for cpu in cpus:
        host_hash = cpu.get("host_hash")
        host = by_hash.setdefault(host_hash, Host(f"node{len(by_hash):02d}"))
        numa = Numa(cpu.get("numaid") or "-1")
        host.numas.append(numa)
        _Branch(reading, found, host, cpu).read(cpu, numa.slots)
    missing = [cpu.line for cpu in cpus if cpu.get("numaid") in ("", "-1")]
    if missing:
        reading.inferred("A <cpu> without a NUMA number: taken as one node.", *missing)
    if len(by_hash) > 1 and "" in by_hash:
        reading.contradictory(
            "Some <cpu> have a host_hash and others none; those without are drawn as one more host.",
            *(cpu.line for cpu in cpus if not cpu.get("host_hash")),
        )
    for other in root.children:
        if other.tag != "cpu":
            reading.ignored(f"<{other.tag[:40]}> under <system> is not read.", other.line)
    found.hosts = list(by_hash.values())
    for host in found.hosts:
        host.numas.sort(key=lambda numa: _whole(numa.name) or 0)
    return found


def _refuse_invented(reading: Reading, root: Element) -> None:
    wrong = next((child for child in root.children if child.tag in ("gpu", "nic", "nvlink", "net")), None)
    if wrong is not None:
        raise InputError(
            f"{reading.source.name}, line {wrong.line}: <{wrong.tag}> stands under <{root.tag}>, which NCCL "
            "ignores silently; in its files GPUs and NICs stand in <pci> elements under <cpu>, and nvlink "
            "targets are bus ids. A right file is written with NCCL_TOPO_DUMP_FILE."
        )


class _Branch:
    """Reads what hangs below one <cpu>."""

    def __init__(self, reading: Reading, found: XmlNode, host: Host, cpu: Element) -> None:
        self.reading = reading
        self.found = found
        self.host = host
        self.arm = "arm" in f"{cpu.get('arch')} {cpu.get('vendor')}".lower()

    def read(self, parent: Element, slots: list[Slot]) -> None:
        """Add what is directly in `parent` to `slots`."""
        for child in parent.children:
            if child.tag == "pci":
                self._pci(child, slots)
            elif child.tag == "nic":
                self._nic(child, child, slots, "0x02", PCIE_LANE[3] * 16)
            elif child.tag not in ("pcilink", "gpu", "nvlink", "xgmi", "c2c"):
                self.reading.ignored(f"<{child.tag[:40]}> in <{parent.tag}> is not read.", child.line)
            elif child.tag == "gpu":
                self.reading.contradictory(
                    "A <gpu> outside of a <pci> is not read; NCCL ignores it too.", child.line
                )

    def _pci(self, pci: Element, slots: list[Slot]) -> None:
        rate, generation = _rate(self.reading, pci)
        kind = pci.get("class").lower()
        gpus, nics = list(pci.all("gpu")), list(pci.all("nic"))
        below: list[Slot] = []
        self.read_bridges(pci, below)
        if kind.startswith("0x0680"):
            self.found.switches[self.host.name, pci.get("busid").lower()] = pci.line
        elif gpus or kind.startswith(("0x03", "0x12")):
            self._gpus(pci, gpus, slots, rate, generation)
        elif nics or kind.startswith("0x02"):
            for nic in nics or [pci]:
                self._nic(pci, nic, slots, kind, rate)
        elif kind.startswith("0x0604") or below:
            slots.append(Slot(DeviceKind.PCIE_SWITCH, self._key(pci), rate, children=below))
            return
        elif kind:
            self.reading.ignored("Devices of a class that is neither GPU nor NIC nor bridge.", pci.line)
        else:
            self.found.unknown.append((pci.get("busid") or "without bus id", pci.line))
            slots.append(Slot(DeviceKind.STORAGE, self._key(pci), rate))
        slots += below

    def read_bridges(self, pci: Element, slots: list[Slot]) -> None:
        """The devices behind a <pci>."""
        for child in pci.children:
            if child.tag == "pci":
                self._pci(child, slots)
            elif child.tag not in ("gpu", "nic", "pcilink"):
                self.reading.ignored(f"<{child.tag[:40]}> in <pci> is not read.", child.line)

    def _key(self, pci: Element, more: str = "") -> str:
        """A key that no other slot of the host has."""
        bus = pci.get("busid").lower() or f"line {pci.line}"
        return f"{self.host.name} {bus}{more} (line {pci.line})"

    def _gpus(
        self, pci: Element, gpus: list[Element], slots: list[Slot], rate: float, generation: int
    ) -> None:
        for number, gpu in enumerate(gpus or [pci]):
            slot = Slot(
                DeviceKind.GPU, self._key(pci, f"/{number}" if number else ""), rate, label=pci.get("busid")
            )
            c2c = next(gpu.all("c2c"), None)
            if c2c is not None:
                slot.c2c = _positive(c2c.get("bw")) * _positive(c2c.get("count", "1")) * 1e6
            is_gpu = gpu is not pci
            read = XmlGpu(
                slot,
                self.host.name,
                pci.get("busid").lower(),
                gpu.line,
                sm=_whole(gpu.get("sm")) or 0 if is_gpu else 0,
                gcn=gpu.get("gcn") if is_gpu else "",
                rank=_whole(gpu.get("rank")) if is_gpu else None,
                dev=_whole(gpu.get("dev")) if is_gpu else None,
                vendor=_hex(pci.get("vendor")),
                device=_hex(pci.get("device")),
                arm=self.arm,
                generation=generation,
                share=max(1, len(gpus)),
            )
            for link in gpu.all("nvlink", "xgmi"):
                count = _whole(link.get("count", "1"))
                if count is None or not 0 < count <= _MOST_LINKS:
                    self.reading.broken(
                        f"count={link.get('count')[:20]!r} of <{link.tag}> is no number of links", link.line
                    )
                    continue
                read.links.append((link.get("target").lower(), link.get("tclass").lower(), count, link.line))
                self.found.says_links = True
            self.found.gpus.append(read)
            slots.append(slot)

    def _nic(self, pci: Element, nic: Element, slots: list[Slot], kind: str, rate: float) -> None:
        slot = Slot(DeviceKind.NIC, self._key(pci, f"/{nic.line}"), rate, label=pci.get("busid"))
        read = XmlNic(slot, nic.line, _hex(pci.get("vendor")), _hex(pci.get("device")))
        if kind.startswith("0x0207"):
            read.infiniband = True
        elif kind.startswith("0x0200"):
            read.infiniband = False
        guids = []
        for net in nic.all("net"):
            speed = _whole(net.get("speed"))
            if speed is None or speed <= 0:
                speed = DEFAULT_NET_MBIT
                self.reading.guessed("A <net> without a speed counts as 10 Gb/s, as NCCL takes it.", net.line)
            read.speeds.append(min(speed, _MOST_SPEED))
            read.names.append(net.get("name") or f"dev {net.get('dev')}")
            guids.append(net.get("guid"))
        if len(read.speeds) > 1:
            self.reading.inferred(
                "Ports of one card are one NIC: they share its PCIe slot.",
                *(net.line for net in nic.all("net")),
            )
        if len(set(read.speeds)) > 1:
            self.reading.contradictory(
                f"The ports of one card have different speeds "
                f"({' and '.join(f'{speed / 1000:g} Gb/s' for speed in read.speeds)}).",
                *(net.line for net in nic.all("net")),
            )
        if read.names:
            slot.label = ", ".join(read.names)
        self.found.nics.append(read)
        slots.append(slot)


def _rate(reading: Reading, pci: Element) -> tuple[float, int]:
    """Bytes/s of the link above a <pci>, and its PCIe generation; 16 lanes where there is no width."""
    text = pci.get("link_speed")
    width = _whole(pci.get("link_width")) or 16
    number = re.match(r"(\d+(?:\.\d+)?)\s*GT/s", text)
    generation = _GENERATION_BY_RATE.get(float(number[1])) if number else None
    if generation is None:
        if text:
            reading.guessed(
                f"link_speed={text[:30]!r} is no PCIe speed; it counts as Gen 3, as NCCL takes it.", pci.line
            )
        return PCIE_LANE[3] * 16, 0
    if not re.match(r"(2\.5|5|8|16|32|64) GT/s|(2\.5|5\.0|8\.0|16\.0|32\.0|64\.0) GT/s PCIe", text):
        reading.guessed(
            f"NCCL does not know link_speed={text[:30]!r}: Gen 3 to it, drawn as Gen {generation}.",
            pci.line,
        )
    if not 1 <= width <= 32:
        reading.contradictory(f"link_width={width} is no width of PCIe; 16 lanes were taken.", pci.line)
        width = 16
    return PCIE_LANE[generation] * width, generation


def _whole(text: str) -> int | None:
    """A whole number, decimal or with 0x; None where it is none, or too long."""
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    return int(text, 16) if re.fullmatch(r"0[xX][0-9a-fA-F]{1,15}", text) else None


def _hex(text: str) -> int | None:
    return int(text, 16) if re.fullmatch(r"(0[xX])?[0-9a-fA-F]{1,8}", text) else None


def _positive(text: str) -> float:
    """A number that is not negative; 0 where it is none."""
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,12})?", text) else 0.0


def bus_order(bus: str) -> tuple[int, ...]:
    """Bus ids as PCI orders them."""
    return tuple(int(part, 16) for part in re.findall(r"[0-9a-f]{1,8}", bus)[:4])


def number_gpus(reading: Reading, found: XmlNode) -> None:
    """Give each GPU its index in its host: `dev` where all have one, else the order of bus ids."""
    for host in found.hosts:
        gpus = [gpu for gpu in found.gpus if gpu.host == host.name]
        numbers = [gpu.dev for gpu in gpus]
        usable = all(dev is not None and 0 <= dev < 4096 for dev in numbers)
        if usable and len(set(numbers)) == len(numbers):
            for gpu in gpus:
                gpu.slot.index = gpu.dev
            continue
        if any(dev is not None for dev in numbers):
            reading.contradictory(
                "The dev numbers of <gpu> are missing or double; GPUs are numbered by bus id.",
                *(gpu.line for gpu in gpus),
            )
        elif gpus:
            reading.inferred(
                "GPUs have no dev number; they are numbered by bus id.", *(gpu.line for gpu in gpus)
            )
        for index, gpu in enumerate(sorted(gpus, key=lambda one: (bus_order(one.bus), one.line))):
            gpu.slot.index = index


def order_hosts(found: XmlNode) -> None:
    """Hosts by their first rank, where the file has ranks, and numbered in that order."""
    first: dict[str, int] = {}
    for gpu in found.gpus:
        if gpu.rank is not None:
            first[gpu.host] = min(first.get(gpu.host, gpu.rank), gpu.rank)
    if len(first) == len(found.hosts):
        found.hosts.sort(key=lambda host: first[host.name])
    names = {host.name: f"node{number:02d}" for number, host in enumerate(found.hosts)}
    for host in found.hosts:
        host.name = names[host.name]
    for gpu in found.gpus:
        gpu.host = names[gpu.host]
    found.switches = {(names[host], bus): line for (host, bus), line in found.switches.items()}


def settle_unknown(reading: Reading, found: XmlNode) -> None:
    """Ask what devices without a class are; leave them out where nobody knows."""
    if not found.unknown:
        return
    count = len(found.unknown)
    names = name_list([bus for bus, _ in found.unknown], 12)
    why = f"{plural(count, 'device')} of unknown kind (no class in the file): {names}."
    choices = (("skip", "Leave them out"), ("gpu", "GPUs"), ("nic", "NICs"))
    answer = reading.ask(
        Question("unknown_devices", "What are the devices without a class?", "skip", choices, why=why)
    )
    lines = [line for _, line in found.unknown]
    if answer == "skip":
        reading.ignored(f"{why} They are left out.", *lines)
    else:
        reading.guessed(f"{why} They are drawn as {answer.upper()}s.", *lines)
    for host in found.hosts:
        for slots in _lists(host):
            for slot in [each for each in slots if each.kind is DeviceKind.STORAGE]:
                if answer == "skip":
                    slots.remove(slot)
                    continue
                slot.kind = DeviceKind.GPU if answer == "gpu" else DeviceKind.NIC
                bus = re.match(r"\S+ (\S+)", slot.key)
                slot.label = bus[1] if bus else ""
                if answer == "gpu":
                    found.gpus.append(XmlGpu(slot, host.name, slot.label, 0))
                else:
                    found.nics.append(XmlNic(slot, 0))


def _lists(host: Host) -> Iterator[list[Slot]]:
    """All lists of slots of a host."""
    yield from (numa.slots for numa in host.numas)
    for root in list(host.roots()):
        for slot in root.walk():
            yield slot.children


def commonest(values: list[str]) -> str:
    """The value that occurs most, the first of equals."""
    return Counter(values).most_common(1)[0][0]
