"""What it takes to give drawn parts a state, for every place in the window where one is chosen."""

from __future__ import annotations

from collections.abc import Iterable

from model.document.edits import Edit, SetFields
from model.topology.graph import Topology
from model.topology.types import DeviceKind, State

DEGRADED_SHARE = 0.75


def degradable(topology: Topology, ident: str) -> bool:
    """Whether a part can deliver less than all: links by their share, GPUs by their speed. A switch or NIC
    cannot; its links can.
    """
    if topology.has_link(ident):
        return True
    return topology.has_device(ident) and topology.device(ident).kind is DeviceKind.GPU


def state_edits(topology: Topology, ids: Iterable[str], state: State) -> tuple[Edit, ...]:
    """The edits that give devices and links a state; up means all of what they were built for.

    Degraded reaches only the parts that can be, and those that still deliver everything get
    `DEGRADED_SHARE` of it. Empty where nothing can have the state.
    """
    parts = [ident for ident in sorted(ids) if state is not State.DEGRADED or degradable(topology, ident)]
    links = tuple(ident for ident in parts if topology.has_link(ident))
    devices = tuple(ident for ident in parts if topology.has_device(ident))
    edits: list[Edit] = []
    if devices:
        edits.append(SetFields("device", devices, {"state": state}))
    if links:
        edits.append(SetFields("link", links, {"state": state}))
    if state is State.DOWN:
        return tuple(edits)
    whole = state is State.UP
    share = 1.0 if whole else DEGRADED_SHARE
    slow = tuple(ident for ident in devices if (topology.device(ident).speed < 1.0) is whole)
    narrow = tuple(ident for ident in links if (topology.link(ident).share < 1.0) is whole)
    if slow:
        edits.append(SetFields("device", slow, {"speed": share}))
    if narrow:
        edits.append(SetFields("link", narrow, {"share": share}))
    return tuple(edits)
