"""Long work beside the window: progress, results, errors, and giving up."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from gui.background import Background
from gui.background_process import Progress
from model.errors import InputError

PATIENCE_MS = 30_000


def add(progress: Progress, a: int, b: int) -> int:
    progress(0.5, "adding")
    return a + b


def refuse(progress: Progress) -> None:
    raise InputError("x.txt, line 3: 2 cells where 9 are expected.")


def fall(progress: Progress) -> None:
    raise ZeroDivisionError


def tell_for_ever(progress: Progress) -> None:
    while True:
        progress(0.1, "telling")
        time.sleep(0.001)


def hang(progress: Progress) -> None:
    progress(0.0, "hanging")
    time.sleep(600)


def end(progress: Progress) -> None:
    raise SystemExit(3)


def test_errands_are_done_in_order_and_say_how_far_they_are(background: Background, qtbot: QtBot) -> None:
    told: list[tuple[float, str]] = []
    results: list[int] = []
    first, second = background.run(add, 2, 3), background.run(add, 4, 5)
    first.progressed.connect(lambda share, what: told.append((share, what)))
    first.done.connect(results.append)
    second.done.connect(results.append)
    qtbot.waitUntil(lambda: len(results) == 2, timeout=PATIENCE_MS)
    assert results == [5, 9] and told == [(0.5, "adding")]
    assert not background.busy


def test_our_errors_are_told_and_others_are_logged(
    background: Background, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    errand = background.run(refuse)
    with qtbot.waitSignal(errand.failed, timeout=PATIENCE_MS) as got:
        pass
    assert got.args == ["x.txt, line 3: 2 cells where 9 are expected."]
    with caplog.at_level(logging.ERROR, "railsketch"):
        errand = background.run(fall)
        with qtbot.waitSignal(errand.failed, timeout=PATIENCE_MS) as got:
            pass
    assert "Traceback" not in got.args[0] and "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(("work", "same_process"), [(tell_for_ever, True), (hang, False)])
def test_what_is_cancelled_ends_and_the_next_errand_is_done(
    background: Background, qtbot: QtBot, work: Any, same_process: bool
) -> None:
    """What says its progress ends by itself; what does not is ended with its process."""
    errand = background.run(work)
    said: list[object] = []
    errand.done.connect(said.append)
    errand.failed.connect(said.append)
    with qtbot.waitSignal(errand.progressed, timeout=PATIENCE_MS):
        pass
    before = background.process_id
    errand.cancel()
    following = background.run(add, 1, 1)
    with qtbot.waitSignal(following.done, timeout=PATIENCE_MS) as got:
        pass
    assert got.args == [2] and said == []
    assert (background.process_id == before) is same_process


def test_a_process_that_ends_is_told_and_replaced(background: Background, qtbot: QtBot) -> None:
    errand = background.run(end)
    with qtbot.waitSignal(errand.failed, timeout=PATIENCE_MS) as got:
        pass
    assert "stopped before it was done" in got.args[0]
    following = background.run(add, 1, 2)
    with qtbot.waitSignal(following.done, timeout=PATIENCE_MS) as got:
        pass
    assert got.args == [3]
