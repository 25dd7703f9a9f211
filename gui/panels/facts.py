"""One line that says what a product of the catalogue is."""

from __future__ import annotations

from model.catalog import DeviceSpec, GpuSpec, HostSpec, NicSpec, NvlinkSwitchSpec, SwitchSpec
from model.text import format_port, three_digits

KIND_NAMES = {
    "gpu": "GPU",
    "nvlink-switch": "NVLink switch",
    "nic": "NIC",
    "leaf": "Leaf",
    "spine": "Spine",
    "core": "Core",
    "cpu": "Host / CPU",
    "pcie-switch": "PCIe switch",
    "storage": "Storage",
    "site-gateway": "Site link",
    "tray": "Tray",
    "rack": "Rack",
    "pod": "Pod",
    "site": "Site",
}
LINK_NAMES = {
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "c2c": "C2C",
    "ethernet": "Ethernet",
    "infiniband": "InfiniBand",
    "xgmi": "xGMI",
    "wan": "WAN",
}
NETWORK_NAMES = {"infiniband": "InfiniBand", "ethernet": "Ethernet", "wan": "WAN"}


def gigabytes(bytes_per_s: float) -> str:
    """A rate of one direction: 4.5e11 → "450 GB/s"."""
    return f"{three_digits(bytes_per_s / 1e9)} GB/s"


def facts(spec: DeviceSpec) -> str:
    """What matters of a product for a drawing: "18 × NVLink 4 · 450 GB/s/dir · 700 W"."""
    if isinstance(spec, GpuSpec):
        name = f"NVLink {spec.nvlink_generation}" if spec.nvlink_generation is not None else spec.scaleup_name
        total = spec.scaleup_total_gbytes_per_s_per_direction
        parts = [f"{spec.scale_up_links} × {name}", f"{three_digits(total)} GB/s/dir"]
        if spec.tdp_w is not None:
            parts.append(f"{spec.tdp_w:,.0f} W")
    elif isinstance(spec, NvlinkSwitchSpec):
        parts = [
            f"{spec.ports} × NVLink {spec.nvlink_generation}",
            f"{gigabytes(spec.lane_bytes_per_s)} each",
        ]
        if spec.sharp:
            parts.append("SHARP")
    elif isinstance(spec, NicSpec):
        parts = [f"{spec.ports} × {format_port(spec.port_bytes_per_s)}"]
        parts.append(" or ".join(NETWORK_NAMES[name] for name in spec.networks))
        if spec.pcie_generation is not None:
            parts.append(f"PCIe {spec.pcie_generation}")
    elif isinstance(spec, SwitchSpec):
        parts = [f"{spec.ports} × {format_port(spec.port_bytes_per_s)}", NETWORK_NAMES[spec.network]]
        if spec.sharp is not None:
            parts.append(f"SHARP v{spec.sharp}")
    else:
        parts = _host_facts(spec)
    return " · ".join(parts)


def _host_facts(spec: HostSpec) -> list[str]:
    parts = []
    if spec.pcie_ports:
        parts.append(f"{spec.pcie_ports} × PCIe, {gigabytes(spec.pcie_bytes_per_s)}")
    if spec.c2c_ports:
        parts.append(f"{spec.c2c_ports} × C2C, {gigabytes(spec.c2c_bytes_per_s)}")
    if spec.network_ports:
        parts.append(f"{spec.network_ports} × {format_port(spec.port_bytes_per_s)}")
    return parts or ["no ports"]
