"""NetBox's bulk import: devices, their interfaces, and the cables between them."""

from __future__ import annotations

from collections.abc import Mapping

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.cabling import ROLES, Cabling, Port, cabling_of
from model.files.exports.csv_text import csv_text
from model.files.exports.drawing import Host, omitted, watched
from model.files.exports.parts import Cables, Places, product_name, tray_name
from model.files.exports.safe_names import NETBOX_NAMES, renamed, safe_names
from model.text import format_port, plural
from model.topology.graph import Topology
from model.topology.ports import spec_of
from model.topology.types import ContainerKind, Device, DeviceKind, LinkKind, State

_DEVICES = ("name", "role", "manufacturer", "device_type", "site", "rack", "position", "face", "status")
_INTERFACES = ("device", "name", "type", "speed", "enabled")
_CABLES = (
    *("side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name"),
    *("type", "status", "label", "length", "length_unit"),
)
_ETHERNET = {10: "10gbase-x-sfpp", 25: "25gbase-x-sfp28", 40: "40gbase-x-qsfpp", 50: "50gbase-x-sfp56",
             100: "100gbase-x-qsfp28", 200: "200gbase-x-qsfp56", 400: "400gbase-x-osfp",
             800: "800gbase-x-osfp"}  # fmt: skip
_INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
_CABLE_TYPES = {"copper": "dac-passive", "active-copper": "dac-active", "aoc": "aoc", "fibre": "smf"}
_SITE = "site-1"
Names = Mapping[str, str]


def _write(source: ExportSource) -> Exported:
    topology = source.document.topology
    cabling = cabling_of(source, 0.4)
    if not cabling.nodes:
        raise InputError(
            "The drawing has no device with a network cable, and NetBox is told of nothing else."
        )
    places, names = Places(topology), safe_names(cabling.nodes, NETBOX_NAMES)
    files = {
        "devices.csv": csv_text(_DEVICES, _device_rows(topology, cabling, places, names)),
        "interfaces.csv": csv_text(_INTERFACES, _interface_rows(source, cabling, names)),
        "cables.csv": csv_text(_CABLES, _cable_rows(source, cabling, names)),
    }
    ends = {port.device.id for cable in cabling.cables for port in (cable.a, cable.b)}
    notes = list(
        omitted([device for device in topology.devices() if device.id not in ends], why="not cabled")
    )
    degraded = sum(1 for link in topology.links() if link.state is State.DEGRADED)
    if degraded:
        notes.append(f"{plural(degraded, 'degraded link')} written as connected; NetBox has no such state.")
    return Exported(files, (*notes, *renamed(names, NETBOX_NAMES)))


def _device_rows(
    topology: Topology, cabling: Cabling, places: Places, names: Names
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for node in cabling.nodes:
        host = cabling.hosts.get(node)
        device = host.devices[0] if host is not None else topology.device(node)
        site = places.around(device, ContainerKind.SITE)
        rack, unit = places.rack(device), places.unit(device)
        rows.append(
            (
                names[node],
                "server" if host is not None else ROLES.get(device.kind, "server"),
                _maker(host, device),
                tray_name(host.devices) if host is not None else product_name(device),
                site.id if site is not None else _SITE,
                rack,
                unit,
                "front" if unit else "",
                "offline" if device.state is State.DOWN and host is None else "active",
            )
        )
    return rows


def _maker(host: Host | None, device: Device) -> str:
    """The maker of a switch or of the GPUs of a host, where the catalogue names one."""
    gpus = host.of_kind(DeviceKind.GPU) if host is not None else ()
    spec = spec_of(gpus[0] if gpus else device)
    vendor = getattr(spec, "vendor", "")
    if vendor:
        return str(vendor)
    name = product_name(device)
    return name.split()[0] if name.split()[0] in ("NVIDIA", "Broadcom", "Arista") else "Generic"


def _interface(port: Port) -> str:
    if port.host is not None:
        return port.place.replace(" port ", "p")
    return port.swp()


def _interface_rows(source: ExportSource, cabling: Cabling, names: Names) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for cable in watched(source, cabling.cables, "writing interfaces", 0.4, 0.7):
        gbit = round(cable.gbit_per_s)
        known = _INFINIBAND if cable.link.kind is LinkKind.INFINIBAND else _ETHERNET
        for port in (cable.a, cable.b):
            state = str(port.device.state is not State.DOWN).lower()
            rows.append(
                (names[port.node], _interface(port), known.get(gbit, "other"), gbit * 1_000_000, state)
            )
    return rows


def _cable_rows(source: ExportSource, cabling: Cabling, names: Names) -> list[tuple[object, ...]]:
    cables = Cables(source.document.topology)
    rows: list[tuple[object, ...]] = []
    for cable in watched(source, cabling.cables, "writing cables", 0.7):
        ends = [
            text
            for port in (cable.a, cable.b)
            for text in (names[port.node], "dcim.interface", _interface(port))
        ]
        length, kind = cables.length_m(cable.link), cables.kind(cable.link)
        label = f"{cable.name} {format_port(cable.link.lane_bytes_per_s)}"
        rows.append(
            (
                *ends,
                _CABLE_TYPES.get(kind.id, "") if kind is not None else "",
                "decommissioning" if cable.link.state is State.DOWN else "connected",
                label[:100],
                "" if length is None else f"{length:.2f}",
                "" if length is None else "m",
            )
        )
    return rows


FORMATS = (
    ExportFormat(
        id="netbox-csv",
        name="NetBox cables and devices (CSV)",
        suffix=".csv",
        write=_write,
        use="NetBox's bulk import: devices, then interfaces, then cables. Device types must exist there.",
        lacks="GPUs, NVLink and PCIe as parts of their own, and traffic; a host is one device.",
        folder=True,
    ),
)
