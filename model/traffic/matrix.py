"""Who sends how much to whom: bytes per step between GPUs, before routing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.job.exchange import Exchange, Operation
from model.placement.types import Placement
from model.traffic.arrays import FloatArray, IndexArray, expand, sum_by_key
from model.traffic.collectives import collective_edges
from model.traffic.edges import Aggregation, Edges
from model.traffic.fabric import gpu_indices
from model.traffic.types import Fabric


@dataclass(frozen=True, slots=True)
class TrafficMatrix:
    """Bytes per step from row to column.

    `labels` (k,): GPU ids; host ids or "first – last" of several when there are too many GPUs. `bin_of` (g,):
    the row of each GPU of the placement. `matrix` (k, k). `by_dimension`: all bytes of each dimension.
    `crossing_hosts`: the share of all bytes between GPUs of different hosts; `changing_rail`: the share that
    crosses hosts and goes from one rail to another.
    """

    labels: tuple[str, ...]
    bin_of: IndexArray
    matrix: FloatArray
    by_dimension: dict[str, float]
    crossing_hosts: float
    changing_rail: float


def gpu_matrix(
    fabric: Fabric, placement: Placement, exchanges: Sequence[Exchange], most: int = 256
) -> TrafficMatrix:
    """Sum the edges of all exchanges per pair of GPUs, binned to hosts (and runs of hosts) above `most` GPUs.

    What a member hands to switches that reduce (NVLS, SHARP) counts as sent evenly to the members with which
    it is reduced. Reads and writes are not between GPUs and left out.
    """
    devices = gpu_indices(fabric, placement.gpus)
    place = np.zeros(len(fabric.device_ids), np.int64)
    place[devices] = np.arange(len(devices))
    host = _host_numbers(fabric, devices)
    labels, bin_of = _bins(fabric, placement.gpus, devices, host, most)
    matrix = np.zeros(len(labels) ** 2)
    by_dimension: dict[str, float] = {}
    crossing = changing = 0.0
    rail = fabric.rail[devices]
    known: dict[tuple[object, ...], tuple[IndexArray, IndexArray, FloatArray]] = {}
    for exchange in exchanges:
        if exchange.operation in (Operation.READ, Operation.WRITE):
            continue
        key = (
            exchange.operation,
            exchange.algorithm,
            exchange.dedup,
            exchange.groups.shape,
            exchange.groups.tobytes(),
        )
        if key not in known:
            groups = devices[exchange.groups]
            edges = collective_edges(fabric, groups, exchange.operation, exchange.algorithm, exchange.dedup)
            known[key] = _pair_sums(edges, groups, place, len(devices))
        source, target, per_byte = known[key]
        amount = per_byte * float(exchange.message_bytes) * exchange.count_per_step
        matrix += np.bincount(
            bin_of[source] * len(labels) + bin_of[target], weights=amount, minlength=len(matrix)
        )
        total = by_dimension.get(exchange.dimension, 0.0)
        by_dimension[exchange.dimension] = total + float(amount.sum())
        apart = host[source] != host[target]
        turned = apart & (rail[source] >= 0) & (rail[target] >= 0) & (rail[source] != rail[target])
        crossing += float(amount[apart].sum())
        changing += float(amount[turned].sum())
    everything = sum(by_dimension.values()) or 1.0
    return TrafficMatrix(
        labels,
        bin_of,
        matrix.reshape(len(labels), len(labels)),
        by_dimension,
        crossing / everything,
        changing / everything,
    )


def _pair_sums(
    edges: Edges, groups: IndexArray, place: IndexArray, gpus: int
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """(source, target, bytes per byte of S) of distinct pairs of places in the placement."""
    size = groups.shape[1]
    row, a, b = np.nonzero(np.broadcast_to(~np.eye(size, dtype=np.bool_), (len(edges.multicast), size, size)))
    members = groups[edges.multicast]
    over_planes = np.full(len(row), edges.multicast_bytes / max(size - 1, 1))
    sender, receiver, over_trees = _tree_pairs(edges.aggregation)
    source = place[np.concatenate([edges.source, members[row, a], sender])]
    target = place[np.concatenate([edges.target, members[row, b], receiver])]
    amounts = np.concatenate([edges.amount, over_planes, over_trees])
    keys, amount = sum_by_key(source * gpus + target, amounts)
    return keys // gpus, keys % gpus, amount


def _tree_pairs(trees: Aggregation) -> tuple[IndexArray, IndexArray, FloatArray]:
    """(source, target, bytes per byte of S) of the members of every tree with each other."""
    count = np.bincount(trees.member_tree, minlength=len(trees.tree_group))
    first = np.cumsum(count) - count
    one, other = expand(first[trees.member_tree], count[trees.member_tree])
    apart = one != other
    one, other = one[apart], other[apart]
    tree = trees.member_tree[one]
    return trees.member[one], trees.member[other], trees.tree_bytes[tree] / (count[tree] - 1)


def _host_numbers(fabric: Fabric, devices: IndexArray) -> IndexArray:
    """A number per GPU, equal for GPUs of one host: its tray, else its scale-up domain, else itself."""
    hosts, domains = len(fabric.host_ids), len(fabric.device_ids)
    host, domain = fabric.host[devices], fabric.domain[devices]
    alone = hosts + domains + np.arange(len(devices), dtype=np.int64)
    return np.where(host >= 0, host, np.where(domain >= 0, hosts + domain, alone))


def _bins(
    fabric: Fabric, gpus: tuple[str, ...], devices: IndexArray, host: IndexArray, most: int
) -> tuple[tuple[str, ...], IndexArray]:
    if len(gpus) <= most:
        return gpus, np.arange(len(gpus), dtype=np.int64)
    _, first, inverse = np.unique(host, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    names = [
        fabric.host_ids[fabric.host[devices[at]]] if fabric.host[devices[at]] >= 0 else gpus[at]
        for at in first[order]
    ]
    run = -(-len(names) // most)
    labels = []
    for start in range(0, len(names), run):
        block = names[start : start + run]
        labels.append(block[0] if len(block) == 1 else f"{block[0]} – {block[-1]}")
    return tuple(labels), rank[inverse] // run
