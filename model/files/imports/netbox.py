"""Cables and devices from NetBox: the CSV that it imports, and the tables that it exports.

Tables of cables have the fields of NetBox's CableImportForm (side_a_device, side_a_type, side_a_name …, type,
status, length, length_unit) or its display headings (Device A, Termination A …); tables of devices have name,
role, rack, position and height. Several tables are read together.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, NoteKind, Question, Reading
from model.files.imports.cabling import Box, Cable, Cabling, End
from model.files.imports.cabling_drawing import draw
from model.files.imports.cabling_roles import role_of_word
from model.files.reading_text import Source
from model.text import plural
from model.topology.types import LinkKind, State

MOST_FANS = 64  # ends of one side of a cable
_LONGEST_CELL = 10_000
_HEADINGS = {  # our name for a column: how NetBox writes it, in lower case without signs
    "device_a": (
        "side a device",
        "device a",
        "side a parent",
        "a device",
        "termination a device",
        "parent a",
    ),
    "device_b": (
        "side b device",
        "device b",
        "side b parent",
        "b device",
        "termination b device",
        "parent b",
    ),
    "port_a": (
        "side a name",
        "termination a",
        "a terminations",
        "side a termination",
        "interface a",
        "a name",
    ),
    "port_b": (
        "side b name",
        "termination b",
        "b terminations",
        "side b termination",
        "interface b",
        "b name",
    ),
    "type_a": ("side a type", "termination a type", "a type"),
    "type_b": ("side b type", "termination b type", "b type"),
    "rack_a": ("rack a",),
    "rack_b": ("rack b",),
    "site_a": ("site a", "side a site"),
    "site_b": ("site b", "side b site"),
    "type": ("type", "cable type"),
    "status": ("status",),
    "length": ("length", "length m"),
    "unit": ("length unit", "unit"),
    "name": ("name", "device", "device name"),
    "role": ("role", "device role"),
    "rack": ("rack", "rack name"),
    "site": ("site",),
    "location": ("location",),
    "position": ("position", "position u", "rack position", "u position"),
    "height": ("height", "height u", "u height", "u_height"),
}
_METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "km": 1000.0, "ft": 0.3048, "in": 0.0254, "mi": 1609.344}
_UNITS = {"meter": "m", "metre": "m", "centimeter": "cm", "kilometer": "km", "feet": "ft", "foot": "ft"}
_UNITS |= {"inch": "in", "inches": "in", "mile": "mi"}
_LENGTH = re.compile(r"\s*(\d{1,9}(?:[.,]\d{1,9})?)\s*([a-zA-Z]{0,12})\s*")
_NO_NETWORK = re.compile(r"power|console|rear|front|circuit", re.IGNORECASE)


def read(reading: Reading) -> Drawing:
    """The cables and devices of all tables as a drawing. Raises `InputError` where a table is neither."""
    tables = [_Table(source) for source in reading.sources]
    ports = _Interfaces()
    for table in tables:
        if table.lists_parts and len(tables) > 1:
            ports.read(table)
    cabling = Cabling(reading, _network(reading, ports))
    for table in tables:
        if table.has_cables:
            _Cables(reading, cabling, table).read()
    for table in tables:
        if not table.has_cables and not (table.lists_parts and len(tables) > 1):
            _devices(reading, cabling, table)
    ports.give_rates(cabling)
    if not cabling.boxes:
        raise InputError(f"{reading.source.name} has headings, and no cable and no device below.")
    return draw(cabling, reading.source.name.partition(".")[0])


class _Interfaces:
    """What tables of interfaces say: the speed of each (bytes/s), and whether one is InfiniBand."""

    def __init__(self) -> None:
        self.infiniband = False
        self._rates: dict[End, float] = {}

    def read(self, table: _Table) -> None:
        """Take speeds, which NetBox has in kb/s."""
        for _, row in table.rows():
            self.infiniband |= row.get("type", "").lower().startswith("infiniband")
            speed = row.get("speed", "")
            if re.fullmatch(r"[1-9][0-9]{0,11}", speed) and row.get("device_of_part"):
                self._rates[End(row["device_of_part"], row["name"])] = int(speed) * 1e3 / 8

    def give_rates(self, cabling: Cabling) -> None:
        """A cable is as fast as the slower of its two ports; as the one that is known."""
        for cable in cabling.cables:
            known = [self._rates[end] for end in cable.ends() if end in self._rates]
            cable.rate = min(known, default=0.0)


def _network(reading: Reading, ports: _Interfaces) -> LinkKind:
    choices = (("ethernet", "Ethernet"), ("infiniband", "InfiniBand"))
    default = "infiniband" if ports.infiniband else "ethernet"
    why = "Switches and network cards follow from it."
    question = Question("network", "Which network is it?", default, choices, why=why)
    return LinkKind(reading.ask(question))


class _Table:
    """A CSV text: its columns by our names, and its rows with their lines."""

    def __init__(self, source: Source) -> None:
        self.source = source
        text = source.text.lstrip("\n")
        self._skipped = len(source.text) - len(text)
        if text.lower().startswith("sep=") and "\n" in text:
            line, _, text = text.partition("\n")
            self._skipped += 1
            self._delimiter = line[4:5] or ","
        else:
            self._delimiter = _delimiter(text.partition("\n")[0])
        self._text = text
        self.line = 1
        headings = next(self._cells(), [])
        plain_headings = {_plain(heading) for heading in headings[:200]}
        self.lists_parts = {"device", "name"} <= plain_headings  # interfaces, ports … of devices
        parts = {"name": "name", "device": "device_of_part", "speed": "speed", "speed kbps": "speed"}
        self.columns: dict[str, int] = {}
        self.unknown: list[str] = []
        for place, heading in enumerate(headings[:200]):
            plain = _plain(heading)
            ours = next((name for name, known in _HEADINGS.items() if plain in known), "")
            if self.lists_parts and plain in parts:
                ours = parts[plain]
            if ours:
                self.columns.setdefault(ours, place)
            elif plain:
                self.unknown.append(heading.strip()[:40])
        self.has_cables = "port_a" in self.columns and "port_b" in self.columns
        if not self.has_cables and "name" not in self.columns:
            raise InputError(
                f"{source.name} is no table of NetBox: its first line has neither the two ends of a cable "
                "(side_a_device, side_a_name, side_b_device, side_b_name) nor the name of a device."
            )

    def _cells(self) -> Iterator[list[str]]:
        # Not a StringIO: it would take a lone carriage return in a cell for the end of a line.
        lines = (line + "\n" for line in self._text.split("\n"))
        reader = csv.reader(lines, delimiter=self._delimiter, skipinitialspace=True)
        try:
            for cells in reader:
                self.line = self._skipped + reader.line_num
                yield cells
        except csv.Error as error:
            line = self._skipped + reader.line_num
            raise InputError(f"{self.source.name}, line {line}: this is no CSV: {error}.") from None

    def rows(self) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Line and cells by our names, of each row that is not empty."""
        for cells in islice(self._cells(), 1, None):
            if any(cell.strip() for cell in cells):
                found = {
                    name: cells[place].strip()[:_LONGEST_CELL] if place < len(cells) else ""
                    for name, place in self.columns.items()
                }
                yield self.line, {name: "" if cell == "—" else cell for name, cell in found.items()}


