"""The real window with its engine on HGX H100 nodes, for measurements in a process of their own."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gui.window import MainWindow

PATIENCE_S = 120.0
SIZE = (1920, 1080)
JOB = ("model=llama3-70b", "parallel.tp=8", "parallel.pp=4")


def wait(until: Callable[[], bool]) -> None:
    """Let the program run until something holds; ends the measurement when it never does."""
    from PySide6.QtCore import QCoreApplication

    end = time.monotonic() + PATIENCE_S
    while not until():
        if time.monotonic() > end:
            raise SystemExit("the window did not get ready in time")
        QCoreApplication.processEvents()
        time.sleep(0.002)


def rest(seconds: float) -> None:
    """Let the program run for a while."""
    end = time.monotonic() + seconds
    wait(lambda: time.monotonic() > end)


def analysed(window: MainWindow) -> bool:
    """Whether what is drawn has its analysis."""
    return window.context.analysis is not None and not window.context.stale


@contextmanager
def window_on(nodes: int) -> Iterator[MainWindow]:
    """Without a screen, with settings of its own; Llama 3 70B on the GPUs (TP 8, PP 4), analysed."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QSettings

    from gui.app import application, finish_start
    from gui.context import AppContext
    from gui.window import MainWindow
    from model.document.start import document_from
    from model.job.spec import apply_set
    from topology_templates.registry import build

    application()
    with tempfile.TemporaryDirectory() as settings:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, settings)
        context = AppContext()
        context.theme.apply()
        window = MainWindow(context, deferred=True)
        window.resize(*SIZE)
        window.show()
        finish_start(window, None)
        document = document_from(build("hgx-h100", {"nodes": nodes}))
        for assignment in (*JOB, f"global_batch={8 * nodes}"):
            document.job = apply_set(document.job, assignment)
        context.document.set_document(document)
        window.show_workspace()
        wait(lambda: analysed(window))
        if context.engine is None or context.engine.process_id is None:
            raise SystemExit("the engine did not start")
        yield window
        context.engine.stop()
