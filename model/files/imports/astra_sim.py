"""ASTRA-sim: the network of its analytical backend (yml), and logical dimensions of its ns-3 backend (JSON).

    topology: [ Switch, Ring ]      one building block a dimension, the innermost first
    npus_count: [ 8, 4 ]            their product is the number of NPUs
    bandwidth: [ 400, 50 ]          GB/s of each link and direction, 1 GB = 10^9 bytes
    latency: [ 936.25, 1000 ]       ns of each link; a way over a switch has two links

The JSON is `{"logical-dims": ["8", "2"]}`: sizes alone, which other files give a topology.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from model.catalog import catalog
from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Question, Reading
from model.files.imports.building import ask_number
from model.files.imports.graph_drawing import MOST_EDGES, MOST_NODES, GraphDrawing
from model.files.imports.graph_models import BYTES_PER_GBIT, Models
from model.files.imports.graph_parts import Edge, Node, Role
from model.files.imports.json_text import parse_object, text_of
from model.files.imports.yaml_text import YamlList, YamlMap, parse_yaml
from model.files.reading import shown
from model.text import format_rate, plural
from model.topology.types import ContainerKind

_BLOCKS = {"ring": "Ring", "switch": "Switch", "fullyconnected": "FullyConnected"}
_FIELDS = ("topology", "npus_count", "bandwidth", "latency")
_MOST_DIMS = 16
_LARGEST_TRAY = 16  # NPUs of a scale-up dimension that still is one host
_GB = 1e9
_WHY = (
    "On scale-up links GPUs are joined directly or by NVLink switches; on a network each has a network card."
)


@dataclass(frozen=True, slots=True)
class _Dim:
    """One dimension. `stride` is the distance between the numbers of neighbours in it."""

    number: int
    block: str
    size: int
    stride: int
    bytes_per_s: float
    latency_s: float
    line: int

    def links(self, npus: int) -> int:
        """How many links all groups have together."""
        groups = npus // self.size
        if self.size == 1:
            return 0
        if self.block == "Switch":
            return npus
        if self.block == "FullyConnected":
            return groups * (self.size * (self.size - 1) // 2)
        return groups * (self.size if self.size > 2 else 1)

    def groups(self, npus: int) -> Iterator[list[int]]:
        """The NPUs of each group in order."""
        for first in range(npus):
            if first // self.stride % self.size == 0:
                yield [first + place * self.stride for place in range(self.size)]


def sniff(head: str, name: str) -> int:
    """The two keys that nothing else has together, or logical dimensions."""
    if re.search(r"^[ \t]*npus_count\s*:", head, re.MULTILINE):
        return 95 if re.search(r"^[ \t]*topology\s*:", head, re.MULTILINE) else 60
    return 90 if head.lstrip().startswith("{") and '"logical-dims"' in head else 0


def read(reading: Reading) -> Drawing:
    """NPUs as GPUs, each dimension as what joins them."""
    dims = _logical(reading) if reading.source.text.lstrip().startswith("{") else _analytical(reading)
    npus = math.prod(dim.size for dim in dims)
    links = sum(dim.links(npus) for dim in dims)
    if npus > MOST_NODES or links > MOST_EDGES:
        raise InputError(
            f"{reading.source.name} describes {npus:,} NPUs and {links:,} links; at most {MOST_NODES:,} and "
            f"{MOST_EDGES:,} can be imported."
        )
    graph = GraphDrawing(reading, Models(reading))
    scale_up = [_is_scale_up(reading, dim) for dim in dims]
    names = _draw_npus(graph, npus, dims[0], scale_up[0])
    for dim, inner in zip(dims, scale_up, strict=True):
        _draw_dim(graph, dim, names, scale_up=inner)
    shape = " × ".join(f"{dim.block} {dim.size} at {format_rate(dim.bytes_per_s)}" for dim in dims)
    reading.found(f"{plural(npus, 'NPU')} in {plural(len(dims), 'dimension')}: {shape}")
    if any(dim.block == "Switch" for dim in dims):
        reading.inferred(
            "ASTRA-sim counts the latency of a switch dimension on both links of a way, as it is here."
        )
    networks = [dim for dim, inner in zip(dims, scale_up, strict=True) if not inner and dim.size > 1]
    if len(networks) > 1 or any(dim.block == "Ring" and dim.size > 3 for dim in networks):
        reading.guessed(
            "Network cards do not pass on what is not for them: NPUs reach each other over a network that "
            "both are on, in a ring only their neighbours."
        )
    return graph.drawing(reading.source.name)


# Reading


def _analytical(reading: Reading) -> list[_Dim]:
    data = parse_yaml(reading.source.text, reading.source.name)
    if not isinstance(data, YamlMap):
        raise InputError(f"{reading.source.name} has no keys topology and npus_count at its top.")
    lists = {key: _list(reading, data, key) for key in _FIELDS}
    count = len(lists["topology"])
    for key, values in lists.items():
        if len(values) != count:
            raise InputError(
                f"{reading.source.name}, line {data.lines[key]}: {key} has {len(values)} entries and "
                f"topology {count}; each dimension needs one."
            )
    if not 1 <= count <= _MOST_DIMS:
        raise InputError(f"{reading.source.name} has {count} dimensions; 1 to {_MOST_DIMS} are expected.")
    for key in data:
        if key not in _FIELDS:
            reading.ignored(f"The key {shown(key)} is not read.", data.lines[key])
    dims: list[_Dim] = []
    stride = 1
    for number in range(count):
        block = _block(reading, data, number, lists["topology"][number])
        size = _size(reading, data, number, lists["npus_count"][number])
        rate = _number(reading, data, "bandwidth", number, lists["bandwidth"][number], "GB/s")
        latency = _number(reading, data, "latency", number, lists["latency"][number], "ns")
        if rate <= 0:
            raise _wrong(reading, data, "bandwidth", number, lists["bandwidth"][number], "GB/s above 0")
        line = data.lines["topology"]
        dims.append(_Dim(number + 1, block, size, stride, rate * _GB, latency / 1e9, line))
        stride *= size
        if stride > MOST_NODES:
            raise InputError(
                f"{reading.source.name}, line {data.lines['npus_count']}: {stride:,} NPUs; at most "
                f"{MOST_NODES:,} can be imported."
            )
    return dims


def _list(reading: Reading, data: YamlMap, key: str) -> list[str]:
    """The entries of a field as texts; a single one may stand without brackets."""
    if key not in data:
        raise InputError(f"{reading.source.name} has no {key}, one entry for each dimension.")
    value = data[key]
    return [text_of(item) for item in value] if isinstance(value, YamlList) else [text_of(value)]


def _wrong(
    reading: Reading, data: Mapping[str, object], key: str, number: int, text: str, wanted: str
) -> InputError:
    line = data.lines[key] if isinstance(data, YamlMap) else 1
    said = "is not filled in (tbd)" if text.lower() == "tbd" else f"is {shown(text)}"
    return InputError(
        f"{reading.source.name}, line {line}: {key} of dimension {number + 1} {said}; {wanted} is expected."
    )


def _block(reading: Reading, data: YamlMap, number: int, text: str) -> str:
    block = _BLOCKS.get(text.replace("_", "").lower())
    if block is None:
        raise _wrong(reading, data, "topology", number, text, "Ring, Switch or FullyConnected")
    return block


def _size(reading: Reading, data: YamlMap, number: int, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) >= 1):
        raise _wrong(reading, data, "npus_count", number, text, "a whole number from 1 on")
    return int(text)


def _number(reading: Reading, data: YamlMap, key: str, number: int, text: str, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1e9:
        raise _wrong(reading, data, key, number, text, f"a number of {unit}")
    return value


def _logical(reading: Reading) -> list[_Dim]:
    """Sizes alone: the first dimension is taken for NVLink switches, the others for switches of a network."""
    source = reading.source
    values = parse_object(source).get("logical-dims")
    texts = [text_of(value) for value in values] if isinstance(values, list) else []
    if not texts or len(texts) > _MOST_DIMS:
        raise InputError(
            f'{source.name} needs "logical-dims" with 1 to {_MOST_DIMS} sizes, such as ["8", "2"].'
        )
    reading.guessed(
        "Logical dimensions are sizes alone; the network itself is in another file (ns-3 topology). Each is "
        "drawn as switches."
    )
    inner = catalog().gpus[Models(reading).gpu().id]
    dims: list[_Dim] = []
    stride = 1
    for number, text in enumerate(texts):
        if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) >= 1):
            raise InputError(
                f"{source.name}: logical dimension {number + 1} is {shown(text)}; a whole number is expected."
            )
        rate = inner.scale_up_lane_bytes_per_s * inner.scale_up_links
        if number:
            rate = BYTES_PER_GBIT * ask_number(
                reading,
                "network_gbit_per_s",
                "How fast is a network link?",
                400.0,
                "Gb/s",
                "It is not in the file.",
            )
        dims.append(_Dim(number + 1, "Switch", int(text), stride, rate, 0.0, 0))
        stride *= int(text)
        if stride > MOST_NODES:
            raise InputError(f"{source.name}: {stride:,} NPUs; at most {MOST_NODES:,} can be imported.")
    return dims


def _is_scale_up(reading: Reading, dim: _Dim) -> bool:
    """Whether a dimension runs over NVLink: the first, and what is faster than any network card."""
    fastest = max(nic.port_bytes_per_s for nic in catalog().nics.values())
    default = "scale-up" if dim.number == 1 or dim.bytes_per_s > fastest else "network"
    question = Question(
        f"dimension_{dim.number}",
        f"What is dimension {dim.number} ({dim.block} of {dim.size} at {format_rate(dim.bytes_per_s)})?",
        default,
        (("scale-up", "Scale-up (NVLink, xGMI)"), ("network", "A network")),
        why=_WHY,
    )
    return reading.ask(question) == "scale-up"


# Drawing


def _draw_npus(graph: GraphDrawing, npus: int, first: _Dim, scale_up: bool) -> list[str]:
    """GPUs in a container for each group of a scale-up first dimension, else each in a tray of its own."""
    size = first.size if scale_up else 1
    kind = ContainerKind.TRAY if size <= _LARGEST_TRAY else ContainerKind.RACK
    digits = max(2, len(str(max(0, npus // size - 1))))
    prefix = "node" if kind is ContainerKind.TRAY else "rack"
    names = []
    for npu in range(npus):
        box = graph.container(f"{prefix}{npu // size:0{digits}d}", kind)
        place = npu % size
        gpu = Node(f"{box}.gpu{place}", Role.GPU, parent=box, rail=place, nic=f"{box}.nic{place}")
        names.append(graph.node(gpu))
    return names


def _draw_dim(graph: GraphDrawing, dim: _Dim, names: Sequence[str], *, scale_up: bool) -> None:
    if dim.size == 1:
        return
    if not scale_up:
        names = [_network_card(graph, name) for name in names]
    for number, members in enumerate(dim.groups(len(names))):
        for a, b in _pairs(graph, dim, number, [names[member] for member in members], scale_up):
            graph.edge(Edge(a, b, dim.bytes_per_s, None, dim.latency_s, dim.line))


def _network_card(graph: GraphDrawing, gpu: str) -> str:
    """The name of the card of a GPU, which serves all dimensions that are networks."""
    node = graph.nodes[gpu]
    if node.nic not in graph.nodes:
        graph.node(Node(node.nic, Role.NIC, parent=node.parent, rail=node.rail))
        graph.edge(Edge(gpu, node.nic))
    return node.nic


def _pairs(
    graph: GraphDrawing, dim: _Dim, number: int, members: Sequence[str], scale_up: bool
) -> Iterator[tuple[str, str]]:
    if dim.block == "FullyConnected":
        yield from combinations(members, 2)
    elif dim.block == "Ring":
        last = [(members[-1], members[0])] if len(members) > 2 else []
        yield from (*pairwise(members), *last)
    else:
        switch = _switch(graph, dim, number, members, scale_up)
        yield from ((member, switch) for member in members)


def _switch(graph: GraphDrawing, dim: _Dim, number: int, members: Sequence[str], scale_up: bool) -> str:
    if not scale_up:
        return graph.node(Node(f"switch{dim.number}-{number}", Role.SWITCH))
    parents = {graph.nodes[member].parent for member in members}
    parent = parents.pop() if len(parents) == 1 else None
    name = f"{parent}.nvs{dim.number - 1}" if parent else f"nvs{dim.number}-{number}"
    return graph.node(Node(name, Role.NVLINK_SWITCH, parent=parent))


FORMATS = (
    ImportFormat(
        id="astra-sim-yml",
        name="ASTRA-sim network",
        suffixes=(".yml", ".yaml", ".json"),
        sniff=sniff,
        read=read,
        how="What --network-configuration of ASTRA-sim names (analytical), or logical-dims JSON (ns-3).",
        carries="Ring, Switch and FullyConnected dimensions with their sizes, bandwidth and latency.",
        lacks="What NPUs and dimensions are made of: models, and NVLink or network, are asked for.",
    ),
)
