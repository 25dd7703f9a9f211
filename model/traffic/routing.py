"""Point-to-point edges → bytes on every directed link (conventions 1–7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from scipy.sparse import csr_array

from model.topology.types import DeviceKind
from model.traffic.aggregation import Aggregator
from model.traffic.arrays import (
    BoolArray,
    Emission,
    FloatArray,
    IndexArray,
    any_by_row,
    expand,
    find,
    sum_by_key,
)
from model.traffic.flows import Flows, PathChoice
from model.traffic.host import HostPaths, NicTable
from model.traffic.network import SplitNetwork
from model.traffic.scale_up import ScaleUp
from model.traffic.types import Fabric

_STORAGE = tuple(DeviceKind).index(DeviceKind.STORAGE)


@dataclass(frozen=True, slots=True)
class Routes:
    """Everything that routing needs of one fabric; distances are filled in as they are used.

    `cables` (2 · links,): how many cables or lanes each directed link is.
    """

    scale_up: ScaleUp
    host: HostPaths
    nics: NicTable
    core: SplitNetwork
    pxn_ready: BoolArray
    aggregator: Aggregator
    cables: IndexArray


class Way(IntEnum):
    """How a pair of GPUs is joined."""

    DIRECT = 0  # a link between the two
    PLANES = 1  # NVLink switches that both reach
    SCALE_UP = 2  # a longer path over NVLink switches
    HOST = 3  # PCIe and C2C
    NIC = 4
    NONE = 5


@dataclass(frozen=True, slots=True)
class PairPaths:
    """The ways of distinct pairs of GPUs.

    `way` (pairs,). The NIC flows of the pairs that go by NIC: flow f belongs to `nic_pair[f]` (ascending),
    goes from NIC row `nic_from[f]` to `nic_to[f]` of the NicTable, and carries `nic_share[f]` of the pair's
    bytes.
    """

    source: IndexArray
    target: IndexArray
    way: IndexArray
    nic_pair: IndexArray
    nic_from: IndexArray
    nic_to: IndexArray
    nic_share: FloatArray


def routes_of(fabric: Fabric) -> Routes:
    """The routing state of a compiled fabric."""
    if not isinstance(fabric.routes, Routes):
        raise TypeError("the fabric was not made by compile_fabric")
    return fabric.routes


def find_paths(fabric: Fabric, source: IndexArray, target: IndexArray) -> PairPaths:
    """The way of each pair (device indices of GPUs and storage devices, source ≠ target)."""
    routes = routes_of(fabric)
    scale_up, devices = routes.scale_up, len(fabric.device_ids)
    way = np.full(len(source), Way.NONE, np.int64)
    near = np.flatnonzero(
        (scale_up.domain[source] == scale_up.domain[target]) & (scale_up.domain[source] >= 0)
    )
    s, t = source[near], target[near]
    direct = find(scale_up.direct.keys, s * devices + t) >= 0
    planes = (scale_up.signature[s] == scale_up.signature[t]) & (scale_up.signature[s] >= 0)
    differ = np.flatnonzero(~direct & ~planes)
    shared, _, _ = scale_up.common_planes(s[differ], t[differ])
    planes[differ] = np.bincount(shared, minlength=len(differ)) > 0
    longer = np.flatnonzero(~direct & ~planes)
    found = scale_up.network.reachable(s[longer], t[longer])
    way[near[longer[found]]] = Way.SCALE_UP
    way[near[planes]] = Way.PLANES
    way[near[direct]] = Way.DIRECT
    open_pairs = np.flatnonzero(way == Way.NONE)
    way[open_pairs[routes.host.joined(source[open_pairs], target[open_pairs])]] = Way.HOST
    far = np.flatnonzero(way == Way.NONE)
    pair, nic_from, nic_to, share = _pair_nics(routes.nics, source[far], target[far])
    start, end = routes.nics.nic[nic_from], routes.nics.nic[nic_to]
    _, first, inverse = np.unique(start * devices + end, return_index=True, return_inverse=True)
    broken = ~routes.core.reachable(start[first], end[first])[inverse]
    good = np.bincount(pair, minlength=len(far)) > 0
    good &= ~any_by_row(pair, broken, len(far))
    way[far[good]] = Way.NIC
    kept = good[pair]
    pair, nic_from, nic_to, share = far[pair[kept]], nic_from[kept], nic_to[kept], share[kept]
    storage = fabric.device_kind == _STORAGE
    lost = far[~good]
    lost = lost[storage[source[lost]] ^ storage[target[lost]]]
    if len(lost):
        saved, other_from, other_to, other_share = _storage_nics(routes, storage, source[lost], target[lost])
        way[lost[saved]] = Way.NIC
        pair = np.concatenate([pair, lost[saved]])
        order = np.argsort(pair, kind="stable")
        pair, share = pair[order], np.concatenate([share, other_share])[order]
        nic_from = np.concatenate([nic_from, other_from])[order]
        nic_to = np.concatenate([nic_to, other_to])[order]
    return PairPaths(source, target, way, pair, nic_from, nic_to, share)


def _storage_nics(
    routes: Routes, storage: BoolArray, source: IndexArray, target: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray, FloatArray]:
    """As `_pair_nics`, for a GPU and a storage device that its usual NICs do not reach (a storage network of
    its own): of the NICs without a rail, those with a path to it and the least cost share evenly.
    """
    nics = routes.nics
    reads = storage[source]
    gpu, disk = np.where(reads, target, source), np.where(reads, source, target)
    pair, row = nics.others_of(gpu)
    there = routes.core.reachable(nics.nic[row], disk[pair])
    pair, row = pair[there], row[there]
    least = np.full(len(source), np.iinfo(np.int64).max)
    np.minimum.at(least, pair, nics.hops[row])
    near = nics.hops[row] == least[pair]
    pair, row = pair[near], row[near]
    own = nics.first[disk[pair]]
    share = 1.0 / np.bincount(pair, minlength=len(source))[pair]
    return pair, np.where(reads[pair], own, row), np.where(reads[pair], row, own), share


def _pair_nics(
    nics: NicTable, source: IndexArray, target: IndexArray
) -> tuple[IndexArray, IndexArray, IndexArray, FloatArray]:
    """Convention 5: (pair, row of the source's NIC, row of the destination's NIC, share of the bytes)."""
    pair, mine = nics.of(source)
    sending = np.bincount(pair, minlength=len(source))
    flow, theirs = nics.of(target[pair])
    same_rail = (nics.rail[mine[flow]] >= 0) & (nics.rail[mine[flow]] == nics.rail[theirs])
    keep = same_rail | ~any_by_row(flow, same_rail, len(pair))[flow]
    flow, theirs = flow[keep], theirs[keep]
    receiving = np.bincount(flow, minlength=len(pair))
    share = 1.0 / (sending[pair[flow]] * receiving[flow])
    return pair[flow], mine[flow], theirs, share


def push(
    fabric: Fabric,
    paths: PairPaths,
    pair: IndexArray,
    amount: FloatArray,
    column: IndexArray,
    out: Emission,
    choice: PathChoice | None = None,
) -> None:
    """Put `amount` bytes of pair `pair` (an index into `paths`) on the links, for each entry.

    Entries of pairs without a way must have been left out. Between NICs the bytes split evenly over equal
    paths (convention 6), or flow by flow as `choice` says.
    """
    routes = routes_of(fabric)
    way, source, target = paths.way[pair], paths.source[pair], paths.target[pair]
    for kind, carry in (
        (Way.DIRECT, routes.scale_up.push_direct),
        (Way.PLANES, routes.scale_up.push_planes),
        (Way.SCALE_UP, routes.scale_up.network.push),
    ):
        mine = way == kind
        if mine.any():
            carry(source[mine], target[mine], amount[mine], column[mine], out)
    mine = np.flatnonzero(way == Way.HOST)
    if len(mine):
        entry, link, share = routes.host.shares(source[mine], target[mine])
        out.add(column[mine][entry], link, amount[mine][entry] * share)
    mine = np.flatnonzero(way == Way.NIC)
    if len(mine):
        _push_nics(routes, paths, pair[mine], amount[mine], column[mine], out, choice)


def _push_nics(
    routes: Routes,
    paths: PairPaths,
    pair: IndexArray,
    amount: FloatArray,
    column: IndexArray,
    out: Emission,
    choice: PathChoice | None,
) -> None:
    nics, rows = routes.nics, len(routes.nics.nic)
    count = np.bincount(paths.nic_pair, minlength=len(paths.source))
    start = np.cumsum(count) - count
    entry, flow = expand(start[pair], count[pair])
    part, columns = amount[entry] * paths.nic_share[flow], column[entry]
    for row, reverse in ((paths.nic_from[flow], 0), (paths.nic_to[flow], 1)):
        keys, total = sum_by_key(columns * rows + row, part)
        used = keys % rows
        item, position = expand(nics.path_first[used], nics.path_first[used + 1] - nics.path_first[used])
        out.add(
            (keys // rows)[item], nics.path_link[position] ^ reverse, total[item] * nics.path_share[position]
        )
    begin, end = nics.nic[paths.nic_from[flow]], nics.nic[paths.nic_to[flow]]
    # Two GPUs that share a NIC meet inside it.
    apart = begin != end
    if choice is None:
        routes.core.push(begin[apart], end[apart], part[apart], columns[apart], out)
    elif apart.any():
        ends = pair[entry][apart]
        flows = Flows(
            paths.source[ends], paths.target[ends], begin[apart], end[apart], part[apart], columns[apart]
        )
        choice.push(routes.core, routes.cables, flows, out)


def pair_delays(fabric: Fabric, paths: PairPaths, delay: FloatArray) -> FloatArray:
    """(pairs,): the longest sum of `delay` (2 · links,) on the paths of each pair by NIC, over the cables of
    the NICs and between switches."""
    routes = routes_of(fabric)
    begin, end = routes.nics.nic[paths.nic_from], routes.nics.nic[paths.nic_to]
    # NICs on the same switches have the same paths between switches.
    classes = len(fabric.device_ids) + 1
    key = routes.core.class_of(begin) * classes + routes.core.class_of(end)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    apart = begin[first] != end[first]
    of_class = np.zeros(len(first))
    of_class[apart] = routes.core.longest_delay(begin[first[apart]], end[first[apart]], delay)
    cable = _end_delays(fabric, routes.core.transit, delay)
    longest = np.zeros(len(paths.source))
    at_ends = np.where(begin != end, cable[begin] + cable[end], 0.0)
    np.maximum.at(longest, paths.nic_pair, of_class[inverse] + at_ends)
    return longest


def _end_delays(fabric: Fabric, transit: BoolArray, delay: FloatArray) -> FloatArray:
    """(devices,): the longest `delay` of the cables that join an end point to its switches."""
    found = np.zeros(len(fabric.device_ids))
    for end, other, links in (
        (fabric.link_a, fabric.link_b, delay[::2]),
        (fabric.link_b, fabric.link_a, delay[1::2]),
    ):
        cables = transit[other] & ~transit[end]
        np.maximum.at(found, end[cables], links[cables])
    return found


def to_loads(out: Emission, columns: int, links: int) -> csr_array:
    """Sum what was emitted: bytes per column and directed link, shape (columns, 2 · links)."""
    column, link, amount = out.entries()
    return csr_array((amount, (column, link)), shape=(columns, 2 * links))


def why_unreachable(fabric: Fabric, source: int, target: int) -> str:
    """Why no path joins two GPUs (or a GPU and a storage device), in words with ids."""
    nics = routes_of(fabric).nics
    ids = fabric.device_ids
    for device in (source, target):
        if not fabric.device_up[device]:
            return f"{ids[device]} is down"
    for device in (source, target):
        if nics.first[device] == nics.first[device + 1]:
            lacks = "has no" if fabric.device_kind[device] == _STORAGE else "reaches no NIC with a"
            return f"{ids[device]} {lacks} live network link"
    _, nic_from, nic_to, _ = _pair_nics(nics, np.array([source]), np.array([target]))
    begin, end = nics.nic[nic_from], nics.nic[nic_to]
    broken = ~routes_of(fabric).core.reachable(begin, end)
    at = int(np.flatnonzero(broken)[0])
    return f"no live path over switches from {ids[begin[at]]} to {ids[end[at]]}"
