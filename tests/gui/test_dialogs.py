"""The template gallery by keys, its errors in place, and the edit that places a template."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QSpinBox

from gui.actions import ACTIONS
from gui.context import AppContext
from gui.dialogs.help import KeysDialog
from gui.dialogs.templates import TemplatesDialog, counts_text
from gui.place_template import template_edit
from model.document.document import Document
from model.document.edits import SetJob
from model.errors import InputError
from model.topology.types import DeviceKind
from tests.gui.conftest import small_document
from topology_templates.registry import TEMPLATES, counts


@pytest.fixture
def dialog(context: AppContext, qtbot: Any) -> TemplatesDialog:
    made = TemplatesDialog(context.theme, "hgx-h100")
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def test_counts_in_words() -> None:
    # 4 HGX nodes: 8 GPUs, 4 NVSwitches and 8 NICs each; 8 rail leaves for 4 nodes.
    devices, cables = counts_text(counts("hgx-h100", {"nodes": 4, "host": "plain"}))
    assert devices.startswith("32 GPUs · 16 NVLink switches · 32 NICs · 8 leaves")
    # 18 NVLinks a GPU.
    assert cables.startswith("576 NVLink lanes · 32 cables to leaves")


def test_parameters_by_keys_and_enter(dialog: TemplatesDialog) -> None:
    field = dialog.form.fields["nodes"]
    assert QApplication.focusWidget() is field
    field.selectAll()  # type: ignore[attr-defined]
    QTest.keyClicks(field, "16")
    QTest.keyClick(field, Qt.Key.Key_Tab)
    assert dialog.counts.text().startswith("128 GPUs")
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.result() == TemplatesDialog.DialogCode.Accepted
    assert dialog.chosen == "hgx-h100"
    assert dialog.parameters is not None and dialog.parameters.model_dump()["nodes"] == 16


def test_escape_closes_without_a_choice(dialog: TemplatesDialog) -> None:
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.result() == TemplatesDialog.DialogCode.Rejected


@pytest.mark.parametrize(("value", "sentence"), [(0, "At least 1."), (2049, "At most 2,048.")])
def test_out_of_range_is_said_in_place(dialog: TemplatesDialog, value: int, sentence: str) -> None:
    dialog.form.set_value("nodes", value)
    assert dialog.form._notes["nodes"].text() == sentence
    assert dialog.form.fields["nodes"].property("mark") == "error"
    assert not dialog.place_button.isEnabled() and dialog.error.isVisible()
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.isVisible()
    dialog.form.set_value("nodes", 3)
    assert dialog.form._notes["nodes"].text() == "Hosts of eight GPUs."
    assert dialog.place_button.isEnabled() and not dialog.error.isVisible()


def test_tab_goes_through_all_fields(dialog: TemplatesDialog) -> None:
    fields = list(dialog.form.fields.values())
    for field, after in zip(fields, [*fields[1:], dialog.place_button], strict=True):
        assert QApplication.focusWidget() is field
        QTest.keyClick(field, Qt.Key.Key_Tab)
        assert QApplication.focusWidget() is after


def test_every_field_has_a_name(dialog: TemplatesDialog) -> None:
    assert list(dialog.rows) == list(TEMPLATES)
    for ident, row in dialog.rows.items():
        dialog.list.setCurrentItem(row)
        assert all(field.accessibleName() for field in dialog.form.fields.values())
        assert dialog.chosen == ident
        assert dialog.counts.text()


def test_arrows_choose_another_template_and_pass_over_heads(dialog: TemplatesDialog) -> None:
    dialog.list.setFocus()
    seen = [dialog.chosen]
    for _ in range(len(TEMPLATES) - 1):
        QTest.keyClick(dialog.list, Qt.Key.Key_Down)
        seen.append(dialog.chosen)
    assert seen == list(TEMPLATES)
    dialog.list.setCurrentItem(dialog.rows["gb200-nvl72"])
    assert dialog.header.title.text() == "GB200 NVL72"
    assert isinstance(dialog.form.fields["racks"], QSpinBox)
    assert dialog.counts.text().startswith("72 GPUs · 18 NVLink switches")


@pytest.mark.parametrize("ident", TEMPLATES)
def test_placing_on_an_empty_drawing_brings_a_job_and_can_be_undone(context: AppContext, ident: str) -> None:
    model = context.document
    before = copy.deepcopy(model.document)
    model.push(*template_edit(model.document, ident, None))
    found = counts(ident)
    topology = model.document.topology
    assert len(topology.devices()) == found["devices"] and len(topology.links()) == found["links"]
    assert model.document.layout.keys() == {device.id for device in topology.devices()}
    gpus = sum(device.kind is DeviceKind.GPU for device in topology.devices())
    assert model.document.job.global_batch % gpus == 0
    after = copy.deepcopy(model.document)
    model.undo_stack.undo()
    assert model.document.same_as(before)
    model.undo_stack.redo()
    assert model.document.same_as(after)


def test_placing_beside_what_is_there_keeps_it(context: AppContext) -> None:
    model = context.document
    model.set_document(small_document())
    job = model.document.job.model_copy(update={"global_batch": 7})
    model.push(SetJob(job), "set the batch")
    model.push(*template_edit(model.document, "hgx-h100", None))
    topology = model.document.topology
    assert len(topology.devices()) == 5 + counts("hgx-h100")["devices"]
    assert model.document.job == job and topology.has_device("leaf0")
    new = [x for ident, (x, _) in model.document.layout.items() if ident not in small_document().layout]
    assert min(new) > 70.0  # right of the old leaf, which ends at 70
    model.undo_stack.undo()
    model.undo_stack.undo()
    assert model.document.same_as(small_document())


def test_placing_at_a_point(context: AppContext) -> None:
    document = small_document()
    edit, text = template_edit(document, "hgx-h100", None, (1000.0, 2000.0))
    old = set(document.layout)
    edit.apply(document)
    new = [place for ident, place in document.layout.items() if ident not in old]
    assert text == "Place HGX H100"
    assert 1000.0 <= min(x for x, _ in new) <= 1100.0 and 2000.0 <= min(y for _, y in new) <= 2100.0


def test_impossible_parameters_change_nothing(context: AppContext) -> None:
    with pytest.raises(InputError):
        template_edit(Document(), "no such template", None)


def test_every_key_is_in_the_list_of_keys(context: AppContext, qtbot: Any) -> None:
    dialog = KeysDialog()
    qtbot.addWidget(dialog)
    from PySide6.QtWidgets import QLabel

    texts = [label.text() for label in dialog.findChildren(QLabel)]
    for spec in ACTIONS.values():
        if spec.keys:
            assert (spec.tip or spec.text.replace("&", "").rstrip("…")) in texts


def test_no_two_actions_share_a_key() -> None:
    keys = [key for spec in ACTIONS.values() for key in spec.keys]
    assert len(set(keys)) == len(keys)
