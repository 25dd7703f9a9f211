"""How evenly hashed flows spread: the expected worst link (traffic_model §8) beside what was drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import pdtr

from model.topology.types import DeviceKind
from model.traffic.arrays import sum_by_key
from model.traffic.flows import PathChoice
from model.traffic.types import Fabric

_DEVIATIONS = 12.0  # beyond so many the Poisson tail is below 1e-30
_MOST_TERMS = 1 << 14


def ecmp_expected_worst(flows: float, links: int, most: float | None = None) -> float:
    """The expected load of the fullest of `links` links on which equal flows fall at random, over the mean.

    E[max] ≈ Σ_{k ≥ 0} (1 − P(Poisson(F/N) ≤ k)^N), divided by F/N. 1.0 where there is nothing to collide.
    `most`: how many flows can meet on one link at all. With fewer flows than links the ratio is high, because
    the mean is below one flow.
    """
    if flows <= 0 or links <= 1:
        return 1.0
    mean = flows / links
    spread = _DEVIATIONS * (math.sqrt(mean) + 1.0) + math.log(links)
    low, high = max(math.floor(mean - spread), 0), math.ceil(mean + 3.0 * spread)
    # Below `low` no link stays, so each of those terms is 1. A long sum is taken in strides, at their middle.
    stride = max((high - low) // _MOST_TERMS, 1)
    count = np.arange(low, high, stride) + (stride - 1) // 2
    largest = low + stride * float((1.0 - pdtr(count, mean) ** links).sum())
    return min(largest, flows if most is None else most) / mean


@dataclass(frozen=True, slots=True)
class TierDraw:
    """One tier of one exchange, as in `EcmpTier`."""

    from_kind: str
    to_kind: str
    flows: int
    cables: int
    expected: float
    drawn: float


def tiers(fabric: Fabric, cables: np.ndarray, choice: PathChoice) -> tuple[TierDraw, ...]:
    """What the hashed flows of an exchange did, per ordered pair of kinds of switch."""
    if not choice.drawn:
        return ()
    link = np.concatenate([item.link for item in choice.drawn])
    cable = np.concatenate([item.cable for item in choice.drawn])
    amount = np.concatenate([item.amount for item in choice.drawn])
    flows = np.concatenate([item.flows for item in choice.drawn])
    most = int(cables.max(initial=1))
    kinds = tuple(DeviceKind)
    tail = np.column_stack([fabric.link_a, fabric.link_b]).ravel()
    head = np.column_stack([fabric.link_b, fabric.link_a]).ravel()
    kind = fabric.device_kind.astype(np.int64)
    tier = kind[tail] * len(kinds) + kind[head]
    _, even_link, even_amount = choice.even.entries()
    even_link, even_amount = sum_by_key(even_link, even_amount)
    on_cable, load = sum_by_key(link * most + cable, amount)
    found = []
    for code in np.unique(tier[link]):
        here = tier[link] == code
        crossing = int(flows[here].sum())
        if crossing:
            mine = tier[even_link] == code
            width = cables[even_link[mine]]
            worst = float(load[tier[on_cable // most] == code].max())
            # No cable carries more flows than meet at its lower end, where they do not depend on the draw.
            lower = tail if code // len(kinds) <= code % len(kinds) else head
            meeting = np.bincount(lower[link[here]], flows[here]).max()
            found.append(
                TierDraw(
                    kinds[code // len(kinds)].value,
                    kinds[code % len(kinds)].value,
                    crossing,
                    int(width.sum()),
                    ecmp_expected_worst(crossing, int(width.sum()), float(meeting)),
                    worst / float((even_amount[mine] / width).max()),
                )
            )
    return tuple(found)
