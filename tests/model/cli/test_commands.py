"""The commands as typed: what they print, what they write, and their exit codes (conventions 30, 36–38)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import main as program
from model.document.document import Document
from model.document.edits import ClearPaint, SetFields
from model.files.opening import open_any
from model.files.project import save_project
from model.job.spec import JobSpec
from model.topology.graph import Topology
from model.topology.types import Device, DeviceKind
from tests.model.document.test_edits import node_document

SMALL = ("run", "--template", "hgx-h100", "--set", "nodes=1", "--job-set", "model=llama3-8b")
SMALL_JOB = ("--job-set", "parallel.tp=2", "--job-set", "global_batch=8", "--job-set", "sequence_length=512")


def call(*arguments: str | Path) -> int:
    return program.main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line on stderr of a call that ends with exit 2 and prints nothing else."""
    assert call(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("railsketch: ")
    return captured.err


def test_run_writes_everything_and_prints_a_short_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = {name: tmp_path / f"{name}.json" for name in ("project", "topology", "traffic")}
    options = [part for name, path in outputs.items() for part in (f"--{name}", path)]
    assert call(*SMALL, *SMALL_JOB, *options, "--report", tmp_path / "r.md") == 0
    text = capsys.readouterr().out
    assert "llama3-8b, TP 2, batch 8 of 512 tokens, bf16" in text
    for label in ("step", "tokens/s/GPU", "MFU", "exposed", "worst link", "memory peak", "findings"):
        assert f"\n{label} " in text
    assert len(text.splitlines()) < 30
    graph = nx.node_link_graph(json.loads(outputs["topology"].read_text()), edges="edges")
    project = open_any(outputs["project"])
    assert list(graph) == [device.id for device in project.topology.devices()]
    assert project.job.parallel.tp == 2
    traffic = json.loads(outputs["traffic"].read_text())
    assert traffic["format"] == "railsketch.traffic"
    assert traffic["job"]["global_batch"] == 8
    report = (tmp_path / "r.md").read_text("utf-8")
    assert "## Exchanges" in report
    assert "tp.forward" in report


def test_summary_as_json_has_the_figures_of_the_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*SMALL, *SMALL_JOB, "--traffic", tmp_path / "x.json", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    step = json.loads((tmp_path / "x.json").read_text())["step"]
    assert {name: values[name] for name in step} == step
    assert values["gpus"] == 8
    assert values["worst_link"]["peak_utilisation"] <= 1 + 1e-9


def test_a_project_and_its_topology_export_run_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project, topology = tmp_path / "p.json", tmp_path / "t.json"
    assert call(*SMALL, *SMALL_JOB, "--project", project, "--topology", topology) == 0
    (tmp_path / "job.json").write_text(json.dumps(open_any(project).job.to_json()))
    for name, call_of in (("a", (project,)), ("b", (topology, "--job", tmp_path / "job.json"))):
        assert call("run", *call_of, "--traffic", tmp_path / f"{name}.json") == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run",), "Give a FILE or --template ID"),
        (("run", "--template", "nothing"), "no template called 'nothing'"),
        (("run", "nothing.json"), "there is no such file"),
        (("run", "a.json", "--template", "hgx-h100"), "not both"),
        (("run", "a.json", "--set", "nodes=1"), "needs --template"),
        (("run", "--template", "hgx-h100", "--set", "nodes"), "key=value"),
        (("run", "--template", "hgx-h100", "--set", "nodes=0"), "nodes"),
        (("run", "--template", "hgx-h100", "--set", "nodes=many"), "nodes"),
        (("run", "--template", "hgx-h100", "--set", "wheels=4"), "wheels"),
        (("run", "--template", "hgx-h100", "--job-set", "parallel.tp"), "path=value"),
        (("run", "--template", "hgx-h100", "--job-set", "parallel.wings=2"), "parallel.wings"),
        (("run", "--template", "hgx-h100", "--job-set", "model=gpt-9"), "gpt-9"),
        (("run", "--template", "hgx-h100", "--job", "nothing.json"), "there is no such file"),
        (("run", "--template", "hgx-h100", "--picture", "p.bmp"), r"must end in .png, .svg, .pdf"),
        (("run", "--template", "hgx-h100", "--report", "r.pdf"), "must end in .md"),
        (("run", "--template", "hgx-h100", "--topology", "/nowhere/t.json"), "there is no folder /nowhere"),
        (("run", "--template", "hgx-h100", "--topology", "/"), "this is a folder"),
        (("run", "--bogus"), "Unrecognized arguments: --bogus"),
        (("run", "--template"), "expected one argument"),
        (("check",), "required: FILE"),
        (("templates", "extra"), "Unrecognized arguments: extra"),
        (("nothing.json",), "there is no such file; the commands are run, check"),
        (("--bogus",), "Unrecognized arguments: --bogus"),
        (("plan",), "there is no such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("assignments", "words"),
    [
        (("parallel.tp=3",), "3"),
        (("global_batch=7",), "7"),
        (("parallel.dp=5",), "5"),
        (("parallel.pp=4", "schedule=dualpipe", "parallel.vpp=2"), "VPP"),
        (("global_batch=true",), "global_batch must be a whole number"),
        (("global_batch=1e999",), "global_batch"),
        (("global_batch=1000000000000",), "more than the 131,072 in all that a step is simulated with"),
        (("data.from=nowhere",), "data.from names nowhere"),
        (("checkpoint.to=nowhere",), "checkpoint.to names nowhere"),
    ],
)
def test_jobs_that_cannot_run_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], assignments: tuple[str, ...], words: str
) -> None:
    options = [part for assignment in assignments for part in ("--job-set", assignment)]
    outputs = ("--topology", tmp_path / "t.json", "--traffic", tmp_path / "x.json")
    assert words in refused(capsys, *SMALL, *options, *outputs)
    assert list(tmp_path.iterdir()) == []


