"""Which replicas are equal: as fast to compute, and with links of the same rates around their GPUs.

Equal replicas are simulated once. What surrounds a GPU ends at the first switch of the network: behind it the
paths of all replicas meet, and there the slowest of an exchange holds all of its groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from model.job.exchange import Exchange
from model.placement.types import Placement
from model.step.stage_devices import GpuKinds
from model.step.tracks import MOST_CLASSES, PER_MICROBATCH, Tracks, one_class
from model.topology.types import DeviceKind
from model.traffic.types import Fabric

HashArray = NDArray[np.uint64]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_ROUNDS = 5  # a GPU, two PCIe switches or CPUs, a NIC, a leaf
_MOST_OPERATIONS = 20_000
_NETWORK = [
    number
    for number, kind in enumerate(DeviceKind)
    if kind in (DeviceKind.LEAF, DeviceKind.SPINE, DeviceKind.CORE)
]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Per device a number that is equal where kinds and usable rates around it are, up to the first switch of
    the network, and how slow its links are (s for a byte over each).
    """

    look: HashArray
    slowness: FloatArray


def surroundings(fabric: Fabric) -> Surroundings:
    """What surrounds every device of a fabric. Down links do not exist."""
    kind = _mix(fabric.device_kind.astype(np.uint64) + np.uint64(1))
    network = np.isin(fabric.device_kind, _NETWORK)
    alive = np.flatnonzero(fabric.usable > 0)
    a, b = fabric.link_a[alive], fabric.link_b[alive]
    rate = fabric.usable[alive]
    own = _mix(rate.view(np.uint64) ^ _mix(fabric.link_kind[alive].astype(np.uint64)))
    look, slowness = kind, np.zeros(len(kind), dtype=np.float64)
    for _ in range(_ROUNDS):
        around = np.zeros_like(look)
        np.add.at(around, b, _mix(look[a] ^ own))
        np.add.at(around, a, _mix(look[b] ^ own))
        look = np.where(network, kind, _mix(look ^ _mix(around)))
    for _ in range(2):
        outside = np.where(network, 0.0, slowness)
        slowness = _summed(b, 1.0 / rate + outside[a], len(kind)) + _summed(
            a, 1.0 / rate + outside[b], len(kind)
        )
    return Surroundings(look, slowness)


def _mix(value: HashArray) -> HashArray:
    """SplitMix64: equal values stay equal, others spread over all 64 bits."""
    mixed = value + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def replica_tracks(
    fabric: Fabric,
    placement: Placement,
    exchanges: Sequence[Exchange],
    kinds: GpuKinds,
    around: Surroundings,
    *,
    stages: int,
    replicas: int,
    operations: int,
) -> Tracks:
    """The tracks of a step. `around`: what `surroundings` gives.

    `operations`: how many a replica runs in a step; with many of them fewer classes are told apart, the
    slowest ones, so that the simulation stays quick.
    """
    together = one_class(stages, replicas)
    if replicas < 2:
        return together
    look, slowness = _of_replicas(fabric, placement, kinds, around, replicas)
    if (look == look[0]).all():
        return together
    bundle = _bundles(placement, exchanges, replicas)
    count = int(bundle.max()) + 1
    signature = np.zeros(count, dtype=np.uint64)
    np.add.at(signature, bundle, look)
    _, first, classes = np.unique(signature, return_index=True, return_inverse=True)
    most = max(2, min(MOST_CLASSES, _MOST_OPERATIONS // max(operations, 1)))
    if len(first) > most:
        worst = np.zeros(count)
        np.maximum.at(worst, bundle, slowness)
        classes = _slowest_apart(classes, worst, most)
    of_replica = classes[bundle]
    order = dict.fromkeys(of_replica.tolist())
    return Tracks(stages, tuple(tuple(np.flatnonzero(of_replica == one).tolist()) for one in order))


def _of_replicas(
    fabric: Fabric, placement: Placement, kinds: GpuKinds, around: Surroundings, replicas: int
) -> tuple[HashArray, FloatArray]:
    """Per replica a number for what the GPUs of its stages are, and how slow they and their links are."""
    devices = np.array([fabric.device_index[gpu] for gpu in placement.gpus], dtype=np.int64)
    replica = placement.coordinates["dp"].astype(np.int64)
    plays = (placement.coordinates["pp"] >= 0) & (replica >= 0) & (replica < replicas)
    place = _mix(placement.coordinates["pp"].astype(np.int64).view(np.uint64))
    own = _mix(around.look[devices] ^ _mix(kinds.kind_of_gpu.view(np.uint64)) ^ place)
    look = np.zeros(replicas, dtype=np.uint64)
    np.add.at(look, replica[plays], own[plays])
    pace = np.array([kinds.pace(kind, 0) for kind in range(len(kinds.kinds))])
    slow = pace[kinds.kind_of_gpu[plays]] / max(pace.max(), 1e-300)
    links = around.slowness[devices[plays]]
    return look, _summed(replica[plays], slow + links / max(links.max(initial=0.0), 1e-300), replicas)


def _summed(index: NDArray[np.integer], value: FloatArray, count: int) -> FloatArray:
    """Σ of the values of each index."""
    return np.asarray(np.bincount(index, value, minlength=count), dtype=np.float64)


def _bundles(placement: Placement, exchanges: Sequence[Exchange], replicas: int) -> IntArray:
    """Per replica the number of its bundle: those that meet in every microbatch move in lockstep."""
    replica = placement.coordinates["dp"]
    pairs = [
        np.stack([np.broadcast_to(rows[:, :1], rows.shape), rows]).reshape(2, -1)
        for exchange in exchanges
        if exchange.when in PER_MICROBATCH
        for rows in (replica[exchange.groups],)
    ]
    links = np.concatenate([np.zeros((2, 0), dtype=np.int64), *pairs], axis=1)
    links = links[:, (links >= 0).all(axis=0) & (links < replicas).all(axis=0)]
    graph = coo_array((np.ones(links.shape[1]), (links[0], links[1])), shape=(replicas, replicas))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _slowest_apart(classes: IntArray, slowness: FloatArray, most: int) -> IntArray:
    """The slowest classes keep to themselves, the others move together."""
    worst = np.full(int(classes.max()) + 1, -np.inf)
    np.maximum.at(worst, classes, slowness)
    rest = np.argsort(-worst, kind="stable")[most - 1 :]
    merged = np.arange(len(worst))
    merged[rest] = rest.min()
    return np.asarray(merged[classes])
