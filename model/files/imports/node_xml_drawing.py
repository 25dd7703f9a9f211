"""Draws what was read from the topology XML of NCCL or RCCL: models, PCIe trees, NVLink or xGMI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from model.catalog import GpuSpec, catalog
from model.files.importing import Drawing, Question, Reading
from model.files.imports.building import DrawingBuilder, ask_gpu, ask_nic
from model.files.imports.known_parts import gpu_by_pci, gpus_by_gcn, gpus_by_sm, nic_by_pci, nic_by_speed
from model.files.imports.node_host import Slot, draw_host
from model.files.imports.node_scale_up import draw_shown, draw_switched, draw_unsaid, scale_up_kind
from model.files.imports.node_xml import (
    HIDDEN_SWITCH,
    XmlGpu,
    XmlNic,
    XmlNode,
    bus_order,
    number_gpus,
    order_hosts,
    settle_unknown,
)
from model.text import plural
from model.topology.types import DeviceKind, LinkKind

_IDLE_SHARE = 0.4  # of the devices below; slower than one generation less
_GPU_BY_GENERATION = {4: "a100-sxm-80", 5: "h100-sxm", 6: "b300-sxm"}


def draw_nodes(reading: Reading, found: XmlNode, name: str, *, amd: bool) -> Drawing:
    """The drawing of all hosts; a part when there is only one."""
    settle_unknown(reading, found)
    number_gpus(reading, found)
    order_hosts(found)
    _prune(reading, found)
    _say_found(reading, found)
    gpu = _set_gpu_models(reading, found, amd)
    _set_nic_models(reading, found, gpu)
    _settle_speeds(reading, found)
    builder = DrawingBuilder(reading, name)
    ids: dict[int, str] = {}
    for host in found.hosts:
        for numa in host.numas:
            roots = [slot for root in numa.slots for slot in root.walk()]
            if any(slot.c2c for slot in roots):
                numa.model = "grace"
        keys = draw_host(builder, host)
        ids.update({id(slot): keys[slot.key] for root in host.roots() for slot in root.walk()})
    at_cpu = (slot for host in found.hosts for numa in host.numas for slot in numa.slots)
    if any(slot.c2c for slot in at_cpu):
        reading.ignored("The PCIe link of a GPU that has C2C to its CPU is not drawn.")
    _draw_links(builder, found, {id(one): ids[id(one.slot)] for one in found.gpus}, gpu)
    return builder.drawing(whole=len(found.hosts) > 1)


def _prune(reading: Reading, found: XmlNode) -> None:
    """Take out bridges with neither GPU nor NIC behind them."""

    def kept(slots: list[Slot]) -> list[Slot]:
        for slot in slots:
            slot.children = kept(slot.children)
        return [slot for slot in slots if slot.kind is not DeviceKind.PCIE_SWITCH or slot.children]

    before = sum(len(host.slots(DeviceKind.PCIE_SWITCH)) for host in found.hosts)
    for host in found.hosts:
        for numa in host.numas:
            numa.slots = kept(numa.slots)
    gone = before - sum(len(host.slots(DeviceKind.PCIE_SWITCH)) for host in found.hosts)
    if gone:
        reading.ignored(f"{plural(gone, 'PCIe bridge')} with no GPU or NIC behind.")


def _say_found(reading: Reading, found: XmlNode) -> None:
    bridges = sum(len(host.slots(DeviceKind.PCIE_SWITCH)) for host in found.hosts)
    numas = sum(len(host.numas) for host in found.hosts)
    ports = sum(len(nic.speeds) for nic in found.nics)
    reading.found(
        f"{plural(len(found.hosts), 'host')}, {plural(numas, 'NUMA node')}, "
        f"{plural(len(found.gpus), 'GPU')}, "
        f"{plural(len(found.nics), 'NIC')} with {plural(ports, 'named port')}, "
        f"{plural(bridges, 'PCIe bridge')}."
    )
    if not found.gpus:
        reading.contradictory("There is no GPU in the file.")


# Models


def _set_gpu_models(reading: Reading, found: XmlNode, amd: bool) -> GpuSpec:
    """The model of each GPU by its PCI ids, else by architecture, asking; gives the commonest."""
    certain = {id(gpu): model for gpu in found.gpus if (model := gpu_by_pci(gpu.vendor, gpu.device))}
    for gpu in found.gpus:
        gpu.slot.model = certain.get(id(gpu), "")
    rest = [gpu for gpu in found.gpus if id(gpu) not in certain]
    if certain:
        for model, count in Counter(certain.values()).items():
            reading.found(f"{plural(count, 'GPU')} of the model {catalog().gpus[model].name}, by the PCI id.")
    if rest:
        default, why = _likely_gpu(rest, amd)
        spec = ask_gpu(reading, default, why)
        if "gpu_model" not in reading.answers:
            lines = [gpu.line for gpu in rest if gpu.line]
            reading.guessed(f"{why} Drawn as {spec.name}.", *lines)
        for gpu in rest:
            gpu.slot.model = spec.id
    models = Counter(gpu.slot.model for gpu in found.gpus)
    return catalog().gpus[models.most_common(1)[0][0] if models else "h100-sxm"]


def _likely_gpu(gpus: Sequence[XmlGpu], amd: bool) -> tuple[str, str]:
    """The likeliest model, and what speaks for it."""
    first = gpus[0]
    if first.gcn:
        fitting = gpus_by_gcn(first.gcn)
        what = first.gcn
    elif first.sm and not amd:
        fitting = gpus_by_sm(first.sm)
        what = f"sm {first.sm}"
        if first.arm:
            fitting = tuple(model for model in fitting if catalog().gpus[model].c2c_bytes_per_s) or fitting
        lanes = sum(count for _, _, count, _ in first.links)
        fitting = (
            tuple(model for model in fitting if catalog().gpus[model].scale_up_links == lanes) or fitting
        )
    elif amd:
        return "mi300x", "The file names neither architecture nor PCI id of the GPUs."
    else:
        default = _GPU_BY_GENERATION.get(first.generation, "h100-sxm")
        said = f", only PCIe Gen {first.generation}" if first.generation else ""
        return default, f"The file names neither sm nor PCI id of the GPUs{said}."
    if not fitting:
        near = "mi300x" if amd else "a100-sxm-40"
        return near, f"The catalogue has no GPU of {what}."
    names = " or ".join(catalog().gpus[model].name for model in fitting)
    return fitting[0], f"The file says {what}, which is {names}."


def _set_nic_models(reading: Reading, found: XmlNode, gpu: GpuSpec) -> None:
    """The model of each card by its PCI ids, else by speed, asking."""
    rest: list[XmlNic] = []
    for nic in found.nics:
        nic.slot.model = nic_by_pci(nic.vendor, nic.device) or ""
        if not nic.slot.model:
            rest.append(nic)
    if rest:
        speeds = Counter(max(nic.speeds) for nic in rest if nic.speeds)
        network = None if rest[0].infiniband is None else "infiniband" if rest[0].infiniband else "ethernet"
        by_speed = nic_by_speed(speeds.most_common(1)[0][0] * 1e6 / 8, network) if speeds else None
        platform = next((each for each in catalog().platforms.values() if each.gpu == gpu.id), None)
        default = by_speed or (platform.backend_nic if platform else None) or "cx7-ndr"
        are = "is" if len(rest) == 1 else "are"
        why = f"The file does not say which product {plural(len(rest), 'network card')} {are}."
        spec = ask_nic(reading, default, why)
        if "nic_model" not in reading.answers:
            reading.guessed(f"{why} Drawn as {spec.name}.", *(nic.line for nic in rest if nic.line))
        for nic in rest:
            nic.slot.model = spec.id
    for nic in found.nics:
        spec = catalog().nics[nic.slot.model]
        said = [speed * 1e6 / 8 for speed in nic.speeds]
        odd = len(said) > spec.ports or any(abs(rate / spec.port_bytes_per_s - 1) > 0.01 for rate in said)
        if said and odd:
            ports = " and ".join(f"{rate * 8e-9:g}G" for rate in said)
            reading.contradictory(
                f"A card with {plural(len(said), 'port')} of {ports} is drawn as {spec.name}, which the "
                f"catalogue has with {spec.ports} × {spec.port_gbit_per_s:g}G.",
                nic.line,
            )


def _settle_speeds(reading: Reading, found: XmlNode) -> None:
    """Ask which PCIe speeds count where the file's are slower than the devices are built for."""
    slow = [
        gpu
        for gpu in found.gpus
        if gpu.slot.rate < 0.99 * catalog().gpus[gpu.slot.model].pcie_bytes_per_s and gpu.line
    ]
    bridges = [
        slot
        for host in found.hosts
        for slot in host.slots(DeviceKind.PCIE_SWITCH)
        if slot.rate < _IDLE_SHARE * max(child.rate for child in slot.children)
    ]
    if not slow and not bridges:
        return
    parts = []
    if slow:
        parts.append(f"{plural(len(slow), 'GPU')} with a slower PCIe link than the model has")
    if bridges:
        parts.append(f"{plural(len(bridges), 'PCIe bridge')} much slower than the devices below")
    why = (
        f"The file has {' and '.join(parts)}; virtual machines and idle links often show less than there is."
    )
    choices = (("file", "Those of the file"), ("catalogue", "What the devices are built for"))
    answer = reading.ask(Question("pcie_speed", "Which PCIe speeds count?", "file", choices, why=why))
    reading.contradictory(
        f"{why} Drawn {'as the file says' if answer == 'file' else 'as the devices are built'}.",
        *(gpu.line for gpu in slow),
    )
    if answer == "file":
        return
    for gpu in found.gpus:
        gpu.slot.rate = max(gpu.slot.rate, catalog().gpus[gpu.slot.model].pcie_bytes_per_s)
    for nic in found.nics:
        nic.slot.rate = max(nic.slot.rate, catalog().nics[nic.slot.model].pcie_bytes_per_s)
    for host in found.hosts:
        for slot in reversed(host.slots(DeviceKind.PCIE_SWITCH)):
            slot.rate = max(slot.rate, max(child.rate for child in slot.children))


