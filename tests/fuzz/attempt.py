"""One input of a fuzzer: read as a format, with nothing but our errors, in bounded time."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from model.errors import RailsketchError
from model.files.importing import Drawing, Imported, ImportFormat, Reading
from model.files.opening import document_of
from model.files.reading_text import decode
from model.files.registry import HEAD

LONGEST = 20_000  # bytes of an input
MOST_SECONDS = 10.0  # of processor time for one input
MOST_DRAWN = 20_000  # devices up to which an input is laid out, too
SAMPLES = Path(__file__).parents[1] / "data"


class TooSlowError(Exception):
    """An input took longer than `MOST_SECONDS`."""


def samples(ident: str) -> list[bytes]:
    """The small samples of a format, the seeds of its fuzzers."""
    folder = SAMPLES / ident
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]


def attempt(one: ImportFormat, data: bytes) -> None:
    """Recognise and read it, whole and in part, and make a document. Raises whatever is not our error."""
    for partial in (False, True):
        try:
            source = decode(data, "fuzz.txt")
            score = one.sniff(source.text[:HEAD], source.name)
            assert 0 <= score <= 100, f"{one.id} scores {score}"
            reading = Reading([source], partial=partial)
            result = one.read(reading)
            if isinstance(result, Drawing) and len(result.devices) <= MOST_DRAWN:
                document_of(Imported(one, result, reading.notes, tuple(reading.questions)))
        except RailsketchError as error:
            assert str(error).strip(), "an error without a sentence"


@contextmanager
def bounded(seconds: float = MOST_SECONDS) -> Iterator[None]:
    """Raise `TooSlowError` inside of the block after so many seconds of processor time."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {seconds:g} s for one input")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def where(error: BaseException) -> str:
    """The kind of an error and the innermost line of ours that it came from: equal ones are one crash."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "/model/" in frame.filename]
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return f"{type(error).__name__} at {place}"
