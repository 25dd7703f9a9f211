"""The project file: nothing is lost on the way, and whatever is wrong with a file is one clear sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from model.document.document import Document
from model.document.edits import Rename, SetFields, SetLinkStyle, SetSpots
from model.document.start import job_for
from model.document.view_state import LinkStyle, ViewState
from model.errors import InputError
from model.files import project
from model.files.opening import open_any
from model.files.project import load_project, project_json, save_project
from model.files.topology_json import write_topology
from model.job.legality import violations
from tests.model.document.test_edits import node_document


def changed(**fields: Any) -> dict[str, Any]:
    """The JSON of the node document with some top-level fields replaced."""
    return json.loads(json.dumps(project_json(node_document()))) | fields


def with_row(table: str, number: int, column: str, value: Any) -> dict[str, Any]:
    """The JSON of the node document with one cell replaced; the column is added where it was left out."""
    data = changed()
    found = data["topology"][table] if table in data["topology"] else data[table]
    if column not in found["columns"]:
        found["columns"].append(column)
        for row in found["rows"]:
            row.append(None)
    found["rows"][number][found["columns"].index(column)] = value
    return data


@pytest.mark.parametrize("name", ["sketch.json", "sketch.json.gz"])
def test_saved_and_loaded_again_is_equal(tmp_path: Path, name: str) -> None:
    document = node_document()
    SetFields("link", ("node0.nic0--leaf0",), {"state": "degraded", "share": 1 / 3}).apply(document)
    SetFields("device", ("leaf0",), {"state": "down", "u": 3, "power_w": 1500.5}).apply(document)
    save_project(document, tmp_path / name)
    again = load_project(tmp_path / name)
    assert again.same_as(document)
    assert again.checksum() == document.checksum()
    assert open_any(tmp_path / name).topology.same_as(document.topology)
    assert (gzip.decompress((tmp_path / name).read_bytes()) if name.endswith("gz") else b"{")[:1] == b"{"


def test_one_row_a_line_and_usual_columns_left_out(tmp_path: Path) -> None:
    save_project(node_document(), tmp_path / "p.json")
    lines = (tmp_path / "p.json").read_text("utf-8").splitlines()
    assert '    ["node0.gpu1","gpu","h100-sxm","node0",1],' in lines
    assert '   "columns": ["id","kind","model","parent","rail"],' in lines


def test_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    save_project(node_document(), tmp_path / "a.json.gz")
    save_project(load_project(tmp_path / "a.json.gz"), tmp_path / "b.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_empty_document(tmp_path: Path) -> None:
    save_project(Document(), tmp_path / "p.json")
    assert load_project(tmp_path / "p.json").same_as(Document())


def test_a_project_without_a_job_gets_the_default_one(tmp_path: Path) -> None:
    data = changed()
    del data["job"]
    (tmp_path / "p.json").write_text(json.dumps(data))
    document = load_project(tmp_path / "p.json")
    assert document.job == job_for(document.topology)
    assert violations(document.job, 2) == ()


def test_unknown_fields_are_kept(tmp_path: Path) -> None:
    data = with_row("devices", 0, "serial_number", "X1") | {"notes": {"by": ["me", 1.5]}}
    (tmp_path / "p.json").write_text(json.dumps(data))
    document = load_project(tmp_path / "p.json")
    save_project(document, tmp_path / "q.json")
    written = json.loads((tmp_path / "q.json").read_text())
    assert written["notes"] == {"by": ["me", 1.5]}
    devices = written["topology"]["devices"]
    column = devices["columns"].index("serial_number")
    assert [row[column] for row in devices["rows"]] == ["X1", None, None, None]


def test_unknown_fields_are_kept_in_every_section_and_follow_a_new_name(tmp_path: Path) -> None:
    data = with_row("devices", 0, "serial_number", "X1")
    data["topology"]["surveyed"] = "2026-01-01"
    for name in ("paint", "layout"):
        data[name]["columns"].append("by")
        data[name]["rows"] = [[*row, "me" if row[0] == "node0.gpu0" else None] for row in data[name]["rows"]]
    (tmp_path / "p.json").write_text(json.dumps(data))
    document = load_project(tmp_path / "p.json")
    Rename("device", "node0.gpu0", "first").apply(document)
    save_project(document, tmp_path / "q.json")
    written = json.loads((tmp_path / "q.json").read_text())
    assert written["topology"]["surveyed"] == "2026-01-01"
    for table, column in ((written["topology"]["devices"], "serial_number"), (written["layout"], "by")):
        at = table["columns"].index(column)
        assert [row[0] for row in table["rows"] if row[at] is not None] == ["first"]
    assert {row[0]: row[-1] for row in written["paint"]["rows"]}.get("first") == "me"


def test_older_versions_go_through_the_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def to_second(data: dict[str, Any]) -> dict[str, Any]:
        return data | {"name": data["title"]}

    old = changed(title="old")
    monkeypatch.setattr(project, "VERSION", 2)
    monkeypatch.setitem(project.MIGRATIONS, 1, to_second)
    (tmp_path / "p.json").write_text(json.dumps(old))
    assert load_project(tmp_path / "p.json").name == "old"


def test_saving_keeps_the_version_before(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    save_project(node_document(), path)
    first = path.read_bytes()
    save_project(Document(name="second"), path)
    assert (tmp_path / "p.json.bak").read_bytes() == first
    assert load_project(path).name == "second"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.json", "p.json.bak"]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.json"
    save_project(node_document(), path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="cannot be written: no space left on device"):
        save_project(Document(), path)
    assert load_project(path).same_as(node_document())
    assert [each.name for each in tmp_path.iterdir()] == ["p.json"]


def test_saving_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    save_project(Document(), tmp_path / "real.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    save_project(node_document(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load_project(tmp_path / "real.json").same_as(node_document())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: no such file or directory"):
        save_project(Document(), tmp_path / "nowhere" / "p.json")


WHOLE = json.dumps(project_json(node_document()), indent=1).encode()

BAD_BYTES = {
    "empty": (b"", "is empty"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\xff", "is no text"),
    "broken": (WHOLE.replace(b'"rows"', b"rows", 1), r"no valid JSON: line \d+, column \d+"),
    "half-written": (WHOLE[: len(WHOLE) // 2], "ends too early|no valid JSON"),
    "cut in a text": (WHOLE[: WHOLE.index(b"h100") + 2], "ends too early .*not written to its end"),
    "cut after a comma": (WHOLE[: WHOLE.index(b"[") + 1], "ends too early .*not written to its end"),
    "broken gzip": (b"\x1f\x8b" + b"\x00" * 30, "broken gzip"),
    "cut gzip": (gzip.compress(WHOLE)[:-200], "ends too early"),
    "no object": (b"[1, 2]", "a JSON list; an object is expected"),
    "deep": (b'{"a":' + b"[" * 200_000, "nested too deeply"),
    "NaN": (WHOLE.replace(b"50000000000.0", b"NaN", 1), "NaN is no number"),
    "Infinity": (WHOLE.replace(b"50000000000.0", b"-Infinity", 1), "Infinity is no number"),
    "endless digits": (WHOLE.replace(b"50000000000.0", b"9" * 5000, 1), "a number that cannot be used"),
    "a field twice": (WHOLE.replace(b'"name"', b'"name": "one", "name"', 1), 'has the field "name" twice'),
    "half a character": (WHOLE.replace(b"node0.gpu0", b"node0.\\ud800", 1), "holds half a character"),
    "too large a float": (WHOLE.replace(b"50000000000.0", b"1e999", 1), "must be from 1 to 1e.18"),
    "beyond 64 bits": (WHOLE.replace(b"50000000000.0", b"9" * 400, 1), "a number that is too large"),
}


@pytest.mark.parametrize("case", BAD_BYTES)
def test_unusable_bytes(tmp_path: Path, case: str) -> None:
    content, words = BAD_BYTES[case]
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        open_any(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content, "opening wrote"


def test_every_cut_of_a_file_is_a_clear_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    for end in range(1, len(WHOLE) - 1, 37):
        path.write_bytes(WHOLE[:end])
        with pytest.raises(InputError):
            open_any(path)


BAD_CONTENT: dict[str, tuple[dict[str, Any], str]] = {
    "foreign": ({"creator": "someone"}, "it names no format; a project .* is expected"),
    "other format": ({"format": "dot"}, 'its format is "dot"'),
    "format of a wrong type": ({"format": ["x"]}, "its format is"),
    "a job": ({"global_batch": 3}, "is a job, not a drawing"),
    "traffic": ({"format": "railsketch.traffic"}, "holds no drawing"),
    "newer": (
        changed(version=2),
        r"newer version of Railsketch \(format version 2; this one reads up to 1\)",
    ),
    "no version": (changed(version=None), "no usable version"),
    "version as text": (changed(version="1"), "no usable version"),
    "no topology": (changed(topology=3), "topology must be an object, not 3"),
    "missing table": (changed(topology={}), "containers must be an object, and is missing"),
    "unknown kind": (
        with_row("devices", 1, "kind", "toaster"),
        '"node0.gpu1" is "toaster"; it must be one of',
    ),
    "kind is a list": (with_row("devices", 1, "kind", []), "it must be one of"),
    "duplicate id": (with_row("devices", 1, "id", "node0.gpu0"), '"node0.gpu0": this id occurs twice'),
    "id is a number": (with_row("devices", 3, "id", 7), "an id must be a text"),
    "empty id": (with_row("devices", 3, "id", ""), "an id must be a text that is not empty"),
    "link to nowhere": (with_row("links", 0, "b", "nobody"), 'ends at "nobody", and there is no such device'),
    "parent nowhere": (with_row("devices", 3, "parent", "attic"), "there is no such container"),
    "negative capacity": (with_row("links", 0, "lane_bytes_per_s", -25e9), "must be from 1 to"),
    "capacity of next to nothing": (with_row("links", 0, "lane_bytes_per_s", 1e-320), "must be from 1 to"),
    "link to nowhere in two lines": (with_row("links", 0, "b", "no\nbody"), 'ends at "no body"'),
    "id in two lines": (with_row("devices", 3, "id", "leaf\n0"), '"leaf 0": an id must be at most'),
    "capacity as text": (with_row("links", 0, "lane_bytes_per_s", "fast"), "must be a number, not 'fast'"),
    "count of zero": (with_row("links", 0, "count", 0), "count must be a whole number from 1 on"),
    "count beyond 64 bits": (with_row("links", 0, "count", 2**70), "count must be a whole number"),
    "count of a half": (with_row("links", 0, "count", 1.5), "count must be a whole number"),
    "rail of minus one": (with_row("devices", 0, "rail", -1), "rail must be a whole number from 0 on"),
    "short row": (
        changed(layout={"columns": ["id", "x", "y"], "rows": [["leaf0", 1]]}),
        "row 1 does not have 3",
    ),
    "layout of nobody": (
        changed(layout={"columns": ["id", "x", "y"], "rows": [["nobody", 1, 2]]}),
        'layout names "nobody"',
    ),
    "layout far away": (
        changed(layout={"columns": ["id", "x", "y"], "rows": [["leaf0", 1e300, 2]]}),
        "positions are numbers",
    ),
    "paint of a leaf": (changed(paint={"columns": ["gpu", "tp"], "rows": [["leaf0", 1]]}), "which is no GPU"),
    "paint below zero": (
        changed(paint={"columns": ["gpu", "tp"], "rows": [["node0.gpu0", -1]]}),
        "the tp colour of node0.gpu0 is -1",
    ),
    "job with an unknown field": (changed(job={"colour": "red"}), "the job has no field colour"),
    "job of a wrong type": (changed(job=[]), "a job is a JSON object"),
    "job size beyond 64 bits": (changed(job={"global_batch": 2**80}), "global_batch must be at most"),
    "name is a number": (changed(name=5), "name must be a text, not 5"),
    "unknown field too deep": (
        changed(later=json.loads("[" * 100 + "]" * 100)),
        "a field that this version does not know is nested too deeply",
    ),
}


@pytest.mark.parametrize("case", BAD_CONTENT)
def test_unusable_content(tmp_path: Path, case: str) -> None:
    data, words = BAD_CONTENT[case]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=words) as caught:
        open_any(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_backup_is_named_where_the_file_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    save_project(node_document(), path)
    save_project(node_document(), path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"The version before it is in p\.json\.bak"):
        open_any(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_any(tmp_path / "no.json")
    with pytest.raises(InputError, match="is a folder"):
        open_any(tmp_path)


def test_pins_folds_and_the_style_of_links_are_kept(tmp_path: Path) -> None:
    document = node_document()
    SetLinkStyle(LinkStyle.ORTHOGONAL).apply(document)
    SetSpots({document.topology.containers()[0].id: (-40.0, 12.5)}).apply(document)
    save_project(document, tmp_path / "p.json")
    assert load_project(tmp_path / "p.json").view == document.view
    write_topology(document, tmp_path / "t.json")
    assert open_any(tmp_path / "t.json").view == document.view


def test_a_file_without_view_opens_and_what_it_names_in_vain_is_left_out_with_a_note() -> None:
    older = changed()
    del older["view"]
    assert project.project_from_json(older, Path("p.json")).view == ViewState()
    data = changed(view={"pins": ["leaf0", "gone", 7], "folds": ["leaf0"], "links": "wavy", "later": [1]})
    data["view"]["spots"] = {"leaf0": [1, 2], "node0": [1, "x"]}
    document = project.project_from_json(data, Path("p.json"))
    assert document.view == ViewState(pins=frozenset({"leaf0"}))
    assert document.notes == (
        '2 pins left out: there is no "gone".',
        '1 fold left out: there is no "leaf0".',
        'Links are drawn curved: "wavy" is none of curved, straight, orthogonal.',
        '2 places of containers left out: "leaf0" has none.',
    )
    assert project_json(document)["view"] == {
        "pins": ["leaf0"], "folds": [], "links": "curved", "later": [1],
    }  # fmt: skip


def test_pins_that_are_no_list_are_refused() -> None:
    with pytest.raises(InputError, match="pins of the view must be a list of ids, not 3"):
        project.project_from_json(changed(view={"pins": 3}), Path("p.json"))
