"""Reads JSON files from anywhere: each way of being unusable is an `InputError` with one sentence."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from model.errors import InputError

LARGEST_FILE = 2**28  # bytes; a project of 16,384 GPUs has about 2**24
_DEEPEST = 64
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_GZIP_MAGIC = b"\x1f\x8b"
Value = TypeVar("Value")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file, gzipped or not. Raises `InputError`; NaN and Infinity are refused."""
    return parse_json(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """The content of a file, unzipped when it is gzipped; at most 256 MiB. Raises `InputError`."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder; a file is expected.")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}.") from None
    if data[:2] == _GZIP_MAGIC:
        data = _unzip(data, path)
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path} is larger than 256 MiB; that is more than any drawing needs.")
    return data


def _unzip(data: bytes, path: Path) -> bytes:
    """One or more gzip members, one after the other."""
    text = b""
    while data and len(text) <= LARGEST_FILE:
        unzip = zlib.decompressobj(wbits=31)
        try:
            text += unzip.decompress(data, LARGEST_FILE + 1 - len(text))
        except zlib.error:
            raise InputError(f"{path} is a broken gzip file.{_hint(path)}") from None
        if not unzip.eof and len(text) <= LARGEST_FILE:
            raise InputError(f"{path} ends too early: it was not written to its end.{_hint(path)}")
        data = unzip.unused_data.lstrip(b"\0")  # files are padded with zeros by some tools
    return text


def parse_json(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in `data`; `path` is for the messages."""
    if not data.strip():
        raise InputError(f"{path} is empty.{_hint(path)}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a JSON text in UTF-8.") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            message = f"{path} ends too early (line {error.lineno}): it was not written to its end."
        else:
            message = f"{path} is no valid JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        raise InputError(message + _hint(path)) from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a file of this program.") from None
    except _FieldTwice as error:
        raise InputError(
            f"{path} has the field {shown(str(error))} twice in one object.{_hint(path)}"
        ) from None
    except ValueError as error:
        raise InputError(f"{path} holds a number that cannot be used: {error}.") from None
    if _SURROGATE.search(text) and _holds_half_character(value):
        raise InputError(f"{path} holds half a character (\\ud800 to \\udfff on its own), which is no text.")
    if not isinstance(value, dict):
        raise InputError(f"{path} holds a JSON {_type_name(value)}; an object is expected.")
    return value


def _holds_half_character(value: object) -> bool:
    """Whether a text in it cannot be written again: JSON may spell surrogates that belong to no pair."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


class _FieldTwice(Exception):
    """An object has two fields of this name, of which all but the last would be lost."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _FieldTwice(next(name for name in found if names.count(name) > 1))
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _hint(path: Path) -> str:
    backup = backup_path(path)
    return f" The version before it is in {backup.name}." if backup.is_file() else ""


def backup_path(path: Path) -> Path:
    """Where the last good version of a saved file is kept."""
    return path.with_name(path.name + ".bak")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".").lower()


def _type_name(value: object) -> str:
    names = {list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def check_version(data: Mapping[str, Any], newest: int, path: Path) -> int:
    """The format version of a file. Raises `InputError` when it is newer than this program or no version."""
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(
            f"{path} says no usable version: {shown(version)} instead of a whole number from 1 on."
        )
    if version > newest:
        raise InputError(
            f"{path} was written by a newer version of Railsketch "
            f"(format version {version:,}; this one reads up to {newest})."
        )
    return version


def check_plain(value: object, where: str, depth: int = 0) -> None:
    """Raise `InputError` when a field that is only kept could not be written again."""
    if depth > _DEEPEST:
        raise InputError(f"{where} is nested too deeply.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where} holds a number that is too large.")
    if isinstance(value, dict):
        for each in value.values():
            check_plain(each, where, depth + 1)
    elif isinstance(value, list):
        for each in value:
            check_plain(each, where, depth + 1)


def section(data: Mapping[str, Any], name: str, kind: type[Value], path: Path) -> Value:
    """The field `name`, which must be there and of this type."""
    value = data.get(name)
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "a text" if kind is str else "an object"
        found = f"not {shown(value)}" if name in data else "and is missing"
        raise InputError(f"{path}: {name} must be {wanted}, {found}.")
    return value


def as_floats(values: Sequence[Any]) -> list[Any]:
    """Whole numbers as floats; anything else as it is (what is no number is refused later, by name)."""
    try:
        return [float(value) if type(value) is int else value for value in values]
    except OverflowError:
        raise InputError("a number is too large") from None


def shown(value: object) -> str:
    """A value of a file in a message, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"
