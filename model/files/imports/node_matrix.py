"""The matrix of `nvidia-smi topo`, read from whole and from damaged pastes.

Known damage: glued cells and headers, lost cells, rows cut or missing, a missing header, colour codes,
prefixes of terminals and logs. What symmetry does not restore is left unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from model.errors import InputError
from model.files.importing import Reading
from model.text import name_list, plural

CLOSENESS = ("PIX", "PXB", "PHB", "NODE", "SYS")  # PCIe relations, the closest first
P2P = frozenset({"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"})
MOST_NVLINKS = 36
MOST_DEVICES = 160  # columns; no host has as many

_MOST_TABLES = 100
_MOST_LINES = 200_000  # a log of a job around the table, but not one of a month
_MOST_TOLD = 20  # contradictions that are told one by one
_COLOUR = re.compile(r"(?:\x1b|\\x1b|\\e|\^\[|␛)?\[[0-9;]{0,8}m|\x1b\([AB]|\x1b\[[0-9;?]*[A-Za-z]")
_TAIL = re.compile(r"CPU\s*Affinity|NUMA\s*Affinity|GPU\s*NUMA\s*ID", re.IGNORECASE)
_GLUED_NAME = re.compile(r"(?:GPU|NIC)[0-9]+|mlx[0-9]+_(?:bond_?)?[0-9]+")
_GPU = re.compile(r"GPU[0-9]{1,4}\Z")
_NAME = re.compile(r"[A-Za-z][\w.\-]*[0-9][\w.\-]*\Z")
_CELL = re.compile(
    r"NV#?([0-9]+)|SYS|SOC|NODE|PHB|PXB|PIX|CNS|GNS|TNS|NS|DR|OK|U(?![A-Za-z])"
    r"|X(?=NV[0-9]|SYS|SOC|NODE|PHB|PXB|PIX|[^A-Za-z]|\Z)"
)
_BLANKS = re.compile(r"\s*")
_WORDS = ("SYS", "NODE", "PHB", "PXB", "PIX", "NV1")
_LEGEND_NAME = re.compile(r"\b(NIC[0-9]+)\s*:\s*([A-Za-z][\w.\-]*)")
_AFFINITY = re.compile(r"[0-9,\-]*[0-9]\Z|N/A\Z", re.IGNORECASE)


@dataclass(slots=True)
class Row:
    """A row as it stands: its name, cells (None: unreadable), and what comes behind them."""

    name: str
    cells: list[str | None]
    tail: list[str]
    line: int
    glued: bool


@dataclass(slots=True)
class Matrix:
    """What the text says of each pair, by names of columns; lines of it for notes.

    `affinity` and `numa` hold the text of those columns for GPUs that have it. `p2p` tells a matrix of
    `topo -p2p`, whose cells are other words.
    """

    names: tuple[str, ...]
    line: int
    p2p: bool = False
    cells: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    affinity: dict[str, str] = field(default_factory=dict)
    numa: dict[str, str] = field(default_factory=dict)
    legend: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    contradictions: int = 0

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of GPU columns, in order."""
        return tuple(name for name in self.names if _GPU.match(name))

    @property
    def nics(self) -> tuple[str, ...]:
        """Names of the other columns, in order."""
        return tuple(name for name in self.names if not _GPU.match(name))

    def between(self, a: str, b: str) -> str | None:
        """How two devices are joined; None where the text does not say."""
        cell = self.cells.get((a, b)) or self.cells.get((b, a))
        return cell[0] if cell else None


def looks_like_matrix(head: str) -> bool:
    """Whether a text has a header of such a matrix, or rows of one."""
    lines = [_COLOUR.sub("", line) for line in head.split("\n")[:20_000]]
    for number, line in enumerate(lines):
        names = _header(line)
        if names and any(_row(row, _called(names)) for row in lines[number + 1 : number + 4]):
            return True
    return sum(1 for line in lines if _row(line, None)) >= 2


