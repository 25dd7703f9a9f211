"""Paths inside a host: from each GPU to its NICs and to its peers over PCIe and C2C (conventions 1–3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.traffic.arrays import (
    NO_FLOAT,
    NO_INDEX,
    Arcs,
    BoolArray,
    FloatArray,
    IndexArray,
    any_by_row,
    expand,
    find,
    index_array,
    sum_by_key,
)


@dataclass(frozen=True, slots=True)
class HostPaths:
    """Least-cost paths from every GPU over live host links, passing only PCIe switches and CPUs.

    `keys` (ascending) = GPU · devices + reached device; `hops` and `paths` the length and the number of
    the least-cost paths.
    """

    arcs: Arcs
    transit: BoolArray
    keys: IndexArray
    hops: IndexArray
    paths: FloatArray

    def joined(self, gpu: IndexArray, device: IndexArray) -> BoolArray:
        """Whether a host path joins each pair."""
        return find(self.keys, gpu * len(self.transit) + device) >= 0

    def shares(self, gpu: IndexArray, device: IndexArray) -> tuple[IndexArray, IndexArray, FloatArray]:
        """How one byte from gpu[i] to device[i] spreads: (pair, directed link, share).

        All least-cost paths share evenly, parallel links are paths of their own. Every pair must be joined.
        """
        devices = len(self.transit)
        pair, node = np.arange(len(gpu), dtype=np.int64), device
        weight = np.ones(len(gpu))
        pairs, links, weights = [NO_INDEX], [NO_INDEX], [NO_FLOAT]
        while True:
            away = node != gpu[pair]
            pair, node, weight = pair[away], node[away], weight[away]
            if not len(node):
                break
            here = find(self.keys, gpu[pair] * devices + node)
            entry, arc = self.arcs.of(node)
            before = self.arcs.head[arc]
            there = find(self.keys, gpu[pair][entry] * devices + before)
            on_path = (there >= 0) & (self.transit[before] | (before == gpu[pair][entry]))
            on_path &= self.hops[there] == self.hops[here][entry] - 1
            entry, arc, there = entry[on_path], arc[on_path], there[on_path]
            part = weight[entry] * self.paths[there] / self.paths[here][entry]
            pairs.append(pair[entry])
            links.append(self.arcs.link[arc] ^ 1)
            weights.append(part)
            merged, weight = sum_by_key(pair[entry] * devices + self.arcs.head[arc], part)
            pair, node = merged // devices, merged % devices
        return np.concatenate(pairs), np.concatenate(links), np.concatenate(weights)


def find_host_paths(gpus: IndexArray, arcs: Arcs, transit: BoolArray) -> HostPaths:
    """Breadth-first from all GPUs at once. `arcs`: both directions of the live host links."""
    devices = len(transit)
    front_gpu, front_node = gpus, gpus
    front_paths = np.ones(len(gpus))
    seen = np.sort(gpus * devices + gpus)
    keys, hops, paths = [seen], [np.zeros(len(gpus), np.int64)], [front_paths]
    distance = 0
    while len(front_node):
        distance += 1
        entry, arc = arcs.of(front_node)
        reached, count = sum_by_key(front_gpu[entry] * devices + arcs.head[arc], front_paths[entry])
        new = find(seen, reached) < 0
        reached, count = reached[new], count[new]
        keys.append(reached)
        hops.append(np.full(len(reached), distance, np.int64))
        paths.append(count)
        seen = np.sort(np.concatenate([seen, reached]))
        onward = transit[reached % devices]
        front_gpu, front_node = reached[onward] // devices, reached[onward] % devices
        front_paths = count[onward]
    all_keys = np.concatenate(keys)
    order = np.argsort(all_keys)
    return HostPaths(
        arcs, transit, all_keys[order], np.concatenate(hops)[order], np.concatenate(paths)[order]
    )


@dataclass(frozen=True, slots=True)
class NicTable:
    """The NICs that each GPU uses: rows `first[d]` … `first[d + 1] − 1` belong to device d.

    A storage device is its own NIC, with no host path. Further rows, `other_first[d]` … , are the NICs that
    convention 2 leaves out because they have no rail: they serve storage that the others do not reach.

    `gpu`, `nic` (rows,) devices; `rail` (rows,) of the NIC, −1 = none; `hops` (rows,) to it. The host path of
    a row spreads over entries `path_first[row]` … : `path_link` directed links from GPU to NIC (back:
    link ^ 1), `path_share`.
    `near_gpu`, `near_nic`: every usable NIC at the least cost, before the rail preference.
    """

    first: IndexArray
    gpu: IndexArray
    nic: IndexArray
    rail: IndexArray
    hops: IndexArray
    other_first: IndexArray
    path_first: IndexArray
    path_link: IndexArray
    path_share: FloatArray
    near_gpu: IndexArray
    near_nic: IndexArray

    def of(self, gpus: IndexArray) -> tuple[IndexArray, IndexArray]:
        """`(owner, row)`: every NIC row of gpus[owner]."""
        return expand(self.first[gpus], self.first[gpus + 1] - self.first[gpus])

    def others_of(self, gpus: IndexArray) -> tuple[IndexArray, IndexArray]:
        """`(owner, row)`: every NIC of gpus[owner] that convention 2 leaves out."""
        return expand(self.other_first[gpus], self.other_first[gpus + 1] - self.other_first[gpus])


def choose_nics(
    paths: HostPaths, is_nic: BoolArray, is_storage: BoolArray, connected: BoolArray, rail: IndexArray
) -> NicTable:
    """Conventions 1 and 2. `connected`: devices that are up with a live network link; `rail` −1 = none."""
    storage = np.flatnonzero(is_storage & connected)
    devices = len(is_nic)
    rows = np.flatnonzero(is_nic[paths.keys % devices])
    gpu, nic, hops = paths.keys[rows] // devices, paths.keys[rows] % devices, paths.hops[rows]
    some_rail = any_by_row(gpu, rail[nic] >= 0, devices)
    usable = connected[nic] & ((rail[nic] >= 0) | ~some_rail[gpu])
    left_out = connected[nic] & ~usable & (len(storage) > 0)
    other_gpu, other_nic, other_hops = gpu[left_out], nic[left_out], hops[left_out]
    gpu, nic, hops = gpu[usable], nic[usable], hops[usable]
    nearest = np.full(devices, np.iinfo(np.int64).max)
    np.minimum.at(nearest, gpu, hops)
    near = hops == nearest[gpu]
    near_gpu, near_nic = gpu[near], nic[near]
    own = (rail[near_nic] >= 0) & (rail[near_nic] == rail[near_gpu])
    chosen = own | ~any_by_row(near_gpu, own, devices)[near_gpu]
    gpu = np.concatenate([near_gpu[chosen], storage])
    nic = np.concatenate([near_nic[chosen], storage])
    hops = np.concatenate([hops[near][chosen], np.zeros_like(storage)])
    order = np.argsort(gpu, kind="stable")
    first, other_first = (_starts(owner, devices) for owner in (gpu, other_gpu))
    other_first += len(gpu)
    gpu, nic = np.concatenate([gpu[order], other_gpu]), np.concatenate([nic[order], other_nic])
    hops = np.concatenate([hops[order], other_hops])
    pair, link, share = paths.shares(gpu, nic)
    order = np.argsort(pair, kind="stable")
    return NicTable(
        first,
        gpu,
        nic,
        index_array(rail[nic]),
        hops,
        other_first,
        _starts(pair, len(gpu)),
        link[order],
        share[order],
        near_gpu,
        near_nic,
    )


def _starts(owner: IndexArray, owners: int) -> IndexArray:
    """(owners + 1,): where the items of each owner begin when they are sorted by owner."""
    first = np.zeros(owners + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=owners), out=first[1:])
    return first
