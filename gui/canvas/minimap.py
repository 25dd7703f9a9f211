"""The whole drawing, small, with what is in view framed; a click or drag goes there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.canvas.camera import Camera
from gui.canvas.scene_index import DEVICE_KINDS, GPU
from model.topology.types import ContainerKind

if TYPE_CHECKING:
    from gui.canvas.view import CanvasView

SIZE = QSize(168, 92)
_MARGIN = 8.0
_LEAST_PX = 1.2
AT_ONCE = 8000
"""Of more devices a picture is made in turns of the event loop of its own; the old one stays meanwhile."""


class Minimap(QWidget):
    """Painted from a picture that is made anew only when the drawing or the colours change."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._canvas = view
        self._picture: QImage | None = None
        self._key: tuple[object, ...] = ()
        self._wanted: tuple[object, ...] = ()
        self._bounds_of = -1
        self.resize(SIZE)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("Overview of the drawing")
        self.setToolTip("Click to go there")

    @property
    def _camera(self) -> Camera:
        index = self._canvas.scene_data.index
        if self._bounds_of != index.version:
            self._bounds, self._bounds_of = index.bounds() or (0.0, 0.0, 1.0, 1.0), index.version
        area = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        plain = Camera(1.0, 0.0, 0.0, self.width(), self.height(), self.devicePixelRatioF())
        return plain.fitted(self._bounds, area, least=0.0)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._canvas.theme
        camera = self._camera
        key = self._key_of(camera)
        if key != self._key or self._picture is None:
            if self._picture is None or len(self._canvas.scene_data.index.devices) <= AT_ONCE:
                for _ in self._renew():
                    pass
            elif key != self._wanted:
                self._wanted = key
                self._canvas.context.turns.later(self._renew)
        x0, y0, x1, y1 = self._canvas.camera.visible()
        corner, far = camera.to_view(QPointF(x0, y0)), camera.to_view(QPointF(x1, y1))
        frame = QRectF(corner, far).intersected(QRectF(self.rect()).adjusted(2, 2, -2, -2))
        with QPainter(self) as painter:
            if self._picture is not None:
                painter.drawImage(QPoint(0, 0), self._picture)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.color("accent"), 1.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame, 4, 4)

    def _key_of(self, camera: Camera) -> tuple[object, ...]:
        scene = self._canvas.scene_data
        return scene.index.version, scene.gpus_version, self._canvas.theme.name, camera

    def _renew(self) -> Iterator[None]:
        """Card, hulls and a tile for each device, in the colour of its group or kind; in three steps.

        What changes on the way ends it; the next paint asks for the picture of what is there then.
        """
        camera = self._camera
        key = self._key_of(camera)
        colors, boxes = self._colors(), camera.boxes(self._canvas.scene_data.index.rects()) * camera.ratio
        yield
        if self._changed(key):
            return
        image = self._frames(camera)
        yield
        if self._changed(key):
            return
        tiles = self._tiles(camera, colors, boxes)
        height, width = tiles.shape
        small = QImage(tiles.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
        small.setDevicePixelRatio(camera.ratio)
        with QPainter(image) as painter:
            painter.drawImage(QPoint(0, 0), small)
        self._key, self._wanted, self._picture = key, (), image
        self.update()

    def _changed(self, key: tuple[object, ...]) -> bool:
        if key == self._key_of(self._camera):
            return False
        self._wanted = ()
        self.update()
        return True

    def _frames(self, camera: Camera) -> QImage:
        theme, index = self._canvas.theme, self._canvas.scene_data.index
        image = QImage(self.size() * camera.ratio, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(camera.ratio)
        image.fill(Qt.GlobalColor.transparent)
        with QPainter(image) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.color("line"), 1))
            painter.setBrush(theme.color("panel"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("node-line"), 1))
            outer = [one.kind is not ContainerKind.TRAY for one in index.containers]
            hulls = index.hull[outer] if any(outer) else index.hull
            painter.drawRects(_rects(camera.boxes(hulls)))
        return image

    def _colors(self) -> NDArray[np.uint32]:
        theme, index = self._canvas.theme, self._canvas.scene_data.index
        group = self._canvas.scene_data.gpus.group
        color = np.zeros(len(index.devices), dtype=np.uint32)
        for code in np.unique(index.kind).tolist():
            if code != GPU:
                color[index.kind == code] = theme.kind_color(DEVICE_KINDS[code]).rgba()
        numbers, which = np.unique(group, return_inverse=True)
        colors = [theme.color("strong") if one < 0 else theme.group_color(one) for one in numbers.tolist()]
        color[index.gpu_rows] = np.array([one.rgba() for one in colors], dtype=np.uint32)[which]
        return color

    def _tiles(
        self, camera: Camera, color: NDArray[np.uint32], boxes: NDArray[np.float64]
    ) -> NDArray[np.uint32]:
        """The pixels of the map with a tile for each device; QPainter takes far longer for so many."""
        index = self._canvas.scene_data.index
        columns, rows = (round(size * camera.ratio) for size in (self.width(), self.height()))
        first = np.floor(boxes[:, :2] + 0.5).astype(np.int64)
        size = np.maximum(np.rint(boxes[:, 2:] - boxes[:, :2]).astype(np.int64), max(1, round(camera.ratio)))
        pixels = np.zeros((rows, columns), dtype=np.uint32)
        order = np.argsort(index.kind == GPU, kind="stable")  # GPUs over all others
        shape = (size[:, 0] * (size.max(initial=0) + 1) + size[:, 1])[order]
        for one in np.unique(shape).tolist():
            same = order[shape == one]
            wide, tall = size[same[0]].tolist()
            across = (first[same, 0, None] + np.arange(wide)).clip(0, columns - 1)
            down = (first[same, 1, None] + np.arange(tall)).clip(0, rows - 1)
            pixels[down[:, :, None], across[:, None, :]] = color[same, None, None]
        return pixels

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._go(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go(event)

    def _go(self, event: QMouseEvent) -> None:
        there = self._camera.to_scene(event.position())
        now = self._canvas.camera
        self._canvas.set_camera(
            replace(now, x=now.width / 2 - there.x() * now.zoom, y=now.height / 2 - there.y() * now.zoom),
            moving=True,
        )
        event.accept()


def _rects(boxes: np.ndarray) -> list[QRectF]:
    return [
        QRectF(x0, y0, max(x1 - x0, _LEAST_PX), max(y1 - y0, _LEAST_PX)) for x0, y0, x1, y1 in boxes.tolist()
    ]
