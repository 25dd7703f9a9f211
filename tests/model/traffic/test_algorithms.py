"""Trees, hierarchical, pairwise and in-network reductions, broadcast, deduplication and storage, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from model.job.exchange import Dedup, Operation
from model.topology.graph import Topology
from model.topology.types import DeviceKind, LinkKind, State
from model.traffic.domains import full_mesh as is_mesh
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from model.traffic.matrix import gpu_matrix
from model.traffic.rings import double_tree
from model.traffic.types import Traffic
from tests.model.traffic.drawings import DRAWINGS
from tests.model.traffic.exchanges import exchange, placement_of
from tests.model.traffic.sketch import Sketch, rails
from tests.model.traffic.test_by_hand import bytes_between, hgx, two_hosts_two_rails

ALL_REDUCE, ALL_TO_ALL = Operation.ALL_REDUCE, Operation.ALL_TO_ALL
GIB = 2**30


def nic_bytes(found: dict[tuple[str, str], float]) -> list[float]:
    """What the cables between NICs and leaves carry."""
    return [amount for (a, b), amount in found.items() if ".nic" in a + b and "leaf" in a + b]


@pytest.mark.parametrize(("nodes", "expected"), [(2, 134_217_728), (4, 201_326_592), (32, 260_046_848)])
def test_t18_hierarchical_all_reduce_of_one_gib(nodes: int, expected: int) -> None:
    """T18: 2 (M − 1) / M · S / 8 on each NIC; 2 · 7/8 · S leaves each GPU over NVLink."""
    item = exchange(ALL_REDUCE, [list(range(8 * nodes))], GIB, algorithm="hierarchical")
    found = bytes_between(hgx(nodes), item)
    assert len(nic_bytes(found)) == 2 * 8 * nodes
    assert nic_bytes(found) == pytest.approx([expected] * 16 * nodes, rel=1e-12)
    over_nvlink = sum(amount for (a, b), amount in found.items() if a == "n1.gpu3" and ".sw" in b)
    assert over_nvlink == pytest.approx(2 * 7 / 8 * GIB, rel=1e-12)


@pytest.mark.parametrize(("nodes", "edges"), [(2, 2), (4, 2), (5, 3), (32, 2)])
def test_t18_tree_all_reduce_of_one_gib(nodes: int, edges: int) -> None:
    """The tree on the nodes of T18. Each of its M − 1 edges in two trees carries S/2 · 1/8 on each rail, up
    and down, so all NICs together send 2 (M − 1) · S, the ring 2 (M − 1/8) · S.

    A node has at most four edges in both trees, so its NICs send at most 2 · S/8. The first node is root of
    one tree and leaf of the other, or (5 nodes: the second tree shifted, 4 below 0 and above 2) has 3 edges.
    """
    item = exchange(ALL_REDUCE, [list(range(8 * nodes))], GIB, algorithm="tree")
    found = bytes_between(hgx(nodes), item)
    out = {a: amount for (a, b), amount in found.items() if ".nic" in a and "leaf" in b}
    assert sum(out.values()) == pytest.approx(2 * (nodes - 1) * GIB, rel=1e-12)
    assert max(out.values()) <= 2 * GIB / 8
    assert out["n0.nic0"] == pytest.approx(edges * GIB / 16, rel=1e-12)


@pytest.mark.parametrize(
    ("members", "factor", "to_ring"), [(2, 1.5, 1.5), (8, 1.125, 0.643), (72, 73 / 72, 0.514)]
)
def test_t19_egress_of_nvls(members: int, factor: float, to_ring: float) -> None:
    """T19: each GPU sends (1 + 1/n) · S, less than a ring from four members on, more with two."""
    s = Sketch()
    s.host("a", members, (1,) * 18)
    topology = s.topology()
    items = [exchange(ALL_REDUCE, [list(range(members))], 7200, algorithm=name) for name in ("nvls", "ring")]
    sent = load(compile_fabric(topology), placement_of(topology), items).sent_bytes_per_gpu
    assert sent[0] == pytest.approx(factor * 7200, rel=1e-12)
    assert sent[0] / sent[1] == pytest.approx(to_ring, abs=5e-4)


def test_double_tree_is_that_of_nccl() -> None:
    """The trees drawn in NCCL's trees.cc for 12 and 13 ranks: {child: parent}."""
    child, parent, _ = double_tree(12)
    first, second = (
        dict(zip(child[:11], parent[:11], strict=True)),
        dict(zip(child[11:], parent[11:], strict=True)),
    )
    assert first == {8: 0, 4: 8, 10: 8, 2: 4, 6: 4, 9: 10, 11: 10, 1: 2, 3: 2, 5: 6, 7: 6}
    assert second == {11 - a: 11 - b for a, b in first.items()}
    child, parent, depth = double_tree(13)
    first, second = (
        dict(zip(child[:12], parent[:12], strict=True)),
        dict(zip(child[12:], parent[12:], strict=True)),
    )
    assert first == {8: 0, 4: 8, 12: 8, 2: 4, 6: 4, 10: 12, 1: 2, 3: 2, 5: 6, 7: 6, 9: 10, 11: 10}
    assert second == {9: 1, 5: 9, 0: 9, 3: 5, 7: 5, 11: 0, 2: 3, 4: 3, 6: 7, 8: 7, 10: 11, 12: 11}
    assert dict(zip(child[:12], depth[:12], strict=True))[9] == 3
    assert all(len(column) == 0 for column in double_tree(1))


