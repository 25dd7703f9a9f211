"""Bytes per link counted by hand, and known answers of the traffic model."""

from __future__ import annotations

import numpy as np
import pytest

from model.errors import InputError
from model.job.exchange import Operation
from model.topology.graph import Topology
from model.topology.types import DeviceKind
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from tests.model.traffic.compare import loads_by_name
from tests.model.traffic.exchanges import exchange, gpus_of, placement_of
from tests.model.traffic.sketch import Sketch, rails

ALL_REDUCE, ALL_GATHER, ALL_TO_ALL = Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.ALL_TO_ALL


def bytes_between(topology: Topology, *exchanges) -> dict[tuple[str, str], float]:  # type: ignore[no-untyped-def]
    """All bytes per step from device to device, parallel links summed."""
    fabric = compile_fabric(topology)
    traffic = load(fabric, placement_of(topology), exchanges)
    assert not traffic.unreachable
    found: dict[tuple[str, str], float] = {}
    for number in range(len(exchanges)):
        for (link, tail), amount in loads_by_name(fabric, traffic, number).items():
            key = (tail, topology.link(link).other(tail))
            found[key] = found.get(key, 0.0) + amount
    return found


def two_hosts_two_rails() -> Topology:
    """Hosts a and b with 2 GPUs behind one NVLink switch, a NIC per GPU, leaf 0 and leaf 1, one spine."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 2, (18,))
    rails(s, ["a", "b"], 2)
    return s.topology()


def test_ring_over_two_hosts_by_hand() -> None:
    """All-reduce of S = 1000 over n = 4: V = 2 · 3/4 · 1000 = 1500.

    Two parts of two, so C = 2 channels. Inside a part: two hops of 1500 each, over the switch, so every GPU
    sends 1500 and gets 1500. Between parts: 1500 / 2 = 750 from a.gpu0 to b.gpu0 and back on rail 0, the
    same on rail 1. Each rail has its leaf, so the spine carries nothing.
    """
    expected = {}
    for host in ("a", "b"):
        for g in (0, 1):
            expected[f"{host}.gpu{g}", f"{host}.sw0"] = 1500
            expected[f"{host}.sw0", f"{host}.gpu{g}"] = 1500
            for out, into in ((f"{host}.gpu{g}", f"{host}.nic{g}"), (f"{host}.nic{g}", f"leaf{g}")):
                expected[out, into] = 750
                expected[into, out] = 750
    found = bytes_between(two_hosts_two_rails(), exchange(ALL_REDUCE, [[0, 1, 2, 3]], 1000))
    assert found == pytest.approx(expected, rel=1e-12)


def test_pxn_and_direct_all_to_all_by_hand() -> None:
    """All-to-all with S = 400 over n = 4: every ordered pair exchanges 100.

    PXN: a.gpu0 keeps to its rail with b.gpu0 (100 by its own NIC) and hands its 100 for b.gpu1 to a.gpu1, so
    each GPU sends 100 (to its neighbour) + 100 (to be relayed) = 200 over NVLink, and each NIC carries
    100 (own) + 100 (relayed) = 200 a direction. Nothing crosses the spine.
    Direct: 100 over NVLink; NIC 0 carries 100 to b.gpu0 and 100 to b.gpu1. The latter lands on rail 1, where
    b.gpu1 has its NIC: over leaf0, spine, leaf1. So leaf0 → spine carries 100 of host a and 100 of host b.
    """
    topology = two_hosts_two_rails()
    pxn, direct = {}, {}
    for host in ("a", "b"):
        for g in (0, 1):
            gpu, nic, switch, leaf = f"{host}.gpu{g}", f"{host}.nic{g}", f"{host}.sw0", f"leaf{g}"
            for out, into in ((gpu, switch), (switch, gpu)):
                pxn[out, into] = 200
                direct[out, into] = 100
            for out, into in ((gpu, nic), (nic, gpu), (nic, leaf), (leaf, nic)):
                pxn[out, into] = 200
                direct[out, into] = 200
            for out, into in ((leaf, "spine0"), ("spine0", leaf)):
                direct[out, into] = 200
    found = bytes_between(topology, exchange(ALL_TO_ALL, [[0, 1, 2, 3]], 400))
    assert found == pytest.approx(pxn, rel=1e-12)
    found = bytes_between(topology, exchange(ALL_TO_ALL, [[0, 1, 2, 3]], 400, algorithm="direct"))
    assert found == pytest.approx(direct, rel=1e-12)


def test_unequal_uplinks_by_hand() -> None:
    """900 bytes from a to b, below different leaves; leaf-a has 2 cables to spine x, 1 to y.

    leaf-a splits by its own outgoing capacity only, 2 : 1, so x gets 600 and y 300, although both
    have one cable to leaf-b. Sent twice a step: 1800, 1200 and 600.
    """
    s = Sketch()
    for host in ("a", "b"):
        s.add(DeviceKind.GPU, f"{host}.gpu")
        s.add(DeviceKind.NIC, f"{host}.nic")
        s.add(DeviceKind.LEAF, f"leaf-{host}")
        s.pcie(f"{host}.gpu", f"{host}.nic")
        s.net(f"{host}.nic", f"leaf-{host}")
    s.add(DeviceKind.SPINE, "x", "y")
    s.net("leaf-a", "x", count=2)
    for leaf, spine in (("leaf-a", "y"), ("leaf-b", "x"), ("leaf-b", "y")):
        s.net(leaf, spine)
    found = bytes_between(s.topology(), exchange(Operation.SEND, [[0, 1]], 900, count=2))
    expected = {
        ("a.gpu", "a.nic"): 1800,
        ("a.nic", "leaf-a"): 1800,
        ("leaf-a", "x"): 1200,
        ("leaf-a", "y"): 600,
        ("x", "leaf-b"): 1200,
        ("y", "leaf-b"): 600,
        ("leaf-b", "b.nic"): 1800,
        ("b.nic", "b.gpu"): 1800,
    }
    assert found == pytest.approx(expected, rel=1e-12)


def test_nvls_on_eight_gpus_by_hand() -> None:
    """T19 on HGX planes: S = 1152, each member sends and gets 1152 · (1 + 1/8) = 1296 over 18 links.

    72 a link: 360, 288, 288 and 360 to the four planes, each direction. A ring would send 1.75 · S = 2016.
    """
    s = Sketch()
    s.host("a", 8, (5, 4, 4, 5))
    found = bytes_between(s.topology(), exchange(ALL_REDUCE, [list(range(8))], 1152))
    expected = {}
    for g in range(8):
        for plane, amount in enumerate((360, 288, 288, 360)):
            expected[f"a.gpu{g}", f"a.sw{plane}"] = amount
            expected[f"a.sw{plane}", f"a.gpu{g}"] = amount
    assert found == pytest.approx(expected, rel=1e-12)
    ring = bytes_between(s.topology(), exchange(ALL_REDUCE, [list(range(8))], 1152, algorithm="ring"))
    assert sum(ring["a.gpu0", f"a.sw{plane}"] for plane in range(4)) == pytest.approx(2016, rel=1e-12)


def hgx(nodes: int) -> Topology:
    """HGX H100 nodes on eight rails, one leaf a rail."""
    s = Sketch()
    names = [f"n{i}" for i in range(nodes)]
    for name in names:
        s.host(name, 8, (5, 4, 4, 5))
    rails(s, names, 8)
    return s.topology()


@pytest.mark.parametrize(("nodes", "nic_bytes"), [(2, 251_658_240), (4, 260_046_848), (32, 267_386_880)])
def test_t18_ring_of_one_gib(nodes: int, nic_bytes: int) -> None:
    """T18: all-reduce of 1 GiB over 8 · M GPUs puts this on every NIC and direction, none on the spine."""
    found = bytes_between(hgx(nodes), exchange(ALL_REDUCE, [list(range(8 * nodes))], 2**30))
    nics = [amount for (a, b), amount in found.items() if ".nic" in a + b and "leaf" in a + b]
    assert len(nics) == 2 * 8 * nodes
    assert nics == pytest.approx([nic_bytes] * len(nics), rel=1e-12)
    assert not any("spine" in a + b for a, b in found)


def test_t16_an_eighth_of_the_wire_bytes_leaves_by_nic() -> None:
    """T16: 8 GPUs and 8 NICs a node in one communicator: a NIC carries 1/8 of a GPU's NVLink bytes."""
    found = bytes_between(hgx(4), exchange(ALL_GATHER, [list(range(32))], 32_000_000))
    over_nvlink = sum(amount for (a, b), amount in found.items() if a == "n1.gpu3" and ".sw" in b)
    assert over_nvlink == pytest.approx(31_000_000, rel=1e-12)
    assert found["n1.nic3", "leaf3"] == pytest.approx(31_000_000 / 8, rel=1e-12)


