"""Fabric files with parts cut, doubled, swapped and replaced: read, or refused in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.document.start import document_from
from model.errors import InputError
from model.files.importing import Drawing
from model.files.reading_text import Source
from model.files.registry import import_formats, import_sources
from tests.model.files.imports.samples import DATA

FORMATS = (
    "ibnetdiscover",
    "ibdiagnet-lst",
    "slurm-topology-conf",
    "slurm-topology-yaml",
    "lldp-json",
    "cumulus-dot",
    "air-json",
    "containerlab",
    "netbox-csv",
)
ODD = (
    *('"', "'", "\\", "[", "]", "{", "}", ":", ",", ";", "#", "--", "->", "=", "<", ">", "*a", "&a ", "<<: "),
    *(
        "\n",
        "\t",
        " ",
        "0",
        "-1",
        "99999999999999999999",
        "1e999",
        "null",
        "[]",
        "{}",
        "[1-999999999]",
        "é",
        "²",
        "\u0000",
    ),
    *(
        "\ud800",
        "\x85",
        "\u2028",
        "true",
        "S-",
        "H-",
        "4xNDR",
        "swp1s0",
        "leaf",
        "Aggregation Node",
        "nan",
        "٣",
    ),
)


def _samples(format_id: str) -> list[str]:
    return [path.read_text("utf-8-sig") for path in sorted((DATA / format_id).iterdir())]


@st.composite
def _mangled(draw: st.DrawFn, format_id: str) -> str:
    text = draw(st.sampled_from(_samples(format_id)))
    for _ in range(draw(st.integers(1, 4))):
        a, b = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        what = draw(st.sampled_from(("cut", "remove", "insert", "replace", "double", "lines")))
        if what == "cut":
            text = text[:b]
        elif what == "remove":
            text = text[:a] + text[min(b, a + 40) :]
        elif what == "insert":
            text = text[:a] + draw(st.sampled_from(ODD)) + text[a:]
        elif what == "replace":
            text = text[:a] + draw(st.sampled_from(ODD)) + text[min(b, a + 4) :]
        elif what == "double":
            text = text[:b] + text[a:]
        else:
            lines = text.split("\n")
            place = draw(st.integers(0, len(lines) - 1))
            lines[place : place + 1] = lines[place : place + 1] * draw(st.integers(0, 3))
            text = "\n".join(lines)
    return text


@pytest.mark.parametrize("format_id", FORMATS)
@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_mangled(format_id: str, draw: st.DataObject) -> None:
    text = draw.draw(_mangled(format_id))
    for one in import_formats().values():
        assert 0 <= one.sniff(text, "x") <= 100
    try:
        result = import_sources([Source("x", text)], format_id, partial=draw.draw(st.booleans())).result
    except InputError as error:
        assert str(error)
        return
    assert isinstance(result, Drawing)
    document = document_from(result)
    assert len(document.layout) == len(result.devices)
