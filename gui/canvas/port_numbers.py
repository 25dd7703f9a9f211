"""Which ports links take: counted up in the order of the links, a split port in its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gui.canvas.scene_index import KIND_CODE, LINK_KINDS, FloatArray, SceneIndex
from model.topology.ports import PortGroup, family_of, ports_of
from model.topology.types import NETWORK_SWITCHES, Device

_FAMILIES = tuple(dict.fromkeys(family_of(kind) for kind in LINK_KINDS))
_SPLITTING = [KIND_CODE[kind] for kind in NETWORK_SWITCHES]
_FAMILY_OF = np.array([_FAMILIES.index(family_of(kind)) for kind in LINK_KINDS])


@dataclass(frozen=True, slots=True)
class Ports:
    """Per link and end (m, 2): the `share` of a port that one lane takes, and the ports taken before it.

    No file says which plug is in which port, so ports are numbered as the links stand in the document.
    """

    share: FloatArray
    before: FloatArray

    def name(self, link: int, side: int, lanes: int, lane: int = -1) -> str:
        """The ports of a link at an end: "7", "5–8", "3/2" of a split port; of one `lane` only its own."""
        share, start = float(self.share[link, side]), float(self.before[link, side])
        if lane >= 0:
            start, lanes = start + lane * share, 1
        first = _port(start, share)
        return first if lanes == 1 else f"{first}–{_port(start + (lanes - 1) * share, share)}"


def _port(start: float, share: float) -> str:
    number = int(start + 1e-9)
    return f"{number + 1}" if share >= 1 else f"{number + 1}/{round((start - number) / share) + 1}"


def network_ports(device: Device) -> PortGroup | None:
    """The network ports of a device by its catalogue entry."""
    return next((group for group in ports_of(device) if group.family == "network"), None)


def ports_of_links(index: SceneIndex) -> Ports:
    """The ports of all links of a drawing. A switch may split one in two or four for slower cables."""
    network = _FAMILIES.index("network")
    family = _FAMILY_OF[index.link_kind] if len(index.links) else np.zeros(0, dtype=np.int64)
    speeds: dict[tuple[str, str], float] = {}
    port = np.zeros(len(index.devices))
    for row in np.flatnonzero(np.isin(index.kind, _SPLITTING)).tolist():
        device = index.devices[row]
        model = (device.kind.value, device.model)
        if model not in speeds:
            group = network_ports(device)
            speeds[model] = group.lane_bytes_per_s if group is not None and group.splits else 0.0
        port[row] = speeds[model]
    lane = index.nominal / np.maximum(index.cables, 1)
    speed = port[index.ends]
    part = np.divide(lane[:, None], speed, out=np.ones_like(speed), where=speed > 0)
    share = np.where(part <= 0.25, 0.25, np.where(part <= 0.5, 0.5, 1.0))
    share[family != network] = 1.0
    key = (index.ends.astype(np.int64) * len(_FAMILIES) + family[:, None]).ravel()
    taken = (share * index.cables[:, None]).ravel()
    order = np.argsort(key, kind="stable")
    total = np.cumsum(taken[order])
    begins = np.diff(key[order], prepend=-1) != 0
    base = np.maximum.accumulate(np.where(begins, total - taken[order], 0.0))
    before = np.empty(len(key))
    before[order] = total - taken[order] - base
    return Ports(share, before.reshape(-1, 2))
