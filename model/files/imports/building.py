"""A drawing put together part by part, and the questions that several formats leave open."""

from __future__ import annotations

import math
from pathlib import PurePath

from model.catalog import GpuSpec, NicSpec, catalog
from model.errors import InputError
from model.files.importing import Drawing, NoteKind, Question, Reading
from model.files.imports.known_parts import gpu_choices, nic_choices
from model.files.reading_text import Source
from model.topology.names import LINK_NAMES, a_device
from model.topology.ports import link_kinds
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State

_LONGEST_ID = 160  # characters; leaves room for a number behind it and for ids that join two


class DrawingBuilder:
    """Devices, links and containers in document order, each with an id that no other has.

    A wanted id that is taken gets a number behind it; characters that cannot be printed become "?".
    """

    def __init__(self, reading: Reading, name: str) -> None:
        self.reading = reading
        self.name = name
        self._devices: dict[str, Device] = {}
        self._links: dict[str, Link] = {}
        self._containers: dict[str, Container] = {}
        self._next: dict[str, int] = {}
        self._kinds: dict[tuple[DeviceKind, str, DeviceKind, str], tuple[LinkKind, ...]] = {}

    def has(self, ident: str) -> bool:
        """Whether a device, link or container has this id."""
        return ident in self._devices or ident in self._links or ident in self._containers

    def free_id(self, wanted: str) -> str:
        """`wanted`, made printable, with a number behind it where it is taken: "leaf1", "leaf1-2"."""
        text = wanted.strip()
        if not text.isprintable():
            text = "".join(char if char.isprintable() else "?" for char in text)
        ident = base = text[:_LONGEST_ID] or "unnamed"
        number = self._next.get(base, 2)
        while self.has(ident):
            ident, number = f"{base}-{number}", number + 1
            self._next[base] = number
        return ident

    def container(
        self, wanted: str, kind: ContainerKind, *, label: str = "", parent: str | None = None
    ) -> str:
        """Add a container; gives its id."""
        ident = self.free_id(wanted)
        self._containers[ident] = Container(ident, kind, label, parent)
        return ident

    def device(
        self,
        wanted: str,
        kind: DeviceKind,
        model: str,
        *,
        label: str = "",
        parent: str | None = None,
        rail: int | None = None,
        state: State = State.UP,
    ) -> str:
        """Add a device; gives its id."""
        ident = self.free_id(wanted)
        self._devices[ident] = Device(ident, kind, model, label, parent, rail, state)
        return ident

    def of(self, ident: str) -> Device:
        """The device with this id, which was added before."""
        return self._devices[ident]

    def devices(self, kind: DeviceKind | None = None) -> tuple[Device, ...]:
        """The devices so far, in order; of one kind where it is given."""
        return tuple(device for device in self._devices.values() if kind in (None, device.kind))

    def links(self) -> tuple[Link, ...]:
        """The links so far, in order."""
        return tuple(self._links.values())

    def replace_device(self, device: Device) -> None:
        """Put another value in the place of a device with the same id."""
        self._devices[device.id] = device

    def link(
        self,
        a: str,
        b: str,
        kind: LinkKind | None,
        lane_bytes_per_s: float,
        count: int = 1,
        *,
        state: State = State.UP,
        share: float = 1.0,
        length_m: float | None = None,
        line: int | None = None,
        source: Source | None = None,
    ) -> str | None:
        """Add a link between two devices that were added before; gives its id.

        Without `kind` the usual one for the two. A kind that the two do not have is drawn and said. What
        cannot be drawn at all (both ends the same, no speed, devices that never connect where no kind is
        given) is `Reading.broken`, and gives None in a partial import.
        """
        first, second = self._devices[a], self._devices[b]
        problem = ""
        usual = self._usual(first, second)
        if a == b:
            problem = f"a link joins {a} to itself"
        elif not 1.0 <= lane_bytes_per_s <= 1e18 or not math.isfinite(lane_bytes_per_s):
            problem = f"a link from {a} to {b} has a speed of {lane_bytes_per_s:g} bytes/s"
        elif not 1 <= count <= 1_000_000:
            problem = f"a link from {a} to {b} has {count:,} lanes"
        elif kind is None and not usual:
            problem = f"{a_device(first.kind)} and {a_device(second.kind)} do not connect ({a}, {b})"
        if problem:
            self.reading.broken(problem, line, source)
            return None
        chosen = kind or usual[0]
        if chosen not in usual:
            self.reading.note(
                NoteKind.CONTRADICTORY,
                f"{LINK_NAMES[chosen]} does not join {a_device(first.kind)} ({first.model}) and "
                f"{a_device(second.kind)} ({second.model}); it is drawn all the same.",
                () if line is None else (line,),
                source,
            )
        ident = self.free_id(f"{a}--{b}")
        self._links[ident] = Link(
            ident, a, b, chosen, float(lane_bytes_per_s), count, share, state, length_m=length_m
        )
        return ident

    def _usual(self, first: Device, second: Device) -> tuple[LinkKind, ...]:
        key = (first.kind, first.model, second.kind, second.model)
        if key not in self._kinds:
            self._kinds[key] = link_kinds(first, second)
        return self._kinds[key]

    def drawing(self, *, whole: bool) -> Drawing:
        """All of it. `whole` is False for a part that is meant to be merged into what is open."""
        return Drawing(
            self.name,
            tuple(self._devices.values()),
            tuple(self._links.values()),
            tuple(self._containers.values()),
            whole=whole,
        )


def drawing_name(reading: Reading) -> str:
    """A name for the drawing: that of the file without its suffix."""
    return PurePath(reading.source.name).stem or "imported"


def ask_gpu(reading: Reading, default: str, why: str, key: str = "gpu_model") -> GpuSpec:
    """Which GPU it is, of those of the catalogue."""
    question = Question(key, "Which GPU is it?", default, gpu_choices(), why=why)
    return catalog().gpus[reading.ask(question)]


def ask_nic(
    reading: Reading,
    default: str,
    why: str,
    key: str = "nic_model",
    text: str = "Which network card is it?",
) -> NicSpec:
    """Which network card it is, of those of the catalogue."""
    return catalog().nics[reading.ask(Question(key, text, default, nic_choices(), why=why))]


def ask_number(
    reading: Reading,
    key: str,
    text: str,
    default: float,
    unit: str,
    why: str,
    *,
    least: float = 1e-3,
    most: float = 1e6,
) -> float:
    """A number in `unit`; raises `InputError` for an answer that is none, or out of range."""
    answer = reading.ask(Question(key, text, f"{default:g}", unit=unit, why=why))
    try:
        value = float(answer)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise InputError(f"{key} cannot be {answer!r}; it is a number from {least:g} to {most:g} ({unit}).")
    return value
