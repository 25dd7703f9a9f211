"""The whole drawing for Graphviz: containers as clusters, devices as nodes, links as labelled edges."""

from __future__ import annotations

from collections.abc import Iterator

from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.drawing import watched, written_as_built
from model.text import format_port, format_rate
from model.topology.graph import Topology
from model.topology.names import LINK_NAMES
from model.topology.types import NETWORK_LINKS, Container, Device, DeviceKind, Link

_LOOKS = {
    DeviceKind.GPU: ("box", "#b9d7a8"),
    DeviceKind.NVLINK_SWITCH: ("hexagon", "#d5e8c8"),
    DeviceKind.NIC: ("box", "#f5d9a8"),
    DeviceKind.CPU: ("box", "#d9d9d9"),
    DeviceKind.PCIE_SWITCH: ("hexagon", "#e6e6e6"),
    DeviceKind.LEAF: ("ellipse", "#a8cdf0"),
    DeviceKind.SPINE: ("ellipse", "#8fb8e8"),
    DeviceKind.CORE: ("ellipse", "#769fd8"),
    DeviceKind.STORAGE: ("cylinder", "#e8c8d8"),
    DeviceKind.SITE_GATEWAY: ("diamond", "#c8b8e8"),
}


def _write(source: ExportSource) -> Exported:
    topology = source.document.topology
    name = source.document.name or "Railsketch"
    lines = [
        f"graph {_quoted(name)} {{",
        '  graph [overlap=false, splines=true, fontname="Helvetica"];',
        '  node [style=filled, fontname="Helvetica", fontsize=10];',
        '  edge [fontname="Helvetica", fontsize=8];',
        *_boxes(topology),
    ]
    lines += [
        f"  {_quoted(link.a)} -- {_quoted(link.b)} [{_edge(link)}];"
        for link in watched(source, topology.links(), "writing links", 0.3)
    ]
    text = "\n".join((*lines, "}")) + "\n"
    return Exported({"": text}, written_as_built(topology))


def _boxes(topology: Topology) -> Iterator[str]:
    """Containers inside each other, with their devices, without recursion."""
    inner: dict[str | None, list[Container | Device]] = {}
    things: list[Container | Device] = [*topology.containers(), *topology.devices()]
    for thing in things:
        inner.setdefault(thing.parent, []).append(thing)
    stack: list[tuple[int, Container | Device | None]]
    stack = [(1, one) for one in reversed(inner.get(None, []))]
    while stack:
        depth, top = stack.pop()
        indent = "  " * depth
        if top is None:
            yield f"{indent}}}"
        elif isinstance(top, Device):
            yield f"{indent}{_quoted(top.id)} [{_node(top)}];"
        else:
            yield f"{indent}subgraph {_quoted('cluster_' + top.id)} {{"
            yield f"{indent}  label={_quoted(top.label or top.id)};"
            stack.append((depth, None))
            stack += [(depth + 1, one) for one in reversed(inner.get(top.id, []))]


def _node(device: Device) -> str:
    shape, colour = _LOOKS[device.kind]
    label = device.label or device.id.rpartition(".")[2]
    return (
        f'label={_quoted(label)}, shape={shape}, fillcolor="{colour}", kind="{device.kind.value}", '
        f"model={_quoted(device.model)}"
    )


def _edge(link: Link) -> str:
    network = link.kind in NETWORK_LINKS
    speed = format_port(link.lane_bytes_per_s) if network else format_rate(link.lane_bytes_per_s)
    label = f"{link.count}× {speed}" if link.count > 1 else speed
    return (
        f'label={_quoted(label)}, kind="{link.kind.value}", count={link.count}, '
        f"tooltip={_quoted(f'{LINK_NAMES[link.kind]} {link.id}')}"
    )


def _quoted(text: str) -> str:
    """A quoted string of DOT: a quotation mark is escaped, and a backslash that Graphviz would read."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + " ".join(plain.split()) + '"'


FORMATS = (
    ExportFormat(
        id="dot",
        name="Graphviz (DOT)",
        suffix=".dot",
        write=_write,
        use="dot -Tsvg FILE, or fdp and sfdp for large drawings.",
        lacks="Positions, states, rack places, the job and its traffic.",
    ),
)
