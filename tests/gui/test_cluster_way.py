"""A piece of work on 1,024 GPUs by mouse and keys, in the real window with the real engine.

Place a cluster from the dialog, fold its racks, find a GPU, follow its DP path to the spine, double the
spines and see the dearest links change, rename one, keep a part as a template and place that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QSpinBox

from gui.dialogs.duplicate import DuplicateDialog
from gui.dialogs.save_template import SaveTemplateDialog
from gui.dialogs.search import SearchDialog
from gui.dialogs.search_select import SelectDialog
from gui.dialogs.templates import TemplatesDialog
from model.placement.resolve import partners
from model.topology.types import DeviceKind
from tests.gui.test_bulk_way import activate, in_dialog
from tests.gui.test_whole_way import CONTROL, ENGINE_MS, SHIFT, User, user  # noqa: F401
from topology_templates.registry import use_own

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_own_templates() -> Iterator[None]:
    yield
    use_own(())


def look(person: User, name: str) -> None:
    """Keep a picture of the window where `RAILSKETCH_LOOK` names a folder, for eyes."""
    folder = os.environ.get("RAILSKETCH_LOOK")
    if folder:
        person.canvas.come_to_rest()
        person.qtbot.waitUntil(lambda: not person.canvas.busy)
        person.window.grab().save(str(Path(folder) / f"{name}.png"))


def press(person: User, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """A key at the canvas of the active window."""
    person.window.actions_.update_states()
    activate(person.window, person.qtbot)
    person.key(key, modifiers)


def type_number(field: object, value: int) -> None:
    assert isinstance(field, QSpinBox)
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, str(value))


def count(person: User, kind: DeviceKind) -> int:
    return sum(device.kind is kind for device in person.context.document.document.topology.devices())


def place_a_cluster(person: User) -> None:
    """128 hosts, four on each leaf, whose 32 ports down have 4 up, from the template dialog."""

    def fill(dialog: TemplatesDialog) -> None:
        item = dialog.rows["hgx-h100"]
        dialog.list.scrollToItem(item)
        at = dialog.list.visualItemRect(item).center()
        QTest.mouseClick(dialog.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
        type_number(dialog.form.fields["nodes"], 128)
        type_number(dialog.form.fields["leaf_uplinks"], 4)
        fabric = dialog.form.fields["fabric"]
        fabric.setFocus()
        QTest.keyClicks(fabric, "tor")
        assert "1,024 GPU" in dialog.counts.text()
        QTest.keyClick(dialog.form.fields["leaf_uplinks"], Qt.Key.Key_Return)

    in_dialog(TemplatesDialog, fill, lambda: press(person, Qt.Key.Key_T, CONTROL))
    assert count(person, DeviceKind.GPU) == 1024 and count(person, DeviceKind.SPINE) == 2
    person.settled()
    look(person, "way1-placed")


def fold_and_open(person: User) -> None:
    """All racks become one box each, and open again."""
    press(person, Qt.Key.Key_F)
    fold = person.window.actions_["view.fold_racks"]
    fold.trigger()
    document = person.context.document.document
    racks = {box.id for box in document.topology.containers() if box.kind == "rack"}
    assert document.view.folds == racks and len(racks) == 32
    look(person, "way2-folded")
    person.window.actions_["view.unfold_all"].trigger()
    assert not document.view.folds
    assert person.context.document.undo_stack.count() == 1, "folds are no undo steps"


def find_a_gpu(person: User) -> None:
    def find(dialog: SearchDialog) -> None:
        QTest.keyClicks(dialog.field, "node100.gpu5")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    in_dialog(SearchDialog, find, lambda: press(person, Qt.Key.Key_F, CONTROL))
    assert person.context.selection == {"node100.gpu5"}
    at = person.hand.at("node100.gpu5")
    assert person.canvas.viewport().rect().contains(at), "it was brought into view"


def follow_dp_to_the_spine(person: User) -> None:
    """The GPU's partners by keys; then the route to the DP partner on another leaf leads over spines."""
    press(person, Qt.Key.Key_P, SHIFT)
    card = person.canvas.overlay.focus_card
    person.qtbot.waitUntil(lambda: person.canvas.focus.route is not None, timeout=ENGINE_MS)
    person.qtbot.waitUntil(lambda: card.tree.topLevelItemCount() > 0, timeout=ENGINE_MS)
    look(person, "way3-paths")
    report = person.settled()
    route = person.canvas.focus.route
    assert report is not None and route is not None
    beside = partners(report.placement, "node100.gpu5")
    assert len(beside["dp"]) == 1023 and not beside.get("tp"), "the default job trains a replica on each GPU"
    away = {one.device: one for one in route.partners if not one.device.startswith("node100.")}
    assert set(away) <= set(beside["dp"])
    partner = next(name for name, one in away.items() if one.received_bytes > 0)
    press(person, Qt.Key.Key_Escape)

    def second(dialog: SearchDialog) -> None:
        QTest.keyClicks(dialog.field, partner)
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    in_dialog(SearchDialog, second, lambda: press(person, Qt.Key.Key_F, CONTROL))
    press(person, Qt.Key.Key_F)
    person.context.set_selection((partner,))
    person.context.set_selection((partner, "node100.gpu5"))
    press(person, Qt.Key.Key_P, SHIFT)
    person.qtbot.waitUntil(lambda: person.canvas.focus.way is not None, timeout=ENGINE_MS)
    way = person.canvas.focus.way
    assert way is not None
    ends = [end for hop in way.hops for end in (hop.source, hop.target)]
    spines = {end for end in ends if end.startswith("spine")}
    assert spines == {"spine0", "spine1"}, ends
    assert any(kind.startswith("dp.") for kind in way.exchanges), "what DP sends goes this way"
    look(person, "way4-route")
    press(person, Qt.Key.Key_Escape)
    assert person.context.focus == ()


