"""How values of the job are typed and shown in text fields. No Qt.

Each `read_*` gives the value that was typed; what is none stays text, so that the job refuses it in words.
An empty text is None ("from the other fields", "no limit").
"""

from __future__ import annotations

import re

_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6}
_NUMBER = re.compile(r"([0-9][0-9.,\u202f ]*(?:e[+-]?[0-9]+)?)\s*(%|[a-zµ]*)", re.IGNORECASE)


def read_count(text: str) -> object:
    """A whole number; "1,024" is one."""
    digits = re.sub(r"[,\s]", "", text)
    return None if not digits else int(digits) if re.fullmatch(r"-?[0-9]+", digits) else text


def read_decimal(text: str) -> object:
    """A number with point or comma."""
    if not text.strip():
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text


def read_counts(text: str) -> object:
    """Whole numbers with anything but digits between them: "7, 9, 16" or "7-9-16"."""
    if not text.strip():
        return None
    if re.search(r"[^0-9,;\s-]", text):
        return text
    return [int(part) for part in re.findall(r"[0-9]+", text)]


def read_share(text: str) -> object:
    """ "42 %" or "0.42"; without a sign a number above 1 is percent too."""
    number, unit = _split(text)
    if not isinstance(number, float) or unit not in ("", "%"):
        return number if number is None else text
    return number / 100 if unit == "%" or number > 1 else number


def read_bytes(text: str) -> object:
    """ "25 MB", "25 MiB" or bare bytes."""
    number, unit = _split(text)
    if not isinstance(number, float) or unit not in _BYTES:
        return number if number is None else text
    return round(number * _BYTES[unit])


def read_seconds(text: str) -> object:
    """ "1.5 ms" or bare seconds."""
    number, unit = _split(text)
    if not isinstance(number, float) or unit not in _SECONDS:
        return number if number is None else text
    return number * _SECONDS[unit]


def bytes_text(value: float) -> str:
    """Bytes without loss in the largest unit that writes them shortly: 26214400 → "25 MiB"."""
    best = f"{value:.10g} B"
    for unit in ("kB", "MB", "GB", "KiB", "MiB", "GiB"):
        number = value / _BYTES[unit.lower()]
        text = f"{number:.3f}".rstrip("0").rstrip(".")
        if number >= 1 and float(text) * _BYTES[unit.lower()] == value and len(text) < len(best.split()[0]):
            best = f"{text} {unit}"
    return best


def share_text(value: float) -> str:
    """0.425 → "42.5 %"."""
    return f"{value * 100:.10g} %"


def seconds_text(value: float) -> str:
    """0.0015 → "1.5 ms"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.10g} {unit}"
    return f"{value / 1e-6:.10g} µs"


def _split(text: str) -> tuple[float | str | None, str]:
    """Number and unit in small letters; None when nothing was typed, the text when it is no number."""
    if not text.strip():
        return None, ""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return text, ""
    try:
        return float(re.sub(r"[\s\u202f]", "", found[1]).replace(",", ".")), found[2].lower()
    except ValueError:
        return text, ""
