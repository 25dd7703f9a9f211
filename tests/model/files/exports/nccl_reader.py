"""NCCL's own reader of topology files, re-enacted with its limits: what it refuses is refused here.

After `xmlLoadSub`, `xmlGetNode` and `xmlGetToken` of NCCL 2.30: it skips blanks and line ends between
elements, takes one blank between attributes, knows no text, declarations or tabs, and has fixed tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST, MOST_ATTRIBUTES, MOST_CHILDREN, MOST_NODES = 255, 16, 640, 256
PCI_GEN = {
    "2.5 GT/s": 15,
    "5 GT/s": 30,
    "8 GT/s": 60,
    "16 GT/s": 120,
    "32 GT/s": 240,
    "64 GT/s": 480,
}  # × 80 MB/s
INSIDE = {
    "": {"system"}, "system": {"cpu"}, "cpu": {"pci", "nic"}, "pci": {"pci", "gpu", "nic", "pcilink"},
    "gpu": {"nvlink", "c2c"}, "nic": {"net"}, "net": set(), "nvlink": set(), "c2c": set(), "pcilink": set(),
}  # fmt: skip


class NcclError(Exception):
    """What NCCL answers with an internal error."""


@dataclass
class Node:
    """An element as NCCL keeps it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, name: str) -> list[Node]:
        return [node for node in self.walk() if node.name == name]


class Reader:
    """One file. `root` is its system."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._count = text, 0, 0
        self.root = Node("")
        self._load(self.root)
        if len(self.root.children) != 1 or self.root.children[0].name != "system":
            raise NcclError("no system at the top")
        if self.root.children[0].attributes.get("version") != "1":
            raise NcclError("XML Topology has wrong version")
        self.root = self.root.children[0]

    def _char(self) -> str:
        self._at += 1
        return self._text[self._at - 1] if self._at <= len(self._text) else ""

    def _load(self, head: Node) -> None:
        while True:
            node, kind = self._node()
            if node is None:
                if head.name:
                    raise NcclError(f"unterminated <{head.name}>")
                return
            if kind == "close":
                if node.name != head.name:
                    raise NcclError(f"mismatch in {node.name}")
                return
            if node.name not in INSIDE.get(head.name, set()):
                raise NcclError(f"{node.name} is not taken inside of {head.name}")
            if len(head.children) == MOST_CHILDREN:
                raise NcclError("too many sub-nodes")
            self._count += 1
            if self._count > MOST_NODES:
                raise NcclError("too many XML nodes (max 256)")
            head.children.append(node)
            if kind == "open":
                self._load(node)

    def _node(self) -> tuple[Node | None, str]:
        char = self._char()
        while char and char in " \n\r":
            char = self._char()
        if not char:
            return None, ""
        if char != "<":
            raise NcclError(f"expecting '<', got {char!r}")
        name, _, last = self._token()
        if name.startswith("/"):
            return Node(name[1:]), "close"
        node = Node(name)
        while last == " ":
            key, value, last = self._token()
            if value is None:
                raise NcclError(f"attribute {key!r} without a value")
            if len(node.attributes) == MOST_ATTRIBUTES:
                raise NcclError("too many attributes")
            if key in node.attributes:
                raise NcclError(f"attribute {key} twice")
            node.attributes[key] = value
        if last == "/":
            if self._char() != ">":
                raise NcclError("expecting '>'")
            return node, "single"
        if last != ">":
            raise NcclError(f"a line break or {last!r} inside of <{name}>")
        return node, "open"

    def _token(self) -> tuple[str, str | None, str]:
        name = ""
        char = self._char()
        while char not in (" ", ">", "\n", "\r", "") and (char != "/" or not name):
            if char == "=":
                value = self._value()
                return name, value, self._char()
            name += char
            if len(name) > LONGEST:
                raise NcclError("name too long")
            char = self._char()
        return name, None, char

    def _value(self) -> str:
        quote = self._char()
        if quote not in ('"', "'"):
            raise NcclError("expected a quote")
        value = ""
        while (char := self._char()) != quote:
            if not char:
                raise NcclError("unterminated value")
            value += char
            if len(value) > LONGEST:
                raise NcclError("value too long")
        return value


def pci_gbytes_per_s(pci: Node) -> float:
    """NCCL's PCIe bandwidth of a device: width × speed ÷ 80, the speed matched by its beginning."""
    speed = pci.attributes["link_speed"]
    known = [rate for text, rate in PCI_GEN.items() if speed.startswith((text, text.replace(" ", ".0 ", 1)))]
    if not known:
        raise NcclError(f"unknown speed {speed!r}")
    return int(pci.attributes["link_width"]) * known[0] / 80
