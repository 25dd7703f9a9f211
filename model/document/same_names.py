"""Which thing of a file is which of a drawing, by its name: as it is, then as people mean it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

_DIGITS = re.compile(r"0*(\d+)")
_SEPARATORS = re.compile(r"[-_\s:/]+")


def short_name(name: str) -> str:
    """A host without its domain, in lower case: "GPU01.cluster.local" → "gpu01". An address stays whole."""
    head = name.strip().lower().split(".", 1)[0]
    return name.strip().lower() if head.isdigit() else head


def loose_name(name: str) -> str:
    """Without separators and leading zeros either: "gpu-node_007.lan" → "gpunode7"."""
    return _DIGITS.sub(r"\1", _SEPARATORS.sub("", short_name(name)))


_ROUNDS: tuple[Callable[[str], str], ...] = (str, lambda name: name.strip().lower(), short_name, loose_name)


def match_names(ours: Mapping[str, Iterable[str]], theirs: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Their ids with ours, from the names that each has (id, label).

    Exact names come first, then those without case, without domain, without separators and leading zeros; a
    name that fits several on either side matches none of them.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for as_meant in _ROUNDS:
        left = _by_name({ident: names for ident, names in ours.items() if ident not in taken}, as_meant)
        right = _by_name({ident: names for ident, names in theirs.items() if ident not in found}, as_meant)
        for name, idents in right.items():
            same = left.get(name, set())
            if len(idents) == 1 and len(same) == 1:
                their, our = next(iter(idents)), next(iter(same))
                if their not in found and our not in taken:
                    found[their] = our
                    taken.add(our)
    return found


def find_names(ours: Mapping[str, Iterable[str]], names: Iterable[str]) -> dict[str, str]:
    """Our id for each name that means one, in the same rounds; several names may mean the same one."""
    found: dict[str, str] = {}
    left = list(dict.fromkeys(names))
    for as_meant in _ROUNDS:
        known = _by_name(ours, as_meant)
        for name in left:
            same = known.get(as_meant(name), set())
            if len(same) == 1:
                found[name] = next(iter(same))
        left = [name for name in left if name not in found]
    return found


def _by_name(things: Mapping[str, Iterable[str]], as_meant: Callable[[str], str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for ident, names in things.items():
        for name in names:
            meant = as_meant(name)
            if meant:
                found.setdefault(meant, set()).add(ident)
    return found
