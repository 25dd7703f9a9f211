"""The way of the bytes between two devices, or of all that one exchanges, as the loads are routed.

Nothing is guessed here: the pairs come from `collective_edges`, the links from `find_paths` and `push`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from model.errors import InputError
from model.job.exchange import Exchange
from model.placement.types import Placement
from model.topology.types import DeviceKind
from model.traffic.arrays import BoolArray, Emission, FloatArray, IndexArray, index_array, sum_by_key
from model.traffic.collectives import collective_edges
from model.traffic.edges import Edges
from model.traffic.fabric import gpu_indices
from model.traffic.flows import PathChoice
from model.traffic.load import RoutingChoice, exchange_devices
from model.traffic.routing import PairPaths, Way, find_paths, push, routes_of, to_loads, why_unreachable
from model.traffic.types import Fabric

_ENDS = tuple(tuple(DeviceKind).index(kind) for kind in (DeviceKind.GPU, DeviceKind.STORAGE))
_WORDS = {
    Way.DIRECT: "a direct link",
    Way.PLANES: "NVLink switches",
    Way.SCALE_UP: "NVLink",
    Way.HOST: "the host",
    Way.NIC: "the network",
}


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of a link on a way. `stage` counts the links before it; `share` of the bytes go over it.

    `capacity_bytes_per_s` is that of now.
    """

    link: str
    backwards: bool
    source: str
    target: str
    stage: int
    share: float
    capacity_bytes_per_s: float
    latency_s: float


@dataclass(frozen=True, slots=True)
class RouteWay:
    """One way from a device to another: `exchanges` (kinds) that lead bytes on it, `bytes_per_step` of them
    together; without an exchange the way that they would take. `legs`: (from, to, over what) of each part,
    two where a relay hands on (PXN).
    """

    exchanges: tuple[str, ...]
    bytes_per_step: float
    legs: tuple[tuple[str, str, str], ...]
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Partner:
    """What a device sends to another, and gets from it, in one dimension; bytes of a step."""

    device: str
    dimension: str
    sent_bytes: float
    received_bytes: float


