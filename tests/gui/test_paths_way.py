"""Work on 1,024 GPUs by keys: fold, find, follow a path to the spines, double them, see what hurt, rename."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.dialogs.duplicate import DuplicateDialog
from gui.dialogs.search import SearchDialog
from gui.window import MainWindow
from model.document.edits import Rename, SetJob
from model.job.spec import apply_set
from model.topology.types import DeviceKind
from tests.gui.canvas.conftest import NearEngine
from tests.gui.test_bulk_way import CONTROL, SHIFT, activate, in_dialog, window

__all__ = ["window"]  # the fixture


@pytest.mark.slow
def test_follow_a_path_and_mend_it(window: MainWindow, qtbot: Any) -> None:
    context = window.context
    engine = NearEngine(context)
    context.attach_engine(engine)  # type: ignore[arg-type]
    window.files.place_template(
        "hgx-h100",
        {"nodes": 128, "host": "plain", "fabric": "tor", "leaf_uplinks": 16},  # type: ignore[arg-type]
    )
    document = context.document
    job = document.document.job
    for one in ("model=llama3-70b", "parallel.tp=8", "parallel.pp=4", "global_batch=1024"):
        job = apply_set(job, one)
    document.push(SetJob(job), "Job")
    engine.analyse()
    window.actions_.update_states()
    assert window.workspace is not None and context.analysis is not None
    canvas = window.workspace.canvas

    window.actions_["view.fold_racks"].trigger()
    racks = {box.id for box in document.document.topology.containers() if box.kind == "rack"}
    assert canvas.scene_data.folded == racks and len(racks) > 10

    def find(dialog: SearchDialog) -> None:
        QTest.keyClicks(dialog.field, "node100.gpu5")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    in_dialog(SearchDialog, find, lambda: QTest.keyClick(window, Qt.Key.Key_F, CONTROL))
    assert len(canvas.scene_data.folded) == len(racks) - 1  # its rack is open

    activate(window, qtbot)
    canvas.setFocus()
    window.actions_.update_states()
    QTest.keyClick(canvas, Qt.Key.Key_P, SHIFT)
    clear, route = canvas.focus.clear, canvas.focus.route
    assert clear is not None and route is not None
    assert {partner.dimension for partner in route.partners} == {"tp", "pp", "dp"}
    spines = [device.id for device in document.document.topology.devices() if device.kind is DeviceKind.SPINE]
    assert set(spines) <= clear.devices
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert context.focus == ()

    # 32 NICs go down from a leaf and 16 cables up.
    assert context.analysis.report is not None
    assert context.analysis.report.oversubscription.max() == pytest.approx(2.0)
    context.set_selection(spines)
    window.actions_.update_states()
    activate(window, qtbot)

    def twice(dialog: DuplicateDialog) -> None:
        QTest.keyClick(dialog.copies, Qt.Key.Key_Return)

    in_dialog(DuplicateDialog, twice, lambda: QTest.keyClick(window, Qt.Key.Key_D, CONTROL | SHIFT))
    assert len(document.document.topology.devices()) == len(canvas.scene_data.index.devices)
    engine.analyse()
    assert context.analysis.report is not None
    assert context.analysis.report.oversubscription.max() == pytest.approx(1.0)
    assert canvas.scene_data.worst.max() == context.analysis.report.oversubscription.max()

    (first, *_rest) = sorted(context.selection)
    document.push(Rename("device", first, "new-spine"), "Rename")
    assert "new-spine" in context.document.document.topology.graph
    for _ in range(2):
        window.actions_["edit.undo"].trigger()
    engine.analyse()
    assert context.analysis.report.oversubscription.max() == pytest.approx(2.0)
