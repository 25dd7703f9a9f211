"""A collective as point-to-point edges, for all groups of an exchange at once (traffic_model §5.1, §5.1c).

Edges carry bytes per byte of the message S, so that exchanges over the same groups share one routing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from model.catalog.load import catalog
from model.errors import NotBuiltError
from model.job.exchange import Operation
from model.traffic.arrays import NO_INDEX, BoolArray, FloatArray, IndexArray, expand
from model.traffic.routing import routes_of
from model.traffic.types import Fabric

SMALLEST_AUTOMATIC_NVLS = 4


class Algorithm(StrEnum):
    """How a collective runs; the values are those of the traffic JSON."""

    RING = "ring"
    NVLS = "nvls"
    DIRECT = "direct"
    PXN = "pxn"


Pattern = Literal["all-reduce", "gather", "all-to-all", "send"]

PATTERN: dict[Operation, Pattern] = {
    Operation.ALL_REDUCE: "all-reduce",
    Operation.ALL_GATHER: "gather",
    Operation.REDUCE_SCATTER: "gather",
    Operation.ALL_TO_ALL: "all-to-all",
    Operation.SEND: "send",
}


@dataclass(frozen=True, slots=True)
class Parts:
    """Groups cut into parts, one per scale-up domain, in the order in which members first meet the domains.

    `member` lists the devices of all groups, by part and inside a part in group order. Part p belongs to
    group `group[p]` and holds member[first[p]] … member[first[p] + size[p] − 1]; the parts of group g are
    group_first[g] … group_first[g] + group_size[g] − 1. `part_of`, `place_in` (groups, size): of each member.
    """

    member: IndexArray
    group: IndexArray
    first: IndexArray
    size: IndexArray
    group_first: IndexArray
    group_size: IndexArray
    part_of: IndexArray
    place_in: IndexArray


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of all groups of an exchange. All amounts are bytes per byte of S.

    `source`, `target` are devices, `group` the row of the groups. Edges of one `flow` carry the same bytes
    on after each other (a PXN relay); a flow goes from `flow_source` to `flow_target`. `multicast` lists the
    groups that run NVLS: each member sends `multicast_bytes` to the switch planes and gets as much back.
    `algorithm` (groups,) indexes `tuple(Algorithm)`. `alpha_s` (groups,): of one operation.
    `fallback`: how many groups could not run the algorithm asked for, and the reason.
    """

    source: IndexArray
    target: IndexArray
    amount: FloatArray
    group: IndexArray
    flow: IndexArray
    flow_source: IndexArray
    flow_target: IndexArray
    multicast: IndexArray
    multicast_bytes: float
    algorithm: IndexArray
    alpha_s: FloatArray
    fallback: tuple[int, str] | None


_NUMBER = {algorithm: number for number, algorithm in enumerate(Algorithm)}


def cut_into_parts(fabric: Fabric, groups: IndexArray) -> Parts:
    """The parts of `groups` (n, size), device indices."""
    rows, size = groups.shape
    devices = len(fabric.device_ids)
    domain = fabric.domain[groups].astype(np.int64)
    domain = np.where(domain >= 0, domain, devices + groups)
    row = np.repeat(np.arange(rows, dtype=np.int64), size)
    place = np.tile(np.arange(size, dtype=np.int64), rows)
    _, first, inverse = np.unique(
        row * (2 * devices) + domain.ravel(), return_index=True, return_inverse=True
    )
    # `first` is the flat place of the member that meets the domain first, so sorting by it orders the parts.
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    part = number[inverse]
    by_part = np.lexsort((place, part))
    part_size = np.bincount(part, minlength=len(first))
    part_first = np.cumsum(part_size) - part_size
    place_in = np.empty(rows * size, np.int64)
    place_in[by_part] = np.arange(rows * size) - part_first[part[by_part]]
    group = row[first[order]]
    group_size = np.bincount(group, minlength=rows)
    return Parts(
        member=groups.ravel()[by_part],
        group=group,
        first=part_first,
        size=part_size,
        group_first=np.cumsum(group_size) - group_size,
        group_size=group_size,
        part_of=part.reshape(rows, size),
        place_in=place_in.reshape(rows, size),
    )


