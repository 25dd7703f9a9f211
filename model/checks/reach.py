"""Pairs of GPUs that no path joins, and drawings in several pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from model.checks.situation import Situation, short
from model.job.exchange import dimension_name
from model.step.report import Finding, Severity
from model.text import capital, name_list, plural
from model.traffic.types import Unreachable

_NAMED = 3


def check(situation: Situation) -> Iterator[Finding]:
    """One error per dimension with pairs that cannot reach each other; one note on pieces."""
    report = situation.report
    if report is not None and report.traffic.unreachable:
        dimension_of = {exchange.id: exchange.dimension for exchange in report.exchanges}
        counts: dict[str, int] = {}
        for exchange, count in zip(report.exchanges, report.traffic.unreachable_pairs.tolist(), strict=True):
            counts[exchange.dimension] = max(counts.get(exchange.dimension, 0), count)
        lost: dict[str, dict[tuple[str, str], Unreachable]] = {}
        for pair in report.traffic.unreachable:
            by_pair = lost.setdefault(dimension_of[pair.exchange_id], {})
            by_pair.setdefault((pair.source, pair.target), pair)
        for dimension, pairs in lost.items():
            yield _unreachable(dimension, list(pairs.values()), max(counts[dimension], len(pairs)))
    yield from _pieces(situation)


def _unreachable(dimension: str, pairs: list[Unreachable], count: int) -> Finding:
    first = pairs[0]
    named = "; ".join(f"{pair.source} → {pair.target}: {pair.reason.rstrip('.')}" for pair in pairs[:_NAMED])
    more = f"; {count - _NAMED:,} more" if count > _NAMED else ""
    ends = dict.fromkeys(end for pair in pairs for end in (pair.source, pair.target))
    return Finding(
        id=f"reach.{dimension}",
        severity=Severity.ERROR,
        title=short(
            f"{first.source} cannot reach {first.target}", f"{plural(count, 'pair')} of GPUs have no path"
        )
        if count == 1
        else short(
            f"{first.source} ↛ {first.target} and {count - 1:,} more",
            f"{plural(count, 'pair')} of GPUs have no path",
        ),
        detail=f"{capital(dimension_name(dimension))} needs {plural(count, 'path')} that the drawing lacks. "
        f"{named}{more}. Their bytes are on no link.",
        devices=tuple(ends),
        fix="Join the parts with a cable, or bring the links between them up.",
    )


def _pieces(situation: Situation) -> Iterator[Finding]:
    """GPUs that hang together over live links, where they are not all one piece."""
    fabric = situation.fabric
    if len(fabric.gpu_devices) < 2:
        return
    live = fabric.capacity > 0
    devices = len(fabric.device_ids)
    graph = coo_array(
        (np.ones(int(live.sum())), (fabric.link_a[live], fabric.link_b[live])), shape=(devices, devices)
    )
    _, piece = connected_components(graph, directed=False)
    up = fabric.gpu_devices[fabric.device_up[fabric.gpu_devices]]
    pieces, counts = np.unique(piece[up], return_counts=True)
    if len(pieces) < 2:
        return
    main = pieces[np.argmax(counts)]
    apart = [fabric.device_ids[index] for index in up[piece[up] != main].tolist()]
    are = "is" if len(apart) == 1 else "are"
    yield Finding(
        id="reach.pieces",
        severity=Severity.INFO,
        title=f"The drawing is in {len(pieces):,} pieces",
        detail=f"{name_list(apart)} {are} not connected to the other {plural(int(counts.max()), 'GPU')}.",
        devices=tuple(apart),
        fix="Connect them, or leave them out of the job.",
    )
