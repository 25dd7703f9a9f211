"""From an empty canvas to a reopened file with mouse and keys alone, in the real window and engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QSpinBox, QWidget

from gui.app import finish_start
from gui.canvas.tools.place import DEVICE_MIME
from gui.context import AppContext
from gui.window import MainWindow
from gui.workspace import Workspace
from model.files.project import load_project
from model.step.report import Finding, StepReport
from model.topology.types import LinkKind
from tests.gui.canvas.conftest import Hand

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
LEFT = Qt.MouseButton.LeftButton
ENGINE_MS = 30_000


class User:
    """What a person at the window can do: drop, drag, click, type; and what they see."""

    def __init__(self, window: MainWindow, qtbot: Any) -> None:
        assert window.workspace is not None
        self.window, self.qtbot = window, qtbot
        self.context: AppContext = window.context
        self.workspace: Workspace = window.workspace
        self.canvas = self.workspace.canvas
        self.hand = Hand(self.canvas)

    def drop(self, kind: str, x: float, y: float) -> None:
        """Drag a device from the palette to a place on the drawing."""
        data = QMimeData()
        data.setData(DEVICE_MIME, json.dumps({"kind": kind}).encode())
        at, port = self.hand.pixel((x, y)), self.canvas.viewport()
        shared = (Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(port, QDragEnterEvent(at, *shared))
        QApplication.sendEvent(port, QDragMoveEvent(at, *shared))
        QApplication.sendEvent(port, QDropEvent(QPointF(at), *shared))

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.canvas.setFocus()
        QTest.keyClick(self.canvas, key, modifiers)

    def connect(self, a: str, b: str, *, all_lanes: bool = False) -> None:
        modifiers = SHIFT if all_lanes else Qt.KeyboardModifier.NoModifier
        self.hand.drag(self.hand.at(a), self.hand.at(b), modifiers=modifiers)

    def set_number(self, name: str, value: int) -> None:
        """Type a number into the field of the job panel with this name."""
        (field,) = [
            box for box in self.workspace.job.findChildren(QSpinBox) if box.accessibleName().startswith(name)
        ]
        field.setFocus()
        field.selectAll()
        QTest.keyClicks(field, str(value))
        QTest.keyClick(field, Qt.Key.Key_Return)

    def paint(self, dimension: str, brush: int, *gpus: str) -> None:
        """Take a brush of the placement panel and sweep it over GPUs."""
        placement = self.workspace.placement
        self.click(placement.dimension.button(dimension))
        view = placement.brushes
        rect: QRect = view.visualRect(view.brushes.index(brush))
        QTest.mouseClick(view.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, rect.center() - QPoint(4, 4))
        self.hand.drag(*(self.hand.at(gpu) for gpu in gpus))

    def click(self, widget: QWidget) -> None:
        QTest.mouseClick(widget, LEFT)

    def settled(self) -> StepReport | None:
        """The report of the drawing as it is now."""
        self.qtbot.waitUntil(
            lambda: self.context.analysis is not None and not self.context.stale, timeout=ENGINE_MS
        )
        assert self.context.analysis is not None
        return self.context.analysis.report

    def ids(self) -> set[str]:
        return {device.id for device in self.context.document.document.topology.devices()}

    def findings(self) -> tuple[Finding, ...]:
        return tuple(self.workspace.findings.findings)


@pytest.fixture
def user(context: AppContext, qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    monkeypatch.setattr(QMessageBox, "exec", lambda _box: QMessageBox.StandardButton.Discard)
    window = MainWindow(context, deferred=True)
    qtbot.addWidget(window)
    window.resize(1600, 1000)
    window.show()
    finish_start(window, None)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_N, CONTROL)
    made = User(window, qtbot)
    qtbot.waitUntil(lambda: made.canvas.camera.width == made.canvas.viewport().width())
    yield made
    window.close()
    assert context.engine is not None
    context.engine.stop()


def draw_a_node(user: User) -> None:
    """Two GPUs on an NVLink switch, each with a NIC, on a leaf."""
    for kind, x, y in (
        ("gpu", -40, 40), ("gpu", 40, 40), ("nvlink-switch", 0, 160), ("nic", -40, -60), ("nic", 40, -60),
        ("leaf", 0, -180),
    ):  # fmt: skip
        user.drop(kind, x, y)
    assert user.ids() == {"gpu0", "gpu1", "nvs0", "nic0", "nic1", "leaf0"}
    user.key(Qt.Key.Key_C)
    for number in (0, 1):
        user.connect(f"gpu{number}", "nvs0", all_lanes=True)
        user.connect(f"gpu{number}", f"nic{number}")
        user.connect(f"nic{number}", "leaf0")
    user.key(Qt.Key.Key_V)


def copy_it_aside(user: User) -> None:
    """Copy the node and its leaf with their links, and drag the copy to the right."""
    user.key(Qt.Key.Key_A, CONTROL)
    user.key(Qt.Key.Key_C, CONTROL)
    user.key(Qt.Key.Key_V, CONTROL)
    assert len(user.ids()) == 12
    (leaf,) = [name for name in user.ids() if name.startswith("leaf") and name != "leaf0"]
    assert leaf == "leaf1"
    user.hand.drag(user.hand.at("leaf1"), user.hand.at("leaf1") + QPoint(260, 0))
    user.key(Qt.Key.Key_Escape)


def link_between(user: User, a: str, b: str) -> Any:
    (found,) = [
        link for link in user.context.document.document.topology.links() if {link.a, link.b} == {a, b}
    ]
    return found


def test_the_whole_way(user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = user.context.document.undo_stack
    draw_a_node(user)
    copy_it_aside(user)
    topology = user.context.document.document.topology
    kinds = sorted(link.kind for link in topology.links())
    assert kinds.count(LinkKind.NVLINK) == kinds.count(LinkKind.PCIE) == 4
    user.key(Qt.Key.Key_F)
    user.key(Qt.Key.Key_C)
    user.connect("leaf0", "leaf1")
    user.key(Qt.Key.Key_V)
    cable = link_between(user, "leaf0", "leaf1")
    assert cable.capacity_bytes_per_s == 50e9

    user.set_number("Tensor parallel", 2)
    for brush, pair in ((0, ("gpu0", "gpu1")), (1, ("gpu2", "gpu3"))):
        user.paint("tp", brush, *pair)
        user.paint("dp", brush, *pair)
    user.key(Qt.Key.Key_Escape)
    user.key(Qt.Key.Key_V)
    report = user.settled()
    assert report is not None
    assert {len(group) for group in report.placement.groups["tp"]} == {2}
    assert report.placement.conflicts == ()

    # Two NICs of 50 GB/s are offered to 50 GB/s: by model, list, finding and picture.
    link = report.fabric.link_ids.index(cable.id)
    assert report.oversubscription[2 * link : 2 * link + 2] == pytest.approx([2.0, 2.0], rel=1e-9)
    assert any("2.00×" in finding.title and cable.id in finding.links for finding in user.findings()), (
        user.findings()
    )
    over = user.window.context.theme.current.color("over")
    user.context.set_link_mode("peak")
    image = user.canvas.grab().toImage()
    assert any(
        image.pixelColor(x, y) == over for x in range(image.width()) for y in range(0, image.height(), 2)
    )
    rows = user.workspace.traffic.links.model()
    listed = [
        (
            rows.data(rows.index(row, 0), Qt.ItemDataRole.DisplayRole),
            rows.data(rows.index(row, 0), Qt.ItemDataRole.AccessibleTextRole),
        )
        for row in range(rows.rowCount())
    ]
    assert any("leaf0" in name and "leaf1" in name and "2.00×" in text for name, text in listed), listed

    # The step plays: the playhead moves, and stops where it is told to.
    playback = user.context.playback
    user.key(Qt.Key.Key_Space)
    assert playback.playing
    user.qtbot.waitUntil(lambda: playback.time_s > 0, timeout=5_000)
    user.key(Qt.Key.Key_Space)
    assert not playback.playing

    # Without the cable nobody reaches the other side.
    user.canvas.setFocus()
    context = user.context
    middle = (user.hand.at("leaf0") + user.hand.at("leaf1")) / 2
    user.hand.click(middle)
    assert context.selection == {cable.id}
    user.key(Qt.Key.Key_Delete)
    user.settled()
    unreachable = [finding for finding in user.findings() if finding.severity == "error"]
    assert unreachable, user.findings()
    named = set().union(*(finding.devices for finding in unreachable))
    assert named >= {"gpu0", "gpu2"} or named >= {"gpu0", "gpu3"}

    # Undo everything, redo everything.
    edits = stack.count()
    for _ in range(edits):
        user.key(Qt.Key.Key_Z, CONTROL)
    assert user.ids() == set()
    assert stack.index() == 0
    for _ in range(edits):
        user.key(Qt.Key.Key_Z, CONTROL | SHIFT)
    assert stack.index() == edits and len(user.ids()) == 12

    # Save, reopen: equal.
    path = tmp_path / "drawn.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    QTest.keyClick(user.window, Qt.Key.Key_S, CONTROL)
    user.qtbot.waitUntil(path.exists, timeout=5_000)
    assert load_project(path).same_as(user.context.document.document)
