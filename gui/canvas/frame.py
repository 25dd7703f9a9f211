"""`Frame`: the finished picture of the viewport, in layers, so that only what changed is painted again.

What takes long is painted in slices: `begin` and `go_on` fill the layers a few milliseconds at a time while
the last picture stays on the screen; `image` does the rest at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter

from gui.canvas.camera import Camera
from gui.canvas.levels import Level
from gui.canvas.scene import Scene
from gui.canvas.scene_painter import Lit, Painters, ScenePainter, in_view
from gui.theme import Theme

QUICK_PARTS = 700
"""A view of at most so many devices and links is painted at once and follows the hand itself."""

QUICK_TILES, LETTERED_ZOOM = 200, 0.04
"""So many tiles follow the hand also where they have names on them; more only further out."""


class Frame:
    """The layers of one view that do not follow the loads, and all of them composed with links and marks."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self.scene = scene
        self.paints = 0
        self._composed_camera: Camera | None = None
        self._structure = -1
        self.set_theme(theme)
        self._quick_of: tuple[tuple[object, ...], bool] = ((), True)

    def set_theme(self, theme: Theme) -> None:
        """Start anew with other colours."""
        self.painter = ScenePainter(self.scene, theme)
        self._view_key: tuple[object, ...] = ()
        self._ground_key: tuple[object, ...] = ()
        self._gpu_key: tuple[object, ...] = ()
        self._frame_key: tuple[object, ...] = ()
        self._work: Iterator[None] | None = None
        self._work_key: tuple[object, ...] = ()
        self._ground: QImage | None = None
        self._composed: QImage | None = None

    def prepare(self, camera: Camera, level: Level) -> None:
        """Take a view without painting: hit tests work from here on."""
        scene, key = self.scene, self._key_of(camera, level)
        if key != self._view_key:
            self._view_key = key
            self.painter.prepare(camera, level)
            index = scene.index
            folded, layers = scene.folded, level <= Level.TILES and scene.layers
            places = (camera, level, index.places, index.wiring, folded, layers)
            if places != self._ground_key:
                self._ground_key = places
                self._ground = None
            self._gpu_key = ()
            self._work = None

    def _key_of(self, camera: Camera, level: Level) -> tuple[object, ...]:
        scene = self.scene
        looks = (scene.layers, scene.folded, scene.link_style, scene.opened)
        return (camera, level, scene.index.version, *looks)

    def prepared(self, camera: Camera, level: Level) -> bool:
        """Whether a view is taken, or little is to be done for it: else its strands come step by step."""
        return self._key_of(camera, level) == self._view_key or self.scene.strands_known(level, camera.zoom)

    # Layers

    def ready(self, camera: Camera, level: Level) -> bool:
        """Whether the layers of a view are painted; `image` then only lays them on each other."""
        if not self.prepared(camera, level):
            return False
        self.prepare(camera, level)
        return self._ground is not None and self._gpu_key == self._over_key

    @property
    def _over_key(self) -> tuple[object, ...]:
        return (self._view_key, self.scene.gpus_version, self.scene.pins)

    def begin(self, camera: Camera, level: Level) -> None:
        """Get the layers of a view painted by `go_on`."""
        if not self.prepared(camera, level):
            key = self._key_of(camera, level)
            if self._work is None or key != self._work_key:
                self._work, self._work_key = self._taken(camera, level), key
            return
        self.prepare(camera, level)
        if self._work is None:
            self._work = self._steps(camera)

    def _taken(self, camera: Camera, level: Level) -> Iterator[None]:
        """Derive the strands of a view; it is taken and its layers are begun after that."""
        yield from self.scene.strands_steps(level, camera.zoom)

    def go_on(self, budget_s: float) -> bool:
        """Paint on for about `budget_s` seconds; whether everything is done."""
        end = time.perf_counter() + budget_s
        while self._work is not None:
            try:
                next(self._work)
            except StopIteration:
                self._work = None
            if time.perf_counter() >= end:
                break
        return self._work is None

    def _steps(self, camera: Camera) -> Iterator[None]:
        gpu_key = self._over_key
        if self._ground is None:
            ground, trays = self._blank(camera), self._blank(camera, clear=True)
            with QPainter(ground) as painter:
                self.painter.paint_ground(painter)
            yield
            yield from self.painter.trays_steps(_painters(trays))
            self._ground, self._trays = ground, trays
        yield from self.painter.links_steps(inside=False)
        yield from self.painter.links_steps(inside=True)
        if gpu_key != self._gpu_key:
            if not self.scene.ports_known:
                self.scene.know_ports()
                yield
            over = self._blank(camera, clear=True)
            yield from self.painter.over_steps(_painters(over))
            self._over, self._gpu_key = over, gpu_key

    def image(self, camera: Camera, level: Level, lit: Lit) -> QImage:
        """The sharp picture of a view; painted only as far as something changed."""
        while not self.ready(camera, level):
            self.begin(camera, level)
            self.go_on(60.0)
        key = (self._gpu_key, self.scene.loads_version, lit)
        if key == self._frame_key and self._composed is not None:
            return self._composed
        composed = self._blank(camera)
        with QPainter(composed) as painter:
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Source)
            if self._ground is not None:
                painter.drawImage(QPoint(0, 0), self._ground)
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
            self.painter.paint_links(painter, inside=False)
            if self.painter.far is None:
                painter.drawImage(QPoint(0, 0), self._trays)
                self.painter.paint_links(painter, inside=True)
            self.painter.paint_far(painter)
            painter.drawImage(QPoint(0, 0), self._over)
            self.painter.paint_marks(painter, lit)
        self._composed, self._composed_camera, self._frame_key = composed, camera, key
        self._structure = self.scene.index.structure
        self.paints += 1
        return composed

    def quick(self, camera: Camera, level: Level) -> bool:
        """Whether a view is painted fast enough to follow the hand; else the last picture is moved."""
        if level <= Level.TILES:
            far = self.painter.far
            if self.scene.many_links and self._structure != self.scene.index.structure:
                return False  # what an edit made of it comes in slices, the last picture stays meanwhile
            return far is None or len(far.plan.tiles) <= QUICK_TILES or camera.zoom < LETTERED_ZOOM
        key = (camera, level, self.scene.index.version)
        if key != self._quick_of[0]:
            index = self.scene.index
            seen = in_view(index, camera)
            parts = int(seen.sum())
            if parts <= QUICK_PARTS:
                parts += int(np.any(seen[index.ends], axis=1).sum())
            self._quick_of = (key, parts <= QUICK_PARTS)
        return self._quick_of[1]

    @property
    def painted(self) -> bool:
        """Whether there is a picture to show meanwhile."""
        return self._composed is not None

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


def _painters(image: QImage) -> Painters:
    """A painter on an image for every step."""
    return lambda: QPainter(image)
