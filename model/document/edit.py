"""`Edit`: what all edits have, and those that others are made of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.document.document import Change, Document, Position
from model.document.start import has_default_job, job_for
from model.errors import EditRefused
from model.job.spec import JobSpec
from model.topology.graph import Topology
from model.topology.types import DeviceKind


class Edit(ABC):
    """Something done to a document that can be undone."""

    __slots__ = ()

    def apply(self, document: Document) -> Edit:
        """Do it, note the change in `document.last_change`, and give the edit that undoes it.

        A job that nobody has touched follows the GPUs that are there (`start.job_for`), so that it stays
        legal. Raises `EditRefused` when it cannot be done; the document is then as before.
        """
        follows = self.may_change_gpus(document.topology)
        before, untouched = document.job, follows and has_default_job(document)
        inverse, change = self._do(document)
        if untouched:
            document.job = job_for(document.topology)
        if document.job is not before:
            change |= Change(job=document.job != before)
        if follows and (untouched or has_default_job(document)):
            # Undo must not take this job for an untouched one and make another of it.
            inverse = Batch((inverse, SetJob(before)))
        document.record(change)
        return inverse

    @abstractmethod
    def _do(self, document: Document) -> tuple[Edit, Change]: ...

    def may_change_gpus(self, topology: Topology) -> bool:
        """Whether it may change how many GPUs work, or which, and names no job itself."""
        return False

    @property
    def names_job(self) -> bool:
        """Whether it brings a job."""
        return False


@dataclass(frozen=True, slots=True)
class SetJob(Edit):
    """Put another job in place."""

    job: JobSpec

    def _do(self, document: Document) -> tuple[Edit, Change]:
        old, document.job = document.job, self.job
        return SetJob(old), Change(job=True)

    @property
    def names_job(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Batch(Edit):
    """Several edits as one: all of them, or none when one is refused."""

    edits: tuple[Edit, ...]

    def _do(self, document: Document) -> tuple[Edit, Change]:
        undo: list[Edit] = []
        change = Change()
        try:
            for edit in self.edits:
                inverse, touched = edit._do(document)
                undo.append(inverse)
                change |= touched
        except EditRefused:
            for inverse in reversed(undo):
                inverse._do(document)
            raise
        return Batch(tuple(reversed(undo))), change

    def may_change_gpus(self, topology: Topology) -> bool:
        return not self.names_job and any(edit.may_change_gpus(topology) for edit in self.edits)

    @property
    def names_job(self) -> bool:
        return any(edit.names_job for edit in self.edits)


def topology_change(
    devices: Iterable[str], links: Iterable[str], containers: Iterable[str], layout: Iterable[str] = ()
) -> Change:
    """The change of an edit that what is drawn depends on."""
    return Change(
        frozenset(devices),
        frozenset(links),
        frozenset(containers),
        layout=frozenset(layout),
        topology_changed=True,
    )


def has_gpus(topology: Topology, ids: Iterable[str]) -> bool:
    """Whether there are GPUs among devices that are there."""
    return any(topology.has_device(ident) and topology.device(ident).kind is DeviceKind.GPU for ident in ids)


def check_known(topology: Topology, kind: str, idents: Iterable[str]) -> None:
    """Raise `EditRefused` where there is no such device, link or container."""
    get = {"device": topology.device, "link": topology.link, "container": topology.container}[kind]
    for ident in idents:
        get(ident)


def check_positions(positions: Mapping[str, Position], among: set[str] | None = None) -> None:
    """Raise `EditRefused` where a position is no place on the drawing, or of nothing in `among`."""
    for ident, (x, y) in positions.items():
        if among is not None and ident not in among:
            raise EditRefused(f'A position is given for "{ident}", which is not among the new devices.')
        if not (math.isfinite(x) and math.isfinite(y) and abs(x) <= 1e9 and abs(y) <= 1e9):
            raise EditRefused(f'"{ident}" cannot stand at ({x:g}, {y:g}); positions go up to ±1e9.')
