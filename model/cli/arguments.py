"""The grammar of the command line. Imports nothing heavy, so that the window is up before the rest loads."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from model.errors import InputError
from model.text import capital

DESCRIPTION = (
    "Draw a GPU training cluster, colour the job, and see what each training step puts on every link."
)
EXIT_CODES = "Exit codes: 0 done; 1 done, with findings of severity error; 2 bad input, one line on stderr."
WAYS = ("tray", "host", "beside", "ranks", "compare", "overlay")


class TextWanted(Exception):
    """Help or version was asked for; its message is the text."""


class _Show(argparse.Action):
    """Ends parsing with a text."""

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        text: Callable[[argparse.ArgumentParser], str],
        **rest: Any,
    ):
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **rest)
        self._text = text

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        raise TextWanted(self._text(parser))


class _Parser(argparse.ArgumentParser):
    """Without usage text in errors: those are one line (conventions 38)."""

    def __init__(self, name: str, summary: str, epilog: str = EXIT_CODES) -> None:
        super().__init__(
            prog=f"railsketch {name}".strip(),
            description=summary,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument(
            "-h", "--help", action=_Show, text=lambda parser: parser.format_help(), help="show this text"
        )

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{capital(message)}; see {self.prog} --help.")


def version() -> str:
    """The version of the program, from its installed metadata or, in a checkout, from pyproject.toml."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("railsketch")
    except PackageNotFoundError:
        import tomllib

        text = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
        return str(tomllib.loads(text)["project"]["version"])


def _run() -> _Parser:
    parser = _Parser("run", "Load or build a drawing, place the job, analyse the step and write the results.")
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a project, a topology export, or anything importable"
    )
    parser.add_argument("--template", metavar="ID", help="build this template; see railsketch templates")
    parser.add_argument(
        "--set", action="append", default=[], metavar="key=value", help="a parameter of the template"
    )
    parser.add_argument("--job", metavar="JOB.json", help="the job; without, the file's or a default one")
    parser.add_argument(
        "--job-set", action="append", default=[], metavar="path=value", help="a field, e.g. parallel.tp=8"
    )
    parser.add_argument("--project", metavar="P.json", help="write the project")
    parser.add_argument("--topology", metavar="T.json", help="write the topology export")
    parser.add_argument("--traffic", metavar="X.json", help="write the traffic export")
    parser.add_argument("--picture", metavar="P.png|.svg|.pdf", help="write a picture")
    parser.add_argument("--report", metavar="R.md", help="write a report")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    return parser


def _check() -> _Parser:
    parser = _Parser("check", "Print what is wrong with a drawing and its job, one finding a line.")
    parser.add_argument("file", metavar="FILE", help="a project, a topology export, or anything importable")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    return parser


def _import() -> _Parser:
    parser = _Parser(
        "import",
        "Read a file of another tool, say what was found, and write it as a project or bring it into one.",
        "Exit codes: 0 done; 1 done, and a comparison found differences or ranks have no place; 2 bad input, "
        "one line on stderr.",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="what to read; several of formats that have several"
    )
    parser.add_argument(
        "--project", metavar="P.json", help="write the project; without, only the report is printed"
    )
    parser.add_argument(
        "--format", metavar="F", help="the format; without, it is recognised (railsketch formats)"
    )
    parser.add_argument(
        "--answer", action="append", default=[], metavar="key=value", help="what the format does not say"
    )
    parser.add_argument("--partial", action="store_true", help="leave out what is broken, and list it")
    parser.add_argument("--onto", metavar="PROJECT", help="bring it into this drawing instead")
    parser.add_argument(
        "--as",
        dest="way",
        choices=WAYS,
        help="how: as the node of its trays, on hosts of the same name, beside what is there, as the places "
        "of ranks, compared as built with it, or as what NCCL chose",
    )
    parser.add_argument(
        "--tray", action="append", default=[], metavar="ID", help="with --as tray: only this tray"
    )
    parser.add_argument(
        "--host", metavar="NAME", help="with --as tray: the host in the file; with overlay: in PROJECT"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


def _export() -> _Parser:
    parser = _Parser(
        "export",
        "Write a drawing in the format of another tool, and say what that leaves out.",
        "Exit codes: 0 done; 2 bad input, one line on stderr.",
    )
    parser.add_argument("file", metavar="FILE", help="a project, a topology export, or anything importable")
    parser.add_argument("--format", required=True, metavar="F", help="the format; see railsketch formats")
    parser.add_argument(
        "--out", required=True, metavar="PATH", help="the file, or the folder of several files"
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="key=value", help="a setting of the format"
    )
    parser.add_argument("--json", action="store_true", help="print what was written and left out as JSON")
    return parser


def _listing(name: str, what: str) -> Callable[[], _Parser]:
    def make() -> _Parser:
        parser = _Parser(name, what)
        parser.add_argument("--json", action="store_true", help="print as JSON")
        return parser

    return make


COMMANDS: dict[str, tuple[str, Callable[[], _Parser]]] = {
    "run": ("the main job without a window", _run),
    "check": ("print findings", _check),
    "import": ("read files of other tools", _import),
    "export": ("write files for other tools", _export),
    "formats": (
        "list the formats",
        _listing("formats", "List the formats that can be imported and exported."),
    ),
    "templates": ("list the templates", _listing("templates", "List the templates with their parameters.")),
    "models": ("list the model presets", _listing("models", "List the model presets.")),
    "devices": ("list the devices", _listing("devices", "List the devices of the catalogue by kind.")),
}


def _window() -> _Parser:
    listed = "\n".join(f"  {name:<10} {summary}" for name, (summary, _) in COMMANDS.items())
    parser = _Parser(
        "", DESCRIPTION, f"commands:\n{listed}\n\nrailsketch COMMAND --help says more.\n{EXIT_CODES}"
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="open this project, or anything importable")
    parser.add_argument(
        "--version", action=_Show, text=lambda _: f"railsketch {version()}", help="show the version"
    )
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments, with `command` "window" or a name of `COMMANDS`.

    Raises `InputError` in one sentence, or `TextWanted` with help or version.
    """
    if arguments and arguments[0] in COMMANDS:
        name = arguments[0]
        found = COMMANDS[name][1]().parse_args(arguments[1:])
        found.command = name
        return found
    found = _window().parse_args(arguments)
    found.command = "window"
    if found.file is not None and not _exists(found.file):
        raise InputError(f"{found.file}: there is no such file; the commands are {', '.join(COMMANDS)}.")
    return found


def _exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except OSError as error:
        raise InputError(f"{name}: it cannot be opened: {(error.strerror or str(error)).lower()}.") from None
