"""The report as Markdown: its sections, text that Markdown takes as it is, and the pictures it names."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt

from model.document.document import Document
from model.document.edits import SetFields
from model.errors import InputError
from model.files.exporting import ExportSource
from model.files.registry import export_format
from tests.model.files.exports.drawings import FakePainter, drawings, export, pair, template

SECTIONS = ["Topology", "Placement", "Step", "Exchanges", "Dearest links", "Memory of a GPU", "Findings"]


def report(document: Document, **options: str) -> str:
    return str(export(document, "report-markdown", **options).files["report.md"])


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def test_every_section_is_there_and_names_its_pictures() -> None:
    exported = export(pair(), "report-markdown")
    text = str(exported.files["report.md"])
    assert headings(text) == SECTIONS
    assert set(exported.files) == {"report.md", "drawing.png", "host.png"}
    assert re.findall(r"\]\((\w+\.png)\)", text) == ["drawing.png", "host.png"]
    assert "| GPU | H100 SXM5 80GB | 4 | 0 |" in text
    assert "| InfiniBand | 400G | 8 | 12 |" in text
    assert "| TP | 2 | 2 | 1 | 1 |" in text
    assert "| DP | 2 | 2 | 2 | 2 |" in text


def test_without_a_step_it_says_why() -> None:
    document = pair()
    gpus = tuple(f"{host}.gpu{rail}" for host in "ab" for rail in (0, 1))
    SetFields("device", gpus, {"state": "down"}).apply(document)
    exported = export(document, "report-markdown", pictures="no")
    text = str(exported.files["report.md"])
    assert headings(text) == ["Topology", "Findings"]
    assert "| GPU | H100 SXM5 80GB | 4 | 4 |" in text
    assert exported.left_out[0].startswith("Left out: placement, step, links and memory")
    assert set(exported.files) == {"report.md"}


def test_stages_are_listed_with_their_hosts() -> None:
    document = template("hgx-h100", nodes=4)
    document.job = document.job.model_copy(
        update={"parallel": document.job.parallel.model_copy(update={"tp": 8, "pp": 2})}
    )
    assert "| 1 | 16 | node02, node03 |" in report(document, pictures="no")


def test_printing_hands_text_and_pictures_to_the_painter() -> None:
    painter = FakePainter()
    options = {"paper": "letter"}
    exported = export_format("report-pdf").write(ExportSource(pair(), painter=painter, options=options))
    ((text, pictures, handed),) = painter.printed
    assert headings(text) == SECTIONS
    assert set(pictures) == {"drawing.png", "host.png"} and handed["paper"] == "letter"
    assert exported.files[""].startswith(b"%PDF")  # type: ignore[arg-type]
    assert [asked["selection"] for _, asked in painter.asked] == ["", "a"]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=drawings())
def test_markdown_shows_names_as_they_are(document: Document) -> None:
    """A row has as many cells as its head, no name becomes a tag, and the title is the drawing's name."""
    try:
        text = report(document, pictures="no")
    except InputError:
        return
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    tags = set(re.findall(r"<([a-z0-9]+)", html))
    assert tags <= {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "em"}
    title = re.search(r"<h1>(.*?)</h1>", html)
    assert title is not None
    wanted = document.name or "Untitled"
    assert title[1] == wanted.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for table in re.findall(r"<table>(.*?)</table>", html, re.DOTALL):
        widths = {
            row.count("<th") + row.count("<td") for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        }
        assert len(widths) == 1 and widths != {0}
