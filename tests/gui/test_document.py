"""The document of the window: every edit can be undone and redone to an equal document; signals come once."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from gui.document import DocumentModel
from model.document.document import Document
from model.document.edits import (
    AddParts,
    Assign,
    Batch,
    ClearPaint,
    Connect,
    Edit,
    Load,
    Move,
    RemoveParts,
    Rename,
    SetFields,
    SetJob,
)
from model.errors import EditRefused, InputError
from model.topology.types import Device, DeviceKind, Link, LinkKind, State
from tests.gui.conftest import small_document

EDITS: dict[str, Edit] = {
    "add": AddParts((Device("gpu9", DeviceKind.GPU, "h100-sxm"),), positions={"gpu9": (5.0, 5.0)}),
    "remove": RemoveParts(("node.gpu0",), ("d",)),
    "remove container": RemoveParts(container_ids=("node",)),
    "connect": Connect(Link("e", "node.gpu1", "node.nic0", LinkKind.PCIE, 64e9)),
    "move": Move({"leaf0": (40.0, -200.0)}),
    "set device": SetFields("device", ("node.gpu0", "node.gpu1"), {"state": State.DEGRADED, "speed": 0.5}),
    "set link": SetFields("link", ("d",), {"share": 0.75, "state": State.DEGRADED}),
    "rename": Rename("device", "leaf0", "rail0"),
    "assign": Assign("tp", 1, ("node.gpu0",)),
    "clear": Batch((Assign("dp", 0, ("node.gpu1",)), ClearPaint())),
    "load": Load(Document(name="other")),
}


def opened(document: Document | None = None) -> DocumentModel:
    model = DocumentModel()
    model.set_document(document or small_document())
    return model


@pytest.mark.parametrize("name", [*EDITS, "job"])
def test_do_undo_redo_gives_equal_documents(qapp: QApplication, name: str) -> None:
    model = opened()
    edit = EDITS.get(name) or SetJob(model.document.job.model_copy(update={"global_batch": 77}))
    before = copy.deepcopy(model.document)
    model.push(edit, name)
    after = copy.deepcopy(model.document)
    assert name == "clear" or not after.same_as(before)
    model.undo_stack.undo()
    assert model.document.same_as(before)
    model.undo_stack.redo()
    assert model.document.same_as(after)
    model.undo_stack.undo()
    assert model.document.same_as(before)


def test_all_edits_undone_in_a_row(qapp: QApplication) -> None:
    model = opened()
    start = copy.deepcopy(model.document)
    for name in ("add", "move", "set device", "assign", "remove", "rename"):
        model.push(EDITS[name], name)
    end = copy.deepcopy(model.document)
    for _ in range(6):
        model.undo_stack.undo()
    assert model.document.same_as(start)
    for _ in range(6):
        model.undo_stack.redo()
    assert model.document.same_as(end)


def test_refused_edit_leaves_no_trace(qapp: QApplication) -> None:
    model = opened()
    before, revision = copy.deepcopy(model.document), model.revision
    changes: list[object] = []
    model.changed.connect(changes.append)
    with pytest.raises(EditRefused):
        model.push(RemoveParts(("no such device",)), "remove")
    assert model.document.same_as(before)
    assert (model.revision, model.undo_stack.count(), changes) == (revision, 0, [])


def test_signals_once_per_command_and_edits_can_be_replayed(qapp: QApplication) -> None:
    model = opened()
    mirror = small_document()
    changes: list[object] = []
    model.changed.connect(changes.append)
    model.applied.connect(lambda edit: edit.apply(mirror))
    model.push(EDITS["remove"], "remove")
    model.push(EDITS["rename"], "rename")
    model.undo_stack.undo()
    model.undo_stack.undo()
    model.undo_stack.redo()
    assert len(changes) == 5
    assert mirror.same_as(model.document)
    assert mirror.checksum() == model.document.checksum()


def test_change_names_what_was_touched(qapp: QApplication) -> None:
    model = opened()
    model.push(EDITS["move"], "move")
    assert model.document.last_change.layout == {"leaf0"}
    assert not model.document.last_change.topology_changed


def test_unsaved_follows_the_undo_stack(qapp: QApplication, tmp_path: Path) -> None:
    model = opened()
    titles: list[bool] = []
    model.title_changed.connect(lambda: titles.append(model.unsaved))
    assert not model.unsaved
    model.push(EDITS["move"], "move")
    assert model.unsaved
    model.save(tmp_path / "drawing.json")
    assert not model.unsaved and model.name == "drawing.json"
    model.undo_stack.undo()
    assert model.unsaved
    model.undo_stack.redo()
    assert not model.unsaved
    assert titles[-1] is False


def test_failed_save_keeps_path_and_state(qapp: QApplication, tmp_path: Path) -> None:
    model = opened()
    model.push(EDITS["move"], "move")
    with pytest.raises((InputError, OSError)):
        model.save(tmp_path / "no such folder" / "drawing.json")
    assert model.path is None and model.unsaved


def test_revision_grows_with_each_change_and_reset(qapp: QApplication) -> None:
    model = opened()
    seen = [model.revision]
    model.push(EDITS["move"], "move")
    seen.append(model.revision)
    model.undo_stack.undo()
    seen.append(model.revision)
    model.set_document(Document())
    seen.append(model.revision)
    assert seen == sorted(set(seen))
