"""Which catalogue entry a name, a PCI id or a compute capability of another tool means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from model.catalog import GpuSpec, NicSpec, catalog

# PCI vendor and device as the pci.ids database has them.
_GPU_BY_PCI = {
    (0x10DE, 0x20B0): "a100-sxm-40",
    (0x10DE, 0x20B2): "a100-sxm-80",
    (0x10DE, 0x2330): "h100-sxm",
    (0x10DE, 0x2331): "h100-pcie",
    (0x10DE, 0x2324): "h800-sxm",
    (0x10DE, 0x2335): "h200-sxm",
    (0x10DE, 0x2901): "b200-sxm",
    (0x10DE, 0x2941): "gb200",
    (0x10DE, 0x3182): "b300-sxm",
    (0x10DE, 0x31C2): "gb300",
    (0x1002, 0x74A1): "mi300x",
    (0x1002, 0x74A5): "mi325x",
    (0x1002, 0x75A3): "mi355x",
}
_NIC_BY_PCI = {
    (0x15B3, 0x101B): "cx6-hdr",
    (0x15B3, 0x1021): "cx7-ndr",
    (0x15B3, 0x1023): "cx8-xdr",
    (0x15B3, 0xA2DC): "bf3-b3140h",
    (0x14E4, 0x1760): "thor2",
}
# Compute capability: what the catalogue has of it, the commonest first.
_GPUS_BY_SM = {
    80: ("a100-sxm-80", "a100-sxm-40"),
    90: ("h100-sxm", "h200-sxm", "h800-sxm", "h100-pcie"),
    100: ("b200-sxm", "gb200"),
    103: ("b300-sxm", "gb300"),
    107: ("rubin",),
}
_GPUS_BY_GCN = {"gfx942": ("mi300x", "mi325x"), "gfx950": ("mi355x",)}
# Names as drivers print them; the first that fits counts.
_GPU_NAMES = (
    (r"\bGB300\b", "gb300"),
    (r"\bGB200\b", "gb200"),
    (r"\bB300\b", "b300-sxm"),
    (r"\bB200\b", "b200-sxm"),
    (r"\bH200\b", "h200-sxm"),
    (r"\bH800\b", "h800-sxm"),
    (r"\bH100\b.*\b(?:PCIe|NVL)\b", "h100-pcie"),
    (r"\bH100\b", "h100-sxm"),
    (r"\bA100\b.*\b40\s?GB\b", "a100-sxm-40"),
    (r"\bA100\b", "a100-sxm-80"),
    (r"\bRubin\b|\bVR200\b", "rubin"),
    (r"\bMI300X\b", "mi300x"),
    (r"\bMI325X\b", "mi325x"),
    (r"\bMI355X\b", "mi355x"),
)
_NIC_NAMES = (
    (r"ConnectX-?9\b|\bCX9\b", "cx9"),
    (r"ConnectX-?8\b|\bCX8\b", "cx8-xdr"),
    (r"ConnectX-?7\b|\bCX7\b|\bMT4129\b|\bMT2910\b", "cx7-ndr"),
    (r"ConnectX-?6\b|\bCX6\b|\bMT4123\b|\bMT28908\b", "cx6-hdr"),
    (r"\bB3220\b", "bf3-b3220"),
    (r"\bB3240\b", "bf3-b3240"),
    (r"BlueField-?3\b", "bf3-b3140h"),
    (r"\bThor ?2\b|\bBCM57608\b", "thor2"),
    (r"\bPollara\b", "pollara400"),
)


def gpu_by_name(text: str) -> str | None:
    """The catalogue id of a GPU called so: "NVIDIA H100 80GB HBM3" → "h100-sxm"; None when it has none."""
    return _by_name(text, _GPU_NAMES)


def nic_by_name(text: str) -> str | None:
    """The catalogue id of a network card called so: "MT4129 ConnectX7 Mellanox" → "cx7-ndr"."""
    return _by_name(text, _NIC_NAMES)


def _by_name(text: str, names: Iterable[tuple[str, str]]) -> str | None:
    return next((model for pattern, model in names if re.search(pattern, text, re.IGNORECASE)), None)


def gpu_by_pci(vendor: int | None, device: int | None) -> str | None:
    """The catalogue id of a GPU with these PCI ids; None when it has none."""
    return None if vendor is None or device is None else _GPU_BY_PCI.get((vendor, device))


def nic_by_pci(vendor: int | None, device: int | None) -> str | None:
    """The catalogue id of a network card with these PCI ids; None when it has none."""
    return None if vendor is None or device is None else _NIC_BY_PCI.get((vendor, device))


def gpus_by_sm(sm: int) -> tuple[str, ...]:
    """Catalogue ids of GPUs of a CUDA compute capability (90 for 9.0), the commonest first."""
    return _GPUS_BY_SM.get(sm, ())


def gpus_by_gcn(name: str) -> tuple[str, ...]:
    """Catalogue ids of GPUs of an AMD architecture ("gfx942"), the commonest first."""
    return _GPUS_BY_GCN.get(name.partition(":")[0].lower(), ())


def nic_by_speed(port_bytes_per_s: float, network: str | None = None) -> str | None:
    """The first card of the catalogue with ports of this speed, within 1 %, that speaks `network`."""
    for spec in catalog().nics.values():
        if abs(spec.port_bytes_per_s - port_bytes_per_s) <= 0.01 * port_bytes_per_s and (
            network is None or network in spec.networks
        ):
            return spec.id
    return None


def switch_by_speed(port_bytes_per_s: float, network: str, ports: int = 0) -> str:
    """The switch of the catalogue that fits best: of that network, ports at least as fast and as many.

    Where none is large enough, the one with the largest sum of ports.
    """
    speaking = [spec for spec in catalog().switches.values() if spec.network == network]
    fitting = [
        spec
        for spec in speaking
        if spec.port_bytes_per_s >= 0.99 * port_bytes_per_s
        and ports * port_bytes_per_s <= 1.01 * spec.ports * spec.port_bytes_per_s
    ]
    if fitting:
        return min(fitting, key=lambda spec: (spec.port_bytes_per_s, spec.ports)).id
    return max(speaking, key=lambda spec: spec.ports * spec.port_bytes_per_s).id


@cache
def gpu_choices() -> tuple[tuple[str, str], ...]:
    """All GPUs of the catalogue: id and what a person calls it."""
    return tuple((spec.id, spec.name) for spec in catalog().gpus.values() if isinstance(spec, GpuSpec))


@cache
def nic_choices() -> tuple[tuple[str, str], ...]:
    """All network cards of the catalogue: id, name and ports."""
    return tuple((spec.id, _nic_label(spec)) for spec in catalog().nics.values())


def _nic_label(spec: NicSpec) -> str:
    return f"{spec.name} ({spec.ports} × {spec.port_gbit_per_s:g}G)"
