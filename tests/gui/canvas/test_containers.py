"""Containers by hand: dropped on what they shall hold, on nothing, around the selection; nested and moved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.canvas.containers import drop_container, put_container
from gui.canvas.view import CanvasView
from gui.panels.palette import container_mime
from model.document.edits import AddParts, Connect
from model.document.rack_edits import PlaceInRack, RackPlace, group
from model.topology.types import Container, ContainerKind, Device, DeviceKind, Link, LinkKind
from tests.gui.canvas.conftest import Hand

Put = Callable[..., str]


@pytest.fixture
def drawn(view: CanvasView) -> CanvasView:
    """A host of two GPUs, and a leaf."""
    view.context.document.push(
        AddParts(
            (
                Device("node.gpu0", DeviceKind.GPU, "h100-sxm", parent="node"),
                Device("node.gpu1", DeviceKind.GPU, "h100-sxm", parent="node"),
                Device("leaf0", DeviceKind.LEAF, "qm9700"),
            ),
            (),
            (Container("node", ContainerKind.TRAY),),
            {"node.gpu0": (0.0, 0.0), "node.gpu1": (60.0, 0.0), "leaf0": (0.0, -300.0)},
        ),
        "Draw",
    )
    view.fit()
    return view


def parents(view: CanvasView) -> dict[str, str | None]:
    topology = view.context.document.document.topology
    return {thing.id: thing.parent for thing in (*topology.containers(), *topology.devices())}


def drop(view: CanvasView, kind: str, x: float, y: float) -> None:
    at, port = view.camera.to_view(QPointF(x, y)), view.viewport()
    shared = (
        Qt.DropAction.CopyAction,
        container_mime(kind),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(port, QDragEnterEvent(at.toPoint(), *shared))
    QApplication.sendEvent(port, QDragMoveEvent(at.toPoint(), *shared))
    QApplication.sendEvent(port, QDropEvent(at, *shared))


def test_a_rack_dropped_on_a_gpu_takes_its_host(drawn: CanvasView) -> None:
    drop(drawn, "rack", 0.0, 0.0)
    assert parents(drawn)["node"] == "rack0" and parents(drawn)["node.gpu0"] == "node"
    assert drawn.context.selection == {"rack0"}
    assert drawn.context.document.undo_stack.undoText() == "Group 1 part as rack0"
    drawn.context.document.undo_stack.undo()
    assert parents(drawn)["node"] is None


def test_a_container_takes_the_selection_when_it_is_dropped_on_a_part_of_it(drawn: CanvasView) -> None:
    drawn.context.set_selection({"node", "leaf0"})
    drop(drawn, "pod", 0.0, -300.0)
    assert parents(drawn)["node"] == parents(drawn)["leaf0"] == "pod0"


def test_nests_from_the_inside_out_and_moves_as_one(drawn: CanvasView) -> None:
    for kind in (ContainerKind.RACK, ContainerKind.POD, ContainerKind.SITE):
        drop_container(drawn, kind, QPointF(0.0, 0.0))
    assert [parents(drawn)[ident] for ident in ("node.gpu0", "node", "rack0", "pod0", "site0")] == [
        "node",
        "rack0",
        "pod0",
        "site0",
        None,
    ]


def test_dropped_on_nothing_it_is_empty_and_says_what_to_do(drawn: CanvasView) -> None:
    said: list[str] = []
    drawn.context.said.connect(said.append)
    drop(drawn, "rack", 400.0, 400.0)
    assert parents(drawn)["rack0"] is None
    assert said == ["rack0 is empty: drop devices into it, or choose it as the place of others."]


def test_where_one_of_the_kind_is_an_empty_one_comes_beside_it(drawn: CanvasView) -> None:
    drop(drawn, "tray", 0.0, 0.0)
    assert parents(drawn)["tray0"] is None and parents(drawn)["node.gpu0"] == "node"


def test_what_cannot_be_is_said(drawn: CanvasView) -> None:
    said: list[str] = []
    drawn.context.said.connect(said.append)
    put_container(drawn, ContainerKind.TRAY, frozenset({"node"}))
    assert said == ['tray "node" cannot lie in tray "tray0": a tray holds devices only.']
    assert drawn.context.document.undo_stack.count() == 1


def test_the_card_of_a_cable_says_its_length(view: CanvasView, hand: Hand, put: Put) -> None:
    """Leaves at U 1 and U 21 of one rack: 20 U and half a metre."""
    for number in range(2):
        put(f"leaf{number}", DeviceKind.LEAF, 400.0 * number, 0.0)
    link = Link("new", "leaf0", "leaf1", LinkKind.INFINIBAND, 50e9)
    view.context.document.push(Connect(link), "Connect")
    view.context.document.push(
        group(view.context.document.document, ("leaf0", "leaf1"), ContainerKind.RACK, "r"), "G"
    )
    view.context.document.push(
        PlaceInRack((RackPlace("leaf0", "r", 1), RackPlace("leaf1", "r", 21))), "Place"
    )
    view.fit()
    view.grab()
    QTest.mouseMove(view.viewport(), hand.pixel((150.0, 0.0)))
    text = view.hover_card.text
    assert text is not None and "1.39 m, passive copper, 6.95 ns" in text.lines
