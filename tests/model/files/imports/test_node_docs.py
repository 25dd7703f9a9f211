"""The examples in the documentation of the formats of nodes can be imported as they stand."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from model.document.start import document_from
from model.files.importing import Drawing, Overlay
from tests.model.files.imports.samples import imported, text

DOCS = Path(__file__).resolve().parents[4] / "docs" / "formats"
GPUS = {
    "nvidia-smi-topo": 2,
    "nccl-topo-xml": 1,
    "rccl-topo-xml": 2,
    "nccl-graph-xml": None,
    "amd-smi-topo": 2,
    "lstopo-xml": 1,
}


@pytest.mark.parametrize("format_id", GPUS)
def test_example(format_id: str) -> None:
    page = (DOCS / f"{format_id}.md").read_text("utf-8")
    one = imported(text(dedent(page.partition("## Example\n")[2])))
    assert one.format.id == format_id
    assert page.splitlines()[0] == f"# {one.format.name} (`{format_id}`)"
    if GPUS[format_id] is None:
        assert isinstance(one.result, Overlay)
        return
    assert isinstance(one.result, Drawing)
    document_from(one.result)
    assert sum(device.kind == "gpu" for device in one.result.devices) == GPUS[format_id]
    assert not any(note.kind == "contradictory" for note in one.notes)
