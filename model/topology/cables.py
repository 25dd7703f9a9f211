"""How long cables are and of which class, from where their ends are mounted.

Inside a rack a cable is as long as its ends are apart in height, plus slack. Between racks it goes from each
end up to the trays above the racks, along and across the rows (the Manhattan distance), and down, plus
slack. The constants are in `resources/catalog/cables.json` and `racks.json`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.catalog.cabling import CableClass
from model.catalog.load import catalog
from model.text import format_seconds, three_digits
from model.topology.floor import mounts
from model.topology.graph import Topology
from model.topology.types import Link

FloatArray = NDArray[np.float64]

__all__ = ["CableClass", "cable_class", "cable_length_m", "cable_lengths", "cable_text", "lengths_from_racks"]

_MOST_MEASURED = 256


def cable_length_m(topology: Topology, link: Link) -> float | None:
    """How long each cable of a link is, in metres: its own `length_m`, else from the racks.

    None where it has no length of its own and its ends are not both mounted at a known U of racks on one
    floor, or are parts of one tray.
    """
    if link.length_m is not None:
        return link.length_m
    # The places of two devices only: a hover asks for one link of a hundred thousand.
    a, b = topology.index_of(link.a), topology.index_of(link.b)
    length = float(lengths_from_racks(topology, [a], [b])[0])
    return None if np.isnan(length) else length


def cable_lengths(topology: Topology) -> dict[str, float | None]:
    """`cable_length_m` of every link, by id, in document order."""
    links = topology.links()
    index = {device.id: place for place, device in enumerate(topology.devices())}
    computed = lengths_from_racks(
        topology, [index[link.a] for link in links], [index[link.b] for link in links]
    )
    return {
        link.id: link.length_m if link.length_m is not None else (None if np.isnan(length) else length)
        for link, length in zip(links, computed.tolist(), strict=True)
    }


def lengths_from_racks(topology: Topology, a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Lengths in metres of cables between the devices with these places in document order; NaN = unknown."""
    book = catalog().cables
    at = mounts(topology)
    a, b = np.asarray(a, np.intp), np.asarray(b, np.intp)
    up = (at.top_m[a] - at.height_m[a]) + (at.top_m[b] - at.height_m[b]) + 2 * book.tray_above_rack_m
    across = np.abs(at.x_m[a] - at.x_m[b]) + np.abs(at.y_m[a] - at.y_m[b])
    inside = np.abs(at.height_m[a] - at.height_m[b]) + book.slack_in_rack_m
    same_rack = at.rack[a] == at.rack[b]
    length = np.where(same_rack, inside, up + across + book.slack_between_racks_m)
    known = (at.thing[a] >= 0) & (at.thing[b] >= 0) & (at.thing[a] != at.thing[b])
    known &= at.site[a] == at.site[b]
    return np.where(known, length, np.nan)


def cable_class(length_m: float, lane_bytes_per_s: float) -> CableClass:
    """The first class of the catalogue that carries a lane of this speed (one direction) this far.

    The last class reaches any length.
    """
    classes = catalog().cables.classes
    return next((one for one in classes if one.reaches(length_m, lane_bytes_per_s)), classes[-1])


def cable_text(topology: Topology, links: Sequence[Link]) -> str:
    """Length, class and delay of cables in words: "2.03 m, passive copper, 10.2 ns", of several "2.03 to 4.50
    m, passive copper or active copper".

    Empty where one of the lengths is not known; of more than 256 cables the first ones are measured.
    """
    found = [(cable_length_m(topology, link), link) for link in links[:_MOST_MEASURED]]
    known = [(length, link) for length, link in found if length is not None]
    if not known or len(known) < len(found):
        return ""
    names = dict.fromkeys(cable_class(length, link.lane_bytes_per_s).name for length, link in known)
    kinds = " or ".join(name[:1].lower() + name[1:] for name in names)
    least, most = min(length for length, _ in known), max(length for length, _ in known)
    if three_digits(least) != three_digits(most):
        return f"{three_digits(least)} to {three_digits(most)} m, {kinds}"
    nanoseconds = most * catalog().cables.ns_per_m
    delay = f"{three_digits(nanoseconds)} ns" if nanoseconds < 1000 else format_seconds(nanoseconds * 1e-9)
    return f"{three_digits(most)} m, {kinds}, {delay}"
