"""Bringing a drawing into the open one: the result that all ways share, and putting it beside.

The ways are `plan_beside` here, `merge_trays.plan_trays` ("use this as the node of every tray") and
`merge_hosts.plan_hosts` ("attach by host name"). Each plans one edit and applies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from model.document.clipboard import Fragment, paste
from model.document.document import Content as Whole
from model.document.document import Document, Position
from model.document.edits import Edit, Load
from model.document.pins import keep_pinned
from model.document.replace import Misfit
from model.document.start import Content, document_from, has_default_job, job_for
from model.text import plural
from model.topology.footprint import CONTAINER_PADDING, FOOTPRINT, GRID
from model.topology.graph import Parts, Topology
from model.topology.layout import layout_by_role, layout_parts
from model.topology.ports import PortFinding, family_of, link_kinds, port_findings, ports_of
from model.topology.types import Container, Device, DeviceKind, Link, LinkKind

_GAP = 6 * GRID
_SAME = 1e-9
_LAST_NUMBER = re.compile(r"(\d{1,9})$")


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge would do: the edit, what undo calls it, sentences on what it does, and what does not fit.

    `trays` are the containers that it fills. Ids are those after the edit.
    """

    edit: Edit
    text: str
    done: tuple[str, ...]
    misfits: tuple[Misfit, ...] = ()
    trays: tuple[str, ...] = ()


def plan_beside(document: Document, content: Content, at: Position | None = None) -> Merge:
    """Put a drawing right of what is there (or with its upper left corner at `at`), with new ids.

    On an empty drawing it brings the default job with it. Raises `EditRefused` where it is inconsistent.
    """
    whole = document_from(content)
    counts = f"{plural(len(content.devices), 'device')} and {plural(len(content.links), 'link')}"
    if not document.topology.devices() and not document.topology.containers():
        return Merge(Load(whole), f"Import {content.name}".strip(), (f"{counts} are drawn.",))
    positions = whole.layout
    if len(positions) < len(content.devices):
        positions = layout_by_role(whole.topology)
    fragment = Fragment(
        tuple(content.devices), tuple(content.links), tuple(content.containers), dict(positions)
    )
    edit = paste(document, fragment, _offset(document, fragment, at))
    new_names = sum(old.id != new.id for old, new in zip(content.devices, edit.devices, strict=True))
    done = [f"{counts} are put beside what is there."]
    if new_names:
        done.append(f"{plural(new_names, 'device')} got another name, since theirs was taken.")
    return Merge(edit, f"Import {content.name}".strip(), tuple(done))


def _offset(document: Document, fragment: Fragment, at: Position | None) -> Position:
    kinds = {device.id: device.kind for device in fragment.devices}
    spots = [(x, y, *FOOTPRINT[kinds[ident]]) for ident, (x, y) in fragment.positions.items()]
    left = min((x - width / 2 for x, _, width, _ in spots), default=0.0)
    top = min((y - height / 2 for _, y, _, height in spots), default=0.0)
    if at is not None:
        return _on_grid(at[0] - left), _on_grid(at[1] - top)
    right = max(
        (
            x + FOOTPRINT[document.topology.device(ident).kind][0] / 2
            for ident, (x, _) in document.layout.items()
        ),
        default=0.0,
    )
    return _on_grid(right + _GAP + CONTAINER_PADDING - left), 0.0


