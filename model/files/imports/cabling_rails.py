"""Rails told by the cabling: the same port of most hosts on the same leaves. What differs is listed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from model.files.importing import NoteKind
from model.files.imports.cabling import Cabling, Role
from model.text import name_list, plural

MOST_LISTED = 20  # hosts or switches of one kind of oddity that are named
_USUAL = 0.3  # share of the hosts that have a port with this name
_ALMOST_ALL = 0.8
_MAIN = 0.5  # of the commonest port of a leaf: what else belongs to the leaf


@dataclass(frozen=True, slots=True)
class _HostCable:
    host: str
    port: str
    leaf: str
    line: int


@dataclass(frozen=True, slots=True)
class Rails:
    """The rail of host ports, by name of the port, and of leaves that serve one rail."""

    ports: Mapping[str, int] = field(default_factory=dict)
    leaves: Mapping[str, int] = field(default_factory=dict)


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts numbers in names by their value: "mlx5_2" before "mlx5_10"."""
    parts = re.findall(r"\d+|\D+", text)
    return tuple(
        (int(part[:18]), part) if part[0].isascii() and part[0].isdigit() else (-1, part) for part in parts
    )


def find_rails(cabling: Cabling) -> Rails:
    """The rails of a cabling whose roles are settled; none where hosts are not cabled by rail."""
    cables = list(_host_cables(cabling))
    hosts = {cable.host for cable in cables}
    with_port = Counter(port for _, port in {(cable.host, cable.port) for cable in cables})
    usual = sorted(
        (port for port, count in with_port.items() if count >= max(2, _USUAL * len(hosts))), key=natural
    )
    leaves = {cable.leaf for cable in cables}
    if len(hosts) < 2 or len(usual) < 2 or len(leaves) < 2:
        return Rails()
    main = _main_ports(cables, set(usual))
    narrow = {leaf for leaf, ports in main.items() if 2 * len(ports) <= len(usual)}
    fitting = sum(1 for cable in cables if cable.leaf in narrow and cable.port in main[cable.leaf])
    if fitting < _ALMOST_ALL * sum(1 for cable in cables if cable.port in set(usual)):
        cabling.reading.inferred(
            "Hosts are not cabled by rail: ports of one name are on all kinds of leaves."
        )
        return Rails()
    ports = {port: rail for rail, port in enumerate(usual)}
    rails = Rails(ports, {leaf: ports[next(iter(found))] for leaf, found in main.items() if len(found) == 1})
    cabling.reading.inferred(
        f"{plural(len(usual), 'rail')} told by the cabling: {name_list(usual, 8)} of most hosts "
        "are each on leaves of their own."
    )
    _list_miscabled(cabling, cables, main, set(usual))
    _list_missing(cabling, cables, [port for port in usual if with_port[port] >= _ALMOST_ALL * len(hosts)])
    return rails


def _host_cables(cabling: Cabling) -> Iterator[_HostCable]:
    for cable in cabling.cables:
        for end, far in (cable.ends(), (cable.b, cable.a)):
            if (
                cabling.boxes[end.box].role is Role.HOST
                and cabling.boxes[far.box].role is Role.LEAF
                and end.port
            ):
                yield _HostCable(end.box, end.port, far.box, cable.line)


def _main_ports(cables: Iterable[_HostCable], usual: set[str]) -> dict[str, set[str]]:
    """For each leaf the host ports that belong to it by number."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for cable in cables:
        if cable.port in usual:
            counts[cable.leaf][cable.port] += 1
    return {
        leaf: {port for port, count in found.items() if count >= _MAIN * max(found.values())}
        for leaf, found in counts.items()
    }


def _list_miscabled(
    cabling: Cabling, cables: Iterable[_HostCable], main: Mapping[str, set[str]], usual: set[str]
) -> None:
    wrong: dict[str, list[_HostCable]] = defaultdict(list)
    for cable in cables:
        if cable.port in usual and cable.port not in main[cable.leaf]:
            wrong[cable.host].append(cable)
    texts = []
    for host, found in sorted(wrong.items(), key=lambda pair: natural(pair[0])):
        crossed = len(found) == 2 and all(
            any(other.port in main[cable.leaf] for other in found if other is not cable) for cable in found
        )
        if crossed:
            ports = sorted({cable.port for cable in found}, key=natural)
            how = f"{' and '.join(ports)} are swapped"
        else:
            how = "; ".join(_where(cable, main[cable.leaf]) for cable in found[:3])
        text = f"{host} is cabled unlike most hosts: {how}"
        texts.append((f"{text}.", [cable.line for cable in found if cable.line]))
    _list(cabling, NoteKind.CONTRADICTORY, texts, "are cabled unlike most hosts, too")


def _where(cable: _HostCable, main: Iterable[str]) -> str:
    own = " and ".join(sorted(main, key=natural))
    return f"{cable.port} is on {cable.leaf}, where most hosts have {own}"


def _list_missing(cabling: Cabling, cables: Iterable[_HostCable], wanted: Iterable[str]) -> None:
    have: dict[str, set[str]] = defaultdict(set)
    for cable in cables:
        have[cable.host].add(cable.port)
    texts = []
    for host in sorted(have, key=natural):
        missing = [port for port in wanted if port not in have[host]]
        if missing:
            line = cabling.boxes[host].line
            texts.append(
                (
                    f"{host} has no cable on {name_list(missing)}, which most hosts have.",
                    [line] if line else [],
                )
            )
    _list(cabling, NoteKind.INFERRED, texts, "lack cables that most hosts have, too")


def list_uneven(cabling: Cabling) -> None:
    """Say which leaves have other numbers of cables upwards than most, and cables slower than most."""
    leaves = [box.name for box in cabling.with_role(Role.LEAF)]
    up: dict[str, Counter[str]] = {leaf: Counter() for leaf in leaves}
    for cable in cabling.cables:
        for end, far in (cable.ends(), (cable.b, cable.a)):
            if end.box in up and cabling.boxes[far.box].role in (Role.SPINE, Role.CORE):
                up[end.box][far.box] += 1
    totals = Counter(found.total() for found in up.values())
    if any(totals):
        usual = totals.most_common(1)[0][0]
        if not usual:
            return
        texts = []
        for leaf, found in up.items():
            each = sorted(set(found.values()))
            if found.total() != usual:
                count = plural(found.total(), "cable") if found else "no cable"
                texts.append(
                    (f"{leaf} has {count} to spines, where most leaves have {usual}.", _line(cabling, leaf))
                )
            elif len(each) > 1:
                text = f"{leaf} has {each[0]} to {each[-1]} cables to each spine."
                texts.append((text, _line(cabling, leaf)))
        _list(cabling, NoteKind.INFERRED, texts, "have uneven cables to spines, too")


def _line(cabling: Cabling, box: str) -> list[int]:
    line = cabling.boxes[box].line
    return [line] if line else []


def _list(cabling: Cabling, kind: NoteKind, texts: list[tuple[str, list[int]]], others: str) -> None:
    for text, lines in texts[:MOST_LISTED]:
        cabling.reading.note(kind, text, lines)
    if len(texts) > MOST_LISTED:
        lines = [line for _, some in texts[MOST_LISTED:] for line in some]
        cabling.reading.note(kind, f"{len(texts) - MOST_LISTED:,} others {others}.", lines)
