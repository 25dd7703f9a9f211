"""`amd-smi topology` and `rocm-smi --showtopo`: tables of weight, hops and kind of link between GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from model.catalog import GpuSpec, catalog
from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.building import DrawingBuilder, ask_gpu, drawing_name
from model.files.imports.known_parts import gpu_by_name
from model.files.imports.node_host import Host, Numa, Slot, draw_host
from model.text import name_list, plural
from model.topology.types import DeviceKind, LinkKind

DIRECT_WEIGHT = 15  # of one xGMI hop; "hops" says 1 for GPUs that are not neighbours, too
_SAME_CPU_WEIGHT = 40  # two PCIe hops over one CPU
_MOST_GPUS = 256
_NO_ACCESS = ("DISABLED", "FALSE")
_GPU = r"(?:GPU\d+|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])"
_HEADER = re.compile(rf"\s*{_GPU}(?:\s+{_GPU})*\s*\Z")
_ROW = re.compile(rf"\s*({_GPU})\s+(\S.*)\Z")
_TITLES = (
    (re.compile(r"weight between two gpus|^\s*weight table", re.I), "weight"),
    (re.compile(r"hops between two gpus|^\s*hops table", re.I), "hops"),
    (re.compile(r"link type between two gpus|^\s*link type table", re.I), "type"),
    (re.compile(r"access(?:ible)? between two gpus|^\s*access table|p2p access", re.I), "access"),
    (re.compile(r"between two gpus|^\s*[\w \-]+ table:|^=+\s*\w", re.I), "other"),
)
_NUMA = re.compile(r"GPU\[(\d{1,4})\]\s*:.*Numa Node:\s*(-?\d{1,4})", re.I)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NAME = re.compile(r"(?:Card Series|Card Model|MARKET_NAME|Product Name)\s*:\s*(\S.{2,80})", re.I)


@dataclass(slots=True)
class _Tables:
    """Cells by table and pair of GPU names, with their line; NUMA nodes by the index of the GPU."""

    gpus: list[str] = field(default_factory=list)
    cells: dict[str, dict[tuple[str, str], tuple[str, int]]] = field(default_factory=dict)
    numa: dict[int, str] = field(default_factory=dict)
    line: int = 1
    titles: int = 0

    def cell(self, table: str, a: str, b: str) -> str:
        """What a table says of a pair, in either direction; empty where it says nothing."""
        cells = self.cells.get(table, {})
        found = cells.get((a, b)) or cells.get((b, a))
        return found[0] if found else ""

    def line_of(self, table: str, a: str, b: str) -> tuple[int, ...]:
        cells = self.cells.get(table, {})
        found = cells.get((a, b)) or cells.get((b, a))
        return (found[1],) if found else ()


def _sniff(head: str, name: str) -> int:
    return 90 if re.search(r"LINK TYPE TABLE|(?:Weight|Link Type|Hops) between two GPUs", head, re.I) else 0


def _read(reading: Reading) -> Drawing:
    tables = _tables(reading)
    gpu = _model(reading)
    host = _host(reading, tables, gpu)
    builder = DrawingBuilder(reading, drawing_name(reading))
    ids = draw_host(builder, host)
    reading.found(f"{plural(len(tables.gpus), 'GPU')}, {plural(tables.titles, 'table')}.", tables.line)
    _draw_xgmi(builder, tables, gpu, ids)
    reading.inferred("NICs are not in these tables; the host is drawn without.")
    return builder.drawing(whole=False)


def _tables(reading: Reading) -> _Tables:
    """All tables of the text. Raises `InputError` where there is none with GPUs."""
    found = _Tables()
    title, columns = "", list[str]()
    for number, coloured in enumerate(reading.source.lines, 1):
        line = _COLOUR.sub("", coloured)
        if numa := _NUMA.search(line):
            found.numa[int(numa[1])] = numa[2]
            continue
        kind = next((kind for pattern, kind in _TITLES if pattern.search(line)), None)
        if kind is not None:
            title, columns = kind, []
            continue
        if not title:
            continue
        if _HEADER.match(line):
            columns = line.split()
            found.titles += 1
            if len(columns) > _MOST_GPUS:
                raise InputError(f"{reading.source.name}, line {number}: more than {_MOST_GPUS} GPUs.")
            if not found.gpus:
                found.gpus, found.line = list(dict.fromkeys(columns)), number
            continue
        row = _ROW.match(line)
        if row is not None and columns:
            _take_row(reading, found, title, columns, row[1], row[2].split(), number)
    if not found.gpus:
        raise InputError(
            f"{reading.source.name} has no table of GPUs; it should be the output of amd-smi topology or "
            "rocm-smi --showtopo."
        )
    if "type" not in found.cells:
        raise InputError(
            f"{reading.source.name} has no table of link types, so nothing says how the GPUs are joined."
        )
    rows = {row for row, _ in found.cells["type"]}
    missing = [gpu for gpu in found.gpus if gpu not in rows]
    if missing:
        reading.inferred(
            f"Rows of {name_list(missing, 8)} are missing; the columns were taken for them.", found.line
        )
    return found


def _take_row(
    reading: Reading,
    found: _Tables,
    title: str,
    columns: Sequence[str],
    name: str,
    cells: Sequence[str],
    line: int,
) -> None:
    if name not in found.gpus:
        reading.broken(f"row {name} is no column of the first table", line)
        return
    if title == "other":
        return
    if len(cells) > len(columns):
        reading.broken(f"{plural(len(cells), 'cell')} where {len(columns)} are expected", line)
        return
    if len(cells) < len(columns):
        reading.inferred(f"Row {name} is cut; the columns were taken for the rest.", line)
    table = found.cells.setdefault(title, {})
    for column, cell in zip(columns, cells, strict=False):
        other = table.get((column, name))
        if other is not None and other[0] != cell:
            reading.contradictory(
                f"{name} to {column} is {cell[:20]}, and {other[0][:20]} the other way; the first counts.",
                other[1],
                line,
            )
        table[name, column] = (cell, line)


def _model(reading: Reading) -> GpuSpec:
    named = _NAME.search(reading.source.text)
    model = gpu_by_name(named[1]) if named else None
    if named and model:
        reading.found(f"The text calls the GPUs {named[1].strip()}.")
        return ask_gpu(reading, model, f"The text calls it {named[1].strip()}.")
    why = "The tables do not name the GPUs."
    if named:
        why = f"The text calls it {named[1].strip()}, which the catalogue does not have."
    spec = ask_gpu(reading, "mi300x", why)
    if "gpu_model" not in reading.answers:
        reading.guessed(f"{why} Drawn as {spec.name}.")
    return spec


def _host(reading: Reading, tables: _Tables, gpu: GpuSpec) -> Host:
    """GPUs on the CPUs of their NUMA nodes; without these, by the weight of their PCIe paths."""
    nodes: dict[str, list[str]] = {}
    known = all(tables.numa.get(index, "-1") != "-1" for index in range(len(tables.gpus)))
    if known:
        for index, name in enumerate(tables.gpus):
            nodes.setdefault(tables.numa[index], []).append(name)
    else:
        for name in tables.gpus:
            own = next(
                (node for node, names in nodes.items() if _near(tables, name, names[0])), str(len(nodes))
            )
            nodes.setdefault(own, []).append(name)
        reading.guessed("NUMA nodes are not listed: GPUs with a PCIe path of weight 40 or less share a CPU.")
    rate = gpu.pcie_bytes_per_s or catalog().hosts["cpu"].pcie_bytes_per_s
    host = Host("node00")
    for node, names in sorted(nodes.items(), key=lambda item: int(item[0])):
        slots = [
            Slot(
                DeviceKind.GPU,
                name,
                rate,
                gpu.id,
                "" if name.startswith("GPU") else name,
                tables.gpus.index(name),
            )
            for name in names
        ]
        host.numas.append(Numa(node, slots))
    return host


def _near(tables: _Tables, a: str, b: str) -> bool:
    """Whether two GPUs seem to be at one CPU; xGMI says nothing about it."""
    weight = tables.cell("weight", a, b)
    if "XGMI" in tables.cell("type", a, b).upper() or not weight.isdecimal():
        return True
    return int(weight[:9]) <= _SAME_CPU_WEIGHT


def _draw_xgmi(builder: DrawingBuilder, tables: _Tables, gpu: GpuSpec, ids: Mapping[str, str]) -> None:
    """xGMI between neighbours: of weight 15, or of any weight where no weights are listed."""
    reading = builder.reading
    far: list[str] = []
    drawn = pcie = 0
    for a, b in combinations(tables.gpus, 2):
        kind = tables.cell("type", a, b).upper()
        weight = tables.cell("weight", a, b)
        if "XGMI" not in kind:
            pcie += kind.startswith("PCI")
            if tables.cell("access", a, b).upper() in _NO_ACCESS:
                reading.found(
                    "Some GPUs may not reach each other directly (access disabled).",
                    *tables.line_of("access", a, b),
                )
            if not kind:
                reading.guessed(f"{a} and {b}: the table does not say how they are joined.")
            continue
        if tables.cell("access", a, b).upper() in _NO_ACCESS:
            reading.contradictory(
                "GPUs are joined by xGMI, but may not reach each other.", *tables.line_of("type", a, b)
            )
        if weight.isdecimal() and int(weight[:9]) > DIRECT_WEIGHT:
            far.append(f"{a}–{b}")
            continue
        builder.link(ids[a], ids[b], LinkKind.XGMI, gpu.scale_up_lane_bytes_per_s, 1)
        drawn += 1
    if drawn:
        reading.found(f"{plural(drawn, 'pair')} of GPUs with xGMI.")
        reading.guessed(
            f"One xGMI link for each pair, at the speed of {gpu.name}; the tables do not count links."
        )
    if pcie:
        reading.found(f"{plural(pcie, 'pair')} of GPUs with PCIe only.")
    if far:
        reading.inferred(
            f"{plural(len(far), 'pair')} with xGMI of a weight above {DIRECT_WEIGHT} are no neighbours, "
            f"whatever the hops say: {name_list(far, 6)}."
        )
    if "weight" not in tables.cells and drawn:
        reading.guessed("No weights are listed: every pair with xGMI is drawn as neighbours.")


FORMATS = (
    ImportFormat(
        id="amd-smi-topo",
        name="amd-smi topology, rocm-smi --showtopo",
        suffixes=(".txt", ".log"),
        sniff=_sniff,
        read=_read,
        how="amd-smi topology or rocm-smi --showtopo, from a file or pasted from a terminal",
        carries="GPUs, how each pair is joined (xGMI or PCIe), NUMA nodes (rocm-smi).",
        lacks="NICs, models and speeds, the number of xGMI links of a pair.",
    ),
)
