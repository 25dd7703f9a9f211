"""Ports of devices, and which devices a link may join, with the reason in words where it may not.

Gestures ask `check_connect` before they act. Files may hold what it refuses: an over-full sketch is kept as
it is, and `port_findings` says what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from model.catalog import DeviceSpec, GpuSpec, HostSpec, NicSpec, NvlinkSwitchSpec, SwitchSpec, catalog
from model.text import format_port, format_rate, name_list, plural
from model.topology.graph import Topology
from model.topology.names import LINK_NAMES, a_device
from model.topology.types import (
    NETWORK_LINKS,
    NETWORK_SWITCHES,
    SCALE_UP_LINKS,
    Device,
    DeviceKind,
    Link,
    LinkKind,
)

Family = Literal["nvlink", "network", "pcie", "c2c"]

_NETWORK_ENDS = NETWORK_SWITCHES | {DeviceKind.NIC, DeviceKind.STORAGE, DeviceKind.SITE_GATEWAY}
_HOST_ENDS = frozenset({DeviceKind.GPU, DeviceKind.NIC, DeviceKind.CPU, DeviceKind.PCIE_SWITCH})
_SCALE_UP_ENDS = frozenset({DeviceKind.GPU, DeviceKind.NVLINK_SWITCH})


@dataclass(frozen=True, slots=True)
class PortGroup:
    """Equal ports of a device; the rate is of one port, one direction. A switch may split one in 2 or 4."""

    family: Family
    count: int
    lane_bytes_per_s: float
    splits: bool = False

    def name(self, kind: LinkKind | None = None) -> str:
        """What a person calls one of these ports: "400G port", "NVLink", "PCIe port"."""
        if self.family == "network":
            return f"{format_port(self.lane_bytes_per_s)} port"
        if self.family == "nvlink":
            return "xGMI link" if kind is LinkKind.XGMI else "NVLink"
        return "PCIe port" if self.family == "pcie" else "C2C link"

    def ports_per_lane(self, lane_bytes_per_s: float) -> float:
        """The part of a port that one lane of this speed takes."""
        if not self.splits or self.lane_bytes_per_s <= 0:
            return 1.0
        share = lane_bytes_per_s / self.lane_bytes_per_s
        return 0.25 if share <= 0.25 else 0.5 if share <= 0.5 else 1.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why two devices cannot be joined, as one sentence without a full stop."""

    reason: str


@dataclass(frozen=True, slots=True)
class Allowed:
    """How two devices can be joined. `most` is the largest count that both ends have free ports for."""

    kind: LinkKind
    lane_bytes_per_s: float
    most: int


@dataclass(frozen=True, slots=True)
class PortFinding:
    """Something in the drawing that no gesture would have made."""

    title: str
    detail: str
    devices: tuple[str, ...]
    links: tuple[str, ...]


def family_of(kind: LinkKind) -> Family:
    """The family of ports that a link of this kind takes."""
    if kind in SCALE_UP_LINKS:
        return "nvlink"
    if kind in NETWORK_LINKS:
        return "network"
    return "pcie" if kind is LinkKind.PCIE else "c2c"


def spec_of(device: Device) -> DeviceSpec | None:
    """The catalogue entry of a device, None when its model is not in the catalogue."""
    return catalog().of_kind(device.kind.value).get(device.model)