def read_matrix(reading: Reading) -> Matrix:
    """The first matrix of `topo -m` in a text; one of `topo -p2p` only where there is no other.

    Raises `InputError` where there is none.
    """
    count = reading.source.text.count("\n")
    if count > _MOST_LINES:
        raise InputError(
            f"{reading.source.name} has {count:,} lines; a table is looked for in {_MOST_LINES:,} at most; "
            "cut out the part with the output of nvidia-smi topo -m."
        )
    lines = reading.source.lines
    coloured = [number for number, line in enumerate(lines, 1) if _COLOUR.search(line)]
    if coloured:
        reading.inferred("Colour codes of the terminal were taken out.", *coloured)
    plain = [_COLOUR.sub("", line) if "m" in line or "\x1b" in line else line for line in lines]
    headers = [(number, names) for number, line in enumerate(plain, 1) if (names := _header(line))]
    if not headers:
        headers = [_header_from_rows(reading, plain)]
    ends = [number for number, _ in headers[1:]] + [len(plain) + 1]
    chosen: Matrix | None = None
    for (number, names), end in list(zip(headers, ends, strict=True))[:_MOST_TABLES]:
        if chosen is not None and not chosen.p2p:
            reading.ignored(
                "Another table is not drawn; import it by itself if it is of another host.", number
            )
            continue
        matrix = _one_matrix(reading, plain, names, number, end)
        if matrix is None:
            continue
        if chosen is not None:
            reading.ignored("The table of topo -p2p is not drawn.", chosen.line)
        chosen = matrix
    if chosen is None:
        raise InputError(
            f"{reading.source.name}, line {headers[0][0]}: there are columns of GPUs, but no row of one; "
            "the output of nvidia-smi topo -m has a row for each."
        )
    return chosen


def _one_matrix(
    reading: Reading, plain: Sequence[str], names: Sequence[str], line: int, end: int
) -> Matrix | None:
    """The matrix below a header; None where no row follows."""
    matrix = Matrix(_unique(reading, names, line), line)
    rows = _rows(reading, plain, matrix.names, line, end)
    if not matrix.gpus or not rows:
        return None
    has_numa = line > 0 and bool(re.search(r"NUMA\s*Affinity", plain[line - 1], re.IGNORECASE))
    _fill(reading, matrix, rows, has_numa)
    for each in plain[line:end]:
        matrix.legend.update((match[1], match[2]) for match in _LEGEND_NAME.finditer(each))
    return matrix


def _header(line: str) -> list[str] | None:
    """The names of the columns when a line is a header."""
    start = re.search(r"(?<![\w\-])GPU[0-9]+", line)
    if start is None:
        return None
    tail = _TAIL.search(line, start.start())
    names: list[str] = []
    for word in line[start.start() : tail.start() if tail else len(line)].split():
        parts = _GLUED_NAME.findall(word)
        if "".join(parts) == word:
            names += parts
        elif _NAME.match(word) and not _CELL.match(word):
            names.append(word)
        else:
            return None
    return names if names and (tail or len(names) > 1) and len(names) <= MOST_DEVICES else None


