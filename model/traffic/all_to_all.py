"""Edges of all-to-all exchanges: direct, rail-aligned over a relay (PXN), and deduplicated per node."""

from __future__ import annotations

import numpy as np

from model.job.exchange import Dedup
from model.traffic.arrays import NO_INDEX, FloatArray, IndexArray, expand
from model.traffic.edges import NUMBER, Algorithm, Edges, no_aggregation
from model.traffic.latency import deduplicated_s, hop_s
from model.traffic.parts import Parts, cut_into_parts
from model.traffic.routing import routes_of
from model.traffic.types import Fabric


def all_to_all_edges(fabric: Fabric, groups: IndexArray, asked: str, dedup: Dedup | None) -> Edges:
    """The edges of an all-to-all over `groups` (n, size); S is one member's send buffer.

    What does not fit runs as the automatic choice: pxn where the group has several parts and every domain
    that it touches a NIC for each of its GPUs (convention 17), else direct.
    """
    if asked == Algorithm.DEDUPLICATED and dedup is not None:
        return _deduplicated_edges(fabric, groups, dedup)
    rows, size = groups.shape
    parts = cut_into_parts(fabric, groups)
    ready = routes_of(fabric).pxn_ready[groups].all(axis=1)
    several = parts.group_size > 1
    pxn = several if asked == Algorithm.PXN else ready & several & (asked != Algorithm.DIRECT)
    fallback = None
    if asked == Algorithm.DEDUPLICATED:
        fallback = (rows, "deduplicated is for tokens on their way to experts, the automatic choice runs")
    elif asked not in ("auto", Algorithm.DIRECT, Algorithm.PXN):
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
    edges = len(source) + len(extra)
    return Edges(
        np.concatenate([source, relay[extra]]),
        np.concatenate([ends, target[extra]]),
        np.full(edges, 1.0 / size),
        np.concatenate([row, row[extra]]),
        np.zeros(edges, np.int64),
        np.concatenate([flows, extra]),
        source,
        target,
        NO_INDEX,
        0.0,
        no_aggregation(rows),
        np.where(pxn, NUMBER[Algorithm.PXN], NUMBER[Algorithm.DIRECT]),
        hop_s(~several) if size > 1 else np.zeros(rows),
        np.ones(rows),
        fallback,
    )


def _deduplicated_edges(fabric: Fabric, groups: IndexArray, dedup: Dedup) -> Edges:
    """One copy of a token per remote part, then on to each expert's GPU (traffic_model §3.4).

    With n members, k copies a token and M parts, all experts equally likely: a member sends S/n straight to
    each other member of its own part. To another part j it sends p_j · S/k, to the member at its own place
    (modulo the size of j: the same rail), and that one hands S/n on to every other member of j. p_j is the
    chance that a token has an expert there: 1 − C(E − E_j, k) / C(E, k), E_j of E experts being on j, but
    with a node limit G < M at most G/M (DeepSeek's count, which takes all G nodes as used).
    """
    rows, size = groups.shape
    parts = cut_into_parts(fabric, groups)
    part = np.repeat(np.arange(len(parts.size), dtype=np.int64), parts.size)
    group = parts.group[part]
    sender, other = expand(parts.group_first[group], parts.group_size[group])
    remote = other != part[sender]
    sender, other = sender[remote], other[remote]
    place = sender - parts.first[part[sender]]
    landing = parts.first[other] + place % parts.size[other]
    on_wire = _chance_of_part(parts, size, dedup)[other] / dedup.copies_per_token
    crossing, onward = expand(parts.first[other], parts.size[other])
    moved = onward != landing[crossing]
    crossing, onward = crossing[moved], onward[moved]
    own, peer = expand(parts.first[part], parts.size[part])
    apart = peer != own
    own, peer = own[apart], peer[apart]
    device, wires = parts.member, len(sender)
    source = np.concatenate([device[sender], device[landing[crossing]], device[own]])
    target = np.concatenate([device[landing], device[onward], device[peer]])
    flow_source = np.concatenate([device[sender], device[own]])
    flow_target = np.concatenate([device[landing], device[peer]])
    if dedup.combine:
        source, target = target, source
        flow_source, flow_target = flow_target, flow_source
    several = parts.group_size > 1
    return Edges(
        source,
        target,
        np.concatenate([on_wire, np.full(len(crossing) + len(own), 1.0 / size)]),
        np.concatenate([group[sender], group[sender][crossing], group[own]]),
        np.zeros(len(source), np.int64),
        np.concatenate([np.arange(wires), crossing, wires + np.arange(len(own))]),
        flow_source,
        flow_target,
        NO_INDEX,
        0.0,
        no_aggregation(rows),
        np.where(several, NUMBER[Algorithm.DEDUPLICATED], NUMBER[Algorithm.DIRECT]),
        deduplicated_s(several) if size > 1 else np.zeros(rows),
        np.ones(rows),
        None,
    )


def _chance_of_part(parts: Parts, size: int, dedup: Dedup) -> FloatArray:
    """(parts,): the chance that a token has at least one of its experts on the part."""
    experts, copies = dedup.experts, min(dedup.copies_per_token, dedup.experts)
    here, inverse = np.unique(parts.size, return_inverse=True)
    drawn = np.arange(copies)
    elsewhere = experts - experts * here / size
    missed = np.maximum((elsewhere[:, None] - drawn) / (experts - drawn), 0.0).prod(axis=1)
    limit = np.ones(len(parts.group_size))
    if dedup.node_limit is not None:
        limit = np.minimum(dedup.node_limit / parts.group_size, 1.0)
    chance: FloatArray = np.minimum((1.0 - missed)[inverse], limit[parts.group])
    return chance
