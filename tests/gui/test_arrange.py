"""The arrange menu: one undo step each, and a refusal that is said."""

from __future__ import annotations

from gui.arrange_commands import ArrangeCommands
from gui.context import AppContext


def test_each_is_one_step_that_undo_takes_back(drawing: AppContext) -> None:
    commands = ArrangeCommands(drawing, drawing)
    before = dict(drawing.document.document.layout)
    drawing.set_selection({"node.gpu0", "node.gpu1", "leaf0"})
    for name, run in commands.handlers().items():
        run()
        assert drawing.document.undo_stack.index() == 1, name
        assert set(drawing.document.document.last_change.layout) == set(drawing.selection), name
        drawing.document.undo_stack.undo()
        assert drawing.document.document.layout == before, name


def test_align_left_and_refusal(drawing: AppContext) -> None:
    commands, said = ArrangeCommands(drawing, drawing), list[str]()
    drawing.said.connect(said.append)
    drawing.set_selection({"node.gpu0", "node.gpu1"})
    commands.align("left")
    layout = drawing.document.document.layout
    assert layout["node.gpu1"] == (0.0, 0.0) == layout["node.gpu0"]
    commands.distribute("across")
    assert said == ["Select three or more devices or containers to distribute them."]
    assert drawing.document.undo_stack.count() == 1
