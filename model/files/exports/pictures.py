"""The drawing as a picture, with the peak loads of its step."""

from __future__ import annotations

from functools import partial

from model.files.exporting import Exported, ExportFormat, ExportOption, ExportSource
from model.placement.types import DIMENSIONS

_THEME = ExportOption("theme", "Theme", "light", (("light", "Light"), ("dark", "Dark")))
_COLOURS = (("auto", "The first that is above size 1"), *((one, one.upper()) for one in DIMENSIONS))
_COLOUR = ExportOption("colour_by", "Colour GPUs by", "auto", _COLOURS)
_SELECTION = ExportOption("selection", "Only the part around these ids (all where empty)", "")
_SCALE = ExportOption("scale", "Pixels for each point (0.5 to 8)", "2")


def _write(source: ExportSource, kind: str) -> Exported:
    painter, analysis = source.painter, source.analysis
    source.progress(0.5, "painting")
    picture = painter.picture(source.document, analysis, kind, source.options)
    notes = (
        ("Left out: loads and colours, as no step could be worked out.",) if analysis.report is None else ()
    )
    return Exported({"": picture.decode("utf-8") if kind == "svg" else picture}, notes)


def _format(kind: str, use: str, options: tuple[ExportOption, ...]) -> ExportFormat:
    return ExportFormat(
        id=f"picture-{kind}",
        name=f"Picture ({kind.upper()})",
        suffix=f".{kind}",
        write=partial(_write, kind=kind),
        use=use,
        lacks="Everything that is too small to see at the size of the picture.",
        options=options,
    )


FORMATS = (
    _format("svg", "Documents and web pages, sharp at any size.", (_THEME, _COLOUR, _SELECTION)),
    _format("pdf", "Print and documents, sharp at any size.", (_THEME, _COLOUR, _SELECTION)),
    _format("png", "Slides and chats.", (_SCALE, _THEME, _COLOUR, _SELECTION)),
)
