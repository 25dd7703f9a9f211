"""What the window and the engine process say to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.document.document import Content
from model.document.edits import Edit, Load
from model.step.what_if import Subject, WhatIf
from model.topology.graph import Parts
from model.topology.types import Device, Link
from model.traffic.route import Route
from model.worker.shared_arrays import Parcel

_SLICE = 2000


@dataclass(frozen=True, slots=True)
class LoadSlice:
    """A part of a content that follows; a large one comes in slices, so that no single one holds anybody
    up.
    """

    devices: tuple[Device, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadContent:
    """Put a content in place; its devices and links came before, in slices."""

    revision: int
    content: Content


@dataclass(frozen=True, slots=True)
class ApplyEdit:
    """Replay one edit, which makes the document's revision `revision`."""

    revision: int
    edit: Edit


@dataclass(frozen=True, slots=True)
class AskChecksum:
    """Answer with the checksum of the document when all that came before is applied."""


@dataclass(frozen=True, slots=True)
class AskWhatIf:
    """Answer with the step that parts of the latest report at twice their rate would give. A newer question
    takes the place of an older one.
    """

    subject: Subject
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskRoute:
    """Answer with the way of the bytes from one device to another, or (`target` None) of all that it
    exchanges. A newer question takes the place of an older one.
    """

    source: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process."""


Request = LoadSlice | LoadContent | ApplyEdit | AskChecksum | AskWhatIf | AskRoute | Stop


@dataclass(frozen=True, slots=True)
class Stage:
    """What the analysis of a revision is at."""

    revision: int
    text: str


@dataclass(frozen=True, slots=True)
class SharedFabric:
    """A compiled fabric, packed; the analyses after it name it by `token`, until another one comes."""

    token: int
    parcel: Parcel


@dataclass(frozen=True, slots=True)
class Analysed:
    """The analysis of a revision, packed, without the fabric that came before it."""

    revision: int
    parcel: Parcel


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing that an analysis depends on changed up to this revision."""

    revision: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A revision could not be analysed, by a fault of the program; a sentence says which."""

    revision: int
    text: str


@dataclass(frozen=True, slots=True)
class OutOfStep:
    """An edit could not be replayed: the copy differs from the window's document, which has to send it
    anew.
    """

    revision: int
    text: str


@dataclass(frozen=True, slots=True)
class Checksum:
    """The checksum of the document at a revision."""

    revision: int
    digest: str


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """What became of a question at a revision: the result, or why there is none."""

    revision: int
    question: AskWhatIf
    result: WhatIf | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RouteAnswer:
    """What became of a question at a revision: the route, or why there is none."""

    revision: int
    question: AskRoute
    result: Route | None
    reason: str = ""


Reply = (
    Stage | SharedFabric | Analysed | Unchanged | Failed | OutOfStep | Checksum | WhatIfAnswer | RouteAnswer
)


def load_messages(revision: int, content: Content) -> Iterator[Request]:
    """The messages that put a content in place of what the worker holds."""
    parts = content.parts
    for start in range(0, len(parts.devices), _SLICE):
        yield LoadSlice(devices=parts.devices[start : start + _SLICE])
    for start in range(0, len(parts.links), _SLICE):
        yield LoadSlice(links=parts.links[start : start + _SLICE])
    rest = Parts(containers=parts.containers, places=parts.places)
    yield LoadContent(revision, replace(content, parts=rest))


def edit_messages(revision: int, edit: Edit) -> Iterator[Request]:
    """The messages that replay an edit."""
    if isinstance(edit, Load):
        yield from load_messages(revision, edit.content)
    else:
        yield ApplyEdit(revision, edit)
