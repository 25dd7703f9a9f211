"""XML of other tools, read without trust: no entities, no DTD, no network, bounded in size and depth.

Text around the document (a shell prompt, a log) is skipped. A file that ends between two elements is read as
far as it goes, and said to be cut; one that is broken otherwise is an `InputError` with its line, or is read
up to there when the user chose a partial import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from model.errors import InputError
from model.files.importing import NoteKind, Reading
from model.files.reading_text import Source
from model.text import plural

MOST_ELEMENTS = 400_000
MOST_DEPTH = 200
_CHUNK = 65_536  # characters that are parsed between two looks at the limits
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(slots=True)
class Element:
    """One element: its name without namespace, attributes, line (from 1), text before its first child."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def get(self, name: str, default: str = "") -> str:
        """An attribute, without blanks around it."""
        return self.attributes.get(name, default).strip()

    def all(self, *tags: str) -> Iterator[Element]:
        """Its children of these names, in order."""
        return (child for child in self.children if child.tag in tags)

    def walk(self) -> Iterator[Element]:
        """It and everything inside, in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def looks_like(head: str, root: str) -> bool:
    """Whether a text has an element of this name that no other element comes before; for sniffing."""
    first = re.search(r"<([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)", _COMMENT.sub("", head))
    return first is not None and first[2] == root


def read_xml(reading: Reading, root: str, source: Source | None = None) -> Element:
    """The first element called `root` in a text, with everything inside it.

    Raises `InputError` where there is none, where it is broken (unless the import is partial), and always for
    entities and for what is too large or too deep.
    """
    where = source or reading.source
    text, start = _document(where, root)
    parser = etree.XMLPullParser(
        events=("start", "end"),
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    # The parser counts lines from where the document starts; this keeps them those of the file.
    tree = _Tree(where, text.count("\n", 0, start))
    problem: etree.XMLSyntaxError | None = None
    try:
        for position in range(start, len(text), _CHUNK):
            parser.feed(text[position : position + _CHUNK])
            tree.take(parser)
            if tree.finished:
                break
        else:
            parser.close()
    except etree.XMLSyntaxError as error:
        problem = error
        tree.take(parser)
    if tree.root is None:
        raise InputError(f"{where.name}, line {tree.lines_before + 1}: <{root}> cannot be read.")
    if not tree.finished:
        _say_what_is_wrong(reading, tree, text, problem)
    return tree.root


def _document(source: Source, root: str) -> tuple[str, int]:
    """The text up to the end of the root, comments blanked out, and where the root starts."""
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source.text)
    if "<!ENTITY" in text:
        line = text.count("\n", 0, text.index("<!ENTITY")) + 1
        raise InputError(
            f"{source.name}, line {line}: it declares entities, which are not read; "
            "a file that the tool wrote has none."
        )
    opening = re.search(rf"<(?:[A-Za-z_][\w.-]*:)?{root}(?=[\s/>]|\Z)", text)
    if opening is None:
        first = re.search(r"<([A-Za-z_][\w.-]*)", text)
        seen = f"it starts with <{first[1][:40]}>" if first else "it is no XML"
        raise InputError(f"{source.name} has no <{root}> element; {seen}.")
    return text, opening.start()


class _Tree:
    """Elements built from the events of a parser, which forgets them."""

    def __init__(self, source: Source, lines_before: int) -> None:
        self.source = source
        self.lines_before = lines_before
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.last_line = lines_before + 1

    @property
    def finished(self) -> bool:
        """Whether the root is closed."""
        return self.root is not None and not self.open

    def take(self, parser: etree.XMLPullParser) -> None:
        """Take over what the parser has read."""
        for event, node in parser.read_events():
            if not isinstance(node, etree._Element) or not isinstance(node.tag, str):
                continue
            if event == "start":
                self._start(node)
            elif self.open:
                self.open.pop().text = node.text or ""
                node.clear()
            if self.finished:
                return

    def _start(self, node: etree._Element) -> None:
        self.count += 1
        if self.count > MOST_ELEMENTS or len(self.open) >= MOST_DEPTH:
            limit = (
                f"more than {MOST_ELEMENTS:,} elements"
                if self.count > MOST_ELEMENTS
                else f"elements more than {MOST_DEPTH} deep"
            )
            raise InputError(f"{self.source.name} has {limit}; such a file is not read.")
        line = int(getattr(node, "sourceline", None) or 1) + self.lines_before
        attributes = {_local(str(name)): str(value) for name, value in node.attrib.items()}
        element = Element(_local(node.tag), attributes, line)
        if self.open:
            self.open[-1].children.append(element)
        elif self.root is None:
            self.root = element
        self.open.append(element)
        self.last_line = line


def _local(name: str) -> str:
    """A name without its namespace; a prefix that the file does not declare is part of it for the parser."""
    return name.rpartition("}")[2].rpartition(":")[2]


def _say_what_is_wrong(
    reading: Reading, tree: _Tree, text: str, problem: etree.XMLSyntaxError | None
) -> None:
    """A cut file is noted; a broken one raises, unless the import is partial."""
    ways = " in ".join(f"<{element.tag}> of line {element.line}" for element in reversed(tree.open[-3:]))
    last_line = text.rstrip().count("\n") + 1
    if problem is not None and getattr(problem, "code", None) == etree.ErrorTypes.ERR_TAG_NOT_FINISHED:
        reading.note(
            NoteKind.CONTRADICTORY,
            f"The file ends inside {ways}, so it is cut: what comes before is read, the rest is unknown.",
            (last_line,),
            tree.source,
        )
        return
    line = tree.last_line
    reason = "it has an entity that it does not declare"
    if problem is not None and problem.lineno:
        line = min(problem.lineno + tree.lines_before, last_line)
        reason = re.sub(r",? line \d+.*$", "", str(problem.msg or "")).strip()[:120]
    reading.broken(
        f"it is no well-formed XML: {reason} (inside {ways}); "
        f"{plural(tree.count, 'element')} before that can be read",
        line,
        tree.source,
    )
