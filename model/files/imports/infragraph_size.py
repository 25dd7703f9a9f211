"""How large an InfraGraph becomes when it is written out, reckoned without writing it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from model.errors import InputError
from model.files.importing import Reading
from model.files.imports.graph_drawing import MOST_EDGES, MOST_NODES
from model.files.imports.json_text import text_of
from model.files.reading import shown

_PART = re.compile(r"([^\[\]]{1,200})(?:\[([^\[\]]{0,60})\])?")
_DEEPEST = 8  # devices inside devices


def check_size(reading: Reading, data: Mapping[str, Any]) -> None:
    """Raise `InputError` where the written out graph has more nodes or edges than can be drawn.

    Also for devices that contain themselves, and for counts that are no numbers. Edges to what is not there
    are noted.
    """
    name = reading.source.name
    missing: dict[tuple[str, str], None] = {}
    devices = {text_of(device.get("name")): device for device in _maps(data, "devices")}
    sizes = {ident: _size(devices, ident, name, missing, 0) for ident in devices}
    instances = {text_of(one.get("name")): one for one in _maps(data, "instances")}
    nodes = edges = 0
    for instance in instances.values():
        device = text_of(instance.get("device"))
        if device not in devices:
            raise InputError(f"{name}: an instance is of the device {shown(device)}, which is not described.")
        count = _count(instance, name)
        nodes += count * sizes[device][0]
        edges += count * sizes[device][1]
    for edge in _maps(data, "edges"):
        ways = []
        for end in ("ep1", "ep2"):
            point = edge.get(end)
            point = point if isinstance(point, Mapping) else {}
            host = text_of(point.get("instance"))
            instance = instances.get(host.partition("[")[0], {})
            device = text_of(instance.get("device"))
            inside = _width(devices, device, text_of(point.get("component")), name, missing)
            if not instance:
                missing[host, "infrastructure"] = None
            ways.append(_taken(host, _count(instance, name) if instance else 1) * inside)
        edges += _edges(edge, *ways)
    _say_missing(reading, missing)
    if nodes > MOST_NODES or edges > MOST_EDGES:
        raise InputError(
            f"{name} describes {nodes:,} components and up to {edges:,} edges; at most {MOST_NODES:,} and "
            f"{MOST_EDGES:,} can be imported."
        )


def _say_missing(reading: Reading, missing: Iterable[tuple[str, str]]) -> None:
    for what, device in missing:
        where = "the infrastructure" if device == "infrastructure" else f"the device {shown(device)}"
        reading.contradictory(f"Edges name {shown(what)}, which {where} does not have: they are left out.")


def _maps(data: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    value = data.get(key)
    return (entry for entry in value if isinstance(entry, Mapping)) if isinstance(value, list) else iter(())


def _count(entry: Mapping[str, Any], name: str) -> int:
    count = entry.get("count")
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_NODES:
        raise InputError(
            f"{name}: the count of {shown(text_of(entry.get('name')))} is {shown(count)}; a whole number up "
            f"to {MOST_NODES:,} is expected."
        )
    return count


def _size(
    devices: Mapping[str, Mapping[str, Any]],
    ident: str,
    name: str,
    missing: dict[tuple[str, str], None],
    depth: int,
) -> tuple[int, int]:
    """Components and edges of one device, those of devices inside it too."""
    if depth > _DEEPEST:
        raise InputError(
            f"{name}: the device {shown(ident)} contains devices more than {_DEEPEST} deep, or itself."
        )
    device = devices[ident]
    nodes = edges = 0
    for component in _maps(device, "components"):
        inner = text_of(component.get("name"))
        own = (1, 0)
        if component.get("choice") == "device" and inner in devices:
            own = _size(devices, inner, name, missing, depth + 1)
        count = _count(component, name)
        nodes, edges = nodes + count * own[0], edges + count * own[1]
        if nodes > MOST_NODES:
            return nodes, edges
    for edge in _maps(device, "edges"):
        ways = []
        for end in ("ep1", "ep2"):
            point = edge.get(end)
            point = point if isinstance(point, Mapping) else {}
            outer, inner = text_of(point.get("device")), text_of(point.get("component"))
            ways.append(_width(devices, ident, f"{outer}.{inner}" if outer else inner, name, missing))
        edges += _edges(edge, *ways)
    return nodes, edges


def _width(
    devices: Mapping[str, Mapping[str, Any]],
    device: str,
    way: str,
    name: str,
    missing: dict[tuple[str, str], None],
) -> int:
    """How many components a way such as `cx5[0:2].port[0]` names, at most."""
    width = 1
    for part in way.split(".")[: _DEEPEST + 1]:
        plain = part.partition("[")[0]
        components = _maps(devices.get(device, {}), "components")
        component = next((one for one in components if text_of(one.get("name")) == plain), None)
        if component is None and device in devices:
            missing[plain, device] = None
        width *= _taken(part, _count(component, name) if component else 1)
        device = plain
    return width


def _taken(part: str, count: int) -> int:
    """How many of `count` things a name with a slice takes: `port[0:4]`."""
    match = _PART.fullmatch(part)
    if match is None or match[2] is None:
        return count
    if ":" not in match[2]:
        return 1
    numbers = [text.strip() for text in match[2].split(":")]
    if len(numbers) > 3 or not all(re.fullmatch(r"-?\d{1,9}|", text) for text in numbers):
        return count
    values = [int(text) if text else None for text in numbers]
    if len(values) == 3 and values[2] == 0:
        return count
    return len(range(*slice(*values).indices(count)))


def _edges(edge: Mapping[str, Any], first: int, second: int) -> int:
    scheme = text_of(edge.get("scheme"))
    if scheme == "one2one":
        return min(first, second)
    return first + second if scheme == "ring" else first * second
