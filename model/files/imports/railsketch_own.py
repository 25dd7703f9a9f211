"""Our own project and topology export, read like any other format: for merging and comparing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from model.document.document import Document
from model.files import project, topology_json
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.reading import parse_json
from model.text import plural


def _sniffer(name: str) -> Callable[[str, str], int]:
    return lambda head, _: 100 if head.lstrip().startswith("{") and f'"{name}"' in head else 0


def _reader(read: Callable[[dict[str, Any], Path], Document]) -> Callable[[Reading], Drawing]:
    def drawing(reading: Reading) -> Drawing:
        path = Path(reading.source.name)
        document = read(parse_json(reading.source.text.encode("utf-8", "replace"), path), path)
        parts = document.topology.parts()
        reading.found(f"{plural(len(parts.devices), 'device')}, {plural(len(parts.links), 'link')}.")
        return Drawing(
            document.name, parts.devices, parts.links, parts.containers, document.layout, document=document
        )

    return drawing


FORMATS = (
    ImportFormat(
        "railsketch-project",
        "Railsketch project",
        (".json", ".json.gz"),
        _sniffer(project.FORMAT),
        _reader(project.project_from_json),
        how="Saved by the window, or by `railsketch run … --project P.json`.",
        carries="Everything: drawing, job, colours and positions.",
        lacks="Nothing.",
    ),
    ImportFormat(
        "railsketch-topology",
        "Railsketch topology",
        (".json", ".json.gz"),
        _sniffer(topology_json.FORMAT),
        _reader(topology_json.topology_from_json),
        how="`railsketch export FILE --format railsketch-topology --out T.json`.",
        carries="The drawing: devices, links, containers, states and positions.",
        lacks="The job and the colours.",
    ),
)
