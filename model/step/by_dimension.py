"""A report narrowed to the traffic of one dimension: what its exchanges alone put on every link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.job.exchange import ExchangeDimension
from model.step.rates import LinkRates, RateTable
from model.step.report import StepReport

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_BLOCK = 4_000_000  # entries of states × kinds of link that are looked at together


def report_of(report: StepReport, dimension: ExchangeDimension) -> StepReport:
    """The same step with only the bytes, rates and loads of one dimension; times and costs stay those of all.

    A rate is what the exchanges of the dimension moved while all others ran too. `oversubscription` counts
    what they alone offer. `cost_s` is kept where they put bytes, as a cost belongs to no dimension.
    """
    fabric, segments = report.fabric, report.segments
    mine = np.array(
        [
            report.exchanges[index].dimension == dimension
            for index in report.traffic.instance_exchange.tolist()
        ],
        dtype=np.bool_,
    )
    sent = report.bytes_by_dimension.get(dimension, np.zeros(2 * len(fabric.link_ids)))
    usable, capacity = np.repeat(fabric.usable, 2), np.repeat(fabric.capacity, 2)
    rates, offered = (_only(table, mine) for table in (segments.rates, segments.offered))
    return replace(
        report,
        traffic=replace(report.traffic, loads=_rows(report.traffic.loads, mine)),
        bytes_by_dimension={dimension: sent},
        peak_utilisation=np.minimum(_ratio(_highest(rates, mine), usable), 1.0),
        mean_utilisation=_ratio(sent, usable * report.totals.time_s),
        oversubscription=_ratio(_highest(offered, mine), capacity),
        cost_s=np.where(sent > 0, report.cost_s, 0.0),
        segments=replace(segments, rates=rates, offered=offered),
    )


def _ratio(value: FloatArray, by: FloatArray) -> FloatArray:
    return np.divide(value, by, out=np.zeros_like(value), where=by > 0)


def _only(table: RateTable, mine: BoolArray) -> LinkRates:
    """The table with the speeds of all other instances at zero."""
    if not isinstance(table, LinkRates):
        raise TypeError("the rates of a report are kept as factors")
    weights = table.weights.copy()
    weights.data = np.where(mine[weights.indices], weights.data, 0.0)
    weights.eliminate_zeros()
    return LinkRates(weights, table.loads)


def _rows(loads: csr_array, mine: BoolArray) -> csr_array:
    """`loads` with the rows of all other instances empty."""
    kept = loads.copy()
    kept.data = np.where(np.repeat(mine, np.diff(loads.indptr)), loads.data, 0.0)
    kept.eliminate_zeros()
    return kept


def _highest(table: LinkRates, mine: BoolArray) -> FloatArray:
    """(2·links,): the highest rate of every directed link over all states.

    Links that the same instances load with the same bytes are looked at once, and so are states in which the
    same instances move at the same speeds.
    """
    rows = np.flatnonzero(mine)
    loads = csr_array(table.loads[rows])
    weights = csr_array(table.weights[:, rows])
    highest = np.zeros(loads.shape[1])
    if not loads.nnz or not weights.nnz:
        return highest
    seeds = np.random.default_rng(4).random((2, len(rows)))
    first, second = seeds @ loads
    loaded = np.flatnonzero(first)
    name = np.round(first[loaded], 3) + 1j * np.round(second[loaded], 3)
    _, kinds, kind = np.unique(name, return_index=True, return_inverse=True)
    states = np.unique(np.asarray(weights @ seeds[0]), return_index=True)[1]
    few = csr_array(loads[:, loaded[kinds]])
    most = np.zeros(len(kinds))
    step = max(1, _BLOCK // max(len(kinds), 1))
    for begin in range(0, len(states), step):
        block = weights[states[begin : begin + step]] @ few
        most = np.maximum(most, block.max(axis=0).toarray().ravel())
    highest[loaded] = most[kind]
    return highest
