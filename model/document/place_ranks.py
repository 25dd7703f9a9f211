"""Ranks that a file places on hosts, as the order of ranks of the job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from model.document.document import Document
from model.document.edits import SetJob
from model.document.same_names import find_names
from model.text import capital, name_list, plural
from model.topology.graph import Topology
from model.topology.types import ContainerKind, DeviceKind

_MOST_RANKS = 1_000_000
_MOST_LINES = 12  # line numbers that a problem keeps


class PlacedRank(Protocol):
    """Where a rank runs: on GPU `local` of a host (None: the next free one), or on the GPU with an id."""

    @property
    def rank(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def local(self) -> int | None: ...
    @property
    def gpu(self) -> str | None: ...
    @property
    def line(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Problem:
    """Equal things that cannot be: what, and the first lines of the file (from 1; 0 is none)."""

    text: str
    ranks: tuple[int, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlacedRanks:
    """What a placement gives: the edit, and what stands against it.

    `world` are GPU ids in rank order; None for a rank that has no place. `edit` is None where nothing can be
    placed, or where there are problems and it was not asked to leave them out.
    """

    edit: SetJob | None
    text: str
    world: tuple[str | None, ...]
    done: tuple[str, ...]
    problems: tuple[Problem, ...]


def plan_ranks(document: Document, ranks: Iterable[PlacedRank], *, partial: bool = False) -> PlacedRanks:
    """Give the ranks of a file their GPUs, and plan the job with that order.

    A host is a tray, found by its name (exact, then without domain). GPUs that are down take no rank. With
    `partial`, ranks without a place are left out and those after them move up.
    """
    work = _Placing(document.topology)
    wanted = sorted(ranks, key=lambda place: place.rank)
    work.place(wanted)
    count = max((place.rank for place in wanted), default=-1) + 1
    world = tuple(work.found.get(rank) for rank in range(min(count, _MOST_RANKS)))
    missing = tuple(rank for rank in range(len(world)) if rank not in work.seen)
    if missing:
        work.note("not in the file", missing)
    placed = tuple(gpu for gpu in world if gpu is not None)
    problems = work.problems()
    edit = None
    if placed and (partial or not problems):
        edit = SetJob(document.job.model_copy(update={"world": placed}))
    return PlacedRanks(edit, "Place the ranks", world, _done(document, world, placed), problems)


def _ranks(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {name_list([str(rank) for rank in ranks])}"


def _done(document: Document, world: Sequence[str | None], placed: Sequence[str]) -> tuple[str, ...]:
    topology = document.topology
    hosts = {topology.device(gpu).parent for gpu in placed}
    verb = "has" if len(placed) == 1 else "have"
    said = [f"{plural(len(placed), 'rank')} of {len(world):,} {verb} a GPU, on {plural(len(hosts), 'host')}."]
    idle = len(topology.working(DeviceKind.GPU)) - len(placed)
    if placed and idle > 0:
        said.append(f"{plural(idle, 'GPU')} that work get no rank, and stay idle.")
    if document.paint:
        said.append("Painted GPUs keep the groups of their colours, whatever their rank.")
    return tuple(said)


class _Placing:
    """Hosts with their GPUs, and which of them are taken."""

    def __init__(self, topology: Topology) -> None:
        self._gpus = gpus_by_host(topology)
        gpus = [device for device in topology.devices() if device.kind is DeviceKind.GPU]
        self._known = {device.id for device in gpus}
        self._up = {device.id for device in topology.working(DeviceKind.GPU)}
        self._labels = {box.id: box.label for box in topology.containers()}
        self._names: Mapping[str, str] = {}
        self._taken: dict[str, int] = {}
        self._problems: dict[str, tuple[list[int], list[int]]] = {}
        self._settled: set[int] = set()
        self.seen: set[int] = set()
        self.found: dict[int, str] = {}

    def place(self, wanted: Sequence[PlacedRank]) -> None:
        """First the ranks that name their GPU, then those that take what is free."""
        self._names = find_names(
            {host: (host, self._labels.get(host, "")) for host in self._gpus},
            (place.host for place in wanted),
        )
        for place in wanted:
            if place.rank in self.seen:
                self.note("placed more than once; the first place counts", (place.rank,), place.line)
            elif place.local is not None or place.gpu is not None:
                self._place(place)
            self.seen.add(place.rank)
        for place in wanted:
            if place.local is None and place.gpu is None and place.rank not in self._settled:
                self._place(place)

    def _place(self, place: PlacedRank) -> None:
        self._settled.add(place.rank)
        gpu = self._wanted(place)
        if gpu is None:
            return
        if gpu in self._taken:
            self.note(f"{gpu} has rank {self._taken[gpu]} already", (place.rank,), place.line)
            return
        self._taken[gpu] = place.rank
        self.found[place.rank] = gpu

    def _wanted(self, place: PlacedRank) -> str | None:
        """The GPU that a rank is to have; None where that cannot be, which is noted."""
        if place.gpu is not None and place.gpu in self._known:
            return self._if_up(place.gpu, place)
        host = self._names.get(place.host)
        if place.gpu is not None and not place.host:
            self.note(f'the drawing has no GPU "{place.gpu}"', (place.rank,), place.line)
            return None
        if host is None:
            self.note(f'the drawing has no host "{place.host}" with GPUs', (place.rank,), place.line)
            return None
        gpus = self._gpus[host]
        if place.local is None:
            free = next((gpu for gpu in gpus if gpu in self._up and gpu not in self._taken), None)
            if free is None:
                self.note(f"{host} has no free GPU left, of {len(gpus)}", (place.rank,), place.line)
            return free
        if not 0 <= place.local < len(gpus):
            text = f"{host} has {plural(len(gpus), 'GPU')}, so none with the local index {place.local}"
            self.note(text, (place.rank,), place.line)
            return None
        return self._if_up(gpus[place.local], place)

    def _if_up(self, gpu: str, place: PlacedRank) -> str | None:
        if gpu in self._up:
            return gpu
        self.note(f"{gpu} is down", (place.rank,), place.line)
        return None

    def note(self, text: str, ranks: Iterable[int], line: int = 0) -> None:
        """Collect a problem; those of equal text are one."""
        mine, lines = self._problems.setdefault(text, ([], []))
        mine.extend(ranks)
        if line:
            lines.append(line)

    def problems(self) -> tuple[Problem, ...]:
        """What was noted, as sentences with their ranks."""
        return tuple(
            Problem(f"{capital(_ranks(ranks))}: {text}.", tuple(ranks), tuple(lines[:_MOST_LINES]))
            for text, (ranks, lines) in self._problems.items()
        )


def gpus_by_host(topology: Topology) -> dict[str, list[str]]:
    """The GPUs of each tray in document order, which is that of their local index."""
    trays = {box.id for box in topology.containers() if box.kind is ContainerKind.TRAY}
    parents = {box.id: box.parent for box in topology.containers()}
    found: dict[str, list[str]] = {}
    for device in topology.devices():
        if device.kind is DeviceKind.GPU:
            box = device.parent
            while box is not None and box not in trays:
                box = parents[box]
            if box is not None:
                found.setdefault(box, []).append(device.id)
    return found
