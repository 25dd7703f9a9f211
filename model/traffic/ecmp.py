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


def ecmp_expected_worst(flows: float, links: int) -> float:
    """The expected load of the fullest of `links` links on which equal flows fall at random, over the mean.

    E[max] ≈ Σ_{k ≥ 0} (1 − P(Poisson(F/N) ≤ k)^N), divided by F/N. 1.0 where there is nothing to collide.
    """
    if flows <= 0 or links <= 1:
        return 1.0
    mean = flows / links
    spread = _DEVIATIONS * (math.sqrt(mean) + 1.0) + math.log(links)
    low, high = max(math.floor(mean - spread), 0), math.ceil(mean + 3.0 * spread)
    count = np.arange(low, high, dtype=np.float64)
    # Below `low` no link stays, so each of those terms is 1.
    largest = low + float((1.0 - pdtr(count, mean) ** links).sum())
    return largest / mean


@dataclass(frozen=True, slots=True)
class TierDraw:
    """One tier of one exchange, as in `EcmpTier`."""

    from_kind: str
    to_kind: str
    flows: int
    cables: int
    drawn: float


def tiers(fabric: Fabric, cables: np.ndarray, choice: PathChoice) -> tuple[TierDraw, ...]:
    """What the hashed flows of an exchange did, per ordered pair of kinds of switch."""
    if not choice.drawn:
        return ()
    link = np.concatenate([item.link for item in choice.drawn])
    cable = np.concatenate([item.cable for item in choice.drawn])
    amount = np.concatenate([item.amount for item in choice.drawn])
    hashed = np.concatenate([item.hashed for item in choice.drawn])
    most = int(cables.max(initial=1))
    kinds = tuple(DeviceKind)
    ends = np.column_stack([fabric.link_a, fabric.link_b])
    kind = fabric.device_kind.astype(np.int64)
    tier = (kind[ends] @ np.array([[len(kinds), 1], [1, len(kinds)]])).ravel()
    _, even_link, even_amount = choice.even.entries()
    even_link, even_amount = sum_by_key(even_link, even_amount)
    on_cable, load = sum_by_key(link * most + cable, amount)
    found = []
    for code in np.unique(tier[link]):
        flows = int(hashed[tier[link] == code].sum())
        if flows:
            mine = tier[even_link] == code
            width = cables[even_link[mine]]
            worst = float(load[tier[on_cable // most] == code].max())
            found.append(
                TierDraw(
                    kinds[code // len(kinds)].value,
                    kinds[code % len(kinds)].value,
                    flows,
                    int(width.sum()),
                    worst / float((even_amount[mine] / width).max()),
                )
            )
    return tuple(found)
