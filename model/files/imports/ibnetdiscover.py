"""`ibnetdiscover`: a whole InfiniBand fabric, each cable seen from both of its ends.

Grammar: infiniband-diags, ibnetdiscover(8) and its source. A block is some `name=0x…` lines, then

    Switch  65 "S-<guid>"   # "description" enhanced port 0 lid 1 lmc 0
    [1]     "H-<guid>"[1](<port guid>)      # "description" lid 5 4xNDR
    Ca      1 "H-<guid>"    # "description"
    [1](<port guid>)  "S-<guid>"[1]         # lid 5 lmc 0 "description" lid 1 4xNDR
"""

from __future__ import annotations

import re

from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.infiniband_fabric import Fabric, Node, Port
from model.files.imports.infiniband_names import SPEED, lane_rate

_FIELD = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(\S+)")
_NODE = re.compile(r'(Switch|Ca|Rt)\s+\d{1,6}\s+"([SHR])-([^"]*)"(?:\s*#\s*"([^"]*)")?')
_PORT = re.compile(
    r"\[(?P<port>\d{1,6})\](?:\[ext \d+\])?(?:\([^)]*\))?\s*"
    r'"(?P<kind>[SHR])-(?P<guid>[^"]*)"\[(?P<far>\d{1,6})\](?:\[ext \d+\])?(?:\([^)]*\))?(?P<rest>.*)'
)
_DESCRIPTION = re.compile(r'"([^"]*)"')
_CHASSIS = re.compile(r"(Chassis\s+\S+|Non-Chassis Nodes|Spine \d+|Line \d+)", re.IGNORECASE)


def read(reading: Reading) -> Drawing:
    """The fabric as a drawing. Raises `InputError` when there is no switch and no adapter in the text."""
    return _Reader(reading).read()


class _Reader:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._fabric = Fabric(reading)
        self._fields: dict[str, str] = {}
        self._node: Node | None = None

    def read(self) -> Drawing:
        lines = self._reading.source.lines
        last = next((place for place in range(len(lines), 0, -1) if lines[place - 1].strip()), 0)
        for place, line in enumerate(lines, 1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if text.startswith("["):
                self._port(text, place, cut=place == last)
            elif not self._header(text, place):
                self._other(text, place)
        return self._fabric.drawing()

    def _header(self, text: str, place: int) -> bool:
        """Whether the line begins a block or belongs to its head."""
        field = _FIELD.match(text)
        if field:
            if field[1] == "vendid":
                self._fields = {}
            self._fields[field[1]] = field[2]
            return True
        node = _NODE.match(text)
        if not node:
            return False
        kind, letter, guid, description = node.groups()
        self._node = self._fabric.node(letter, guid, description or "", place, declared=True)
        self._node.device_id = _number(self._fields.get("devid", ""))
        self._node.system = self._fields.get("sysimgguid", "")
        self._fields = {}
        if (kind == "Switch") != (letter == "S"):
            self._reading.contradictory(
                f"A {kind} has a GUID that begins with {letter}-; the letter was believed.", place
            )
        return True

    def _port(self, text: str, place: int, *, cut: bool) -> None:
        found = _PORT.match(text)
        if self._node is None or not found:
            self._unreadable(text, place, cut=cut)
            return
        quoted = _DESCRIPTION.search(found["rest"])
        speeds = SPEED.findall(found["rest"])
        if cut and not speeds:
            self._reading.ignored(
                "The text ends in the middle of a line; its cable has no speed there.", place
            )
        far = self._fabric.node(found["kind"], found["guid"], quoted[1] if quoted else "", place)
        self._fabric.cable(
            Port(self._node.key, int(found["port"])),
            Port(far.key, int(found["far"])),
            lane_rate(*speeds[-1]) if speeds else 0.0,
            "x".join(speeds[-1]) if speeds else "",
            place,
        )

    def _unreadable(self, text: str, place: int, *, cut: bool) -> None:
        if cut:
            self._reading.ignored("The text ends in the middle of a line, which was left out.", place)
        elif self._node is None:
            self._reading.ignored("Lines of ports before the first Switch or Ca were left out.", place)
        else:
            shown = text if len(text) <= 60 else text[:57] + "…"
            self._reading.broken(f'{shown} is no line of a port ([1] "H-…"[1] # "…" 4xNDR)', place)

    def _other(self, text: str, place: int) -> None:
        if _CHASSIS.match(text):
            self._reading.ignored("Lines that group switches by chassis were left out.", place)
        elif "omitted" in text.lower() or text.startswith(("...", "…")):
            self._reading.ignored("The text says that a part of it was left out.", place)
        else:
            self._reading.ignored("Lines that ibnetdiscover does not write were left out.", place)


def _number(text: str) -> int:
    try:
        return int(text[:20], 16)
    except ValueError:
        return 0


def sniff(head: str, name: str) -> int:
    """Certain with a block of it; likely by its heading."""
    if re.search(r'^(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-', head, re.MULTILINE):
        return 100
    if re.search(r"^(?:switchguid|caguid)=", head, re.MULTILINE):
        return 70
    return 30 if "ibnetdiscover" in name else 0


FORMATS = (
    ImportFormat(
        id="ibnetdiscover",
        name="InfiniBand fabric (ibnetdiscover)",
        suffixes=(".out", ".txt", ".ibnetdiscover", ".topo"),
        sniff=sniff,
        read=read,
        how="ibnetdiscover > fabric.out on any host of the fabric, as root; -g and -f may be used.",
        carries="Every switch, adapter and cable of an InfiniBand fabric, with ports and speeds.",
        lacks="GPUs, lengths of cables and rails are not in it; rails are told by the cabling.",
    ),
)
