"""Shortest paths over switches with splitting at every hop (conventions 4 and 6).

The same rules serve two networks: the switch core with NICs and storage at its edge (weights = capacities)
and NVLink switches with GPUs at their edge (weights = link counts). End points carry no transit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.traffic.arrays import (
    Arcs,
    BoolArray,
    Emission,
    FloatArray,
    IndexArray,
    sum_by_key,
)

FAR = np.int32(1 << 20)


class SplitNetwork:
    """Pushes flows between end points along all shortest paths.

    At an end point and at every switch a flow splits over the next links that lie on a shortest path (by
    hops) to its destination, in proportion to their weights; parallel links are separate next hops.
    Flows to one destination switch are pushed together, from the farthest switch to the nearest. Distances
    are kept per set of switches that a destination hangs on.
    """

    def __init__(self, arcs: Arcs, transit: BoolArray) -> None:
        """`arcs`: both directions of every live link; `transit` (devices,): which devices are switches."""
        self._arcs = arcs
        self._transit = transit
        devices = len(transit)
        switches = np.flatnonzero(transit)
        self._position = np.full(devices, -1, np.int64)
        self._position[switches] = np.arange(len(switches))
        inner = transit[arcs.tail] & transit[arcs.head]
        shape = (len(switches), len(switches))
        tails, heads = self._position[arcs.tail[inner]], self._position[arcs.head[inner]]
        self._adjacent = csr_array((np.ones(len(tails), np.float32), (tails, heads)), shape=shape)
        self._class_of, self._class_members = self._classes(devices)
        self._class_size = np.array([len(m) for m in self._class_members], np.int64)
        self._class_switch = np.array([m[0] for m in self._class_members], np.int64)
        self._row_of_class = np.full(len(self._class_members), -1, np.int64)
        self._distance: NDArray[np.int32] = np.zeros((0, len(switches)), np.int32)

    def _classes(self, devices: int) -> tuple[IndexArray, list[IndexArray]]:
        """End points that hang on the same switches share a class; −1 for those that hang on none."""
        arcs = self._arcs
        edge = ~self._transit[arcs.tail] & self._transit[arcs.head]
        keys = np.unique(arcs.tail[edge] * devices + arcs.head[edge])
        endpoint, switch = keys // devices, keys % devices
        class_of = np.full(devices, -1, np.int64)
        members: list[IndexArray] = []
        count = np.bincount(endpoint, minlength=devices)
        single = count[endpoint] == 1
        lone, inverse = np.unique(switch[single], return_inverse=True)
        class_of[endpoint[single]] = inverse
        members.extend(lone[i : i + 1] for i in range(len(lone)))
        known: dict[bytes, int] = {}
        start = np.cumsum(count) - count
        for device in np.flatnonzero(count > 1):
            hangs_on = switch[start[device] : start[device] + count[device]]
            number = known.setdefault(hangs_on.tobytes(), len(members))
            if number == len(members):
                members.append(hangs_on)
            class_of[device] = number
        return class_of, members

    def _distances_to(self, classes: IndexArray) -> None:
        """Make sure that the hop distances from every switch to the switches of `classes` are known."""
        wanted = np.unique(classes)
        missing = wanted[self._row_of_class[wanted] < 0]
        if not len(missing):
            return
        distance = np.full((len(self._adjacent.indptr) - 1, len(missing)), FAR, np.int32)
        for column, number in enumerate(missing):
            distance[self._position[self._class_members[number]], column] = 0
        front = distance == 0
        hops = 0
        while front.any():
            hops += 1
            front = (self._adjacent @ front.astype(np.float32) > 0) & (distance == FAR)
            distance[front] = hops
        self._row_of_class[missing] = len(self._distance) + np.arange(len(missing))
        self._distance = np.vstack([self._distance, distance.T])

    def _first_hops(
        self, source: IndexArray, target: IndexArray
    ) -> tuple[IndexArray, IndexArray, FloatArray, BoolArray]:
        """First links of the pairs: (pair, arc, share of the pair's flow), and which pairs have a path."""
        arcs = self._arcs
        pair, arc = arcs.of(source)
        head, goal = arcs.head[arc], target[pair]
        group = self._class_of[goal]
        cost = np.full(len(arc), FAR, np.int32)
        inner = self._transit[head] & (group >= 0)
        self._distances_to(group[inner])
        cost[inner] = self._distance[self._row_of_class[group[inner]], self._position[head[inner]]] + 1
        cost[head == goal] = 0
        best = np.full(len(source), FAR, np.int32)
        np.minimum.at(best, pair, cost)
        keep = (cost == best[pair]) & (cost < FAR)
        pair, arc = pair[keep], arc[keep]
        total = np.bincount(pair, weights=arcs.weight[arc], minlength=len(source))
        return pair, arc, arcs.weight[arc] / total[pair], best < FAR

    def reachable(self, source: IndexArray, target: IndexArray) -> BoolArray:
        """Which pairs of end points have a path (an end point reaches itself)."""
        reached: BoolArray = self._first_hops(source, target)[3] | (source == target)
        return reached

    def push(
        self, source: IndexArray, target: IndexArray, amount: FloatArray, column: IndexArray, out: Emission
    ) -> None:
        """Put the flows of `amount` bytes on the links. All pairs must be reachable and source ≠ target."""
        if not len(source):
            return
        arcs = self._arcs
        flow, arc, share, _ = self._first_hops(source, target)
        part = amount[flow] * share
        out.add(column[flow], arcs.link[arc], part)
        switch, goal, columns = arcs.head[arc], target[flow], column[flow]
        onward = self._transit[switch]
        switch, goal, columns, part = switch[onward], goal[onward], columns[onward], part[onward]
        classes = self._class_of[goal]
        # Flows to a class of one switch leave the core at that switch, whatever their end point.
        lone = self._class_size[classes] == 1
        self._last_hops(columns[lone], self._class_switch[classes[lone]], goal[lone], part[lone], out)
        aim = np.where(lone, classes, len(self._class_size) + goal)
        columns, switch, aim, part = self._walk(columns, switch, aim, part, out)
        several = aim >= len(self._class_size)
        goal = aim[several] - len(self._class_size)
        self._last_hops(columns[several], switch[several], goal, part[several], out)

    def _walk(
        self, column: IndexArray, switch: IndexArray, aim: IndexArray, amount: FloatArray, out: Emission
    ) -> tuple[IndexArray, IndexArray, IndexArray, FloatArray]:
        """Push from switch to switch until distance 0. `aim`: a class, or number of classes + an end point.

        Returns what arrived: columns, switches, aims, bytes.
        """
        arcs, devices, classes = self._arcs, len(self._transit), len(self._class_members)
        aims = classes + devices
        keys, amount = sum_by_key((column * devices + switch) * aims + aim, amount)
        while True:
            aim, switch = keys % aims, keys // aims % devices
            row = self._row_of_class[np.where(aim < classes, aim, self._class_of[aim - classes])]
            level = self._distance[row, self._position[switch]]
            top = int(level.max(initial=0))
            if top == 0:
                return keys // aims // devices, switch, aim, amount
            now = level == top
            entry, arc = arcs.of(switch[now])
            head = arcs.head[arc]
            onward = self._transit[head]
            entry, arc, head = entry[onward], arc[onward], head[onward]
            nearer = self._distance[row[now][entry], self._position[head]] == top - 1
            entry, arc, head = entry[nearer], arc[nearer], head[nearer]
            total = np.bincount(entry, weights=arcs.weight[arc], minlength=int(now.sum()))
            part = amount[now][entry] * arcs.weight[arc] / total[entry]
            column_now = (keys // aims // devices)[now][entry]
            out.add(column_now, arcs.link[arc], part)
            moved = (column_now * devices + head) * aims + aim[now][entry]
            keys, amount = sum_by_key(
                np.concatenate([keys[~now], moved]), np.concatenate([amount[~now], part])
            )

    def _last_hops(
        self, column: IndexArray, switch: IndexArray, goal: IndexArray, amount: FloatArray, out: Emission
    ) -> None:
        """From the last switch to the end point, over parallel links by weight."""
        arcs, devices = self._arcs, len(self._transit)
        keys, amount = sum_by_key((column * devices + switch) * devices + goal, amount)
        goal, switch, column = keys % devices, keys // devices % devices, keys // devices // devices
        # The end point has few links, the switch many: look from the end point, then turn around.
        entry, arc = arcs.of(goal)
        mine = arcs.head[arc] == switch[entry]
        entry, arc = entry[mine], arc[mine]
        total = np.bincount(entry, weights=arcs.weight[arc], minlength=len(goal))
        out.add(column[entry], arcs.link[arc] ^ 1, amount[entry] * arcs.weight[arc] / total[entry])
