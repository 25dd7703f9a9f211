"""Writing whole or not at all, where the target is odd; and a writer that is killed."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from model.errors import InputError
from model.files.opening import open_any
from model.files.project import project_json, save_project
from model.files.reading import parse_json
from model.files.writing import json_text, write_atomic
from tests.model.document.test_edits import node_document


def test_links_that_go_round_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "one.json").symlink_to(tmp_path / "two.json")
    (tmp_path / "two.json").symlink_to(tmp_path / "one.json")
    with pytest.raises(InputError, match="cannot be written"):
        save_project(node_document(), tmp_path / "one.json")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.json", "two.json"]


def test_text_that_is_no_text_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("old", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_atomic(path, "\ud800")
    assert path.read_text("utf-8") == "old"


def test_a_pair_of_surrogates_is_a_character(tmp_path: Path) -> None:
    text = json_text(project_json(node_document()) | {"name": "rack"}).replace('"rack"', '"\\ud83d\\ude80"')
    assert parse_json(text.encode(), tmp_path / "p.json")["name"] == "🚀"


def test_a_gzip_file_of_several_members_is_read_whole(tmp_path: Path) -> None:
    text = json_text(project_json(node_document())).encode()
    path = tmp_path / "p.json.gz"
    path.write_bytes(gzip.compress(text[:100]) + gzip.compress(text[100:]) + b"\0" * 8)
    assert open_any(path).same_as(node_document())


SAVER = """
import sys
from pathlib import Path
from model.files.opening import open_any
from model.files.project import save_project
path = Path(sys.argv[1])
document = open_any(path)
print("saving", flush=True)
while True:
    save_project(document, path)
"""


def test_a_save_that_is_killed_leaves_a_whole_file_and_a_whole_backup(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    document = node_document()
    save_project(document, path)
    save_project(document, path)
    root = Path(__file__).parents[3]
    for wait in (0.01, 0.02, 0.03):
        command = [sys.executable, "-c", SAVER, str(path)]
        with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as saver:
            assert saver.stdout is not None and saver.stdout.readline() == "saving\n"
            with pytest.raises(subprocess.TimeoutExpired):
                saver.wait(wait)
            saver.kill()
        assert open_any(path).same_as(document)
        assert open_any(path.with_name("p.json.bak")).same_as(document)


def test_what_a_killed_program_left_is_cleared_by_the_next_save(tmp_path: Path) -> None:
    path = tmp_path / "p[1].json"
    old, fresh = tmp_path / ".p[1].json.aa.tmp", tmp_path / ".p[1].json.bb.tmp"
    other = tmp_path / ".q.json.aa.tmp"
    for left in (old, fresh, other):
        left.write_text("half")
    for left in (old, other):
        os.utime(left, (1_000_000, 1_000_000))
    write_atomic(path, "whole")
    assert path.read_text() == "whole"
    assert not old.exists() and fresh.exists() and other.exists()
