"""What a thing in a rack takes: its own height, power and weight, else those of the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from model.catalog.load import catalog
from model.catalog.specs import GpuSpec, HostSpec, PlatformSpec, Spec, SwitchSpec
from model.topology.graph import Topology
from model.topology.ports import spec_of
from model.topology.racks import Thing, free_units, rack_height
from model.topology.types import Container, ContainerKind, Device, DeviceKind

_OWN_NAMES = ("height_u", "power_w", "weight_kg")
_SWITCH_TRAY_NAMES = ("switch_tray_height_u", "switch_tray_power_w", "switch_tray_weight_kg")
MOUNTABLE = frozenset(
    {
        DeviceKind.LEAF,
        DeviceKind.SPINE,
        DeviceKind.CORE,
        DeviceKind.STORAGE,
        DeviceKind.SITE_GATEWAY,
        DeviceKind.NVLINK_SWITCH,
    }
)


@dataclass(frozen=True, slots=True)
class Equipment:
    """Height, most power and weight of a thing; None where neither it nor the catalogue says.

    `gpu_power_w` is the thermal design power of its GPUs alone, 0 without any: the least that it draws at
    full load where its own power is not known.
    """

    height_u: float | None = None
    power_w: float | None = None
    weight_kg: float | None = None
    gpu_power_w: float = 0.0


@dataclass(frozen=True, slots=True)
class RackTotals:
    """Sums over a rack, with its own weight where that is known.

    A sum with parts that are not known is a lower bound: `power_whole` and `weight_whole` say so.
    `power_limit_w` is what the rack can supply, None where that is not known.
    """

    power_w: float
    power_whole: bool
    power_limit_w: float | None
    weight_kg: float
    weight_whole: bool
    free_u: int
    height_u: float

    @property
    def over_limit(self) -> bool:
        """Whether the rack may draw more than it can supply."""
        return self.power_limit_w is not None and self.power_w > self.power_limit_w


def equipment(topology: Topology, thing: Thing) -> Equipment:
    """The figures of a tray or a device."""
    spec, names = _entry(topology, thing)
    known = [None if spec is None else getattr(spec, name) for name in names]
    own = (thing.height_u, thing.power_w, thing.weight_kg)
    height, power, weight = (mine if mine is not None else by for mine, by in zip(own, known, strict=True))
    return Equipment(height, power, weight, sum(map(_gpu_power, _parts(topology, thing))))


def equipment_sources(topology: Topology, thing: Thing) -> tuple[str, str, str]:
    """Where the catalogue's height, power and weight of a thing were read; empty where it has none."""
    spec, names = _entry(topology, thing)
    if spec is None:
        return ("", "", "")
    found = [catalog().source_text(spec, name) if getattr(spec, name) is not None else "" for name in names]
    return (found[0], found[1], found[2])


def _entry(topology: Topology, thing: Thing) -> tuple[Spec | None, tuple[str, str, str]]:
    """The catalogue's entry for a thing, and what it calls its height, power and weight."""
    if isinstance(thing, Container):
        return _of_content(tuple(sorted(_content(_parts(topology, thing)).items())))
    spec = spec_of(thing)
    return (spec if isinstance(spec, SwitchSpec | HostSpec) else None, _OWN_NAMES)


def _parts(topology: Topology, thing: Thing) -> Iterable[Device]:
    return _devices_in(topology, thing.id) if isinstance(thing, Container) else (thing,)


def rack_totals(topology: Topology, rack: Container) -> RackTotals:
    """The sums of a rack and the U that are free.

    The catalogue's figures of a whole rack (NVL72) stand in where neither the rack nor its trays have any.
    """
    things = things_in(topology, rack.id)
    parts = [equipment(topology, thing) for thing in things]
    content = _content(_devices_in(topology, rack.id))
    spec = _whole_rack(*content.most_common(1)[0]) if len(content) == 1 else None
    limit, weight = rack.power_w, rack.weight_kg
    if limit is None and spec is not None and spec.rack_kw_max is not None:
        limit = spec.rack_kw_max * 1000
    weights = [part.weight_kg for part in parts if part.weight_kg is not None]
    weight_whole = len(weights) == len(parts)
    if not weights and weight is None and spec is not None and spec.rack_weight_kg is not None:
        weight, weight_whole = spec.rack_weight_kg, True
    return RackTotals(
        power_w=sum(part.gpu_power_w if part.power_w is None else part.power_w for part in parts),
        power_whole=all(part.power_w is not None for part in parts),
        power_limit_w=limit,
        weight_kg=sum(weights) + (weight or 0.0),
        weight_whole=weight_whole,
        free_u=len(free_units(rack, things)),
        height_u=rack_height(rack),
    )


def things_in(topology: Topology, container_id: str) -> tuple[Thing, ...]:
    """What lies directly in a container: trays and devices."""
    return tuple(
        topology.container(ident) if topology.has_container(ident) else topology.device(ident)
        for ident in topology.children(container_id)
    )


def mountable(topology: Topology, ident: str) -> bool:
    """Whether a thing can stand in a rack by itself: a tray, or a device that is not a part of a host."""
    if topology.has_container(ident):
        return topology.container(ident).kind is ContainerKind.TRAY
    return topology.has_device(ident) and topology.device(ident).kind in MOUNTABLE


def _devices_in(topology: Topology, container_id: str) -> Iterable[Device]:
    return (
        topology.device(ident) for ident in topology.descendants(container_id) if topology.has_device(ident)
    )


def _content(devices: Iterable[Device]) -> Counter[str]:
    """How many GPUs, or without any how many NVLink switches, by model: what tells a platform."""
    gpus = Counter(device.model for device in devices if device.kind is DeviceKind.GPU)
    return gpus or Counter(device.model for device in devices if device.kind is DeviceKind.NVLINK_SWITCH)


@lru_cache(maxsize=256)
def _of_content(content: tuple[tuple[str, int], ...]) -> tuple[Spec | None, tuple[str, str, str]]:
    """The first platform that has a tray with this content, and what it calls that tray's figures."""
    if len(content) == 1:
        model, count = content[0]
        for spec in catalog().platforms.values():
            if spec.gpu == model and count == (spec.gpus_per_tray or spec.gpus):
                return spec, _OWN_NAMES
            wiring = spec.nvlink_wiring
            if wiring is not None and (wiring.switch_chip, spec.switch_chips_per_tray) == (model, count):
                return spec, _SWITCH_TRAY_NAMES
    return None, _OWN_NAMES


@lru_cache(maxsize=64)
def _whole_rack(model: str, gpus: int) -> PlatformSpec | None:
    """The rack platform that a rack with so many GPUs of a model is."""
    for spec in catalog().platforms.values():
        if spec.compute_trays and spec.gpu == model and spec.gpus == gpus * spec.racks:
            return spec
    return None


def _gpu_power(device: Device) -> float:
    spec = spec_of(device) if device.kind is DeviceKind.GPU else None
    return (spec.tdp_w or 0.0) if isinstance(spec, GpuSpec) else 0.0
