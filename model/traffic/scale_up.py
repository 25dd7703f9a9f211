"""Paths inside a scale-up domain: direct links, switch planes, and longer NVLink paths (convention 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.traffic.arrays import (
    Arcs,
    BoolArray,
    Emission,
    FloatArray,
    IndexArray,
    expand,
    find,
    make_arcs,
    sum_by_key,
    weighted_count,
)
from model.traffic.network import SplitNetwork


@dataclass(frozen=True, slots=True)
class Bundles:
    """Live links joined per ordered pair of devices.

    `keys` (ascending) = tail · devices + head. Bundle b has `count[b]` lanes on the links
    first[b] … first[b + 1] − 1 of `link` (directed, tail to head), each with `share` of the lanes.
    """

    keys: IndexArray
    count: FloatArray
    first: IndexArray
    link: IndexArray
    share: FloatArray

    def links_of(self, bundle: IndexArray) -> tuple[IndexArray, IndexArray]:
        """`(owner, position)` in `link` and `share` of every link of bundle[owner]."""
        return expand(self.first[bundle], self.first[bundle + 1] - self.first[bundle])


def _bundle(arcs: Arcs, keep: BoolArray, devices: int) -> Bundles:
    key = arcs.tail[keep] * devices + arcs.head[keep]
    order = np.argsort(key, kind="stable")
    key, link, weight = key[order], arcs.link[keep][order], arcs.weight[keep][order]
    keys, start, inverse = np.unique(key, return_index=True, return_inverse=True)
    count = weighted_count(inverse, weight, len(keys))
    return Bundles(keys, count, np.append(start, len(key)), link, weight / count[inverse])


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """The live NVLink and xGMI links. `domain` (devices,): −1 = none.

    `direct`: bundles GPU → GPU. `planes`: bundles GPU → switch, those of device d at plane_first[d] … .
    `signature`: GPUs with the same planes and counts have the same number (−1: no planes).
    """

    domain: IndexArray
    direct: Bundles
    planes: Bundles
    plane_first: IndexArray
    plane_switch: IndexArray
    signature: IndexArray
    network: SplitNetwork
    sharp: BoolArray

    def planes_of(self, gpus: IndexArray) -> tuple[IndexArray, IndexArray]:
        """`(owner, bundle)`: every plane bundle of gpus[owner]."""
        return expand(self.plane_first[gpus], self.plane_first[gpus + 1] - self.plane_first[gpus])

    def common_planes(
        self, source: IndexArray, target: IndexArray
    ) -> tuple[IndexArray, IndexArray, FloatArray]:
        """`(pair, bundle of the source, min(count, count))` of every plane that both ends reach."""
        pair, bundle = self.planes_of(source)
        devices = len(self.domain)
        other = find(self.planes.keys, target[pair] * devices + self.plane_switch[bundle])
        both = other >= 0
        pair, bundle, other = pair[both], bundle[both], other[both]
        return pair, bundle, np.minimum(self.planes.count[bundle], self.planes.count[other])

    def push_direct(
        self, source: IndexArray, target: IndexArray, amount: FloatArray, column: IndexArray, out: Emission
    ) -> None:
        """Over the direct links of each pair, by count."""
        bundle = find(self.direct.keys, source * len(self.domain) + target)
        entry, position = self.direct.links_of(bundle)
        out.add(column[entry], self.direct.link[position], amount[entry] * self.direct.share[position])

    def push_planes(
        self, source: IndexArray, target: IndexArray, amount: FloatArray, column: IndexArray, out: Emission
    ) -> None:
        """Over the common planes of each pair, by min(count, count)."""
        devices = len(self.domain)
        same = self.signature[source] == self.signature[target]
        # Ends with the same planes and counts: the split is the GPU's own, whoever the other end is.
        for end, reverse in ((source, 0), (target, 1)):
            keys, total = sum_by_key(column[same] * devices + end[same], amount[same])
            entry, bundle = self.planes_of(keys % devices)
            lanes = np.bincount(entry, weights=self.planes.count[bundle], minlength=len(keys))
            part = total[entry] * self.planes.count[bundle] / lanes[entry]
            self._on_bundles(bundle, part, (keys // devices)[entry], out, reverse)
        source, target, amount, column = source[~same], target[~same], amount[~same], column[~same]
        pair, bundle, weight = self.common_planes(source, target)
        part = amount[pair] * weight / np.bincount(pair, weights=weight, minlength=len(source))[pair]
        self._on_bundles(bundle, part, column[pair], out, 0)
        arriving = find(self.planes.keys, target[pair] * devices + self.plane_switch[bundle])
        self._on_bundles(arriving, part, column[pair], out, 1)

    def push_multicast(
        self, groups: IndexArray, amount: FloatArray, column: IndexArray, out: Emission
    ) -> None:
        """NVLS: each member sends `amount` to the planes of its group and gets as much back, by link count.

        `groups` (n, size) devices; every group must have passed `multicast_groups`.
        """
        rows, size = groups.shape
        entry, bundle = self._shared_planes(groups)
        lanes = np.bincount(entry, weights=self.planes.count[bundle], minlength=rows * size)
        part = amount[entry // size] * self.planes.count[bundle] / lanes[entry]
        self._on_bundles(bundle, part, column[entry // size], out, 0)
        self._on_bundles(bundle, part, column[entry // size], out, 1)

    def multicast_groups(self, groups: IndexArray) -> BoolArray:
        """Which groups lie behind common planes that can all reduce and multicast (convention 18)."""
        rows, size = groups.shape
        entry, bundle = self._shared_planes(groups)
        row = entry // size
        some = np.bincount(row, minlength=rows) > 0
        blind = np.bincount(row, weights=~self.sharp[self.plane_switch[bundle]], minlength=rows) > 0
        return some & ~blind

    def _shared_planes(self, groups: IndexArray) -> tuple[IndexArray, IndexArray]:
        """`(member, bundle)` of the planes that all members of a group reach; member = row · size + place."""
        devices, size = len(self.domain), groups.shape[1]
        entry, bundle = self.planes_of(groups.ravel())
        key = entry // size * devices + self.plane_switch[bundle]
        _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
        shared = count[inverse] == size
        return entry[shared], bundle[shared]

    def _on_bundles(
        self, bundle: IndexArray, amount: FloatArray, column: IndexArray, out: Emission, reverse: int
    ) -> None:
        entry, position = self.planes.links_of(bundle)
        part = amount[entry] * self.planes.share[position]
        out.add(column[entry], self.planes.link[position] ^ reverse, part)


def _signatures(plane_first: IndexArray, switch: IndexArray, count: FloatArray) -> IndexArray:
    number: dict[tuple[bytes, bytes], int] = {}
    signature = np.full(len(plane_first) - 1, -1, np.int64)
    for device in np.flatnonzero(np.diff(plane_first)):
        row = slice(plane_first[device], plane_first[device + 1])
        key = (switch[row].tobytes(), count[row].tobytes())
        signature[device] = number.setdefault(key, len(number))
    return signature


def make_scale_up(
    domain: IndexArray,
    tail: IndexArray,
    head: IndexArray,
    link: IndexArray,
    count: FloatArray,
    *,
    is_gpu: BoolArray,
    is_switch: BoolArray,
    sharp: BoolArray,
) -> ScaleUp:
    """From both directions of the live scale-up links; `sharp` (devices,): switches that can reduce."""
    devices = len(domain)
    arcs = make_arcs(devices, tail, head, link, count)
    direct = _bundle(arcs, is_gpu[arcs.tail] & is_gpu[arcs.head], devices)
    planes = _bundle(arcs, is_gpu[arcs.tail] & is_switch[arcs.head], devices)
    plane_first = np.zeros(devices + 1, np.int64)
    np.cumsum(np.bincount(planes.keys // devices, minlength=devices), out=plane_first[1:])
    switch = planes.keys % devices
    signature = _signatures(plane_first, switch, planes.count)
    # The network knows the paths over several switches; a direct link would make it shorter than those.
    onward = ~(is_gpu[arcs.tail] & is_gpu[arcs.head])
    longer = make_arcs(devices, arcs.tail[onward], arcs.head[onward], arcs.link[onward], arcs.weight[onward])
    return ScaleUp(
        domain, direct, planes, plane_first, switch, signature, SplitNetwork(longer, is_switch), sharp
    )
