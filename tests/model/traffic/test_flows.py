"""Hashed and static routing: known answers, spread, and what is reported beside the draw."""

from __future__ import annotations

import numpy as np
import pytest

from model.job.exchange import Operation
from model.topology.graph import Topology
from model.topology.types import NETWORK_LINKS, DeviceKind, LinkKind, State
from model.traffic import flows
from model.traffic.ecmp import ecmp_expected_worst
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from tests.model.traffic.compare import Routing, loads_by_name
from tests.model.traffic.drawings import DRAWINGS
from tests.model.traffic.exchanges import exchange, gpus_of, placement_of
from tests.model.traffic.sketch import Sketch
from tests.model.traffic.test_by_hand import hgx

T17 = {
    32: (3.53, 2.69, 2.17, 1.80, 1.55, 1.38),
    8: (2.60, 2.11, 1.77, 1.53, 1.37, 1.26),
    64: (3.94, 2.98, 2.35, 1.92, 1.63, 1.44),
}


@pytest.mark.parametrize("links", T17)
def test_t17_expected_worst_link(links: int) -> None:
    """T17: F = N · Q flows on N links, Q = 1, 2, 4 … 32; drawn values, which the form meets within 1 % (§8).

    By hand for N = 8, Q = 1, over k: 0.9997 + 0.9141 + 0.4881 + 0.1422 + 0.0289 + 0.0047 + 0.0007 = 2.578.
    """
    found = [ecmp_expected_worst(links * 2**q, links) for q in range(6)]
    assert found == pytest.approx(T17[links], rel=0.01)
    assert ecmp_expected_worst(8, 8) == pytest.approx(2.578, abs=0.001)


def test_expected_worst_at_the_ends() -> None:
    assert ecmp_expected_worst(0, 32) == ecmp_expected_worst(5, 1) == ecmp_expected_worst(5, 0) == 1.0
    assert 1.0 < ecmp_expected_worst(1e12, 32) < 1.0001
    # A sum in strides: at F/N = 1e6 the largest of 32 normal deviations is 2.07 of them (Tippett 1925).
    assert ecmp_expected_worst(32e6, 32) == pytest.approx(1 + 2.0697e-3, abs=2e-6)
    # One flow: the link that gets it carries all, N times the mean.
    assert ecmp_expected_worst(1, 1000, most=1) <= 1000


def leaves_and_spines(hosts: int, spines: int) -> Topology:
    """Two leaves with `hosts` hosts of one GPU each, joined by spines."""
    s = Sketch()
    for leaf in range(2):
        s.add(DeviceKind.LEAF, f"l{leaf}")
        for h in range(hosts):
            s.add(DeviceKind.GPU, f"gpu{leaf}.{h}")
            s.add(DeviceKind.NIC, f"nic{leaf}.{h}")
            s.pcie(f"gpu{leaf}.{h}", f"nic{leaf}.{h}")
            s.net(f"nic{leaf}.{h}", f"l{leaf}")
    for spine in range(spines):
        s.add(DeviceKind.SPINE, f"s{spine}")
        for leaf in range(2):
            s.net(f"l{leaf}", f"s{spine}")
    return s.topology()


def uplinks(topology: Topology, routing: Routing, items) -> list[float]:  # type: ignore[no-untyped-def]
    """Bytes from leaf 0 to each spine."""
    fabric = compile_fabric(topology)
    traffic = load(fabric, placement_of(topology), items, routing)
    found = [loads_by_name(fabric, traffic, number) for number in range(len(items))]
    names = [link.id for link in topology.links() if {"l0"} & {link.a, link.b} and "s" in link.b[0]]
    return [sum(loads.get((name, "l0"), 0.0) for loads in found) for name in names]


def test_static_spreads_a_shift_evenly() -> None:
    """Destination modulo spines: host h of leaf 1 is place h, so 8 sends to 8 hosts load 4 spines 2 each,
    and those to hosts 0, 4 and 5 spine 0 twice and spine 1 once.
    """
    topology = leaves_and_spines(8, 4)
    shift = exchange(Operation.SEND, [[h, 8 + (h + 3) % 8] for h in range(8)], 100)
    assert uplinks(topology, Routing("static"), [shift]) == [200, 200, 200, 200]
    some = exchange(Operation.SEND, [[0, 8], [1, 12], [2, 13]], 100)
    assert uplinks(topology, Routing("static"), [some]) == [200, 100, 0, 0]


def test_hashed_draw_is_recorded() -> None:
    """The same on every machine and in every run; another seed is another draw."""
    topology = leaves_and_spines(8, 4)
    shift = exchange(Operation.SEND, [[h, 8 + h] for h in range(8)], 100)
    first = uplinks(topology, Routing("hashed", 1, 0), [shift])
    assert first == [100, 300, 400, 0]
    assert sum(first) == 800 and set(first) <= {100.0 * k for k in range(9)}
    assert any(uplinks(topology, Routing("hashed", 1, seed), [shift]) != first for seed in range(1, 4))


