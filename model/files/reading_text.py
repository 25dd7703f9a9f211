"""Text of other tools, from files or pasted: decoded, with one kind of line end, and bounded."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import InputError
from model.files.reading import read_bytes

LARGEST_TEXT = 64 * 2**20  # bytes; an InfiniBand fabric of 10,000 hosts has about 20 MB
_HEAD = 4096  # characters by which text is told from what is none
_MOST_ODD = 0.1  # share of them that no text has: what could not be decoded, and control characters
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """One text to import. `repairs` say what had to be done to read it, in sentences."""

    name: str
    text: str
    repairs: tuple[str, ...] = ()

    @property
    def lines(self) -> Sequence[str]:
        """Without line ends; line n of a message is `lines[n - 1]`."""
        return self.text.split("\n")


def read_source(path: Path | str) -> Source:
    """The text in a file, gzipped or not. Raises `InputError` when it is too large or no text."""
    path = Path(path)
    return decode(read_bytes(path), str(path))


def pasted(text: str) -> Source:
    """A text from the clipboard."""
    if len(text) > LARGEST_TEXT:
        raise InputError(f"The pasted text has {len(text):,} characters; at most 64 MiB can be imported.")
    return _normalised("the pasted text", text, [], "the pasted text")


def decode(data: bytes, name: str) -> Source:
    """The text of some bytes: UTF-8, or UTF-16 and UTF-32 with their mark (UTF-16 without one, too).

    `name` may be a path; the source is called by its last part.
    """
    if len(data) > LARGEST_TEXT:
        raise InputError(f"{name} has {len(data) / 1e6:,.0f} MB; at most 64 MiB of text can be imported.")
    repairs: list[str] = []
    encoding = "utf-8"
    for mark, found in _BOMS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], found
            break
    else:
        encoding = _without_mark(data)
    if encoding != "utf-8":
        repairs.append(f"It is written in {encoding.upper()}; it was read as such.")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        text = data.decode(encoding, "replace")
        line = data[: error.start].count(b"\n") + 1
        repairs.append(f"Bytes from line {line} on are no {encoding.upper()} text; they were replaced by �.")
        _refuse_binary(text[:_HEAD], name)
    return _normalised(name, text, repairs, Path(name).name)


def _refuse_binary(head: str, name: str) -> None:
    odd = sum(sign == "\ufffd" or (sign < " " and sign not in "\t\n\r\f\x1b") for sign in head)
    if odd > _MOST_ODD * len(head):
        raise InputError(f"{name} is no text; if it is packed, unpack it first.")


def _without_mark(data: bytes) -> str:
    """UTF-16 as some shells write it, told by its zeros; else UTF-8."""
    head = data[:512]
    if len(head) >= 4 and len(head) % 2 == 0:
        even, odd = head[0::2], head[1::2]
        if odd.count(0) > 0.6 * len(odd) and even.count(0) < 0.2 * len(even):
            return "utf-16-le"
        if even.count(0) > 0.6 * len(even) and odd.count(0) < 0.2 * len(odd):
            return "utf-16-be"
    return "utf-8"


def _normalised(name: str, text: str, repairs: list[str], short: str) -> Source:
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        if text.count("\r\n") != text.count("\n") or text.count("\r") != text.count("\r\n"):
            repairs.append("It has several kinds of line end; all were taken.")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        repairs.append("It has zero characters; they were left out.")
        text = text.replace("\0", "")
    if not text.strip():
        raise InputError(f"{name} is empty.")
    return Source(short, text, tuple(repairs))
