"""Ways between devices: known ones by hand, and all of them together against the loads of the engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from model.analysis import AnalysisCache, analyse
from model.document.document import Document
from model.document.edits import SetFields, SetJob
from model.document.start import document_from
from model.errors import InputError
from model.job.exchange import Exchange, Operation
from model.job.spec import Routing as Choice
from model.job.spec import apply_set
from model.traffic.fabric import compile_fabric
from model.traffic.load import load
from model.traffic.route import Route, Routing, route_between, routes_from
from tests.model.traffic.exchanges import exchange, job_on, placement_of
from topology_templates.registry import build


def document(template: str = "hgx-h100", **parameters: object) -> Document:
    return document_from(build(template, parameters or {"nodes": 2}))


def routing(drawing: Document, *exchanges: Exchange, **choice: object) -> Routing:
    fabric = compile_fabric(drawing.topology)
    placement = placement_of(drawing.topology) if exchanges else None
    return Routing(fabric, Choice(**choice), placement, exchanges)  # type: ignore[arg-type]


def stages(route: Route, way: int = 0) -> list[tuple[str, ...]]:
    """The devices that each stage reaches."""
    hops = route.ways[way].hops
    return [
        tuple(sorted({hop.target for hop in hops if hop.stage == stage}))
        for stage in range(max(hop.stage for hop in hops) + 1)
    ]


def test_inside_a_node_the_lanes_of_the_nvlink_switches_share() -> None:
    route = route_between(routing(document()), "node00.gpu0", "node00.gpu5")
    (way,) = route.ways
    assert way.legs == (("node00.gpu0", "node00.gpu5", "NVLink switches"),)
    # An H100 has 18 NVLinks to four switches: 5, 4, 4 and 5.
    shares = sorted(hop.share * 18 for hop in way.hops if hop.stage == 0)
    assert shares == pytest.approx([4, 4, 5, 5])
    assert stages(route)[1] == ("node00.gpu5",)
    assert way.exchanges == () and way.bytes_per_step == 0.0


def test_on_one_rail_one_leaf_joins_two_nodes() -> None:
    route = route_between(routing(document()), "node00.gpu3", "node01.gpu3")
    hosts = [("node00.pcie1",), ("node00.nic3",), ("leaf3",), ("node01.nic3",), ("node01.pcie1",)]
    assert stages(route) == [*hosts, ("node01.gpu3",)]
    assert all(hop.share == 1.0 for hop in route.ways[0].hops)
    assert route.ways[0].hops[2].capacity_bytes_per_s == 50e9


def test_across_rails_even_routing_takes_every_spine() -> None:
    route = route_between(routing(document()), "node00.gpu0", "node01.gpu1")
    reached = stages(route)
    assert reached[2:5] == [("leaf0",), ("spine0", "spine1", "spine2", "spine3"), ("leaf1",)]
    up = [hop for hop in route.ways[0].hops if hop.stage == 3]
    assert [hop.share for hop in up] == pytest.approx([0.25] * 4)
    assert {hop.source for hop in up} == {"leaf0"}


def test_static_routing_takes_one_spine_and_hashed_ones_by_the_seed() -> None:
    drawing = document()
    static = route_between(routing(drawing, policy="static"), "node00.gpu0", "node01.gpu1")
    assert len(stages(static)[3]) == 1
    seen = {
        stages(route_between(routing(drawing, policy="hashed", seed=seed), "node00.gpu0", "node01.gpu1"))[3]
        for seed in range(12)
    }
    assert len(seen) > 1 and all(len(spines) == 1 for spines in seen)


def test_pxn_hands_on_to_the_gpu_of_the_other_ends_rail() -> None:
    drawing = document()
    everyone = exchange(Operation.ALL_TO_ALL, [list(range(16))], 1 << 20, algorithm="pxn", count=3)
    route = route_between(routing(drawing, everyone), "node00.gpu0", "node01.gpu5")
    (way,) = route.ways
    assert [leg[:2] for leg in way.legs] == [
        ("node00.gpu0", "node00.gpu5"), ("node00.gpu5", "node01.gpu5"),
    ]  # fmt: skip
    assert [leg[2] for leg in way.legs] == ["NVLink switches", "the network"]
    assert way.bytes_per_step == pytest.approx((1 << 20) * 3 / 16)
    assert "leaf5" in route.devices and not any(name.startswith("spine") for name in route.devices)
    direct = replace(everyone, algorithm="direct")
    assert "leaf0" in route_between(routing(drawing, direct), "node00.gpu0", "node01.gpu5").devices


def test_ways_that_differ_by_exchange_stand_beside_each_other() -> None:
    drawing = document()
    pair = exchange(Operation.SEND, [[0, 13]], 1 << 10, ident="s")
    everyone = replace(
        exchange(Operation.ALL_TO_ALL, [list(range(16))], 1 << 20, algorithm="pxn"), kind="ep.dispatch"
    )
    route = route_between(routing(drawing, pair, everyone), "node00.gpu0", "node01.gpu5")
    assert [(way.exchanges, len(way.legs)) for way in route.ways] == [
        (("ep.dispatch",), 2),
        (("tp.test",), 1),
    ]


@pytest.mark.parametrize("policy", ["even", "static"])
def test_the_routes_of_all_devices_are_the_loaded_links(policy: str) -> None:
    drawing = document()
    exchanges = tuple(job_on(16))
    asked = routing(drawing, *exchanges, policy=policy)
    assert asked.placement is not None
    traffic = load(asked.fabric, asked.placement, exchanges, asked.choice)
    loaded = {asked.fabric.link_ids[link] for link in (traffic.loads.indices // 2).tolist()}
    found = set[str]()
    for gpu in asked.placement.gpus:
        route = routes_from(asked, gpu)
        assert set(route.links) <= loaded
        found |= set(route.links)
    assert found == loaded


def test_partners_are_those_of_the_exchanges_with_their_bytes() -> None:
    drawing = document()
    ring = exchange(Operation.ALL_GATHER, [[0, 8]], 1000, count=4)
    route = routes_from(routing(drawing, ring), "node00.gpu0")
    (partner,) = route.partners
    assert (partner.device, partner.dimension) == ("node01.gpu0", "tp")
    # A gather of two members moves half of S each way, four times.
    assert (partner.sent_bytes, partner.received_bytes) == (2000.0, 2000.0)
    assert {"leaf0", "node00.nic0", "node01.gpu0"} <= set(route.devices)


def test_everything_that_a_gpu_sends_is_in_its_partners() -> None:
    """NVLS hands to switches: counted as sent evenly to the other members, as in the matrix of GPUs."""
    drawing = document()
    whole = exchange(Operation.ALL_REDUCE, [list(range(8))], 8000, algorithm="nvls")
    route = routes_from(routing(drawing, whole), "node00.gpu0")
    assert sum(partner.sent_bytes for partner in route.partners) == pytest.approx(8000 * (1 + 1 / 8))
    assert len(route.partners) == 7
    assert all(link.count("node00.gpu0") for link in route.links)


def test_what_has_no_way_or_no_traffic_of_its_own_is_said() -> None:
    drawing = document()
    asked = routing(drawing)
    for ends, words in (
        (("node00.gpu0", "leaf0"), "leaf0 only passes bytes on"),
        (("node00.gpu0", "nobody"), "There is no device nobody"),
        (("node00.gpu0", "node00.gpu0"), "needs no way to itself"),
    ):
        with pytest.raises(InputError, match=words):
            route_between(asked, *ends)
    nics = tuple(f"node01.nic{number}" for number in range(8))
    SetFields("device", nics, {"state": "down"}).apply(drawing)
    with pytest.raises(
        InputError, match=r"No way from node00\.gpu0 to node01\.gpu1: node01\.gpu1 reaches no"
    ):
        route_between(routing(drawing), "node00.gpu0", "node01.gpu1")


def test_the_way_is_that_of_an_analysed_job() -> None:
    drawing = document()
    job = drawing.job
    for one in ("parallel.tp=8", "parallel.pp=2", "global_batch=16"):
        job = apply_set(job, one)
    SetJob(job).apply(drawing)
    cache = AnalysisCache()
    analysis = analyse(drawing, cache)
    assert analysis.report is not None and cache.last is not None and cache.compiled is not None
    inputs = cache.last.inputs
    asked = Routing(cache.compiled.fabric, job.routing, inputs.placement, inputs.exchanges)
    (way,) = route_between(asked, "node00.gpu2", "node01.gpu2").ways
    assert way.exchanges and all(kind.startswith("pp.") for kind in way.exchanges)
    used = Counter(partner.dimension for partner in routes_from(asked, "node00.gpu2").partners)
    assert used["tp"] == 7 and used["pp"] == 1