def test_tree_over_two_hosts_by_hand() -> None:
    """S = 1000, two parts of two, 2 channels. Channel c: chain from member c to the other, 500 up, 500 down;
    so each GPU sends 500 (down its own channel) + 500 (up the other) = 1000 over the switch. Between parts
    both trees join host a and b: per channel 250 + 250 a direction on its rail.
    """
    item = exchange(ALL_REDUCE, [[0, 1, 2, 3]], 1000, algorithm="tree")
    expected = {}
    for host in ("a", "b"):
        for g in (0, 1):
            gpu, nic = f"{host}.gpu{g}", f"{host}.nic{g}"
            for a, b, amount in ((gpu, f"{host}.sw0", 1000), (gpu, nic, 500), (nic, f"leaf{g}", 500)):
                expected[a, b] = expected[b, a] = amount
    assert bytes_between(two_hosts_two_rails(), item) == pytest.approx(expected, rel=1e-12)


def test_halving_doubling_by_hand() -> None:
    """S = 1000 over 4: round 0 exchanges 500 twice with the neighbour in the host, round 1 250 twice with
    the same place of the other host: 1000 over NVLink and 500 over the NIC, out of each GPU.
    """
    item = exchange(ALL_REDUCE, [[0, 1, 2, 3]], 1000, algorithm="halving-doubling")
    found = bytes_between(two_hosts_two_rails(), item)
    for gpu in ("a.gpu0", "a.gpu1", "b.gpu0", "b.gpu1"):
        host = gpu[0]
        assert found[gpu, f"{host}.sw0"] == pytest.approx(1000)
        assert found[gpu, gpu.replace("gpu", "nic")] == pytest.approx(500)
    assert not any("spine" in a + b for a, b in found)


def full_mesh(gpus: int, *down: tuple[int, int]) -> Topology:
    """One host whose GPUs have a link of 64 GB/s each to each other."""
    s = Sketch()
    s.add(DeviceKind.GPU, *(f"g{n}" for n in range(gpus)), model="mi300x")
    for a, b in itertools.combinations(range(gpus), 2):
        s.join(f"g{a}", f"g{b}", LinkKind.XGMI, 64e9, state=State.DOWN if (a, b) in down else State.UP)
    return s.topology()


