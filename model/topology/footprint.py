"""The room that devices and containers take on the drawing, in scene units (one pixel at 100 % zoom).

Layout and canvas share these, so that what is laid out without overlap is also drawn without overlap.
A position is the centre of a device.
"""

from __future__ import annotations

from model.topology.types import DeviceKind

GRID = 20.0

FOOTPRINT: dict[DeviceKind, tuple[float, float]] = {
    DeviceKind.GPU: (36.0, 70.0),
    DeviceKind.NIC: (28.0, 26.0),
    DeviceKind.NVLINK_SWITCH: (68.0, 30.0),
    DeviceKind.CPU: (68.0, 30.0),
    DeviceKind.PCIE_SWITCH: (68.0, 26.0),
    DeviceKind.LEAF: (140.0, 46.0),
    DeviceKind.SPINE: (140.0, 46.0),
    DeviceKind.CORE: (140.0, 46.0),
    DeviceKind.STORAGE: (140.0, 46.0),
    DeviceKind.SITE_GATEWAY: (140.0, 46.0),
}

CONTAINER_PADDING = 12.0
CONTAINER_TITLE = 30.0
