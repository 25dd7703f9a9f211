"""How long the thread of the window is busy at a stretch, with 16,384 GPUs panned, zoomed, played and edited.

A timer of the event loop notes how much time the thread was on a processor since its last turn; other
programs do not disturb that. A second thread looks at where the first one is, so that long stretches have
a cause.

    python -m benchmarks.watchdog [nodes]      the longest stretches of each part of the work
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from benchmarks.window import analysed, rest, wait, window_on

if TYPE_CHECKING:
    from gui.window import MainWindow
    from model.document.edits import Edit

NODES = 2048
LIMIT_S = 0.05
EDIT_LIMIT_S = 0.15
_SAMPLE_S = 0.002
_ROOT = str(Path(__file__).parents[1])
_EDIT = "the edit itself"
_LISTED = 3
_FAR, _FOLDED, _NEAR = 0.08, 0.3, 0.6


@dataclass(frozen=True, slots=True)
class Stretch:
    """Time (s) that the window's thread was busy without a turn of the event loop, and what it did most."""

    part: str
    busy_s: float
    cause: str


@dataclass
class Watchdog:
    """Notes stretches by part of the work. `mark` ends one; the timer calls it at each turn of the loop."""

    part: str = ""
    stretches: list[Stretch] = field(default_factory=list)
    _since: float = 0.0
    _seen: list[str] = field(default_factory=list)
    _on: bool = True

    def start(self) -> None:
        """Begin to watch the thread that calls."""
        from PySide6.QtCore import QTimer

        self._timer = QTimer()
        self._timer.timeout.connect(self.mark)
        self._timer.start(0)
        watched = threading.get_ident()
        threading.Thread(target=self._look, args=(watched,), daemon=True).start()
        self._since = time.thread_time()

    def stop(self) -> None:
        """Watch no longer."""
        self._on = False
        self._timer.stop()

    def mark(self) -> None:
        """A turn of the event loop, or the end of something that is measured by itself."""
        now = time.thread_time()
        busy, seen = now - self._since, self._seen
        self._since, self._seen = now, []
        if self.part and busy > 0.001:
            self.stretches.append(Stretch(self.part, busy, _most(seen)))

    def alone(self, part: str, work: Callable[[], object]) -> None:
        """Measure a piece of work by itself."""
        self.mark()
        before, self.part = self.part, part
        work()
        self.mark()
        self.part = before

    def _look(self, watched: int) -> None:
        while self._on:
            time.sleep(_SAMPLE_S)
            frame = sys._current_frames().get(watched)
            if frame is not None:
                self._seen.append(_place(frame))


def _place(frame: FrameType | None) -> str:
    """What of the program a thread is in: the outermost functions and the innermost."""
    inside: list[str] = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_ROOT) and ".venv" not in code.co_filename:
            name = Path(code.co_filename)
            if name.parent.name != "benchmarks":
                inside.append(f"{name.stem}.{code.co_name}")
        frame = frame.f_back
    inside.reverse()
    return " → ".join(dict.fromkeys((*inside[:4], *inside[-1:])))


def _most(seen: list[str]) -> str:
    known = Counter(place for place in seen if place)
    return "; ".join(f"{count / len(seen):.0%} {place}" for place, count in known.most_common(3))


def work(window: MainWindow, watchdog: Watchdog) -> None:
    """Pan, zoom and play at every level of detail, then let edits be analysed, at rest and while it plays."""
    workspace = window.workspace
    if workspace is None:
        raise SystemExit("the window has no drawing")
    canvas, context = workspace.canvas, window.context
    for name, zoom in (("fitted", None), ("8 %", _FAR), ("30 %", _FOLDED), ("60 %", _NEAR)):
        canvas.fit()
        if zoom is not None:
            canvas.zoom_to(zoom)
        rest(1.0)
        watchdog.part = f"panning, {name}"
        for step in range(30):
            canvas.pan_by(9, 4 if step % 2 else -3)
            rest(0.012)
        rest(0.8)
        watchdog.part = f"zooming, {name}"
        for step in range(30):
            canvas.zoom_to(canvas.zoom * 1.02 if step < 15 else canvas.zoom / 1.02)
            rest(0.012)
        rest(0.8)
        watchdog.part = f"playing, {name}"
        context.playback.play()
        rest(1.5)
        context.playback.pause()
        rest(0.3)
        watchdog.part = ""
    for name, zoom in (("fitted", None), ("60 %", _NEAR)):
        canvas.fit()
        if zoom is not None:
            canvas.zoom_to(zoom)
        rest(1.0)
        for doing in ("analysing", "playing and analysing"):
            if doing != "analysing":
                context.playback.play()
            for what, edit in edits(window):
                watchdog.part = f"{doing}, {name}: {what}"
                watchdog.alone(f"{_EDIT}: {what}", lambda edit=edit: context.document.push(edit, "Edit"))  # type: ignore[misc]
                wait(lambda: analysed(window))
                rest(0.6)
            watchdog.part = ""
            context.playback.pause()


def edits(window: MainWindow) -> list[tuple[str, Edit]]:
    """A GPU moved, slowed, and removed; the job changed."""
    from model.document.edits import Move, RemoveParts, SetFields, SetJob
    from model.job.spec import apply_set
    from model.topology.types import DeviceKind, State

    document = window.context.document.document
    gpus = [device.id for device in document.topology.devices() if device.kind is DeviceKind.GPU]
    gpu = gpus[len(gpus) // 2]
    x, y = document.layout[gpu]
    sequence = 4096 if document.job.sequence_length != 4096 else 8192
    return [
        ("a GPU moved", Move({gpu: (x, y + 20)})),
        ("a GPU slow", SetFields("device", (gpu,), {"state": State.DEGRADED, "speed": 0.75})),
        ("the job", SetJob(apply_set(document.job, f"sequence_length={sequence}"))),
        ("a GPU removed", RemoveParts((gpu,))),
    ]


def report(stretches: list[Stretch]) -> bool:
    """Print the longest stretches of each part; whether all are within their limits."""
    print(f"{'busy without a turn of the event loop':<54}{'longest':>10}{'limit':>8}  most of it in")
    within = True
    for part in dict.fromkeys(one.part for one in stretches):
        limit = EDIT_LIMIT_S if part.startswith(_EDIT) else LIMIT_S
        longest = sorted((one for one in stretches if one.part == part), key=lambda one: -one.busy_s)
        for number, one in enumerate(longest[:_LISTED]):
            over = one.busy_s > limit
            within &= not over
            if number == 0 or over:
                name, mark = ("" if number else part), "  over the limit" if over else ""
                print(f"{name:<54}{one.busy_s * 1e3:>7,.0f} ms{limit * 1e3:>5,.0f} ms  {one.cause}{mark}")
    return within


def measured() -> bool:
    """Run it in a process of its own, print what it says, and whether all is within limits."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.watchdog"], capture_output=True, text=True)
    print(done.stdout, end="")
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.returncode == 0


def main(nodes: int) -> int:
    """Open the window, do the work, report."""
    with window_on(nodes) as window:
        rest(2.0)
        watchdog = Watchdog()
        watchdog.start()
        work(window, watchdog)
        watchdog.stop()
        return 0 if report(watchdog.stretches) else 1


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else NODES))
