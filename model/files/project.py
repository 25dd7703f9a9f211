"""The project file: a whole document as one JSON, with devices and links as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.document.document import Document, Position
from model.document.start import job_for
from model.errors import EditRefused, InputError
from model.files.reading import as_floats, check_plain, check_version, read_json, section, shown
from model.files.tables import Kept, plain_table, read_columns, read_table, unknown_cells, write_table
from model.files.view_json import view_from_json, view_to_json
from model.files.writing import json_text, with_kept, write_atomic
from model.job.spec import parse_job
from model.placement.paint import Paint
from model.placement.types import DIMENSIONS, Dimension
from model.topology.graph import Topology
from model.topology.types import Container, Device, DeviceKind, Link

FORMAT = "railsketch.project"
VERSION = 1

# From a version to the next: pure functions from the file's JSON to that of the version above.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

_TABLES = frozenset({"containers", "devices", "links"})
_SECTIONS = frozenset({"format", "version", "name", "topology", "job", "paint", "layout", "view"})


def project_json(document: Document) -> dict[str, Any]:
    """The document as the JSON of a project file."""
    topology = document.topology
    extra = document.extra
    sections: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "name": document.name,
        "topology": with_kept(
            {
                "containers": write_table(topology.containers(), Container, extra.get("containers", {})),
                "devices": write_table(topology.devices(), Device, extra.get("devices", {})),
                "links": write_table(topology.links(), Link, extra.get("links", {})),
            },
            extra.get("topology"),
        ),
        "job": document.job.to_json(),
        "paint": plain_table(
            ("gpu", *DIMENSIONS),
            [[gpu, *map(own.get, DIMENSIONS)] for gpu, own in document.paint.items()],
            extra.get("paint", {}),
        ),
        "layout": plain_table(("id", "x", "y"), _layout_rows(document), extra.get("layout", {})),
        "view": with_kept(view_to_json(document.view), extra.get("view")),
    }
    return with_kept(sections, extra.get("fields"))


def _layout_rows(document: Document) -> list[list[Any]]:
    """Positions in the order of the devices, so that a saved file does not depend on how it came about."""
    rows: list[list[Any]] = []
    for device in document.topology.devices():
        if device.id in document.layout:
            x, y = document.layout[device.id]
            rows.append([device.id, x, y])
    return rows


def save_project(document: Document, path: Path) -> None:
    """Write the document. The old file stays whole until the new one is, and is kept as `.bak`.

    Raises `InputError` when it cannot be written.
    """
    write_atomic(path, json_text(project_json(document)), backup=True)


def load_project(path: Path) -> Document:
    """Read a project, gzipped or not. Raises `InputError` with one sentence; opening never writes."""
    return project_from_json(read_json(path), path)


def project_from_json(data: dict[str, Any], path: Path) -> Document:
    """The document of a project's JSON; `path` is for the messages."""
    if data.get("format") != FORMAT:
        raise InputError(f"{path} is no Railsketch project: its format is {shown(data.get('format'))}.")
    for version in range(check_version(data, VERSION, path), VERSION):
        data = MIGRATIONS[version](data)
    topology, of_topology = _read_topology(section(data, "topology", dict, path), path)
    paint, of_paint = _read_paint(data, topology, path)
    layout, of_layout = _read_layout(data, topology, path)
    view, of_view, notes = view_from_json(data, topology, path)
    found = of_topology | {
        "paint": of_paint,
        "layout": of_layout,
        "view": of_view,
        "fields": {name: value for name, value in data.items() if name not in _SECTIONS},
    }
    extra = {name: own for name, own in found.items() if own}
    check_plain(extra, f"{path}: a field that this version does not know")
    name = data.get("name", "")
    if not isinstance(name, str):
        raise InputError(f"{path}: name must be a text, not {shown(name)}.")
    try:
        job = job_for(topology) if data.get("job") is None else parse_job(data["job"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return Document(topology, job, paint, layout, name, extra, view, notes)


def _read_topology(tables: Mapping[str, Any], path: Path) -> tuple[Topology, dict[str, Any]]:
    containers, of_containers = read_table(tables, "containers", Container, path)
    devices, of_devices = read_table(tables, "devices", Device, path)
    links, of_links = read_table(tables, "links", Link, path)
    found = {
        "containers": of_containers,
        "devices": of_devices,
        "links": of_links,
        "topology": {name: value for name, value in tables.items() if name not in _TABLES},
    }
    try:
        topology = Topology(devices, links, containers)
    except EditRefused as error:
        raise InputError(f"{path}: {error}") from None
    return topology, found


def _read_paint(data: Mapping[str, Any], topology: Topology, path: Path) -> tuple[Paint, Kept]:
    if "paint" not in data:
        return Paint(), {}
    columns, count = read_columns(data, "paint", path)
    colours: dict[str, dict[Dimension, int]] = {}
    for number, gpu in enumerate(columns.get("gpu", ())):
        if not isinstance(gpu, str) or not topology.has_device(gpu):
            raise InputError(f"{path}: paint names {shown(gpu)}, and there is no such device.")
        if topology.device(gpu).kind is not DeviceKind.GPU:
            raise InputError(f"{path}: paint names {gpu}, which is no GPU.")
        own: dict[Dimension, int] = {}
        for dimension in DIMENSIONS:
            group = columns[dimension][number] if dimension in columns else None
            if group is None:
                continue
            if type(group) is not int or not 0 <= group < 2**31:
                raise InputError(
                    f"{path}: the {dimension} colour of {gpu} is {shown(group)}, not a group number."
                )
            own[dimension] = group
        colours[gpu] = own
    if len(colours) != count:
        raise InputError(f"{path}: paint must name each GPU once in a column gpu.")
    return Paint(colours), unknown_cells(columns, {"gpu", *DIMENSIONS}, columns.get("gpu", ()))


def _read_layout(data: Mapping[str, Any], topology: Topology, path: Path) -> tuple[dict[str, Position], Kept]:
    if "layout" not in data:
        return {}, {}
    columns, count = read_columns(data, "layout", path)
    layout: dict[str, Position] = {}
    try:
        xs, ys = as_floats(columns.get("x", ())), as_floats(columns.get("y", ()))
    except InputError:
        raise InputError(f"{path}: layout holds a number that is too large.") from None
    for ident, x, y in zip(columns.get("id", ()), xs, ys, strict=False):
        if not isinstance(ident, str) or not topology.has_device(ident):
            raise InputError(f"{path}: layout names {shown(ident)}, and there is no such device.")
        if type(x) is not float or type(y) is not float or not (abs(x) <= 1e9 and abs(y) <= 1e9):
            raise InputError(f"{path}: {ident} stands at {shown([x, y])}; positions are numbers up to ±1e9.")
        layout[ident] = (x, y)
    if len(layout) != count:
        raise InputError(f"{path}: layout must name each device once, with x and y.")
    return layout, unknown_cells(columns, {"id", "x", "y"}, columns.get("id", ()))
