"""lstopo's XML (hwloc 2 and 3): packages, PCI devices, and the NVLink bandwidths that it measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from model.catalog import GpuSpec, catalog
from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.building import DrawingBuilder, ask_gpu, ask_nic, drawing_name
from model.files.imports.known_parts import gpu_by_name, gpu_by_pci, nic_by_pci
from model.files.imports.node_host import Host, Numa, Slot, draw_host
from model.files.imports.node_scale_up import (
    MOST_LANES,
    draw_shown,
    draw_switched,
    draw_unsaid,
    scale_up_kind,
)
from model.files.imports.node_xml import bus_order
from model.files.imports.xml import Element, looks_like, read_xml
from model.text import name_list, plural
from model.topology.types import DeviceKind

_SELF = 1_000_000  # what the matrix has on its diagonal
_MOST_OBJECTS = 512  # in a matrix
_GPU_VENDORS = (0x10DE, 0x1002)
_PCI_TYPE = re.compile(r"([0-9a-fA-F]{4})(?:\s*\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\])?")


@dataclass(slots=True)
class _Pci:
    """A PCI device with what the operating system calls it."""

    element: Element
    bus: str
    kind: int  # class code, of 16 bits
    vendor: int | None
    device: int | None
    names: list[str] = field(default_factory=list)
    infos: dict[str, str] = field(default_factory=dict)
    slot: Slot | None = None

    @property
    def is_gpu(self) -> bool:
        """A GPU that computes, not the display chip of a management controller."""
        fast = any(re.match(r"cuda|nvml|rsmi|opencl", name) for name in self.names)
        return fast or (self.kind >> 8 in (0x03, 0x12) and self.vendor in _GPU_VENDORS)

    @property
    def is_nic(self) -> bool:
        """A card for the network of a cluster: InfiniBand, or one that has verbs."""
        return self.kind == 0x0207 or any(
            re.match(r"mlx|hfi|bnxt_re|irdma|efa|rdma|rocep|ibp", n) for n in self.names
        )


def _sniff(head: str, name: str) -> int:
    return 95 if looks_like(head, "topology") and "<object " in head else 0


def _read(reading: Reading) -> Drawing:
    root = read_xml(reading, "topology")
    found = _Tree(reading)
    found.read(root)
    gpus = [pci for pci in found.devices if pci.is_gpu]
    if not gpus:
        bridges = (
            "" if found.devices else "; it has no PCI device at all: run lstopo with --whole-io, as root"
        )
        raise InputError(
            f"{reading.source.name}: no GPUs found in {plural(found.packages, 'package')}{bridges}."
        )
    models = _gpu_models(reading, gpus)
    _nic_models(reading, found, models[0])
    host = found.host
    for index, pci in enumerate(sorted(gpus, key=lambda one: bus_order(one.bus.lower()))):
        if pci.slot is not None:
            pci.slot.index = index
    reading.found(
        f"{plural(len(gpus), 'GPU')}, {plural(len(host.slots(DeviceKind.NIC)), 'NIC')}, "
        f"{plural(len(host.slots(DeviceKind.PCIE_SWITCH)), 'PCIe switch', 'PCIe switches')}, "
        f"{plural(len(host.numas), 'package')}."
    )
    builder = DrawingBuilder(reading, drawing_name(reading))
    ids = draw_host(builder, host)
    _draw_nvlink(builder, root, found, models[0], ids)
    return builder.drawing(whole=False)


class _Tree:
    """Walks the objects: packages become CPUs, bridges with several devices below PCIe switches."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.host = Host("node00")
        self.devices: list[_Pci] = []
        self.by_index: dict[str, _Pci] = {}  # "OSDev:37" and "PCIDev:12" of objects of a device
        self.packages = 0
        self.left_out: Counter[str] = Counter()
        self._numas: dict[str, Numa] = {}

    def read(self, root: Element) -> None:
        """Everything below <topology>."""
        packages = [
            one for one in root.walk() if one.tag == "object" and one.get("type") in ("Package", "Socket")
        ]
        self.packages = len(packages)
        inside: set[int] = set()
        for number, package in enumerate(packages):
            numa = Numa(str(number))
            self.host.numas.append(numa)
            inside |= {id(element) for element in package.walk()}
            for bridge in _roots(package):
                numa.slots += self._slots(bridge)
        loose = [bridge for bridge in _roots(root) if id(bridge) not in inside]
        if loose and not self.host.numas:
            self.host.numas.append(Numa("0"))
        for bridge in loose:
            slots = self._slots(bridge)
            self.host.numas[0].slots += slots
            if slots and len(self.host.numas) > 1:
                self.reading.guessed(
                    "PCI devices outside of all packages are drawn at the first.", bridge.line
                )
        for what, count in self.left_out.items():
            self.reading.ignored(
                f"{plural(count, 'PCI device')} of class {what} {'is' if count == 1 else 'are'} not drawn."
            )

    def _slots(self, element: Element) -> list[Slot]:
        """The slots at or below a bridge or PCI device."""
        below = (
            [slot for child in element.children for slot in self._slots(child)]
            if element.tag == "object"
            else []
        )
        if element.get("type") == "PCIDev":
            return self._device(element) + below
        if element.get("type") == "Bridge" and element.get("bridge_type")[:1] == "1" and len(below) > 1:
            rate = _rate(element, max(slot.rate for slot in below))
            key = f"bridge {element.get('pci_busid') or element.line}"
            return [Slot(DeviceKind.PCIE_SWITCH, f"{key} (line {element.line})", rate, children=below)]
        return below

    def _device(self, element: Element) -> list[Slot]:
        kind = _PCI_TYPE.match(element.get("pci_type"))
        pci = _Pci(
            element,
            element.get("pci_busid") or f"line {element.line}",
            int(kind[1], 16) if kind else 0,
            int(kind[2], 16) if kind and kind[2] else None,
            int(kind[3], 16) if kind and kind[3] else None,
            infos=_infos(element),
        )
        self._note_index(element, pci)
        for child in element.all("object"):
            if child.get("type") == "OSDev":
                pci.names.append(child.get("name"))
                pci.infos.update(_infos(child))
                self._note_index(child, pci)
        self.devices.append(pci)
        if not pci.is_gpu and not pci.is_nic:
            if pci.kind >> 8 != 0x06:
                self.left_out[f"{pci.kind:04x}"] += 1
            return []
        what = DeviceKind.GPU if pci.is_gpu else DeviceKind.NIC
        names = [name for name in pci.names if re.match(r"mlx|hfi|bnxt_re|irdma|efa|rdma|rocep|ibp", name)]
        label = pci.bus if pci.is_gpu else ", ".join(names) or pci.bus
        pci.slot = Slot(what, f"{pci.bus} (line {element.line})", _rate(element, 0.0), label=label)
        return [pci.slot]

    def _note_index(self, element: Element, pci: _Pci) -> None:
        index = element.get("gp_index")
        if index:
            self.by_index[f"{element.get('type')}:{index}"] = pci
            self.by_index.setdefault(index, pci)


