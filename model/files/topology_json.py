"""The topology export: node-link JSON that networkx reads as it is, and back without loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from model.document.document import Document, Position
from model.document.start import job_for, placed
from model.errors import EditRefused, InputError
from model.files.reading import as_floats, check_plain, check_version, section, shown
from model.files.tables import make_things
from model.files.view_json import view_from_json, view_to_json
from model.files.writing import json_text, with_kept, write_atomic
from model.topology.graph import Topology
from model.topology.types import Container, Device, Link, State

FORMAT = "railsketch.topology"
VERSION = 1
UNITS = {
    "capacity_bytes_per_s": "bytes/s of the whole bundle, one direction, as it is now",
    "nominal_bytes_per_s": "bytes/s of the whole bundle, one direction, as built",
    "latency_s": "s",
    "length_m": "m",
    "x": "scene units, centre",
    "y": "scene units, centre",
}

_TOP = frozenset({"format", "version", "directed", "multigraph", "graph", "nodes", "edges", "containers"})
_GRAPH = frozenset({"name", "units", "view"})
_EDGE_NAMES = {"id": "key", "a": "source", "b": "target"}
_EDGE_ONLY = frozenset({"capacity_bytes_per_s", "nominal_bytes_per_s"})


def topology_to_json(document: Document) -> dict[str, Any]:
    """The drawing as node-link JSON, in document order."""
    extra = document.extra
    device_names = [field.name for field in fields(Device)]
    container_names = [field.name for field in fields(Container)]
    nodes = []
    for device in document.topology.devices():
        x, y = document.layout.get(device.id, (None, None))
        node = {name: getattr(device, name) for name in device_names} | {"x": x, "y": y}
        nodes.append(with_kept(node, extra.get("devices", {}).get(device.id)))
    edges = [
        with_kept(_edge(link), extra.get("links", {}).get(link.id)) for link in document.topology.links()
    ]
    containers = [
        with_kept(
            {name: getattr(container, name) for name in container_names},
            extra.get("containers", {}).get(container.id),
        )
        for container in document.topology.containers()
    ]
    view = with_kept(view_to_json(document.view), extra.get("view"))
    graph = with_kept({"name": document.name, "units": UNITS, "view": view}, extra.get("graph"))
    own = {
        "format": FORMAT,
        "version": VERSION,
        "directed": False,
        "multigraph": True,
        "graph": graph,
        "nodes": nodes,
        "edges": edges,
        "containers": containers,
    }
    return with_kept(own, extra.get("fields"))


def _edge(link: Link) -> dict[str, Any]:
    return {
        "source": link.a,
        "target": link.b,
        "key": link.id,
        "kind": link.kind,
        "count": link.count,
        "capacity_bytes_per_s": link.capacity_bytes_per_s,
        "nominal_bytes_per_s": link.nominal_bytes_per_s,
        "latency_s": link.latency_s,
        "length_m": link.length_m,
        "state": link.state,
        "lane_bytes_per_s": link.lane_bytes_per_s,
        "share": link.share,
    }


def write_topology(document: Document, path: Path) -> None:
    """Write the export. Raises `InputError` when it cannot be written."""
    write_atomic(path, json_text(topology_to_json(document)))


def topology_from_json(data: Mapping[str, Any], path: Path) -> Document:
    """The drawing of an export, with the default job; `path` is for the messages. Raises `InputError`.

    Unknown fields of nodes, edges, containers and the graph are kept.
    """
    check_version(data, VERSION, path)
    devices, of_devices, positions = _nodes(section(data, "nodes", list, path), path)
    links, of_links = _edges(section(data, "edges", list, path), path)
    boxes = data.get("containers", [])
    if not isinstance(boxes, list):
        raise InputError(f"{path}: containers must be a list, not {shown(boxes)}.")
    containers, of_containers = _things(boxes, Container, f"{path}: containers", {"label": ""})
    graph = data.get("graph", {})
    graph = graph if isinstance(graph, dict) else {}
    name = graph.get("name", "")
    found = {
        "devices": of_devices,
        "links": of_links,
        "containers": of_containers,
        "graph": {key: value for key, value in graph.items() if key not in _GRAPH},
        "fields": {key: value for key, value in data.items() if key not in _TOP},
    }
    extra = {key: own for key, own in found.items() if own}
    check_plain(extra, f"{path}: a field that this version does not know")
    try:
        topology = Topology(devices, links, containers)
    except EditRefused as error:
        raise InputError(f"{path}: {error}") from None
    view, of_view, notes = view_from_json(graph, topology, path)
    return Document(
        topology,
        job_for(topology),
        layout=placed(topology, positions),
        name=name if isinstance(name, str) else "",
        extra=extra | ({"view": of_view} if of_view else {}),
        view=view,
        notes=notes,
    )


def _rows(items: Sequence[Any], where: str) -> tuple[dict[str, list[Any]], int]:
    """Columns of a list of objects; a field that some do not have is null there."""
    names: dict[str, None] = {}
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise InputError(f"{where}: entry {number:,} must be an object, not {shown(item)}.")
        names.update(dict.fromkeys(item))
    return {name: [item.get(name) for item in items] for name in names}, len(items)


def _things(
    items: Sequence[Any], kind: type[Any], where: str, defaults: Mapping[str, object]
) -> tuple[list[Any], dict[str, dict[str, Any]]]:
    columns, count = _rows(items, where)
    for name, default in defaults.items():
        if name in columns:
            columns[name] = [default if value is None else value for value in columns[name]]
    if not count:
        return [], {}
    return make_things(dict(columns), count, kind, where)


def _nodes(
    items: Sequence[Any], path: Path
) -> tuple[list[Device], dict[str, dict[str, Any]], dict[str, Position]]:
    where = f"{path}: nodes"
    defaults = {"label": "", "state": State.UP.value, "speed": 1.0}
    devices, extra = _things(items, Device, where, defaults)
    positions: dict[str, Position] = {}
    for device in devices:
        own = extra.get(device.id, {}) if isinstance(device.id, str) else {}
        x, y = own.pop("x", None), own.pop("y", None)
        if x is None or y is None:
            continue
        at = _floats((x, y), where)
        if not all(type(value) is float and abs(value) <= 1e9 for value in at):
            raise InputError(f"{where}: {device.id} stands at {shown([x, y])}; positions go up to ±1e9.")
        positions[device.id] = (at[0], at[1])
    return devices, {ident: own for ident, own in extra.items() if own}, positions


def _floats(values: Sequence[Any], where: str) -> list[Any]:
    try:
        return as_floats(values)
    except InputError:
        raise InputError(f"{where}: a number is too large.") from None


def _edges(items: Sequence[Any], path: Path) -> tuple[list[Link], dict[str, dict[str, Any]]]:
    where = f"{path}: edges"
    rows: list[dict[str, Any]] = []
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise InputError(f"{where}: entry {number:,} must be an object, not {shown(item)}.")
        row = {name: item.get(key) for name, key in _EDGE_NAMES.items()}
        row |= {key: value for key, value in item.items() if key not in _EDGE_NAMES.values()}
        rows.append(row | _rates(item, f"{where}: {shown(item.get('key', number))}"))
        for name in _EDGE_ONLY:
            rows[-1].pop(name, None)
    return _things(rows, Link, where, {})


def _rates(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Count, lane speed, share and state from the capacities, which are what counts (conventions 7).

    `lane_bytes_per_s` and `share` are taken where they agree with them: they hold the last bit.
    """
    count, state = item.get("count", 1), item.get("state", State.UP.value)
    if type(count) is not int or not 1 <= count <= 1_000_000:
        raise InputError(f"{where}: count must be a whole number from 1 to 1,000,000, not {shown(count)}.")
    capacity = _rate(item, "capacity_bytes_per_s", where)
    nominal = _rate(item, "nominal_bytes_per_s", where)
    nominal = capacity if nominal is None else nominal
    if nominal is None or nominal <= 0:
        raise InputError(f"{where}: nominal_bytes_per_s must be a number above 0.")
    capacity = nominal if capacity is None else capacity
    lane = _number(item.get("lane_bytes_per_s"), 0.0)
    if lane * count != nominal:
        lane = nominal / count
    share = _number(item.get("share"), 1.0)
    if not 0 < share <= 1:
        share = 1.0
    if state == State.UP.value and capacity < nominal * (1 - 1e-12):
        state = State.DEGRADED.value
    if state == State.DEGRADED.value and share * nominal != capacity:
        share = capacity / nominal
    return {"count": count, "state": state, "lane_bytes_per_s": lane, "share": share}


def _number(value: object, otherwise: float) -> float:
    """A usable number, else `otherwise`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e24:
        return float(value)
    return otherwise


def _rate(item: Mapping[str, Any], name: str, where: str) -> float | None:
    value = item.get(name)
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 1e24 or not math.isfinite(value):
        raise InputError(f"{where}: {name} must be a number from 0 on, not {shown(value)}.")
    return float(value)
