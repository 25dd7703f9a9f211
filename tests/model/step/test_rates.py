"""Tables of rates as factors, against the dense product that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from model.step.rates import LinkRates


@pytest.fixture
def table() -> LinkRates:
    """12 states of 5 exchanges on 40 directed links; of some states another moves more of everything."""
    random = np.random.default_rng(7)
    weights = random.integers(0, 3, (12, 5)) * random.random((12, 5))
    weights[4], weights[7], weights[9] = weights[3] * 0.5, weights[3], 0.0
    loads = random.integers(0, 2, (5, 40)) * random.random((5, 40))
    return LinkRates(csr_array(weights), csr_array(loads))


def test_rows_are_the_product(table: LinkRates) -> None:
    dense = table.weights.toarray() @ table.loads.toarray()
    for state in range(table.shape[0]):
        assert np.allclose(table[state], dense[state], rtol=1e-12)


@pytest.mark.parametrize("states", [(0,), (9,), (3, 4), (4, 7, 3), tuple(range(12))])
def test_the_most_over_states_is_that_of_their_rows(table: LinkRates, states: tuple[int, ...]) -> None:
    dense = table.weights.toarray() @ table.loads.toarray()
    assert np.allclose(table.most(states), dense[list(states)].max(axis=0), rtol=1e-12)
