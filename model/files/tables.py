"""Tables with named columns: how devices and links stand in a project, one row a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from model.errors import InputError
from model.files.reading import as_floats, section, shown
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind, State
from model.topology.validity import FLOAT_FIELDS

Thing = TypeVar("Thing", Device, Link, Container)
Kept = Mapping[str, Mapping[str, Any]]
"""By id, the fields that this version does not know."""

_ENUMS: Mapping[type, type[StrEnum]] = {Device: DeviceKind, Link: LinkKind, Container: ContainerKind}


def write_table(things: Sequence[Thing], kind: type[Thing], extra: Kept) -> dict[str, Any]:
    """`{"columns": …, "rows": …}` of things; columns with nothing unusual are left out, unknown ones kept."""
    columns = [
        field.name
        for field in fields(kind)
        if field.default is MISSING or any(getattr(thing, field.name) != field.default for thing in things)
    ]
    idents = (thing.id for thing in things)
    return _table(columns, idents, ([getattr(thing, name) for name in columns] for thing in things), extra)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], extra: Kept) -> dict[str, Any]:
    """A table of plain values, the id first; unknown columns kept."""
    return _table(columns, (row[0] for row in rows), map(list, rows), extra)


def _table(
    columns: Sequence[str], idents: Iterable[str], rows: Iterable[list[Any]], extra: Kept
) -> dict[str, Any]:
    kept = sorted({name for own in extra.values() for name in own} - set(columns))
    if kept:
        rows = ([*row, *map(extra.get(ident, {}).get, kept)] for ident, row in zip(idents, rows, strict=True))
    return {"columns": [*columns, *kept], "rows": list(rows)}


def read_columns(data: Mapping[str, Any], name: str, path: Path) -> tuple[dict[str, Sequence[Any]], int]:
    """The columns of a table by name, and how many rows it has. Raises `InputError` where rows do not fit."""
    table = section(data, name, dict, path)
    columns = section(table, "columns", list, path)
    rows = section(table, "rows", list, path)
    if not all(isinstance(column, str) for column in columns) or len(set(columns)) != len(columns):
        raise InputError(f"{path}: the columns of {name} must be different texts.")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list) or len(row) != len(columns):
            raise InputError(
                f"{path}: {name}, row {number:,} does not have {len(columns)} cells: {shown(row)}."
            )
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    return dict(zip(columns, values, strict=True)), len(rows)


def read_table(
    data: Mapping[str, Any], name: str, kind: type[Thing], path: Path
) -> tuple[list[Thing], dict[str, dict[str, Any]]]:
    """Things of a table, and the fields of each that this version does not know, by id."""
    columns, count = read_columns(data, name, path)
    return make_things(columns, count, kind, f"{path}: {name}")


def make_things(
    columns: dict[str, Sequence[Any]], count: int, kind: type[Thing], where: str
) -> tuple[list[Thing], dict[str, dict[str, Any]]]:
    """Things from columns of JSON values; raises `InputError` naming the thing. Ranges are checked later."""
    arguments: list[Sequence[Any]] = []
    known = {field.name for field in fields(kind)}
    for field in fields(kind):
        values = columns.get(field.name)
        if values is None:
            if field.default is MISSING:
                raise InputError(f"{where} have no {field.name}.")
            values = [field.default] * count
        elif field.name == "kind":
            values = _members(values, _ENUMS[kind], columns, f"{where}: kind")
        elif field.name == "state":
            values = _members(values, State, columns, f"{where}: state")
        elif field.name in FLOAT_FIELDS:
            try:
                values = as_floats(values)
            except InputError:
                raise InputError(f"{where}: {field.name} holds a number that is too large.") from None
        arguments.append(values)
    things = [kind(*values) for values in zip(*arguments, strict=True)]
    return things, unknown_cells(columns, known, [thing.id for thing in things])


def unknown_cells(
    columns: Mapping[str, Sequence[Any]], known: Set[str], idents: Sequence[Any]
) -> dict[str, dict[str, Any]]:
    """What stands in columns that this version does not know, by id."""
    found: dict[str, dict[str, Any]] = {}
    for column in columns.keys() - known:
        for ident, value in zip(idents, columns[column], strict=True):
            if value is not None and isinstance(ident, str):
                found.setdefault(ident, {})[column] = value
    return found


def _members(
    values: Sequence[Any], kind: type[StrEnum], columns: Mapping[str, Sequence[Any]], where: str
) -> list[Any]:
    members = {member.value: member for member in kind}
    try:
        return [members[value] for value in values]
    except (KeyError, TypeError):
        idents = columns.get("id", ())
        for number, value in enumerate(values):
            if not isinstance(value, str) or value not in members:
                ident = idents[number] if number < len(idents) else number + 1
                raise InputError(
                    f"{where} of {shown(ident)} is {shown(value)}; it must be one of {', '.join(members)}."
                ) from None
        raise
