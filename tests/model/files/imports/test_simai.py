"""SimAI topologies."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.imports.graph_drawing import MOST_NODES
from model.files.registry import sniffed
from model.topology.types import LinkKind
from tests.model.files.imports.graphs import between, boxes, check_traffic, device, kinds, neighbours, speeds
from tests.model.files.imports.samples import drawing, imported, own, real, said, text

_TWO = "4 2 1 1 4 H100\n2 3\n0 2 2880Gbps 0.000025ms 0\n1 2 2880Gbps 0.000025ms 0\n"
_TWO += "0 3 400Gbps 0.0005ms 0\n1 3 400Gbps 0.0005ms 0\n"


def test_servers_rails_and_tiers() -> None:
    """2 servers of 2 GPUs; a ToR for each rail, then two tiers; parallel links stay apart."""
    source = own("simai/rails_two_tiers.txt")
    assert [one.id for one in sniffed(source)] == ["simai"]
    one = imported(source)
    found = drawing(source)
    assert kinds(found) == {"gpu": 4, "nic": 4, "nvlink-switch": 2, "leaf": 2, "spine": 2, "core": 2}
    assert boxes(found) == {"tray": 2}
    assert {part.model for part in found.devices if part.kind.value == "gpu"} == {"h800-sxm"}
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 8, 800.0: 6}
    assert speeds(found, LinkKind.NVLINK) == {1600.0: 4}
    assert len(between(found, "switch8", "switch10")) == 2
    assert neighbours(found, "switch6") == {"node00.nic0", "node01.nic0", "switch8", "switch9"}
    assert (device(found, "switch6").rail, device(found, "switch7").rail) == (0, 1)
    assert device(found, "node01.nvs0").parent == "node01"
    note = next(note for note in one.notes if "Error rates" in note.text)
    assert note.lines == (14,)


def test_nvlink_keeps_its_speed_and_counts_lanes() -> None:
    """200 GB/s are 8 lanes of an H800 (25 GB/s each); 125 and 100 GB/s are 5 and 4 of an A100."""
    found = drawing(own("simai/rails_two_tiers.txt"))
    (link,) = between(found, "node00.gpu0", "node00.nvs0")
    assert (link.count, link.lane_bytes_per_s) == (8, 25e9)
    assert link.latency_s == pytest.approx(25e-9)
    uneven = drawing(own("simai/uneven_nvswitches.txt"))
    assert kinds(uneven) == {"gpu": 2, "nvlink-switch": 2}
    assert sorted(link.count for link in uneven.links) == [4, 4, 5, 5]
    # 2880 Gb/s are no whole number of lanes: one more lane, and the speed of the file.
    odd = drawing(text(_TWO))
    (link,) = between(odd, "node00.gpu0", "node00.nvs0")
    assert link.count == 15
    assert link.nominal_bytes_per_s == 360e9


def test_network_card_between_gpu_and_switch_with_the_catalogues_pcie() -> None:
    """A GPU has no network port: ConnectX-7 by default, 63 GB/s of PCIe 5.0."""
    found = drawing(text(_TWO))
    (link,) = between(found, "node00.gpu1", "node00.nic1")
    assert (link.kind, link.lane_bytes_per_s) == (LinkKind.PCIE, 63e9)
    other = drawing(text(_TWO), nic_model="cx6-hdr", network="infiniband", gpu_model="h200-sxm")
    assert device(other, "node00.nic0").model == "cx6-hdr"
    assert device(other, "node00.gpu0").model == "h200-sxm"
    assert speeds(other, LinkKind.INFINIBAND) == {400.0: 2}


def test_dummy_nvswitch_and_unknown_gpu_are_told() -> None:
    one = imported(own("simai/dummy_nvswitch.txt"))
    assert "1 NVSwitch without links: a dummy" in said(one, "found")
    assert 'no GPU called "H20"' in said(one, "guessed")
    assert [question.key for question in one.questions] == ["gpu_model", "network", "leaf_model", "nic_model"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4 2 1 1 4", "4 2 1 1 99", "line 1: the header says 99 links, and the file has 4"),
        (
            "4 2 1 1 4",
            "1000000000 2 1 1 4",
            f"line 1: the header says 1,000,000,000 nodes; at most {MOST_NODES:,}",
        ),
        ("4 2 1 1 4", "4 2 2 2 4", "line 1: 4 nodes less 2 NVSwitches and 2 switches"),
        ("4 2 1 1 4 H100", "4 2 1 1 H100", "line 1: the first line must have 6 cells"),
        ("2 3\n", "2\n", "line 2: the header says 2 switches, and the line of switches names 1"),
        ("0 3 400Gbps", "0 7 400Gbps", 'line 5: "7" is no node from 0 to 3'),
        ("0 3 400Gbps", "0 3 fast", 'line 5: "fast" is no rate such as 400Gbps'),
        ("400Gbps 0.0005ms", "400Gbps soon", 'line 5: "soon" is no delay'),
        ("0 3 400Gbps 0.0005ms 0\n", "0 3 400Gbps\n", "line 5: a link has 5 cells"),
        ("0 3 400Gbps", "3 3 400Gbps", "line 5: both ends of the link are node 3"),
    ],
)
def test_broken_files_name_the_line(old: str, new: str, message: str) -> None:
    assert old in _TWO
    with pytest.raises(InputError, match=message):
        imported(text(_TWO.replace(old, new, 1)), "simai")


def test_partial_import_keeps_what_can_be_read() -> None:
    one = imported(text(_TWO.replace("0 3 400Gbps", "0 3 fast")), "simai", partial=True)
    assert 'Left out: "fast" is no rate' in said(one, "ignored")
    assert "The header says 4 links, and the file has 3" in said(one, "contradictory")


def test_default_job_runs_on_it() -> None:
    check_traffic(drawing(own("simai/rails_two_tiers.txt")))
    check_traffic(drawing(own("simai/uneven_nvswitches.txt")))


def test_the_real_rail_topology() -> None:
    """16 GPU, 2 servers, 2 NVSwitch, 8 rail ToR + 4 spine, 64 links; ToR 2 down x400 against 4 up x400."""
    found = drawing(real("simai_topology/SYN_16gpu_rail_singletor"))
    assert kinds(found) == {"gpu": 16, "nic": 16, "nvlink-switch": 2, "leaf": 8, "spine": 4}
    assert boxes(found) == {"tray": 2}
    assert sum(link.kind is not LinkKind.PCIE for link in found.links) == 64
    tor = next(part for part in found.devices if part.kind.value == "leaf")
    near = [device(found, ident).kind.value for ident in neighbours(found, tor.id)]
    assert sorted(near) == ["nic"] * 2 + ["spine"] * 4
    assert speeds(found, LinkKind.ETHERNET) == {400.0: 48}
    check_traffic(found)


def test_the_real_uneven_nvswitches() -> None:
    """8 GPU, 4 NVSwitch: 1000+800+800+1000 = 3600 Gb/s for each GPU, 32 links, no network switch."""
    found = drawing(real("simai_topology/simai_issue60_dgxh100_4nvswitch_uneven"))
    assert kinds(found) == {"gpu": 8, "nvlink-switch": 4}
    assert len(found.links) == 32
    assert speeds(found, LinkKind.NVLINK) == {1000.0: 16, 800.0: 16}
    of_gpu = [link for link in found.links if "node00.gpu3" in (link.a, link.b)]
    assert sum(link.nominal_bytes_per_s for link in of_gpu) * 8 / 1e9 == 3600
    assert sum(link.count for link in of_gpu) == 18
    check_traffic(found)


def test_the_real_file_with_a_wrong_number_of_links() -> None:
    with pytest.raises(InputError, match="the header says 99 links, and the file has 2"):
        imported(real("simai_topology/BAD_16gpu_link_count_mismatch"))
