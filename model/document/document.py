"""`Document`: all that a project holds. Edits (see `edits`) are its only writers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.document.view_state import ViewState
from model.job.default import default_job
from model.job.spec import JobSpec
from model.placement.paint import Paint
from model.topology.graph import Parts, Topology

Position = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit touched: ids of devices, links and containers (old and new), moved devices, painted GPUs.

    `topology_changed` says whether anything that traffic depends on may differ. `whole` says that the content
    was replaced; the id sets then hold everything that is there now. `view` says whether pins, folds or the
    style of links may differ.
    """

    devices: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    layout: frozenset[str] = frozenset()
    paint: frozenset[str] = frozenset()
    job: bool = False
    topology_changed: bool = False
    whole: bool = False
    view: bool = False

    def __or__(self, other: Change) -> Change:
        return Change(
            self.devices | other.devices,
            self.links | other.links,
            self.containers | other.containers,
            self.layout | other.layout,
            self.paint | other.paint,
            self.job or other.job,
            self.topology_changed or other.topology_changed,
            self.whole or other.whole,
            self.view or other.view,
        )


@dataclass(frozen=True, slots=True)
class Content:
    """All content of a document as frozen values: what `Load` puts in its place."""

    name: str
    parts: Parts
    layout: Mapping[str, Position]
    job: JobSpec
    paint: Paint
    extra: Mapping[str, Any]
    view: ViewState = field(default_factory=ViewState)


@dataclass(slots=True)
class Document:
    """A drawing, the job on it, the user's colours, and where things stand.

    `layout` gives the centre of each device in scene units, `view` how it is looked at. `extra` are fields of
    the file that this version does not know; they are written back. `notes` say what was left out when it was
    read, and are no content. `revision` grows with every edit, the topology's not with all.
    """

    topology: Topology = field(default_factory=Topology)
    job: JobSpec = field(default_factory=lambda: default_job(0, 0.0))
    paint: Paint = field(default_factory=Paint)
    layout: dict[str, Position] = field(default_factory=dict)
    name: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    view: ViewState = field(default_factory=ViewState)
    notes: tuple[str, ...] = ()
    revision: int = 0
    last_change: Change = field(default_factory=Change)

    def content(self) -> Content:
        """A snapshot of everything; later edits do not touch it."""
        return Content(
            self.name,
            self.topology.parts(),
            dict(self.layout),
            self.job,
            self.paint,
            dict(self.extra),
            self.view,
        )

    def same_as(self, other: Document) -> bool:
        """Whether both hold the same content in the same order (revisions do not count)."""
        return (
            self.name == other.name
            and self.job == other.job
            and self.paint == other.paint
            and self.layout == other.layout
            and self.extra == other.extra
            and self.view == other.view
            and self.topology.same_as(other.topology)
        )

    def checksum(self) -> str:
        """A digest of the content, equal in every process that holds an equal document."""
        digest = hashlib.blake2b(self.topology.checksum().encode(), digest_size=16)
        digest.update(self.job.model_dump_json().encode())
        digest.update(repr([(gpu, sorted(self.paint[gpu].items())) for gpu in sorted(self.paint)]).encode())
        digest.update(repr((self.name, sorted(self.layout.items()))).encode())
        view = self.view
        spots = sorted(view.spots.items())
        digest.update(repr((sorted(view.pins), sorted(view.folds), view.links.value, spots)).encode())
        return digest.hexdigest()

    def record(self, change: Change) -> None:
        """Note that an edit was applied; only edits call this."""
        self.last_change = change
        self.revision += 1