def test_t10_wire_bytes_of_an_expert_all_to_all() -> None:
    """T10: EP8 in one node, send buffer 67,108,864 B, 58,720,256 B on the wire."""
    s = Sketch()
    s.host("a", 8, (5, 4, 4, 5))
    topology = s.topology()
    item = exchange(ALL_TO_ALL, [list(range(8))], 67_108_864, count=4)
    traffic = load(compile_fabric(topology), placement_of(topology), [item])
    assert traffic.sent_bytes_per_gpu[0] == pytest.approx(4 * 58_720_256, rel=1e-12)
    assert traffic.algorithms == ("direct",)


def test_alpha_is_that_of_the_nccl_model() -> None:
    """T3: ring of 8 in Simple 56.0 µs (all-reduce) and 32.2 µs (all-gather), NVLS 25 µs. T5: 442.4 µs for a
    reduce-scatter over 32 nodes with one member each (8.4 + 31 · 14)."""
    topology = hgx(32)
    node, strided = [list(range(8))], [list(range(0, 256, 8))]
    items = [
        exchange(ALL_REDUCE, node, 1, algorithm="ring"),
        exchange(ALL_GATHER, node, 1),
        exchange(ALL_REDUCE, node, 1),
        exchange(Operation.REDUCE_SCATTER, strided, 1),
        exchange(Operation.SEND, [[0, 1]], 1),
        exchange(Operation.SEND, [[0, 8]], 1),
    ]
    traffic = load(compile_fabric(topology), placement_of(topology), items)
    assert traffic.alpha_s == pytest.approx([56.0e-6, 32.2e-6, 25e-6, 442.4e-6, 3.4e-6, 14e-6])
    assert traffic.algorithms == ("ring", "ring", "nvls", "ring", "direct", "direct")


