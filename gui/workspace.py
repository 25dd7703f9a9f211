"""The canvas and the docks around it. Importing this module brings the heavy imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QByteArray, QEvent, QObject, QPointF, QSettings, QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QMainWindow,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.canvas.containers import put_container
from gui.canvas.tools.place import Placing, put_down
from gui.canvas.view import CanvasView
from gui.panels.findings import FindingsPanel
from gui.panels.inspector import InspectorPanel
from gui.panels.job import JobPanel
from gui.panels.memory import MemoryPanel
from gui.panels.outline import WIDTH as OUTLINE_WIDTH
from gui.panels.outline import OutlinePanel
from gui.panels.palette import PalettePanel
from gui.panels.placement import PlacementPanel
from gui.panels.rack_elevation import WIDTH as RACKS_WIDTH
from gui.panels.rack_elevation import RackElevationPanel
from gui.panels.status import StatusPanel
from gui.panels.templates import TemplatesPanel
from gui.panels.timeline import TimelinePanel
from gui.panels.traffic import TrafficPanel
from gui.widgets.style import separator
from model.topology.footprint import FOOTPRINT, GRID
from model.topology.types import ContainerKind

if TYPE_CHECKING:
    from gui.context import AppContext

LEFT_WIDTH = 226
RIGHT_WIDTH = 348
BOTTOM_HEIGHT = 214
FINDINGS_WIDTH = 380
WIDE_ENOUGH = 1500
STATE_VERSION = 4
CLOSED_AT_FIRST = ("outline", "racks")


class _Column(QScrollArea):
    """Panels one below the other; scrolls up and down, never sideways."""

    def __init__(self, name: str, panels: tuple[QWidget, ...]) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(name)
        inner = QWidget()
        inner.setProperty("role", "panel")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for number, panel in enumerate(panels):
            if number:
                column.addWidget(separator())
            column.addWidget(panel)
        column.addStretch(1)
        self.setWidget(inner)

    def minimumSizeHint(self) -> QSize:
        return QSize(180, 80)


class _Resized(QObject):
    """Says when a window has another size, once it is laid out."""

    def __init__(self, window: QMainWindow, run: Callable[[], None]) -> None:
        super().__init__(window)
        self._run = run
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            QTimer.singleShot(0, self, self._run)
        return False


class Workspace:
    """The views of a drawing, put into the docks of a window."""

    def __init__(self, context: AppContext, window: QMainWindow) -> None:
        self._context = context
        self._window = window
        self.canvas = CanvasView(context)
        self.palette = PalettePanel(context)
        self.templates = TemplatesPanel(context)
        self.inspector = InspectorPanel(context)
        self.job = JobPanel(context)
        self.placement = PlacementPanel(context)
        self.traffic = TrafficPanel(context)
        self.memory = MemoryPanel(context)
        self.timeline = TimelinePanel(context)
        self.findings = FindingsPanel(context)
        self.status = StatusPanel(context)
        self.palette.filtered.connect(self.templates.filter)
        self.palette.container_requested.connect(self.add_container)
        left, bottom = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
        right = Qt.DockWidgetArea.RightDockWidgetArea
        for corner, area in (
            (Qt.Corner.BottomLeftCorner, left),
            (Qt.Corner.BottomRightCorner, right),
        ):
            window.setCorner(corner, area)
        self.left = self._dock("devices", "Devices and properties", left, self._left_column())
        column = _Column("Job and traffic", (self.job, self.placement, self.traffic, self.memory))
        self.racks = RackElevationPanel(context)
        self.racks_dock = self._dock("racks", "Rack elevation", right, self.racks)
        self.right = self._dock("job", "Job, placement, traffic, memory", right, column)
        window.splitDockWidget(self.racks_dock, self.right, Qt.Orientation.Horizontal)
        self.bottom = self._dock("step", "Step", bottom, self.timeline)
        self.findings_dock = self._dock("findings", "Findings", bottom, self.findings)
        window.splitDockWidget(self.bottom, self.findings_dock, Qt.Orientation.Horizontal)
        self.outline = OutlinePanel(context)
        self.outline_dock = self._dock("outline", "Outline", left, self.outline)
        window.splitDockWidget(self.left, self.outline_dock, Qt.Orientation.Horizontal)
        self.docks = (
            self.left,
            self.right,
            self.bottom,
            self.findings_dock,
            self.outline_dock,
            self.racks_dock,
        )
        bar = window.statusBar()
        bar.setSizeGripEnabled(False)
        bar.addWidget(self.status, 1)
        bar.setContentsMargins(0, 0, 0, 0)
        self._size_docks()
        self._closed = set(CLOSED_AT_FIRST)
        self._sides = (LEFT_WIDTH, RIGHT_WIDTH)
        self._state: QByteArray | None = None
        self._shown = False
        for dock in self.docks:
            dock.toggleViewAction().triggered.connect(self._dock_toggled)
        self.outline_dock.toggleViewAction().triggered.connect(lambda _open: self._keep_widths())
        context.selection_changed.connect(self._show_lower)
        _Resized(window, self._narrowed)

    def _left_column(self) -> QWidget:
        holder = QWidget()
        holder.setProperty("role", "panel")
        holder.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.palette.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        column.addWidget(self.palette)
        column.addWidget(separator())
        # The templates begin a drawing and the properties go on with it: they take turns in one place.
        self.lower = QStackedWidget()
        self.lower.addWidget(_Column("Templates", (self.templates,)))
        self.lower.addWidget(_Column("Properties", (self.inspector,)))
        column.addWidget(self.lower, 1)
        return holder

    def _dock(self, name: str, title: str, area: Qt.DockWidgetArea, content: QWidget) -> QDockWidget:
        dock = QDockWidget(title, self._window)
        dock.setObjectName(name)
        dock.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        dock.setTitleBarWidget(QWidget())
        dock.setWidget(content)
        self._window.addDockWidget(area, dock)
        return dock

    def _size_docks(self) -> None:
        horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        self._window.resizeDocks([self.left, self.right], [LEFT_WIDTH, RIGHT_WIDTH], horizontal)
        self._window.resizeDocks([self.bottom], [BOTTOM_HEIGHT], vertical)
        room = self._window.width() - LEFT_WIDTH - RIGHT_WIDTH
        findings = min(FINDINGS_WIDTH, max(260, room // 3))
        self._window.resizeDocks([self.bottom, self.findings_dock], [room - findings, findings], horizontal)

    def _show_lower(self) -> None:
        self.lower.setCurrentIndex(1 if self._context.selection else 0)

    def set_shown(self, shown: bool) -> None:
        """Show or hide all docks and the status bar; a dock that the user closed stays closed."""
        if shown:
            self._show_docks()
        elif self._shown:
            self._state = self._window.saveState(STATE_VERSION)
        self._shown = shown
        if not shown:
            for dock in self.docks:
                dock.hide()
        self._window.statusBar().setVisible(shown)

    def _show_docks(self) -> None:
        for dock in self.docks:
            if dock.objectName() not in self._closed:
                dock.show()
        if self._state is None or not self._window.restoreState(self._state, STATE_VERSION):
            self._size_docks()
        for dock in self.docks:
            dock.setVisible(dock.objectName() not in self._closed)
        self._soon(self._narrowed)  # what is kept may be of a wider window

    def _dock_toggled(self, _open: bool) -> None:
        self._closed = {dock.objectName() for dock in self.docks if not dock.toggleViewAction().isChecked()}

    def _keep_widths(self) -> None:
        """What comes or goes takes its room from the canvas: the columns at the sides keep their widths, and
        get back what a narrow window took from them.
        """
        sides = (self.left, self.right)
        beside = {self.outline_dock: OUTLINE_WIDTH, self.racks_dock: RACKS_WIDTH}
        if self._window.tabifiedDockWidgets(self.racks_dock):
            del beside[self.racks_dock]
        shown = {dock: width for dock, width in beside.items() if dock.isVisible()}
        widths = self._sides
        if not shown:
            widths = (max(self.left.width(), widths[0]), max(self.right.width(), widths[1]))
        self._window.resizeDocks([*sides, *shown], [*widths, *shown.values()], Qt.Orientation.Horizontal)

    def _give_room_back(self) -> None:
        """The columns at the sides get the widths that they had with the racks beside them."""
        sides = [self.left, self.right]
        self._window.resizeDocks(sides, list(self._sides), Qt.Orientation.Horizontal)

    def _soon(self, run: Callable[[], None]) -> None:
        """Not before the window has laid out what came or went: it would share the room out anew."""
        QTimer.singleShot(0, self._window, run)

    def show_outline(self) -> None:
        """Show the outline and go to it; when it has the focus, hide it."""
        if self.outline_dock.isVisible() and self.outline.tree.hasFocus():
            self.outline_dock.hide()
            self._keep_widths()
            self.canvas.setFocus()
        else:
            if not self.outline_dock.isVisible():
                self._sides = (self.left.width(), self.right.width())
                self.outline_dock.show()
                self._keep_widths()
            self.outline.tree.setFocus()
        self._dock_toggled(True)

    def _place_racks(self) -> None:
        """Beside the job column where the window is wide enough, else as a tab on it."""
        if self._window.width() >= WIDE_ENOUGH:
            if not self.racks_dock.isVisible():
                self._sides = (self.left.width(), self.right.width())
            self._window.splitDockWidget(self.racks_dock, self.right, Qt.Orientation.Horizontal)
            self.racks_dock.show()
            self._soon(self._keep_widths)
        else:
            self._window.tabifyDockWidget(self.right, self.racks_dock)
            self.racks_dock.show()
            self.racks_dock.raise_()

    def _narrowed(self) -> None:
        """Racks beside the job column become a tab on it once there is no room for both."""
        beside = self.racks_dock.isVisible() and not self._window.tabifiedDockWidgets(self.racks_dock)
        if beside and self._window.width() < WIDE_ENOUGH:
            self._place_racks()
            self._soon(self._keep_widths)

    def show_racks(self) -> None:
        """Show the rack elevation and go to it; when it has the focus, hide it."""
        if self.racks_dock.isVisible() and self.racks.has_focus():
            self._sides = (self.left.width(), self.right.width())
            self.racks_dock.hide()
            self._soon(self._give_room_back)
            self.canvas.setFocus()
        else:
            self._place_racks()
            self.racks.take_focus()
        self._dock_toggled(True)

    def insert(self, kind: str, model: str, count: int) -> None:
        """Add devices in the middle of the view."""
        placing = Placing.of(kind, model, count)
        if placing is None:
            return
        middle = self.canvas.camera.to_scene(QPointF(self.canvas.viewport().rect().center()))
        width, height = FOOTPRINT[placing.kind]
        taken = self._context.document.document.layout.values()
        while any(
            abs(x - other_x) < width and abs(y - other_y) < height + GRID
            for x, y in placing.centres(middle.x(), middle.y())
            for other_x, other_y in taken
        ):
            middle.setY(middle.y() + GRID)
        put_down(self.canvas, placing, middle)

    def add_container(self, kind: str) -> None:
        """Put a container around the selection; without one an empty container."""
        topology = self._context.document.document.topology
        chosen = frozenset(ident for ident in self._context.selection if not topology.has_link(ident))
        put_container(self.canvas, ContainerKind(kind), chosen)

    def keep(self, stored: QSettings) -> None:
        """Write down which docks are open and how large they are."""
        state = self._window.saveState(STATE_VERSION) if self._shown else self._state
        if state is not None:
            stored.setValue("window/docks", state)
        stored.setValue("window/closed", sorted(self._closed))

    def restore(self, stored: QSettings) -> None:
        """Take the docks of an earlier run, once they are shown."""
        state = stored.value("window/docks")
        self._state = state if isinstance(state, QByteArray) else None
        closed = stored.value("window/closed", list(CLOSED_AT_FIRST))
        self._closed = {closed} if isinstance(closed, str) else set(cast(list[str], closed or []))
