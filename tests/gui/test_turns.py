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


def test_an_iterator_is_gone_on_with_one_step_a_turn(qtbot: Any) -> None:
    turns, seen = Turns(), []
    beat = QTimer()
    beat.setInterval(0)
    beat.timeout.connect(lambda: seen.append("turn"))

    def steps() -> Any:
        for name in ("first", "second", "third"):
            seen.append(name)
            yield

    turns.later(steps)
    turns.later(lambda: seen.append("after"))
    beat.start()
    qtbot.waitUntil(lambda: "after" in seen)
    beat.stop()
    assert [one for one in seen if one != "turn"] == ["first", "second", "third", "after"]
    for before, behind in (("first", "second"), ("second", "third")):
        assert "turn" in seen[seen.index(before) : seen.index(behind)]


def test_what_has_begun_begins_anew_or_is_dropped_with_all_its_steps(qtbot: Any) -> None:
    turns, seen = Turns(), []

    def steps() -> Any:
        seen.append("begin")
        yield
        if seen.count("begin") == 1:
            turns.later(steps)  # what it takes over has changed
        yield
        seen.append("end")

    def dropped() -> Any:
        yield
        turns.drop(dropped)
        yield
        seen.append("never")

    turns.later(steps)
    turns.later(dropped)
    turns.later(lambda: seen.append("last"))
    qtbot.waitUntil(lambda: seen.count("end") == 1 and "last" in seen)
    assert "never" not in seen
    assert seen.count("begin") == 2


def test_pieces_and_pictures_take_turns_and_neither_starves(qtbot: Any) -> None:
    turns, seen = Turns(), []

    def piece() -> None:
        seen.append("piece")

    turns.later(piece)
    assert turns.due
    turns.give_way()
    qtbot.waitUntil(lambda: "piece" in seen)
    assert not turns.due
    beat = QTimer()
    beat.setInterval(0)
    beat.timeout.connect(turns.give_way)  # a picture in every turn of the loop
    beat.start()
    turns.later(piece)
    assert not turns.due  # the piece before was the last that was done
    turns.give_way()
    assert turns.due
    qtbot.waitUntil(lambda: seen.count("piece") == 2)
    beat.stop()
