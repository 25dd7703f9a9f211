"""nvidia-smi topo -m, whole and damaged."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.analysis import analyse
from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Drawing, Imported
from model.files.registry import sniffed
from model.topology.types import DeviceKind, LinkKind
from tests.model.files.imports.samples import drawing, imported, own, said, text
from tests.model.files.imports.topo_text import DAMAGES, Node, hgx, nodes
from topology_templates.registry import build

FOLDER = "nvidia-smi-topo"


def _count(result: Drawing, kind: DeviceKind) -> int:
    return sum(1 for device in result.devices if device.kind is kind)


def _lanes(result: Drawing) -> int:
    return sum(link.count for link in result.links if link.kind is LinkKind.NVLINK)


def _rails(result: Drawing) -> dict[str, int | None]:
    return {device.label: device.rail for device in result.devices if device.kind is DeviceKind.NIC}


def _drawn(one: Imported) -> Drawing:
    assert isinstance(one.result, Drawing)
    return one.result


def test_hgx_inside_a_report_of_an_environment() -> None:
    """The names of the GPUs stand around the table, those of NICs in its legend; 8 × 18 links, 4 chips."""
    source = own(f"{FOLDER}/hgx_in_collect_env.txt")
    assert [one.id for one in sniffed(source)] == ["nvidia-smi-topo"]
    one = imported(source)
    result = _drawn(one)
    assert not result.whole
    kinds = (DeviceKind.GPU, DeviceKind.NIC, DeviceKind.NVLINK_SWITCH, DeviceKind.PCIE_SWITCH, DeviceKind.CPU)
    assert [_count(result, kind) for kind in kinds] == [8, 10, 4, 8, 2]
    assert _lanes(result) == 144
    assert {device.model for device in result.devices if device.kind is DeviceKind.GPU} == {"h100-sxm"}
    rails = _rails(result)
    # mlx5_6 is not in the legend, and a bond is one name.
    assert [rails[f"mlx5_{number}"] for number in (0, 1, 2, 3, 4, 5, 7, 8)] == list(range(8))
    assert rails["mlx5_9"] is None and rails["mlx5_bond_0"] is None
    assert [device.rail for device in result.devices if device.kind is DeviceKind.GPU] == list(range(8))
    assert "The text calls the GPUs NVIDIA H100 80GB HBM3." in said(one, "found")
    assert [question.key for question in one.questions] == [
        "gpu_model",
        "pcie_generation",
        "nic_model",
        "nvlink_gbytes_per_s",
    ]


def test_imported_host_has_the_traffic_of_the_template() -> None:
    """The same board drawn by the template (NICs play no part inside a host): equal bytes over NVLink."""
    ours = analyse(document_from(drawing(own(f"{FOLDER}/hgx_in_collect_env.txt")))).report
    theirs = analyse(document_from(build("hgx-h100", {"nodes": 1}))).report
    assert ours is not None and theirs is not None
    totals = []
    for report in (ours, theirs):
        loads = sum(report.bytes_by_dimension.values(), np.zeros(2 * len(report.fabric.link_ids)))
        fabric = report.fabric
        ends = [fabric.ends_of(link) for link in range(len(loads))]
        for switch in {end for pair in ends for end in pair if ".nvs" in end}:
            into = sum(load for load, (_, b) in zip(loads, ends, strict=True) if b == switch)
            out = sum(load for load, (a, _) in zip(loads, ends, strict=True) if a == switch)
            assert into == pytest.approx(out, rel=1e-9) and into > 0
        assert not any(
            load for load, pair in zip(loads, ends, strict=True) if not any(".nvs" in end for end in pair)
        )
        totals.append(float(loads.sum()))
    assert totals[0] == pytest.approx(totals[1], rel=1e-9)


@pytest.mark.parametrize("name", ["colours", "colours_without_escape"])
def test_colour_codes_are_taken_out(name: str) -> None:
    one = imported(own(f"{FOLDER}/{name}.txt"))
    assert _count(_drawn(one), DeviceKind.GPU) == 2
    assert _lanes(_drawn(one)) == 36
    assert "Colour codes" in said(one, "inferred")


def test_glued_cells_and_headers_are_taken_apart() -> None:
    one = imported(own(f"{FOLDER}/glued.txt"))
    assert _rails(_drawn(one)) == {"NIC0": 0, "NIC1": 1, "NIC2": 2, "NIC3": 3, "NIC4": None, "NIC5": None}
    note = next(note for note in one.notes if "without a blank" in note.text)
    assert note.lines == (2, 3, 4, 5, 6, 7, 8, 9, 10, 11)


def test_number_of_links_is_told_from_the_affinity_glued_to_it() -> None:
    one = imported(own(f"{FOLDER}/affinity_glued.txt"))
    assert _lanes(_drawn(one)) == 36
    assert "1 with NV18" in said(one, "found")
    assert not said(one, "contradictory")


def test_cut_rows_never_shift_cells() -> None:
    """Row GPU1 ends in a word, row GPU2 lost a cell before its affinity: no NIC may be given to GPU2."""
    one = imported(own(f"{FOLDER}/cut_rows.txt"))
    assert _rails(_drawn(one)) == {
        "NIC0": 0,
        "NIC1": 1,
        "NIC2": None,
        "NIC3": None,
        "NIC4": None,
        "NIC5": None,
    }
    lines = {note.lines for note in one.notes if note.text.startswith("Row GPU")}
    assert lines == {(3,), (4,)}
    assert "Rows of GPU3, NIC0" in said(one, "inferred")
    assert "1 pair of GPUs in no row: taken to be NV18" in said(one, "guessed")
    assert _lanes(_drawn(one)) == 72


def test_old_driver_names_nics_in_the_table_and_has_no_numa_nodes() -> None:
    one = imported(own(f"{FOLDER}/mlx5_names_old_driver.txt"))
    assert _rails(_drawn(one)) == {"mlx5_0": 0, "mlx5_1": 2}
    assert _count(_drawn(one), DeviceKind.CPU) == 2
    assert "GPUs with one CPU affinity share a node" in said(one, "inferred")


def test_cube_mesh_has_direct_links_of_different_width() -> None:
    one = imported(own(f"{FOLDER}/cube_mesh.txt"))
    links = {
        frozenset((link.a[-1], link.b[-1])): link.count
        for link in _drawn(one).links
        if link.kind is LinkKind.NVLINK
    }
    assert links == {
        frozenset("01"): 2,
        frozenset("02"): 1,
        frozenset("13"): 1,
        frozenset("23"): 2,
    }
    assert _count(_drawn(one), DeviceKind.NVLINK_SWITCH) == 0


def test_topo_mp_hides_nvlink_and_the_user_is_asked() -> None:
    source = own(f"{FOLDER}/topo_mp.txt")
    one = imported(source)
    question = next(question for question in one.questions if question.key == "scale_up")
    assert "topo -mp hides them" in question.why and question.default == "catalogue"
    assert _lanes(_drawn(one)) == 144 and "topo -mp hides them" in said(one, "guessed")
    none = imported(source, answers={"scale_up": "none"})
    assert _lanes(_drawn(none)) == 0
    assert "does not mean that there is none" in said(none, "guessed")


def test_topo_p2p_is_told_apart() -> None:
    one = imported(own(f"{FOLDER}/topo_p2p.txt"))
    assert "topo -p2p, which shows who may talk to whom" in said(one, "guessed")
    assert (_count(_drawn(one), DeviceKind.GPU), _lanes(_drawn(one))) == (4, 0)
    both = own(f"{FOLDER}/topo_p2p.txt").text + hgx(4).text()
    second = imported(text(both))
    assert _lanes(_drawn(second)) == 72 and "topo -p2p is not drawn" in said(second, "ignored")


def test_tray_of_a_rack_is_known_by_its_cpus() -> None:
    """72 cores to a NUMA node are Grace: C2C to the CPUs, and a domain of which the tray sees a part."""
    one = imported(own(f"{FOLDER}/grace_tray.txt"))
    result = _drawn(one)
    assert {device.model for device in result.devices if device.kind is DeviceKind.CPU} == {"grace"}
    c2c = [link for link in result.links if link.kind is LinkKind.C2C and ".gpu" in link.a]
    assert len(c2c) == 4 and {link.lane_bytes_per_s for link in c2c} == {450e9}
    assert "cannot be seen from inside it" in said(one, "inferred")


def test_speed_of_a_bridge_that_stands_in_the_text_is_taken() -> None:
    """nvidia-smi nvlink -s says 14.062 GB/s; the catalogue has no RTX 3090, which is said."""
    one = imported(own(f"{FOLDER}/bridge_and_speed.txt"))
    [link] = [link for link in _drawn(one).links if link.kind is LinkKind.NVLINK]
    assert (link.count, link.lane_bytes_per_s) == (4, 14.062e9)
    assert "RTX 3090, which the catalogue does not have" in said(one, "guessed")


def test_two_gpus_may_have_a_switch_or_a_bridge() -> None:
    source = text(Node([[["GPU0"], ["GPU1"]]], 18).text())
    assert _count(drawing(source), DeviceKind.NVLINK_SWITCH) == 4
    direct = drawing(source, nvlink="direct")
    assert (_count(direct, DeviceKind.NVLINK_SWITCH), _lanes(direct)) == (0, 18)


def test_one_gpu_has_no_peer() -> None:
    assert [link.kind for link in drawing(own(f"{FOLDER}/one_gpu.txt")).links] == [LinkKind.PCIE]


def test_gpu_that_lost_its_nvlinks_is_named() -> None:
    one = imported(own(f"{FOLDER}/one_gpu_without_nvlink.txt"))
    assert _lanes(_drawn(one)) == 54
    note = next(note for note in one.notes if note.kind == "contradictory")
    assert note.text == "GPU2 has no NVLink, though others have." and note.lines == (4,)


def test_cells_that_contradict_each_other_are_shown_with_both_lines() -> None:
    one = imported(own(f"{FOLDER}/contradictory.txt"))
    note = next(note for note in one.notes if note.text.startswith("NIC1 to GPU0"))
    assert note.text == "NIC1 to GPU0 is NODE, and PIX the other way; PIX was taken." and note.lines == (2, 7)


def test_cards_with_several_ports_share_a_slot() -> None:
    one = imported(own(f"{FOLDER}/card_with_two_ports.txt"))
    assert _rails(_drawn(one)) == {"NIC0": 0, "NIC1": None, "NIC2": None, "NIC3": 1, "NIC4": 1}
    assert "NIC1, NIC2 share one slot" in said(one, "inferred")
    switch = next(link.b for link in _drawn(one).links if link.a == "node00.nic1")
    assert {link.a for link in _drawn(one).links if link.b == switch} == {"node00.nic1", "node00.nic2"}


def test_pxb_is_a_switch_above_the_switches_of_pix() -> None:
    result = drawing(own(f"{FOLDER}/pix_below_pxb.txt"))
    up = {link.a: link.b for link in result.links if link.kind is LinkKind.PCIE}
    assert up["node00.gpu0"] == up["node00.nic0"] != up["node00.gpu1"] == up["node00.nic1"]
    tops = {up[up[f"node00.gpu{number}"]] for number in range(3)}
    assert len(tops) == 1 and up[tops.pop()] == "node00.cpu0"
    assert _rails(result) == {"NIC0": 0, "NIC1": 1}


def test_a_log_of_a_month_is_refused_before_it_is_read() -> None:
    with pytest.raises(InputError, match=r"has 200,003 lines; .* cut out the part with the output"):
        imported(text("\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n" + "step 1\n" * 200_000))


def test_unknown_cell_is_an_error_with_its_line_or_left_out() -> None:
    source = text(hgx(4).text().replace("NODE", "NEAR", 1))
    with pytest.raises(InputError, match=r"line 2: the cell 'NEAR' of row GPU0"):
        imported(source)
    one = imported(source, partial=True)
    assert "Left out: the cell 'NEAR'" in said(one, "ignored")
    assert _rails(_drawn(one)) == _rails(drawing(text(hgx(4).text())))


def test_text_without_a_table_is_refused() -> None:
    with pytest.raises(InputError, match="should be the output of nvidia-smi topo -m"):
        imported(text("GPU0 is warm\n"), "nvidia-smi-topo")
    with pytest.raises(InputError, match="line 1: there are columns of GPUs, but no row"):
        imported(text("\tGPU0\tGPU1\tCPU Affinity\n"), "nvidia-smi-topo")
    assert not sniffed(text("GPU0 and GPU1 are down\nNIC0 too\n"))


@given(node=nodes(), damage=st.sampled_from(sorted(DAMAGES)))
def test_damaged_pastes_give_the_same_host_or_say_what_was_repaired(node: Node, damage: str) -> None:
    whole = imported(text(node.text()), "nvidia-smi-topo")
    damaged = imported(text(DAMAGES[damage](node)), "nvidia-smi-topo")
    if _drawn(damaged) != _drawn(whole):
        new = {note.text for note in damaged.notes} - {note.text for note in whole.notes}
        assert new, damage
    assert _gpus(_drawn(damaged).devices) == _gpus(_drawn(whole).devices)
    restorable = damage not in ("last GPU row missing", "header missing")
    if damage == "last row cut":
        restorable = any(name.startswith("NIC") for name in node.names)  # else the affinity of a GPU is cut
    if restorable:
        assert set(_drawn(damaged).links) == set(_drawn(whole).links), damage


def _gpus(devices: Iterable[object]) -> list[object]:
    return [device for device in devices if getattr(device, "kind", None) is DeviceKind.GPU]


@given(node=nodes())
def test_rails_and_lanes_follow_the_table(node: Node) -> None:
    """NIC i behind one switch with GPU j has rail j; each GPU has as many lanes as its cells show."""
    one = imported(text(node.text()), "nvidia-smi-topo")
    result = _drawn(one)
    groups = [group for numa in node.numas for group in numa if len(group) == 2]
    assert _rails(result) == {nic: int(gpu[3:]) for gpu, nic in groups}
    if not node.nvlinks:
        return
    lanes = {device.id: 0 for device in result.devices if device.kind is DeviceKind.GPU}
    for link in result.links:
        for end in (link.a, link.b):
            if link.kind is LinkKind.NVLINK and end in lanes:
                lanes[end] += link.count
    switched = _count(result, DeviceKind.NVLINK_SWITCH) > 0
    assert set(lanes.values()) == {node.nvlinks * (1 if switched else len(lanes) - 1)}
