"""`ScenePainter`: paints a scene in layers, in pixels of the viewport. View and picture use the same one.

From the bottom: the ground (grid, racks, pods), links between trays, the cards of trays, links inside trays,
devices with all names, and marks (oversubscribed directions, chosen links, badges). Ground, cards and devices
depend on the view only; links and marks follow the loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter

from gui.canvas.camera import Camera
from gui.canvas.container_painter import ContainerPainter
from gui.canvas.curves import touching
from gui.canvas.device_painter import DevicePainter
from gui.canvas.far_layout import FarLayout
from gui.canvas.far_painter import FarPainter
from gui.canvas.far_plan import FarPlan
from gui.canvas.focus_painter import paint_focus
from gui.canvas.lettering import Occupancy
from gui.canvas.levels import Level
from gui.canvas.link_painters import LinkPainter, link_painter_steps
from gui.canvas.marks import MarkPainter
from gui.canvas.port_painter import PortPainter
from gui.canvas.scene import Scene
from gui.canvas.scene_index import FloatArray, IntArray, SceneIndex
from gui.canvas.strands import StrandLoads
from gui.theme import Theme
from model.topology.footprint import GRID

Painters = Callable[[], AbstractContextManager[QPainter]]
"""Gives the painter of a layer for one step."""

_GRID_LEAST = 12.0
_DEVICES_A_STEP = 240
_THINNER = ((300, 1.0), (600, 0.7), (np.inf, 0.5))
"""Up to so many lines between trays, and how much thinner all are: a crowd must not become one area."""


@dataclass(frozen=True, slots=True)
class Clear:
    """What a focus leaves clear while the rest is faded; of a route `shares` of the bytes by link."""

    links: frozenset[str]
    devices: frozenset[str]
    shares: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Lit:
    """What stands out: the selection, what a panel lights, and what a focus leaves clear (None = all)."""

    selection: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    clear: Clear | None = None


class ScenePainter:
    """Prepared for one camera and level of detail with `prepare`, then asked for layers.

    Layers that can take long are painted by generators, a few milliseconds a step.
    """

    def __init__(self, scene: Scene, theme: Theme, *, patient: bool = False) -> None:
        """A `patient` painter prefers smooth lines to quick ones."""
        self.scene = scene
        self._patient = patient
        self.theme = theme
        self._devices = DevicePainter(theme)
        self._containers = ContainerPainter(theme)
        self._far = FarPainter(theme)
        self._marks = MarkPainter(theme)
        self._ports = PortPainter(theme)
        self._links: dict[bool, LinkPainter] = {}
        self._links_before: dict[bool, LinkPainter] = {}
        self._prepared = 0
        self._loads_version = -1
        self._worst_key: tuple[int, int, int] = (-1, -1, -1)
        self._reach_of: FloatArray | None = None
        self._chosen_key: tuple[object, ...] = ()
        self._clear_key: tuple[object, ...] = ()

    def prepare(self, camera: Camera, level: Level) -> None:
        """Take a view: choose what is visible and lay out its links."""
        self._prepared += 1
        self.camera, self.level = camera, level
        self.strands, self.curves = self.scene.strands(level, camera.zoom)
        self.far: Far | None = None
        grown = 1.0
        if level <= Level.TILES:
            self.far = Far(*self.scene.far(level, camera.zoom))
        else:
            grown = min(1.5, max(0.7, camera.zoom**0.35))
        if self._reach_of is not self.curves.control:
            self._reach, self._reach_of = self.curves.reach(), self.curves.control
        near = touching(self._reach, camera.visible(12))
        self.shown: IntArray = np.flatnonzero(near).astype(np.int32)
        self.width = np.maximum(self.strands.width * grown, 0.7)
        if level is Level.NODES:
            between = int((~self.strands.inside[self.shown]).sum())
            self.width *= next(factor for most, factor in _THINNER if between <= most)
        self.seen: FloatArray = self.curves.taken(self.shown).flat()
        self.seen_box = (self.seen.min(axis=1), self.seen.max(axis=1))
        self.drawn: IntArray = self.visible_devices()
        self._links_before.update(self._links)
        self._links = {}

    def paint_ground(self, painter: QPainter, *, grid: bool = True) -> None:
        """The canvas, its grid and the containers around trays."""
        camera = self.camera
        painter.fillRect(QRectF(0, 0, camera.width, camera.height), self.theme.color("canvas"))
        if grid:
            paint_grid(painter, self.theme, camera)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.far is not None:
            self._far.cards(painter, self.scene, self.far.plan, self.far.layout, camera)
        else:
            for some in self._containers.parts(self.scene.index, camera, self.scene.folding):
                self._containers.cards(
                    painter, self.scene.index, some, folding=self.scene.folding, trays=False, level=self.level
                )

    def trays_steps(self, painter: Painters) -> Iterator[None]:
        """The cards of trays: links between trays run behind them."""
        if self.far is None:
            index = self.scene.index
            for some in self._containers.parts(index, self.camera, self.scene.folding):
                with painter() as out:
                    out.setRenderHint(QPainter.RenderHint.Antialiasing)
                    self._containers.cards(
                        out, index, some, folding=self.scene.folding, trays=True, level=self.level
                    )
                yield

    def links_steps(self, *, inside: bool) -> Iterator[None]:
        """Get ready to paint links inside trays, or all others."""
        if inside in self._links:
            return
        _now, worst = self.loads()
        rows = self.shown[self.strands.inside[self.shown] == inside]
        self._links[inside] = yield from link_painter_steps(
            self.theme,
            self.curves,
            self.width,
            rows,
            names=self.scene.strand_keys(self.strands, rows),
            before=self._links_before.get(inside),
            heat=np.maximum(worst.step[:, 0], worst.step[:, 1]),
            down=self.strands.down,
            camera=self.camera,
            patient=self._patient,
        )

    def paint_links(self, painter: QPainter, *, inside: bool) -> None:
        """Links inside trays, or all others, in the colours of their loads."""
        for _step in self.links_steps(inside=inside):
            pass
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        now = self.loads()[0]
        self._links[inside].paint(painter, now)
        rows = self.shown[self.strands.inside[self.shown] == inside]
        self._marks.patterns(
            painter, self.curves, self.width, now, rows=rows, shown=self.shown, camera=self.camera
        )

    def paint_far(self, painter: QPainter) -> None:
        """Far out, tiles and tiers with their loads."""
        if self.far is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plan, layout = self.far.plan, self.far.layout
        loads = (self.scene.tile_loads(plan), self.loads()[0])
        self._far.content(painter, self.scene, plan, layout, loads, self.camera)

    def over_steps(self, painter: Painters) -> Iterator[None]:
        """Devices with their names and the names of containers."""
        scene, camera = self.scene, self.camera
        occupied = Occupancy()
        for rows in _parts(self.drawn, _DEVICES_A_STEP):
            with painter() as out:
                out.setRenderHint(QPainter.RenderHint.Antialiasing)
                out.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
                self._devices.paint(
                    out,
                    scene.index,
                    scene.gpus,
                    scene.texts,
                    camera=camera,
                    level=self.level,
                    rows=rows,
                    occupied=occupied,
                )
            yield
        if self.far is not None:
            with painter() as out:
                self._far.strips(out, scene, self.far.plan, self.far.layout, camera)
            yield
        else:
            for some in self._containers.parts(scene.index, camera, scene.folding):
                with painter() as out:
                    out.setRenderHint(QPainter.RenderHint.Antialiasing)
                    self._containers.titles(out, scene, some, camera)
                yield
            if self.level is Level.PORTS:
                with painter() as out:
                    out.setRenderHint(QPainter.RenderHint.Antialiasing)
                    self._ports.paint(
                        out,
                        scene,
                        self.strands,
                        self.curves,
                        shown=self.shown,
                        camera=camera,
                        occupied=occupied,
                    )
                yield
            boxes = self._pinned()
            if boxes:
                with painter() as out:
                    out.setRenderHint(QPainter.RenderHint.Antialiasing)
                    self._devices.pins(out, boxes)
                yield

    def _pinned(self) -> list[QRectF]:
        """The boxes in view of what is pinned and stands for itself, from 40 % on."""
        scene, index = self.scene, self.scene.index
        if self.level < Level.RANKS:
            return []
        view, found = QRectF(0, 0, self.camera.width, self.camera.height), []
        for ident in scene.pins:
            row = index.container_row.get(ident, -1)
            hidden = scene.folding.hidden[row] if row >= 0 else _folded_into(scene, ident) >= 0
            box = None if hidden else self.box_of(ident)
            if box is not None and box.intersects(view):
                found.append(box)
        return found

    def paint_marks(self, painter: QPainter, lit: Lit) -> None:
        """What must be seen whatever else is there."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        now, worst = self.loads()
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
        if lit.clear is not None:
            paint_focus(painter, self, lit.clear)

    def box_of(self, ident: str) -> QRectF | None:
        """The box in pixels of a device or container, or of what stands for it in this view."""
        index, scene = self.scene.index, self.scene
        box = self.far.box_of(index, ident) if self.far is not None else None
        if box is not None:
            pass
        elif (folded := _folded_into(scene, ident)) >= 0:
            box = index.hull[folded]
        elif ident in index.device_row:
            row = index.device_row[ident]
            box = np.concatenate((index.centre[row] - index.half[row], index.centre[row] + index.half[row]))
        elif ident in index.container_row:
            box = index.hull[index.container_row[ident]]
        else:
            return None
        x0, y0, x1, y1 = self.camera.boxes(box).tolist()
        return QRectF(x0, y0, x1 - x0, y1 - y0)

    @property
    def prepared(self) -> int:
        """Which view this is: counted up with each that was prepared."""
        return self._prepared

    def seen_of(self, ids: Set[str]) -> list[str]:
        """Those of some parts that may be in view."""
        if self.far is not None or self.scene.folded:
            return list(ids)
        row_of = self.scene.index.device_row
        drawn = set(self.drawn.tolist())
        return [ident for ident in ids if ident not in row_of or row_of[ident] in drawn]

    def paint_all(self, painter: QPainter, lit: Lit, *, grid: bool = True) -> None:
        """Every layer, from the canvas up, onto one painter."""

        def same() -> AbstractContextManager[QPainter]:
            return nullcontext(painter)

        self.paint_ground(painter, grid=grid)
        self.paint_links(painter, inside=False)
        for _step in self.trays_steps(same):
            pass
        self.paint_links(painter, inside=True)
        self.paint_far(painter)
        for _step in self.over_steps(same):
            pass
        self.paint_marks(painter, lit)

    def loads(self) -> tuple[StrandLoads, StrandLoads]:
        """The loads of the moment, and the peak of the step; worked out once for each, of what is shown."""
        scene, strands = self.scene, self.strands
        rows = self.shown if self.far is None else None  # a tier tells of ribbons that are out of view
        worst_key = (self._prepared, scene.index.structure, scene.report_version)
        if self._worst_key != worst_key:
            self._worst, self._worst_key = scene.findings(strands, rows), worst_key
            self._loads_version = -1
        if self._loads_version != scene.loads_version:
            self._now, self._loads_version = scene.loads(strands, rows), scene.loads_version
        return self._now, self._worst

    def rows_of(self, clear: Clear) -> IntArray:
        """The strands in view that a focus leaves clear."""
        key = (self._prepared, clear)
        if key != self._clear_key:
            chosen = self.scene.members_of(self.strands, clear.links)
            self._clear_rows = np.intersect1d(chosen, self.shown).astype(np.int32)
            self._clear_key = key
        return self._clear_rows

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
        """Rows of the devices that can be seen; far out only those that no tile or tier stands for."""
        index = self.scene.index
        seen = in_view(index, self.camera)
        if self.far is not None:
            seen &= (self.far.plan.tile_of < 0) & (self.far.plan.tier_of < 0)
        elif self.scene.folded:
            seen &= self.scene.folding.device < 0
        return np.flatnonzero(seen).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Far:
    """What is drawn below 12 %, and where."""

    plan: FarPlan
    layout: FarLayout

    def box_of(self, index: SceneIndex, ident: str) -> FloatArray | None:
        """The box (4,) in scene units that stands for a device or container; None where it stands alone."""
        if ident in index.device_row:
            row = index.device_row[ident]
            tile, tier = int(self.plan.tile_of[row]), int(self.plan.tier_of[row])
            if tile >= 0:
                return self._tile(tile)
            return None if tier < 0 else self.layout.tier[tier]
        if ident in index.container_row:
            row = index.container_row[ident]
            group = np.flatnonzero(self.plan.groups == row)
            if len(group):
                return self.layout.group[group[0]]
            while row >= 0:
                tile = int(np.searchsorted(self.plan.tiles, row))
                if tile < len(self.plan.tiles) and self.plan.tiles[tile] == row:
                    return self._tile(tile)
                row = int(index.container_parent[row])
        return None

    def _tile(self, tile: int) -> FloatArray:
        group = int(self.plan.tile_group[tile])
        return self.layout.field[group] if self.layout.closed[group] else self.layout.tile[tile]


def _folded_into(scene: Scene, ident: str) -> int:
    """The row of the folded container that a device or container is in, or -1."""
    index = scene.index
    if not scene.folded:
        return -1
    if ident in index.device_row:
        return int(scene.folding.device[index.device_row[ident]])
    if ident in index.container_row:
        return int(scene.folding.container[index.container_row[ident]])
    return -1


def in_view(index: SceneIndex, camera: Camera) -> NDArray[np.bool_]:
    """Which devices a camera sees."""
    x0, y0, x1, y1 = camera.visible(4)
    low, high = index.centre - index.half, index.centre + index.half
    return (low[:, 0] < x1) & (high[:, 0] > x0) & (low[:, 1] < y1) & (high[:, 1] > y0)


def _parts(rows: IntArray, size: int) -> list[IntArray]:
    return np.split(rows, range(size, len(rows), size))


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