def _called(names: Sequence[str]) -> re.Pattern[str]:
    """Finds the name of a row."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w.\-])(?:{pattern})(?![0-9.\-])")


def _row(line: str, names: re.Pattern[str] | None) -> tuple[str, str] | None:
    """The name of a row and the text behind it."""
    if names is None:
        match = re.search(
            r"(?<![\w.\-])((?:GPU|NIC)[0-9]+|mlx[0-9]+_\w+)\s+(?=NV[0-9]|SYS|NODE|PHB|PXB|PIX|X\b)", line
        )
        return (match[1], line[match.end() :]) if match else None
    for match in names.finditer(line):
        rest = line[match.end() :]
        if _CELL.match(rest.lstrip()):
            return match[0], rest
    return None


def _header_from_rows(reading: Reading, plain: Sequence[str]) -> tuple[int, list[str]]:
    """Columns in the order of rows, when the header is cut off."""
    names: list[str] = []
    first = width = 0
    for number, line in enumerate(plain, 1):
        row = _row(line, None)
        if row is not None and row[0] not in names:
            first = first or number
            names.append(row[0])
            width = max(width, len(_cells(row[1], MOST_DEVICES)[0]))
    if not any(_GPU.match(name) for name in names):
        raise InputError(
            f"{reading.source.name} has no table with columns GPU0, GPU1 …; "
            "it should be the output of nvidia-smi topo -m."
        )
    gpus = [name for name in names if _GPU.match(name)]
    nics = [name for name in names if not _GPU.match(name)]
    nics += [f"NIC{number}" for number in range(len(nics), width - len(gpus))]
    reading.inferred("The header is missing: the columns are named by the order of the rows.", first)
    return first - 1, gpus + nics


def _unique(reading: Reading, names: Sequence[str], line: int) -> tuple[str, ...]:
    seen = dict.fromkeys(names)
    if len(seen) < len(names):
        doubled = sorted({name for name in names if names.count(name) > 1})
        reading.contradictory(f"Columns appear twice: {name_list(doubled)}; the first of each counts.", line)
    return tuple(seen)


def _rows(reading: Reading, plain: Sequence[str], names: Sequence[str], start: int, end: int) -> list[Row]:
    """The rows between a header and the next one."""
    called = _called(names)
    rows: list[Row] = []
    for number in range(start + 1, end):
        line = plain[number - 1]
        row = _row(line, called)
        if row is None:
            continue
        name, text = row
        cells, rest, glued = _cells(text, len(names) + 8)
        while rest and not _AFFINITY.match(rest.split()[0]) and len(cells) < len(names):
            word = rest.split()[0]
            if len(rest.split()) == 1 and any(known.startswith(word) for known in _WORDS):
                rest = ""  # the row is cut in the middle of a word
                break
            reading.broken(f"the cell {word[:20]!r} of row {name} is none of X, NV#, PIX, PXB …", number)
            more, rest, also = _cells(rest[len(word) :], len(names) + 8)
            cells += [None, *more]
            glued = glued or also
        rows.append(Row(name, cells, rest.split(), number, glued))
    glued_lines = [row.line for row in rows if row.glued]
    if glued_lines:
        reading.inferred("Cells without a blank between them were taken apart.", *glued_lines)
    return rows


def _cells(text: str, most: int) -> tuple[list[str | None], str, bool]:
    """The cells at the start of a text, the rest, and whether two of them were glued."""
    cells: list[str | None] = []
    position, glued = 0, False
    while len(cells) < most:
        start = _BLANKS.match(text, position)
        begin = start.end() if start else position
        match = _CELL.match(text, begin)
        if match is None:
            break
        glued = glued or (begin == position and position > 0)
        word, position = match[0], match.end()
        if match[1] is not None:
            digits = _nvlinks(match[1], text[position : position + 1])
            position -= len(match[1]) - len(digits)
            glued = glued or len(digits) < len(match[1])
            word = f"NV{int(digits)}"
        cells.append("SYS" if word == "SOC" else word)
    return cells, text[position:].strip(), glued


def _nvlinks(digits: str, following: str) -> str:
    """The digits that count links: "NV180-27" is NV18 with the affinity 0-27 glued to it."""
    while len(digits) > 1 and (following in ("-", ",") or int(digits[:9]) > MOST_NVLINKS):
        digits, following = digits[:-1], ""
    return digits


def _fill(reading: Reading, matrix: Matrix, rows: Sequence[Row], has_numa: bool) -> None:
    """Put rows into the matrix: first what is certain, then what fits it."""
    columns = {name: place for place, name in enumerate(matrix.names)}
    doubtful: list[tuple[Row, int, Sequence[str | None]]] = []
    for row in rows:
        if row.name in matrix.lines:
            reading.contradictory(f"Row {row.name} appears twice; the first counts.", row.line)
            continue
        matrix.lines[row.name] = row.line
        matrix.p2p = matrix.p2p or any(cell in P2P for cell in row.cells)
        if _GPU.match(row.name) and row.tail:
            matrix.affinity[row.name] = row.tail[0]
            if has_numa and len(row.tail) > 1:
                matrix.numa[row.name] = row.tail[1]
        for start, cells, certain in _segments(reading, row, columns[row.name], len(columns)):
            if certain:
                _put(reading, matrix, row, start, cells)
            else:
                doubtful.append((row, start, cells))
    for row, start, cells in doubtful:
        expected = [matrix.cells.get((name, row.name)) for name in matrix.names[start : start + len(cells)]]
        if all(known is None or known[0] == cell for known, cell in zip(expected, cells, strict=True)):
            _put(reading, matrix, row, start, cells)
        else:
            reading.inferred(
                f"Row {row.name} has lost a cell; its cells behind that were taken from the columns.",
                row.line,
            )
    _say_missing(reading, matrix)


def _segments(
    reading: Reading, row: Row, own: int, columns: int
) -> list[tuple[int, Sequence[str | None], bool]]:
    """Parts of a row: the column where each starts, its cells, and whether that is certain.

    A row has its X in its own column, so cells before and behind it can be placed apart. One that is short
    was cut at its end, or has lost a cell somewhere when its last columns are there.
    """
    cells = row.cells
    crosses = [place for place, cell in enumerate(cells) if cell == "X"]
    if len(cells) == columns and crosses == [own]:
        return [(0, cells, True)]
    if len(crosses) != 1:
        reading.inferred(
            f"Row {row.name} has {plural(len(cells), 'cell')} of {columns}; "
            "the rest was taken from the columns.",
            row.line,
        )
        return [(0, cells[:own], False)] if not crosses else []
    cross = crosses[0]
    before, after = cells[:cross], cells[cross + 1 :]
    parts: list[tuple[int, Sequence[str | None], bool]] = [(own, ["X"], True)]
    if cross == own:
        parts.append((0, before, True))
    if len(after) == columns - own - 1:
        parts.append((own + 1, after, True))
    elif len(after) < columns - own - 1 and not row.tail:
        parts.append((own + 1, after, False))
    if len(cells) > columns or (len(cells) == columns and cross != own):
        reading.contradictory(
            f"Row {row.name} has its X in column {cross + 1} and {plural(len(cells), 'cell')}, where it is "
            f"column {own + 1} of {columns}; what cannot be placed was taken from the columns.",
            row.line,
        )
    else:
        reading.inferred(
            f"Row {row.name} has {len(cells)} of {columns} cells; the rest was taken from the columns.",
            row.line,
        )
    return parts


def _put(reading: Reading, matrix: Matrix, row: Row, start: int, cells: Sequence[str | None]) -> None:
    for name, cell in zip(matrix.names[start:], cells, strict=False):
        if cell is None or name == row.name:
            continue
        other = matrix.cells.get((name, row.name))
        if other is not None and other[0] != cell:
            kept = min(cell, other[0], key=_rank)
            matrix.contradictions += 1
            told = f"{row.name} to {name} is {cell}, and {other[0]} the other way; {kept} was taken."
            if matrix.contradictions > _MOST_TOLD:
                told = "More pairs differ in the two directions; the closer relation was taken."
            reading.contradictory(told, other[1], row.line)
            matrix.cells[name, row.name] = (kept, other[1])
            matrix.cells[row.name, name] = (kept, row.line)
        else:
            matrix.cells[row.name, name] = (cell, row.line)


def _rank(cell: str) -> tuple[int, int]:
    """NVLink first, more links before fewer; then by closeness."""
    if cell.startswith("NV"):
        return 0, -int(cell[2:])
    return 1, CLOSENESS.index(cell) if cell in CLOSENESS else len(CLOSENESS)


def _say_missing(reading: Reading, matrix: Matrix) -> None:
    missing = [name for name in matrix.names if name not in matrix.lines]
    if missing and not matrix.p2p:
        reading.inferred(
            f"{'The row' if len(missing) == 1 else 'Rows'} of {name_list(missing, 12)} "
            f"{'is' if len(missing) == 1 else 'are'} missing; the columns were taken for them.",
            matrix.line,
        )


def legend_names(matrix: Matrix) -> Mapping[str, str]:
    """What each NIC is called by its driver: by the legend, or as its column is called."""
    return {name: matrix.legend.get(name, name) for name in matrix.nics}
