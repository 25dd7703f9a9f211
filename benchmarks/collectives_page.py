"""Tables inside a page of the docs: the words stay, what stands between the marks is written anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

Table = list[list[str]]


def markdown(rows: Table) -> str:
    """Rows as a table; the first holds the heads."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def with_tables(text: str, tables: Mapping[str, Table]) -> str:
    """`text` with each table between its marks. Raises ValueError when a mark is missing."""
    for name, rows in tables.items():
        start, end = f"<!-- table {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
        around = pattern.split(text)
        if len(around) != 2:
            raise ValueError(f"the page has {len(around) - 1} places for the table {name}, not one")
        text = f"{around[0]}{start}\n\n{markdown(rows)}\n\n{end}{around[1]}"
    return text


def write_tables(page: Path, tables: Mapping[str, Table]) -> None:
    """Put the tables into a page."""
    page.write_text(with_tables(page.read_text("utf-8"), tables), "utf-8")
