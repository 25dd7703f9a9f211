"""What is exported and imported again is the same, as far as the format can carry it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from model.document.document import Document
from model.document.start import document_from
from model.files.exports.drawing import hosts_of
from model.files.importing import Drawing, NoteKind, RankPlacement, Result
from model.files.reading_text import Source
from model.files.registry import export_format, import_sources, sniffed
from model.topology.graph import Topology
from model.topology.types import NETWORK_LINKS, DeviceKind, LinkKind
from tests.model.files.exports.drawings import drawings, export, pair, template
from tests.model.files.exports.test_schedulers import parsed as parsed_tree
from tests.model.files.exports.test_simulators import parsed as parsed_links

TEMPLATES = [
    ("hgx-h100", {"nodes": 4}),
    ("gb200-nvl72", {"racks": 1}),
    ("leaf-spine", {"nodes": 8}),
    ("mi300x", {"nodes": 2}),
    ("alibaba-hpn", {}),
    ("two-sites", {}),
    ("superpod-h100", {"units": 1, "storage": 2}),
]
CASES = pytest.mark.parametrize(("ident", "parameters"), TEMPLATES)
WHOLE = ("railsketch-topology", "node-link-json", "graphml")
TREES = ("slurm-topology-conf", "slurm-topology-yaml", "topograph-model", "topograph-graph")
FABRIC = ("containerlab", "cumulus-dot", "air-json", "netbox-csv")
FABRIC_TEMPLATES = [case for case in TEMPLATES if case[0] != "two-sites"]


def sources(document: Document, ident: str, **options: str) -> list[Source]:
    files = export(document, ident, **options).files
    suffix = export_format(ident).suffix
    return [Source(name or f"cluster{suffix}", str(text)) for name, text in files.items()]


def again(document: Document, ident: str, **options: str) -> Result:
    """Export and import. The format is recognised by its look, but for a list of bare names."""
    texts = sources(document, ident, **options)
    assert ident == "slurm-hostfile" or sniffed(texts[0])[0].id == ident
    return import_sources(texts, ident).result


def drawing(document: Document, ident: str, **options: str) -> Drawing:
    result = again(document, ident, **options)
    assert isinstance(result, Drawing)
    return result


def redrawn(document: Document, ident: str, **options: str) -> Document:
    found = drawing(document, ident, **options)
    content = Document(Topology(found.devices, found.links, found.containers), name=found.name)
    content.layout = dict(found.positions)
    return content


def things(topology: Topology) -> tuple[object, object, object]:
    """Devices, links (their ends in either order) and containers, without what only the project keeps."""
    devices = {
        device.id: (
            device.kind,
            device.model,
            device.label,
            device.parent,
            device.rail,
            device.state,
            device.speed,
        )
        for device in topology.devices()
    }
    links = Counter(
        (
            *sorted((link.a, link.b)),
            link.kind,
            link.count,
            link.capacity_bytes_per_s,
            link.nominal_bytes_per_s,
            link.state,
        )
        for link in topology.links()
    )
    return devices, links, {box.id: (box.kind, box.parent) for box in topology.containers()}


@CASES
@pytest.mark.parametrize("ident_of_format", WHOLE)
def test_whole_drawings_of_templates(ident: str, parameters: dict[str, object], ident_of_format: str) -> None:
    document = template(ident, **parameters)
    assert things(redrawn(document, ident_of_format).topology) == things(document.topology)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings(), ident=st.sampled_from(WHOLE))
def test_whole_drawings_of_any_kind(document: Document, ident: str) -> None:
    assume(document.topology.devices())
    assert things(redrawn(document, ident).topology) == things(document.topology)


def cables(topology: Topology) -> tuple[Counter[tuple[str, str]], dict[str, bool]]:
    """Cables between each two nodes, a host one node, and whether each node is a host."""
    host_of = {device.id: host.id for host in hosts_of(topology) for device in host.devices}
    found: Counter[tuple[str, str]] = Counter()
    is_host: dict[str, bool] = {}
    for link in topology.links():
        if link.kind in NETWORK_LINKS:
            a, b = sorted(host_of.get(end, end) for end in (link.a, link.b))
            found[a, b] += link.count
            is_host |= {a: a in host_of.values(), b: b in host_of.values()}
    return found, is_host


@pytest.mark.parametrize(("ident", "parameters"), FABRIC_TEMPLATES)
@pytest.mark.parametrize("ident_of_format", FABRIC)
def test_networks_of_templates(ident: str, parameters: dict[str, object], ident_of_format: str) -> None:
    """Every cable between the same two machines; hosts are hosts (storage is one, too, to these formats)."""
    document = template(ident, **parameters)
    found, is_host = cables(redrawn(document, ident_of_format).topology)
    wanted, was_host = cables(document.topology)
    assert found == wanted
    storage = {device.id for device in document.topology.working(DeviceKind.STORAGE)}
    assert {name: role for name, role in is_host.items() if name not in storage} == {
        name: role for name, role in was_host.items() if name not in storage
    }


def test_netbox_tables_do_not_contradict_each_other() -> None:
    kinds = {note.kind for note in import_sources(sources(pair(), "netbox-csv"), "netbox-csv").notes}
    assert NoteKind.CONTRADICTORY not in kinds and NoteKind.IGNORED in kinds


def test_containerlab_brings_back_speeds() -> None:
    links = redrawn(pair(), "containerlab").topology.links()
    speeds: Counter[float] = Counter()
    for link in links:
        speeds[link.lane_bytes_per_s * 8 / 1e9] += link.count
    assert speeds == {400.0: 12, 200.0: 1}


@pytest.mark.parametrize("ident", FABRIC)
def test_networks_keep_parallel_cables_and_management(ident: str) -> None:
    assert cables(redrawn(pair(), ident).topology)[0] == cables(pair().topology)[0]


@CASES
@pytest.mark.parametrize("ident_of_format", TREES)
def test_trees_of_templates(ident: str, parameters: dict[str, object], ident_of_format: str) -> None:
    """The tree that comes back is written as the same tree."""
    document = template(ident, **parameters)
    back = redrawn(document, ident_of_format)
    wanted = parsed_tree(str(export(document, "slurm-topology-conf").files[""]))
    found = parsed_tree(str(export(back, "slurm-topology-conf").files[""]))
    assert {name: (set(a), set(b)) for name, (a, b) in found.items()} == {
        name: (set(a), set(b)) for name, (a, b) in wanted.items()
    }


def test_blocks_come_back_as_nvlink_domains() -> None:
    document = template("gb200-nvl72", racks=2)
    back = redrawn(document, "slurm-topology-yaml", topology="both")
    hosts = {host.id for host in hosts_of(back.topology)}
    assert len(hosts) == 36


@CASES
@pytest.mark.parametrize(("ident_of_format", "fields"), [("simai", 6), ("ns3-hpcc", 3)])
def test_packet_graphs_of_templates(
    ident: str, parameters: dict[str, object], ident_of_format: str, fields: int
) -> None:
    """SimAI comes back as GPUs, ns-3 as hosts: both are written as the same nodes and links."""
    document = template(ident, **parameters)
    options = {} if fields == 6 else {"ends": "hosts"}
    back = redrawn(document, ident_of_format, **options)
    first = parsed_links(str(export(document, ident_of_format, **options).files[""]), fields)
    second = parsed_links(str(export(back, ident_of_format, **options).files[""]), fields)
    assert first[0][:5] == second[0][:5]
    assert Counter(first[2].values()) == Counter(second[2].values())
    assert degrees(first[2]) == degrees(second[2])


def degrees(links: dict[tuple[int, int], tuple[float, float]]) -> Counter[int]:
    """How many nodes have so many links."""
    found: Counter[int] = Counter(node for pair_of in links for node in pair_of)
    return Counter(found.values())


@pytest.mark.parametrize(("ident", "parameters"), [TEMPLATES[0], TEMPLATES[1], TEMPLATES[3]])
def test_dimensions_come_back(ident: str, parameters: dict[str, object]) -> None:
    document = template(ident, **parameters)
    back = redrawn(document, "astra-sim-yml")
    assert export(back, "astra-sim-yml").files == export(document, "astra-sim-yml").files


@pytest.mark.parametrize("ident", ["slurm-hostfile", "open-mpi-rankfile", "rank-map-csv"])
def test_ranks_come_back(ident: str) -> None:
    document = pair()
    document.job = document.job.model_copy(update={"world": ("b.gpu0", "b.gpu1", "a.gpu0", "a.gpu1")})
    result = again(document, ident)
    assert isinstance(result, RankPlacement)
    assert [(place.rank, place.host, place.local) for place in result.ranks] == [
        (0, "b", 0),
        (1, "b", 1),
        (2, "a", 0),
        (3, "a", 1),
    ]
    gpus = [place.gpu for place in result.ranks]
    assert gpus == (["b.gpu0", "b.gpu1", "a.gpu0", "a.gpu1"] if ident == "rank-map-csv" else [None] * 4)


def node(topology: Topology) -> dict[str, object]:
    """What NCCL's file says of a host, told so that names do not matter."""
    gpus = {device.id for device in topology.working(DeviceKind.GPU)}
    nics = {device.id for device in topology.working(DeviceKind.NIC)}
    switches = {device.id for device in topology.working(DeviceKind.PCIE_SWITCH)}
    lanes: Counter[str] = Counter()
    below: dict[str, Counter[str]] = {switch: Counter() for switch in switches}
    for link in topology.links():
        for end, other in ((link.a, link.b), (link.b, link.a)):
            if link.kind is LinkKind.NVLINK and end in gpus:
                lanes[end] += link.count
            if link.kind is LinkKind.PCIE and end in switches and (other in gpus or other in nics):
                below[end]["gpu" if other in gpus else "nic"] += 1
    return {
        "gpus": len(gpus),
        "nics": len(nics),
        "models": Counter(topology.device(gpu).model for gpu in gpus),
        "lanes": Counter(lanes.values()),
        "below": sorted((own["gpu"], own["nic"]) for own in below.values()),
    }


