"""The inside of one host as a tree of PCIe slots, and how it is drawn.

Readers of all formats of nodes make a `Host`; `draw_host` adds it to a drawing and pairs NICs with GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from model.catalog import catalog
from model.files.imports.building import DrawingBuilder
from model.text import name_list, plural
from model.topology.types import ContainerKind, DeviceKind, LinkKind

# One lane, one direction, bytes/s: transfer rate less line code (the catalogue's figures for x16 ÷ 16).
PCIE_LANE = {1: 0.25e9, 2: 0.5e9, 3: 15.75e9 / 16, 4: 31.5e9 / 16, 5: 63e9 / 16, 6: 121e9 / 16}
PCIE_SLOT = {generation: 16 * lane for generation, lane in PCIE_LANE.items()}
_MOST_CPUS_IN_MESH = 5  # every two joined; a generic CPU has four links


@dataclass(slots=True)
class Slot:
    """What is in one place of the PCIe tree: a GPU, a NIC, or a switch with what hangs below it.

    `key` is what the file calls it, unique in the host; `rate` is that of its link upwards, in bytes/s, one
    direction; `index` the local index of a GPU. `c2c` is the rate of its coherent link to the CPU, 0 without.
    """

    kind: DeviceKind
    key: str
    rate: float
    model: str = ""
    label: str = ""
    index: int | None = None
    c2c: float = 0.0
    children: list[Slot] = field(default_factory=list)

    def walk(self) -> Iterator[Slot]:
        """It and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(slots=True)
class Numa:
    """A NUMA node: one CPU with what hangs below it."""

    name: str
    slots: list[Slot] = field(default_factory=list)
    model: str = "cpu"


@dataclass(slots=True)
class Host:
    """One host. `loose` slots are those whose CPU is not known."""

    name: str
    numas: list[Numa] = field(default_factory=list)
    loose: list[Slot] = field(default_factory=list)

    def roots(self) -> Iterator[Slot]:
        """The slots right below CPUs, and the loose ones."""
        for numa in self.numas:
            yield from numa.slots
        yield from self.loose

    def slots(self, kind: DeviceKind) -> list[Slot]:
        """All slots of a kind, in the order of the tree."""
        return [slot for root in self.roots() for slot in root.walk() if slot.kind is kind]


def draw_host(builder: DrawingBuilder, host: Host, parent: str | None = None) -> dict[str, str]:
    """Add a host as a tray; gives the id of each slot by its key.

    GPUs come first, by local index, which is their rail too; a NIC has the rail of the GPU next to it.
    """
    tray = builder.container(host.name, ContainerKind.TRAY, parent=parent)
    rails = _paired(builder, host)
    ids: dict[str, str] = {}
    gpus = sorted(host.slots(DeviceKind.GPU), key=lambda slot: slot.index or 0)
    for position, slot in enumerate(gpus):
        index = position if slot.index is None else slot.index
        ids[slot.key] = builder.device(
            f"{tray}.gpu{index}", slot.kind, slot.model, label=slot.label, parent=tray, rail=index
        )
    for number, slot in enumerate(host.slots(DeviceKind.NIC)):
        index = number if slot.index is None else slot.index
        ids[slot.key] = builder.device(
            f"{tray}.nic{index}",
            slot.kind,
            slot.model,
            label=slot.label,
            parent=tray,
            rail=rails.get(slot.key),
        )
    for number, slot in enumerate(_switches(host, rails)):
        ids[slot.key] = builder.device(
            f"{tray}.pcie{number}", slot.kind, "pcie-switch", label=slot.label, parent=tray
        )
    cpus = [
        builder.device(f"{tray}.cpu{number}", DeviceKind.CPU, numa.model, parent=tray)
        for number, numa in enumerate(host.numas)
    ]
    _wire(builder, host, cpus, ids)
    return ids


