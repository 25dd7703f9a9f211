"""Drops from the palette and the gallery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMimeData, QPointF
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent

from gui.canvas.containers import CONTAINER_MIME, container_kind, drop_container
from gui.canvas.tools.place import DEVICE_MIME, TEMPLATE_MIME, Placing, put_down

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView


class Drops:
    """Shows a ghost while something is dragged over the view, and places it when it is dropped."""

    def __init__(self, view: CanvasView) -> None:
        self._view = view

    def handle(self, event: QEvent) -> bool:
        """Whether the event was a drag that the view takes."""
        if isinstance(event, QDragLeaveEvent):
            self._ghost(None, QPointF())
            return True
        if not isinstance(event, QDragEnterEvent | QDragMoveEvent | QDropEvent):
            return False
        data = event.mimeData()
        placing = Placing.from_mime(data) if data.hasFormat(DEVICE_MIME) else None
        box = container_kind(data) if data.hasFormat(CONTAINER_MIME) else None
        if placing is None and box is None and not data.hasFormat(TEMPLATE_MIME):
            event.ignore()
            return True
        event.acceptProposedAction()
        scene = self._view.camera.to_scene(event.position())
        if isinstance(event, QDragEnterEvent | QDragMoveEvent):
            self._ghost(placing, scene)
            return True
        self._ghost(None, scene)
        if box is not None:
            drop_container(self._view, box, scene)
        else:
            self._drop(data, placing, scene)
        return True

    def _drop(self, data: QMimeData, placing: Placing | None, scene: QPointF) -> None:
        if placing is not None:
            put_down(self._view, placing, scene)
            return
        name = bytes(data.data(TEMPLATE_MIME).data()).decode(errors="replace")
        self._view.template_requested.emit(name, scene)

    def _ghost(self, placing: Placing | None, scene: QPointF) -> None:
        self._view.drop_ghost = None if placing is None else (placing, scene)
        self._view.refresh()