def _roots(top: Element) -> Iterator[Element]:
    """The first bridges and PCI devices below an element."""
    for child in top.all("object"):
        if child.get("type") in ("Bridge", "PCIDev"):
            yield child
        elif child.get("type") not in ("Package", "Socket"):
            yield from _roots(child)


def _infos(element: Element) -> dict[str, str]:
    return {info.get("name"): info.get("value") for info in element.all("info")}


def _rate(element: Element, default: float) -> float:
    """Bytes/s of the link above an object: pci_link_speed is in GB/s; 0 is not known."""
    text = element.get("pci_link_speed")
    if re.fullmatch(r"\d{1,6}(\.\d{1,9})?", text) and float(text) > 0:
        return float(text) * 1e9
    return default


def _gpu_models(reading: Reading, gpus: list[_Pci]) -> list[GpuSpec]:
    """The model of each GPU by its name or PCI ids, asking for the others; the commonest first."""
    for pci in gpus:
        if pci.slot is not None:
            called = pci.infos.get("GPUModel") or pci.infos.get("PCIDevice") or ""
            pci.slot.model = gpu_by_pci(pci.vendor, pci.device) or gpu_by_name(called) or ""
    rest = [pci.slot for pci in gpus if pci.slot is not None and not pci.slot.model]
    if rest:
        names = sorted({name for pci in gpus if (name := pci.infos.get("GPUModel"))})
        why = "The file does not name the GPUs."
        if names:
            why = f"The file calls the GPUs {name_list(names)}, which the catalogue does not have."
        amd = all(pci.vendor == 0x1002 for pci in gpus)
        spec = ask_gpu(reading, "mi300x" if amd else "a100-sxm-40", why)
        if "gpu_model" not in reading.answers:
            reading.guessed(f"{why} Drawn as {spec.name}.", *(pci.element.line for pci in gpus))
        for slot in rest:
            slot.model = spec.id
    counts = Counter(pci.slot.model for pci in gpus if pci.slot is not None)
    for pci in gpus:
        if pci.slot is not None and not pci.slot.rate:
            pci.slot.rate = catalog().gpus[pci.slot.model].pcie_bytes_per_s
            reading.guessed(
                "PCIe speeds that are not in the file are those of the catalogue.", pci.element.line
            )
    return [catalog().gpus[model] for model, _ in counts.most_common()]


