"""An InfiniBand fabric as it is read, and as the boxes and cables that are drawn.

Both readers of InfiniBand fill a `Fabric`: nodes by GUID, and cables by port, each of which the files give
from one end or from both.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.errors import InputError
from model.files.importing import Drawing, Question, Reading
from model.files.imports.cabling import MOST_NAMED, Box, Cabling, End, Role
from model.files.imports.cabling import Cable as Line
from model.files.imports.cabling_drawing import draw
from model.files.imports.infiniband_names import (
    SWITCH_DEVICES,
    AdapterName,
    adapter_name,
    is_aggregation,
    nic_by_rate,
    nic_model,
    switch_name,
)
from model.text import name_list, plural
from model.topology.types import LinkKind, State

MOST_NODES = 200_000
_HEX = re.compile(r"[0-9a-fA-F]{1,16}")


@dataclass(slots=True)
class Node:
    """A switch ("S"), adapter ("H") or router ("R"). `line` is that of its block, or of its first mention."""

    key: str
    letter: str
    guid: str
    description: str
    line: int
    declared: bool = False
    device_id: int = 0
    system: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a node, by number."""

    node: str
    number: int


@dataclass(slots=True)
class _Cable:
    a: Port
    b: Port
    rate: float
    said: str
    line: int
    down: bool = False


