"""How fast exchanges move that run at the same time, and which links hold them back.

Links on which every exchange weighs the same are one case: in a regular cluster ten thousand links fall into
a few dozen. Exchanges that share no link, not even through others, never meet: they form components of their
own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from model.traffic.sharing import fill

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_FULL = 1.0 - 1e-9


@dataclass(frozen=True, slots=True)
class Moving:
    """What happens while a set of instances moves bytes together.

    `instances` in rising order; `speeds` the share of its bytes per step that each moves in a second;
    `limits` per instance the cases of links that hold it back.
    """

    instances: tuple[int, ...]
    speeds: tuple[float, ...]
    limits: tuple[IntArray, ...]


class Shares:
    """Max-min fair speeds of instances, by component and set (cached).

    `loads` (i, 2·links) bytes per step; `usable` (2·links,) bytes/s; `largest_edge_bytes` (i,) normalises
    what "equal" means; `time_factor` (i,) makes an instance use its links that much longer for the same
    bytes.
    """

    def __init__(
        self, loads: csr_array, usable: FloatArray, largest_edge_bytes: FloatArray, time_factor: FloatArray
    ) -> None:
        self.count = int(loads.shape[0])
        self._largest = np.where(largest_edge_bytes > 0, largest_edge_bytes, 1.0)
        self._factor = time_factor
        seconds = loads.copy()
        seconds.data = seconds.data / usable[seconds.indices]
        self.case_of_link, representative = _cases(seconds)
        self.case_count = len(representative)
        self.moves: list[bool] = (np.diff(loads.indptr) > 0).tolist()
        case_seconds = csr_array(csc_array(seconds)[:, representative])
        self.component_of, self.components = _components(case_seconds)
        self.member_bit = [0] * self.count
        self._cases: list[IntArray] = []
        self._seconds: list[FloatArray] = []
        for members in self.components:
            for bit, instance in enumerate(members):
                self.member_bit[instance] = 1 << bit
            part = csr_array(case_seconds[list(members)])
            cases = np.unique(part.indices).astype(np.int64)
            self._cases.append(cases)
            self._seconds.append(part[:, cases].toarray())
        self._cache: list[dict[int, Moving]] = [{} for _ in self.components]

    def moving(self, component: int, mask: int) -> Moving:
        """Speeds of the instances of a component whose bits are set in `mask`."""
        cache = self._cache[component]
        found = cache.get(mask)
        if found is None:
            found = cache[mask] = self._solve(component, mask)
        return found

    def _solve(self, component: int, mask: int) -> Moving:
        members = self.components[component]
        rows = [row for row in range(len(members)) if mask >> row & 1]
        if not rows:
            return Moving((), (), ())
        numbers = np.array(members)[rows]
        cases = self._cases[component]
        usage = self._seconds[component][rows] * (self._factor / self._largest)[numbers, None]
        if len(rows) == 1:
            rates = 1.0 / usage.max(axis=1)
        else:
            row, case = np.nonzero(usage)
            rates = fill(row, case, usage[row, case], np.ones(len(cases)), len(rows))
        full = rates @ usage >= _FULL
        dearest = np.where(usage > 0, rates[:, None], 0.0).max(axis=0)
        limited = (usage > 0) & full[None, :] & (rates[:, None] >= dearest[None, :] * _FULL)
        return Moving(
            tuple(numbers.tolist()),
            tuple((rates / self._largest[numbers]).tolist()),
            tuple(cases[row] for row in limited),
        )

    def load_on_cases(self, component: int, mask: int, weight: FloatArray) -> tuple[IntArray, FloatArray]:
        """The cases of a component, and Σ weight × seconds of load on each over the instances in `mask`.

        `weight` has one entry per member of the component.
        """
        chosen = np.array([mask >> row & 1 for row in range(len(weight))], dtype=np.float64)
        return self._cases[component], (chosen * weight) @ self._seconds[component]

    def expand(self, per_case: FloatArray) -> FloatArray:
        """A value per case as a value per directed link (0 where no load is)."""
        result = np.zeros(len(self.case_of_link))
        loaded = self.case_of_link >= 0
        result[loaded] = per_case[self.case_of_link[loaded]]
        return result


def _cases(seconds: csr_array) -> tuple[IntArray, IntArray]:
    """Per directed link the number of its case (-1 = no load), and per case one of its links.

    Two random sums of a column tell columns apart; equal columns give equal sums because they add up in the
    same order.
    """
    rows, links = seconds.shape
    sums = np.random.default_rng(1).uniform(1.0, 2.0, (2, rows)) @ seconds if rows else np.zeros((2, links))
    loaded = np.flatnonzero(sums[0] > 0)
    case = np.full(links, -1, dtype=np.int64)
    if loaded.size == 0:
        return case, np.zeros(0, dtype=np.int64)
    mantissa, exponent = np.frexp(sums[:, loaded])
    keys = np.ldexp(np.round(mantissa * 2.0**40), exponent - 40)
    _, first, inverse = np.unique(keys[0] + 1j * keys[1], return_index=True, return_inverse=True)
    case[loaded] = inverse
    return case, loaded[first]


def _components(case_seconds: csr_array) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
    """Per instance its component, and per component its instances: those that meet on some link."""
    if case_seconds.shape[0] == 0:
        return [], ()
    number, labels = connected_components(csr_array(case_seconds @ case_seconds.T), directed=False)
    members: list[list[int]] = [[] for _ in range(number)]
    for instance, label in enumerate(labels.tolist()):
        members[label].append(instance)
    return labels.tolist(), tuple(tuple(group) for group in members)
