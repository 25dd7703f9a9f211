"""`railsketch export`: a drawing in the format of another tool."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from model.cli.assignments import assignments
from model.cli.tools import LatePainter, Outcome, Tools, is_same_file
from model.errors import InputError
from model.files.exporting import ExportSource, chosen_options, written
from model.files.opening import open_any
from model.files.registry import export_format
from model.text import name_list, plural


def export(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """Write the export. Raises `InputError` where the format cannot hold the drawing."""
    one = export_format(arguments.format)
    options = chosen_options(one, assignments("--option", arguments.option))
    if one.id != "railsketch-project" and is_same_file(arguments.file, arguments.out):
        raise InputError(f"--out {arguments.out} would replace the drawing that is read; give another file.")
    document = open_any(arguments.file)
    exported = one.write(ExportSource(document, painter=LatePainter(tools.painter), options=options))
    paths = written(exported, Path(arguments.out), one.folder)
    if arguments.json:
        values = {
            "format": one.id,
            "written": [str(path) for path in paths],
            "left_out": list(exported.left_out),
        }
        return Outcome(json.dumps(values, indent=1, ensure_ascii=False))
    where = str(paths[0]) if len(paths) == 1 else f"{plural(len(paths), 'file')} in {arguments.out}"
    names = "" if len(paths) <= 1 else f": {name_list([path.name for path in paths])}"
    left_out = [what.removeprefix("Left out: ") for what in exported.left_out]
    lines = [f"wrote     {where}{names}", *(f"left out  {what}" for what in left_out)]
    return Outcome("\n".join(lines))