@pytest.mark.parametrize(
    ("operation", "of_s"),
    [(ALL_REDUCE, 2 / 8), (Operation.ALL_GATHER, 1 / 8), (Operation.REDUCE_SCATTER, 1 / 8)],
)
def test_direct_over_a_full_mesh_by_hand(operation: Operation, of_s: float) -> None:
    """Each of 56 directions carries the shard of one GPU, S/8, of an all-reduce there and back; together
    2 (n − 1)/n · S leave a GPU, as with the ring, which puts all of it on one link."""
    found = bytes_between(full_mesh(8), exchange(operation, [list(range(8))], 8000, algorithm="direct"))
    assert len(found) == 56
    assert list(found.values()) == pytest.approx([of_s * 8000] * 56, rel=1e-12)
    ring = bytes_between(full_mesh(8), exchange(operation, [list(range(8))], 8000))
    assert list(ring.values()) == pytest.approx([7 * of_s * 8000] * 8, rel=1e-12)


def test_direct_needs_one_domain() -> None:
    both = (ALL_REDUCE, Operation.ALL_GATHER)
    fabric, placement = compile_fabric(hgx(2)), placement_of(hgx(2))

    def loaded(gpus: int) -> Traffic:
        items = [exchange(one, [list(range(gpus))], 1, algorithm="direct") for one in both]
        return load(fabric, placement, items)

    assert loaded(16).algorithms == ("ring", "ring")
    assert ["direct needs one scale-up domain" in note for note in loaded(16).notes] == [True, True]
    assert (loaded(8).algorithms, loaded(8).notes) == (("direct", "direct"), ())


def test_which_groups_are_a_full_mesh() -> None:
    groups = np.array([[0, 1, 2], [1, 2, 3]])
    assert is_mesh(compile_fabric(full_mesh(4)), groups).tolist() == [True, True]
    assert is_mesh(compile_fabric(full_mesh(4, (0, 1))), groups).tolist() == [False, True]
    assert not is_mesh(compile_fabric(hgx(1)), groups).any()


