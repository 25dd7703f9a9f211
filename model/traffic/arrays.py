"""Small array tools that the traffic modules share: rows of different length, key search, grouped sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

IndexArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_SPARSE = 16  # possible keys for each that there is, from which on sorting is faster than counting

NO_INDEX = np.zeros(0, np.int64)
NO_FLOAT = np.zeros(0, np.float64)


def index_array(values: ArrayLike) -> IndexArray:
    """`values` as int64 indices."""
    return np.asarray(values, dtype=np.int64)


def expand(start: IndexArray, count: IndexArray) -> tuple[IndexArray, IndexArray]:
    """The positions start[i] … start[i] + count[i] − 1 of every row i, one after the other.

    Returns `(owner, position)`, both of length Σ count: the row and the position of every item.
    """
    owner = np.repeat(np.arange(len(count), dtype=np.int64), count)
    before = np.cumsum(count) - count
    position = np.arange(len(owner), dtype=np.int64) + (start - before)[owner]
    return owner, position


def find(sorted_keys: IndexArray, keys: IndexArray) -> IndexArray:
    """Where each of `keys` stands in `sorted_keys` (ascending, unique); −1 where it does not."""
    if not len(sorted_keys):
        return np.full(len(keys), -1, np.int64)
    at = np.searchsorted(sorted_keys, keys)
    at[at == len(sorted_keys)] = 0
    return np.where(sorted_keys[at] == keys, at, -1)


def weighted_count(row: IndexArray, weights: FloatArray, rows: int) -> FloatArray:
    """The sum of `weights` of each row."""
    return np.bincount(row, weights=weights, minlength=rows).astype(np.float64, copy=False)


def sum_by_key(keys: IndexArray, values: FloatArray) -> tuple[IndexArray, FloatArray]:
    """The distinct keys (0 or more), ascending, and the sum of the values of each."""
    most = int(keys.max()) + 1 if len(keys) else 0
    if most > _SPARSE * len(keys):
        distinct, inverse = np.unique(keys, return_inverse=True)
        return distinct, weighted_count(inverse, values, len(distinct))
    total = weighted_count(keys, values, most)
    present = np.zeros(most, np.bool_)
    present[keys] = True
    distinct = np.flatnonzero(present)
    return distinct, total[distinct]


def any_by_row(row: IndexArray, flags: BoolArray, rows: int) -> BoolArray:
    """For each of `rows` rows whether any of its items is flagged."""
    found = np.zeros(rows, np.bool_)
    found[row[flags]] = True
    return found


@dataclass(frozen=True, slots=True)
class Arcs:
    """Directed links by the device where they start: those of device d are first[d] … first[d + 1] − 1.

    `tail`, `head` are devices, `link` directed link indices, `weight` what the splitting goes by.
    """

    first: IndexArray
    tail: IndexArray
    head: IndexArray
    link: IndexArray
    weight: FloatArray

    def of(self, devices: IndexArray) -> tuple[IndexArray, IndexArray]:
        """`(owner, arc)`: every arc that leaves devices[owner]."""
        return expand(self.first[devices], self.first[devices + 1] - self.first[devices])


def make_arcs(devices: int, tail: IndexArray, head: IndexArray, link: IndexArray, weight: FloatArray) -> Arcs:
    """Sort directed links by tail (stable)."""
    order = np.argsort(tail, kind="stable")
    first = np.zeros(devices + 1, np.int64)
    np.cumsum(np.bincount(tail, minlength=devices), out=first[1:])
    return Arcs(first, tail[order], head[order], link[order], weight[order])


class Emission:
    """Collects bytes on directed links, each for one column (a pipeline stage), and sums them at the end."""

    def __init__(self) -> None:
        self._column: list[IndexArray] = []
        self._link: list[IndexArray] = []
        self._amount: list[FloatArray] = []

    def add(self, column: IndexArray, link: IndexArray, amount: FloatArray) -> None:
        """Put `amount` bytes on `link` for `column` (equal lengths)."""
        self._column.append(column)
        self._link.append(link)
        self._amount.append(amount)

    def entries(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Everything added so far: columns, directed links, bytes (not summed)."""
        if not self._column:
            return NO_INDEX, NO_INDEX, NO_FLOAT
        return np.concatenate(self._column), np.concatenate(self._link), np.concatenate(self._amount)