@lru_cache(maxsize=4096)
def _ports(kind: DeviceKind, model: str) -> tuple[PortGroup, ...]:
    spec = catalog().of_kind(kind.value).get(model)
    groups: list[PortGroup] = []
    if isinstance(spec, GpuSpec):
        groups.append(PortGroup("nvlink", spec.scale_up_links, spec.scale_up_lane_bytes_per_s))
        groups.append(PortGroup("pcie", 1, spec.pcie_bytes_per_s))
        groups.append(PortGroup("c2c", 1, spec.c2c_bytes_per_s))
    elif isinstance(spec, NvlinkSwitchSpec):
        groups.append(PortGroup("nvlink", spec.ports, spec.lane_bytes_per_s))
    elif isinstance(spec, NicSpec):
        groups.append(PortGroup("network", spec.ports, spec.port_bytes_per_s))
        lanes = spec.pcie_lanes_total_with_switch or (32 if spec.built_in_pcie_switch else 16)
        groups.append(PortGroup("pcie", lanes // 16, spec.pcie_bytes_per_s))
    elif isinstance(spec, SwitchSpec):
        groups.append(PortGroup("network", spec.ports, spec.port_bytes_per_s, splits=True))
    elif isinstance(spec, HostSpec):
        groups.append(PortGroup("pcie", spec.pcie_ports, spec.pcie_bytes_per_s))
        groups.append(PortGroup("c2c", spec.c2c_ports, spec.c2c_bytes_per_s))
        groups.append(PortGroup("network", spec.network_ports, spec.port_bytes_per_s))
    return tuple(group for group in groups if group.count > 0 and group.lane_bytes_per_s > 0)


def ports_of(device: Device) -> tuple[PortGroup, ...]:
    """The ports that a device has by its catalogue entry; none when the catalogue does not know its model."""
    return _ports(device.kind, device.model)


def _group(device: Device, family: Family) -> PortGroup | None:
    return next((group for group in ports_of(device) if group.family == family), None)


def port_use(topology: Topology, device_id: str) -> Mapping[Family, float]:
    """Ports of each family that links take up, down links too. Parts of a split port count as parts."""
    device = topology.device(device_id)
    use: dict[Family, float] = {group.family: 0.0 for group in ports_of(device)}
    for link in topology.links_of(device_id):
        family = family_of(link.kind)
        group = _group(device, family)
        share = group.ports_per_lane(link.lane_bytes_per_s) if group else 1.0
        use[family] = use.get(family, 0.0) + share * link.count
    return use


def link_kinds(a: Device, b: Device) -> tuple[LinkKind, ...]:
    """The kinds of link that may join two devices, the usual one first; empty when they do not connect."""
    ends = {a.kind, b.kind}
    found: list[LinkKind] = []
    if ends <= _SCALE_UP_ENDS:
        found.append(LinkKind.XGMI if _is_xgmi(a) and _is_xgmi(b) else LinkKind.NVLINK)
    elif ends <= _NETWORK_ENDS:
        found.extend(_networks(a, b))
    elif ends <= _HOST_ENDS:
        host_links = (LinkKind.C2C, LinkKind.PCIE) if DeviceKind.CPU in ends else (LinkKind.PCIE,)
        for kind in host_links:
            family = family_of(kind)
            if _group(a, family) and _group(b, family):
                found.append(kind)
    return tuple(found)


def _is_xgmi(device: Device) -> bool:
    spec = spec_of(device)
    return isinstance(spec, GpuSpec) and spec.nvlink_generation is None


def _speaks(device: Device) -> tuple[str, ...]:
    spec = spec_of(device)
    if isinstance(spec, SwitchSpec):
        return (spec.network,)
    return tuple(spec.networks) if isinstance(spec, NicSpec | HostSpec) else ()


def _networks(a: Device, b: Device) -> list[LinkKind]:
    """Networks that both ends speak. Between two gateways the usual link is a WAN line."""
    other = _speaks(b)
    common = [LinkKind(name) for name in _speaks(a) if name in other]
    if a.kind is DeviceKind.SITE_GATEWAY and b.kind is DeviceKind.SITE_GATEWAY:
        common.sort(key=lambda kind: kind is not LinkKind.WAN)
    return common


def check_connect(
    topology: Topology, a: str, b: str, kind: LinkKind | None = None, count: int = 1
) -> Refusal | Allowed:
    """Whether a gesture may join two devices with `count` lanes, and with which kind and speed.

    Without `kind` the usual kind for the pair. The speed is the fastest that both ends have. Raises
    `EditRefused` only for unknown ids.
    """
    first, second = topology.device(a), topology.device(b)
    if a == b:
        return Refusal(f"{a} cannot be connected to itself")
    for device in (first, second):
        if spec_of(device) is None:
            return Refusal(f'{device.id} is of the model "{device.model}", which the catalogue does not have')
    kinds = link_kinds(first, second)
    if not kinds:
        return Refusal(_why_not(first, second))
    if kind is not None and kind not in kinds:
        return Refusal(
            f"{LINK_NAMES[kind]} does not join {a} and {b}; "
            f"{' or '.join(LINK_NAMES[each] for each in kinds)} does"
        )
    chosen = kind or kinds[0]
    mismatch = _scale_up_mismatch(first, second) if chosen in SCALE_UP_LINKS else None
    if mismatch:
        return Refusal(mismatch)
    family = family_of(chosen)
    groups = (_group(first, family), _group(second, family))
    for device, group in zip((first, second), groups, strict=True):
        if group is None:
            return Refusal(f"{device.id} has no {LINK_NAMES[chosen]} port")
    lane = min(group.lane_bytes_per_s for group in groups if group)
    most = 10**6
    for device, group in zip((first, second), groups, strict=True):
        if group is not None:
            free, reason = _room(topology, device, group, chosen, lane, count)
            if reason:
                return Refusal(reason)
            most = min(most, free)
    return Allowed(chosen, lane, most)


def misfit(a: Device, b: Device, link: Link) -> str:
    """Why no gesture would make this link between two devices, free ports aside; empty where one would."""
    for device in (a, b):
        if spec_of(device) is None:
            return f'{device.id} is of the model "{device.model}", which the catalogue does not have'
    kinds = link_kinds(a, b)
    if link.kind not in kinds:
        wanted = " or ".join(LINK_NAMES[kind] for kind in kinds)
        return f"{LINK_NAMES[link.kind]} does not join them; {wanted} does" if kinds else _why_not(a, b)
    mismatch = _scale_up_mismatch(a, b) if link.kind in SCALE_UP_LINKS else None
    if mismatch:
        return mismatch
    for device in (a, b):
        group = _group(device, family_of(link.kind))
        if group is None:
            return f"{device.id} has no {LINK_NAMES[link.kind]} port"
        if link.lane_bytes_per_s > group.lane_bytes_per_s * (1 + 1e-9):
            return (
                f"{device.id} has a {group.name(link.kind)} of {format_rate(group.lane_bytes_per_s)}, "
                f"and the link {format_rate(link.lane_bytes_per_s)}"
            )
    return ""


def _room(
    topology: Topology, device: Device, group: PortGroup, kind: LinkKind, lane: float, count: int
) -> tuple[int, str]:
    """Lanes that still fit, and the reason when that is fewer than `count`."""
    used = port_use(topology, device.id).get(group.family, 0.0)
    free = max(0, math.floor((group.count - used) / group.ports_per_lane(lane) + 1e-9))
    if free >= count:
        return free, ""
    name = group.name(kind)
    budget = f"({used:,g} of {group.count} used)"
    if free == 0:
        return free, f"{device.id} has no free {name} {budget}"
    return free, f"{device.id} has room for only {free} more on its {name}s {budget}, not {count}"


def _scale_up_mismatch(a: Device, b: Device) -> str | None:
    first, second = spec_of(a), spec_of(b)
    if isinstance(first, GpuSpec) and isinstance(second, GpuSpec):
        if first.scaleup_name != second.scaleup_name:
            return f"{a.id} has {first.scaleup_name} and {b.id} {second.scaleup_name}"
        return None
    generations = [
        spec.nvlink_generation if isinstance(spec, GpuSpec | NvlinkSwitchSpec) else None
        for spec in (first, second)
    ]
    for device, generation in zip((a, b), generations, strict=True):
        if generation is None:
            return f"{device.id} has no NVLink"
    if generations[0] != generations[1]:
        return f"{a.id} has NVLink {generations[0]} and {b.id} NVLink {generations[1]}"
    return None


def _why_not(a: Device, b: Device) -> str:
    ends = {a.kind, b.kind}
    if ends <= _NETWORK_ENDS:
        names = {name: LINK_NAMES[LinkKind(name)] for name in (*_speaks(a), *_speaks(b))}
        speech = [" and ".join(names[name] for name in _speaks(device)) or "no network" for device in (a, b)]
        return f"{a.id} speaks {speech[0]} and {b.id} {speech[1]}"
    if ends <= _HOST_ENDS:
        return f"{a.id} and {b.id} have no kind of port in common"
    pair = f"{a_device(a.kind)} and {a_device(b.kind)} do not connect"
    if DeviceKind.NVLINK_SWITCH in ends:
        return f"{pair}: an NVLink switch joins GPUs and other NVLink switches"
    if ends & _NETWORK_ENDS:
        return f"{pair}: put a NIC between {a.id} and {b.id}"
    return pair


def new_link(topology: Topology, a: str, b: str, allowed: Allowed, count: int = 1) -> Link:
    """The link that a gesture makes, with an id that is free."""
    wanted, number = f"{a}--{b}", 2
    ident = wanted
    while topology.has(ident):
        ident, number = f"{wanted}-{number}", number + 1
    return Link(ident, a, b, allowed.kind, allowed.lane_bytes_per_s, count)


def port_findings(topology: Topology) -> tuple[PortFinding, ...]:
    """Devices with more links than ports, and links that no gesture would make; in document order."""
    use: dict[tuple[str, Family], float] = {}
    wrong: list[PortFinding] = []
    fitting: dict[tuple[DeviceKind, str, DeviceKind, str, LinkKind], bool] = {}
    devices = {device.id: device for device in topology.devices()}
    for link in topology.links():
        a, b = devices[link.a], devices[link.b]
        family = family_of(link.kind)
        for device in (a, b):
            group = _group(device, family)
            lanes = link.count * (group.ports_per_lane(link.lane_bytes_per_s) if group else 1.0)
            use[device.id, family] = use.get((device.id, family), 0.0) + lanes
            if group and link.lane_bytes_per_s > group.lane_bytes_per_s * (1 + 1e-9):
                wrong.append(_too_fast(link, device, group))
        key = (a.kind, a.model, b.kind, b.model, link.kind)
        if key not in fitting:
            fitting[key] = spec_of(a) is None or spec_of(b) is None or link.kind in link_kinds(a, b)
        if not fitting[key]:
            wrong.append(
                PortFinding(
                    f"{LINK_NAMES[link.kind]} does not join {a.id} and {b.id}",
                    f"{link.id} runs between {a_device(a.kind)} and {a_device(b.kind)}.",
                    (a.id, b.id),
                    (link.id,),
                )
            )
    return (*_over_budget(topology, use), *wrong)


def _too_fast(link: Link, device: Device, group: PortGroup) -> PortFinding:
    return PortFinding(
        f"{link.id} is faster than {device.id}",
        f"A lane of {format_rate(link.lane_bytes_per_s)} ends at a {group.name(link.kind)} of "
        f"{format_rate(group.lane_bytes_per_s)}.",
        (device.id,),
        (link.id,),
    )


def _over_budget(topology: Topology, use: Mapping[tuple[str, Family], float]) -> tuple[PortFinding, ...]:
    """One finding for each model and family, so that a thousand equal mistakes read as one."""
    over: dict[tuple[str, Family], list[tuple[str, float, PortGroup]]] = {}
    for device in topology.devices():
        for group in ports_of(device):
            used = use.get((device.id, group.family), 0.0)
            if used > group.count + 1e-9:
                over.setdefault((device.model, group.family), []).append((device.id, used, group))
    found = []
    for (model, family), entries in over.items():
        ident, used, group = entries[0]
        kind = LinkKind.XGMI if family == "nvlink" and _is_xgmi(topology.device(ident)) else None
        name = group.name(kind)
        who = ident if len(entries) == 1 else plural(len(entries), f"{model} device")
        ids = tuple(entry[0] for entry in entries)
        links = tuple(
            link.id for each in ids for link in topology.links_of(each) if family_of(link.kind) == family
        )
        found.append(
            PortFinding(
                f"{who} {'has' if len(entries) == 1 else 'have'} too few {name}s",
                f"{used:,g} {name}s are taken at {name_list(ids)}, and a {model} has {group.count}.",
                ids,
                tuple(dict.fromkeys(links)),
            )
        )
    return tuple(found)
