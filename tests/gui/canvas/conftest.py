"""A canvas of its own, without a window around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, QSettings, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.canvas.view import CanvasView
from gui.context import AppContext
from gui.place_template import template_edit
from model.topology.types import Device, DeviceKind, LinkKind


@pytest.fixture
def context(qtbot: QtBot, tmp_path: object) -> Iterator[AppContext]:
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path))
    made = AppContext()
    made.theme.set_choice("light")
    made.theme.apply()
    yield made
    made.playback.pause()


@pytest.fixture
def view(qtbot: QtBot, context: AppContext) -> CanvasView:
    canvas = CanvasView(context)
    qtbot.addWidget(canvas)
    canvas.resize(1000, 700)
    with qtbot.waitExposed(canvas):
        canvas.show()
    return canvas


@pytest.fixture
def load(view: CanvasView) -> Callable[..., None]:
    """Put a template on the empty drawing and fit it."""

    def run(template: str, **parameters: object) -> None:
        edit, text = template_edit(view.context.document.document, template, parameters)  # type: ignore[arg-type]
        view.context.document.push(edit, text)
        view.fit()
        view.grab()

    return run


class Hand:
    """A mouse on the viewport that knows devices by name."""

    def __init__(self, view: CanvasView) -> None:
        self.view = view
        self.port = view.viewport()

    def pixel(self, scene: tuple[float, float]) -> QPoint:
        return self.view.camera.to_view(QPointF(*scene)).toPoint()

    def at(self, device: str, dx: float = 0.0, dy: float = 0.0) -> QPoint:
        """The middle of a device, moved by scene units."""
        x, y = self.view.context.document.document.layout[device]
        return self.pixel((x + dx, y + dy))

    def click(self, at: QPoint, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.mouseClick(self.port, Qt.MouseButton.LeftButton, modifiers, at)

    def drag(
        self,
        start: QPoint,
        *way: QPoint,
        modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
        button: Qt.MouseButton = Qt.MouseButton.LeftButton,
        release: bool = True,
    ) -> None:
        """Press, move in steps through every point, release at the last."""
        QTest.mousePress(self.port, button, modifiers, start)
        last = start
        for point in way:
            for step in range(1, 5):
                QTest.mouseMove(self.port, last + (point - last) * (step / 4))
            last = point
        if release:
            QTest.mouseRelease(self.port, button, modifiers, last)


@pytest.fixture
def hand(view: CanvasView) -> Hand:
    return Hand(view)


@pytest.fixture
def put(view: CanvasView) -> Callable[..., str]:
    """Add one device straight to the document."""
    from model.document.edits import AddParts

    def run(name: str, kind: DeviceKind, x: float, y: float, model: str = "", rail: int | None = None) -> str:
        from model.catalog import catalog

        device = Device(name, kind, model or catalog().models_of(kind)[0], rail=rail)
        view.context.document.push(AddParts(devices=(device,), positions={name: (x, y)}), f"Add {name}")
        return name

    return run


def link_kinds(view: CanvasView) -> list[LinkKind]:
    return [link.kind for link in view.context.document.document.topology.links()]
