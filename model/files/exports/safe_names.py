"""Names that other tools accept: one for each of ours, all different."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.text import plural


@dataclass(frozen=True, slots=True)
class NameRule:
    """What a tool takes as a name, of at most `most` signs. `refused`: those that it does not take, which
    become "-". `plain`: a letter or digit of English stands at each end.
    """

    tool: str
    refused: re.Pattern[str]
    most: int
    plain: bool = True


HOST_NAMES = NameRule("Slurm", re.compile(r"[^A-Za-z0-9._-]+"), 64)
NETBOX_NAMES = NameRule("NetBox", re.compile(r"[\x00-\x1f\x7f]+"), 64, plain=False)
CONTAINER_NAMES = NameRule("containerlab", re.compile(r"[^A-Za-z0-9.-]+"), 60)
FILE_NAMES = NameRule("file systems", re.compile(r"[^A-Za-z0-9._-]+"), 100)


def safe_names(ids: Iterable[str], rule: NameRule) -> dict[str, str]:
    """A name for each id: the id itself where the tool takes it, else one that is close to it.

    Signs at the ends that are no letter or digit go, what is too long is cut, and equal ones are numbered.
    An id that can stay as it is always stays.
    """
    wanted = {ident: _wanted(ident, rule) for ident in ids}
    found = {ident: name for ident, name in wanted.items() if ident == name}
    taken = set(found.values())
    numbers: dict[str, int] = {}
    for ident, name in wanted.items():
        if ident in found:
            continue
        free = name
        while free in taken:
            numbers[name] = numbers.get(name, 1) + 1
            ending = f"-{numbers[name]}"
            free = name[: rule.most - len(ending)] + ending
        taken.add(free)
        found[ident] = free
    return {ident: found[ident] for ident in wanted}


def _wanted(ident: str, rule: NameRule) -> str:
    if not rule.plain:
        return rule.refused.sub("-", ident)[: rule.most].strip() or "unnamed"
    name = rule.refused.sub("-", ident)
    name = re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$", "", name[: rule.most])
    return name or "unnamed"


def renamed(names: Mapping[str, str], rule: NameRule) -> tuple[str, ...]:
    """A sentence on the names that are not ours any more, if there are any."""
    changed = [(ident, name) for ident, name in names.items() if ident != name]
    if not changed:
        return ()
    ident, name = changed[0]
    count = plural(len(changed), "name")
    return (f"{count} changed to what {rule.tool} takes: {ident} is called {name}.",)
