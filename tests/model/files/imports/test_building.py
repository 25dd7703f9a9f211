"""Drawings put together part by part."""

from __future__ import annotations

import pytest

from model.catalog import catalog
from model.errors import InputError
from model.files.importing import Reading
from model.files.imports.building import DrawingBuilder, ask_gpu, ask_nic, ask_number
from model.files.imports.known_parts import (
    gpu_by_name,
    gpus_by_gcn,
    gpus_by_sm,
    nic_by_name,
    nic_by_speed,
    switch_by_speed,
)
from model.topology.graph import Topology
from model.topology.types import ContainerKind, DeviceKind, LinkKind
from tests.model.files.imports.samples import text


def _builder(*, partial: bool = False) -> DrawingBuilder:
    return DrawingBuilder(Reading([text("x")], partial=partial), "test")


def test_ids_are_free_printable_and_short_over_all_kinds_of_thing() -> None:
    builder = _builder()
    tray = builder.container("a", ContainerKind.TRAY)
    ids = [
        builder.device(name, DeviceKind.GPU, "h100-sxm", parent=tray)
        for name in ("a", "a", "", "b\x07c", "x" * 999)
    ]
    assert ids[:4] == ["a-2", "a-3", "unnamed", "b?c"] and len(ids[4]) == 160
    builder.link(ids[0], ids[1], None, 25e9)
    builder.link(ids[0], ids[1], None, 25e9)
    drawing = builder.drawing(whole=True)
    assert [link.id for link in drawing.links] == ["a-2--a-3", "a-2--a-3-2"]
    assert len(Topology(drawing.devices, drawing.links, drawing.containers).devices()) == 5


def test_links_that_cannot_be_are_broken_or_left_out() -> None:
    builder = _builder(partial=True)
    gpu = builder.device("g", DeviceKind.GPU, "h100-sxm")
    leaf = builder.device("l", DeviceKind.LEAF, "qm9700")
    assert builder.link(gpu, gpu, LinkKind.NVLINK, 1e9) is None
    assert builder.link(gpu, leaf, None, 1e9) is None
    assert builder.link(gpu, leaf, LinkKind.ETHERNET, 0.0) is None
    assert builder.link(gpu, leaf, LinkKind.ETHERNET, 1e9, 0) is None
    assert len(builder.reading.notes) == 4 and not builder.links()
    with pytest.raises(InputError, match=r"a link joins g to itself"):
        strict = _builder()
        strict.link(*[strict.device("g", DeviceKind.GPU, "h100-sxm")] * 2, None, 1e9)


def test_a_kind_of_link_that_does_not_fit_is_drawn_and_said() -> None:
    builder = _builder()
    gpu = builder.device("g", DeviceKind.GPU, "h100-sxm")
    leaf = builder.device("l", DeviceKind.LEAF, "qm9700")
    assert builder.link(gpu, leaf, LinkKind.ETHERNET, 50e9, line=7)
    [note] = builder.reading.notes
    assert note.kind == "contradictory" and note.lines == (7,)


def test_answers_come_from_the_catalogue_or_are_refused() -> None:
    reading = Reading([text("x")], {"gpu_model": "h200-sxm", "speed": "400"})
    assert ask_gpu(reading, "h100-sxm", "").id == "h200-sxm"
    assert ask_nic(reading, "cx6-hdr", "").id == "cx6-hdr"
    assert ask_number(reading, "speed", "How fast?", 100, "Gb/s", "") == 400.0
    assert [(question.key, question.default) for question in reading.questions] == [
        ("gpu_model", "h100-sxm"),
        ("nic_model", "cx6-hdr"),
        ("speed", "100"),
    ]
    for wrong in ("fast", "nan", "0"):
        with pytest.raises(InputError, match="speed cannot be"):
            ask_number(Reading([text("x")], {"speed": wrong}), "speed", "How fast?", 100, "Gb/s", "")
    with pytest.raises(InputError, match="gpu_model cannot be 'h1'"):
        ask_gpu(Reading([text("x")], {"gpu_model": "h1"}), "h100-sxm", "")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H200", "h200-sxm"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm-40"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80"),
        ("NVIDIA B200", "b200-sxm"),
        ("NVIDIA GB200", "gb200"),
        ("AMD Instinct MI300X VF", "mi300x"),
        ("Tesla V100-SXM2-16GB", None),
        ("NVIDIA GeForce RTX 3090", None),
    ],
)
def test_names_of_drivers(name: str, model: str | None) -> None:
    """Names as `nvidia-smi -L` and rocm-smi print them."""
    assert gpu_by_name(name) == model


def test_other_ways_to_name_a_part() -> None:
    assert gpus_by_sm(90)[0] == "h100-sxm" and gpus_by_sm(70) == ()
    assert gpus_by_gcn("gfx942:sramecc+") == ("mi300x", "mi325x")
    assert nic_by_name("MT4129 ConnectX7   Mellanox Technologies") == "cx7-ndr"
    assert nic_by_speed(50e9, "infiniband") == "cx7-ndr" and nic_by_speed(1e9) is None
    # 64 × 400G is what a QM9700 has, 64 × 800G takes a switch of twice that.
    assert switch_by_speed(50e9, "infiniband", 64) == "qm9700"
    big = catalog().switches[switch_by_speed(100e9, "ethernet", 64)]
    assert big.ports * big.port_bytes_per_s >= 64 * 100e9
