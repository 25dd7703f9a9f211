"""What the rack elevation shows: racks in rows, the things in each, their loads and figures. No Qt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.context import LinkMode
from model.placement.paint import Paint
from model.placement.resolve import displayed_groups
from model.placement.types import Dimension, Placement
from model.step.report import StepReport
from model.text import format_percent, format_power, plural, three_digits
from model.topology.equipment import (
    MOUNTABLE,
    Equipment,
    RackTotals,
    equipment,
    mountable,
    rack_totals,
    things_in,
)
from model.topology.floor import around, floor_places
from model.topology.graph import Topology
from model.topology.ports import port_use, ports_of
from model.topology.racks import Thing, rack_height, units_of
from model.topology.types import Container, ContainerKind, Device, DeviceKind, State

FloatArray = NDArray[np.float64]
UNKNOWN = "—"


@dataclass(frozen=True, slots=True)
class FloorRow:
    """Racks that stand together, by their ids from left to right."""

    title: str
    racks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A tray or device in a rack: `units` are the U it takes (empty: its place is not known).

    `gpus` are the ids of its GPUs; `ports` used and all, of a switch.
    """

    id: str
    kind: str
    units: range
    gpus: tuple[str, ...]
    devices_down: int
    ports: tuple[int, int]
    figures: Equipment


@dataclass(frozen=True, slots=True)
class RackFace:
    """One rack: its bars from the bottom up, those without a place last, and its sums."""

    id: str
    height_u: int
    placed: tuple[Bar, ...]
    unplaced: tuple[Bar, ...]
    totals: RackTotals


