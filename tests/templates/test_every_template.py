"""Every template at its smallest, default and largest size: counts, ports, places, and the engine on it."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.analysis import analyse
from model.catalog import catalog
from model.document.document import Document
from model.document.start import document_from
from model.errors import InputError
from model.job.spec import apply_set
from model.step.report import StepReport
from model.topology.types import DeviceKind
from model.traffic.types import Fabric, Traffic
from tests.templates.drawn import LARGEST, SMALLEST, Values, check_counts, overlaps, topology_of
from topology_templates.content import TemplateContent
from topology_templates.registry import TEMPLATES, build, counts

# The larger defaults run with plain hosts, which spares time and changes no GPU and no cable.
PLAIN: dict[str, Values] = {
    name: {"host": "plain"} for name in ("superpod-b200", "superpod-b300", "superpod-gb200", "superpod-gb300")
}
SMALL: list[tuple[str, Values]] = [
    *SMALLEST.items(),
    *((name, PLAIN.get(name, {})) for name in TEMPLATES if PLAIN.get(name, {}) != SMALLEST[name]),
]


def test_each_template_has_its_sizes_here() -> None:
    assert list(TEMPLATES) == [name for name in TEMPLATES if name in SMALLEST and name in LARGEST]


@pytest.mark.parametrize(("name", "values"), SMALL)
def test_smallest_and_default(name: str, values: Values) -> None:
    content = build(name, values)
    check_counts(content, name, values)
    assert overlaps(content) == []


def test_defaults_open_fast() -> None:
    """The gallery draws all of them: at most 2,000 devices and 13,000 links each."""
    for name in TEMPLATES:
        found = counts(name)
        assert found["devices"] <= 2000 and found["links"] <= 13_000, name


@pytest.mark.slow
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_largest(name: str) -> None:
    content = build(name, LARGEST[name])
    check_counts(content, name, LARGEST[name])
    assert overlaps(content) == []
    run_both_jobs(content)


@pytest.mark.slow
def test_16384_gpus_with_cpus_and_pcie_switches() -> None:
    """Hosts of 8 GPUs, 4 NVSwitches, 8 NICs, 2 CPUs, 4 PCIe switches; 512 leaves, 512 spines, 256 cores."""
    assert len(build("hgx-h100", {"nodes": 2048}).positions) == 2048 * 26 + 512 + 512 + 256


STORED = [
    *((name, {"storage": 3}) for name in ("hgx-a100", "mi355x", "gb300-nvl72", "leaf-spine", "two-sites")),
    *(
        (name, {"storage": 3, "storage_fabric": "own"})
        for name in ("hgx-b300", "gb200-nvl36x2", "vr-nvl72", "leaf-spine", "two-sites")
    ),
    *(
        (name, {"storage": 33})
        for name in ("rail-only", "fat-tree", "llama3-24k", "deepseek-v3", "alibaba-hpn")
    ),
    ("pcie-workstation", {"storage": 1, "machines": 2}),
    ("pcie-workstation", {"storage": 1}),
]


@pytest.mark.parametrize(("name", "values"), STORED)
def test_storage_is_reached_from_every_host(name: str, values: Values) -> None:
    """Over its own network, or over that of the GPUs, without passing a GPU or a NIC on the way."""
    content = build(name, values)
    check_counts(content, name, values)
    assert overlaps(content) == []
    topology = topology_of(content)
    kind = {device.id: device.kind for device in content.devices}
    switches = nx.Graph(
        (link.a, link.b)
        for link in content.links
        if {kind[link.a], kind[link.b]}.isdisjoint({DeviceKind.GPU, DeviceKind.CPU, DeviceKind.PCIE_SWITCH})
    )
    storage = [device for device in content.devices if device.kind is DeviceKind.STORAGE]
    sites = {device.parent for device in storage}
    for site in sites:
        first = next(device.id for device in storage if device.parent == site)
        reached = nx.node_connected_component(switches, first)
        hosts = {device.parent for device in content.devices if device.id in reached} - {None}
        wanted = {device.parent for device in content.devices if device.kind is DeviceKind.GPU}
        if site is not None:
            wanted = {host for host in wanted if host in topology.descendants(site)}
        assert wanted <= hosts
        assert {device.id for device in storage if device.parent == site} <= reached


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pcie-workstation", {"storage": 1, "machines": 2}),
        ("hgx-h100", {"storage": 1, "storage_fabric": "own"}),
        ("hgx-b300", {"storage": 1, "storage_fabric": "own"}),
        ("vr-nvl72", {"storage": 1, "storage_fabric": "own"}),
    ],
)
def test_gpus_train_over_their_own_nics_only(name: str, values: Values) -> None:
    content = build(name, values)
    document = document_from(content)
    found = analyse(document).report
    assert found is not None and not found.traffic.unreachable_pairs.any()
    fabric = found.fabric
    storage = [fabric.device_index[device.id] for device in content.devices if "storage-nic" in device.id]
    touching = np.repeat(np.isin(fabric.link_a, storage) | np.isin(fabric.link_b, storage), 2)
    assert touching.any()
    assert found.traffic.loads.sum(axis=0)[touching].sum() == 0
    assert found.traffic.loads.sum() > 0


def largest_tensor_group(content: TemplateContent) -> int:
    """The largest power of two up to 8 that the smallest scale-up domain holds."""
    gpus = [device.id for device in content.devices if device.kind is DeviceKind.GPU]
    joined = nx.Graph((link.a, link.b) for link in content.links if link.kind.value in ("nvlink", "xgmi"))
    joined.add_nodes_from(gpus)
    known = set(gpus)
    sizes = [len(known & piece) for piece in nx.connected_components(joined) if known & piece]
    return max(size for size in (1, 2, 4, 8) if size <= min(sizes))


def check_conserved(fabric: Fabric, traffic: Traffic) -> None:
    """In = out at every switch, NIC, CPU and PCIe switch, of each exchange."""
    tail = np.column_stack([fabric.link_a, fabric.link_b]).ravel()
    head = np.column_stack([fabric.link_b, fabric.link_a]).ravel()
    kinds = tuple(DeviceKind)
    ends = np.isin(fabric.device_kind, [kinds.index(DeviceKind.GPU), kinds.index(DeviceKind.STORAGE)])
    size = len(fabric.device_ids)
    for number in range(len(traffic.sent_bytes_per_gpu)):
        loads = traffic.loads[traffic.instance_exchange == number].sum(axis=0)
        leaving, arriving = np.bincount(tail, loads, size), np.bincount(head, loads, size)
        assert leaving[~ends] == pytest.approx(arriving[~ends], rel=1e-9, abs=1e-3)
        assert leaving[ends].sum() == pytest.approx(arriving[ends].sum(), rel=1e-9)


def run(document: Document) -> StepReport:
    found = analyse(document)
    assert found.report is not None, [finding.title for finding in found.findings]
    assert not found.report.traffic.unreachable_pairs.any()
    check_conserved(found.report.fabric, found.report.traffic)
    return found.report


def run_both_jobs(content: TemplateContent) -> tuple[StepReport, StepReport]:
    """The default job, and one with TP over as many GPUs as hang together, up to 8."""
    document = document_from(content)
    plain = run(document)
    document.job = apply_set(document.job, f"parallel.tp={largest_tensor_group(content)}")
    return plain, run(document)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_engine_runs_on_each_default(name: str) -> None:
    content = build(name, PLAIN.get(name, {}))
    gpus = sum(device.kind is DeviceKind.GPU for device in content.devices)
    for report in run_both_jobs(content):
        assert len(report.placement.gpus) == gpus
        assert report.totals.time_s > report.totals.compute_s > 0


def test_vera_rubin_says_that_it_is_announced() -> None:
    one = TEMPLATES["vr-nvl72"]
    assert "announced" in one.name and one.summary.startswith("Announced")
    assert "announced" in catalog().hosts["vera"].name


# The most that a random case may ask of a size, so that it is built in a moment.
RANDOM_MOST = {
    "nodes": 20,
    "racks": 2,
    "pairs": 1,
    "units": 1,
    "machines": 20,
    "pods": 4,
    "racks_per_pod": 4,
    "segments": 4,
    "nodes_per_segment": 4,
    "radix": 12,
}


@st.composite
def random_values(draw: st.DrawFn) -> tuple[str, Values]:
    """A template, and for some of its parameters values that its model allows."""
    name = draw(st.sampled_from(list(TEMPLATES)))
    schema = TEMPLATES[name].parameters.model_json_schema()["properties"]
    values: Values = {}
    for field in draw(st.lists(st.sampled_from(sorted(schema)), unique=True)):
        about = schema[field]
        if "enum" in about or about["type"] == "boolean":
            values[field] = draw(st.sampled_from(about.get("enum", [False, True])))
        elif about["type"] == "integer":
            most = min(about["maximum"], RANDOM_MOST.get(field, about["maximum"]))
            values[field] = draw(st.integers(about["minimum"], most))
        else:
            values[field] = draw(st.floats(about["minimum"], about["maximum"]))
    return name, values


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_values())
def test_any_parameters_build_what_counts_says_or_are_refused(case: tuple[str, Values]) -> None:
    name, values = case
    try:
        counts(name, values)
    except InputError as error:
        assert "\n" not in str(error) and str(error).endswith(".")
        with pytest.raises(InputError, match=re.escape(str(error))):
            build(name, values)
        return
    content = build(name, values)
    check_counts(content, name, values)
    assert overlaps(content) == []
