"""Another model in place of devices, everywhere at once, and what then no longer fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from model.catalog import GpuSpec, NvlinkSwitchSpec, catalog
from model.document.document import Document
from model.document.edits import Replace
from model.errors import EditRefused
from model.text import capital, name_list, plural
from model.topology.graph import Topology
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.ports import Family, family_of, misfit, ports_of, spec_of
from model.topology.types import Device, DeviceKind, Link

_SAME = 1e-9  # relative difference up to which two speeds are one


@dataclass(frozen=True, slots=True)
class Misfit:
    """Equal things that no longer fit: what, why, and where."""

    title: str
    detail: str
    devices: tuple[str, ...]
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a replacement would do. `links` get another speed; `misfits` fitted before and would not after."""

    edit: Replace
    devices: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[str, ...]
    misfits: tuple[Misfit, ...]


def plan_replacement(
    document: Document,
    ids: Iterable[str],
    model: str,
    *,
    adapt_links: bool = True,
    with_switches: bool = False,
) -> Replacement:
    """Put `model` in place of the devices `ids`, which are of one kind.

    With `adapt_links`, a link that ran at the full speed of its ends does so again. With `with_switches`,
    the NVLink switches that replaced GPUs hang on become those of the new generation. Raises `EditRefused`
    where the catalogue has no such model of this kind.
    """
    topology = document.topology
    devices = {ident: topology.device(ident) for ident in ids}
    kinds = {device.kind for device in devices.values()}
    if len(kinds) != 1:
        raise EditRefused("Only devices of one kind can be replaced by one model.")
    kind = kinds.pop()
    if model not in catalog().of_kind(kind.value):
        raise EditRefused(f'The catalogue has no {DEVICE_NAMES[kind]} called "{model}".')
    new = {ident: replace(device, model=model) for ident, device in devices.items() if device.model != model}
    switches = _switches(topology, new) if with_switches else {}
    new |= switches
    after: Callable[[str], Device] = lambda ident: new.get(ident) or topology.device(ident)  # noqa: E731
    links = [link for link in topology.links() if link.a in new or link.b in new]
    faster = _adapted(topology, after, links) if adapt_links else {}
    return Replacement(
        Replace(tuple(new.values()), tuple(faster.values())),
        tuple(ident for ident in new if ident not in switches),
        tuple(switches),
        tuple(faster),
        (
            *_wrong_links(topology, after, [faster.get(link.id, link) for link in links]),
            *_too_few_ports(topology, after, new, faster),
        ),
    )


@lru_cache(maxsize=64)
def fitting_switch(gpu: str) -> str | None:
    """The NVLink switch of a GPU model's generation; None where the catalogue has none."""
    spec = catalog().gpus.get(gpu)
    for ident, switch in catalog().nvlink_switches.items():
        if spec is not None and switch.nvlink_generation == spec.nvlink_generation:
            return ident
    return None


def _switches(topology: Topology, new: Mapping[str, Device]) -> dict[str, Device]:
    found: dict[str, Device] = {}
    for link in topology.links():
        for ident, other in ((link.a, link.b), (link.b, link.a)):
            if ident not in new or other in found:
                continue
            spec, switch = spec_of(new[ident]), topology.device(other)
            wanted, of_switch = fitting_switch(new[ident].model), spec_of(switch)
            if wanted is None or not isinstance(spec, GpuSpec) or switch.kind is not DeviceKind.NVLINK_SWITCH:
                continue
            if not (
                isinstance(of_switch, NvlinkSwitchSpec)
                and of_switch.nvlink_generation == spec.nvlink_generation
            ):
                found[other] = replace(switch, model=wanted)
    return found


def _lane(a: Device, b: Device, family: Family) -> float:
    """The fastest lane that both ends have; 0 where one has no such port."""
    return min(_port_speed(a.kind, a.model, family), _port_speed(b.kind, b.model, family))


