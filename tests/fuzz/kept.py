"""The folder in which corpus and crashes of all runs are kept."""

from __future__ import annotations

import hashlib
import traceback
from pathlib import Path

from model.files.importing import ImportFormat
from tests.fuzz.attempt import attempt, bounded, where

FOLDER = Path(__file__).parents[2] / ".fuzz"


class Kept:
    """What is kept of one format: corpus, hypothesis' examples, crashes (input and why)."""

    def __init__(self, one: ImportFormat, folder: Path = FOLDER) -> None:
        self._one = one
        self.corpus = folder / "corpus" / one.id
        self.examples = folder / "hypothesis" / one.id
        self.crashes = folder / "crashes" / one.id
        for path in (self.corpus, self.examples, self.crashes):
            path.mkdir(parents=True, exist_ok=True)
        self._known: set[str] = set()

    def seeds(self) -> list[bytes]:
        """The inputs of the corpus."""
        return [path.read_bytes() for path in sorted(self.corpus.iterdir()) if path.is_file()]

    def known(self, error: BaseException) -> bool:
        """Whether a crash of this kind was found in this run."""
        return where(error) in self._known

    def found(self, data: bytes, error: BaseException) -> bool:
        """Keep a crash; whether it is the first of its kind in this run."""
        kind = where(error)
        if self.known(error):
            return False
        self._known.add(kind)
        name = hashlib.sha256(kind.encode()).hexdigest()[:16]
        (self.crashes / f"{name}.input").write_bytes(data)
        (self.crashes / f"{name}.why").write_text(
            f"{kind}\n\n" + "".join(traceback.format_exception(error)), "utf-8"
        )
        return True

    def again(self) -> None:
        """Try the crashes of runs before; those that are mended become a part of the corpus."""
        for path in sorted(self.crashes.glob("*.input")):
            data = path.read_bytes()
            try:
                with bounded():
                    attempt(self._one, data)
            except Exception as error:
                self.found(data, error)
                continue
            path.replace(self.corpus / path.stem)
            path.with_suffix(".why").unlink(missing_ok=True)

    def open_crashes(self) -> list[str]:
        """The first line of each crash that is open."""
        return [path.read_text("utf-8").split("\n", 1)[0] for path in sorted(self.crashes.glob("*.why"))]
