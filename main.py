"""Railsketch: `python main.py` opens the window, `python main.py run …` works without one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from model.cli.arguments import TextWanted, parse
from model.errors import RailsketchError

if TYPE_CHECKING:
    import argparse

    from model.cli.tools import Outcome
    from model.document.document import Document
    from model.files.exporting import Painter
    from model.step.report import Analysis


def _open_window(path: str | None) -> int:
    from model.cli.display import require_display

    require_display(os.environ)
    from gui.app import run_window

    return run_window(path)


def _write_picture(document: Document, analysis: Analysis, path: Path) -> None:
    from gui.canvas.picture import write_picture

    write_picture(document, analysis, path)


def _painter() -> Painter:
    from gui.painter import QtPainter

    return QtPainter()


def _execute(arguments: argparse.Namespace) -> Outcome:
    from model.cli.commands import execute
    from model.cli.tools import Tools
    from topology_templates.registry import TEMPLATES, build

    return execute(arguments, Tools(TEMPLATES, build, _write_picture, _painter))


def _answer(arguments: Sequence[str]) -> int:
    try:
        parsed = parse(arguments)
        if parsed.command == "window":
            return _open_window(parsed.file)
        outcome = _execute(parsed)
        text, code = outcome.text, outcome.exit_code
    except TextWanted as wanted:
        text, code = str(wanted), 0
    except RailsketchError as error:
        print(f"railsketch: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(text.rstrip("\n"), flush=True)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; gives the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        return _answer(sys.argv[1:] if arguments is None else arguments)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader went away, as `| head` does
            return 0
        with suppress(OSError):  # nobody reads what went wrong either
            print(f"railsketch: the output cannot be written: {error.strerror}.", file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
