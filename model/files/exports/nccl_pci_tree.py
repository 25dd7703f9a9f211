"""The PCIe tree of a host, as NCCL wants it: every device under one CPU, and bridges where they branch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from model.files.exports.drawing import Host, works
from model.files.exports.nccl_names import host_links
from model.topology.graph import Topology
from model.topology.types import Device, DeviceKind, Link, LinkKind

_BRIDGES = (DeviceKind.PCIE_SWITCH, DeviceKind.NIC)  # what a PCIe path goes on through


@dataclass(slots=True)
class Branch:
    """A device under its CPU, or a bridge (`device` None) that is not drawn. `bytes_per_s`: of its
    uplink, 0 = not drawn."""

    device: Device | None
    bytes_per_s: float = 0.0
    below: list[Branch] = field(default_factory=list)

    def walk(self) -> Iterator[Branch]:
        """Itself and all below."""
        yield self
        for branch in self.below:
            yield from branch.walk()

    @property
    def is_bridge(self) -> bool:
        """Whether it is nothing but a bridge."""
        return self.device is None or self.device.kind is DeviceKind.PCIE_SWITCH


@dataclass(frozen=True, slots=True)
class PciTree:
    """`roots`: what hangs under each CPU (None: one that is not drawn). `unused`: links in no tree."""

    roots: tuple[tuple[Device | None, tuple[Branch, ...]], ...]
    unused: tuple[Link, ...]


def pci_tree(topology: Topology, host: Host) -> PciTree:
    """Cut the PCIe links of a host into trees, one for each CPU, shortest ways first.

    GPUs that have no PCIe link hang under the CPU that they share a chip-to-chip link with. A NIC with
    something below it has a PCIe switch inside, which is written as a bridge over both.
    """
    working = {device.id: device for device in host.devices if works(device)}
    links = host_links(topology, host, frozenset({LinkKind.PCIE, LinkKind.C2C}))
    near: dict[str, list[Link]] = {ident: [] for ident in working}
    for link in links:
        for end in (link.a, link.b):
            if end in near:
                near[end].append(link)
    growth = _Growth(working, near)
    cpus = [device for device in working.values() if device.kind is DeviceKind.CPU]
    growth.grow([(cpu.id, cpu.id) for cpu in cpus], LinkKind.PCIE)
    growth.grow([(cpu.id, cpu.id) for cpu in cpus], LinkKind.C2C)
    home = cpus[0].id if cpus else ""
    for start in _starts(working):
        if start.id not in growth.parent:
            growth.plant(start, home)
    return PciTree(growth.roots(cpus), growth.unused(links))


def _starts(working: Mapping[str, Device]) -> list[Device]:
    """Devices in the order in which trees without a CPU begin at them."""
    order = (DeviceKind.PCIE_SWITCH, DeviceKind.NIC, DeviceKind.GPU)
    return [device for kind in order for device in working.values() if device.kind is kind]


class _Growth:
    """Breadth-first over PCIe links from all CPUs at once."""

    def __init__(self, working: Mapping[str, Device], near: Mapping[str, list[Link]]) -> None:
        self._working, self._near = working, near
        self.parent: dict[str, str] = {}
        self._rate: dict[str, float] = {}
        self._used: set[str] = set()
        self._children: dict[str, list[str]] = {}

    def plant(self, start: Device, home: str) -> None:
        """A tree that no CPU was found for, under the CPU `home`."""
        self._adopt(start.id, home, 0.0)
        self.grow([(start.id, start.id)], LinkKind.PCIE)

    def grow(self, front: list[tuple[str, str]], kind: LinkKind) -> None:
        """Take in what links of a kind reach from the devices at the front."""
        queue = deque(ident for ident, _ in front)
        while queue:
            at = queue.popleft()
            for link in self._near[at]:
                there = link.other(at)
                device = self._working.get(there)
                if link.kind is not kind or device is None or there in self.parent:
                    continue
                if device.kind is DeviceKind.CPU or (
                    kind is LinkKind.C2C and device.kind is not DeviceKind.GPU
                ):
                    continue
                self._adopt(there, at, link.capacity_bytes_per_s if kind is LinkKind.PCIE else 0.0)
                if kind is LinkKind.PCIE:
                    self._used.add(link.id)
                    if device.kind in _BRIDGES:
                        queue.append(there)

    def _adopt(self, ident: str, parent: str, rate: float) -> None:
        self.parent[ident] = parent
        self._rate[ident] = rate
        self._children.setdefault(parent, []).append(ident)

    def roots(self, cpus: list[Device]) -> tuple[tuple[Device | None, tuple[Branch, ...]], ...]:
        owners: list[Device | None] = [*cpus] if cpus else [None]
        return tuple(
            (cpu, tuple(self._branch(ident) for ident in self._children.get(cpu.id if cpu else "", ())))
            for cpu in owners
        )

    def _branch(self, ident: str) -> Branch:
        device, below = self._working[ident], [self._branch(each) for each in self._children.get(ident, ())]
        if below and device.kind is DeviceKind.NIC:
            return Branch(
                None, self._rate[ident], [Branch(device, max(one.bytes_per_s for one in below)), *below]
            )
        return Branch(device, self._rate[ident], below)

    def unused(self, links: list[Link]) -> tuple[Link, ...]:
        """PCIe links that close a ring or leave the host; those between chips are not part of a PCIe tree."""
        return tuple(link for link in links if link.kind is LinkKind.PCIE and link.id not in self._used)
