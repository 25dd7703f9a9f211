"""The network as built against the network as designed: cables that are missing, too many, or elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from model.document.document import Document
from model.document.merge_hosts import match_things
from model.document.start import Content
from model.errors import EditRefused
from model.text import format_port, name_list, plural
from model.topology.graph import Topology
from model.topology.types import NETWORK_LINKS, ContainerKind, Device, DeviceKind, Link

Pair = tuple[str, str]  # ids of the two ends, ours where they have a match, in order


class DifferenceKind(StrEnum):
    """Kinds of difference, in the order in which they are listed."""

    SWAPPED = "swapped"
    MOVED = "moved"
    WRONG_RAIL = "wrong-rail"
    MISSING_CABLE = "missing-cable"
    EXTRA_CABLE = "extra-cable"
    OTHER_COUNT = "other-count"
    OTHER_SPEED = "other-speed"
    OTHER_PORT = "other-port"
    MISSING_DEVICE = "missing-device"
    EXTRA_DEVICE = "extra-device"


DIFFERENCE_NAMES: Mapping[DifferenceKind, str] = {
    DifferenceKind.SWAPPED: "Swapped cables",
    DifferenceKind.MOVED: "Cables with one end elsewhere",
    DifferenceKind.WRONG_RAIL: "Hosts on the wrong rail",
    DifferenceKind.MISSING_CABLE: "Missing cables",
    DifferenceKind.EXTRA_CABLE: "Cables that are not in the design",
    DifferenceKind.OTHER_COUNT: "Bundles with another number of cables",
    DifferenceKind.OTHER_SPEED: "Cables with another speed",
    DifferenceKind.OTHER_PORT: "Cables in other ports",
    DifferenceKind.MISSING_DEVICE: "Missing devices",
    DifferenceKind.EXTRA_DEVICE: "Devices that are not in the design",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: a sentence, ids of the design to go to, and ids of the drawing as built."""

    kind: DifferenceKind
    text: str
    devices: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    built: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences, by kind; how many devices have a match, and how many cables are as designed."""

    differences: tuple[Difference, ...]
    devices: int
    cables: int
    notes: tuple[str, ...] = ()

    def of(self, kind: DifferenceKind) -> tuple[Difference, ...]:
        """The differences of a kind."""
        return tuple(each for each in self.differences if each.kind is kind)

    def counts(self) -> dict[DifferenceKind, int]:
        """How many there are of each kind that occurs."""
        return dict(Counter(each.kind for each in self.differences))


def compare(document: Document, built: Content, *, speeds: bool = True) -> Comparison:
    """Compare the network links of the design with those of a drawing as built.

    Devices are matched by name (`same_names`), inside of hosts also by rail, number and order; cables by
    their ends. `speeds` False where those of the drawing are assumptions. Raises `EditRefused` where no
    device matches.
    """
    work = _Comparing(document.topology, built)
    if not work.matched:
        name = built.name or "the file"
        raise EditRefused(
            f"No device of {name} has the name of one in the drawing, so they cannot be compared."
        )
    work.compare(speeds)
    order = list(DifferenceKind)
    differences = tuple(sorted(work.found, key=lambda each: order.index(each.kind)))
    return Comparison(differences, len(work.matched), work.same, tuple(work.notes))


@dataclass(slots=True)
class _Cables:
    """The cables between pairs of devices: how many, by which links, and their order of appearance."""

    counts: dict[Pair, int] = field(default_factory=dict)
    links: dict[Pair, list[Link]] = field(default_factory=dict)

    def add(self, pair: Pair, link: Link) -> None:
        self.counts[pair] = self.counts.get(pair, 0) + link.count
        self.links.setdefault(pair, []).append(link)

    def ids(self, pair: Pair) -> tuple[str, ...]:
        return tuple(link.id for link in self.links.get(pair, ()))

    def speed(self, pair: Pair) -> float:
        """The total rate of all cables of a pair."""
        return sum(link.nominal_bytes_per_s for link in self.links[pair])


class _Units:
    """Single cables, taken one after the other, and found by an end."""

    def __init__(self, counts: Mapping[Pair, int]) -> None:
        self.left = dict(counts)
        self._at: dict[str, list[Pair]] = {}
        for pair in counts:
            for end in pair:
                self._at.setdefault(end, []).append(pair)

    def at(self, device: str) -> list[Pair]:
        return [pair for pair in self._at.get(device, ()) if self.left[pair] > 0]

    def has(self, pair: Pair, besides: Sequence[Pair] = ()) -> bool:
        return self.left.get(pair, 0) > sum(other == pair for other in besides)

    def take(self, pair: Pair) -> None:
        self.left[pair] -= 1


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a <= b else (b, a)


def _other(pair: Pair, end: str) -> str:
    return pair[1] if pair[0] == end else pair[0]


class _Comparing:
    def __init__(self, topology: Topology, built: Content) -> None:
        self._topology, self._built = topology, built
        self.matched = match_things(topology, built).devices
        self._hosts = {topology.device(ident).parent for ident in self.matched.values()}
        self._their_name = {our: their for their, our in self.matched.items()}
        self._found: dict[Difference, int] = {}  # how often each
        self.notes: list[str] = []
        self.same = 0
        self._host = self._plain_hosts()
        self._design, self._as_built = _Cables(), _Cables()
        known = self._their_name.keys() | self._host.keys()
        for link in topology.links():
            if link.kind in NETWORK_LINKS and {link.a, link.b} <= known:
                self._design.add(self._ends(link.a, link.b), link)
        for link in built.links:
            if link.kind in NETWORK_LINKS and {link.a, link.b} <= self.matched.keys():
                self._as_built.add(self._ends(self.matched[link.a], self.matched[link.b]), link)

    def _ends(self, a: str, b: str) -> Pair:
        a, b = self._host.get(a, a), self._host.get(b, b)
        return (a, b) if a <= b else (b, a)

    def _plain_hosts(self) -> dict[str, str]:
        """Our NICs with their host, where that has a single NIC for all its cables as built."""
        theirs = Counter(device.parent for device in self._built.devices if device.kind is DeviceKind.NIC)
        found: dict[str, str] = {}
        hosts = 0
        for device in self._built.devices:
            our = self.matched.get(device.id)
            host = self._topology.device(our).parent if our is not None else None
            if host is None or device.kind is not DeviceKind.NIC or theirs[device.parent] != 1:
                continue
            inside = (ident for ident in self._topology.descendants(host) if self._topology.has_device(ident))
            nics = [ident for ident in inside if self._topology.device(ident).kind is DeviceKind.NIC]
            if len(nics) > 1:
                found |= dict.fromkeys(nics, host)
                hosts += 1
        if hosts:
            self.notes.append(
                f"{plural(hosts, 'host')} with one NIC for all their cables as built are compared by host."
            )
        return found

    @property
    def found(self) -> list[Difference]:
        """The differences; equal ones, of the cables of a bundle, are one."""
        return [
            each if times == 1 else replace(each, text=f"{each.text.rstrip('.')} ({times:,} cables).")
            for each, times in self._found.items()
        ]

    def _add(self, difference: Difference) -> None:
        self._found[difference] = self._found.get(difference, 0) + 1

    def compare(self, speeds: bool) -> None:
        design, built = self._design.counts, self._as_built.counts
        self.same = sum(min(count, built.get(pair, 0)) for pair, count in design.items())
        missing = _Units({pair: count - built.get(pair, 0) for pair, count in design.items()})
        extra = _Units({pair: count - design.get(pair, 0) for pair, count in built.items()})
        self._swapped(missing, extra)
        self._moved(missing, extra)
        self._left(missing, extra)
        if speeds:
            self._speeds()
        else:
            self.notes.append("Speeds are not compared: the file does not say them.")
        self._ports()
        self._rails()
        self._devices()

    def _say(
        self, kind: DifferenceKind, text: str, pairs: Iterable[Pair], links: Iterable[Pair] = ()
    ) -> None:
        """A difference at some pairs of devices; `links` are those whose links in the design it is about."""
        devices = dict.fromkeys(end for pair in pairs for end in pair)
        idents = dict.fromkeys(ident for pair in links for ident in self._design.ids(pair))
        names = tuple(self._their_name.get(device, device) for device in devices)
        self._add(Difference(kind, text, tuple(devices), tuple(idents), names))

    # Cables

    def _swapped(self, missing: _Units, extra: _Units) -> None:
        for pair in self._design.counts:
            while missing.has(pair):
                other = self._partner(pair, missing, extra)
                if other is None:
                    break
                second, exchanged = other
                for gone in (pair, second):
                    missing.take(gone)
                for there in exchanged:
                    extra.take(there)
                (a, b), (c, d) = pair, second
                self._say(
                    DifferenceKind.SWAPPED,
                    f"{a} – {b} and {c} – {d} are exchanged: built are "
                    f"{' and '.join(f'{x} – {y}' for x, y in exchanged)}.",
                    (pair, second),
                    (pair, second),
                )

    def _partner(self, pair: Pair, missing: _Units, extra: _Units) -> tuple[Pair, tuple[Pair, Pair]] | None:
        """Another missing cable with which this one changed an end, and the two cables that are there."""
        for stays in pair:
            goes = _other(pair, stays)
            for there in extra.at(stays):
                wrong = _other(there, stays)
                if wrong == goes:
                    continue
                for second in missing.at(wrong):
                    end = _other(second, wrong)
                    back = _pair(end, goes)
                    if second != pair and end not in (stays, goes) and extra.has(back, (there,)):
                        return second, (there, back)
        return None

    def _moved(self, missing: _Units, extra: _Units) -> None:
        for pair in self._design.counts:
            for stays in sorted(pair, key=self._is_switch):
                while missing.has(pair) and extra.at(stays):
                    there = extra.at(stays)[0]
                    missing.take(pair)
                    extra.take(there)
                    self._say(
                        DifferenceKind.MOVED,
                        f"{stays} is cabled to {_other(there, stays)} instead of {_other(pair, stays)}.",
                        (pair, there),
                        (pair,),
                    )

    def _is_switch(self, end: str) -> bool:
        """Whether an end is a device of the network, not one of a host."""
        return self._topology.has_device(end) and self._topology.device(end).kind is not DeviceKind.NIC

    def _left(self, missing: _Units, extra: _Units) -> None:
        """What is simply missing or too many; another count where a part is there."""
        for units, kind in ((missing, DifferenceKind.MISSING_CABLE), (extra, DifferenceKind.EXTRA_CABLE)):
            for pair, count in units.left.items():
                if count <= 0:
                    continue
                designed, built = self._design.counts.get(pair, 0), self._as_built.counts.get(pair, 0)
                a, b = pair
                if designed and built:
                    text = f"{a} – {b}: {plural(designed, 'cable')} in the design, {built:,} built."
                    self._say(DifferenceKind.OTHER_COUNT, text, (pair,), (pair,))
                elif kind is DifferenceKind.MISSING_CABLE:
                    self._say(kind, f"{a} – {b}: {plural(count, 'cable')} missing.", (pair,), (pair,))
                else:
                    self._say(kind, f"{a} – {b}: {plural(count, 'cable')} too many.", (pair,))

    def _speeds(self) -> None:
        for pair, count in self._design.counts.items():
            built = self._as_built.counts.get(pair, 0)
            if not built:
                continue
            wanted, found = self._design.speed(pair) / count, self._as_built.speed(pair) / built
            if abs(wanted - found) > 1e-3 * wanted:
                text = (
                    f"{pair[0]} – {pair[1]}: {format_port(wanted)} in the design, {format_port(found)} built."
                )
                self._say(DifferenceKind.OTHER_SPEED, text, (pair,), (pair,))

    def _ports(self) -> None:
        """Cables of the right devices in other ports, where the ids of links on both sides name ports."""
        for pair, links in self._design.links.items():
            designed = Counter(filter(None, (ports_in(link, {}) for link in links)))
            there = self._as_built.links.get(pair, [])
            built = Counter(filter(None, (ports_in(link, self.matched) for link in there)))
            if sum(designed.values()) == len(links) and sum(built.values()) == len(there):
                for wanted, found in zip(
                    (designed - built).elements(), (built - designed).elements(), strict=False
                ):
                    text = f"{_at(pair, wanted)} in the design is {_at(pair, found)} as built."
                    self._say(DifferenceKind.OTHER_PORT, text, (pair,), (pair,))

    # Rails and devices

    def _rails(self) -> None:
        """Hosts of which NICs are cabled to leaves of another rail."""
        wrong: dict[str, list[tuple[Device, Device]]] = {}
        for pair in self._as_built.counts:
            ends = [self._topology.device(end) for end in pair if self._topology.has_device(end)]
            nic = next((end for end in ends if end.kind is DeviceKind.NIC), None)
            leaf = next((end for end in ends if end.kind is DeviceKind.LEAF), None)
            if nic is None or leaf is None or None in (nic.rail, leaf.rail) or nic.rail == leaf.rail:
                continue
            wrong.setdefault(nic.parent or nic.id, []).append((nic, leaf))
        for host, cables in wrong.items():
            spelled = name_list(
                [f"{nic.id} (rail {nic.rail}) on {leaf.id} (rail {leaf.rail})" for nic, leaf in cables]
            )
            self._say(
                DifferenceKind.WRONG_RAIL,
                f"{host}: {spelled}.",
                [(nic.id, leaf.id) for nic, leaf in cables],
                [_pair(nic.id, leaf.id) for nic, leaf in cables],
            )

    def _devices(self) -> None:
        """Devices without a match, hosts as one, of the kinds that both sides have."""
        kinds = {device.kind for device in self._built.devices}
        trays = {box.id for box in self._topology.containers() if box.kind is ContainerKind.TRAY}
        gone = [
            device
            for device in self._topology.devices()
            if device.kind in kinds and device.id not in self._their_name and device.id not in self._host
        ]
        for ident, inside in _by_host(gone, trays).items():
            part = ident in self._hosts
            text = self._lacks(ident, inside) if part else f"{ident} is missing{_with(inside, ident)}."
            self._add(Difference(DifferenceKind.MISSING_DEVICE, text, tuple(d.id for d in inside)))
        their_trays = {box.id for box in self._built.containers if box.kind is ContainerKind.TRAY}
        own_kinds = {device.kind for device in self._topology.devices()}
        more = [
            device
            for device in self._built.devices
            if device.kind in own_kinds and device.id not in self.matched
        ]
        for ident, inside in _by_host(more, their_trays).items():
            text = f"{ident} is not in the design{_with(inside, ident)}."
            names = tuple(device.id for device in inside)
            self._add(Difference(DifferenceKind.EXTRA_DEVICE, text, built=names))

    def _lacks(self, host: str, inside: Sequence[Device]) -> str:
        """What a host lacks; with a NIC that has one cable, where that goes: often it alone is missing."""
        names: list[str] = []
        for device in inside:
            cables = [link for link in self._topology.links_of(device.id) if link.kind in NETWORK_LINKS]
            far = f" (in the design cabled to {cables[0].other(device.id)})" if len(cables) == 1 else ""
            names.append(f"{device.id.removeprefix(f'{host}.')}{far}")
        return f"{host} is there without {name_list(names)}."


def _by_host(devices: Sequence[Device], trays: set[str]) -> dict[str, list[Device]]:
    found: dict[str, list[Device]] = {}
    for device in devices:
        host = device.parent if device.parent in trays else None
        found.setdefault(host or device.id, []).append(device)
    return found


def _with(inside: Sequence[Device], ident: str) -> str:
    """ " (nic0, nic1)" where a host is meant; nothing for a device by itself."""
    names = [device.id for device in inside]
    return "" if names == [ident] else f" ({name_list(names)})"


def ports_in(link: Link, ours: Mapping[str, str]) -> tuple[str, str] | None:
    """The ports that a link's id names ("leaf1:swp1--node5:eth0"), in the order of `_pair` of its ends.

    `ours` are ids of the design by those as built. None where it names none.
    """
    for first, second in ((link.a, link.b), (link.b, link.a)):
        if link.id.startswith(f"{first}:"):
            head, separator, tail = link.id[len(first) + 1 :].partition("--")
            if separator and head and tail.startswith(f"{second}:"):
                port = tail[len(second) + 1 :].strip()
                a, b = ours.get(first, first), ours.get(second, second)
                return (head.strip(), port) if a <= b else (port, head.strip())
    return None


def _at(pair: Pair, ports: tuple[str, str]) -> str:
    return f"{pair[0]}:{ports[0]} – {pair[1]}:{ports[1]}"