@lru_cache(maxsize=1024)
def _port_speed(kind: DeviceKind, model: str, family: Family) -> float:
    groups = ports_of(Device("", kind, model))
    return next((group.lane_bytes_per_s for group in groups if group.family == family), 0.0)


def _adapted(topology: Topology, after: Callable[[str], Device], links: Iterable[Link]) -> dict[str, Link]:
    """The links that get another speed because they ran at the full speed of their ends."""
    found: dict[str, Link] = {}
    for link in links:
        family = family_of(link.kind)
        before = _lane(topology.device(link.a), topology.device(link.b), family)
        now = _lane(after(link.a), after(link.b), family)
        full = before > 0 and abs(link.lane_bytes_per_s - before) <= _SAME * before
        if full and now > 0 and abs(now - before) > _SAME * before:
            found[link.id] = replace(link, lane_bytes_per_s=now)
    return found


def _wrong_links(
    topology: Topology, after: Callable[[str], Device], links: Sequence[Link]
) -> Iterable[Misfit]:
    """Links that fitted and do not any more; equal ones are one misfit."""
    found: dict[tuple[object, ...], tuple[str, list[Link]]] = {}
    for link in links:
        a, b = after(link.a), after(link.b)
        key = (a.kind, a.model, b.kind, b.model, link.kind, link.lane_bytes_per_s)
        if key not in found:
            found[key] = (misfit(a, b, link), [])
        if found[key][0] and not misfit(
            topology.device(link.a), topology.device(link.b), topology.link(link.id)
        ):
            found[key][1].append(link)
    for reason, members in found.values():
        if members:
            first = members[0]
            kind = LINK_NAMES[first.kind]
            yield Misfit(
                f"{plural(len(members), f'{kind} link')} cannot be built",
                f"{first.a} – {first.b}: {reason}.",
                tuple(dict.fromkeys(end for link in members for end in (link.a, link.b))),
                tuple(link.id for link in members),
            )


def _too_few_ports(
    topology: Topology,
    after: Callable[[str], Device],
    new: Mapping[str, Device],
    faster: Mapping[str, Link],
) -> Iterable[Misfit]:
    """Devices whose links took up their ports, and now take more than there are."""
    touched: dict[str, list[Link]] = {ident: [] for ident in new}
    for link in faster.values():
        touched.setdefault(link.a, [])
        touched.setdefault(link.b, [])
    for link in topology.links():
        for end in (link.a, link.b):
            if end in touched:
                touched[end].append(link)
    found: dict[tuple[str, Family], list[tuple[str, float, int, str]]] = {}
    for ident, links in touched.items():
        device, before = after(ident), topology.device(ident)
        for group in ports_of(device):
            used = _use(device, group.family, [faster.get(link.id, link) for link in links])
            had = {each.family: each.count for each in ports_of(before)}.get(group.family, 0)
            fitted = _use(before, group.family, links) <= had + _SAME
            if used > group.count + _SAME and fitted:
                entry = (ident, used, group.count, group.name())
                found.setdefault((device.model, group.family), []).append(entry)
    for (model, family), entries in found.items():
        ident, used, count, name = entries[0]
        ids = tuple(entry[0] for entry in entries)
        who = ident if len(ids) == 1 else plural(len(ids), f"{_name(after(ident))} device")
        yield Misfit(
            capital(f"{who}: too few {name}s"),
            f"{used:,g} are taken at {name_list(ids)}, and a {model} has {count}.",
            ids,
            tuple(
                dict.fromkeys(
                    link.id
                    for each in ids
                    for link in topology.links_of(each)
                    if family_of(link.kind) == family
                )
            ),
        )


def _use(device: Device, family: Family, links: Sequence[Link]) -> float:
    group = next((each for each in ports_of(device) if each.family == family), None)
    return sum(
        link.count * (group.ports_per_lane(link.lane_bytes_per_s) if group else 1.0)
        for link in links
        if family_of(link.kind) == family
    )


def _name(device: Device) -> str:
    spec = spec_of(device)
    return spec.name if spec is not None else device.model
