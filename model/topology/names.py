"""How kinds of device and link are called, in the window, on the command line and in findings."""

from __future__ import annotations

from model.topology.types import DeviceKind, LinkKind

DEVICE_NAMES: dict[DeviceKind, str] = {
    DeviceKind.GPU: "GPU",
    DeviceKind.NVLINK_SWITCH: "NVLink switch",
    DeviceKind.NIC: "NIC",
    DeviceKind.CPU: "CPU",
    DeviceKind.PCIE_SWITCH: "PCIe switch",
    DeviceKind.LEAF: "leaf",
    DeviceKind.SPINE: "spine",
    DeviceKind.CORE: "core",
    DeviceKind.STORAGE: "storage node",
    DeviceKind.SITE_GATEWAY: "site gateway",
}
LINK_NAMES: dict[LinkKind, str] = {
    LinkKind.NVLINK: "NVLink",
    LinkKind.PCIE: "PCIe",
    LinkKind.C2C: "C2C",
    LinkKind.ETHERNET: "Ethernet",
    LinkKind.INFINIBAND: "InfiniBand",
    LinkKind.XGMI: "xGMI",
    LinkKind.WAN: "WAN",
}


def a_device(kind: DeviceKind) -> str:
    """With its article: "a leaf", "an NVLink switch"."""
    return f"{'an' if kind is DeviceKind.NVLINK_SWITCH else 'a'} {DEVICE_NAMES[kind]}"
