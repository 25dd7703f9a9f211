"""`railsketch run`: load or build, place, analyse, write."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.analysis import analyse
from model.cli.summary import exit_code, summary, summary_text
from model.cli.tools import Outcome, Tools, is_same_file
from model.document.document import Document
from model.document.start import document_from, has_default_job
from model.errors import InputError
from model.files.exports.report_text import report_markdown
from model.files.opening import open_any
from model.files.project import save_project
from model.files.reading import read_json
from model.files.topology_json import write_topology
from model.files.traffic_json import write_traffic
from model.files.writing import write_atomic
from model.job.legality import refuse_illegal
from model.job.spec import JobSpec, apply_set, parse_job
from model.job.storage import refuse_unknown_storage
from model.placement.resolve import world_of
from model.step.report import Analysis
from model.topology.types import DeviceKind

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, slots=True)
class _Output:
    """A file to write: its option, its path, and how."""

    option: str
    path: Path
    write: Callable[[Document, Analysis, Path], None]
    needs_report: bool = False


def run(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """Do it all. Raises `RailsketchError` on bad input, before anything is written."""
    outputs = _outputs(arguments, tools)
    document = _document(arguments, tools)
    document.job = _job(_base_job(document, arguments.job_set), arguments.job, arguments.job_set)
    check_job(document)
    analysis = analyse(document)
    written, left_out = [], []
    for output in outputs:
        if output.needs_report and analysis.report is None:
            left_out.append(str(output.path))
            continue
        output.write(document, analysis, output.path)
        written.append(str(output.path))
    code = exit_code(analysis.findings)
    if arguments.json:
        values = summary(document, analysis) | {"written": written, "not_written": left_out}
        return Outcome(json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False), code)
    text = summary_text(document, analysis, written)
    if left_out:
        text += f"\nnot written     {', '.join(left_out)}: no step could be worked out, see the findings"
    return Outcome(text, code)


def check_job(document: Document) -> None:
    """Raise `RailsketchError` where the job cannot run here.

    A drawing without GPUs has no step at all, and that is a finding (conventions 36), whatever the job.
    """
    up = [device.id for device in document.topology.working(DeviceKind.GPU)]
    if up or document.job.world:
        refuse_illegal(document.job, len(world_of(document.job.world, up)))
        storage = document.topology.working(DeviceKind.STORAGE)
        refuse_unknown_storage(document.job, [device.id for device in storage])


def _document(arguments: argparse.Namespace, tools: Tools) -> Document:
    if arguments.template is None:
        if arguments.file is None:
            raise InputError("Give a FILE or --template ID; see railsketch run --help.")
        if arguments.set:
            raise InputError("--set gives a parameter of a template; it needs --template ID.")
        return open_any(arguments.file)
    if arguments.file is not None:
        raise InputError(f"Give either {arguments.file} or --template {arguments.template}, not both.")
    content = tools.build(arguments.template, _parameters(arguments.set))
    return document_from(content)


def _parameters(assignments: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name.strip():
            raise InputError(f'--set "{assignment}" is not of the form key=value, for example nodes=4.')
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        values[name.strip()] = value
    return values


def _base_job(document: Document, assignments: Sequence[str]) -> JobSpec:
    """The document's job, which the assignments change.

    The default job is cut to fit a small model. Who names another model gets the sequence length of the job
    format with it, not the one that was chosen for the small one.
    """
    job = document.job
    names = {assignment.partition("=")[0].strip() for assignment in assignments}
    if "model" in names and has_default_job(document):
        return job.model_copy(update={"sequence_length": JobSpec.model_fields["sequence_length"].default})
    return job


def _job(job: JobSpec, path: str | None, assignments: Sequence[str]) -> JobSpec:
    if path is not None:
        data = read_json(Path(path))
        try:
            job = parse_job(data)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    for assignment in assignments:
        job = apply_set(job, assignment)
    return job


def _outputs(arguments: argparse.Namespace, tools: Tools) -> list[_Output]:
    """The files to write, checked before the work starts."""
    wanted = [
        ("--project", arguments.project, lambda document, _, path: save_project(document, path), False),
        ("--topology", arguments.topology, lambda document, _, path: write_topology(document, path), False),
        ("--traffic", arguments.traffic, lambda _, analysis, path: write_traffic(analysis, path), True),
        ("--picture", arguments.picture, tools.write_picture, False),
        ("--report", arguments.report, _write_report, False),
    ]
    outputs = [
        _Output(option, Path(path), write, needs) for option, path, write, needs in wanted if path is not None
    ]
    for output in outputs:
        _check_output(output)
        if (
            arguments.file is not None
            and output.option != "--project"
            and is_same_file(arguments.file, output.path)
        ):
            raise InputError(
                f"{output.option} {output.path} would replace the drawing that is read; give another file."
            )
    _refuse_same_file(outputs)
    return outputs


def _refuse_same_file(outputs: Sequence[_Output]) -> None:
    """The later output would silently replace the earlier one. A device or pipe takes both."""
    taken: dict[str, str] = {}
    for output in outputs:
        other = taken.setdefault(os.path.realpath(output.path), output.option)
        if other != output.option and (output.path.is_file() or not output.path.exists()):
            raise InputError(f"{other} and {output.option} both name {output.path}; give each its own file.")


def _check_output(output: _Output) -> None:
    suffix = output.path.suffix.lower()
    if output.option == "--picture" and suffix not in PICTURE_SUFFIXES:
        raise InputError(f"--picture {output.path}: the name must end in {', '.join(PICTURE_SUFFIXES)}.")
    if output.option == "--report" and suffix != ".md":
        raise InputError(f"--report {output.path}: the name must end in .md.")
    try:
        is_folder, has_folder = output.path.is_dir(), output.path.absolute().parent.is_dir()
        output.path.exists()  # raises where the name is too long or the folder may not be entered
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{output.option} {output.path}: it cannot be written: {reason}.") from None
    if is_folder:
        raise InputError(f"{output.option} {output.path}: this is a folder; a file is expected.")
    if not has_folder:
        raise InputError(f"{output.option} {output.path}: there is no folder {output.path.parent}.")


def _write_report(document: Document, analysis: Analysis, path: Path) -> None:
    write_atomic(path, report_markdown(document, analysis))
