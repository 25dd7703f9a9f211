"""Topologies in DOT, as Cumulus PTM and NVIDIA Air read them: boxes, and cables between their ports.

    graph G {
        "leaf01" [function="leaf" os="cumulus-vx"]
        "leaf01":"swp51" -- "spine01":"swp1" [left_mac="…"]
    }

The grammar is that of Graphviz (dot language): quoted, plain, numeral and HTML names, ports, attribute lists,
subgraphs as ends, comments of C and lines of the preprocessor; semicolons are optional.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from model.errors import InputError
from model.files.importing import Drawing, ImportFormat, Reading
from model.files.imports.cabling import Cable, Cabling, End, Role, rate_of
from model.files.imports.cabling_drawing import draw
from model.files.imports.cabling_roles import role_of_word
from model.topology.types import LinkKind

MOST_PAIRS = 100_000  # cables of one statement, as `{a b c} -- {d e f}` means all pairs
MOST_WORDS = 4_000_000  # blanks counted, too
DEEPEST = 50

_TOKEN = re.compile(
    r"""(?P<blank>[\s\ufeff]+|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/|\#[^\n]*)
    |(?P<quoted>"(?:[^"\\]|\\.)*+")
    |(?P<arrow>--|->)
    |(?P<sign>[{}\[\];,:=+])
    |(?P<name>-?(?:\.\d+|\d+(?:\.\d*)?)(?![\w.])|[^\W\d][\w]*|\d\w*)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = ("graph", "digraph", "node", "edge", "strict", "subgraph")
_FUNCTION = ("function", "role", "type")


