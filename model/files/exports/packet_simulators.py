"""Topology text of packet simulators: SimAI, and ns-3 as HPCC and ASTRA-sim read it.

SimAI: a line `nodes gpus_per_server nvswitches switches links gpu_type`, a line of all switch ids, NVLink
switches first, then `src dst 400Gbps 0.0005ms 0`. HPCC: `nodes switches links`, switch ids, the same lines.
End points have the ids 0 … n − 1; each link stands once and goes both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from model.catalog.specs import BYTES_PER_S_PER_GBIT
from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.files.exports.drawing import watched
from model.files.exports.packet_graph import PacketGraph, PacketLink, gpu_graph, host_graph
from model.text import plural
from model.topology.types import DeviceKind

_ENDS_OPTION = ExportOption(
    "ends",
    "End points",
    "auto",
    (("auto", "GPUs where there are any, else hosts"), ("gpus", "GPUs"), ("hosts", "Hosts")),
)
_GPU_TYPES = ("H20", "H100", "H200", "H800", "A100", "B200", "B300", "GB200", "GB300")


def _write_simai(source: ExportSource) -> Exported:
    """Raises `InputError` where servers have unlike numbers of GPUs: the header has one for all."""
    graph = gpu_graph(source)
    sizes = Counter(len(server) for server in graph.servers)
    if len(sizes) > 1:
        counts = ", ".join(f"{plural(count, 'server')} of {size}" for size, count in sorted(sizes.items()))
        raise InputError(
            "SimAI takes servers with equal numbers of GPUs, and the scale-up domains of the drawing are "
            f"{counts}."
        )
    per_server = next(iter(sizes))
    ids = _ids(graph, graph.server_switches)
    links = (*graph.server_links, *graph.links)
    gpu_type, notes = _gpu_type(source)
    if not graph.server_links:
        notes.append("SimAI needs an NVLink switch in each server: one is written that nothing is joined to.")
    header = (
        f"{len(ids)} {per_server} {len(graph.servers)} {len(graph.switches)} {len(links)} {gpu_type}",
        " ".join(str(ids[name]) for name in (*graph.server_switches, *graph.switches)),
    )
    text = "\n".join((*header, *_link_lines(source, links, ids))) + "\n"
    if per_server > 1:
        notes.append("All scale-up links of a server are written as one switch with one link to each GPU.")
    return Exported({"": text}, (*graph.notes, *notes, *_no_names(graph)))


def _write_ns3(source: ExportSource) -> Exported:
    ends = source.chosen(_ENDS_OPTION)
    if ends == "auto":
        ends = "gpus" if source.document.topology.working(DeviceKind.GPU) else "hosts"
    graph = gpu_graph(source) if ends == "gpus" else host_graph(source)
    servers = graph.server_switches if graph.server_links else ()
    ids = _ids(graph, servers)
    switches = [str(ids[name]) for name in (*servers, *graph.switches)]
    links = (*graph.server_links, *graph.links)
    header = (f"{len(ids)} {len(switches)} {len(links)}", " ".join(switches))
    text = "\n".join((*header, *_link_lines(source, links, ids))) + "\n"
    notes = []
    if graph.server_links:
        notes.append("NVLink is written as a switch for each scale-up domain; ns-3 treats it as any other.")
    return Exported({"": text}, (*graph.notes, *notes, *_no_names(graph)))


def _ids(graph: PacketGraph, servers: Sequence[str]) -> dict[str, int]:
    """Numbers of all nodes: end points, NVLink switches, switches from the leaves up."""
    return {name: number for number, name in enumerate((*graph.ends, *servers, *graph.switches))}


def _link_lines(source: ExportSource, links: Sequence[PacketLink], ids: dict[str, int]) -> Iterator[str]:
    for link in watched(source, links, "writing links", 0.8):
        speed, delay = _plain(link.bytes_per_s / BYTES_PER_S_PER_GBIT), _plain(link.latency_s * 1e3)
        yield f"{ids[link.a]} {ids[link.b]} {speed}Gbps {delay}ms 0"


def _plain(value: float) -> str:
    """Without an exponent and without digits that say nothing."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _gpu_type(source: ExportSource) -> tuple[str, list[str]]:
    """SimAI's name of the GPUs: that of the most frequent model."""
    models = Counter(gpu.model for gpu in source.document.topology.working(DeviceKind.GPU))
    model = models.most_common(1)[0][0]
    first = model.partition("-")[0].upper()
    notes = []
    if len(models) > 1:
        notes.append(f"The GPUs are of {len(models)} models; the file names one type, {first}.")
    if first not in _GPU_TYPES:
        notes.append(f"SimAI may not know GPUs of the type {first}.")
    return first, notes


def _no_names(graph: PacketGraph) -> tuple[str, ...]:
    """How ids stand for devices."""
    ends = graph.ends
    return (f"Names: node 0 is {ends[0]}, node {len(ends) - 1:,} is {ends[-1]}, switches follow.",)


FORMATS = (
    ExportFormat(
        id="simai",
        name="SimAI topology",
        suffix=".txt",
        write=_write_simai,
        use="The topology file (-n) of SimAI's packet simulator.",
        lacks="Names, hosts, NICs, PCIe, states; parallel cables are one link of their sum.",
    ),
    ExportFormat(
        id="ns3-hpcc",
        name="ns-3 topology (HPCC, ASTRA-sim)",
        suffix=".txt",
        write=_write_ns3,
        use="TOPOLOGY_FILE in the configuration of HPCC's simulator and of ASTRA-sim's ns-3 backend.",
        lacks="Names, kinds, NICs, PCIe, states; parallel cables are one link of their sum.",
        options=(_ENDS_OPTION,),
    ),
)
