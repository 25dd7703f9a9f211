"""Which layer each link belongs to: what can be shown or left out by itself.

A NIC without a rail beside others of its host that have one carries none of the training traffic: it is for
storage or management. Switches that no other NIC reaches belong to it, with all their links. Where a storage
device hangs on such switches the network is that of storage, else that of management.
"""

from __future__ import annotations

from collections.abc import Set
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gui.canvas.scene_index import KIND_CODE, LINK_CODE, NIC, IntArray, SceneIndex
from gui.context import LAYERS
from model.topology.types import HOST_LINKS, NETWORK_LINKS, NETWORK_SWITCHES, SCALE_UP_LINKS, DeviceKind

BoolArray = NDArray[np.bool_]
_FABRIC, _STORAGE, _MANAGEMENT = (LAYERS.index(name) for name in ("fabric", "storage", "management"))
_SWITCHES = [KIND_CODE[kind] for kind in (*NETWORK_SWITCHES, DeviceKind.SITE_GATEWAY)]
_known: WeakKeyDictionary[SceneIndex, tuple[int, NDArray[np.int8]]] = WeakKeyDictionary()


def layer_of_links(index: SceneIndex) -> NDArray[np.int8]:
    """(m,) for each link the position of its layer in `LAYERS`; kept until the wiring changes."""
    kept = _known.get(index)
    if kept is None or kept[0] != index.wiring:
        kept = (index.wiring, _layers(index))
        _known[index] = kept
    return kept[1]


def layers_shown(index: SceneIndex, layers: Set[str]) -> BoolArray:
    """(m,) which links belong to one of the layers."""
    return np.isin(layer_of_links(index), [LAYERS.index(name) for name in layers if name in LAYERS])


def _layers(index: SceneIndex) -> NDArray[np.int8]:
    layer = np.full(len(index.link_kind), _FABRIC, dtype=np.int8)
    storage = index.kind == KIND_CODE[DeviceKind.STORAGE]
    aside = _aside(index)
    if aside.any():
        layer[_links_aside(index, aside)] = _MANAGEMENT
        layer[_storage_links(index, layer == _MANAGEMENT, storage)] = _STORAGE
    layer[storage[index.ends].any(axis=1)] = _STORAGE
    for kinds, name in ((SCALE_UP_LINKS, "scale-up"), (HOST_LINKS, "pcie")):
        layer[np.isin(index.link_kind, [LINK_CODE[kind] for kind in kinds])] = LAYERS.index(name)
    return layer


def _aside(index: SceneIndex) -> BoolArray:
    """(n,) NICs without a rail whose host has others that have one."""
    nics = np.flatnonzero((index.kind == NIC) & (index.parent >= 0))
    railed = np.array([index.devices[row].rail is not None for row in nics.tolist()], dtype=bool)
    aside = np.zeros(len(index.devices), dtype=bool)
    aside[nics] = ~railed & np.isin(index.parent[nics], index.parent[nics[railed]])
    return aside


def _network(index: SceneIndex) -> BoolArray:
    return np.isin(index.link_kind, [LINK_CODE[kind] for kind in NETWORK_LINKS])


def _links_aside(index: SceneIndex, aside: BoolArray) -> BoolArray:
    """(m,) network links of these NICs, and those of switches that only they and storage reach."""
    ends, network = index.ends, _network(index)
    switch = np.isin(index.kind, _SWITCHES)
    own = ~aside & ~switch & (index.kind != KIND_CODE[DeviceKind.STORAGE])
    nets = _joined(index, network & switch[ends].all(axis=1))
    taken = np.zeros(int(nets.max(initial=-1)) + 1, dtype=bool)
    reached = np.zeros_like(taken)
    for near, far in ((0, 1), (1, 0)):
        at_switch = network & switch[ends[:, near]]
        taken[nets[ends[at_switch & own[ends[:, far]], near]]] = True
        reached[nets[ends[at_switch & aside[ends[:, far]], near]]] = True
    lone = switch & (reached & ~taken)[nets]
    return network & (aside | lone)[ends].any(axis=1)


def _storage_links(index: SceneIndex, among: BoolArray, storage: BoolArray) -> BoolArray:
    """(m,) those of some links that join a network with a storage device."""
    nets = _joined(index, among)
    holds = np.zeros(int(nets.max(initial=-1)) + 1, dtype=bool)
    holds[nets[storage]] = True
    return among & holds[nets[index.ends[:, 0]]]


def _joined(index: SceneIndex, links: BoolArray) -> IntArray:
    """(n,) a number for each device, equal where links join them."""
    count, ends = len(index.devices), index.ends[links]
    graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int32)
