"""Reading, planning and comparing for the import dialog: what runs in the background, without a screen.

The functions take `progress` first. What was read last is kept, so that another answer or way does not decode
the files again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from gui.background_process import Progress
from model.document.compare import Comparison, compare
from model.document.document import Content, Document
from model.document.edits import Edit, Load
from model.document.merge import Merge, plan_beside
from model.document.merge_hosts import plan_hosts
from model.document.merge_trays import hosts_in, plan_trays
from model.document.place_ranks import plan_ranks
from model.document.replace import Misfit
from model.errors import InputError, RailsketchError
from model.files.importing import (
    Drawing,
    Imported,
    Note,
    NoteKind,
    Overlay,
    Question,
    RankPlacement,
    asks_speeds,
    note_place,
)
from model.files.opening import document_of, refuse_nothing
from model.files.overlay import ShownOverlay, overlay_hosts, show_overlay
from model.files.reading_text import Source, pasted, read_source
from model.files.registry import import_formats, import_sources, sniffed
from model.text import plural

MOST_LINES = 4_000  # of a text that are shown whole; of a longer one the noted lines and those around them
AROUND = 6
WIDEST = 1_000  # characters of a line
MOST_NOTED = 2_000


class Way(StrEnum):
    """What to do with what was read."""

    NEW = "new"
    BESIDE = "beside"
    TRAYS = "trays"
    HOSTS = "hosts"
    COMPARE = "compare"
    RANKS = "ranks"
    OVERLAY = "overlay"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read, and how."""

    paths: tuple[Path, ...] = ()
    text: str = ""
    format_id: str | None = None
    answers: tuple[tuple[str, str], ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a text with their numbers (from 1), in order; where numbers jump, lines are not shown."""

    name: str
    numbers: tuple[int, ...]
    lines: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """A format that can be chosen; `likely` where the text looks like it."""

    id: str
    name: str
    how: str
    carries: str
    lacks: str
    likely: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What a text holds, or why it cannot be read. `salvage` is how many things a partial import leaves out,
    None where that does not help either.
    """

    formats: tuple[FormatChoice, ...]
    format_id: str = ""
    kind: str = ""  # "drawing" | "ranks" | "overlay"
    name: str = ""
    summary: str = ""
    whole: bool = True
    hosts: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    questions: tuple[Question, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    excerpts: tuple[Excerpt, ...] = ()
    problem: str = ""
    problem_at: tuple[str, int] | None = None
    salvage: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A way with what it asks: trays to fill (None: all), the host of the file or of the drawing."""

    way: Way
    trays: tuple[str, ...] | None = None
    host: str | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """What a way would do: one edit, or something to show; or the sentence why it cannot be done."""

    edit: Edit | None = None
    text: str = ""
    done: tuple[str, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    comparison: Comparison | None = None
    overlay: ShownOverlay | None = None
    hosts: tuple[str, ...] = ()
    refused: str = ""


@dataclass(slots=True)
class _Kept:
    """The texts and the import of the last request."""

    texts: Wanted | None = None
    sources: tuple[Source, ...] = ()
    wanted: Wanted | None = None
    imported: Imported | None = None


_KEPT = _Kept()


def recognise(progress: Progress, text: str) -> bool:
    """Whether a text is in a format that can be imported."""
    progress(0.0, "looking at the text")
    try:
        return bool(sniffed(pasted(text)))
    except InputError:
        return False


def look(progress: Progress, wanted: Wanted) -> Seen:
    """Read, and say what was found. What cannot be read is a `problem` in what is given."""
    progress(0.0, "reading")
    try:
        sources = _sources(wanted)
    except RailsketchError as error:
        return Seen(_choices(()), problem=str(error))
    likely = [one.id for one in sniffed(sources[0])]
    choices = _choices(likely)
    ident = wanted.format_id or (likely[0] if likely else "")
    wanted = replace(wanted, format_id=ident or None)
    if not ident:
        return Seen(
            choices,
            excerpts=_excerpts(sources, ()),
            problem=f"{sources[0].name} looks like none of the formats that can be imported. "
            "If it is one of them, choose it.",
        )
    try:
        imported = _imported(wanted)
        refuse_nothing(imported)
    except RailsketchError as error:
        return _broken(wanted, sources, choices, str(error))
    result = imported.result
    return Seen(
        choices,
        ident,
        "ranks"
        if isinstance(result, RankPlacement)
        else "overlay"
        if isinstance(result, Overlay)
        else "drawing",
        result.name,
        _summary(imported),
        not isinstance(result, Drawing) or result.whole,
        hosts_in(result) if isinstance(result, Drawing) else (),
        imported.notes,
        imported.questions,
        dict(imported.answers),
        _excerpts(sources, imported.notes),
    )


def plan(progress: Progress, wanted: Wanted, choice: Choice, content: Content) -> Planned:
    """What a way would do to a drawing."""
    progress(0.0, "planning")
    try:
        imported, document = _imported(wanted), Document()
        if choice.way is not Way.NEW:
            Load(content).apply(document)
        return _planned(imported, choice, document)
    except RailsketchError as error:
        return Planned(refused=str(error))


def _planned(imported: Imported, choice: Choice, document: Document) -> Planned:
    result, way = imported.result, choice.way
    if isinstance(result, RankPlacement):
        placed = plan_ranks(document, result.ranks, partial=choice.partial)
        problems = tuple(
            Misfit(each.text, note_place(Note(NoteKind.IGNORED, "", each.lines)), (), ())
            for each in placed.problems
        )
        refused = "" if placed.edit is not None else "Not all of the ranks have a place."
        return Planned(placed.edit, placed.text, placed.done, problems, refused=refused)
    if isinstance(result, Overlay):
        hosts = overlay_hosts(document, result)
        return Planned(overlay=show_overlay(document, result, choice.host), hosts=hosts)
    if way is Way.NEW:
        made = document_of(imported)
        said = (f"{_summary(imported)} on a drawing of its own.", *made.notes)
        return Planned(Load(made), f"Import {result.name}".strip(), said)
    if way is Way.COMPARE:
        return Planned(comparison=compare(document, result, speeds=not asks_speeds(imported)))
    merge = _merge(document, result, choice)
    return Planned(merge.edit, merge.text, merge.done, merge.misfits)


def _merge(document: Document, drawing: Drawing, choice: Choice) -> Merge:
    if choice.way is Way.TRAYS:
        return plan_trays(document, drawing, choice.trays, choice.host)
    if choice.way is Way.HOSTS:
        return plan_hosts(document, drawing)
    return plan_beside(document, drawing)


def _sources(wanted: Wanted) -> tuple[Source, ...]:
    texts = Wanted(wanted.paths, wanted.text)
    if _KEPT.texts != texts:
        _KEPT.sources = (
            tuple(read_source(path) for path in wanted.paths) if wanted.paths else (pasted(wanted.text),)
        )
        _KEPT.texts, _KEPT.wanted, _KEPT.imported = texts, None, None
    return _KEPT.sources


def _imported(wanted: Wanted) -> Imported:
    sources = _sources(wanted)
    if _KEPT.imported is None or _KEPT.wanted != wanted:
        _KEPT.imported = None
        _KEPT.imported = import_sources(sources, wanted.format_id, dict(wanted.answers), wanted.partial)
        _KEPT.wanted = wanted
    return _KEPT.imported


def _broken(
    wanted: Wanted, sources: Sequence[Source], choices: tuple[FormatChoice, ...], problem: str
) -> Seen:
    """What is wrong and where, and whether the rest can be read."""
    at = None
    for source in sources:
        found = re.search(rf"{re.escape(source.name)}, line ([\d,]+)", problem)
        if found is not None:
            at = (source.name, int(found.group(1).replace(",", "")))
            break
    salvage = None
    if not wanted.partial:
        try:
            rest = _imported(replace(wanted, partial=True))
            refuse_nothing(rest)
            salvage = sum(
                1 + max(0, len(note.lines) - 1) + note.more_lines
                for note in rest.notes
                if note.text.startswith("Left out")
            )
        except RailsketchError:
            salvage = None
    marked = () if at is None else (Note(NoteKind.CONTRADICTORY, problem, (at[1],), source=at[0]),)
    return Seen(
        choices,
        wanted.format_id or "",
        excerpts=_excerpts(sources, marked),
        problem=problem,
        problem_at=at,
        salvage=salvage,
        answers=dict(wanted.answers),
    )


def _summary(imported: Imported) -> str:
    result = imported.result
    if isinstance(result, RankPlacement):
        hosts = len({place.host for place in result.ranks})
        return f"{plural(len(result.ranks), 'rank')} on {plural(hosts, 'host')}"
    if isinstance(result, Overlay):
        channels = sum(len(graph.channels) for graph in result.graphs)
        return f"{plural(len(result.graphs), 'graph')} with {plural(channels, 'channel')}"
    parts = [plural(len(result.devices), "device"), plural(len(result.links), "link")]
    if result.containers:
        parts.append(plural(len(result.containers), "container"))
    return ", ".join(parts)


def _choices(likely: Sequence[str]) -> tuple[FormatChoice, ...]:
    formats = import_formats()
    order = [*likely, *(ident for ident in formats if ident not in likely)]
    return tuple(
        FormatChoice(one.id, one.name, one.how, one.carries, one.lacks, one.id in likely)
        for one in (formats[ident] for ident in order)
    )


def _excerpts(sources: Sequence[Source], notes: Sequence[Note]) -> tuple[Excerpt, ...]:
    """Short texts whole; of long ones the beginning and what surrounds the lines that notes name."""
    return tuple(
        _excerpt(source, [note for note in notes if note.source == source.name]) for source in sources
    )


def _excerpt(source: Source, notes: Sequence[Note]) -> Excerpt:
    lines = source.text.removesuffix("\n").split("\n")
    count = len(lines)
    if count <= MOST_LINES:
        numbers: Sequence[int] = range(1, count + 1)
    else:
        wanted = set(range(1, MOST_LINES // 2 + 1))
        for line in sorted({line for note in notes for line in note.lines})[:MOST_NOTED]:
            wanted.update(range(max(1, line - AROUND), min(count, line + AROUND) + 1))
        numbers = sorted(wanted)
    shown = tuple(_short(lines[number - 1]) for number in numbers)
    return Excerpt(source.name, tuple(numbers), shown, count)


def _short(line: str) -> str:
    whole = line.expandtabs(8)
    return whole if len(whole) <= WIDEST else whole[: WIDEST - 1] + "…"
