"""What the text topologies of SimAI and ns-3 (HPCC) have in common: a header, ids of switches, a link a line.

    <header>                              3 numbers (ns-3) or 5 numbers and the kind of GPU (SimAI)
    <switch id> <switch id> …             an empty line where there are none
    <from> <to> 400Gbps 0.0005ms 0        a link, which runs both ways; last its error rate

The simulators read words and care for lines no more than for the order of the two ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from model.errors import InputError
from model.files.importing import Reading
from model.files.imports.graph_drawing import MOST_EDGES, MOST_NODES
from model.files.reading import shown
from model.text import plural

FASTEST = 1e15  # bytes/s of a link

_RATES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_RATE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][+-]?[0-9]{1,2})?)([kKMGT]?)(i?)(bps|b/s|Bps|B/s)")
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "ps": 1e12}
_DELAY = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][+-]?[0-9]{1,2})?)(s|ms|us|ns|ps)?")
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Cable:
    """One link line. `delay_s` is one way, of propagation."""

    a: int
    b: int
    bytes_per_s: float
    delay_s: float
    line: int


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes 0 … `nodes` − 1, those of them that are switches in the order of the file, and the links."""

    nodes: int
    switches: tuple[int, ...]
    cables: tuple[Cable, ...]


def looks_like(head: str, numbers: int, words: int) -> int:
    """How much a text looks like such a file whose header has so many numbers, and words after them."""
    lines = [line.split() for line in head.split("\n")[:200]]
    first = next((cells for cells in lines if cells), [])
    if len(first) != numbers + words or not all(_NUMBER.fullmatch(cell) for cell in first[:numbers]):
        return 0
    for cells in lines[1:]:
        if len(cells) >= 4 and _NUMBER.fullmatch(cells[0]) and _RATE.fullmatch(cells[2]):
            return 95
    return 15


