"""Files to import in tests: the small ones kept here, and the real ones of the reference folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.published_reference import VARIABLE, reference_file
from model.files.importing import Drawing, Imported, RankPlacement
from model.files.reading_text import Source, read_source
from model.files.registry import import_sources

DATA = Path(__file__).resolve().parents[3] / "data"
REAL = reference_file().parents[1] / "samples"


def own(path: str) -> Source:
    """A file of tests/data."""
    return read_source(DATA / path)


def real(path: str) -> Source:
    """A real file of the reference folder; skips the test where there is none."""
    if not REAL.is_dir():
        pytest.skip(f"{REAL} has no samples (set {VARIABLE})")
    return read_source(REAL / path)


def text(content: str, name: str = "pasted.txt") -> Source:
    """A text that a test has itself."""
    return Source(name, content)


def imported(
    source: Source,
    format_id: str | None = None,
    answers: Mapping[str, str] | None = None,
    *,
    partial: bool = False,
) -> Imported:
    """What an import gives, of the recognised format where none is named."""
    return import_sources([source], format_id, answers, partial)


def drawing(source: Source, format_id: str | None = None, **answers: str) -> Drawing:
    """The drawing that an import gives."""
    result = imported(source, format_id, answers).result
    assert isinstance(result, Drawing)
    return result


def placement(source: Source, format_id: str | None = None) -> RankPlacement:
    """The ranks that an import gives."""
    result = imported(source, format_id).result
    assert isinstance(result, RankPlacement)
    return result


def said(one: Imported, kind: str) -> str:
    """The sentences of one kind of note, one a line."""
    return "\n".join(note.text for note in one.notes if note.kind == kind)
