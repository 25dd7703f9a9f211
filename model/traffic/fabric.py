"""Compiles a drawing to arrays: once per revision, everything after it works on these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from model.catalog.load import catalog
from model.catalog.specs import GpuSpec, NvlinkSwitchSpec, SwitchSpec
from model.errors import InputError
from model.topology.cables import lengths_from_racks
from model.topology.graph import Topology
from model.topology.types import (
    HOST_LINKS,
    NETWORK_LINKS,
    NETWORK_SWITCHES,
    SCALE_UP_LINKS,
    ContainerKind,
    DeviceKind,
    LinkKind,
    State,
)
from model.traffic.aggregation import Aggregator
from model.traffic.arrays import (
    NO_INDEX,
    Arcs,
    BoolArray,
    FloatArray,
    IndexArray,
    index_array,
    make_arcs,
)
from model.traffic.host import NicTable, choose_nics, find_host_paths
from model.traffic.network import SplitNetwork
from model.traffic.routing import Routes
from model.traffic.scale_up import make_scale_up
from model.traffic.types import Fabric

_DEVICE_KINDS = {kind: number for number, kind in enumerate(DeviceKind)}
_LINK_KINDS = {kind: number for number, kind in enumerate(LinkKind)}
_DEVICE_FIELDS = ("id", "kind", "model", "rail", "state", "parent")
_LINK_FIELDS = (
    "id",
    "a",
    "b",
    "kind",
    "lane_bytes_per_s",
    "count",
    "share",
    "state",
    "latency_s",
    "length_m",
)


def compile_fabric(topology: Topology) -> Fabric:
    """The arrays of one revision: devices, directed links, capacities, scale-up domains, routing state.

    A link lives when it is not down, neither of its ends is, and it has some capacity left (convention 7).
    """
    devices = topology.devices()
    ids, kinds, models, rails, states, parents = _columns(devices, _DEVICE_FIELDS)
    index = {ident: place for place, ident in enumerate(ids)}
    kind = np.fromiter(map(_DEVICE_KINDS.__getitem__, kinds), np.int8, len(devices))
    up = np.fromiter((state is not State.DOWN for state in states), np.bool_, len(devices))
    rail = np.fromiter((-1 if r is None else r for r in rails), np.int64, len(devices))
    links = _read_links(topology, index, up)
    domain = _domains(links, kind, len(devices))
    sharp, payload_of_device = _catalogue_facts(kind, models)
    host_of, host_ids = _hosts(topology, parents)
    return Fabric(
        revision=topology.revision,
        device_ids=ids,
        device_index=index,
        device_kind=kind,
        device_up=up,
        link_ids=links.ids,
        link_a=links.a,
        link_b=links.b,
        link_kind=links.kind,
        link_count=links.count,
        capacity=links.capacity,
        usable=links.capacity * _payload_shares(links, payload_of_device),
        latency=links.latency,
        in_racks=links.in_racks,
        gpu_devices=np.flatnonzero(_has_kind(kind, DeviceKind.GPU)).astype(np.int32),
        domain=domain.astype(np.int32),
        rail=rail.astype(np.int32),
        host=host_of,
        host_ids=host_ids,
        routes=_routes(links, kind, up, rail, domain, sharp),
    )


def gpu_indices(fabric: Fabric, gpus: tuple[str, ...]) -> IndexArray:
    """Device indices of GPU ids. Raises InputError for an id that the drawing does not have."""
    return device_indices(fabric, gpus, "The placement")


def device_indices(fabric: Fabric, ids: tuple[str, ...], who: str) -> IndexArray:
    """Device indices of ids. Raises InputError, which says `who` names one that the drawing does not have."""
    try:
        return np.fromiter(map(fabric.device_index.__getitem__, ids), np.int64, len(ids))
    except KeyError as missing:
        raise InputError(f"{who} names {missing.args[0]!r}, which is not in the drawing.") from None


def _columns(things: tuple[Any, ...], fields: tuple[str, ...]) -> list[tuple[Any, ...]]:
    # Field by field: a tuple per thing would wake the garbage collector again and again.
    return [tuple(map(attrgetter(field), things)) for field in fields]


def _has_kind(kind: NDArray[np.int8], *wanted: DeviceKind) -> BoolArray:
    return np.isin(kind, [_DEVICE_KINDS[name] for name in wanted])


@dataclass(frozen=True, slots=True)
class _Links:
    """Links as columns."""

    ids: tuple[str, ...]
    a: NDArray[np.int32]
    b: NDArray[np.int32]
    kind: NDArray[np.int8]
    count: NDArray[np.int32]
    capacity: FloatArray
    latency: FloatArray
    in_racks: BoolArray

    @property
    def tail(self) -> IndexArray:
        """Where each directed link starts."""
        return np.column_stack([self.a, self.b]).ravel().astype(np.int64)

    @property
    def head(self) -> IndexArray:
        """Where each directed link ends."""
        return np.column_stack([self.b, self.a]).ravel().astype(np.int64)

    def live(self, family: frozenset[LinkKind]) -> IndexArray:
        """The directed links of a family that live."""
        mine = (self.capacity > 0) & np.isin(self.kind, [_LINK_KINDS[name] for name in family])
        return np.flatnonzero(np.repeat(mine, 2))

    def arcs(self, family: frozenset[LinkKind], devices: int) -> Arcs:
        """The live links of a family with their capacities as weights."""
        link = self.live(family)
        return make_arcs(devices, self.tail[link], self.head[link], link, self.capacity[link // 2])


def _read_links(topology: Topology, index: Mapping[str, int], up: BoolArray) -> _Links:
    columns = _columns(topology.links(), _LINK_FIELDS)
    ids, a, b, kinds, lanes, counts, shares, states, latencies, lengths = columns
    size = len(ids)
    link_a = np.fromiter(map(index.__getitem__, a), np.int32, size)
    link_b = np.fromiter(map(index.__getitem__, b), np.int32, size)
    count = np.fromiter(counts, np.int32, size)
    # What Link.capacity_bytes_per_s says, without a property call per link.
    working = (
        1.0 if state is State.UP else share if state is State.DEGRADED else 0.0
        for state, share in zip(states, shares, strict=True)
    )
    nominal = np.fromiter(lanes, np.float64, size) * count
    capacity = nominal * np.fromiter(working, np.float64, size) * (up[link_a] & up[link_b])
    kind = np.fromiter(map(_LINK_KINDS.__getitem__, kinds), np.int8, size)
    latency, in_racks = _latencies(topology, (link_a, link_b), kind, latencies, lengths)
    return _Links(ids, link_a, link_b, kind, count, capacity, latency, in_racks)


def _latencies(
    topology: Topology,
    ends: tuple[NDArray[np.int32], NDArray[np.int32]],
    kind: NDArray[np.int8],
    own: tuple[float | None, ...],
    lengths: tuple[float | None, ...],
) -> tuple[FloatArray, BoolArray]:
    """Seconds of each link: its own, else by its own length, else by the places of its ends in racks; and
    which are network cables of the last sort."""
    metres = np.array([np.nan if length is None else length for length in lengths], np.float64)
    seconds = np.array([np.nan if given is None else given for given in own], np.float64)
    measured = lengths_from_racks(topology, *ends)
    in_racks = np.isnan(seconds) & np.isnan(metres) & ~np.isnan(measured)
    by_length = np.nan_to_num(np.where(in_racks, measured, metres)) * catalog().cables.seconds_per_metre
    in_racks &= np.isin(kind, [_LINK_KINDS[name] for name in NETWORK_LINKS])
    return np.where(np.isnan(seconds), by_length, seconds), in_racks if in_racks.any() else in_racks[:0]


def _hosts(topology: Topology, parents: tuple[str | None, ...]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The innermost tray around each device, or its innermost container when no tray is around it."""
    boxes = {box.id: box for box in topology.containers()}

    def host(ident: str) -> str:
        around: str | None = ident
        while around is not None:
            if boxes[around].kind is ContainerKind.TRAY:
                return around
            around = boxes[around].parent
        return ident

    host_of = {ident: host(ident) for ident in dict.fromkeys(parents) if ident is not None}
    host_ids = tuple(dict.fromkeys(host_of.values()))
    number = {ident: place for place, ident in enumerate(host_ids)}
    index = {ident: number[name] for ident, name in host_of.items()}
    return np.fromiter((-1 if p is None else index[p] for p in parents), np.int32, len(parents)), host_ids