def collective_edges(fabric: Fabric, groups: IndexArray, operation: Operation, algorithm: str) -> Edges:
    """The edges of `operation` over `groups` (n, size) device indices.

    `algorithm` is "auto" or a value of `Algorithm`; what does not fit the operation or a group falls back
    to ring (all-to-all: to the automatic choice). Raises NotBuiltError for other operations and algorithms.

    α of one operation is that of NCCL's model for the Simple protocol (§5.3): a ring takes its base latency
    and one step of NVLink latency each, but those steps that go between parts (2(M − 1) of an all-reduce
    over M parts, M − 1 of a gather or scatter) take network latency; NVLS takes its latency once; an
    all-to-all (direct or PXN) and a send take one network step, or one NVLink step inside one domain.
    """
    if operation not in PATTERN:
        raise NotBuiltError(f"not built yet: traffic of the operation {operation.value!r}.")
    if algorithm != "auto" and algorithm not in set(Algorithm):
        raise NotBuiltError(f"not built yet: the collective algorithm {algorithm!r}.")
    pattern = PATTERN[operation]
    if pattern == "send":
        return _send_edges(fabric, groups)
    if pattern == "all-to-all":
        return _all_to_all_edges(fabric, groups, algorithm)
    return _ring_or_nvls_edges(fabric, groups, pattern == "all-reduce", algorithm)


def _send_edges(fabric: Fabric, groups: IndexArray) -> Edges:
    source, target = groups[:, 0], groups[:, 1]
    rows = np.arange(len(groups), dtype=np.int64)
    domain = fabric.domain
    inside = (domain[source] == domain[target]) & (domain[source] >= 0)
    return Edges(
        source,
        target,
        np.ones(len(groups)),
        rows,
        rows,
        source,
        target,
        NO_INDEX,
        0.0,
        np.full(len(groups), _NUMBER[Algorithm.DIRECT]),
        _hop(inside),
        None,
    )


def _hop(inside: BoolArray) -> FloatArray:
    alpha = catalog().alpha
    return np.where(inside, alpha.hop_s("ring", "nvlink"), alpha.hop_s("ring", "network"))


def _ring_or_nvls_edges(fabric: Fabric, groups: IndexArray, all_reduce: bool, asked: str) -> Edges:
    rows, size = groups.shape
    parts = cut_into_parts(fabric, groups)
    one_part = parts.group_size == 1
    factor = (2.0 if all_reduce else 1.0) * (size - 1) / size
    multicast = np.zeros(rows, np.bool_)
    fallback: tuple[int, str] | None = None
    if all_reduce and size > 1 and asked in ("auto", Algorithm.NVLS):
        candidates = np.flatnonzero(one_part)
        multicast[candidates] = routes_of(fabric).scale_up.multicast_groups(groups[candidates])
        if asked == "auto" and size < SMALLEST_AUTOMATIC_NVLS:
            multicast[:] = False
    if asked in (Algorithm.DIRECT, Algorithm.PXN):
        fallback = (rows, f"{asked} is for all-to-all only")
    elif asked == Algorithm.NVLS and not all_reduce:
        fallback = (rows, "nvls is for all-reduce only")
    elif asked == Algorithm.NVLS and size > 1 and not multicast.all():
        reason = "nvls needs one scale-up domain whose NVLink switches can reduce"
        fallback = (int((~multicast).sum()), reason)
    source, target, amount, group = _ring(parts, ~multicast, factor)
    flows = np.arange(len(source), dtype=np.int64)
    alpha = catalog().alpha
    steps = (2 if all_reduce else 1) * (size - 1)
    between = (2 if all_reduce else 1) * (parts.group_size - 1)
    ring_alpha = (
        alpha.base_s("ring")
        + (steps - between) * alpha.hop_s("ring", "nvlink")
        + between * alpha.hop_s("ring", "network")
    )
    return Edges(
        source,
        target,
        amount,
        group,
        flows,
        source,
        target,
        np.flatnonzero(multicast),
        1.0 + 1.0 / size,
        np.where(multicast, _NUMBER[Algorithm.NVLS], _NUMBER[Algorithm.RING]),
        np.where(multicast, alpha.nvls_hop_s("nvlink"), ring_alpha if size > 1 else 0.0),
        fallback,
    )


