"""The picture moves to a new layout, the document is there at once; Esc takes it back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QAbstractAnimation, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.canvas import layout_motion
from gui.canvas.view import CanvasView
from model.document.edits import Move, SetPins


@pytest.fixture
def untidy(view: CanvasView, load: Callable[..., None]) -> CanvasView:
    """A node with two GPUs out of their places."""
    load("hgx-h100", nodes=1)
    view.context.document.push(Move({"node00.gpu0": (900.0, 0.0), "node00.gpu1": (0.0, 700.0)}), "Mess")
    view.fit()
    view.grab()
    return view


def centre(view: CanvasView, name: str) -> np.ndarray:
    index = view.scene_data.index
    return index.centre[index.device_row[name]]


def test_the_drawing_is_on_its_way_while_the_document_is_there(qtbot: QtBot, untidy: CanvasView) -> None:
    document = untidy.context.document
    steps = document.undo_stack.index()
    before = centre(untidy, "node00.gpu0").copy()
    untidy.edit.tidy()
    there = document.document.layout["node00.gpu0"]
    assert document.undo_stack.index() == steps + 1 and there != (900.0, 0.0)
    assert untidy.motion.running and np.array_equal(centre(untidy, "node00.gpu0"), before)
    untidy.motion.animation.setCurrentTime(layout_motion.DURATION_MS // 2)
    half = (centre(untidy, "node00.gpu0") - before) / (np.array(there) - before)
    assert np.allclose(half, 0.875)  # ease-out by a cubic: 1 − (1 − 0.5)³
    qtbot.waitUntil(lambda: not untidy.motion.running)
    assert tuple(centre(untidy, "node00.gpu0")) == there
    document.undo_stack.undo()
    assert tuple(centre(untidy, "node00.gpu0")) == (900.0, 0.0) and not untidy.motion.running
    document.undo_stack.redo()
    assert tuple(centre(untidy, "node00.gpu0")) == there


def test_escape_on_the_way_takes_the_layout_back(untidy: CanvasView) -> None:
    before = dict(untidy.context.document.document.layout)
    untidy.edit.tidy()
    QTest.keyClick(untidy, Qt.Key.Key_Escape)
    assert not untidy.motion.running
    assert untidy.context.document.document.layout == before
    assert tuple(centre(untidy, "node00.gpu0")) == (900.0, 0.0)


def test_a_press_and_another_edit_finish_it(untidy: CanvasView) -> None:
    untidy.edit.tidy()
    QTest.mousePress(untidy.viewport(), Qt.MouseButton.LeftButton)
    QTest.mouseRelease(untidy.viewport(), Qt.MouseButton.LeftButton)
    layout = untidy.context.document.document.layout
    assert not untidy.motion.running and tuple(centre(untidy, "node00.gpu1")) == layout["node00.gpu1"]
    untidy.context.document.undo_stack.undo()
    untidy.edit.tidy()
    untidy.context.document.push(Move({"leaf0": (5.0, -900.0)}), "Move")
    assert not untidy.motion.running
    for name, place in layout.items():
        assert tuple(centre(untidy, name)) == place


@pytest.mark.parametrize("why", ["reduced", "many"])
def test_nothing_moves_where_it_is_off_or_too_much(
    untidy: CanvasView, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "reduced":
        untidy.context.preferences.set("reduce_motion", True)
    else:
        monkeypatch.setattr(layout_motion, "MOST_MOVED", 3)
    untidy.edit.tidy()
    assert untidy.motion.animation.state() is QAbstractAnimation.State.Stopped
    assert tuple(centre(untidy, "node00.gpu0")) == untidy.context.document.document.layout["node00.gpu0"]


def test_a_layout_leaves_pins_and_says_so(untidy: CanvasView) -> None:
    said: list[str] = []
    untidy.context.said.connect(said.append)
    untidy.context.set_selection(("node00.gpu0",))
    untidy.commands.toggle_pins()
    assert untidy.context.document.document.view.pins == {"node00.gpu0"}
    untidy.edit.tidy()
    assert untidy.context.document.document.layout["node00.gpu0"] == (900.0, 0.0)
    assert said == ["1 pinned device stayed in place."]
    untidy.context.document.undo_stack.setIndex(untidy.context.document.undo_stack.index() - 2)
    assert untidy.context.document.document.view.pins == frozenset()
    untidy.context.document.undo_stack.redo()
    untidy.commands.toggle_pins()
    assert untidy.context.document.document.view.pins == frozenset()


def test_a_pin_is_seen_near(untidy: CanvasView) -> None:
    untidy.zoom_to(0.6)
    untidy.come_to_rest()
    plain = untidy.frame_cache.image(untidy.camera, untidy.level, untidy.lit()).copy()
    untidy.context.document.push(SetPins(pin=frozenset({"node00"})), "Pin")
    assert untidy.frame_cache.image(untidy.camera, untidy.level, untidy.lit()) != plain
