"""Host lists as Slurm writes them: `rack[1-2]n[01-03],login7` and back.

Grammar: names separated by commas (or blanks) outside of brackets; a bracket holds numbers and ranges, padded
to the width of the first number of a range; several brackets in a name give all combinations, the last one
running fastest; text may follow a bracket. Source: slurm.conf(5), scontrol(1) of Slurm 26.11.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from model.errors import InputError

MOST_NAMES = 262_144  # names that one list may stand for
_MOST_BRACKETS = 8
_MOST_DIGITS = 15
_LAST_NUMBER = re.compile(r"\d+(?=\D*\Z)")
_UNWRITABLE = re.compile(r"[\[\],\s#=]")


def expand(text: str, most: int = MOST_NAMES) -> list[str]:
    """The names that a host list stands for, in its order, repeated ones too.

    Raises `InputError`, without a place, when the list is broken or stands for more than `most` names.
    """
    names: list[str] = []
    for item in split(text):
        names.extend(_expanded(item, most - len(names)))
    return names


def split(text: str) -> list[str]:
    """The items of a host list, their brackets not yet expanded. Raises `InputError` for stray brackets."""
    items: list[str] = []
    start = depth = 0
    for found in re.finditer(r"[\[\],\s]", text):
        sign = found.group()
        if sign == "[":
            depth += 1
        elif sign == "]":
            depth -= 1
        elif depth == 0:
            items.append(text[start : found.start()])
            start = found.end()
        if depth not in (0, 1):
            what = "a bracket inside a bracket" if depth > 1 else "a bracket that was never opened"
            raise InputError(f"The host list {_shown(text)} has {what}.")
    if depth:
        raise InputError(f"The host list {_shown(text)} has a bracket that is never closed.")
    items.append(text[start:])
    return [item for item in items if item]


def _expanded(item: str, most: int) -> Iterator[str]:
    if "[" not in item:
        if most < 1:
            raise _too_many(item)
        return iter((item,))
    pieces = re.split(r"\[([^\[\]]*)\]", item)
    texts, brackets = pieces[0::2], pieces[1::2]
    if len(brackets) > _MOST_BRACKETS:
        raise InputError(f"{_shown(item)} has {len(brackets)} brackets; at most {_MOST_BRACKETS} are read.")
    choices = []
    total = 1
    for bracket in brackets:
        numbers = _numbers(bracket, item, most)
        total *= len(numbers)
        if total > most:
            raise _too_many(item)
        choices.append(numbers)
    return _joined(texts, choices)


def _joined(texts: Sequence[str], choices: Sequence[Sequence[str]]) -> Iterator[str]:
    for chosen in itertools.product(*choices):
        pairs = zip(texts, (*chosen, ""), strict=True)
        yield "".join(part for pair in pairs for part in pair)


def _numbers(bracket: str, item: str, most: int) -> list[str]:
    found: list[str] = []
    for part in bracket.split(","):
        first, dash, last = part.strip().partition("-")
        first, last = first.strip(), last.strip() if dash else first.strip()
        if not (_is_number(first) and _is_number(last)):
            raise InputError(f"{_shown(item)} has {_shown(part)} in a bracket; it holds numbers and ranges.")
        low, high = int(first), int(last)
        if high < low:
            raise InputError(f"{_shown(item)} has the range {part.strip()}, which runs backwards.")
        if len(found) + high - low >= most:
            raise _too_many(item)
        found.extend(f"{number:0{len(first)}d}" for number in range(low, high + 1))
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _too_many(item: str) -> InputError:
    return InputError(f"The host list stands for more than {MOST_NAMES:,} names at {_shown(item)}.")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


def fold(names: Iterable[str]) -> str:
    """The shortest usual list for a set of names: `n01 n02 n03 x` → `n[01-03],x`.

    Names that differ in their last number share a bracket, at the place of the first of them; numbers ascend
    and repeated names are written once, so it says which names, not in which order. `expand` gives the same
    set. Raises `InputError` for a name that no host list can hold.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(names):
        if not name or _UNWRITABLE.search(name):
            raise InputError(f"{_shown(name)} cannot stand in a host list: it has a bracket, comma or blank.")
        found = _LAST_NUMBER.search(name)
        if found is None or len(found.group()) > _MOST_DIGITS or not found.group().isascii():
            groups.setdefault((name, ""), []).append("")
        else:
            key = (name[: found.start()], name[found.end() :])
            groups.setdefault(key, []).append(found.group())
    return ",".join(item for key, numbers in groups.items() for item in _folded(*key, numbers))


def _folded(before: str, after: str, numbers: Sequence[str]) -> Iterator[str]:
    """One item for each width of padding: 8, 9, 10 run on, and so do 08, 09, 10, but not both."""
    padded = {len(number) for number in numbers if number.startswith("0") and len(number) > 1}
    by_width: dict[int, list[int]] = {}
    for number in numbers:
        if not number:
            yield before + after
            continue
        width = len(number) if len(number) in padded else 0
        by_width.setdefault(width, []).append(int(number))
    for width, values in by_width.items():
        ranges = list(_ranges(sorted(values), width))
        inside = ",".join(ranges)
        yield before + (inside if len(values) == 1 else f"[{inside}]") + after


def _ranges(values: Sequence[int], width: int) -> Iterator[str]:
    for _, run in itertools.groupby(enumerate(values), key=lambda pair: pair[1] - pair[0]):
        numbers = [value for _, value in run]
        first, last = f"{numbers[0]:0{width}d}", f"{numbers[-1]:0{width}d}"
        yield first if first == last else f"{first}-{last}"
