"""Where racks stand on the floor, and where devices are mounted in them, as arrays."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from model.catalog.load import catalog
from model.topology.graph import Topology
from model.topology.racks import height_in_rack, rack_height
from model.topology.types import Container, ContainerKind, Device

IndexArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FloorPlace:
    """A place for a rack: `row` and `column` from 0 on, on the floor of a site (None: the only one)."""

    site: str | None
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Mounts:
    """Where each device of a topology is mounted, in document order.

    `thing` numbers what is mounted in a rack (a tray with all that it holds, or a device alone) and is −1
    where that is not known; `rack` and `site` number the racks and floors. `height_m` is the middle of the
    thing above the floor, `top_m` the top of its rack, `x_m` and `y_m` its place along and across the rows.
    """

    thing: IndexArray
    rack: IndexArray
    site: IndexArray
    height_m: FloatArray
    top_m: FloatArray
    x_m: FloatArray
    y_m: FloatArray


def floor_places(topology: Topology) -> dict[str, FloorPlace]:
    """Where each rack stands, in document order.

    A rack with a row and a column stands there. The others follow each other in document order, those of
    one pod in rows of their own, on the first places of these that are free.
    """
    containers = {box.id: box for box in topology.containers()}
    by_site: dict[str | None, list[Container]] = defaultdict(list)
    for box in containers.values():
        if box.kind is ContainerKind.RACK:
            by_site[around(containers, box, ContainerKind.SITE)].append(box)
    found: dict[str, FloorPlace] = {}
    for site, racks in by_site.items():
        taken: set[tuple[int, int]] = set()
        by_pod: dict[str | None, list[Container]] = defaultdict(list)
        for box in racks:
            if box.row is not None and box.column is not None:
                found[box.id] = FloorPlace(site, box.row, box.column)
                taken.add((box.row, box.column))
            else:
                by_pod[around(containers, box, ContainerKind.POD)].append(box)
        row = 0
        for group in by_pod.values():
            row = _in_rows(group, site, row, taken, found)
    return {box.id: found[box.id] for box in containers.values() if box.id in found}


def _in_rows(
    racks: list[Container],
    site: str | None,
    first_row: int,
    taken: set[tuple[int, int]],
    found: dict[str, FloorPlace],
) -> int:
    """Place racks from `first_row` on; gives the row after theirs. A row of its own is kept."""
    per_row = catalog().racks.racks_per_row
    row, column, last = first_row, 0, first_row
    for box in racks:
        if box.row is not None:
            row_of_box, place = box.row, 0
            while (row_of_box, place) in taken:
                place += 1
            taken.add((row_of_box, place))
            found[box.id] = FloorPlace(site, row_of_box, place)
            continue
        while column >= per_row or (row, column) in taken:
            row, column = (row + 1, 0) if column >= per_row else (row, column + 1)
        found[box.id] = FloorPlace(site, row, column)
        taken.add((row, column))
        last, column = row, column + 1
    return last + 1


def around(containers: dict[str, Container], box: Container, kind: ContainerKind) -> str | None:
    """The innermost container of a kind around another; None where there is none."""
    ident = box.parent
    while ident is not None:
        if containers[ident].kind is kind:
            return ident
        ident = containers[ident].parent
    return None


_known: WeakKeyDictionary[Topology, tuple[int, Mounts]] = WeakKeyDictionary()


def mounts(topology: Topology) -> Mounts:
    """The mounts of all devices, kept until the topology changes."""
    kept = _known.get(topology)
    if kept is None or kept[0] != topology.revision:
        kept = (topology.revision, _mounts(topology))
        _known[topology] = kept
    return kept[1]


def _mounts(topology: Topology) -> Mounts:
    spec = catalog().racks
    places = floor_places(topology)
    racks = {ident: number for number, ident in enumerate(places)}
    sites = {site: number for number, site in enumerate(dict.fromkeys(at.site for at in places.values()))}
    containers = {box.id: box for box in topology.containers()}
    # One row of figures a mounted thing; the last row is for what is mounted nowhere.
    rows: list[tuple[int, int, float, float, float, float]] = []
    of_box: dict[str, int] = {}

    def row_of(thing: Device | Container) -> int:
        rack = containers.get(thing.parent or "")
        if rack is None or rack.kind is not ContainerKind.RACK or thing.u is None:
            return -1
        at = places[rack.id]
        middle = (thing.u - 1 + height_in_rack(thing) / 2) * spec.u_m
        top = rack_height(rack) * spec.u_m
        x, y = at.column * spec.rack_width_m, at.row * spec.row_pitch_m
        rows.append((racks[rack.id], sites[at.site], middle, top, x, y))
        return len(rows) - 1

    def row_inside(ident: str) -> int:
        path: list[str] = []
        around: str | None = ident
        row = -1
        while around is not None and containers[around].kind is ContainerKind.TRAY:
            if around in of_box:
                row = of_box[around]
                break
            path.append(around)
            row = row_of(containers[around])
            if row >= 0:
                break
            around = containers[around].parent
        of_box.update(dict.fromkeys(path, row))
        return row

    devices = topology.devices()
    thing = np.full(len(devices), -1, np.int32)
    for place, device in enumerate(devices):
        if device.parent is not None:
            inside = row_inside(device.parent)
            thing[place] = inside if inside >= 0 or device.u is None else row_of(device)
    table = np.array([*rows, (-1, -1, np.nan, np.nan, np.nan, np.nan)], np.float64)[thing]
    return Mounts(
        thing,
        table[:, 0].astype(np.int32),
        table[:, 1].astype(np.int32),
        table[:, 2],
        table[:, 3],
        table[:, 4],
        table[:, 5],
    )
