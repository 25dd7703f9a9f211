"""Writing a format for the export dialog: what runs in the background, without a window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gui.background_process import Progress
from model.document.document import Content, Document
from model.document.edits import Load
from model.errors import InputError
from model.files.exporting import ExportSource, chosen_options, written
from model.files.registry import export_format

MOST_COPIED = 4_000_000  # characters for the clipboard


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """A format with its options, and the file or folder to write; None for a text to copy."""

    format_id: str
    options: tuple[tuple[str, str], ...] = ()
    target: Path | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The files, or the text that was asked for, and what they leave out."""

    order: ExportOrder
    paths: tuple[Path, ...] = ()
    text: str = ""
    left_out: tuple[str, ...] = ()


def export(progress: Progress, content: Content, order: ExportOrder) -> Written:
    """Write a drawing. Raises `InputError` where the format cannot hold it, or it cannot be written."""
    progress(0.0, "taking the drawing")
    document = Document()
    Load(content).apply(document)
    one = export_format(order.format_id)
    from gui.painter import QtPainter  # the window's libraries, for those that paint

    options = chosen_options(one, dict(order.options))
    exported = one.write(ExportSource(document, None, QtPainter(), options, progress))
    progress(0.99, "writing")
    if order.target is not None:
        return Written(order, written(exported, order.target, one.folder), left_out=exported.left_out)
    text = exported.files.get("")
    if not isinstance(text, str):
        raise InputError(f"{one.name} is no text that could be copied; write it to a file.")
    if len(text) > MOST_COPIED:
        raise InputError(
            f"{one.name} has {len(text) / 1e6:,.1f} million characters here; at most "
            f"{MOST_COPIED / 1e6:,.0f} million are copied. Write it to a file."
        )
    return Written(order, text=text, left_out=exported.left_out)