def dearest(person: User) -> tuple[str, str]:
    """Name and figures of the first line of the traffic panel."""
    rows = person.workspace.traffic.links.model()
    first = rows.index(0, 0)
    name = rows.data(first, Qt.ItemDataRole.DisplayRole)
    return str(name), str(rows.data(first, Qt.ItemDataRole.AccessibleTextRole))


def double_the_spines(person: User) -> None:
    """Select all spines by kind, copy them once with their links."""

    def spines(dialog: SelectDialog) -> None:
        QTest.keyClicks(dialog.field, "spine")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    in_dialog(SelectDialog, spines, lambda: press(person, Qt.Key.Key_F, CONTROL | SHIFT))
    assert person.context.selection == {f"spine{number}" for number in range(2)}

    def once(dialog: DuplicateDialog) -> None:
        type_number(dialog.copies, 1)
        assert dialog.wired.isChecked()
        QTest.keyClick(dialog.copies, Qt.Key.Key_Return)

    in_dialog(DuplicateDialog, once, lambda: press(person, Qt.Key.Key_D, CONTROL | SHIFT))
    topology = person.context.document.document.topology
    assert count(person, DeviceKind.SPINE) == 4
    for number in range(2):
        old, new = (topology.links_of(f"spine{each}") for each in (number, number + 2))
        assert sorted(link.other(f"spine{number}") for link in old) == sorted(
            link.other(f"spine{number + 2}") for link in new
        ), "a copy hangs on the same leaves"


def rename(person: User) -> None:
    press(person, Qt.Key.Key_Escape)

    def find(dialog: SearchDialog) -> None:
        QTest.keyClicks(dialog.field, "spine3")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return)

    in_dialog(SearchDialog, find, lambda: press(person, Qt.Key.Key_F, CONTROL))
    field = person.workspace.inspector.name
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "spine-new")
    QTest.keyClick(field, Qt.Key.Key_Return)
    topology = person.context.document.document.topology
    assert topology.has_device("spine-new") and not topology.has_device("spine3")


def keep_and_place(person: User) -> None:
    """Two hosts become a template, which is placed beside the cluster."""
    person.context.set_selection(("node000", "node001"))
    person.window.actions_.update_states()

    def keep(dialog: SaveTemplateDialog) -> None:
        QTest.keyClicks(dialog.name, "My host")
        QTest.keyClick(dialog.name, Qt.Key.Key_Return)

    in_dialog(SaveTemplateDialog, keep, person.window.actions_["file.save_template"].trigger)
    before = count(person, DeviceKind.GPU)

    def place(dialog: TemplatesDialog) -> None:
        item = dialog.rows["own:my-host"]
        dialog.list.scrollToItem(item)
        at = dialog.list.visualItemRect(item).center()
        QTest.mouseClick(dialog.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
        QTest.keyClick(dialog.list, Qt.Key.Key_Return)

    in_dialog(TemplatesDialog, place, lambda: press(person, Qt.Key.Key_T, CONTROL))
    assert count(person, DeviceKind.GPU) == before + 16


def test_a_piece_of_work_on_a_cluster(user: User) -> None:  # noqa: F811
    place_a_cluster(user)
    fold_and_open(user)
    report = user.settled()
    assert report is not None
    find_a_gpu(user)
    follow_dp_to_the_spine(user)

    name, figures = dearest(user)
    assert "leaf" in name and "spine" in name, (name, figures)
    cost = report.worst_link()
    double_the_spines(user)
    doubled = user.settled()
    assert doubled is not None
    assert dearest(user) != (name, figures), "the dearest link is another, or costs less"
    assert doubled.totals.time_s < report.totals.time_s
    assert doubled.worst_link() != cost
    look(user, "way5-doubled")

    rename(user)
    keep_and_place(user)
    user.settled()
    look(user, "way6-own-template")
    stack = user.context.document.undo_stack
    while stack.canUndo():
        press(user, Qt.Key.Key_Z, CONTROL)
    assert user.ids() == set()