def _ring(
    parts: Parts, wanted: BoolArray, factor: float
) -> tuple[IndexArray, IndexArray, FloatArray, IndexArray]:
    """Rings of the wanted groups: (source, target, bytes, group)."""
    # Inside every part of at least two members: the cycle over them, all channels together V on each hop.
    inner = np.flatnonzero(wanted[parts.group] & (parts.size > 1))
    owner, at = expand(parts.first[inner], parts.size[inner])
    part = inner[owner]
    following = parts.first[part] + (at - parts.first[part] + 1) % parts.size[part]
    # Between parts: channel c joins member c of each part to member c of the next, V / C each.
    several = wanted & (parts.group_size > 1)
    linked = np.flatnonzero(several[parts.group])
    channels = np.zeros(len(parts.group_first), np.int64)
    if len(parts.size):
        channels = np.minimum.reduceat(parts.size, parts.group_first)
    group = parts.group[linked]
    index = linked - parts.group_first[group]
    next_part = parts.group_first[group] + (index + 1) % parts.group_size[group]
    hop, start = expand(parts.first[linked], channels[group])
    channel = start - parts.first[linked][hop]
    end = parts.first[next_part][hop] + channel
    return (
        np.concatenate([parts.member[at], parts.member[start]]),
        np.concatenate([parts.member[following], parts.member[end]]),
        np.concatenate([np.full(len(at), factor), factor / channels[group][hop]]),
        np.concatenate([parts.group[part], group[hop]]),
    )


def _all_to_all_edges(fabric: Fabric, groups: IndexArray, asked: str) -> Edges:
    rows, size = groups.shape
    parts = cut_into_parts(fabric, groups)
    ready = routes_of(fabric).pxn_ready[groups].all(axis=1)
    several = parts.group_size > 1
    pxn = several if asked == Algorithm.PXN else ready & several & (asked != Algorithm.DIRECT)
    fallback = None
    if asked in (Algorithm.RING, Algorithm.NVLS):
        fallback = (rows, f"{asked} is not for all-to-all, the automatic choice runs")
    row, a, b = np.nonzero(np.broadcast_to(~np.eye(size, dtype=np.bool_), (rows, size, size)))
    source, target = groups[row, a], groups[row, b]
    part_a = parts.part_of[row, a]
    place = parts.place_in[row, b]
    relayed = pxn[row] & (part_a != parts.part_of[row, b]) & (place < parts.size[part_a])
    relay = parts.member[np.where(relayed, parts.first[part_a] + place, 0)] if len(row) else NO_INDEX
    relayed &= relay != source
    flows = np.arange(len(source), dtype=np.int64)
    ends = np.where(relayed, relay, target)
    extra = np.flatnonzero(relayed)
    return Edges(
        np.concatenate([source, relay[extra]]),
        np.concatenate([ends, target[extra]]),
        np.full(len(source) + len(extra), 1.0 / size),
        np.concatenate([row, row[extra]]),
        np.concatenate([flows, extra]),
        source,
        target,
        NO_INDEX,
        0.0,
        np.where(pxn, _NUMBER[Algorithm.PXN], _NUMBER[Algorithm.DIRECT]),
        _hop(~several) if size > 1 else np.zeros(rows),
        fallback,
    )
