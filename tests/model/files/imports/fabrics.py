"""What tests of fabric importers look at."""

from __future__ import annotations

from collections import Counter

from model.analysis import analyse
from model.document.start import document_from
from model.files.importing import Drawing, Imported
from model.topology.types import Link


def kinds(drawing: Drawing) -> dict[str, int]:
    """How many devices there are of each kind, and trays and racks."""
    found = Counter(device.kind.value for device in drawing.devices)
    found.update(container.kind.value for container in drawing.containers)
    return dict(found)


def gbit(drawing: Drawing) -> dict[frozenset[str], list[tuple[float, int]]]:
    """Gb/s of a cable and how many there are, of the links between each two devices."""
    found: dict[frozenset[str], list[tuple[float, int]]] = {}
    for link in drawing.links:
        speed = round(link.lane_bytes_per_s * 8 / 1e9, 6)
        found.setdefault(frozenset((link.a, link.b)), []).append((speed, link.count))
    return {pair: sorted(links) for pair, links in found.items()}


def cables(drawing: Drawing) -> int:
    """Cables of all links."""
    return sum(link.count for link in drawing.links)


def link(drawing: Drawing, a: str, b: str) -> Link:
    """The only link between two devices."""
    (only,) = [each for each in drawing.links if {each.a, each.b} == {a, b}]
    return only


def rails(drawing: Drawing) -> dict[str, int]:
    """The rail of each device that has one."""
    return {device.id: device.rail for device in drawing.devices if device.rail is not None}


def lines(one: Imported, beginning: str) -> tuple[int, ...]:
    """The lines of the only note that begins so."""
    (note,) = [note for note in one.notes if note.text.startswith(beginning)]
    return note.lines


def opens(drawing: Drawing) -> None:
    """The drawing is a document with a place for each device, and is analysed."""
    document = document_from(drawing)
    assert set(document.layout) == {device.id for device in drawing.devices}
    assert analyse(document).findings
