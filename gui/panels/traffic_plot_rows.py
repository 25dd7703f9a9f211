"""Utilisation of one directed link over the step, as steps for a plot. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.step.report import StepReport

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """A stepped curve: value `k` holds from `edges_s[k]` to `edges_s[k + 1]`.

    `percent` is utilisation in percent; `offered_percent` is offered ÷ capacity in percent where that is
    above 100, else 100 (so that the area between 100 and it is what exceeds the capacity). `highest` and
    `highest_offered` are their maxima within each step, where a thinned curve has means; else None.
    """

    edges_s: FloatArray
    percent: FloatArray
    offered_percent: FloatArray
    highest: FloatArray | None = None
    highest_offered: FloatArray | None = None

    @property
    def oversubscribed(self) -> bool:
        """Whether more is offered than fits at any moment."""
        return bool((self.offered_percent > 100.0001).any())

    @property
    def top_percent(self) -> float:
        """The highest value of either curve."""
        return float(max(self.percent.max(initial=0.0), self.offered_percent.max(initial=0.0)))


def thinned(curve: Curve, start_s: float, end_s: float, columns: int) -> Curve:
    """The curve within a window with at most `columns` steps: where several values fall into one, their mean
    by time and their maximum.
    """
    first = max(0, int(np.searchsorted(curve.edges_s, start_s, side="right")) - 1)
    last = max(first + 1, int(np.searchsorted(curve.edges_s, end_s, side="left")))
    edges = curve.edges_s[first : last + 1]
    percent, offered = curve.percent[first:last], curve.offered_percent[first:last]
    if len(percent) <= columns:
        return Curve(edges, percent, offered)
    wanted = np.searchsorted(edges[:-1], np.linspace(edges[0], edges[-1], columns + 1)[:-1], side="left")
    starts = np.unique(np.minimum(wanted, len(percent) - 1))
    wide = np.concatenate((edges[starts], edges[-1:]))
    lasts, took = np.diff(edges), np.diff(wide)
    return Curve(
        wide,
        np.add.reduceat(percent * lasts, starts) / took,
        np.add.reduceat(offered * lasts, starts) / took,
        np.maximum.reduceat(percent, starts),
        np.maximum.reduceat(offered, starts),
    )


def link_curve(report: StepReport, directed: int) -> Curve:
    """The curve of a directed link from 0 to the end of the step; times outside every segment are zero."""
    segments, link = report.segments, directed // 2
    usable, capacity = report.fabric.usable[link], report.fabric.capacity[link]
    rates = segments.rates[segments.state, directed].astype(np.float64)
    offered = segments.offered[segments.state, directed].astype(np.float64)
    percent = 100.0 * rates / usable if usable > 0 else np.zeros_like(rates)
    ratio = 100.0 * offered / capacity if capacity > 0 else np.zeros_like(offered)
    edges, values, ratios = _with_gaps(segments.start_s, segments.end_s, percent, ratio, report.totals.time_s)
    same = (np.diff(values) == 0) & (np.diff(ratios) == 0)
    keep = np.concatenate(([True], ~same))
    return Curve(
        edges_s=np.concatenate((edges[:-1][keep], edges[-1:])),
        percent=values[keep],
        offered_percent=np.maximum(ratios[keep], 100.0),
    )


def _with_gaps(
    start_s: FloatArray, end_s: FloatArray, percent: FloatArray, ratio: FloatArray, until_s: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Steps that cover 0 … until_s without a hole: what lies between segments is zero."""
    edges: FloatArray = np.empty(2 * len(start_s) + 2)
    edges[0], edges[-1] = 0.0, until_s
    edges[1:-1:2], edges[2:-1:2] = start_s, end_s
    edges = np.maximum.accumulate(edges)
    values, ratios = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    values[1::2], ratios[1::2] = percent, ratio
    wide = np.diff(edges) > 0
    if not wide.any():
        return np.array([0.0, until_s]), np.zeros(1), np.zeros(1)
    return np.concatenate((edges[:-1][wide], edges[-1:])), values[wide], ratios[wide]
