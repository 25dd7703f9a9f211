"""Edits as values. `edit.apply(document)` does the edit and gives the edit that undoes it exactly.

An edit that is refused (`EditRefused`) has changed nothing. Edits pickle: another process can replay them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from model.document.document import Change, Content, Document, Position
from model.document.edit import Batch, Edit, SetJob, check_known, check_positions, has_gpus, topology_change
from model.document.view_edits import SetFolds, SetLinkStyle, SetPins, SetSpots
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
__all__ = [
    "AddParts", "Assign", "Batch", "ClearPaint", "Connect", "Edit", "Load", "Move", "RemoveParts", "Rename",
    "Replace", "SetFields", "SetFolds", "SetJob", "SetLinkStyle", "SetPaint", "SetPins", "SetSpots",
]  # fmt: skip

_WORKS = frozenset({"state", "model"})  # fields of a GPU that the default job depends on


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
        check_positions(self.positions, set(device_ids))
        if self.places is None:
            check_nesting(document.topology, parts.containers)
        document.topology.add(parts)
        for ident, (x, y) in self.positions.items():
            document.layout[ident] = (float(x), float(y))
        link_ids = tuple(link.id for link in parts.links)
        container_ids = tuple(container.id for container in parts.containers)
        change = topology_change(device_ids, link_ids, container_ids, layout=self.positions)
        return RemoveParts(device_ids, link_ids, container_ids), change

    def may_change_gpus(self, topology: Topology) -> bool:
        return any(device.kind is DeviceKind.GPU for device in self.devices)


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
            check_known(topology, kind, idents)
        released = self._released(topology, devices, containers)
        undo: list[Edit] = []
        if released.boxed:
            old = topology.put(released.devices, (), released.containers)
            undo.append(Replace(old.devices, (), old.containers))
        removed = topology.remove(devices, self.link_ids, containers)
        positions = {ident: document.layout.pop(ident) for ident in sorted(devices & document.layout.keys())}
        undo.append(AddParts(removed.devices, removed.links, removed.containers, positions, removed.places))
        paint, job = document.paint.without(devices), _job_without(document.job, devices)
        change = topology_change(
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
            undo.append(
                SetSpots({ident: at for ident, at in document.view.spots.items() if ident in containers})
            )
            change |= Change(view=True)
            document.view = view
        return (undo[0] if len(undo) == 1 else Batch(tuple(_adding_first(undo)))), change

    def may_change_gpus(self, topology: Topology) -> bool:
        return has_gpus(topology, self.device_ids)

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
        change = topology_change(
            (device.id for device in self.devices),
            (link.id for link in self.links),
            (container.id for container in self.containers),
        )
        return Replace(old.devices, old.links, old.containers), change

    def may_change_gpus(self, topology: Topology) -> bool:
        return has_gpus(topology, (device.id for device in self.devices))


@dataclass(frozen=True, slots=True)
class Connect(Edit):
    """Add one link. Port budgets are asked of `ports.check_connect` by the gesture, before."""

    link: Link

    def _do(self, document: Document) -> tuple[Edit, Change]:
        document.topology.add(Parts(links=(self.link,)))
        return RemoveParts(link_ids=(self.link.id,)), topology_change((), (self.link.id,), ())


@dataclass(frozen=True, slots=True)
class Move(Edit):
    """Set the centres of devices; None takes the position away."""

    positions: Mapping[str, Position | None]

    def _do(self, document: Document) -> tuple[Edit, Change]:
        check_known(document.topology, "device", self.positions)
        check_positions({ident: at for ident, at in self.positions.items() if at is not None})
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

    def may_change_gpus(self, topology: Topology) -> bool:
        working = self.target == "device" and not _WORKS.isdisjoint(self.fields)
        return working and has_gpus(topology, self.ids)


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
        change = topology_change(devices, links, containers)
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

    @property
    def names_job(self) -> bool:
        return True


def _renamed_fields(extra: Mapping[str, Any], kind: ThingKind, old: str, new: str) -> dict[str, Any]:
    """Fields that are only kept follow the thing that they belong to."""
    tables = {f"{kind}s", "paint", "layout"} if kind == "device" else {f"{kind}s"}
    return {
        name: {new if ident == old else ident: own for ident, own in kept.items()} if name in tables else kept
        for name, kept in extra.items()
    }


def _adding_first(undo: Sequence[Edit]) -> list[Edit]:
    """A container has to be back before things can move into it again."""
    return sorted(undo, key=lambda edit: not isinstance(edit, AddParts))


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
