"""The formats of other tools: every module in `imports/` and `exports/` that has `FORMATS`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from model.errors import InputError
from model.files import exports, imports
from model.files.exporting import ExportFormat
from model.files.importing import Imported, ImportFormat, Reading
from model.files.reading_text import Source

Format = TypeVar("Format", ImportFormat, ExportFormat)
HEAD = 65_536  # characters that a sniffer sees
SURE = 20  # the least score that counts as recognised


@cache
def import_formats() -> Mapping[str, ImportFormat]:
    """By id, in the order of their names."""
    return _collected(imports, ImportFormat)


@cache
def export_formats() -> Mapping[str, ExportFormat]:
    """By id, in the order of their names."""
    return _collected(exports, ExportFormat)


def _collected(package: ModuleType, kind: type[Format]) -> Mapping[str, Format]:
    modules = (
        import_module(f"{package.__name__}.{info.name}") for info in pkgutil.iter_modules(package.__path__)
    )
    found = [one for module in modules for one in getattr(module, "FORMATS", ()) if isinstance(one, kind)]
    return {one.id: one for one in sorted(found, key=lambda one: one.name.lower())}


def sniffed(source: Source) -> Sequence[ImportFormat]:
    """The formats that a text may be in, the likeliest first."""
    head = source.text[:HEAD]
    scores = [(one.sniff(head, source.name.lower()), one) for one in import_formats().values()]
    return [one for score, one in sorted(scores, key=lambda pair: -pair[0]) if score >= SURE]


def import_format(ident: str) -> ImportFormat:
    """The format with this id. Raises `InputError` with what may be meant."""
    found = import_formats().get(ident)
    if found is None:
        raise InputError(_no_format(ident, "imported", import_formats(), export_formats()))
    return found


def export_format(ident: str) -> ExportFormat:
    """The format with this id. Raises `InputError` with what may be meant."""
    found = export_formats().get(ident)
    if found is None:
        raise InputError(_no_format(ident, "exported", export_formats(), import_formats()))
    return found


def _no_format(ident: str, done: str, known: Iterable[str], others: Iterable[str]) -> str:
    close = get_close_matches(ident.lower(), known, 3, 0.5)
    if ident in others:
        return f"{ident} cannot be {done}, only the other way round; railsketch formats says what can."
    meant = f"perhaps {' or '.join(close)} is meant" if close else "railsketch formats lists them"
    return f"{ident} is no format that can be {done}; {meant}."


def import_sources(
    sources: Sequence[Source],
    format_id: str | None = None,
    answers: Mapping[str, str] | None = None,
    partial: bool = False,
) -> Imported:
    """Read texts of one format, told by `format_id` or by their look. Raises `InputError`.

    Where a format was named and the text is surely in another one, the message or a note says so.
    """
    reading = Reading(sources, answers, partial)
    one = import_format(format_id) if format_id is not None else _recognised(sources[0])
    if len(sources) > 1 and not one.several:
        raise InputError(f"{one.name} is read from one file at a time; {len(sources)} were given.")
    likely = sniffed(sources[0]) if format_id is not None else ()
    other = f"looks like {likely[0].name} ({likely[0].id})" if likely and one not in likely else ""
    try:
        result = one.read(reading)
    except InputError as error:
        if other:
            raise InputError(f"{error} It {other}.") from None
        raise
    if other:
        reading.contradictory(f"The text {other}; it was read as {one.name}, as it was asked for.")
    return Imported(one, result, reading.notes, tuple(reading.questions), reading.taken)


def _recognised(source: Source) -> ImportFormat:
    likely = sniffed(source)
    if not likely:
        raise InputError(
            f"{source.name} is in none of the formats that can be imported; if it is one of them, name it "
            "(railsketch import --format)."
        )
    return likely[0]