def header(reading: Reading, numbers: int, words: int, meaning: str) -> tuple[list[int], list[str], int]:
    """The numbers and words of the first line that is not empty, and which line that is.

    `meaning` names the cells: "nodes, switches, links".
    """
    for place, line in enumerate(reading.source.lines, start=1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != numbers + words or not all(_NUMBER.fullmatch(cell) for cell in cells[:numbers]):
            raise InputError(
                f"{reading.source.name}, line {place}: the first line must have {numbers + words} cells "
                f"({meaning}), not {shown(line)}."
            )
        return [int(cell) for cell in cells[:numbers]], cells[numbers:], place
    raise InputError(f"{reading.source.name} has no first line ({meaning}).")


def check_size(reading: Reading, line: int, nodes: int, links: int) -> None:
    """Raise `InputError` where the header promises more than can be drawn, or more than the file has."""
    for count, most, what in ((nodes, MOST_NODES, "nodes"), (links, MOST_EDGES, "links")):
        if count > most:
            raise InputError(
                f"{reading.source.name}, line {line}: the header says {count:,} {what}; "
                f"at most {most:,} can be imported."
            )


def read_network(reading: Reading, line: int, nodes: int, switches: int, links: int) -> Network:
    """The switch ids and the links after the header at `line`, checked against its three numbers."""
    check_size(reading, line, nodes, links)
    if switches > nodes:
        raise InputError(
            f"{reading.source.name}, line {line}: {plural(switches, 'switch', 'switches')} cannot be among "
            f"{plural(nodes, 'node')}."
        )
    lines = reading.source.lines
    ids, rest = _switch_ids(reading, lines, line, nodes, switches)
    cables = tuple(_cables(reading, lines, rest, nodes))
    if len(cables) != links:
        _wrong_count(reading, line, links, len(cables))
    return Network(nodes, tuple(ids), cables)


def _wrong_count(reading: Reading, line: int, said: int, found: int) -> None:
    text = f"the header says {plural(said, 'link')}, and the file has {found:,}"
    if not reading.partial:
        raise InputError(f"{reading.source.name}, line {line}: {text}.")
    reading.contradictory(f"{text[0].upper()}{text[1:]}; those of the file were taken.", line)


def _switch_ids(
    reading: Reading, lines: Sequence[str], after: int, nodes: int, wanted: int
) -> tuple[list[int], int]:
    """The ids, which may go over several lines, and how many lines are read then."""
    ids: list[int] = []
    seen: set[int] = set()
    place = after
    while len(ids) < wanted and place < len(lines):
        cells = lines[place].split()
        if len(cells) >= 3 and _RATE.fullmatch(cells[2]):
            break
        place += 1
        for cell in cells:
            ident = int(cell) if _NUMBER.fullmatch(cell) else -1
            if not 0 <= ident < nodes:
                reading.broken(f"{shown(cell)} is no node from 0 to {nodes - 1:,}", place)
            elif ident in seen:
                reading.broken(f"node {ident} is named twice among the switches", place)
            else:
                seen.add(ident)
                ids.append(ident)
    if len(ids) != wanted:
        reading.broken(
            f"the header says {plural(wanted, 'switch', 'switches')}, and the line of switches names "
            f"{len(ids):,}",
            after + 1,
        )
    return ids, place


def _cables(reading: Reading, lines: Sequence[str], start: int, nodes: int) -> list[Cable]:
    cables: list[Cable] = []
    lossy: list[int] = []
    for place, line in enumerate(lines[start:], start=start + 1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 5:
            reading.broken(
                f"a link has 5 cells (from, to, rate, delay, error rate), not {shown(line)}", place
            )
            continue
        cable = _cable(reading, cells, place, nodes)
        if cable is None:
            continue
        if len(cables) == MOST_EDGES:
            raise InputError(
                f"{reading.source.name} has more than {MOST_EDGES:,} links; no more can be imported."
            )
        cables.append(cable)
        if cells[4].strip("0.") != "":
            lossy.append(place)
    if lossy:
        reading.ignored("Error rates of links: a link here loses nothing.", *lossy)
    return cables


def _cable(reading: Reading, cells: Sequence[str], place: int, nodes: int) -> Cable | None:
    ends = [int(cell) if _NUMBER.fullmatch(cell) else -1 for cell in cells[:2]]
    rate, delay = rate_of(cells[2]), delay_of(cells[3])
    for cell, end in zip(cells[:2], ends, strict=True):
        if not 0 <= end < nodes:
            reading.broken(f"{shown(cell)} is no node from 0 to {nodes - 1:,}", place)
            return None
    if ends[0] == ends[1]:
        reading.broken(f"both ends of the link are node {ends[0]}", place)
    elif rate is None:
        reading.broken(f"{shown(cells[2])} is no rate such as 400Gbps", place)
    elif delay is None:
        reading.broken(f"{shown(cells[3])} is no delay such as 0.0005ms or 1000ns", place)
    else:
        return Cable(ends[0], ends[1], rate, delay, place)
    return None


def rate_of(text: str) -> float | None:
    """Bytes/s of "400Gbps" (decimal, as in ns-3; "B" is bytes), None when it is no rate of a link."""
    match = _RATE.fullmatch(text)
    if match is None:
        return None
    number, prefix, binary, unit = match.groups()
    factor = _RATES[prefix]
    if binary:
        factor = 1024.0 ** {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}[prefix]
    rate = float(number) * factor / (1.0 if unit.startswith("B") else 8.0)
    return rate if 1.0 <= rate <= FASTEST else None


def delay_of(text: str) -> float | None:
    """Seconds of "0.0005ms"; a bare number is seconds, as in ns-3. None when it is no delay."""
    match = _DELAY.fullmatch(text)
    if match is None:
        return None
    delay = float(match.group(1)) / _PER_SECOND[match.group(2) or "s"]
    return delay if delay <= 1e3 else None
