"""Pictures of a whole drawing, also where there is no screen and no application."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from gui.canvas.camera import Camera
from gui.canvas.levels import Level
from gui.canvas.picture import _extent, write_picture
from gui.canvas.scene import Scene
from gui.canvas.scene_painter import Lit, ScenePainter
from gui.theme import theme_named
from model.analysis import analyse
from model.document.document import Document
from model.document.start import document_from
from model.errors import InputError
from model.job.default import default_job
from model.topology.graph import Topology
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
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


def test_a_picture_holds_the_arches_over_the_sites(qtbot: QtBot) -> None:
    scene = Scene(document_from(build("two-sites", {})))
    box, drawn = scene.index.bounds(), _extent(scene, None)
    assert box is not None and drawn is not None
    assert drawn[1] < box[1] - 50 and (drawn[0], drawn[2], drawn[3]) == (box[0], box[2], box[3])
    strands, curves = scene.strands(Level.RANKS, 0.6)
    assert len(strands) and float(curves.point(0.5)[:, 1].min()) >= drawn[1]


def test_the_pattern_of_an_oversubscribed_link_lies_under_the_card_of_a_tray(qtbot: QtBot) -> None:
    devices = (
        Device("leaf0", DeviceKind.LEAF, "qm9700"),
        Device("leaf1", DeviceKind.LEAF, "qm9700"),
        Device("tray.gpu0", DeviceKind.GPU, "h100-sxm", parent="tray"),
        Device("tray.gpu1", DeviceKind.GPU, "h100-sxm", parent="tray"),
    )
    layout = {
        "leaf0": (-400.0, 0.0),
        "leaf1": (400.0, 0.0),
        "tray.gpu0": (0.0, -120.0),
        "tray.gpu1": (0.0, 120.0),
    }
    link = Link("l", "leaf0", "leaf1", LinkKind.INFINIBAND, 50e9)
    topology = Topology(devices, (link,), (Container("tray", ContainerKind.TRAY),))
    scene = Scene(Document(topology, layout=layout))
    scene.utilisation, scene.ratio = np.ones((1, 2)), np.full((1, 2), 2.0)
    scene.loads_version += 1
    image = QImage(1000, 500, QImage.Format.Format_RGB32)
    painter = ScenePainter(scene, theme_named("light"))
    painter.prepare(Camera(1.0, 500.0, 250.0, 1000, 500), Level.RANKS)
    with QPainter(image) as out:
        painter.paint_all(out, Lit(), grid=False)
    over = theme_named("light").color("over").rgb()

    def striped(x0: int, x1: int) -> bool:
        return any(image.pixel(x, 250) == over for x in range(x0, x1))

    assert striped(200, 440) and striped(560, 800)  # on both sides of the tray
    assert not striped(472, 528)  # behind it
