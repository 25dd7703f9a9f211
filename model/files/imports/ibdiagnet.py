"""`ibdiagnet.lst` (ibdiagnet2.lst): one line for each cable of an InfiniBand fabric.

    { CA Ports:02 SystemGUID:… NodeGUID:… PortGUID:… VenID:… DevID:… Rev:… {host HCA-1} LID:0001 PN:01 }
    { SW Ports:24 … {leaf01} LID:0006 PN:0C } PHY=4x LOG=ACT SPD=100

in one line. LID and PN are hexadecimal; SPD is Gb/s of one lane. Grammar: ibutils, ibdiagnet 2.
"""

from __future__ import annotations

import re

from model.catalog.specs import BYTES_PER_S_PER_GBIT
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.infiniband_fabric import Fabric, Node, Port

_END = re.compile(
    r"\{\s*(?P<kind>CA|SW|RT)\b(?P<fields>[^{}]*+)(?:\{(?P<description>[^{}]*+)\})?(?P<more>[^{}]*+)\}",
    re.IGNORECASE,
)
_FIELD = re.compile(r"(\w+):(\S+)")
_LINK = re.compile(r"\b(PHY|LOG|SPD)=(\S+)", re.IGNORECASE)
_LETTERS = {"CA": "H", "SW": "S", "RT": "R"}
_PER_LANE = (2.5, 5.0, 10.0, 14.0, 14.0625, 25.0, 25.78125, 50.0, 53.125, 100.0, 106.25, 200.0)
_NAMED_SPEEDS = {"FDR10": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0}


def read(reading: Reading) -> Drawing:
    """The fabric as a drawing. Raises `InputError` when no line is a cable."""
    fabric = Fabric(reading)
    lines = reading.source.lines
    last = next((place for place in range(len(lines), 0, -1) if lines[place - 1].strip()), 0)
    for place, line in enumerate(lines, 1):
        text = line.strip()
        if not text.startswith("{"):
            if text and not text.startswith("#"):
                reading.ignored("Lines that are no cable ({ CA … } { SW … }) were left out.", place)
            continue
        _cable(reading, fabric, text, place, cut=place == last)
    return fabric.drawing()


def _cable(reading: Reading, fabric: Fabric, text: str, place: int, *, cut: bool) -> None:
    ends = list(_END.finditer(text))
    ports = [_end(fabric, end, place) for end in ends]
    first, second = (ports[0], ports[1]) if len(ports) == 2 else (None, None)
    if first is None or second is None:
        if cut:
            reading.ignored("The text ends in the middle of a line, which was left out.", place)
        else:
            what = (
                f"{len(ends)} ends where a cable has two" if len(ends) != 2 else "an end without GUID and PN"
            )
            reading.broken(f"this line has {what}", place)
        return
    link = {name.upper(): value for name, value in _LINK.findall(text[ends[1].end() :])}
    down = link.get("LOG", "ACT").upper() not in ("ACT", "ACTIVE")
    if down:
        reading.inferred(f"Cables that are not active (LOG={link['LOG'][:8]}) are drawn as down.", place)
    rate, said = _rate(reading, link, place)
    fabric.cable(first, second, rate, said, place, down=down)


def _end(fabric: Fabric, end: re.Match[str], place: int) -> Port | None:
    fields = {name.lower(): value for name, value in _FIELD.findall(f"{end['fields']} {end['more']}")}
    guid, port = fields.get("nodeguid", ""), _hex(fields.get("pn", ""))
    if not guid or port is None:
        return None
    letter = _LETTERS[end["kind"].upper()]
    node: Node = fabric.node(letter, guid, end["description"] or "", place, declared=True)
    node.device_id = _hex(fields.get("devid", "")) or node.device_id
    node.system = fields.get("systemguid", node.system)
    return Port(node.key, port)


def _rate(reading: Reading, link: dict[str, str], place: int) -> tuple[float, str]:
    """Bytes/s and how the file says it; 0 and "" where it does not."""
    width, speed = link.get("PHY", ""), link.get("SPD", "")
    lanes = re.fullmatch(r"(1|2|4|8|12)x", width, re.IGNORECASE)
    per_lane = _NAMED_SPEEDS.get(speed.upper())
    if per_lane is None:
        try:
            per_lane = float(speed[:16])
        except ValueError:
            per_lane = 0.0
    if per_lane not in _PER_LANE or not lanes:
        if width or speed:
            reading.ignored("Widths and speeds that InfiniBand does not have were left out.", place)
        return 0.0, ""
    return int(lanes[1]) * per_lane * BYTES_PER_S_PER_GBIT, f"{width} SPD={speed}"


def _hex(text: str) -> int | None:
    try:
        return int(text[:16], 16)
    except ValueError:
        return None


def sniff(head: str, name: str) -> int:
    """Certain with a cable of it."""
    if re.search(r"^\{\s*(?:CA|SW|RT)\s+Ports:", head, re.MULTILINE | re.IGNORECASE):
        return 100
    return 40 if name.endswith(".lst") and "NodeGUID:" in head else 0


FORMATS = (
    ImportFormat(
        id="ibdiagnet-lst",
        name="InfiniBand fabric (ibdiagnet .lst)",
        suffixes=(".lst",),
        sniff=sniff,
        read=read,
        how="ibdiagnet; the file is ibdiagnet2.lst in /var/tmp/ibdiagnet2.",
        carries="Every switch, adapter and cable of an InfiniBand fabric, with ports and speeds.",
        lacks="GPUs, lengths of cables and rails are not in it; rails are told by the cabling.",
    ),
)
