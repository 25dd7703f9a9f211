"""Pictures and printed reports for exports: what their options do, and pages on which nothing is cut."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from gui.canvas.picture import steady_pdf
from gui.context import AppContext
from gui.painter import QtPainter
from gui.report_pages import report_pdf
from gui.theme import theme_named
from model.analysis import analyse
from model.document.document import Document
from model.errors import InputError
from model.files.exporting import ExportSource
from model.files.registry import export_format
from model.job.spec import apply_set
from model.step.report import Analysis
from tests.model.files.exports.drawings import pair, template

PDF_TO_TEXT = shutil.which("pdftotext")


@pytest.fixture
def drawn(qtbot: QtBot) -> tuple[Document, Analysis]:
    document = template("hgx-h100", nodes=2)
    return document, analyse(document)


def image(drawn: tuple[Document, Analysis], **options: str) -> QImage:
    found = QImage.fromData(QtPainter().picture(*drawn, "png", {"scale": "1", **options}))
    assert not found.isNull()
    return found


def test_scale_theme_and_selection_change_the_picture(drawn: tuple[Document, Analysis]) -> None:
    whole, twice = image(drawn), image(drawn, scale="2")
    assert abs(twice.width() - 2 * whole.width()) <= 1 and abs(twice.height() - 2 * whole.height()) <= 1
    assert (
        whole.pixelColor(2, 2).lightness()
        > 200
        > 80
        > image(drawn, theme="dark").pixelColor(2, 2).lightness()
    )
    part = image(drawn, selection="node01")
    assert part.width() < whole.width()
    assert image(drawn, colour_by="dp") != image(drawn, colour_by="tp")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_part_shows_nothing_of_the_rest(drawn: tuple[Document, Analysis], kind: str) -> None:
    """Along the edges of the page there is paper only. (SVG has no clipping.)"""
    data = QtPainter().picture(*drawn, kind, {"scale": "1", "selection": "node00"})
    part = QImage.fromData(data)
    assert not part.isNull()
    right, bottom = part.width() - 3, part.height() - 4
    edges = {part.pixelColor(x, y).name() for x in range(0, right, 7) for y in (3, bottom)}
    edges |= {part.pixelColor(x, y).name() for y in range(0, bottom, 7) for x in (3, right)}
    assert len(edges) == 1


def test_a_badge_at_the_edge_of_a_part_is_whole(qtbot: QtBot) -> None:
    """The end of a badge is round: its first column has less than half of its height."""
    document = template("hgx-h100", nodes=2)
    for setting in ("model=llama3-8b", "parallel.tp=2", "parallel.pp=4", "global_batch=64"):
        document.job = apply_set(document.job, setting)
    part = image((document, analyse(document)), selection="node00")
    red = theme_named("light").color("over-badge")
    columns = [
        sum(part.pixelColor(x, y) == red for y in range(part.height() * 2 // 3))
        for x in range(part.width() // 3)
    ]
    first = next(x for x, count in enumerate(columns) if count)
    assert 2 * columns[first] < max(columns[first : first + 8])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": "big"}, "scale cannot be 'big'; it is a number from 0.5 to 8"),
        ({"scale": "100"}, "scale cannot be '100'"),
        ({"theme": "blue"}, "theme cannot be 'blue'; it is one of light, dark"),
        ({"colour_by": "xp"}, "colour_by cannot be 'xp'"),
        ({"selection": "node01, moon"}, "The selection names moon, which the drawing does not have"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    drawn: tuple[Document, Analysis], options: dict[str, str], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        image(drawn, **options)


@pytest.mark.parametrize("ident", ["picture-svg", "picture-pdf", "picture-png", "report-pdf"])
def test_the_same_drawing_gives_the_same_bytes(qtbot: QtBot, ident: str) -> None:
    files = [
        export_format(ident).write(ExportSource(pair(), painter=QtPainter())).files[""] for _ in range(2)
    ]
    assert files[0] == files[1]


def test_what_qt_makes_anew_is_replaced_by_as_many_bytes() -> None:
    data = b"/CreationDate (D:20260105101112Z)\n/ID [ <0a1b> <0a1b> ]\nxmpMM uuid:12ab-"
    steady = steady_pdf(data)
    assert steady == b"/CreationDate (D:20000101000000Z)\n/ID [ <0000> <0000> ]\nxmpMM uuid:12ab-"
    assert len(steady) == len(data)


def pages(path: Path) -> list[str]:
    """The text of each page, as a reader of PDF finds it."""
    done = subprocess.run(
        [str(PDF_TO_TEXT), "-layout", str(path), "-"], capture_output=True, text=True, check=True
    )
    return done.stdout.split("\f")[:-1]


@pytest.mark.skipif(PDF_TO_TEXT is None, reason="pdftotext (poppler-utils) is not installed")
def test_pages_have_numbers_whole_rows_and_the_head_of_their_table(qtbot: QtBot, tmp_path: Path) -> None:
    """A table of 150 rows goes over several pages; each row stands once, below its head, in one line."""
    rows = "\n".join(f"| row{n:03d} | {n * 7} | end{n:03d} |" for n in range(150))
    text = f"# Plan × 2\n\n| Name | Value | Last |\n| --- | ---: | --- |\n{rows}\n\n## After\n\nDone.\n"
    path = tmp_path / "report.pdf"
    path.write_bytes(report_pdf(text, {}))
    found = pages(path)
    assert len(found) >= 3
    for number, page in enumerate(found, 1):
        assert f"Page {number} of {len(found)}" in page and "Plan × 2" in page
        if "row" in page:
            assert re.search(r"Name\s+Value\s+Last", page)
    for n in range(150):
        hits = [page for page in found if re.search(rf"row{n:03d}\s+{n * 7}\s+end{n:03d}", page)]
        assert len(hits) == 1, n
    assert "After" in found[-1] and "Done." in found[-1]


@pytest.mark.skipif(PDF_TO_TEXT is None, reason="pdftotext (poppler-utils) is not installed")
def test_a_heading_is_on_the_page_of_its_text(qtbot: QtBot, tmp_path: Path) -> None:
    """Wherever on a page it falls, with a line and a table below it; nothing is lost behind it."""
    path = tmp_path / "report.pdf"
    falls = set()
    for count in range(34, 44):
        lines = "\n\n".join(f"Line {n}." for n in range(count))
        table = "| Name | Value |\n| --- | --- |\n" + "\n".join(f"| row{n} | {n} |" for n in range(60))
        text = f"# Plan\n\n{lines}\n\n## After\n\nOne.\n\n{table}\n\n## Last\n\nEnd.\n"
        path.write_bytes(report_pdf(text, {}))
        found = pages(path)
        place = next(number for number, page in enumerate(found) if "After" in page)
        assert "One." in found[place] and re.search(r"Name\s+Value", found[place])
        assert "row59" in "".join(found) and "Last" in found[-1] and "End." in found[-1]
        falls.add(place)
    assert falls == {0, 1}


@pytest.mark.skipif(PDF_TO_TEXT is None, reason="pdftotext (poppler-utils) is not installed")
def test_the_printed_report_can_be_searched(context: AppContext, tmp_path: Path) -> None:
    """Digits and signs come out of the file as they were put in, with the figures of a window about, too."""
    path = tmp_path / "report.pdf"
    exported = export_format("report-pdf").write(ExportSource(pair(), painter=QtPainter()))
    path.write_bytes(exported.files[""])  # type: ignore[arg-type]
    text = " ".join(" ".join(pages(path)).split())
    for words in ("H100 SXM5 80GB", "Dearest links", "a.gpu0 →", "One host: a", "4 ranks"):
        assert words in text


def test_pictures_fit_the_page(qtbot: QtBot) -> None:
    """A picture ten times as high as wide stays on one page."""
    tall = QImage(100, 1000, QImage.Format.Format_RGB32)
    tall.fill(0x336699)
    path_data = _png(tall)
    data = report_pdf("# Tall\n\n![tall](t.png)\n\nAfter.\n", {"t.png": path_data})
    assert len(re.findall(rb"/Type /Page\b", data)) == 1
    assert b"/Subtype /Image" in data


def _png(picture: QImage) -> bytes:
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice

    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(data.data())