@dataclass(frozen=True, slots=True)
class Route:
    """The answer: of a pair its `ways`, the one with most bytes first; of a device its `partners`.

    `links` and `devices` are all that lies on them. `policy`: how switches choose among equal paths.
    """

    source: str
    target: str | None
    policy: str
    ways: tuple[RouteWay, ...]
    partners: tuple[Partner, ...]
    links: tuple[str, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Routing:
    """What a route is worked out from; without a placement and exchanges (an illegal job) only the fabric."""

    fabric: Fabric
    choice: RoutingChoice
    placement: Placement | None = None
    exchanges: Sequence[Exchange] = ()


def route_between(routing: Routing, source: str, target: str) -> Route:
    """How bytes get from one GPU or storage device to another.

    Raises `InputError` for a device that neither sends nor receives, or where no path joins the two.
    """
    fabric = routing.fabric
    a, b = _end(fabric, source), _end(fabric, target)
    if a == b:
        raise InputError(f"{source} needs no way to itself.")
    found: dict[tuple[tuple[int, int], ...], tuple[list[str], float]] = {}
    for exchange, edges, groups in _edges_of(routing, (a, b)):
        legs, amount = _legs_between(edges, groups, a, b)
        if legs:
            kinds, total = found.setdefault(legs, ([], 0.0))
            if exchange.kind not in kinds:
                kinds.append(exchange.kind)
            found[legs] = (kinds, total + amount * _bytes(exchange))
    if not found:
        found[((a, b),)] = ([], 0.0)
    ways = [
        _way(routing, legs, tuple(kinds), total)
        for legs, (kinds, total) in sorted(found.items(), key=lambda item: -item[1][1])
    ]
    links = tuple(dict.fromkeys(hop.link for way in ways for hop in way.hops))
    on_way = dict.fromkeys([source, target])
    on_way.update(dict.fromkeys(end for way in ways for hop in way.hops for end in (hop.source, hop.target)))
    return Route(source, target, routing.choice.policy, tuple(ways), (), links, tuple(on_way))


def routes_from(routing: Routing, source: str) -> Route:
    """All that a GPU or storage device sends and gets in a step, and the links that carry it.

    Raises `InputError` for a device that neither sends nor receives.
    """
    fabric = routing.fabric
    own, devices, links = _end(fabric, source), len(fabric.device_ids), len(fabric.link_ids)
    partners: dict[tuple[int, str], list[float]] = {}
    out = Emission()
    for exchange, edges, groups in _edges_of(routing, (own,)):
        touching = (edges.source == own) | (edges.target == own)
        touched = np.zeros(len(edges.flow_source), dtype=np.bool_)
        touched[edges.flow[touching]] = True
        touched |= (edges.flow_source == own) | (edges.flow_target == own)
        mine = touched[edges.flow]
        _note_partners(partners, edges, touched, own, exchange)
        keys, amount = sum_by_key(edges.source[mine] * devices + edges.target[mine], edges.amount[mine])
        _push(routing, keys // devices, keys % devices, amount * _bytes(exchange), out)
        _push_switch_work(fabric, edges, groups, own, _bytes(exchange), out)
        for row in edges.multicast.tolist():
            for member in groups[row][groups[row] != own].tolist():
                each = edges.multicast_bytes * _bytes(exchange) / (groups.shape[1] - 1)
                sums = partners.setdefault((member, exchange.dimension), [0.0, 0.0])
                sums[0] += each
                sums[1] += each
    loaded = np.unique(to_loads(out, 1, links).indices // 2)
    ends = np.unique(np.concatenate((fabric.link_a[loaded], fabric.link_b[loaded])))
    known = tuple(
        Partner(fabric.device_ids[device], dimension, sent, received)
        for (device, dimension), (sent, received) in sorted(partners.items(), key=lambda item: -sum(item[1]))
    )
    names = dict.fromkeys([source, *(fabric.device_ids[end] for end in ends.tolist())])
    names.update(dict.fromkeys(partner.device for partner in known))
    return Route(
        source,
        None,
        routing.choice.policy,
        (),
        known,
        tuple(fabric.link_ids[link] for link in loaded.tolist()),
        tuple(names),
    )


def _end(fabric: Fabric, ident: str) -> int:
    index = fabric.device_index.get(ident)
    if index is None:
        raise InputError(f"There is no device {ident} in the step that was worked out last.")
    if int(fabric.device_kind[index]) not in _ENDS:
        raise InputError(f"{ident} only passes bytes on; choose GPUs or storage.")
    return int(index)


def _bytes(exchange: Exchange) -> float:
    return float(exchange.message_bytes) * exchange.count_per_step


def _edges_of(routing: Routing, ends: tuple[int, ...]) -> Iterable[tuple[Exchange, Edges, IndexArray]]:
    """The edges of every exchange in the groups that hold all of some devices, with these groups."""
    if routing.placement is None:
        return
    devices = gpu_indices(routing.fabric, routing.placement.gpus)
    for exchange in routing.exchanges:
        groups = exchange_devices(routing.fabric, devices, exchange)
        held = np.all([(groups == end).any(axis=1) for end in ends], axis=0)
        if held.any():
            mine = groups[held]
            yield (
                exchange,
                collective_edges(
                    routing.fabric, mine, exchange.operation, exchange.algorithm, exchange.dedup
                ),
                mine,
            )


def _legs_between(
    edges: Edges, groups: IndexArray, a: int, b: int
) -> tuple[tuple[tuple[int, int], ...], float]:
    """The edges on which a's bytes for b run, in their order, and how many (per byte of S)."""
    flows = np.flatnonzero((edges.flow_source == a) & (edges.flow_target == b))
    parts = np.flatnonzero(np.isin(edges.flow, flows))
    if not len(parts):
        for row in edges.multicast.tolist():
            if (groups[row] == a).any() and (groups[row] == b).any():
                return ((a, b),), edges.multicast_bytes
        return (), 0.0
    pairs = list(dict.fromkeys(zip(edges.source[parts].tolist(), edges.target[parts].tolist(), strict=True)))
    ordered = sorted(pairs, key=lambda pair: pair[0] != a)
    amount = float(edges.amount[parts[edges.source[parts] == ordered[0][0]]].sum())
    return tuple(ordered), amount


def _choice(routing: Routing) -> PathChoice | None:
    choice = routing.choice
    if choice.policy == "even":
        return None
    return PathChoice(choice.policy, choice.queue_pairs, choice.seed)


def _push(
    routing: Routing, source: IndexArray, target: IndexArray, amount: FloatArray, out: Emission
) -> PairPaths:
    """Put bytes of distinct pairs on the links; those of pairs without a path are left out."""
    paths = find_paths(routing.fabric, source, target)
    open_pairs = np.flatnonzero(paths.way != Way.NONE)
    column = np.zeros(len(open_pairs), np.int64)
    push(routing.fabric, paths, open_pairs, amount[open_pairs], column, out, _choice(routing))
    return paths


def _push_switch_work(
    fabric: Fabric, edges: Edges, groups: IndexArray, own: int, steps: float, out: Emission
) -> None:
    """What a device hands to switches that reduce: to NVLink switches its own links, of SHARP its trees."""
    if len(edges.multicast):
        everyone = Emission()
        each = np.full(len(edges.multicast), edges.multicast_bytes * steps)
        column = np.zeros(len(edges.multicast), np.int64)
        routes_of(fabric).scale_up.push_multicast(groups[edges.multicast], each, column, everyone)
        _column, link, amount = everyone.entries()
        mine = (fabric.link_a[link // 2] == own) | (fabric.link_b[link // 2] == own)
        out.add(np.zeros(int(mine.sum()), np.int64), link[mine], amount[mine])
    trees = edges.aggregation
    out.add(np.zeros(len(trees.link), np.int64), trees.link, trees.amount * steps)


def _note_partners(
    partners: dict[tuple[int, str], list[float]],
    edges: Edges,
    touched: BoolArray,
    own: int,
    exchange: Exchange,
) -> None:
    """Whom a device's flows go to and come from, relays aside."""
    amount = np.zeros(len(edges.flow_source))
    first = edges.source == edges.flow_source[edges.flow]
    np.add.at(amount, edges.flow[first], edges.amount[first])
    for flow in np.flatnonzero(touched).tolist():
        start, end = int(edges.flow_source[flow]), int(edges.flow_target[flow])
        if own not in (start, end):
            continue  # it only relays
        sums = partners.setdefault((end if start == own else start, exchange.dimension), [0.0, 0.0])
        sums[0 if start == own else 1] += float(amount[flow]) * _bytes(exchange)


def _way(
    routing: Routing, legs: tuple[tuple[int, int], ...], kinds: tuple[str, ...], total: float
) -> RouteWay:
    fabric = routing.fabric
    hops: list[Hop] = []
    named: list[tuple[str, str, str]] = []
    for a, b in legs:
        out = Emission()
        paths = _push(routing, np.array([a]), np.array([b]), np.ones(1), out)
        way = Way(int(paths.way[0]))
        if way is Way.NONE:
            raise InputError(f"No way from {fabric.device_ids[a]} to {fabric.device_ids[b]}: "
                             f"{why_unreachable(fabric, a, b)}.")  # fmt: skip
        named.append((fabric.device_ids[a], fabric.device_ids[b], _WORDS[way]))
        loads = to_loads(out, 1, len(fabric.link_ids))
        before = max((hop.stage for hop in hops), default=-1) + 1
        hops += _hops(fabric, a, index_array(loads.indices), loads.data, before)
    return RouteWay(kinds, total, tuple(named), tuple(hops))


def _hops(fabric: Fabric, start: int, directed: IndexArray, share: FloatArray, before: int) -> list[Hop]:
    """The directed links of one leg, by how many links lie between its start and them."""
    link, backwards = directed // 2, directed % 2 == 1
    tail = np.where(backwards, fabric.link_b[link], fabric.link_a[link])
    head = np.where(backwards, fabric.link_a[link], fabric.link_b[link])
    level = {start: 0}
    front = {start}
    while front:
        onward = {
            int(head[place]): level[int(tail[place])] + 1
            for place in np.flatnonzero(np.isin(tail, list(front))).tolist()
        }
        front = onward.keys() - level.keys()
        level |= {device: onward[device] for device in front}
    stage = np.array([level[int(device)] for device in tail], dtype=np.int64)
    ids = fabric.device_ids
    return [
        Hop(
            fabric.link_ids[link[place]],
            bool(backwards[place]),
            ids[tail[place]],
            ids[head[place]],
            before + int(stage[place]),
            float(share[place]),
            float(fabric.capacity[link[place]]),
            float(fabric.latency[link[place]]),
        )
        for place in np.lexsort((directed, stage)).tolist()
    ]
