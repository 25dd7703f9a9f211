"""Readable ids for what a hand draws: gpu0, leaf1, node00.nic3."""

from __future__ import annotations

from model.topology.graph import Topology
from model.topology.types import DeviceKind

PREFIX: dict[DeviceKind, str] = {
    DeviceKind.GPU: "gpu",
    DeviceKind.NVLINK_SWITCH: "nvs",
    DeviceKind.NIC: "nic",
    DeviceKind.CPU: "cpu",
    DeviceKind.PCIE_SWITCH: "pcie",
    DeviceKind.LEAF: "leaf",
    DeviceKind.SPINE: "spine",
    DeviceKind.CORE: "core",
    DeviceKind.STORAGE: "storage",
    DeviceKind.SITE_GATEWAY: "site",
}


def device_names(topology: Topology, kind: DeviceKind, count: int, container: str | None) -> list[str]:
    """`count` free ids, counted up from 0; inside a container they carry its name."""
    stem = f"{container}.{PREFIX[kind]}" if container else PREFIX[kind]
    names: list[str] = []
    number = 0
    while len(names) < count:
        if not topology.has(f"{stem}{number}"):
            names.append(f"{stem}{number}")
        number += 1
    return names


def free_rails(topology: Topology, kind: DeviceKind, count: int, container: str | None) -> list[int | None]:
    """Rails for new GPUs and NICs of a container: the lowest that its others of the kind do not have.

    Outside of containers nothing says which GPU and NIC belong together but the links, so there is no rail.
    """
    if container is None or kind not in (DeviceKind.GPU, DeviceKind.NIC):
        return [None] * count
    taken = set()
    for ident in topology.children(container):
        if topology.has_device(ident) and topology.device(ident).kind is kind:
            taken.add(topology.device(ident).rail)
    free: list[int | None] = []
    rail = 0
    while len(free) < count:
        if rail not in taken:
            free.append(rail)
        rail += 1
    return free
