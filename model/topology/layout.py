"""Where devices stand when the program places them: tiers from the core down to the hosts, hosts in rows.

Works on any drawing. A container's content is laid out first and then placed as one block; host devices
outside of containers that hang together by NVLink or PCIe form a block of their own. Blocks keep room for the
frame and title of their container (footprint.py), so nothing overlaps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from model.topology.footprint import CONTAINER_PADDING, CONTAINER_TITLE, FOOTPRINT, GRID
from model.topology.graph import Topology
from model.topology.types import NETWORK_LINKS, Container, ContainerKind, Device, DeviceKind, Link

FloatArray = NDArray[np.float64]

_TIERS = (DeviceKind.SITE_GATEWAY, DeviceKind.CORE, DeviceKind.SPINE, DeviceKind.LEAF)
_ABOVE = (*_TIERS, DeviceKind.STORAGE)
_PITCH = {kind: 40.0 * math.ceil((width + 4) / 40) for kind, (width, _) in FOOTPRINT.items()}
_ROW_LIMIT = {DeviceKind.GPU: 18, DeviceKind.NIC: 18}
_OTHER_ROW_LIMIT = 9
_ROW_GAP = 24.0
_CABLE_GAP = 72.0
_BLOCK_GAP = {
    ContainerKind.TRAY: 20.0,
    ContainerKind.RACK: 40.0,
    ContainerKind.POD: 120.0,
    ContainerKind.SITE: 400.0,
}
_ASPECT_TOP = 2.0
_ASPECT_INSIDE = 1.2
_ASPECT_LEAST = 0.35
_RAGGED = 4.5
_WIDEST = {
    ContainerKind.TRAY: 6.0,
    ContainerKind.RACK: 6.0,
    ContainerKind.POD: 12.0,
    ContainerKind.SITE: 6.0,
}
_ONE_ROW = {ContainerKind.TRAY: 4, ContainerKind.RACK: 4, ContainerKind.POD: 8, ContainerKind.SITE: 4}


@dataclass(frozen=True, slots=True)
class _Block:
    """Devices placed as one: ids, centres (n, 2) from the block's top left corner, and its size."""

    ids: tuple[str, ...]
    centres: FloatArray
    width: float
    height: float
    kind: ContainerKind = ContainerKind.TRAY

    def flipped(self) -> _Block:
        """Upside down."""
        turned = self.centres * (1.0, -1.0) + (0.0, self.height)
        return _Block(self.ids, turned, self.width, self.height, self.kind)

    def framed(self, kind: ContainerKind) -> _Block:
        """With room for a container around it; the title of a tray can also stand at the bottom."""
        side, top = CONTAINER_PADDING, CONTAINER_PADDING + CONTAINER_TITLE
        bottom = top if kind is ContainerKind.TRAY else side
        return _Block(
            self.ids, self.centres + (side, top), self.width + 2 * side, self.height + top + bottom, kind
        )


@dataclass(slots=True)
class _Content:
    """What lies directly in one container (or in none)."""

    devices: list[Device] = field(default_factory=list)
    containers: list[tuple[str, ContainerKind]] = field(default_factory=list)


@dataclass(slots=True)
class _Drawing:
    """What is laid out: devices by id, and for each its neighbours with whether only network joins them."""

    devices: Mapping[str, Device]
    near: Mapping[str, Mapping[str, bool]]


def layout_by_role(topology: Topology) -> dict[str, tuple[float, float]]:
    """`layout_parts` of a whole drawing."""
    return layout_parts(topology.devices(), topology.links(), topology.containers())


def layout_parts(
    devices: Iterable[Device], links: Iterable[Link], containers: Iterable[Container]
) -> dict[str, tuple[float, float]]:
    """The centre of every device, in scene units, the whole drawing centred on (0, 0).

    From top to bottom: site gateways, cores, spines, leaves, then hosts; within a host NICs, PCIe switches,
    GPUs, NVLink switches, CPUs. In a rack whose NVLink switches stand outside of the trays, the trays are in
    two rows with the switches between them. The switches of a rack that holds one tier only stand beside each
    other in that tier.
    """
    by_id = {device.id: device for device in devices}
    contents = _contents(by_id.values(), containers)
    near: dict[str, dict[str, bool]] = {ident: {} for ident in by_id}
    for link in links:
        network = link.kind in NETWORK_LINKS
        near[link.a][link.b] = near[link.b][link.a] = network and near[link.a].get(link.b, True)
    block = _inside(_Drawing(by_id, near), contents, None, None, _ASPECT_TOP)
    if not block.ids:
        return {}
    centres = np.round(block.centres - (block.width / 2, block.height / 2), -1)
    return dict(zip(block.ids, map(tuple, centres.tolist()), strict=True))


