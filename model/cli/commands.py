"""Runs a command that was parsed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from model.cli import listings
from model.cli.check import check
from model.cli.export import export
from model.cli.formats import formats
from model.cli.importing import import_files
from model.cli.run import run
from model.cli.tools import Outcome, Tools

_COMMANDS: Mapping[str, Callable[[argparse.Namespace, Tools], Outcome]] = {
    "run": run,
    "check": check,
    "import": import_files,
    "export": export,
    "formats": formats,
    "templates": listings.templates,
    "models": listings.models,
    "devices": listings.devices,
}


def execute(arguments: argparse.Namespace, tools: Tools) -> Outcome:
    """What the command prints and its exit code. Raises `RailsketchError` on bad input (exit 2)."""
    return _COMMANDS[arguments.command](arguments, tools)