@pytest.mark.parametrize("ident", ["hgx-h100", "hgx-a100"])
def test_nodes_come_back_from_nccl(ident: str) -> None:
    document = template(ident, nodes=1)
    (text,) = sources(document, "nccl-topo-xml")
    result = import_sources([text], "nccl-topo-xml").result
    assert isinstance(result, Drawing)
    back = Topology(result.devices, result.links, result.containers)
    wanted = node(document.topology)
    if ident == "hgx-a100":  # sm 80 is every A100, and the file does not say which
        assert node(back)["lanes"] == wanted["lanes"] and node(back)["below"] == wanted["below"]
    else:
        assert node(back) == wanted


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings(), ident=st.sampled_from(FABRIC))
def test_any_network_comes_back_with_every_cable(document: Document, ident: str) -> None:
    """Names are those that the tool takes; the cables between them are as many."""
    assume(any(link.kind in NETWORK_LINKS for link in document.topology.links()))
    found, _ = cables(redrawn(document, ident).topology)
    wanted, _ = cables(document.topology)
    assert sorted(found.values()) == sorted(wanted.values())


def test_content_of_an_import_is_a_document() -> None:
    found = drawing(pair(), "node-link-json")
    assert document_from(found).topology.same_as(redrawn(pair(), "node-link-json").topology)