def _on_grid(value: float) -> float:
    return -(-value // GRID) * GRID


# What merging into trays and hosts share


def pair_devices(ours: Sequence[Device], theirs: Sequence[Device]) -> dict[str, str]:
    """Their ids with ours, of one host: by kind those of equal rail, then the rest by number or in order.

    NICs without a rail (management, storage) come after those with one.
    """
    found: dict[str, str] = {}
    for kind in dict.fromkeys(device.kind for device in theirs):
        own = [device for device in ours if device.kind is kind]
        new = [device for device in theirs if device.kind is kind]
        rails = {device.rail: device for device in reversed(own) if device.rail is not None}
        for device in new:
            same = rails.pop(device.rail, None) if device.rail is not None else None
            if same is not None:
                found[device.id] = same.id
        taken = set(found.values())
        rest = by_rail(device for device in new if device.id not in found)
        left = by_rail(device for device in own if device.id not in taken)
        found |= _by_number(left, rest) or {their.id: our.id for their, our in zip(rest, left, strict=False)}
    return found


def _by_number(ours: Sequence[Device], theirs: Sequence[Device]) -> dict[str, str]:
    """Pairs by the number that names end with, where all of theirs are among ours: mlx5_4 with nic4."""
    own, new = ({_number(device): device.id for device in devices} for devices in (ours, theirs))
    if len(own) < len(ours) or len(new) < len(theirs) or not new.keys() <= own.keys() - {None}:
        return {}
    return {ident: own[number] for number, ident in new.items()}


def _number(device: Device) -> int | None:
    match = _LAST_NUMBER.search(device.id)
    return int(match[1]) if match else None


def by_rail(devices: Iterable[Device]) -> list[Device]:
    """Ascending by rail; those without one at the end, in order."""
    return sorted(devices, key=lambda device: (device.rail is None, device.rail or 0))


def refitted(link: Link, before: tuple[Device, Device], after: tuple[Device, Device]) -> Link:
    """A kept link between devices that changed: at full speed where it was, of a kind that both have."""
    kinds = link_kinds(*after)
    if kinds and link.kind not in kinds:
        link = replace(link, kind=kinds[0])
    was, now = full_speed(link.kind, *before), full_speed(link.kind, *after)
    if now <= 0:
        return link
    if link.lane_bytes_per_s > now * (1 + _SAME) or (
        was > 0 and abs(link.lane_bytes_per_s - was) <= _SAME * was
    ):
        return replace(link, lane_bytes_per_s=now)
    return link


def full_speed(kind: LinkKind, a: Device, b: Device) -> float:
    """The fastest lane of a kind that both ends have; 0 where one has none."""
    family = family_of(kind)
    speeds = [
        next((group.lane_bytes_per_s for group in ports_of(end) if group.family == family), 0.0)
        for end in (a, b)
    ]
    return min(speeds)


def become(old: Device, new: Device) -> Device:
    """A device of the drawing with the model, rail and state of another; the rest stays.

    One without a label takes that of the other, such as the name that the system gave it.
    """
    rail = old.rail if new.rail is None else new.rail
    label = old.label or ("" if new.label == new.id else new.label)
    return replace(old, model=new.model, label=label, rail=rail, state=new.state, speed=new.speed)


def ids_of(topology: Topology) -> set[str]:
    """The ids of all devices, links and containers."""
    return {
        *(device.id for device in topology.devices()),
        *(link.id for link in topology.links()),
        *(box.id for box in topology.containers()),
    }


class Names:
    """Free ids, given out one after the other."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def take(self, wanted: str) -> str:
        """`wanted`, or with a number behind it where it is taken."""
        ident, number = wanted, 2
        while ident in self._taken:
            ident, number = f"{wanted}-{number}", number + 1
        self._taken.add(ident)
        return ident


def in_tray(tray: str, ident: str, their_tray: str | None) -> str:
    """A device's name in another tray: "nodeA.gpu3" of nodeA in node07 → "node07.gpu3"."""
    own = ident
    if their_tray is not None and ident.startswith(their_tray) and len(ident) > len(their_tray):
        own = ident[len(their_tray) :].lstrip(".-_:/ ") or ident
    return f"{tray}.{own}"


def rebuilt(
    document: Document,
    devices: Sequence[Device],
    links: Sequence[Link],
    containers: Sequence[Container],
    grown: bool,
) -> tuple[Load, tuple[str, ...], tuple[Misfit, ...]]:
    """The edit that puts these parts in place, what it changes besides, and what then no longer fits.

    Colours and world go on with the GPUs that stay. `grown`: some tray holds more than before, so that all is
    laid out anew. Raises `EditRefused` where the parts are inconsistent.
    """
    topology = Topology(devices, links, containers)
    done: list[str] = []
    gone = {device.id for device in document.topology.devices()} - {device.id for device in devices}
    job = document.job
    if has_default_job(document):
        job = job_for(topology)
    elif job.world is not None:
        world = tuple(gpu for gpu in job.world if gpu not in gone)
        job = job.model_copy(update={"world": world or None})
        idle = sum(device.kind is DeviceKind.GPU for device in devices) - len(world)
        if idle > 0:
            done.append(f"{plural(idle, 'GPU')} of the drawing are not in the job's list of ranks.")
    layout: Mapping[str, Position] = {ident: at for ident, at in document.layout.items() if ident not in gone}
    missing = [device for device in devices if device.id not in layout]
    view = document.view.without(gone)
    if grown and missing:
        laid = Document(topology, layout=dict(layout), view=view)
        layout = {
            ident: at
            for ident, at in keep_pinned(laid, layout_by_role(topology)).edit.positions.items()
            if at is not None
        }
        done.append("The drawing is laid out anew, since trays need more room.")
    elif missing:
        layout = dict(layout) | _beside(layout, topology, missing, containers)
    whole = Whole(
        document.name,
        Parts(tuple(devices), tuple(links), tuple(containers)),
        layout,
        job,
        document.paint.without(gone),
        document.extra,
        view,
    )
    return Load(whole), tuple(done), _new_findings(document.topology, topology)


def _beside(
    layout: Mapping[str, Position], topology: Topology, new: Sequence[Device], containers: Sequence[Container]
) -> dict[str, Position]:
    """Places for new devices, right of those that have one."""
    idents = {device.id for device in new}
    inner = [link for link in topology.links() if link.a in idents and link.b in idents]
    spots = layout_parts(new, inner, containers)
    left = min(x - FOOTPRINT[topology.device(ident).kind][0] / 2 for ident, (x, _) in spots.items())
    right = max((x for x, _ in layout.values()), default=0.0)
    shift = _on_grid(right + 2 * _GAP - left)
    return {ident: (x + shift, y) for ident, (x, y) in spots.items()}


def _new_findings(before: Topology, after: Topology) -> tuple[Misfit, ...]:
    known: set[PortFinding] = set(port_findings(before))
    return tuple(
        Misfit(finding.title, finding.detail, finding.devices, finding.links)
        for finding in port_findings(after)
        if finding not in known
    )
