"""ibnetdiscover: cables seen from both ends, names of hosts, rails, and what is odd in a fabric."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from tests.counting import calls
from tests.model.files.imports.fabrics import cables, gbit, kinds, lines, link, opens, rails
from tests.model.files.imports.infiniband_text import ibnetdiscover, rail_fabric, swapped, without
from tests.model.files.imports.samples import drawing, imported, own, real, said, text

BLOCK = 'Switch\t8 "S-0001"\t\t# "sw" base port 0 lid 1 lmc 0\n'


def test_a_cable_from_both_ends_is_one() -> None:
    source = own("ibnetdiscover/mixed.out")
    assert [one.id for one in sniffed(source)] == ["ibnetdiscover"]
    result = drawing(source)
    assert kinds(result) == {"nic": 7, "leaf": 1, "spine": 1, "tray": 4}
    assert cables(result) == 8
    assert gbit(result)[frozenset(("leaf-a", "gpu2.mlx5_0:1"))] == [(200.0, 1)]
    opens(result)


def test_the_slower_of_two_speeds_is_taken_and_said() -> None:
    one = imported(own("ibnetdiscover/mixed.out"))
    assert isinstance(one.result, Drawing)
    assert gbit(one.result)[frozenset(("leaf-a", "switch-00d10002"))] == [(100.0, 1), (400.0, 1)]
    assert lines(one, "One end of a cable says 1xNDR and the other 4xNDR") == (18, 27)


def test_aggregation_nodes_and_chassis_lines_are_left_out() -> None:
    one = imported(own("ibnetdiscover/mixed.out"))
    assert lines(one, "1 aggregation node of SHARP") == (19,)
    assert lines(one, "Lines that group switches by chassis") == (4,)
    assert lines(one, "The text ends in the middle of a line") == (54,)


def test_models_by_device_id_or_speed() -> None:
    models = {device.id: device.model for device in drawing(own("ibnetdiscover/mixed.out")).devices}
    assert models["gpu3.mlx5_0"] == "cx8-xdr"
    assert models["gpu1.mlx5_0"] == "cx7-ndr"
    assert models["switch-00d10002"] == "qm9700"


def test_adapters_without_a_host_are_grouped_by_system_or_left_out() -> None:
    source = own("ibnetdiscover/mixed.out")
    one = imported(source)
    assert lines(one, "2 adapters without the name of a host") == (33, 40)
    assert "host-00990000.hca1" in {device.id for device in drawing(source).devices}
    assert kinds(drawing(source, unnamed_adapters="leave-out")) == {
        "nic": 5,
        "leaf": 1,
        "spine": 1,
        "tray": 3,
    }


def test_hosts_that_share_a_name_and_both_spellings_of_an_adapter() -> None:
    one = imported(own("ibnetdiscover/same_names.out"))
    assert isinstance(one.result, Drawing)
    assert [tray.id for tray in one.result.containers] == [
        "localhost",
        "localhost-2",
        "node3",
        "node5",
        "node6",
    ]
    assert {"node3.HCA-1", "node3.mlx5_0"} < {device.id for device in one.result.devices}
    assert lines(one, "2 adapters call themselves the same adapter of localhost") == (3, 9)
    assert lines(one, "Port 5 of leaf is in two cables; the first was taken.") == (6, 7)
    assert lines(one, "Adapters called HCA-n count from 1") == (4,)


def test_rails_from_the_cabling() -> None:
    result = drawing(text(ibnetdiscover(rail_fabric(hosts=8, rails=4, leaves_per_rail=2))))
    found = rails(result)
    assert [found[f"node007.mlx5_{rail}"] for rail in range(4)] == [0, 1, 2, 3]
    assert [found[f"ib-l{leaf:02d}"] for leaf in range(8)] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert kinds(result) == {"nic": 32, "leaf": 8, "spine": 2, "tray": 8}


def test_hca_spelling_gives_the_same_rails() -> None:
    plain = drawing(text(ibnetdiscover(rail_fabric(hosts=4, rails=4))))
    spelled = drawing(text(ibnetdiscover(rail_fabric(hosts=4, rails=4, adapter="HCA-{number}"))))
    assert rails(spelled) == rails(plain)
    assert len(rails(plain)) == 20


def test_one_leaf_for_all_adapters_is_no_rail() -> None:
    made = rail_fabric(hosts=4, rails=1, adapter="mlx5_0")
    assert rails(drawing(text(ibnetdiscover(made)))) == {}


def test_miscabled_hosts_are_listed() -> None:
    one = imported(text(ibnetdiscover(swapped(rail_fabric(hosts=8, rails=4), "h5r1", "h5r2"))))
    assert said(one, "contradictory") == "node005 is cabled unlike most hosts: mlx5_1 and mlx5_2 are swapped."
    assert isinstance(one.result, Drawing)
    assert rails(one.result)["node005.mlx5_1"] == 1


def test_missing_cables_leaves_and_uplinks_are_listed() -> None:
    made = rail_fabric(hosts=8, rails=4, spines=2, uplinks=2)
    made = without(made, cables=[("leaf02", 9), ("h3r1", 1)])
    one = imported(text(ibnetdiscover(made)))
    inferred = said(one, "inferred")
    assert "node003 has no cable on mlx5_1, which most hosts have." in inferred
    assert "ib-l02 has 3 cables to spines, where most leaves have 4." in inferred


def test_a_spine_that_one_host_hangs_on_is_no_leaf() -> None:
    made = rail_fabric(hosts=16, rails=2, spines=1)
    made.nodes["ufm"] = ("H", "ufm01 mlx5_0", 0x101B)
    made.cables.append((("spine00", 40), ("ufm", 1), "4xHDR"))
    one = imported(text(ibnetdiscover(made)))
    assert isinstance(one.result, Drawing)
    assert kinds(one.result)["spine"] == 1
    assert "Few hosts hang on ib-s00" in said(one, "inferred")


def test_broken_lines_are_refused_or_left_out() -> None:
    source = text(BLOCK + '[1] nonsense\n[2]\t"H-0002"[1](2)\t# "a mlx5_0" lid 1 4xHDR\n\n')
    with pytest.raises(InputError, match=r"line 2: .1. nonsense is no line of a port"):
        imported(source)
    one = imported(source, partial=True)
    assert isinstance(one.result, Drawing)
    assert cables(one.result) == 1


@pytest.mark.parametrize("content", ["vendid=0x2c9\ndevid=0x1\n", "nothing at all\n", '[1]\t"H-0002"[1]\n'])
def test_without_a_node_there_is_no_fabric(content: str) -> None:
    with pytest.raises(InputError, match="no switch and no adapter"):
        imported(text(content), "ibnetdiscover")


def test_speeds_by_width_and_generation() -> None:
    speeds = {"1xSDR": 2.5, "4xDDR": 20, "4xQDR": 40, "4xFDR10": 40, "4xFDR": 56, "4xEDR": 100, "2xHDR": 100}
    speeds |= {"4xHDR": 200, "2xNDR": 200, "4xNDR": 400, "4xXDR": 800}
    ports = [
        f'[{n}]\t"H-000{n:x}f"[1](1)\t# "n{n} mlx5_0" lid 1 {name}\n' for n, name in enumerate(speeds, 1)
    ]
    result = drawing(text(BLOCK + "".join(ports)))
    assert [each.lane_bytes_per_s * 8 / 1e9 for each in result.links] == list(speeds.values())


def test_a_speed_that_is_missing_is_asked_for() -> None:
    source = text(
        BLOCK + '[1]\t"H-0002"[1](2)\t# "a mlx5_0" lid 1\n[2]\t"H-0003"[1]\t# "b mlx5_0" lid 2 4xHDR\n'
    )
    one = imported(source, answers={"network_gbit_per_s": "100"})
    assert isinstance(one.result, Drawing)
    assert link(one.result, "sw", "a.mlx5_0").lane_bytes_per_s == 12.5e9
    assert lines(one, "Cables without a speed") == (2,)


def test_work_grows_with_the_fabric_and_no_faster() -> None:
    small = text(ibnetdiscover(rail_fabric(hosts=40, rails=8, spines=4)))
    large = text(ibnetdiscover(rail_fabric(hosts=160, rails=8, spines=16)))
    ratio = len(large.text) / len(small.text)
    few, many = calls(lambda: imported(small)), calls(lambda: imported(large))
    assert many < 1.3 * ratio * few


@pytest.mark.parametrize(
    ("path", "found", "count"),
    [
        ("manpage_2sw_4ca_sdr_dualport.out", {"nic": 5, "leaf": 2, "tray": 4}, 7),
        ("ndr_qm9700_redacted_omitted.out", {"nic": 5, "leaf": 1, "tray": 5}, 5),
        ("two_node_back_to_back_0x_guids.out", {"nic": 2, "tray": 2}, 1),
    ],
)
def test_real_files(path: str, found: dict[str, int], count: int) -> None:
    result = drawing(real(f"ibnetdiscover/{path}"))
    assert kinds(result) == found
    assert cables(result) == count
    opens(result)


def test_peculiarities_of_the_real_files() -> None:
    one = imported(real("ibnetdiscover/manpage_2sw_4ca_sdr_dualport.out"))
    assert lines(one, "One end of a cable says 1xSDR and the other 4xSDR") == (15, 26, 18, 52)
    result = drawing(real("ibnetdiscover/ndr_qm9700_redacted_omitted.out"))
    assert {each.lane_bytes_per_s for each in result.links} == {25e9}
    assert [tray.id for tray in result.containers] == [f"node00{n}" for n in (5, 4, 6, 7, 9)]
    back = drawing(real("ibnetdiscover/two_node_back_to_back_0x_guids.out"))
    assert link(back, "node-a.mlx5_0", "node-b.mlx5_0").lane_bytes_per_s == 12.5e9
