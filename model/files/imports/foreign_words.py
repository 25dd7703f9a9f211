"""What words of other programs mean: kinds of device, speeds with their units, states."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from model.catalog import catalog
from model.files.imports.graph_parts import Role
from model.files.imports.known_parts import gpu_by_name, nic_by_name
from model.topology.types import ContainerKind, LinkKind, State

_WORDS: Mapping[Role, str] = {
    Role.GPU: "gpu gpus accelerator npu xpu tpu gcd",
    Role.NVLINK_SWITCH: "nvlinkswitch nvswitch nvlsw nvs scaleupswitch nvlinkchip",
    Role.NIC: "nic hca rnic adapter dpu networkcard networkadapter hostchanneladapter ca",
    Role.CPU: "cpu socket processor rootcomplex",
    Role.PCIE_SWITCH: "pcieswitch pciswitch pciesw plx pcibridge",
    Role.LEAF: "leaf tor leafswitch torswitch edgeswitch accessswitch access topofrack rail railswitch t0",
    Role.SPINE: "spine agg aggregation spineswitch aggswitch aggregationswitch fabricswitch distribution t1",
    Role.CORE: "core coreswitch superspine superspineswitch t2",
    Role.SWITCH: "switch router networkswitch ethernetswitch infinibandswitch ibswitch sw bridge",
    Role.STORAGE: "storage nas filer fileserver storagenode objectstore",
    Role.SITE_GATEWAY: "sitegateway gateway border borderleaf dci wanrouter exitrouter exit",
    Role.HOST: "host server compute computenode node machine endpoint vm end endhost worker tray",
}
_ROLE_OF = {word: role for role, words in _WORDS.items() for word in words.split()}
# Names such as gpu7, leaf-3 or node00.nic1 say what a device is; "node" and "end" alone would say too much.
_NAMED = (
    (re.compile(r"(?:^|[^a-z])(?:nvswitch|nvsw|nvs)[-_]?\d*$"), Role.NVLINK_SWITCH),
    (re.compile(r"(?:^|[^a-z])(?:gpu|npu|xpu)[-_]?\d*$"), Role.GPU),
    (re.compile(r"(?:^|[^a-z])(?:nic|hca|mlx5|rnic)[-_]?\d*$"), Role.NIC),
    (re.compile(r"(?:^|[^a-z])(?:cpu|socket)[-_]?\d*$"), Role.CPU),
    (re.compile(r"(?:^|[^a-z])(?:pcie|plx|pciesw|pcieswitch)[-_]?\d*$"), Role.PCIE_SWITCH),
    (re.compile(r"(?:^|[^a-z])(?:super-?spine|core)[-_]?\d*$"), Role.CORE),
    (re.compile(r"(?:^|[^a-z])(?:leaf|tor)[-_]?\d*$"), Role.LEAF),
    (re.compile(r"(?:^|[^a-z])(?:spine|agg)[-_]?\d*$"), Role.SPINE),
    (re.compile(r"(?:^|[^a-z])(?:switch|sw|router)[-_]?\d*$"), Role.SWITCH),
    (re.compile(r"(?:^|[^a-z])(?:storage|nas)[-_]?\d*$"), Role.STORAGE),
    (re.compile(r"(?:^|[^a-z])(?:host|server|compute|node)[-_]?\d+$"), Role.HOST),
)
_NETWORKS = {
    "ib": LinkKind.INFINIBAND,
    "roce": LinkKind.ETHERNET,
    "eth": LinkKind.ETHERNET,
    "rocev2": LinkKind.ETHERNET,
}
_LINK_KINDS = {kind.value: kind for kind in LinkKind} | _NETWORKS

# What a key without its unit is called, and the units that a key may end in.
SPEED_WORDS = frozenset(
    (
        "bandwidth",
        "bw",
        "speed",
        "capacity",
        "cap",
        "rate",
        "throughput",
        "linkspeed",
        "linkrate",
        "linkbandwidth",
        "portspeed",
        "datarate",
    )
)
_KEY_UNITS = {
    "tbps": 1e12 / 8,
    "gbps": 1e9 / 8,
    "mbps": 1e6 / 8,
    "bps": 1 / 8,
    "gbitpers": 1e9 / 8,
    "mbitpers": 1e6 / 8,
    "gbits": 1e9 / 8,
    "gbit": 1e9 / 8,
    "bitspers": 1 / 8,
    "gbytespers": 1e9,
    "mbytespers": 1e6,
    "tbytespers": 1e12,
    "bytespers": 1.0,
}
UNITS: Mapping[str, float] = {
    "Gb/s": 1e9 / 8,
    "Mb/s": 1e6 / 8,
    "bit/s": 1 / 8,
    "GB/s": 1e9,
    "MB/s": 1e6,
    "byte/s": 1.0,
}
_VALUE = re.compile(
    r"(?P<number>[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE][+-]?[0-9]{1,3})?)\s*(?P<prefix>[kKMGT]?)"
    r"(?P<unit>|[bB]|b(?:it)?(?:ps|/s)|bits?/s|B(?:ytes)?(?:ps|/s)|bE|E|[bB]ase.*)"
)
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_CONTAINERS = {
    "tray": ContainerKind.TRAY,
    "host": ContainerKind.TRAY,
    "hostname": ContainerKind.TRAY,
    "server": ContainerKind.TRAY,
    "chassis": ContainerKind.TRAY,
    "rack": ContainerKind.RACK,
    "pod": ContainerKind.POD,
    "site": ContainerKind.SITE,
    "datacenter": ContainerKind.SITE,
}


def plain_key(text: str) -> str:
    """A key without case, blanks and signs: "Link_Speed (Gb/s)" → "linkspeedgbs"."""
    return re.sub(r"[^a-z0-9]", "", text[:200].lower())


def role_of(value: str) -> Role | None:
    """What a word of another program says that a node is: "ToR switch" → LEAF; None when it says nothing."""
    return _ROLE_OF.get(plain_key(value))


def role_by_name(name: str) -> Role | None:
    """What the name of a node says that it is: "node00.gpu3" → GPU."""
    text = name[-64:].lower()
    return next((role for pattern, role in _NAMED if pattern.search(text)), None)


def link_kind_of(value: str) -> LinkKind | None:
    """The kind of link that a word means."""
    return _LINK_KINDS.get(plain_key(value))


def state_of(value: str) -> State | None:
    """The state that a word means."""
    return {"up": State.UP, "active": State.UP, "degraded": State.DEGRADED, "down": State.DOWN}.get(
        plain_key(value)
    )


def container_kind_of(key: str) -> ContainerKind | None:
    """The kind of container that a key like "rack" or "hostname" gives the name of."""
    return _CONTAINERS.get(key)


def model_of(role: Role, value: str) -> str:
    """The catalogue id that a text names for a device of this role; empty where there is none."""
    if role is Role.GPU:
        known = catalog().gpus
        return value if value in known else gpu_by_name(value.replace("-", " ")) or ""
    if role is Role.NIC:
        return value if value in catalog().nics else nic_by_name(value) or ""
    if role is Role.NVLINK_SWITCH:
        return value if value in catalog().nvlink_switches else ""
    if role in (Role.SWITCH, Role.LEAF, Role.SPINE, Role.CORE):
        return value if value in catalog().switches else ""
    return value if value in catalog().hosts else ""


def key_unit(key: str) -> float | None:
    """Bytes/s of one unit of a key that ends in its unit: "bandwidthgbps" → 1.25e8."""
    for unit, factor in _KEY_UNITS.items():
        rest = key.removesuffix(unit)
        if rest != key and (rest in SPEED_WORDS or rest in ("", "lane", "nominal")):
            return factor
    return None


def number_of(text: str) -> float | None:
    """A finite number, None when a text is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def speed_of(text: str) -> float | None:
    """Bytes/s of a text with its unit: "400G", "400 Gb/s", "50GB/s", "100GbE"; None for others.

    A letter alone is that of ports, which count bits: 400G is 50e9 bytes/s. B with "per second" are bytes.
    """
    match = _VALUE.fullmatch(text.strip())
    if match is None or not (match["prefix"] or match["unit"]):
        return None
    in_bytes = match["unit"].startswith("B") and match["unit"][1:2] in ("p", "/", "y", "")
    in_bytes = in_bytes and match["unit"] not in ("Base",)
    rate = float(match["number"]) * _PREFIXES[match["prefix"]] / (1 if in_bytes else 8)
    return rate if math.isfinite(rate) else None
