"""For those who order and pull cables: the schedule of all network cables, and the bill of materials."""

from __future__ import annotations

from collections.abc import Iterator

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.cabling import Port, cabling_of, network_links
from model.files.exports.csv_text import csv_text, number
from model.files.exports.drawing import omitted, watched, written_as_built
from model.files.exports.parts import UNKNOWN_CABLE, Cables, Places, product_name
from model.text import format_port, plural
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.types import ContainerKind, DeviceKind, Link, LinkKind

_SCHEDULE = (
    *("cable", "from_device", "from_port", "from_model", "from_rack", "from_u"),
    *("to_device", "to_port", "to_model", "to_rack", "to_u"),
    *("network", "speed_gbit_per_s", "length_m", "cable_class", "state", "link"),
)
_BILL = ("category", "model", "name", "quantity", "unit", "each_power_w", "each_weight_kg", "note")


def _write_schedule(source: ExportSource) -> Exported:
    topology = source.document.topology
    cabling = cabling_of(source, 0.4)
    if not cabling.cables:
        raise InputError("The drawing has no network cable.")
    places, cables = Places(topology), Cables(topology)

    def end(port: Port) -> tuple[str, ...]:
        device = port.device
        return (port.node, port.place, product_name(device), places.rack(device), places.unit(device))

    rows = []
    unknown = 0
    for cable in watched(source, cabling.cables, "writing cables", 0.4):
        length, kind = cables.length_m(cable.link), cables.kind(cable.link)
        unknown += length is None
        rows.append(
            (
                cable.name,
                *end(cable.a),
                *end(cable.b),
                LINK_NAMES[cable.link.kind],
                number(cable.gbit_per_s),
                "" if length is None else f"{length:.1f}",
                _class_name(cable.link, kind.name if kind is not None else None),
                cable.link.state.value,
                cable.link.id,
            )
        )
    others = [link for link in topology.links() if link.kind not in _NETWORK]
    notes = list(omitted(links=others, why="no cables of the network"))
    if unknown:
        notes.append(f"{plural(unknown, 'cable')} of unknown length: set the racks and U of both ends.")
    return Exported({"": csv_text(_SCHEDULE, rows)}, tuple(notes))


_NETWORK = (LinkKind.ETHERNET, LinkKind.INFINIBAND, LinkKind.WAN)


def _class_name(link: Link, name: str | None) -> str:
    if link.kind is LinkKind.WAN:
        return "line between sites"
    return name or UNKNOWN_CABLE


def _write_bill(source: ExportSource) -> Exported:
    topology = source.document.topology
    if not topology.devices():
        raise InputError("The drawing is empty; there is nothing to count.")
    rows = [*_device_rows(source), *_box_rows(source), *_cable_rows(source)]
    hosts = [link for link in topology.links() if link.kind not in _NETWORK]
    notes = (*omitted(links=hosts, why="wired inside hosts and racks"), *written_as_built(topology))
    return Exported({"": csv_text(_BILL, rows)}, notes)


def _device_rows(source: ExportSource) -> Iterator[tuple[object, ...]]:
    """Devices by kind and model; power and weight where all of a model have the same."""
    found: dict[tuple[DeviceKind, str], list[tuple[float | None, float | None]]] = {}
    names: dict[tuple[DeviceKind, str], str] = {}
    for device in watched(source, source.document.topology.devices(), "counting devices", 0.0, 0.3):
        key = (device.kind, device.model)
        names.setdefault(key, product_name(device))
        found.setdefault(key, []).append((device.power_w, device.weight_kg))
    order = list(DeviceKind)
    for key in sorted(found, key=lambda one: order.index(one[0])):
        kind, model = key
        power, weight = (_common([pair[at] for pair in found[key]]) for at in (0, 1))
        yield (
            DEVICE_NAMES[kind], model, names[key], len(found[key]), "piece", number(power), number(weight), ""
        )  # fmt: skip


def _common(values: list[float | None]) -> float | None:
    return values[0] if len(set(values)) == 1 else None


def _box_rows(source: ExportSource) -> Iterator[tuple[object, ...]]:
    boxes = source.document.topology.containers()
    for kind, name in ((ContainerKind.TRAY, "tray or host"), (ContainerKind.RACK, "rack")):
        own = [box for box in boxes if box.kind is kind]
        if own:
            power, weight = _common([box.power_w for box in own]), _common([box.weight_kg for box in own])
            yield (
                name,
                "",
                name,
                len(own),
                "piece",
                number(power),
                number(weight),
                "holds devices listed above",
            )


def _cable_rows(source: ExportSource) -> Iterator[tuple[object, ...]]:
    """Cables by network, speed and class, the metres of all in the note."""
    topology = source.document.topology
    cables = Cables(topology)
    found: dict[tuple[str, str, str], tuple[int, float]] = {}
    for link in watched(source, network_links(topology), "counting cables", 0.3):
        kind = cables.kind(link)
        key = (
            LINK_NAMES[link.kind],
            format_port(link.lane_bytes_per_s),
            _class_name(link, kind.name if kind is not None else None),
        )
        count, metres = found.get(key, (0, 0.0))
        found[key] = (count + link.count, metres + link.count * (cables.length_m(link) or 0.0))
    for (network, speed, name), (count, metres) in sorted(found.items()):
        note = f"{metres:,.0f} m together" if metres else ""
        yield "cable", speed, f"{network} {speed}, {name}", count, "piece", "", "", note


FORMATS = (
    ExportFormat(
        id="cable-schedule",
        name="Cable schedule (CSV)",
        suffix=".csv",
        write=_write_schedule,
        use="A row for each cable with both ends, length and class, for labels and for those who pull them.",
        lacks="Part numbers, colours, ways through trays; lengths need racks and U, or are set on links.",
    ),
    ExportFormat(
        id="bill-of-materials",
        name="Bill of materials (CSV)",
        suffix=".csv",
        write=_write_bill,
        use="Counts of devices, hosts, racks and cables for an order or a budget.",
        lacks="Prices, part numbers, transceivers, spares, and cables inside hosts and racks.",
    ),
)
