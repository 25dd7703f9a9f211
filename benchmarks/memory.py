"""Memory of the window and its engine process together, with a drawing analysed and playing.

Measured in a process of its own, by the kernel's high-water mark: unlike `ru_maxrss` it starts anew with
a program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LIMITS_MB = {128: 700.0, 2048: 1500.0}
"""By HGX nodes: 1,024 and 16,384 GPUs."""

_PATIENCE_S = 60.0
_PLAYING_S = 2.0


def peak_mb(nodes: int) -> float:
    """The largest resident size that both processes reach, MB."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", str(nodes)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def high_water_mb(process_id: int) -> float:
    """The largest resident size that a running process has had, MB."""
    for line in Path(f"/proc/{process_id}/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit(f"the system does not tell the memory of process {process_id}")


def main(nodes: int) -> None:
    """Open the window with a template, let it play, and print the sum of both peaks."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QSettings

    from gui.app import application, finish_start
    from gui.context import AppContext
    from gui.window import MainWindow
    from model.document.start import document_from
    from model.job.spec import apply_set
    from topology_templates.registry import build

    app = application()

    def wait(until: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not until() and time.monotonic() < end:
            app.processEvents()
            time.sleep(0.005)

    with tempfile.TemporaryDirectory() as settings:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, settings)
        context = AppContext()
        window = MainWindow(context, deferred=True)
        window.show()
        finish_start(window, None)
        document = document_from(build("hgx-h100", {"nodes": nodes}))
        for assignment in ("model=llama3-70b", "parallel.tp=8", "parallel.pp=4", f"global_batch={8 * nodes}"):
            document.job = apply_set(document.job, assignment)
        context.document.set_document(document)
        window.show_workspace()
        wait(lambda: context.analysis is not None and not context.stale)
        context.playback.play()
        stop = time.monotonic() + _PLAYING_S
        wait(lambda: time.monotonic() > stop)
        context.playback.pause()
        engine = context.engine
        if engine is None or engine.process_id is None:
            raise SystemExit("the engine did not start")
        print(high_water_mb(os.getpid()) + high_water_mb(engine.process_id))
        engine.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]))
