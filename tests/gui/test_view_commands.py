"""Pins, folds, the style of links and preferences as commands: what they do, undo, say and keep."""

from __future__ import annotations

from gui.actions import ACTIONS
from gui.context import AppContext
from gui.preferences import Preferences
from gui.view_commands import ViewCommands
from model.document.view_state import LinkStyle


def test_every_command_is_an_action_and_every_checked_one_can_be_checked(drawing: AppContext) -> None:
    commands = ViewCommands(drawing, drawing)
    assert commands.handlers().keys() <= ACTIONS.keys()
    assert all(ACTIONS[ident].checkable for ident in commands.checks())


def test_pinning_is_one_undo_step_that_keeps_others(drawing: AppContext) -> None:
    commands, document = ViewCommands(drawing, drawing), drawing.document
    drawing.set_selection({"node", "a"})  # a link is never pinned
    commands.toggle_pins()
    assert document.document.view.pins == {"node"} and document.undo_stack.undoText() == "Pin 1 part"
    drawing.set_selection({"node", "leaf0"})
    commands.toggle_pins()  # one of them is free, so both are pinned
    assert document.document.view.pins == {"node", "leaf0"}
    commands.toggle_pins()
    assert document.document.view.pins == frozenset() and document.undo_stack.undoText() == "Unpin 2 parts"
    document.undo_stack.setIndex(1)
    assert document.document.view.pins == {"node"}
    document.undo_stack.setIndex(3)
    assert document.document.view.pins == frozenset()


def test_without_anything_to_pin_it_is_said(drawing: AppContext) -> None:
    said: list[str] = []
    drawing.said.connect(said.append)
    drawing.set_selection({"a"})
    ViewCommands(drawing, drawing).toggle_pins()
    assert said == ["Select devices or containers to pin them."]
    assert drawing.document.undo_stack.count() == 0


def test_the_style_of_links_is_checked_and_no_undo_step(drawing: AppContext) -> None:
    commands, heard = ViewCommands(drawing, drawing), list[None]()
    commands.checks_changed.connect(lambda: heard.append(None))
    commands.set_link_style("orthogonal")
    checks = commands.checks()
    assert [checks[f"view.links_{style}"] for style in ("curved", "straight", "orthogonal")] == [
        False,
        False,
        True,
    ]
    assert drawing.document.document.view.links is LinkStyle.ORTHOGONAL and heard
    assert drawing.document.undo_stack.count() == 0


def test_preferences_outlive_the_run(drawing: AppContext) -> None:
    commands = ViewCommands(drawing, drawing)
    assert Preferences().snap_to_grid and not Preferences().reduce_motion
    commands.switch("reduce_motion")
    commands.switch("snap_to_grid")
    assert commands.checks()["view.reduce_motion"] and not commands.checks()["view.snap_to_grid"]
    again = Preferences()
    assert again.reduce_motion and not again.snap_to_grid and again.snap_to_parts


def test_two_things_stay_in_the_order_in_which_they_were_chosen(drawing: AppContext) -> None:
    drawing.set_selection({"node.gpu1"})
    drawing.set_selection({"node.gpu1", "leaf0"})
    assert drawing.ordered_selection() == ("node.gpu1", "leaf0")
    drawing.set_selection({"leaf0"})
    drawing.set_selection({"leaf0", "node.gpu1"})
    assert drawing.ordered_selection() == ("leaf0", "node.gpu1")
    drawing.set_selection({"leaf0", "node.gpu1", "node.gpu0"})
    assert drawing.ordered_selection() == ("leaf0", "node.gpu0", "node.gpu1")
