"""Opening whatever can be imported, in the window and for every command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from model.document.document import Document
from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Drawing, Imported, NoteKind, Question, Reading, note_place
from model.files.opening import document_of, import_files, open_any, open_file
from model.files.reading_text import Source, decode, pasted
from model.files.registry import import_format, import_sources
from model.files.topology_json import topology_to_json
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from topology_templates.registry import build

TREE = "SwitchName=s1 Nodes=n[1-3]\n"


def test_a_file_of_another_tool_is_opened_with_its_report(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text(TREE)
    opened = open_file(path)
    assert opened.imported is not None
    assert opened.imported.format.id == "slurm-topology-conf"
    assert {box.id for box in opened.document.topology.containers()} == {"n1", "n2", "n3"}
    assert len(opened.document.layout) == len(opened.document.topology.devices())
    assert open_any(path).same_as(opened.document)


@pytest.mark.parametrize(
    "data",
    [
        TREE.encode("utf-8-sig"),
        TREE.encode("utf-16"),
        TREE.encode("utf-16-le"),
        TREE.encode("utf-32"),
        TREE.replace("\n", "\r\n").encode(),
        TREE.replace("\n", "\r").encode(),
        gzip.compress(TREE.encode()),
    ],
)
def test_any_encoding_and_line_end(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "topology.conf"
    path.write_bytes(data)
    assert len(open_any(path).topology.containers()) == 3


def test_what_is_no_text_or_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.png is no text; if it is packed, unpack it first"):
        decode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "x.png")
    with pytest.raises(InputError, match="at most 64 MiB"):
        decode(b"a" * (64 * 2**20 + 1), "large.txt")
    with pytest.raises(InputError, match="at most 64 MiB"):
        pasted("a" * (64 * 2**20 + 1))
    with pytest.raises(InputError, match="the pasted text is empty"):
        pasted("  \n ")
    assert any("line 2 on" in repair for repair in decode(b"SwitchName=s1\n\xff\xfe Nodes=n1", "x").repairs)


def test_our_own_file_is_known_wherever_it_says_so(tmp_path: Path) -> None:
    """A tool that sorts the fields puts the format behind all of the edges."""
    document = document_from(build("hgx-h100", {"nodes": 2}))
    path = tmp_path / "sorted.json"
    path.write_text(json.dumps(topology_to_json(document), sort_keys=True))
    opened = open_file(path)
    assert opened.imported is None
    assert opened.document.topology.same_as(document.topology)


def test_what_no_format_recognises_is_said(tmp_path: Path) -> None:
    path = tmp_path / "poem.txt"
    path.write_text("The fog comes\non little cat feet.\n")
    with pytest.raises(InputError, match="in none of the formats that can be imported"):
        open_any(path)
    with pytest.raises(InputError, match="There is nothing to import"):
        import_files([])


def test_a_placement_is_no_drawing(tmp_path: Path) -> None:
    path = tmp_path / "ranks.csv"
    path.write_text("rank,host,local\n0,n1,0\n1,n1,1\n")
    with pytest.raises(InputError, match=r"Rank map \(CSV\) places ranks on a cluster and holds none"):
        open_any(path)


def drawn(drawing: Drawing) -> Document:
    return document_of(Imported(import_format("node-link-json"), drawing, (), ()))


def test_an_empty_drawing_says_what_was_expected() -> None:
    with pytest.raises(
        InputError, match=r"empty\.json has nothing that can be drawn; .* is expected to have: "
    ):
        drawn(Drawing("empty.json", (), ()))


def test_a_drawing_that_contradicts_itself_is_refused() -> None:
    twice = (Device("a", DeviceKind.LEAF, "qm9700"), Device("a", DeviceKind.LEAF, "qm9700"))
    with pytest.raises(InputError, match=r"x: device .a.: this id occurs twice"):
        drawn(Drawing("x", twice, ()))


def test_positions_are_kept_where_all_have_one_and_made_where_some_lack_one() -> None:
    devices = tuple(Device(name, DeviceKind.LEAF, "qm9700") for name in ("a", "b"))
    link = Link("l", "a", "b", LinkKind.INFINIBAND, 50e9)
    given = {"a": (10.0, 20.0), "b": (30.0, 40.0)}
    assert drawn(Drawing("x", devices, (link,), positions=given)).layout == given
    some = drawn(Drawing("x", devices, (link,), positions={"a": (10.0, 20.0)}))
    assert some.layout.keys() == {"a", "b"}
    assert some.layout["a"] != some.layout["b"]


def test_containers_alone_are_a_drawing() -> None:
    assert drawn(Drawing("x", (), (), (Container("t", ContainerKind.TRAY),))).topology.has_container("t")


def test_questions_and_answers() -> None:
    question = Question("colour", "Which?", "red", (("red", "Red"), ("blue", "Blue")))
    reading = Reading([Source("x", "text")], {"colour": "blue", "other": "1"})
    assert reading.ask(question) == "blue"
    assert reading.ask(question) == "blue"
    assert [each.key for each in reading.questions] == ["colour"]
    assert reading.taken == {"colour": "blue"}
    with pytest.raises(InputError, match="colour cannot be 'green'; it is one of red, blue"):
        Reading([Source("x", "text")], {"colour": "green"}).ask(question)


def test_equal_notes_are_one_with_their_lines() -> None:
    reading = Reading([Source("x", "text")], partial=True)
    for line in range(1, 16):
        reading.inferred("Cells were glued", line)
    reading.broken("3 cells where 9 are expected", 4)
    reading.contradictory("Two speeds")
    kinds = [note.kind for note in reading.notes]
    assert kinds == [NoteKind.CONTRADICTORY, NoteKind.INFERRED, NoteKind.IGNORED]
    assert note_place(reading.notes[0]) == ""
    assert note_place(reading.notes[1]) == "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 3 more"
    assert note_place(reading.notes[2]) == "line 4"
    with pytest.raises(InputError, match="x, line 4: 3 cells"):
        Reading([Source("x", "text")]).broken("3 cells", 4)


def test_several_files_only_where_the_format_has_several() -> None:
    two = [Source("a", TREE), Source("b", TREE)]
    with pytest.raises(InputError, match="read from one file at a time; 2 were given"):
        import_sources(two)
    assert import_format("lldp-json").several
