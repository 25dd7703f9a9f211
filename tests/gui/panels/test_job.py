"""The job panel under the hand: typing, choosing, undo, and illegal values that stay visible."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from gui.context import AppContext
from gui.panels.job import JobPanel
from gui.panels.job_fields import value_at
from gui.widgets.fields import ChoiceField, NumberField, TextField
from model.document.edits import AddParts, SetJob
from model.job.spec import apply_set
from model.step.report import Analysis
from model.topology.types import Device, DeviceKind


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
    assert "not a multiple of TP 5" in line.reason.text()
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
    assert panel.model.currentText() == "" and panel.model.placeholderText() == "Choose a model"
    for line in panel.sizes.values():
        shown_size = line.field.text() if line.field is not None else line.number.text()
        assert shown_size == "–" and line.reason.text() == ""
        assert line.field is None or not line.field.isEnabled()


def test_sizes_fill_themselves_in_with_the_first_gpus(qtbot: QtBot, empty_context: AppContext) -> None:
    """3 GPUs: DP 3 and 3 × 341 sequences; undo brings the empty panel back."""
    panel = shown(qtbot, empty_context)
    gpus = tuple(Device(f"gpu{number}", DeviceKind.GPU, "h100-sxm") for number in range(3))
    empty_context.document.push(AddParts(gpus), "add GPUs")
    assert panel.verdict.text() == "Legal: TP 1 × CP 1 × PP 1 × DP 3 = 3 GPUs"
    assert panel.sizes["dp"].number.text() == "3" and panel.batch.value() == 1023
    assert panel.sizes["tp"].field is not None and panel.sizes["tp"].field.isEnabled()
    empty_context.document.undo_stack.undo()
    assert panel.sizes["dp"].number.text() == "–" and panel.model.currentText() == ""
    empty_context.document.undo_stack.redo()
    assert panel.batch.value() == 1023


def unfolded(qtbot: QtBot, context: AppContext, *settings: str) -> JobPanel:
    """The panel with "More" open, after some settings."""
    job = context.document.document.job
    for setting in settings:
        job = apply_set(job, setting)
    context.document.push(SetJob(job), "outside")
    panel = shown(qtbot, context)
    qtbot.mouseClick(panel.fold, Qt.MouseButton.LeftButton)
    return panel


def type_text(qtbot: QtBot, panel: JobPanel, path: str, text: str) -> TextField:
    field = panel.more.fields[path]
    assert isinstance(field, TextField) and field.isVisible()
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text) if text else qtbot.keyClick(field, Qt.Key.Key_Delete)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    return field


@pytest.mark.parametrize(
    ("path", "typed", "value", "text"),
    [
        ("parallel.layers_per_stage", "7-8-8-9", [7, 8, 8, 9], "7, 8, 8, 9"),
        ("overlap.bucket_bytes", "25 MiB", 25 * 2**20, "25 MiB"),
        ("overlap.sm_share", "12,5 %", 0.125, "12.5 %"),
        ("experts.capacity_factor", "1.25", 1.25, "1.25"),
        ("checkpoint.every_steps", "1,000", 1000, "1,000"),
        ("memory.context_bytes", "1.5 GB", 1.5e9, "1.5 GB"),
        ("memory.fragmentation", "2.5", 0.025, "2.5 %"),
        ("calibration.mfu", "41", 0.41, "41 %"),
        ("calibration.layer_forward_s", "2.5 ms", 0.0025, "2.5 ms"),
    ],
)
def test_typed_fields_of_more(
    qtbot: QtBot, context: AppContext, path: str, typed: str, value: object, text: str
) -> None:
    panel = unfolded(qtbot, context)
    before = context.document.document.job
    field = type_text(qtbot, panel, path, typed)
    stack = context.document.undo_stack
    assert value_at(context.document.document.job, path) == value and field.text() == text
    assert stack.count() == 2
    stack.undo()
    assert context.document.document.job == before
    stack.redo()
    assert field.text() == text
    type_text(qtbot, panel, path, "")
    if not path.startswith(("overlap.sm_share", "memory.")):  # these have no "none"
        assert value_at(context.document.document.job, path) is None


def test_fields_come_and_go_with_their_effect(qtbot: QtBot, context: AppContext) -> None:
    panel = unfolded(qtbot, context, "routing.policy=even")
    fields = panel.more.fields
    assert fields["experts.dispatch"].isVisible() and fields["parallel.layers_per_stage"].isVisible()
    for path in ("routing.seed", "parallel.cp_algorithm", "experts.node_limit", "checkpoint.to"):
        assert not fields[path].isVisible(), path
    policy = fields["routing.policy"]
    assert isinstance(policy, ChoiceField)
    policy.setFocus()
    qtbot.keyClick(policy, Qt.Key.Key_Down)
    assert context.document.document.job.routing.policy == "hashed"
    seed = fields["routing.seed"]
    assert isinstance(seed, NumberField) and seed.isVisible() and fields["routing.queue_pairs"].isVisible()
    seed.setFocus()
    qtbot.keyClick(seed, Qt.Key.Key_Up)
    assert context.document.document.job.routing.seed == 1
    # What somebody set stays in sight, also where it has no effect any more.
    policy.setFocus()
    qtbot.keyClick(policy, Qt.Key.Key_Up)
    assert context.document.document.job.routing.policy == "even" and seed.isVisible()
    assert not fields["routing.queue_pairs"].isVisible()


def test_fields_of_zero_3(qtbot: QtBot, context: AppContext) -> None:
    panel = unfolded(qtbot, context, "parallel.zero=3")
    unit, layers = panel.more.fields["parallel.zero3_unit"], panel.more.fields["memory.gathered_layers"]
    assert isinstance(unit, ChoiceField) and unit.isVisible() and unit.currentText() == "A layer"
    unit.setFocus()
    qtbot.keyClick(unit, Qt.Key.Key_Down)
    assert context.document.document.job.parallel.zero3_unit == "matrix"
    assert isinstance(layers, NumberField) and layers.isVisible()
    layers.setFocus()
    qtbot.keyClick(layers, Qt.Key.Key_Down)
    assert context.document.document.job.memory.gathered_layers == 1
    context.document.undo_stack.undo()
    assert context.document.document.job.memory.gathered_layers == 2
    assert not unfolded(qtbot, context, "parallel.zero=1").more.fields["memory.gathered_layers"].isVisible()


def test_interleaving_shows_its_fields_and_its_rules(qtbot: QtBot, context: AppContext) -> None:
    panel = unfolded(qtbot, context)
    chunks = panel.more.fields["parallel.vpp"]
    assert isinstance(chunks, ChoiceField) and chunks.currentText() == "1"
    chunks.setFocus()
    qtbot.keyClick(chunks, Qt.Key.Key_Down)
    assert context.document.document.job.parallel.vpp == 2
    assert panel.more.fields["parallel.microbatch_group"].isVisible()
    assert panel.sizes["pp"].reason.text() == "32 layers → 2 chunks of 4 a stage"
    row = panel.schedule.findData("dualpipe")
    assert panel.schedule.itemText(row).startswith("DualPipe")


def test_layers_that_do_not_add_up_are_said_beside_the_field(qtbot: QtBot, context: AppContext) -> None:
    panel = unfolded(qtbot, context)
    type_text(qtbot, panel, "parallel.layers_per_stage", "8, 8, 8")
    reason = panel.more.reasons["parallel.layers_per_stage"]
    assert reason.isVisible() and "3 entries that add up to 24" in reason.text()
    assert panel.verdict.property("soft") == "error"
    context.document.undo_stack.undo()
    assert not reason.isVisible() and panel.verdict.property("soft") == "ok"


def test_algorithms_offered_are_those_of_the_operations(qtbot: QtBot, context: AppContext) -> None:
    panel = unfolded(qtbot, context)
    experts = panel.more.fields["collectives.ep"]
    assert isinstance(experts, ChoiceField)
    assert [experts.itemData(row) for row in range(experts.count())] == ["auto", "direct", "pxn"]
    replicas = panel.more.fields["collectives.dp"]
    assert isinstance(replicas, ChoiceField) and replicas.findData("pxn") < 0 <= replicas.findData("ring")


def test_storage_devices_are_offered(qtbot: QtBot, context: AppContext) -> None:
    panel = unfolded(qtbot, context)
    context.document.push(AddParts((Device("disks", DeviceKind.STORAGE, "storage"),)), "add storage")
    source = panel.more.fields["data.from"]
    assert isinstance(source, ChoiceField) and source.currentText() == "not counted"
    source.setFocus()
    qtbot.keyClick(source, Qt.Key.Key_Down)
    assert context.document.document.job.data.source == "disks"
    assert panel.more.fields["data.bytes_per_token"].isVisible()


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
    assert line.reason.text() == "8 experts; spans 2 NVLink domains"
    assert line.field is not None and line.field.property("mark") == "warning"
