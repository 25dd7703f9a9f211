"""What a list of cables says: boxes (hosts and switches) and the cables between their ports.

Readers of fabrics fill a `Cabling`; `cabling_drawing.draw` makes hosts, tiers of switches and links of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from model.catalog.specs import BYTES_PER_S_PER_GBIT
from model.errors import InputError
from model.files.importing import Reading
from model.files.reading_text import Source
from model.text import plural
from model.topology.types import LinkKind, State

MOST_BOXES = 200_000
MOST_CABLES = 500_000
MOST_NAMED = 20  # things of one kind that a report names one by one


_SPEED = re.compile(
    r"\s*(\d{1,5}(?:\.\d{1,6})?)\s*(g|gb|gbit|gbps|gb/s|gbit/s|ge|t|tb|tbps)?\s*", re.IGNORECASE
)


def rate_of(text: str) -> float:
    """Bytes/s of a speed as people write it ("400G", "0.4 Tbps"; "400" are Gb/s); 0 for anything else."""
    found = _SPEED.fullmatch(text[:40])
    if found is None:
        return 0.0
    tera = (found[2] or "").lower().startswith("t")
    return float(found[1]) * (1000 if tera else 1) * BYTES_PER_S_PER_GBIT


class Role(StrEnum):
    """What a box is, as far as a file says."""

    UNKNOWN = "unknown"
    HOST = "host"
    SWITCH = "switch"  # of some tier
    LEAF = "leaf"
    SPINE = "spine"
    CORE = "core"
    STORAGE = "storage"
    GATEWAY = "gateway"


SWITCHES = frozenset({Role.SWITCH, Role.LEAF, Role.SPINE, Role.CORE})


@dataclass(slots=True)
class Box:
    """A host or switch. `model` is the catalogue id of a switch, `nics` those of a host's NICs by port."""

    name: str
    role: Role = Role.UNKNOWN
    line: int = 0
    model: str = ""
    nics: dict[str, str] = field(default_factory=dict)
    rack: str = ""
    u: int | None = None
    height_u: float | None = None


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable; `port` is empty where the file does not say it."""

    box: str
    port: str = ""


@dataclass(slots=True)
class Cable:
    """A cable. `rate` is in bytes/s, one direction, 0 where the file does not say it."""

    a: End
    b: End
    line: int = 0
    rate: float = 0.0
    length_m: float | None = None
    state: State = State.UP
    fans: bool = False  # one of the ends of a cable that fans out

    def ends(self) -> tuple[End, End]:
        """Both ends, as written."""
        return (self.a, self.b)


class Cabling:
    """Boxes by name and cables, in the order of the file. What is written twice is kept once and said."""

    def __init__(self, reading: Reading, network: LinkKind) -> None:
        self.reading = reading
        self.network = network
        self.boxes: dict[str, Box] = {}
        self.cables: list[Cable] = []
        self._ends: dict[End, list[Cable]] = {}
        self._shared: set[End] = set()

    def box(self, name: str, line: int = 0, role: Role = Role.UNKNOWN) -> Box:
        """The box with this name, new or known."""
        known = self.boxes.get(name)
        if known is None:
            if len(self.boxes) >= MOST_BOXES:
                where = self.reading.source.name
                raise InputError(
                    f"{where} has more than {MOST_BOXES:,} hosts and switches, too many to draw."
                )
            known = self.boxes[name] = Box(name, role, line)
        elif known.role is Role.UNKNOWN:
            known.role = role
        return known

    def cable(self, cable: Cable, source: Source | None = None) -> None:
        """Take a cable, unless it is there or joins a box to itself. Boxes are made when they are new."""
        lines = (cable.line,) if cable.line else ()
        if cable.a.box == cable.b.box:
            self.reading.ignored("Cables from a box to itself were left out.", *lines)
            return
        for end in cable.ends():
            self.box(end.box, cable.line)
        if self._known(cable):
            self.reading.inferred("Cables that stand there more than once were taken once.", *lines)
            return
        for end in cable.ends():
            if end.port:
                others = self._ends.setdefault(end, [])
                if others and not (cable.fans and all(other.fans for other in others)):
                    self._say_shared(end, sorted({others[0].line, cable.line} - {0}))
                others.append(cable)
        self.cables.append(cable)
        if len(self.cables) > MOST_CABLES:
            name = (source or self.reading.source).name
            raise InputError(f"{name} has more than {MOST_CABLES:,} cables, more than can be drawn.")

    def _known(self, cable: Cable) -> bool:
        """Whether the same two ports are joined already; a port without a name is told by the other.

        Where only the new one names both ports, the known one learns it.
        """
        for end, far in (cable.ends(), (cable.b, cable.a)):
            for other in self._ends.get(end, ())[:8] if end.port else ():
                away = other.b if other.a == end else other.a
                if away == far or (away.box == far.box and not far.port):
                    return True
                if away.box == far.box and not away.port:
                    other.a, other.b = cable.ends()
                    self._ends.setdefault(far, []).append(other)
                    return True
        return False

    def _say_shared(self, end: End, lines: list[int]) -> None:
        self._shared.add(end)
        named = len(self._shared) <= MOST_NAMED
        what = f"Port {end.port[:60]} of {end.box[:60]} is" if named else "Other ports are"
        self.reading.contradictory(f"{what} in several cables; all were drawn.", *lines)

    def neighbours(self) -> dict[str, Counter[str]]:
        """For each box the boxes at the other end of its cables, with how many."""
        near: dict[str, Counter[str]] = {name: Counter() for name in self.boxes}
        for cable in self.cables:
            near[cable.a.box][cable.b.box] += 1
            near[cable.b.box][cable.a.box] += 1
        return near

    def with_role(self, *roles: Role) -> Iterator[Box]:
        """The boxes of some roles, in order."""
        return (box for box in self.boxes.values() if box.role in roles)

    def say_found(self) -> None:
        """Say how much there is."""
        hosts = sum(1 for _ in self.with_role(Role.HOST))
        switches = sum(1 for _ in self.with_role(*SWITCHES))
        others = len(self.boxes) - hosts - switches
        parts = [plural(switches, "switch", "switches"), plural(hosts, "host")]
        if others:
            parts.append(plural(others, "other box", "other boxes"))
        self.reading.found(f"{', '.join(parts)} and {plural(len(self.cables), 'cable')}.")
