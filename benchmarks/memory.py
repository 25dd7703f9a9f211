"""Memory of a process that has a drawing of 1,024 GPUs analysed; measured in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys

LIMIT_MB = 700.0


def peak_mb() -> float:
    """The largest resident size that a fresh process reaches, MB."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory"], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    """Analyse once and print this process's peak."""
    from benchmarks.engine import analysed

    analysed()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


if __name__ == "__main__":
    main()