def test_check_lists_an_illegal_job_as_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = node_document()
    document.job = JobSpec(model="llama3-8b", global_batch=7)
    save_project(document, tmp_path / "p.json")
    assert call("check", tmp_path / "p.json") == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("error: ") and "7" in line for line in lines)
    assert call("check", tmp_path / "p.json", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert len(found) == len(lines)
    assert "error" in {finding["severity"] for finding in found}


def test_without_gpus_the_topology_is_written_with_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_project(Document(Topology([Device("leaf0", DeviceKind.LEAF, "qm9700")])), tmp_path / "p.json")
    code = call(
        "run", tmp_path / "p.json", "--topology", tmp_path / "t.json", "--traffic", tmp_path / "x.json"
    )
    text = capsys.readouterr().out
    assert code == 0
    assert "There are no GPUs" in text
    assert open_any(tmp_path / "t.json").topology.has_device("leaf0")
    assert not (tmp_path / "x.json").exists()
    assert "not written" in text


def test_gpus_that_are_down_do_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = node_document()
    document.job = JobSpec(model="llama3-8b", global_batch=2)
    SetFields("device", ("node0.gpu1",), {"state": "down"}).apply(document)
    ClearPaint().apply(document)
    save_project(document, tmp_path / "p.json")
    call("run", tmp_path / "p.json", "--json")
    assert json.loads(capsys.readouterr().out)["gpus"] == 1


def test_listings(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("templates") == 0
    assert "  --set nodes=" in capsys.readouterr().out
    assert call("templates", "--json") == 0
    found = {template["id"]: template for template in json.loads(capsys.readouterr().out)}
    nodes = next(each for each in found["hgx-h100"]["parameters"] if each["name"] == "nodes")
    assert (nodes["minimum"], nodes["maximum"]) == (1, 2048)
    assert call("models", "--json") == 0
    models = {model["id"]: model for model in json.loads(capsys.readouterr().out)}
    assert models["llama3-70b"]["parameters"] == 70_553_706_496  # hardware table, "recomputed exact"
    assert call("devices", "--json") == 0
    devices = json.loads(capsys.readouterr().out)
    assert {"kind": "leaf", "id": "qm9700"}.items() <= next(
        device for device in devices if device["kind"] == "leaf" and device["default"]
    ).items()
    sources = next(device["sources"] for device in devices if device["id"] == "h100-sxm")
    assert sources["payload_share"] == "NVIDIA: NCCL source: src/graph/topo.h"
    assert models["llama3-70b"]["sources"]
    for listing in ("models", "devices"):
        assert call(listing) == 0
        assert len(capsys.readouterr().out.splitlines()) > 15


@pytest.mark.parametrize("command", [(), ("run",), ("check",), ("templates",), ("models",), ("devices",)])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_everywhere(command: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*command, option) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"usage: {' '.join(('railsketch', *command))}")
    assert captured.err == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out.startswith("railsketch 0.")


def test_window_without_a_display_names_the_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert "railsketch run" in refused(capsys)


def test_a_reader_that_goes_away_is_no_error() -> None:
    root = Path(program.__file__).parent
    with subprocess.Popen(
        [sys.executable, "main.py", "devices", "--json"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_commands_do_not_load_qt_and_the_grammar_loads_nothing_heavy() -> None:
    code = (
        "import sys, main; main.main(['models']);"
        "print(*[name for name in ('PySide6', 'gui') if name in sys.modules], file=sys.stderr)"
    )
    light = (
        "import sys, main; from model.cli.arguments import parse; parse([]);"
        "print(*[name for name in ('numpy', 'networkx', 'pydantic', 'scipy') if name in sys.modules],"
        " file=sys.stderr)"
    )
    for each in (code, light):
        done = subprocess.run(
            [sys.executable, "-c", each],
            cwd=Path(program.__file__).parent,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            check=True,
        )
        assert done.stderr.strip() == ""


def test_two_outputs_in_one_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = tmp_path / "x.json"
    (tmp_path / "y.json").symlink_to(both)
    message = refused(capsys, *SMALL, "--project", both, "--topology", tmp_path / "y.json")
    assert "--project and --topology both name" in message
    assert not both.exists()


def test_a_name_that_is_too_long_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "a" * 300 + ".json"
    assert f"--project {tmp_path / name}" in refused(capsys, *SMALL, "--project", tmp_path / name)
    assert name in refused(capsys, "run", tmp_path / name)
    assert name in refused(capsys, tmp_path / name)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_nowhere_to_write_not_even_the_reason_is_exit_2() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "main.py", "run", "missing.json"],
            cwd=Path(program.__file__).parent,
            stdout=full,
            stderr=full,
            check=False,
        )
    assert done.returncode == 2
