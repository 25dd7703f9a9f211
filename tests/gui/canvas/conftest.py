"""A canvas of its own, without a window around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, QPoint, QPointF, QSettings, Qt, Signal
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.canvas.view import CanvasView
from gui.context import AppContext
from gui.place_template import template_edit
from model.analysis import AnalysisCache, analyse
from model.document.edits import SetJob
from model.errors import RailsketchError
from model.job.spec import apply_set
from model.topology.types import Device, DeviceKind, LinkKind
from model.traffic.route import Routing, route_between, routes_from
from model.worker.messages import AskRoute, RouteAnswer


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


class NearEngine(QObject):
    """An engine in the same process, for what a canvas asks of it; answers at once."""

    analysed = Signal(object)
    stage = Signal(str)
    busy = Signal(bool)
    failed = Signal(str)
    what_if = Signal(object)
    route = Signal(object)

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._context = context
        self._cache = AnalysisCache()
        self.running = True

    def analyse(self) -> None:
        """Work the step of the open document out."""
        document = self._context.document
        self.analysed.emit(replace(analyse(document.document, self._cache), revision=document.revision))

    def load(self, _document: object, _revision: int) -> None:
        """Nothing is kept."""

    def send(self, _edit: object, _revision: int) -> None:
        """Nothing is replayed."""

    def ask_what_if(self, _subject: str, _ids: tuple[str, ...]) -> None:
        """No answer comes."""

    def ask_route(self, source: str, target: str | None = None) -> None:
        """Answer with the way."""
        question, revision = AskRoute(source, target), self._context.document.revision
        compiled, last = self._cache.compiled, self._cache.last
        assert compiled is not None
        routing = Routing(compiled.fabric, self._context.document.document.job.routing)
        if last is not None:
            routing = replace(routing, placement=last.inputs.placement, exchanges=last.inputs.exchanges)
        try:
            found = routes_from(routing, source) if target is None else route_between(routing, source, target)
        except RailsketchError as error:
            self.route.emit(RouteAnswer(revision, question, None, str(error)))
        else:
            self.route.emit(RouteAnswer(revision, question, found))


@pytest.fixture
def engine(context: AppContext) -> NearEngine:
    made = NearEngine(context)
    context.attach_engine(made)  # type: ignore[arg-type]
    return made


@pytest.fixture
def analysed(view: CanvasView, load: Callable[..., None], engine: NearEngine) -> CanvasView:
    """Four HGX nodes with TP 4, PP 2 and DP 4, and the step on them."""
    load("hgx-h100", nodes=4)
    document = view.context.document
    job = document.document.job
    for one in ("parallel.tp=4", "parallel.pp=2", "global_batch=32"):
        job = apply_set(job, one)
    document.push(SetJob(job), "Job")
    engine.analyse()
    view.context.set_link_mode("mean")
    return view