class _SyntaxProblem(Exception):
    """Where the text stops being DOT."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.text = text
        self.line = line


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "name" | "arrow" | "sign" | "end"
    text: str
    line: int
    quoted: bool = False

    def keyword(self) -> str:
        """The keyword that it is, else ""."""
        word = self.text.lower()
        return word if self.kind == "name" and not self.quoted and word in _KEYWORDS else ""


def _tokens(text: str) -> Iterator[_Token]:
    place, line, count = 0, 1, 0
    while place < len(text):
        count += 1
        if count > MOST_WORDS:
            raise _SyntaxProblem(f"more than {MOST_WORDS:,} words and signs", line)
        if text[place] == "<":
            end = _html_end(text, place)
            if end is None:
                raise _SyntaxProblem("an HTML text (<…>) is never closed", line)
            yield _Token("name", text[place + 1 : end - 1], line, quoted=True)
        else:
            found = _TOKEN.match(text, place)
            if not found:
                raise _SyntaxProblem(_odd(text, place), line)
            end = found.end()
            if found["quoted"] is not None:
                plain = found["quoted"][1:-1].replace("\\\n", "").replace('\\"', '"')
                yield _Token("name", plain, line, quoted=True)
            elif found.lastgroup != "blank":
                yield _Token(str(found.lastgroup), found.group(), line)
        line += text.count("\n", place, end)
        place = end
    yield _Token("end", "the end of the text", line)


def _html_end(text: str, start: int) -> int | None:
    depth = 0
    for found in re.compile("[<>]").finditer(text, start):
        depth += 1 if found.group() == "<" else -1
        if depth == 0:
            return found.end()
    return None


def _odd(text: str, place: int) -> str:
    if text[place] == '"':
        return "a quoted name is never closed"
    if text.startswith("/*", place):
        return "a comment (/*) is never closed"
    return f"{text[place]!r} is no part of a DOT text"


class _Parser:
    """Statements of a graph, straight into a cabling."""

    def __init__(self, reading: Reading, cabling: Cabling) -> None:
        self._reading = reading
        self._cabling = cabling
        self._tokens = _tokens(reading.source.text)
        self._next = _Token("end", "", 1)
        self._depth = 0
        self.title = ""

    def parse(self) -> None:
        """All of the text. What is broken ends it; in a partial import what came before is kept."""
        try:
            self._next = next(self._tokens)
            self._graph()
        except _SyntaxProblem as problem:
            self._reading.broken(problem.text, problem.line)

    def _take(self) -> _Token:
        token = self._next
        if token.kind != "end":
            self._next = next(self._tokens)
        return token

    def _is(self, sign: str) -> bool:
        return self._next.kind in ("sign", "arrow") and self._next.text == sign

    def _skip(self, sign: str) -> bool:
        if not self._is(sign):
            return False
        self._take()
        return True

    def _expect(self, sign: str) -> None:
        if not self._skip(sign):
            raise self._problem(f"{self._shown()} where {sign!r} is expected")

    def _shown(self) -> str:
        text = self._next.text
        return text if self._next.kind == "end" else repr(text if len(text) <= 40 else text[:37] + "…")

    def _problem(self, what: str) -> _SyntaxProblem:
        return _SyntaxProblem(what, self._next.line)

    def _word(self) -> str:
        """A name; parts joined by + are one."""
        if self._next.kind != "name":
            raise self._problem(f"{self._shown()} where a name is expected")
        parts = [self._take().text]
        while self._skip("+"):
            if self._next.kind != "name":
                raise self._problem(f"{self._shown()} where the rest of a name is expected")
            parts.append(self._take().text)
        return "".join(parts)

    def _graph(self) -> None:
        if self._next.keyword() == "strict":
            self._take()
        if self._next.keyword() not in ("graph", "digraph"):
            raise self._problem(f"{self._shown()} where 'graph' is expected")
        if self._take().keyword() == "digraph":
            self._reading.inferred("Arrows are cables, which carry both ways.")
        if self._next.kind == "name":
            self.title = self._word()
        self._expect("{")
        self._statements()
        self._expect("}")
        if self._next.kind != "end":
            self._reading.ignored("What follows the graph was left out.", self._next.line)

    def _statements(self) -> list[End]:
        """Statements up to the closing bracket; gives the nodes in them."""
        inside: list[End] = []
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._problem(f"subgraphs are nested more than {DEEPEST} deep")
        while not self._is("}") and self._next.kind != "end":
            if self._skip(";") or self._skip(","):
                continue
            ends = self._statement()
            if self._depth > 1:  # nobody asks what the graph itself holds
                inside.extend(ends)
        self._depth -= 1
        return inside

    def _statement(self) -> list[End]:
        line = self._next.line
        keyword = self._next.keyword()
        if keyword in ("graph", "node", "edge"):
            self._take()
            if self._attributes():
                self._reading.ignored("Default attributes of nodes and edges say nothing about cables.", line)
            return []
        sides = [self._side()]
        if keyword != "subgraph" and self._skip("="):
            self._word()
            return []
        while self._next.kind == "arrow":
            self._take()
            sides.append(self._side())
        attributes = self._attributes()
        if len(sides) == 1:
            self._nodes(sides[0], attributes, line)
        for left, right in pairwise(sides):
            self._cables(left, right, line, self._rate(attributes, line))
        return [End(end.box) for side in sides for end in side]

    def _side(self) -> list[End]:
        if self._next.keyword() == "subgraph":
            self._take()
            if self._next.kind == "name":
                self._word()
            self._expect("{")
        elif not self._skip("{"):
            return [self._end()]
        inside = self._statements()
        self._expect("}")
        return list(dict.fromkeys(inside))

    def _end(self) -> End:
        name, port = self._word(), ""
        if self._skip(":"):
            port = self._word()
            if self._skip(":"):
                self._word()  # the side of the port that a picture draws the edge to
        if not name.strip():
            raise self._problem("a node without a name")
        return End(name, port)

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._skip("["):
            while not self._skip("]"):
                key = self._word().lower()
                found[key] = self._word() if self._skip("=") else "true"
                if not self._skip(","):
                    self._skip(";")
        return found

    def _nodes(self, side: list[End], attributes: dict[str, str], line: int) -> None:
        for end in side:
            box = self._cabling.box(end.box, line)
            said = next((attributes[key] for key in _FUNCTION if key in attributes), "")
            if said:
                role = role_of_word(said)
                if role is Role.UNKNOWN:
                    self._reading.ignored(f"The function {said[:40]!r} of a node means nothing here.", line)
                elif box.role not in (Role.UNKNOWN, role):
                    self._reading.contradictory(
                        f"{box.name[:40]} has two functions; {box.role} was kept.", box.line, line
                    )
                else:
                    box.role = role

    def _rate(self, attributes: dict[str, str], line: int) -> float:
        """Bytes/s of the attribute speed, which Railsketch writes; 0 where there is none."""
        text = attributes.get("speed")
        rate = rate_of(text) if text is not None else 0.0
        if text is not None and not rate:
            self._reading.ignored(f"The speed {text[:40]!r} of a cable is none in Gb/s.", line)
        return rate

    def _cables(self, left: list[End], right: list[End], line: int, rate: float) -> None:
        if len(left) * len(right) > MOST_PAIRS:
            raise self._problem(f"more than {MOST_PAIRS:,} cables in one statement")
        for a in left:
            for b in right:
                self._cabling.cable(Cable(a, b, line, rate))


def read(reading: Reading) -> Drawing:
    """The topology as a drawing. Raises `InputError` with the line where the text is no DOT."""
    cabling = Cabling(reading, LinkKind.ETHERNET)
    parser = _Parser(reading, cabling)
    parser.parse()
    if not cabling.boxes:
        raise InputError(f"{reading.source.name} has no node and no cable.")
    return draw(cabling, parser.title or reading.source.name.partition(".")[0])


def sniff(head: str, name: str) -> int:
    """Likely by its first word, surer with ports of switches."""
    start = re.match(
        r"(?:\s|//[^\n]*\n|#[^\n]*\n)*(?:strict\s+)?(?:di)?graph\b[^{\n]*\{", head[:4096], re.IGNORECASE
    )
    if not start:
        return 25 if name.endswith((".dot", ".gv")) and "{" in head and "--" in head else 0
    ports = re.search(r'\w{1,40}"?\s?:\s?"?[\w./-]{1,40}"?\s{0,4}-[->]\s{0,4}"?[\w.-]{1,80}"?\s?:', head)
    return 95 if ports else 60


FORMATS = (
    ImportFormat(
        id="cumulus-dot",
        name="DOT topology (Cumulus, NVIDIA Air)",
        suffixes=(".dot", ".gv"),
        sniff=sniff,
        read=read,
        how="The topology file of PTM (/etc/ptm.d/topology.dot) or of a simulation in NVIDIA Air.",
        carries="Hosts, switches and the cable on each port, parallel ones and split ports too.",
        lacks="Speeds where edges have no attribute speed; products, GPUs and lengths.",
    ),
)
