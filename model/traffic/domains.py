"""Scale-up domains: which one each GPU is in, how far groups reach over them, what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.placement.types import Placement
from model.topology.names import LINK_NAMES
from model.topology.types import SCALE_UP_LINKS, DeviceKind, LinkKind
from model.traffic.arrays import BoolArray, IndexArray
from model.traffic.fabric import gpu_indices
from model.traffic.types import Fabric

_COMPACT = ("tp", "cp", "ep")


@dataclass(frozen=True, slots=True)
class Spans:
    """Over how many domains the most scattered group of tp, cp and ep reaches; `name`: "NVLink domain"."""

    of: Mapping[str, int] = field(default_factory=dict)
    name: str = "scale-up domain"


def domain_spans(fabric: Fabric, placement: Placement) -> Spans:
    """How far the groups of a placement reach."""
    domain = domains_of(fabric, placement)
    widest = {key: _most_domains(domain, placement.groups[key]) for key in _COMPACT}
    return Spans(widest, domain_name(fabric))


def _most_domains(domain: IndexArray, groups: Sequence[NDArray[np.integer]]) -> int:
    """Over how many domains the most scattered of some groups reaches."""
    if not len(groups):
        return 1
    members = domain[np.concatenate(list(groups))]
    number = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    order = np.lexsort((members, number))
    number, members = number[order], members[order]
    fresh = (np.diff(number, prepend=-1) != 0) | (np.diff(members, prepend=members[0]) != 0)
    return int(np.bincount(number[fresh]).max())


def full_mesh(fabric: Fabric, groups: IndexArray) -> BoolArray:
    """(groups,): which groups (n, size) of devices have a working scale-up link between every two members."""
    scale_up = [tuple(LinkKind).index(kind) for kind in SCALE_UP_LINKS]
    is_gpu = fabric.device_kind == tuple(DeviceKind).index(DeviceKind.GPU)
    a, b = fabric.link_a.astype(np.int64), fabric.link_b.astype(np.int64)
    joins = np.isin(fabric.link_kind, scale_up) & is_gpu[a] & is_gpu[b] & (fabric.usable > 0)
    if not joins.any():
        return np.zeros(len(groups), np.bool_)
    count, size = len(fabric.device_ids), groups.shape[1]
    linked = np.unique(np.minimum(a, b)[joins] * count + np.maximum(a, b)[joins])
    peers = np.bincount(np.concatenate((linked // count, linked % count)), minlength=count)
    # Pairs grow with the square of a group, so they are looked at only where every member has links enough.
    enough = np.flatnonzero((peers[groups] >= size - 1).all(axis=1))
    found = np.zeros(len(groups), np.bool_)
    if len(enough):
        one, other = np.triu_indices(size, 1)
        members = groups[enough].astype(np.int64)
        low, high = (order(members[:, one], members[:, other]) for order in (np.minimum, np.maximum))
        found[enough] = np.isin(low * count + high, linked).all(axis=1)
    return found


def domains_of(fabric: Fabric, placement: Placement) -> IndexArray:
    """The domain of each GPU of the placement; one without scale-up links is a domain of its own."""
    devices = gpu_indices(fabric, placement.gpus).astype(np.int64)
    domain = fabric.domain[devices].astype(np.int64)
    return np.where(domain >= 0, domain, -1 - devices)


def domain_name(fabric: Fabric) -> str:
    """What such a domain is called in this drawing."""
    kinds = {tuple(LinkKind)[number] for number in np.unique(fabric.link_kind).tolist()} & SCALE_UP_LINKS
    return f"{LINK_NAMES[kinds.pop()] if len(kinds) == 1 else 'scale-up'} domain"
