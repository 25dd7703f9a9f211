"""Topology text of SimAI, ns-3 and ASTRA-sim: counts, speeds, and the reason where a drawing does not fit."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.document.document import Document
from model.document.edits import RemoveParts, SetFields
from model.errors import InputError
from tests.model.files.exports.drawings import drawings, export, pair, template, text_of

Links = dict[tuple[int, int], tuple[float, float]]


def parsed(text: str, fields: int) -> tuple[list[str], list[int], Links]:
    """Header, switch ids and links (Gb/s, ms) of either dialect, checked against their counts."""
    lines = text.split("\n")
    header = lines[0].split()
    assert len(header) == fields
    nodes, switches = int(header[0]), [int(one) for one in lines[1].split()]
    links: Links = {}
    for line in filter(None, lines[2:]):
        match = re.fullmatch(r"(\d+) (\d+) (\d+(?:\.\d+)?)Gbps (\d+(?:\.\d+)?)ms 0", line)
        assert match, line
        a, b = int(match[1]), int(match[2])
        assert a != b and max(a, b) < nodes
        assert (a, b) not in links and (b, a) not in links
        links[a, b] = (float(match[3]), float(match[4]))
    assert len(links) == int(header[4 if fields == 6 else 2])
    assert switches == list(range(nodes - len(switches), nodes))
    return header, switches, links


def test_simai_pair() -> None:
    """4 GPUs, a switch for each of 2 servers, 5 network switches; 18 NVLinks of 25 GB/s are 3,600 Gb/s."""
    header, _, links = parsed(text_of(pair(), "simai"), 6)
    assert header == ["11", "2", "2", "5", "12", "H100"]
    assert [links[gpu, 4 + gpu // 2] for gpu in range(4)] == [(3600.0, 0.000025)] * 4
    assert links[0, 6] == links[2, 6] == (400.0, 0.0005)
    assert links[1, 7] == links[3, 7] == (400.0, 0.0005)
    between = {key: value for key, value in links.items() if min(key) >= 6}
    assert between == {(leaf, spine): (800.0, 0.0005) for leaf in (6, 7) for spine in (9, 10)}


def test_simai_says_what_it_merges() -> None:
    notes = " ".join(export(pair(), "simai").left_out)
    assert "8 cables written as 4 links of the summed speed" in notes
    assert "node 0 is a.gpu0, node 3 is b.gpu1" in notes


def test_simai_refuses_unequal_servers_with_their_sizes() -> None:
    document = pair()
    RemoveParts(("b.gpu1",), ()).apply(document)
    with pytest.raises(InputError, match="1 server of 1, 1 server of 2"):
        export(document, "simai")


def test_gpus_without_nvlink_share_a_dummy() -> None:
    """One GPU a host: SimAI would crash without an NVLink switch, so each server has one without links."""
    document = template("fat-tree", gpus_per_host=1)
    header, _, links = parsed(text_of(document, "simai"), 6)
    assert header[1] == "1" and int(header[2]) == int(header[0]) - int(header[3]) - int(header[2])
    servers = range(int(header[2]), 2 * int(header[2]))
    assert not any(node in servers for pair_of in links for node in pair_of)


def test_ns3_has_gpus_or_hosts_as_ends() -> None:
    header, switches, links = parsed(text_of(pair(), "ns3-hpcc"), 3)
    assert (header, switches) == (["11", "7", "12"], list(range(4, 11)))
    header, switches, links = parsed(text_of(pair(), "ns3-hpcc", ends="hosts"), 3)
    assert header == ["7", "5", "9"]
    assert links[0, 2] == links[0, 3] == links[1, 2] == links[1, 3] == (400.0, 0.0005)
    assert links[1, 4] == (200.0, 0.0005)


def test_shared_nics_are_split_among_their_gpus() -> None:
    """Both GPUs of host a reach nic0 only: 200 Gb/s for each."""
    document = pair()
    RemoveParts(("a.nic1", "b.nic1"), ()).apply(document)
    _, _, links = parsed(text_of(document, "ns3-hpcc"), 3)
    assert links[0, 6] == links[1, 6] == links[2, 6] == links[3, 6] == (200.0, 0.0005)
    assert any("2 NICs used by several GPUs" in note for note in export(document, "ns3-hpcc").left_out)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings(), ident=st.sampled_from([("simai", 6), ("ns3-hpcc", 3)]))
def test_counts_are_those_of_the_lines(document: Document, ident: tuple[str, int]) -> None:
    try:
        text = text_of(document, ident[0])
    except InputError:
        return
    parsed(text, ident[1])


def dimensions(document: Document) -> list[tuple[str, int, float, float]]:
    data: dict[str, list[Any]] = yaml.safe_load(text_of(document, "astra-sim-yml"))
    assert list(data) == ["topology", "npus_count", "bandwidth", "latency"]
    return list(zip(*data.values(), strict=True))


@pytest.mark.parametrize(
    ("ident", "parameters", "wanted"),
    [
        # 8 GPUs of 450 GB/s; 400G NICs without oversubscription are one dimension, 50 GB/s.
        ("hgx-h100", {"nodes": 64}, [("Switch", 8, 450), ("Switch", 64, 50)]),
        ("gb200-nvl72", {"racks": 2}, [("Switch", 72, 900), ("Switch", 2, 50)]),
        # An xGMI mesh: 64 GB/s on each of 7 links.
        ("mi300x", {"nodes": 4}, [("FullyConnected", 8, 64), ("Switch", 4, 50)]),
        # 2 : 1 above leaves of 4 nodes.
        (
            "leaf-spine",
            {"nodes": 16, "nodes_per_rack": 4, "oversubscription": 2},
            [("Switch", 8, 450), ("Switch", 4, 50), ("Switch", 4, 25)],
        ),
    ],
)
def test_symmetric_clusters_are_dimensions(
    ident: str, parameters: dict[str, object], wanted: list[tuple[str, int, float]]
) -> None:
    document = template(ident, **parameters)
    found = dimensions(document)
    assert [one[:3] for one in found] == wanted
    assert math.prod(one[1] for one in found) == len(
        document.topology.working(document.topology.devices()[0].kind)
    )


def test_latency_is_half_of_the_way_over_the_switches_of_a_dimension() -> None:
    """ASTRA-sim counts it twice. Links of 500 ns: 2 over a leaf, 4 over a spine; the line between sites
    (40 km, 200 us) is once between gateways, so 4 links and the line over 3 tiers at each end.
    """
    tiers = dimensions(template("leaf-spine", nodes=16, nodes_per_rack=4, oversubscription=2))
    assert [one[3] for one in tiers] == [25, 500, 1000]
    sites = dimensions(template("two-sites"))
    assert [one[3] for one in sites] == [25, 500, (6 * 500 + 200_000) / 2]


def test_what_is_not_symmetric_is_refused_with_the_reason() -> None:
    document = pair()
    SetFields("device", ("b.gpu1",), {"state": "down"}).apply(document)
    with pytest.raises(InputError, match=r"its scale-up domains differ \(1 of 1 GPU, 1 of 2 GPUs\)"):
        export(document, "astra-sim-yml")
    document = pair()
    SetFields("link", ("a.nic0-l",), {"state": "degraded", "share": 0.5}).apply(document)
    with pytest.raises(InputError, match=r"from 25.0 GB/s to 50.0 GB/s of network bandwidth"):
        export(document, "astra-sim-yml")
    document = pair()
    RemoveParts((), ("a.nic0-l", "a.nic1-l")).apply(document)
    with pytest.raises(InputError, match=r"from 0 B/s to 50.0 GB/s of network bandwidth"):
        export(document, "astra-sim-yml")
    with pytest.raises(InputError, match="no network joins its GPUs"):
        export(template("pcie-workstation"), "astra-sim-yml")


def test_states_change_the_speeds_that_are_written() -> None:
    document = pair()
    SetFields("link", ("a.gpu0-v",), {"state": "degraded", "share": 0.5}).apply(document)
    SetFields("device", ("top1",), {"state": "down"}).apply(document)
    _, _, links = parsed(text_of(document, "simai"), 6)
    assert Counter(rate for rate, _ in links.values())[1800.0] == 1
    assert len(links) == 12 - 2
    assert export(document, "simai").left_out[0] == "Left out: 1 spine (they are down)."
