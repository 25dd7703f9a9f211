"""`railsketch import`: files of other tools into a project, or into one that is there."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.cli.assignments import assignments
from model.cli.import_report import (
    comparison_json,
    comparison_lines,
    import_json,
    import_lines,
    merge_json,
    merge_lines,
    overlay_json,
    overlay_lines,
    rank_json,
    rank_lines,
)
from model.cli.tools import Outcome, Tools, is_same_file
from model.document.compare import compare
from model.document.document import Document
from model.document.merge import Merge, plan_beside
from model.document.merge_hosts import plan_hosts
from model.document.merge_trays import hosts_in, plan_trays
from model.document.place_ranks import plan_ranks
from model.errors import InputError
from model.files import opening
from model.files.importing import Drawing, Imported, Overlay, RankPlacement, asks_speeds, guesses_models
from model.files.opening import document_of, open_any, refuse_nothing
from model.files.overlay import show_overlay
from model.files.project import save_project
from model.text import name_list, plural


class _Report:
    """Lines and JSON side by side, the exit code, and the document to write."""

    def __init__(self, imported: Imported) -> None:
        self.lines = import_lines(imported)
        self.values: dict[str, Any] = import_json(imported)
        self.exit_code = 0
        self.document: Document | None = None

    def add(self, name: str, lines: list[str], values: Any) -> None:
        """What was done with the import, by a name."""
        self.lines += lines
        self.values[name] = values


def import_files(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """Read, say what was read, and write the project.

    Exit code 1 where a comparison finds differences, or ranks have no place. Raises `InputError`.
    """
    answers = assignments("--answer", arguments.answer)
    _check(arguments)
    imported = opening.import_files(arguments.files, arguments.format, answers, arguments.partial)
    _refuse_unasked(answers, imported)
    report = _Report(imported)
    if arguments.onto is None:
        if isinstance(imported.result, Drawing):
            report.document = document_of(imported)
        elif arguments.project is not None:
            raise InputError(
                f"{imported.format.name} holds no drawing; name the one it is for with --onto PROJECT."
            )
    else:
        refuse_nothing(imported)
        way = arguments.way or _usual_way(imported)
        _WAYS[way](report, imported, open_any(arguments.onto), arguments)
    written = []
    if arguments.project is not None and report.document is None:
        raise InputError(f"This changes no drawing, so there is none to write to {arguments.project}.")
    if arguments.project is not None and report.document is not None:
        save_project(report.document, Path(arguments.project))
        written.append(arguments.project)
    if arguments.json:
        values = report.values | {"written": written}
        return Outcome(json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False), report.exit_code)
    lines = [*report.lines, *(f"{'wrote':<14}  {path}" for path in written)]
    return Outcome("\n".join(lines), report.exit_code)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.onto is None and arguments.way is not None:
        raise InputError(
            f"--as {arguments.way} says how to bring a file into a drawing; it needs --onto PROJECT."
        )
    if arguments.tray and arguments.way != "tray":
        raise InputError("--tray chooses trays to fill; it needs --onto PROJECT --as tray.")
    if arguments.host is not None and arguments.way not in ("tray", "overlay"):
        raise InputError("--host needs --onto PROJECT --as tray or --as overlay.")
    if arguments.project is not None and not Path(arguments.project).absolute().parent.is_dir():
        raise InputError(
            f"--project {arguments.project}: there is no folder {Path(arguments.project).parent}."
        )
    if arguments.project is not None and any(
        is_same_file(each, arguments.project) for each in arguments.files if each != arguments.onto
    ):
        raise InputError(
            f"--project {arguments.project} would replace the file that is read; give another file."
        )


def _refuse_unasked(answers: Mapping[str, str], imported: Imported) -> None:
    asked = [question.key for question in imported.questions]
    for key in answers:
        if key not in asked:
            raise InputError(
                f"There is no question {key}; {', '.join(asked) or 'nothing'} is asked of this file."
            )


def _usual_way(imported: Imported) -> str:
    if isinstance(imported.result, RankPlacement):
        return "ranks"
    if isinstance(imported.result, Overlay):
        return "overlay"
    name = imported.result.name or "the file"
    raise InputError(f"Say how {name} comes into the drawing: --as tray, host, beside or compare.")


# What --as does


def _drawing(imported: Imported, way: str) -> Drawing:
    if not isinstance(imported.result, Drawing):
        raise InputError(f"--as {way} needs a drawing, and {imported.format.name} is none.")
    return imported.result


def _merged(report: _Report, document: Document, merge: Merge) -> None:
    merge.edit.apply(document)
    report.document = document
    report.add("merge", merge_lines(merge), merge_json(merge))


def _as_tray(report: _Report, imported: Imported, document: Document, arguments: argparse.Namespace) -> None:
    drawing = _drawing(imported, "tray")
    hosts = hosts_in(drawing)
    if arguments.host is None and len(hosts) > 1:
        raise InputError(
            f"{drawing.name or 'The file'} holds {len(hosts):,} hosts ({name_list(hosts)}); say which is the "
            "node with --host NAME."
        )
    _merged(report, document, plan_trays(document, drawing, arguments.tray or None, arguments.host))


def _as_host(report: _Report, imported: Imported, document: Document, arguments: argparse.Namespace) -> None:
    models = not guesses_models(imported, assignments("--answer", arguments.answer))
    _merged(report, document, plan_hosts(document, _drawing(imported, "host"), models=models))


def _beside(report: _Report, imported: Imported, document: Document, _: argparse.Namespace) -> None:
    _merged(report, document, plan_beside(document, _drawing(imported, "beside")))


def _ranks(report: _Report, imported: Imported, document: Document, arguments: argparse.Namespace) -> None:
    if not isinstance(imported.result, RankPlacement):
        raise InputError(f"--as ranks needs a placement of ranks, and {imported.format.name} is none.")
    placed = plan_ranks(document, imported.result.ranks, partial=arguments.partial)
    report.add("ranks", rank_lines(placed), rank_json(placed))
    if placed.edit is None:
        problems = placed.problems
        more = f" ({plural(len(problems) - 1, 'other problem')} besides)" if len(problems) > 1 else ""
        raise InputError(
            f"The ranks cannot be placed: {problems[0].text.rstrip('.')}{more}; --partial leaves such out."
        )
    placed.edit.apply(document)
    report.document = document
    report.exit_code = int(bool(placed.problems))


def _compare(report: _Report, imported: Imported, document: Document, _: argparse.Namespace) -> None:
    drawing = _drawing(imported, "compare")
    comparison = compare(document, drawing, speeds=not asks_speeds(imported))
    report.add("comparison", comparison_lines(comparison), comparison_json(comparison))
    report.exit_code = int(bool(comparison.differences))


def _overlay(report: _Report, imported: Imported, document: Document, arguments: argparse.Namespace) -> None:
    if not isinstance(imported.result, Overlay):
        raise InputError(f"--as overlay needs what NCCL chose, and {imported.format.name} is something else.")
    shown = show_overlay(document, imported.result, arguments.host)
    report.add("overlay", overlay_lines(shown), overlay_json(shown))


_WAYS: Mapping[str, Callable[[_Report, Imported, Document, argparse.Namespace], None]] = {
    "tray": _as_tray,
    "host": _as_host,
    "beside": _beside,
    "ranks": _ranks,
    "compare": _compare,
    "overlay": _overlay,
}