def test_stages_are_instances_of_their_own() -> None:
    topology = two_hosts_two_rails()
    item = exchange(ALL_GATHER, [[0, 1], [2, 3]], 1000, count=3, stages=[4, 1])
    fabric = compile_fabric(topology)
    traffic = load(fabric, placement_of(topology), [item])
    assert traffic.instance_exchange.tolist() == [0, 0]
    assert traffic.instance_stage.tolist() == [1, 4]
    assert traffic.largest_edge_bytes == pytest.approx([1500, 1500])
    link = 2 * fabric.link_ids.index(next(i for i in fabric.link_ids if i.startswith("a.gpu0-a.sw0")))
    assert traffic.loads[:, [link]].toarray().ravel() == pytest.approx([0, 1500])


def test_endpoint_links_leave_out_the_cables_between_switches() -> None:
    """Conventions 48: of 200 bytes that cross the spine, the uplinks are not part of the end points."""
    topology = two_hosts_two_rails()
    fabric = compile_fabric(topology)
    traffic = load(fabric, placement_of(topology), [exchange(Operation.SEND, [[0, 3]], 200)])
    names = np.array(fabric.link_ids)
    used = set(names[traffic.loads[[0]].nonzero()[1] // 2])
    bound = set(names[traffic.endpoint_loads[[0]].nonzero()[1] // 2])
    assert used - bound == {name for name in used if "spine" in name}
    assert len(bound) == 4


def test_an_algorithm_that_does_not_fit_runs_as_ring_and_says_so() -> None:
    topology = two_hosts_two_rails()
    items = [
        exchange(ALL_GATHER, [[0, 1]], 1000, algorithm="nvls"),
        exchange(ALL_REDUCE, [[0, 1, 2, 3]], 1000, algorithm="nvls"),
        exchange(ALL_REDUCE, [[0, 1]], 1000, algorithm="nvls"),
        exchange(ALL_REDUCE, [[0, 1]], 1000, algorithm="pxn"),
    ]
    traffic = load(compile_fabric(topology), placement_of(topology), items)
    assert traffic.algorithms == ("ring", "ring", "nvls", "ring")
    assert len(traffic.notes) == 3
    assert "nvls is for all-reduce only" in traffic.notes[0]


def test_what_is_not_there_is_refused_in_words() -> None:
    topology = two_hosts_two_rails()
    fabric, placement = compile_fabric(topology), placement_of(topology)
    with pytest.raises(InputError, match=r"tp\.test names 'disk', which is not in the drawing"):
        load(fabric, placement, [exchange(Operation.READ, [[0]], 1, storage=("disk",))])
    with pytest.raises(InputError, match="names no storage device for some of its GPUs"):
        load(fabric, placement, [exchange(Operation.WRITE, [[0]], 1)])
    other = placement_of(hgx(1))
    with pytest.raises(InputError, match=r"'n0\.gpu0', which is not in the drawing"):
        load(fabric, other, [exchange(ALL_REDUCE, [[0, 1]], 1)])


@pytest.mark.parametrize("make", [Topology, lambda: Topology([]), lambda: hgx(1)])
def test_nothing_to_send_is_no_traffic(make) -> None:  # type: ignore[no-untyped-def]
    topology = make()
    fabric = compile_fabric(topology)
    traffic = load(fabric, placement_of(topology), [])
    assert traffic.loads.shape == (0, 2 * len(fabric.link_ids))
    assert len(traffic.largest_edge_bytes) == 0 and len(gpus_of(topology)) == len(fabric.gpu_devices)


def test_automatic_choice_takes_nvls_from_four_members_on() -> None:
    """§5.1c. With three members ring and NVLS put the same 4/3 · S on the links, so only the name tells."""
    topology = hgx(2)
    items = [
        exchange(ALL_REDUCE, [[0, 1, 2]], 1000),
        exchange(ALL_REDUCE, [[0, 1, 2, 3]], 1000),
        exchange(ALL_REDUCE, [[0, 1, 2, 3], [6, 7, 8, 9]], 1000),
        exchange(ALL_TO_ALL, [list(range(16))], 1000),
    ]
    traffic = load(compile_fabric(topology), placement_of(topology), items)
    assert traffic.algorithms == ("ring", "nvls", "ring+nvls", "pxn")
