"""Finding things by what a user types: names, kinds, groups of the job, findings.

The names of all devices lie in one array of bytes, so that a drawing of 45,000 devices is searched between
two key presses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from model.document.document import Document
from model.placement.conflicts import colour_name
from model.placement.types import DIMENSIONS, Dimension, Placement
from model.text import capital, plural
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.ports import spec_of
from model.topology.types import Container, Device, DeviceKind, Link, State

MOST_HITS = 100  # shown of devices, and of links
CLOSEST = 10  # devices that stand before the findings
SHORTEST_FOR_LINKS = 2  # letters; one letter is in the names of nearly all links
MOST_OTHERS = 12  # shown of kinds, groups, findings and containers each

_EXACT, _WORD, _START, _INSIDE, _NOT = -1, 1, 2, 3, 1000  # the smaller the closer; summed over the words


class HitKind(StrEnum):
    """What kind of thing was found."""

    ALL = "all"
    KIND = "kind"
    GROUP = "group"
    FINDING = "finding"
    CONTAINER = "container"
    DEVICE = "device"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found. `ids` are the devices, links or containers to go to; `icon` is a kind of these."""

    kind: HitKind
    title: str
    note: str
    ids: tuple[str, ...]
    icon: str = ""


@dataclass(frozen=True, slots=True)
class FoundFinding:
    """What the search knows of a finding."""

    title: str
    detail: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found, the best first within each kind; the totals also count what is not listed."""

    hits: tuple[Hit, ...] = ()
    devices: int = 0
    links: int = 0


class _Texts:
    """Texts that are searched together. What stands before the tab of each is its name."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = [text.replace("\n", " ").casefold().encode() for text in texts]
        lengths = np.fromiter(map(len, lines), np.int64, len(lines))
        self._data: NDArray[np.uint8] = np.frombuffer(b"\n" + b"\n".join(lines) + b"\n", np.uint8)
        rows = np.repeat(np.arange(len(lines), dtype=np.int32), lengths + 1)
        self._row_of = np.concatenate((np.zeros(1, np.int32), rows))  # the row that each byte belongs to
        self._names = {line.partition(b"\t")[0]: row for row, line in enumerate(lines)}
        word = np.zeros(256, bool)
        word[[*b"abcdefghijklmnopqrstuvwxyz0123456789", *range(128, 256)]] = True
        self._word = word
        self._count = len(lines)

    def find(self, query: str) -> NDArray[np.int64]:
        """Rows that hold every word of the query, the closest first, then in document order."""
        terms = query.casefold().split()
        if not terms or not self._count:
            return np.zeros(0, np.int64)
        score = np.zeros(self._count, np.int64)
        for term in terms:
            score += self._score(term.encode())
        exact = self._names.get(" ".join(terms).encode())
        if exact is not None:
            score[exact] = _EXACT
        rows = np.flatnonzero(score < _NOT)
        return rows[np.argsort(score[rows], kind="stable")]

    def _score(self, term: bytes) -> NDArray[np.int64]:
        data, length = self._data, len(term)
        score = np.full(self._count, _NOT)
        if length >= len(data):
            return score
        at = np.flatnonzero(data[: len(data) - length] == term[0])
        for offset in range(1, length):
            at = at[data[at + offset] == term[offset]]
        if not len(at):
            return score
        rows = self._row_of[at]
        starts = ~self._word[data[at - 1]]
        whole = starts & ~self._word[data[at + length]]
        score[rows] = _INSIDE
        score[rows[starts]] = _START
        score[rows[whole]] = _WORD
        return score


