"""What must hold on any drawing (traffic_model §5.1b, conventions 22)."""

from __future__ import annotations

import numpy as np
import pytest

from model.job.exchange import Operation
from model.topology.types import DeviceKind, LinkKind
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from model.traffic.matrix import gpu_matrix
from tests.model.traffic.compare import Routing
from tests.model.traffic.drawings import DRAWINGS
from tests.model.traffic.drawings_networks import rail_optimised
from tests.model.traffic.exchanges import algorithms_on, exchange, gpus_of, job_on, placement_of

ROUTINGS = [Routing(), Routing("static"), Routing("hashed", 3, 7)]


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda routing: routing.policy)
@pytest.mark.parametrize("name", DRAWINGS)
def test_bytes_are_conserved_everywhere_but_at_gpus_and_storage(name: str, routing: Routing) -> None:
    """In = out at every switch, NIC, CPU and PCIe switch; what leaves all ends arrives."""
    topology = DRAWINGS[name]()
    fabric = compile_fabric(topology)
    exchanges = job_on(len(gpus_of(topology))) + algorithms_on(topology)
    traffic = load(fabric, placement_of(topology), exchanges, routing)
    assert np.isfinite(traffic.loads.data).all() and (traffic.loads.data > 0).all()
    tail = np.column_stack([fabric.link_a, fabric.link_b]).ravel()
    head = np.column_stack([fabric.link_b, fabric.link_a]).ravel()
    is_gpu = fabric.device_kind == tuple(DeviceKind).index(DeviceKind.GPU)
    is_end = is_gpu | (fabric.device_kind == tuple(DeviceKind).index(DeviceKind.STORAGE))
    size = len(fabric.device_ids)
    for number, item in enumerate(exchanges):
        loads = traffic.loads[traffic.instance_exchange == number].sum(axis=0)
        leaving, arriving = np.bincount(tail, loads, size), np.bincount(head, loads, size)
        assert leaving[~is_end] == pytest.approx(arriving[~is_end], rel=1e-9, abs=1e-6)
        assert leaving[is_end].sum() == pytest.approx(arriving[is_end].sum(), rel=1e-9)
        sent = traffic.sent_bytes_per_gpu[number] * len(np.unique(item.groups))
        assert leaving[is_gpu].sum() == pytest.approx(sent, rel=1e-9)
        assert loads[np.repeat(fabric.capacity == 0, 2)].sum() == 0


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_matrix_sums_up_to_what_is_sent_where_all_is_reachable(name: str) -> None:
    topology = DRAWINGS[name]()
    fabric, placement = compile_fabric(topology), placement_of(topology)
    exchanges = job_on(len(placement.gpus)) + algorithms_on(topology)
    traffic = load(fabric, placement, exchanges)
    for number, item in enumerate(exchanges):
        if traffic.unreachable_pairs[number] == 0 and not item.storage:
            matrix = gpu_matrix(fabric, placement, [item])
            sent = traffic.sent_bytes_per_gpu[number] * len(np.unique(item.groups))
            assert matrix.matrix.sum() == pytest.approx(sent, rel=1e-9)
            assert matrix.by_dimension == {"tp": pytest.approx(sent, rel=1e-9)}


def test_matrix_of_two_hosts() -> None:
    """GPU 0 → 7 (other host, other rail), 0 → 4 (other host, same rail), 0 → 1: 1/3 of the bytes each."""
    topology = rail_optimised()
    fabric, placement = compile_fabric(topology), placement_of(topology)
    item = exchange(Operation.SEND, [[0, 7], [0, 4], [0, 1]], 100, count=2)
    found = gpu_matrix(fabric, placement, [item])
    assert found.labels == placement.gpus
    assert found.matrix[0].tolist() == [0, 200, 0, 0, 200, 0, 0, 200]
    assert found.crossing_hosts == pytest.approx(2 / 3)
    assert found.changing_rail == pytest.approx(1 / 3)
    binned = gpu_matrix(fabric, placement, [item], most=4)
    assert binned.labels == ("a", "b")
    assert binned.matrix.tolist() == [[200, 400], [0, 0]]
    one = gpu_matrix(fabric, placement, [item], most=1)
    assert one.labels == ("a – b",) and one.matrix.tolist() == [[600]]


def test_domains_and_usable_rates_of_a_compiled_drawing() -> None:
    """Conventions 7 and 45: NVLink 4 carries 20.6 of 25 GB/s, the network 0.97, PCIe 0.88, dead links 0."""
    topology = DRAWINGS["mixed_domains"]()
    fabric = compile_fabric(topology)
    domain = {fabric.device_ids[d]: int(fabric.domain[d]) for d in fabric.gpu_devices}
    assert {gpu for gpu, number in domain.items() if number == 0} == {f"a.gpu{g}" for g in range(4)}
    assert {gpu for gpu, number in domain.items() if number == 1} == {"b.gpu0", "b.gpu1"}
    assert {gpu for gpu, number in domain.items() if number == -1} == {f"c.gpu{g}" for g in range(3)}
    share_of = {LinkKind.NVLINK: 0.824, LinkKind.PCIE: 0.88, LinkKind.INFINIBAND: 0.97}
    for number, link in enumerate(topology.links()):
        # A switch of the generation before (20.0 of 25 GB/s) sets the pace of the links to it.
        share = 0.8 if link.b == "a.old" else share_of[link.kind]
        alive = link.a != "c.gpu2"
        assert fabric.capacity[number] == (link.nominal_bytes_per_s if alive else 0)
        assert fabric.usable[number] == pytest.approx(fabric.capacity[number] * share)


def test_unreachable_pairs_say_why() -> None:
    topology = DRAWINGS["two_pieces"]()
    fabric = compile_fabric(topology)
    pairs = [[0, 2], [1, 3], [0, 1]]
    traffic = load(fabric, placement_of(topology), [exchange(Operation.SEND, pairs, 100)])
    assert [(u.source, u.target) for u in traffic.unreachable] == [("a.gpu0", "b.gpu0"), ("a.gpu1", "b.gpu1")]
    assert traffic.unreachable[0].reason == "no live path over switches from a.nic0 to b.nic0"
    down = DRAWINGS["mixed_domains"]()
    place = gpus_of(down).index("c.gpu2")
    item = exchange(Operation.SEND, [[place, 0]], 100)
    traffic = load(compile_fabric(down), placement_of(down), [item])
    assert traffic.unreachable[0].reason == "c.gpu2 is down"
    assert traffic.loads.nnz == 0 and traffic.sent_bytes_per_gpu[0] == 0
