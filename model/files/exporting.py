"""What exporters are given and give back.

An exporter is a module in `exports/` with `FORMATS`, a tuple of `ExportFormat`. Formats with pictures in them
get the painter handed in: the model knows no screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Protocol

from model.analysis import analyse
from model.document.document import Document
from model.errors import InputError
from model.files.writing import write_atomic
from model.step.report import Analysis


class Cancelled(Exception):
    """The user gave up an export; raised by `ExportSource.progress`."""


class Painter(Protocol):
    """Makes pictures and printed pages without a window."""

    def picture(self, document: Document, analysis: Analysis, kind: str, options: Mapping[str, str]) -> bytes:
        """A picture as "png", "svg" or "pdf". Options: `scale`, `theme` (light, dark), `selection` (ids)."""

    def pages(self, markdown: str, pictures: Mapping[str, bytes], options: Mapping[str, str]) -> bytes:
        """A report as PDF. `pictures` are PNG by the name that the text refers to."""


class ExportSource:
    """A document on its way out. The analysis is made when it is first asked for, and kept."""

    def __init__(
        self,
        document: Document,
        analysis: Analysis | None = None,
        painter: Painter | None = None,
        options: Mapping[str, str] | None = None,
        progress: Callable[[float, str], None] | None = None,
    ) -> None:
        self.document = document
        self.options = dict(options or {})
        self._given, self._painter, self._progress = analysis, painter, progress

    @cached_property
    def analysis(self) -> Analysis:
        """The whole analysis of the document."""
        if self._given is None:
            self.progress(0.0, "computing the step")
            return analyse(self.document)
        return self._given

    @property
    def painter(self) -> Painter:
        """Raises `InputError` where nothing can paint."""
        if self._painter is None:
            raise InputError("Pictures and printed pages need the window's libraries, which are not there.")
        return self._painter

    def chosen(self, option: ExportOption) -> str:
        """What the user chose, else the default."""
        return self.options.get(option.key, option.default).strip()

    def number(self, option: ExportOption, least: int, most: int) -> int:
        """A whole number that the user chose. Raises `InputError` outside of the bounds."""
        text = self.chosen(option)
        if not (text.isascii() and text.isdigit()) or len(text) > 18 or not least <= int(text) <= most:
            raise InputError(f"{option.key} cannot be {text!r}; it is a number from {least} to {most:,}.")
        return int(text)

    def progress(self, share: float, what: str) -> None:
        """Say how far it is (0 to 1). May raise `Cancelled`; call it at least every 0.1 s of work."""
        if self._progress is not None:
            self._progress(share, what)


@dataclass(frozen=True, slots=True)
class Exported:
    """Files by name (the only one of a single file: ""), and sentences on what they leave out."""

    files: Mapping[str, str | bytes]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportOption:
    """A setting of an exporter: a text, one of `choices` (value, label) where there are some."""

    key: str
    text: str
    default: str
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format that can be written. `folder`: several files, so that the target is a folder.

    `write` raises `InputError` where the format cannot hold the drawing at all, with the reason. `lacks` says
    what the format never carries; `Exported.left_out` what it left out of this drawing.
    """

    id: str
    name: str
    suffix: str
    write: Callable[[ExportSource], Exported]
    use: str
    lacks: str
    folder: bool = False
    options: tuple[ExportOption, ...] = field(default=())


def written(exported: Exported, path: Path, folder: bool) -> tuple[Path, ...]:
    """Write what was exported to a file, or into a folder (made where there is none); gives the paths.

    Raises `InputError` where it cannot be written.
    """
    if not folder:
        if path.is_dir():
            raise InputError(f"{path} is a folder; a file is expected.")
        for content in exported.files.values():
            write_atomic(path, content)
        return (path,)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; this export has several files and needs a folder.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be made: there is no folder {path.absolute().parent}.")
    targets = {name: _inside(path, name) for name in exported.files}
    try:
        for target in targets.values():
            target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be made: {(error.strerror or str(error)).lower()}.") from None
    for name, content in exported.files.items():
        write_atomic(targets[name], content)
    return tuple(targets.values())


def _inside(folder: Path, name: str) -> Path:
    """A file in a folder; names that would lead out of it are refused."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or "\\" in name:
        raise InputError(f'"{name}" is no name for a file in a folder; rename what it is called after.')
    return folder.joinpath(*parts.parts)


def chosen_options(one: ExportFormat, given: Mapping[str, str]) -> dict[str, str]:
    """The options of an export with their defaults. Raises `InputError` for one that it does not have."""
    known = {option.key: option for option in one.options}
    for key, value in given.items():
        if key not in known:
            raise InputError(f'{one.name} has no option "{key}"; it has {", ".join(known) or "none"}.')
        values = [choice for choice, _ in known[key].choices]
        if values and value not in values:
            raise InputError(f"{key} cannot be {value!r}; it is one of {', '.join(values)}.")
    return {key: given.get(key, option.default) for key, option in known.items()}
