"""What every exchange of a plan puts on every directed link in one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.errors import InputError
from model.job.exchange import Exchange, Operation
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
from model.traffic.collectives import PATTERN, collective_edges
from model.traffic.ecmp import TierDraw, tiers
from model.traffic.edges import Algorithm, Edges
from model.traffic.fabric import device_indices, gpu_indices
from model.traffic.flows import MOST_DRAWN, PathChoice
from model.traffic.latency import long_links
from model.traffic.routing import (
    PairPaths,
    Way,
    find_paths,
    pair_delays,
    push,
    routes_of,
    to_loads,
    why_unreachable,
)
from model.traffic.types import Alone, EcmpTier, Fabric, Traffic, Unreachable

NAMED_UNREACHABLE_PAIRS = 16
_GPU = tuple(DeviceKind).index(DeviceKind.GPU)


class RoutingChoice(Protocol):
    """The routing section of a job, as far as it is read here."""

    @property
    def policy(self) -> Literal["even", "hashed", "static"]:
        """How switches choose among equal paths."""

    @property
    def queue_pairs(self) -> int:
        """Into how many flows hashed routing cuts what a pair of NICs exchanges."""

    @property
    def seed(self) -> int:
        """Of the hash."""


@dataclass(frozen=True, slots=True)
class Routed:
    """One pattern of edges on the links, per byte of S. Columns are the stages in `stages`.

    `loads` (columns, 2 · links), `largest` (columns,) the largest edge, `alpha_s` (columns,), `sent` the sum
    over all edges that leave a GPU, `lost` the flows without a path: ends of the flow, ends of the edge that
    lacks one. With hashed routing `ecmp` tells the tiers and `queue_pairs` how many were told apart.
    """

    edges: Edges
    stages: IndexArray
    loads: csr_array
    largest: FloatArray
    alpha_s: FloatArray
    sent: float
    lost: tuple[tuple[int, int, int, int], ...]
    ecmp: tuple[TierDraw, ...]
    queue_pairs: int


def load(
    fabric: Fabric,
    placement: Placement,
    exchanges: Sequence[Exchange],
    job_routing: RoutingChoice | None = None,
) -> Traffic:
    """Route every exchange and sum its bytes per directed link and step.

    `job_routing`: how switches choose among equal paths, None = even; see `model.traffic.flows.PathChoice`.
    α of an instance is the longest of its groups, see `model.traffic.collectives.collective_edges`. Raises
    InputError when the placement or an exchange names a device that the drawing lacks.
    """
    routed = _all_routed(fabric, placement, exchanges, job_routing)
    steps = [float(exchange.message_bytes) * exchange.count_per_step for exchange in exchanges]
    loads = _stack(
        [(item.loads, step) for item, step in zip(routed, steps, strict=True)], len(fabric.link_ids)
    )
    lost, counts = _unreachable(fabric, exchanges, routed)
    sent = [
        item.sent * step / max(len(np.unique(exchange.groups)), 1)
        for exchange, item, step in zip(exchanges, routed, steps, strict=True)
    ]
    return Traffic(
        instance_exchange=_owners(routed),
        instance_stage=_join([item.stages for item in routed]).astype(np.int32),
        loads=loads,
        endpoint_loads=_only(loads, endpoint_links(fabric)),
        largest_edge_bytes=_join([item.largest * step for item, step in zip(routed, steps, strict=True)]),
        alpha_s=_join([item.alpha_s for item in routed]),
        algorithms=tuple(_algorithm_name(item.edges) for item in routed),
        sent_bytes_per_gpu=np.array(sent, np.float64),
        unreachable=lost,
        unreachable_pairs=counts,
        notes=_notes(exchanges, routed) + _queue_pair_notes(exchanges, routed, job_routing),
        ecmp=_ecmp(exchanges, routed),
    )


def load_alone(
    fabric: Fabric,
    placement: Placement,
    exchanges: Sequence[Exchange],
    job_routing: RoutingChoice | None = None,
) -> Alone:
    """The same routes, but only what each instance takes by itself. Raises as `load` does."""
    routed = _all_routed(fabric, placement, exchanges, job_routing)
    usable = np.repeat(fabric.usable, 2)
    known = {id(item): _longest(item.loads, usable) for item in routed}
    return Alone(
        instance_exchange=_owners(routed),
        instance_stage=_join([item.stages for item in routed]).astype(np.int32),
        alpha_s=_join([item.alpha_s for item in routed]),
        wire_s=_join(
            [
                known[id(item)] * (float(exchange.message_bytes) * exchange.count_per_step)
                for exchange, item in zip(exchanges, routed, strict=True)
            ]
        ),
    )


def _all_routed(
    fabric: Fabric,
    placement: Placement,
    exchanges: Sequence[Exchange],
    routing: RoutingChoice | None,
) -> list[Routed]:
    devices = gpu_indices(fabric, placement.gpus)
    known: dict[tuple[object, ...], Routed] = {}
    return [_routed(fabric, devices, exchange, known, routing) for exchange in exchanges]


def _owners(routed: Sequence[Routed]) -> NDArray[np.int32]:
    """The exchange of every instance."""
    return np.repeat(np.arange(len(routed), dtype=np.int32), [len(item.stages) for item in routed])


def _longest(loads: csr_array, usable: FloatArray) -> FloatArray:
    """(columns,): the longest of bytes ÷ usable rate; links that carry nothing now take no part."""
    rates = usable[loads.indices]
    seconds = np.divide(loads.data, rates, out=np.zeros(len(loads.data)), where=rates > 0)
    longest = np.zeros(loads.shape[0])
    np.maximum.at(longest, np.repeat(np.arange(loads.shape[0]), np.diff(loads.indptr)), seconds)
    return longest


def exchange_devices(fabric: Fabric, devices: IndexArray, exchange: Exchange) -> IndexArray:
    """The groups of an exchange as device indices, (n, size); of reads and writes [GPU, storage device].

    `devices`: of the GPUs of the placement. Raises InputError for storage that is not in the drawing.
    """
    groups = devices[exchange.groups]
    if exchange.operation not in (Operation.READ, Operation.WRITE):
        return groups
    if len(exchange.storage) != len(groups):
        raise InputError(f"{exchange.kind} names no storage device for some of its GPUs.")
    return np.column_stack([groups[:, 0], device_indices(fabric, exchange.storage, exchange.kind)])


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
    fabric: Fabric,
    devices: IndexArray,
    exchange: Exchange,
    known: dict[tuple[object, ...], Routed],
    routing: RoutingChoice | None,
) -> Routed:
    """Route an exchange, or reuse what another with the same groups and pattern did."""
    key: tuple[object, ...] = (
        PATTERN[exchange.operation],
        exchange.algorithm,
        exchange.dedup,
        exchange.storage,
        exchange.groups.shape,
        exchange.groups.tobytes(),
        exchange.stages.tobytes(),
    )
    # What an algorithm falls back from depends on the operation, so only the automatic choice is shared.
    if exchange.algorithm != "auto":
        key = (exchange.operation, *key)
    if key not in known:
        groups = exchange_devices(fabric, devices, exchange)
        edges = collective_edges(fabric, groups, exchange.operation, exchange.algorithm, exchange.dedup)
        choice = None
        if routing is not None and routing.policy != "even":
            choice = PathChoice(routing.policy, routing.queue_pairs, routing.seed)
        known[key] = _route(fabric, edges, groups, exchange.stages, choice)
    return known[key]


def _route(
    fabric: Fabric,
    edges: Edges,
    groups: IndexArray,
    group_stages: NDArray[np.int32],
    choice: PathChoice | None,
) -> Routed:
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
    column, used = keys // max(len(pairs), 1), keys % max(len(pairs), 1)
    push(fabric, paths, used, amount, column, out, choice)
    largest = np.zeros(columns)
    np.maximum.at(largest, column, amount)
    from_gpu = fabric.device_kind[paths.source[used]] == _GPU
    sent = float(amount[from_gpu].sum()) + _push_switch_work(
        fabric, edges, groups, column_of_group, largest, out
    )
    alpha = np.zeros(columns)
    np.maximum.at(alpha, column_of_group, edges.alpha_s + _long_delays(fabric, edges, paths, pair))
    return Routed(
        edges,
        index_array(stages),
        to_loads(out, columns, len(fabric.link_ids)),
        largest,
        alpha,
        sent,
        _lost_flows(edges, reached, devices),
        tiers(fabric, routes_of(fabric).cables, choice) if choice else (),
        choice.used_queue_pairs if choice else 0,
    )


def _push_switch_work(
    fabric: Fabric,
    edges: Edges,
    groups: IndexArray,
    column_of_group: IndexArray,
    largest: FloatArray,
    out: Emission,
) -> float:
    """What NVLS and SHARP put on links; returns the bytes that members send, and raises `largest`."""
    sent = 0.0
    if len(edges.multicast):
        over_planes = column_of_group[edges.multicast]
        each = np.full(len(edges.multicast), edges.multicast_bytes)
        routes_of(fabric).scale_up.push_multicast(groups[edges.multicast], each, over_planes, out)
        np.maximum.at(largest, over_planes, each)
        sent += len(edges.multicast) * groups.shape[1] * edges.multicast_bytes
    trees = edges.aggregation
    if len(trees.tree_group):
        out.add(column_of_group[trees.group], trees.link, trees.amount)
        np.maximum.at(largest, column_of_group[trees.tree_group], trees.tree_bytes)
        sent += float(trees.tree_bytes[trees.member_tree].sum())
    return sent


def _long_delays(fabric: Fabric, edges: Edges, paths: PairPaths, pair: IndexArray) -> FloatArray:
    """(groups,): what long links and cables between racks add to α."""
    added = edges.aggregation.delay_s.copy()
    delay = long_links(fabric)
    if not delay.any():
        return added
    of_pair = pair_delays(fabric, paths, delay)
    rounds = int(edges.round.max(initial=0)) + 1
    slowest = np.zeros(len(added) * rounds)
    np.maximum.at(slowest, edges.group * rounds + edges.round, of_pair[pair])
    total: FloatArray = added + edges.crossings * slowest.reshape(len(added), rounds).sum(axis=1)
    return total


def _lost_flows(edges: Edges, reached: BoolArray, devices: int) -> tuple[tuple[int, int, int, int], ...]:
    """Pairs that cannot talk, in the order of their flows: their ends, and those of the edge at fault."""
    broken = np.flatnonzero(~reached)
    _, first = np.unique(edges.flow[broken], return_index=True)
    edge = broken[first]
    flow = edges.flow[edge]
    _, first = np.unique(edges.flow_source[flow] * devices + edges.flow_target[flow], return_index=True)
    first.sort()
    edge, flow = edge[first], flow[first]
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


def _ecmp(exchanges: Sequence[Exchange], routed: list[Routed]) -> tuple[EcmpTier, ...]:
    return tuple(
        EcmpTier(
            exchange.id,
            tier.from_kind,
            tier.to_kind,
            tier.flows,
            tier.cables,
            tier.expected,
            tier.drawn,
        )
        for exchange, item in zip(exchanges, routed, strict=True)
        for tier in item.ecmp
    )


def _queue_pair_notes(
    exchanges: Sequence[Exchange], routed: list[Routed], routing: RoutingChoice | None
) -> tuple[str, ...]:
    return tuple(
        f"{exchange.kind} ({exchange.operation}): hashed with {item.queue_pairs} of "
        f"{routing.queue_pairs} queue pairs, as more flows than {MOST_DRAWN:,} are not told apart."
        for exchange, item in zip(exchanges, routed, strict=True)
        if routing is not None and 0 < item.queue_pairs < routing.queue_pairs
    )


def _notes(exchanges: Sequence[Exchange], routed: list[Routed]) -> tuple[str, ...]:
    fallen: dict[tuple[str, str, str], int] = defaultdict(int)
    for exchange, item in zip(exchanges, routed, strict=True):
        if item.edges.fallback is not None:
            groups, reason = item.edges.fallback
            asked = f"{exchange.kind} ({exchange.operation}) asked for {exchange.algorithm}"
            fallen[asked, reason, _algorithm_name(item.edges)] += groups
    return tuple(
        f"{asked}: {reason}; {plural(groups, 'group')} fell back, {ran} ran."
        for (asked, reason, ran), groups in fallen.items()
    )
