"""SimAI's network topology: header `nodes gpus_per_server nvswitches switches links gpu_type`."""

from __future__ import annotations

from collections import Counter

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.graph_drawing import GraphDrawing
from model.files.imports.graph_models import Models
from model.files.imports.graph_parts import Edge, Node, Role
from model.files.imports.known_parts import gpu_by_name
from model.files.imports.simulator_text import Network, header, looks_like, read_network
from model.files.reading import shown
from model.text import format_rate, plural
from model.topology.types import ContainerKind

_MEANING = "nodes, GPUs of a server, NVSwitches, switches, links, kind of GPU"


def sniff(head: str, name: str) -> int:
    """Five numbers and a word, then links with rates."""
    return looks_like(head, 5, 1)


def read(reading: Reading) -> Drawing:
    """GPUs 0 … n − 1 in servers, then the NVSwitches, then the network switches, as SimAI counts them."""
    numbers, words, line = header(reading, 5, 1, _MEANING)
    nodes, per_server, nvswitches, switches, links = numbers
    gpus = nodes - nvswitches - switches
    if gpus < 1 or per_server < 1:
        raise InputError(
            f"{reading.source.name}, line {line}: {nodes:,} nodes less {nvswitches:,} NVSwitches and "
            f"{switches:,} switches, {per_server:,} GPUs a server, leave no GPU."
        )
    network = read_network(reading, line, nodes, nvswitches + switches, links)
    _check_order(reading, network, gpus, line + 1)
    if gpus % per_server:
        reading.contradictory(
            f"{plural(gpus, 'GPU')} are no whole number of servers of {per_server}: the last is smaller.",
            line,
        )
    graph = GraphDrawing(reading, Models(reading, gpu=_gpu(reading, words[0], line)))
    chips = set(network.switches[:nvswitches])
    names = _draw_nodes(graph, network, gpus, per_server, chips)
    for cable in network.cables:
        graph.edge(Edge(names[cable.a], names[cable.b], cable.bytes_per_s, None, cable.delay_s, cable.line))
    reading.found(
        f"{plural(gpus, words[0] + ' GPU')} in {plural(-(-gpus // per_server), 'server')}, "
        f"{plural(nvswitches, 'NVSwitch', 'NVSwitches')}, {plural(switches, 'switch', 'switches')} and "
        f"{plural(len(network.cables), 'link')}",
        line,
    )
    _say_speeds(reading, network, gpus, chips)
    return graph.drawing(reading.source.name)


def _gpu(reading: Reading, word: str, line: int) -> str:
    model = gpu_by_name(word)
    if model is None:
        reading.guessed(f"The catalogue has no GPU called {shown(word)}: the default stands for it.", line)
    return model or ""


def _check_order(reading: Reading, network: Network, gpus: int, line: int) -> None:
    """SimAI takes nodes 0 … n − 1 for GPUs; a switch among them would be both."""
    wrong = sorted(ident for ident in network.switches if ident < gpus)
    if wrong:
        reading.contradictory(
            f"Node {wrong[0]} is named as a switch and is among the first {gpus:,} nodes, which are GPUs for "
            "SimAI: the line of switches was believed.",
            line,
        )


def _draw_nodes(
    graph: GraphDrawing, network: Network, gpus: int, per_server: int, chips: set[int]
) -> list[str]:
    """All nodes; gives their names by their number in the file."""
    switches = set(network.switches)
    members = [ident for ident in range(network.nodes) if ident not in switches]
    servers = -(-len(members) // per_server)
    digits, names = max(2, len(str(servers - 1))), [""] * network.nodes
    for place, ident in enumerate(members):
        server = graph.container(f"node{place // per_server:0{digits}d}", ContainerKind.TRAY)
        rail = place % per_server
        names[ident] = f"{server}.gpu{rail}"
        graph.node(Node(names[ident], Role.GPU, parent=server, rail=rail, nic=f"{server}.nic{rail}"))
    homes = _homes(network, dict(zip(members, range(len(members)), strict=True)), per_server, chips)
    counted: Counter[str] = Counter()
    for ident in network.switches:
        if ident not in chips:
            names[ident] = f"switch{ident}"
            graph.node(Node(names[ident], Role.SWITCH))
            continue
        home = homes.get(ident)
        tray = f"node{home:0{digits}d}" if home is not None else None
        names[ident] = f"{tray}.nvs{counted[tray]}" if tray else f"nvs{ident}"
        counted[tray or ""] += 1
        graph.node(Node(names[ident], Role.NVLINK_SWITCH, parent=tray))
    return names


def _homes(network: Network, place: dict[int, int], per_server: int, chips: set[int]) -> dict[int, int]:
    """The server of each NVSwitch whose GPUs are all in one."""
    servers: dict[int, set[int]] = {}
    for cable in network.cables:
        for end, other in ((cable.a, cable.b), (cable.b, cable.a)):
            if end in chips and other in place:
                servers.setdefault(end, set()).add(place[other] // per_server)
    return {chip: next(iter(found)) for chip, found in servers.items() if len(found) == 1}


def _say_speeds(reading: Reading, network: Network, gpus: int, chips: set[int]) -> None:
    """The speeds that GPUs have on NVLink and on the network, and NVSwitches that nothing is joined to."""
    nvlink: Counter[int] = Counter()
    for cable in network.cables:
        for end, other in ((cable.a, cable.b), (cable.b, cable.a)):
            if other in chips and end not in chips:
                nvlink[end] += round(cable.bytes_per_s)
    speeds = sorted(set(nvlink.values()))
    if speeds:
        reading.found(
            f"Each GPU has {' or '.join(format_rate(speed) for speed in speeds[:3])} of NVLink in the file"
        )
    joined = {end for cable in network.cables for end in (cable.a, cable.b)}
    idle = [ident for ident in network.switches if ident in chips and ident not in joined]
    if idle:
        reading.found(
            f"{plural(len(idle), 'NVSwitch', 'NVSwitches')} without links: a dummy, as SimAI needs one"
        )


FORMATS = (
    ImportFormat(
        id="simai",
        name="SimAI topology",
        suffixes=(".txt", ".topo", ""),
        sniff=sniff,
        read=read,
        how="The file that gen_Topo_Template.py of SimAI (astra-sim-alibabacloud/inputs/topo) writes.",
        carries="GPUs by server, NVSwitches, switches, and links with rate and delay.",
        lacks="Network cards and models of switches are asked for. Error rates are left out.",
    ),
)
