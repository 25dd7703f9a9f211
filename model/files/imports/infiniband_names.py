"""What names, device ids and speeds of InfiniBand mean.

Speeds are those of one lane by the InfiniBand specification; PCI device ids are those of the public PCI id
list (vendor 15b3); the forms of node descriptions are those of rdma-core (`rdma_rename`, `HCA-n`) and of
NVIDIA's switch systems (`MF0;<name>:<model>/U1`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from model.catalog.specs import BYTES_PER_S_PER_GBIT
from model.files.imports.known_parts import nic_by_name, nic_by_pci

GBIT_PER_LANE = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
SPEED = re.compile(r"\b(1|2|4|8|12)x\s?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\b")

# By PCI device id of the chip (Quantum, Quantum-2, Quantum-3): the catalogue entry of the switch with it.
SWITCH_DEVICES = {0xD2F0: "qm8700", 0xD2F2: "qm9700", 0xD2F4: "q3400"}
_MELLANOX = 0x15B3
_SYSTEM_MODELS = (
    (re.compile(r"MQM97|QM97"), "qm9700"),
    (re.compile(r"MQM87|QM87"), "qm8700"),
    (re.compile(r"Q3[24]00"), "q3400"),
)
_MANAGED = re.compile(r"MF0;(?P<name>[^;:]+):(?P<model>[^/;]+)(?:/(?P<part>.+))?")
_NAMELESS = re.compile(
    r"Mellanox Technologies|^MT\d+\b|^ConnectX|InfiniHost|^Infiniscale|^Quantum\b", re.IGNORECASE
)
_ADAPTER = re.compile(r"(?:HCA-|hca|mlx\d+_|mthca|hfi1_|ibp|ib|qib|bnxt_re|rocep?|irdma)\w*", re.IGNORECASE)
_HCA_NUMBER = re.compile(r"HCA-([1-9]\d{0,3})", re.IGNORECASE)
AGGREGATION = "aggregation node"


@dataclass(frozen=True, slots=True)
class AdapterName:
    """What the description of an adapter says. `host` is empty where it only says what the adapter is."""

    host: str
    adapter: str


@dataclass(frozen=True, slots=True)
class SwitchName:
    """What the description of a switch says. `name` is empty where it only says what the switch is; `part` is
    the chip or board of a system that has several.
    """

    name: str
    part: str = ""
    model: str = ""


def nic_model(device_id: int, description: str) -> str:
    """The catalogue id of an adapter by its PCI device id, else by what it calls itself; "" for others."""
    return nic_by_pci(_MELLANOX, device_id) or nic_by_name(description) or ""


def nic_by_rate(said: str) -> str:
    """The first NIC of the catalogue that can run at a speed written like "4xNDR"; "" where that is any."""
    return "cx8-xdr" if said.endswith("XDR") else "cx7-ndr" if said.endswith("NDR") else ""


def lane_rate(width: str, speed: str) -> float:
    """Bytes/s of a link, one direction: ("4", "NDR") is 50 GB/s."""
    return int(width) * GBIT_PER_LANE[speed] * BYTES_PER_S_PER_GBIT


def adapter_name(description: str) -> AdapterName:
    """Host and adapter of a node description: "node5 mlx5_0", "node5 HCA-1".

    `HCA-n` counts from 1 and is the same adapter as mlx5_(n-1); the second spelling is given.
    """
    text = " ".join(description.split())
    if not text or _NAMELESS.search(text):
        return AdapterName("", "")
    host, _, adapter = text.rpartition(" ")
    if not host:
        return AdapterName(text, "")
    if not _ADAPTER.fullmatch(adapter):
        return AdapterName(text, "")
    number = _HCA_NUMBER.fullmatch(adapter)
    return AdapterName(host, f"mlx5_{int(number[1]) - 1}" if number else adapter)


def switch_name(description: str) -> SwitchName:
    """Name and model of a switch's node description: "MF0;leaf01:MQM9700/U1"."""
    text = " ".join(description.split())
    model = next((ident for form, ident in _SYSTEM_MODELS if form.search(text)), "")
    managed = _MANAGED.fullmatch(text)
    if managed:
        return SwitchName(managed["name"], managed["part"] or "", model)
    if _NAMELESS.search(text):
        return SwitchName("", "", model)
    return SwitchName(text, "", model)


def is_aggregation(description: str) -> bool:
    """Whether a node is the one inside a switch that sums for SHARP, and no adapter of a host."""
    return AGGREGATION in description.lower()
