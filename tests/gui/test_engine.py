"""The engine as the window sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from gui.engine import Engine
from model.analysis import analyse
from model.document.edits import SetFields, SetJob
from model.topology.types import State
from tests.model.analysis.drawings import cluster, job

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_MS = 30_000


@pytest.fixture
def engine(qapp: object) -> Iterator[Engine]:
    made = Engine()
    yield made
    made.stop()


def test_an_analysis_comes_back_for_what_was_loaded_before_the_start(engine: Engine, qtbot: QtBot) -> None:
    document = cluster(spec=job("parallel.tp=2"))
    engine.load(document, 7)
    stages: list[str] = []
    engine.stage.connect(stages.append)
    with qtbot.waitSignal(engine.analysed, timeout=PATIENCE_MS) as got:
        engine.start()
    analysis = got.args[0]
    expected = analyse(document)
    assert analysis.revision == 7
    assert analysis.report.totals == expected.report.totals  # type: ignore[union-attr]
    assert analysis.findings == expected.findings
    assert "routing 4 GPUs" in stages


def test_an_edit_is_replayed_and_both_copies_stay_equal(engine: Engine, qtbot: QtBot) -> None:
    document = cluster()
    engine.load(document, 1)
    engine.start()
    edit = SetFields("link", ("n0.k0-l",), {"state": State.DOWN})
    edit.apply(document)
    busy: list[bool] = []
    engine.busy.connect(busy.append)
    with qtbot.waitSignal(
        engine.analysed, timeout=PATIENCE_MS, check_params_cb=lambda analysis: analysis.revision == 2
    ):
        engine.send(edit, 2)
    qtbot.waitUntil(lambda: busy[-1:] == [False], timeout=PATIENCE_MS)
    with qtbot.waitSignal(engine.checksum, timeout=PATIENCE_MS) as got:
        engine.ask_checksum()
    assert got.args == [2, document.checksum()]


def test_a_killed_process_is_replaced_and_reads_the_document_again(engine: Engine, qtbot: QtBot) -> None:
    document = cluster()
    engine.load(document, 1)
    with qtbot.waitSignal(engine.analysed, timeout=PATIENCE_MS):
        engine.start()
    SetJob(job("parallel.tp=2")).apply(document)
    first = engine.process_id
    assert first is not None
    engine._revision = 2
    with qtbot.waitSignal(engine.analysed, timeout=PATIENCE_MS) as got:
        os.kill(first, signal.SIGKILL)
    assert engine.process_id != first
    assert got.args[0].revision == 2
    assert got.args[0].report.job["parallel"]["tp"] == 2


def test_a_process_that_dies_again_and_again_is_left_alone(engine: Engine, qtbot: QtBot) -> None:
    engine.load(cluster(), 1)
    engine.start()
    with qtbot.waitSignal(engine.failed, timeout=PATIENCE_MS) as got:
        for _ in range(3):
            qtbot.waitUntil(lambda: engine.running, timeout=PATIENCE_MS)
            process = engine.process_id
            assert process is not None
            os.kill(process, signal.SIGKILL)
            qtbot.waitUntil(lambda gone=process: engine.process_id != gone, timeout=PATIENCE_MS)
    assert "undo" in got.args[0]
    assert engine.process_id is None
    with qtbot.waitSignal(engine.analysed, timeout=PATIENCE_MS):
        engine.load(cluster(), 2)


def test_stopping_ends_the_process(engine: Engine, qtbot: QtBot) -> None:
    engine.load(cluster(), 1)
    with qtbot.waitSignal(engine.analysed, timeout=PATIENCE_MS):
        engine.start()
    process = engine.process_id
    engine.stop()
    assert process is not None and not Path(f"/proc/{process}").exists()


def test_a_killed_window_leaves_no_process_behind(tmp_path: Path) -> None:
    program = tmp_path / "window.py"
    program.write_text(
        textwrap.dedent(
            """
            from PySide6.QtCore import QCoreApplication
            from gui.engine import Engine
            from tests.model.analysis.drawings import cluster

            if __name__ == "__main__":
                app = QCoreApplication([])
                engine = Engine()
                engine.analysed.connect(lambda _: print(engine.process_id, flush=True))
                engine.load(cluster(), 1)
                engine.start()
                app.exec()
            """
        )
    )
    window = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"},
    )
    assert window.stdout is not None
    worker = int(window.stdout.readline())
    assert Path(f"/proc/{worker}").exists()
    window.kill()
    window.wait()
    deadline = time.monotonic() + 10
    while alive(worker) and time.monotonic() < deadline:
        os.sched_yield()
    assert not alive(worker)


def alive(process: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