def _contents(devices: Iterable[Device], containers: Iterable[Container]) -> Mapping[str | None, _Content]:
    """What lies directly in each container; racks of one tier are left out, what they hold stands outside."""
    contents: dict[str | None, _Content] = defaultdict(_Content)
    for device in devices:
        contents[device.parent].devices.append(device)
    boxes = tuple(containers)
    holders = {box.parent for box in boxes}
    for box in boxes:
        kinds = {device.kind for device in contents[box.id].devices}
        one_tier = len(kinds) == 1 and kinds <= set(_TIERS)
        if box.kind is ContainerKind.RACK and box.id not in holders and one_tier:
            contents[box.parent].devices.extend(contents.pop(box.id).devices)
        else:
            contents[box.parent].containers.append((box.id, box.kind))
    return contents


def _inside(
    drawing: _Drawing,
    contents: Mapping[str | None, _Content],
    container: str | None,
    kind: ContainerKind | None,
    aspect: float,
) -> _Block:
    """The content of a container as one block, without its own frame; `kind` None is the drawing itself.

    `aspect` is the width ÷ height to come near to.
    """
    content = contents.get(container) or _Content()
    if kind is ContainerKind.TRAY and not content.containers:
        return _host(drawing, content.devices)
    blocks = []
    for ident, inner in content.containers:
        # Several pods stand in one row, so each of them is narrow.
        narrow = max(_ASPECT_LEAST, aspect / len(content.containers))
        inside = min(narrow, _ASPECT_INSIDE) if inner is ContainerKind.POD else _ASPECT_INSIDE
        block = _inside(drawing, contents, ident, inner, inside)
        if block.ids:
            blocks.append(block.framed(inner))
    tiers = [[device for device in content.devices if device.kind is tier] for tier in _TIERS]
    loose = [device for device in content.devices if device.kind not in _ABOVE]
    planes = _nvlink_planes(drawing, loose, blocks)
    if planes is not None:
        middle = _two_rows(planes, blocks)
    else:
        blocks.extend(_host(drawing, group) for group in _hanging_together(drawing, loose))
        middle = _grid(blocks, aspect)
    storage = [device.id for device in content.devices if device.kind is DeviceKind.STORAGE]
    if storage:
        middle = _with_storage(storage, middle)
    return _under_tiers(drawing, tiers, middle)


# Hosts


def _host(drawing: _Drawing, devices: Sequence[Device]) -> _Block:
    """Devices of one host in rows by kind."""
    by_kind: dict[DeviceKind, list[Device]] = defaultdict(list)
    for device in devices:
        by_kind[device.kind].append(device)
    gpus = sorted(by_kind.get(DeviceKind.GPU, ()), key=_rail)
    place = {gpu.id: index for index, gpu in enumerate(gpus)}
    ids: list[str] = []
    shape: list[tuple[DeviceKind, int]] = []
    for kind in _host_order(by_kind):
        if kind in by_kind:
            row = gpus if kind is DeviceKind.GPU else _over_their_gpus(drawing, by_kind[kind], place)
            ids.extend(device.id for device in row)
            shape.append((kind, len(row)))
    centres, width, height = _host_places(tuple(shape))
    return _Block(tuple(ids), centres, width, height)


def _host_order(kinds: Iterable[DeviceKind]) -> tuple[DeviceKind, ...]:
    below = DeviceKind.PCIE_SWITCH in kinds
    return (
        *_ABOVE,
        DeviceKind.NIC,
        *(() if below else (DeviceKind.CPU,)),
        DeviceKind.PCIE_SWITCH,
        DeviceKind.GPU,
        DeviceKind.NVLINK_SWITCH,
        *((DeviceKind.CPU,) if below else ()),
    )


def _rail(device: Device) -> float:
    return math.inf if device.rail is None else device.rail


def _over_their_gpus(
    drawing: _Drawing, devices: Sequence[Device], place: Mapping[str, int]
) -> Sequence[Device]:
    """In the order of the GPUs that they are wired to; by rail where that says nothing."""
    if all(device.rail is not None for device in devices):
        return sorted(devices, key=_rail)
    middles = []
    for device in devices:
        near = [place[other] for other in drawing.near[device.id] if other in place]
        if not near:
            return devices
        middles.append(sum(near) / len(near))
    order = sorted(range(len(devices)), key=middles.__getitem__)
    return [devices[index] for index in order]


