"""`SceneIndex`: what is drawn, as arrays in scene units, derived from the document and patched by edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from model.document.document import Change, Document, Position
from model.topology.footprint import CONTAINER_PADDING, CONTAINER_TITLE, FOOTPRINT, GRID
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
RowArray = NDArray[np.signedinteger]

DEVICE_KINDS = tuple(DeviceKind)
LINK_KINDS = tuple(LinkKind)
STATES = tuple(State)
KIND_CODE = {kind: code for code, kind in enumerate(DEVICE_KINDS)}
LINK_CODE = {kind: code for code, kind in enumerate(LINK_KINDS)}
STATE_CODE = {state: code for code, state in enumerate(STATES)}
HALF_SIZE = np.array([FOOTPRINT[kind] for kind in DEVICE_KINDS]) / 2
GPU = KIND_CODE[DeviceKind.GPU]
NIC = KIND_CODE[DeviceKind.NIC]
NVLINK_SWITCH = KIND_CODE[DeviceKind.NVLINK_SWITCH]

EMPTY_CONTAINER = (240.0, 140.0)
EMPTY_INSIDE = (140.0, 40.0)
NO_RECT = (np.inf, np.inf, -np.inf, -np.inf)
_FEW = 64  # rows that are taken out one by one; above, lists are made anew
_T = TypeVar("_T")
_BAND = 20.0  # devices whose centres are this close in height form one row


class SceneIndex:
    """Devices, links and containers of one document, one row each.

    Devices: `device_ids`, `centre` (n, 2), `half` (n, 2) half sizes, `kind`, `state`, `parent` (container
    row or -1). Links: `link_ids`, `ends` (m, 2) device rows, `link_kind`, `link_state`, `cables`, `capacity`
    and `nominal` bytes/s of one direction. Containers: `container_ids`, `hull` (c, 4) x0 y0 x1 y1,
    `container_parent`, `depth`, `title_below` (the name stands at the bottom), and `spots`, the centres of
    empty ones by id. `version` counts changes, `structure` those that are more than another place, `wiring`
    those of what there is and what is joined, and `places` those of where it stands.
    """

    link_ids: list[str]
    kind: NDArray[np.int8]
    state: NDArray[np.int8]
    parent: NDArray[np.int32]
    half: NDArray[np.float64]
    ends: NDArray[np.int32]
    link_kind: NDArray[np.int8]
    link_state: NDArray[np.int8]
    cables: NDArray[np.int32]
    nominal: NDArray[np.float64]
    capacity: NDArray[np.float64]

    def __init__(self, document: Document) -> None:
        self.version = 0
        self.structure = self.wiring = self.places = 0
        self.rebuild(document)

    # Whole

    def rebuild(self, document: Document) -> None:
        """Derive everything anew."""
        topology = document.topology
        self.devices: list[Device] = list(topology.devices())
        self.links: list[Link] = list(topology.links())
        self.containers: list[Container] = list(topology.containers())
        self.device_ids = [device.id for device in self.devices]
        self.device_row = {ident: row for row, ident in enumerate(self.device_ids)}
        self.container_ids = [container.id for container in self.containers]
        self.container_row = {ident: row for row, ident in enumerate(self.container_ids)}
        self.spots = dict(document.view.spots)
        layout = document.layout
        self.centre = np.array(
            [layout.get(ident, (0.0, 0.0)) for ident in self.device_ids], dtype=np.float64
        ).reshape(-1, 2)
        self._read_devices()
        self._read_links()
        self._read_containers()
        self.version += 1
        self.structure += 1
        self.wiring += 1
        self.places += 1

    def patch(self, document: Document, change: Change) -> bool:
        """Follow an edit that only moved things or changed their fields; other edits rebuild.

        Gives whether devices, links or containers came or went.
        """
        if change.view and self.spots != document.view.spots:
            self.show_spots(document.view.spots)
        if not (change.devices or change.links or change.containers or change.layout or change.whole):
            return False
        topology = document.topology
        counts = (len(topology.devices()), len(topology.links()), len(topology.containers()))
        touched = (*change.devices, *change.links, *change.containers)
        known = all(
            ident in self.device_row or ident in self.link_row or ident in self.container_row
            for ident in touched
        )
        still = all(topology.has(ident) for ident in touched)
        if (
            change.whole
            or counts != (len(self.devices), len(self.links), len(self.containers))
            or not known
            or not still
        ):
            followed = not change.whole and (
                self._removed(document, change) or self._containers_changed(document, change)
            )
            if not followed:
                self.rebuild(document)
            return True
        if change.devices or change.links or change.containers:
            self._patch_fields(document, change)
            self.structure += 1
        moved = [ident for ident in change.layout if ident in self.device_row and ident in document.layout]
        if moved:
            rows = [self.device_row[ident] for ident in moved]
            self.centre[rows] = [document.layout[ident] for ident in moved]
            self._fit_hulls()
            self.places += 1
        self.version += 1
        return False

    def _removed(self, document: Document, change: Change) -> bool:
        """Take rows out that are gone, when nothing else happened; else False, and nothing is changed."""
        topology = document.topology
        touched = (*change.devices, *change.links, *change.containers)
        if any(topology.has(ident) for ident in touched):
            return False
        device = np.ones(len(self.devices), dtype=bool)
        device[[self.device_row[ident] for ident in change.devices if ident in self.device_row]] = False
        link = np.ones(len(self.links), dtype=bool)
        link[[self.link_row[ident] for ident in change.links if ident in self.link_row]] = False
        container = np.ones(len(self.containers), dtype=bool)
        rows = [self.container_row[ident] for ident in change.containers if ident in self.container_row]
        container[rows] = False
        counts = (len(topology.devices()), len(topology.links()), len(topology.containers()))
        if counts != (int(device.sum()), int(link.sum()), int(container.sum())):
            return False
        self._keep_devices(device, container)
        self._keep_links(link, device)
        self._read_containers()
        self.version += 1
        self.structure += 1
        self.wiring += 1
        self.places += 1
        return True

    def _containers_changed(self, document: Document, change: Change) -> bool:
        """Follow containers that came or went around devices that stay, when no more than that happened; else
        False, and nothing is changed."""
        topology = document.topology
        same = len(topology.devices()) == len(self.devices) and len(topology.links()) == len(self.links)
        stay = all(ident in self.device_row and topology.has_device(ident) for ident in change.devices)
        if not (same and stay) or change.links or change.layout:
            return False
        self.containers = list(topology.containers())
        self.container_ids = [one.id for one in self.containers]
        self.container_row = {ident: row for row, ident in enumerate(self.container_ids)}
        for ident in change.devices:
            self.devices[self.device_row[ident]] = topology.device(ident)
        self._read_devices()
        self._read_containers()
        self.version += 1
        self.structure += 1
        self.wiring += 1
        self.places += 1
        return True

    def _keep_devices(self, device: NDArray[np.bool_], container: NDArray[np.bool_]) -> None:
        self.devices = _kept(self.devices, device)
        self.device_ids = _kept_ids(self.device_ids, self.device_row, device)
        self.containers = _kept(self.containers, container)
        self.container_ids = _kept_ids(self.container_ids, self.container_row, container)
        place = np.append(np.where(container, np.cumsum(container) - 1, -1), -1)
        self.centre, self.kind, self.state = self.centre[device], self.kind[device], self.state[device]
        self.parent = place[self.parent[device]].astype(np.int32)
        self.half = self.half[device]
        self.gpu_rows = np.flatnonzero(self.kind == GPU)

    def _keep_links(self, link: NDArray[np.bool_], device: NDArray[np.bool_]) -> None:
        self.links = _kept(self.links, link)
        self.link_ids = _kept_ids(self.link_ids, self.link_row, link)
        self.ends = (np.cumsum(device) - 1).astype(np.int32)[self.ends[link]]
        self.link_kind, self.link_state = self.link_kind[link], self.link_state[link]
        self.cables, self.nominal, self.capacity = self.cables[link], self.nominal[link], self.capacity[link]
        self._sort_ends()

    def _patch_fields(self, document: Document, change: Change) -> None:
        """Take new fields over; only other parents, kinds, rails, ends or speeds need more than own rows."""
        topology = document.topology
        deep_devices = deep_links = False
        for ident in change.devices:
            row, device = self.device_row[ident], topology.device(ident)
            old, self.devices[row] = self.devices[row], device
            deep_devices |= (old.parent, old.kind, old.rail) != (device.parent, device.kind, device.rail)
            self.state[row] = STATE_CODE[device.state]
        for ident in change.links:
            row, link = self.link_row[ident], topology.link(ident)
            before, self.links[row] = self.links[row], link
            deep_links |= (before.a, before.b, before.kind, before.count, before.lane_bytes_per_s) != (
                link.a, link.b, link.kind, link.count, link.lane_bytes_per_s,
            )  # fmt: skip
            self.link_state[row] = STATE_CODE[link.state]
            self.capacity[row] = link.capacity_bytes_per_s
        for ident in change.containers:
            self.containers[self.container_row[ident]] = topology.container(ident)
        if deep_devices:
            self._read_devices()
        if deep_links:
            self._read_links()
        if change.containers or deep_devices:
            self._read_containers()
            self.places += 1
        if change.containers or deep_devices or deep_links:
            self.wiring += 1

    def _read_devices(self) -> None:
        rows = self.container_row
        self.kind = np.array([KIND_CODE[device.kind] for device in self.devices], dtype=np.int8)
        self.state = np.array([STATE_CODE[device.state] for device in self.devices], dtype=np.int8)
        parents = [-1 if device.parent is None else rows[device.parent] for device in self.devices]
        self.parent = np.array(parents, dtype=np.int32)
        self.half = HALF_SIZE[self.kind].reshape(-1, 2)
        self.gpu_rows = np.flatnonzero(self.kind == GPU)

    def _read_links(self) -> None:
        rows = self.device_row
        self.link_ids = [link.id for link in self.links]
        self.link_row = {ident: row for row, ident in enumerate(self.link_ids)}
        columns = [
            (rows[link.a], rows[link.b], LINK_CODE[link.kind], STATE_CODE[link.state], link.count)
            for link in self.links
        ]
        table = np.array(columns, dtype=np.int32).reshape(-1, 5)
        self.ends = np.ascontiguousarray(table[:, :2])
        self.link_kind = table[:, 2].astype(np.int8)
        self.link_state = table[:, 3].astype(np.int8)
        self.cables = np.ascontiguousarray(table[:, 4])
        speeds = [(link.lane_bytes_per_s, link.share) for link in self.links]
        lane, share = np.array(speeds, dtype=np.float64).reshape(-1, 2).T
        self.nominal = lane * self.cables
        self.capacity = np.where(
            self.link_state == STATE_CODE[State.DEGRADED], self.nominal * share, self.nominal
        )
        self.capacity[self.link_state == STATE_CODE[State.DOWN]] = 0.0
        self._sort_ends()

    def _sort_ends(self) -> None:
        order = np.argsort(self.ends.ravel(), kind="stable")
        self._link_of_end = (order // 2).astype(np.int32)
        self._end_start = np.searchsorted(self.ends.ravel()[order], np.arange(len(self.devices) + 1))

    def _read_containers(self) -> None:
        rows = self.container_row
        parents = [-1 if one.parent is None else rows[one.parent] for one in self.containers]
        self.container_parent = np.array(parents, dtype=np.int32)
        self.is_tray = np.array([one.kind is ContainerKind.TRAY for one in self.containers], dtype=bool)
        self.depth = np.zeros(len(self.containers), dtype=np.int32)
        up = self.container_parent.copy()
        while (up >= 0).any():
            self.depth += up >= 0
            up = np.where(up >= 0, self.container_parent[up], -1)
        self._fit_hulls()

    # Hulls

    def _fit_hulls(self) -> None:
        """Hulls from the inside out: children, padding, room for the title (footprint.py)."""
        count = len(self.containers)
        self.hull = np.tile(np.array(NO_RECT), (count, 1))
        self.title_below = np.zeros(count, dtype=bool)
        inside = np.flatnonzero(self.parent >= 0)
        owner = self.parent[inside]
        np.minimum.at(self.hull[:, :2], owner, self.centre[inside] - self.half[inside])
        np.maximum.at(self.hull[:, 2:], owner, self.centre[inside] + self.half[inside])
        self._place_titles(inside, owner)
        for depth in range(int(self.depth.max(initial=0)), -1, -1):
            level = np.flatnonzero(self.depth == depth)
            nothing = self.hull[level, 0] > self.hull[level, 2]
            self._pad(level[~nothing])
            self._enclose(level[~nothing])
            if nothing.any():
                self._place_empty(level[nothing])
                self._enclose(level[nothing])

    def _enclose(self, rows: RowArray) -> None:
        """Widen the hulls around containers so that they hold them."""
        above = rows[self.container_parent[rows] >= 0]
        owner = self.container_parent[above]
        np.minimum.at(self.hull[:, :2], owner, self.hull[above, :2])
        np.maximum.at(self.hull[:, 2:], owner, self.hull[above, 2:])

    def _place_empty(self, rows: RowArray) -> None:
        """Empty containers where a hand put them, else in lines below what their container holds; where
        nothing says where that is, side by side above the origin."""
        width, height = EMPTY_CONTAINER
        small_width, small_height = EMPTY_INSIDE
        found: dict[int, list[int]] = {}
        for row in rows.tolist():
            owner, spot = int(self.container_parent[row]), self.spots.get(self.container_ids[row])
            if spot is not None:
                half = np.array(EMPTY_CONTAINER if owner < 0 else EMPTY_INSIDE) / 2
                self.hull[row] = (*(spot - half), *(spot + half))
            elif owner >= 0 and self.hull[owner, 0] <= self.hull[owner, 2]:
                found.setdefault(owner, []).append(row)
            else:
                left = row * (width + GRID)
                self.hull[row] = (left, -height - GRID, left + width, -GRID)
        for owner, inside in found.items():
            x0, _, x1, y1 = self.hull[owner]
            columns = max(1, int((x1 - x0 + GRID) // (small_width + GRID)))
            for place, row in enumerate(inside):
                line, column = divmod(place, columns)
                left, top = x0 + column * (small_width + GRID), y1 + GRID + line * (small_height + GRID)
                self.hull[row] = (left, top, left + small_width, top + small_height)

    def _place_titles(self, inside: RowArray, owner: RowArray) -> None:
        """Names stand away from the cables: below in a tray whose NICs sit on its top edge or at its bottom.

        A tray with NVLink switches of its own has its NICs on the edge, half outside.
        """
        self.edge_top = np.full(len(self.containers), np.nan)
        switched = np.zeros(len(self.containers), dtype=bool)
        switched[owner[self.kind[inside] == NVLINK_SWITCH]] = True
        nics = inside[self.kind[inside] == NIC]
        tray = self.parent[nics]
        at_top = self.centre[nics, 1] - self.half[nics, 1] - self.hull[tray, 1] < _BAND
        at_bottom = self.hull[tray, 3] - self.centre[nics, 1] - self.half[nics, 1] < _BAND
        edge = at_top & switched[tray]
        self.title_below[tray[edge | (at_bottom & ~at_top & ~switched[tray])]] = True
        self.edge_top[tray[edge]] = self.centre[nics[edge], 1]

    def _pad(self, rows: RowArray) -> None:
        hull = self.hull[rows]
        below = self.title_below[rows]
        hull[:, :2] -= CONTAINER_PADDING
        hull[:, 2:] += CONTAINER_PADDING
        hull[below, 3] += CONTAINER_TITLE
        hull[~below, 1] -= CONTAINER_TITLE
        edge = self.edge_top[rows]
        hull[:, 1] = np.where(np.isnan(edge), hull[:, 1], edge)
        self.hull[rows] = hull

    # Questions

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not self.devices and not self.containers

    def rects(self) -> FloatArray:
        """Device boxes (n, 4): x0 y0 x1 y1."""
        return np.hstack((self.centre - self.half, self.centre + self.half))

    def bounds(self, ids: Iterable[str] | None = None) -> tuple[float, float, float, float] | None:
        """The box around everything, or around some devices, links and containers; None around nothing."""
        if ids is None:
            boxes = np.vstack((self.rects(), self.hull))
        else:
            boxes = self._boxes_of(ids)
        if not len(boxes):
            return None
        low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    def _boxes_of(self, ids: Iterable[str]) -> FloatArray:
        devices: list[int] = []
        hulls: list[int] = []
        for ident in ids:
            if ident in self.device_row:
                devices.append(self.device_row[ident])
            elif ident in self.container_row:
                hulls.append(self.container_row[ident])
            elif ident in self.link_row:
                devices.extend(self.ends[self.link_row[ident]].tolist())
        return np.vstack((self.rects()[devices], self.hull[hulls]))

    def links_of(self, device_row: int) -> IntArray:
        """Rows of the links that end at a device."""
        return self._link_of_end[self._end_start[device_row] : self._end_start[device_row + 1]]

    def devices_in(self, container_row: int) -> IntArray:
        """Rows of the devices in a container, at any depth."""
        inside = np.zeros(len(self.containers) + 1, dtype=bool)
        inside[container_row] = True
        for depth in range(int(self.depth[container_row]) + 1, int(self.depth.max(initial=0)) + 1):
            level = np.flatnonzero(self.depth == depth)
            inside[level] |= inside[self.container_parent[level]]
        return np.flatnonzero(inside[self.parent]).astype(np.int32)

    def count_inside(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """For each container how many of the `chosen` devices (n,) are in it, at any depth."""
        held = self.parent[chosen & (self.parent >= 0)]
        counts = np.bincount(held, minlength=len(self.containers))
        for depth in range(int(self.depth.max(initial=0)), 0, -1):
            level = np.flatnonzero(self.depth == depth)
            np.add.at(counts, self.container_parent[level], counts[level])
        return counts

    def tray_of(self) -> IntArray:
        """For each device the row of the tray that holds it directly, or -1."""
        return np.where(np.append(self.is_tray, False)[self.parent], self.parent, -1).astype(np.int32)

    def device_rows(self, ids: Iterable[str]) -> IntArray:
        """Rows of the devices among `ids`, with those in containers among them, ascending."""
        chosen = np.zeros(len(self.devices), dtype=bool)
        for ident in ids:
            if ident in self.device_row:
                chosen[self.device_row[ident]] = True
            elif ident in self.container_row:
                chosen[self.devices_in(self.container_row[ident])] = True
        return np.flatnonzero(chosen).astype(np.int32)

    def place(self, rows: IntArray, centres: FloatArray) -> None:
        """Put devices somewhere on the drawing only, on their way to where the document has them."""
        self.centre[rows] = centres
        self._fit_hulls()
        self.version += 1
        self.places += 1

    def show_spots(self, spots: Mapping[str, Position]) -> None:
        """Draw empty containers at these centres, as the document has them or while a hand drags them."""
        self.spots = dict(spots)
        self._fit_hulls()
        self.version += 1
        self.places += 1

    def snapshot_move(self, rows: IntArray, dx: float, dy: float) -> None:
        """Shift devices on the drawing only, while a hand drags them; another shift takes it back."""
        self.centre[rows] += (dx, dy)
        self._fit_hulls()
        self.version += 1
        self.places += 1


def _kept(items: list[_T], keep: NDArray[np.bool_]) -> list[_T]:
    """A list of those of some items that are kept."""
    gone = np.flatnonzero(~keep)
    if len(gone) > _FEW:
        return list(compress(items, keep.tolist()))
    kept = items.copy()
    for row in gone[::-1].tolist():
        del kept[row]
    return kept


def _kept_ids(ids: list[str], row_of: dict[str, int], keep: NDArray[np.bool_]) -> list[str]:
    """The ids that are kept; in `row_of` only rows behind the first that is gone are numbered anew."""
    kept, gone = _kept(ids, keep), np.flatnonzero(~keep)
    for row in gone.tolist():
        del row_of[ids[row]]
    first = int(gone[0]) if len(gone) else len(kept)
    row_of.update(zip(kept[first:], range(first, len(kept)), strict=True))
    return kept
