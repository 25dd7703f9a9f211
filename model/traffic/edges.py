"""What a collective becomes: point-to-point edges, and what its switches do on their own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from model.traffic.arrays import NO_FLOAT, NO_INDEX, FloatArray, IndexArray


class Algorithm(StrEnum):
    """How a collective runs; the values are those of the traffic JSON."""

    RING = "ring"
    TREE = "tree"
    HIERARCHICAL = "hierarchical"
    HALVING_DOUBLING = "halving-doubling"
    NVLS = "nvls"
    SHARP = "sharp"
    DIRECT = "direct"
    PXN = "pxn"
    DEDUPLICATED = "deduplicated"


NUMBER = {algorithm: number for number, algorithm in enumerate(Algorithm)}


@dataclass(frozen=True, slots=True)
class Piece:
    """Some edges: devices, bytes per byte of S, row of the groups, and the round in which they run.

    All edges of a group with the same round run at once, one round follows the other.
    """

    source: IndexArray
    target: IndexArray
    amount: FloatArray
    group: IndexArray
    round: IndexArray


NO_PIECE = Piece(NO_INDEX, NO_INDEX, NO_FLOAT, NO_INDEX, NO_INDEX)


def join_pieces(*pieces: Piece) -> Piece:
    """All edges, those that carry nothing left out."""
    amount = np.concatenate([piece.amount for piece in pieces])
    kept = amount > 0
    return Piece(
        np.concatenate([piece.source for piece in pieces])[kept],
        np.concatenate([piece.target for piece in pieces])[kept],
        amount[kept],
        np.concatenate([piece.group for piece in pieces])[kept],
        np.concatenate([piece.round for piece in pieces])[kept],
    )


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Reductions in network switches, all trees of an exchange. Amounts are bytes per byte of S.

    `link`, `amount`, `group` (entries,): bytes on directed links. Tree t belongs to group `tree_group[t]`;
    each of its members sends `tree_bytes[t]` and gets as much back; `member`, `member_tree` list the members'
    devices. `delay_s` (groups,): what long links add to α.
    """

    link: IndexArray
    amount: FloatArray
    group: IndexArray
    tree_group: IndexArray
    tree_bytes: FloatArray
    member: IndexArray
    member_tree: IndexArray
    delay_s: FloatArray


def no_aggregation(groups: int) -> Aggregation:
    """No tree at all."""
    return Aggregation(NO_INDEX, NO_FLOAT, NO_INDEX, NO_INDEX, NO_FLOAT, NO_INDEX, NO_INDEX, np.zeros(groups))


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of all groups of an exchange. All amounts are bytes per byte of S.

    `source`, `target` are devices, `group` the row of the groups. Edges of one `flow` belong together (what
    goes to a relay and what it hands on): if one has no path, none carries anything. A flow goes from
    `flow_source` to `flow_target`. `multicast` lists the groups that run NVLS: each member sends
    `multicast_bytes` to the switch planes and gets as much back. `aggregation`: what network switches do.
    `algorithm` (groups,) indexes `tuple(Algorithm)`. `alpha_s` (groups,): of one operation, without long
    links; those add, to each of the `crossings[group]` times that data go through all rounds, the longest
    delay of each `round` (edges,). `fallback`: how many groups could not run the algorithm asked for, why.
    """

    source: IndexArray
    target: IndexArray
    amount: FloatArray
    group: IndexArray
    round: IndexArray
    flow: IndexArray
    flow_source: IndexArray
    flow_target: IndexArray
    multicast: IndexArray
    multicast_bytes: float
    aggregation: Aggregation
    algorithm: IndexArray
    alpha_s: FloatArray
    crossings: FloatArray
    fallback: tuple[int, str] | None


def simple_edges(
    piece: Piece,
    algorithm: IndexArray,
    alpha_s: FloatArray,
    crossings: FloatArray,
    fallback: tuple[int, str] | None = None,
    *,
    multicast: IndexArray = NO_INDEX,
    multicast_bytes: float = 0.0,
    aggregation: Aggregation | None = None,
) -> Edges:
    """Edges that are flows of their own."""
    return Edges(
        piece.source,
        piece.target,
        piece.amount,
        piece.group,
        piece.round,
        np.arange(len(piece.source), dtype=np.int64),
        piece.source,
        piece.target,
        multicast,
        multicast_bytes,
        aggregation or no_aggregation(len(algorithm)),
        algorithm,
        alpha_s,
        crossings,
        fallback,
    )
