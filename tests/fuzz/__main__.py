"""`python -m tests.fuzz --seconds 20 [--only ID]…`: each importer, with hypothesis and with atheris."""

from __future__ import annotations

import argparse
import io
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr

from tests.fuzz.engines import by_atheris, by_hypothesis, has_atheris

MEMORY = 1 << 30  # bytes that an importer may take beyond what the libraries have
PATIENCE = 60.0  # seconds after which a process that does not end is a crash


def main() -> int:
    """Fuzz, print a line for each format, and give 1 where there are crashes."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each importer and each fuzzer")
    parser.add_argument("--only", action="append", metavar="ID", help="only these formats")
    arguments = parser.parse_args()
    _import_all()
    from model.files.registry import import_format, import_formats
    from tests.fuzz.kept import FOLDER, Kept

    chosen = [import_format(ident) for ident in arguments.only or import_formats()]
    engines: dict[str, Callable[..., None]] = {"hypothesis": by_hypothesis}
    if has_atheris():
        engines["atheris"] = by_atheris
    else:
        print("atheris is not installed; only hypothesis runs.")
    crashes = 0
    for one in chosen:
        kept = Kept(one)
        figures = [_apart(lambda tick, kept=kept: kept.again(), arguments.seconds, kept)]
        for name, run in engines.items():
            work = lambda tick, run=run, one=one, kept=kept: run(one, kept, arguments.seconds, tick)  # noqa: E731
            figures.append(f"{name} {_apart(work, arguments.seconds, kept):,}")
        found = kept.open_crashes()
        crashes += len(found)
        print(f"{one.id:<22} {'  '.join(map(str, figures[1:]))} inputs  {len(found)} crashes", flush=True)
        for line in found:
            print(f"    {line}", flush=True)
    print(f"{crashes} crashes; inputs and reasons are in {FOLDER}.")
    return 1 if crashes else 0


def _import_all() -> None:
    """Load the importers, so that atheris sees which of their branches an input takes."""
    if not has_atheris():
        return
    import atheris

    with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["model.files.imports"]):
        from model.files.registry import import_formats

        import_formats()


def _apart(work: Callable[[Callable[[], None]], None], seconds: float, kept: object) -> int:
    """Do it in a process of its own with bounded memory; gives the number of inputs tried."""
    from tests.fuzz.kept import Kept

    assert isinstance(kept, Kept)
    counter = mmap.mmap(-1, 8)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _limit_memory()
            work(lambda: _count(counter))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    status = _wait(child, seconds + PATIENCE)
    tried = struct.unpack("q", counter[:8])[0]
    if status is None or os.waitstatus_to_exitcode(status) != 0:
        why = "does not end" if status is None else f"ended with {os.waitstatus_to_exitcode(status)}"
        kept.found(b"", RuntimeError(f"the process {why} after {tried:,} inputs"))
    return int(tried)


def _count(counter: mmap.mmap) -> None:
    counter[:8] = struct.pack("q", struct.unpack("q", counter[:8])[0] + 1)


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))


def _wait(child: int, seconds: float) -> int | None:
    """The status of a child; None where it had to be ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    sys.exit(main())
