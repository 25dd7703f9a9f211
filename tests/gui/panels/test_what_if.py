"""What twice as fast would bring: asked of the engine, shown in a line, for links, exchanges and GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from PySide6.QtCore import QObject, QPoint, Qt, Signal
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from gui.engine import Engine
from gui.panels.traffic import TrafficPanel
from gui.panels.what_if import step_change, what_if_text, why_unchanged
from model.analysis import Analysis, AnalysisCache, analyse
from model.document.edits import SetJob
from model.errors import InputError
from model.job.spec import apply_set
from model.step.what_if import WhatIf, what_if
from model.worker.messages import AskWhatIf, WhatIfAnswer
from tests.gui.panels.conftest import make_document
from tests.model.analysis.drawings import cluster, job

PATIENCE_MS = 30_000


def test_the_answer_in_words() -> None:
    assert step_change(4.142, 3.579) == "4.14 → 3.58 s"
    assert step_change(1.02, 0.98) == "1.02 s → 980 ms"
    assert what_if_text(WhatIf("link", ("l",), 2.0, 3.579, 4.142)) == "step 4.14 → 3.58 s"
    assert what_if_text(WhatIf("link", ("l",), 2.0, 4.1419, 4.142)) == "step stays at 4.14 s"
    assert what_if_text(WhatIf("link", ("l",), 2.0, 103.924, 104.0)) == "step 104 s −76.0 ms"


def test_the_reason_of_no_change() -> None:
    report = analyse(make_document()).report
    assert report is not None
    times = zip(report.exchanges, report.exchange_times, strict=True)
    hidden = [exchange.id for exchange, time in times if time.exposed_s <= 0]
    idle = next(
        name
        for number, name in enumerate(report.fabric.link_ids)
        if report.cost_s[2 * number] <= 0 and report.cost_s[2 * number + 1] <= 0
    )
    assert why_unchanged(report, "link", (idle,)) == "nothing waits for it"
    assert all(why_unchanged(report, "exchange", (one,)) == "compute hides it" for one in hidden)
    assert "other GPUs" in why_unchanged(report, "gpu", ("node00.gpu3",))


def test_several_links_at_once_bring_more_than_one() -> None:
    cache = AnalysisCache()
    report = analyse(make_document(), cache).report
    assert report is not None and cache.last is not None
    nvlinks = tuple(name for name in report.fabric.link_ids if ".nvs" in name)
    one = what_if(cache.last, "link", nvlinks[0])
    all_of_them = what_if(cache.last, "link", nvlinks)
    assert one.before_s == all_of_them.before_s == report.totals.time_s
    assert all_of_them.time_s < one.time_s <= one.before_s
    with pytest.raises(InputError, match="no link nowhere"):
        what_if(cache.last, "link", ("nowhere",))


@pytest.fixture
def engine(qapp: object) -> Iterator[Engine]:
    made = Engine()
    yield made
    made.stop()


def test_the_engine_process_answers(engine: Engine, qtbot: QtBot) -> None:
    document, cache = cluster(spec=job("parallel.tp=2")), AnalysisCache()
    report = analyse(document, cache).report
    assert report is not None and cache.last is not None
    engine.load(document, 1)
    with qtbot.waitSignal(engine.analysed, timeout=PATIENCE_MS):
        engine.start()
    ident = report.exchanges[0].id
    with qtbot.waitSignal(engine.what_if, timeout=PATIENCE_MS) as got:
        engine.ask_what_if("exchange", (ident,))
    assert got.args[0].result == what_if(cache.last, "exchange", ident)
    with qtbot.waitSignal(engine.what_if, timeout=PATIENCE_MS) as got:
        engine.ask_what_if("gpu", ("nobody",))
    assert got.args[0].result is None and "nobody plays no rank" in got.args[0].reason
    # A question that comes with an edit is answered for what the edit makes of the drawing.
    edit = SetJob(apply_set(document.job, "microbatch=2"))
    edit.apply(document)
    assert analyse(document, cache).report is not None
    with qtbot.waitSignal(engine.what_if, timeout=PATIENCE_MS) as got:
        engine.send(edit, 2)
        engine.ask_what_if("exchange", (ident,))
    assert got.args[0].revision == 2
    assert got.args[0].result == what_if(cache.last, "exchange", ident)


class Asked(QObject):
    """Stands for the engine: writes questions down, and answers when told to."""

    analysed = Signal(object)
    what_if = Signal(object)
    route = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[AskWhatIf] = []

    def load(self, _document: object, _revision: int) -> None: ...

    def send(self, _edit: object, _revision: int) -> None: ...

    def ask_what_if(self, subject: Any, ids: tuple[str, ...]) -> None:
        self.questions.append(AskWhatIf(subject, ids))

    def answer(self, question: AskWhatIf, after_s: float, before_s: float) -> None:
        result = WhatIf(question.subject, question.ids, 2.0, after_s, before_s)
        self.what_if.emit(WhatIfAnswer(1, question, result))


@pytest.fixture
def asked(context: AppContext) -> Asked:
    made = Asked()
    context.attach_engine(cast(Any, made))
    return made


def click_row(qtbot: QtBot, view: Any, row: int) -> None:
    rect = view.visualRect(view.model().index(row, 0))
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=rect.topLeft() + QPoint(8, 8))


def test_choosing_asks_and_shows(
    qtbot: QtBot, context: AppContext, asked: Asked, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    panel = TrafficPanel(context)
    qtbot.addWidget(panel)
    panel.resize(348, 520)
    panel.show()
    assert not panel.what_if.isVisible()
    click_row(qtbot, panel.links, 0)
    table = panel.links.links.table
    assert table is not None
    qtbot.waitUntil(lambda: bool(asked.questions))
    assert asked.questions == [AskWhatIf("link", table.link_ids(0))]
    assert panel.what_if.isVisible() and "being worked out" in panel.what_if.text()
    asked.answer(asked.questions[0], 3.579, 4.142)
    assert panel.what_if.text().startswith("Twice as fast: step 4.14 → 3.58 s · ")
    asked.answer(asked.questions[0], 4.142, 4.142)  # the dearest link costs something, and is not alone
    assert "step stays at 4.14 s, others hold it back as much · " in panel.what_if.text()

    qtbot.mouseClick(panel.tabs.button("groups"), Qt.MouseButton.LeftButton)
    click_row(qtbot, panel.groups, 1)
    qtbot.waitUntil(lambda: len(asked.questions) == 2)
    assert asked.questions[1] == AskWhatIf("exchange", (panel.groups.groups.rows[1].id,))
    asked.answer(asked.questions[0], 1.0, 2.0)  # what was asked before does not count any more
    assert "being worked out" in panel.what_if.text()

    context.set_selection({"node00.gpu3"})
    qtbot.waitUntil(lambda: len(asked.questions) == 3)
    assert asked.questions[2] == AskWhatIf("gpu", ("node00.gpu3",))
    # Another step is asked about anew; without one there is nothing to ask.
    found = reanalyse(context)
    qtbot.waitUntil(lambda: len(asked.questions) == 4)
    context.set_analysis(replace(found, report=None))
    assert not panel.what_if.isVisible()
