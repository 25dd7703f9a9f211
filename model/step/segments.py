"""The step cut where the set of active exchanges changes, from the histories of the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from model.step.rates import ActiveSets, LinkRates
from model.step.report import Segments
from model.step.shares import Shares
from model.step.simulate import Trace

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(slots=True)
class _States:
    """The states of all components in one numbering; entry lists of state s lie at pointer[s] … pointer[s +
    1].
    """

    pointer: list[int] = field(default_factory=lambda: [0])
    instance: list[int] = field(default_factory=list)
    speed: list[float] = field(default_factory=list)

    def add(self, shares: Shares, component: int, latency: int, moving: int) -> int:
        found = shares.moving(component, moving)
        self.instance.extend(found.instances)
        self.speed.extend(found.speeds)
        late = [number for number in shares.components[component] if shares.member_bit[number] & latency]
        self.instance.extend(late)
        self.speed.extend([0.0] * len(late))
        self.pointer.append(len(self.instance))
        return len(self.pointer) - 2


def segments_of(trace: Trace, shares: Shares, loads: csr_array, offered_weight: FloatArray) -> Segments:
    """The segments of a step from 0 to its end, without a hole.

    `loads` (i, 2·links) bytes per step; `offered_weight` (i,) is the share of it that an instance would move
    in a second if only its end points limited it. Speeds are scaled per instance by what rounding of times
    took, so that rates × durations give back the bytes.
    """
    states = _States()
    lines = [_line(trace, shares, component, states) for component in range(len(shares.components))]
    lines = [line for line in lines if len(line[0]) > 1]
    bounds = np.unique(np.concatenate([[0.0, trace.time_s], *(times for times, _ in lines)]))
    bounds = bounds[bounds <= trace.time_s]
    if len(bounds) < 2:
        bounds = np.array([0.0, max(trace.time_s, 0.0)])
    starts = bounds[:-1]
    number = np.stack(
        [numbers[np.searchsorted(times, starts, side="right") - 1] for times, numbers in lines]
        or [np.zeros(len(starts), dtype=np.int64)]
    )
    names = np.random.default_rng(2).integers(1, 2**62, max(len(states.pointer), 2), dtype=np.uint64)
    key = names[number].sum(axis=0, dtype=np.uint64)
    changes = np.concatenate([[True], key[1:] != key[:-1]])
    starts, number, key = starts[changes], number[:, changes], key[changes]
    ends = np.concatenate([starts[1:], [bounds[-1]]])
    _, first, state = np.unique(key, return_index=True, return_inverse=True)
    weights = _weights(states, number[:, first] if lines else None, len(first), shares.count)
    lasting = np.bincount(state, ends - starts, minlength=len(first))
    moved = np.asarray(weights.T @ lasting)
    correction = np.divide(1.0, moved, out=np.ones_like(moved), where=moved > 0)
    moving = weights.data > 0
    offered = weights.copy()
    offered.data = np.where(moving, offered_weight[weights.indices], 0.0)
    weights.data = weights.data * correction[weights.indices]
    return Segments(
        start_s=starts,
        end_s=ends,
        state=state.astype(np.int32),
        rates=LinkRates(weights, loads),
        offered=LinkRates(offered, loads),
        active=ActiveSets(weights.indptr.astype(np.int32), weights.indices.astype(np.int32)),
    )


def _line(trace: Trace, shares: Shares, component: int, states: _States) -> tuple[FloatArray, IntArray]:
    """When a component changes, and the number of its state from then on."""
    history = trace.histories[component]
    known: dict[tuple[int, int], int] = {}
    if len(history.times) == 1:
        return np.zeros(1), np.zeros(1, dtype=np.int64)
    numbers = []
    for key in zip(history.latency, history.moving, strict=True):
        number = known.get(key)
        if number is None:
            number = known[key] = states.add(shares, component, *key)
        numbers.append(number)
    return np.array(history.times), np.array(numbers)


def _weights(states: _States, number: IntArray | None, count: int, instances: int) -> csr_array:
    """Speeds (states of the step, instances); an instance that waits for its latency is a stored zero."""
    if number is None:
        return csr_array((count, instances))
    pointer = np.array(states.pointer)
    flat = number.T.ravel()
    sizes = pointer[flat + 1] - pointer[flat]
    rows = np.repeat(np.repeat(np.arange(count), number.shape[0]), sizes)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    entries = np.repeat(pointer[flat], sizes) + within
    columns = np.array(states.instance, dtype=np.int64)[entries]
    return csr_array((np.array(states.speed)[entries], (rows, columns)), shape=(count, instances))


def peaks(shares: Shares, trace: Trace, offered_weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Per directed link the highest utilisation, and the highest offered rate ÷ usable rate."""
    used, offered = np.zeros(shares.case_count), np.zeros(shares.case_count)
    for component, history in enumerate(trace.histories):
        members = list(shares.components[component])
        for mask in set(history.moving) - {0}:
            moving = shares.moving(component, mask)
            speed = np.zeros(shares.count)
            speed[list(moving.instances)] = moving.speeds
            for best, weight in ((used, speed), (offered, offered_weight)):
                cases, now = shares.load_on_cases(component, mask, weight[members])
                best[cases] = np.maximum(best[cases], now)
    return shares.expand(np.minimum(used, 1.0)), shares.expand(offered)


def costs(shares: Shares, trace: Trace) -> FloatArray:
    """Seconds per directed link in which an awaited exchange was held back by it (conventions 47)."""
    cost = np.zeros(shares.case_count)
    for component, members in enumerate(shares.components):
        spans = [trace.awaited[number] for number in members]
        if any(spans):
            _add_costs(cost, shares, component, trace, spans)
    return shares.expand(cost)


def _add_costs(
    cost: FloatArray, shares: Shares, component: int, trace: Trace, spans: Sequence[list[tuple[float, float]]]
) -> None:
    members = shares.components[component]
    history = trace.histories[component]
    times = np.array(history.times)
    edges = [np.array(part).reshape(-1, 2) for part in spans]
    bounds = np.unique(np.concatenate([times, *(part.ravel() for part in edges)]))
    starts, seconds = bounds[:-1], np.diff(bounds)
    place = np.searchsorted(times, starts, side="right") - 1
    known: dict[int, int] = {}
    numbers = np.array([known.setdefault(mask, len(known)) for mask in history.moving])[place]
    masks = list(known)
    awaited = np.zeros((len(members), len(starts)), dtype=bool)
    for row, part in enumerate(edges):
        if len(part):
            step = np.zeros(len(bounds), dtype=np.int64)
            np.add.at(step, np.searchsorted(bounds, part[:, 0]), 1)
            np.add.at(step, np.searchsorted(bounds, part[:, 1]), -1)
            awaited[row] = np.cumsum(step)[:-1] > 0
    names = np.random.default_rng(3).integers(1, 2**62, len(members) + len(masks), dtype=np.uint64)
    key = names[len(members) + numbers] + (names[: len(members), None] * awaited).sum(axis=0, dtype=np.uint64)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    lasting = np.bincount(inverse, seconds)
    for representative, span in zip(first.tolist(), lasting.tolist(), strict=True):
        moving = shares.moving(component, masks[numbers[representative]])
        waited_for = {members[row] for row in np.flatnonzero(awaited[:, representative])}
        held = [
            limits
            for number, limits in zip(moving.instances, moving.limits, strict=True)
            if number in waited_for
        ]
        if held:
            cost[np.unique(np.concatenate(held))] += span
