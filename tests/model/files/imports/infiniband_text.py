"""Texts as ibnetdiscover and ibdiagnet print them, of fabrics made up for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

End = tuple[str, int]  # node, port


@dataclass(frozen=True)
class Made:
    """Nodes by name ("S" or "H", description, device id) and cables (end, end, speed)."""

    nodes: dict[str, tuple[str, str, int]]
    cables: list[tuple[End, End, str]]


def rail_fabric(
    hosts: int,
    rails: int,
    leaves_per_rail: int = 1,
    spines: int = 2,
    uplinks: int = 1,
    adapter: str = "mlx5_{rail}",
) -> Made:
    """Hosts with an adapter for each rail; rail r of host h is on leaf r of the host's group."""
    nodes: dict[str, tuple[str, str, int]] = {}
    cables: list[tuple[End, End, str]] = []
    ports: dict[str, int] = defaultdict(int)

    def port(node: str) -> End:
        ports[node] += 1
        return node, ports[node]

    groups = range(leaves_per_rail)
    leaves = [[f"leaf{group * rails + rail:02d}" for rail in range(rails)] for group in groups]
    tops = [f"spine{number:02d}" for number in range(spines)]
    for name in [*(leaf for group in leaves for leaf in group), *tops]:
        nodes[name] = ("S", f"MF0;ib-{name.replace('leaf', 'l').replace('spine', 's')}:MQM9700/U1", 0xD2F2)
    for host in range(hosts):
        for rail in range(rails):
            name = f"h{host}r{rail}"
            words = adapter.format(rail=rail, number=rail + 1)
            nodes[name] = ("H", f"node{host:03d} {words}", 0x1021)
            cables.append((port(leaves[host * leaves_per_rail // hosts][rail]), (name, 1), "4xNDR"))
    for group in leaves:
        for leaf in group:
            for top in tops:
                cables.extend((port(leaf), port(top), "4xNDR") for _ in range(uplinks))
    return Made(nodes, cables)


def ibnetdiscover(made: Made) -> str:
    """The text of ibnetdiscover: each cable from both of its ends."""
    guids = {name: f"{0xA088C20300000000 + 16 * number:016x}" for number, name in enumerate(made.nodes)}
    lines: dict[str, list[str]] = defaultdict(list)
    for first, second, speed in made.cables:
        for (node, port), (other, far) in ((first, second), (second, first)):
            letter, description, _ = made.nodes[other]
            own = "(0)" if made.nodes[node][0] == "H" else ""
            lines[node].append(
                f'[{port}]{own}\t"{letter}-{guids[other]}"[{far}](0)\t\t# "{description}" lid 1 {speed}'
            )
    text = ["#", "# Topology file: generated on Mon Nov 30 10:00:00 2026", "#"]
    for name, (letter, description, device) in made.nodes.items():
        guid = guids[name]
        kind, key, ports = ("Switch", "switchguid", 65) if letter == "S" else ("Ca", "caguid", 1)
        text += ["", "vendid=0x2c9", f"devid={device:#x}", f"sysimgguid=0x{guid}", f"{key}=0x{guid}({guid})"]
        text.append(f'{kind}\t{ports} "{letter}-{guid}"\t\t# "{description}"')
        text += lines[name]
    return "\n".join(text) + "\n"


def ibdiagnet(made: Made) -> str:
    """The text of ibdiagnet.lst: a line for each cable."""
    guids = {name: f"{0xA088C20300000000 + 16 * number:016x}" for number, name in enumerate(made.nodes)}

    def end(node: str, port: int) -> str:
        letter, description, device = made.nodes[node]
        kind, ports = ("SW", 0x41) if letter == "S" else ("CA", 1)
        guid = guids[node]
        return (
            f"{{ {kind} Ports:{ports:02x} SystemGUID:{guid} NodeGUID:{guid} PortGUID:{guid} VenID:000002c9 "
            f"DevID:{device:08x} Rev:00000000 {{{description}}} LID:0001 PN:{port:02x} }}"
        )

    speeds = {"4xNDR": "PHY=4x LOG=ACT SPD=100", "4xHDR": "PHY=4x LOG=ACT SPD=50"}
    return "".join(f"{end(*a)} {end(*b)} {speeds[speed]}\n" for a, b, speed in made.cables)


def swapped(made: Made, first: str, second: str) -> Made:
    """The same with two adapters on the ports of each other."""
    names = {first: second, second: first}

    def end(each: End) -> End:
        return names.get(each[0], each[0]), each[1]

    return Made(made.nodes, [(end(a), end(b), speed) for a, b, speed in made.cables])


def without(made: Made, nodes: Iterable[str] = (), cables: Iterable[End] = ()) -> Made:
    """The same without some nodes, and without the cables that have some ends."""
    gone, cut = set(nodes), set(cables)
    kept = [
        (a, b, speed)
        for a, b, speed in made.cables
        if not {a, b} & cut and a[0] not in gone and b[0] not in gone
    ]
    return Made({name: node for name, node in made.nodes.items() if name not in gone}, kept)
