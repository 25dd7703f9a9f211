"""Every importer on its samples, damaged as files are: cut, other line ends and encodings, doubled lines,
and with parts that are removed, doubled or replaced by what no sample has.

Nothing but a result or one of our errors comes of it, whole and in part. `make fuzz` goes further.
"""

from __future__ import annotations

import codecs
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.files.registry import HEAD, import_format, import_formats
from tests.fuzz.attempt import attempt, bounded, samples
from tests.fuzz.engines import by_hypothesis
from tests.fuzz.kept import Kept

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
        "true",
    ),
    *(
        "é",
        "²",
        "٣",
        "\u0000",
        "\x85",
        "\u2028",
        "nan",
        "S-",
        "H-",
        "4xNDR",
        "swp1s0",
        "leaf",
        "Aggregation Node",
    ),
    *("<pci>", "</pci>", "<gpu>", "</object>", 'count="0"', 'speed="٣"', 'busid="0000:01:00.0"', "OSDev:10"),
    *("X", "NV18", "GPU9", "XGMI", "400Gbps", "tbd"),
)
_LONGEST = 30_000  # bytes of a sample that are damaged
_MOST_SAMPLES = 4


def damaged(data: bytes) -> list[bytes]:
    """The ways in which a sample is damaged."""
    data = data[:_LONGEST]
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    middle = len(lines) // 2
    return [
        data,
        *(data[: len(data) * tenth // 10] for tenth in range(1, 10)),
        text.replace("\n", "\r\n").encode(),
        "\r\n".join(["\n".join(lines[:middle]), "\r".join(lines[middle:])]).encode(),
        codecs.BOM_UTF8 + data,
        text.encode("utf-16"),
        text.encode("utf-16-le"),
        "\n".join(line for line in lines for _ in range(2)).encode(),
        text.replace(" ", "").encode(),
        text.replace("1", "-1").encode(),
    ]


@pytest.mark.parametrize("ident", import_formats())
def test_damaged_samples_give_a_result_or_a_sentence(ident: str) -> None:
    one = import_format(ident)
    for sample in sorted(samples(ident), key=len)[:_MOST_SAMPLES] or [b"{}\n"]:
        for data in damaged(sample):
            with bounded():
                attempt(one, data)


@st.composite
def mangled(draw: st.DrawFn, ident: str) -> str:
    """A sample with up to four parts changed."""
    found = samples(ident) or [b"{}\n"]
    text = draw(st.sampled_from(found))[:_LONGEST].decode("utf-8-sig", "replace")
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


@pytest.mark.parametrize("ident", import_formats())
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_mangled_samples_give_a_result_or_a_sentence(ident: str, draw: st.DataObject) -> None:
    text = draw.draw(mangled(ident))
    for one in import_formats().values():
        assert 0 <= one.sniff(text[:HEAD], "x") <= 100
    with bounded():
        attempt(import_format(ident), text.encode())


def test_the_fuzzer_finds_and_keeps_a_crash(tmp_path: Path) -> None:
    """A reader with a mistake in it: the input and the reason are kept, and go when it is mended."""
    good = import_format("slurm-hostfile")

    def wrong(reading: object) -> None:
        raise KeyError("mistake")

    bad = replace(good, read=wrong)  # type: ignore[arg-type]
    kept = Kept(bad, tmp_path)
    tried: list[None] = []
    by_hypothesis(bad, kept, 1.0, lambda: tried.append(None))
    assert tried
    (crash,) = kept.open_crashes()
    assert crash.startswith("KeyError at ")
    mended = Kept(good, tmp_path)
    mended.again()
    assert mended.open_crashes() == []
    assert len(mended.seeds()) == 1
