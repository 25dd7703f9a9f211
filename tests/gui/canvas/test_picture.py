"""Pictures of a whole drawing, also where there is no screen and no application."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from gui.canvas.picture import write_picture
from model.analysis import analyse
from model.document.document import Document
from model.errors import InputError
from model.job.default import default_job
from model.topology.graph import Topology
from topology_templates.registry import build

ROOT = Path(__file__).resolve().parents[3]


def drawing(nodes: int = 2) -> Document:
    content = build("hgx-h100", {"nodes": nodes})
    topology = Topology(content.devices, content.links, content.containers)
    return Document(topology, default_job(8 * nodes, 80e9), layout=dict(content.positions), name="pair")


def test_png_has_the_pixels_that_scale_asks_for(qtbot: QtBot, tmp_path: Path) -> None:
    document = drawing()
    analysis = analyse(document)
    write_picture(document, analysis, tmp_path / "one.png", scale=1, size=(900, 600))
    write_picture(document, analysis, tmp_path / "two.png", scale=2, size=(900, 600), theme="dark")
    one, two = QImage(str(tmp_path / "one.png")), QImage(str(tmp_path / "two.png"))
    assert (one.width(), one.height()) == (900, 600)
    assert (two.width(), two.height()) == (1800, 1200)
    assert one.pixelColor(3, 3).lightness() > 240 > 60 > two.pixelColor(3, 3).lightness()


def test_svg_and_pdf_are_what_their_names_say(qtbot: QtBot, tmp_path: Path) -> None:
    document = drawing()
    write_picture(document, None, tmp_path / "p.svg")
    write_picture(document, None, tmp_path / "p.pdf")
    svg = (tmp_path / "p.svg").read_text()
    assert "<svg" in svg and "node00" in svg and "leaf0" in svg
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF-")


def test_an_empty_drawing_is_a_picture_too(qtbot: QtBot, tmp_path: Path) -> None:
    write_picture(Document(), None, tmp_path / "empty.png", scale=1)
    assert QImage(str(tmp_path / "empty.png")).width() >= 600


def test_what_cannot_be_written_is_one_sentence(qtbot: QtBot, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf"):
        write_picture(drawing(1), None, tmp_path / "p.bmp")
    with pytest.raises(InputError, match="cannot be written"):
        write_picture(drawing(1), None, tmp_path / "missing" / "p.png")


def test_no_screen_and_no_application_are_needed(tmp_path: Path) -> None:
    script = (
        "from model.document.document import Document\n"
        "from gui.canvas.picture import write_picture\n"
        f"write_picture(Document(), None, {str(tmp_path / 'p.png')!r}, scale=1)\n"
    )
    environment = {
        key: value for key, value in os.environ.items() if key not in ("QT_QPA_PLATFORM", "DISPLAY")
    }
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
