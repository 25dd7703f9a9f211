"""Writes the pictures of the documentation: the program's own window, driven without a screen."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
FOLDER = Path(__file__).parent / "pictures"
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np  # noqa: E402
from PySide6.QtCore import QPointF, QSettings  # noqa: E402
from PySide6.QtGui import QImage  # noqa: E402
from PySide6.QtWidgets import QWidget  # noqa: E402

from gui.app import application, finish_start  # noqa: E402
from gui.context import AppContext  # noqa: E402
from gui.window import MainWindow  # noqa: E402
from model.document.document import Document  # noqa: E402
from model.document.rack_edits import put_into_racks  # noqa: E402
from model.document.start import document_from  # noqa: E402
from model.job.spec import apply_set  # noqa: E402
from topology_templates.registry import build  # noqa: E402

ENGINE_S = 120.0
ZOOMS = (0.08, 0.3, 0.8)
NEAR_BY = "node1004.gpu4"
"""Beside the whole drawing, and what is in the middle of the nearer ones."""


def cluster(template: str, parameters: dict[str, Any], *job: str) -> Document:
    """A template with a job on it."""
    content = build(template, parameters)
    document = document_from(content)
    for assignment in job:
        document.job = apply_set(document.job, assignment)
    return document


def wait(until: Callable[[], bool]) -> None:
    """Let the program run until something holds."""
    app, end = application(), time.monotonic() + ENGINE_S
    while not until():
        if time.monotonic() > end:
            raise SystemExit("The window did not get ready in time.")
        app.processEvents()
        time.sleep(0.005)


def rest(seconds: float) -> None:
    """Let animations and still frames come to an end."""
    end = time.monotonic() + seconds
    wait(lambda: time.monotonic() > end)


def shoot(widget: QWidget, name: str) -> None:
    """Write the window, or a part of it, as it looks now."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), image.width(), 4)
    # Five bits a colour: hardly seen on flat colours, and the file is half as large.
    fewer = np.ascontiguousarray(np.minimum((pixels.astype(np.uint16) + 4) & 0x1F8, 255).astype(np.uint8))
    fewer[..., 3] = 255
    path = FOLDER / f"{name}.png"
    small = QImage(fewer.data, image.width(), image.height(), 4 * image.width(), QImage.Format.Format_RGB32)
    if not small.convertToFormat(QImage.Format.Format_RGB888).save(str(path), quality=0):
        raise SystemExit(f"{path} could not be written.")


def show(window: MainWindow, document: Document, colour_by: Any, at: float) -> None:
    """Open a drawing and stop the playhead at a share of its step."""
    context = window.context
    context.document.set_document(document)
    window.show_workspace()
    rest(0.2)
    wait(lambda: context.analysis is not None and not context.stale)
    context.set_colour_by(colour_by)
    context.set_link_mode("peak")
    assert window.workspace is not None
    window.workspace.canvas.fit()
    if context.analysis is not None and context.analysis.report is not None:
        context.playback.set_time(context.analysis.report.totals.time_s * at)
    rest(3.0)


def zooms(window: MainWindow, document: Document, theme: str) -> None:
    """A large drawing as a whole, and nearer and nearer: the canvas alone."""
    show(window, document, "pp", 0.985)
    assert window.workspace is not None
    canvas = window.workspace.canvas
    shoot(window, f"cluster-16384-{theme}")
    x0, y0, x1, y1 = canvas.scene_data.index.bounds() or (0.0, 0.0, 0.0, 0.0)
    for zoom in ZOOMS:
        canvas.zoom_to(zoom)
        there = document.layout[NEAR_BY] if zoom > ZOOMS[0] else ((x0 + x1) / 2, (y0 + y1) / 2)
        middle = canvas.camera.to_view(QPointF(*there))
        canvas.pan_by(canvas.camera.width / 2 - middle.x(), canvas.camera.height / 2 - middle.y())
        canvas.come_to_rest()
        rest(0.5)
        wait(lambda: not canvas.busy and canvas.frame_cache.ready(canvas.camera, canvas.level))
        rest(0.5)
        shoot(canvas, f"cluster-16384-{100 * zoom:.0f}-{theme}")


