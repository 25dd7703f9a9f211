"""Tables as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header and rows, separated by commas, quoted where needed; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def number(value: float | None) -> str:
    """A number without digits that say nothing: 400.0 → "400", None → ""."""
    return "" if value is None else f"{value:.10g}"
