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
    expand,
    sum_by_key,
)

FAR = np.int32(1 << 20)


def hop_distances(adjacent: csr_array, goals: list[IndexArray]) -> NDArray[np.int32]:
    """Hops from every node to the nearest of each set of nodes, shape (len(goals), nodes); FAR = no way.

    `adjacent` (nodes, nodes): positive where a link leads from row to column.
    """
    distance = np.full((adjacent.shape[0], len(goals)), FAR, np.int32)
    for column, nodes in enumerate(goals):
        distance[nodes, column] = 0
    front = distance == 0
    hops = 0
    while front.any():
        hops += 1
        front = (adjacent @ front.astype(np.float32) > 0) & (distance == FAR)
        distance[front] = hops
    return np.ascontiguousarray(distance.T)


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
        goals = [self._position[self._class_members[number]] for number in missing]
        self._row_of_class[missing] = len(self._distance) + np.arange(len(missing))
        self._distance = np.vstack([self._distance, hop_distances(self._adjacent, goals)])

    @property
    def arcs(self) -> Arcs:
        """Both directions of every live link."""
        return self._arcs

    @property
    def adjacent(self) -> csr_array:
        """(switches, switches): which switches are joined; rows in the order of `switches`."""
        return self._adjacent

    @property
    def switches(self) -> IndexArray:
        """The switches, ascending."""
        return np.flatnonzero(self._transit)

    @property
    def transit(self) -> BoolArray:
        """(devices,): which devices are switches."""
        return self._transit

    def position(self, switch: IndexArray) -> IndexArray:
        """The place of each switch in `switches`; −1 for another device."""
        return self._position[switch]

    def class_of(self, endpoints: IndexArray) -> IndexArray:
        """A number per end point, equal for those that hang on the same switches; −1 on none."""
        return self._class_of[endpoints]

    def place_in_class(self) -> IndexArray:
        """(devices,): the place of each end point among those of its class, in device order; else 0."""
        place = np.zeros(len(self._class_of), np.int64)
        hanging = np.flatnonzero(self._class_of >= 0)
        order = hanging[np.argsort(self._class_of[hanging], kind="stable")]
        count = np.bincount(self._class_of[hanging], minlength=len(self._class_members))
        place[order] = expand(np.zeros_like(count), count)[1]
        return place

    def hops_to_class(self, classes: IndexArray) -> NDArray[np.int32]:
        """Hops from every switch to the nearest switch of each class, shape (len(classes), switches)."""
        self._distances_to(classes)
        return self._distance[self._row_of_class[classes]]

    def hops(self, switch: IndexArray, goal: IndexArray) -> NDArray[np.int32]:
        """Hops from each switch to the nearest switch that the end point goal[i] hangs on."""
        classes = self._class_of[goal]
        self._distances_to(classes)
        return self._distance[self._row_of_class[classes], self._position[switch]]

    def next_hops(
        self, source: IndexArray, target: IndexArray
    ) -> tuple[IndexArray, IndexArray, FloatArray, BoolArray]:
        """Next links from any device to an end point.

        Returns (pair, arc, share of the pair's flow) by pair, and which pairs have a path.
        """
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
        reached: BoolArray = self.next_hops(source, target)[3] | (source == target)
        return reached

    def longest_delay(self, source: IndexArray, target: IndexArray, delay: FloatArray) -> FloatArray:
        """The longest sum of `delay` (by directed link) that a shortest path of each pair meets between
        switches.
        """
        arcs, devices = self._arcs, len(self._transit)
        slowest = np.zeros(len(source))
        pair, arc, _, _ = self.next_hops(source, target)
        pair, node = pair[self._transit[arcs.head[arc]]], arcs.head[arc][self._transit[arcs.head[arc]]]
        keys = np.unique(pair * devices + node)
        so_far = np.zeros(len(keys))
        while len(keys):
            pair, node = keys // devices, keys % devices
            entry, arc, _, _ = self.next_hops(node, target[pair])
            onward = self._transit[arcs.head[arc]]
            np.maximum.at(slowest, pair, so_far)
            entry, arc = entry[onward], arc[onward]
            reached, inverse = np.unique(pair[entry] * devices + arcs.head[arc], return_inverse=True)
            longer = np.zeros(len(reached))
            np.maximum.at(longer, inverse, so_far[entry] + delay[arcs.link[arc]])
            keys, so_far = reached, longer
        return slowest

    def push(
        self, source: IndexArray, target: IndexArray, amount: FloatArray, column: IndexArray, out: Emission
    ) -> None:
        """Put the flows of `amount` bytes on the links. All pairs must be reachable and source ≠ target."""
        if not len(source):
            return
        arcs = self._arcs
        flow, arc, share, _ = self.next_hops(source, target)
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
