"""The two fuzzers, each for one format and so many seconds, in a process of its own."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from model.files.importing import ImportFormat
from tests.fuzz.attempt import LONGEST, attempt, bounded, samples
from tests.fuzz.kept import Kept
from tests.fuzz.mutations import damaged

ROUND = 200  # examples after which hypothesis begins anew
Tick = Callable[[], None]  # counts an input


def has_atheris() -> bool:
    """Whether atheris is installed; it is not to be had everywhere."""
    return find_spec("atheris") is not None


def by_hypothesis(one: ImportFormat, kept: Kept, seconds: float, tick: Tick) -> None:
    """Damage the samples and the corpus; a crash is kept in its smallest form."""
    given(st.just(b""))(lambda data: None)()  # hypothesis' own start does not count
    end = time.monotonic() + seconds
    inputs = damaged([*samples(one.id), *kept.seeds()[:200]])
    smallest: list[tuple[bytes, Exception]] = []

    def try_one(data: bytes) -> None:
        if time.monotonic() > end:
            return
        tick()
        try:
            with bounded():
                attempt(one, data)
        except Exception as error:
            if kept.known(error):
                return
            if not smallest or len(data) <= len(smallest[0][0]):
                smallest[:] = [(data, error)]
            raise

    while time.monotonic() < end:
        test = given(inputs)(try_one)
        test = seed(random.randrange(2**32))(test)
        test = settings(
            max_examples=ROUND,
            deadline=None,
            derandomize=False,
            database=DirectoryBasedExampleDatabase(kept.examples),
            suppress_health_check=list(HealthCheck),
        )(test)
        smallest.clear()
        with suppress(Exception):  # at the end of its time hypothesis takes a crash for one that is gone
            test()
        if smallest:
            kept.found(*smallest[0])


def by_atheris(one: ImportFormat, kept: Kept, seconds: float, tick: Tick) -> None:
    """Follow what the code covers, from the samples and the corpus on. Ends the process."""
    import atheris

    def try_one(data: bytes) -> None:
        tick()
        try:
            with bounded():
                attempt(one, data)
        except Exception as error:
            kept.found(data, error)

    for number, data in enumerate(samples(one.id)):
        (kept.corpus / f"sample-{number}").write_bytes(data[:LONGEST])
    arguments = [
        "fuzz",
        str(kept.corpus),
        f"-max_total_time={max(1, round(seconds))}",
        f"-max_len={LONGEST}",
        "-timeout=1000",
        "-handle_alrm=0",
        "-rss_limit_mb=0",
        "-verbosity=0",
        f"-artifact_prefix={kept.crashes}/",
    ]
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stderr.fileno())
    atheris.Setup(arguments, try_one, enable_python_coverage=True)
    atheris.Fuzz()
