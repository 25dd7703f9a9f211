"""Containers as cards: trays with name and content, racks, pods and sites as hulls around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.canvas.camera import Camera
from gui.canvas.folding import Folding
from gui.canvas.gpu_look import runs
from gui.canvas.lettering import Lettering
from gui.canvas.levels import STARTS, Level
from gui.canvas.scene_index import SceneIndex
from gui.theme import Theme
from model.text import plural
from model.topology.footprint import CONTAINER_TITLE
from model.topology.types import ContainerKind

if TYPE_CHECKING:
    from gui.canvas.scene import Scene

_CARDS_A_STEP = 120
_RADIUS = {
    ContainerKind.TRAY: 8.0,
    ContainerKind.RACK: 10.0,
    ContainerKind.POD: 10.0,
    ContainerKind.SITE: 10.0,
}


class ContainerPainter:
    """Paints containers in pixels of the viewport, outer ones first."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.lettering = Lettering(theme)

    def parts(self, index: SceneIndex, camera: Camera, folding: Folding) -> list[list[tuple[int, QRectF]]]:
        """Those that can be seen, in parts that take few milliseconds to paint."""
        seen = _seen(index, camera, folding.hidden)
        return [seen[begin : begin + _CARDS_A_STEP] for begin in range(0, len(seen), _CARDS_A_STEP)]

    def cards(
        self,
        painter: QPainter,
        index: SceneIndex,
        some: list[tuple[int, QRectF]],
        *,
        folding: Folding,
        trays: bool,
        level: Level,
    ) -> None:
        """Paint the cards of the trays and folded containers among some, or of all others."""
        for row, rect in some:
            if bool(index.is_tray[row] or folding.is_folded(row)) == trays:
                self._card(painter, index, row, rect, level)

    def titles(self, painter: QPainter, scene: Scene, some: list[tuple[int, QRectF]], camera: Camera) -> None:
        """Paint the names of some above the links, and what folded ones hold."""
        folding, texts = scene.folding, scene.texts
        index = scene.index
        over_names = set(index.container_parent[~index.title_below].tolist())
        for row, rect in some:
            if folding.is_folded(row):
                self._folded(painter, scene, row, rect)
            else:
                subtitle = texts.subtitle(row)
                self._title(painter, index, row, rect, subtitle, camera, over_names=row in over_names)

    def _folded(self, painter: QPainter, scene: Scene, row: int, rect: QRectF) -> None:
        """The name of a folded container, what is in it, and the groups of its GPUs in their order."""
        theme, lettering = self.theme, self.lettering
        middle, room = rect.center(), rect.width() - 16
        devices = scene.index.devices_in(row)
        gpus = np.flatnonzero(np.isin(scene.index.gpu_rows, devices))
        name = lettering.cut(scene.container_name(row), 14, 700, room)
        held = f"{plural(len(gpus), 'GPU')} · {plural(len(devices), 'device')}"
        size = lettering.fitting(held, 11, 400, room, 8)
        tall = rect.height() >= 54
        y = middle.y() - (14 if tall else 0)
        lettering.centred(painter, name, 14, 700, theme.color("text"), middle.x(), y)
        if not tall:
            return
        if size is not None:
            lettering.centred(painter, held, size, 400, theme.color("text-2"), middle.x(), y + 18)
        if not len(gpus) or rect.height() < 76:
            return
        strip = QRectF(rect.left() + 12, y + 32, rect.width() - 24, min(14.0, rect.bottom() - y - 40))
        painter.setPen(QPen(theme.color("node"), 1))
        width = strip.width() / len(gpus)
        for group, begin, end in runs(scene.gpus.group[gpus]):
            painter.setBrush(theme.color("raised") if group < 0 else theme.group_color(group))
            painter.drawRect(
                QRectF(strip.left() + begin * width, strip.top(), (end - begin) * width, strip.height())
            )

    def _card(self, painter: QPainter, index: SceneIndex, row: int, rect: QRectF, level: Level) -> None:
        kind = index.containers[row].kind
        radius = min(_RADIUS[kind], rect.height() / 6)
        if kind is ContainerKind.TRAY:
            if level >= Level.RANKS:
                self._shadow(painter, rect, radius)
            painter.setBrush(self.theme.color("node"))
            painter.setPen(QPen(self.theme.color("node-line"), 1))
        elif kind is ContainerKind.RACK:
            painter.setBrush(self.theme.color("node"))
            painter.setPen(QPen(self.theme.color("node-line"), 1))
        else:
            fill = self.theme.color("raised")
            fill.setAlphaF(0.45)
            painter.setBrush(fill)
            painter.setPen(QPen(self.theme.color("strong"), 1, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)

    def _shadow(self, painter: QPainter, rect: QRectF, radius: float) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        color = QColor(self.theme.color("shadow"))
        for spread, alpha in ((4.0, 0.02), (3.0, 0.03), (2.0, 0.04), (1.0, 0.05)):
            color.setAlphaF(alpha * (2.0 if self.theme.dark else 1.0))
            painter.setBrush(color)
            painter.drawRoundedRect(
                rect.adjusted(-spread, -spread + 1.5, spread, spread + 1.5), radius + spread, radius + spread
            )

    def _title(
        self,
        painter: QPainter,
        index: SceneIndex,
        row: int,
        rect: QRectF,
        subtitle: str,
        camera: Camera,
        *,
        over_names: bool,
    ) -> None:
        """The name keeps its size; where the card is too narrow for it, it is cut, or left out."""
        container = index.containers[row]
        name = container.label or short_name(container.id, container.parent)
        px = 12.0 if camera.zoom >= 0.4 else 10.0
        px *= min(1.35, max(1.0, camera.zoom))
        inset = max(3.0, min(12.0, 10 * camera.zoom))
        room = rect.width() - 2 * inset
        size = self.lettering.fitting(name, px, 700, room + inset, 8.0)
        px = size or px
        text = name if size is not None else self.lettering.cut(name, px, 700, room)
        if not text or (text != name and camera.zoom < STARTS[Level.NODES] * 2):
            return
        strip = CONTAINER_TITLE * camera.zoom
        if index.title_below[row]:
            middle = rect.bottom() - strip / 2 - 2 * camera.zoom
        else:
            middle = rect.top() + strip / 2 + 3 * camera.zoom
        tray = container.kind is ContainerKind.TRAY
        if strip < px:  # too flat for the text: it hangs over the edge, away from the devices
            away = (px - strip) / 2
            if over_names:  # and away from the names of what is inside, which hang over theirs
                away += px * 0.35
            middle += away if index.title_below[row] else -away
        left = rect.left() + inset
        rest = self.lettering.cut(subtitle, px - 1.5, 400, room - self.lettering.width(text, px, 700) - 6)
        rest = rest if rest == subtitle else ""
        if strip < px or not tray:  # something may run behind the words
            on_card = tray or (container.kind is ContainerKind.RACK and not (over_names and strip < px))
            paper = self.theme.color("node" if on_card else "canvas")
            paper.setAlphaF(0.85)
            wide = self.lettering.width(text, px, 700)
            wide += self.lettering.width(rest, px - 1.5, 400) + 6 if rest else 0
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(paper)
            painter.drawRoundedRect(QRectF(left - 2, middle - px * 0.6, wide + 4, px * 1.2), 3, 3)
        used = self.lettering.left(painter, text, px, 700, self.theme.color("text"), left, middle)
        if rest:
            self.lettering.left(
                painter, rest, px - 1.5, 400, self.theme.color("text-2"), left + used + 6, middle
            )


def _seen(index: SceneIndex, camera: Camera, hidden: NDArray[np.bool_]) -> list[tuple[int, QRectF]]:
    """Rows and boxes in pixels of the containers in view, outer ones first."""
    boxes = camera.boxes(index.hull)
    seen = (
        (boxes[:, 0] < camera.width) & (boxes[:, 2] > 0) & (boxes[:, 1] < camera.height) & (boxes[:, 3] > 0)
    )
    order = np.argsort(index.depth, kind="stable")
    order = order[(seen & ~hidden)[order]]
    return [
        (row, QRectF(x0, y0, x1 - x0, y1 - y0))
        for row, (x0, y0, x1, y1) in zip(order.tolist(), boxes[order].tolist(), strict=True)
    ]


def short_name(ident: str, parent: str | None) -> str:
    """The id without its container's in front of it: node07.gpu3 in node07 → gpu3."""
    if parent is not None and ident.startswith(parent + "."):
        return ident[len(parent) + 1 :]
    return ident
