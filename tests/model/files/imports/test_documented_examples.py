"""The examples on the pages of formats are what the importers read."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from model.files.importing import Drawing, RankPlacement
from model.files.reading_text import Source
from model.files.registry import import_sources

PAGES = Path(__file__).resolve().parents[4] / "docs" / "formats"
FORMATS = {
    "simai": 6,
    "ns3-hpcc": 3,
    "htsim": 38,
    "astra-sim-yml": 68,
    "topograph-model": 39,
    "topograph-graph": 3,
    "k8s-labels": 11,
    "node-link-json": 3,
    "graphml": 2,
    "infragraph": 8,
    "slurm-hostfile": 24,
    "open-mpi-rankfile": 3,
    "rank-map-csv": 2,
}


@pytest.mark.parametrize(("ident", "size"), FORMATS.items())
def test_the_example_of_a_page_is_read(ident: str, size: int) -> None:
    """`size`: how many devices or ranks it gives, reckoned by hand."""
    if ident == "infragraph":
        pytest.importorskip("infragraph")
    page = (PAGES / f"{ident}.md").read_text("utf-8")
    match = re.search(r"^## Example\n\n((?:(?: {4}.*)?\n)+)", page, re.MULTILINE)
    assert match is not None
    result = import_sources([Source("example", dedent(match[1]))], ident).result
    assert isinstance(result, Drawing | RankPlacement)
    assert len(result.devices if isinstance(result, Drawing) else result.ranks) == size
