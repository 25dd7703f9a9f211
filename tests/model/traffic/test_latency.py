"""α of every algorithm against traffic_model §5.3, and what long links add."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.job.exchange import Dedup, Operation
from model.topology.cables import cable_length_m
from model.topology.graph import Topology
from model.topology.types import NETWORK_LINKS, Container, ContainerKind, DeviceKind, LinkKind
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from tests.model.traffic.exchanges import exchange, placement_of
from tests.model.traffic.sketch import Sketch
from tests.model.traffic.test_by_hand import hgx

ALL_REDUCE, ALL_TO_ALL = Operation.ALL_REDUCE, Operation.ALL_TO_ALL


def alphas(topology: Topology, exchanges) -> list[float]:  # type: ignore[no-untyped-def]
    traffic = load(compile_fabric(topology), placement_of(topology), exchanges)
    assert not traffic.notes and not traffic.unreachable
    return traffic.alpha_s.tolist()  # type: ignore[no-any-return]


def test_alpha_of_every_algorithm() -> None:
    """Simple protocol on 4 nodes of 8 H100 (microseconds).

    tree: 8.4 + 2 (7 · 4.0 + log2 4 · 14) = 120.4. hierarchical: scatter and gather 2 · (8.4 + 7 · 3.4), all-
    reduce 8.4 + 6 · 14, together 156.8. halving-doubling: 8.4 + 2 · (3 · 3.4 + 2 · 14) = 84.8. sharp: the
    CollNet chain, 2 · 7 · 2.8 + 30 = 69.2. broadcast: 32 steps, 3 of them between nodes: 8.4 + 29 · 3.4
    + 3 · 14 = 149. deduplicated: 14 + 3.4. direct in one node: 8.4 + 3.4 to gather, once more to reduce.
    """
    every = [list(range(32))]
    names = ("tree", "hierarchical", "halving-doubling", "sharp")
    items = [exchange(ALL_REDUCE, every, 1, algorithm=name) for name in names]
    items.append(exchange(Operation.BROADCAST, every, 1))
    dedup = Dedup(64, 2)
    items.append(exchange(ALL_TO_ALL, every, 1, algorithm="deduplicated", dedup=dedup))
    items += [
        exchange(op, [list(range(8))], 1, algorithm="direct") for op in (ALL_REDUCE, Operation.ALL_GATHER)
    ]
    expected = [120.4e-6, 156.8e-6, 84.8e-6, 69.2e-6, 149e-6, 17.4e-6, 15.2e-6, 11.8e-6]
    assert alphas(hgx(4), items) == pytest.approx(expected)


def test_a_tree_over_parts_of_one_has_no_chain() -> None:
    """6 nodes, one member each: 8.4 + 2 · 2 · 14 (log2 6 rounded down) = 64.4; hierarchical is the ring."""
    strided = [list(range(0, 48, 8))]
    items = [exchange(ALL_REDUCE, strided, 1, algorithm=name) for name in ("tree", "hierarchical", "ring")]
    assert alphas(hgx(6), items) == pytest.approx([64.4e-6, 148.4e-6, 148.4e-6])


def two_sites(latency_s: float) -> Topology:
    """Four hosts of one GPU, two at each of two sites; a fibre joins the gateways."""
    s = Sketch()
    for site in ("x", "y"):
        s.add(DeviceKind.LEAF, f"leaf-{site}")
        s.add(DeviceKind.SITE_GATEWAY, f"gate-{site}", model="site-gateway")
        s.net(f"leaf-{site}", f"gate-{site}")
        for h in range(2):
            s.add(DeviceKind.GPU, f"{site}.gpu{h}")
            s.add(DeviceKind.NIC, f"{site}.nic{h}")
            s.pcie(f"{site}.gpu{h}", f"{site}.nic{h}")
            s.net(f"{site}.nic{h}", f"leaf-{site}")
    s.join("gate-x", "gate-y", LinkKind.WAN, 12.5e9)
    s.links[-1] = replace(s.links[-1], latency_s=latency_s)
    return s.topology()


def test_a_long_link_adds_its_latency_each_time_it_is_crossed() -> None:
    """A fibre of 5 ms. A ring over [x, x, y, y] has two hops over it; data go around twice but for one hop
    each time: 2 · 3/4 · 10 ms. A gather half of that. Tree (x0 – y0, and below it both others, mirrored):
    5 ms each in two levels, up and down: 4 · 5 ms at most. Pairwise: only the round at distance 2, twice.
    """
    slow, quick = two_sites(5e-3), two_sites(10e-6)
    group = [[0, 1, 2, 3]]
    items = [
        exchange(ALL_REDUCE, group, 1, algorithm="ring"),
        exchange(Operation.ALL_GATHER, group, 1),
        exchange(ALL_REDUCE, group, 1, algorithm="tree"),
        exchange(ALL_REDUCE, group, 1, algorithm="halving-doubling"),
        exchange(ALL_TO_ALL, group, 1, algorithm="direct"),
        exchange(Operation.SEND, [[0, 1]], 1),
        exchange(Operation.SEND, [[3, 0]], 1),
        exchange(Operation.BROADCAST, group, 1),
    ]
    added = [a - b for a, b in zip(alphas(slow, items), alphas(quick, items), strict=True)]
    assert added == pytest.approx([15e-3, 7.5e-3, 20e-3, 10e-3, 5e-3, 0, 5e-3, 5e-3], abs=1e-12)
    usual = alphas(hgx(4), [exchange(ALL_REDUCE, [[0, 8, 16, 24]], 1, algorithm="ring")])
    assert alphas(quick, items[:1]) == pytest.approx(usual)


def test_sharp_over_a_long_link_between_spines() -> None:
    """The tree is rooted in a leaf (first of l0 and l1): up and down over 1 ms to the farther pair."""
    s = Sketch()
    for pod in range(2):
        s.add(DeviceKind.LEAF, f"l{pod}")
        for h in range(2):
            s.add(DeviceKind.GPU, f"gpu{pod}{h}")
            s.add(DeviceKind.NIC, f"nic{pod}{h}")
            s.pcie(f"gpu{pod}{h}", f"nic{pod}{h}")
            s.net(f"nic{pod}{h}", f"l{pod}")
    s.net("l0", "l1")
    s.links[-1] = replace(s.links[-1], latency_s=1e-3)
    items = [exchange(ALL_REDUCE, [[0, 1, 2, 3]], 1, algorithm="sharp")]
    assert alphas(s.topology(), items) == pytest.approx([30e-6 + 2e-3])


def racked(rows_apart: int) -> Topology:
    """Two hosts of one GPU in racks of two rows, their leaf beside the first."""
    s = Sketch()
    s.add(DeviceKind.LEAF, "leaf")
    for h in range(2):
        s.add(DeviceKind.GPU, f"gpu{h}")
        s.add(DeviceKind.NIC, f"nic{h}")
        s.pcie(f"gpu{h}", f"nic{h}")
        s.net(f"nic{h}", "leaf")
    racks = [Container(f"rack{h}", ContainerKind.RACK, row=h * rows_apart, column=0) for h in range(2)]
    trays = [Container(f"host{h}", ContainerKind.TRAY, parent=f"rack{h}", u=1) for h in range(2)]
    places = {f"{kind}{h}": f"host{h}" for kind in ("gpu", "nic") for h in range(2)}
    devices = [replace(one, parent=places.get(one.id, "rack0")) for one in s.topology().devices()]
    devices[0] = replace(devices[0], u=42)
    return Topology(devices, s.topology().links(), [*racks, *trays])


def test_cables_between_racks_add_five_nanoseconds_a_metre() -> None:
    """The send crosses both cables. One row farther is 2.4 m more on the second: 12 ns."""
    send = [exchange(Operation.SEND, [[0, 1]], 1)]
    near, far = alphas(racked(1), send)[0], alphas(racked(2), send)[0]
    assert far - near == pytest.approx(2.4 * 5e-9)
    topology = racked(1)
    lengths = [cable_length_m(topology, link) for link in topology.links() if link.kind in NETWORK_LINKS]
    away = sum(length for length in lengths if length is not None)
    assert near == pytest.approx(14e-6 + away * 5e-9)
    unknown = Topology(
        [replace(one, u=None) for one in topology.devices()], topology.links(), topology.containers()
    )
    assert alphas(unknown, send) == pytest.approx([14e-6])


def test_a_cable_with_a_length_of_its_own_is_as_before() -> None:
    """30 m of its own are 150 ns on the link, and within the catalogue's step."""
    topology = racked(1)
    own = [replace(link, length_m=30.0) for link in topology.links() if link.kind in NETWORK_LINKS]
    topology.put(links=own)
    fabric = compile_fabric(topology)
    assert fabric.latency[fabric.latency > 0].tolist() == pytest.approx([150e-9, 150e-9])
    assert alphas(topology, [exchange(Operation.SEND, [[0, 1]], 1)]) == pytest.approx([14e-6])