def _delimiter(line: str) -> str:
    """The sign between the headings."""
    return max(",;\t|", key=lambda sign: (line.count(sign), sign == ","))


def _plain(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", heading[:80].lower()).strip()


class _Cables:
    """The rows of a table of cables."""

    def __init__(self, reading: Reading, cabling: Cabling, table: _Table) -> None:
        self._reading = reading
        self._cabling = cabling
        self._table = table

    def read(self) -> None:
        """Take each row as a cable, or as several where it fans out."""
        if self._table.unknown:
            names = ", ".join(self._table.unknown[:8])
            self._note(NoteKind.IGNORED, f"Columns that say nothing about a drawing: {names}.", 1)
        for line, row in self._table.rows():
            kinds = [row.get("type_a", ""), row.get("type_b", "")]
            odd = next((kind for kind in kinds if _NO_NETWORK.search(kind)), "")
            if odd:
                self._note(NoteKind.IGNORED, f"Cables to ports that are {odd[:40]} were left out.", line)
                continue
            sides = [self._ends(row, side, line) for side in ("a", "b")]
            if sides[0] and sides[1]:
                self._row(sides[0], sides[1], row, line)

    def _note(self, kind: NoteKind, text: str, line: int) -> None:
        self._reading.note(kind, text, (line,), self._table.source)

    def _ends(self, row: Mapping[str, str], side: str, line: int) -> list[End]:
        """The ends of one side: several where a cable fans out. "leaf01 > swp1" holds the device, too."""
        device, ports = row.get(f"device_{side}", ""), row[f"port_{side}"]
        found = []
        for text in [each.strip() for each in re.split(r"[,\n]", ports)[: MOST_FANS + 1] if each.strip()]:
            before, arrow, after = text.partition(" > ")
            own, port = (before.strip(), after.strip()) if arrow else (device, text)
            if own:
                found.append(End(own, port))
        if not found and device:
            found = [End(device)]
        if not found:
            self._reading.broken(
                f"side {side.upper()} of a cable names no device"
                if ports
                else f"a cable has no side {side.upper()}",
                line,
                self._table.source,
            )
        if len(found) > MOST_FANS:
            self._reading.broken(
                f"a cable with more than {MOST_FANS} ends on a side", line, self._table.source
            )
            return []
        return found

    def _row(self, first: Sequence[End], second: Sequence[End], row: Mapping[str, str], line: int) -> None:
        state = self._state(row.get("status", ""), line)
        length = self._length(row, line)
        pairs = _pairs(first, second)
        if not pairs:
            self._reading.broken(
                f"a cable joins {len(first)} ends to {len(second)}", line, self._table.source
            )
            return
        for ends, rack in ((first, row.get("rack_a", "")), (second, row.get("rack_b", ""))):
            for end in ends:
                box = self._cabling.box(end.box, line)
                box.rack = box.rack or rack
        fans = len(pairs) > 1 and len(pairs) != min(len(first), len(second))
        if fans:
            self._note(NoteKind.INFERRED, "Cables that fan out are drawn as a link to each end.", line)
        for a, b in pairs:
            self._cabling.cable(
                Cable(a, b, line, length_m=length, state=state, fans=fans), self._table.source
            )

    def _state(self, status: str, line: int) -> State:
        plain = status.strip().lower()
        if plain == "decommissioning":
            self._note(NoteKind.INFERRED, "Cables that are being taken out are drawn as down.", line)
            return State.DOWN
        if plain == "planned":
            self._note(NoteKind.INFERRED, "Planned cables are drawn like those that are there.", line)
        elif plain not in ("", "connected"):
            self._note(NoteKind.IGNORED, f"The status {plain[:40]} of cables means nothing here.", line)
        return State.UP

    def _length(self, row: Mapping[str, str], line: int) -> float | None:
        text = row.get("length", "")
        if not text:
            return None
        found = _LENGTH.fullmatch(text)
        unit = (row.get("unit") or (found[2] if found else "") or "m").lower()
        metres = _METRES.get(_UNITS.get(unit.rstrip("s"), _UNITS.get(unit, unit)))
        if not found or metres is None:
            self._note(
                NoteKind.IGNORED, f"The length {text[:40]} {unit[:20]} is none that can be read.", line
            )
            return None
        return round(float(found[1].replace(",", ".")) * metres, 4)


def _pairs(first: Sequence[End], second: Sequence[End]) -> list[tuple[End, End]]:
    """Which ends a cable joins: one to many, or as many on both sides, in their order."""
    if len(first) == 1 or len(second) == 1:
        return [(a, b) for a in first for b in second]
    return list(zip(first, second, strict=True)) if len(first) == len(second) else []


def _devices(reading: Reading, cabling: Cabling, table: _Table) -> None:
    with_rows = any(box for box in cabling.boxes)
    unused = 0
    seen: dict[str, int] = {}
    for line, row in table.rows():
        name = row["name"]
        if not name:
            reading.note(NoteKind.IGNORED, "Devices without a name were left out.", (line,), table.source)
            continue
        if name in seen:
            reading.note(
                NoteKind.CONTRADICTORY,
                "Devices that stand there twice were taken as they stand there first.",
                (seen[name], line),
                table.source,
            )
            continue
        seen[name] = line
        if with_rows and name not in cabling.boxes:
            unused += 1
            continue
        _device(reading, cabling.box(name, line), row, line, table.source)
    if unused:
        text = f"{plural(unused, 'device')} without a cable left out."
        reading.note(NoteKind.IGNORED, text, (), table.source)


def _device(reading: Reading, box: Box, row: Mapping[str, str], line: int, source: Source) -> None:
    role = role_of_word(row.get("role", ""))
    if role.value != "unknown":
        box.role = role
    rack = row.get("rack", "")
    if rack and box.rack and rack != box.rack:
        reading.note(
            NoteKind.CONTRADICTORY,
            "Devices in another rack than their cables say: the table of devices was believed.",
            (line,),
            source,
        )
    box.rack = rack or box.rack
    for field, text in (("u", row.get("position", "")), ("height_u", row.get("height", ""))):
        if not text:
            continue
        found = re.match(r"U?(\d{1,3}(?:\.\d)?)(?:\s*U)?\s*$", text, re.IGNORECASE)
        if not found:
            shown = f"The {'position' if field == 'u' else 'height'} {text[:40]} is no number of units."
            reading.note(NoteKind.IGNORED, shown, (line,), source)
        elif field == "u":
            box.u = int(float(found[1]))
        else:
            box.height_u = float(found[1])


def sniff(head: str, name: str) -> int:
    """By its headings."""
    first, _, rest = head.lstrip("\ufeff\n").partition("\n")
    first = (rest.partition("\n")[0] if first.lower().startswith("sep=") else first).lower()
    if "side_a_device" in first or "side_a_name" in first:
        return 100
    cells = {_plain(cell) for cell in re.split(r"[,;\t|]", first[:4000].replace('"', ""))}
    if {"termination a", "termination b"} <= cells or {"device a", "device b"} <= cells:
        return 90
    return 50 if "name" in cells and cells & {"role", "device role"} and cells & {"rack", "site"} else 0


FORMATS = (
    ImportFormat(
        id="netbox-csv",
        name="NetBox cables and devices (CSV)",
        suffixes=(".csv", ".tsv"),
        sniff=sniff,
        read=read,
        how="Export of the table of cables, and of devices, in NetBox; or the CSV that it imports.",
        carries="Hosts, switches, the cable on each port with its length and state; racks and heights.",
        lacks="Speeds, unless the table of interfaces is read with it; GPUs.",
        several=True,
    ),
)
