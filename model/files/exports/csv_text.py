"""Tables as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a cell starts with that spreadsheets work out


def csv_text(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A header and rows, separated by commas, quoted where needed; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def sheet_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """As `csv_text`, for people who open it in a spreadsheet: names that it would take for a formula (they
    may come from files of others) get a "'" before them. Not for tables that are read back.
    """
    return csv_text([_plain(cell) for cell in header], ([_plain(cell) for cell in row] for row in rows))


def _plain(cell: object) -> object:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def number(value: float | None) -> str:
    """A number without digits that say nothing: 400.0 → "400", None → ""."""
    return "" if value is None else f"{value:.10g}"
