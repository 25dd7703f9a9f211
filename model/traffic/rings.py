"""Edges of rings, chains, trees and pairwise exchanges over groups cut into parts (traffic_model §5.1c)."""

from __future__ import annotations

import numpy as np

from model.traffic.arrays import BoolArray, FloatArray, IndexArray, expand
from model.traffic.edges import NO_PIECE, Piece, join_pieces
from model.traffic.parts import Parts


def ring(parts: Parts, wanted: BoolArray, inside: FloatArray, between: FloatArray) -> Piece:
    """Rings of the wanted groups.

    `inside`, `between` (groups,): what each hop of the cycle inside a part carries, and what all channels
    together carry from a part to the next. Channel c joins member c of each part to member c of the next;
    there are as many as the smallest part has members.
    """
    part, at, following = _cycles(parts, wanted & (parts.largest > 1))
    group = parts.group[part]
    within = Piece(
        parts.member[at], parts.member[following], inside[group], group, np.zeros(len(at), np.int64)
    )
    start, end = _next_parts(parts, wanted)
    return join_pieces(within, _channels(parts, start, end, between[parts.group[start]], parts.index[start]))


def tree(parts: Parts, wanted: BoolArray) -> Piece:
    """All-reduce over chains inside the parts and a double binary tree between them (convention 16).

    The chain of channel c starts at member c, the one that talks to other parts, and goes around the cycle
    without the hop that would close it. Each tree carries half of S up and half down.
    """
    part, at, following = _cycles(parts, wanted & (parts.largest > 1))
    group = parts.group[part]
    amount = _chain_share(parts, part, at)
    flat = np.zeros(len(at), np.int64)
    ahead, behind = parts.member[following], parts.member[at]
    pieces = [Piece(behind, ahead, amount, group, flat), Piece(ahead, behind, amount, group, flat)]
    for count in np.unique(parts.group_size[wanted]):
        child, parent, depth = double_tree(int(count))
        rows = np.flatnonzero(wanted & (parts.group_size == count))
        low = (parts.group_first[rows][:, None] + child).ravel()
        high = (parts.group_first[rows][:, None] + parent).ravel()
        half, level = np.full(len(low), 0.5), np.tile(depth, len(rows))
        pieces += [_channels(parts, low, high, half, level), _channels(parts, high, low, half, level)]
    return join_pieces(*pieces)


def double_tree(nodes: int) -> tuple[IndexArray, IndexArray, IndexArray]:
    """NCCL's double binary tree over 0 … nodes − 1: (child, parent, depth of the child − 1) of every edge.

    In the first tree node 0 is the root; the parent of another is found by moving its lowest set bit one
    place up, or by clearing it where that leaves the range. The second tree is the first one mirrored (even
    number of nodes) or shifted by one (odd).
    """
    child = np.arange(1, nodes, dtype=np.int64)
    lowest = child & -child
    parent = (child ^ lowest) | (lowest << 1)
    parent = np.where(parent >= nodes, child ^ lowest, parent)
    depth, above = np.zeros(len(child), np.int64), parent
    while above.any():
        depth += above > 0
        above = np.where(above > 0, parent[above - 1], 0)
    if nodes % 2:
        other_child, other_parent = (child + 1) % nodes, (parent + 1) % nodes
    else:
        other_child, other_parent = nodes - 1 - child, nodes - 1 - parent
    return (
        np.concatenate([child, other_child]),
        np.concatenate([parent, other_parent]),
        np.concatenate([depth, depth]),
    )


def broadcast(parts: Parts) -> Piece:
    """The ring without the hops that lead back to the first member, which sends S.

    The first part passes S along its members; channel c takes its share from member c of each part to
    member c of the next, and there around the chain that starts at member c.
    """
    everyone = np.ones(len(parts.group_size), np.bool_)
    part, at, following = _cycles(parts, parts.largest > 1)
    place = at - parts.first[part]
    whole = np.where(place < parts.size[part] - 1, 1.0, 0.0)
    amount = np.where(parts.index[part] == 0, whole, _chain_share(parts, part, at))
    group = parts.group[part]
    within = Piece(parts.member[at], parts.member[following], amount, group, np.zeros(len(at), np.int64))
    start, end = _next_parts(parts, everyone)
    onward = parts.index[end] > 0
    start, end = start[onward], end[onward]
    return join_pieces(within, _channels(parts, start, end, np.ones(len(start)), parts.index[start]))


def halving_doubling(groups: IndexArray, wanted: BoolArray) -> Piece:
    """Recursive halving and doubling over the places of a group, whose number must be a power of two.

    In round i each place exchanges S/2^(i+1) with the one at distance 2^i, once to reduce and, in reverse
    order of the rounds, once to gather.
    """
    rows, size = np.flatnonzero(wanted), groups.shape[1]
    place = np.arange(size, dtype=np.int64)
    pieces = []
    for step in range(size.bit_length() - 1):
        partner = place ^ (1 << step)
        pieces.append(
            Piece(
                groups[rows].ravel(),
                groups[rows][:, partner].ravel(),
                np.full(len(rows) * size, 0.5**step),
                np.repeat(rows, size),
                np.full(len(rows) * size, step, np.int64),
            )
        )
    return join_pieces(*pieces)


def direct(groups: IndexArray, wanted: BoolArray, amount: float) -> Piece:
    """`amount` from every member to every other one at once: each gathers or scatters shards of 1/n."""
    if not wanted.any():  # its pairs grow with the square of a group
        return NO_PIECE
    rows, size = np.flatnonzero(wanted), groups.shape[1]
    place, other = np.nonzero(~np.eye(size, dtype=np.bool_))
    pairs = len(rows) * len(place)
    return Piece(
        groups[rows][:, place].ravel(),
        groups[rows][:, other].ravel(),
        np.full(pairs, amount),
        np.repeat(rows, len(place)),
        np.zeros(pairs, np.int64),
    )


def _cycles(parts: Parts, wanted: BoolArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Every hop j → j + 1 (cyclic) inside the parts of wanted groups: part, and both places in `member`."""
    inner = np.flatnonzero(wanted[parts.group] & (parts.size > 1))
    owner, at = expand(parts.first[inner], parts.size[inner])
    part = inner[owner]
    return part, at, parts.first[part] + (at - parts.first[part] + 1) % parts.size[part]


def _chain_share(parts: Parts, part: IndexArray, at: IndexArray) -> FloatArray:
    """The share of channels whose chain has the hop at → at + 1: all but the one that starts at its end."""
    channels = parts.channels[parts.group[part]]
    closes = (at - parts.first[part] + 1) % parts.size[part] < channels
    share: FloatArray = (channels - closes) / channels
    return share


def _next_parts(parts: Parts, wanted: BoolArray) -> tuple[IndexArray, IndexArray]:
    """Every part of the wanted groups that have several, and the part after it (cyclic)."""
    start = np.flatnonzero((wanted & (parts.group_size > 1))[parts.group])
    group = parts.group[start]
    return start, parts.group_first[group] + (parts.index[start] + 1) % parts.group_size[group]


def _channels(
    parts: Parts, start: IndexArray, end: IndexArray, amount: FloatArray, rounds: IndexArray
) -> Piece:
    """From part start[i] to part end[i] (of one group) on all channels together amount[i]."""
    group = parts.group[start]
    channels = parts.channels[group]
    hop, source = expand(parts.first[start], channels)
    target = parts.first[end][hop] + source - parts.first[start][hop]
    return Piece(
        parts.member[source],
        parts.member[target],
        amount[hop] / channels[hop],
        group[hop],
        rounds[hop],
    )
