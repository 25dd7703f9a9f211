"""A collective as point-to-point edges, for all groups of an exchange at once (traffic_model §5.1, §5.1c).

Edges carry bytes per byte of the message S, so that exchanges over the same groups share one routing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from model.catalog.load import catalog
from model.job.exchange import Dedup, Operation
from model.traffic.aggregation import aggregate
from model.traffic.all_to_all import all_to_all_edges
from model.traffic.arrays import BoolArray, FloatArray, IndexArray
from model.traffic.edges import NO_PIECE, NUMBER, Algorithm, Edges, Piece, join_pieces, simple_edges
from model.traffic.latency import (
    direct_s,
    halving_doubling_s,
    hierarchical_s,
    hop_s,
    long_links,
    ring_s,
    sharp_s,
    tree_s,
)
from model.traffic.parts import Parts, cut_into_parts
from model.traffic.rings import broadcast, direct, halving_doubling, ring, tree
from model.traffic.routing import routes_of
from model.traffic.types import Fabric

SMALLEST_AUTOMATIC_NVLS = 4

Pattern = Literal["all-reduce", "gather", "all-to-all", "broadcast", "pair", "pair back"]

PATTERN: dict[Operation, Pattern] = {
    Operation.ALL_REDUCE: "all-reduce",
    Operation.ALL_GATHER: "gather",
    Operation.REDUCE_SCATTER: "gather",
    Operation.ALL_TO_ALL: "all-to-all",
    Operation.BROADCAST: "broadcast",
    Operation.SEND: "pair",
    Operation.WRITE: "pair",
    Operation.READ: "pair back",
}

_FOR_ALL_REDUCE = (
    Algorithm.NVLS,
    Algorithm.TREE,
    Algorithm.HIERARCHICAL,
    Algorithm.HALVING_DOUBLING,
    Algorithm.SHARP,
    Algorithm.DIRECT,
)
_FOR_ALL_TO_ALL = (Algorithm.PXN, Algorithm.DEDUPLICATED)
_NEEDS = {
    Algorithm.NVLS: "nvls needs one scale-up domain whose NVLink switches can reduce",
    Algorithm.TREE: "tree needs a group over several scale-up domains",
    Algorithm.HIERARCHICAL: (
        "hierarchical needs several scale-up domains with equally many members of the group in each"
    ),
    Algorithm.HALVING_DOUBLING: "halving-doubling needs a power of two of members",
    Algorithm.DIRECT: "direct needs one scale-up domain",
    Algorithm.SHARP: (
        "sharp needs several scale-up domains with equally many members in each, and network switches that "
        "can reduce and join a NIC of every member"
    ),
}


def collective_edges(
    fabric: Fabric, groups: IndexArray, operation: Operation, algorithm: str, dedup: Dedup | None = None
) -> Edges:
    """The edges of `operation` over `groups` (n, size) device indices.

    Of sends the rows are [from, to], of reads and writes [GPU, storage device]. `algorithm` is "auto" or a
    value of `Algorithm`; what does not fit the operation or a group falls back to ring (all-to-all: to the
    automatic choice). "deduplicated" needs `dedup`. The automatic choice is that of §5.1c: an all-reduce
    of at least 4 members behind NVLink switches that can reduce runs as nvls, an all-to-all as pxn where
    every GPU has a NIC, the rest as ring: also over a full mesh of scale-up links, where direct is faster.

    α of one operation: `model.traffic.latency`. Of a ring all-reduce over M parts 2(M − 1) steps go over
    the network, of a gather, scatter or broadcast M − 1.
    """
    pattern = PATTERN[operation]
    if pattern == "pair":
        return _pair_edges(fabric, groups)
    if pattern == "pair back":
        return _pair_edges(fabric, groups[:, ::-1])
    if pattern == "all-to-all":
        return all_to_all_edges(fabric, groups, algorithm, dedup)
    if pattern == "all-reduce":
        return _all_reduce_edges(fabric, groups, algorithm)
    return _one_way_edges(fabric, groups, pattern == "broadcast", algorithm)


def _pair_edges(fabric: Fabric, groups: IndexArray) -> Edges:
    source, target = groups[:, 0], groups[:, 1]
    rows = len(groups)
    domain = fabric.domain
    inside = (domain[source] == domain[target]) & (domain[source] >= 0)
    piece = Piece(source, target, np.ones(rows), np.arange(rows, dtype=np.int64), np.zeros(rows, np.int64))
    return simple_edges(piece, np.full(rows, NUMBER[Algorithm.DIRECT]), hop_s(inside), np.ones(rows))


def _one_way_edges(fabric: Fabric, groups: IndexArray, from_first: bool, asked: str) -> Edges:
    """Gather, scatter (one turn of the ring) and broadcast (the ring, cut open at its first member)."""
    rows, size = groups.shape
    parts = cut_into_parts(fabric, groups)
    at_once = np.full(rows, asked == Algorithm.DIRECT and size > 1 and not from_first) & (
        parts.group_size == 1
    )
    fallback = None
    if asked == Algorithm.DIRECT and not from_first:
        fallback = (
            (int((~at_once).sum()), _NEEDS[Algorithm.DIRECT]) if size > 1 and not at_once.all() else None
        )
    elif asked not in ("auto", Algorithm.RING):
        fallback = (rows, f"{asked} is for {_purpose(asked)} only")
    wire = np.full(rows, (size - 1) / size)
    piece = broadcast(parts) if from_first else ring(parts, ~at_once, wire, wire)
    # NCCL counts n steps of a broadcast, n − 1 of a gather or scatter.
    steps = size if from_first else size - 1
    around = ring_s(steps, parts.group_size - 1) if size > 1 else np.zeros(rows)
    return simple_edges(
        join_pieces(piece, direct(groups, at_once, 1.0 / size)),
        np.where(at_once, NUMBER[Algorithm.DIRECT], NUMBER[Algorithm.RING]),
        np.where(at_once, direct_s(1), around),
        np.where(at_once, 1.0, np.ones(rows) if from_first else _turns(parts, 1.0)),
        fallback,
    )


def _purpose(asked: str) -> str:
    if asked == Algorithm.DIRECT:
        return "all-to-all, gathers, scatters and all-reduce"
    return "all-to-all" if asked in _FOR_ALL_TO_ALL else "all-reduce"


def _turns(parts: Parts, times: float) -> FloatArray:
    """How often data go around the whole cycle of the parts: a turn passes all of its hops but one."""
    return times * (parts.group_size - 1) / parts.group_size


def _all_reduce_edges(fabric: Fabric, groups: IndexArray, asked: str) -> Edges:
    rows, size = groups.shape
    parts = cut_into_parts(fabric, groups)
    chosen, aggregation = np.zeros(rows, np.bool_), None
    if size > 1 and asked == Algorithm.SHARP:
        routes = routes_of(fabric)
        delay = long_links(fabric)
        chosen, aggregation = aggregate(routes.aggregator, routes.nics, parts, np.ones(rows, np.bool_), delay)
    elif size > 1:
        chosen = _fitting(fabric, groups, parts, asked)
    fallback = None
    if asked in _FOR_ALL_TO_ALL:
        fallback = (rows, f"{asked} is for all-to-all only")
    elif asked in _FOR_ALL_REDUCE and size > 1 and not chosen.all():
        fallback = (int((~chosen).sum()), _NEEDS[Algorithm(asked)])
    own = Algorithm.NVLS if asked == "auto" else Algorithm(asked)
    wire = 2.0 * (size - 1) / size
    rings = ring(parts, ~chosen, np.full(rows, wire), np.full(rows, wire))
    piece, alpha, crossings = _own_edges(groups, parts, chosen, own)
    ring_alpha = ring_s(2 * (size - 1), 2 * (parts.group_size - 1)) if size > 1 else np.zeros(rows)
    return simple_edges(
        join_pieces(rings, piece),
        np.where(chosen, NUMBER[own], NUMBER[Algorithm.RING]),
        np.where(chosen, alpha, ring_alpha),
        np.where(chosen, crossings, _turns(parts, 2.0)),
        fallback,
        multicast=np.flatnonzero(chosen & (own == Algorithm.NVLS)),
        multicast_bytes=1.0 + 1.0 / size,
        aggregation=aggregation,
    )


def _fitting(fabric: Fabric, groups: IndexArray, parts: Parts, asked: str) -> BoolArray:
    """Which groups an all-reduce algorithm other than sharp fits."""
    rows, size = groups.shape
    several = parts.group_size > 1
    if asked in ("auto", Algorithm.NVLS):
        found = np.zeros(rows, np.bool_)
        if asked == Algorithm.NVLS or size >= SMALLEST_AUTOMATIC_NVLS:
            candidates = np.flatnonzero(~several)
            found[candidates] = routes_of(fabric).scale_up.multicast_groups(groups[candidates])
        return found
    if asked == Algorithm.TREE:
        return several
    if asked == Algorithm.DIRECT:
        return ~several
    if asked == Algorithm.HIERARCHICAL:
        return several & parts.equal
    return np.full(rows, asked == Algorithm.HALVING_DOUBLING and size & (size - 1) == 0)


def _own_edges(
    groups: IndexArray, parts: Parts, chosen: BoolArray, algorithm: Algorithm
) -> tuple[Piece, FloatArray, FloatArray]:
    """Edges, α and crossings of the groups that run `algorithm` (of the others what they say is unused)."""
    rows = len(groups)
    members, count = parts.largest, parts.group_size
    nothing = np.zeros(rows)
    if algorithm is Algorithm.TREE:
        return tree(parts, chosen), tree_s(members, count), np.full(rows, 2.0)
    if algorithm is Algorithm.HALVING_DOUBLING:
        if not chosen.any():
            return NO_PIECE, nothing, nothing
        alpha = halving_doubling_s(_rounds_inside(parts, groups.shape[1]))
        return halving_doubling(groups, chosen), alpha, np.full(rows, 2.0)
    if algorithm is Algorithm.DIRECT:
        # Each member sends every other one its shard to add up, and then the sum of its own.
        return direct(groups, chosen, 2.0 / groups.shape[1]), np.full(rows, direct_s(2)), np.full(rows, 2.0)
    # Hierarchical and sharp: scatter and gather inside the parts; between them rings, or switches.
    inside_wire = 2.0 * (members - 1) / np.maximum(members, 1)
    if algorithm is Algorithm.HIERARCHICAL:
        between = 2.0 * (count - 1) / count
        return ring(parts, chosen, inside_wire, between), hierarchical_s(members, count), _turns(parts, 2.0)
    if algorithm is Algorithm.SHARP:
        return ring(parts, chosen, inside_wire, nothing), sharp_s(members), nothing
    return NO_PIECE, np.full(rows, catalog().alpha.nvls_hop_s("nvlink")), nothing


def _rounds_inside(parts: Parts, size: int) -> BoolArray:
    """(rounds, groups): whether a round of halving-doubling stays inside the parts."""
    rows = len(parts.group_size)
    place = np.tile(np.arange(size, dtype=np.int64), rows)
    group = np.repeat(np.arange(rows, dtype=np.int64), size)
    rounds = range(size.bit_length() - 1)
    return np.stack([parts.inside(place, place ^ (1 << step), group) for step in rounds])
