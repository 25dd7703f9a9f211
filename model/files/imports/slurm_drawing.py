"""A drawing of what Slurm's topology files say: a tree of switches with nodes, and blocks of nodes.

topology.conf(5) and topology.yaml(5) of Slurm 26.11. A tree has one parent for each switch, so its upper
switches often stand for many real ones; it has no speeds and no numbers of cables.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from model.errors import InputError
from model.files.importing import Drawing, Question, Reading
from model.files.imports.building import DrawingBuilder
from model.files.imports.graph_models import Models
from model.files.imports.hostlist import expand
from model.text import name_list, plural
from model.topology.types import ContainerKind, DeviceKind

MOST_NODES = 200_000
MOST_CABLES = 1_000_000
LONGEST_RING = 16  # nodes, topology.conf(5)
MOST_NAMED = 20  # things of one kind that a report names one by one
_TIERS = (DeviceKind.LEAF, DeviceKind.SPINE, DeviceKind.CORE)
_WIDTHS = {"full": 1.0, "half": 0.5}


@dataclass(slots=True)
class SlurmSwitch:
    """A switch of a tree, with the nodes and switches right below it."""

    name: str
    line: int
    nodes: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SlurmBlock:
    """A block (or ring) of nodes."""

    name: str
    line: int
    nodes: list[str] = field(default_factory=list)


class SlurmTopology:
    """What one topology says. Host lists are expanded as they come."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.switches: dict[str, SlurmSwitch] = {}
        self.blocks: dict[str, SlurmBlock] = {}
        self.block_sizes: list[int] = []
        self.sizes_line = 0
        self._nodes = 0

    def names(self, text: str, line: int) -> list[str]:
        """The names of a host list; none, when it is broken and a partial import goes on."""
        try:
            found = expand(text)
        except InputError as error:
            self.reading.broken(str(error).rstrip("."), line)
            return []
        self._nodes += len(found)
        if self._nodes > MOST_NODES:
            raise InputError(
                f"{self.reading.source.name}, line {line}: more than {MOST_NODES:,} names in all."
            )
        return found

    def switch(self, name: str, line: int, nodes: Sequence[str], children: Sequence[str]) -> None:
        """Take a switch; what is said of it in several places is put together."""
        known = self.switches.get(name)
        if known is None:
            self.switches[name] = SlurmSwitch(name, line, list(nodes), list(children))
            return
        self.reading.contradictory(
            "Switches that stand there twice: both parts were taken.", known.line, line
        )
        known.nodes.extend(nodes)
        known.children.extend(children)

    def ring(self, name: str, line: int, nodes: Sequence[str]) -> None:
        """Take a ring of nodes, which is drawn like a block."""
        self.reading.inferred("A ring of nodes is drawn as a rack; neighbours in it are no cables.", line)
        if len(nodes) > LONGEST_RING:
            self.reading.contradictory(f"Rings of more than {LONGEST_RING} nodes, which Slurm refuses.", line)
        self.block(name, line, nodes)

    def block(self, name: str, line: int, nodes: Sequence[str]) -> None:
        """Take a block; what is said of it in several places is put together."""
        known = self.blocks.get(name)
        if known is None:
            self.blocks[name] = SlurmBlock(name, line, list(nodes))
            return
        self.reading.contradictory("Blocks that stand there twice: both parts were taken.", known.line, line)
        known.nodes.extend(nodes)


def draw(topology: SlurmTopology, name: str) -> Drawing:
    """The drawing of a topology. Raises `InputError` for cycles and where there is nothing."""
    if not topology.switches and not topology.blocks:
        raise InputError(f"{topology.reading.source.name} has no switch and no block.")
    _check_blocks(topology)
    _declare(topology)
    _cut_cycles(topology)
    return _Drawer(topology, name).draw()


