"""Which replicas are equal: as fast to compute, and with the same loads on links of the same rates.

Equal replicas are simulated once. Most drawings are regular, which a look at what surrounds each GPU tells
at once; only where surroundings differ are the exchanges of each replica routed apart and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from model.job.exchange import Exchange
from model.placement.types import Placement
from model.step.stage_devices import GpuKinds
from model.step.tracks import MOST_CLASSES, PER_MICROBATCH, Tracks, one_class
from model.traffic.types import Fabric, Traffic

HashArray = NDArray[np.uint64]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Load = Callable[[Sequence[Exchange]], Traffic]

_ROUNDS = 5  # a GPU, a PCIe switch, a NIC, a leaf, a spine
_MOST_OPERATIONS = 20_000
_DIGITS = 9


def surroundings(fabric: Fabric) -> HashArray:
    """A number for each device that tells apart what surrounds it, five links deep: kinds and usable rates.

    Devices with equal numbers look alike. Down links do not exist.
    """
    label = _mix(fabric.device_kind.astype(np.uint64) + np.uint64(1))
    alive = np.flatnonzero(fabric.usable > 0)
    a, b = fabric.link_a[alive], fabric.link_b[alive]
    own = _mix(fabric.usable[alive].view(np.uint64) ^ _mix(fabric.link_kind[alive].astype(np.uint64)))
    for _ in range(_ROUNDS):
        around = np.zeros_like(label)
        np.add.at(around, b, _mix(label[a] ^ own))
        np.add.at(around, a, _mix(label[b] ^ own))
        label = _mix(label ^ _mix(around))
    return label


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
    around: HashArray,
    load: Load,
    *,
    stages: int,
    replicas: int,
    operations: int,
) -> Tracks:
    """The tracks of a step. `around`: what `surroundings` gives. `load` routes exchanges.

    `operations`: how many a replica runs in a step; with many of them fewer classes are told apart, the
    slowest ones, so that the simulation stays quick.
    """
    together = one_class(stages, replicas)
    if replicas < 2 or _all_alike(fabric, placement, kinds, around, replicas):
        return together
    chunked = [exchange for exchange in exchanges if exchange.when in PER_MICROBATCH]
    bundle = _bundles(placement, chunked, replicas)
    count = int(bundle.max()) + 1
    if count < 2:
        return together
    signature, slowness = _signatures(fabric, placement, chunked, kinds, bundle, load, stages)
    _, first, classes = np.unique(signature, return_index=True, return_inverse=True)
    most = max(2, min(MOST_CLASSES, _MOST_OPERATIONS // max(operations, 1)))
    if len(first) > most:
        classes = _slowest_apart(classes, slowness, most)
    of_replica = classes[bundle]
    order = dict.fromkeys(of_replica.tolist())
    return Tracks(stages, tuple(tuple(np.flatnonzero(of_replica == one).tolist()) for one in order))


def _all_alike(
    fabric: Fabric, placement: Placement, kinds: GpuKinds, around: HashArray, replicas: int
) -> bool:
    """Whether the GPUs of every replica are the same ones, place by place."""
    devices = np.array([fabric.device_index[gpu] for gpu in placement.gpus], dtype=np.int64)
    replica = placement.coordinates["dp"].astype(np.int64)
    plays = (placement.coordinates["pp"] >= 0) & (replica >= 0) & (replica < replicas)
    place = np.zeros(len(devices), dtype=np.uint64)
    for dimension in ("pp", "cp", "tp"):
        place = _mix(place ^ placement.coordinates[dimension].astype(np.int64).view(np.uint64))
    own = _mix(around[devices] ^ _mix(kinds.kind_of_gpu.view(np.uint64)) ^ place)
    total = np.zeros(replicas, dtype=np.uint64)
    np.add.at(total, replica[plays], own[plays])
    return bool((total == total[0]).all())


def _bundles(placement: Placement, chunked: Sequence[Exchange], replicas: int) -> IntArray:
    """Per replica the number of its bundle: those that meet in every microbatch move in lockstep."""
    replica = placement.coordinates["dp"]
    pairs = [
        np.stack([np.broadcast_to(rows[:, :1], rows.shape), rows]).reshape(2, -1)
        for exchange in chunked
        for rows in (replica[exchange.groups],)
    ]
    links = np.concatenate([np.zeros((2, 0), dtype=np.int64), *pairs], axis=1)
    links = links[:, (links >= 0).all(axis=0) & (links < replicas).all(axis=0)]
    graph = coo_array((np.ones(links.shape[1]), (links[0], links[1])), shape=(replicas, replicas))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _signatures(
    fabric: Fabric,
    placement: Placement,
    chunked: Sequence[Exchange],
    kinds: GpuKinds,
    bundle: IntArray,
    load: Load,
    stages: int,
) -> tuple[HashArray, FloatArray]:
    """Per bundle a number that is equal where compute and loads are, and its seconds altogether."""
    count = int(bundle.max()) + 1
    replica = placement.coordinates["dp"]
    of_gpu = np.where(replica >= 0, bundle[np.clip(replica, 0, len(bundle) - 1)], -1)
    apart = [
        replace(
            exchange,
            stages=(np.maximum(of_gpu[exchange.groups[:, 0]], 0) * stages + exchange.stages).astype(np.int32),
        )
        for exchange in _distinct(chunked)
    ]
    traffic = load(apart)
    usable = np.repeat(fabric.usable, 2)
    rates = usable[traffic.loads.indices]
    seconds = np.divide(traffic.loads.data, rates, out=np.zeros(len(rates)), where=rates > 0)
    rows = np.repeat(np.arange(traffic.loads.shape[0]), np.diff(traffic.loads.indptr))
    longest = np.zeros(traffic.loads.shape[0])
    np.maximum.at(longest, rows, seconds)
    together = np.bincount(rows, seconds, minlength=len(longest))
    signature = np.zeros(count, dtype=np.uint64)
    slowness = np.zeros(count)
    label = traffic.instance_stage.astype(np.int64)
    own = _mix((label % stages).view(np.uint64) ^ _mix(traffic.instance_exchange.astype(np.uint64)))
    for value in (longest, np.asarray(together, dtype=np.float64), traffic.alpha_s):
        own = _mix(own ^ _rounded(value))
    np.add.at(signature, label // stages, own)
    np.add.at(slowness, label // stages, longest)
    stage = placement.coordinates["pp"].astype(np.int64)
    plays = (stage >= 0) & (of_gpu >= 0)
    pace = np.array([[kinds.pace(kind, one) for one in range(stages)] for kind in range(len(kinds.kinds))])
    slowest = np.zeros((count, stages))
    np.maximum.at(slowest, (of_gpu[plays], stage[plays]), pace[kinds.kind_of_gpu[plays], stage[plays]])
    for number in range(stages):
        signature = _mix(signature ^ _rounded(slowest[:, number]))
    return signature, slowness + slowest.sum(axis=1)


def _rounded(value: FloatArray) -> HashArray:
    """The bits of a value without its last digits."""
    mantissa, exponent = np.frexp(value)
    return np.ldexp(np.round(mantissa * 10.0**_DIGITS), exponent).view(np.uint64)


def _distinct(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """One exchange for all that have the same groups and take the same paths."""
    found: dict[tuple[object, ...], Exchange] = {}
    for exchange in exchanges:
        key = (exchange.operation, exchange.algorithm, exchange.dedup, exchange.groups.tobytes())
        found.setdefault((*key, exchange.storage, exchange.when), exchange)
    return list(found.values())


def _slowest_apart(classes: IntArray, slowness: FloatArray, most: int) -> IntArray:
    """The slowest classes keep to themselves, the others move together."""
    worst = np.full(int(classes.max()) + 1, -np.inf)
    np.maximum.at(worst, classes, slowness)
    rest = np.argsort(-worst, kind="stable")[most - 1 :]
    merged = np.arange(len(worst))
    merged[rest] = rest.min()
    return np.asarray(merged[classes])