def _live_scale_up(links: _Links, kind: NDArray[np.int8]) -> IndexArray:
    inside = _has_kind(kind, DeviceKind.GPU, DeviceKind.NVLINK_SWITCH)
    link = links.live(SCALE_UP_LINKS)
    return link[inside[links.tail[link]] & inside[links.head[link]]]


def _domains(links: _Links, kind: NDArray[np.int8], devices: int) -> IndexArray:
    """Connected components over live scale-up links that hold at least two GPUs, numbered by first GPU."""
    if not devices:
        return NO_INDEX
    is_gpu = _has_kind(kind, DeviceKind.GPU)
    link = _live_scale_up(links, kind)
    ends = (links.tail[link], links.head[link])
    graph = csr_array((np.ones(len(link), np.int8), ends), shape=(devices, devices))
    _, piece = connected_components(graph, directed=False)
    gpus = np.bincount(piece[is_gpu], minlength=int(piece.max()) + 1)
    holders, first = np.unique(piece[is_gpu], return_index=True)
    holders = holders[np.argsort(first)]
    holders = holders[gpus[holders] >= 2]
    number = np.full(len(gpus), -1, np.int64)
    number[holders] = np.arange(len(holders))
    return index_array(number[piece])


def _routes(
    links: _Links,
    kind: NDArray[np.int8],
    up: BoolArray,
    rail: IndexArray,
    domain: IndexArray,
    sharp: BoolArray,
) -> Routes:
    devices = len(kind)
    is_gpu = _has_kind(kind, DeviceKind.GPU)
    link = _live_scale_up(links, kind)
    scale_up = make_scale_up(
        domain,
        links.tail[link],
        links.head[link],
        link,
        links.count[link // 2].astype(np.float64),
        is_gpu=is_gpu,
        is_switch=_has_kind(kind, DeviceKind.NVLINK_SWITCH),
        sharp=sharp,
    )
    host = find_host_paths(
        np.flatnonzero(is_gpu & up),
        links.arcs(HOST_LINKS, devices),
        _has_kind(kind, DeviceKind.CPU, DeviceKind.PCIE_SWITCH),
    )
    network = links.arcs(NETWORK_LINKS, devices)
    core = SplitNetwork(network, _has_kind(kind, DeviceKind.SITE_GATEWAY, *NETWORK_SWITCHES))
    nics = choose_nics(
        host,
        _has_kind(kind, DeviceKind.NIC),
        _has_kind(kind, DeviceKind.STORAGE),
        np.diff(network.first) > 0,
        rail,
    )
    aggregator = Aggregator(network, core.transit, sharp)
    cables = np.repeat(links.count.astype(np.int64), 2)
    return Routes(scale_up, host, nics, core, _pxn_ready(nics, domain, is_gpu), aggregator, cables)


def _catalogue_facts(kind: NDArray[np.int8], models: tuple[str, ...]) -> tuple[BoolArray, FloatArray]:
    """Per device: a switch that can reduce, and the payload share of its NVLinks (NaN = unknown)."""
    book = catalog()
    sharp = np.zeros(len(models), np.bool_)
    share = np.full(len(models), np.nan)
    names = np.array(models, dtype=object)
    for device_kind in (DeviceKind.GPU, DeviceKind.NVLINK_SWITCH, *sorted(NETWORK_SWITCHES)):
        places = np.flatnonzero(kind == _DEVICE_KINDS[device_kind])
        products = book.of_kind(device_kind.value)
        for model in set(names[places]):
            spec = products.get(model)
            chosen = places[names[places] == model]
            if isinstance(spec, GpuSpec | NvlinkSwitchSpec):
                share[chosen] = spec.payload_share
            if isinstance(spec, NvlinkSwitchSpec):
                sharp[chosen] = spec.sharp
            if isinstance(spec, SwitchSpec):
                sharp[chosen] = spec.sharp is not None
    return sharp, share


def _payload_shares(links: _Links, share_of_device: FloatArray) -> FloatArray:
    """Convention 45: of scale-up links the smaller share of the ends that state one, else by kind of link."""
    book = catalog()
    by_kind = np.array([book.payload_share(kind.value) for kind in LinkKind])
    share: FloatArray = by_kind[links.kind]
    stated = np.fmin(share_of_device[links.a], share_of_device[links.b])
    scale_up = np.isin(links.kind, [_LINK_KINDS[name] for name in SCALE_UP_LINKS])
    return np.where(scale_up & ~np.isnan(stated), stated, share)


def _pxn_ready(nics: NicTable, domain: IndexArray, is_gpu: BoolArray) -> BoolArray:
    """Convention 17, per device: whether its domain (a GPU alone is one) has a NIC for each of its GPUs."""
    devices = len(domain)
    place = np.where(domain >= 0, domain, devices + np.arange(devices))
    gpus = np.bincount(place[is_gpu], minlength=2 * devices)
    pairs = np.unique(place[nics.near_gpu] * devices + nics.near_nic)
    distinct = np.bincount(pairs // max(devices, 1), minlength=2 * devices)
    return index_array(distinct[place]) >= gpus[place]
