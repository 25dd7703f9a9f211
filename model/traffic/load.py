"""What every exchange of a plan puts on every directed link in one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.errors import NotBuiltError
from model.job.exchange import Exchange
from model.placement.types import Placement
from model.text import plural
from model.topology.types import HOST_LINKS, NETWORK_LINKS, SCALE_UP_LINKS, DeviceKind, LinkKind
from model.traffic.arrays import (
    BoolArray,
    Emission,
    FloatArray,
    IndexArray,
    any_by_row,
    index_array,
    sum_by_key,
)
from model.traffic.collectives import PATTERN, Algorithm, Edges, collective_edges
from model.traffic.fabric import gpu_indices
from model.traffic.routing import Way, find_paths, push, routes_of, to_loads, why_unreachable
from model.traffic.types import Fabric, Traffic, Unreachable

NAMED_UNREACHABLE_PAIRS = 16


class RoutingChoice(Protocol):
    """The routing section of a job, as far as it is read here."""

    @property
    def policy(self) -> str:
        """How switches choose among equal paths."""


@dataclass(frozen=True, slots=True)
class Routed:
    """One pattern of edges on the links, per byte of S. Columns are the stages in `stages`.

    `loads` (columns, 2 · links), `largest` (columns,) the largest edge, `alpha_s` (columns,), `sent` the sum
    over all edges, `lost` the flows without a path: ends of the flow, ends of the edge that lacks one.
    """

    edges: Edges
    stages: IndexArray
    loads: csr_array
    largest: FloatArray
    alpha_s: FloatArray
    sent: float
    lost: tuple[tuple[int, int, int, int], ...]


def load(
    fabric: Fabric,
    placement: Placement,
    exchanges: Sequence[Exchange],
    job_routing: RoutingChoice | None = None,
) -> Traffic:
    """Route every exchange (even routing) and sum its bytes per directed link and step.

    α of an instance is the longest of its groups, see `model.traffic.collectives.collective_edges`. Raises
    InputError when the placement names a GPU that the fabric lacks, NotBuiltError for another routing policy.
    """
    if job_routing is not None and job_routing.policy != "even":
        raise NotBuiltError(f'not built yet: routing.policy {job_routing.policy!r}; use "even".')
    devices = gpu_indices(fabric, placement.gpus)
    known: dict[tuple[object, ...], Routed] = {}
    routed = [_routed(fabric, devices, exchange, known) for exchange in exchanges]
    steps = [float(exchange.message_bytes) * exchange.count_per_step for exchange in exchanges]
    widths = [len(item.stages) for item in routed]
    loads = _stack(
        [(item.loads, step) for item, step in zip(routed, steps, strict=True)], len(fabric.link_ids)
    )
    lost, counts = _unreachable(fabric, exchanges, routed)
    sent = [
        item.sent * step / max(len(np.unique(exchange.groups)), 1)
        for exchange, item, step in zip(exchanges, routed, steps, strict=True)
    ]
    return Traffic(
        instance_exchange=np.repeat(np.arange(len(exchanges), dtype=np.int32), widths),
        instance_stage=_join([item.stages for item in routed]).astype(np.int32),
        loads=loads,
        endpoint_loads=_only(loads, endpoint_links(fabric)),
        largest_edge_bytes=_join([item.largest * step for item, step in zip(routed, steps, strict=True)]),
        alpha_s=_join([item.alpha_s for item in routed]),
        algorithms=tuple(_algorithm_name(item.edges) for item in routed),
        sent_bytes_per_gpu=np.array(sent, np.float64),
        unreachable=lost,
        unreachable_pairs=counts,
        notes=_notes(exchanges, routed),
    )


def endpoint_links(fabric: Fabric) -> BoolArray:
    """The directed links that bound end points (conventions 48), shape (2 · links,).

    Scale-up links of a GPU, host links (their load is only that of host paths), and network links of a NIC
    or storage device.
    """
    kinds, links = tuple(DeviceKind), tuple(LinkKind)
    ends = np.stack([fabric.device_kind[fabric.link_a], fabric.device_kind[fabric.link_b]])
    at_gpu = (ends == kinds.index(DeviceKind.GPU)).any(axis=0)
    at_card = np.isin(ends, [kinds.index(DeviceKind.NIC), kinds.index(DeviceKind.STORAGE)]).any(axis=0)

    def of_family(family: frozenset[LinkKind]) -> BoolArray:
        return np.isin(fabric.link_kind, [links.index(kind) for kind in family])

    bound = (
        (of_family(SCALE_UP_LINKS) & at_gpu) | of_family(HOST_LINKS) | (of_family(NETWORK_LINKS) & at_card)
    )
    return np.repeat(bound, 2)


def _routed(
    fabric: Fabric, devices: IndexArray, exchange: Exchange, known: dict[tuple[object, ...], Routed]
) -> Routed:
    """Route an exchange, or reuse what another with the same groups and pattern did."""
    key: tuple[object, ...] = (
        PATTERN.get(exchange.operation),
        exchange.algorithm,
        exchange.groups.shape,
        exchange.groups.tobytes(),
        exchange.stages.tobytes(),
    )
    # What an algorithm falls back from depends on the operation, so only the automatic choice is shared.
    if exchange.algorithm != "auto":
        key = (exchange.operation, *key)
    if key not in known:
        groups = devices[exchange.groups]
        edges = collective_edges(fabric, groups, exchange.operation, exchange.algorithm)
        known[key] = _route(fabric, edges, groups, exchange.stages)
    return known[key]


def _route(fabric: Fabric, edges: Edges, groups: IndexArray, group_stages: NDArray[np.int32]) -> Routed:
    stages, column_of_group = np.unique(group_stages, return_inverse=True)
    columns, devices = len(stages), len(fabric.device_ids)
    pairs, pair = np.unique(edges.source * devices + edges.target, return_inverse=True)
    paths = find_paths(fabric, pairs // devices, pairs % devices)
    reached = paths.way[pair] != Way.NONE
    dropped = any_by_row(edges.flow, ~reached, len(edges.flow_source))
    kept = ~dropped[edges.flow]
    out = Emission()
    keys, amount = sum_by_key(
        column_of_group[edges.group[kept]] * max(len(pairs), 1) + pair[kept], edges.amount[kept]
    )
    column = keys // max(len(pairs), 1)
    push(fabric, paths, keys % max(len(pairs), 1), amount, column, out)
    largest = np.zeros(columns)
    np.maximum.at(largest, column, amount)
    if len(edges.multicast):
        over_planes = column_of_group[edges.multicast]
        each = np.full(len(edges.multicast), edges.multicast_bytes)
        routes_of(fabric).scale_up.push_multicast(groups[edges.multicast], each, over_planes, out)
        np.maximum.at(largest, over_planes, each)
    alpha = np.zeros(columns)
    np.maximum.at(alpha, column_of_group, edges.alpha_s)
    return Routed(
        edges,
        index_array(stages),
        to_loads(out, columns, len(fabric.link_ids)),
        largest,
        alpha,
        float(amount.sum()) + len(edges.multicast) * groups.shape[1] * edges.multicast_bytes,
        _lost_flows(edges, reached),
    )


def _lost_flows(edges: Edges, reached: BoolArray) -> tuple[tuple[int, int, int, int], ...]:
    broken = np.flatnonzero(~reached)
    flow, first = np.unique(edges.flow[broken], return_index=True)
    edge = broken[first]
    columns = (edges.flow_source[flow], edges.flow_target[flow], edges.source[edge], edges.target[edge])
    return tuple(zip(*(column.tolist() for column in columns), strict=True))


def _stack(parts: list[tuple[csr_array, float]], links: int) -> csr_array:
    """All rows of `parts` below each other, each part times its factor."""
    rows = sum(part.shape[0] for part, _ in parts)
    data = _join([part.data * factor for part, factor in parts])
    indices = np.concatenate([np.zeros(0, np.int32), *(part.indices for part, _ in parts)])
    count = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.indptr) for part, _ in parts)])
    return csr_array((data, indices, np.cumsum(count)), shape=(rows, 2 * links))


def _only(loads: csr_array, links: BoolArray) -> csr_array:
    """`loads` on the flagged directed links alone."""
    keep = links[loads.indices]
    before = np.concatenate([[0], np.cumsum(keep)])
    return csr_array((loads.data[keep], loads.indices[keep], before[loads.indptr]), shape=loads.shape)


def _join(arrays: list[FloatArray] | list[IndexArray]) -> FloatArray:
    return np.concatenate([np.zeros(0), *arrays])


def _algorithm_name(edges: Edges) -> str:
    names = tuple(Algorithm)
    return "+".join(names[number] for number in np.unique(edges.algorithm))


def _unreachable(
    fabric: Fabric, exchanges: Sequence[Exchange], routed: list[Routed]
) -> tuple[tuple[Unreachable, ...], NDArray[np.int32]]:
    named: list[Unreachable] = []
    reasons: dict[tuple[int, int], str] = {}
    counts = np.array([len(item.lost) for item in routed], np.int32)
    ids = fabric.device_ids
    for exchange, item in zip(exchanges, routed, strict=True):
        for source, target, start, end in item.lost[:NAMED_UNREACHABLE_PAIRS]:
            if (start, end) not in reasons:
                reasons[start, end] = why_unreachable(fabric, start, end)
            relay = "" if (start, end) == (source, target) else f"relayed, {ids[start]} to {ids[end]}: "
            reason = relay + reasons[start, end]
            named.append(Unreachable(exchange.id, ids[source], ids[target], reason))
    return tuple(named), counts


def _notes(exchanges: Sequence[Exchange], routed: list[Routed]) -> tuple[str, ...]:
    notes = []
    for exchange, item in zip(exchanges, routed, strict=True):
        if item.edges.fallback is not None:
            groups, reason = item.edges.fallback
            notes.append(
                f"{exchange.kind} ({exchange.operation}) asked for {exchange.algorithm}: {reason}; "
                f"{plural(groups, 'group')} fell back, {_algorithm_name(item.edges)} ran."
            )
    return tuple(notes)
