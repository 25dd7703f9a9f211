"""`Frame`: the finished picture of the viewport, in layers, so that only what changed is painted again."""

from __future__ import annotations

import time

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter

from gui.canvas.camera import Camera
from gui.canvas.levels import Level
from gui.canvas.scene import Scene
from gui.canvas.scene_painter import Lit, ScenePainter
from gui.theme import Theme

QUICK_S = 0.022
"""A picture painted within this time follows the hand itself; a dearer one is moved until the hand rests."""


class Frame:
    """The layers of one view that do not follow the loads, and all of them composed with links and marks."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self.scene = scene
        self.set_theme(theme)
        self.cost_s = 0.0
        self.paints = 0
        self._composed: QImage | None = None
        self._composed_camera: Camera | None = None

    def set_theme(self, theme: Theme) -> None:
        """Start anew with other colours."""
        self.painter = ScenePainter(self.scene, theme)
        self._view_key: tuple[object, ...] = ()
        self._gpu_key: tuple[object, ...] = ()
        self._frame_key: tuple[object, ...] = ()

    def prepare(self, camera: Camera, level: Level) -> None:
        """Take a view without painting: hit tests work from here on."""
        key = (camera, level, self.scene.index.version, self.scene.layers)
        if key != self._view_key:
            self._view_key = key
            self.painter.prepare(camera, level)
            self._ground: QImage | None = None
            self._gpu_key = ()

    def image(self, camera: Camera, level: Level, lit: Lit) -> QImage:
        """The sharp picture of a view; painted only as far as something changed."""
        self.prepare(camera, level)
        gpus = (self._view_key, self.scene.gpus_version)
        key = (gpus, self.scene.loads_version, lit)
        if key == self._frame_key and self._composed is not None:
            return self._composed
        begin = time.perf_counter()
        if self._ground is None:
            self._ground = self._blank(camera)
            with QPainter(self._ground) as painter:
                self.painter.paint_ground(painter)
            self._trays = self._blank(camera, clear=True)
            with QPainter(self._trays) as painter:
                self.painter.paint_trays(painter)
        if gpus != self._gpu_key:
            self._over = self._blank(camera, clear=True)
            with QPainter(self._over) as painter:
                self.painter.paint_over(painter)
            self._gpu_key = gpus
        composed = self._blank(camera)
        with QPainter(composed) as painter:
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Source)
            painter.drawImage(QPoint(0, 0), self._ground)
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
            self.painter.paint_links(painter, inside=False)
            painter.drawImage(QPoint(0, 0), self._trays)
            self.painter.paint_links(painter, inside=True)
            painter.drawImage(QPoint(0, 0), self._over)
            self.painter.paint_marks(painter, lit)
        self._composed, self._composed_camera, self._frame_key = composed, camera, key
        self.cost_s = time.perf_counter() - begin
        self.paints += 1
        return composed

    @property
    def quick(self) -> bool:
        """Whether the last picture was painted fast enough to follow the hand."""
        return self.cost_s <= QUICK_S

    def moved(self, painter: QPainter, camera: Camera) -> bool:
        """Draw the last picture where it belongs in another view; False when there is none."""
        if self._composed is None or self._composed_camera is None:
            return False
        before = self._composed_camera
        factor = camera.zoom / before.zoom
        target = QRectF(
            camera.x - before.x * factor,
            camera.y - before.y * factor,
            before.width * factor,
            before.height * factor,
        )
        painter.fillRect(QRectF(0, 0, camera.width, camera.height), self.painter.theme.color("canvas"))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, factor < 1.0)
        painter.drawImage(target, self._composed)
        return True

    @staticmethod
    def _blank(camera: Camera, *, clear: bool = False) -> QImage:
        size = QSize(max(1, round(camera.width * camera.ratio)), max(1, round(camera.height * camera.ratio)))
        form = QImage.Format.Format_ARGB32_Premultiplied if clear else QImage.Format.Format_RGB32
        image = QImage(size, form)
        image.setDevicePixelRatio(camera.ratio)
        if clear:
            image.fill(Qt.GlobalColor.transparent)
        return image
