"""Damaged files as a hypothesis strategy: samples with lines and characters cut, doubled, glued, swapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from tests.fuzz.attempt import LONGEST

Change = tuple[str, int, int, str]
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1")
_ODD = (
    *("", " ", "\t", "\0", "\n", "\r", "\r\n", "\ufeff", "\x1b[4m", "ÿ", "，", "\u2028", "𝟙"),
    *("0", "-1", "1e999", "nan", "99999999999999999999", "1_000", "0x", "null", "None", "true"),
    *(
        "{",
        "}",
        "[",
        "]",
        "[1-",
        "[0-999999999]",
        '"',
        "'",
        "<",
        ">",
        "&x;",
        "<!--",
        "]]>",
        ":",
        "- ",
        "&a *a",
    ),
)


def damaged(samples: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Bytes near one of the samples, or of two of them; now and then anything."""
    texts = [sample.decode("utf-8", "replace")[:LONGEST] for sample in samples] or [""]
    change = st.tuples(
        st.sampled_from(sorted(_CHANGES)),
        st.integers(0, 10_000),
        st.integers(0, 10_000),
        st.one_of(st.sampled_from(_ODD), st.text(max_size=8)),
    )
    near = st.builds(
        _changed,
        st.sampled_from(texts),
        st.sampled_from(texts),
        st.lists(change, min_size=1, max_size=6),
        st.sampled_from(_ENCODINGS),
    )
    return st.one_of(near, near, near, near, st.binary(max_size=200))


def _changed(text: str, other: str, changes: Sequence[Change], encoding: str) -> bytes:
    for name, first, second, odd in changes:
        text = _CHANGES[name](text, other, first, second, odd)[:LONGEST]
    return text.encode(encoding, "replace")


def _cut(text: str, other: str, first: int, second: int, odd: str) -> str:
    return text[: len(text) * first // 10_000]


def _insert(text: str, other: str, first: int, second: int, odd: str) -> str:
    at = len(text) * first // 10_000
    return text[:at] + odd + text[at:]


def _overwrite(text: str, other: str, first: int, second: int, odd: str) -> str:
    at = len(text) * first // 10_000
    return text[:at] + odd + text[at + 1 + second % 12 :]


def _number(text: str, other: str, first: int, second: int, odd: str) -> str:
    """Another number in the place of one of the text."""
    places = [at for at, sign in enumerate(text) if sign.isdigit()]
    if not places:
        return text
    at = places[first % len(places)]
    return text[:at] + str((second * 7919) % 1_000_003 - 3) + text[at + 1 :]


def _drop_line(text: str, other: str, first: int, second: int, odd: str) -> str:
    lines = text.split("\n")
    del lines[first % len(lines)]
    return "\n".join(lines)


def _double_line(text: str, other: str, first: int, second: int, odd: str) -> str:
    lines = text.split("\n")
    lines.insert(second % len(lines), lines[first % len(lines)])
    return "\n".join(lines)


def _swap_lines(text: str, other: str, first: int, second: int, odd: str) -> str:
    lines = text.split("\n")
    a, b = first % len(lines), second % len(lines)
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _glue(text: str, other: str, first: int, second: int, odd: str) -> str:
    """Without one of its blanks or line ends."""
    places = [at for at, sign in enumerate(text) if sign.isspace()]
    if not places:
        return text
    at = places[first % len(places)]
    return text[:at] + text[at + 1 :]


def _splice(text: str, other: str, first: int, second: int, odd: str) -> str:
    return text[: len(text) * first // 10_000] + other[len(other) * second // 10_000 :]


def _line_ends(text: str, other: str, first: int, second: int, odd: str) -> str:
    return text.replace("\n", "\r\n" if first % 2 else "\r", 1 + second % 40)


_CHANGES: dict[str, Callable[[str, str, int, int, str], str]] = {
    "cut": _cut,
    "double line": _double_line,
    "drop line": _drop_line,
    "glue": _glue,
    "insert": _insert,
    "line ends": _line_ends,
    "number": _number,
    "overwrite": _overwrite,
    "splice": _splice,
    "swap lines": _swap_lines,
}