@lru_cache(maxsize=256)
def _host_places(shape: tuple[tuple[DeviceKind, int], ...]) -> tuple[FloatArray, float, float]:
    """Centres, width and height of rows of (kind, how many), from top to bottom."""
    rows: list[tuple[DeviceKind, int]] = []
    for kind, count in shape:
        limit = _ROW_LIMIT.get(kind, _OTHER_ROW_LIMIT)
        lines = math.ceil(count / limit)
        ends = [count * line // lines for line in range(lines + 1)]
        rows.extend((kind, end - start) for start, end in pairwise(ends))
    width = max((_PITCH[kind] * count for kind, count in rows), default=0.0)
    parts: list[FloatArray] = []
    top = 0.0
    before: DeviceKind | None = None
    for kind, count in rows:
        if before is not None:
            cables = {before, kind} == {DeviceKind.GPU, DeviceKind.NVLINK_SWITCH}
            top += _CABLE_GAP if cables else _ROW_GAP
        height = FOOTPRINT[kind][1]
        pitch = _spread(kind, width / count, 2.0)
        x = width / 2 + (np.arange(count) - (count - 1) / 2) * pitch
        parts.append(np.column_stack((x, np.full(count, top + height / 2))))
        top += height
        before = kind
    return (np.concatenate(parts) if parts else np.empty((0, 2))), width, top


def _spread(kind: DeviceKind, room: float, most: float) -> float:
    """The distance between the middles of neighbours that have `room` each, in steps of the grid."""
    return min(max(_PITCH[kind], GRID * (room // GRID)), most * _PITCH[kind])


def _hanging_together(drawing: _Drawing, devices: Sequence[Device]) -> list[list[Device]]:
    """Groups joined by other links than those of the network; what is joined to nothing is one more group."""
    index = {device.id: device for device in devices}
    order = {ident: place for place, ident in enumerate(index)}
    seen: set[str] = set()
    groups: list[list[Device]] = []
    single: list[Device] = []
    for device in devices:
        if device.id in seen:
            continue
        seen.add(device.id)
        found = [device.id]
        for ident in found:
            for other, network in drawing.near[ident].items():
                if other in index and other not in seen and not network:
                    seen.add(other)
                    found.append(other)
        if len(found) == 1:
            single.append(device)
        else:
            groups.append([index[ident] for ident in sorted(found, key=order.__getitem__)])
    return [*groups, single] if single else groups


# Racks with NVLink switches of their own


def _nvlink_planes(
    drawing: _Drawing, loose: Sequence[Device], blocks: Sequence[_Block]
) -> list[_Block] | None:
    """The NVLink switches of a rack as blocks when they, and no others, join its trays; else None."""
    switches = [device for device in loose if device.kind is DeviceKind.NVLINK_SWITCH]
    if len(switches) != len(loose):
        return None
    planes = [
        block
        for block in blocks
        if all(drawing.devices[ident].kind is DeviceKind.NVLINK_SWITCH for ident in block.ids)
    ]
    if not switches and not planes:
        return None
    apart = {id(plane) for plane in planes}
    hosts = [
        {drawing.devices[ident].kind for ident in block.ids} for block in blocks if id(block) not in apart
    ]
    if len(hosts) < 2 or any(
        DeviceKind.NVLINK_SWITCH in inner or DeviceKind.GPU not in inner for inner in hosts
    ):
        return None
    if switches:
        ids = [switch.id for switch in switches]
        planes = [*planes, _row(ids, DeviceKind.NVLINK_SWITCH, len(ids), 0.0)]
    return planes


def _two_rows(planes: Sequence[_Block], blocks: Sequence[_Block]) -> _Block:
    """Half of the trays above the switches and half below, turned so that their GPUs face them."""
    ids = {id(plane) for plane in planes}
    hosts = [block for block in blocks if id(block) not in ids]
    half = math.ceil(len(hosts) / 2)
    upper, lower = hosts[:half], [block.flipped() for block in hosts[half:]]
    gap = max(2 * _CABLE_GAP, 0.09 * sum(block.width for block in upper))
    return _stack([_beside(upper), _beside(planes), _beside(lower)], [gap, gap])


# Blocks


def _grid(blocks: Sequence[_Block], aspect: float) -> _Block:
    """Blocks in rows, in order; as many a row as brings the whole nearest to `aspect`."""
    if not blocks:
        return _Block((), np.empty((0, 2)), 0.0, 0.0)
    kind = max((block.kind for block in blocks), key=list(ContainerKind).index)
    wide = sum(block.width for block in blocks) > _WIDEST[kind] * max(block.height for block in blocks)
    one_row = len(blocks) <= _ONE_ROW[kind] and not wide
    columns = len(blocks) if one_row else _columns(blocks, aspect)
    rows = [_beside(blocks[start : start + columns]) for start in range(0, len(blocks), columns)]
    gap = max(_BLOCK_GAP[block.kind] for block in blocks)
    width = max(row.width for row in rows)
    # All rows start at the same x, so that racks stand in columns.
    left = [_Block(row.ids, row.centres, width, row.height, row.kind) for row in rows]
    return _stack(left, [gap] * (len(left) - 1))


def _columns(blocks: Sequence[_Block], aspect: float) -> int:
    count = len(blocks)
    width = sum(block.width for block in blocks) / count
    height = sum(block.height for block in blocks) / count
    columns = np.arange(1, count + 1)
    rows = np.ceil(count / columns)
    shape = np.abs(np.log(columns * width / (rows * height) / aspect))
    ragged = 1.0 - count / (columns * rows)
    return int(columns[np.argmin(shape + _RAGGED * ragged)])


def _beside(blocks: Sequence[_Block]) -> _Block:
    """Blocks in one row, their tops at one height."""
    height = max(block.height for block in blocks)
    gap = max(_BLOCK_GAP[block.kind] for block in blocks)
    parts: list[FloatArray] = []
    ids: list[str] = []
    x = width = 0.0
    for block in blocks:
        parts.append(block.centres + (x, 0.0))
        ids.extend(block.ids)
        width = block.width
        # Steps of the grid, so that equal blocks stand at equal distances after rounding.
        x += GRID * math.ceil((width + gap) / GRID)
    width = x - GRID * math.ceil((width + gap) / GRID) + width
    return _Block(tuple(ids), np.concatenate(parts), width, height, blocks[0].kind)


def _stack(blocks: Sequence[_Block], gaps: Sequence[float]) -> _Block:
    """Blocks below each other, on one middle line."""
    width = max(block.width for block in blocks)
    parts: list[FloatArray] = []
    ids: list[str] = []
    y = 0.0
    for block, gap in zip(blocks, (*gaps, 0.0), strict=True):
        parts.append(block.centres + ((width - block.width) / 2, y))
        ids.extend(block.ids)
        y += block.height + gap
    return _Block(tuple(ids), np.concatenate(parts), width, y, blocks[0].kind)


def _row(ids: Sequence[str], kind: DeviceKind, most: int, width: float) -> _Block:
    """Equal devices in even lines of at most `most`, spread over `width` where there is room."""
    columns = math.ceil(len(ids) / math.ceil(len(ids) / most))
    pitch = _spread(kind, width / columns, 2.5)
    line_height = FOOTPRINT[kind][1] + _ROW_GAP
    index = np.arange(len(ids))
    centres = np.column_stack(
        (
            (index % columns + 0.5) * pitch,
            (index // columns) * line_height + FOOTPRINT[kind][1] / 2,
        )
    )
    lines = math.ceil(len(ids) / columns)
    return _Block(tuple(ids), centres, columns * pitch, lines * line_height - _ROW_GAP)


def _with_storage(ids: Sequence[str], hosts: _Block) -> _Block:
    """Storage in columns to the right of the hosts."""
    line_height = FOOTPRINT[DeviceKind.STORAGE][1] + _ROW_GAP
    lines = max(4, int(hosts.height // line_height))
    storage = _row(ids, DeviceKind.STORAGE, math.ceil(len(ids) / lines), 0.0)
    return _beside([hosts, storage]) if hosts.ids else storage


# Tiers of the network


def _under_tiers(drawing: _Drawing, tiers: Sequence[Sequence[Device]], middle: _Block) -> _Block:
    """Rows of network switches above the hosts, with room for their cables."""
    rows: list[_Block] = [middle] if middle.ids else []
    width = middle.width
    for kind, devices in reversed(list(zip(_TIERS, tiers, strict=True))):
        if not devices:
            continue
        ids = [device.id for device in devices]
        most = max(8, int(width // _PITCH[kind]), math.ceil(math.sqrt(2 * len(ids))))
        if rows and kind is DeviceKind.LEAF and len(ids) <= most:
            ids = _over_their_hosts(drawing, ids, middle)
        rows.insert(0, _row(ids, kind, most, width))
        width = max(width, rows[0].width)
    if not rows:
        return middle
    gap = min(max(120.0, 0.08 * width), 700.0)
    return _stack(rows, [gap] * (len(rows) - 1))


def _over_their_hosts(drawing: _Drawing, ids: Sequence[str], hosts: _Block) -> list[str]:
    """Leaves in the order of what they serve, where that is one row of hosts; else in document order."""
    if np.ptp(hosts.centres[:, 1]) > 500.0:
        return list(ids)
    x = dict(zip(hosts.ids, hosts.centres[:, 0].tolist(), strict=True))
    middles = []
    for ident in ids:
        near = [x[other] for other in drawing.near[ident] if other in x]
        if not near:
            return list(ids)
        middles.append(sum(near) / len(near))
    return [ids[index] for index in sorted(range(len(ids)), key=middles.__getitem__)]
