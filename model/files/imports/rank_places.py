"""From lines that say where ranks run to a rank placement: duplicates, gaps, the local index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from model.errors import InputError
from model.files.importing import RankPlace, RankPlacement, Reading
from model.files.reading import shown
from model.text import name_list, plural

MOST_RANKS = 1_000_000
LONGEST_NAME = 253  # of a host in the domain name system
_NO_NAME = frozenset(" \"'<>{}")


def placement(reading: Reading, places: Sequence[RankPlace], unit: str) -> RankPlacement:
    """A placement of what the lines say. `unit` is what a line is called: "rank", "task".

    A rank that is named twice or not at all is broken; of a partial import the first stays, and the ranks
    are counted anew.
    """
    known: dict[int, RankPlace] = {}
    for place in places:
        if place.rank in known:
            reading.broken(
                f"{unit} {place.rank:,} is placed twice; line {known[place.rank].line} has it first",
                place.line,
            )
        else:
            known[place.rank] = place
    if not known:
        raise InputError(f"{reading.source.name} places no {unit}.")
    ranks = [known[rank] for rank in sorted(known)]
    last = ranks[-1].rank
    if last >= len(ranks):
        missing = list(islice((str(rank) for rank in range(last + 1) if rank not in known), 5))
        missed = last + 1 - len(ranks)
        reading.broken(
            f"{unit}s 0 to {last:,} need {last + 1:,} lines, and there are {len(ranks):,}; "
            f"{name_list(missing) if missed <= 4 else missing[0] + ' and others'} "
            f"{'is' if missed == 1 else 'are'} missing",
            ranks[-1].line,
        )
        ranks = [replace(place, rank=rank) for rank, place in enumerate(ranks)]
        reading.guessed(f"The {unit}s that are left were counted anew from 0.")
    _say(reading, ranks, unit)
    return RankPlacement(reading.source.name, tuple(ranks))


def _say(reading: Reading, ranks: Sequence[RankPlace], unit: str) -> None:
    hosts = Counter(place.host for place in ranks if place.host)
    if not hosts:
        reading.found(f"{plural(len(ranks), unit)}, placed by the ids of GPUs")
        return
    sizes = sorted(set(hosts.values()))
    each = f"{sizes[0]} on each" if len(sizes) == 1 else f"from {sizes[0]} to {sizes[-1]} on each"
    reading.found(
        f"{plural(len(ranks), unit)} on {plural(len(hosts), 'host')}, {each}: {name_list(tuple(hosts))}"
    )


def with_local_order(reading: Reading, places: Iterable[RankPlace]) -> list[RankPlace]:
    """Places whose local index is their order by rank on the host, where the file has none."""
    counted: Counter[str] = Counter()
    found: list[RankPlace] = []
    for place in sorted(places, key=lambda one: one.rank):
        found.append(place if place.local is not None else replace(place, local=counted[place.host]))
        counted[place.host] += 1
    reading.inferred("Which GPU a rank takes is not said: the n-th rank of a host takes its n-th GPU.")
    return found


def host_problem(name: str) -> str:
    """What keeps a text from being the name of a host; empty where nothing does."""
    usable = 0 < len(name) <= LONGEST_NAME and name.isprintable() and not set(name) & _NO_NAME
    return "" if usable else f"{shown(name)} is no name of a host"


def check_rank_count(reading: Reading, count: int, line: int) -> None:
    """Raise `InputError` for more ranks than can be placed."""
    if count > MOST_RANKS:
        raise InputError(
            f"{reading.source.name}, line {line}: {count:,} ranks; at most {MOST_RANKS:,} can be placed."
        )
