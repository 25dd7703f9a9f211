"""`ScenePainter`: paints a scene in layers, in pixels of the viewport. View and picture use the same one.

From the bottom: the ground (grid, racks, pods), links between trays, the cards of trays, links inside trays,
devices with all names, and marks (oversubscribed directions, chosen links, badges). Ground, cards and devices
depend on the view only; links and marks follow the loads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from gui.canvas.camera import Camera
from gui.canvas.container_painter import ContainerPainter
from gui.canvas.curves import touching
from gui.canvas.device_painter import DevicePainter
from gui.canvas.levels import Level
from gui.canvas.link_painters import LinkPainter, link_painter
from gui.canvas.marks import MarkPainter
from gui.canvas.scene import Scene
from gui.canvas.scene_index import FloatArray, IntArray
from gui.canvas.strands import StrandLoads
from gui.theme import Theme
from model.topology.footprint import GRID

_GRID_LEAST = 11.0


@dataclass(frozen=True, slots=True)
class Lit:
    """What stands out: the selection, what a panel lights, and what the pointer is on."""

    selection: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()


class ScenePainter:
    """Prepared for one camera and level of detail with `prepare`, then asked for layers."""

    def __init__(self, scene: Scene, theme: Theme, *, patient: bool = False) -> None:
        """A `patient` painter prefers smooth lines to quick ones."""
        self.scene = scene
        self._patient = patient
        self.theme = theme
        self._devices = DevicePainter(theme)
        self._containers = ContainerPainter(theme)
        self._marks = MarkPainter(theme)
        self._links: dict[bool, LinkPainter] = {}
        self._links_of: _Lines | None = None
        self._prepared = 0
        self._loads_key: tuple[object, ...] = ()
        self._chosen_key: tuple[object, ...] = ()

    def prepare(self, camera: Camera, level: Level) -> None:
        """Take a view: choose what is visible and lay out its links."""
        before = self._links_of
        self._prepared += 1
        self.camera, self.level = camera, level
        self.strands, self.curves = self.scene.strands(level, camera.zoom)
        self.flat: FloatArray = self.curves.flat()
        self.shown: IntArray = np.flatnonzero(touching(self.flat, camera.visible(12))).astype(np.int32)
        grown = min(1.5, max(0.7, camera.zoom**0.35))
        self.width = np.maximum(self.strands.width * grown, 0.7)
        self.seen: FloatArray = self.flat[self.shown]
        self.seen_box = (self.seen.min(axis=1), self.seen.max(axis=1))
        self._links_of = (camera, self.curves.control, self.width, self.strands.down)
        if not _same_lines(before, self._links_of):
            self._links = {}

    def paint_ground(self, painter: QPainter, *, grid: bool = True) -> None:
        """The canvas, its grid and the containers around trays."""
        camera = self.camera
        painter.fillRect(QRectF(0, 0, camera.width, camera.height), self.theme.color("canvas"))
        if grid:
            paint_grid(painter, self.theme, camera)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._containers.cards(painter, self.scene.index, trays=False, camera=camera, level=self.level)

    def paint_trays(self, painter: QPainter) -> None:
        """The cards of trays: links between trays run behind them."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._containers.cards(painter, self.scene.index, trays=True, camera=self.camera, level=self.level)

    def paint_links(self, painter: QPainter, *, inside: bool) -> None:
        """Links inside trays, or all others, in the colours of their loads."""
        now, worst = self._loads()
        if inside not in self._links:
            rows = self.shown[self.strands.inside[self.shown] == inside]
            heat = worst.step.max(axis=1, initial=0)
            self._links[inside] = link_painter(
                self.theme,
                self.curves,
                self.width,
                rows,
                heat=heat,
                down=self.strands.down,
                camera=self.camera,
                patient=self._patient,
            )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._links[inside].paint(painter, now)

    def paint_over(self, painter: QPainter) -> None:
        """Devices with their names; far out, the tiles of trays."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self._devices.paint(
            painter,
            self.scene.index,
            self.scene.gpus,
            self.scene.second_lines,
            self.scene.names,
            camera=self.camera,
            level=self.level,
            rows=self.visible_devices(),
        )
        self._containers.titles(painter, self.scene.index, self.scene.subtitles, self.camera)

    def paint_marks(self, painter: QPainter, lit: Lit) -> None:
        """What must be seen whatever else is there."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        now, worst = self._loads()
        self._marks.paint(
            painter,
            self.scene,
            self.strands,
            self.curves,
            self.width,
            (now, worst),
            shown=self.shown,
            chosen=self._chosen(lit),
            camera=self.camera,
            level=self.level,
        )

    def paint_all(self, painter: QPainter, lit: Lit, *, grid: bool = True) -> None:
        """Every layer, from the canvas up."""
        self.paint_ground(painter, grid=grid)
        self.paint_links(painter, inside=False)
        self.paint_trays(painter)
        self.paint_links(painter, inside=True)
        self.paint_over(painter)
        self.paint_marks(painter, lit)

    def _loads(self) -> tuple[StrandLoads, StrandLoads]:
        """The loads of the moment, and the peak of the step; worked out once for each."""
        key = (self._prepared, self.scene.loads_version)
        if key != self._loads_key:
            self._now_and_worst = (self.scene.loads(self.strands), self.scene.findings(self.strands))
            self._loads_key = key
        return self._now_and_worst

    def _chosen(self, lit: Lit) -> IntArray:
        key = (self._prepared, lit)
        if key != self._chosen_key:
            chosen = self.scene.members_of(self.strands, lit.selection | lit.links)
            self._chosen_rows = np.intersect1d(chosen, self.shown)
            self._chosen_key = key
        return self._chosen_rows

    @property
    def badges(self) -> list[QRectF]:
        """Where the badges of the last picture are, in pixels."""
        return self._marks.badges

    def visible_devices(self) -> IntArray:
        """Rows of the devices that can be seen."""
        index = self.scene.index
        x0, y0, x1, y1 = self.camera.visible(4)
        low, high = index.centre - index.half, index.centre + index.half
        seen = (low[:, 0] < x1) & (high[:, 0] > x0) & (low[:, 1] < y1) & (high[:, 1] > y0)
        return np.flatnonzero(seen).astype(np.int32)


_Lines = tuple[Camera, FloatArray, FloatArray, NDArray[np.bool_]]


def _same_lines(before: _Lines | None, after: _Lines) -> bool:
    """Whether links that were laid out for one view can be kept: an edit of a name or state moves no line."""
    if before is None or before[0] != after[0]:
        return False
    return all(np.array_equal(old, new) for old, new in zip(before[1:], after[1:], strict=True))


def paint_grid(painter: QPainter, theme: Theme, camera: Camera) -> None:
    """Dots every 20 units; every 100 far out, none where they would run together."""
    step = GRID
    while step * camera.zoom < _GRID_LEAST:
        step *= 5
    x0, y0, x1, y1 = camera.visible()
    columns = np.arange(np.ceil(x0 / step), np.floor(x1 / step) + 1) * step
    rows = np.arange(np.ceil(y0 / step), np.floor(y1 / step) + 1) * step
    side = max(2, round(1.6 * camera.ratio)) / camera.ratio
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color("grid"))
    left = (columns * camera.zoom + camera.x - side / 2).tolist()
    top = (rows * camera.zoom + camera.y - side / 2).tolist()
    painter.drawRects([QRectF(x, y, side, side) for y in top for x in left])
    painter.restore()
