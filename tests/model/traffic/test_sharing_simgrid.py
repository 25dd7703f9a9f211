"""Max-min fair sharing against SimGrid 3.32, whose rates `benchmarks/simgrid_record.py` recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.simgrid_record import FAMILIES, PER_FAMILY, instances
from model.traffic.sharing import max_min_rates
from tests.model.traffic.test_sharing import fill

RECORD = Path(__file__).resolve().parents[2] / "data/max_min_simgrid.json"
INSTANCES: list[dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["instances"]


def matrices(instance: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Usage (flows, links), capacities, own limits."""
    flows, capacity = instance["flows"], np.array(instance["capacities"])
    usage = np.zeros((len(flows), len(capacity)))
    for number, flow in enumerate(flows):
        for link, weight in flow["links"]:
            usage[number, link] = weight
    caps = np.array([np.inf if flow["limit"] is None else flow["limit"] for flow in flows])
    return usage, capacity, caps


def test_the_record_is_of_the_instances_that_the_script_makes() -> None:
    assert len(INSTANCES) == len(FAMILIES) * PER_FAMILY >= 40
    for kept, made in zip(INSTANCES, instances(), strict=True):
        assert kept["family"] == made.family
        assert tuple(kept["capacities"]) == made.capacities
        flows = [(tuple(tuple(link) for link in flow["links"]), flow["limit"]) for flow in kept["flows"]]
        assert flows == [(flow.links, flow.limit) for flow in made.flows]
        assert 3 <= len(kept["flows"]) <= 30
        assert 3 <= len(kept["capacities"]) <= 40


@pytest.mark.parametrize("number", range(len(INSTANCES)))
def test_rates_equal_those_of_simgrid(number: int) -> None:
    instance = INSTANCES[number]
    recorded = [flow["rate"] for flow in instance["flows"]]
    usage, capacity, caps = matrices(instance)
    assert max_min_rates(csr_array(usage), capacity, caps) == pytest.approx(recorded, rel=1e-8)
    # The textbook filling that the other test takes for true, too.
    assert fill(usage, capacity, caps) == pytest.approx(recorded, rel=1e-8)


def test_the_record_tells_max_min_from_an_equal_split() -> None:
    """Many flows get more than their smallest capacity over the weights of all who use that link."""
    more = total = 0
    for instance in INSTANCES:
        users = np.zeros(len(instance["capacities"]))
        for flow in instance["flows"]:
            for link, weight in flow["links"]:
                users[link] += weight
        share = np.array(instance["capacities"]) / np.maximum(users, 1)
        for flow in instance["flows"]:
            total += 1
            more += flow["rate"] > 1.01 * min(share[link] for link, _ in flow["links"])
    assert more > 0.4 * total
