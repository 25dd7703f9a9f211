"""YAML of other tools as plain values that know their lines, safe for any text.

Values are built from libyaml's events without recursion and without constructors: no tag makes an object.
Plain scalars are read by the core schema of YAML 1.2, as the Go and C programs that write these files do:
`yes`, `on` and `12:30` are texts. A number with leading zeros stays a text too, as `007` is a name here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from model.errors import InputError

LARGEST_YAML = 16 * 2**20  # characters
DEEPEST = 64
MOST_VALUES = 2_000_000  # values of a file, those of an alias counted wherever it stands

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{0,40})?(?:[eE][-+]?[0-9]{1,3})?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "map", "seq", "timestamp")
)
_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE = "<<"


class YamlMap(dict[str, Any]):
    """A mapping; keys are texts. `lines[key]` is the line of a key, `line` that of the first."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class YamlList(list[Any]):
    """A list. `lines[n]` is the line of item n, `line` that of the first."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come. `size` counts the values in it, itself too."""

    value: YamlMap | YamlList
    anchor: str | None
    size: int = 1
    depth: int = 0  # of what is in it, aliases too
    key: str | None = None
    key_line: int = 0
    merged: list[tuple[Any, int]] = field(default_factory=list)


def parse_yaml(text: str, name: str) -> Any:
    """The value of the only document in a text: `YamlMap`, `YamlList`, str, int, float, bool or None.

    Raises `InputError` with the line for what is no YAML, several documents, keys that stand twice, tags of
    programming languages, and texts that are too large or too deep. `name` is for the messages.
    """
    documents = parse_documents(text, name)
    if len(documents) != 1:
        raise InputError(f"{name} has {len(documents)} YAML documents; one is expected.")
    return documents[0]


def parse_documents(text: str, name: str) -> list[Any]:
    """The values of all documents (between lines `---`) of a text. Raises `InputError` as `parse_yaml`."""
    if len(text) > LARGEST_YAML:
        raise InputError(
            f"{name} has {len(text):,} characters; YAML is read up to {LARGEST_YAML // 2**20} MiB."
        )
    return _Builder(name).documents(text)


class _Builder:
    """Builds values from events. An alias is the same object as its anchor, so nobody writes to values."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._values = 0

    def documents(self, text: str) -> list[Any]:
        found: list[Any] = []
        for event in self._events(text):
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._start(event)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                done = self._stack.pop()
                if isinstance(done.value, YamlMap):
                    self._merge(done)
                self._add(done.value, done.value.line, done.anchor, (done.size, done.depth + 1), found)
            elif isinstance(event, yaml.ScalarEvent):
                line = _line(event)
                self._add(self._scalar(event, line), line, event.anchor, (1, 0), found)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event, found)
        return found

    def _events(self, text: str) -> Iterator[Any]:
        try:
            yield from yaml.parse(text.encode("utf-8", "replace").decode("utf-8"), Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            what = error.problem or error.context or "it cannot be read"
            raise self._refused(mark.line + 1 if mark else None, f"is no valid YAML: {what}") from None
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise self._refused(line, f"is no valid YAML: {error.reason}") from None
        except yaml.YAMLError as error:
            raise self._refused(None, f"is no valid YAML: {' '.join(str(error).split())}") from None

    def _start(self, event: Any) -> None:
        line = _line(event)
        if len(self._stack) >= DEEPEST:
            raise self._refused(line, f"is nested more than {DEEPEST} deep")
        self._check_tag(event.tag, line)
        top = self._stack[-1] if self._stack else None
        if top is not None and isinstance(top.value, YamlMap) and top.key is None:
            raise self._refused(line, "has a list or mapping as a key; keys are texts here")
        value = YamlMap(line) if isinstance(event, yaml.MappingStartEvent) else YamlList(line)
        self._stack.append(_Open(value, event.anchor))

    def _alias(self, event: Any, found: list[Any]) -> None:
        line = _line(event)
        known = self._anchors.get(event.anchor)
        if known is None:
            inside = any(each.anchor == event.anchor for each in self._stack)
            why = "which holds itself" if inside else "which is nowhere before"
            raise self._refused(line, f"has the alias *{event.anchor}, {why}")
        value, size, depth = known
        self._values += size - 1
        if len(self._stack) + depth > DEEPEST:
            raise self._refused(line, f"is nested more than {DEEPEST} deep")
        self._add(value, line, None, (size, depth), found)

    def _add(
        self, value: Any, line: int, anchor: str | None, extent: tuple[int, int], found: list[Any]
    ) -> None:
        """Put a finished value where it belongs; `extent` is its size and depth."""
        self._values += 1
        if self._values > MOST_VALUES:
            raise self._refused(line, f"has more than {MOST_VALUES:,} values with those of aliases")
        if anchor is not None:
            self._anchors[anchor] = (value, *extent)
        if not self._stack:
            found.append(value)
            return
        top = self._stack[-1]
        top.size += extent[0]
        top.depth = max(top.depth, extent[1])
        if isinstance(top.value, YamlList):
            top.value.append(value)
            top.value.lines.append(line)
        elif top.key is None:
            top.key, top.key_line = self._key(value, line), line
        else:
            self._put(top, value)

    def _put(self, top: _Open, value: Any) -> None:
        mapping, key = top.value, top.key or ""
        top.key = None
        if not isinstance(mapping, YamlMap):
            return
        if key == _MERGE:
            top.merged.append((value, top.key_line))
            return
        if key in mapping:
            before = mapping.lines[key]
            raise self._refused(top.key_line, f"has the key {_shown(key)} twice (first in line {before})")
        mapping[key] = value
        mapping.lines[key] = top.key_line

    def _key(self, value: Any, line: int) -> str:
        if isinstance(value, YamlMap | YamlList):
            raise self._refused(line, "has a list or mapping as a key; keys are texts here")
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    def _merge(self, done: _Open) -> None:
        """The keys of `<<: *other` that the mapping does not have itself."""
        mapping = done.value
        for merged, line in done.merged:
            for other in merged if isinstance(merged, YamlList) else [merged]:
                if not isinstance(other, YamlMap) or not isinstance(mapping, YamlMap):
                    raise self._refused(line, "merges (<<) something that is no mapping")
                for key, value in other.items():
                    if key not in mapping:
                        mapping[key] = value
                        mapping.lines[key] = other.lines[key]

    def _scalar(self, event: Any, line: int) -> Any:
        self._check_tag(event.tag, line)
        if event.tag == _TEXT_TAG or (event.tag is None and not event.implicit[0]):
            return event.value
        return scalar(event.value)

    def _check_tag(self, tag: str | None, line: int) -> None:
        if tag is not None and tag not in _PLAIN_TAGS and tag not in ("!", _TEXT_TAG):
            raise self._refused(line, f"has the tag {_shown(tag)}, which stands for no plain value")

    def _refused(self, line: int | None, what: str) -> InputError:
        where = "" if line is None else f", line {line},"
        return InputError(f"{self._name}{where} {what}.")


def scalar(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar by the core schema of YAML 1.2."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else text
    return text


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")
