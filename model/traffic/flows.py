"""Flow by flow over equal paths: hashed (per-flow ECMP) and static (destination modulo) routing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from model.traffic.arrays import Emission, FloatArray, IndexArray, sum_by_key, weighted_count
from model.traffic.network import SplitNetwork

HashArray = NDArray[np.uint64]

MOST_DRAWN = 1 << 22  # flows × queue pairs of one exchange; more queue pairs than fit are not told apart
BLOCK = 1 << 20  # flows walked at once, which bounds the memory


@dataclass(frozen=True, slots=True)
class Flows:
    """What a pair of GPUs sends from one NIC to another: devices, bytes, and the column to count it in."""

    source: IndexArray
    target: IndexArray
    begin: IndexArray
    end: IndexArray
    amount: FloatArray
    column: IndexArray


@dataclass(frozen=True, slots=True)
class Drawn:
    """Which cables hashed flows took between switches.

    One entry per cable: directed `link`, `cable` the number of the cable in it, `amount` bytes on it, and
    `flows`, how many that had more than one cable to choose from, here or before.
    """

    link: IndexArray
    cable: IndexArray
    amount: FloatArray
    flows: IndexArray


@dataclass(slots=True)
class PathChoice:
    """How flows choose among equal next links; one for all flows of an exchange.

    *hashed*: every flow (pair of GPUs and of NICs) is cut into `queue_pairs` equal ones. Each, at its NIC and
    at every switch, takes one of the next links by a hash of the seed, both GPUs, both NICs, the number of
    the queue pair and the device where it stands (their places in the drawing, mixed by the finaliser of
    splitmix64), with chances in proportion to capacity, so that the mean over seeds is even routing.
    *static*: cable number D mod k of the k cables of all equal next links, in link order; D is the place of
    the destination among the end points that hang on the same switches (device order), as subnet managers
    number them leaf by leaf.

    Of hashed flows `drawn` collects what they took, `even` what even routing would put on the links, and
    `used_queue_pairs` says how many queue pairs were told apart.
    """

    policy: Literal["hashed", "static"]
    queue_pairs: int = 1
    seed: int = 0
    used_queue_pairs: int = 0
    drawn: list[Drawn] = field(default_factory=list)
    even: Emission = field(default_factory=Emission)

    def push(self, core: SplitNetwork, cables: IndexArray, flows: Flows, out: Emission) -> None:
        """Put the flows on the links. Every pair of NICs must be reachable."""
        count = len(flows.begin)
        if self.policy == "static":
            every = np.arange(count, dtype=np.int64)
            place = core.place_in_class()[flows.end]
            self._walk(core, cables, flows, every, flows.amount, place, None, out)
            return
        core.push(flows.begin, flows.end, flows.amount, flows.column, self.even)
        pairs = max(min(self.queue_pairs, MOST_DRAWN // count), 1)
        self.used_queue_pairs = pairs
        keys = self._flow_keys(flows)
        for start in range(0, count * pairs, BLOCK):
            number = np.arange(start, min(start + BLOCK, count * pairs), dtype=np.int64)
            flow = number // pairs
            key = _mix(keys[flow] ^ _mix((number % pairs).astype(np.uint64)))
            self._walk(core, cables, flows, flow, flows.amount[flow] / pairs, flow, key, out)

    def _flow_keys(self, flows: Flows) -> HashArray:
        key = np.full(len(flows.begin), self.seed, np.uint64)
        for part in (flows.source, flows.target, flows.begin, flows.end):
            key = _mix(key ^ _mix(part.astype(np.uint64)))
        return key

    def _walk(
        self,
        core: SplitNetwork,
        cables: IndexArray,
        flows: Flows,
        flow: IndexArray,
        amount: FloatArray,
        place: IndexArray,
        key: HashArray | None,
        out: Emission,
    ) -> None:
        """Move every flow hop by hop to its end. `key`: its hash, None = by destination `place`."""
        arcs, transit = core.arcs, core.transit
        at, goal, column = flows.begin[flow], flows.end[flow], flows.column[flow]
        hashed = np.zeros(len(flow), np.bool_)
        while len(at):
            options = _options(core, at, goal)
            if key is None:
                picked, cable, many = options.by_place(place, cables)
            else:
                picked, cable, many = options.by_hash(_mix(key ^ _mix(at.astype(np.uint64))), cables)
            link = arcs.link[picked]
            taken, total = sum_by_key(column * len(cables) + link, amount)
            out.add(taken // len(cables), taken % len(cables), total)
            if key is not None:
                hashed = hashed | many
                inner = transit[at] & transit[arcs.head[picked]]
                self._remember(link[inner], cable[inner], amount[inner], hashed[inner], cables)
            at = arcs.head[picked]
            onward = at != goal
            at, goal, column, amount = at[onward], goal[onward], column[onward], amount[onward]
            place, hashed = place[onward], hashed[onward]
            key = None if key is None else key[onward]

    def _remember(
        self,
        link: IndexArray,
        cable: IndexArray,
        amount: FloatArray,
        hashed: NDArray[np.bool_],
        cables: IndexArray,
    ) -> None:
        widest = int(cables.max(initial=1))
        key, inverse = np.unique(link * widest + cable, return_inverse=True)
        total = weighted_count(inverse, amount, len(key))
        flows = np.bincount(inverse[hashed], minlength=len(key))
        self.drawn.append(Drawn(key // widest, key % widest, total, flows))


@dataclass(frozen=True, slots=True)
class _Options:
    """What the flows can choose from: flow f has the options first[row[f]] … first[row[f] + 1] − 1.

    `arc`, `link`, `share` (options,): arcs of the core, directed links, and shares by capacity.
    """

    row: IndexArray
    first: IndexArray
    arc: IndexArray
    link: IndexArray
    share: FloatArray

    def by_hash(self, key: HashArray, cables: IndexArray) -> tuple[IndexArray, IndexArray, NDArray[np.bool_]]:
        """(arc, cable in it, whether there was a choice) of every flow."""
        # The options of row r divide the stretch from r to r + 1 of one long ruler.
        sums = np.concatenate([np.zeros(1), np.cumsum(self.share)])
        rows = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        upper = rows + np.minimum(sums[1:] - sums[self.first[:-1]][rows], 1.0)
        upper[self.first[1:] - 1] = np.arange(1, len(self.first))
        point = self.row + (key >> np.uint64(11)).astype(np.float64) * 2.0**-53
        at = np.searchsorted(upper, point, side="right")
        lower = np.where(at == self.first[self.row], self.row, upper[np.maximum(at, 1) - 1])
        lanes = cables[self.link[at]]
        cable = np.minimum(((point - lower) / (upper[at] - lower) * lanes).astype(np.int64), lanes - 1)
        return self.arc[at], cable, self._lanes(cables)[self.row] > 1

    def by_place(
        self, place: IndexArray, cables: IndexArray
    ) -> tuple[IndexArray, IndexArray, NDArray[np.bool_]]:
        """The same, cable number place[f] modulo the cables of all options."""
        sums = np.cumsum(cables[self.link])
        start = np.concatenate([np.zeros(1, np.int64), sums])[self.first[:-1]]
        lanes = self._lanes(cables)[self.row]
        wanted = start[self.row] + place % lanes
        at = np.searchsorted(sums, wanted, side="right")
        return self.arc[at], wanted - (sums[at] - cables[self.link[at]]), lanes > 1

    def _lanes(self, cables: IndexArray) -> IndexArray:
        """(rows,): the cables of all options together."""
        return np.add.reduceat(cables[self.link], self.first[:-1])


def _options(core: SplitNetwork, at: IndexArray, goal: IndexArray) -> _Options:
    """The next links of each flow; flows at one switch on their way to the same switches share them."""
    devices = len(core.transit)
    inner = np.flatnonzero(core.transit[at])
    far = inner[core.hops(at[inner], goal[inner]) > 0]
    aim = devices + goal
    aim[far] = core.class_of(goal[far])
    _, first, row = np.unique(at * (2 * devices) + aim, return_index=True, return_inverse=True)
    pair, arc, share, _ = core.next_hops(at[first], goal[first])
    starts = np.searchsorted(pair, np.arange(len(first) + 1))
    return _Options(row, starts, arc, core.arcs.link[arc], share)


def _mix(value: HashArray) -> HashArray:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014): every bit of the result hangs on every bit."""
    mixed = value + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
