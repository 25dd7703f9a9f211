"""The compiled drawing and the loads on it, as arrays.

A *directed link* has the index 2·l for link l from a to b, and 2·l + 1 from b to a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fabric:
    """One revision of a topology as arrays.

    Devices: `device_ids` (n,), `device_kind` (n,) indices into `tuple(DeviceKind)`, `device_up` (n,).
    Links: `link_ids` (l,), `link_a`, `link_b` device indices, `link_kind` indices into `tuple(LinkKind)`,
    `capacity` and `usable` bytes/s of one direction now (0 = down; usable = capacity × payload share,
    conventions 45), `latency` s, `link_count`; `in_racks` says of which links the latency is that of a
    network cable between places in racks (empty: of none).
    GPUs: `gpu_devices` (g,) device indices in topology order; `domain` (n,) the scale-up domain of each
    device (-1 = none): GPUs that reach each other over NVLink or xGMI. `rail` (n,) and `host` (n,) of each
    device, -1 = none; `host_ids` the tray around a device, or what it lies in when there is no tray.
    `routes` is the routing state of `model.traffic.routing` (opaque to everyone else).
    """

    revision: int
    device_ids: tuple[str, ...]
    device_index: Mapping[str, int]
    device_kind: NDArray[np.int8]
    device_up: NDArray[np.bool_]
    link_ids: tuple[str, ...]
    link_a: IntArray
    link_b: IntArray
    link_kind: NDArray[np.int8]
    link_count: IntArray
    capacity: FloatArray
    usable: FloatArray
    latency: FloatArray
    gpu_devices: IntArray
    domain: IntArray
    rail: IntArray
    host: IntArray
    host_ids: tuple[str, ...]
    routes: object
    in_racks: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    def ends_of(self, directed: int) -> tuple[str, str]:
        """The ids of the device that a directed link leaves, and of the one that it reaches."""
        link, backwards = divmod(directed, 2)
        a, b = self.device_ids[self.link_a[link]], self.device_ids[self.link_b[link]]
        return (b, a) if backwards else (a, b)


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A pair of GPUs (or a GPU and a storage device) of an exchange that no path joins. Ids, not indices."""

    exchange_id: str
    source: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True)
class EcmpTier:
    """How hashed flows of an exchange meet on the cables from one kind of switch to another.

    `flows` that had a choice there or before (Q per pair of NICs; rail-local ones do not count), over the
    `cables` that even routing would use. `expected` and `drawn`: how many times its even load the worst cable
    carries, by `ecmp.ecmp_expected_worst` and with the seed of the job (in the loads, the cables of one link
    share).
    """

    exchange_id: str
    from_kind: str
    to_kind: str
    flows: int
    cables: int
    expected: float
    drawn: float


@dataclass(frozen=True, slots=True)
class Alone:
    """Every instance (see `Traffic`) as if it had the links for itself.

    `wire_s` (i,): bytes of a whole step ÷ usable rate of the link that takes longest, s; α comes on top.
    """

    instance_exchange: IntArray
    instance_stage: IntArray
    alpha_s: FloatArray
    wire_s: FloatArray


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of one step on every directed link.

    An *instance* is one exchange at one pipeline stage: `instance_exchange` (i,) indexes the exchanges of the
    plan, `instance_stage` (i,) is the stage. `loads` has shape (i, 2·links): bytes **per step** (count
    included).
    `endpoint_loads` is the same, only on the links that bound the end points (conventions 48).
    `largest_edge_bytes` (i,): the bytes per step of the largest point-to-point edge of the instance; it
    normalises the max-min fair sharing. `alpha_s` (i,): α of **one** operation (conventions 45).
    `algorithms`: the algorithm that ran, one per exchange of the plan ("nvls+ring" when groups differ).
    `sent_bytes_per_gpu` per exchange: conventions 22. `unreachable` names the first pairs of each exchange,
    `unreachable_pairs` (exchanges,) counts them all. `notes`: algorithms that did not fit (conventions 18).
    `ecmp`: with hashed routing, every tier of switches in which flows had a choice.
    """

    instance_exchange: IntArray
    instance_stage: IntArray
    loads: csr_array
    endpoint_loads: csr_array
    largest_edge_bytes: FloatArray
    alpha_s: FloatArray
    algorithms: tuple[str, ...]
    sent_bytes_per_gpu: FloatArray
    unreachable: tuple[Unreachable, ...]
    unreachable_pairs: IntArray
    notes: tuple[str, ...]
    ecmp: tuple[EcmpTier, ...] = ()
