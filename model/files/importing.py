"""What importers read from, say while reading, and give back.

An importer is a module in `imports/` with `FORMATS`, a tuple of `ImportFormat`. Its `read(reading)` takes one
`Reading` and gives one of the three results below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from model.document.document import Document, Position
from model.errors import InputError
from model.files.reading_text import Source
from model.topology.types import Container, Device, Link

MOST_LINES = 12  # line numbers that a note keeps


class NoteKind(StrEnum):
    """What an import report says, in the order in which it says it."""

    CONTRADICTORY = "contradictory"
    GUESSED = "guessed"
    INFERRED = "inferred"
    IGNORED = "ignored"
    FOUND = "found"


@dataclass(frozen=True, slots=True)
class Note:
    """One line of the report. `lines` (from 1) are the first few, `more_lines` how many others there are."""

    kind: NoteKind
    text: str
    lines: tuple[int, ...] = ()
    more_lines: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What a format does not say. Its answer is one of `choices` (value, label), or a number as text."""

    key: str
    text: str
    default: str
    choices: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A topology. `whole` is False for a part (one node) that is meant to be merged into what is open.

    `document` is the same with job and colours, where the format is one of ours.
    """

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    containers: tuple[Container, ...] = ()
    positions: Mapping[str, Position] = field(default_factory=dict)
    whole: bool = True
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where a rank runs: on a host, on its GPU with this local index (None: the next one that is free)."""

    rank: int
    host: str
    local: int | None = None
    gpu: str | None = None  # a device id of ours, where the file has it
    line: int = 0


@dataclass(frozen=True, slots=True)
class RankPlacement:
    """Ranks on the hosts of an open cluster, ascending from 0 without gaps."""

    name: str
    ranks: tuple[RankPlace, ...]


@dataclass(frozen=True, slots=True)
class Channel:
    """One ring or tree of NCCL: local GPU indices in order, the network devices it enters and leaves by."""

    gpus: tuple[int, ...]
    net_in: int | None = None
    net_out: int | None = None


@dataclass(frozen=True, slots=True)
class ChosenGraph:
    """What NCCL chose for one algorithm. Speeds are those of one channel, inside a node and between nodes."""

    algorithm: str  # "ring" | "tree" | "collnet" | "nvls" …
    channels: tuple[Channel, ...]
    intra_bytes_per_s: float
    inter_bytes_per_s: float
    type_intra: str = ""
    type_inter: str = ""


@dataclass(frozen=True, slots=True)
class Overlay:
    """What NCCL chose, to be shown against what is computed here."""

    name: str
    graphs: tuple[ChosenGraph, ...]


Result = Drawing | RankPlacement | Overlay


def note_place(note: Note) -> str:
    """Where a note was found, for people: "lines 3, 7 and 4 more"; empty where it has no line."""
    if not note.lines:
        return ""
    lines = ", ".join(f"{line:,}" for line in note.lines)
    more = f" and {note.more_lines:,} more" if note.more_lines else ""
    return f"{'line' if len(note.lines) == 1 and not more else 'lines'} {lines}{more}"


class Reading:
    """The texts to read, and what is said about them. Made anew for each attempt.

    With `partial`, what is broken is left out and listed; else `broken` raises `InputError`. `answers` are
    those that the user gave to questions of an attempt before; others take their default. `taken` are the
    answers that counted, by the key of the question.
    """

    def __init__(
        self, sources: Sequence[Source], answers: Mapping[str, str] | None = None, partial: bool = False
    ) -> None:
        if not sources:
            raise InputError("There is nothing to import.")
        self.sources = tuple(sources)
        self.answers = dict(answers or {})
        self.partial = partial
        self.questions: list[Question] = []
        self.taken: dict[str, str] = {}
        self._notes: dict[tuple[NoteKind, str, str], list[int]] = {}
        for source in sources:
            for repair in source.repairs:
                self.note(NoteKind.INFERRED, repair, source=source)

    @property
    def source(self) -> Source:
        """The only source of a format that takes one."""
        return self.sources[0]

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was said, by kind, then in the order in which it was said. The same text is one note."""
        found = [
            Note(kind, text, tuple(lines[:MOST_LINES]), max(0, len(lines) - MOST_LINES), source)
            for (kind, text, source), lines in self._notes.items()
        ]
        order = list(NoteKind)
        return tuple(sorted(found, key=lambda note: order.index(note.kind)))

    def note(
        self, kind: NoteKind, text: str, lines: Iterable[int] = (), source: Source | None = None
    ) -> None:
        """Say one sentence; the lines of equal sentences are collected."""
        self._notes.setdefault((kind, text, (source or self.source).name), []).extend(lines)

    def found(self, text: str, *lines: int) -> None:
        """What the file says: "8 GPUs, 9 NICs"."""
        self.note(NoteKind.FOUND, text, lines)

    def inferred(self, text: str, *lines: int) -> None:
        """What follows from the file, which does not say it: "All pairs have NV18: drawn as a switch"."""
        self.note(NoteKind.INFERRED, text, lines)

    def guessed(self, text: str, *lines: int) -> None:
        """What was assumed and can be wrong."""
        self.note(NoteKind.GUESSED, text, lines)

    def ignored(self, text: str, *lines: int) -> None:
        """What was in the file and is not in the result."""
        self.note(NoteKind.IGNORED, text, lines)

    def contradictory(self, text: str, *lines: int) -> None:
        """What the file says in two ways, and which was taken."""
        self.note(NoteKind.CONTRADICTORY, text, lines)

    def broken(self, text: str, line: int | None = None, source: Source | None = None) -> None:
        """Something that cannot be read. Goes on only when the user chose a partial import.

        `text` is a sentence without the place: "3 cells where 9 are expected".
        """
        where = source or self.source
        if self.partial:
            self.note(NoteKind.IGNORED, f"Left out: {text}.", () if line is None else (line,), where)
            return
        raise InputError(f"{where.name}{'' if line is None else f', line {line}'}: {text}.")

    def ask(self, question: Question) -> str:
        """The answer to a question, or its default. An answer that is no choice is an `InputError`."""
        if all(known.key != question.key for known in self.questions):
            self.questions.append(question)
        answer = self.answers.get(question.key, question.default)
        values = [value for value, _ in question.choices]
        if values and answer not in values:
            raise InputError(f"{question.key} cannot be {answer!r}; it is one of {', '.join(values)}.")
        self.taken[question.key] = answer
        return answer


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """A format that can be read.

    `sniff(head, name)` gives 0 (not this format) to 100 (certain) from the first 64 kB of text and the name
    of the file in lower case; it never raises. `how` is the command or the place that the file comes from;
    `carries` and `lacks` are sentences. `several`: takes several files at once (one per host).
    """

    id: str
    name: str
    suffixes: tuple[str, ...]
    sniff: Callable[[str, str], int]
    read: Callable[[Reading], Result]
    how: str
    carries: str
    lacks: str
    several: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import gave: the result, the report, and the questions with the answers that were taken."""

    format: ImportFormat
    result: Result
    notes: tuple[Note, ...]
    questions: tuple[Question, ...]
    answers: Mapping[str, str] = field(default_factory=dict)


def guesses_models(imported: Imported, given: Mapping[str, str]) -> bool:
    """Whether the model of some device is the default of a question that was not answered (`given`)."""
    return any(
        question.key.endswith("_model") and question.key not in given for question in imported.questions
    )


def asks_speeds(imported: Imported) -> bool:
    """Whether the speeds of cables are answers to a question, and not in the file."""
    return any(question.unit == "Gb/s" for question in imported.questions)
