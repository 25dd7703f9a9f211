"""Reduction trees over network switches (SHARP): which switches and links an all-reduce uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.traffic.arrays import (
    NO_FLOAT,
    NO_INDEX,
    Arcs,
    BoolArray,
    FloatArray,
    IndexArray,
    any_by_row,
    expand,
    index_array,
    make_arcs,
)
from model.traffic.edges import Aggregation
from model.traffic.host import NicTable
from model.traffic.network import FAR, SplitNetwork, hop_distances
from model.traffic.parts import Parts


class Aggregator:
    """The switches that can reduce, the cables between them, and those of NICs to them."""

    def __init__(self, arcs: Arcs, transit: BoolArray, sharp: BoolArray) -> None:
        """`arcs`: both directions of the live network links; `transit`, `sharp` (devices,): switches, and
        those that reduce.
        """
        self._arcs, self._transit, self._able = arcs, transit, transit & sharp
        self._network: SplitNetwork | None = None

    def network(self) -> SplitNetwork:
        """Links of which no end is a switch that cannot reduce."""
        if self._network is None:
            arcs = self._arcs
            usable = self._able | ~self._transit
            keep = usable[arcs.tail] & usable[arcs.head]
            able = make_arcs(
                len(usable), arcs.tail[keep], arcs.head[keep], arcs.link[keep], arcs.weight[keep]
            )
            self._network = SplitNetwork(able, self._able)
        return self._network


@dataclass(frozen=True, slots=True)
class _Trees:
    """One tree per group, place in the part and NIC of the member.

    `group` (trees,); `row` (entries,) NIC rows of the members, `tree` (entries,) ascending.
    """

    group: IndexArray
    tree: IndexArray
    row: IndexArray


def aggregate(
    aggregator: Aggregator, nics: NicTable, parts: Parts, wanted: BoolArray, delay: FloatArray
) -> tuple[BoolArray, Aggregation]:
    """Trees for those of the `wanted` groups where it fits, and which those are.

    A group must have several parts of equal size q, and each of its members equally many NICs, r. Then the
    members with the same place in their parts reduce S/q among themselves, on r trees of S/(q·r), tree i over
    the i-th NIC of each. A tree has as its root the switch, of those that can reduce, with the smallest
    distance to its farthest NIC, of those the one with the smallest sum of distances. Where several are as
    good, tree number t of the exchange (counted by group, place, NIC) takes number t modulo their count, in
    device order; and each NIC and switch sends towards the root over the next switch that is chosen in the
    same way from those one hop nearer. Parallel cables share by capacity. Every switch of the tree gets S'
    from each child, sends S' up once, and the sum comes back the same way.
    `delay` (2 · links,): what a link adds to α each time it is crossed.
    """
    rows = len(parts.group_size)
    fits = wanted & (parts.group_size > 1) & parts.equal
    trees, same = _make_trees(parts, nics, fits)
    network = aggregator.network()
    roots = _roots(network, nics.nic[trees.row], trees)
    found = roots >= 0
    fits &= same & ~any_by_row(trees.group, ~found, rows)
    kept = fits[trees.group]
    number = np.cumsum(kept) - 1
    entry = kept[trees.tree]
    trees = _Trees(trees.group[kept], number[trees.tree[entry]], trees.row[entry])
    turn = np.flatnonzero(kept)
    count = np.diff(nics.first)[nics.gpu[trees.row]]
    each = np.zeros(len(trees.group))
    each[trees.tree] = 1.0 / (parts.channels[trees.group[trees.tree]] * count)
    tree, link, times, slowest = _climb(network, trees, nics.nic[trees.row], roots[kept], turn, delay)
    item, position = expand(
        nics.path_first[trees.row], nics.path_first[trees.row + 1] - nics.path_first[trees.row]
    )
    host = each[trees.tree][item] * nics.path_share[position]
    links, owner = nics.path_link[position], trees.group[trees.tree][item]
    delay_s = np.zeros(rows)
    np.maximum.at(delay_s, trees.group, 2 * slowest)
    return fits, Aggregation(
        np.concatenate([link, link ^ 1, links, links ^ 1]),
        np.concatenate([each[tree] * times, each[tree] * times, host, host]),
        np.concatenate([trees.group[tree], trees.group[tree], owner, owner]),
        trees.group,
        each,
        nics.gpu[trees.row],
        trees.tree,
        delay_s,
    )


def _make_trees(parts: Parts, nics: NicTable, fits: BoolArray) -> tuple[_Trees, BoolArray]:
    """The trees of the groups that fit so far, and (groups,) whether all members have as many NICs."""
    rows = len(fits)
    member = np.flatnonzero(fits[np.repeat(parts.group, parts.size)])
    part = np.repeat(np.arange(len(parts.size), dtype=np.int64), parts.size)[member]
    group, place = parts.group[part], member - parts.first[part]
    device = parts.member[member]
    count = nics.first[device + 1] - nics.first[device]
    most, least = np.zeros(rows, np.int64), np.full(rows, np.iinfo(np.int64).max)
    np.maximum.at(most, group, count)
    np.minimum.at(least, group, count)
    same = (most == least) & (most > 0)
    ready = same[group]
    group, place, device = group[ready], place[ready], device[ready]
    owner, row = nics.of(device)
    slot = row - nics.first[device][owner]
    wide = int(most.max(initial=1)) + 1
    key = (group[owner] * (int(parts.size.max(initial=0)) + 1) + place[owner]) * wide + slot
    distinct, tree = np.unique(key, return_inverse=True)
    of_tree = np.zeros(len(distinct), np.int64)
    of_tree[tree] = group[owner]
    order = np.argsort(tree, kind="stable")
    return _Trees(of_tree, tree[order], row[order]), same


def _roots(network: SplitNetwork, nic: IndexArray, trees: _Trees) -> IndexArray:
    """The root of each tree, a switch; −1 where no switch that can reduce reaches all NICs."""
    roots = np.full(len(trees.group), -1, np.int64)
    if not len(network.switches):
        return roots
    classes = network.class_of(nic)
    first = np.searchsorted(trees.tree, np.arange(len(trees.group) + 1))
    known: dict[bytes, IndexArray] = {}
    for tree in range(len(trees.group)):
        own = np.sort(classes[first[tree] : first[tree + 1]])
        if own[0] < 0:
            continue
        key = own.tobytes()
        if key not in known:
            known[key] = _best_roots(network, own)
        if len(known[key]):
            roots[tree] = known[key][tree % len(known[key])]
    return roots


def _best_roots(network: SplitNetwork, classes: IndexArray) -> IndexArray:
    """The equally good roots for NICs of these classes, in device order."""
    distinct, count = np.unique(classes, return_counts=True)
    hops = network.hops_to_class(distinct).astype(np.int64)
    farthest = hops.max(axis=0)
    total = count @ hops
    best = farthest == farthest.min()
    if farthest.min() >= FAR:
        return NO_INDEX
    best &= total == total[best].min()
    return index_array(network.switches[best])


def _climb(
    network: SplitNetwork,
    trees: _Trees,
    nic: IndexArray,
    roots: IndexArray,
    turn: IndexArray,
    delay: FloatArray,
) -> tuple[IndexArray, IndexArray, FloatArray, FloatArray]:
    """From every NIC of every tree up to its root: (tree, directed link, times S' on it), and (trees,) the
    longest sum of delays.
    """
    arcs, devices = network.arcs, len(network.transit)
    goals, row_of_tree = np.unique(roots, return_inverse=True)
    distance: NDArray[np.int32] = np.full((len(goals), devices), FAR, np.int32)
    distance[:, network.switches] = hop_distances(
        network.adjacent, [network.position(goals[i : i + 1]) for i in range(len(goals))]
    )
    slowest = np.zeros(len(roots))
    found: list[tuple[IndexArray, IndexArray, FloatArray]] = [(NO_INDEX, NO_INDEX, NO_FLOAT)]
    # Members that share a NIC each send their own share through it; from the first switch on there is one.
    keys, times = np.unique(trees.tree * devices + nic, return_counts=True)
    late = np.zeros(len(keys))
    while len(keys):
        tree, node = keys // devices, keys % devices
        np.maximum.at(slowest, tree, late)
        away = node != roots[tree]
        tree, node, times, late = tree[away], node[away], times[away], late[away]
        owner, arc = arcs.of(node)
        hops = distance[row_of_tree[tree[owner]], arcs.head[arc]]
        nearest = np.full(len(node), FAR, np.int32)
        np.minimum.at(nearest, owner, hops)
        keep = hops == nearest[owner]
        owner, arc = owner[keep], arc[keep]
        ahead = np.unique(owner * devices + arcs.head[arc])
        first = np.searchsorted(ahead // devices, np.arange(len(node) + 1))
        choices = np.diff(first)
        chosen = ahead[first[:-1] + turn[tree] % np.maximum(choices, 1)] % devices
        keep = arcs.head[arc] == chosen[owner]
        owner, arc = owner[keep], arc[keep]
        share = arcs.weight[arc] / np.bincount(owner, weights=arcs.weight[arc], minlength=len(node))[owner]
        found.append((tree[owner], arcs.link[arc], share * times[owner]))
        longest = late.copy()
        np.maximum.at(longest, owner, late[owner] + delay[arcs.link[arc]])
        keys, inverse = np.unique(tree * devices + chosen, return_inverse=True)
        times = np.ones(len(keys), np.int64)
        late = np.zeros(len(keys))
        np.maximum.at(late, inverse, longest)
    tree, link, amount = (np.concatenate(column) for column in zip(*found, strict=True))
    return tree, link, amount, slowest
