"""The network as built beside the drawing: what is listed, what is lit, and what an edit makes of it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.background import Background
from gui.context import AppContext
from gui.dialogs.compare import CompareDialog
from gui.import_work import Choice, Planned, Wanted, Way, plan
from model.document.document import Document
from model.document.edits import RemoveParts
from model.document.start import document_from
from model.files.topology_json import topology_to_json
from topology_templates.registry import build

PATIENCE_MS = 30_000


@pytest.fixture
def built(context: AppContext, tmp_path: Path) -> Path:
    """Two hosts of eight rails; as built, rails 0 and 1 of node00 are exchanged, node01.nic5 hangs free."""
    document = document_from(build("hgx-h100", {"nodes": 2}))
    context.document.set_document(document)
    data = topology_to_json(document)
    edges = {edge["key"]: edge for edge in data["edges"]}
    first, second = edges["node00.nic0--leaf0"], edges["node00.nic1--leaf1"]
    first["target"], second["target"] = second["target"], first["target"]
    data["edges"].remove(edges["node01.nic5--leaf5"])
    path = tmp_path / "built.json"
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def dialog(context: AppContext, background: Background, built: Path, qtbot: QtBot) -> CompareDialog:
    wanted = Wanted((built,), format_id="railsketch-topology")
    planned = planned_of(context, background, wanted, qtbot)
    assert planned.comparison is not None
    made = CompareDialog(context, background, wanted, planned.comparison, "built")
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    return made


def planned_of(context: AppContext, background: Background, wanted: Wanted, qtbot: QtBot) -> Planned:
    errand = background.run(plan, wanted, Choice(Way.COMPARE), context.document.document.content())
    with qtbot.waitSignal(errand.done, timeout=PATIENCE_MS) as got:
        pass
    planned: Planned = got.args[0]
    return planned


def row_of(dialog: CompareDialog, text: str) -> int:
    return next(row for row in range(dialog.list.count()) if text in dialog.list.item(row).text())


def test_differences_are_listed_by_kind(dialog: CompareDialog) -> None:
    assert dialog.title.text() == "built: 3 differences" and not dialog.isModal()
    heads = [
        dialog.list.item(row).text()
        for row in range(dialog.list.count())
        if " · " in dialog.list.item(row).text()
    ]
    assert heads == ["Swapped cables · 1", "Hosts on the wrong rail · 1", "Missing cables · 1"]
    assert dialog.kinds.itemText(0) == "All (3)" and not dialog.stale.isVisible()


def test_a_chosen_difference_is_lit_and_gone_to(dialog: CompareDialog, context: AppContext) -> None:
    went: list[tuple[str, ...]] = []
    context.went_to.connect(went.append)
    rect = dialog.list.visualItemRect(dialog.list.item(row_of(dialog, "leaf5 – node01.nic5")))
    QTest.mouseClick(dialog.list.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert context.lit_links == {"node01.nic5--leaf5"} and context.lit_devices == {"leaf5", "node01.nic5"}
    assert went[-1] == ("node01.nic5--leaf5",) and context.selection == {"node01.nic5--leaf5"}
    dialog.reject()
    assert not context.lit_links and not context.lit_devices


def test_enter_goes_to_a_difference_and_keeps_the_list(dialog: CompareDialog, context: AppContext) -> None:
    dialog.list.setFocus()
    dialog.list.setCurrentRow(row_of(dialog, "exchanged"))
    context.set_lit_links(())
    QTest.keyClick(dialog.list, Qt.Key.Key_Return)
    assert context.lit_links == {"node00.nic0--leaf0", "node00.nic1--leaf1"} and dialog.isVisible()


def test_filters(dialog: CompareDialog) -> None:
    QTest.keyClicks(dialog.field, "leaf5")
    assert [each.kind.value for each in dialog.shown()] == ["missing-cable"]
    dialog.field.clear()
    dialog.kinds.set_value("swapped")
    dialog.kinds.committed.emit("swapped")
    assert len(dialog.shown()) == 1 and dialog.list.count() == 2
    QTest.keyClicks(dialog.field, "moon")
    assert dialog.empty.isVisible() and not dialog.list.isVisible() and not dialog.csv_button.isEnabled()


def test_lists_to_take_along(dialog: CompareDialog) -> None:
    dialog.text_button.click()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("built: 3 differences\n") and "- leaf5 – node01.nic5: 1 cable missing." in text
    dialog.csv_button.click()
    rows = list(csv.DictReader(io.StringIO(QGuiApplication.clipboard().text())))
    assert [row["kind"] for row in rows] == ["swapped", "wrong-rail", "missing-cable"]
    assert rows[2]["links"] == "node01.nic5--leaf5"


def test_an_edit_makes_it_stale_until_it_is_compared_again(
    dialog: CompareDialog, context: AppContext, qtbot: QtBot
) -> None:
    context.document.push(RemoveParts((), ("node01.nic5--leaf5",), ()), "remove")
    assert dialog.stale.isVisible() and dialog.again_button.isVisible()
    dialog.list.setCurrentRow(row_of(dialog, "leaf5 – node01.nic5"))  # its link is no longer there
    assert not context.lit_links and context.selection == {"leaf5", "node01.nic5"}
    QTest.mouseClick(dialog.again_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.stale.isVisible(), timeout=PATIENCE_MS)
    assert dialog.title.text() == "built: 2 differences"
    context.document.undo_stack.undo()
    assert dialog.stale.isVisible()


def test_another_drawing_has_nothing_in_common(
    dialog: CompareDialog, context: AppContext, qtbot: QtBot
) -> None:
    context.document.set_document(Document())
    assert dialog.stale.isVisible()
    dialog.again_button.click()
    qtbot.waitUntil(lambda: dialog.again_button.isEnabled(), timeout=PATIENCE_MS)
    assert "cannot be compared" in dialog.stale.text() and dialog.again_button.text() == "Compare again"


def test_a_network_that_is_as_designed(
    context: AppContext, background: Background, tmp_path: Path, qtbot: QtBot
) -> None:
    document = document_from(build("hgx-h100", {"nodes": 2}))
    context.document.set_document(document)
    path = tmp_path / "same.json"
    path.write_text(json.dumps(topology_to_json(document)))
    wanted = Wanted((path,), format_id="railsketch-topology")
    found = planned_of(context, background, wanted, qtbot).comparison
    assert found is not None
    made = CompareDialog(context, background, wanted, found, "same")
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    assert made.title.text() == "same is built as designed"
    assert made.empty.text().startswith("Every cable") and made.empty.isVisible()
