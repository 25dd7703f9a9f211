"""`railsketch import`, `export` and `formats`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model.document.start import document_from
from model.files.opening import open_any
from model.files.project import save_project
from model.topology.types import DeviceKind
from tests.model.cli.test_commands import call, refused
from topology_templates.registry import build

TREE = """SwitchName=s1 Nodes=node[00-01]
SwitchName=s2 Nodes=node[02-03]
SwitchName=core Switches=s[1-2]
"""
TOPO_M = """\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tPIX\tSYS\t0-31\t0
GPU1\tNV18\t X \tSYS\tPIX\t32-63\t1
NIC0\tPIX\tSYS\t X \tSYS
NIC1\tSYS\tPIX\tSYS\t X
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "topology.conf").write_text(TREE)
    (tmp_path / "other.conf").write_text("SwitchName=x Nodes=y[1-2]\n")
    (tmp_path / "topo.txt").write_text(TOPO_M)
    (tmp_path / "hosts").write_text("node01\nnode00\n" * 8)
    save_project(document_from(build("hgx-h100", {"nodes": 2})), tmp_path / "cluster.json")
    return tmp_path


def test_import_says_what_it_did_and_writes_a_project(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("import", files / "topo.txt", "--project", files / "p.json") == 0
    text = capsys.readouterr().out
    assert "(nvidia-smi topo -m)" in text
    assert "--answer gpu_model=" in text
    assert f"wrote           {files / 'p.json'}" in text
    document = open_any(files / "p.json")
    assert len(document.topology.working(DeviceKind.GPU)) == 2
    assert document.layout.keys() == {device.id for device in document.topology.devices()}


def test_a_format_that_was_named_in_vain_is_doubted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nearly every word is a host for Slurm."""
    assert call("import", files / "topology.conf", "--format", "slurm-hostfile") == 0
    said = "The text looks like Slurm topology.conf (slurm-topology-conf); it was read as Slurm host file, as"
    assert f"contradictory   {said}" in capsys.readouterr().out
    assert call("import", files / "hosts", "--format", "slurm-hostfile") == 0
    assert "contradictory" not in capsys.readouterr().out


def test_without_a_project_only_the_report_is_made(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(files.iterdir())
    assert call("import", files / "topo.txt", "--json", "--answer", "gpu_model=h200-sxm") == 0
    values = json.loads(capsys.readouterr().out)
    assert values["format"] == "nvidia-smi-topo"
    assert values["written"] == []
    answers = {question["key"]: question["answer"] for question in values["questions"]}
    assert answers["gpu_model"] == "h200-sxm"
    assert {note["kind"] for note in values["notes"]} <= {
        "contradictory",
        "guessed",
        "inferred",
        "ignored",
        "found",
    }
    assert sorted(files.iterdir()) == before


def test_a_node_into_every_tray_of_an_imported_tree(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slurm knows four hosts; `nvidia-smi topo -m` of one says what they are."""
    tree, whole = files / "tree.json", files / "whole.json"
    assert call("import", files / "topology.conf", "--project", tree) == 0
    assert call("import", files / "topo.txt", "--onto", tree, "--as", "tray", "--project", whole) == 0
    assert "4 trays get 2 GPUs, 2 NICs" in capsys.readouterr().out
    document = open_any(whole)
    assert len(document.topology.working(DeviceKind.GPU)) == 8
    assert call("check", whole) == 0


def test_ranks_onto_a_cluster(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "placed.json"
    assert (
        call(
            "import",
            files / "hosts",
            "--format",
            "slurm-hostfile",
            "--onto",
            files / "cluster.json",
            "--project",
            out,
        )
        == 0
    )
    world = open_any(out).job.world
    assert world is not None
    assert world[:3] == ("node01.gpu0", "node00.gpu0", "node01.gpu1")
    capsys.readouterr()
    (files / "hosts").write_text("node01\nnode07\n")
    arguments = ("import", files / "hosts", "--format", "slurm-hostfile", "--onto", files / "cluster.json")
    assert 'the drawing has no host "node07" with GPUs' in refused(capsys, *arguments)
    assert call(*arguments, "--partial", "--json") == 1
    values = json.loads(capsys.readouterr().out)
    assert values["ranks"]["world"] == ["node01.gpu0", None]


def test_a_comparison_with_differences_is_exit_1(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, built = files / "cluster.json", files / "built.json"
    assert call("import", cluster, "--onto", cluster, "--as", "compare") == 0
    assert "difference      none" in capsys.readouterr().out
    data = json.loads(cluster.read_text())
    columns = data["topology"]["links"]
    data["topology"]["links"] = _without_last(columns)
    built.write_text(json.dumps(data))
    assert call("import", built, "--onto", cluster, "--as", "compare", "--json") == 1
    (difference,) = json.loads(capsys.readouterr().out)["comparison"]["differences"]
    assert difference["kind"] in ("missing-cable", "other-count")


def _without_last(table: dict[str, object]) -> dict[str, object]:
    """A table of a project without its last row."""
    return {
        name: value[:-1] if isinstance(value, list) and name not in ("columns", "fields") else value
        for name, value in table.items()
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("import",), "required: FILE"),
        (("import", "nothing.txt"), "there is no such file"),
        (
            ("import", "topo.txt", "--format", "nonsense"),
            "nonsense is no format that can be imported; railsketch formats lists them.",
        ),
        (
            ("import", "topo.txt", "--format", "ibnetdiscover"),
            "It looks like nvidia-smi topo -m (nvidia-smi-topo).",
        ),
        (("import", "topo.txt", "--answer", "gpu_model"), "not of the form key=value"),
        (("import", "topo.txt", "--answer", "gpu_model=abacus"), "gpu_model cannot be 'abacus'"),
        (("import", "topo.txt", "--answer", "colour=red"), "There is no question colour"),
        (("import", "topo.txt", "topo.txt"), "is read from one file at a time"),
        (("import", "topo.txt", "--as", "tray"), "needs --onto PROJECT"),
        (("import", "topo.txt", "--as", "hat"), "invalid choice"),
        (("import", "topo.txt", "--tray", "node00"), "--tray chooses trays"),
        (("import", "topo.txt", "--onto", "cluster.json"), "--as tray, host, beside or compare"),
        (("import", "topo.txt", "--onto", "cluster.json", "--as", "ranks"), "needs a placement of ranks"),
        (("import", "cluster.json", "--onto", "cluster.json", "--as", "tray"), "the node with --host NAME."),
        (("import", "topo.txt", "--onto", "cluster.json", "--as", "overlay"), "needs what NCCL chose"),
        (("import", "other.conf", "--onto", "cluster.json", "--as", "host"), "put it beside instead"),
        (
            ("import", "cluster.json", "--onto", "cluster.json", "--as", "compare", "--project", "p.json"),
            "no drawing",
        ),
        (("import", "topo.txt", "--project", "no/where.json"), "there is no folder no"),
        (("import", "topo.txt", "--project", "topo.txt"), "would replace the file that is read"),
        (
            ("import", "topo.txt", "--onto", "cluster.json", "--as", "tray", "--tray", "attic"),
            'There is no tray "attic" in the drawing; there are node00',
        ),
        (("import", "hosts", "--format", "slurm-hostfile", "--project", "p.json"), "--onto PROJECT"),
        (("export", "cluster.json", "--format", "dot"), "required: --out"),
        (("export", "cluster.json", "--format", "x", "--out", "y"), "x is no format that can be exported"),
        (("export", "cluster.json", "--format", "slurm-topology", "--out", "y"), "perhaps slurm-topology-"),
        (("export", "cluster.json", "--format", "amd-smi-topo", "--out", "y"), "only the other way round"),
        (("export", "cluster.json", "--format", "dot", "--out", "cluster.json"), "would replace the drawing"),
        (("run", "cluster.json", "--traffic", "./cluster.json"), "would replace the drawing that is read"),
        (("export", "hosts", "--format", "railsketch-topology", "--out", "y"), "cluster and holds none"),
        (
            ("export", "cluster.json", "--format", "railsketch-topology", "--out", "y", "--option", "a=b"),
            'has no option "a"',
        ),
        (("export", "cluster.json", "--format", "railsketch-topology", "--out", "."), "is a folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    assert words in refused(capsys, *arguments)
    assert not (files / "p.json").exists()


def test_run_and_check_take_what_can_be_imported(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", files / "topo.txt", "--topology", files / "t.json", "--json") < 2
    assert json.loads(capsys.readouterr().out)["gpus"] == 2
    assert call("check", files / "topology.conf") == 0


def test_our_own_formats_go_out_and_come_back(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = open_any(files / "cluster.json")
    for name in ("railsketch-project", "railsketch-topology"):
        out = files / f"{name}.json"
        assert call("export", files / "cluster.json", "--format", name, "--out", out) == 0
        assert open_any(out).topology.same_as(cluster.topology)
        assert call("import", out, "--project", files / "again.json") == 0
        again = open_any(files / "again.json")
        assert again.topology.same_as(cluster.topology)
        assert again.layout == cluster.layout
    assert (
        call(
            "export",
            files / "cluster.json",
            "--format",
            "railsketch-traffic",
            "--out",
            files / "x.json",
            "--json",
        )
        == 0
    )
    capsys.readouterr()
    assert json.loads((files / "x.json").read_text())["format"] == "railsketch.traffic"


@pytest.mark.parametrize(
    "ident", ["air-json", "containerlab", "cumulus-dot", "graphml", "netbox-csv", "node-link-json"]
)
def test_a_fabric_that_goes_out_comes_back_as_designed(
    files: Path, ident: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, out = files / "cluster.json", files / f"out-{ident}"
    assert call("export", cluster, "--format", ident, "--out", out) == 0
    parts = sorted(out.glob("*cable*")) if out.is_dir() else [out]
    assert call("import", *parts, "--format", ident, "--onto", cluster, "--as", "compare", "--json") == 0
    text = capsys.readouterr().out
    comparison = json.loads(text[text.index("{\n") :])["comparison"]
    network = {"ethernet", "infiniband"}
    wanted = sum(link.count for link in open_any(cluster).topology.links() if link.kind.value in network)
    assert comparison["cables_as_designed"] == wanted


def test_formats_list_every_direction(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("formats", "--json") == 0
    found = {each["id"]: each for each in json.loads(capsys.readouterr().out)}
    assert found["railsketch-topology"]["import"]["how"]
    assert found["railsketch-topology"]["export"]["use"]
    assert found["railsketch-traffic"]["import"] is None
    assert call("formats") == 0
    text = capsys.readouterr().out
    for ident in found:
        assert f"\n{ident} " in f"\n{text}"
