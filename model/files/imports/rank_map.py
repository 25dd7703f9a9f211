"""A table of ranks: `rank,host,local,gpu` with a header, as this program writes it or as people make it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from model.errors import InputError
from model.files.importing import ImportFormat, RankPlace, RankPlacement, Reading
from model.files.imports.rank_places import (
    MOST_RANKS,
    check_rank_count,
    host_problem,
    placement,
    with_local_order,
)
from model.files.reading import shown

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "rank": ("rank", "globalrank", "worldrank", "procid"),
    "host": ("host", "hostname", "node", "nodename", "server"),
    "local": ("local", "localrank", "localindex", "localid", "localgpu", "gpuindex", "gpurank"),
    "gpu": ("gpu", "gpuid", "device", "deviceid"),
}
_SEPARATORS = (",", ";", "\t", "|")
_LONGEST_ID = 200
_NUMBER = re.compile(r"\d{1,9}")


def _role(cell: str) -> str | None:
    plain = re.sub(r"[\s_\-.]", "", cell.strip().strip('"').lower())
    return next((role for role, names in _COLUMNS.items() if plain in names), None)


def _header(line: str) -> tuple[str, list[str | None]] | None:
    """The separator and the roles of the columns, when a line is a header with a rank and a place."""
    for separator in _SEPARATORS:
        roles = [_role(cell) for cell in line.split(separator)[:200]]
        if "rank" in roles and ("host" in roles or "gpu" in roles):
            return separator, roles
    return None


def sniff(head: str, name: str) -> int:
    """Certain when the first line names a rank and where it runs."""
    said = islice((line for line in head.split("\n") if line.strip() and not _is_comment(line)), 1)
    return 90 if any(_header(line) for line in said) else 0


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#") or line.lower().startswith("sep=")


def read(reading: Reading) -> RankPlacement:
    """The ranks on their hosts and GPUs; columns that are not known are left out."""
    lines = reading.source.lines
    start = next((i for i, line in enumerate(lines) if line.strip() and not _is_comment(line)), 0)
    found = _header(lines[start])
    if found is None:
        raise InputError(
            f"{reading.source.name}, line {start + 1}: the first line must name the columns rank and host "
            f"(rank,host,local,gpu), not {shown(lines[start])}."
        )
    separator, roles = found
    _check_roles(reading, lines[start].split(separator), roles, start + 1)
    places: list[RankPlace] = []
    for number, cells in _rows(reading, lines, start + 1, separator):
        place = _place(reading, dict(_by_role(roles, cells)), number)
        if place is not None:
            check_rank_count(reading, len(places) + 1, number)
            places.append(place)
    if any(place.local is None and place.gpu is None for place in places):
        places = with_local_order(reading, places)
    _check_shared(reading, places)
    return placement(reading, places, "rank")


def _check_roles(reading: Reading, names: Sequence[str], roles: Sequence[str | None], line: int) -> None:
    for role in _COLUMNS:
        if roles.count(role) > 1:
            raise InputError(f"{reading.source.name}, line {line}: two columns name the {role}.")
    for name, known in zip(names, roles, strict=False):
        if known is None:
            reading.ignored(f"The column {shown(name.strip())} is not read.", line)


def _rows(
    reading: Reading, lines: Sequence[str], start: int, separator: str
) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header with the number of their first line."""
    rows = csv.reader((line + "\n" for line in lines[start:]), delimiter=separator, skipinitialspace=True)
    while True:
        number = start + rows.line_num + 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            reading.broken(f"this row cannot be read as a table ({error})", number)
            continue
        if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
            yield number, [cell.strip() for cell in cells]


def _by_role(roles: Sequence[str | None], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    for role, cell in zip(roles, cells, strict=False):
        if role is not None:
            yield role, cell


def _place(reading: Reading, row: Mapping[str, str], number: int) -> RankPlace | None:
    rank, host, local, gpu = (row.get(role, "") for role in _COLUMNS)
    if not _NUMBER.fullmatch(rank) or int(rank) >= MOST_RANKS:
        reading.broken(f"a rank is a number from 0 to {MOST_RANKS - 1:,}, not {shown(rank)}", number)
    elif local and not _NUMBER.fullmatch(local):
        reading.broken(f"a local index is a number from 0 on, not {shown(local)}", number)
    elif not host and not gpu:
        reading.broken(f"rank {rank} has neither a host nor a GPU", number)
    elif gpu and not _is_id(gpu):
        reading.broken(f"{shown(gpu)} is no id of a GPU", number)
    elif host and host_problem(host) and not (gpu and _is_id(host)):  # a drawing may call its hosts anything
        reading.broken(host_problem(host), number)
    elif _NUMBER.fullmatch(gpu) and not local:
        # People who make such a table number the GPUs of a host; ids of devices are seldom bare numbers.
        return RankPlace(int(rank), host, int(gpu), line=number)
    else:
        return RankPlace(int(rank), host, int(local) if local else None, gpu or None, number)
    return None


def _is_id(text: str) -> bool:
    """Whether a drawing could call something so."""
    return len(text) <= _LONGEST_ID and text.isprintable()


def _check_shared(reading: Reading, places: Sequence[RankPlace]) -> None:
    """One GPU plays one rank."""
    taken: dict[tuple[str, object], RankPlace] = {}
    for place in places:
        key = (place.host, place.local) if place.gpu is None else ("", place.gpu)
        first = taken.setdefault(key, place)
        if first is not place:
            where = place.gpu if place.gpu is not None else f"GPU {place.local} of {place.host}"
            reading.contradictory(
                f"Ranks {first.rank} and {place.rank} both take {where}.", first.line, place.line
            )


FORMATS = (
    ImportFormat(
        id="rank-map-csv",
        name="Rank map (CSV)",
        suffixes=(".csv", ".tsv", ".txt"),
        sniff=sniff,
        read=read,
        how="railsketch export --format rank-map-csv, or a table with columns rank, host and local or gpu.",
        carries="Which host and which GPU each rank runs on.",
        lacks="The cluster: it is applied to one that is open and has hosts of these names.",
    ),
)