def test_a_group_larger_than_any_mesh_costs_no_look_at_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16,384 replicas there are 134 million pairs."""
    sketch = Sketch()
    sketch.add(DeviceKind.GPU, *(f"far{n}" for n in range(16_384)), model="mi300x")
    sketch.add(DeviceKind.GPU, "g0", "g1", model="mi300x")
    sketch.join("g0", "g1", LinkKind.XGMI, 64e9)
    fabric = compile_fabric(sketch.topology())
    monkeypatch.delattr(np, "triu_indices")
    assert is_mesh(fabric, np.arange(16_386)[None, :]).tolist() == [False]


def test_sharp_by_hand() -> None:
    """S = 1000, two hosts of two on two rails. Inside: scatter and gather, 2 · 1/2 · 1000 out of each GPU.
    On each rail 500 up from each NIC to the leaf, which is the root, and 500 down. A ring's NIC carries 750.
    """
    item = exchange(ALL_REDUCE, [[0, 1, 2, 3]], 1000, algorithm="sharp")
    topology = two_hosts_two_rails()
    found = bytes_between(topology, item)
    expected = {}
    for host in ("a", "b"):
        for g in (0, 1):
            gpu, nic = f"{host}.gpu{g}", f"{host}.nic{g}"
            for a, b, amount in ((gpu, f"{host}.sw0", 1000), (gpu, nic, 500), (nic, f"leaf{g}", 500)):
                expected[a, b] = expected[b, a] = amount
    assert found == pytest.approx(expected, rel=1e-12)
    traffic = load(compile_fabric(topology), placement_of(topology), [item])
    assert traffic.algorithms == ("sharp",) and traffic.sent_bytes_per_gpu.tolist() == [1500]
    # Hosts are joined by what the trees carry: 500 from each GPU to its partner.
    matrix = gpu_matrix(compile_fabric(topology), placement_of(topology), [item]).matrix
    assert matrix.tolist() == [[0, 1000, 500, 0], [1000, 0, 0, 500], [500, 0, 0, 1000], [0, 500, 1000, 0]]


def leaf_pairs(model: str = "qm9700") -> Topology:
    """Four hosts of one GPU on two leaves, two spines."""
    s = Sketch()
    for leaf in ("l0", "l1"):
        s.add(DeviceKind.LEAF, leaf)
    s.add(DeviceKind.SPINE, "s0", "s1", model=model)
    for h in range(4):
        s.add(DeviceKind.GPU, f"gpu{h}")
        s.add(DeviceKind.NIC, f"nic{h}")
        s.pcie(f"gpu{h}", f"nic{h}")
        s.net(f"nic{h}", f"l{h // 2}")
    for spine in ("s0", "s1"):
        for leaf in ("l0", "l1"):
            s.net(leaf, spine)
    return s.topology()


def test_sharp_trees_take_turns_at_the_spines() -> None:
    """All four roots have their farthest NIC 2 or 3 away: l0 and l1 at 3, s0 and s1 at 2. So the trees are
    rooted in the spines by turns, and every edge carries S once a direction, whatever the number of members.
    """
    items = exchange(ALL_REDUCE, [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3]], 100, algorithm="sharp")
    found = bytes_between(leaf_pairs(), items)
    for leaf in ("l0", "l1"):
        assert (found[leaf, "s0"], found["s0", leaf]) == (200, 200)
        assert (found[leaf, "s1"], found["s1", leaf]) == (100, 100)
    assert {found[f"nic{h}", f"l{h // 2}"] for h in range(4)} == {300}


def test_sharp_needs_switches_that_reduce() -> None:
    """Pairs below one leaf can, over the Ethernet spines they fall back to ring, and a note says so."""
    topology = leaf_pairs("th5")
    item = exchange(ALL_REDUCE, [[0, 1], [1, 2]], 100, algorithm="sharp")
    traffic = load(compile_fabric(topology), placement_of(topology), [item])
    assert traffic.algorithms == ("ring+sharp",)
    assert (
        "1 group fell back" in traffic.notes[0] and "sharp needs several scale-up domains" in traffic.notes[0]
    )


def test_broadcast_by_hand() -> None:
    """S = 1000 from a.gpu0: 1000 to a.gpu1, 500 on each rail to host b, where each hands its half on."""
    found = bytes_between(two_hosts_two_rails(), exchange(Operation.BROADCAST, [[0, 1, 2, 3]], 1000))
    assert found["a.gpu0", "a.sw0"] == pytest.approx(1000) and ("a.gpu1", "a.sw0") not in found
    assert found["b.gpu0", "b.sw0"] == found["b.gpu1", "b.sw0"] == pytest.approx(500)
    assert found["a.nic0", "leaf0"] == found["a.nic1", "leaf1"] == pytest.approx(500)
    assert ("b.nic0", "leaf0") not in found


def test_t13_deduplicated_dispatch_of_deepseek_v3() -> None:
    """T13: EP64 on 8 nodes, 4,096 tokens, 8 copies of 7,392 B, at most 4 nodes: 105,971,712 B a NIC (3.5
    remote nodes); back in bf16 205,520,896. NVLink: 8 copies − 1, of 8, for the GPU that has it already.
    """
    topology = hgx(8)
    every = [list(range(64))]
    for each, on_nic, back in ((7392, 105_971_712, False), (2 * 7168, 205_520_896, True)):
        dedup = Dedup(experts=256, copies_per_token=8, node_limit=4, combine=back)
        item = exchange(ALL_TO_ALL, every, 4096 * 8 * each, algorithm="deduplicated", dedup=dedup)
        found = bytes_between(topology, item)
        assert len(nic_bytes(found)) == 128
        assert nic_bytes(found) == pytest.approx([on_nic] * 128, rel=1e-12)
        over_nvlink = sum(amount for (a, b), amount in found.items() if a == "n1.gpu3" and ".sw" in b)
        assert over_nvlink == pytest.approx(4096 * each * (8 - 1), rel=1e-12)
        assert not any("spine" in a + b for a, b in found)


def test_deduplicated_without_a_limit_counts_each_node_once() -> None:
    """Two nodes of 8, 16 experts, 2 copies: a token misses a node with 8/16 · 7/15, so 1 − 56/240 = 23/30 of
    the tokens cross, once, where 8/16 · 2 = 1 copy would without deduplication. One node only: direct.
    """
    topology = hgx(2)
    dedup = Dedup(experts=16, copies_per_token=2)
    item = exchange(ALL_TO_ALL, [list(range(16))], 3000, algorithm="deduplicated", dedup=dedup)
    found = bytes_between(topology, item)
    assert nic_bytes(found) == pytest.approx([1500 * 23 / 30] * 32, rel=1e-12)
    items = [
        exchange(ALL_TO_ALL, [list(range(8))], 3000, algorithm="deduplicated", dedup=dedup),
        exchange(ALL_TO_ALL, [list(range(16))], 3000, algorithm="deduplicated"),
        exchange(ALL_TO_ALL, [list(range(16))], 3000, algorithm="tree"),
    ]
    traffic = load(compile_fabric(topology), placement_of(topology), items)
    assert traffic.algorithms == ("direct", "pxn", "pxn")
    assert len(traffic.notes) == 2


def test_storage_on_a_network_of_its_own_is_reached_by_the_nics_to_it() -> None:
    """NICs on rails do not reach the disk; b.gpu1 has st1 and st2 on its CPU, st0 on the other one."""
    item = exchange(Operation.READ, [[3]], 100, storage=("disk",))
    found = bytes_between(DRAWINGS["two_networks"](), item)
    assert found == {
        ("disk", "st-leaf"): 100,
        ("st-leaf", "b.st1"): 50,
        ("st-leaf", "b.st2"): 50,
        ("b.st1", "b.cpu1"): 50,
        ("b.st2", "b.cpu1"): 50,
        ("b.cpu1", "b.gpu1"): 100,
    }


def test_storage_is_read_and_written_over_the_fabric() -> None:
    """GPU 0 writes 100 to a disk below the spine and GPU 3 reads 60 from it, by the NICs of their rails."""
    s = Sketch()
    for host in ("a", "b"):
        s.host(host, 2, (18,))
    rails(s, ["a", "b"], 2)
    s.add(DeviceKind.STORAGE, "disk", "dead", model="storage")
    s.add(DeviceKind.LEAF, "leaf9")
    s.net("leaf9", "spine0")
    s.join("disk", "leaf9", LinkKind.INFINIBAND, 25e9, count=2)
    topology = s.topology()
    items = [
        exchange(Operation.WRITE, [[0]], 100, storage=("disk",), ident="write"),
        exchange(Operation.READ, [[3]], 60, storage=("disk",), ident="read"),
    ]
    found = bytes_between(topology, *items)
    there = ["a.gpu0", "a.nic0", "leaf0", "spine0", "leaf9", "disk"]
    back = ["disk", "leaf9", "spine0", "leaf1", "b.nic1", "b.gpu1"]
    expected = dict.fromkeys(itertools.pairwise(there), 100)
    expected |= dict.fromkeys(itertools.pairwise(back), 60)
    assert found == pytest.approx(expected, rel=1e-12)
    fabric, placement = compile_fabric(topology), placement_of(topology)
    traffic = load(fabric, placement, items)
    assert traffic.sent_bytes_per_gpu.tolist() == [100, 0]
    assert traffic.endpoint_loads.sum(axis=1).tolist() == [300, 180]
    lost = load(fabric, placement, [exchange(Operation.READ, [[0]], 1, storage=("dead",))])
    assert lost.unreachable[0].reason == "dead has no live network link"
    assert gpu_matrix(fabric, placement, items).by_dimension == {}
