"""ns-3 topologies as HPCC and the ns-3 network of ASTRA-sim read them: header `nodes switches links`."""

from __future__ import annotations

from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.graph_drawing import GraphDrawing
from model.files.imports.graph_models import Models
from model.files.imports.graph_parts import Edge, Node, Role
from model.files.imports.simulator_text import header, looks_like, read_network
from model.text import plural


def sniff(head: str, name: str) -> int:
    """Three numbers, then links with rates."""
    return looks_like(head, 3, 0)


def read(reading: Reading) -> Drawing:
    """Hosts and switches by the ids of the file; which of a link's ends is the switch does not matter."""
    (nodes, switches, links), _, line = header(reading, 3, 0, "nodes, switches, links")
    network = read_network(reading, line, nodes, switches, links)
    graph = GraphDrawing(reading, Models(reading))
    names = names_of(nodes, set(network.switches))
    for ident in range(nodes):
        is_switch = names[ident].startswith("sw")
        graph.node(Node(names[ident], Role.SWITCH if is_switch else Role.HOST))
    for cable in network.cables:
        graph.edge(Edge(names[cable.a], names[cable.b], cable.bytes_per_s, None, cable.delay_s, cable.line))
    hosts = nodes - len(network.switches)
    reading.found(
        f"{plural(hosts, 'host')}, {plural(len(network.switches), 'switch', 'switches')} and "
        f"{plural(len(network.cables), 'link')}"
    )
    return graph.drawing(reading.source.name)


def names_of(nodes: int, switches: set[int]) -> list[str]:
    """ "host3" and "switch8" for the nodes 3 and 8, with as many digits as the last has."""
    digits = len(str(max(0, nodes - 1)))
    return [f"{'switch' if ident in switches else 'host'}{ident:0{digits}d}" for ident in range(nodes)]


FORMATS = (
    ImportFormat(
        id="ns3-hpcc",
        name="ns-3 topology (HPCC, ASTRA-sim)",
        suffixes=(".txt", ".topo"),
        sniff=sniff,
        read=read,
        how="The file that TOPOLOGY_FILE of an HPCC or ASTRA-sim ns-3 configuration names.",
        carries="Hosts, switches, and links with rate and delay.",
        lacks="What a host is: GPUs, network cards and models are asked for. Error rates are left out.",
    ),
)
