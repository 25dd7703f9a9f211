"""A drawing of hosts, switches and cables: hosts as trays with a NIC for each port, switches in tiers, and
parallel cables as one link. What the cables do not say (speeds, products) is asked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from model.files.importing import Drawing, Question
from model.files.imports.building import DrawingBuilder
from model.files.imports.cabling import SWITCHES, Box, Cable, Cabling, End, Role
from model.files.imports.cabling_racks import with_places
from model.files.imports.cabling_rails import find_rails, list_uneven, natural
from model.files.imports.cabling_roles import settle_roles
from model.files.imports.graph_models import BYTES_PER_GBIT, Models
from model.topology.types import ContainerKind, DeviceKind, LinkKind, State

_KINDS = {
    Role.LEAF: DeviceKind.LEAF,
    Role.SPINE: DeviceKind.SPINE,
    Role.CORE: DeviceKind.CORE,
    Role.STORAGE: DeviceKind.STORAGE,
    Role.GATEWAY: DeviceKind.SITE_GATEWAY,
}
_GENERIC = {Role.STORAGE: "storage", Role.GATEWAY: "site-gateway"}
_BREAKOUT = re.compile(
    r"(?P<port>(?:swp\d+|e\d+-\d+|Ethernet\d+|Eth\d+|et-\d+/\d+/\d+))(?:s|-|/|:)(?P<part>\d{1,2})"
)
_RATES = tuple((str(rate), f"{rate} Gb/s") for rate in (10, 25, 50, 100, 200, 400, 800, 1600))


class NetworkModels(Models):
    """Models for files that are of one network only, so that it is not asked for."""

    def __init__(self, cabling: Cabling) -> None:
        super().__init__(cabling.reading, network=cabling.network.value)
        self._kind = cabling.network

    def network(self) -> LinkKind:
        """The network of the file."""
        return self._kind


def draw(cabling: Cabling, name: str) -> Drawing:
    """The drawing of a cabling; settles its roles and speeds on the way."""
    settle_roles(cabling)
    cabling.say_found()
    _name_ports(cabling)
    models = NetworkModels(cabling)
    _settle_rates(cabling, models)
    return _Drawer(cabling, models, name).draw()


def _name_ports(cabling: Cabling) -> None:
    """A name for each port of a host that has none in the file, so that it gets a NIC of its own."""
    taken: dict[str, set[str]] = defaultdict(set)
    unnamed: list[Cable] = []
    for cable in cabling.cables:
        for end in cable.ends():
            taken[end.box].add(end.port)
        if not (cable.a.port and cable.b.port):
            unnamed.append(cable)
    number: dict[str, int] = defaultdict(int)
    for cable in unnamed:
        cable.a, cable.b = (
            _with_port(end, taken[end.box], number) if cabling.boxes[end.box].role is Role.HOST else end
            for end in cable.ends()
        )


def _with_port(end: End, taken: set[str], number: dict[str, int]) -> End:
    if end.port:
        return end
    while f"nic{number[end.box]}" in taken:
        number[end.box] += 1
    number[end.box] += 1
    return End(end.box, f"nic{number[end.box] - 1}")


def _settle_rates(cabling: Cabling, models: Models) -> None:
    """A speed for each cable that has none: asked once for hosts, once for between switches."""
    unknown = [cable for cable in cabling.cables if not cable.rate]
    if not unknown:
        return
    parts = _parts(cabling, unknown)
    host_rate = models.network_bytes_per_s()
    switch_rate = 0.0
    for cable in unknown:
        between = all(cabling.boxes[end.box].role in SWITCHES for end in cable.ends())
        if between and not switch_rate:
            switch_rate = _switch_rate(cabling, host_rate)
        rate = switch_rate if between else host_rate
        cable.rate = rate / max(parts.get(end.box, {}).get(_port(end.port), 1) for end in cable.ends())


def _switch_rate(cabling: Cabling, host_rate: float) -> float:
    default = f"{host_rate / BYTES_PER_GBIT:g}"
    question = Question(
        "uplink_gbit_per_s",
        "How fast is a cable between two switches that has no speed in the file?",
        default,
        _RATES,
        "Gb/s",
        "It decides whether the network above the leaves is a bottleneck.",
    )
    return float(cabling.reading.ask(question)) * BYTES_PER_GBIT


def _port(text: str) -> str:
    """The port that a part of it is of: "swp5s0" → "swp5"; "" for a whole port."""
    found = _BREAKOUT.fullmatch(text[:40])
    return found["port"] if found else ""


def _parts(cabling: Cabling, cables: Sequence[Cable]) -> Mapping[str, Mapping[str, int]]:
    """In how many parts each split port is split, by box and port. Told by the largest part, or asked."""
    largest: dict[str, dict[str, int]] = defaultdict(dict)
    lines: list[int] = []
    for cable in cables:
        for end in cable.ends():
            # "Ethernet1/1" is slot 1, port 1 on modular switches, so only the unmistakable form counts.
            found = re.fullmatch(r"(swp\d+)s(\d{1,2})", end.port[:40])
            if found and cabling.boxes[end.box].role is not Role.HOST:
                ports = largest[end.box]
                ports[found[1]] = max(ports.get(found[1], 0), int(found[2]))
                lines.append(cable.line)
    if not largest:
        return {}
    least = 2
    if any(part < 1 for ports in largest.values() for part in ports.values()):
        question = Question(
            "breakout_parts",
            "In how many parts is a port split of which only the first part is in the file (swp5s0)?",
            "2",
            (("1", "not split"), ("2", "two"), ("4", "four"), ("8", "eight")),
            why="A part of a port has that part of its speed.",
        )
        least = int(cabling.reading.ask(question))
    cabling.reading.inferred(
        "Split ports (swp5s0): a part has its part of the speed.", *sorted(set(lines) - {0})
    )
    return {
        box: {port: _power(part + 1) if part else least for port, part in ports.items()}
        for box, ports in largest.items()
    }


def _power(parts: int) -> int:
    """The next number of parts that ports are split in."""
    return 2 if parts <= 2 else 4 if parts <= 4 else 8


class _Drawer:
    def __init__(self, cabling: Cabling, models: Models, name: str) -> None:
        self._cabling = cabling
        self._models = models
        self._builder = DrawingBuilder(cabling.reading, name)
        self._racks: dict[str, str] = {}
        self._boxes: dict[str, str] = {}  # id of a switch or tray
        self._nics: dict[tuple[str, str], str] = {}
        self._racked: dict[str, Box] = {}
        self._nic_models: dict[float, str] = {}

    def draw(self) -> Drawing:
        """Racks, switches, hosts, links."""
        rails = find_rails(self._cabling)
        list_uneven(self._cabling)
        rates: dict[str, list[float]] = defaultdict(list)
        for cable in self._cabling.cables:
            for end in cable.ends():
                rates[end.box].append(cable.rate)
        models = self._switch_models(rates)
        for role in (Role.CORE, Role.SPINE, Role.LEAF, Role.GATEWAY, Role.STORAGE):
            for box in self._cabling.with_role(role):
                self._switch(box, models.get(role, ""), rails.leaves.get(box.name))
        self._hosts(rails.ports, rates)
        self._links()
        return with_places(self._cabling.reading, self._builder.drawing(whole=True), self._racked)

    def _rack(self, box: Box) -> str | None:
        if not box.rack:
            return None
        if box.rack not in self._racks:
            self._racks[box.rack] = self._builder.container(box.rack, ContainerKind.RACK)
        return self._racks[box.rack]

    def _switch_models(self, rates: Mapping[str, Sequence[float]]) -> dict[Role, str]:
        """What the switches of a tier are that have no model: told by the fullest of them, or asked."""
        found: dict[Role, str] = {}
        for role in (Role.LEAF, Role.SPINE, Role.CORE):
            boxes = [box for box in self._cabling.with_role(role) if not box.model]
            if boxes:
                fullest = max(len(rates[box.name]) for box in boxes)
                fastest = max((max(rates[box.name], default=0.0) for box in boxes), default=0.0)
                found[role] = self._models.switch(role.value, fastest, fullest)
        found.update(_GENERIC)
        return found

    def _switch(self, box: Box, model: str, rail: int | None) -> None:
        parent = self._rack(box)
        ident = self._builder.device(box.name, _KINDS[box.role], box.model or model, parent=parent, rail=rail)
        self._boxes[box.name] = ident
        self._racked[ident] = box

    def _hosts(self, rails: Mapping[str, int], rates: Mapping[str, Sequence[float]]) -> None:
        ports: dict[str, dict[str, float]] = defaultdict(dict)
        for cable in self._cabling.cables:
            for end in cable.ends():
                if self._cabling.boxes[end.box].role is Role.HOST:
                    known = ports[end.box].get(end.port, 0.0)
                    ports[end.box][end.port] = max(known, cable.rate)
        for box in self._cabling.with_role(Role.HOST):
            tray = self._builder.container(box.name, ContainerKind.TRAY, parent=self._rack(box))
            self._boxes[box.name] = tray
            self._racked[tray] = box
            found = ports[box.name]
            for port in sorted({**found, **dict.fromkeys(box.nics, 0.0)} or {"nic0": 0.0}, key=natural):
                model = box.nics.get(port) or self._nic(found.get(port, 0.0))
                self._nics[box.name, port] = self._builder.device(
                    f"{tray}.{port}", DeviceKind.NIC, model, parent=tray, rail=rails.get(port)
                )

    def _nic(self, rate: float) -> str:
        if rate not in self._nic_models:
            self._nic_models[rate] = self._models.nic(rate, 1).id
        return self._nic_models[rate]

    def _links(self) -> None:
        """One link for all equal cables between the same two devices."""
        bundles: dict[tuple[str, str, float, State, float | None], list[Cable]] = defaultdict(list)
        for cable in self._cabling.cables:
            a, b = (self._device(end.box, end.port) for end in cable.ends())
            pair = (b, a) if (b, a, cable.rate, cable.state, cable.length_m) in bundles else (a, b)
            bundles[*pair, cable.rate, cable.state, cable.length_m].append(cable)
        for (a, b, rate, state, length), cables in bundles.items():
            line = cables[0].line or None
            self._builder.link(
                a, b, self._models.network(), rate, len(cables), state=state, length_m=length, line=line
            )

    def _device(self, box: str, port: str) -> str:
        return self._nics.get((box, port)) or self._boxes[box]
