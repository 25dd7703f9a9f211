"""XML from elsewhere: what is read, what is refused, and how it is said."""

from __future__ import annotations

import pytest

from model.errors import InputError
from model.files.importing import Reading
from model.files.imports import xml
from model.files.imports.xml import Element, looks_like, read_xml
from tests.model.files.imports.samples import text


def _read(content: str, root: str = "system", *, partial: bool = False) -> tuple[Element, Reading]:
    reading = Reading([text(content)], partial=partial)
    return read_xml(reading, root), reading


def test_elements_have_their_lines_in_the_file_and_plain_names() -> None:
    root, _ = _read(
        '$ cat topo.xml\n<?xml version="1.0"?>\n<!-- a\n<system> in a comment -->\n'
        '<n:system xmlns:n="urn:x" version=" 1 ">\n<n:cpu n:numaid="0"/>\n<b>two</b></n:system>\n$ '
    )
    assert (root.tag, root.line, root.get("version")) == ("system", 5, "1")
    assert [(child.tag, child.line) for child in root.children] == [("cpu", 6), ("b", 7)]
    assert root.children[0].get("numaid") == "0"
    assert root.children[1].text == "two"
    assert [element.tag for element in root.walk()] == ["system", "cpu", "b"]


def test_entities_are_refused_whether_internal_or_external() -> None:
    bomb = '<!DOCTYPE s [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<system>&b;</system>'
    with pytest.raises(InputError, match="line 1: it declares entities, which are not read"):
        _read(bomb)
    with pytest.raises(InputError, match="declares entities"):
        _read('<!DOCTYPE s [\n<!ENTITY x SYSTEM "file:///etc/passwd">]><system>&x;</system>', partial=True)
    with pytest.raises(InputError, match="an entity that it does not declare"):
        _read("<system>\n<a>&x;</a></system>")


def test_file_that_ends_between_elements_is_read_and_said_to_be_cut() -> None:
    root, reading = _read("<system>\n<cpu>\n<pci/>\n")
    assert [element.tag for element in root.walk()] == ["system", "cpu", "pci"]
    [note] = reading.notes
    assert note.kind == "contradictory" and "so it is cut" in note.text and note.lines == (3,)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("<system>\n<cpu/>\n<pci bus", 3),
        ("<system>\n<cpu>\n</system>", 3),
        ('<system>\n<a b="1" b="2"/></system>', 2),
    ],
)
def test_broken_file_is_an_error_with_its_line_or_a_partial_import(content: str, line: int) -> None:
    with pytest.raises(InputError, match=f"line {line}: it is no well-formed XML"):
        _read(content)
    root, reading = _read(content, partial=True)
    assert root.tag == "system"
    assert [note.lines for note in reading.notes] == [(line,)]


def test_size_and_depth_are_bounded_in_partial_imports_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="more than 200 deep"):
        _read("<system>" + "<a>" * 300, partial=True)
    monkeypatch.setattr(xml, "MOST_ELEMENTS", 1000)
    assert len(list(_read("<system>" + "<a/>" * 999 + "</system>")[0].walk())) == 1000
    with pytest.raises(InputError, match="more than 1,000 elements"):
        _read("<system>" + "<a/>" * 1000 + "</system>", partial=True)


def test_another_root_is_named() -> None:
    with pytest.raises(InputError, match=r"has no <system> element; it starts with <systems>"):
        _read("<systems/>")
    with pytest.raises(InputError, match="it is no XML"):
        _read("GPU0 GPU1")


def test_sniffing_looks_at_the_first_element() -> None:
    assert looks_like(
        '<?xml version="1.0"?><!DOCTYPE a SYSTEM "b"><!-- <x> -->\n<topology version="2.0">', "topology"
    )
    assert not looks_like("<a><topology/></a>", "topology")
    assert not looks_like("no markup", "topology")
