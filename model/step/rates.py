"""Rates of links over the states of a step, kept as factors instead of a dense table.

A step of many stages visits thousands of states. Each is a few exchanges that move at some speed, so the
table is `weights @ loads`: what share of its load an exchange moves a second, times the bytes of that load
on each link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int32]


class RateTable(Protocol):
    """What is read of a table of shape (states, 2·links): `table[state]` or `table[states,
    directed_link]`.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """(states, 2·links)."""

    def __getitem__(self, key: Any, /) -> Any:
        """A row for a state, an entry for a state and a directed link, a column for many states and one
        link.
        """

    def most(self, states: Sequence[int], /) -> FloatArray:
        """(2·links,): the most of each directed link over some states."""


@dataclass(frozen=True, slots=True)
class LinkRates:
    """The rates (bytes/s) of every directed link in every state: row s is `weights[s] @ loads`.

    `weights` (states, instances) in 1/s, `loads` (instances, 2·links) in bytes per step, with sorted indices.
    """

    weights: csr_array
    loads: csr_array

    @property
    def shape(self) -> tuple[int, int]:
        """(states, 2·links), as a dense table would have it."""
        return (int(self.weights.shape[0]), int(self.loads.shape[1]))

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    def __getitem__(self, key: Any) -> Any:
        """`[state]` gives a row (2·links,); `[states, link]` the rates of one directed link in these
        states.
        """
        if isinstance(key, tuple):
            states, link = key
            if np.ndim(states) == 0 and not isinstance(states, slice):
                return self.entry(int(states), int(link))
            return self.of_link(int(link))[states]
        return self.row(int(key))

    def row(self, state: int) -> FloatArray:
        """The rate of every directed link in one state."""
        return self._mixed(self.weights[[state]].toarray()[0])

    def most(self, states: Sequence[int]) -> FloatArray:
        """(2·links,): the most of each directed link over some states."""
        weights = np.unique(self.weights[list(states)].toarray(), axis=0)
        kept = weights[:0]
        for row in weights[np.argsort(-weights.sum(axis=1), kind="stable")]:
            if not (kept >= row).all(axis=1).any():  # else another state moves at least as much on every link
                kept = np.vstack((kept, row))
        if not len(kept):
            return np.zeros(self.shape[1])
        most = self._mixed(kept[0])
        for row in kept[1:]:
            np.maximum(most, self._mixed(row), out=most)
        return most

    def _mixed(self, weights: FloatArray) -> FloatArray:
        """(2·links,) for the weights (instances,) of a state."""
        mixed, loads = np.zeros(self.shape[1]), self.loads
        for instance in np.flatnonzero(weights > 0).tolist():
            part = slice(loads.indptr[instance], loads.indptr[instance + 1])
            mixed[loads.indices[part]] += weights[instance] * loads.data[part]
        return mixed

    def entry(self, state: int, directed: int) -> float:
        """The rate of one directed link in one state."""
        total = 0.0
        weights, loads = self.weights, self.loads
        for place in range(weights.indptr[state], weights.indptr[state + 1]):
            start, end = loads.indptr[weights.indices[place] : weights.indices[place] + 2]
            at = start + np.searchsorted(loads.indices[start:end], directed)
            if at < end and loads.indices[at] == directed:
                total += weights.data[place] * loads.data[at]
        return float(total)

    def of_link(self, directed: int) -> FloatArray:
        """The rate of one directed link in every state."""
        loads = self.loads
        on_link = np.flatnonzero(loads.indices == directed)
        column = np.zeros(loads.shape[0])
        np.add.at(column, np.searchsorted(loads.indptr, on_link, side="right") - 1, loads.data[on_link])
        return np.asarray(self.weights @ column)


@dataclass(frozen=True, slots=True)
class ActiveSets(Sequence[tuple[int, ...]]):
    """Per state the indices of its active instances, kept flat."""

    pointer: IndexArray
    members: IndexArray

    def __len__(self) -> int:
        return len(self.pointer) - 1

    def __getitem__(self, state: Any) -> Any:
        if isinstance(state, slice):
            return tuple(self[number] for number in range(*state.indices(len(self))))
        number = int(state) + (len(self) if state < 0 else 0)
        if not 0 <= number < len(self):
            raise IndexError(f"state {state} of {len(self)}")
        return tuple(self.members[self.pointer[number] : self.pointer[number + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[number] for number in range(len(self)))
