"""Memory of the window and its engine process together, with a drawing analysed and playing.

Measured in a process of its own, by the kernel's high-water mark: unlike `ru_maxrss` it starts anew with
a program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.window import rest, window_on

LIMITS_MB = {128: 700.0, 2048: 1500.0}
"""By HGX nodes: 1,024 and 16,384 GPUs."""

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
    with window_on(nodes) as window:
        window.context.playback.play()
        rest(_PLAYING_S)
        window.context.playback.pause()
        engine = window.context.engine
        if engine is None or engine.process_id is None:
            raise SystemExit("the engine did not start")
        print(high_water_mb(os.getpid()) + high_water_mb(engine.process_id))


if __name__ == "__main__":
    main(int(sys.argv[1]))
