"""What an import says: as text for people, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from model.document.compare import DIFFERENCE_NAMES, Comparison
from model.document.merge import Merge
from model.document.place_ranks import PlacedRanks
from model.files.importing import Drawing, Imported, Note, Question, RankPlacement, note_place
from model.files.overlay import ShownOverlay
from model.text import plural

_WIDTH = 14  # of the first column
_MOST = 12  # notes of one kind, and differences, that the text lists


def import_lines(imported: Imported) -> list[str]:
    """What was read, the notes by kind, and the questions with the answers that were taken."""
    lines = [_row("read", f"{_counts(imported)} ({imported.format.name})")]
    for kind, notes in groupby(imported.notes, key=lambda note: note.kind):
        lines += _cut([_row(kind.value, _note(note)) for note in notes])
    lines += [_row("taken", _question(question, imported)) for question in imported.questions]
    return lines


def _counts(imported: Imported) -> str:
    result = imported.result
    if isinstance(result, Drawing):
        counted = (
            (len(result.devices), "device"),
            (len(result.links), "link"),
            (len(result.containers), "container"),
        )
        return ", ".join(plural(count, noun) for count, noun in counted)
    if isinstance(result, RankPlacement):
        return plural(len(result.ranks), "rank")
    return plural(sum(len(graph.channels) for graph in result.graphs), "channel")


def _note(note: Note) -> str:
    place = note_place(note)
    return f"{note.text.rstrip()}{f' ({place})' if place else ''}"


def _question(question: Question, imported: Imported) -> str:
    answer = imported.answers.get(question.key, question.default)
    unit = f" {question.unit}" if question.unit else ""
    others = [value for value, _ in question.choices if value != answer]
    how = f"; or --answer {question.key}={'|'.join(others) or '…'}"
    return f"{question.text} {answer}{unit}{how}{f' ({question.why})' if question.why else ''}"


def merge_lines(merge: Merge) -> list[str]:
    """What a merge does, and what then does not fit."""
    misfits = [_row("does not fit", f"{misfit.title}. {misfit.detail}") for misfit in merge.misfits]
    return [*(_row("merged", text) for text in merge.done), *_cut(misfits)]


def rank_lines(placed: PlacedRanks) -> list[str]:
    """Where ranks went, and what stands against it."""
    problems = [_row("not placed", problem.text) for problem in placed.problems]
    return [*(_row("ranks", text) for text in placed.done), *_cut(problems)]


def comparison_lines(comparison: Comparison) -> list[str]:
    """How much is as designed, and the differences by kind."""
    lines = [
        _row(
            "as designed",
            f"{plural(comparison.cables, 'cable')}; {plural(comparison.devices, 'device')} matched",
        )
    ]
    lines += [_row("note", note) for note in comparison.notes]
    for kind, found in groupby(comparison.differences, key=lambda each: each.kind):
        texts = [each.text for each in found]
        lines.append(_row("difference", f"{DIFFERENCE_NAMES[kind]}: {len(texts):,}"))
        lines += _cut([_row("", text) for text in texts])
    if not comparison.differences:
        lines.append(_row("difference", "none"))
    return lines


def overlay_lines(shown: ShownOverlay) -> list[str]:
    """NCCL's choice in words, by algorithm."""
    return [_row(graph.algorithm, text) for graph in shown.graphs for text in graph.words]


def _row(label: str, text: str) -> str:
    return f"{label:<{_WIDTH}}  {text}"


def _cut(lines: Sequence[str]) -> list[str]:
    left = len(lines) - _MOST
    return [*lines] if left <= 1 else [*lines[:_MOST], _row("", f"and {left:,} more; --json lists all")]


# As JSON


def import_json(imported: Imported) -> dict[str, Any]:
    """The report with the names of its fields."""
    result = imported.result
    counts: dict[str, Any] = {}
    if isinstance(result, Drawing):
        counts = {
            "devices": len(result.devices),
            "links": len(result.links),
            "containers": len(result.containers),
            "whole": result.whole,
        }
    elif isinstance(result, RankPlacement):
        counts = {"ranks": len(result.ranks)}
    else:
        counts = {"graphs": {graph.algorithm: len(graph.channels) for graph in result.graphs}}
    return {
        "format": imported.format.id,
        "name": result.name,
        **counts,
        "notes": [_note_json(note) for note in imported.notes],
        "questions": [_question_json(question, imported) for question in imported.questions],
    }


def _note_json(note: Note) -> dict[str, Any]:
    return {
        "kind": note.kind.value,
        "text": note.text,
        "lines": list(note.lines),
        "more_lines": note.more_lines,
        "source": note.source,
    }


def _question_json(question: Question, imported: Imported) -> dict[str, Any]:
    return {
        "key": question.key,
        "text": question.text,
        "answer": imported.answers.get(question.key, question.default),
        "default": question.default,
        "choices": [value for value, _ in question.choices],
        "unit": question.unit,
        "why": question.why,
    }


def merge_json(merge: Merge) -> dict[str, Any]:
    """The merge without its edit."""
    return {
        "done": list(merge.done),
        "trays": list(merge.trays),
        "misfits": [
            {
                "title": misfit.title,
                "detail": misfit.detail,
                "devices": list(misfit.devices),
                "links": list(misfit.links),
            }
            for misfit in merge.misfits
        ],
    }


def rank_json(placed: PlacedRanks) -> dict[str, Any]:
    """The world in rank order, and the problems."""
    return {
        "world": list(placed.world),
        "done": list(placed.done),
        "problems": [
            {"text": problem.text, "ranks": list(problem.ranks), "lines": list(problem.lines)}
            for problem in placed.problems
        ],
    }


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """All differences."""
    return {
        "cables_as_designed": comparison.cables,
        "devices_matched": comparison.devices,
        "notes": list(comparison.notes),
        "differences": [
            {
                "kind": each.kind.value,
                "text": each.text,
                "devices": list(each.devices),
                "links": list(each.links),
                "built": list(each.built),
            }
            for each in comparison.differences
        ],
    }


def overlay_json(shown: ShownOverlay) -> dict[str, Any]:
    """The channels on our devices."""
    return {
        "host": shown.host,
        "ours": list(shown.ours),
        "graphs": [
            {
                "algorithm": graph.algorithm,
                "words": list(graph.words),
                "channels": [
                    {
                        "gpus": list(channel.gpus),
                        "nic_in": channel.nic_in,
                        "nic_out": channel.nic_out,
                        "links": list(channel.links),
                        "as_here": channel.as_here,
                    }
                    for channel in graph.channels
                ],
            }
            for graph in shown.graphs
        ],
    }