class Fabric:
    """Nodes and cables of a fabric; a cable that is given from both of its ends is one."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._nodes: dict[str, Node] = {}
        self._cables: dict[Port, _Cable] = {}
        self._shared: set[Port] = set()

    def node(self, letter: str, guid: str, description: str, line: int, *, declared: bool = False) -> Node:
        """The node with this GUID, new or known. Without a whole GUID it is told by its description, too."""
        plain = guid.removeprefix("0x").removeprefix("0X")
        if _HEX.fullmatch(plain):
            plain = plain.lower().zfill(16)
            key = f"{letter}-{plain}"
        else:
            key = f"{letter}-{plain}|{description}"
            self._reading.guessed("GUIDs are cut out: nodes are told apart by their descriptions, too.", line)
        known = self._nodes.get(key)
        if known is None:
            if len(self._nodes) >= MOST_NODES:
                raise InputError(f"{self._reading.source.name} has more than {MOST_NODES:,} nodes.")
            known = self._nodes[key] = Node(key, letter, plain, description, line, declared)
        elif declared and not known.declared:
            known.declared, known.line = True, line
            known.description = description or known.description
        elif not known.description:
            known.description = description
        return known

    def cable(self, a: Port, b: Port, rate: float, said: str, line: int, *, down: bool = False) -> None:
        """A cable as one of its ends gives it. `rate` is in bytes/s, 0 when it is not known."""
        if a == b or a.node == b.node:
            self._reading.ignored("Cables from a node to itself were left out.", line)
            return
        known = self._cables.get(a)
        if known is not None and known is self._cables.get(b):
            self._again(known, rate, said, line)
            return
        taken = known or self._cables.get(b)
        if taken is not None:
            port = a if known else b
            self._shared.add(port)
            name = self._nodes[port.node].description or port.node
            what = (
                f"Port {port.number} of {name} is" if len(self._shared) <= MOST_NAMED else "Other ports are"
            )
            self._reading.contradictory(f"{what} in two cables; the first was taken.", taken.line, line)
            return
        self._cables[a] = self._cables[b] = _Cable(a, b, rate, said, line, down)

    def _again(self, known: _Cable, rate: float, said: str, line: int) -> None:
        if rate and known.rate and rate != known.rate:
            low, high = sorted(((known.rate, known.said), (rate, said)))
            self._reading.contradictory(
                f"One end of a cable says {low[1]} and the other {high[1]}; the slower was taken.",
                known.line,
                line,
            )
            known.rate, known.said = low
        elif rate and not known.rate:
            known.rate, known.said = rate, said

    def drawing(self) -> Drawing:
        """The fabric as a drawing. Raises `InputError` where there is nothing to draw."""
        nodes = self._without_aggregation()
        if not nodes:
            raise InputError(
                f"{self._reading.source.name} has no switch and no adapter of an InfiniBand fabric."
            )
        missing = [node.line for node in nodes if not node.declared]
        if missing:
            self._reading.inferred(
                "Nodes without a part of their own were taken from the cables that name them.", *missing
            )
        cabling = Cabling(self._reading, LinkKind.INFINIBAND)
        said = {port: cable.said for port, cable in self._cables.items()}
        ends = _Boxes(self._reading, cabling, said).boxes(nodes)
        for cable in self._unique():
            first, second = ends.get(cable.a), ends.get(cable.b)
            if first and second:
                state = State.DOWN if cable.down else State.UP
                cabling.cable(Line(first, second, cable.line, cable.rate, state=state))
        slow = [cable for cable in self._unique() if not cable.rate]
        if slow:
            self._reading.inferred(
                "Cables without a speed: it was asked for.", *(cable.line for cable in slow)
            )
        self._say_slow()
        return draw(cabling, "InfiniBand fabric")

    def _unique(self) -> list[_Cable]:
        return list({id(cable): cable for cable in self._cables.values()}.values())

    def _without_aggregation(self) -> list[Node]:
        left = {node.key: node for node in self._nodes.values() if is_aggregation(node.description)}
        if left:
            lines = [node.line for node in left.values()]
            self._reading.ignored(
                f"{plural(len(left), 'aggregation node')} of SHARP, which are parts of switches, left out.",
                *lines,
            )
            self._cables = {
                port: cable
                for port, cable in self._cables.items()
                if cable.a.node not in left and cable.b.node not in left
            }
        return [node for node in self._nodes.values() if node.key not in left]

    def _say_slow(self) -> None:
        """Cables of the same kind of pair that are slower than most."""
        groups: dict[str, list[_Cable]] = defaultdict(list)
        for cable in self._unique():
            if cable.rate:
                groups["".join(sorted((cable.a.node[0], cable.b.node[0])))].append(cable)
        for cables in groups.values():
            usual = Counter(cable.rate for cable in cables).most_common(1)[0][0]
            for cable in cables:
                if cable.rate < usual:
                    self._reading.inferred(
                        f"Cables at {cable.said} are slower than most of their kind.", cable.line
                    )


class _Boxes:
    """Makes hosts of adapters and names switches, each name once."""

    def __init__(self, reading: Reading, cabling: Cabling, said: Mapping[Port, str]) -> None:
        """`said`: how the file gives the speed of each used port."""
        self._reading = reading
        self._cabling = cabling
        self._said = said
        self._used: dict[str, list[int]] = defaultdict(list)
        for port in said:
            self._used[port.node].append(port.number)
        self._ends: dict[Port, End] = {}
        self._next: dict[str, int] = {}

    def boxes(self, nodes: Sequence[Node]) -> dict[Port, End]:
        """Fill the cabling with boxes; gives the end that each used port is."""
        self._switches([node for node in nodes if node.letter != "H"])
        adapters = [node for node in nodes if node.letter == "H"]
        named = [(node, adapter_name(node.description)) for node in adapters]
        self._named([(node, name) for node, name in named if name.host])
        self._nameless([node for node, name in named if not name.host])
        return self._ends

    def _switches(self, nodes: Sequence[Node]) -> None:
        names = {node.key: switch_name(node.description) for node in nodes}
        bare = Counter(name.name for name in names.values())
        full = Counter((name.name, name.part) for name in names.values())
        unnamed = [node for node in nodes if not names[node.key].name]
        for node in nodes:
            name = names[node.key]
            if not name.name:
                text = f"switch-{node.guid[-8:]}"
            elif bare[name.name] == 1:
                text = name.name
            elif full[name.name, name.part] == 1 and name.part:
                text = f"{name.name}/{name.part}"
            else:
                text = f"{name.name}-{node.guid[-8:]}"
            box = self._fresh(text, node.line, Role.GATEWAY if node.letter == "R" else Role.SWITCH)
            box.model = SWITCH_DEVICES.get(node.device_id, name.model) if node.letter == "S" else ""
            self._take(node, box, "")
        if unnamed:
            self._reading.inferred(
                "Switches without a name of their own are named by their GUIDs.", *_lines(unnamed)
            )
        models = Counter(box.model for box in self._cabling.with_role(Role.SWITCH) if box.model)
        for model, count in models.items():
            self._reading.inferred(
                f"{plural(count, 'switch', 'switches')} told by device id or name: {model}."
            )

    def _fresh(self, wanted: str, line: int, role: Role) -> Box:
        name, number = wanted, self._next.get(wanted, 2)
        while name in self._cabling.boxes:
            name, number = f"{wanted}-{number}", number + 1
            self._next[wanted] = number
        return self._cabling.box(name, line, role)

    def _named(self, adapters: Iterable[tuple[Node, AdapterName]]) -> None:
        hosts: dict[str, list[tuple[str, Node]]] = defaultdict(list)
        counted: list[Node] = []
        for node, name in adapters:
            hosts[name.host].append((name.adapter, node))
            if not node.description.endswith(name.adapter):
                counted.append(node)
        if counted:
            self._reading.inferred("Adapters called HCA-n count from 1: HCA-1 is mlx5_0.", *_lines(counted))
        for host, found in hosts.items():
            # A host with both spellings keeps those that are as they stand there.
            self._host(host, sorted(found, key=lambda each: not each[1].description.endswith(each[0])))

    def _host(self, host: str, found: Sequence[tuple[str, Node]]) -> None:
        """One host; several where an adapter comes twice: hosts whose name was never set."""
        twice = Counter(node.description for _, node in found if node.description != host)
        most = max(twice.values(), default=1)
        if most > 1:
            lines = sorted(node.line for _, node in found if twice[node.description] > 1)
            self._reading.contradictory(
                f"{most} adapters call themselves the same adapter of {host}: drawn as several hosts.",
                *lines,
            )
        seen: Counter[str] = Counter()
        boxes = [self._fresh(host, found[0][1].line, Role.HOST)]
        for adapter, node in found:
            place = seen[node.description] if node.description != host else 0
            seen[node.description] += 1
            while place >= len(boxes):
                boxes.append(self._fresh(host, node.line, Role.HOST))
            box = boxes[place]
            name = adapter or "hca"
            if name in box.nics:
                own = node.description.rpartition(" ")[2]
                name = own if own not in box.nics and own != host else f"{name}-{len(box.nics) + 1}"
            self._take(node, box, name)

    def _take(self, node: Node, box: Box, adapter: str) -> None:
        """Make ends of the used ports of a node: one NIC for each port of an adapter."""
        if box.role is not Role.HOST:
            for number in self._used.get(node.key, ()):
                self._ends[Port(node.key, number)] = End(box.name, str(number))
            return
        model = nic_model(node.device_id, node.description)
        used = sorted(self._used.get(node.key, ()))
        for number in used or [1]:
            port = adapter if len(used) <= 1 else f"{adapter}:{number}"
            box.nics[port] = model or self._by_speed(node, number)
            self._ends[Port(node.key, number)] = End(box.name, port)

    def _by_speed(self, node: Node, number: int) -> str:
        """What an adapter is that has no known device id, when few can run at its speed."""
        said = self._said.get(Port(node.key, number), "")
        model = nic_by_rate(said)
        if model:
            self._reading.guessed(f"Adapters at {said} of unknown make are drawn as {model}.", node.line)
        return model

    def _nameless(self, nodes: Sequence[Node]) -> None:
        if not nodes:
            return
        question = Question(
            "unnamed_adapters",
            f"{plural(len(nodes), 'adapter')} do not say their host. What is to be done with them?",
            "card",
            (("card", "a host for each card, by its system GUID"), ("leave-out", "leave them out")),
            why="Their descriptions name the product only.",
        )
        if self._reading.ask(question) == "leave-out":
            self._reading.ignored(
                f"{plural(len(nodes), 'adapter')} without the name of a host.", *_lines(nodes)
            )
            return
        cards: dict[str, list[Node]] = defaultdict(list)
        for node in nodes:
            cards[node.system.removeprefix("0x") or node.guid].append(node)
        for system, found in cards.items():
            box = self._fresh(f"host-{system[-8:]}", found[0].line, Role.HOST)
            for place, node in enumerate(found):
                self._take(node, box, f"hca{place}")
        names = name_list(sorted({node.description for node in nodes if node.description}), 3)
        self._reading.guessed(
            f"{plural(len(nodes), 'adapter')} without the name of a host ({names or 'no name'}) became "
            f"{plural(len(cards), 'host')}, one for each system GUID.",
            *_lines(nodes),
        )


def _lines(nodes: Sequence[Node]) -> list[int]:
    return [node.line for node in nodes]
