"""What the inspector shows of a selection, and the edits that its fields make. No widgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from gui.panels.facts import KIND_NAMES, LINK_NAMES, facts, gigabytes
from gui.panels.rack_rows import total_power, total_weight
from model.document.document import Document
from model.document.edits import SetFields
from model.step.report import Analysis
from model.text import format_percent, format_port, format_ratio, format_seconds, plural, three_digits
from model.topology.cables import cable_text
from model.topology.equipment import rack_totals
from model.topology.graph import Topology
from model.topology.ports import port_use, ports_of, spec_of
from model.topology.types import NETWORK_LINKS, Container, ContainerKind, Device, Link, State

Value = TypeVar("Value")

USUAL_SPEEDS = tuple(gbit * 1e9 / 8 for gbit in (25, 50, 100, 200, 400, 800, 1600))


@dataclass(frozen=True, slots=True)
class Selected:
    """The selected things, by kind and in document order."""

    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    containers: tuple[Container, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing is selected."""
        return not (self.devices or self.links or self.containers)

    @property
    def ids(self) -> tuple[str, ...]:
        """What all of it is called: devices, links, containers."""
        return (
            *(device.id for device in self.devices),
            *(link.id for link in self.links),
            *(container.id for container in self.containers),
        )

    @property
    def count(self) -> int:
        """How many things are selected."""
        return len(self.devices) + len(self.links) + len(self.containers)


def selected(document: Document, ids: frozenset[str]) -> Selected:
    """The things that `ids` name; unknown ids are left out."""
    topology = document.topology
    return Selected(
        tuple(topology.device(ident) for ident in sorted(ids) if topology.has_device(ident)),
        tuple(topology.link(ident) for ident in sorted(ids) if topology.has_link(ident)),
        tuple(topology.container(ident) for ident in sorted(ids) if topology.has_container(ident)),
    )


def common(values: Iterable[Value]) -> Value | None:
    """The value that all share, None when they differ."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def title(what: Selected) -> tuple[str, str]:
    """A heading for the selection and a note beside it."""
    if what.count == 1:
        if what.devices:
            device = what.devices[0]
            return device.id, KIND_NAMES[device.kind]
        if what.containers:
            return what.containers[0].id, KIND_NAMES[what.containers[0].kind]
        link = what.links[0]
        return f"{link.a} – {link.b}", f"{LINK_NAMES[link.kind]} link"
    parts = [
        plural(len(things), noun)
        for things, noun in (
            (what.devices, "device"),
            (what.links, "link"),
            (what.containers, "container"),
        )
        if things
    ]
    return f"{what.count:,} selected", ", ".join(parts)


def device_lines(document: Document, device: Device, analysis: Analysis | None) -> tuple[str, ...]:
    """Facts of one device: its product, its ports in use, its place in the job."""
    spec = spec_of(device)
    lines = [facts(spec) if spec is not None else f'"{device.model}" is not in the catalogue']
    use = port_use(document.topology, device.id)
    lines.extend(
        f"{use[group.family]:,g} of {plural(group.count, group.name())} used"
        for group in ports_of(device)
        if use.get(group.family)
    )
    report = analysis.report if analysis is not None else None
    if report is not None and device.id in report.placement.gpus:
        index = report.placement.gpus.index(device.id)
        rank = int(report.placement.rank[index])
        if rank < 0:
            lines.append("plays no rank")
        else:
            coordinates = report.placement.coordinates
            names = ("tp", "cp", "pp", "dp")
            places = " · ".join(f"{name} {int(coordinates[name][index])}" for name in names)
            lines.append(f"rank {rank} · {places}")
    return tuple(lines)


def length_text(length_m: float | None) -> str:
    """ "12.3 m"."""
    return "—" if length_m is None else f"{three_digits(length_m)} m"


def link_lines(topology: Topology, link: Link, analysis: Analysis | None) -> tuple[str, ...]:
    """Facts of one link: its capacity now, its cable, and its load in both directions."""
    now = link.capacity_bytes_per_s
    lines = [f"{gigabytes(now)} each direction"]
    if now != link.nominal_bytes_per_s:
        lines[0] += f", built for {gigabytes(link.nominal_bytes_per_s)}"
    cable = cable_text(topology, (link,))
    if cable:
        lines.append(cable)
    report = analysis.report if analysis is not None else None
    if report is None or link.id not in report.fabric.link_ids:
        return tuple(lines)
    index = 2 * report.fabric.link_ids.index(link.id)
    for offset, ends in ((0, f"{link.a} → {link.b}"), (1, f"{link.b} → {link.a}")):
        at = index + offset
        peak, mean = float(report.peak_utilisation[at]), float(report.mean_utilisation[at])
        line = f"{ends}: peak {format_percent(peak)}, mean {format_percent(mean)}"
        over = float(report.oversubscription[at])
        if over > 1:
            line += f", offered {format_ratio(over)}"
        cost = float(report.cost_s[at])
        if cost > 0:
            line += f", costs {format_seconds(cost)} a step"
        lines.append(line)
    return tuple(lines)


def container_lines(document: Document, container: Container) -> tuple[str, ...]:
    """Facts of one container: what it holds, and of a rack its sums."""
    kinds: dict[str, int] = {}
    for ident in document.topology.descendants(container.id):
        if document.topology.has_device(ident):
            kind = document.topology.device(ident).kind.value
            kinds[kind] = kinds.get(kind, 0) + 1
    held = ", ".join(f"{count:,} × {KIND_NAMES[kind]}" for kind, count in kinds.items()) or "empty"
    if container.kind is not ContainerKind.RACK:
        return (held,)
    totals = rack_totals(document.topology, container)
    return (
        held,
        f"{totals.free_u} of {totals.height_u:g} U free",
        f"power {total_power(totals)}, weight {total_weight(totals)}",
    )


def speed_options(links: tuple[Link, ...]) -> tuple[tuple[str, str], ...]:
    """The speeds of one cable to choose from, as (bytes/s, text); where not network, only those in use."""
    speeds = {link.lane_bytes_per_s for link in links}
    network = all(link.kind in NETWORK_LINKS for link in links)
    if network:
        speeds.update(USUAL_SPEEDS)
    name = format_port if network else gigabytes
    return tuple((repr(speed), name(speed)) for speed in sorted(speeds))


def set_share(target: str, ids: tuple[str, ...], share: float) -> SetFields:
    """Give GPUs or links a share of what they were built for; below all of it they are degraded."""
    state = State.UP if share >= 1.0 else State.DEGRADED
    name = "share" if target == "link" else "speed"
    fields: Mapping[str, object] = {name: share, "state": state}
    return SetFields("link" if target == "link" else "device", ids, fields)
