"""For those who order and pull cables: the schedule of all network cables, and the bill of materials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from model.errors import InputError
from model.files.exporting import Exported, ExportFormat, ExportSource
from model.files.exports.cabling import Port, cabling_of, network_links
from model.files.exports.csv_text import number, sheet_text
from model.files.exports.drawing import omitted, watched, written_as_built
from model.files.exports.parts import UNKNOWN_CABLE, Cables, Places, product_name, tray_name
from model.text import format_port, plural
from model.topology.equipment import equipment
from model.topology.graph import Topology
from model.topology.names import DEVICE_NAMES, LINK_NAMES
from model.topology.racks import Thing
from model.topology.types import NETWORK_LINKS, Container, ContainerKind, Device, DeviceKind, Link, LinkKind

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
    unknown = split = 0
    for cable in watched(source, cabling.cables, "writing cables", 0.4):
        length, kind = cables.length_m(cable.link), cables.kind(cable.link)
        unknown += length is None
        split += cable.a.part is not None or cable.b.part is not None
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
    others = [link for link in topology.links() if link.kind not in NETWORK_LINKS]
    notes = list(omitted(links=others, why="no cables of the network"))
    if unknown:
        notes.append(f"{plural(unknown, 'cable')} of unknown length: set the racks and U of both ends.")
    if split:
        notes.append(
            f"{plural(split, 'cable')} at parts of split ports, of which one breakout cable may be several."
        )
    return Exported({"": sheet_text(_SCHEDULE, rows)}, tuple(notes))


def _class_name(link: Link, name: str | None) -> str:
    if link.kind is LinkKind.WAN:
        return "line between sites"
    return name or UNKNOWN_CABLE


def _write_bill(source: ExportSource) -> Exported:
    topology = source.document.topology
    if not topology.devices():
        raise InputError("The drawing is empty; there is nothing to count.")
    rows = [*_device_rows(source), *_box_rows(source), *_cable_rows(source)]
    hosts = [link for link in topology.links() if link.kind not in NETWORK_LINKS]
    notes = (*omitted(links=hosts, why="wired inside hosts and racks"), *written_as_built(topology))
    return Exported({"": sheet_text(_BILL, rows)}, notes)


def _device_rows(source: ExportSource) -> Iterator[tuple[object, ...]]:
    """Devices by kind and model."""
    topology = source.document.topology
    found: dict[tuple[DeviceKind, str], list[Device]] = {}
    for device in watched(source, topology.devices(), "counting devices", 0.0, 0.2):
        found.setdefault((device.kind, device.model), []).append(device)
    order = list(DeviceKind)
    for kind, model in sorted(found, key=lambda one: order.index(one[0])):
        own = found[kind, model]
        yield DEVICE_NAMES[kind], model, product_name(own[0]), *_pieces(topology, own), ""


def _box_rows(source: ExportSource) -> Iterator[tuple[object, ...]]:
    """Trays by what is in them, and racks."""
    topology = source.document.topology
    trays: dict[str, list[Container]] = {}
    boxes = [box for box in topology.containers() if box.kind is ContainerKind.TRAY]
    for box in watched(source, boxes, "counting trays", 0.2, 0.3):
        inside = [topology.device(one) for one in topology.descendants(box.id) if topology.has_device(one)]
        trays.setdefault(tray_name(inside), []).append(box)
    for name, own in trays.items():
        yield "tray or host", "", name, *_pieces(topology, own), "holds devices listed above"
    racks = [box for box in topology.containers() if box.kind is ContainerKind.RACK]
    if racks:
        weight = _common([rack.weight_kg for rack in racks])
        yield "rack", "", "rack", len(racks), "piece", "", number(weight), "weighed without what is in it"


def _pieces(topology: Topology, things: Sequence[Thing]) -> tuple[object, ...]:
    """Quantity, unit, and the power and weight of one, where all have the same."""
    power = _common([_power_w(topology, thing) for thing in things])
    weight = _common([equipment(topology, thing).weight_kg for thing in things])
    return len(things), "piece", number(power), number(weight)


def _power_w(topology: Topology, thing: Thing) -> float | None:
    """Its own, else the catalogue's. What the GPUs of an unknown tray draw is too little for it."""
    known = equipment(topology, thing)
    if known.power_w is None and isinstance(thing, Device):
        return known.gpu_power_w or None
    return known.power_w


def _common(values: list[float | None]) -> float | None:
    return values[0] if len(set(values)) == 1 else None


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
