"""The main job from the command line: Llama-3-70B on HGX H100, held against the worked examples T3–T7."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2]


def railsketch(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "main.py", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


def test_the_command_of_the_readme_writes_topology_traffic_and_picture(tmp_path: Path) -> None:
    topology, traffic, picture = tmp_path / "t.json", tmp_path / "x.json", tmp_path / "p.png"
    done = railsketch(
        *("run", "--template", "hgx-h100", "--set", "nodes=16", "--job-set", "model=llama3-70b"),
        *("--job-set", "parallel.tp=8", "--job-set", "parallel.pp=4", "--job-set", "global_batch=128"),
        *("--topology", str(topology), "--traffic", str(traffic), "--picture", str(picture)),
    )
    assert done.returncode in (0, 1), done.stderr
    graph = nx.node_link_graph(json.loads(topology.read_text()), edges="edges")
    assert isinstance(graph, nx.MultiGraph)
    assert sum(kind == "gpu" for _, kind in graph.nodes(data="kind")) == 16 * 8
    assert sum(kind == "nvlink" for *_, kind in graph.edges(data="kind")) == 16 * 8 * 4
    schema = json.loads((ROOT / "resources/schema/railsketch.traffic.v1.schema.json").read_text())
    jsonschema.validate(json.loads(traffic.read_text()), schema)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Traffic exports of the job of T3 on 1,024 GPUs, by what is changed in it."""
    folder = tmp_path_factory.mktemp("t3")
    reports = {}
    for name, changes in {
        "sp": [],
        "classic": ["parallel.sequence_parallel=false", "collectives.tp=ring"],
        "zero0": ["parallel.zero=0"],
        "zero0-bf16": ["parallel.zero=0", "gradient_precision=bf16"],
    }.items():
        out = folder / f"{name}.json"
        done = railsketch(
            *("run", "--template", "hgx-h100", "--set", "nodes=128", "--traffic", str(out)),
            *("--job-set", "model=llama3-70b", "--job-set", "parallel.tp=8", "--job-set", "parallel.pp=4"),
            *("--job-set", "global_batch=1024", "--job-set", "sequence_length=8192"),
            *("--job-set", "vocabulary_multiple=1"),
            *[word for change in changes for word in ("--job-set", change)],
        )
        assert done.returncode in (0, 1), done.stderr
        reports[name] = json.loads(out.read_text())
    return reports


def entries(report: Any, kind: str) -> list[Any]:
    return [exchange for exchange in report["exchanges"] if exchange["kind"].startswith(kind)]


def layer_entries(report: Any) -> list[Any]:
    return entries(report, "tp.forward") + entries(report, "tp.backward")


def test_t3_sequence_parallel(runs: dict[str, Any]) -> None:
    tp = layer_entries(runs["sp"])
    assert {entry["message_bytes"] for entry in tp} == {134_217_728}
    assert {entry["operation"] for entry in tp} == {"all-gather", "reduce-scatter"}
    assert sum(entry["count_per_step"] for entry in tp) == 6_400
    for entry in tp:
        assert entry["sent_bytes_per_gpu_per_step"] == pytest.approx(
            117_440_512 * entry["count_per_step"], rel=1e-12
        )
    # T27: 6,400 × 117,440,512
    assert sum(entry["sent_bytes_per_gpu_per_step"] for entry in tp) == pytest.approx(
        751_619_276_800, rel=1e-12
    )


def test_t3_classic(runs: dict[str, Any]) -> None:
    tp = layer_entries(runs["classic"])
    assert {entry["operation"] for entry in tp} == {"all-reduce"}
    assert sum(entry["count_per_step"] for entry in tp) == 2_560
    for entry in tp:
        assert entry["message_bytes"] == 134_217_728
        assert entry["sent_bytes_per_gpu_per_step"] == pytest.approx(
            234_881_024 * entry["count_per_step"], rel=1e-12
        )


STAGE_PARAMETERS = (2_270_756_864, 2_139_422_720, 2_139_422_720, 2_270_765_056)  # T4


def by_stage(report: Any) -> dict[int, Any]:
    stage = {row["gpu"]: row["pp"] for row in report["placement"]}
    return {stage[row["gpu"]]: row for row in report["memory"]}


@pytest.mark.parametrize(("run", "per_parameter"), [("zero0", 18.0), ("sp", 6 + 12 / 32)])
def test_t4_state(runs: dict[str, Any], run: str, per_parameter: float) -> None:
    for stage, row in by_stage(runs[run]).items():
        state = row["weights_bytes"] + row["gradients_bytes"] + row["optimizer_bytes"]
        assert state == pytest.approx(STAGE_PARAMETERS[stage] * per_parameter, rel=1e-12)


