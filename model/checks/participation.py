"""Devices that take no part in the job, or that nothing is connected to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from model.checks.situation import Situation, total_bytes
from model.step.report import Finding, Severity
from model.text import name_list, plural
from model.topology.names import DEVICE_NAMES
from model.topology.types import NETWORK_LINKS, DeviceKind, LinkKind, State

_CARRIERS = frozenset(
    {DeviceKind.NVLINK_SWITCH, DeviceKind.NIC, DeviceKind.LEAF, DeviceKind.SPINE, DeviceKind.CORE}
)
_MANY = {DeviceKind.LEAF: "leaves", DeviceKind.NVLINK_SWITCH: "NVLink switches"}
_KINDS = tuple(DeviceKind)
_NETWORK = [number for number, kind in enumerate(LinkKind) if kind in NETWORK_LINKS]


def check(situation: Situation) -> Iterator[Finding]:
    """Devices without a live link, NICs without a network, GPUs without a rank, switches and NICs without a
    byte.
    """
    topology = situation.topology
    if situation.report is None and not situation.world:
        return
    linked = _ends(situation, situation.fabric.capacity > 0)
    alone = [
        device.id
        for device in topology.devices()
        if device.state is not State.DOWN and not linked[situation.fabric.device_index[device.id]]
    ]
    if alone and len(topology.devices()) > 1:
        yield _finding("unconnected", alone, "no live link", "Nothing reaches", "Connect or remove")
    in_network = _ends(
        situation, (situation.fabric.capacity > 0) & np.isin(situation.fabric.link_kind, _NETWORK)
    )
    idle_nics = [
        device.id
        for device in topology.working(DeviceKind.NIC)
        if linked[situation.fabric.device_index[device.id]]
        and not in_network[situation.fabric.device_index[device.id]]
    ]
    if idle_nics:
        yield _finding("nics", idle_nics, "no network link", "No traffic leaves through", "Cable")
    yield from _without_rank(situation)
    yield from _without_bytes(situation, set(alone) | set(idle_nics))


def _ends(situation: Situation, links: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which devices are an end of one of these links."""
    fabric = situation.fabric
    touched = np.zeros(len(fabric.device_ids), dtype=np.bool_)
    touched[fabric.link_a[links]] = True
    touched[fabric.link_b[links]] = True
    return touched


def _finding(ident: str, ids: list[str], lacks: str, why: str, what: str) -> Finding:
    one = len(ids) == 1
    who = plural(len(ids), "device" if ident == "unconnected" else "NIC")
    return Finding(
        id=f"participation.{ident}",
        severity=Severity.INFO,
        title=f"{who} {'has' if one else 'have'} {lacks}",
        detail=f"{why} {name_list(ids)}.",
        devices=tuple(ids),
        fix=f"{what} {'it' if one else 'them'}.",
    )


def _without_rank(situation: Situation) -> Iterator[Finding]:
    placement = situation.placement
    if placement is None:
        return
    playing = {gpu for gpu, rank in zip(placement.gpus, placement.rank.tolist(), strict=True) if rank >= 0}
    idle = [device.id for device in situation.topology.working(DeviceKind.GPU) if device.id not in playing]
    if idle:
        yield Finding(
            id="participation.gpus",
            severity=Severity.INFO,
            title=f"{plural(len(idle), 'GPU')} {'takes' if len(idle) == 1 else 'take'} no part",
            detail=f"The job has {plural(placement.world_size, 'rank')} and none for {name_list(idle)}.",
            devices=tuple(idle),
            fix="Paint them, or change the parallel sizes so that all GPUs have a rank.",
        )


def _without_bytes(situation: Situation, known: set[str]) -> Iterator[Finding]:
    """Switches and NICs that are connected, but that no exchange goes through."""
    report = situation.report
    if report is None:
        return
    busy = _ends(situation, total_bytes(report).reshape(-1, 2).sum(axis=1) > 0)
    by_kind: dict[DeviceKind, list[str]] = {}
    fabric = situation.fabric
    for index in np.flatnonzero(~busy & fabric.device_up).tolist():
        kind, ident = _KINDS[fabric.device_kind[index]], fabric.device_ids[index]
        if kind in _CARRIERS and ident not in known:
            by_kind.setdefault(kind, []).append(ident)
    for kind, ids in by_kind.items():
        noun, many = DEVICE_NAMES[kind], _MANY.get(kind)
        one = len(ids) == 1
        yield Finding(
            id=f"participation.idle.{kind.value}",
            severity=Severity.INFO,
            title=f"{plural(len(ids), noun, many)} {'carries' if one else 'carry'} nothing",
            detail=f"No exchange of the step goes through {name_list(ids)}.",
            devices=tuple(ids),
        )
