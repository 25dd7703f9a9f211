"""The routing against an independent brute force, on small drawings and on random ones."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.job.exchange import Operation
from model.topology.graph import Topology
from model.topology.types import DeviceKind, LinkKind, State
from tests.model.traffic.brute_force_paths import FlowByFlow
from tests.model.traffic.compare import assert_same_as_brute_force
from tests.model.traffic.drawings import DRAWINGS
from tests.model.traffic.exchanges import algorithms_on, exchange, gpus_of, job_on
from tests.model.traffic.sketch import NVLINK, Sketch


@pytest.mark.parametrize("name", DRAWINGS)
def test_same_bytes_on_every_link_as_the_brute_force(name: str) -> None:
    topology = DRAWINGS[name]()
    assert_same_as_brute_force(topology, job_on(len(gpus_of(topology))))


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_algorithm_is_that_of_the_brute_force(name: str) -> None:
    topology = DRAWINGS[name]()
    assert_same_as_brute_force(topology, algorithms_on(topology))


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize(
    "paths",
    [FlowByFlow("static"), FlowByFlow("hashed"), FlowByFlow("hashed", 3, 2**32 - 1)],
    ids=["static", "hashed", "hashed, 3 queue pairs"],
)
def test_flows_take_the_paths_of_the_brute_force(name: str, paths: FlowByFlow) -> None:
    topology = DRAWINGS[name]()
    exchanges = job_on(len(gpus_of(topology))) + algorithms_on(topology)
    assert_same_as_brute_force(topology, exchanges, paths)


MODELS_OF = {
    DeviceKind.NVLINK_SWITCH: ["nvswitch2", "nvswitch3"],
    DeviceKind.LEAF: ["qm9700", "qm9700", "th5"],
    DeviceKind.STORAGE: ["storage"],
}
STATES = st.sampled_from([State.UP] * 6 + [State.DEGRADED, State.DOWN])
RAILS = st.sampled_from([None, 0, 1])


@st.composite
def drawings(draw: st.DrawFn) -> Topology:
    """Random devices and links among kinds that may be joined, with all states; most are half-finished."""
    s = Sketch()
    counts = {
        DeviceKind.GPU: draw(st.integers(3, 5)),
        DeviceKind.NVLINK_SWITCH: draw(st.integers(0, 3)),
        DeviceKind.NIC: draw(st.integers(1, 4)),
        DeviceKind.CPU: draw(st.integers(0, 2)),
        DeviceKind.LEAF: draw(st.integers(1, 3)),
        DeviceKind.SPINE: draw(st.integers(0, 2)),
        DeviceKind.STORAGE: draw(st.integers(0, 1)),
    }
    names = {kind: [f"{kind}{i}" for i in range(number)] for kind, number in counts.items()}
    for kind, members in names.items():
        for name in members:
            model = draw(st.sampled_from(MODELS_OF[kind])) if kind in MODELS_OF else None
            rail = draw(RAILS) if kind in (DeviceKind.GPU, DeviceKind.NIC) else None
            s.add(kind, name, model=model, rail=rail, state=draw(STATES))
    allowed = [
        (DeviceKind.GPU, DeviceKind.GPU, LinkKind.NVLINK, 6),
        (DeviceKind.GPU, DeviceKind.NVLINK_SWITCH, LinkKind.NVLINK, 1),
        (DeviceKind.NVLINK_SWITCH, DeviceKind.NVLINK_SWITCH, LinkKind.NVLINK, 3),
        (DeviceKind.GPU, DeviceKind.NIC, LinkKind.PCIE, 2),
        (DeviceKind.GPU, DeviceKind.CPU, LinkKind.PCIE, 2),
        (DeviceKind.NIC, DeviceKind.CPU, LinkKind.PCIE, 2),
        (DeviceKind.CPU, DeviceKind.CPU, LinkKind.C2C, 1),
        (DeviceKind.NIC, DeviceKind.LEAF, LinkKind.ETHERNET, 1),
        (DeviceKind.NIC, DeviceKind.NIC, LinkKind.ETHERNET, 5),
        (DeviceKind.STORAGE, DeviceKind.LEAF, LinkKind.ETHERNET, 1),
        (DeviceKind.LEAF, DeviceKind.LEAF, LinkKind.ETHERNET, 3),
        (DeviceKind.LEAF, DeviceKind.SPINE, LinkKind.ETHERNET, 1),
    ]
    for first, second, kind, rarity in allowed:
        for a in names[first]:
            for b in names[second]:
                if a < b or first != second:
                    for _ in range(draw(st.integers(-rarity, 2))):
                        share, count = draw(st.sampled_from([0.25, 0.5])), draw(st.integers(1, 3))
                        s.join(a, b, kind, NVLINK, count=count, state=draw(STATES), share=share)
    return s.topology()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawings())
def test_random_drawings_agree_with_the_brute_force(topology: Topology) -> None:
    every = list(range(len(gpus_of(topology))))
    assert_same_as_brute_force(
        topology,
        [
            exchange(Operation.ALL_REDUCE, [every], 6000, ident="all-reduce"),
            exchange(Operation.ALL_GATHER, [every[::-1]], 6000, ident="gather"),
            exchange(Operation.ALL_TO_ALL, [every], 6000, ident="auto"),
            exchange(Operation.ALL_TO_ALL, [every], 6000, ident="pxn", algorithm="pxn"),
        ],
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawings(), st.sampled_from([None, FlowByFlow("static"), FlowByFlow("hashed", 2, 3)]))
def test_algorithms_and_flows_on_random_drawings(topology: Topology, paths: FlowByFlow | None) -> None:
    assert_same_as_brute_force(topology, algorithms_on(topology), paths)
