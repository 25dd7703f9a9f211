"""What things are called on labels, lists of cables and bills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from model.catalog.cabling import CableClass
from model.text import plural
from model.topology.cables import cable_class, cable_lengths
from model.topology.graph import Topology
from model.topology.names import DEVICE_NAMES
from model.topology.ports import spec_of
from model.topology.types import (
    NETWORK_LINKS,
    Container,
    ContainerKind,
    Device,
    DeviceKind,
    Link,
    LinkKind,
)

UNKNOWN_CABLE = "cable of unknown length"


def product_name(device: Device) -> str:
    """What the catalogue calls a model; the id of one that it does not have."""
    spec = spec_of(device)
    return spec.name if spec is not None else device.model or DEVICE_NAMES[device.kind]


def tray_name(devices: Sequence[Device]) -> str:
    """A host or tray by what is in it: its GPUs, else its NVLink switches, else its NICs."""
    for kind in (DeviceKind.GPU, DeviceKind.NVLINK_SWITCH):
        counts = Counter(product_name(device) for device in devices if device.kind is kind)
        if counts:
            return ", ".join(f"{count} × {name}" for name, count in counts.items())
    nics = sum(1 for device in devices if device.kind is DeviceKind.NIC)
    return f"host with {plural(nics, 'NIC')}"


class Places:
    """In which tray, rack and pod each device is, and at which U."""

    def __init__(self, topology: Topology) -> None:
        self._boxes: Mapping[str, Container] = {box.id: box for box in topology.containers()}

    def around(self, device: Device, kind: ContainerKind) -> Container | None:
        """The nearest container of a kind around a device."""
        at = device.parent
        while at is not None:
            box = self._boxes[at]
            if box.kind is kind:
                return box
            at = box.parent
        return None

    def rack(self, device: Device) -> str:
        """The id of its rack; empty where there is none."""
        rack = self.around(device, ContainerKind.RACK)
        return rack.id if rack is not None else ""

    def unit(self, device: Device) -> str:
        """The U of the device or of its tray; empty where unknown."""
        tray = self.around(device, ContainerKind.TRAY)
        unit = tray.u if tray is not None and tray.u is not None else device.u
        return "" if unit is None else str(unit)


class Cables:
    """Length and class of the network cables of a drawing."""

    def __init__(self, topology: Topology) -> None:
        self._lengths = cable_lengths(topology)

    def length_m(self, link: Link) -> float | None:
        """Metres, where known."""
        return self._lengths[link.id]

    def kind(self, link: Link) -> CableClass | None:
        """The class of cable that carries it that far; None for an unknown length or a WAN line."""
        length = self._lengths[link.id]
        if length is None or link.kind is LinkKind.WAN or link.kind not in NETWORK_LINKS:
            return None
        return cable_class(length, link.lane_bytes_per_s)
