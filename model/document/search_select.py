"""Selecting by what things have in common: kind, model, rail, group, place, state, finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from model.document.document import Document
from model.document.search import FoundFinding
from model.placement.conflicts import colour_name
from model.placement.types import DIMENSIONS, Placement
from model.text import capital
from model.topology.graph import Topology
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.ports import spec_of
from model.topology.types import ContainerKind, Device, DeviceKind, State


class By(StrEnum):
    """What things can be selected by."""

    KIND = "kind"
    MODEL = "model"
    RAIL = "rail"
    GROUP = "group"
    PLACE = "place"
    STATE = "state"
    LINK = "link"
    FINDING = "finding"


@dataclass(frozen=True, slots=True)
class Family:
    """Things that share a value: what it is called, and their ids in document order."""

    name: str
    ids: tuple[str, ...]
    icon: str = ""


def families(
    document: Document,
    by: By,
    placement: Placement | None = None,
    findings: Sequence[FoundFinding] = (),
) -> tuple[Family, ...]:
    """The values that things of the drawing have, with who has each; a value that nobody has is left out."""
    topology = document.topology
    if by is By.GROUP:
        return _groups(placement)
    if by is By.PLACE:
        return _places(topology)
    if by is By.FINDING:
        return tuple(
            Family(each.title, tuple(ident for ident in each.ids if topology.has(ident)))
            for each in findings
            if each.ids
        )
    if by is By.LINK:
        return _collected((LINK_NAMES[link.kind], link.id, "") for link in topology.links())
    if by is By.STATE:
        return _states(topology)
    return _devices(topology, by)


def _collected(members: Iterable[tuple[str, str, str]]) -> tuple[Family, ...]:
    """Families from (name, id, icon), in the order in which their names come up."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, ident, icon in members:
        found.setdefault((name, icon), []).append(ident)
    return tuple(Family(name, tuple(ids), icon) for (name, icon), ids in found.items())


def _devices(topology: Topology, by: By) -> tuple[Family, ...]:
    devices = topology.devices()
    if by is By.RAIL:
        return _rails(devices)
    name: Callable[[Device], str] = _kind_name if by is By.KIND else _model_name
    return _collected((name(device), device.id, device.kind.value) for device in devices)


def _kind_name(device: Device) -> str:
    return capital(DEVICE_NAMES[device.kind])


def _model_name(device: Device) -> str:
    spec = spec_of(device)
    return spec.name if spec is not None else device.model


def _rails(devices: Sequence[Device]) -> tuple[Family, ...]:
    rails: dict[int, list[str]] = {}
    for device in devices:
        if device.rail is not None:
            rails.setdefault(device.rail, []).append(device.id)
    return tuple(Family(f"Rail {rail}", tuple(rails[rail])) for rail in sorted(rails))


def _groups(placement: Placement | None) -> tuple[Family, ...]:
    if placement is None:
        return ()
    found: list[Family] = []
    for dimension in DIMENSIONS:
        shown = placement.shown.get(dimension)
        if shown is None:
            continue
        order = np.argsort(shown, kind="stable")
        colours, starts = np.unique(shown[order], return_index=True)
        for colour, rows in zip(colours.tolist(), np.split(order, starts[1:]), strict=True):
            if colour >= 0:
                ids = tuple(placement.gpus[row] for row in rows.tolist())
                found.append(Family(capital(colour_name(dimension, colour)), ids, DeviceKind.GPU.value))
    return tuple(found)


def _places(topology: Topology) -> tuple[Family, ...]:
    """Every container with the devices in it at any depth: sites first, trays last."""
    inside: dict[str, list[str]] = {box.id: [] for box in topology.containers()}
    around = {box.id: box.parent for box in topology.containers()}
    for device in topology.devices():
        place = device.parent
        while place is not None:
            inside[place].append(device.id)
            place = around[place]
    order = list(reversed(ContainerKind))
    boxes = sorted(topology.containers(), key=lambda box: order.index(box.kind))
    return tuple(Family(box.id, tuple(inside[box.id]), box.kind.value) for box in boxes if inside[box.id])


def _states(topology: Topology) -> tuple[Family, ...]:
    found: list[Family] = []
    for state in State:
        for noun, things in (("Devices", topology.devices()), ("Links", topology.links())):
            ids = tuple(thing.id for thing in things if thing.state is state)
            if ids:
                found.append(Family(f"{noun} that are {state.value}", ids))
    slow = tuple(device.id for device in topology.devices() if device.speed < 1.0)
    if slow:
        found.append(Family("GPUs with less than their compute", slow, DeviceKind.GPU.value))
    return tuple(found)
