"""Open MPI's rankfile: `rank 0=host slot=0:0-13`, one line a rank, in any order."""

from __future__ import annotations

import re

from model.files.importing import ImportFormat, RankPlace, RankPlacement, Reading
from model.files.imports.rank_places import (
    MOST_RANKS,
    check_rank_count,
    host_problem,
    placement,
    with_local_order,
)
from model.files.reading import shown

_LINE = re.compile(r"rank\s+(\d{1,9})\s*=\s*(\S+?)(?:\s+slots?\s*=\s*(\S.*))?\s*", re.IGNORECASE)
_RELATIVE = re.compile(r"\+[nN](\d+|\d+-\d+)?")


def sniff(head: str, name: str) -> int:
    """Certain when the first line that says something is such a line."""
    lines = [line.strip() for line in head.split("\n")]
    said = [line for line in lines if line and not line.startswith("#")][:20]
    if not said:
        return 0
    fitting = sum(1 for line in said if _LINE.fullmatch(line))
    return 95 * fitting // len(said)


def read(reading: Reading) -> RankPlacement:
    """The ranks on their hosts; sockets and cores say nothing of GPUs and are left out."""
    places: list[RankPlace] = []
    slots: list[int] = []
    for number, line in enumerate(reading.source.lines, start=1):
        said = line.partition("#")[0].strip()
        if not said:
            continue
        match = _LINE.fullmatch(said)
        if match is None:
            reading.broken(f"a line is like rank 0=host slot=0:0-13, not {shown(said)}", number)
            continue
        rank, host = int(match.group(1)), match.group(2)
        if _RELATIVE.fullmatch(host):
            reading.broken(
                f"{host} counts the hosts of an allocation, which is not in the file; a name is needed",
                number,
            )
        elif host_problem(host):
            reading.broken(host_problem(host), number)
        elif rank >= MOST_RANKS:
            reading.broken(f"rank {rank:,} is beyond the {MOST_RANKS:,} that can be placed", number)
        else:
            check_rank_count(reading, len(places) + 1, number)
            places.append(RankPlace(rank, host, line=number))
            if match.group(3):
                slots.append(number)
    if slots:
        reading.ignored("Slots (sockets and cores) are not read: they bind CPUs, not GPUs.", *slots)
    if places:
        places = with_local_order(reading, places)
    return placement(reading, places, "rank")


FORMATS = (
    ImportFormat(
        id="open-mpi-rankfile",
        name="Open MPI rankfile",
        suffixes=(".rankfile", ".rank", ".txt"),
        sniff=sniff,
        read=read,
        how="The file that mpirun --rankfile (or --map-by rankfile:file=…) is given.",
        carries="Which host each rank runs on.",
        lacks="Which GPU a rank takes; slots are CPU sockets and cores, and are left out.",
    ),
)