class SearchIndex:
    """What can be found in a document, with the groups of a placement and the findings of an analysis."""

    def __init__(
        self,
        document: Document,
        placement: Placement | None = None,
        findings: Sequence[FoundFinding] = (),
    ) -> None:
        topology = document.topology
        self._devices = topology.devices()
        self._links = topology.links()
        self._containers = topology.containers()
        self._findings = tuple(finding for finding in findings if finding.ids)
        self._placement = placement
        self._kinds: dict[DeviceKind, list[str]] = {}
        for device in self._devices:
            self._kinds.setdefault(device.kind, []).append(device.id)
        self._groups = _groups_of(placement)
        products: dict[tuple[DeviceKind, str], str] = {}
        self._device_texts = _Texts(_device_text(device, products) for device in self._devices)
        self._link_texts = _Texts(_link_text(link) for link in self._links)
        self._container_texts = _Texts(f"{box.id}\t{box.label}\t{box.kind}" for box in self._containers)
        self._finding_texts = _Texts(f"{each.title}\t{each.detail}" for each in self._findings)
        self._group_texts = _Texts(colour_name(*group) for group in self._groups)
        self._kind_texts = _Texts(_kind_text(kind) for kind in self._kinds)

    def find(self, query: str) -> Hits:
        """What matches every word of `query`; nothing for an empty one.

        A device of exactly this name comes first; findings stand after the closest devices, as their titles
        hold names too.
        """
        long_enough = len(query.strip()) >= SHORTEST_FOR_LINKS
        links = self._link_texts.find(query) if long_enough else np.zeros(0, np.int64)
        devices = self._device_texts.find(query)
        listed = [self._device_hit(row) for row in devices[:MOST_HITS].tolist()]
        exact = [hit for hit in listed[:1] if hit.title.casefold() == query.strip().casefold()]
        listed = listed[len(exact) :]
        hits = [
            *exact,
            *map(self._kind_hit, _first(self._kind_texts, query)),
            *map(self._group_hit, _first(self._group_texts, query)),
            *map(self._container_hit, _first(self._container_texts, query)),
            *self._all_hit(devices),
            *listed[:CLOSEST],
            *map(self._finding_hit, _first(self._finding_texts, query)),
            *listed[CLOSEST:],
            *(self._link_hit(row) for row in links[:MOST_HITS].tolist()),
        ]
        return Hits(tuple(hits), len(devices), len(links))

    def _device_hit(self, row: int) -> Hit:
        device = self._devices[row]
        return Hit(HitKind.DEVICE, device.id, _device_note(device), (device.id,), device.kind)

    def _link_hit(self, row: int) -> Hit:
        link = self._links[row]
        return Hit(HitKind.LINK, f"{link.a} – {link.b}", LINK_NAMES[link.kind], (link.id,), link.kind)

    def _container_hit(self, row: int) -> Hit:
        box = self._containers[row]
        return Hit(HitKind.CONTAINER, box.id, _place(box), (box.id,), box.kind)

    def _finding_hit(self, row: int) -> Hit:
        finding = self._findings[row]
        return Hit(HitKind.FINDING, finding.title, finding.detail, finding.ids)

    def _all_hit(self, rows: NDArray[np.int64]) -> tuple[Hit, ...]:
        if len(rows) < 2:
            return ()
        ids = tuple(self._devices[row].id for row in rows.tolist())
        return (Hit(HitKind.ALL, f"All {plural(len(ids), 'matching device')}", "selects them", ids),)

    def _kind_hit(self, row: int) -> Hit:
        kind, ids = list(self._kinds.items())[row]
        title = capital(DEVICE_NAMES[kind])
        return Hit(HitKind.KIND, title, f"all {plural(len(ids), 'device')}", tuple(ids), kind)

    def _group_hit(self, row: int) -> Hit:
        dimension, colour = self._groups[row]
        ids = group_members(self._placement, dimension, colour)
        return Hit(HitKind.GROUP, capital(colour_name(dimension, colour)), plural(len(ids), "GPU"), ids)


def _first(texts: _Texts, query: str) -> list[int]:
    found: list[int] = texts.find(query)[:MOST_OTHERS].tolist()
    return found


def group_members(placement: Placement | None, dimension: Dimension, colour: int) -> tuple[str, ...]:
    """The GPUs that show a colour of a dimension, in world order."""
    if placement is None or dimension not in placement.shown:
        return ()
    return tuple(placement.gpus[row] for row in np.flatnonzero(placement.shown[dimension] == colour).tolist())


def _groups_of(placement: Placement | None) -> list[tuple[Dimension, int]]:
    if placement is None:
        return []
    return [
        (dimension, colour)
        for dimension in DIMENSIONS
        if dimension in placement.shown
        for colour in np.unique(placement.shown[dimension]).tolist()
        if colour >= 0
    ]


def _kind_text(kind: DeviceKind) -> str:
    return f"{DEVICE_NAMES[kind]}\t{DEVICE_NAMES[kind]}s {kind.value}"


def _device_text(device: Device, products: dict[tuple[DeviceKind, str], str]) -> str:
    key = (device.kind, device.model)
    if key not in products:
        spec = spec_of(device)
        products[key] = f"{DEVICE_NAMES[device.kind]} {device.model} {spec.name if spec else ''}"
    label = device.label if device.label != device.id else ""
    state = "" if device.state is State.UP else device.state.value
    return f"{device.id}\t{label} {products[key]} {state}"


def _link_text(link: Link) -> str:
    name = link.id if link.a in link.id and link.b in link.id else f"{link.id} {link.a} {link.b}"
    return f"{name}\t{LINK_NAMES[link.kind]}{'' if link.state is State.UP else ' ' + link.state.value}"


def _device_note(device: Device) -> str:
    spec = spec_of(device)
    note = spec.name if spec is not None else device.model
    if device.rail is not None:
        note += f" · rail {device.rail}"
    return note if device.state is State.UP else f"{note} · {device.state}"


def _place(box: Container) -> str:
    return f"{box.kind} in {box.parent}" if box.parent else str(box.kind)
