"""What stands below 12 %: cards of pods and sites, tiers as bars, racks as tiles of their load."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.canvas.camera import Camera
from gui.canvas.far_layout import FarLayout
from gui.canvas.far_plan import FarPlan, TileLoads, group_loads, tier_loads
from gui.canvas.gpu_look import runs
from gui.canvas.lettering import Lettering
from gui.canvas.loads import BUNDLE_LIMIT, OVER_STEP, oversubscribed, steps_of
from gui.canvas.scene_index import DEVICE_KINDS, FloatArray
from gui.canvas.strands import StrandLoads
from gui.theme import Theme
from model.text import plural
from model.topology.types import ContainerKind

if TYPE_CHECKING:
    from gui.canvas.scene import Scene

_TIER_WORDS = {
    "leaf": ("leaf", "leaves"),
    "spine": ("spine", "spines"),
    "core": ("core", "cores"),
    "storage": ("storage node", "storage nodes"),
    "site-gateway": ("site gateway", "site gateways"),
}
_NAMED_TILE = (42.0, 15.0)
_STRIP_TILE = (34.0, 26.0)
_MOST_TEXTS = 300
_ROUND, _MANY = 2.0, 100  # corners that nobody sees cost more than all the rest


class FarPainter:
    """Paints tiles, tiers and groups in pixels of the viewport."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.lettering = Lettering(theme)
        self._ink = [_ink_on(theme, step) for step in range(OVER_STEP + 1)]

    def cards(
        self, painter: QPainter, scene: Scene, plan: FarPlan, layout: FarLayout, camera: Camera
    ) -> None:
        """The cards of pods and sites, outer ones first."""
        for number in range(1, len(plan.groups)):
            rect = _rect(camera.boxes(layout.group[number]))
            if not _seen(rect, camera):
                continue
            site = scene.index.containers[plan.groups[number]].kind is ContainerKind.SITE
            fill = self.theme.color("raised" if site else "node")
            painter.setPen(QPen(self.theme.color("strong" if site else "node-line"), 1))
            painter.setBrush(fill)
            painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)

    def content(
        self,
        painter: QPainter,
        scene: Scene,
        plan: FarPlan,
        layout: FarLayout,
        loads: tuple[TileLoads, StrandLoads],
        camera: Camera,
    ) -> None:
        """Tiles in the colours of their loads, tiers, and all names; `loads` of tiles and of ribbons."""
        tiles, ribbons = loads
        self._tiles(painter, scene, plan, layout, tiles, camera)
        for number in np.flatnonzero(layout.closed).tolist():
            self._closed(painter, scene, plan, layout, tiles, number, camera)
        for tier in range(len(plan.tier_kind)):
            self._tier(painter, plan, layout, tier, ribbons, camera)
        for number in range(1, len(plan.groups)):
            self._group_text(painter, scene, plan, layout, tiles, number, camera)

    # Tiles

    def _tiles(
        self,
        painter: QPainter,
        scene: Scene,
        plan: FarPlan,
        layout: FarLayout,
        loads: TileLoads,
        camera: Camera,
    ) -> None:
        rects = _open_tiles(plan, layout, camera)
        if not rects:
            return
        spare = scene.spare_tiles(plan)
        first = next(iter(rects.values()))
        radius = min(4.0, min(first.width(), first.height()) / 5)
        by_step: dict[int, list[int]] = defaultdict(list)
        for tile in rects:
            by_step[-1 if plan.down[tile] else -2 if spare[tile] else int(loads.step[tile])].append(tile)
        for step, members in by_step.items():
            if step < 0:
                painter.setBrush(self.theme.color("node" if step == -1 else "raised"))
                line = QPen(self.theme.color("error" if step == -1 else "strong"), 1)
                line.setStyle(Qt.PenStyle.SolidLine if step == -1 else Qt.PenStyle.DashLine)
                painter.setPen(line)
            else:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self.theme.ramp(step))
            if radius < _ROUND and len(members) > _MANY:
                painter.drawRects([rects[tile] for tile in members])
                continue
            for tile in members:
                painter.drawRoundedRect(rects[tile], radius, radius)
        self._crosses(painter, [rects[tile] for tile in by_step[-1]])
        self._worst(painter, loads, rects)
        if len(rects) <= _MOST_TEXTS:
            for tile, rect in rects.items():
                self._tile_text(painter, scene, plan, loads, tile, rect, bool(spare[tile]))

    def _crosses(self, painter: QPainter, rects: list[QRectF]) -> None:
        painter.setPen(QPen(self.theme.color("error"), 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        for rect in rects:
            reach = min(rect.width(), rect.height()) * 0.28
            middle = rect.center()
            painter.drawLine(middle + QPointF(-reach, -reach), middle + QPointF(reach, reach))
            painter.drawLine(middle + QPointF(-reach, reach), middle + QPointF(reach, -reach))

    def _worst(self, painter: QPainter, loads: TileLoads, rects: dict[int, QRectF]) -> None:
        """A corner in the colour of the hottest link at the tile; striped where one is oversubscribed."""
        over = oversubscribed(loads.worst)
        hottest = steps_of(loads.peak)
        painter.setPen(QPen(self.theme.color("node"), 1))
        for tile, rect in rects.items():
            if not over[tile] and hottest[tile] <= loads.step[tile]:
                continue
            side = max(4.0, min(10.0, rect.height() * 0.42))
            corner = QRectF(rect.right() - side, rect.top(), side, side)
            painter.setBrush(self.theme.color("over") if over[tile] else self.theme.ramp(int(hottest[tile])))
            painter.drawRoundedRect(corner, 2, 2)
            if over[tile]:
                self._stripes(painter, corner)

    def _stripes(self, painter: QPainter, box: QRectF) -> None:
        brush = painter.brush()
        brush.setColor(self.theme.color("over-badge-text"))
        brush.setStyle(Qt.BrushStyle.BDiagPattern)
        painter.fillRect(box, brush)

    def _tile_text(
        self,
        painter: QPainter,
        scene: Scene,
        plan: FarPlan,
        loads: TileLoads,
        tile: int,
        rect: QRectF,
        spare: bool,
    ) -> None:
        if rect.width() < _NAMED_TILE[0] or rect.height() < _NAMED_TILE[1] or plan.down[tile]:
            return
        name = scene.container_name(int(plan.tiles[tile]))
        ink = self.theme.color("text-2") if spare else self._ink[int(loads.step[tile])]
        middle = rect.top() + (9.0 if rect.height() >= _STRIP_TILE[1] else rect.height() / 2)
        left, room = rect.left() + 5, rect.width() - 10
        text = self.lettering.cut(name, 10, 600, room)
        used = self.lettering.left(painter, text, 10, 600, ink, left, middle) if text else 0.0
        mean = "spare" if spare else whole_percent(float(loads.mean[tile]))
        wide = self.lettering.width(mean, 10, 600)
        if used + wide + 18 <= room and scene.report is not None:
            self.lettering.right(painter, mean, 10, 600, ink, rect.right() - 14, middle)

    def strips(
        self, painter: QPainter, scene: Scene, plan: FarPlan, layout: FarLayout, camera: Camera
    ) -> None:
        """Who plays what: the groups of a tile's GPUs, in their order, along its lower edge."""
        rects = _open_tiles(plan, layout, camera)
        cells: dict[int, list[QRectF]] = defaultdict(list)
        for tile, rect in rects.items():
            if rect.width() < _STRIP_TILE[0] or rect.height() < _STRIP_TILE[1] or plan.down[tile]:
                continue
            groups = scene.gpus.group[plan.tile_gpus(tile)]
            if not len(groups):
                continue
            strip = QRectF(rect.left() + 4, rect.top() + 18, rect.width() - 8, rect.height() - 22)
            for group, begin, end in runs(groups):
                width = strip.width() / len(groups)
                cells[group].append(
                    QRectF(strip.left() + begin * width, strip.top(), (end - begin) * width, strip.height())
                )
        for group, boxes in cells.items():
            painter.setPen(QPen(self.theme.color("node"), 1))
            painter.setBrush(self.theme.color("raised") if group < 0 else self.theme.group_color(group))
            painter.drawRects(boxes)

    def _closed(
        self,
        painter: QPainter,
        scene: Scene,
        plan: FarPlan,
        layout: FarLayout,
        loads: TileLoads,
        number: int,
        camera: Camera,
    ) -> None:
        """All tiles of a group as one, of their mean."""
        rect = _rect(camera.boxes(layout.field[number]))
        if not _seen(rect, camera):
            return
        members = plan.tile_group == number
        mean, worst, highest = group_loads(plan, loads, members)
        step = int(steps_of(np.array([mean]))[0])
        rect = rect.adjusted(1, 1, -1, -1)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.ramp(step))
        painter.drawRoundedRect(rect, 4, 4)
        over = bool(oversubscribed(np.array([worst]))[0])
        hottest = int(steps_of(np.array([highest]))[0])
        if over or hottest > step:
            corner = QRectF(rect.right() - 12, rect.top(), 12, min(12.0, rect.height()))
            painter.setPen(QPen(self.theme.color("node"), 1))
            painter.setBrush(self.theme.color("over") if over else self.theme.ramp(hottest))
            painter.drawRoundedRect(corner, 2, 2)
            if over:
                self._stripes(painter, corner)
        text = f"{int(members.sum()):,} racks" if number else plural(int(members.sum()), "tile")
        if scene.report is not None:
            text = whole_percent(mean)
        size = self.lettering.fitting(text, 14, 700, rect.width() - 8, 9)
        if size is not None and rect.height() >= size + 4:
            middle = rect.center()
            self.lettering.centred(painter, text, size, 700, self._ink[step], middle.x(), middle.y())

    # Tiers and groups

    def _tier(
        self,
        painter: QPainter,
        plan: FarPlan,
        layout: FarLayout,
        tier: int,
        ribbons: StrandLoads,
        camera: Camera,
    ) -> None:
        rect = _rect(camera.boxes(layout.tier[tier]))
        if not _seen(rect, camera):
            return
        theme, kind = self.theme, DEVICE_KINDS[plan.tier_kind[tier]]
        painter.setPen(QPen(theme.color("device-line"), 1))
        painter.setBrush(theme.color("device"))
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        size = int(min(16.0, rect.height() - 4, rect.width() - 4))
        if size < 7:
            return
        middle = rect.center().y()
        icon = theme.device_icon(kind, size, camera.ratio)
        painter.drawPixmap(QPointF(rect.left() + 5, middle - size / 2), icon)
        px = 11.0 if rect.height() >= 18 else 9.0
        left = rect.left() + 10 + size
        room = rect.right() - 6 - left
        text = plural(int(plan.tier_size[tier]), *_TIER_WORDS[kind])
        if self.lettering.width(text, px, 600) > room:
            text = f"{int(plan.tier_size[tier]):,}"
        text = self.lettering.cut(text, px, 600, room)
        used = self.lettering.left(painter, text, px, 600, theme.color("text"), left, middle) if text else 0
        mean, _worst = tier_loads(plan, tier, ribbons)
        rest = f"mean {whole_percent(mean)}"
        if mean > 0 and self.lettering.width(rest, px - 1, 500) + used + 14 <= room:
            self.lettering.right(painter, rest, px - 1, 500, theme.color("text-2"), rect.right() - 8, middle)

    def _group_text(
        self,
        painter: QPainter,
        scene: Scene,
        plan: FarPlan,
        layout: FarLayout,
        loads: TileLoads,
        number: int,
        camera: Camera,
    ) -> None:
        """Name and size above, mean load and what is down below."""
        rect = _rect(camera.boxes(layout.group[number]))
        if not _seen(rect, camera):
            return
        theme, tight = self.theme, layout.scale[number] < 0.75
        px = 10.0 if tight else 12.0
        left, right = rect.left() + 7, rect.right() - 7
        middle = rect.top() + (8.0 if tight else 12.0)
        name = self.lettering.cut(scene.container_name(int(plan.groups[number])), px, 700, right - left)
        if left + self.lettering.width(name, px, 700) > rect.center().x() - BUNDLE_LIMIT:
            wide = self.lettering.width(name, px, 700) + 4
            painter.fillRect(QRectF(left - 2, middle - px * 0.6, wide, px * 1.2), theme.color("node"))
        used = self.lettering.left(painter, name, px, 700, theme.color("text"), left, middle)
        held = plural(int(scene.group_gpus[number]), "GPU")
        begin = right - self.lettering.width(held, px - 2, 400)
        # The ribbon to the tier above comes in at the middle.
        above = left + used + 8 <= begin and rect.center().x() + BUNDLE_LIMIT + 4 <= begin
        if above:
            self.lettering.right(painter, held, px - 2, 400, theme.color("text-2"), right, middle)
        members = plan.tile_group == number
        if not members.any():
            return
        middle = rect.bottom() - (7.0 if tight else 10.0)
        mean, _worst, _highest = group_loads(plan, loads, members)
        first = f"mean {whole_percent(mean)}" if scene.report is not None else ""
        down = int(plan.down[members].sum())
        spare = int((scene.spare_tiles(plan) & members).sum())
        rest, ink = plural(int(members.sum()), "rack"), theme.color("text-2")
        if down:
            rest, ink = f"{plural(down, 'rack')} down", theme.color("error")
        elif spare:
            rest = f"{spare} spare"
        if layout.closed[number]:  # its one tile has the mean
            first, rest = ("", rest) if down else (rest, "" if above else held)
        used = self.lettering.left(painter, first, px - 2, 600, theme.color("text"), left, middle)
        if rest and used + self.lettering.width(rest, px - 2, 400) + 8 <= right - left:
            self.lettering.right(painter, rest, px - 2, 400, ink, right, middle)


def whole_percent(share: float) -> str:
    """A mean load as it stands on a tile: "46 %"."""
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def tier_words(kind: str, count: int) -> str:
    """ "64 leaves"."""
    return plural(count, *_TIER_WORDS[kind])


def _open_tiles(plan: FarPlan, layout: FarLayout, camera: Camera) -> dict[int, QRectF]:
    """The boxes in pixels of the tiles that are drawn one by one and can be seen."""
    boxes = camera.boxes(layout.tile)
    seen = ~layout.closed[plan.tile_group]
    seen &= (boxes[:, 0] < camera.width) & (boxes[:, 2] > 0)
    seen &= (boxes[:, 1] < camera.height) & (boxes[:, 3] > 0)
    return {tile: _rect(boxes[tile]).adjusted(1, 1, -1, -1) for tile in np.flatnonzero(seen).tolist()}


def _rect(box: FloatArray) -> QRectF:
    x0, y0, x1, y1 = box.tolist()
    return QRectF(x0, y0, x1 - x0, y1 - y0)


def _seen(rect: QRectF, camera: Camera) -> bool:
    return rect.intersects(QRectF(0, 0, camera.width, camera.height))


def _ink_on(theme: Theme, step: int) -> QColor:
    """The better of the two inks of the group colours on a step of the ramp."""
    fill = theme.ramp(step) if step < OVER_STEP else theme.color("over")

    def light(color: QColor) -> float:
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                 for part in (color.redF(), color.greenF(), color.blueF())]  # fmt: skip
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    inks = (theme.group_text(0), theme.group_text(1))
    return max(inks, key=lambda ink: abs(np.log((light(ink) + 0.05) / (light(fill) + 0.05))))
