"""Slurm's topology.conf: a tree of switches (SwitchName), or blocks and rings of nodes (BlockName, RingName).

Keys are in any case, `#` begins a comment, a backslash at the end of a line joins it to the next; nodes and
switches below are host lists. Source: topology.conf(5) and slurm.conf(5) of Slurm 26.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.slurm_drawing import SlurmTopology, draw

LONGEST_NAME = 64
_PAIR = re.compile(r'\s*(?P<key>[A-Za-z]\w*)\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))')
_COMMENT = re.compile(r"(?<!\\)#.*")
_KEYS = {
    "switchname": frozenset({"nodes", "switches", "linkspeed"}),
    "blockname": frozenset({"nodes"}),
    "ringname": frozenset({"nodes"}),
    "blocksizes": frozenset(),
}


def read(reading: Reading) -> Drawing:
    """The topology as a drawing. Raises `InputError` with the line for what is no line of such a file."""
    topology = SlurmTopology(reading)
    for line, text in _logical(reading):
        pairs = _pairs(reading, line, text)
        if pairs:
            _entry(reading, topology, line, pairs)
    return draw(topology, reading.source.name.partition(".")[0])


def _logical(reading: Reading) -> Iterator[tuple[int, str]]:
    """Lines without comments, joined where they go on, with the number of the first."""
    parts: list[str] = []
    first = 0
    for place, raw in enumerate(reading.source.lines, 1):
        text = _COMMENT.sub("", raw).rstrip()
        first = first if parts else place
        if text.endswith("\\"):
            parts.append(text[:-1])
            continue
        parts.append(text)
        whole = "".join(parts).strip()
        parts = []
        if whole:
            yield first, whole
    if any(part.strip() for part in parts):
        reading.ignored("The text ends with a backslash, as if a line was to follow.", first)
        yield first, "".join(parts).strip()


def _pairs(reading: Reading, line: int, text: str) -> dict[str, str]:
    if re.match(r"include\s", text, re.IGNORECASE):
        reading.ignored("Other files that are included (Include) were not read.", line)
        return {}
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        pair = _PAIR.match(text, place)
        if not pair:
            rest = text[place:].strip()
            if rest:
                shown = rest if len(rest) <= 40 else rest[:37] + "…"
                reading.broken(f"{shown!r} is no Key=value of topology.conf", line)
                return {}
            break
        key = pair["key"].lower()
        if key in found:
            reading.broken(f"{pair['key']} stands there twice", line)
            return {}
        found[key] = pair["quoted"] if pair["quoted"] is not None else pair["plain"]
        place = pair.end()
    return found


def _entry(reading: Reading, topology: SlurmTopology, line: int, pairs: Mapping[str, str]) -> None:
    kind = next((key for key in _KEYS if key in pairs), "")
    if not kind:
        known = "SwitchName, BlockName, BlockSizes or RingName"
        reading.broken(f"the line has none of {known}", line)
        return
    for key in pairs:
        if key != kind and key not in _KEYS[kind]:
            reading.ignored(f"The key {key[:40]} means nothing here.", line)
    if "linkspeed" in pairs:
        reading.ignored("LinkSpeed: Slurm takes no notice of it and its unit is not defined.", line)
    if kind == "blocksizes":
        topology.sizes_line = line
        topology.block_sizes = _sizes(reading, pairs[kind], line)
        return
    name = pairs[kind]
    if not name.strip() or re.search(r"[\[\],]", name):
        reading.broken(f"{name[:40]!r} is no name of one switch or block", line)
        return
    if len(name) > LONGEST_NAME:
        reading.contradictory(f"Names of more than {LONGEST_NAME} characters, which Slurm refuses.", line)
    nodes = topology.names(pairs.get("nodes", ""), line)
    if kind == "switchname":
        children = topology.names(pairs.get("switches", ""), line)
        if not nodes and not children:
            reading.inferred("Switches without nodes and switches below.", line)
        topology.switch(name, line, nodes, children)
        return
    if not nodes:
        reading.inferred("Blocks without nodes.", line)
    (topology.ring if kind == "ringname" else topology.block)(name, line, nodes)


def _sizes(reading: Reading, text: str, line: int) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        if not re.fullmatch(r"\s*-?\d{1,9}\s*", part):
            reading.broken(f"BlockSizes has {part.strip()[:40]!r}, which is no number", line)
            return []
        found.append(int(part))
    return found


def sniff(head: str, name: str) -> int:
    """By its keys."""
    if re.search(r"^[ \t]*(?:SwitchName|BlockName|RingName)[ \t]*=", head, re.MULTILINE | re.IGNORECASE):
        return 95
    if re.search(r"^[ \t]*BlockSizes[ \t]*=", head, re.MULTILINE | re.IGNORECASE):
        return 80
    return 25 if name == "topology.conf" else 0


FORMATS = (
    ImportFormat(
        id="slurm-topology-conf",
        name="Slurm topology.conf",
        suffixes=(".conf",),
        sniff=sniff,
        read=read,
        how="/etc/slurm/topology.conf of the cluster; scontrol show topology tells which plugin reads it.",
        carries="Which nodes hang on which switch, the tree of switches, and blocks of nodes.",
        lacks="Speeds, numbers of cables, GPUs and network cards are not in it; a switch has one above it.",
    ),
)