# NVLink and xGMI


def _draw_links(builder: DrawingBuilder, found: XmlNode, ids: Mapping[int, str], gpu: GpuSpec) -> None:
    """Direct links once for the two ends that list them, and switches for the rest."""
    reading = builder.reading
    if not found.says_links:
        for host in found.hosts:
            own = [ids[id(one)] for one in found.gpus if one.host == host.name]
            if own:
                tray = builder.of(own[0]).parent or ""
                why = "The file has no <nvlink> or <xgmi>; NCCL fills them in when it runs."
                draw_unsaid(builder, sorted(own, key=lambda one: builder.of(one).rail or 0), gpu, tray, why)
        return
    sorter = _Targets(builder, found, ids)
    sorter.sort()
    _draw_pairs(builder, sorter.pairs, scale_up_kind(gpu), gpu)
    _draw_switches(builder, sorter.switches, gpu)
    _say_uneven(reading, found, sorter, ids)


class _Targets:
    """Sorts the links of GPUs by where they go.

    `pairs`: the count that each end lists, by (from, to); `switches`: lanes by (host, target) and GPU.
    """

    def __init__(self, builder: DrawingBuilder, found: XmlNode, ids: Mapping[int, str]) -> None:
        self.builder = builder
        self.found = found
        self.ids = ids
        self.pairs: dict[tuple[str, str], tuple[int, int]] = {}
        self.switches: dict[tuple[str, str], dict[str, int]] = {}
        self.lanes: Counter[str] = Counter()
        self.buses: dict[tuple[str, str], str] = {}
        for gpu in found.gpus:
            self.buses.setdefault((gpu.host, gpu.bus), ids[id(gpu)])

    def sort(self) -> None:
        """Go through all links of all GPUs."""
        reading = self.builder.reading
        for gpu in self.found.gpus:
            own = self.ids[id(gpu)]
            for target, kind, listed, line in gpu.links:
                count = listed
                if gpu.share > 1:
                    count = max(1, listed // gpu.share)
                    reading.contradictory(
                        f"{gpu.share} GPUs on one card each list all of its links; they share them.", line
                    )
                self._one(gpu, own, target, kind, count, line)

    def _one(self, gpu: XmlGpu, own: str, target: str, kind: str, count: int, line: int) -> None:
        reading = self.builder.reading
        peer = self.buses.get((gpu.host, target))
        hidden = target == HIDDEN_SWITCH
        if target == gpu.bus:
            reading.contradictory("A GPU lists links to itself; they are left out.", line)
        elif hidden or (gpu.host, target) in self.found.switches or kind.startswith("0x068000"):
            where = ("" if hidden else gpu.host, target)
            lanes = self.switches.setdefault(where, {})
            lanes[own] = lanes.get(own, 0) + count
            self.lanes[own] += count
        elif kind.startswith("0x068001"):
            reading.ignored("NVLinks to a CPU are not drawn.", line)
        elif peer is not None:
            before = self.pairs.get((own, peer), (0, line))
            self.pairs[own, peer] = (before[0] + count, before[1])
            self.lanes[own] += count
        else:
            reading.ignored(
                f"Links to {target[:40] or 'nowhere'}, which is not in the file, are left out.", line
            )


def _draw_pairs(
    builder: DrawingBuilder, pairs: Mapping[tuple[str, str], tuple[int, int]], kind: LinkKind, gpu: GpuSpec
) -> None:
    reading = builder.reading
    drawn = 0
    for (a, b), (count, line) in pairs.items():
        if builder.has(f"{b}--{a}"):
            continue
        back = pairs.get((b, a))
        if back is None:
            reading.contradictory("Links between two GPUs are listed at one end only; they are drawn.", line)
        elif back[0] != count:
            reading.contradictory(
                f"{a} lists {plural(count, 'link')} to {b}, which lists {back[0]}; the larger is drawn.",
                line,
                back[1],
            )
        builder.link(a, b, kind, gpu.scale_up_lane_bytes_per_s, max(count, back[0] if back else 0))
        drawn += 1
    if drawn:
        reading.found(f"{plural(drawn, 'pair')} of GPUs with direct links.")


def _draw_switches(
    builder: DrawingBuilder,
    switches: Mapping[tuple[str, str], Mapping[str, int]],
    gpu: GpuSpec,
) -> None:
    """A switch for each target that has a bus id; the hidden one as the catalogue wires the platform."""
    reading = builder.reading
    order = {device.id: place for place, device in enumerate(builder.devices())}
    shown: Counter[str] = Counter()
    by_bus = sorted(switches.items(), key=lambda item: (item[0][0], bus_order(item[0][1])))
    for (host, target), lanes in by_bus:
        gpus = sorted(lanes, key=order.__getitem__)
        ordered = {ident: lanes[ident] for ident in gpus}
        tray = builder.of(gpus[0]).parent
        if target != HIDDEN_SWITCH and draw_shown(builder, ordered, gpu, f"{tray}.nvs{shown[host]}"):
            shown[host] += 1
            continue
        trays = {builder.of(ident).parent for ident in gpus}
        reading.inferred("NVLinks go to a switch that the file does not show.")
        if len(trays) > 1:
            reading.inferred(f"{len(trays)} hosts share one NVLink domain.")
            draw_switched(builder, ordered, gpu, None)
        else:
            draw_switched(builder, ordered, gpu, tray)
    if shown:
        most = max(shown.values())
        reading.found(
            f"{plural(most, 'NVLink switch', 'NVLink switches')} in a host; NCCL counts them as one."
        )


def _say_uneven(reading: Reading, found: XmlNode, sorter: _Targets, ids: Mapping[int, str]) -> None:
    """Say how many links there are, and which GPUs have fewer than others."""
    switched = sum(sum(lanes.values()) for lanes in sorter.switches.values())
    total = switched + _once(sorter.pairs)
    reading.found(f"{plural(total, 'NVLink or xGMI link')} of GPUs.")
    at_switch = {ident for lanes in sorter.switches.values() for ident in lanes}
    most = max(sorter.lanes.values(), default=0)
    for gpu in found.gpus:
        own = ids[id(gpu)]
        uneven = own in at_switch and sorter.lanes[own] < most
        if not gpu.line or (sorter.lanes[own] and not uneven):
            continue
        rank = "" if gpu.rank is None else f" (rank {gpu.rank})"
        count = sorter.lanes[own]
        reading.contradictory(
            f"{own}{rank} has {plural(count, 'NVLink') if count else 'no NVLink'}, where others have {most}.",
            gpu.line,
        )


def _once(pairs: Mapping[tuple[str, str], tuple[int, int]]) -> int:
    """Direct links, each pair once."""
    return sum(
        max(count, pairs.get((b, a), (0, 0))[0])
        for (a, b), (count, _) in pairs.items()
        if a < b or (b, a) not in pairs
    )
