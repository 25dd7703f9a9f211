"""Paint: sweep over GPUs to give them a group of the dimension that is shown. One sweep is one undo step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from gui.canvas.hit import swept_gpus
from gui.canvas.tools.base import Pointer, Tool
from model.document.edits import Assign
from model.errors import EditRefused
from model.text import plural

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView


class PaintTool(Tool):
    """The brush of `context.brush`; without a brush it erases."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._swept: dict[int, None] = {}
        self._last: QPointF | None = None

    @property
    def active(self) -> bool:
        return self._last is not None

    def press(self, at: Pointer) -> None:
        self._last = at.scene
        self._sweep(at)

    def move(self, at: Pointer) -> None:
        if self._last is not None:
            self._sweep(at)

    def release(self, at: Pointer) -> None:
        if self._last is None:
            return
        self._sweep(at)
        index = self.view.scene_data.index
        ids = tuple(index.device_ids[row] for row in self._swept)
        self.cancel()
        if not ids:
            self.context.say("Sweep over GPUs to paint them.")
            return
        dimension, brush = self.context.colour_by, self.context.brush
        what = f"{dimension.upper()} {brush}" if brush is not None else f"no {dimension.upper()} colour"
        try:
            self.context.document.push(
                Assign(dimension, brush, ids), f"Paint {plural(len(ids), 'GPU')} {what}"
            )
        except EditRefused as refused:
            self.context.say(str(refused))

    def cancel(self) -> None:
        self._swept.clear()
        self._last = None
        self.view.refresh()

    def paint(self, painter: QPainter) -> None:
        index, camera, theme = self.view.scene_data.index, self.view.camera, self.view.theme
        brush = self.context.brush
        for row in self._swept:
            (x, y), (w, h) = index.centre[row], index.half[row]
            corner = camera.to_view(QPointF(x - w, y - h))
            rect = QRectF(corner.x(), corner.y(), 2 * w * camera.zoom, 2 * h * camera.zoom)
            painter.setBrush(theme.color("raised") if brush is None else theme.group_color(brush))
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.drawRoundedRect(rect, 4, 4)

    def _sweep(self, at: Pointer) -> None:
        begin = self._last or at.scene
        rows = swept_gpus(self.view.painter, begin.x(), begin.y(), at.scene.x(), at.scene.y())
        self._swept.update(dict.fromkeys(rows.tolist()))
        self._last = at.scene
        self.view.refresh()
