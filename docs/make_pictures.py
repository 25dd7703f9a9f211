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

from PySide6.QtCore import QSettings  # noqa: E402

from gui.app import application, finish_start  # noqa: E402
from gui.context import AppContext  # noqa: E402
from gui.window import MainWindow  # noqa: E402
from model.document.document import Document  # noqa: E402
from model.document.rack_edits import put_into_racks  # noqa: E402
from model.document.start import document_from  # noqa: E402
from model.job.spec import apply_set  # noqa: E402
from topology_templates.registry import build  # noqa: E402

ENGINE_S = 60.0


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


def shoot(window: MainWindow, name: str) -> None:
    """Write the window as it looks now."""
    path = FOLDER / f"{name}.png"
    if not window.grab().save(str(path)):
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


def main() -> int:
    """Write every picture."""
    FOLDER.mkdir(exist_ok=True)
    app = application()
    with tempfile.TemporaryDirectory() as settings:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, settings)
        context = AppContext()
        window = MainWindow(context, deferred=True)
        window.resize(1600, 1000)
        window.show()
        finish_start(window, None)
        wait(lambda: window.workspace is not None)
        pod = cluster(
            *("hgx-h100", {"nodes": 4}, "model=mixtral-8x7b", "parallel.pp=4", "parallel.ep=8"),
            *("sequence_length=4096", "global_batch=128"),
        )
        rack = cluster(
            *("gb200-nvl72", {"racks": 1}, "model=llama3-70b", "parallel.tp=4", "parallel.pp=2"),
            *("sequence_length=8192", "global_batch=144"),
        )
        large = cluster(
            *("hgx-h100", {"nodes": 128}, "model=llama3-70b", "parallel.tp=8", "parallel.pp=4"),
            *("sequence_length=8192", "global_batch=1024"),
        )
        hall = in_racks(
            cluster(
                *("hgx-h100", {"nodes": 64}, "model=llama3-70b", "parallel.tp=8", "parallel.pp=4"),
                *("sequence_length=8192", "global_batch=1024"),
            )
        )
        for theme in ("light", "dark"):
            context.theme.set_choice(theme)
            context.theme.apply()
            rest(1.0)
            shoot(window, f"start-{theme}")
            for name, document, colour, at in (
                ("window", pod, "pp", 0.53),
                ("nvl72", rack, "tp", 0.5),
                ("cluster-1024", large, "pp", 0.985),
            ):
                show(window, document, colour, at)
                shoot(window, f"{name}-{theme}")
                if name == "window":
                    route(window, ("node00.gpu0", "node01.gpu4"), f"route-{theme}")
            racks(window, rack, "rack01.tray07", f"racks-{theme}", 14.0)
            racks(window, hall, "node09", f"racks-row-{theme}", 7.0)
            window.show_start()
        assert context.engine is not None
        context.engine.stop()
        context.document.undo_stack.setClean()
        app.processEvents()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
