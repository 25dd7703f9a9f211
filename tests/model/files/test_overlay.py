"""What NCCL chose on the GPUs of a host, against the rings that are computed here."""

from __future__ import annotations

import pytest

from model.document.document import Document
from model.document.edits import SetJob
from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Channel, ChosenGraph, Overlay
from model.files.overlay import overlay_hosts, show_overlay
from topology_templates.registry import build


def opened(host: str = "full") -> Document:
    return document_from(build("hgx-h100", {"nodes": 2, "host": host}))


def ring(*channels: Channel, inter: float = 24e9) -> Overlay:
    return Overlay("graph.xml", (ChosenGraph("ring", channels, 20e9, inter, "NVL", "PIX"),))


def test_the_same_cycle_from_any_start_is_as_here() -> None:
    """NCCL turns the ring of each channel so that it starts at the GPU of its NIC; that is no other order."""
    channels = [
        Channel(tuple((start + step) % 8 for step in range(8)), net_in=start, net_out=start)
        for start in range(8)
    ]
    (graph,) = show_overlay(opened(), ring(*channels)).graphs
    assert all(channel.as_here for channel in graph.channels)
    assert graph.words[0] == (
        "NCCL has 8 channels, 20.0 GB/s each inside the host and 24.0 GB/s between hosts, 160 GB/s in all."
    )
    assert graph.words[2] == "Here 8 channels, one for each GPU, lead to other hosts."
    assert graph.words[1] == "All of them go through the GPUs as here: 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7."
    assert graph.channels[3].nic_in == "node00.nic3"


def test_another_order_and_the_nic_of_another_rail_are_named() -> None:
    here = Channel((0, 1, 2, 3, 4, 5, 6, 7), 0, 7)
    other = Channel((0, 7, 6, 5, 4, 3, 2, 1), 4, 1)
    shown = show_overlay(opened(), ring(here, here, other), host="node01")
    assert shown.host == "node01"
    (graph,) = shown.graphs
    assert [channel.as_here for channel in graph.channels] == [True, False]
    assert "1 of 2 different ones do not: 0 → 7 → 6 → 5 → 4 → 3 → 2 → 1." in graph.words[1]
    assert graph.words[3] == "Some enter or leave by the NIC of another rail: node01.nic4 at node01.gpu0."


def test_the_order_of_the_job_counts() -> None:
    document = opened()
    order = [7, 6, 5, 4, 3, 2, 1, 0]
    world = tuple(f"node00.gpu{n}" for n in order)
    SetJob(document.job.model_copy(update={"world": world})).apply(document)
    (graph,) = show_overlay(document, ring(Channel(tuple(order)))).graphs
    assert graph.channels[0].as_here
    assert "between hosts" not in graph.words[0]


def test_links_to_light_are_the_way_of_the_channel() -> None:
    (graph,) = show_overlay(opened("plain"), ring(Channel((0, 1), 0, 1))).graphs
    switches = [f"node00.nvs{n}" for n in range(4)]
    assert set(graph.links) == {
        *(f"node00.gpu{gpu}--{switch}" for gpu in (0, 1) for switch in switches),
        "node00.gpu0--node00.nic0",
        "node00.gpu1--node00.nic1",
    }


def test_without_nvlink_the_way_is_over_pcie() -> None:
    document = document_from(build("hgx-h100", {"nodes": 1}))
    nvlink = [link.id for link in document.topology.links() if link.kind.value == "nvlink"]
    document.topology.remove((), nvlink, ())
    (graph,) = show_overlay(document, ring(Channel((0, 1)))).graphs
    assert set(graph.links) == {"node00.gpu0--node00.pcie0", "node00.gpu1--node00.pcie0"}


def test_an_algorithm_without_channels() -> None:
    overlay = Overlay("graph.xml", (*ring(Channel((0, 1))).graphs, ChosenGraph("nvls", (), 0.0, 0.0)))
    _, nvls = show_overlay(opened(), overlay).graphs
    assert nvls.words == ("NCCL found no way for it.",)
    assert nvls.links == ()


def test_a_host_that_is_too_small_is_refused() -> None:
    overlay = ring(Channel(tuple(range(9))))
    assert overlay_hosts(opened(), overlay) == ()
    with pytest.raises(InputError, match="No host of the drawing has all the GPUs"):
        show_overlay(opened(), overlay)
    with pytest.raises(InputError, match="node99 has fewer GPUs"):
        show_overlay(opened(), ring(Channel((0, 1))), host="node99")
    assert overlay_hosts(opened(), ring(Channel((0, -1)))) == ()