class RackFloor:
    """The racks of one revision of a topology. A face is made when it is first asked for."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self.revision = topology.revision
        self.rows = _rows(topology)
        self.loose = tuple(_loose(topology))
        self._faces: dict[str, RackFace] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._trays: dict[str, str | None] = {}

    @property
    def racks(self) -> tuple[str, ...]:
        """All racks, row by row."""
        return tuple(rack for row in self.rows for rack in row.racks)

    def height_u(self, rack: str) -> int:
        """U of a rack that are drawn."""
        return self._size(rack)[0]

    def unplaced(self, rack: str) -> int:
        """How many things of a rack have no place."""
        return self._size(rack)[1]

    def _size(self, rack: str) -> tuple[int, int]:
        if rack not in self._sizes:
            things = things_in(self._topology, rack)
            height = max(1, round(rack_height(self._topology.container(rack))))
            self._sizes[rack] = (
                height,
                sum(_shown(self._topology, thing) and thing.u is None for thing in things),
            )
        return self._sizes[rack]

    def face(self, rack: str) -> RackFace:
        """What stands in a rack."""
        if rack not in self._faces:
            self._faces[rack] = self._face(rack)
        return self._faces[rack]

    def bar(self, ident: str) -> Bar:
        """A thing that is in no rack."""
        return _bar(self._topology, _thing(self._topology, ident))

    def owner_of(self, ident: str) -> str | None:
        """The bar that shows a device or container: itself, or the tray around it."""
        topology = self._topology
        if topology.has_container(ident):
            return self._tray_around(ident)
        if not topology.has_device(ident):
            return None
        device = topology.device(ident)
        tray = None if device.parent is None else self._tray_around(device.parent)
        return ident if tray is None and device.kind in MOUNTABLE else tray

    def _tray_around(self, ident: str) -> str | None:
        """The outermost tray among a container and those around it."""
        if ident not in self._trays:
            box = self._topology.container(ident)
            outer = None if box.parent is None else self._tray_around(box.parent)
            own = ident if box.kind is ContainerKind.TRAY else None
            self._trays[ident] = outer if outer is not None else own
        return self._trays[ident]

    def _face(self, rack: str) -> RackFace:
        topology = self._topology
        bars = [_bar(topology, thing) for thing in things_in(topology, rack) if _shown(topology, thing)]
        placed = sorted((bar for bar in bars if bar.units), key=lambda bar: bar.units[0])
        unplaced = tuple(bar for bar in bars if not bar.units)
        totals = rack_totals(topology, topology.container(rack))
        return RackFace(rack, self.height_u(rack), tuple(placed), unplaced, totals)


def _thing(topology: Topology, ident: str) -> Thing:
    return topology.container(ident) if topology.has_container(ident) else topology.device(ident)


def _shown(topology: Topology, thing: Thing) -> bool:
    """Whether a thing in a rack has a bar: parts of a host that lie in it without a tray have none."""
    return thing.u is not None or mountable(topology, thing.id)


def _rows(topology: Topology) -> tuple[FloorRow, ...]:
    containers = {box.id: box for box in topology.containers()}
    grouped: dict[tuple[str | None, int], list[tuple[int, str]]] = {}
    for rack, at in floor_places(topology).items():
        grouped.setdefault((at.site, at.row), []).append((at.column, rack))
    rows = []
    for (site, number), racks in sorted(grouped.items(), key=lambda item: (item[0][0] or "", item[0][1])):
        ids = tuple(rack for _, rack in sorted(racks, key=lambda pair: pair[0]))
        pods = {around(containers, containers[rack], ContainerKind.POD) for rack in ids}
        pod = pods.pop() if len(pods) == 1 else None
        names = [name for name in (site, pod, f"row {number + 1}") if name]
        rows.append(FloorRow(" · ".join(names), ids))
    return tuple(rows)


def _loose(topology: Topology) -> list[str]:
    """Things that could stand in racks and are in none."""
    kinds = {box.id: box.kind for box in topology.containers()}
    taken = (ContainerKind.RACK, ContainerKind.TRAY)
    boxes = (box for box in topology.containers() if box.kind is ContainerKind.TRAY)
    devices = (device for device in topology.devices() if device.kind in MOUNTABLE)
    things: tuple[Iterable[Thing], ...] = (boxes, devices)
    return [thing.id for some in things for thing in some if kinds.get(thing.parent or "") not in taken]


def _bar(topology: Topology, thing: Thing) -> Bar:
    if isinstance(thing, Container):
        inside = [topology.device(one) for one in topology.descendants(thing.id) if topology.has_device(one)]
        switches = bool(inside) and all(one.kind is DeviceKind.NVLINK_SWITCH for one in inside)
        kind = "nvlink-switch" if switches else thing.kind.value
    else:
        inside, kind = [thing], thing.kind.value
    gpus = tuple(one.id for one in inside if one.kind is DeviceKind.GPU)
    down = sum(one.state is State.DOWN for one in inside)
    ports = _ports(topology, inside) if not gpus else (0, 0)
    return Bar(thing.id, kind, units_of(thing), gpus, down, ports, equipment(topology, thing))


def _ports(topology: Topology, devices: list[Device]) -> tuple[int, int]:
    used = total = 0
    for device in devices:
        use = port_use(topology, device.id)
        for group in ports_of(device):
            used += round(use.get(group.family, 0.0))
            total += group.count
    return used, total


# Loads


class ThingLoads:
    """How loaded the links are that leave each thing: the busiest direction of the busiest link."""

    def __init__(self, floor: RackFloor, report: StepReport) -> None:
        owners = [floor.owner_of(ident) or "" for ident in report.fabric.device_ids]
        self.names = tuple(dict.fromkeys(owners))
        number = {name: place for place, name in enumerate(self.names)}
        owner = np.array([number[name] for name in owners], np.int64).reshape(-1)
        a, b = owner[report.fabric.link_a], owner[report.fabric.link_b]
        self._links = np.flatnonzero(a != b)
        self._a, self._b = a[self._links], b[self._links]
        self._report = report

    def at(self, mode: LinkMode, time_s: float) -> dict[str, float]:
        """Utilisation by thing; things without links to others are left out."""
        both = utilisation(self._report, mode, time_s).reshape(-1, 2)[self._links].max(axis=1, initial=0.0)
        most = np.full(len(self.names), -1.0)
        np.maximum.at(most, self._a, both)
        np.maximum.at(most, self._b, both)
        return {name: float(load) for name, load in zip(self.names, most.tolist(), strict=True) if load >= 0}


def utilisation(report: StepReport, mode: LinkMode, time_s: float) -> FloatArray:
    """(2 · links,): rate ÷ usable rate of every directed link, at a time, at its peak or on average."""
    if mode == "peak":
        return report.peak_utilisation
    if mode == "mean":
        return report.mean_utilisation
    segments = report.segments
    if not len(segments.start_s):
        return np.zeros(2 * len(report.fabric.link_ids))
    at = max(0, int(np.searchsorted(segments.start_s, time_s, side="right")) - 1)
    usable = np.repeat(report.fabric.usable, 2)
    rate = np.asarray(segments.rates[int(segments.state[at])], np.float64)
    return np.divide(rate, usable, out=np.zeros_like(rate), where=usable > 0)


def gpu_groups(placement: Placement | None, paint: Paint, dimension: Dimension) -> Mapping[str, int]:
    """The group that each GPU shows in a dimension, −1 where it plays no rank; fresh paint at once."""
    groups: dict[str, int] = {}
    if placement is not None:
        shown = displayed_groups(placement, dimension).tolist()
        groups.update(zip(placement.gpus, shown, strict=True))
    for gpu in paint:
        colour = paint.group(gpu, dimension)
        if colour is not None:
            groups[gpu] = colour
    return groups


# Texts


def power_text(figures: Equipment) -> str:
    """The power of a thing; of its GPUs alone where no more is known."""
    if figures.power_w is not None:
        return format_power(figures.power_w)
    return f"GPUs {format_power(figures.gpu_power_w)}" if figures.gpu_power_w else UNKNOWN


def weight_text(weight_kg: float | None) -> str:
    """ "142 kg"."""
    return UNKNOWN if weight_kg is None else f"{three_digits(weight_kg)} kg"


def height_text(height_u: float | None) -> str:
    """ "8 U"."""
    return UNKNOWN if height_u is None else f"{height_u:g} U"


def total_power(totals: RackTotals) -> str:
    """The power of a rack, "≥" where parts are not known, and its limit where that is."""
    if not totals.power_w and not totals.power_whole:
        return f"{UNKNOWN} kW"
    text = format_power(totals.power_w)
    if totals.power_limit_w is not None:
        text = f"{three_digits(totals.power_w / 1000)} of {format_power(totals.power_limit_w)}"
    return text if totals.power_whole else f"≥ {text}"


def total_weight(totals: RackTotals) -> str:
    """The weight of a rack, "≥" where parts are not known."""
    if not totals.weight_kg:
        return f"{UNKNOWN} kg"
    text = weight_text(totals.weight_kg)
    return text if totals.weight_whole else f"≥ {text}"


def load_text(load: float | None) -> str:
    """ "75 %"; idle below half a percent."""
    if load is None:
        return ""
    return "idle" if load < 0.005 else format_percent(load)


def bar_lines(bar: Bar, load: float | None) -> tuple[str, ...]:
    """What the tool tip of a thing says below its name."""
    place = f"U {bar.units[0]}" if len(bar.units) == 1 else ""
    if len(bar.units) > 1:
        place = f"U {bar.units[0]} to {bar.units[-1]}"
    figures = bar.figures
    lines = [
        " · ".join(part for part in (place or "at no U", height_text(figures.height_u)) if part),
        f"power {power_text(figures)}, weight {weight_text(figures.weight_kg)}",
    ]
    if bar.gpus:
        lines.append(plural(len(bar.gpus), "GPU"))
    if bar.ports[1]:
        lines.append(f"{bar.ports[0]:,} of {plural(bar.ports[1], 'port')} used")
    if bar.devices_down:
        lines.append(f"{plural(bar.devices_down, 'device')} down")
    if load is not None:
        lines.append(f"busiest link {load_text(load)}")
    return tuple(lines)
