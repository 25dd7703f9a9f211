"""The left column: devices to drag onto the drawing, their model and number, and the templates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QMimeData, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QDrag, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.panels.facts import KIND_NAMES, facts
from gui.widgets.elided import ElidedLabel
from gui.widgets.fields import ChoiceField, NumberField
from gui.widgets.flow import FlowLayout
from gui.widgets.search import SearchField
from gui.widgets.section import PADDING, SectionHeader
from gui.widgets.style import label, set_font
from model.catalog import catalog
from model.topology.types import ContainerKind, DeviceKind

if TYPE_CHECKING:
    from gui.context import AppContext

DEVICE_MIME = "application/x-railsketch-device"
MOST_COPIES = 64
TILE_HEIGHT = 54
CONTAINER_HEIGHT = 42
CONTAINER_MIME = "application/x-railsketch-container"

PALETTE = (
    DeviceKind.GPU,
    DeviceKind.NVLINK_SWITCH,
    DeviceKind.NIC,
    DeviceKind.LEAF,
    DeviceKind.SPINE,
    DeviceKind.CORE,
    DeviceKind.CPU,
    DeviceKind.PCIE_SWITCH,
    DeviceKind.STORAGE,
    DeviceKind.SITE_GATEWAY,
)
CONTAINERS = tuple(ContainerKind)
_SHORT_NAMES = {"nvlink-switch": "NVLink sw."}


def device_mime(kind: str, model: str, count: int) -> QMimeData:
    """What a dragged palette tile carries."""
    data = QMimeData()
    text = json.dumps({"kind": kind, "model": model, "count": count})
    data.setData(DEVICE_MIME, QByteArray(text.encode()))
    return data


def container_mime(kind: str) -> QMimeData:
    """What a dragged tile of a container carries."""
    data = QMimeData()
    data.setData(CONTAINER_MIME, QByteArray(kind.encode()))
    return data


class PaletteTile(QToolButton):
    """A kind of device or container: click to choose it, drag it, or Enter to add it."""

    dragged = Signal()
    insert_requested = Signal()

    def __init__(
        self, context: AppContext, kind: DeviceKind | ContainerKind, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._context = context
        self.kind = kind
        device = isinstance(kind, DeviceKind)
        self._pressed_at: QPoint | None = None
        self.setProperty("role", "tile")
        self.setText(_SHORT_NAMES.get(kind, KIND_NAMES[kind]))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        self.setIconSize(QSize(22, 22))
        self.setCheckable(device)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(TILE_HEIGHT if device else CONTAINER_HEIGHT)
        self.setAccessibleName(KIND_NAMES[kind])
        how = "drag onto the drawing, or click and then click there"
        if device:
            self.setAccessibleDescription("Drag it onto the drawing, or press Enter to add it")
        else:
            self.setAccessibleDescription("Drag it onto what it shall hold, or press Enter for the selection")
            how = "drag it onto what it shall hold, or click to put it around the selection"
        self.setToolTip(f"{KIND_NAMES[kind]}: {how}")
        set_font(self, 10, 500)
        self.update_icon()

    def update_icon(self) -> None:
        """Draw the icon in the kind's hue of the theme."""
        self.setIcon(self._context.theme.current.device_icon(self.kind, 22, 2.0))

    def sizeHint(self) -> QSize:
        return QSize(60, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed_at = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        start = self._pressed_at
        if start is not None and event.buttons() & Qt.MouseButton.LeftButton:
            moved = (event.position().toPoint() - start).manhattanLength()
            if moved >= QApplication.startDragDistance():
                self._pressed_at = None
                self.setDown(False)
                self.dragged.emit()
                return
        super().mouseMoveEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.isCheckable():  # a container came with the first click
            self.insert_requested.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.insert_requested.emit()
        else:
            super().keyPressEvent(event)


class PalettePanel(QWidget):
    """Device tiles with a filter, the model of the chosen kind with its facts, and the number of copies."""

    insert_requested = Signal(str, str, int)
    container_requested = Signal(str)
    filtered = Signal(str)

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._models: dict[str, str] = {}
        self.containers: dict[str, PaletteTile] = {}
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName("Devices")
        column = QVBoxLayout(self)
        column.setContentsMargins(PADDING, 6, PADDING, 8)
        column.setSpacing(6)
        column.addWidget(SectionHeader("Devices"))
        self.search = SearchField(context.theme, "Filter devices and templates")
        self.search.searched.connect(self._filter)
        column.addWidget(self.search)
        grid = QWidget()
        self._flow = FlowLayout(grid, spacing=6, columns=3)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        grid.setSizePolicy(policy)
        self.tiles: dict[str, PaletteTile] = {}
        group = QButtonGroup(self)
        for kind in PALETTE:
            tile = PaletteTile(context, kind)
            tile.clicked.connect(lambda _checked, chosen=kind: self._arm(chosen))
            tile.dragged.connect(lambda chosen=kind: self._drag(chosen))
            tile.insert_requested.connect(lambda chosen=kind: self._insert(chosen))
            group.addButton(tile)
            self._flow.addWidget(tile)
            self.tiles[kind] = tile
        column.addWidget(grid)
        column.addWidget(self._model_box())
        column.addLayout(self._copies_row())
        column.addWidget(self._containers())
        context.theme.changed.connect(self._theme_changed)
        context.place_changed.connect(self._show_place)
        self.choose(DeviceKind.GPU)

    def _model_box(self) -> QWidget:
        box = QFrame()
        box.setProperty("role", "raised")
        inner = QVBoxLayout(box)
        inner.setContentsMargins(8, 5, 8, 6)
        inner.setSpacing(2)
        self._kind = label("", 10, 400, "2")
        self.model = ChoiceField("Model")
        self.model.committed.connect(self._model_chosen)
        self._facts = ElidedLabel("", 10, 400, "2")
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self._kind)
        row.addWidget(self.model, 1)
        inner.addLayout(row)
        inner.addWidget(self._facts)
        return box

    def _containers(self) -> QWidget:
        """Trays, racks, pods and sites, in one line of smaller tiles."""
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        for kind in CONTAINERS:
            tile = PaletteTile(self._context, kind)
            tile.setIconSize(QSize(16, 16))
            tile.clicked.connect(lambda _checked, chosen=kind: self.container_requested.emit(chosen))
            tile.dragged.connect(lambda chosen=kind: self._drag_container(chosen))
            tile.insert_requested.connect(lambda chosen=kind: self.container_requested.emit(chosen))
            row.addWidget(tile)
            self.containers[kind] = tile
        return box

    def _copies_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        title = label("Copies", 11, 400, "2")
        self.copies = NumberField(1, MOST_COPIES, "Copies to place at once")
        self.copies.setFixedWidth(58)
        self.copies.committed.connect(lambda _count: self._set_place())
        title.setBuddy(self.copies)
        row.addWidget(title)
        row.addWidget(self.copies)
        row.addWidget(label("drag to place", 11, 400, "3"))
        row.addStretch(1)
        return row

    @property
    def kind(self) -> str:
        """The chosen kind of device."""
        return self._context.place_kind

    def choose(self, kind: str) -> None:
        """Choose a kind of device and show its models."""
        self._models.setdefault(kind, catalog().default_model(kind))
        self._set_place(kind)
        self._show_place()

    def _show_place(self) -> None:
        kind, model = self._context.place_kind, self._context.place_model
        products = catalog().of_kind(kind)
        self._models[kind] = model
        self.tiles[kind].setChecked(True)
        self._kind.setText(_SHORT_NAMES.get(kind, KIND_NAMES[kind]))
        self.model.set_options([(ident, spec.name) for ident, spec in products.items()])
        self.model.set_value(model)
        self.model.setToolTip(products[model].name)
        self._facts.setText(facts(products[model]))
        self.copies.set_value(self._context.place_count)

    def _set_place(self, kind: str | None = None) -> None:
        kind = kind or self.kind
        self._context.set_place(kind, self._models[kind], self.copies.value())

    def _model_chosen(self, model: str) -> None:
        self._models[self.kind] = model
        self._set_place()

    def _arm(self, kind: str) -> None:
        self.choose(kind)
        self._context.set_tool("place")

    def _insert(self, kind: str) -> None:
        self.choose(kind)
        self._context.set_tool("select")
        self.insert_requested.emit(kind, self._models[kind], self.copies.value())

    def _drag(self, kind: str) -> None:
        self.choose(kind)
        drag = QDrag(self)
        drag.setMimeData(device_mime(kind, self._models[kind], self.copies.value()))
        icon = self._context.theme.current.device_icon(kind, 32, self.devicePixelRatioF())
        drag.setPixmap(icon)
        drag.setHotSpot(QPoint(16, 16))
        drag.exec(Qt.DropAction.CopyAction)

    def _drag_container(self, kind: str) -> None:
        drag = QDrag(self)
        drag.setMimeData(container_mime(kind))
        icon = self._context.theme.current.device_icon(kind, 32, self.devicePixelRatioF())
        drag.setPixmap(icon)
        drag.setHotSpot(QPoint(16, 16))
        drag.exec(Qt.DropAction.CopyAction)

    def _filter(self, text: str) -> None:
        wanted = text.casefold()
        for kind, tile in self.tiles.items():
            names = [KIND_NAMES[kind], *(spec.name for spec in catalog().of_kind(kind).values())]
            tile.setVisible(any(wanted in name.casefold() for name in names))
        for kind, tile in self.containers.items():
            tile.setVisible(wanted in KIND_NAMES[kind].casefold())
        self._flow.invalidate()
        self.filtered.emit(text)

    def _theme_changed(self) -> None:
        for tile in (*self.tiles.values(), *self.containers.values()):
            tile.update_icon()
