"""What the command line is handed from above the model: templates, and the writer of pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from model.document.document import Document
from model.document.start import Content
from model.files.exporting import Painter
from model.step.report import Analysis


class Template(Protocol):
    """What a template says of itself."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def parameters(self) -> type[BaseModel]: ...


@dataclass(frozen=True, slots=True)
class Tools:
    """`build` gives the content of a template from its id and parameters, or raises `InputError`. `painter`
    makes the pictures and pages of exports.
    """

    templates: Mapping[str, Template]
    build: Callable[[str, Mapping[str, Any]], Content]
    write_picture: Callable[[Document, Analysis, Path], None]
    painter: Callable[[], Painter]


class LatePainter:
    """A painter that is made when it first paints: most exports need no screen, and none of its libraries."""

    def __init__(self, make: Callable[[], Painter]) -> None:
        self._make = make

    def picture(self, document: Document, analysis: Analysis, kind: str, options: Mapping[str, str]) -> bytes:
        """See `Painter`."""
        return self._make().picture(document, analysis, kind, options)

    def pages(self, markdown: str, pictures: Mapping[str, bytes], options: Mapping[str, str]) -> bytes:
        """See `Painter`."""
        return self._make().pages(markdown, pictures, options)


def is_same_file(read: str, written: str | Path) -> bool:
    """Whether an output would replace a file that is read. A device or pipe is not replaced."""
    return os.path.realpath(read) == os.path.realpath(written) and Path(read).is_file()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command prints, and the exit code of the program."""

    text: str
    exit_code: int = 0
