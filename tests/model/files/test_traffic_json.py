"""The traffic export: its invariants (conventions 22, 39–41, 46) on a node pair, and its schema."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from model.analysis import analyse
from model.document.start import document_from
from model.files.schema import TrafficFile
from model.files.traffic_json import figure_to_json, traffic_to_json, write_traffic
from model.job.spec import apply_set
from model.step.report import Analysis, Figure
from topology_templates.registry import build

DIMENSIONS = ("tp", "cp", "ep", "pp", "dp", "storage")


@lru_cache(maxsize=2)
def analysed(nodes: int) -> Analysis:
    content = build("hgx-h100", {"nodes": nodes})
    document = document_from(content)
    for assignment in ("model=llama3-8b", "parallel.tp=4", "parallel.pp=2", f"global_batch={8 * nodes}"):
        document.job = apply_set(document.job, assignment)
    return analyse(document)


@lru_cache(maxsize=2)
def export(nodes: int = 2) -> Any:
    return json.loads(json.dumps(traffic_to_json(analysed(nodes)), allow_nan=False))


def test_totals_are_the_sums_of_their_parts() -> None:
    loaded = 0
    for link in export()["links"]:
        for direction in (link["a_to_b"], link["b_to_a"]):
            parts = direction["bytes_per_step"]
            assert parts["total"] == pytest.approx(sum(parts[name] for name in DIMENSIONS), rel=1e-12)
            loaded += parts["total"] > 0
    assert loaded > 100


def test_sent_bytes_equal_what_leaves_the_gpus() -> None:
    data = export()
    gpus = {entry["gpu"] for entry in data["placement"]}
    leaving: dict[str, float] = defaultdict(float)
    for link in data["links"]:
        for end, direction in ((link["a"], "a_to_b"), (link["b"], "b_to_a")):
            for name in DIMENSIONS:
                leaving[name] += link[direction]["bytes_per_step"][name] if end in gpus else 0.0
    for name in ("tp", "pp", "dp"):
        said = sum(
            exchange["sent_bytes_per_gpu_per_step"]
            * len({gpu for group in exchange["groups"] for gpu in group})
            for exchange in data["exchanges"]
            if exchange["dimension"] == name
        )
        assert said > 0
        assert leaving[name] == pytest.approx(said, rel=1e-9)


def test_segments_add_up_to_the_links() -> None:
    data = export()
    moved: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    end = 0.0
    for segment in data["timeline"]["segments"]:
        assert segment["start_s"] == pytest.approx(end, abs=1e-9)
        end = segment["end_s"]
        for ident, forth, back in segment["links"]:
            moved[ident][0] += forth
            moved[ident][1] += back
    assert end == pytest.approx(data["step"]["time_s"], rel=1e-6)
    assert "loads" not in data["timeline"]
    for link in data["links"]:
        totals = [link[name]["bytes_per_step"]["total"] for name in ("a_to_b", "b_to_a")]
        assert moved[link["id"]] == pytest.approx(totals, rel=1e-9, abs=1e-3)


def test_seconds_add_up() -> None:
    step = export()["step"]
    parts = step["compute_s"] + step["optimizer_s"] + step["bubble_s"] + sum(step["exposed_s"].values())
    assert parts == pytest.approx(step["time_s"], rel=1e-9)
    assert set(step["exposed_s"]) == set(DIMENSIONS)


def test_groups_and_placement_agree() -> None:
    data = export()
    assert [entry["rank"] for entry in data["placement"]] == list(range(16))
    # 16 GPUs in order tp-cp-ep-dp-pp: dp = 16 / (4 · 2) = 2.
    assert {name: len(groups) for name, groups in data["groups"].items() if name in DIMENSIONS} == {
        "tp": 4,
        "cp": 16,
        "ep": 16,
        "pp": 8,
        "dp": 8,
    }
    assert "dp-cp" not in data["groups"], "cp is 1, so it is the same as dp"
    first = [entry["gpu"] for entry in data["placement"][:4]]
    assert data["groups"]["tp"][0] == first
    assert all(len(group) == 2 for group in data["groups"]["pp"])
    sends = next(exchange for exchange in data["exchanges"] if exchange["operation"] == "send")
    assert all(len(pair) == 2 for pair in sends["groups"])


def test_memory_has_a_row_for_each_gpu() -> None:
    rows = export()["memory"]
    assert len(rows) == 16
    for row in rows:
        parts = ("weights", "gradients", "optimizer", "activations", "other")
        assert row["total_bytes"] == pytest.approx(sum(row[f"{part}_bytes"] for part in parts))
        assert row["hbm_bytes"] == 80e9


def test_above_64_gpus_segments_name_shared_loads() -> None:
    data = export(9)
    loads = {load["id"] for load in data["timeline"]["loads"]}
    named = {segment["loads"] for segment in data["timeline"]["segments"]}
    assert named == loads
    assert all("links" not in segment for segment in data["timeline"]["segments"])


def test_above_512_gpus_the_spelled_out_parts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.files.traffic_json.SPELL_GROUPS", 8)
    monkeypatch.setattr("model.files.traffic_json.SPELL_SEGMENT_LINKS", 8)
    monkeypatch.setattr("model.files.traffic_json.SPELL_LOADS", 8)
    data = traffic_to_json(analysed(2))
    assert "loads" not in data["timeline"]
    assert all(set(each) == {"start_s", "end_s", "exchanges"} for each in data["timeline"]["segments"])
    assert {exchange["groups"] for exchange in data["exchanges"]} <= set(data["groups"])
    assert 0 < len(data["links"]) < len(export()["links"])
    assert all(
        link["a_to_b"]["bytes_per_step"]["total"] + link["b_to_a"]["bytes_per_step"]["total"] > 0
        for link in data["links"]
    )


def test_an_illegal_job_has_no_export(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no report"):
        write_traffic(replace(analysed(2), report=None), tmp_path / "x.json")


def test_numbers_that_json_cannot_hold_become_null() -> None:
    figure = Figure(float("nan"), "s", "a ÷ b", {"a": float("inf"), "b": 0, "c": "text"}, "")
    assert figure_to_json(figure) == {
        "value": None,
        "unit": "s",
        "formula": "a ÷ b",
        "inputs": {"a": None, "b": 0, "c": "text"},
        "source": "",
    }


def test_interleaved_blocks_say_their_chunk_and_hashed_flows_how_they_meet() -> None:
    """Conventions 41: two chunks a stage; hashed routing brings the worst cable expected and drawn."""
    content = build("hgx-h100", {"nodes": 4, "fabric": "tor", "leaf_downlinks": 16, "leaf_uplinks": 16})
    document = document_from(content)
    for assignment in (
        *("model=llama3-8b", "parallel.tp=4", "parallel.pp=2", "parallel.vpp=2", "schedule=interleaved"),
        *("global_batch=32", "overlap.pipeline=true", "routing.policy=hashed", "collectives.dp=tree"),
    ):
        document.job = apply_set(document.job, assignment)
    analysis = analyse(document)
    data = json.loads(json.dumps(traffic_to_json(analysis), allow_nan=False))
    blocks = [block for lane in data["timeline"]["lanes"] for block in lane["blocks"]]
    worked = [block for block in blocks if block["what"] in ("forward", "backward")]
    assert {block["chunk"] for block in worked} == {0, 1}
    assert all("chunk" not in block for block in blocks if block["what"] == "optimizer")
    assert data["ecmp"]
    for tier in data["ecmp"]:
        assert tier["expected_worst"] >= 1 and tier["drawn_worst"] >= 1 and tier["flows"] > 0
    asked = [exchange for exchange in data["exchanges"] if exchange["dimension"] == "dp"]
    assert asked and len(data["notes"]) >= 1
    schema = TypeAdapter(TrafficFile)
    schema.validate_python(data)
