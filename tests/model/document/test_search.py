"""What a search finds, in which order, and how fast. Small drawings; expected names by hand."""

from __future__ import annotations

import pytest

from model.document.document import Document
from model.document.search import FoundFinding, HitKind, SearchIndex, group_members
from model.document.start import document_from
from model.job.sizes import grid_of
from model.job.spec import apply_set
from model.placement.resolve import resolve
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State
from tests.counting import calls
from topology_templates.content import TemplateContent


def drawing() -> Document:
    devices = (
        *(Device(f"node0.gpu{n}", DeviceKind.GPU, "h100-sxm", parent="node0", rail=n) for n in range(12)),
        Device("leaf1", DeviceKind.LEAF, "qm9700", state=State.DOWN),
        Device("Überleaf", DeviceKind.LEAF, "qm9700", label="edge of hall 2"),
    )
    links = (Link("node0.gpu1--leaf1", "node0.gpu1", "leaf1", LinkKind.INFINIBAND, 50e9),)
    return Document(Topology(devices, links, (Container("node0", ContainerKind.TRAY),)))


def titles(index: SearchIndex, query: str, kind: HitKind) -> list[str]:
    return [hit.title for hit in index.find(query).hits if hit.kind is kind]


def test_whole_words_come_before_beginnings() -> None:
    index = SearchIndex(drawing())
    assert titles(index, "gpu1", HitKind.DEVICE) == ["node0.gpu1", "node0.gpu10", "node0.gpu11"]
    assert titles(index, "gpu1", HitKind.LINK) == ["node0.gpu1 – leaf1"]


def test_an_exact_name_comes_first() -> None:
    document = drawing()
    document.topology.rename("device", "Überleaf", "gpu1")
    assert titles(SearchIndex(document), "GPU1", HitKind.DEVICE)[0] == "gpu1"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("down", ["leaf1"]),
        ("leaf qm9700", ["leaf1", "Überleaf"]),
        ("über", ["Überleaf"]),
        ("hall edge", ["Überleaf"]),
        ("leaf h100", []),
        ("  ", []),
        ("leaf\n1", ["leaf1"]),
        ("x" * 5000, []),
    ],
)
def test_words_in_any_order_over_names_labels_models_and_states(query: str, found: list[str]) -> None:
    assert titles(SearchIndex(drawing()), query, HitKind.DEVICE) == found


def test_a_kind_gives_all_its_devices_and_several_matches_one_entry() -> None:
    hits = SearchIndex(drawing()).find("gpu")
    assert hits.hits[0].title == "GPU" and len(hits.hits[0].ids) == 12
    everything = next(hit for hit in hits.hits if hit.kind is HitKind.ALL)
    assert everything.title == "All 12 matching devices" and len(everything.ids) == hits.devices == 12


def test_containers_and_findings() -> None:
    findings = (FoundFinding("leaf1 is oversubscribed 1.50×", "6 of 12 flows", ("leaf1",)),)
    index = SearchIndex(drawing(), findings=findings)
    assert titles(index, "tray", HitKind.CONTAINER) == ["node0"]
    hit = index.find("oversubscribed").hits[0]
    assert (hit.kind, hit.ids) == (HitKind.FINDING, ("leaf1",))


def test_groups_hold_the_gpus_that_show_them() -> None:
    document = drawing()
    job = apply_set(document.job, "parallel.tp=4")
    gpus = tuple(f"node0.gpu{n}" for n in range(12))
    placement = resolve(gpus, grid_of(job, 12), document.paint)
    hit = next(
        hit for hit in SearchIndex(document, placement).find("tp group 2").hits if hit.kind is HitKind.GROUP
    )
    # TP is the innermost dimension: ranks 8 … 11 are its group 2.
    assert hit.ids == gpus[8:12] == group_members(placement, "tp", 2)


def test_empty_drawing() -> None:
    assert SearchIndex(Document()).find("gpu").hits == ()


def test_a_key_press_does_little_for_each_of_45_000_devices() -> None:
    """The names are searched as one array; a device that is found costs one call, for its id."""
    devices = [
        Device(f"node{n // 8:04}.gpu{n % 8}", DeviceKind.GPU, "h100-sxm", rail=n % 8) for n in range(45_000)
    ]
    content = TemplateContent("", tuple(devices), (), (), {"node0000.gpu0": (0.0, 0.0)})
    index = SearchIndex(document_from(content))
    for query in ("g", "gp", "gpu", "gpu3", "0", "node0 gpu1", "nothing"):
        assert calls(lambda query=query: index.find(query)) < 45_000 + 3_000, query
