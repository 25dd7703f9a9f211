"""What was exported, on the disk; options; and an export given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.document.document import Document
from model.errors import InputError
from model.files.exporting import (
    Cancelled,
    Exported,
    ExportFormat,
    ExportOption,
    ExportSource,
    chosen_options,
    written,
)


def test_one_file_and_a_folder(tmp_path: Path) -> None:
    assert written(Exported({"": "text"}), tmp_path / "a.txt", False) == (tmp_path / "a.txt",)
    assert (tmp_path / "a.txt").read_text() == "text"
    files = {"n1.xml": "one", "pictures/n2.png": b"\x89PNG"}
    paths = written(Exported(files), tmp_path / "out", True)
    assert paths == (tmp_path / "out" / "n1.xml", tmp_path / "out" / "pictures" / "n2.png")
    assert paths[1].read_bytes() == b"\x89PNG"
    written(Exported({"n1.xml": "two"}), tmp_path / "out", True)
    assert (tmp_path / "out" / "n1.xml").read_text() == "two"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "..\\x"])
def test_names_that_lead_out_of_the_folder_write_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is no name for a file in a folder"):
        written(Exported({"good": "1", name: "2"}), tmp_path / "out", True)
    assert list(tmp_path.iterdir()) == []


def test_a_target_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="is a file; this export has several files and needs a folder"):
        written(Exported({"a": "1"}), tmp_path / "file", True)
    with pytest.raises(InputError, match="is a folder; a file is expected"):
        written(Exported({"": "1"}), tmp_path, False)
    with pytest.raises(InputError, match="there is no folder"):
        written(Exported({"a": "1"}), tmp_path / "no" / "where", True)
    assert (tmp_path / "file").read_text() == "kept"


def test_options_have_defaults_and_choices() -> None:
    options = (
        ExportOption("paper", "Paper", "a4", (("a4", "A4"), ("letter", "Letter"))),
        ExportOption("x", "X", "1"),
    )
    one = ExportFormat("f", "F", ".f", lambda source: Exported({}), use="", lacks="", options=options)
    assert chosen_options(one, {}) == {"paper": "a4", "x": "1"}
    assert chosen_options(one, {"paper": "letter", "x": "any"}) == {"paper": "letter", "x": "any"}
    with pytest.raises(InputError, match='F has no option "size"; it has paper, x'):
        chosen_options(one, {"size": "1"})
    with pytest.raises(InputError, match="paper cannot be 'a3'; it is one of a4, letter"):
        chosen_options(one, {"paper": "a3"})


def test_the_analysis_is_made_once_and_can_be_given_up() -> None:
    said: list[str] = []
    source = ExportSource(Document(), progress=lambda share, what: said.append(what))
    assert source.analysis is source.analysis
    assert said == ["computing the step"]

    def stop(share: float, what: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        ExportSource(Document(), progress=stop).progress(0.5, "writing")
    with pytest.raises(InputError, match="Pictures and printed pages need"):
        _ = ExportSource(Document()).painter
