"""Place: put devices on the drawing, by click or dropped from the palette."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from gui.canvas.hit import tray_at
from gui.canvas.naming import device_names, free_rails
from gui.canvas.tools.base import Pointer, Tool
from model.catalog import catalog
from model.document.document import Document
from model.document.edits import AddParts
from model.document.rack_edits import standing
from model.errors import RailsketchError
from model.text import plural
from model.topology.footprint import FOOTPRINT, GRID
from model.topology.types import ContainerKind, Device, DeviceKind

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

DEVICE_MIME = "application/x-railsketch-device"
TEMPLATE_MIME = "application/x-railsketch-template"
MOST_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class Placing:
    """What is to be placed."""

    kind: DeviceKind
    model: str
    count: int = 1

    @classmethod
    def of(cls, kind: str, model: str, count: int = 1) -> Placing | None:
        """None for a kind that is no device, or a model that the catalogue does not have."""
        try:
            known = DeviceKind(kind)
            chosen = model or catalog().models_of(kind)[0]
            catalog().device(kind, chosen)
        except (ValueError, RailsketchError):
            return None
        return cls(known, chosen, max(1, min(int(count), MOST_AT_ONCE)))

    @classmethod
    def from_mime(cls, data: QMimeData) -> Placing | None:
        """What a drag from the palette carries; None when it is not understood."""
        try:
            wanted = json.loads(bytes(data.data(DEVICE_MIME).data()).decode())
            return cls.of(str(wanted["kind"]), str(wanted.get("model") or ""), int(wanted.get("count", 1)))
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def centres(self, x: float, y: float) -> list[tuple[float, float]]:
        """A row of devices on the grid that starts at a point."""
        pitch = GRID * -(-(FOOTPRINT[self.kind][0] + 4) // GRID)
        x, y = round(x / GRID) * GRID, round(y / GRID) * GRID
        return [(x + pitch * number, y) for number in range(self.count)]


def placed(document: Document, placing: Placing, x: float, y: float, container: str | None) -> AddParts:
    """The edit that puts devices at a point in scene units, into a container where one is given: in a rack
    at the lowest free U."""
    names = device_names(document.topology, placing.kind, placing.count, container)
    rails = free_rails(document.topology, placing.kind, placing.count, container)
    devices = tuple(
        Device(name, placing.kind, placing.model, parent=container, rail=rail)
        for name, rail in zip(names, rails, strict=True)
    )
    if container is not None and document.topology.container(container).kind is ContainerKind.RACK:
        devices = standing(document.topology, devices, container)
    return AddParts(devices=devices, positions=dict(zip(names, placing.centres(x, y), strict=True)))


def put_down(view: CanvasView, placing: Placing, scene: QPointF) -> None:
    """Place as one undo step and select what came."""
    container = tray_at(view.painter, scene.x(), scene.y())
    edit = placed(view.context.document.document, placing, scene.x(), scene.y(), container)
    names = [device.id for device in edit.devices]
    what = names[0] if len(names) == 1 else plural(len(names), "device")
    try:
        view.context.document.push(edit, f"Add {what}")
    except RailsketchError as refused:
        view.context.say(str(refused))
        return
    view.context.set_selection(names)


class PlaceTool(Tool):
    """Click puts down `context.place_kind`; a ghost shows where."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._at: QPointF | None = None

    def move(self, at: Pointer) -> None:
        self.show_at(at.scene)

    def release(self, at: Pointer) -> None:
        placing = self.placing()
        if placing is None:
            self.context.say("Choose a device in the palette first.")
            return
        put_down(self.view, placing, at.scene)

    def placing(self) -> Placing | None:
        """What the palette has chosen."""
        context = self.context
        return Placing.of(context.place_kind, context.place_model, context.place_count)

    def show_at(self, scene: QPointF | None) -> None:
        """Move the ghost, or take it away."""
        self._at = scene
        self.view.refresh()

    def cancel(self) -> None:
        self.show_at(None)

    def paint(self, painter: QPainter) -> None:
        placing = self.placing()
        if self._at is not None and placing is not None:
            paint_ghost(self.view, painter, placing, self._at)


def paint_ghost(view: CanvasView, painter: QPainter, placing: Placing, scene: QPointF) -> None:
    """Dashed boxes where devices would come to stand, with the icon of their kind."""
    camera, theme = view.camera, view.theme
    width, height = (side * camera.zoom for side in FOOTPRINT[placing.kind])
    soft = theme.color("accent-soft")
    soft.setAlphaF(0.6)
    for x, y in placing.centres(scene.x(), scene.y()):
        centre = camera.to_view(QPointF(x, y))
        painter.setBrush(soft)
        painter.setPen(QPen(theme.color("accent"), 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(centre.x() - width / 2, centre.y() - height / 2, width, height), 5, 5)
        size = int(min(18.0, width - 4, height - 4))
        if size >= 8:
            icon = theme.device_icon(placing.kind, size, camera.ratio)
            painter.drawPixmap(centre - QPointF(size / 2, size / 2), icon)
