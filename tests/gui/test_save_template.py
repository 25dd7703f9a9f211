"""Save a selection as a template, find it in the gallery, place it; broken files are shown and refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui import own_templates
from gui.bulk_commands import BulkCommands
from gui.canvas.quick_add import offers
from gui.context import AppContext
from gui.dialogs.save_template import SaveTemplateDialog
from gui.dialogs.templates import TemplatesDialog
from gui.panels.templates import TemplatesPanel
from gui.place_template import template_edit
from model.document.clipboard import copy
from topology_templates.registry import TEMPLATES, build, gallery, use_own


@pytest.fixture(autouse=True)
def program_only() -> Iterator[None]:
    yield
    use_own(())


@pytest.fixture
def cluster(context: AppContext) -> AppContext:
    edit, text = template_edit(context.document.document, "hgx-h100", None)
    context.document.push(edit, text)
    context.set_selection(device.id for device in context.document.document.topology.devices())
    return context


@pytest.fixture
def dialog(cluster: AppContext, qtbot: Any) -> SaveTemplateDialog:
    made = SaveTemplateDialog(copy(cluster.document.document, cluster.selection), own_templates.folder())
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def test_name_and_count_by_keys(dialog: SaveTemplateDialog) -> None:
    assert dialog.name.hasFocus() and not dialog.save_button.isEnabled()
    assert dialog.boxes[0].text() == "Nodes: 4 like node00"
    QTest.keyClicks(dialog.name, "My pod")
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    assert dialog.result() == SaveTemplateDialog.DialogCode.Accepted
    assert dialog.path == own_templates.folder() / "my-pod.json" and dialog.path.is_file()
    assert own_templates.load() == ()
    assert sum(device.kind == "gpu" for device in build("own:my-pod", {"nodes": 6}).devices) == 48
    assert offers("my pod")[0].template == "own:my-pod"  # by double-click on the empty canvas, too


def test_what_stands_there_already_is_said_and_kept(dialog: SaveTemplateDialog) -> None:
    folder = own_templates.folder()
    folder.mkdir()
    (folder / "pod.json").write_text("mine", encoding="utf-8")
    QTest.keyClicks(dialog.name, "Pod")
    assert dialog.note.text() == "Takes the place of pod.json, which is kept as pod.json.bak."
    dialog.accept()
    assert (folder / "pod.json.bak").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_written_is_said(dialog: SaveTemplateDialog) -> None:
    own_templates.folder().write_text("a file, no folder", encoding="utf-8")
    QTest.keyClicks(dialog.name, "Pod")
    dialog.accept()
    assert dialog.isVisible() and "cannot be" in dialog.note.text() and dialog.path is None


def test_joined_groups_cannot_both_be_counts(drawing: AppContext, qtbot: Any) -> None:
    dialog = SaveTemplateDialog(
        copy(drawing.document.document, ["node.gpu0", "node.gpu1", "node.nvs0"]), Path("templates")
    )
    qtbot.addWidget(dialog)
    # Two GPUs on one NVLink switch: rails differ, so that they are not alike, and nothing is offered.
    assert dialog.boxes == []


def test_saved_by_the_command_it_is_in_gallery_and_panel(
    cluster: AppContext, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    def answer(dialog: SaveTemplateDialog) -> int:
        dialog.name.setText("Mine")
        dialog.summary.setText("Four nodes, drawn once")
        dialog.accept()
        return int(dialog.result())

    monkeypatch.setattr(SaveTemplateDialog, "exec", answer)
    panel = TemplatesPanel(cluster)
    qtbot.addWidget(panel)
    commands = BulkCommands(cluster, None)  # type: ignore[arg-type]
    commands.templates_changed.connect(panel.refresh)
    with qtbot.waitSignal(commands.templates_changed):
        commands.save_template()
    assert list(gallery()) == [*TEMPLATES, "own:mine"] and "own:mine" in panel.tiles
    chosen = TemplatesDialog(cluster.theme, "own:mine")
    qtbot.addWidget(chosen)
    assert chosen.counts.text().startswith("32 GPUs · 16 NVLink switches")
    chosen.form.set_value("nodes", 5)
    chosen._update()
    assert chosen.counts.text().startswith("40 GPUs")
    chosen.form.set_value("nodes", 5000)
    chosen._update()
    assert not chosen.place_button.isEnabled()


def test_broken_files_are_named_in_the_gallery(context: AppContext, qtbot: Any) -> None:
    folder = own_templates.folder()
    folder.mkdir()
    (folder / "bad.json").write_text("{", encoding="utf-8")
    (broken,) = own_templates.load()
    assert "bad.json ends too early" in broken.reason
    dialog = TemplatesDialog(context.theme)
    qtbot.addWidget(dialog)
    item = dialog.list.item(dialog.list.count() - 1)
    assert item.text() == "bad.json (broken)" and not item.flags() & Qt.ItemFlag.ItemIsEnabled
    assert item.toolTip() == broken.reason


def test_without_devices_it_is_said(drawing: AppContext) -> None:
    said: list[str] = []
    drawing.said.connect(said.append)
    drawing.set_selection({"d"})
    BulkCommands(drawing, None).save_template()  # type: ignore[arg-type]
    assert said == ["Select the devices that the template is to hold."]
