"""Every importer on its samples, damaged as files are: cut, other line ends and encodings, doubled lines.

Nothing but a result or one of our errors comes of it, whole and in part. `make fuzz` goes further.
"""

from __future__ import annotations

import codecs
from dataclasses import replace
from pathlib import Path

import pytest

from model.files.registry import import_format, import_formats
from tests.fuzz.attempt import attempt, bounded, samples
from tests.fuzz.engines import by_hypothesis
from tests.fuzz.kept import Kept

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
