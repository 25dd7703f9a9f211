"""Work in turns: one piece for each turn of the event loop, in order, and no piece twice."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QTimer

from gui.turns import Turns


def test_each_piece_has_a_turn_of_its_own_in_order(qtbot: Any) -> None:
    turns, seen = Turns(), []
    beat = QTimer()
    beat.setInterval(0)
    beat.timeout.connect(lambda: seen.append("turn"))

    def first() -> None:
        seen.append("first")

    def second() -> None:
        seen.append("second")

    turns.later(first)
    turns.later(second)
    turns.later(first)
    beat.start()
    qtbot.waitUntil(lambda: "second" in seen)
    beat.stop()
    assert [one for one in seen if one != "turn"] == ["first", "second"]
    assert "turn" in seen[seen.index("first") : seen.index("second")]


def test_a_piece_may_ask_for_more_and_what_is_dropped_is_left_out(qtbot: Any) -> None:
    turns, seen = Turns(), []

    def last() -> None:
        seen.append("last")

    def never() -> None:
        seen.append("never")

    def first() -> None:
        seen.append("first")
        turns.drop(never)
        turns.later(last)

    turns.later(first)
    turns.later(never)
    qtbot.waitUntil(lambda: "last" in seen)
    assert seen == ["first", "last"]
