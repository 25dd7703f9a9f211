"""Opens any file that holds a drawing: our own formats, and all that can be imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.document.document import Document
from model.document.start import document_from, placed
from model.errors import EditRefused, InputError
from model.files import project, topology_json, traffic_json
from model.files.importing import Drawing, Imported, RankPlacement
from model.files.reading import parse_json, read_bytes, shown
from model.files.reading_text import Source, decode, read_source
from model.files.registry import import_sources, sniffed
from model.topology.bulk import collector_paused

_READERS: dict[str, Callable[[dict[str, Any], Path], Document]] = {
    project.FORMAT: project.project_from_json,
    topology_json.FORMAT: topology_json.topology_from_json,
}
_OWN = re.compile(rb'"format"\s*:\s*"railsketch\.')


@dataclass(frozen=True, slots=True)
class Opened:
    """A document, and what the import said where the file was not one of ours.

    `project`: the file is a project, so that the document may be saved to it.
    """

    document: Document
    imported: Imported | None = None
    project: bool = False


def open_any(path: Path | str) -> Document:
    """The document in a file, gzipped or not, with a place for every device.

    Takes a project, a topology export and whatever an importer recognises; its questions take their defaults.
    Raises `InputError` with one sentence that says what is wrong, or what was expected.
    """
    return open_file(path).document


def is_own(path: Path | str) -> bool:
    """Whether a file is in one of our own formats, or empty. Raises `InputError` where it cannot be read."""
    return _is_own(read_bytes(Path(path)))


def open_file(path: Path | str) -> Opened:
    """`open_any` with the import report of a file that is not one of ours."""
    path = Path(path)
    data = read_bytes(path)
    with collector_paused():
        return _opened(data, path)


def _opened(data: bytes, path: Path) -> Opened:
    if _is_own(data):
        parsed = parse_json(data, path)
        if str(parsed.get("format")).startswith("railsketch."):
            return _own(parsed, path)
    source = decode(data, str(path))
    if source.text.lstrip().startswith(("{", "[")) and not sniffed(source):
        return _own(parse_json(data, path), path)
    return _foreign(source, path)


def _is_own(data: bytes) -> bool:
    return bool(_OWN.search(data)) or not data.strip()


def import_files(
    paths: Sequence[Path | str],
    format_id: str | None = None,
    answers: Mapping[str, str] | None = None,
    partial: bool = False,
) -> Imported:
    """Import files of one format; `registry.import_sources` for files. Raises `InputError`."""
    return import_sources([read_source(path) for path in paths], format_id, answers, partial)


def document_of(imported: Imported) -> Document:
    """The document of an imported drawing: with the default job, and a place for every device.

    Raises `InputError` where it is no drawing, where nothing in it can be drawn, or where it contradicts
    itself.
    """
    result = imported.result
    if not isinstance(result, Drawing):
        what = "places ranks on" if isinstance(result, RankPlacement) else "belongs to"
        raise InputError(f"{imported.format.name} {what} a cluster and holds none; open the cluster first.")
    refuse_nothing(imported)
    if result.document is not None:
        return result.document
    try:
        document = document_from(result)
    except EditRefused as error:
        raise InputError(f"{result.name}: {error}") from None
    if len(document.layout) < len(document.topology.devices()):
        document.layout = placed(document.topology, {})
    return document


def refuse_nothing(imported: Imported) -> None:
    """Raise `InputError` where a drawing has nothing in it."""
    result = imported.result
    if isinstance(result, Drawing) and not result.devices and not result.containers:
        expected = imported.format.carries.strip().rstrip(".")
        raise InputError(
            f"{result.name or imported.format.name} has nothing that can be drawn; {imported.format.name} is "
            f"expected to have: {expected}."
        )


def _foreign(source: Source, path: Path) -> Opened:
    if not sniffed(source):
        raise InputError(
            f"{path} is no file that can be opened: it is in none of the formats that can be imported; if it "
            "is one of them, name it (railsketch import --format)."
        )
    imported = import_sources([source])
    return Opened(document_of(imported), imported)


def _own(data: dict[str, Any], path: Path) -> Opened:
    kind = data.get("format")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is not None:
        document = reader(data, path)
        document.layout = placed(document.topology, document.layout)
        return Opened(document, project=kind == project.FORMAT)
    if kind == traffic_json.FORMAT:
        raise InputError(
            f"{path} is a traffic export, which holds no drawing; open the project it was made from."
        )
    if "parallel" in data or "global_batch" in data:
        raise InputError(f"{path} is a job, not a drawing; give it with --job.")
    found = f"its format is {shown(kind)}" if kind is not None else "it names no format"
    raise InputError(
        f"{path} is no file that can be opened: {found}; a project ({project.FORMAT}), a topology export "
        f"({topology_json.FORMAT}) or a file of a format that can be imported is expected."
    )
