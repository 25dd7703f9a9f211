"""What happens to a gesture when its drawing changes under it, and when a handler fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.canvas.guard import guarded
from gui.canvas.view import CanvasView
from model.document.document import Document
from model.document.edits import RemoveParts
from model.topology.types import DeviceKind
from tests.gui.canvas.conftest import Hand

Put = Callable[..., str]
LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def row(view: CanvasView, put: Put) -> list[str]:
    """Eight GPUs in a row and a leaf and a NIC below; the first GPUs go away in the tests."""
    names = [put(f"gpu{number}", DeviceKind.GPU, 60 * number, 0) for number in range(8)]
    return [*names, put("nic0", DeviceKind.NIC, 0, 160), put("leaf0", DeviceKind.LEAF, 200, 160)]


def begin(view: CanvasView, hand: Hand, gesture: str) -> QPoint:
    """Press and move as a gesture does, and hold the button; gives where the pointer is."""
    tools = {"place": "place", "paint": "paint", "pan": "pan", "connect": "connect"}
    view.context.set_place("leaf", "", 1)
    view.context.set_tool(tools.get(gesture, "select"))  # type: ignore[arg-type]
    start, end = {
        "move": (hand.at("gpu7"), hand.at("gpu7", dy=-80)),
        "edge": (hand.at("gpu7", dy=36), hand.at("nic0")),
        "band": (hand.at("gpu7", dx=50, dy=-60), hand.at("gpu0", dx=-40, dy=60)),
        "copy": (hand.at("gpu7"), hand.at("gpu7", dy=-80)),
        "connect": (hand.at("nic0"), hand.at("leaf0")),
        "place": (hand.pixel((0, -120)), hand.pixel((40, -120))),
        "paint": (hand.at("gpu0", dx=-30), hand.at("gpu7", dx=30)),
        "pan": (hand.pixel((0, -120)), hand.pixel((80, -120))),
    }[gesture]
    alt = Qt.KeyboardModifier.AltModifier if gesture == "copy" else NONE
    hand.drag(start, end, modifiers=alt, release=False)
    view.grab()
    return end


GESTURES = ("move", "edge", "band", "copy", "connect", "place", "paint", "pan")


@pytest.mark.parametrize("gesture", GESTURES)
def test_a_drawing_that_shrinks_ends_the_gesture(
    view: CanvasView, hand: Hand, row: list[str], gesture: str
) -> None:
    end = begin(view, hand, gesture)
    view.context.document.push(RemoveParts(tuple(row[:-3]) + ("nic0",), (), ()), "Remove")
    assert not view.tool.active
    view.grab()
    left = view.context.document.document
    where = dict(left.layout)
    QTest.mouseMove(view.viewport(), end + QPoint(7, 7))
    QTest.mouseRelease(view.viewport(), LEFT, NONE, end)
    view.grab()
    after = view.context.document.document
    if gesture == "place":  # what the palette has chosen is no part of the old drawing
        assert len(after.layout) == len(where) + 1
        return
    assert after is left and dict(after.layout) == where == {"gpu7": (420, 0), "leaf0": (200, 160)}
    assert not after.paint.get("tp")


@pytest.mark.parametrize("gesture", GESTURES)
@pytest.mark.parametrize("what", ["undo", "open"])
def test_undo_and_another_file_end_the_gesture(
    view: CanvasView, hand: Hand, row: list[str], gesture: str, what: str
) -> None:
    end = begin(view, hand, gesture)
    document = view.context.document
    if what == "undo":
        document.undo_stack.setIndex(3)
    else:
        document.set_document(Document())
    assert not view.tool.active
    before = len(document.document.layout)
    QTest.mouseRelease(view.viewport(), LEFT, NONE, end)
    view.grab()
    assert len(document.document.layout) == before + (gesture == "place")


def test_a_live_drag_does_not_shift_what_an_undo_put_back(view: CanvasView, hand: Hand, put: Put) -> None:
    put("gpu0", DeviceKind.GPU, 0, 0)
    hand.drag(hand.at("gpu0"), hand.at("gpu0", dx=100))
    end = hand.at("gpu0", dx=60)
    hand.drag(hand.at("gpu0"), end, release=False)
    view.context.document.undo_stack.undo()
    QTest.mouseRelease(view.viewport(), LEFT, NONE, end)
    assert dict(view.context.document.document.layout) == {"gpu0": (0, 0)}
    assert view.scene_data.index.centre.tolist() == [[0, 0]]


class Hook:
    """Stands for the hook that shows a message."""

    def __init__(self) -> None:
        self.seen: list[type[BaseException]] = []

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self.seen.append(kind)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Hook:
    made = Hook()
    monkeypatch.setattr(sys, "excepthook", made)
    return made


def fail(*_args: object) -> None:
    """Raise as the interpreter does it, so that the exception is made late."""
    nothing: list[int] = []
    nothing[3]


@pytest.mark.parametrize("part", ["press", "move", "release", "cursor_at"])
@pytest.mark.parametrize("tool", ["select", "pan", "connect", "place", "paint"])
def test_an_error_in_a_tool_reaches_the_hook_and_ends_the_gesture(
    view: CanvasView,
    hand: Hand,
    row: list[str],
    hook: Hook,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    part: str,
) -> None:
    view.context.set_tool(tool)  # type: ignore[arg-type]
    monkeypatch.setattr(view.tool, part, fail)
    hand.drag(hand.at("gpu0"), hand.at("gpu1"))
    assert set(hook.seen) == {IndexError}
    assert not view.tool.active
    monkeypatch.undo()
    view.context.set_tool("select")
    hand.click(hand.at("gpu2"))
    assert view.context.selection == {"gpu2"}


def test_a_tool_that_cannot_even_be_cancelled_is_replaced(
    view: CanvasView, hand: Hand, row: list[str], hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view.tool, "release", fail)
    monkeypatch.setattr(view.tool, "cancel", fail)
    hand.drag(hand.at("gpu0"), hand.at("gpu0", dy=-80))
    assert hook.seen == [IndexError]
    hand.drag(hand.at("gpu0"), hand.at("gpu0", dy=-80))
    assert view.context.document.document.layout["gpu0"] == (0, -80)


def test_an_error_while_painting_is_told_after_it(
    view: CanvasView, row: list[str], hook: Hook, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    def broken(painter: QPainter) -> None:
        fail()

    monkeypatch.setattr(view.tool, "paint", broken)
    view.viewport().repaint()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "excepthook", hook)
    qtbot.waitUntil(lambda: hook.seen == [IndexError])


def test_errors_of_keys_and_wheel_reach_the_hook(
    view: CanvasView, row: list[str], hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view.keys, "press", fail)
    QTest.keyClick(view, Qt.Key.Key_Left)
    monkeypatch.setattr(view.keys, "wants", fail)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert len(hook.seen) >= 2 and set(hook.seen) == {IndexError}


def test_every_event_handler_of_the_view_is_guarded() -> None:
    """Qt calls each by its name; one without the guard would be the next crash."""
    handlers = [
        name
        for kind in CanvasView.__mro__[:3]
        for name in vars(kind)
        if name.endswith("Event")
        or name in ("eventFilter", "drawBackground", "drawForeground", "focusNextPrevChild")
    ]
    assert len(handlers) >= 15
    wrapped = guarded(fail)
    assert hasattr(wrapped, "__wrapped__")
    bare = [name for name in handlers if not hasattr(getattr(CanvasView, name), "__wrapped__")]
    assert not bare
