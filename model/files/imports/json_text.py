"""JSON of other tools, and the lines that its parts stand in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from model.files.reading import parse_json
from model.files.reading_text import Source

_GAP = re.compile(r"[\s,]*")


def parse_object(source: Source) -> dict[str, Any]:
    """The JSON object in a text. Raises `InputError` for anything else, also NaN and repeated fields."""
    return parse_json(source.text.encode("utf-8", "replace"), Path(source.name))


def item_lines(text: str, key: str) -> list[int]:
    """The line of each item in the first list called `key` of a text that is valid JSON."""
    opening = re.search(rf'"{re.escape(key)}"\s*:\s*\[', text)
    if opening is None:
        return []
    decoder = json.JSONDecoder()
    lines: list[int] = []
    position, counted, line = opening.end(), 0, 1
    while True:
        gap = _GAP.match(text, position)
        position = gap.end() if gap else position
        if position >= len(text) or text[position] == "]":
            return lines
        line += text.count("\n", counted, position)
        counted = position
        lines.append(line)
        try:
            _, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return lines


def text_of(value: object) -> str:
    """A scalar of JSON or YAML as a text; empty for none, lists and objects."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip() if isinstance(value, str | int | float) else ""
