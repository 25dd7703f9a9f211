"""Writes files whole or not at all, and JSON with one item a line, so that it loads fast and diffs well."""

from __future__ import annotations

import glob
import gzip
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from model.errors import InputError
from model.files.reading import backup_path

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_text(data: Any) -> str:
    """JSON text with the items of lists, and the fields of objects that hold lists, on lines of their own.

    Raises ValueError on NaN or infinity: callers hand in finite numbers (`finite`).
    """
    pieces: list[str] = []
    _write(data, 0, pieces)
    return "".join(pieces) + "\n"


def _write(value: Any, depth: int, pieces: list[str]) -> None:
    indent = "\n" + " " * (depth + 1)
    if depth < 3 and isinstance(value, dict) and (depth == 0 or _holds_list(value)):
        separator = "{"
        for name, each in value.items():
            pieces.append(f"{separator}{indent}{_ENCODER.encode(name)}: ")
            _write(each, depth + 1, pieces)
            separator = ","
        pieces.append("\n" + " " * depth + "}" if value else "{}")
    elif depth < 4 and isinstance(value, list) and value and isinstance(value[0], list | dict):
        separator = "["
        for each in value:
            pieces.append(f"{separator}{indent}{_ENCODER.encode(each)}")
            separator = ","
        pieces.append("\n" + " " * depth + "]")
    else:
        pieces.append(_ENCODER.encode(value))


def _holds_list(value: dict[str, Any]) -> bool:
    return any(isinstance(each, list | dict) for each in value.values())


def with_kept(own: dict[str, Any], kept: Mapping[str, Any] | None) -> dict[str, Any]:
    """`own` and the fields that are only kept; what this version knows is never overwritten by them."""
    return own | {name: value for name, value in (kept or {}).items() if name not in own}


def finite(value: float | None) -> float | None:
    """A number that JSON can hold; what is not finite becomes null."""
    return float(value) if value is not None and math.isfinite(value) else None


def write_atomic(path: Path, text: str | bytes, *, backup: bool = False) -> None:
    """Put `text` (gzipped where the name ends in .gz) in place of the file, or leave everything as it was.

    With `backup` the version before stays beside it as `.bak`. Raises `InputError` when it cannot be written.
    """
    try:
        data = text.encode("utf-8") if isinstance(text, str) else text
        if path.suffix == ".gz":
            data = gzip.compress(data, compresslevel=6, mtime=0)
        if path.exists() and not path.is_file():
            _write_through(path, data)
        else:
            _replace(path.resolve() if path.is_symlink() else path, data, backup)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that go round
        reason = (getattr(error, "strerror", None) or str(error)).rstrip(".").lower()
        raise InputError(f"{path} cannot be written: {reason}.") from None


def _write_through(target: Path, data: bytes) -> None:
    """Into a device or pipe, which cannot be replaced."""
    with target.open("wb") as file:
        file.write(data)


def _replace(target: Path, data: bytes, backup: bool) -> None:
    _clear_leftovers(target)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode(target))
        if backup and target.exists():
            _keep(target)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _clear_leftovers(target: Path) -> None:
    """Remove what a killed program left halfway; an hour later nobody is still writing it."""
    with suppress(OSError):
        for left in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
            if time.time() - left.stat().st_mtime > 3600:
                left.unlink(missing_ok=True)


def _keep(target: Path) -> None:
    """Copy the present version to `.bak`, itself replaced whole."""
    kept = backup_path(target)
    halfway = kept.with_name(kept.name + ".tmp")
    shutil.copy2(target, halfway)
    halfway.replace(kept)


def _mode(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
