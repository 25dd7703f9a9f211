"""Edits as values. `edit.apply(document)` does the edit and gives the edit that undoes it exactly.

An edit that is refused (`EditRefused`) has changed nothing. Edits pickle: another process can replay them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from model.document.document import Change, Content, Document, Position
from model.document.start import has_default_job, job_for
from model.document.view_state import LinkStyle
from model.errors import EditRefused
from model.job.spec import JobSpec
from model.placement.paint import Paint
from model.placement.types import DIMENSIONS, Dimension
from model.topology.graph import Parts, Places, ThingKind, Topology
from model.topology.nesting import check_nesting
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State
from model.topology.validity import FLOAT_FIELDS

_FIELDS: Mapping[str, frozenset[str]] = {
    "device": frozenset(Device.__dataclass_fields__) - {"id", "kind"},
    "link": frozenset(Link.__dataclass_fields__) - {"id", "a", "b"},
    "container": frozenset(Container.__dataclass_fields__) - {"id"},
}
_WORKS = frozenset({"state", "model"})  # fields of a GPU that the default job depends on


class Edit(ABC):
    """Something done to a document that can be undone."""

    __slots__ = ()

    def apply(self, document: Document) -> Edit:
        """Do it, note the change in `document.last_change`, and give the edit that undoes it.

        A job that nobody has touched follows the GPUs that are there (`start.job_for`), so that it stays
        legal. Raises `EditRefused` when it cannot be done; the document is then as before.
        """
        follows = _may_change_gpus(self, document.topology)
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


@dataclass(frozen=True, slots=True)
class AddParts(Edit):
    """Add devices, links and containers, and the positions of the devices.

    `places` puts them back where they stood in document order; without, they go to the end.
    """

    devices: tuple[Device, ...] = ()
    links: tuple[Link, ...] = ()
    containers: tuple[Container, ...] = ()
    positions: Mapping[str, Position] = field(default_factory=dict)
    places: Places | None = None

    def _do(self, document: Document) -> tuple[Edit, Change]:
        parts = Parts(tuple(self.devices), tuple(self.links), tuple(self.containers), self.places)
        device_ids = tuple(device.id for device in parts.devices)
        _check_positions(self.positions, set(device_ids))
        if self.places is None:
            check_nesting(document.topology, parts.containers)
        document.topology.add(parts)
        for ident, (x, y) in self.positions.items():
            document.layout[ident] = (float(x), float(y))
        link_ids = tuple(link.id for link in parts.links)
        container_ids = tuple(container.id for container in parts.containers)
        change = _topology_change(device_ids, link_ids, container_ids, layout=self.positions)
        return RemoveParts(device_ids, link_ids, container_ids), change


@dataclass(frozen=True, slots=True)
class RemoveParts(Edit):
    """Remove devices (their links go too), links and containers.

    What a removed container holds and is not named stays, and moves out into the container around it, to no U
    of a rack. Colours
    of removed GPUs go, and their names in the job's world; so do pins and folds.
    """

    device_ids: tuple[str, ...] = ()
    link_ids: tuple[str, ...] = ()
    container_ids: tuple[str, ...] = ()

    def _do(self, document: Document) -> tuple[Edit, Change]:
        topology = document.topology
        devices, containers = set(self.device_ids), set(self.container_ids)
        for kind, idents in (("device", devices), ("link", self.link_ids), ("container", containers)):
            _check_known(topology, kind, idents)
        released = self._released(topology, devices, containers)
        undo: list[Edit] = []
        if released.boxed:
            old = topology.put(released.devices, (), released.containers)
            undo.append(Replace(old.devices, (), old.containers))
        removed = topology.remove(devices, self.link_ids, containers)
        positions = {ident: document.layout.pop(ident) for ident in sorted(devices & document.layout.keys())}
        undo.append(AddParts(removed.devices, removed.links, removed.containers, positions, removed.places))
        paint, job = document.paint.without(devices), _job_without(document.job, devices)
        change = _topology_change(
            (*devices, *(device.id for device in released.devices)),
            (link.id for link in removed.links),
            (*containers, *(container.id for container in released.containers)),
            layout=positions,
        )
        if paint is not document.paint:
            undo.append(SetPaint(document.paint))
            change |= Change(paint=frozenset(devices & document.paint.keys()))
            document.paint = paint
        if job is not document.job:
            undo.append(SetJob(document.job))
            change |= Change(job=True)
            document.job = job
        view = document.view.without(devices | containers)
        if view is not document.view:
            undo.append(SetPins(pin=document.view.pins - view.pins))
            undo.append(SetFolds(fold=document.view.folds - view.folds))
            change |= Change(view=True)
            document.view = view
        return (undo[0] if len(undo) == 1 else Batch(tuple(_adding_first(undo)))), change

    @staticmethod
    def _released(topology: Topology, devices: set[str], containers: set[str]) -> Parts:
        """The children that stay, with the nearest container around them that stays as their parent."""
        kept_devices: list[Device] = []
        kept_containers: list[Container] = []
        for ident in sorted(containers):
            around = topology.container(ident).parent
            while around is not None and around in containers:
                around = topology.container(around).parent
            for child in topology.children(ident):
                if topology.has_container(child):
                    if child not in containers:
                        kept_containers.append(replace(topology.container(child), parent=around, u=None))
                elif child not in devices:
                    kept_devices.append(replace(topology.device(child), parent=around, u=None))
        return Parts(tuple(kept_devices), (), tuple(kept_containers))


@dataclass(frozen=True, slots=True)
class Replace(Edit):
    """Put new values in place of the devices, links and containers with the same ids."""

    devices: tuple[Device, ...] = ()
    links: tuple[Link, ...] = ()
    containers: tuple[Container, ...] = ()

    def _do(self, document: Document) -> tuple[Edit, Change]:
        old = document.topology.put(self.devices, self.links, self.containers)
        change = _topology_change(
            (device.id for device in self.devices),
            (link.id for link in self.links),
            (container.id for container in self.containers),
        )
        return Replace(old.devices, old.links, old.containers), change


@dataclass(frozen=True, slots=True)
class Connect(Edit):
    """Add one link. Port budgets are asked of `ports.check_connect` by the gesture, before."""

    link: Link

    def _do(self, document: Document) -> tuple[Edit, Change]:
        document.topology.add(Parts(links=(self.link,)))
        return RemoveParts(link_ids=(self.link.id,)), _topology_change((), (self.link.id,), ())


@dataclass(frozen=True, slots=True)
class Move(Edit):
    """Set the centres of devices; None takes the position away."""

    positions: Mapping[str, Position | None]

    def _do(self, document: Document) -> tuple[Edit, Change]:
        _check_known(document.topology, "device", self.positions)
        _check_positions({ident: at for ident, at in self.positions.items() if at is not None})
        old = {ident: document.layout.get(ident) for ident in self.positions}
        for ident, at in self.positions.items():
            if at is None:
                document.layout.pop(ident, None)
            else:
                document.layout[ident] = (float(at[0]), float(at[1]))
        return Move(old), Change(layout=frozenset(self.positions))


@dataclass(frozen=True, slots=True)
class SetFields(Edit):
    """Set the same fields of several devices, links or containers. States and kinds may be given as text."""

    target: ThingKind
    ids: tuple[str, ...]
    fields: Mapping[str, object]

    def _do(self, document: Document) -> tuple[Edit, Change]:
        unknown = sorted(self.fields.keys() - _FIELDS[self.target])
        if unknown:
            raise EditRefused(f'"{unknown[0]}" of a {self.target} cannot be set.')
        values: dict[str, Any] = {
            name: float(value) if name in FLOAT_FIELDS and type(value) is int else value
            for name, value in self.fields.items()
        }
        if "state" in values:
            values["state"] = _member(State, values["state"])
        if "kind" in values:
            values["kind"] = _member(LinkKind if self.target == "link" else ContainerKind, values["kind"])
        topology = document.topology
        devices = [topology.device(ident) for ident in self.ids if self.target == "device"]
        links = [topology.link(ident) for ident in self.ids if self.target == "link"]
        containers = [topology.container(ident) for ident in self.ids if self.target == "container"]
        boxes = tuple(replace(container, **values) for container in containers)
        if not {"parent", "kind"}.isdisjoint(values):
            check_nesting(topology, boxes)
        return Replace(
            tuple(replace(device, **values) for device in devices),
            tuple(replace(link, **values) for link in links),
            boxes,
        )._do(document)


@dataclass(frozen=True, slots=True)
class Rename(Edit):
    """Give a device, link or container another id (all that names it follows), or the document a name."""

    kind: Literal["device", "link", "container", "document"]
    old: str
    new: str

    def _do(self, document: Document) -> tuple[Edit, Change]:
        undo = Rename(self.kind, self.new, self.old)
        if self.kind == "document":
            if document.name != self.old:
                raise EditRefused(f'The document is called "{document.name}", not "{self.old}".')
            document.name = self.new
            return undo, Change()
        topology, both = document.topology, (self.old, self.new)
        links: tuple[str, ...] = both if self.kind == "link" else ()
        devices: tuple[str, ...] = both if self.kind == "device" else ()
        if self.kind == "device":
            links = tuple(link.id for link in topology.links_of(self.old))
        containers: tuple[str, ...] = ()
        if self.kind == "container":
            children = topology.children(self.old)
            devices = tuple(child for child in children if topology.has_device(child))
            containers = (*both, *(child for child in children if topology.has_container(child)))
        topology.rename(self.kind, self.old, self.new)
        document.extra = _renamed_fields(document.extra, self.kind, self.old, self.new)
        change = _topology_change(devices, links, containers)
        view = document.view.renamed(self.old, self.new)
        if view is not document.view:
            document.view = view
            change |= Change(view=True)
        if self.kind == "device":
            change |= self._follow(document)
        return undo, change

    def _follow(self, document: Document) -> Change:
        """Rename in colours, layout and world."""
        painted = self.old in document.paint
        document.paint = document.paint.rename(self.old, self.new)
        placed = self.old in document.layout
        if placed:
            document.layout[self.new] = document.layout.pop(self.old)
        world = document.job.world
        named = world is not None and self.old in world
        if world is not None and named:
            renamed = tuple(self.new if gpu == self.old else gpu for gpu in world)
            document.job = document.job.model_copy(update={"world": renamed})
        both = frozenset({self.old, self.new})
        return Change(
            layout=both if placed else frozenset(), paint=both if painted else frozenset(), job=named
        )


@dataclass(frozen=True, slots=True)
class SetPins(Edit):
    """Pin devices and containers where they are, and let go of others.

    It names only what changes, so that it can be taken back after others have been pinned.
    """

    pin: frozenset[str] = frozenset()
    unpin: frozenset[str] = frozenset()

    def _do(self, document: Document) -> tuple[Edit, Change]:
        for ident in self.pin:
            if not (document.topology.has_device(ident) or document.topology.has_container(ident)):
                raise EditRefused(f'Only devices and containers can be pinned, and "{ident}" is neither.')
        old = document.view.pins
        new = (old | self.pin) - self.unpin
        document.view = replace(document.view, pins=new)
        return SetPins(pin=old - new, unpin=new - old), Change(view=True)


@dataclass(frozen=True, slots=True)
class SetFolds(Edit):
    """Draw containers as one box each, and open others. Names only what changes, as `SetPins` does."""

    fold: frozenset[str] = frozenset()
    unfold: frozenset[str] = frozenset()

    def _do(self, document: Document) -> tuple[Edit, Change]:
        _check_known(document.topology, "container", self.fold)
        old = document.view.folds
        new = (old | self.fold) - self.unfold
        document.view = replace(document.view, folds=new)
        return SetFolds(fold=old - new, unfold=new - old), Change(view=True)


@dataclass(frozen=True, slots=True)
class SetLinkStyle(Edit):
    """How links run on the drawing."""

    style: LinkStyle

    def _do(self, document: Document) -> tuple[Edit, Change]:
        old = document.view.links
        document.view = replace(document.view, links=LinkStyle(self.style))
        return SetLinkStyle(old), Change(view=True)


@dataclass(frozen=True, slots=True)
class SetJob(Edit):
    """Put another job in place."""

    job: JobSpec

    def _do(self, document: Document) -> tuple[Edit, Change]:
        old, document.job = document.job, self.job
        return SetJob(old), Change(job=True)


@dataclass(frozen=True, slots=True)
class SetPaint(Edit):
    """Put other colours in place, all of them."""

    paint: Paint

    def _do(self, document: Document) -> tuple[Edit, Change]:
        old, document.paint = document.paint, self.paint
        return SetPaint(old), Change(paint=frozenset(old) | frozenset(self.paint))


@dataclass(frozen=True, slots=True)
class Assign(Edit):
    """Paint GPUs with a group of one dimension, or take that colour away (`group` None)."""

    dimension: Dimension
    group: int | None
    gpu_ids: tuple[str, ...]

    def _do(self, document: Document) -> tuple[Edit, Change]:
        if self.dimension not in DIMENSIONS:
            raise EditRefused(
                f'"{self.dimension}" is no parallel dimension; there are {", ".join(DIMENSIONS)}.'
            )
        if self.group is not None and self.group < 0:
            raise EditRefused(f"A group is a number from 0 on, not {self.group}.")
        for ident in self.gpu_ids:
            if document.topology.device(ident).kind is not DeviceKind.GPU:
                raise EditRefused(f"{ident} is no GPU, so it takes no colour.")
        old = document.paint
        if self.group is None:
            document.paint = old.erase(self.dimension, self.gpu_ids)
        else:
            document.paint = old.assign(self.dimension, self.group, self.gpu_ids)
        return SetPaint(old), Change(paint=frozenset(self.gpu_ids))


@dataclass(frozen=True, slots=True)
class ClearPaint(Edit):
    """Take all colours away."""

    def _do(self, document: Document) -> tuple[Edit, Change]:
        return SetPaint(Paint())._do(document)


@dataclass(frozen=True, slots=True, init=False)
class Load(Edit):
    """Put a whole other content in place, from a template or an import."""

    content: Content

    def __init__(self, document: Document | Content) -> None:
        content = document.content() if isinstance(document, Document) else document
        object.__setattr__(self, "content", content)

    def _do(self, document: Document) -> tuple[Edit, Change]:
        new, undo = self.content, Load(document)
        parts = new.parts
        topology = Topology(parts.devices, parts.links, parts.containers, parts.places)
        topology.advance(document.topology.revision + 1)
        document.topology = topology
        document.job, document.paint = new.job, new.paint
        document.layout, document.extra = dict(new.layout), dict(new.extra)
        document.name, document.view = new.name, new.view
        change = Change(
            frozenset(device.id for device in parts.devices),
            frozenset(link.id for link in parts.links),
            frozenset(container.id for container in parts.containers),
            layout=frozenset(new.layout),
            paint=frozenset(new.paint),
            job=True,
            topology_changed=True,
            whole=True,
            view=True,
        )
        return undo, change


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


def _may_change_gpus(edit: Edit, topology: Topology) -> bool:
    """Whether an edit that names no job may change how many GPUs work, or which."""
    if isinstance(edit, Batch):
        return not _names_job(edit) and any(_may_change_gpus(one, topology) for one in edit.edits)
    if isinstance(edit, AddParts):
        return any(device.kind is DeviceKind.GPU for device in edit.devices)
    if isinstance(edit, RemoveParts):
        ids: Iterable[str] = edit.device_ids
    elif isinstance(edit, SetFields) and edit.target == "device" and not _WORKS.isdisjoint(edit.fields):
        ids = edit.ids
    elif isinstance(edit, Replace):
        ids = (device.id for device in edit.devices)
    else:
        return False
    return any(topology.has_device(ident) and topology.device(ident).kind is DeviceKind.GPU for ident in ids)


def _names_job(edit: Edit) -> bool:
    return isinstance(edit, SetJob | Load) or (isinstance(edit, Batch) and any(map(_names_job, edit.edits)))


def _renamed_fields(extra: Mapping[str, Any], kind: ThingKind, old: str, new: str) -> dict[str, Any]:
    """Fields that are only kept follow the thing that they belong to."""
    tables = {f"{kind}s", "paint", "layout"} if kind == "device" else {f"{kind}s"}
    return {
        name: {new if ident == old else ident: own for ident, own in kept.items()} if name in tables else kept
        for name, kept in extra.items()
    }


def _topology_change(
    devices: Iterable[str], links: Iterable[str], containers: Iterable[str], layout: Iterable[str] = ()
) -> Change:
    return Change(
        frozenset(devices),
        frozenset(links),
        frozenset(containers),
        layout=frozenset(layout),
        topology_changed=True,
    )


def _adding_first(undo: Sequence[Edit]) -> list[Edit]:
    """A container has to be back before things can move into it again."""
    return sorted(undo, key=lambda edit: not isinstance(edit, AddParts))


def _check_known(topology: Topology, kind: str, idents: Iterable[str]) -> None:
    get = {"device": topology.device, "link": topology.link, "container": topology.container}[kind]
    for ident in idents:
        get(ident)


def _check_positions(positions: Mapping[str, Position], among: set[str] | None = None) -> None:
    for ident, (x, y) in positions.items():
        if among is not None and ident not in among:
            raise EditRefused(f'A position is given for "{ident}", which is not among the new devices.')
        if not (math.isfinite(x) and math.isfinite(y) and abs(x) <= 1e9 and abs(y) <= 1e9):
            raise EditRefused(f'"{ident}" cannot stand at ({x:g}, {y:g}); positions go up to ±1e9.')


def _job_without(job: JobSpec, gone: set[str]) -> JobSpec:
    if job.world is None or gone.isdisjoint(job.world):
        return job
    left = tuple(gpu for gpu in job.world if gpu not in gone)
    return job.model_copy(update={"world": left or None})


def _member(kind: type[State] | type[LinkKind] | type[ContainerKind], value: object) -> object:
    try:
        return kind(str(value))
    except ValueError:
        raise EditRefused(f'"{value}" is none of {", ".join(kind)}.') from None
