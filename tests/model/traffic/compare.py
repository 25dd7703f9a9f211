"""Compares the loads of `model.traffic` with those of the brute force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from model.job.exchange import Exchange
from model.topology.graph import Topology
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from model.traffic.types import Fabric, Traffic
from tests.model.traffic.brute_force import BruteForce
from tests.model.traffic.brute_force_paths import FlowByFlow
from tests.model.traffic.exchanges import gpus_of, placement_of


@dataclass(frozen=True)
class Routing:
    """The routing section of a job."""

    policy: Literal["even", "hashed", "static"] = "even"
    queue_pairs: int = 1
    seed: int = 0


def loads_by_name(fabric: Fabric, traffic: Traffic, exchange: int) -> dict[tuple[str, str], float]:
    """Bytes per step of one exchange: (link id, device where the direction starts) → bytes."""
    total = traffic.loads[traffic.instance_exchange == exchange].sum(axis=0)
    found: dict[tuple[str, str], float] = {}
    for directed, amount in enumerate(total):
        if amount:
            link = directed // 2
            tail = fabric.link_a[link] if directed % 2 == 0 else fabric.link_b[link]
            found[fabric.link_ids[link], fabric.device_ids[tail]] = float(amount)
    return found


def assert_same_as_brute_force(
    topology: Topology, exchanges: Sequence[Exchange], paths: FlowByFlow | None = None
) -> None:
    """The same bytes on every link and direction, and the same unreachable pairs."""
    fabric = compile_fabric(topology)
    routing = None if paths is None else Routing(paths.policy, paths.queue_pairs, paths.seed)
    traffic = load(fabric, placement_of(topology), exchanges, routing)
    slow, gpus = BruteForce(topology, paths), gpus_of(topology)
    for number, item in enumerate(exchanges):
        groups = [[gpus[place] for place in row] for row in item.groups]
        if item.storage:
            groups = [[gpu, device] for (gpu,), device in zip(groups, item.storage, strict=True)]
        expected, lost = slow.exchange(item.operation, item.algorithm, groups, item.message_bytes, item.dedup)
        wanted = {key: float(amount * item.count_per_step) for key, amount in expected.items()}
        found = loads_by_name(fabric, traffic, number)
        assert found == pytest.approx(wanted, rel=1e-12), item.id
        named = {(pair.source, pair.target) for pair in traffic.unreachable if pair.exchange_id == item.id}
        assert traffic.unreachable_pairs[number] == len(lost), item.id
        assert named <= lost and len(named) == min(len(lost), 16), item.id
