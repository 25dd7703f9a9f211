"""The shared state: signals only on change, selections without ghosts, stale figures, and the clock."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any, cast

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from gui.context import AppContext
from gui.playback import Playback
from model.analysis import analyse
from model.document.document import Document
from model.document.edits import Assign, Move, RemoveParts, SetJob
from model.job.spec import apply_set
from model.step.report import Analysis
from tests.gui.conftest import small_document


def analysis(revision: int) -> Analysis:
    return Analysis(revision, None, (), False)


class FakeEngine(QObject):
    """Writes down what it is told."""

    analysed = Signal(object)
    what_if = Signal(object)
    route = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, object, int]] = []

    def load(self, document: object, revision: int) -> None:
        self.heard.append(("load", document, revision))

    def send(self, edit: object, revision: int) -> None:
        self.heard.append(("edit", edit, revision))

    def ask_what_if(self, subject: str, ids: tuple[str, ...]) -> None:
        self.heard.append((subject, ids, 0))


def test_setters_speak_only_when_something_changed(context: AppContext) -> None:
    seen: list[str] = []
    for name in ("selection", "colour_by", "link_mode", "lit_links", "tool", "brush", "layers", "partners"):
        getattr(context, f"{name}_changed").connect(lambda told=name: seen.append(told))
    for _ in range(2):
        context.set_selection(["a"])
        context.set_colour_by("pp")
        context.set_link_mode("peak")
        context.set_lit_links(["l"], ["d"])
        context.set_tool("paint")
        context.set_brush(None)
        context.set_layers(["fabric", "no such layer"])
        context.set_partners_of("a")
    assert seen == ["selection", "colour_by", "link_mode", "lit_links", "tool", "brush", "layers", "partners"]
    assert context.layers == {"fabric"}


def test_removed_things_leave_the_selection(drawing: AppContext) -> None:
    drawing.set_selection(["leaf0", "d", "node"])
    drawing.set_partners_of("node.gpu0")
    drawing.document.push(RemoveParts(("leaf0", "node.gpu0")), "remove")
    assert drawing.selection == {"node"}
    assert drawing.partners_of is None


def test_go_to_selects_and_tells(drawing: AppContext) -> None:
    seen: list[tuple[str, ...]] = []
    drawing.went_to.connect(seen.append)
    drawing.go_to(["leaf0", "d"])
    assert seen == [("leaf0", "d")] and drawing.selection == {"leaf0", "d"}


def test_stale_until_the_analysis_of_the_last_edit(drawing: AppContext) -> None:
    drawing.set_analysis(analysis(drawing.document.revision))
    assert not drawing.stale
    drawing.document.push(Assign("tp", 1, ("node.gpu0",)), "paint")
    assert drawing.stale
    drawing.set_analysis(analysis(drawing.document.revision - 1))
    assert drawing.stale
    drawing.set_analysis(analysis(drawing.document.revision))
    assert not drawing.stale


def test_the_last_step_stays_while_the_job_is_illegal(drawing: AppContext) -> None:
    legal = analyse(drawing.document.document)
    assert legal.report is not None
    drawing.set_analysis(replace(legal, revision=drawing.document.revision))
    drawing.playback.set_time(0.25 * legal.report.totals.time_s)
    drawing.document.push(SetJob(apply_set(drawing.document.document.job, "parallel.tp=3")), "set tp")
    drawing.set_analysis(replace(analyse(drawing.document.document), revision=drawing.document.revision))
    assert drawing.analysis is not None and drawing.analysis.report is None and not drawing.stale
    assert drawing.playback.duration_s == legal.report.totals.time_s
    assert drawing.playback.time_s == 0.25 * legal.report.totals.time_s
    drawing.document.set_document(Document())
    assert drawing.playback.duration_s == 0.0


def test_moving_does_not_make_figures_stale(drawing: AppContext) -> None:
    drawing.set_analysis(analysis(drawing.document.revision))
    drawing.document.push(Move({"leaf0": (0.0, 0.0)}), "move")
    assert not drawing.stale


def test_another_document_forgets_the_old_analysis(drawing: AppContext) -> None:
    drawing.set_analysis(analysis(drawing.document.revision))
    drawing.set_selection(["leaf0"])
    drawing.document.set_document(Document())
    assert drawing.analysis is None and drawing.stale and not drawing.selection


def test_attached_engine_feeds_the_context(context: AppContext) -> None:
    engine = FakeEngine()
    context.document.set_document(small_document())
    context.attach_engine(cast(Any, engine))
    edit = Assign("tp", 1, ("node.gpu0",))
    context.document.push(edit, "paint")
    context.document.undo_stack.undo()
    context.document.set_document(Document())
    assert [kind for kind, _, _ in engine.heard] == ["load", "edit", "edit", "load"]
    assert engine.heard[1][1] == edit
    assert [revision for _, _, revision in engine.heard] == [1, 2, 3, 4]
    context.ask_what_if("link", ["a", "b"])
    assert engine.heard[-1] == ("link", ("a", "b"), 0)
    with_answer: list[object] = []
    context.what_if_answered.connect(with_answer.append)
    engine.what_if.emit("answer")
    assert with_answer == ["answer"]
    engine.analysed.emit(analysis(4))
    assert context.analysis is not None and context.analysis.revision == 4


@pytest.fixture
def playback(qapp: QApplication) -> Playback:
    clock = Playback()
    clock.set_step(2.0, [0.0, 0.5, 1.25])
    return clock


def test_nothing_ticks_unless_it_plays_and_is_seen(playback: Playback) -> None:
    assert not playback.ticking
    playback.play()
    assert playback.ticking
    playback.set_visible(False)
    assert playback.playing and not playback.ticking
    playback.set_visible(True)
    playback.pause()
    assert not playback.ticking


def test_without_a_step_there_is_nothing_to_play(qapp: QApplication) -> None:
    clock = Playback()
    clock.play()
    assert not clock.playing


def test_time_moves_and_loops(playback: Playback, qtbot: Any) -> None:
    playback.set_speed(1.0)
    playback.set_time(1.99)
    playback.play()
    qtbot.waitUntil(lambda: playback.time_s < 1.0, timeout=5000)
    playback.pause()
    assert 0.0 <= playback.time_s <= 2.0


def test_segments_by_their_boundaries(playback: Playback) -> None:
    seen = []
    for _ in range(4):
        playback.next_segment()
        seen.append(playback.time_s)
    for _ in range(4):
        playback.previous_segment()
        seen.append(playback.time_s)
    assert seen == [0.5, 1.25, 2.0, 2.0, 1.25, 0.5, 0.0, 0.0]


def test_a_new_step_keeps_the_share(playback: Playback) -> None:
    playback.set_time(1.0)
    playback.set_step(8.0)
    assert playback.time_s == pytest.approx(4.0)
    playback.play()
    playback.set_step(0.0)
    assert not playback.playing and playback.time_s == 0.0


def test_speed_steps(playback: Playback) -> None:
    playback.set_speed(0.05)
    playback.faster()
    assert playback.speed == 0.1
    playback.slower()
    playback.slower()
    assert playback.speed == 0.02


def test_searches_for_garbage_leave_a_large_drawing_out(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    context = AppContext()
    gc.unfreeze()
    context.document.set_document(small_document())
    assert gc.get_freeze_count() == 0
    monkeypatch.setattr("gui.context.MANY_DEVICES", 1)
    try:
        drawn = small_document()
        context.document.set_document(drawn)
        assert gc.get_freeze_count() > 0
        searched = {id(one) for one in gc.get_objects()}
        assert id(drawn.topology) not in searched
    finally:
        gc.unfreeze()
