"""The job panel under the hand: typing, choosing, undo, and illegal values that stay visible."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from gui.panels.job import JobPanel
from gui.widgets.fields import ChoiceField
from model.document.edits import SetJob
from model.job.spec import apply_set
from model.step.report import Analysis


def shown(qtbot: QtBot, context: AppContext) -> JobPanel:
    panel = JobPanel(context)
    qtbot.addWidget(panel)
    panel.resize(348, 320)
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    return panel


def type_size(qtbot: QtBot, panel: JobPanel, name: str, text: str) -> None:
    field = panel.sizes[name].field
    assert field is not None
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_a_typed_size_is_one_undoable_edit(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    stack = context.document.undo_stack
    type_size(qtbot, panel, "tp", "8")
    assert context.document.document.job.parallel.tp == 8
    assert stack.count() == 1
    assert panel.view is not None and panel.view.verdict.text.endswith("TP 8 × CP 1 × PP 4 × DP 1 = 32 GPUs")
    stack.undo()
    assert context.document.document.job.parallel.tp == 1
    field = panel.sizes["tp"].field
    assert field is not None and field.value() == 1
    stack.redo()
    assert field.value() == 8


def test_typing_alone_changes_nothing(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    panel.batch.setFocus()
    panel.batch.selectAll()
    qtbot.keyClicks(panel.batch, "256")
    assert context.document.document.job.global_batch == 128
    assert panel.batch.hasFocus()
    qtbot.keyClick(panel.batch, Qt.Key.Key_Tab)
    assert context.document.document.job.global_batch == 256
    assert panel.count.text() == "32"


def test_arrows_step_over_legal_values(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    field = panel.sizes["pp"].field
    assert field is not None
    field.setFocus()
    for key, expected in ((Qt.Key.Key_Down, 2), (Qt.Key.Key_Down, 1), (Qt.Key.Key_Up, 2), (Qt.Key.Key_Up, 4)):
        qtbot.keyClick(field, key)
        assert context.document.document.job.parallel.pp == expected
    qtbot.keyClick(field, Qt.Key.Key_Up)  # PP 8 × EP 8 would need 64 GPUs
    assert context.document.document.job.parallel.pp == 4


def test_an_illegal_value_stays_and_is_marked(
    qtbot: QtBot, context: AppContext, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    panel = shown(qtbot, context)
    type_size(qtbot, panel, "tp", "5")
    assert not reanalyse(context).legal
    line = panel.sizes["tp"]
    assert line.field is not None and line.field.value() == 5
    assert line.field.property("mark") == "error"
    assert "not a multiple of tp 5" in line.reason.text()
    assert panel.verdict.property("soft") == "error"
    assert panel.as_of.isVisible() and "as of TP 1" in panel.as_of.text()
    assert panel.report is not None  # the last legal traffic is still there
    context.document.undo_stack.undo()
    reanalyse(context)
    assert not panel.as_of.isVisible() and panel.verdict.property("soft") == "ok"


def test_choosing_a_model(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    panel.model.setFocus()
    before = panel.model.currentIndex()
    qtbot.keyClick(panel.model, Qt.Key.Key_Down)
    expected = panel.model.itemData(before + 1)
    assert context.document.document.job.model == expected == "mixtral-8x22b"
    assert panel.header.note.text().startswith("Mixtral 8x22B")


@pytest.mark.usefixtures("unfinished")
def test_values_that_are_not_built_are_greyed(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    field = panel.sizes["cp"].field
    assert field is not None and field.isEnabled()
    row = panel.schedule.findData("zb-h1")
    item = panel.schedule.model().item(row)  # type: ignore[attr-defined]
    assert not item.isEnabled()
    assert "not built yet" in panel.schedule.itemData(row, Qt.ItemDataRole.ToolTipRole)


def test_more_fields_unfold_and_edit(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    assert not panel.more.isVisible()
    qtbot.mouseClick(panel.fold, Qt.MouseButton.LeftButton)
    assert panel.more.isVisible()
    gradients = panel.more.fields["overlap.gradients"]
    assert isinstance(gradients, QCheckBox) and gradients.isChecked()
    gradients.setFocus()
    qtbot.keyClick(gradients, Qt.Key.Key_Space)
    assert context.document.document.job.overlap.gradients is False
    assert "overlap.gradients" in panel.verdict.text()  # parameters need gradients
    zero = panel.more.fields["parallel.zero"]
    assert isinstance(zero, ChoiceField)
    zero.setFocus()
    qtbot.keyClick(zero, Qt.Key.Key_Up)
    assert context.document.document.job.parallel.zero == 0


def test_a_value_that_no_job_takes_is_said(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    qtbot.mouseClick(panel.fold, Qt.MouseButton.LeftButton)
    field = panel.more.fields["experts.imbalance"]
    field.setFocus()
    field.selectAll()  # type: ignore[attr-defined]
    qtbot.keyClicks(field, "much")
    with qtbot.waitSignal(context.said) as said:
        qtbot.keyClick(field, Qt.Key.Key_Return)
    assert "experts.imbalance must be a number" in said.args[0]
    assert field.text() == "1"  # type: ignore[attr-defined]
    assert context.document.undo_stack.count() == 0


def test_the_colouring_dimension_is_highlighted(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    context.set_colour_by("pp")
    assert panel.sizes["pp"].name.property("tone") == "accent"
    assert panel.sizes["tp"].name.property("tone") == ""


def test_without_gpus_it_says_the_next_act(qtbot: QtBot, empty_context: AppContext) -> None:
    panel = shown(qtbot, empty_context)
    assert panel.verdict.text().startswith("No GPUs yet.")
    assert not panel.sizes["tp"].isVisible()


def test_another_edit_of_the_job_shows(qtbot: QtBot, context: AppContext) -> None:
    panel = shown(qtbot, context)
    job = context.document.document.job
    context.document.push(SetJob(apply_set(job, "microbatch=2")), "outside")
    assert panel.microbatch.value() == 2
    assert panel.count.text() == "8"
    assert panel.count_text.text() == "= 128 ÷ 8 ÷ 2"


def test_a_group_that_leaves_its_domain_is_warned_of(
    qtbot: QtBot, context: AppContext, reanalyse: Callable[[AppContext], Analysis]
) -> None:
    """Two replicas of experts inside: EP 8 has stride 2 and spans 16 GPUs, two nodes."""
    panel = shown(qtbot, context)
    job = apply_set(context.document.document.job, "parallel.pp=2")
    context.document.push(SetJob(apply_set(job, "parallel.order=tp-cp-dp-ep-pp")), "outside")
    assert reanalyse(context).legal
    line = panel.sizes["ep"]
    assert line.reason.text() == "8 experts; group spans 2 NVLink domains"
    assert line.field is not None and line.field.property("mark") == "warning"