def _switches(host: Host, rails: Mapping[str, int]) -> list[Slot]:
    """PCIe switches as they are laid out in rows: those to NICs above those to GPUs, by rail in each."""
    found: list[tuple[tuple[int, int, int], Slot]] = []

    def visit(slot: Slot, depth: int) -> None:
        if slot.kind is not DeviceKind.PCIE_SWITCH:
            return
        ends = [each for each in slot.walk() if each.kind is not DeviceKind.PCIE_SWITCH]
        gpus = [each.index or 0 for each in ends if each.kind is DeviceKind.GPU]
        nics = [rails.get(each.key, len(rails)) for each in ends if each.kind is DeviceKind.NIC]
        row = 1 if gpus and nics else 2 if gpus else 0 if depth else 3
        found.append(((row, depth, min(gpus or nics)), slot))
        for child in slot.children:
            visit(child, depth + 1)

    for root in host.roots():
        visit(root, 0)
    return [slot for _, slot in sorted(found, key=lambda one: one[0])]


def _wire(builder: DrawingBuilder, host: Host, cpus: Sequence[str], ids: Mapping[str, str]) -> None:
    """PCIe from each slot to the one above it or its CPU, and the links between CPUs."""
    for cpu, numa in zip(cpus, host.numas, strict=True):
        for slot in numa.slots:
            if slot.c2c:
                builder.link(ids[slot.key], cpu, LinkKind.C2C, slot.c2c)
            else:
                builder.link(ids[slot.key], cpu, LinkKind.PCIE, slot.rate)
            for below in slot.walk():
                if below.c2c and below is not slot:
                    builder.link(ids[below.key], cpu, LinkKind.C2C, below.c2c)
    for root in host.roots():
        for slot in root.walk():
            for child in slot.children:
                builder.link(ids[child.key], ids[slot.key], LinkKind.PCIE, child.rate)
    pairs = list(_joined(cpus))
    hosts = catalog().hosts
    for first, second in pairs:
        rate = min(hosts[builder.of(end).model].c2c_bytes_per_s for end in (first, second))
        builder.link(first, second, LinkKind.C2C, rate)
    if pairs:
        how = "every two" if len(cpus) <= _MOST_CPUS_IN_MESH else "neighbours in a ring"
        builder.reading.guessed(
            f"How the CPUs are joined is not in the text: {how} of the {len(cpus)} are, "
            "at the speed of the catalogue."
        )


def _joined(cpus: Sequence[str]) -> Iterable[tuple[str, str]]:
    if len(cpus) <= _MOST_CPUS_IN_MESH:
        return combinations(cpus, 2)
    return zip(cpus, (*cpus[1:], cpus[0]), strict=True)


def _paired(builder: DrawingBuilder, host: Host) -> dict[str, int]:
    """The rail of each NIC that shares a PCIe switch with a GPU that has no NIC closer to it."""
    rails: dict[str, int] = {}
    shared: list[str] = []
    for root in host.roots():
        _pair_below(root, rails, shared)
    if shared:
        builder.reading.inferred(
            f"NICs and GPUs that share a PCIe switch are paired in their order ({name_list(shared)})."
        )
    alone = [slot.label or slot.key for slot in host.slots(DeviceKind.NIC) if slot.key not in rails]
    if alone and rails:
        builder.reading.inferred(
            f"{plural(len(alone), 'NIC')} next to no GPU, so without a rail (storage or management): "
            f"{name_list(alone, 8)}."
        )
    elif alone and host.slots(DeviceKind.GPU):
        builder.reading.inferred(
            "No NIC shares a PCIe switch with a GPU: no NIC has a rail, all GPUs share the nearest ones."
        )
    return rails


def _pair_below(slot: Slot, rails: dict[str, int], shared: list[str]) -> tuple[list[Slot], list[Slot]]:
    """The GPUs and NICs at or below a slot that have found no partner there."""
    if slot.kind is not DeviceKind.PCIE_SWITCH:
        return ([slot], []) if slot.kind is DeviceKind.GPU else ([], [slot])
    gpus: list[Slot] = []
    nics: list[Slot] = []
    for child in slot.children:
        more_gpus, more_nics = _pair_below(child, rails, shared)
        gpus += more_gpus
        nics += more_nics
    if not gpus or not nics:
        return gpus, nics
    gpus.sort(key=lambda gpu: gpu.index or 0)
    for position, nic in enumerate(nics):
        rails[nic.key] = gpus[position * len(gpus) // len(nics)].index or 0
    if len(gpus) > 1 or len(nics) > 1:
        shared.append(
            f"{', '.join(gpu.label or gpu.key for gpu in gpus)} with "
            f"{', '.join(nic.label or nic.key for nic in nics)}"
        )
    return [], []
