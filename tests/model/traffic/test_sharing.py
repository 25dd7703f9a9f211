"""Max-min fair sharing against plain progressive filling, and its defining property."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from model.traffic.sharing import max_min_rates


def fill(usage: np.ndarray, capacity: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Textbook: all rates grow together; whoever meets a full link or its cap stops."""
    n = len(usage)
    rates = np.where((usage > 0).any(axis=1) | np.isfinite(caps), 0.0, np.inf)
    growing = np.isfinite(rates)
    while growing.any():
        left = capacity - usage[np.isfinite(rates)].T @ rates[np.isfinite(rates)]
        demand = usage[growing].sum(axis=0)
        steps = [max(left[link], 0) / demand[link] for link in np.flatnonzero(demand)]
        step = min([*steps, *(caps[e] - rates[e] for e in range(n) if growing[e])])
        rates[growing] += step
        left = capacity - usage[np.isfinite(rates)].T @ rates[np.isfinite(rates)]
        full = left <= 1e-9 * np.maximum(capacity, 1)
        for e in np.flatnonzero(growing):
            if (usage[e][full] > 0).any() or rates[e] >= caps[e] * (1 - 1e-12):
                growing[e] = False
    return rates


@pytest.mark.parametrize("seed", range(200))
def test_equals_progressive_filling_and_every_rate_has_a_bottleneck(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, links = random.integers(1, 12), random.integers(1, 15)
    usage = random.choice([0.0, 0.25, 0.5, 1.0, 2.0], (n, links), p=[0.6, 0.1, 0.1, 0.1, 0.1])
    usage *= random.uniform(0.5, 1.5, (n, links)) if seed % 2 else 1.0
    capacity = random.choice([0.0, 1.0, 3.0, 10.0], links, p=[0.05, 0.35, 0.3, 0.3])
    caps = np.where(random.random(n) < 0.3, random.uniform(0, 5, n), np.inf)
    rates = max_min_rates(csr_array(usage), capacity, caps)
    assert rates == pytest.approx(fill(usage, capacity, caps), rel=1e-6, abs=1e-7)
    finite = np.isfinite(rates)
    used = usage[finite].T @ rates[finite]
    assert (used <= capacity * (1 + 1e-9) + 1e-12).all()
    full = used >= capacity * (1 - 1e-9) - 1e-12
    for e in np.flatnonzero(finite):
        over = full & (usage[e] > 0)
        highest = [rates[finite & (usage[:, link] > 0)].max() for link in np.flatnonzero(over)]
        at_cap = rates[e] == pytest.approx(caps[e])
        assert at_cap or any(rates[e] >= top * (1 - 1e-9) - 1e-12 for top in highest)


def test_two_exchanges_on_one_cable_by_hand() -> None:
    """Exchange 0 takes the whole of link 0, exchange 1 half of it and all of link 1 (capacity 2).

    Together they fill link 0 (capacity 9) at ρ + ρ/2 = 9, ρ = 6, but link 1 stops exchange 1 at 2; then
    exchange 0 gets the rest, 9 − 1 = 8.
    """
    usage = csr_array(np.array([[1.0, 0.0], [0.5, 1.0]]))
    assert max_min_rates(usage, np.array([9.0, 2.0])) == pytest.approx([8.0, 2.0])


def test_nothing_used_is_not_limited_and_no_capacity_is_no_rate() -> None:
    usage = csr_array(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    assert max_min_rates(usage, np.array([5.0, 0.0])).tolist() == [np.inf, 0.0, 5.0]
    assert max_min_rates(usage, np.array([5.0, 0.0]), np.array([3.0, 3.0, 3.0])).tolist() == [3.0, 0.0, 3.0]
    assert len(max_min_rates(csr_array((0, 4)), np.ones(4))) == 0