def _nic_models(reading: Reading, found: _Tree, gpu: GpuSpec) -> None:
    nics = [pci for pci in found.devices if pci.slot is not None and pci.slot.kind is DeviceKind.NIC]
    unknown = [pci for pci in nics if nic_by_pci(pci.vendor, pci.device) is None]
    spec = None
    if unknown:
        platform = next((each for each in catalog().platforms.values() if each.gpu == gpu.id), None)
        why = f"The catalogue does not have the PCI ids of {plural(len(unknown), 'network card')}."
        spec = ask_nic(reading, (platform.backend_nic if platform else None) or "cx7-ndr", why)
        if "nic_model" not in reading.answers:
            reading.guessed(f"{why} Drawn as {spec.name}.", *(pci.element.line for pci in unknown))
    for pci in nics:
        model = nic_by_pci(pci.vendor, pci.device) or (spec.id if spec else "")
        if pci.slot is not None:
            pci.slot.model = model
            pci.slot.rate = pci.slot.rate or catalog().nics[model].pcie_bytes_per_s
    for switch in reversed(found.host.slots(DeviceKind.PCIE_SWITCH)):
        switch.rate = switch.rate or max(child.rate for child in switch.children)


# NVLink


def _draw_nvlink(
    builder: DrawingBuilder, root: Element, found: _Tree, gpu: GpuSpec, ids: Mapping[str, str]
) -> None:
    """Direct links and switches by the matrix of bandwidths; asks where there is none."""
    reading = builder.reading
    gpus = [pci for pci in found.devices if pci.is_gpu and pci.slot is not None]
    named = {id(pci): ids[pci.slot.key] for pci in gpus if pci.slot is not None}
    order = sorted(named.values(), key=lambda ident: builder.of(ident).rail or 0)
    matrix = next(
        (
            one
            for one in root.walk()
            if one.tag.startswith("distances2") and "LinkBandwidth" in one.get("name")
        ),
        None,
    )
    if matrix is None:
        why = "The file has no matrix of NVLink bandwidths (lstopo without NVML shows none)."
        draw_unsaid(builder, order, gpu, builder.of(order[0]).parent or "", why)
        return
    lane = gpu.scale_up_lane_bytes_per_s
    pairs, shown = _lanes(reading, found, matrix, named, lane)
    switched: Counter[str] = Counter()
    for each in shown.values():
        switched.update(each)
    of_gpu: Counter[str] = Counter()
    for (first, second), lanes in pairs.items():
        of_gpu[first] += lanes
        of_gpu[second] += lanes
    if any(count > gpu.scale_up_links for count in of_gpu.values()) and gpu.nvlink_generation is not None:
        reading.inferred("GPUs have more links in the matrix than they own: they share those to a switch.")
        switched = Counter({ident: max(n for pair, n in pairs.items() if ident in pair) for ident in of_gpu})
        shown = {}
        pairs = {}
    for (first, second), lanes in pairs.items():
        builder.link(first, second, scale_up_kind(gpu), lane, lanes)
    tray = builder.of(order[0]).parent or ""
    total = sum(pairs.values()) + sum(switched.values())
    if switched:
        for number, each in enumerate(shown.values()):
            if draw_shown(builder, each, gpu, f"{tray}.nvs{number}"):
                switched -= Counter(each)
        lanes_of = {ident: min(switched[ident], MOST_LANES) for ident in order if switched[ident] > 0}
        if lanes_of:
            draw_switched(builder, lanes_of, gpu, tray)
    reading.found(
        f"{plural(total, 'NVLink or xGMI link')} by their bandwidth, at {lane / 1e9:g} GB/s each.",
        matrix.line,
    )