def racks(window: MainWindow, document: Document, chosen: str, name: str, u_px: float) -> None:
    """The drawing with its racks from the front."""
    show(window, document, "pp", 0.5)
    assert window.workspace is not None
    workspace = window.workspace
    workspace.show_racks()
    workspace.racks.view.set_zoom(u_px)
    window.context.set_selection({chosen})
    rest(0.5)
    workspace.canvas.fit()
    rest(3.0)
    shoot(window, name)
    workspace.show_racks()
    rest(0.2)


def route(window: MainWindow, ends: tuple[str, str], name: str) -> None:
    """The drawing that is open with the route between two devices."""
    window.context.set_focus(ends)
    rest(2.0)
    shoot(window, name)
    window.context.set_focus(())


def in_racks(document: Document) -> Document:
    """The same with all trays and switches in racks."""
    put_into_racks(document, (), per_rack=4).apply(document)
    return document


def drawings() -> dict[str, Callable[[], Document]]:
    """What is drawn, by the name of the picture."""
    llama = ("model=llama3-70b", "parallel.tp=8", "parallel.pp=4", "sequence_length=8192")
    return {
        "node": lambda: cluster(
            *("hgx-h100", {"nodes": 1}, "model=llama3-8b", "parallel.tp=4", "sequence_length=8192"),
            "global_batch=16",
        ),
        "window": lambda: cluster(
            *("hgx-h100", {"nodes": 4}, "model=mixtral-8x7b", "parallel.pp=4", "parallel.ep=8"),
            *("sequence_length=4096", "global_batch=128"),
        ),
        "nvl72": lambda: cluster(
            *("gb200-nvl72", {"racks": 1}, "model=llama3-70b", "parallel.tp=4", "parallel.pp=2"),
            *("sequence_length=8192", "global_batch=144"),
        ),
        "cluster-1024": lambda: cluster("hgx-h100", {"nodes": 128}, *llama, "global_batch=1024"),
        "cluster-16384": lambda: cluster(
            "hgx-h100", {"nodes": 2048, "leaf_uplinks": 16}, *llama, "global_batch=16384"
        ),
        "racks-row": lambda: in_racks(cluster("hgx-h100", {"nodes": 64}, *llama, "global_batch=1024")),
    }


SHOWN = {"node": ("tp", 0.5), "window": ("pp", 0.53), "nvl72": ("tp", 0.5), "cluster-1024": ("pp", 0.985)}
"""Pictures of the window: what colours the GPUs, and the share of the step at which the playhead stands."""


def write(window: MainWindow, wanted: Callable[[str], bool]) -> None:
    """Every wanted picture in both themes."""
    context, made = window.context, {}

    def drawing(name: str) -> Document:
        if name not in made:
            made[name] = drawings()[name]()
        return made[name]

    for theme in ("light", "dark"):
        context.theme.set_choice(theme)
        context.theme.apply()
        rest(1.0)
        if wanted("start"):
            window.show_start()
            rest(0.5)
            shoot(window, f"start-{theme}")
        for name, (colour, at) in SHOWN.items():
            if wanted(name):
                show(window, drawing(name), colour, at)
                shoot(window, f"{name}-{theme}")
                if name == "window":
                    route(window, ("node00.gpu0", "node01.gpu4"), f"route-{theme}")
        if wanted("cluster-16384"):
            zooms(window, drawing("cluster-16384"), theme)
    window.resize(1600, 1000)
    for theme in ("light", "dark"):  # the last ones: docks keep the widths that they had to take
        context.theme.set_choice(theme)
        context.theme.apply()
        rest(1.0)
        if wanted("racks"):
            racks(window, drawing("nvl72"), "rack01.tray07", f"racks-{theme}", 14.0)
            racks(window, drawing("racks-row"), "node09", f"racks-row-{theme}", 7.0)


def main(names: list[str]) -> int:
    """Write every picture, or those with these names."""
    FOLDER.mkdir(exist_ok=True)
    app = application()
    with tempfile.TemporaryDirectory() as settings:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, settings)
        context = AppContext()
        window = MainWindow(context, deferred=True)
        window.resize(1440, 900)
        window.show()
        finish_start(window, None)
        wait(lambda: window.workspace is not None)
        write(window, lambda name: not names or name in names)
        assert context.engine is not None
        context.engine.stop()
        context.document.undo_stack.setClean()
        app.processEvents()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
