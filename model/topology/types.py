"""What a drawing is made of: devices, links and containers, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DeviceKind(StrEnum):
    """Kinds of device; the values are those of the topology JSON."""

    GPU = "gpu"
    NVLINK_SWITCH = "nvlink-switch"
    NIC = "nic"
    CPU = "cpu"
    PCIE_SWITCH = "pcie-switch"
    LEAF = "leaf"
    SPINE = "spine"
    CORE = "core"
    STORAGE = "storage"
    SITE_GATEWAY = "site-gateway"


class LinkKind(StrEnum):
    """Kinds of link; the values are those of the topology JSON."""

    NVLINK = "nvlink"
    PCIE = "pcie"
    C2C = "c2c"
    ETHERNET = "ethernet"
    INFINIBAND = "infiniband"
    XGMI = "xgmi"
    WAN = "wan"


class ContainerKind(StrEnum):
    """Kinds of container, from the inside out."""

    TRAY = "tray"
    RACK = "rack"
    POD = "pod"
    SITE = "site"


class State(StrEnum):
    """Whether a device or link works."""

    UP = "up"
    DEGRADED = "degraded"
    DOWN = "down"


NETWORK_SWITCHES = frozenset({DeviceKind.LEAF, DeviceKind.SPINE, DeviceKind.CORE})
NETWORK_LINKS = frozenset({LinkKind.ETHERNET, LinkKind.INFINIBAND, LinkKind.WAN})
SCALE_UP_LINKS = frozenset({LinkKind.NVLINK, LinkKind.XGMI})
HOST_LINKS = frozenset({LinkKind.PCIE, LinkKind.C2C})


@dataclass(frozen=True, slots=True)
class Device:
    """One device.

    `model` is a catalogue id. `parent` is a container id. `rail` is the index that a GPU shares with the
    NIC and the leaf it talks through. `speed` is the share of a GPU's compute that it delivers (1.0 = all).
    `u` is the lowest U that it takes when its parent is a rack. Rack fields are None where unknown.
    """

    id: str
    kind: DeviceKind
    model: str
    label: str = ""
    parent: str | None = None
    rail: int | None = None
    state: State = State.UP
    speed: float = 1.0
    u: int | None = None
    height_u: float | None = None
    power_w: float | None = None
    weight_kg: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A bundle of `count` equal cables or lanes between two devices.

    `lane_bytes_per_s` is what one cable or lane was built for, in one direction. `share` is the part of it
    that a degraded link still delivers.
    """

    id: str
    a: str
    b: str
    kind: LinkKind
    lane_bytes_per_s: float
    count: int = 1
    share: float = 1.0
    state: State = State.UP
    latency_s: float | None = None
    length_m: float | None = None

    @property
    def nominal_bytes_per_s(self) -> float:
        """What the whole bundle was built for, in one direction."""
        return self.lane_bytes_per_s * self.count

    @property
    def capacity_bytes_per_s(self) -> float:
        """What the whole bundle can carry now, in one direction (conventions 7: down carries nothing)."""
        if self.state is State.DOWN:
            return 0.0
        if self.state is State.DEGRADED:
            return self.nominal_bytes_per_s * self.share
        return self.nominal_bytes_per_s

    def other(self, device_id: str) -> str:
        """The end that is not `device_id`."""
        return self.b if device_id == self.a else self.a


@dataclass(frozen=True, slots=True)
class Container:
    """A tray (host), rack, pod or site. `parent` is the container around it.

    In a rack `u` is the lowest U that it takes, from 1 at the bottom. Of a rack itself `power_w` is what it
    can supply and `weight_kg` its weight without content; `row` and `column` are where it stands on the
    floor, from 0 on; where None, racks follow each other in the rows of their pod.
    """

    id: str
    kind: ContainerKind
    label: str = ""
    parent: str | None = None
    u: int | None = None
    height_u: float | None = None
    power_w: float | None = None
    weight_kg: float | None = None
    row: int | None = None
    column: int | None = None
