"""Tables of amd-smi topology and rocm-smi --showtopo."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Drawing
from model.files.registry import sniffed
from model.topology.types import DeviceKind, LinkKind
from tests.model.files.imports.samples import imported, own, said, text

FOLDER = "amd-smi-topo"


def _xgmi(result: object) -> set[frozenset[str]]:
    assert isinstance(result, Drawing)
    return {frozenset((link.a[-1], link.b[-1])) for link in result.links if link.kind is LinkKind.XGMI}


def test_only_weight_15_is_a_neighbour_whatever_the_hops_say() -> None:
    """A ring of four: opposite GPUs have weight 30 and still "1 hop"."""
    source = own(f"{FOLDER}/rocm_smi_ring.txt")
    assert [one.id for one in sniffed(source)] == [FOLDER]
    one = imported(source)
    assert _xgmi(one.result) == {frozenset(pair) for pair in ("01", "12", "23", "03")}
    assert "GPU0–GPU2, GPU1–GPU3" in said(one, "inferred")
    assert isinstance(one.result, Drawing)
    assert {device.model for device in one.result.devices if device.kind is DeviceKind.GPU} == {"mi300x"}
    to_cpu = {link.a[-1]: link.b[-1] for link in one.result.links if link.kind is LinkKind.PCIE}
    assert to_cpu == {"0": "0", "1": "0", "2": "1", "3": "1"}


def test_tables_by_bus_id_with_pcie_across_sockets() -> None:
    one = imported(own(f"{FOLDER}/amd_smi_mixed.txt"))
    assert isinstance(one.result, Drawing)
    assert _xgmi(one.result) == {frozenset("01")}
    labels = [device.label for device in one.result.devices if device.kind is DeviceKind.GPU]
    assert labels == ["0000:0c:00.0", "0000:22:00.0", "0000:86:00.0"]
    to_cpu = {link.a[-1]: link.b[-1] for link in one.result.links if link.kind is LinkKind.PCIE}
    assert to_cpu == {"0": "0", "1": "0", "2": "1"}  # weight 72 is another socket
    assert "3 GPUs, 5 tables." in said(one, "found")
    assert "2 pairs of GPUs with PCIe only." in said(one, "found")
    assert [question.key for question in one.questions] == ["gpu_model"]


def test_missing_rows_follow_from_the_columns() -> None:
    whole = own(f"{FOLDER}/rocm_smi_ring.txt").text
    lines = [line for line in whole.split("\n") if not line.startswith("GPU3 ")]
    one = imported(text("\n".join(lines)))
    assert _xgmi(one.result) == _xgmi(imported(text(whole)).result)
    assert "Rows of GPU3 are missing" in said(one, "inferred")


def test_texts_without_the_tables_are_refused() -> None:
    with pytest.raises(InputError, match="should be the output of amd-smi topology"):
        imported(text("nothing"), FOLDER)
    with pytest.raises(InputError, match="no table of link types"):
        imported(text("WEIGHT TABLE:\n   GPU0 GPU1\nGPU0 0 15\n"), FOLDER)
    with pytest.raises(InputError, match="line 3: 3 cells where 2 are expected"):
        imported(text("LINK TYPE TABLE:\n   GPU0 GPU1\nGPU0 SELF XGMI XGMI\n"), FOLDER)
