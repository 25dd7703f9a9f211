"""Slurm's host file (SLURM_HOSTFILE): a line for each task, in their order, for `srun -m arbitrary`."""

from __future__ import annotations

import re
from collections import Counter

from model.errors import InputError
from model.files.importing import ImportFormat, RankPlace, RankPlacement, Reading
from model.files.imports.hostlist import expand
from model.files.imports.rank_places import MOST_RANKS, check_rank_count, host_problem, placement

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-\[\],]{0,250}(?:\*\d{1,9})?")
_REPEATED = re.compile(r"(.*)\*(\d{1,9})")


def sniff(head: str, name: str) -> int:
    """Likely when lines are one name each and some of them repeat, or when the file is called so."""
    lines = [line.partition("#")[0].strip() for line in head.split("\n")[:400]]
    said = [line for line in lines if line]
    if not said or not all(_HOST.fullmatch(line) for line in said[: max(1, len(said) - 1)]):
        return 0
    if all(re.fullmatch(r"[\d,.\-]+", line) for line in said):
        return 0
    if "hostfile" in name or "host_file" in name:
        return 75
    if any("*" in line for line in said):
        return 60
    if not all(re.search(r"[\d\]]", line) for line in said):
        return 0
    return 60 if max(Counter(said).values()) > 1 else 25


def read(reading: Reading) -> RankPlacement:
    """Task n on the n-th host of the file; the local index is the order of a host's tasks."""
    places: list[RankPlace] = []
    counted: Counter[str] = Counter()
    for number, line in enumerate(reading.source.lines, start=1):
        said = line.partition("#")[0].strip()
        if not said:
            continue
        for host in _hosts(reading, said, number, MOST_RANKS - len(places)):
            places.append(RankPlace(len(places), host, counted[host], line=number))
            counted[host] += 1
    if places:
        reading.inferred("Which GPU a task takes is not said: the n-th task of a host takes its n-th GPU.")
    if len(places) > 1 and max(counted.values()) == 1:
        reading.guessed(
            "Each host stands in the file once. A host file has a line for each task: with one task for each "
            "GPU, a host of 8 GPUs stands in it 8 times."
        )
    return placement(reading, places, "task")


def _hosts(reading: Reading, said: str, number: int, room: int) -> list[str]:
    """The hosts of a line, each as often as `*n` says."""
    repeated = _REPEATED.fullmatch(said)
    listed, times = (repeated.group(1), int(repeated.group(2))) if repeated else (said, 1)
    try:
        names = expand(listed)
    except InputError as error:
        reading.broken(str(error).rstrip("."), number)
        return []
    for name in names:
        if host_problem(name):
            reading.broken(host_problem(name), number)
            return []
    if times * len(names) > room:
        check_rank_count(reading, MOST_RANKS - room + times * len(names), number)
    return names * times


FORMATS = (
    ImportFormat(
        id="slurm-hostfile",
        name="Slurm host file",
        suffixes=(".hostfile", ".hosts", ".txt"),
        sniff=sniff,
        read=read,
        how="The file that SLURM_HOSTFILE names for srun -m arbitrary: one line for each task.",
        carries="Which host each task (rank) runs on.",
        lacks="Which GPU a task takes: the n-th task of a host is put on its n-th GPU.",
    ),
)