def _check_blocks(topology: SlurmTopology) -> None:
    """BlockSizes against the blocks: the first at most the smallest block, the others 2^n times it."""
    sizes, line = topology.block_sizes, topology.sizes_line
    say = topology.reading.contradictory
    if not sizes or not topology.blocks:
        return
    smallest = min(topology.blocks.values(), key=lambda block: len(set(block.nodes)))
    least = len(set(smallest.nodes))
    if sizes[0] < 1:
        say(f"BlockSizes begins with {sizes[0]}; it is the number of nodes of a block.", line)
    elif sizes[0] > least:
        say(
            f"BlockSizes begins with {sizes[0]}, and block {smallest.name} has {plural(least, 'node')} only.",
            line,
            smallest.line,
        )
    elif any(size % sizes[0] or not _is_power(size // sizes[0]) for size in sizes[1:]):
        say(f"BlockSizes has sizes that are not {sizes[0]} times a power of two.", line)
    topology.reading.found(f"BlockSizes are {', '.join(map(str, sizes[:12]))}.", line)


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _declare(topology: SlurmTopology) -> None:
    """Switches that are only named as children."""
    missing: dict[str, list[int]] = {}
    for switch in topology.switches.values():
        switch.children = list(dict.fromkeys(switch.children))
        for child in switch.children:
            if child not in topology.switches:
                missing.setdefault(child, []).append(switch.line)
    for name, lines in missing.items():
        topology.switches[name] = SlurmSwitch(name, lines[0])
    if missing:
        topology.reading.inferred(
            f"{plural(len(missing), 'switch', 'switches')} without a line of their own: "
            f"{name_list(list(missing))}.",
            *(line for lines in missing.values() for line in lines),
        )


def _cut_cycles(topology: SlurmTopology) -> None:
    """Refuse switches that are above themselves; a partial import leaves out the step back up."""
    done: set[str] = set()
    cut: set[tuple[str, str]] = set()
    for start in topology.switches:
        if start in done:
            continue
        path: dict[str, None] = {start: None}
        stack = [(start, iter(topology.switches[start].children))]
        while stack:
            name, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                path.pop(name)
                done.add(name)
            elif child in path:
                cut.add((name, child))
                what = "more switches are above themselves"
                if len(cut) <= MOST_NAMED:
                    what = f"the switch {child} is above itself: {_circle(path, child)}"
                topology.reading.broken(what, topology.switches[name].line)
            elif child not in done:
                path[child] = None
                stack.append((child, iter(topology.switches[child].children)))
    for name in {name for name, _ in cut}:
        switch = topology.switches[name]
        switch.children = [child for child in switch.children if (name, child) not in cut]


def _circle(path: dict[str, None], child: str) -> str:
    """The way from a switch back to itself, its middle left out when it is long."""
    back: list[str] = []
    for name in reversed(path):
        back.append(name)
        if name == child or len(back) > 6:
            break
    start = [child] if back[-1] == child else [child, "…"]
    return " → ".join([*start, *reversed(back[:-1]), child])


class _Drawer:
    def __init__(self, topology: SlurmTopology, name: str) -> None:
        self._topology = topology
        self._reading = topology.reading
        self._builder = DrawingBuilder(topology.reading, name)
        self._models = Models(topology.reading, network="infiniband")
        self._parents: dict[str, list[str]] = defaultdict(list)
        self._ids: dict[str, str] = {}

    def draw(self) -> Drawing:
        """Switches from the top down, racks, hosts, links."""
        switches = self._topology.switches
        for switch in switches.values():
            for child in switch.children:
                self._parents[child].append(switch.name)
        on = self._switches_of_nodes()
        racks = self._racks()
        rate = self._models.network_bytes_per_s()
        uplinks = self._uplinks(on)
        rails = self._rails(on)
        self._draw_switches(uplinks, rate, on, rails)
        above = dict(on)
        if not switches and self._with_block_switches():
            above = self._draw_block_switches(rate)
        self._draw_hosts(above, racks, rate, rails)
        for (child, parent), count in uplinks.items():
            self._builder.link(self._ids[child], self._ids[parent], self._models.network(), rate, count)
        self._say(len(set(on) | set(racks)))
        return self._builder.drawing(whole=True)

    def _say(self, nodes: int) -> None:
        roots = [name for name in self._topology.switches if not self._parents[name]]
        parts = []
        if self._topology.switches:
            parts.append(plural(len(self._topology.switches), "switch", "switches"))
        if self._topology.blocks:
            parts.append(plural(len(self._topology.blocks), "block"))
        self._reading.found(f"{', '.join(parts)} and {plural(nodes, 'node')}.")
        if len(roots) > 1:
            self._reading.found(
                f"{len(roots):,} switches have none above them ({name_list(roots)}): no job spans them."
            )
        several = [name for name, above in self._parents.items() if len(above) > 1]
        if several:
            self._reading.contradictory(
                f"{plural(len(several), 'switch', 'switches')} below several others, where Slurm takes one: "
                f"{name_list(several)}; all are drawn.",
                *(self._topology.switches[name].line for name in several),
            )

    def _switches_of_nodes(self) -> dict[str, list[str]]:
        on: dict[str, list[str]] = defaultdict(list)
        for switch in self._topology.switches.values():
            for node in dict.fromkeys(switch.nodes):
                on[node].append(switch.name)
        several = [node for node, switches in on.items() if len(switches) > 1]
        if several:
            lines = {self._topology.switches[name].line for node in several for name in on[node]}
            self._reading.contradictory(
                f"{plural(len(several), 'node')} on several switches, where Slurm takes one: "
                f"{name_list(several)}; drawn with a network card for each.",
                *sorted(lines),
            )
        return on

    def _rails(self, on: dict[str, list[str]]) -> dict[str, int]:
        """The rail of each switch, where nodes are on several and each has the same place at all of them."""
        places: dict[str, set[int]] = defaultdict(set)
        for switches in on.values():
            for place, name in enumerate(switches):
                places[name].add(place)
        only = {name: next(iter(found)) for name, found in places.items() if len(found) == 1}
        if len(only) < len(places) or len(set(only.values())) < 2:
            return {}
        self._reading.inferred(f"{len(set(only.values()))} rails told by the switches that nodes are on.")
        return only

    def _racks(self) -> dict[str, str]:
        """The block of each node."""
        racks: dict[str, str] = {}
        for block in self._topology.blocks.values():
            for node in dict.fromkeys(block.nodes):
                if node in racks:
                    self._reading.contradictory(
                        "Nodes in several blocks were taken for those of the first.",
                        self._topology.blocks[racks[node]].line,
                        block.line,
                    )
                else:
                    racks[node] = block.name
        if racks:
            self._reading.inferred("A block is drawn as a rack.")
        return racks

    def _heights(self) -> dict[str, int]:
        """Switches between each one and the lowest below it."""
        waiting = {name: len(switch.children) for name, switch in self._topology.switches.items()}
        ready = [name for name, count in waiting.items() if not count]
        heights = dict.fromkeys(ready, 0)
        for name in ready:
            for parent in self._parents[name]:
                heights[parent] = max(heights.get(parent, 0), heights[name] + 1)
                waiting[parent] -= 1
                if not waiting[parent]:
                    ready.append(parent)
        return heights

    def _uplinks(self, on: dict[str, list[str]]) -> dict[tuple[str, str], int]:
        """Cables between each switch and those above it."""
        pairs = [(child, parent) for child, above in self._parents.items() for parent in above]
        if not pairs:
            return {}
        choices = (
            ("full", "as fast as all nodes below"),
            ("half", "half as fast as all nodes below"),
            ("one", "one cable"),
        )
        answer = self._reading.ask(
            Question(
                "uplinks",
                "How wide is the way from a switch to the one above it?",
                "full",
                choices,
                why="Slurm's file has neither cables nor speeds; it decides what is a bottleneck.",
            )
        )
        below: Counter[str] = Counter(name for names in on.values() for name in names)
        up: dict[tuple[str, str], int] = {}
        heights = self._heights()
        for name in sorted(heights, key=heights.__getitem__):
            above = self._parents[name]
            for parent in above:
                share = below[name] / len(above)
                wanted = math.ceil(share * _WIDTHS.get(answer, 0.0))
                up[name, parent] = min(max(wanted, 1), MOST_CABLES)
                below[parent] += math.ceil(share)
        return {pair: up[pair] for pair in pairs}

    def _draw_switches(
        self,
        uplinks: dict[tuple[str, str], int],
        rate: float,
        on: dict[str, list[str]],
        rails: dict[str, int],
    ) -> None:
        ports: Counter[str] = Counter(name for names in on.values() for name in names)
        for (child, parent), count in uplinks.items():
            ports[child] += count
            ports[parent] += count
        heights = self._heights()
        tiers = {name: _TIERS[min(height, 2)] for name, height in heights.items()}
        for tier in reversed(_TIERS):
            names = [name for name in self._topology.switches if tiers[name] is tier]
            if not names:
                continue
            model = self._models.switch(tier.value, rate, max(ports[name] for name in names))
            for name in names:
                self._ids[name] = self._builder.device(name, tier, model, rail=rails.get(name))
        if len(set(tiers.values())) > 1:
            self._reading.inferred(
                "Tiers told by the tree: switches with nodes are leaves, those above spines, others cores. "
                "An upper switch of a tree often stands for several."
            )

    def _with_block_switches(self) -> bool:
        question = Question(
            "block_switches",
            "Are the blocks to be joined by switches?",
            "no",
            (("no", "no, only racks with nodes"), ("yes", "yes, a leaf for each block and a spine over all")),
            why="A block topology names no switches.",
        )
        return self._reading.ask(question) == "yes"

    def _draw_block_switches(self, rate: float) -> dict[str, list[str]]:
        """A leaf for each block and one spine; gives the leaf of each node."""
        blocks = self._topology.blocks
        total = sum(len(block.nodes) for block in blocks.values())
        spine = self._builder.device("spine", DeviceKind.SPINE, self._models.switch("spine", rate, total))
        largest = max(len(block.nodes) for block in blocks.values())
        model = self._models.switch("leaf", rate, 2 * largest)
        above: dict[str, list[str]] = {}
        for block in blocks.values():
            leaf = self._ids[f"leaf of {block.name}"] = self._builder.device(
                f"{block.name}-leaf", DeviceKind.LEAF, model
            )
            self._builder.link(leaf, spine, self._models.network(), rate, max(1, len(block.nodes)))
            for node in block.nodes:
                above.setdefault(node, [f"leaf of {block.name}"])
        return above

    def _draw_hosts(
        self, above: dict[str, list[str]], racks: dict[str, str], rate: float, rails: dict[str, int]
    ) -> None:
        rack_ids = {
            block: self._builder.container(block, ContainerKind.RACK) for block in self._topology.blocks
        }
        nodes = dict.fromkeys([*above, *racks])
        if not nodes:
            return
        model = self._models.nic(rate, 1).id
        network = self._models.network()
        for node in nodes:
            rack = racks.get(node)
            tray = self._builder.container(
                node, ContainerKind.TRAY, parent=rack_ids[rack] if rack is not None else None
            )
            for number, switch in enumerate(above.get(node) or [""]):
                nic = self._builder.device(
                    f"{tray}.nic{number}", DeviceKind.NIC, model, parent=tray, rail=rails.get(switch)
                )
                if switch:
                    self._builder.link(nic, self._ids[switch], network, rate)