def test_t5_data_parallel(runs: dict[str, Any]) -> None:
    def sent(report: Any, operation: str) -> list[float]:
        found = [e for e in report["exchanges"] if e["dimension"] == "dp" and e["operation"] == operation]
        return sorted(entry["sent_bytes_per_gpu_per_step"] for entry in found)

    middle, first, last = 2_139_422_720, 2_270_756_864, 2_270_765_056
    wire = 31 / 32
    assert sent(runs["sp"], "reduce-scatter") == pytest.approx([4 * n * wire for n in (middle, first, last)])
    assert sent(runs["sp"], "all-gather") == pytest.approx([2 * n * wire for n in (middle, first, last)])
    assert sent(runs["sp"], "reduce-scatter")[0] == pytest.approx(8.290e9, rel=1e-4)
    assert sent(runs["zero0-bf16"], "all-reduce")[0] == pytest.approx(8.290e9, rel=1e-4)
    assert sent(runs["zero0"], "all-reduce")[0] == pytest.approx(16.58e9, rel=1e-4)


def test_t6_pipeline(runs: dict[str, Any]) -> None:
    for run, size in (("sp", 16_777_216), ("classic", 134_217_728)):
        sends = [entry for entry in runs[run]["exchanges"] if entry["dimension"] == "pp"]
        assert {entry["kind"] for entry in sends} == {"pp.activation", "pp.gradient"}
        for entry in sends:
            assert (entry["operation"], entry["message_bytes"], entry["count_per_step"]) == ("send", size, 32)


def test_t7_activations(runs: dict[str, Any]) -> None:
    layer, layers, vocabulary = 281_280_512, 20, 128_256
    for stage, row in by_stage(runs["sp"]).items():
        in_flight = 4 - stage
        ends = 8 * 8192 / 8 * in_flight if stage == 0 else 0
        if stage == 3:
            ends += 4 * 8192 * 8192 / 8 + 6 * 8192 * vocabulary / 8
        assert row["activations_bytes"] == pytest.approx(layer * layers * in_flight + ends, rel=1e-12)


def test_the_invariants_of_the_traffic_export(runs: dict[str, Any]) -> None:
    report = runs["sp"]
    dimensions = ("tp", "cp", "ep", "pp", "dp", "storage")
    for link in report["links"]:
        for direction in ("a_to_b", "b_to_a"):
            loads = link[direction]["bytes_per_step"]
            assert loads["total"] == pytest.approx(sum(loads[name] for name in dimensions), rel=1e-9)
            assert link[direction]["peak_utilisation"] <= 1 + 1e-6
    step = report["step"]
    parts = step["compute_s"] + step["optimizer_s"] + step["bubble_s"] + sum(step["exposed_s"].values())
    assert parts == pytest.approx(step["time_s"], rel=1e-9)

    kinds = {}
    for link in report["links"]:
        for sender, direction in ((link["a"], "a_to_b"), (link["b"], "b_to_a")):
            kinds.setdefault(sender, [0.0, 0.0])[0] += link[direction]["bytes_per_step"]["total"]
        for receiver, direction in ((link["b"], "a_to_b"), (link["a"], "b_to_a")):
            kinds.setdefault(receiver, [0.0, 0.0])[1] += link[direction]["bytes_per_step"]["total"]
    switches = {name: sums for name, sums in kinds.items() if ".gpu" not in name and "nic" not in name}
    assert switches
    for name, (leaving, arriving) in switches.items():
        assert leaving == pytest.approx(arriving, rel=1e-9), name


def test_a_broken_argument_is_one_line_and_exit_code_2() -> None:
    for arguments in (
        ["run", "--template", "hgx-h100", "--set", "nodes=0"],
        ["run", "--template", "no-such-template"],
        ["run", "--template", "hgx-h100", "--job-set", "parallel.tp=3"],
        ["run", "--template", "hgx-h100", "--job-set", "collectives.tp=carrier-pigeon"],
        ["run", "no-such-file.json"],
        ["run"],
        ["no-such-command", "x"],
    ):
        done = railsketch(*arguments)
        assert done.returncode == 2, (arguments, done.stdout, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1, (arguments, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_model_named_on_the_command_line_comes_with_the_sequence_length_of_the_job_format() -> None:
    done = railsketch(
        *("run", "--template", "hgx-h100", "--set", "nodes=2", "--job-set", "model=llama3-8b"),
        *("--job-set", "parallel.tp=8", "--json"),
    )
    assert done.returncode in (0, 1), done.stderr
    assert "of 8,192 tokens" in json.loads(done.stdout)["job"]
