"""Opens any file that holds a drawing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from model.document.document import Document
from model.document.start import placed
from model.errors import InputError
from model.files import project, topology_json, traffic_json
from model.files.reading import read_json, shown

_READERS: dict[str, Callable[[dict[str, Any], Path], Document]] = {
    project.FORMAT: project.project_from_json,
    topology_json.FORMAT: topology_json.topology_from_json,
}


def open_any(path: Path | str) -> Document:
    """The document in a project or topology export, gzipped or not, with a place for every drawing.

    Raises `InputError` with one sentence that says what is wrong, or what was expected.
    """
    path = Path(path)
    data = read_json(path)
    kind = data.get("format")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is not None:
        document = reader(data, path)
        document.layout = placed(document.topology, document.layout)
        return document
    if kind == traffic_json.FORMAT:
        raise InputError(
            f"{path} is a traffic export, which holds no drawing; open the project it was made from."
        )
    if "parallel" in data or "global_batch" in data:
        raise InputError(f"{path} is a job, not a drawing; give it with --job.")
    found = f"its format is {shown(kind)}" if kind is not None else "it names no format"
    raise InputError(
        f"{path} is no file that can be opened: {found}; a project ({project.FORMAT}) or a topology export "
        f"({topology_json.FORMAT}) is expected."
    )