def _lanes(
    reading: Reading, found: _Tree, matrix: Element, named: Mapping[int, str], lane_bytes_per_s: float
) -> tuple[dict[tuple[str, str], int], dict[str, dict[str, int]]]:
    """Lanes of a matrix, at least one where it has a bandwidth: of pairs of GPUs, each pair once, and of
    GPUs by the bus id of the switch that they go to. `named`: the drawn GPUs by the id of what was read.
    """
    objects, values = _matrix(reading, found, matrix)
    shown: dict[str, dict[str, int]] = {}
    pairs: dict[tuple[str, str], int] = {}
    for row, a in enumerate(objects):
        for column, b in enumerate(objects):
            value = values[row * len(objects) + column]
            if a is None or b is None or a is b or not 0 < value < _SELF or id(a) not in named:
                continue
            lanes = max(1, min(MOST_LANES, round(value * 1e6 / lane_bytes_per_s)))
            if id(b) not in named:
                shown.setdefault(b.bus, {})[named[id(a)]] = lanes
            elif (named[id(b)], named[id(a)]) in pairs:
                if pairs[named[id(b)], named[id(a)]] != lanes:
                    reading.contradictory("The matrix of bandwidths is not symmetric.", matrix.line)
            else:
                pairs[named[id(a)], named[id(b)]] = lanes
    return pairs, shown


def _matrix(reading: Reading, found: _Tree, matrix: Element) -> tuple[list[_Pci | None], list[int]]:
    """The objects of a matrix, None where one is no device that was read, and its values row by row."""
    words = " ".join(one.text for one in matrix.all("indexes")).split()
    texts = " ".join(one.text for one in matrix.all("u64values")).split()
    values = [int(text) if re.fullmatch(r"\d{1,18}", text) else 0 for text in texts[: _MOST_OBJECTS**2]]
    if len(words) > _MOST_OBJECTS or len(values) != len(words) ** 2:
        reading.broken(
            f"the matrix of bandwidths has {plural(len(values), 'value')} for {plural(len(words), 'object')}",
            matrix.line,
        )
        return [], []
    kind = matrix.get("type")
    objects = [found.by_index.get(word) or found.by_index.get(f"{kind}:{word}") for word in words]
    unknown = sum(1 for one in objects if one is None)
    if unknown:
        reading.ignored(
            f"{plural(unknown, 'object')} of the matrix of bandwidths is no device in the file.", matrix.line
        )
    return objects, values


FORMATS = (
    ImportFormat(
        id="lstopo-xml",
        name="lstopo XML",
        suffixes=(".xml",),
        sniff=_sniff,
        read=_read,
        how="lstopo --whole-io topology.xml (as root, so that PCI link speeds are known)",
        carries="Packages, PCIe tree with speeds, GPUs, network cards, NVLink bandwidths (hwloc with NVML).",
        lacks="NIC speeds, whether NVLinks go through a switch when it is hidden, how packages are joined.",
    ),
)