def test_many_queue_pairs_come_near_even_routing() -> None:
    """4,096 flows on 4 links: three standard deviations of a share are 3 · sqrt(3/16 / 4096) = 2 %."""
    topology = leaves_and_spines(1, 4)
    item = exchange(Operation.SEND, [[0, 1]], 1000)
    found = uplinks(topology, Routing("hashed", 4096, 1), [item])
    assert found == pytest.approx([250] * 4, abs=20)
    assert len(set(found)) > 1


def test_chances_go_by_capacity() -> None:
    """An uplink at a quarter of its rate, of two: 1/5 of the flows, ± 2 %."""
    s = Sketch()
    for end in ("a", "b"):
        s.add(DeviceKind.GPU, f"gpu-{end}")
        s.add(DeviceKind.NIC, f"nic-{end}")
        s.add(DeviceKind.LEAF, f"l{'ab'.index(end)}")
        s.pcie(f"gpu-{end}", f"nic-{end}")
        s.net(f"nic-{end}", f"l{'ab'.index(end)}")
    s.add(DeviceKind.SPINE, "s0", "s1")
    s.net("l0", "s0", state=State.DEGRADED, share=0.25)
    for leaf, spine in (("l0", "s1"), ("l1", "s0"), ("l1", "s1")):
        s.net(leaf, spine)
    item = exchange(Operation.SEND, [[0, 1]], 1000)
    assert uplinks(s.topology(), Routing("hashed", 4096), [item]) == pytest.approx([200, 800], abs=20)


def test_tiers_report_expected_and_drawn() -> None:
    """64 hosts send to 64 over 32 spines with 4 queue pairs: 256 flows on 32 cables up and as many down. The
    expectation is T17's (N = 32, Q = 8: 1.80), the draw is what the loads say.
    """
    topology = leaves_and_spines(64, 32)
    item = exchange(Operation.SEND, [[h, 64 + h] for h in range(64)], 100, ident="pp.forward")
    routing = Routing("hashed", 4, 5)
    traffic = load(compile_fabric(topology), placement_of(topology), [item], routing)
    up, down = traffic.ecmp
    assert (up.exchange_id, up.from_kind, up.to_kind, up.flows, up.cables) == (
        "pp.forward",
        "leaf",
        "spine",
        256,
        32,
    )
    assert (down.from_kind, down.to_kind, down.flows, down.cables) == ("spine", "leaf", 256, 32)
    assert up.expected == pytest.approx(1.80, rel=0.01)
    assert up.drawn == pytest.approx(max(uplinks(topology, routing, [item])) / (6400 / 32))
    assert 1.2 < up.drawn < 3


def test_rail_local_flows_do_not_hash() -> None:
    """On rails with one leaf each no flow has a choice; even and static routing report no tier."""
    topology = hgx(4)
    item = exchange(Operation.ALL_REDUCE, [list(range(32))], 100)
    fabric, placement = compile_fabric(topology), placement_of(topology)
    assert load(fabric, placement, [item], Routing("hashed", 4)).ecmp == ()
    crossing = exchange(Operation.SEND, [[0, 9]], 100)
    assert load(fabric, placement, [crossing], Routing("static")).ecmp == ()
    assert load(fabric, placement, [crossing]).ecmp == ()


@pytest.mark.parametrize("name", DRAWINGS)
def test_all_bytes_of_the_network_stay_whatever_the_choice(name: str) -> None:
    """Paths of one pair are equally long, so the sum over all network links is that of even routing, and on
    scale-up and host links nothing changes.
    """
    topology = DRAWINGS[name]()
    fabric, placement = compile_fabric(topology), placement_of(topology)
    every = list(range(len(gpus_of(topology))))
    item = exchange(Operation.ALL_TO_ALL, [every], 8400, algorithm="direct")
    even = load(fabric, placement, [item]).loads.sum(axis=0)
    network = [tuple(LinkKind).index(kind) for kind in NETWORK_LINKS]
    inside = np.repeat(~np.isin(fabric.link_kind, network), 2)
    for routing in (Routing("static"), Routing("hashed", 2, 9)):
        found = load(fabric, placement, [item], routing).loads.sum(axis=0)
        assert found[inside] == pytest.approx(even[inside], rel=1e-12)
        assert found.sum() == pytest.approx(even.sum(), rel=1e-9)


def test_more_queue_pairs_than_can_be_told_apart_are_cut_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MOST_DRAWN", 64)
    monkeypatch.setattr("model.traffic.load.MOST_DRAWN", 64)
    monkeypatch.setattr(flows, "BLOCK", 7)
    topology = leaves_and_spines(8, 4)
    item = exchange(Operation.SEND, [[h, 8 + h] for h in range(8)], 100)
    traffic = load(compile_fabric(topology), placement_of(topology), [item], Routing("hashed", 100))
    assert traffic.notes == (
        "tp.test (send): hashed with 8 of 100 queue pairs, as more flows than 64 are not told apart.",
    )
    assert sum(uplinks(topology, Routing("hashed", 100), [item])) == pytest.approx(800)
