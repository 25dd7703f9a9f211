"""`nvidia-smi topo -m` (also -mp and -p2p): the PCIe relations and NVLinks inside one host, as a matrix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from model.catalog import GpuSpec, catalog
from model.files.importing import Drawing, ImportFormat, Question, Reading
from model.files.imports.building import DrawingBuilder, ask_gpu, ask_nic, ask_number, drawing_name
from model.files.imports.known_parts import gpu_by_name
from model.files.imports.node_host import PCIE_SLOT, Host, Numa, Slot, draw_host
from model.files.imports.node_matrix import Matrix, legend_names, looks_like_matrix, read_matrix
from model.files.imports.node_scale_up import ask_switch, draw_switched, draw_unsaid
from model.text import name_list, plural
from model.topology.types import DeviceKind, LinkKind

GRACE_CORES = 72
_MOST_DIRECT = 6  # equal links to every peer, and more than this: they go through a switch
_GPU_LINE = re.compile(r"^\W*GPU (\d+):\s*([^(\n]{3,80})", re.MULTILINE)  # nvidia-smi -L, collect_env
_PRODUCT = re.compile(r"Product Name\s*:\s*(\S[^\n]{2,80})")  # nvidia-smi -q
_TABLE = re.compile(
    r"^\|\s+(\d+)\s+((?:NVIDIA|Tesla|Quadro)\s[^|\n]{2,60}?)\s{2,}", re.MULTILINE
)  # nvidia-smi
_LINK_SPEED = re.compile(r"Link \d+:\s*([\d.]{1,9})\s*GB/s")  # nvidia-smi nvlink -s


def _sniff(head: str, name: str) -> int:
    return 90 if looks_like_matrix(head) else 0


def _read(reading: Reading) -> Drawing:
    matrix = read_matrix(reading)
    if "MIG " in reading.source.text:
        reading.ignored("MIG devices are not in the table; GPUs are drawn whole.")
    nics = plural(len(matrix.nics), "NIC") if matrix.nics else "no NIC"
    reading.found(f"{plural(len(matrix.gpus), 'GPU')}, {nics}.", matrix.line)
    named = _named(reading.source.text)
    gpu = _ask_gpu(reading, matrix, named)
    host = _host(reading, matrix, gpu)
    builder = DrawingBuilder(reading, drawing_name(reading))
    ids = draw_host(builder, host)
    tray = builder.of(ids[matrix.gpus[0]]).parent or ""
    _draw_nvlink(builder, matrix, gpu, ids, tray)
    if builder.of(ids[matrix.gpus[0]]).model in ("gb200", "gb300"):
        reading.inferred(
            "Only the GPUs of this tray are listed: the NVLink domain of the rack, usually of 72 GPUs, "
            "cannot be seen from inside it."
        )
    return builder.drawing(whole=False)


def _named(text: str) -> Mapping[int | None, str]:
    """GPU names by index (None: of all) that stand around the table."""
    found: dict[int | None, str] = {}
    for pattern in (_GPU_LINE, _TABLE):
        for match in pattern.finditer(text):
            found.setdefault(int(match[1][:6]), match[2].strip())
    product = _PRODUCT.search(text)
    if not found and product:
        found[None] = product[1].strip()
    return found


def _ask_gpu(reading: Reading, matrix: Matrix, named: Mapping[int | None, str]) -> GpuSpec:
    """The model of the GPUs, from names around the table where there are some."""
    names = Counter(named.values())
    known = [model for name, _ in names.most_common() if (model := gpu_by_name(name))]
    if known:
        name = next(name for name, _ in names.most_common() if gpu_by_name(name) == known[0])
        spec = ask_gpu(reading, known[0], f"The text calls it {name}.")
        reading.found(f"The text calls the GPUs {name}.")
        if len(set(known)) > 1:
            reading.contradictory(f"The text names several models of GPU: {name_list(tuple(names), 6)}.")
        return spec
    default = _likely_gpu(matrix)
    why = "The table does not name the GPUs"
    if names:
        why = f"The text calls it {next(iter(names))}, which the catalogue does not have"
    spec = ask_gpu(reading, default, f"{why}.")
    if "gpu_model" not in reading.answers:
        reading.guessed(f"{why}; drawn as {spec.name}, the likeliest.")
    return spec


def _likely_gpu(matrix: Matrix) -> str:
    """A model with so many NVLinks; where none are listed, by the number of GPUs."""
    lanes = max((_lanes(cell) for cell, _ in matrix.cells.values()), default=0)
    cores = {_cores(text) for text in matrix.affinity.values()}
    if lanes == 18 and len(matrix.gpus) <= 4 and cores == {GRACE_CORES}:
        return "gb200"
    if lanes == 0:
        return "h100-pcie" if 1 < len(matrix.gpus) < 8 else "h100-sxm"
    return {18: "h100-sxm", 12: "a100-sxm-80", 8: "h800-sxm", 36: "rubin"}.get(lanes, "a100-sxm-40")


def _cores(affinity: str) -> int:
    count = 0
    for part in affinity.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and len(first) < 7 and (not last or (last.isdecimal() and len(last) < 7)):
            count += int(last or first) - int(first) + 1
    return count


def _lanes(cell: str | None) -> int:
    return int(cell[2:]) if cell is not None and cell.startswith("NV") else 0


# PCIe


def _host(reading: Reading, matrix: Matrix, gpu: GpuSpec) -> Host:
    """The host as a tree: CPUs by NUMA node, switches for what is PIX or PXB to each other."""
    grace = gpu.c2c_bytes_per_s > 0
    slot = PCIE_SLOT[gpu.pcie_generation or 5] if grace and not matrix.nics else _ask_slot(reading, gpu)
    platform = next((each for each in catalog().platforms.values() if each.gpu == gpu.id), None)
    called = legend_names(matrix)
    slots = {
        name: Slot(DeviceKind.GPU, name, min(slot, gpu.pcie_bytes_per_s or slot), gpu.id, index=int(name[3:]))
        for name in matrix.gpus
    }
    if matrix.nics:
        default = (platform.backend_nic if platform else None) or next(iter(catalog().nics))
        nic = ask_nic(reading, default, "The table gives neither models nor speeds of the NICs.")
        for number, name in enumerate(matrix.nics):
            rate = min(slot, nic.pcie_bytes_per_s)
            index = int(name[3:]) if re.fullmatch(r"NIC[0-9]{1,4}", name) else number
            slots[name] = Slot(DeviceKind.NIC, name, rate, nic.id, called[name], index)
        if "nic_model" not in reading.answers:
            reading.guessed(f"The NICs are drawn as {nic.name}; the table does not say what they are.")
    nodes = _numa_nodes(reading, matrix)
    host = Host("node00")
    for node in sorted({node for node in nodes.values() if node is not None}, key=_by_number):
        inside = [name for name in matrix.names if nodes.get(name) == node]
        roots = _grouped(reading, matrix, slots, inside, min(slot, catalog().hosts["cpu"].pcie_bytes_per_s))
        host.numas.append(Numa(node, roots, _cpu_model(gpu) if grace else "cpu"))
    if grace:
        for each in host.slots(DeviceKind.GPU):
            each.c2c = gpu.c2c_bytes_per_s
    host.loose = _grouped(
        reading, matrix, slots, [name for name in matrix.names if nodes.get(name) is None], slot
    )
    switches = len(host.slots(DeviceKind.PCIE_SWITCH))
    reading.found(f"{plural(len(host.numas), 'NUMA node')}.")
    if switches:
        reading.inferred(
            f"{plural(switches, 'PCIe switch', 'PCIe switches')} for what is PIX or PXB to each other."
        )
    return host


def _cpu_model(gpu: GpuSpec) -> str:
    return "vera" if gpu.arch == "Rubin" else "grace"


def _by_number(node: str) -> tuple[int, str]:
    digits = re.match(r"\d{1,9}", node)
    return (int(digits[0]) if digits else 0), node


def _ask_slot(reading: Reading, gpu: GpuSpec) -> float:
    """Bytes/s of a slot of 16 lanes."""
    choices = tuple((str(generation), f"PCIe {generation}.0 x16") for generation in (3, 4, 5, 6))
    default = str(gpu.pcie_generation or 5)
    question = Question(
        "pcie_generation",
        "Which PCIe generation are the slots?",
        default,
        choices,
        why=f"The table does not say; {gpu.name} has PCIe {default}.0.",
    )
    return PCIE_SLOT[int(reading.ask(question))]


def _numa_nodes(reading: Reading, matrix: Matrix) -> dict[str, str | None]:
    """The NUMA node of each device: as listed, else that of what is near to it."""
    nodes: dict[str, str | None] = {}
    numbered = {text for text in matrix.numa.values() if text[:1].isdigit()}
    for name in matrix.gpus:
        text = matrix.numa.get(name, "") if numbered else matrix.affinity.get(name, "")
        nodes[name] = text if text[:1].isdigit() else None
    if not numbered and any(nodes.values()):
        reading.inferred("There is no column of NUMA nodes: GPUs with one CPU affinity share a node.")
        order = {text: str(place) for place, text in enumerate(dict.fromkeys(filter(None, nodes.values())))}
        nodes = {name: order[text] if text else None for name, text in nodes.items()}
    if not any(nodes.values()):
        nodes[matrix.gpus[0]] = "0"
        reading.guessed("No NUMA node is listed; what is not SYS to the first GPU is drawn at its CPU.")
    _spread(matrix, nodes)
    lost = [name for name in matrix.gpus if nodes[name] is None]
    for name in lost:
        nodes[name] = _guessed_node(matrix, nodes, name)
    if lost:
        places = ", ".join(f"{name} at {nodes[name]}" for name in lost[:8])
        reading.guessed(f"The NUMA nodes of {plural(len(lost), 'GPU')} are not listed; drawn {places}.")
        _spread(matrix, nodes)
        for name in matrix.nics:
            unsaid = [gpu for gpu in lost if matrix.between(gpu, name) is None]
            if nodes.get(name) is None and unsaid:
                nodes[name] = nodes[unsaid[0]]
    far = [name for name in matrix.nics if nodes.get(name) is None]
    if far:
        reading.inferred(
            f"{name_list(far, 8)} {'is' if len(far) == 1 else 'are'} at no NUMA node of a GPU (SYS to all, "
            "or not said): drawn without a link to a CPU.",
            *(matrix.lines[name] for name in far if name in matrix.lines),
        )
    return nodes


def _guessed_node(matrix: Matrix, nodes: Mapping[str, str | None], name: str) -> str:
    """That of the GPU before it, where it is not SYS to one there; else a node of its own."""
    order = matrix.gpus.index(name)
    for other in (*reversed(matrix.gpus[:order]), *matrix.gpus[order:]):
        node = nodes[other]
        if node is not None and all(
            matrix.between(name, gpu) != "SYS" for gpu in matrix.gpus if nodes[gpu] == node
        ):
            return node
    return str(1 + max(_by_number(node)[0] for node in nodes.values() if node is not None))


def _spread(matrix: Matrix, nodes: dict[str, str | None]) -> None:
    """Give devices without a NUMA node that of the closest one that shares it."""
    changed = True
    while changed:
        changed = False
        for relation in ("PIX", "PXB", "PHB", "NODE"):
            for name in matrix.names:
                if nodes.get(name) is not None:
                    continue
                near = next(
                    (
                        other
                        for other in matrix.names
                        if nodes.get(other) and matrix.between(name, other) == relation
                    ),
                    None,
                )
                if near is not None:
                    nodes[name] = nodes[near]
                    changed = True


def _grouped(
    reading: Reading, matrix: Matrix, slots: Mapping[str, Slot], names: Sequence[str], up: float
) -> list[Slot]:
    """Slots below one CPU: a switch for each set that is joined by PIX, one above for sets joined by PXB."""
    roots: list[Slot] = []
    for wide in _joined(matrix, names, ("PIX", "PXB")):
        inner = _joined(matrix, wide, ("PIX",))
        if len(wide) == 1:
            roots.append(slots[wide[0]])
            continue
        if all(name in matrix.nics for name in wide):
            reading.inferred(f"{name_list(wide, 8)} share one slot: a card with several ports.")
        if len(inner) == 1 or len(inner) == len(wide):
            roots.append(_switch([slots[name] for name in wide], up))
        else:
            roots.append(_switch([_switch([slots[name] for name in each], up) for each in inner], up))
        _say_intransitive(reading, matrix, wide)
    return roots


def _switch(children: list[Slot], up: float) -> Slot:
    return Slot(DeviceKind.PCIE_SWITCH, f"switch of {children[0].key}", up, children=children)


def _joined(matrix: Matrix, names: Sequence[str], relations: Sequence[str]) -> list[list[str]]:
    """Sets of names that are joined by these relations, in order."""
    waiting = list(names)
    found: list[list[str]] = []
    while waiting:
        group, front = [waiting.pop(0)], 0
        while front < len(group):
            near = [name for name in waiting if matrix.between(group[front], name) in relations]
            group += near
            waiting = [name for name in waiting if name not in near]
            front += 1
        found.append(sorted(group, key=names.index))
    return found


def _say_intransitive(reading: Reading, matrix: Matrix, names: Sequence[str]) -> None:
    for a, b in combinations(names, 2):
        if matrix.between(a, b) in ("PHB", "NODE", "SYS"):
            reading.contradictory(
                "Two devices are farther from each other than from a third at their PCIe switch; "
                "they are drawn below one.",
                matrix.lines.get(a, matrix.line),
            )


# NVLink


def _draw_nvlink(
    builder: DrawingBuilder, matrix: Matrix, gpu: GpuSpec, ids: Mapping[str, str], tray: str
) -> None:
    """NVLinks as a switch or as direct links, by the rule that the format needs."""
    reading = builder.reading
    gpus = matrix.gpus
    if len(gpus) < 2:
        return
    pairs = {pair: lanes for pair in combinations(gpus, 2) if (lanes := _lanes(matrix.between(*pair))) > 0}
    _complete(reading, matrix, pairs)
    if not pairs:
        why = "The table shows no NVLink, but topo -mp hides them."
        if matrix.p2p:
            why = "The table is that of topo -p2p, which shows who may talk to whom, not the links."
        draw_unsaid(builder, [ids[name] for name in gpus], gpu, tray, why)
        return
    reading.found(
        f"{plural(len(pairs), 'pair')} of GPUs with NVLink: "
        + ", ".join(f"{count} with NV{lanes}" for lanes, count in sorted(Counter(pairs.values()).items()))
        + "."
    )
    rate = _link_rate(reading, gpu)
    for group in _islands(gpus, pairs):
        inside = {pair: lanes for pair, lanes in pairs.items() if pair[0] in group}
        if _through_switch(reading, group, inside, gpu):
            each = {ids[name]: max(n for pair, n in inside.items() if name in pair) for name in group}
            if len(set(inside.values())) > 1:
                reading.contradictory("GPUs at one NVLink switch show different numbers of links.")
            draw_switched(builder, each, gpu, tray, lane_bytes_per_s=rate)
        else:
            for (a, b), count in inside.items():
                builder.link(ids[a], ids[b], LinkKind.NVLINK, rate, count)
            reading.inferred("NVLinks join pairs of GPUs directly; SYS or NODE between GPUs means no NVLink.")
    alone = [name for name in gpus if not any(name in pair for pair in pairs)]
    if alone:
        reading.contradictory(
            f"{name_list(alone)} {'has' if len(alone) == 1 else 'have'} no NVLink, though others have.",
            *(matrix.lines[name] for name in alone if name in matrix.lines),
        )


def _complete(reading: Reading, matrix: Matrix, pairs: dict[tuple[str, str], int]) -> None:
    """Pairs that no row or column tells of: as all others, where these are equal."""
    lost = [pair for pair in combinations(matrix.gpus, 2) if matrix.between(*pair) is None]
    if not lost or not pairs:
        return
    told = Counter(matrix.between(*pair) for pair in combinations(matrix.gpus, 2))
    told.pop(None, None)
    if len(told) == 1:
        pairs.update(dict.fromkeys(lost, next(iter(pairs.values()))))
        reading.guessed(
            f"{plural(len(lost), 'pair')} of GPUs in no row: taken to be {next(iter(told))} as all others."
        )
    else:
        reading.guessed(f"{plural(len(lost), 'pair')} of GPUs in no row: taken to have no NVLink.")


def _islands(gpus: Sequence[str], pairs: Mapping[tuple[str, str], int]) -> list[list[str]]:
    """Sets of GPUs that NVLinks join, in order."""
    near: dict[str, list[str]] = {name: [] for name in gpus}
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    seen: set[str] = set()
    found = []
    for name in gpus:
        if name in seen or not near[name]:
            continue
        group = [name]
        seen.add(name)
        for each in group:
            fresh = [other for other in near[each] if other not in seen]
            seen.update(fresh)
            group += fresh
        found.append(sorted(group, key=gpus.index))
    return found


def _through_switch(
    reading: Reading, group: Sequence[str], pairs: Mapping[tuple[str, str], int], gpu: GpuSpec
) -> bool:
    """Whether all pairs show one shared set of links, so that a switch joins them."""
    lanes = max(pairs.values())
    every = len(pairs) == len(group) * (len(group) - 1) // 2
    if not every:
        return False
    if (len(group) - 1) * lanes > max(gpu.scale_up_links, _MOST_DIRECT) and len(group) > 2:
        reading.inferred(
            f"Every pair of {len(group)} GPUs shows NV{lanes}: "
            f"one set of {lanes} links of each GPU to a switch."
        )
        return True
    if len(set(pairs.values())) > 1 or lanes == 1:
        return False
    return ask_switch(
        reading,
        f"Every pair shows NV{lanes}, as a switch or {plural(lanes, 'direct link')} of each pair would.",
        default=lanes > _MOST_DIRECT and gpu.form_factor != "PCIe",
    )


def _link_rate(reading: Reading, gpu: GpuSpec) -> float:
    """Bytes/s of one NVLink: as the catalogue says, or as the text does where that is quite another."""
    catalogue = gpu.scale_up_lane_bytes_per_s
    said = [
        float(match[1]) * 1e9 for match in _LINK_SPEED.finditer(reading.source.text) if _is_number(match[1])
    ]
    default = catalogue
    if said and said[0] > 0 and abs(said[0] / catalogue - 1) > 0.1:
        default = said[0]
        reading.found(f"The text gives {said[0] / 1e9:g} GB/s for an NVLink.")
    value = ask_number(
        reading,
        "nvlink_gbytes_per_s",
        "How fast is one NVLink, in one direction?",
        default / 1e9,
        "GB/s",
        f"The table counts links and gives no speed; those of {gpu.name} have {catalogue / 1e9:g} GB/s.",
    )
    return value * 1e9


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)?", text))


FORMATS = (
    ImportFormat(
        id="nvidia-smi-topo",
        name="nvidia-smi topo -m",
        suffixes=(".txt", ".log"),
        sniff=_sniff,
        read=_read,
        how="nvidia-smi topo -m, from a file or pasted from a terminal",
        carries="GPUs, NICs, NUMA nodes, PCIe relations and the number of NVLinks of each pair.",
        lacks="Models and speeds of GPUs and NICs, the PCIe generation, whether NVLinks go through a switch.",
    ),
)
