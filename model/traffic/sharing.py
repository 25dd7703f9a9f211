"""Max-min fair sharing of links among exchanges that move in lockstep."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from model.traffic.arrays import FloatArray, IndexArray


def max_min_rates(usage: csr_array, capacity: FloatArray, caps: FloatArray | None = None) -> FloatArray:
    """The max-min fair rates ρ (n,) with Σ usage[e, l] · ρ[e] ≤ capacity[l] on every link.

    `usage` (n, links) ≥ 0: how much of a link exchange e takes per unit of its rate. `capacity` (links,) ≥ 0.
    `caps` (n,): a limit of each exchange's own. An exchange that uses nothing has its cap, or infinity.
    """
    by_exchange = csr_array(usage)
    exchanges = by_exchange.shape[0]
    row = np.repeat(np.arange(exchanges), np.diff(by_exchange.indptr))
    taken = by_exchange.data > 0
    row, weight = row[taken], by_exchange.data[taken].astype(np.float64)
    links, link = np.unique(by_exchange.indices[taken], return_inverse=True)
    left = np.asarray(capacity, np.float64)[links]
    if caps is not None:
        row = np.concatenate([row, np.arange(exchanges)])
        link = np.concatenate([link, len(links) + np.arange(exchanges)])
        weight = np.concatenate([weight, np.ones(exchanges)])
        left = np.concatenate([left, np.asarray(caps, np.float64)])
    return fill(row, link, weight, left, exchanges)


def fill(
    row: IndexArray, link: IndexArray, weight: FloatArray, left: FloatArray, exchanges: int
) -> FloatArray:
    """The same from entries: exchange `row` takes `weight` > 0 of link `link`, which has `left`.

    Progressive filling, but each round freezes every link whose level is the smallest of all exchanges
    that use it, not only the lowest link: such a link fills before anything else stops its exchanges, so
    the result is the same in far fewer rounds.
    """
    rates = np.full(exchanges, np.inf)
    while len(row):
        demand = np.bincount(link, weights=weight, minlength=len(left))
        level = np.full(len(left), np.inf)
        np.divide(left, demand, out=level, where=demand > 0)
        lowest = np.full(exchanges, np.inf)
        np.minimum.at(lowest, row, level[link])
        higher = np.bincount(link[lowest[row] < level[link]], minlength=len(left))
        full = (demand > 0) & (higher == 0)
        frozen = np.zeros(exchanges, np.bool_)
        frozen[row[full[link]]] = True
        rates[frozen] = lowest[frozen]
        moving = ~frozen[row]
        stopped = ~moving & np.isfinite(rates[row])
        used = np.bincount(link[stopped], weights=weight[stopped] * rates[row[stopped]], minlength=len(left))
        left = np.maximum(left - used, 0.0)
        row, link, weight = row[moving], link[moving], weight[moving]
    return rates
