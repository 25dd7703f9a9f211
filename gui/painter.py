"""Pictures and printed pages for exports, with or without a window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from gui.canvas.picture import picture_bytes
from gui.report_pages import report_pdf
from model.document.document import Document
from model.errors import InputError
from model.placement.types import DIMENSIONS, Dimension
from model.step.report import Analysis
from model.text import name_list

_THEMES = ("light", "dark")
_LARGEST_SCALE = 8.0


class QtPainter:
    """What exporters are handed to paint with (`model.files.exporting.Painter`)."""

    def picture(self, document: Document, analysis: Analysis, kind: str, options: Mapping[str, str]) -> bytes:
        """A picture as "png", "svg" or "pdf". Raises `InputError` for options that make no sense."""
        theme = options.get("theme", "light")
        if theme not in _THEMES:
            raise InputError(f"theme cannot be {theme!r}; it is one of {', '.join(_THEMES)}.")
        colour = options.get("colour_by", "auto")
        if colour not in ("auto", *DIMENSIONS):
            raise InputError(f"colour_by cannot be {colour!r}; it is one of auto, {', '.join(DIMENSIONS)}.")
        return picture_bytes(
            document,
            analysis,
            kind,
            theme,
            scale=_scale(options.get("scale", "2")),
            colour_by=None if colour == "auto" else cast(Dimension, colour),
            ids=_selected(document, options.get("selection", "")),
        )

    def pages(self, markdown: str, pictures: Mapping[str, bytes], options: Mapping[str, str]) -> bytes:
        """A report as PDF; `paper` is a4 or letter."""
        paper = options.get("paper", "a4")
        if paper not in ("a4", "letter"):
            raise InputError(f"paper cannot be {paper!r}; it is one of a4, letter.")
        return report_pdf(markdown, pictures, paper)


def _scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.5 <= value <= _LARGEST_SCALE:
        raise InputError(f"scale cannot be {text!r}; it is a number from 0.5 to {_LARGEST_SCALE:g}.")
    return value


def _selected(document: Document, text: str) -> tuple[str, ...]:
    """Ids of devices and containers, separated by commas or line ends."""
    ids = tuple(part.strip() for part in text.replace("\n", ",").split(",") if part.strip())
    topology = document.topology
    strange = [ident for ident in ids if not topology.has_device(ident) and not topology.has_container(ident)]
    if strange:
        raise InputError(f"The selection names {name_list(strange)}, which the drawing does not have.")
    return ids
